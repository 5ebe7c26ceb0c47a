/*-------------------------------------------------------------------------
 * hints.c
 *	  Stands in for pg_hint_plan in the test join_hints: Set(name value) in the
 *	  first comment of a statement holds while core plans it. After NoText, the
 *	  planner gets no text, as C code may call it. After Core, core plans the
 *	  statement without the hooks that were there before.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "optimizer/planner.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static planner_hook_type previous_planner = NULL;

/* Changes settings at a level of their own, as pg_hint_plan does. */
static void
obey(const char *hints, const char *end)
{
	const char *at = hints;

	while ((at = strstr(at, "Set(")) != NULL && at < end)
	{
		char		name[64];
		char		value[64];

		if (sscanf(at, "Set(%63s %63[^)])", name, value) == 2)
			(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, WARNING, false);
		at++;
	}
}

static PlannedStmt *
plan_with_hints(Query *query, const char *query_string, int cursor_options,
				ParamListInfo params)
{
	const char *hints = query_string ? strstr(query_string, "/*+") : NULL;
	const char *end = hints ? strstr(hints, "*/") : NULL;
	int			level = NewGUCNestLevel();
	PlannedStmt *statement;

	if (end != NULL)
		obey(hints, end);
	if (end != NULL && strncmp(hints, "/*+ NoText", 10) == 0)
		query_string = NULL;
	if (previous_planner != NULL && !(end != NULL && strncmp(hints, "/*+ Core", 8) == 0))
		statement = previous_planner(query, query_string, cursor_options, params);
	else
		statement = standard_planner(query, query_string, cursor_options, params);
	AtEOXact_GUC(true, level);
	return statement;
}

void
_PG_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_with_hints;
}

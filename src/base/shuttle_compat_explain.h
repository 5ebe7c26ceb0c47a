/*-------------------------------------------------------------------------
 * shuttle_compat_explain.h
 *	  Differences between the versions of the server: EXPLAIN.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_EXPLAIN_H
#define SHUTTLE_COMPAT_EXPLAIN_H

#include "commands/explain.h"
#include "parser/parse_node.h"

#if PG_VERSION_NUM >= 180000	/* 18 split commands/explain.h */
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#else
#include "executor/instrument.h"
#include "tcop/tcopprot.h"
#endif

/*
 * EXPLAIN takes options of extensions.  Before, nobody calls the handler:
 * where SHUTTLE_EXPLAIN_TAKES_OPTIONS is false, an option has to be taken out
 * of the statement, and an ExplainState carries nothing of ours.
 */
#if PG_VERSION_NUM < 180000
#define SHUTTLE_EXPLAIN_TAKES_OPTIONS false
#define RegisterExtensionExplainOption(name, handler, check) ((void) (handler))

typedef void (*ExplainOptionHandler) (ExplainState *es, DefElem *option,
									  ParseState *pstate);

static inline int
GetExplainExtensionId(const char *name)
{
	return 0;
}

static inline void
SetExplainExtensionState(ExplainState *es, int id, void *state)
{
}

static inline void *
GetExplainExtensionState(ExplainState *es, int id)
{
	return NULL;
}
#else
#define SHUTTLE_EXPLAIN_TAKES_OPTIONS true

/* 19 added a check of the option's value, for auto_explain's settings. */
#if PG_VERSION_NUM < 190000
#define RegisterExtensionExplainOption(name, handler, check) \
	RegisterExtensionExplainOption(name, handler)
#endif
#endif

/* Core's own way to explain one query has a name since 17. */
#if PG_VERSION_NUM < 170000
static inline void
standard_ExplainOneQuery(Query *query, int cursorOptions, IntoClause *into,
						 ExplainState *es, const char *queryString,
						 ParamListInfo params, QueryEnvironment *queryEnv)
{
	PlannedStmt *plan;
	instr_time	start;
	instr_time	duration;
	BufferUsage before = pgBufferUsage;
	BufferUsage used = {0};

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, queryString, cursorOptions, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, queryString, params, queryEnv,
				   &duration, es->buffers ? &used : NULL);
}
#endif

#endif							/* SHUTTLE_COMPAT_EXPLAIN_H */

/*-------------------------------------------------------------------------
 * upsert_triggers.c
 *	  BEFORE ROW triggers that only look at their rows.
 *
 * Core takes one proposed row after the other: BEFORE INSERT triggers, the
 * conflict, BEFORE UPDATE triggers. We do this for many rows together, so that
 * BEFORE INSERT triggers of later rows fire earlier, and later rows are already
 * inserted when BEFORE UPDATE triggers fire. That is only possible if no trigger
 * reads or changes anything but its row.
 *
 * Triggers of PL/pgSQL are judged by the words of their source: none may belong
 * to a statement of SQL, to RAISE without EXCEPTION or to a handler, and no name
 * before a parenthesis may be that of a function that is not built in or that is
 * volatile, but for clocks and random numbers; operators that are not built in
 * must be immutable. PostgreSQL's own functions in C are known. All others are
 * taken for triggers that do more.
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/proclang.h"
#include "commands/trigger.h"
#include "optimizer/optimizer.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "executor/conflict/upsert.h"
#include "executor/fdw/scan_text.h"

/* Words of statements that do more than assign. */
static const char *const loud_words[] = {
	"alter", "call", "close", "comment", "commit", "copy", "create", "delete", "do", "drop",
	"execute", "fetch", "grant", "insert", "listen", "lock", "merge", "move", "notify",
	"open", "perform", "prepare", "refresh", "reset", "revoke", "rollback", "select", "set",
	"table", "truncate", "unlisten", "update", "values", "with"
};

/* Volatile functions whose order nobody can tell. */
static const char *const quiet_functions[] = {
	"clock_timestamp", "gen_random_uuid", "random", "timeofday", "uuidv4", "uuidv7"
};

static bool
is_in(const char *word, const char *const *words, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

/* True if no function of this name does more than compute a value. */
static bool
is_quiet_name(const char *name)
{
	CatCList   *functions = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	bool		quiet = true;

	for (int i = 0; i < functions->n_members && quiet; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&functions->members[i]->tuple);

		quiet = function->pronamespace == PG_CATALOG_NAMESPACE &&
			(function->provolatile != PROVOLATILE_VOLATILE ||
			 is_in(name, quiet_functions, lengthof(quiet_functions)));
	}
	ReleaseSysCacheList(functions);
	return quiet;
}

/* True if operators of this name are built in or only compute a value. */
static bool
is_quiet_operator(const char *name)
{
	CatCList   *operators = SearchSysCacheList1(OPERNAMENSP, CStringGetDatum(name));
	bool		quiet = true;

	for (int i = 0; i < operators->n_members && quiet; i++)
	{
		Form_pg_operator operator = (Form_pg_operator) GETSTRUCT(&operators->members[i]->tuple);

		quiet = operator->oprnamespace == PG_CATALOG_NAMESPACE ||
			(OidIsValid(operator->oprcode) &&
			 func_volatile(operator->oprcode) == PROVOLATILE_IMMUTABLE);
	}
	ReleaseSysCacheList(operators);
	return quiet;
}

/* True if no operator is in a run of its characters but quiet ones. A run may hold
 * several: a sign may follow another operator. */
static bool
are_quiet_operators(const char *run)
{
	size_t		length = strspn(run, "+-*/<>=~!@#%^&|`?");

	for (size_t n = 1; n <= length; n++)
	{
		if (!is_quiet_operator(pnstrdup(run, n)))
			return false;
	}
	return true;
}

/* The word of a token, as SQL compares it; NULL: it is none. */
static char *
read_word(const char *token, const char *end)
{
	if (*token == '"' && end - token > 2)
		return pnstrdup(token + 1, end - token - 2);
	if (!isalpha((unsigned char) *token) && *token != '_' && !IS_HIGHBIT_SET(*token))
		return NULL;
	return downcase_truncate_identifier(token, end - token, false);
}

static bool
is_space(const char *token)
{
	return isspace((unsigned char) *token) || strncmp(token, "--", 2) == 0 ||
		strncmp(token, "/*", 2) == 0;
}

static const char *
skip_space(const char *token)
{
	while (*token != '\0' && is_space(token))
		token = shuttle_sql_skip_token(token);
	return token;
}

static bool
is_quiet_source(const char *source)
{
	const char *token = skip_space(source);
	bool		raises = false; /* the word before was RAISE */
	bool		is_field = false;	/* a dot was before */

	while (*token != '\0')
	{
		const char *end = shuttle_sql_skip_token(token);
		const char *next = skip_space(end);
		char	   *word = read_word(token, end);
		bool		is_exception = word != NULL && strcmp(word, "exception") == 0;

		if (raises != is_exception ||
			(word != NULL && !is_field && is_in(word, loud_words, lengthof(loud_words))) ||
			(word != NULL && *next == '(' && !is_quiet_name(word)) ||
			!are_quiet_operators(token))
			return false;
		raises = word != NULL && !is_field && strcmp(word, "raise") == 0;
		is_field = *token == '.';
		token = next;
	}
	return true;
}

static bool
is_quiet_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		is_null;
	bool		quiet = false;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prolang == INTERNALlanguageId)
		quiet = true;
	else if (form->prolang == get_language_oid("plpgsql", true))
		quiet = is_quiet_source(TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple,
																	Anum_pg_proc_prosrc,
																	&is_null)));
	ReleaseSysCache(tuple);
	return quiet;
}

bool
shuttle_triggers_are_quiet(const TriggerDesc *triggers)
{
	if (triggers == NULL ||
		(!triggers->trig_insert_before_row && !triggers->trig_update_before_row))
		return true;
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!TRIGGER_FOR_ROW(trigger->tgtype) || !TRIGGER_FOR_BEFORE(trigger->tgtype) ||
			!(TRIGGER_FOR_INSERT(trigger->tgtype) || TRIGGER_FOR_UPDATE(trigger->tgtype)) ||
			trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		if (!is_quiet_function(trigger->tgfoid) ||
			(trigger->tgqual != NULL &&
			 contain_volatile_functions((Node *) stringToNode(trigger->tgqual))))
			return false;
	}
	return true;
}

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
 * must be immutable. Nor may any domain or cast of the database call a function that
 * is not: a source does not show where they are met. PostgreSQL's own functions in C
 * are known. All others are taken for triggers that do more.
 *
 * An UPDATE trigger that may give its row another key counts as one that does more,
 * too: a later row may have that key, and must not be inserted before.
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/proclang.h"
#include "commands/trigger.h"
#include "nodes/nodeFuncs.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "base/shuttle_expressions.h"
#include "executor/shuttle_upsert_triggers.h"
#include "executor/write/conflict/upsert.h"
#include "storage/shuttle_sql_tokens.h"

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

/* True if a function may do more than compute a value. */
static bool
is_loud_function(Oid function)
{
	char		volatility = func_volatile(function);

	return function < FirstNormalObjectId ? volatility == PROVOLATILE_VOLATILE :
		volatility != PROVOLATILE_IMMUTABLE;
}

static bool
has_loud_function(const void *expression)
{
	return shuttle_expression_has(expression, SHUTTLE_HAS_VOLATILE_FUNCTION | SHUTTLE_HAS_USERS_STABLE_FUNCTION);
}

static bool
is_loud_check(HeapTuple tuple, TupleDesc desc)
{
	bool		is_null;
	Datum		source = heap_getattr(tuple, Anum_pg_constraint_conbin, desc, &is_null);

	return !is_null && has_loud_function(stringToNode(TextDatumGetCString(source)));
}

static bool
is_loud_cast(HeapTuple tuple, TupleDesc desc)
{
	Oid			function = ((Form_pg_cast) GETSTRUCT(tuple))->castfunc;

	return OidIsValid(function) && is_loud_function(function);
}

/* True if is_loud says so of a row of a catalog whose column has the OID of something
 * that the user has made. */
static bool
finds_loud(Oid catalog, Oid index, AttrNumber column,
		   bool (*is_loud) (HeapTuple tuple, TupleDesc desc))
{
	Relation	rel = table_open(catalog, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, column, BTGreaterEqualStrategyNumber, F_OIDGE,
				ObjectIdGetDatum(FirstNormalObjectId));
	scan = systable_beginscan(rel, index, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = is_loud(tuple, RelationGetDescr(rel));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

static bool
has_loud_types(void)
{
	return finds_loud(ConstraintRelationId, ConstraintTypidIndexId,
					  Anum_pg_constraint_contypid, is_loud_check) ||
		finds_loud(CastRelationId, CastOidIndexId, Anum_pg_cast_oid, is_loud_cast);
}

/* True if the words at a token may change a column of NEW that is in keys, or have
 * another row returned. */
static bool
may_set_key(const char *token, const char *word, const List *keys)
{
	const char *next = skip_space(shuttle_sql_skip_token(token));
	const char *end = shuttle_sql_skip_token(next);
	char	   *other;

	if (strcmp(word, "return") == 0)
	{
		other = read_word(next, end);
		return other == NULL || *skip_space(end) != ';' ||
			(strcmp(other, "new") != 0 && strcmp(other, "old") != 0 && strcmp(other, "null") != 0);
	}
	if (strcmp(word, "new") != 0)
		return strcmp(word, "alias") == 0 || strcmp(word, "foreach") == 0;
	if (*next != '.')
		return *next == ':' || *next == '=';
	next = skip_space(end);
	end = shuttle_sql_skip_token(next);
	other = read_word(next, end);
	return other != NULL && list_member(keys, makeString(other)) &&
		strchr(":=[.", *skip_space(end)) != NULL;
}

/* keys: names of columns that it must not change; NIL: there are none. */
static bool
is_quiet_source(const char *source, const List *keys)
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
			(word != NULL && keys != NIL && !is_field && may_set_key(token, word, keys)) ||
			!are_quiet_operators(token))
			return false;
		raises = word != NULL && !is_field && strcmp(word, "raise") == 0;
		is_field = *token == '.';
		token = next;
	}
	return true;
}

/* The function of our own trigger, which holds rows against check constraints (tablets/constraints/row_checks.c). */
static bool
are_quiet_checks(Relation rel)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
	{
		if (has_loud_function(stringToNode(constraints->check[i].ccbin)))
			return false;
	}
	return true;
}

static bool
is_quiet_function(Oid function, Relation rel, const List *keys)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	const char *source;
	bool		is_null;
	bool		quiet = false;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	source = TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null));
	if (form->prolang == INTERNALlanguageId)
		quiet = true;
	else if (form->prolang == ClanguageId)
		quiet = strcmp(source, "shuttle_check_row") == 0 && are_quiet_checks(rel);
	else if (form->prolang == get_language_oid("plpgsql", true))
		quiet = is_quiet_source(source, keys);
	ReleaseSysCache(tuple);
	return quiet;
}

bool
shuttle_upsert_triggers_are_quiet(const TriggerDesc *triggers, Relation rel, List *key)
{
	List	   *names = NIL;
	ListCell   *cell;

	if (triggers == NULL ||
		(!triggers->trig_insert_before_row && !triggers->trig_update_before_row))
		return true;
	foreach(cell, key)
		names = lappend(names, makeString(get_attname(RelationGetRelid(rel), lfirst_int(cell), false)));
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!TRIGGER_FOR_ROW(trigger->tgtype) || !TRIGGER_FOR_BEFORE(trigger->tgtype) ||
			!(TRIGGER_FOR_INSERT(trigger->tgtype) || TRIGGER_FOR_UPDATE(trigger->tgtype)) ||
			trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		if (!is_quiet_function(trigger->tgfoid, rel,
							   TRIGGER_FOR_UPDATE(trigger->tgtype) ? names : NIL) ||
			(trigger->tgqual != NULL && has_loud_function(stringToNode(trigger->tgqual))))
			return false;
	}
	return !has_loud_types();
}

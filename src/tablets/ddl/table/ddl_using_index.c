/*-------------------------------------------------------------------------
 * ddl_using_index.c
 *	  ADD CONSTRAINT ... USING INDEX of distributed tables.
 *
 * The index makes way for a constraint with its columns, for which nodes make
 * another one: core would not take an index that is not valid here. What core
 * refuses in ordinary tables is refused with its words.
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/ddl/ddl.h"

/* What makes an index unfit, as a SQLSTATE and a message; NULL: nothing. */
#define UNFIT_QUERY \
"SELECT CASE WHEN i.indrelid <> %1$u THEN '55000' WHEN EXISTS (SELECT FROM pg_constraint WHERE conindid = $1 AND contype IN ('p', 'u', 'x')) THEN '55000' ELSE '42809' END," \
" CASE WHEN EXISTS (SELECT FROM pg_constraint WHERE conindid = $1 AND contype IN ('p', 'u', 'x')) THEN format('index \"%%s\" is already associated with a constraint', c.relname)" \
" WHEN i.indrelid <> %1$u THEN format('index \"%%s\" does not belong to table \"%%s\"', c.relname, %2$s)" \
" WHEN NOT i.indisunique THEN format('\"%%s\" is not a unique index', c.relname)" \
" WHEN i.indexprs IS NOT NULL THEN format('index \"%%s\" contains expressions', c.relname)" \
" WHEN i.indpred IS NOT NULL THEN format('\"%%s\" is a partial index', c.relname)" \
" WHEN EXISTS (SELECT FROM unnest(i.indoption::int2[]) AS o WHERE o <> 0) OR EXISTS (SELECT FROM unnest(i.indclass::oid[]) AS k" \
" JOIN pg_opclass AS p ON p.oid = k WHERE NOT p.opcdefault)" \
" OR EXISTS (SELECT FROM unnest(i.indkey::int2[], i.indcollation::oid[]) AS k (number, ordering)" \
" JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.ordering <> a.attcollation)" \
" THEN format('an index column of \"%%s\" does not have default sorting behavior', c.relname) END" \
" FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indexrelid = $1"

static void
refuse_unfit(Oid relid, Oid index)
{
	char	   *query = psprintf(UNFIT_QUERY, relid, quote_literal_cstr(get_rel_name(relid)));
	List	   *rows = shuttle_local_rows(query, index);
	char	  **row = rows == NIL ? NULL : linitial(rows);

	if (row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index", get_rel_name(index))));
	if (row[1] != NULL)
		ereport(ERROR,
				(errcode(strcmp(row[0], "55000") == 0 ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE :
						 ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("%s", row[1])));
}

static void
take_columns(Constraint *constraint, Oid index)
{
	static const char *const query =
		"SELECT a.attname, (k.position > i.indnkeyatts)::text, coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false)::text"
		" FROM pg_index AS i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, position)"
		", pg_attribute AS a WHERE i.indexrelid = $1 AND a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.position";
	ListCell   *cell;

	foreach(cell, shuttle_local_rows(query, index))
	{
		char	  **row = lfirst(cell);

		if (strcmp(row[1], "true") == 0)
			constraint->including = lappend(constraint->including, makeString(row[0]));
		else
			constraint->keys = lappend(constraint->keys, makeString(row[0]));
		constraint->nulls_not_distinct = strcmp(row[2], "true") == 0;
	}
}

void
shuttle_ddl_using_index(Oid relid, Constraint *constraint)
{
	Oid			index = get_relname_relid(constraint->indexname, get_rel_namespace(relid));

	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index \"%s\" does not exist", constraint->indexname)));
	refuse_unfit(relid, index);
	take_columns(constraint, index);
	if (constraint->conname == NULL)
		constraint->conname = constraint->indexname;
	else if (strcmp(constraint->conname, constraint->indexname) != 0)
		ereport(NOTICE,
				(errmsg("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"%s\" to \"%s\"",
						constraint->indexname, constraint->conname)));
	constraint->indexname = NULL;
	(void) shuttle_local_run(psprintf("DROP INDEX %s", shuttle_local_name(index)));
	CommandCounterIncrement();
}

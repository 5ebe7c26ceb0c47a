/*-------------------------------------------------------------------------
 * ddl_set_aside.c
 *	  Unique indexes and constraints of columns whose type ALTER TABLE changes.
 *
 * Core makes them again, also for partitions, and refuses that for foreign ones. So
 * they are dropped behind those that the statement drops, before core changes types,
 * and made behind the statement with ONLY, with their comments.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/table/ddl_table.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"

/* Statements that make one unique index again. */
typedef struct AsideIndex
{
	bool		is_global;		/* it lacks the distribution column */
	char	   *text;
	char	   *comments;		/* NULL: none */
} AsideIndex;

/* %s: the column */
static const char *const aside_query =
"SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %%s', i.indexrelid::regclass)"
" ELSE format('ALTER TABLE %%s DROP CONSTRAINT %%I', i.indrelid::regclass, c.conname) END,"
" CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid)"
" ELSE format('ALTER TABLE ONLY %%s ADD CONSTRAINT %%I %%s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END, "
SHUTTLE_GLOBAL_CONDITION "::text,"
" concat_ws('; ', 'COMMENT ON INDEX ' || i.indexrelid::regclass || ' IS ' || quote_literal(obj_description(i.indexrelid, 'pg_class')),"
" 'COMMENT ON CONSTRAINT ' || quote_ident(c.conname) || ' ON ' || i.indrelid::regclass || ' IS ' || quote_literal(obj_description(c.oid, 'pg_constraint')))"
" FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND (a.attnum = ANY (i.indkey)"
" OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid"
" AND d.refclassid = d.classid AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum))"
" LEFT JOIN pg_constraint AS c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid AND c.contype IN ('p', 'u')"
" WHERE i.indrelid = $1 AND i.indisunique AND a.attname = %s";

List *
shuttle_ddl_set_aside(Oid relid, const char *column)
{
	List	   *indexes = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_rows(psprintf(aside_query, quote_literal_cstr(column)), relid))
	{
		char	  **row = lfirst(cell);
		AsideIndex *index = palloc_object(AsideIndex);

		index->text = row[1];
		index->is_global = strcmp(row[2], "true") == 0;
		index->comments = *row[3] == '\0' ? NULL : row[3];
		(void) shuttle_local_run(row[0]);
		indexes = lappend(indexes, index);
	}
	return indexes;
}

void
shuttle_ddl_set_aside_give(const ShuttleDdl *ddl, const List *indexes)
{
	const ListCell *cell;

	foreach(cell, indexes)
	{
		const AsideIndex *index = lfirst(cell);

		if (index->is_global)
			shuttle_ddl_global_run_text(ddl, index->text);
		else
			(void) shuttle_local_run(index->text);
		if (index->comments != NULL)
			(void) shuttle_local_run(index->comments);
	}
}

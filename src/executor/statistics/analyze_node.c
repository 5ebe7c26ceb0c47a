/*-------------------------------------------------------------------------
 * analyze_node.c
 *	  Asks a node for the size of its tables and for the statistics that it
 *	  shows to the remote user in pg_stats.
 *
 * One statement asks for any number of tables by name: a missing or invisible
 * table is no error but has no rows in the answer.
 *
 * Memory: the caller's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

/* First columns of the answer; a column's facts follow. */
enum
{
	TABLE_ORDINAL,
	TABLE_KIND,
	TABLE_PAGES,
	TABLE_ROWS,
	TABLE_HAS_FOREIGN,
	NTABLE_FACTS
};

/*
 * The table and all its children. As the planner does, a leaf's rows are its
 * density at the last ANALYZE times its current pages. Unknown if not analyzed,
 * or without pages of its own.
 */
#define TREE_SQL \
	"SELECT pg_catalog.sum(leaf.pages) AS pages," \
	" CASE WHEN pg_catalog.bool_and(leaf.rows IS NOT NULL) THEN pg_catalog.sum(leaf.rows)" \
	" WHEN rel.relkind = 'p' AND rel.reltuples > 0 THEN rel.reltuples END AS rows," \
	" pg_catalog.bool_or(leaf.relkind = 'f') AS has_foreign," \
	" pg_catalog.count(*) > 1 OR rel.relkind = 'p' AS has_children" \
	" FROM (SELECT c.relkind, c.pages," \
	" CASE WHEN c.relkind IN ('r', 'm') THEN" \
	" CASE WHEN c.pages = 0 THEN 0" \
	" WHEN c.relpages > 0 AND c.reltuples > 0" \
	" THEN pg_catalog.round(c.reltuples::pg_catalog.float8 / c.relpages * c.pages) END" \
	" WHEN c.relkind = 'p' THEN 0" \
	" WHEN c.relkind = 'f' AND c.reltuples > 0 THEN c.reltuples END AS rows" \
	" FROM (WITH RECURSIVE tree (id) AS (SELECT rel.oid" \
	" UNION SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.id)" \
	" SELECT b.relkind, b.relpages, b.reltuples," \
	" CASE WHEN b.relkind IN ('r', 'm') THEN coalesce(pg_catalog.pg_relation_size(b.oid), 0)" \
	" / pg_catalog.current_setting('block_size')::pg_catalog.int8 ELSE 0 END AS pages" \
	" FROM tree JOIN pg_catalog.pg_class b ON b.oid = tree.id) AS c) AS leaf"

/* A column's collation: C for all its names; for the default one, the
 * database's locale. */
#define COLLATION_SQL \
	"CASE WHEN l.collname IN ('C', 'POSIX') THEN 'C'" \
	" WHEN l.collname = 'default' THEN (SELECT" \
	" CASE WHEN datlocprovider::pg_catalog.text = 'c' THEN CASE WHEN datcollate IN ('C', 'POSIX') THEN 'C'" \
	" ELSE 'c:' || datcollate END" \
	" ELSE datlocprovider::pg_catalog.text || ':' || coalesce(daticulocale, datlocale, '') END" \
	" FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())" \
	" ELSE ln.nspname || '.' || l.collname END"

/* Older nodes lack some columns of catalogs and pg_stats; such names then
 * resolve to "older", which is all NULL. */
#define OLDER_SQL \
	"(SELECT 'c'::pg_catalog.text AS datlocprovider, NULL::pg_catalog.text AS daticulocale," \
	" NULL::pg_catalog.text AS datlocale, NULL::pg_catalog.text AS range_length_histogram," \
	" NULL::pg_catalog.text AS range_empty_frac, NULL::pg_catalog.text AS range_bounds_histogram) AS older"

#define COLUMNS_SQL \
	"SELECT a.attname, tn.nspname || '.' || t.typname, " COLLATION_SQL "," \
	" s.null_frac, s.avg_width, s.n_distinct, s.most_common_vals, s.most_common_freqs," \
	" s.histogram_bounds, s.correlation, s.most_common_elems, s.most_common_elem_freqs," \
	" s.elem_count_histogram, range_length_histogram, range_empty_frac, range_bounds_histogram" \
	" FROM pg_catalog.pg_stats s" \
	" JOIN pg_catalog.pg_attribute a ON a.attrelid = rel.oid AND a.attname = s.attname" \
	" JOIN pg_catalog.pg_type own ON own.oid = a.atttypid" \
	" JOIN pg_catalog.pg_type t ON t.oid = CASE own.typtype WHEN 'd' THEN own.typbasetype ELSE own.oid END" \
	" JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace" \
	" LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation" \
	" LEFT JOIN pg_catalog.pg_namespace ln ON ln.oid = l.collnamespace" \
	" WHERE s.schemaname = n.nspname AND s.tablename = rel.relname AND s.inherited = size.has_children"

static char *copy_text(const ShuttleRow *row, int column);
static char *database_collation_name(void);

char *
shuttle_analyze_node_tables_sql(List *schemas, List *names)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql,
						   "SELECT asked.ord, rel.relkind, size.pages, size.rows, size.has_foreign, facts.*"
						   " FROM ROWS FROM (pg_catalog.unnest(");
	shuttle_analyze_append_names(&sql, schemas);
	appendStringInfoString(&sql, "), pg_catalog.unnest(");
	shuttle_analyze_append_names(&sql, names);
	appendStringInfoString(&sql,
						   ")) WITH ORDINALITY AS asked (schema, name, ord)"
						   " JOIN pg_catalog.pg_namespace n ON n.nspname = asked.schema"
						   " JOIN pg_catalog.pg_class rel ON rel.relnamespace = n.oid AND rel.relname = asked.name"
						   " CROSS JOIN " OLDER_SQL
						   " CROSS JOIN LATERAL (" TREE_SQL ") AS size"
						   " LEFT JOIN LATERAL (" COLUMNS_SQL ") AS facts ON true");
	return sql.data;
}

void
shuttle_analyze_append_names(StringInfo sql, List *names)
{
	Datum	   *values = palloc_array(Datum, Max(1, list_length(names)));
	ArrayType  *array;
	ListCell   *cell;

	foreach(cell, names)
		values[foreach_current_index(cell)] = CStringGetTextDatum(lfirst(cell));
	array = construct_array(values, list_length(names), TEXTOID, -1, false,
							TYPALIGN_INT);
	appendStringInfo(sql, "%s::pg_catalog.name[]",
					 quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT,
															  PointerGetDatum(array))));
}

void
shuttle_analyze_node_tables_take(ShuttleNodeTable *tables, int ntables,
								 const ShuttleRow *row)
{
	int64		ordinal = shuttle_row_int64(row, TABLE_ORDINAL);
	ShuttleNodeTable *table;
	ShuttleColumnFacts *column;

	if (ordinal < 1 || ordinal > ntables ||
		row->ncolumns != NTABLE_FACTS + NCOLUMN_FACTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node answered for a table that was not asked for")));
	table = &tables[ordinal - 1];
	table->kind = shuttle_row_text(row, TABLE_KIND)[0];
	table->pages = strtod(shuttle_row_text(row, TABLE_PAGES), NULL);
	table->rows = row->values[TABLE_ROWS] == NULL ? -1 :
		strtod(row->values[TABLE_ROWS], NULL);
	table->has_foreign = shuttle_row_text(row, TABLE_HAS_FOREIGN)[0] == 't';
	if (row->values[NTABLE_FACTS + FACT_NAME] == NULL)
		return;

	column = palloc_object(ShuttleColumnFacts);
	for (int i = 0; i < NCOLUMN_FACTS; i++)
		column->facts[i] = copy_text(row, NTABLE_FACTS + i);
	table->columns = lappend(table->columns, column);
}

static char *
copy_text(const ShuttleRow *row, int column)
{
	return row->values[column] == NULL ? NULL : pstrdup(row->values[column]);
}

/* The same as COLLATION_SQL. */
char *
shuttle_analyze_collation_name(Oid collation)
{
	HeapTuple	tuple;
	Form_pg_collation form;
	char	   *name;

	if (collation == DEFAULT_COLLATION_OID)
		return database_collation_name();
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	if (strcmp(NameStr(form->collname), "C") == 0 ||
		strcmp(NameStr(form->collname), "POSIX") == 0)
		name = pstrdup("C");
	else
		name = psprintf("%s.%s", get_namespace_name(form->collnamespace),
						NameStr(form->collname));
	ReleaseSysCache(tuple);
	return name;
}

static char *
database_collation_name(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	char		provider;
	AttrNumber	attribute;
	Datum		value;
	bool		is_null;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	attribute = provider == COLLPROVIDER_LIBC ?
		Anum_pg_database_datcollate : Anum_pg_database_datlocale;
	value = SysCacheGetAttr(DATABASEOID, tuple, attribute, &is_null);
	name = is_null ? pstrdup("") : TextDatumGetCString(value);
	ReleaseSysCache(tuple);

	if (provider == COLLPROVIDER_LIBC &&
		(strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0))
		return pstrdup("C");
	return psprintf("%c:%s", provider, name);
}

/*-------------------------------------------------------------------------
 * window_sql.c
 *	  Has a node number the rows of a scan, and return the first ones.
 *
 * The SELECT that postgres_fdw made becomes a subquery, whatever it joins or
 * checks. Its columns are named by their position, so that the attributes of
 * the scan stay as they are.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "executor/fdw/postgres_fdw.h"
#include "executor/shuttle_window.h"

/* The attribute of a scan's tuple that holds a column; 0: none. */
static AttrNumber
find_attribute(const ForeignScan *scan, const Var *var)
{
	ListCell   *lc;

	if (scan->fdw_scan_tlist == NIL)
		return var->varno == scan->scan.scanrelid ? var->varattno : 0;
	foreach(lc, scan->fdw_scan_tlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);
		const Var  *column = (const Var *) entry->expr;

		if (IsA(column, Var) && column->varno == var->varno &&
			column->varattno == var->varattno)
			return entry->resno;
	}
	return 0;
}

int
shuttle_window_sql_find_column(const ForeignScan *scan, const Var *var)
{
	AttrNumber	attribute = find_attribute(scan, var);
	ListCell   *lc;

	if (attribute <= 0)
		return 0;
	foreach(lc, shuttle_postgres_fdw_scan_attributes(scan))
	{
		if (lfirst_int(lc) == attribute)
			return foreach_current_index(lc) + 1;
	}
	return 0;
}

bool
shuttle_window_sql_reads_columns_only(const ForeignScan *scan)
{
	ListCell   *lc;

	if (shuttle_postgres_fdw_scan_sql(scan) == NULL)
		return false;
	foreach(lc, shuttle_postgres_fdw_scan_attributes(scan))
	{
		if (lfirst_int(lc) <= 0)
			return false;
	}
	foreach(lc, scan->fdw_scan_tlist)
	{
		const Var  *column = (const Var *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(column, Var) || column->varattno <= 0)
			return false;
	}
	return true;
}

static void
append_columns(StringInfo out, int ncolumns)
{
	for (int i = 1; i <= ncolumns; i++)
		appendStringInfo(out, "%sc%d", i > 1 ? ", " : "", i);
}

static void
append_keys(StringInfo out, const char *clause, const ShuttleWindowKey *keys, int nkeys,
			bool with_order)
{
	for (int i = 0; i < nkeys; i++)
	{
		appendStringInfo(out, "%sc%d", i == 0 ? clause : ", ", keys[i].column);
		if (with_order)
			appendStringInfo(out, " %s NULLS %s", keys[i].descending ? "DESC" : "ASC",
							 keys[i].nulls_first ? "FIRST" : "LAST");
	}
}

ForeignScan *
shuttle_window_sql_limit_scan(const ForeignScan *scan, const ShuttleWindowLimit *limit)
{
	int			ncolumns = Max(1, list_length(shuttle_postgres_fdw_scan_attributes(scan)));
	int			npartition = limit->npartition;
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "SELECT ");
	append_columns(&out, ncolumns);
	appendStringInfoString(&out, " FROM (SELECT ");
	append_columns(&out, ncolumns);
	appendStringInfo(&out, ", pg_catalog.%s() OVER (", limit->function);
	append_keys(&out, "PARTITION BY ", limit->keys, npartition, false);
	append_keys(&out, npartition > 0 ? " ORDER BY " : "ORDER BY ", limit->keys + npartition,
				limit->nkeys - npartition, true);
	appendStringInfo(&out, ") FROM (%s) r (", shuttle_postgres_fdw_scan_sql(scan));
	append_columns(&out, ncolumns);
	appendStringInfoString(&out, ")) r (");
	append_columns(&out, ncolumns);
	appendStringInfo(&out, ", n) WHERE n %s", limit->condition);
	append_keys(&out, " ORDER BY ", limit->keys, limit->nkeys, true);
	return shuttle_postgres_fdw_replace_scan_sql(scan, out.data);
}

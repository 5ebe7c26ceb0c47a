/*-------------------------------------------------------------------------
 * check_tablets.c
 *	  Compares which tablets a node has, and of which bounds, with what it should have.
 *
 * A tablet of other bounds there takes other rows than this server looks for in it.
 * All that are wrong are detached before one is attached: two may have changed places.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "tablets/check/check.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/problems.h"

/* A tablet, as the query's columns. */
enum
{
	TABLET_NAME,				/* with its schema, quoted */
	TABLET_BOUND,
	TABLET_SERVER,				/* an OID; NULL on the node */
	TABLET_NCOLUMNS
};

/* Here, by the names that nodes call them, or on a node, without trap tablets. */
#define OPTION(name, otherwise) \
"COALESCE((SELECT option_value FROM pg_catalog.pg_options_to_table(t.ftoptions) WHERE option_name = '" name "'), " otherwise ")"
static const char *const tablets_query =
"SELECT pg_catalog.format('%I.%I', " OPTION("schema_name", "n.nspname") ", " OPTION("table_name", "c.relname") "), pg_catalog.pg_get_expr(c.relpartbound, c.oid), t.ftserver::text"
" FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid"
" JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
" LEFT JOIN pg_catalog.pg_foreign_table AS t ON t.ftrelid = c.oid"
" WHERE i.inhparent = $1"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = c.oid AND conname = 'shuttle_trap') ORDER BY c.relname";

/* Tablets of this node, as it should have them. */
static List *
tablets_here(const ShuttleCheck *check)
{
	List	   *tablets = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_rows(tablets_query, check->relid))
	{
		char	  **tablet = lfirst(cell);

		if (tablet[TABLET_SERVER] != NULL && atooid(tablet[TABLET_SERVER]) == check->serverid)
			tablets = lappend(tablets, tablet);
	}
	return tablets;
}

static bool
has_tablet(const List *tablets, char **tablet)
{
	ListCell   *cell;

	foreach(cell, tablets)
	{
		char	  **other = lfirst(cell);

		if (strcmp(other[TABLET_NAME], tablet[TABLET_NAME]) == 0)
			return strcmp(other[TABLET_BOUND], tablet[TABLET_BOUND]) == 0;
	}
	return false;
}

/* Those of the first list that the second has not, or of other bounds. */
static List *
missing_in(const List *tablets, const List *others)
{
	List	   *missing = NIL;
	ListCell   *cell;

	foreach(cell, tablets)
	{
		if (!has_tablet(others, lfirst(cell)))
			missing = lappend(missing, lfirst(cell));
	}
	return missing;
}

static char *
print_tablets(const List *tablets)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, tablets)
	{
		char	  **tablet = lfirst(cell);

		appendStringInfo(&text, "%s%s %s", text.len > 0 ? ", " : "", tablet[TABLET_NAME],
						 tablet[TABLET_BOUND]);
	}
	return text.data;
}

static bool
exists_there(const ShuttleCheck *check, char **tablet)
{
	const char *sql = psprintf("SELECT 1 WHERE pg_catalog.to_regclass(%s) IS NOT NULL",
							   quote_literal_cstr(tablet[TABLET_NAME]));

	return shuttle_node_rows(check->node, sql, 1, InvalidOid) != NIL;
}

void
shuttle_check_bounds(const ShuttleCheck *check)
{
	List	   *here = tablets_here(check);
	List	   *there = shuttle_node_rows_with_nulls(check->node, tablets_query, TABLET_NCOLUMNS, TABLET_SERVER, check->relid);
	List	   *lacking = missing_in(here, there);
	List	   *wrong = missing_in(there, here);
	const char *table = shuttle_local_name(check->relid);
	StringInfoData lost;
	StringInfoData statements;
	ListCell   *cell;

	if (lacking == NIL && wrong == NIL)
		return;
	initStringInfo(&lost);
	initStringInfo(&statements);
	foreach(cell, wrong)
		appendStringInfo(&statements, " ALTER TABLE %s DETACH PARTITION %s;", table,
						 ((char **) lfirst(cell))[TABLET_NAME]);
	foreach(cell, lacking)
	{
		char	  **tablet = lfirst(cell);

		appendStringInfo(&statements, " ALTER TABLE %s ATTACH PARTITION %s %s;", table,
						 tablet[TABLET_NAME], tablet[TABLET_BOUND]);
		if (!exists_there(check, tablet))
			appendStringInfo(&lost, "Restore %s on the node from a backup. ", tablet[TABLET_NAME]);
	}
	shuttle_problem_put(check,
						wrong == NIL ? psprintf("lacks tablets %s", print_tablets(lacking)) :
						lacking == NIL ? psprintf("has tablets %s besides its own", print_tablets(wrong)) :
						psprintf("has tablets %s instead of %s", print_tablets(wrong), print_tablets(lacking)),
						psprintf("%sRun on the node:%s", lost.data, statements.data));
}

/*-------------------------------------------------------------------------
 * authors.c
 *	  Who wrote what nodes need for tables.
 *
 * In: tables. Out: roles that are no superusers, and own functions or checks of domains that run
 * on nodes for these tables.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/rights/authors.h"

/*
 * Owners of what nodes use who are no superusers, of domains with each check; and the
 * table's own, if it calls what others made and what may run SQL that he gives it.
 */
#define AUTHORS(table) \
SHUTTLE_NEEDED(table) \
" SELECT DISTINCT r.oid::text, c.conbin::text FROM needed AS u LEFT JOIN pg_proc AS p ON u.classid = 'pg_proc'::regclass AND p.oid = u.oid" \
" AND prolang IN (SELECT oid FROM pg_language WHERE lanname IN ('sql', 'plpgsql'))" \
" LEFT JOIN (pg_type AS t JOIN pg_constraint AS c ON c.contypid = t.oid AND c.contype = 'c') ON u.classid = 'pg_type'::regclass AND t.oid = u.oid" \
" JOIN pg_roles AS r ON r.oid = coalesce(p.proowner, t.typowner) WHERE NOT r.rolsuper" \
" UNION SELECT r.oid::text, NULL FROM needed AS u JOIN pg_proc AS p ON u.classid = 'pg_proc'::regclass AND p.oid = u.oid AND provolatile <> 'i'" \
" JOIN pg_class AS c ON c.oid = " table " JOIN pg_roles AS r ON r.oid = c.relowner WHERE NOT r.rolsuper"

/* Of all tables of a query, with rows without an author for each. */
#define AUTHORS_OF_TABLES \
"SELECT one_table.relid::text, one_table.owner::text, author, conbin FROM (%s) AS one_table(relid, owner)" \
" LEFT JOIN LATERAL (%s) AS a(author, conbin) ON true ORDER BY one_table.relid, author::oid"

static bool
is_code(const char *domain_check)
{
	return domain_check == NULL || contain_mutable_functions(stringToNode(domain_check));
}

static List *
read_authors(const List *rows)
{
	List	   *authors = NIL;
	ListCell   *cell;

	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);

		if (is_code(row[1]))
			authors = list_append_unique_oid(authors, atooid(row[0]));
	}
	return authors;
}

List *
shuttle_authors_of_table(Oid relid)
{
	return read_authors(shuttle_local_rows(AUTHORS("$1"), relid));
}

List *
shuttle_authors_of_table_seen(Oid relid)
{
	return read_authors(shuttle_local_rows_seen(AUTHORS("$1"), relid));
}

List *
shuttle_authors_of_tables(const char *tables, Oid parameter)
{
	List	   *all = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_rows_now(psprintf(AUTHORS_OF_TABLES, tables, AUTHORS("one_table.relid")), parameter))
	{
		char	  **row = lfirst(cell);
		ShuttleTableAuthor *author = palloc0_object(ShuttleTableAuthor);

		author->relid = atooid(row[0]);
		author->owner = atooid(row[1]);
		if (row[2] != NULL && is_code(row[3]))
			author->author = atooid(row[2]);
		all = lappend(all, author);
	}
	return all;
}

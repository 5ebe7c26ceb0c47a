/*-------------------------------------------------------------------------
 * reach.c
 *	  Whose tables the code of users could reach on a node.
 *
 * All owners come to a node as one remote user, so code there can read and change all that is there.
 * So code of a role runs only on nodes where all tables are of owners whose privileges the
 * role has here. An owner who uses another's code trusts it, as everybody does who writes to a table
 * with a check of another.
 *
 * Either may come first: the code (a table may not follow then), or the table. What brings code to a
 * server waits there for what makes tables, until the other has committed.
 *
 * The order of locks, the same everywhere: first the tables here that a statement changes, then servers by
 * their OIDs, all of them before the first one is looked at, each at once in the mode that the whole
 * statement needs. What holds locks of a session, as a move does of its tables and group, does not wait for a
 * server: it gives up after a while, and tries again (move.c). What is left is two transactions that
 * both make a table on a server first, and bring code there later: neither can know of the other's
 * table, so one of them fails with 40P01.
 *
 * Entries of global indexes are their table's owner's, though they belong to a superuser.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/rights/authors.h"
#include "tablets/rights/reach.h"

#define HINT \
	"Grant the other role to it, let a superuser own the code, or give one of them a database of its own, with servers and a remote user of its own."

#define TABLES \
"SELECT c.oid, b.relowner FROM shuttle.tables AS t JOIN pg_class AS c ON c.oid = t.relation" \
" LEFT JOIN shuttle.global_indexes AS i ON i.entries = t.relation JOIN pg_class AS b ON b.oid = coalesce(i.relation, t.relation)"

/* Tables with rows on a server. */
static const char *const tables_query =
TABLES " WHERE (i.entries IS NOT NULL OR c.relnamespace IS DISTINCT FROM to_regnamespace('shuttle_indexes')) AND (t.kind = 'reference' OR EXISTS ("
"SELECT FROM pg_inherits JOIN pg_foreign_table ON ftrelid = inhrelid WHERE inhparent = c.oid AND ftserver = $1))";

/* Whose a table is; of entries that are being made, their table is not known: it is on the same servers. */
static const char *const owner_query =
"SELECT coalesce(b.relowner, CASE WHEN c.relnamespace IS DISTINCT FROM to_regnamespace('shuttle_indexes') THEN c.relowner END)::text"
" FROM pg_class AS c LEFT JOIN shuttle.global_indexes AS i ON i.entries::oid = c.oid LEFT JOIN pg_class AS b ON b.oid = i.relation WHERE c.oid = $1";

/* Owners of functions that all nodes have. Who has no USAGE on their schema cannot look them up by name. */
static const char *const routines_query =
"SELECT DISTINCT proowner::text FROM shuttle.routines JOIN pg_proc AS p ON p.oid >= 16384 AND p.oid::regprocedure::text = routine"
" JOIN pg_roles AS r ON r.oid = proowner WHERE NOT rolsuper AND $1 IS NOT NULL";

/*
 * Whether there can be a reason at all: without one, the recursive queries of each server are spared.
 * Authors are among the owners of functions, of domains and of tables, and $1, who owns the table or
 * the code; all of them must have the privileges of $1, and if there is new code, of all who have tables.
 * What is needed of objects below 12000 has no entry in pg_depend.
 */
#define SUSPECTS(owners) \
"SELECT '' FROM (SELECT proowner FROM pg_proc WHERE oid >= 12000" \
" UNION SELECT typowner FROM pg_type WHERE oid >= 12000 AND typtype = 'd'" \
" UNION SELECT relowner FROM pg_class JOIN shuttle.tables ON relation = oid UNION SELECT $1) AS author(role)" \
" JOIN pg_roles AS r ON r.oid = author.role CROSS JOIN (" owners ") AS owner(role)" \
" WHERE NOT r.rolsuper AND NOT pg_has_role(author.role, owner.role, 'USAGE') LIMIT 1"

static const char *const suspects_query = SUSPECTS("SELECT $1");
static const char *const suspects_all_query =
SUSPECTS("SELECT relowner FROM pg_class JOIN shuttle.tables ON relation = oid UNION SELECT $1");

static char *
role_name(Oid role)
{
	return GetUserNameFromId(role, false);
}

/* Two that make tables do not wait for each other. */
void
shuttle_reach_lock(const List *servers, bool brings_code)
{
	List	   *sorted = list_copy(servers);
	ListCell   *cell;

	list_sort(sorted, list_oid_cmp);
	foreach(cell, sorted)
		LockDatabaseObject(ForeignServerRelationId, lfirst_oid(cell), 0,
						   brings_code ? ShareRowExclusiveLock : RowExclusiveLock);
}

/* Whether a table of an owner uses an author's code. */
static bool
one_uses_code(const List *tables, Oid owner, Oid author)
{
	const ListCell *cell;

	foreach(cell, tables)
	{
		const ShuttleTableAuthor *table = lfirst(cell);

		if (table->owner == owner && table->author == author)
			return true;
	}
	return false;
}

/* Whether it can reach what it could not reach here. */
static bool
reaches(Oid author, Oid owner, const List *tables)
{
	return !has_privs_of_role(author, owner) && !one_uses_code(tables, owner, author);
}

static ShuttleRefusal *
refuse_code(const ShuttleReach *reach, Oid author, Oid user)
{
	const ListCell *cell;

	foreach(cell, reach->tables)
	{
		Oid			owner = ((const ShuttleTableAuthor *) lfirst(cell))->owner;

		if (owner == user || !reaches(author, owner, reach->tables))
			continue;
		return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE,
							   psprintf("code of role \"%s\" must not run on storage nodes", role_name(author)),
							   psprintf("It could read and change the tables of role \"%s\" on \"%s\".", role_name(owner),
										GetForeignServer(reach->serverid)->servername),
							   HINT);
	}
	return NULL;
}

/* Code that is there already, and a table's owner. */
static ShuttleRefusal *
refuse_owner(const ShuttleReach *reach, Oid relid, Oid owner, const List *trusted)
{
	List	   *authors = list_copy(reach->routine_authors);
	const ListCell *cell;

	foreach(cell, reach->tables)
	{
		Oid			author = ((const ShuttleTableAuthor *) lfirst(cell))->author;

		if (OidIsValid(author))
			authors = list_append_unique_oid(authors, author);
	}
	foreach(cell, list_difference_oid(authors, trusted))
	{
		if (!reaches(lfirst_oid(cell), owner, reach->tables))
			continue;
		return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE,
							   psprintf("table \"%s\" must not be on \"%s\"", get_rel_name(relid),
										GetForeignServer(reach->serverid)->servername),
							   psprintf("Code of role \"%s\" runs there, and could read and change the tables of role \"%s\".",
										role_name(lfirst_oid(cell)), role_name(owner)),
							   HINT);
	}
	return NULL;
}

ShuttleReach *
shuttle_reach_look(Oid serverid)
{
	ShuttleReach *reach = palloc0_object(ShuttleReach);
	ListCell   *cell;

	reach->serverid = serverid;
	reach->tables = shuttle_authors_of_tables(tables_query, serverid);
	foreach(cell, shuttle_local_rows_now(routines_query, serverid))
		reach->routine_authors = lappend_oid(reach->routine_authors, atooid(((char **) lfirst(cell))[0]));
	return reach;
}

ShuttleRefusal *
shuttle_reach_find(const ShuttleReach *reach, Oid relid, Oid owner, const List *authors)
{
	ShuttleRefusal *refusal = refuse_owner(reach, relid, owner, authors);
	const ListCell *cell;

	foreach(cell, authors)
	{
		if (refusal == NULL)
			refusal = refuse_code(reach, lfirst_oid(cell), owner);
	}
	return refusal;
}

ShuttleRefusal *
shuttle_reach_refuse_code(Oid author, Oid serverid, Oid relid)
{
	if (shuttle_local_rows_now(suspects_all_query, author) == NIL)
		return NULL;
	return refuse_code(shuttle_reach_look(serverid), author,
					   OidIsValid(relid) ? shuttle_local_owner(relid) : InvalidOid);
}

/* A table that is to be on servers; owner: InvalidOid if nobody knows it yet. */
typedef struct NewTable
{
	Oid			relid;
	Oid			owner;
	List	   *authors;
} NewTable;

static NewTable *
new_table(Oid relid)
{
	NewTable   *table = palloc0_object(NewTable);
	char	   *owner = shuttle_local_text(owner_query, relid);

	table->relid = relid;
	if (owner == NULL)
		return table;
	table->owner = atooid(owner);
	table->authors = shuttle_authors_of_table(relid);
	return table;
}

static ShuttleRefusal *
refuse_new_table(const NewTable *table, const List *servers)
{
	ShuttleRefusal *refusal = NULL;
	const ListCell *cell;

	if (!OidIsValid(table->owner) ||
		shuttle_local_rows_now(table->authors == NIL ? suspects_query : suspects_all_query, table->owner) == NIL)
		return NULL;
	foreach(cell, servers)
	{
		if (refusal == NULL)
			refusal = shuttle_reach_find(shuttle_reach_look(lfirst_oid(cell)), table->relid, table->owner, table->authors);
	}
	return refusal;
}

ShuttleRefusal *
shuttle_reach_refuse_tables(const List *relids, const List *servers)
{
	ShuttleRefusal *refusal = NULL;
	List	   *tables = NIL;
	bool		are_owned = false;
	bool		bring_code = false;
	const ListCell *cell;

	foreach(cell, relids)
	{
		NewTable   *table = new_table(lfirst_oid(cell));

		are_owned |= OidIsValid(table->owner);
		bring_code |= table->authors != NIL;
		tables = lappend(tables, table);
	}
	if (are_owned)
		shuttle_reach_lock(servers, bring_code);
	foreach(cell, tables)
	{
		if (refusal == NULL)
			refusal = refuse_new_table(lfirst(cell), servers);
	}
	return refusal;
}

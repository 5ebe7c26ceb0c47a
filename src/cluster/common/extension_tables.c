/*-------------------------------------------------------------------------
 * extension_tables.c
 *	  OIDs of the extension's tables.
 *
 * A table counts only if it belongs to the extension: another user could have
 * created the schema and a table of that name. OIDs are cached until pg_class
 * or a schema changes. A missing table is not cached: during CREATE EXTENSION
 * tables become members only some time after their creation.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/extension.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "cluster/shuttle_cluster.h"

static const char *const names[SHUTTLE_NTABLES] = {
	[SHUTTLE_TABLE_COMMIT_RECORDS] = "commit_records",
	[SHUTTLE_TABLE_COPIED_STATISTICS] = "copied_statistics",
	[SHUTTLE_TABLE_GLOBAL_INDEXES] = "global_indexes",
	[SHUTTLE_TABLE_IDENTITY] = "identity",
	[SHUTTLE_TABLE_QUERY_NODE_LEASES] = "query_node_leases",
	[SHUTTLE_TABLE_QUERY_NODE_SERVERS] = "query_node_servers",
	[SHUTTLE_TABLE_ROUTINES] = "routines",
	[SHUTTLE_TABLE_TABLES] = "tables",
};

static Oid	known[SHUTTLE_NTABLES];

static void
forget_tables(Datum argument, int cache, uint32 hash)
{
	memset(known, 0, sizeof(known));
}

static void
watch_catalogs(void)
{
	static bool watching = false;

	if (watching)
		return;
	CacheRegisterSyscacheCallback(RELOID, forget_tables, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACENAME, forget_tables, (Datum) 0);
	watching = true;
}

static Oid
find_table(const char *name)
{
	Oid			schema = get_namespace_oid("shuttle", true);
	Oid			extension = get_extension_oid("pg_shuttle", true);
	Oid			relid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	return OidIsValid(extension) && OidIsValid(relid) &&
		getExtensionOfObject(RelationRelationId, relid) == extension ? relid : InvalidOid;
}

Oid
shuttle_extension_table(ShuttleExtensionTable table)
{
	if (!OidIsValid(known[table]))
	{
		watch_catalogs();
		known[table] = find_table(names[table]);
	}
	return known[table];
}

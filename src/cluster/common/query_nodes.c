/*-------------------------------------------------------------------------
 * query_nodes.c
 *	  Other query nodes over the same storage nodes. The search for
 *	  deadlocks asks them for their local locks.
 *
 * A query node is a foreign server of our wrapper; shuttle.add_query_node()
 * and shuttle.remove_query_node() keep the names in a table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "cluster/common/servers.h"
#include "cluster/shuttle_cluster.h"

SHUTTLE_SQL_FUNCTION(shuttle_check_query_node);

/* shuttle.check_query_node(server): raises an error for a wrong name */
Datum
shuttle_check_query_node(PG_FUNCTION_ARGS)
{
	(void) shuttle_server_find(NameStr(*PG_GETARG_NAME(0)));
	PG_RETURN_VOID();
}

List *
shuttle_query_node_list(void)
{
	Oid			relid = shuttle_extension_table(SHUTTLE_TABLE_QUERY_NODE_SERVERS);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *nodes = NIL;

	if (!OidIsValid(relid))
		return NIL;
	rel = table_open(relid, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		is_null;
		Datum		name = heap_getattr(tuple, 1, RelationGetDescr(rel), &is_null);
		ForeignServer *server = GetForeignServerByName(NameStr(*DatumGetName(name)), true);

		if (server != NULL)
			nodes = lappend_oid(nodes, server->serverid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return nodes;
}

/*-------------------------------------------------------------------------
 * table_size.c
 *	  The size of a table on storage nodes: shuttle.table_size().
 *
 * pg_total_relation_size() of a distributed table is 0 here, where it has no rows. The
 * tables of its name on the nodes have them in their partitions.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/partitions.h"
#include "tablets/common/table_facts.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_table_size);

static const char *const size_query =
"SELECT COALESCE(pg_catalog.sum(pg_catalog.pg_total_relation_size(inhrelid)), 0)::int8 FROM pg_catalog.pg_inherits"
" WHERE inhparent = pg_catalog.to_regclass(%s)";

static ShuttleRequest *
ask(Oid relid, Oid serverid)
{
	ShuttleStatement statement = {
		.sql = psprintf(size_query, quote_literal_cstr(shuttle_local_name(relid))),
		.effect = SHUTTLE_READS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.ncolumns = 1,
	};

	return shuttle_request_send(shuttle_connection_get(serverid, GetUserId()), &statement, CurrentMemoryContext);
}

/* Errors: those of nodes, and 08P01. */
static int64
read_size(ShuttleRequest *request)
{
	int64		size = 0;
	ShuttleRow	row;

	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
		size += pg_strtoint64(shuttle_row_text(&row, 0));
	shuttle_request_close(request);
	return size;
}

/* All nodes are asked at the same time. */
static int64
size_on_nodes(const List *relids)
{
	List	   *requests = NIL;
	int64		size = 0;
	const ListCell *cell;

	foreach(cell, relids)
	{
		ListCell   *server;

		foreach(server, shuttle_table_servers(lfirst_oid(cell)))
			requests = lappend(requests, ask(lfirst_oid(cell), lfirst_oid(server)));
	}
	foreach(cell, requests)
		size += read_size(lfirst(cell));
	return size;
}

/* shuttle.table_size(relation) */
Datum
shuttle_table_size(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED && shuttle_table_kind(relid) != SHUTTLE_TABLE_PARTITIONED)
		return pg_total_relation_size(fcinfo);
	LockRelationOid(relid, AccessShareLock);
	PG_RETURN_INT64(size_on_nodes(shuttle_partitions_distributed(relid)));
}

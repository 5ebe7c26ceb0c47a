/*-------------------------------------------------------------------------
 * node_views.c
 *	  Functions of the views shuttle.nodes and shuttle.node_stats.
 *
 * As in pg_stat_activity, other sessions' connections are shown to members of
 * their role and of pg_read_all_stats. Totals name nobody and are shown to
 * all.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_node_control.h"

static const char *const state_names[] = {
	[SHUTTLE_NODE_CONNECTING] = "connecting",
	[SHUTTLE_NODE_IDLE] = "idle",
	[SHUTTLE_NODE_IN_TRANSACTION] = "in transaction",
	[SHUTTLE_NODE_LOST] = "lost",
};

#define NNODE_COLUMNS 12

SHUTTLE_SQL_FUNCTION(shuttle_node_connections);
SHUTTLE_SQL_FUNCTION(shuttle_node_counts);
SHUTTLE_SQL_FUNCTION(shuttle_node_round_trip);
SHUTTLE_SQL_FUNCTION(shuttle_reset_node_stats);

static void put_connection(ReturnSetInfo *result, const ShuttleNodeInfo *info);

static bool
may_see(const ShuttleNodeInfo *info)
{
	return info->pid == MyProcPid ||
		has_privs_of_role(GetUserId(), info->userid) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* shuttle.node_connections() */
Datum
shuttle_node_connections(PG_FUNCTION_ARGS)
{
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, shuttle_connection_slots_list())
	{
		const ShuttleNodeInfo *info = lfirst(cell);

		if (may_see(info))
			put_connection((ReturnSetInfo *) fcinfo->resultinfo, info);
	}
	return (Datum) 0;
}

/* Unknown values (negative, zero or empty) are NULL. */
static void
put_connection(ReturnSetInfo *result, const ShuttleNodeInfo *info)
{
	char	   *version = psprintf("%d.%d", info->version / 10000,
								   info->version % 10000);
	Datum		values[NNODE_COLUMNS] = {
		ObjectIdGetDatum(info->serverid),
		Int32GetDatum(info->pid),
		ObjectIdGetDatum(info->userid),
		CStringGetTextDatum(info->address),
		Int32GetDatum(info->node_pid),
		CStringGetTextDatum(state_names[info->state]),
		CStringGetTextDatum(version),
		Float8GetDatum(info->least_trip_ms),
		Float8GetDatum(info->mean_trip_ms),
		TimestampTzGetDatum(info->since),
		CStringGetTextDatum(info->is_standby ? "standby" : "primary"),
		Int64GetDatum(info->timeline),
	};
	bool		nulls[NNODE_COLUMNS] = {
		[3] = info->address[0] == '\0',
		[4] = info->node_pid == 0,
		[6] = info->version == 0,
		[7] = info->least_trip_ms < 0,
		[8] = info->mean_trip_ms < 0,
		[10] = info->version == 0,
		[11] = info->timeline == 0,
	};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* shuttle.node_counts() */
Datum
shuttle_node_counts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (result->setDesc->natts != SHUTTLE_NNODE_TOTALS + 2)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shuttle.node_counts() has %d columns instead of %d",
						result->setDesc->natts, SHUTTLE_NNODE_TOTALS + 2),
				 errhint("Run ALTER EXTENSION pg_shuttle UPDATE.")));
	foreach(cell, shuttle_node_totals())
	{
		const ShuttleNodeTotals *totals = lfirst(cell);
		Datum		values[SHUTTLE_NNODE_TOTALS + 2];
		bool		nulls[SHUTTLE_NNODE_TOTALS + 2] = {false};

		values[0] = ObjectIdGetDatum(totals->serverid);
		for (int i = 0; i < SHUTTLE_NNODE_TOTALS; i++)
			values[i + 1] = i == SHUTTLE_NODE_WAIT_US || i == SHUTTLE_NODE_WINDOW_US ?
				Float8GetDatum(totals->value[i] / 1000.0) :
				Int64GetDatum(totals->value[i]);
		values[SHUTTLE_NNODE_TOTALS + 1] = TimestampTzGetDatum(totals->since);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* shuttle.node_round_trip(serverid) */
Datum
shuttle_node_round_trip(PG_FUNCTION_ARGS)
{
	double		ms = shuttle_round_trip_ms(PG_GETARG_OID(0));

	if (ms < 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(ms);
}

/* shuttle.reset_node_stats(server) */
Datum
shuttle_reset_node_stats(PG_FUNCTION_ARGS)
{
	Oid			serverid = InvalidOid;

	if (!PG_ARGISNULL(0))
		serverid = shuttle_server_find(NameStr(*PG_GETARG_NAME(0)));
	shuttle_node_totals_reset(serverid);
	PG_RETURN_VOID();
}

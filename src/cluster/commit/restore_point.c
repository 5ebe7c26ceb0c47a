/*-------------------------------------------------------------------------
 * restore_point.c
 *	  shuttle.create_restore_point(): one restore point for this server, all
 *	  storage nodes and other query nodes.
 *
 * A commit over several nodes inserts its record under a lock on
 * shuttle.commit_records that lasts until all nodes have answered COMMIT PREPARED. A
 * SHARE lock on the table waits for all such commits and lets no other one write its
 * record. While it is held, here and on each other query node, a transaction is at each
 * point in one of these states:
 *
 * a. Prepared on nodes, no record yet: restored, it is rolled back everywhere.
 * b. Its record is here, and the session gave up waiting for a node: restored, it is
 *    committed by its record. Recovery may commit it between two points. It removes no
 *    record meanwhile: the lock keeps it out, too.
 * c. Committed everywhere.
 * d. Prepared by its client, on nodes and then here. It may be so for days, and has no lock. Query
 *    nodes make their points first: restored, it is prepared everywhere, or not here and is
 *    rolled back on nodes. COMMIT PREPARED takes the lock.
 *
 * A transaction that wrote on one node alone is whole there, before the point or after
 * it, and is not held back.
 *
 * Writers queue behind the lock even while it is waited for. So an attempt to get it
 * ends soon, and is repeated.
 *
 * Memory: the caller's context, short-lived.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/pg_lsn.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "base/shuttle_subtransaction.h"
#include "base/shuttle_wait_events.h"
#include "cluster/common/lease.h"
#include "cluster/common/servers.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_node_session.h"
#include "storage/shuttle_storage.h"

#define LOCK_TIMEOUT "300ms"
#define PAUSE_MS 100
#define HOLD_LIMIT_MS 10000

/*
 * Why a server cannot make a restore point, its system identifier, and the query nodes
 * whose sessions it has, by their names.
 */
#define LOOK_SQL \
	SHUTTLE_RUN_AT_ONCE "SELECT CASE" \
	" WHEN pg_catalog.pg_is_in_recovery() THEN 'It is a standby.'" \
	" WHEN pg_catalog.current_setting('wal_level') OPERATOR(pg_catalog.=) 'minimal'" \
	"  THEN 'Its wal_level is minimal.'" \
	" WHEN NOT pg_catalog.has_function_privilege('pg_catalog.pg_create_restore_point(text)', 'EXECUTE')" \
	"  THEN 'Its role ' OPERATOR(pg_catalog.||) pg_catalog.quote_ident(CURRENT_USER)" \
	"   OPERATOR(pg_catalog.||) ' may not execute pg_create_restore_point(text).' END," \
	" (SELECT c.system_identifier FROM pg_catalog.pg_control_system() AS c)," \
	" (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.substring(a.application_name, '([0-9a-f]{16}):[0-9]+')" \
	"   OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) pg_catalog.quote_ident(a.usename), pg_catalog.chr(10))" \
	"  FROM pg_catalog.pg_stat_activity AS a)"

#define LOOK_COLUMNS 3

/* A server that gets a restore point. */
typedef struct PointServer
{
	Oid			serverid;
	const char *name;
	bool		is_query_node;
	ShuttleSide *side;
	char	   *obstacle;		/* why it cannot; empty: it can */
	uint64		system_identifier;
	char	   *query_nodes;	/* lines with a system identifier, in
								 * hexadecimal digits, and the role of a
								 * session */
	char	   *lsn;
} PointServer;

SHUTTLE_SQL_FUNCTION(shuttle_create_restore_point);

static void check_here(const char *name);
static List *point_servers(List *servers);
static void look(List *servers);
static void check_query_nodes(List *servers);
static void hold_commits(List *servers, Oid records);
static bool try_to_hold(List *servers, Oid records);
static void release_commits(Oid records);
static List *choose(List *servers, bool query_nodes);
static void make_points(List *servers, const char *name);
static void put_point(ReturnSetInfo *result, const char *server, Datum lsn);

/* shuttle.create_restore_point(name, servers) */
Datum
shuttle_create_restore_point(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			records = shuttle_extension_table(SHUTTLE_TABLE_COMMIT_RECORDS);
	char	   *name;
	List	   *servers;
	Datum		here;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	check_here(name);
	servers = point_servers(PG_ARGISNULL(1) ? shuttle_server_list() :
							shuttle_server_find_all(PG_GETARG_ARRAYTYPE_P(1)));

	look(servers);
	check_query_nodes(servers);
	hold_commits(servers, records);
	here = DirectFunctionCall1(pg_create_restore_point, PG_GETARG_DATUM(0));
	make_points(choose(servers, true), name);
	make_points(choose(servers, false), name);
	SHUTTLE_POINT("nodes-have-points");

	release_commits(records);
	foreach(cell, servers)
	{
		const PointServer *server = lfirst(cell);

		put_point(result, server->name,
				  DirectFunctionCall1(pg_lsn_in, CStringGetDatum(server->lsn)));
	}
	put_point(result, NULL, here);
	return (Datum) 0;
}

/* Raises here what core would raise when nodes have made their points. */
static void
check_here(const char *name)
{
	if (IsTransactionBlock())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run inside a transaction block",
						"shuttle.create_restore_point()"),
				 errdetail("It would hold back commits until the transaction ends.")));
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("restore points are made on the primary server"),
				 errhint("Call the function there.")));
	if (!XLogIsNeeded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("WAL level not sufficient for creating a restore point"),
				 errhint("\"wal_level\" must be set to \"replica\" or \"logical\" at server start.")));
	if (strlen(name) >= MAXFNAMELEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value too long for restore point (maximum %d characters)",
						MAXFNAMELEN - 1)));
}

/* The servers, and all other query nodes. */
static List *
point_servers(List *servers)
{
	List	   *query_nodes = shuttle_query_node_list();
	List	   *found = NIL;
	ListCell   *cell;

	servers = list_concat_unique_oid(list_copy(servers), query_nodes);
	foreach(cell, servers)
	{
		PointServer *server = palloc0_object(PointServer);

		server->serverid = lfirst_oid(cell);
		server->name = GetForeignServer(server->serverid)->servername;
		server->is_query_node = list_member_oid(query_nodes, server->serverid);
		server->side = shuttle_outside_side_create();
		found = lappend(found, server);
	}
	return found;
}

/* ---- asking */

/* Runs a statement on all of them at the same time, each with its own row callback. */
static ShuttleOutsideRun *
run_on(List *servers, const char *sql, int ncolumns, ShuttleRowCallback row)
{
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, Max(1, list_length(servers)));
	ListCell   *cell;

	foreach(cell, servers)
	{
		PointServer *server = lfirst(cell);
		ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		run->serverid = server->serverid;
		run->name = server->name;
		run->side = server->side;
		run->row = row;
		run->row_arg = server;
		run->ncolumns = ncolumns;
		run->nrows = -1;
		run->ok = true;
	}
	shuttle_outside_run(sql, GetUserId(), runs, list_length(servers), 0);
	return runs;
}

static void
take_look(void *arg, const ShuttleRow *row)
{
	PointServer *server = arg;

	server->obstacle = pstrdup(row->values[0]);
	server->system_identifier = strtoull(row->values[1], NULL, 10);
	server->query_nodes = pstrdup(row->values[2]);
}

/* Looks before anything is held or made, and leaves connections for it. */
static void
look(List *servers)
{
	ShuttleOutsideRun *runs = run_on(servers, LOOK_SQL, LOOK_COLUMNS, take_look);
	ListCell   *cell;

	foreach(cell, servers)
	{
		const PointServer *server = lfirst(cell);
		const ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		if (!run->ok)
			ereport(ERROR,
					(errcode(shuttle_outside_sqlstate(run)),
					 errmsg("no restore point can be made because storage node \"%s\" does not answer",
							server->name),
					 errdetail("%s", run->error),
					 errhint("Nothing was made. Repeat the call when all nodes are there, or name the servers.")));
		if (server->obstacle == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("storage node \"%s\" gave an answer that was not expected", server->name),
					 errdetail("It has no rows.")));
		if (server->obstacle[0] != '\0')
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("storage node \"%s\" cannot make a restore point", server->name),
					 errdetail("%s", server->obstacle),
					 errhint("Nothing was made. Change that, or name the servers.")));
	}
}

static bool
is_known(uint64 system_identifier, List *servers)
{
	ListCell   *cell;

	if (system_identifier == shuttle_session_server())
		return true;
	foreach(cell, shuttle_lease_list())
	{
		const ShuttleLease *lease = lfirst(cell);

		if (system_identifier == shuttle_session_server_named(lease->name))
			return true;
	}
	foreach(cell, servers)
	{
		const PointServer *server = lfirst(cell);

		if (server->is_query_node && server->system_identifier == system_identifier)
			return true;
	}
	return false;
}

/* The commits of a query node that is not known here would not be held back. */
static void
check_query_nodes(List *servers)
{
	ListCell   *cell;

	foreach(cell, servers)
	{
		const PointServer *server = lfirst(cell);
		char	   *rest = server->query_nodes;
		uint64		found;

		while ((found = strtoull(rest, &rest, 16)) != 0)
		{
			int			length = strcspn(rest, "\n");

			if (!is_known(found, servers))
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						 errmsg("another query node uses storage node \"%s\"", server->name),
						 errdetail("Its commits would not be held back. Its system identifier is " UINT64_FORMAT ", the role of its session%.*s.",
								   found, length, rest),
						 errhint("Name it by shuttle.add_query_node(), or disconnect its sessions.")));
			rest += length;
		}
	}
}

/* ---- holding back commits */

static void
pause_before_next(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PAUSE_MS,
					 shuttle_wait_event(SHUTTLE_WAIT_RUN));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

static void
hold_commits(List *servers, Oid records)
{
	int			limit_ms = LockTimeout > 0 ? Min(LockTimeout, HOLD_LIMIT_MS) : HOLD_LIMIT_MS;
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), limit_ms);

	while (!try_to_hold(servers, records))
	{
		if (GetCurrentTimestamp() >= deadline)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("commits over several nodes could not be held back within %d ms", limit_ms),
					 errdetail("A session locks table \"%s\", here or on another query node.",
							   "shuttle.commit_records"),
					 errhint("Nothing was made. Look for it in pg_locks, and repeat the call when its transaction has ended.")));
		pause_before_next();
	}
}

/* Takes the lock in the node's part of our transaction. */
static void
lock_on(const PointServer *server)
{
	ShuttleStatement statement = {
		.sql = "LOCK TABLE shuttle.commit_records IN SHARE MODE",
		.effect = SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.tag_only = true,
	};
	ShuttleRequest *request = shuttle_request_send(shuttle_connection_get(server->serverid, GetUserId()),
												   &statement, CurrentMemoryContext);

	(void) shuttle_request_finish(request);
	shuttle_request_close(request);
}

typedef struct Holding
{
	List	   *servers;
	Oid			records;
} Holding;

static void
lock_all(void *arg)
{
	const Holding *holding = arg;
	int			level = NewGUCNestLevel();
	ListCell   *cell;

	/* nodes heed it as well */
	(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	foreach(cell, holding->servers)
	{
		const PointServer *server = lfirst(cell);

		if (server->is_query_node)
			lock_on(server);
	}
	LockRelationOid(holding->records, ShareLock);
	AtEOXact_GUC(true, level);
}

/* An abort of the subtransaction gives back the locks that it got. */
static bool
try_to_hold(List *servers, Oid records)
{
	Holding		holding = {servers, records};
	ErrorData  *error = shuttle_subtransaction_run(lock_all, &holding);

	if (error != NULL && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
		ThrowErrorData(error);
	return error == NULL;
}

/* The lock belongs to the transaction, which may last. Other query nodes give up theirs
 * with it. */
static void
release_commits(Oid records)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	UnlockRelationOid(records, ShareLock);
	CurrentResourceOwner = owner;
}

/* ---- the points */

static void
take_lsn(void *arg, const ShuttleRow *row)
{
	((PointServer *) arg)->lsn = pstrdup(row->values[0]);
}

static List *
choose(List *servers, bool query_nodes)
{
	List	   *chosen = NIL;
	ListCell   *cell;

	foreach(cell, servers)
	{
		if (((PointServer *) lfirst(cell))->is_query_node == query_nodes)
			chosen = lappend(chosen, lfirst(cell));
	}
	return chosen;
}

static void
make_points(List *servers, const char *name)
{
	char	   *sql = psprintf(SHUTTLE_RUN_AT_ONCE "SELECT pg_catalog.pg_create_restore_point(%s)",
							   quote_literal_cstr(name));
	ShuttleOutsideRun *runs = run_on(servers, sql, 1, take_lsn);
	ListCell   *cell;

	foreach(cell, servers)
	{
		const PointServer *server = lfirst(cell);
		const ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		if (run->ok && server->lsn == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("storage node \"%s\" gave an answer that was not expected", server->name),
					 errdetail("It has no rows.")));
		if (!run->ok)
			ereport(ERROR,
					(errcode(shuttle_outside_sqlstate(run)),
					 errmsg("storage node \"%s\" has not made restore point \"%s\"",
							server->name, name),
					 errdetail("%s", run->error),
					 errhint("Other nodes may have made it. Repeat the call with another name: a server that is restored stops at the first point of a name.")));
	}
}

static void
put_point(ReturnSetInfo *result, const char *server, Datum lsn)
{
	NameData	name = {""};
	Datum		values[2] = {NameGetDatum(&name), lsn};
	bool		nulls[2] = {server == NULL, false};

	if (server != NULL)
		namestrcpy(&name, server);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*-------------------------------------------------------------------------
 * deadlock.c
 *	  Finds deadlocks over several nodes, from within a session that waits.
 *
 * After waiting for a node for shuttle.deadlock_timeout a session asks it
 * whether a lock is the reason. If so it asks all nodes and the other known
 * query nodes who waits for whom, and adds the local locks. Sessions of query
 * nodes are identified by the server's number and PID, which our
 * application_name on nodes contains (session_name.c), other sessions by those
 * of their server.
 *
 * The victim is the youngest transaction in the cycle among the sessions that
 * wait for a storage node; one that waits for a local lock could not give up
 * (trap 32). So a session is the victim if there is a cycle through itself in
 * the graph without younger sessions of that kind, which one walk finds. Every
 * session decides this by itself.
 *
 * A session may not look (shuttle.deadlock_timeout), or not see the whole
 * cycle for lack of a user mapping. If a cycle is still there after two more
 * looks, the next youngest session gives up, and so on.
 *
 * Nodes are asked at different moments, so a cycle may never have existed at
 * one time: an edge counts only if a second look finds it with the same
 * transactions.
 *
 * Memory: a context for one look. Connections live as long as the transaction.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "cluster/commit/commit.h"
#include "cluster/common/servers.h"
#include "cluster/deadlock/deadlock.h"
#include "storage/shuttle_node_session.h"

#define LOOK_AGAIN_US 20000
#define LOOK_WAIT_MS 1500
#define SILENCE_MS 10000

/* The locked object: the columns of pg_locks that identify it. */
#define LOCKED_THING(lock) \
	"(" lock ".locktype, " lock ".database, " lock ".relation, " lock ".page, " lock ".tuple, " \
	lock ".virtualxid, " lock ".transactionid, " lock ".classid, " lock ".objid, " lock ".objsubid)::pg_catalog.text"

/* Columns hidden from other roles are not needed. For a prepared transaction
 * pg_blocking_pids() returns 0; its GID names the session that prepared it. */
#define EDGES_SQL \
	SHUTTLE_RUN_AT_ONCE "SELECT " SHUTTLE_SESSION_SERVER_SQL "," \
	" w.pid, wa.application_name, b.pid, COALESCE(ba.application_name, p.gid)" \
	" FROM (SELECT DISTINCT pid FROM pg_catalog.pg_locks WHERE NOT granted) AS w" \
	" CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) AS b (pid)" \
	" LEFT JOIN pg_catalog.pg_stat_activity AS wa ON wa.pid OPERATOR(pg_catalog.=) w.pid" \
	" LEFT JOIN pg_catalog.pg_stat_activity AS ba ON ba.pid OPERATOR(pg_catalog.=) b.pid" \
	" LEFT JOIN LATERAL (SELECT x.gid FROM pg_catalog.pg_locks AS wanted, pg_catalog.pg_locks AS held," \
	"   pg_catalog.pg_locks AS own, pg_catalog.pg_prepared_xacts AS x" \
	"  WHERE b.pid OPERATOR(pg_catalog.=) 0 AND wanted.pid OPERATOR(pg_catalog.=) w.pid" \
	"   AND NOT wanted.granted AND held.granted AND held.pid IS NULL" \
	"   AND " LOCKED_THING("held") " OPERATOR(pg_catalog.=) " LOCKED_THING("wanted") \
	"   AND own.pid IS NULL" \
	"   AND own.virtualtransaction OPERATOR(pg_catalog.=) held.virtualtransaction" \
	"   AND own.transactionid OPERATOR(pg_catalog.=) x.transaction) AS p ON true"

#define EDGE_COLUMNS 5

/* A server to ask. */
typedef struct Asked
{
	Oid			serverid;
	Oid			userid;
	const char *name;
	struct KeptSide *kept;
	ShuttleLockLook *look;
	bool		waits;			/* this session waits there for a session's
								 * lock */
	bool		by_prepared;	/* it waits for a prepared transaction's lock */
} Asked;

/* Connections of this transaction. */
typedef struct KeptSide
{
	Oid			serverid;
	Oid			userid;
	ShuttleSide *side;
	TimestampTz silent_until;	/* not asked until then: it did not answer */
} KeptSide;

static List *kept_sides = NIL;
static LocalTransactionId kept_lxid = InvalidLocalTransactionId;

static ShuttleLockLook *look_at(List *all, bool and_here, List *waited);
static List *who_is_waited_for(List *all);
static void recover_prepared(List *all);
static void raise_deadlock(List *cycle);

/* ---- sessions and edges */

static ShuttleLockSession
my_session(void)
{
	ShuttleLockSession me = {
		.system_identifier = shuttle_session_server(),
		.pid = MyProcPid,
		.start = GetCurrentTransactionStartTimestamp() +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY,
		.number = shuttle_my_lxid(),
	};

	return me;
}

/* Parses a session's identity from an application_name or GID; false: there is
 * none. */
static bool
read_name(const char *name, ShuttleLockSession *session)
{
	for (const char *at = name; at != NULL && *at != '\0'; at++)
	{
		unsigned long long system_identifier;
		long long	start = 0;
		unsigned int number = 0;
		int			pid;

		if (strspn(at, "0123456789abcdef") != 16 || at[16] != ':' ||
			sscanf(at, "%16llx:%d %lld/%u", &system_identifier, &pid, &start, &number) < 2)
			continue;
		session->system_identifier = system_identifier;
		session->pid = pid;
		session->start = start;
		session->number = number;
		return true;
	}
	return false;
}

/* A row of EDGES_SQL. */
static void
take_edge(void *arg, const ShuttleRow *row)
{
	Asked	   *asked = arg;
	ShuttleLockEdge *edge = palloc0_object(ShuttleLockEdge);
	uint64		server = strtoull(row->values[0], NULL, 10);
	bool		is_mine;
	bool		is_known;

	edge->server = asked->name;
	edge->on_node = read_name(row->values[2], &edge->waiter);
	if (!edge->on_node)
		edge->waiter = (ShuttleLockSession)
	{
		.system_identifier = server,.pid = atoi(row->values[1])
	};
	is_known = read_name(row->values[4], &edge->blocker);
	if (!is_known)
		edge->blocker = (ShuttleLockSession)
	{
		.system_identifier = server,.pid = atoi(row->values[3])
	};

	/*
	 * a prepared transaction of unknown origin is no edge: its session is
	 * gone
	 */
	is_mine = edge->on_node && shuttle_deadlock_is_same_session(edge->waiter, my_session());
	if (atoi(row->values[3]) == 0)
		asked->by_prepared = asked->by_prepared || is_mine;
	if (is_known || atoi(row->values[3]) != 0)
	{
		asked->waits = asked->waits || is_mine;
		asked->look->edges = lappend(asked->look->edges, edge);
	}
}

/*
 * Adds edges for local locks. A parallel worker waits on its leader's behalf.
 */
static void
add_edges_here(ShuttleLockLook *look)
{
	LockData   *locks = GetLockStatusData();
	uint64		server = shuttle_session_server();

	for (int i = 0; i < locks->nelements; i++)
	{
		const LockInstanceData *lock = &locks->locks[i];
		Datum	   *blockers;
		int			nblockers;

		if (lock->waitLockMode == NoLock)
			continue;
		deconstruct_array(DatumGetArrayTypeP(OidFunctionCall1(F_PG_BLOCKING_PIDS,
															  Int32GetDatum(lock->pid))),
						  INT4OID, sizeof(int32), true, TYPALIGN_INT,
						  &blockers, NULL, &nblockers);
		for (int k = 0; k < nblockers; k++)
		{
			ShuttleLockEdge *edge = palloc0_object(ShuttleLockEdge);

			edge->waiter.system_identifier = edge->blocker.system_identifier = server;
			edge->waiter.pid = lock->leaderPid;
			edge->blocker.pid = DatumGetInt32(blockers[k]);
			look->edges = lappend(look->edges, edge);
		}
	}
}

/* ---- asking */

static KeptSide *
kept_side(Oid serverid, Oid userid)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(TopTransactionContext);
	KeptSide   *kept;
	ListCell   *cell;

	if (kept_lxid != shuttle_my_lxid())
		kept_sides = NIL;		/* freed with their transaction */
	kept_lxid = shuttle_my_lxid();
	foreach(cell, kept_sides)
	{
		kept = lfirst(cell);
		if (kept->serverid == serverid && kept->userid == userid)
			break;
	}
	if (cell == NULL)
	{
		kept = palloc0_object(KeptSide);
		kept->serverid = serverid;
		kept->userid = userid;
		kept->side = shuttle_outside_side_create();
		kept_sides = lappend(kept_sides, kept);
	}
	MemoryContextSwitchTo(old_cxt);
	return kept;
}

static List *
add_asked(List *all, Oid serverid, Oid userid)
{
	Asked	   *asked;
	ListCell   *cell;

	foreach(cell, all)
	{
		if (((Asked *) lfirst(cell))->serverid == serverid)
			return all;
	}
	if (!shuttle_node_has_mapping(serverid, userid))
		return all;
	asked = palloc0_object(Asked);
	asked->serverid = serverid;
	asked->userid = userid;
	asked->name = GetForeignServer(serverid)->servername;
	asked->kept = kept_side(serverid, userid);
	return lappend(all, asked);
}

/*
 * Asks all servers of a list. waited: nodes that end the look when they answer;
 * NIL: look to the end. A host that does not respond is not asked for a while,
 * or it would cost each look its full time.
 */
static ShuttleLockLook *
look_at(List *all, bool and_here, List *waited)
{
	ShuttleLockLook *look = palloc0_object(ShuttleLockLook);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, Max(1, list_length(all)));
	TimestampTz start = GetCurrentTimestamp();
	ListCell   *cell;

	foreach(cell, all)
	{
		Asked	   *asked = lfirst(cell);
		ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		asked->look = look;
		run->serverid = asked->serverid;
		run->name = asked->name;
		run->userid = asked->userid;
		run->side = asked->kept->side;
		run->row = take_edge;
		run->ncolumns = EDGE_COLUMNS;
		run->row_arg = asked;
		run->nrows = -1;
		run->ok = asked->kept->silent_until <= start;
		if (!run->ok)
			run->error = pstrdup("");
	}
	if (and_here)
		add_edges_here(look);
	look->is_over = !shuttle_outside_run_beside(EDGES_SQL, GetUserId(), runs, list_length(all),
												LOOK_WAIT_MS, waited);
	foreach(cell, all)
	{
		const ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		if (look->is_over || run->ok)
			continue;
		if (strcmp(run->sqlstate, "57014") == 0)
			((Asked *) lfirst(cell))->kept->silent_until =
				TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SILENCE_MS);

		/* The worker notices if a standby takes its place. */
		if (shuttle_commit_record_lasts(list_make1_oid(run->serverid)))
			shuttle_worker_wake(true);
	}
	return look;
}

/* Looks everywhere, twice. Returns the cycle that this session has to end, or
 * NIL. */
static List *
look_everywhere(List *all, List *waited)
{
	ShuttleLockLook *look = look_at(all, true, waited);
	ShuttleLockLook *again;
	bool		with_younger = false;

	if (look->is_over)
		return NIL;
	if (shuttle_deadlock_cycle(look, my_session(), false) == NIL)
	{
		with_younger = shuttle_deadlock_is_overdue(look, my_session(),
												   shuttle_deadlock_cycle(look, my_session(), true));
		if (!with_younger)
			return NIL;
	}
	CHECK_FOR_INTERRUPTS();
	pg_usleep(LOOK_AGAIN_US);
	again = look_at(all, true, waited);
	return again->is_over ? NIL :
		shuttle_deadlock_cycle(shuttle_deadlock_common_edges(look, again), my_session(), with_younger);
}

void
shuttle_deadlock_look(List *at_work)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle deadlock",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	List	   *all = NIL;
	List	   *waited;
	ListCell   *cell;

	foreach(cell, at_work)
	{
		const ShuttleServerUser *node = lfirst(cell);

		all = add_asked(all, node->serverid, node->userid);
	}
	(void) look_at(all, false, NIL);
	recover_prepared(all);
	waited = who_is_waited_for(all);
	if (waited != NIL)
	{
		List	   *cycle;

		foreach(cell, list_concat(shuttle_server_list(), shuttle_query_node_list()))
			all = add_asked(all, lfirst_oid(cell), GetUserId());
		cycle = look_everywhere(all, waited);
		if (cycle != NIL)
			raise_deadlock(cycle);
	}
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);
}

/*
 * Nodes where this transaction waits for a session's lock: ShuttleServerUsers.
 */
static List *
who_is_waited_for(List *all)
{
	List	   *waited = NIL;
	ListCell   *cell;

	foreach(cell, all)
	{
		const Asked *asked = lfirst(cell);
		ShuttleServerUser *one;

		if (!asked->waits)
			continue;
		one = palloc_object(ShuttleServerUser);
		one->serverid = asked->serverid;
		one->userid = asked->userid;
		waited = lappend(waited, one);
	}
	return waited;
}

/* The lock may be held by a prepared transaction that a crash left behind. */
static void
recover_prepared(List *all)
{
	ListCell   *cell;

	foreach(cell, all)
	{
		const Asked *asked = lfirst(cell);

		if (asked->by_prepared)
			shuttle_commit_recover_on(asked->serverid, asked->userid);
	}
}

static void
raise_deadlock(List *cycle)
{
	StringInfoData detail;
	ListCell   *cell;

	initStringInfo(&detail);
	foreach(cell, cycle)
	{
		const ShuttleLockEdge *edge = lfirst(cell);

		if (detail.len > 0)
			appendStringInfoChar(&detail, '\n');
		appendStringInfo(&detail, "Process %d of server %016llx waits for process %d of server %016llx",
						 edge->waiter.pid, (unsigned long long) edge->waiter.system_identifier,
						 edge->blocker.pid, (unsigned long long) edge->blocker.system_identifier);
		if (edge->server != NULL)
			appendStringInfo(&detail, " on \"%s\"", edge->server);
		appendStringInfoChar(&detail, '.');
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_DEADLOCK_DETECTED),
			 errmsg("deadlock detected"),
			 errdetail_internal("%s", detail.data),
			 errhint("The servers are told apart by their system identifiers, in hexadecimal digits; a query node with a name has a number of its own.")));
}

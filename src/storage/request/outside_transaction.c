/*-------------------------------------------------------------------------
 * outside_transaction.c
 *	  Runs a statement on several nodes at once, outside the session's
 *	  transaction.
 *
 * Each node gets a new connection with its own user's and database's settings,
 * and the statement unchanged, by the simple query protocol: so VACUUM, CREATE
 * INDEX CONCURRENTLY and several statements in one text work. A secret goes before
 * it, as a parameter of a setting.
 *
 *   CONNECTING --> SENDING one text after the other --> ENDED
 *
 * What still runs on nodes is cancelled when the time is up, when the answer
 * is no longer needed, or when an error ends the wait: a node notices a closed
 * connection late or never.
 *
 * Memory: a run lives in the caller's context. Cancelling talks to nodes,
 * which a reset callback must not do.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/host_race.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/outside_transaction.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/two_phase.h"

#define CANCEL_WAIT_MS 1000
#define LOOK_MS 1000			/* between looks */

typedef struct AllRuns
{
	OutsideRun *runs;
	int			nruns;
	TimestampTz deadline;		/* for all runs; 0: none */
	TimestampTz look_at;		/* when the next look is due; 0: nobody looks */
	List	   *beside;			/* ShuttleServerUsers: any input from them
								 * ends the runs */
	bool		is_over;		/* one of them sent something */
	WaitEventSet *wait_set;
} AllRuns;

static void advance(OutsideRun *run);
static void look(AllRuns *all);
static void send_step(OutsideRun *run);
static void read_answers(OutsideRun *run);
static void cancel_running(AllRuns *all);
static void fail_late(AllRuns *all);
static void add_beside(AllRuns *all);
static bool wait_for_any(AllRuns *all);
static void end_all(AllRuns *all);

void
shuttle_outside_run(const char *sql, Oid userid, ShuttleOutsideRun *results, int nresults,
					int limit_ms)
{
	(void) shuttle_outside_run_beside(sql, userid, results, nresults, limit_ms, NIL);
}

bool
shuttle_outside_run_beside(const char *sql, Oid userid, ShuttleOutsideRun *results, int nresults,
						   int limit_ms, List *beside)
{
	AllRuns    *all = palloc0_object(AllRuns);

	all->beside = beside;
	all->deadline = limit_ms <= 0 ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), limit_ms);
	all->runs = palloc0_array(OutsideRun, nresults);
	all->nruns = nresults;

	PG_TRY();
	{
		for (int i = 0; i < nresults; i++)
		{
			OutsideRun *run = &all->runs[i];

			run->result = &results[i];
			run->sql = results[i].sql != NULL ? results[i].sql : sql;
			if (results[i].parameter != NULL)
				run->sql = psprintf("%s; COMMIT", run->sql);
			run->state = RUN_ENDED;
			if (results[i].error != NULL)
				continue;
			if (results[i].look != NULL)
				all->look_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LOOK_MS);
			shuttle_outside_connect(run, OidIsValid(results[i].userid) ? results[i].userid : userid);
			if (run->state == RUN_SENDING)
				send_step(run);
		}
		while (wait_for_any(all))
		{
			for (int i = 0; i < nresults; i++)
				advance(&all->runs[i]);
			if (shuttle_notices_waiting)
				shuttle_notices_show();
			look(all);
		}
	}
	PG_FINALLY();
	{
		end_all(all);
	}
	PG_END_TRY();
	return !all->is_over;
}

static void
advance(OutsideRun *run)
{
	switch (run->state)
	{
		case RUN_CONNECTING:
			shuttle_outside_go_on_connecting(run);
			if (run->state == RUN_SENDING)
				send_step(run);
			break;
		case RUN_SENDING:
			if (run->ready)
				read_answers(run);
			break;
		case RUN_ENDED:
			break;
	}
	run->ready = false;
}

static void
look(AllRuns *all)
{
	if (all->look_at == 0 || GetCurrentTimestamp() < all->look_at)
		return;
	for (int i = 0; i < all->nruns; i++)
	{
		const OutsideRun *run = &all->runs[i];

		if (run->state != RUN_ENDED && run->result->look != NULL)
			run->result->look(run->result->look_arg);
	}
	all->look_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LOOK_MS);
}

/* The setting lasts until the end of the transaction, in which sql runs, too: behind a pooler the
 * next transaction may be in another session. */
static int
send_parameter(PGconn *conn, const char *value)
{
	return PQsendQueryParams(conn, "SELECT pg_catalog.set_config('pg_shuttle.parameter', $1, true) IS NULL",
							 1, NULL, &value, NULL, NULL, 0);
}

static void
send_step(OutsideRun *run)
{
	PGconn	   *conn = run->node.connection.conn;
	int			sent;
	int			rest = 0;

	if (run->step == STEP_EPOCH && run->node.epoch.hosts == 0)
		run->step++;
	if (run->step == STEP_READ_ONLY && !XactReadOnly)
		run->step++;

	/* In a pooler's session the setting would stay for the next client. */
	if (run->step == STEP_CHECK_INTERVAL &&
		(PQserverVersion(conn) < 140000 || run->node.options.pooled))
		run->step++;
	if (run->step == STEP_BEGIN && run->result->parameter == NULL)
		run->step = STEP_SQL;
	if (run->step == STEP_EPOCH)
		sent = PQsendQuery(conn, SHUTTLE_EPOCH_SQL);
	else if (run->step == STEP_READ_ONLY)
		sent = PQsendQuery(conn, run->node.options.pooled ? "BEGIN READ ONLY" :
						   "SET default_transaction_read_only = on");
	else if (run->step == STEP_CHECK_INTERVAL)
		sent = PQsendQuery(conn, "SET client_connection_check_interval = '2s'");
	else if (run->step == STEP_BEGIN)
		sent = PQsendQuery(conn, "BEGIN");
	else if (run->step == STEP_PARAMETER)
		sent = send_parameter(conn, run->result->parameter);
	else
	{
		sent = PQsendQuery(conn, run->sql);

		/* so that a long answer need not fit in memory */
		if (sent == 1)
			PQsetSingleRowMode(conn);
	}
	if (sent == 1)
		rest = PQflush(conn);
	run->flush_pending = rest > 0;
	run->new_answer = true;
	if (sent != 1 || rest < 0)
		shuttle_outside_fail(run, "08006", PQerrorMessage(conn));
}

/* Reads what has arrived, and sends the next text after the last answer. */
static void
read_answers(OutsideRun *run)
{
	PGconn	   *conn = run->node.connection.conn;
	int			rest = run->flush_pending ? PQflush(conn) : 0;
	bool		alive = PQconsumeInput(conn) == 1 && rest >= 0;

	/* What arrived before the connection ended can still be read. */
	run->flush_pending = rest > 0;
	while (run->state == RUN_SENDING && !PQisBusy(conn))
	{
		PGresult   *result = PQgetResult(conn);

		if (result != NULL)
		{
			shuttle_outside_take_result(run, result);
			PQclear(result);
		}
		else if (run->step == STEP_SQL && run->result->ok && !run->answered)
			shuttle_outside_fail(run, "08P01", "the node has not answered the statement");
		else if (run->step == STEP_SQL || !run->result->ok)
			shuttle_outside_end(run);
		else
		{
			run->step++;
			send_step(run);
		}
	}
	if (run->state == RUN_SENDING && !alive)
		shuttle_outside_fail(run, "08006", PQerrorMessage(conn));
}

/* Adds the nodes that the session waits for, except those held up. */
static void
add_beside(AllRuns *all)
{
	ListCell   *cell;

	foreach(cell, all->beside)
	{
		const ShuttleServerUser *one = lfirst(cell);
		dlist_iter	iter;

		dlist_foreach(iter, &shuttle_nodes)
		{
			ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

			if (node->key.serverid == one->serverid && node->userid == one->userid &&
				node->connection.state == NODE_READY && !shuttle_answer_pages_hold_up(node))
			{
				AddWaitEventToSet(all->wait_set, WL_SOCKET_READABLE,
								  PQsocket(node->connection.conn), NULL, NULL);
				break;
			}
		}
	}
}

/* Makes the set of all that the running ones wait for. Returns how many run; lowers
 * the deadline to the time at which one has to go on. */
static int
fill_wait_set(AllRuns *all, TimestampTz *deadline)
{
	int			nrunning = 0;
	int			nsockets = 0;

	for (int i = 0; i < all->nruns; i++)
	{
		const HostRace *race = all->runs[i].node.connection.race;

		nsockets += race != NULL ? shuttle_host_race_nhosts(race) : 1;
	}
	all->wait_set = shuttle_create_wait_event_set(nsockets + list_length(all->beside) + 2);
	AddWaitEventToSet(all->wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(all->wait_set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	for (int i = 0; i < all->nruns; i++)
	{
		OutsideRun *run = &all->runs[i];
		uint32		wanted = WL_SOCKET_READABLE;

		if (run->state == RUN_ENDED)
			continue;
		nrunning++;
		if (run->state == RUN_CONNECTING)
		{
			TimestampTz wake_at = shuttle_host_race_wake_at(run->node.connection.race);

			shuttle_host_race_add_to_set(run->node.connection.race, all->wait_set, run);
			if (wake_at != 0 && (*deadline == 0 || wake_at < *deadline))
				*deadline = wake_at;
			continue;
		}
		wanted |= run->flush_pending ? WL_SOCKET_WRITEABLE : 0;
		AddWaitEventToSet(all->wait_set, wanted, PQsocket(run->node.connection.conn), NULL, run);
	}
	if (nrunning > 0)
		add_beside(all);
	return nrunning;
}

/* Waits until a run can continue; false: all have ended. */
static bool
wait_for_any(AllRuns *all)
{
	WaitEvent	events[16];
	TimestampTz deadline = all->deadline;
	long		limit_ms = -1;
	int			nrunning = fill_wait_set(all, &deadline);
	int			nevents;

	if (all->look_at != 0 && (deadline == 0 || all->look_at < deadline))
		deadline = all->look_at;
	if (deadline != 0)
		limit_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
	nevents = nrunning == 0 ? 0 :
		WaitEventSetWait(all->wait_set, limit_ms, events, lengthof(events),
						 shuttle_wait_event(SHUTTLE_WAIT_RUN));
	for (int i = 0; i < nevents; i++)
	{
		if (events[i].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (events[i].user_data == NULL)
			all->is_over = true;
		else
			((OutsideRun *) events[i].user_data)->ready = true;
	}
	FreeWaitEventSet(all->wait_set);
	all->wait_set = NULL;
	CHECK_FOR_INTERRUPTS();
	if (all->is_over ||
		(all->deadline != 0 && GetCurrentTimestamp() >= all->deadline))
		fail_late(all);
	return nrunning > 0;
}

/* Reads on until the node has answered all that was sent, to the deadline at most. */
static void
drain_cancelled(PGconn *conn, TimestampTz deadline)
{
	for (;;)
	{
		PGresult   *result;
		long		left_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		while (!PQisBusy(conn))
		{
			result = PQgetResult(conn);
			if (result == NULL)
				return;
			PQclear(result);
		}
		if (left_ms <= 0)
			return;
		(void) WaitLatchOrSocket(NULL, WL_SOCKET_READABLE | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
								 PQsocket(conn), left_ms, shuttle_wait_event(SHUTTLE_WAIT_RUN));
		if (PQconsumeInput(conn) == 0)
			return;
	}
}

/* A statement that is nearly done may end in spite of its cancel. The caller has to find
 * what it did, so the answers are waited for, too. */
static void
cancel_running(AllRuns *all)
{
	dlist_head	nodes = DLIST_STATIC_INIT(nodes);
	TimestampTz deadline;

	for (int i = 0; i < all->nruns; i++)
	{
		if (all->runs[i].state != RUN_SENDING)
			continue;
		all->runs[i].cancelled = true;
		dlist_push_tail(&nodes, &all->runs[i].node.rollback.cancel_link);
	}
	shuttle_cancel(&nodes, CANCEL_WAIT_MS);
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CANCEL_WAIT_MS);
	for (int i = 0; i < all->nruns; i++)
	{
		if (all->runs[i].state == RUN_SENDING)
			drain_cancelled(all->runs[i].node.connection.conn, deadline);
	}
}

static void
fail_late(AllRuns *all)
{
	cancel_running(all);
	for (int i = 0; i < all->nruns; i++)
	{
		if (all->runs[i].state != RUN_ENDED)
			shuttle_outside_fail(&all->runs[i], "57014", "the node did not answer in time");
	}
}

/* After an error some still run. */
static void
end_all(AllRuns *all)
{
	cancel_running(all);
	for (int i = 0; i < all->nruns; i++)
		shuttle_outside_end(&all->runs[i]);
	if (all->wait_set != NULL)
		FreeWaitEventSet(all->wait_set);
}

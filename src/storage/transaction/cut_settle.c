/*-------------------------------------------------------------------------
 * cut_settle.c
 *	  Takes snapshots of nodes until they show the same transactions.
 *
 * 1. All snapshots have arrived; the windows say which do not fit (window_checks.c).
 * 2. Who reads waits until the parts that it did not see are acknowledged, mostly a
 *	  fraction of a millisecond.
 * 3. All snapshots are taken again at the same time, with the requests that follow
 *	  them. A kept one would be older by a round trip, and each commit within that
 *	  would tear it again. A snapshot of which rows were used stays: it can only be
 *	  waited for.
 * 4. After three tries a fence keeps windows from opening until the snapshots have
 *	  been taken. Requests are sent when it is lowered, so that commits do not wait
 *	  for them.
 *
 * Memory: snapshots are in TopTransactionContext, freed with their members.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_points.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/transaction/cut.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"

#define TRIES_BEFORE_FENCE 3
#define MOST_TRIES 100

/* How long to wait for a node that is not needed yet, and before recovery is woken. */
#define CONNECT_MS 1000
#define WAKE_MS 100
#define RECOVER_AGAIN_MS 50

/* One attempt to settle. */
typedef struct Settling
{
	Cut		   *cut;
	QueryDesc  *query;			/* its snapshot may be replaced; or NULL */
	bool		renewed;
	bool		fenced;
	int			ntries;
	TimestampTz give_up;		/* on nodes that are not needed yet */
	TimestampTz fence_until;	/* then commits go on */
	instr_time	torn_at;		/* 0: the first try fits */
	WindowCheck check;
} Settling;

static bool is_alone(const Cut *cut);
static void refuse(const Cut *cut);
static void drop_ended(Cut *cut);
static void await_snapshots(Settling *settling);
static bool fits(Settling *settling);
pg_noreturn static void raise_unfinished(Oid serverid);
static bool recover_members(Settling *settling);
static void take_again(Settling *settling);
static void await_windows(Settling *settling);
static void send_all_requests(const Cut *cut);

void
shuttle_cut_fail(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not read storage nodes in one state"),
			 errdetail("A transaction that others have committed on several nodes is visible on some of them only, and rows have been read already."),
			 errhint("Repeat the transaction.")));
}

/* From the first try that did not fit. */
static void
count_time(const Settling *settling)
{
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, settling->torn_at);
	shuttle_count(NULL, SHUTTLE_SNAPSHOT_TIME_US, INSTR_TIME_GET_MICROSEC(elapsed));
}

bool
shuttle_cut_settle(Cut *cut, QueryDesc *query)
{
	Settling	settling = {.cut = cut,.query = query};

	settling.give_up = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CONNECT_MS);
	INSTR_TIME_SET_ZERO(settling.torn_at);
	for (;;)
	{
		drop_ended(cut);
		if (is_alone(cut) || shuttle_cut_is_inside_another(cut))
			break;
		refuse(cut);
		if (shuttle_cut_is_strict() || cut->number == SHUTTLE_WHOLE_TRANSACTION)
			shuttle_windows_want_alone();
		await_snapshots(&settling);
		if (is_alone(cut))
			break;

		/* a window that had no room may have been freed between the two */
		if (recover_members(&settling) && fits(&settling) && recover_members(&settling))
			break;
		if (++settling.ntries > MOST_TRIES)
			shuttle_cut_fail();
		if (INSTR_TIME_IS_ZERO(settling.torn_at))
			INSTR_TIME_SET_CURRENT(settling.torn_at);
		shuttle_count(NULL, SHUTTLE_SNAPSHOT_RETRIES, 1);
		take_again(&settling);
	}
	if (settling.fenced)
	{
		shuttle_windows_lower_fence();
		send_all_requests(cut);
	}
	if (!INSTR_TIME_IS_ZERO(settling.torn_at))
		count_time(&settling);
	for (int i = 0; i < cut->nmembers; i++)
		cut->members[i].checked = cut->members[i].snapshot != NULL;
	cut->settled = true;
	return settling.renewed;
}

/* ---- who takes part */

/* A transaction that ended before anything of it was used does not matter. */
static void
drop_ended(Cut *cut)
{
	int			nkept = 0;

	for (int i = 0; i < cut->nmembers; i++)
	{
		CutMember  *member = &cut->members[i];

		if (shuttle_cut_is_current(member) || member->used || member->checked)
			cut->members[nkept++] = *member;
	}
	cut->nmembers = nkept;
}

/* True if nothing is read together. Even if nothing was committed here and on a node yet,
 * the first such commit may come before the node's snapshot. */
static bool
is_alone(const Cut *cut)
{
	if (shuttle_cut_is_strict())
		return !cut->forgot && cut->nmembers == 0 && !cut->reads_here;
	for (int i = 1; i < cut->nmembers; i++)
	{
		if (cut->members[i].node != cut->members[0].node)
			return false;
	}
	return !cut->forgot && (cut->nmembers == 0 || !cut->reads_here);
}

pg_noreturn static void
refuse_for(const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 shuttle_cut_is_strict() ?
			 errmsg("cannot read in the order of commits") :
			 errmsg("cannot read several storage nodes in one state"),
			 errdetail_internal("%s", reason),
			 errhint("Set shuttle.read_consistency to \"node\" to read each of them in a state of its own.")));
}

static void
refuse(const Cut *cut)
{
	const char *reason = NULL;

	if (cut->forgot)
		shuttle_cut_fail();
	if (shuttle_windows == NULL)
		reason = "pg_shuttle is not in \"shared_preload_libraries\" of this server.";
	else if (RecoveryInProgress())
		reason = "This server is a standby, which does not know of commits that are under way.";
	else if (IsolationIsSerializable())
		reason = "The transaction is SERIALIZABLE.";
	else if (shuttle_cluster_methods != NULL && shuttle_cluster_methods->has_peers())
		reason = "Other query nodes are registered, and this server does not know of their commits.";
	if (reason != NULL)
		refuse_for(reason);
}

/* ---- snapshots */

static bool
is_missing(const CutMember *member)
{
	return member->snapshot == NULL && shuttle_cut_is_current(member) &&
		member->node->transaction.snapshot_answer == NULL &&
		member->node->errors.first == NULL;
}

bool
shuttle_cut_is_here(const Cut *cut)
{
	if (is_alone(cut))
		return true;
	for (int i = 0; i < cut->nmembers; i++)
	{
		if (is_missing(&cut->members[i]))
			return false;
	}
	return true;
}

/* True if nothing was asked of the node, which does not answer. */
static bool
need_not_wait(const Settling *settling, const CutMember *member)
{
	dlist_iter	iter;

	if (member->used || GetCurrentTimestamp() < settling->give_up)
		return false;
	dlist_foreach(iter, &member->node->requests.all)
	{
		if (dlist_container(ShuttleRequest, link, iter.cur)->generation == member->generation)
			return false;
	}
	return true;
}

static bool
all_are_here(void *arg)
{
	Settling   *settling = arg;

	for (int i = 0; i < settling->cut->nmembers; i++)
	{
		const CutMember *member = &settling->cut->members[i];

		if (is_missing(member) && !need_not_wait(settling, member))
			return settling->fenced && GetCurrentTimestamp() >= settling->fence_until;
	}
	return true;
}

static void
ask_missing(Cut *cut)
{
	for (int i = 0; i < cut->nmembers; i++)
	{
		const CutMember *member = &cut->members[i];
		ShuttleNode *node = member->node;

		if (!is_missing(member))
			continue;

		/* without BEGIN each statement has a snapshot of its own */
		if (node->transaction.is_statement)
			shuttle_cut_fail();
		if (!node->transaction.snapshot_asked)
		{
			shuttle_transaction_await_speculative(node);
			if (!is_missing(member))
				continue;
			shuttle_cut_ask(node);
		}
		if (node->queue.unsynced)
			shuttle_pipeline_end_packet(node);
	}
}

/* Takes the answers apart. */
static void
take_answers(Cut *cut)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(TopTransactionContext);

	for (int i = 0; i < cut->nmembers; i++)
	{
		CutMember  *member = &cut->members[i];
		const PGresult *answer = member->node->transaction.snapshot_answer;

		if (member->snapshot != NULL || !shuttle_cut_is_current(member))
			continue;
		if (answer == NULL)
		{
			if (member->node->errors.first != NULL)
				shuttle_node_error_raise(member->node, member->node->errors.first, NULL);
			continue;
		}
		if (strcmp(PQgetvalue(answer, 0, 1), "f") != 0)
			refuse_for(psprintf("Storage node \"%s\" is a standby.", member->node->name));
		member->snapshot = shuttle_window_snapshot(PQgetvalue(answer, 0, 0));
		if (member->snapshot == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("storage node \"%s\" has an unknown kind of snapshot", member->node->name)));
	}
	MemoryContextSwitchTo(old_cxt);
}

/* The signal has set the latch. */
static void
wake_up(void)
{
}

/* Nothing else may wake a wait whose time is up. */
static TimeoutId
wake_at(TimestampTz when)
{
	static TimeoutId timeout = MAX_TIMEOUTS;

	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, wake_up);
	enable_timeout_at(timeout, when);
	return timeout;
}

static void
await_snapshots(Settling *settling)
{
	Cut		   *cut = settling->cut;

	ask_missing(cut);
	if (!all_are_here(settling))
	{
		TimeoutId	timeout = wake_at(settling->fenced ? settling->fence_until : settling->give_up);

		for (int i = 1; i < cut->nmembers; i++)
			shuttle_node_wait_also_for(cut->members[i].node);
		shuttle_wait_until(cut->members[0].node, SHUTTLE_WAIT_READ, all_are_here, settling);
		disable_timeout(timeout, false);
	}
	take_answers(cut);

	/*
	 * A lost node, or one that does not answer and is not needed, joins
	 * later.
	 */
	for (int i = 0; i < cut->nmembers; i++)
	{
		CutMember  *member = &cut->members[i];

		if (member->snapshot != NULL)
			continue;
		if (member->used)
			shuttle_cut_fail();
		if (settling->fenced && shuttle_cut_is_current(member))
			raise_unfinished(member->node->key.serverid);
		*member = cut->members[--cut->nmembers];
		i--;
	}
}

/* ---- whether they fit */

/* Under REPEATABLE READ a snapshot stays when it was ordered among those of others. */
static bool
is_fixed(const CutMember *member)
{
	return member->used || !shuttle_cut_is_current(member) || shuttle_cut_is_used(member->node) ||
		member->node->transaction.wrote || member->node->commit.must_wait ||
		(member->checked && IsolationUsesXactSnapshot());
}

/* A node that joins a REPEATABLE READ transaction late, for which its role has no mapping,
 * fits to it, but may not be in the order. */
static bool
is_ordered(const Cut *cut)
{
	bool		is_late = false;

	for (int i = 0; i < cut->nmembers; i++)
		is_late |= is_fixed(&cut->members[i]);
	return shuttle_cut_is_strict() ||
		(cut->number == SHUTTLE_WHOLE_TRANSACTION && (!is_late || cut->reads_here));
}

static void
fill_check(Settling *settling)
{
	Cut		   *cut = settling->cut;
	WindowCheck *check = &settling->check;

	check->views = palloc0_array(WindowView, Max(1, cut->nmembers));
	check->nviews = cut->nmembers;
	for (int i = 0; i < cut->nmembers; i++)
	{
		const CutMember *member = &cut->members[i];

		check->views[i].serverid = member->node->key.serverid;
		check->views[i].system = member->node->epoch.system_identifier;
		check->views[i].first = member->first;
		check->views[i].snapshot = member->snapshot;
	}
	check->reads_here = cut->reads_here;
	check->here = cut->here;
	check->next_here = cut->reads_here ? U64FromFullTransactionId(ReadNextFullTransactionId()) : 0;
	check->first_here = cut->first;
	check->alone_here = cut->alone_here;
	check->is_ordered = is_ordered(cut);
}

static bool
can_replace(const Settling *settling)
{
	return settling->query != NULL ||
		(!settling->cut->read_here && shuttle_cut_can_move(NULL));
}

static bool
fits(Settling *settling)
{
	fill_check(settling);
	if (shuttle_window_check(&settling->check))
		return true;
	for (int i = 0; i < settling->cut->nmembers; i++)
	{
		if (settling->check.views[i].lags && is_fixed(&settling->cut->members[i]))
			shuttle_cut_fail();
	}
	if (settling->check.here_lags && !can_replace(settling))
		shuttle_cut_fail();
	return false;
}

/* ---- what an earlier run of this server left prepared */

static void
raise_unfinished(Oid serverid)
{
	const char *name = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->key.serverid == serverid)
			name = node->name;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 name != NULL ?
			 errmsg("storage node \"%s\" has not finished a transaction that others have committed", name) :
			 errmsg("a transaction that others have committed is not finished"),
			 errdetail("It would be seen in part; see shuttle.transactions."),
			 errhint("Repeat the transaction when recovery has finished it.")));
}

static void
recover(ShuttleNode *node)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   shuttle_settings.commit_wait_ms);

	while (!shuttle_cluster_methods->recover_now(node->key.serverid, node->userid))
	{
		if (GetCurrentTimestamp() >= deadline)
			raise_unfinished(node->key.serverid);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 RECOVER_AGAIN_MS, shuttle_wait_event(SHUTTLE_WAIT_RECOVERY));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	shuttle_windows_note_recovered(node);
}

/* Snapshots from before the recovery of their node cannot be judged by windows. Returns
 * false if there are some. */
static bool
recover_members(Settling *settling)
{
	bool		all_good = true;

	settling->check.wait.nawaited = 0;
	settling->check.here_lags = false;
	if (shuttle_cluster_methods == NULL)
		return true;
	for (int i = 0; i < settling->cut->nmembers; i++)
	{
		CutMember  *member = &settling->cut->members[i];

		if (shuttle_windows_is_recovered(member->node, member->first))
			continue;
		if (settling->fenced)
			shuttle_windows_lower_fence();
		settling->fenced = false;
		if (is_fixed(member))
			shuttle_cut_fail();
		recover(member->node);
		all_good = false;
	}
	if (!all_good)
		settling->ntries = 0;
	return all_good;
}

/* ---- trying again */

/* Waits until parts that were not seen are visible. */
static void
await_windows(Settling *settling)
{
	uint32		event = shuttle_wait_event(SHUTTLE_WAIT_WINDOW);
	TimestampTz start = GetCurrentTimestamp();
	bool		woken = false;
	Oid			serverid;

	if (settling->check.wait.nawaited == 0)
		return;
	ConditionVariablePrepareToSleep(&shuttle_windows->changed);
	while (!shuttle_window_is_over(&settling->check, &serverid))
	{
		TimestampTz now = GetCurrentTimestamp();

		if (TimestampDifferenceExceeds(start, now, shuttle_settings.commit_wait_ms))
			raise_unfinished(serverid);
		if (!woken && TimestampDifferenceExceeds(start, now, WAKE_MS))
		{
			shuttle_cluster_node_moved();	/* wakes recovery */
			woken = true;
		}
		(void) ConditionVariableTimedSleep(&shuttle_windows->changed, WAKE_MS, event);
	}
	ConditionVariableCancelSleep();
	if (settling->cut->nmembers > 0)
		shuttle_node_count(settling->cut->members[0].node, SHUTTLE_NODE_WINDOW_US,
						   GetCurrentTimestamp() - start);
}

/* Sends again what was asked of nodes, behind a new BEGIN. */
static void
send_all_requests(const Cut *cut)
{
	for (int i = 0; i < cut->nmembers; i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, &cut->members[i].node->requests.all)
		{
			ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

			if (request->state == REQUEST_UNSENT && request->repeats && !request->admitted)
				shuttle_request_send_again(request, request->speculative);
		}
	}
}

/* The node's transaction ends, and a new one is ready to be sent. */
static void
begin_anew(ShuttleNode *node)
{
	uint64		generation = node->transaction.generation;
	uint64		snapshot = node->transaction.snapshot;
	dlist_iter	iter;

	shuttle_transaction_await_speculative(node);
	if (generation != node->transaction.generation || !shuttle_transaction_is_open(node))
		return;
	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->generation == generation)
			shuttle_request_take_back(request);
	}
	node->transaction.begin_again = true;
	shuttle_transaction_prepare(node, SHUTTLE_READS, snapshot, 0, false, shuttle_request_complete);
	shuttle_cut_renew(node, generation);
	shuttle_node_count(node, SHUTTLE_NODE_RETAKES, 1);
}

static bool
is_idle(void *arg)
{
	const Cut  *cut = ((Settling *) arg)->cut;

	for (int i = 0; i < cut->nmembers; i++)
	{
		const CutMember *member = &cut->members[i];

		if (!is_fixed(member) && member->node->connection.state == NODE_READY &&
			member->node->queue.nin_flight > 0)
			return false;
	}
	return true;
}

/* Commits are not to wait for what nodes are still busy with. */
static void
raise_fence(Settling *settling)
{
	Cut		   *cut = settling->cut;

	for (int i = 0; i < cut->nmembers; i++)
	{
		const CutMember *member = &cut->members[i];
		dlist_iter	iter;

		if (is_fixed(member))
			continue;
		dlist_foreach(iter, &member->node->requests.all)
		{
			ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

			if (request->generation == member->generation)
				shuttle_request_take_back(request);
		}
	}
	for (int i = 1; i < cut->nmembers; i++)
		shuttle_node_wait_also_for(cut->members[i].node);
	if (cut->nmembers > 0)
		shuttle_wait_until(cut->members[0].node, SHUTTLE_WAIT_READ, is_idle, settling);
	shuttle_windows_raise_fence();
	settling->fenced = true;
	settling->fence_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														shuttle_settings.commit_wait_ms);
	if (cut->nmembers > 0)
		shuttle_node_count(cut->members[0].node, SHUTTLE_NODE_FENCES, 1);
}

static void
take_again(Settling *settling)
{
	Cut		   *cut = settling->cut;
	List	   *nodes = NIL;
	ListCell   *cell;

	if (settling->fenced)
		shuttle_window_list_open(&settling->check);
	await_windows(settling);
	SHUTTLE_POINT("torn");
	if (settling->ntries >= TRIES_BEFORE_FENCE && !settling->fenced)
		raise_fence(settling);
	if (settling->check.here_lags && can_replace(settling))
		settling->renewed |= shuttle_cut_replace_snapshot(cut, settling->query);
	for (int i = 0; i < cut->nmembers; i++)
	{
		if (!is_fixed(&cut->members[i]))
			nodes = list_append_unique_ptr(nodes, cut->members[i].node);
	}
	cut->asks = true;
	foreach(cell, nodes)
		begin_anew(lfirst(cell));
	if (!settling->fenced)
		send_all_requests(cut);
	shuttle_cut_send(nodes);
	list_free(nodes);
}

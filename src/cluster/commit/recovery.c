/*-------------------------------------------------------------------------
 * recovery.c
 *	  Finishes prepared transactions on nodes that no session works on any
 *	  more.
 *
 * A commit 1. takes an xid, 2. prepares on nodes, 3. commits its record, 4.
 * commits on nodes, and 5. releases the lock on its xid. Why recovery cannot
 * race with it:
 *
 * a. It first lists a node's prepared transactions: all have passed 1.
 * b. It leaves a transaction alone while its xid is locked, or while the session of a standby's
 *    commit holds the second lock (standby_commit.c). Once the lock is
 *    gone the transaction is past 5 or has failed, so its record is there for
 *    good or will never be.
 * c. Then it looks for the record, under a snapshot taken now; that decides.
 * d. It lists once more before it finishes anything, since 4. and 5. may have come between a.
 *    and b.
 *
 * A transaction of a later timeline is of a standby that was promoted while this server
 * stood still: then this server finishes nothing.
 *
 * An xid that this server has not assigned yet was lost in a crash, and its
 * record with it. An xid that was assigned again only delays (trap 29).
 *
 * A record is removed if it was read before all its servers were asked, and no
 * node has a prepared transaction of its name.
 *
 * Memory: the caller's context, short-lived.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "cluster/commit/commit.h"
#include "cluster/common/identity.h"
#include "storage/shuttle_cut.h"

/*
 * Only the role that prepared a transaction, or a superuser, may finish it. A
 * standby does not show its prepared transactions: it answers with a row of
 * NULLs, which is evaluated first, so that a promotion in between hides
 * nothing. The last columns tell if the session that prepared is still
 * connected, as a role that could prepare it, and the full transaction identifier.
 */
#define LIST_SQL \
	SHUTTLE_RUN_AT_ONCE "SELECT NULL::pg_catalog.text, NULL::pg_catalog.name," \
	" NULL::pg_catalog.int8, NULL::pg_catalog.bool, NULL::pg_catalog.bool, NULL::pg_catalog.int8" \
	" WHERE pg_catalog.pg_is_in_recovery()" \
	" UNION ALL SELECT p.gid, p.owner," \
	" (EXTRACT(EPOCH FROM p.prepared) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8," \
	" p.owner OPERATOR(pg_catalog.=) CURRENT_USER OR r.rolsuper," \
	" EXISTS (SELECT FROM pg_catalog.pg_stat_activity AS a" \
	"  WHERE a.backend_start OPERATOR(pg_catalog.<) p.prepared" \
	"  AND pg_catalog.pg_has_role(a.usesysid, p.owner, 'MEMBER')" \
	"  AND pg_catalog.strpos(a.application_name OPERATOR(pg_catalog.||) ' '," \
	"   pg_catalog.substring(p.gid, '[0-9a-f]{16}:[0-9]+ ')) OPERATOR(pg_catalog.>) 0)," \
	" s.next OPERATOR(pg_catalog.-) (((s.next OPERATOR(pg_catalog.-) p.transaction::pg_catalog.text::pg_catalog.int8" \
	"   OPERATOR(pg_catalog.+) 2147483648) OPERATOR(pg_catalog.&) 4294967295) OPERATOR(pg_catalog.-) 2147483648)" \
	" FROM pg_catalog.pg_prepared_xacts AS p, pg_catalog.pg_roles AS r," \
	" (SELECT pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot()) AS next) AS s" \
	" WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database()" \
	" AND r.rolname OPERATOR(pg_catalog.=) CURRENT_USER" \
	" AND pg_catalog.starts_with(p.gid, '" SHUTTLE_PREPARED_PREFIX "')"

#define LIST_COLUMNS 6
#define FIRST_LOOK_MS 2000
#define STANDBYS_MS 1000

static void take_row(void *arg, const ShuttleRow *row);
static void judge_all(List *nodes);
static void judge(PreparedTransaction *prepared, const char *ours);
static void hold_back(List *nodes);
static void reconcile(const RecoveryNode *node, uint64 asked_at);
static uint64 system_in(const char *gid);
static bool is_live(uint64 fxid);
static bool is_elsewhere(uint64 fxid, int pid);
static void forget_records(List *records, List *nodes);

/* ---- what they hold */

/* Runs a statement on each node; sqls: one per node, NULL: none. */
static ShuttleOutsideRun *
run_on(List *nodes, const char *const *sqls, ShuttleRowCallback row, int limit_ms)
{
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, Max(1, list_length(nodes)));
	ListCell   *cell;

	foreach(cell, nodes)
	{
		RecoveryNode *node = lfirst(cell);
		ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		run->serverid = node->serverid;
		run->name = node->name;
		run->userid = node->userid;
		run->by_public = node->by_public;
		run->side = node->side;
		run->sql = sqls[foreach_current_index(cell)];
		run->row = row;
		run->ncolumns = LIST_COLUMNS;
		run->row_arg = node;
		run->nrows = -1;
		run->ok = run->sql != NULL;
		if (!run->ok)
			run->error = pstrdup("");
	}
	shuttle_outside_run(NULL, GetUserId(), runs, list_length(nodes), limit_ms);
	return runs;
}

void
shuttle_recovery_look(List *nodes, int limit_ms)
{
	const char **sqls = palloc_array(const char *, Max(1, list_length(nodes)));
	ShuttleOutsideRun *runs;
	uint64		asked_at = shuttle_windows_clock();
	ListCell   *cell;

	for (int i = 0; i < list_length(nodes); i++)
		sqls[i] = LIST_SQL;
	foreach(cell, nodes)
	{
		RecoveryNode *node = lfirst(cell);

		node->asked = true;
		node->prepared = NIL;
		node->is_standby = false;
	}
	runs = run_on(nodes, sqls, take_row, limit_ms);
	SHUTTLE_POINT("prepared-listed");
	foreach(cell, nodes)
	{
		RecoveryNode *node = lfirst(cell);
		const char *state = runs[foreach_current_index(cell)].sqlstate;

		node->is_late = strcmp(state, "57014") == 0;
		node->answered = runs[foreach_current_index(cell)].ok && !node->is_standby;
		node->error = node->is_standby ?
			pstrdup("the server is a standby, which does not show what it has prepared") :
			runs[foreach_current_index(cell)].error;
	}
	judge_all(nodes);
	foreach(cell, nodes)
	{
		if (((RecoveryNode *) lfirst(cell))->answered)
			reconcile(lfirst(cell), asked_at);
	}
}

static void
judge_all(List *nodes)
{
	char	   *ours = psprintf("%s%s_%u_", SHUTTLE_PREPARED_PREFIX,
								shuttle_identity(), MyDatabaseId);
	ListCell   *cell;

	foreach(cell, nodes)
	{
		ListCell   *inner;

		foreach(inner, ((RecoveryNode *) lfirst(cell))->prepared)
			judge(lfirst(inner), ours);
	}
	hold_back(nodes);
}

/* Readers need not wait for what is not prepared any more. */
static void
reconcile(const RecoveryNode *node, uint64 asked_at)
{
	uint64	   *held = palloc_array(uint64, Max(1, list_length(node->prepared)));
	int			nheld = 0;
	ListCell   *cell;

	foreach(cell, node->prepared)
	{
		const PreparedTransaction *prepared = lfirst(cell);

		if (prepared->fate != FATE_OTHER)
			held[nheld++] = prepared->fxid;
	}
	shuttle_windows_reconcile(node->serverid, asked_at, held, nheld);
}

/* True if any node has a transaction of a server that replaced this one. */
static bool
is_replaced(List *nodes)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		ListCell   *inner;

		foreach(inner, ((RecoveryNode *) lfirst(cell))->prepared)
		{
			if (((PreparedTransaction *) lfirst(inner))->fate == FATE_LATER)
				return true;
		}
	}
	return false;
}

/* Nothing is committed by a record that a promoted standby would not have, nor rolled
 * back by a server that a standby has replaced, before it knows. */
static void
hold_back(List *nodes)
{
	bool		asked = is_replaced(nodes);
	ListCell   *cell;

	foreach(cell, nodes)
	{
		ListCell   *inner;

		foreach(inner, ((RecoveryNode *) lfirst(cell))->prepared)
		{
			PreparedTransaction *prepared = lfirst(inner);

			if (prepared->fate != FATE_COMMIT && prepared->fate != FATE_ROLL_BACK)
				continue;
			if (!asked && shuttle_synchronous_standbys_await(STANDBYS_MS))
				return;
			asked = true;
			prepared->fate = FATE_UNREPLICATED;
		}
	}
}

static void
take_row(void *arg, const ShuttleRow *row)
{
	RecoveryNode *node = arg;
	PreparedTransaction *prepared;

	if (row->values[0][0] == '\0')
	{
		node->is_standby = true;
		return;
	}
	prepared = palloc0_object(PreparedTransaction);
	prepared->gid = pstrdup(row->values[0]);
	prepared->owner = pstrdup(row->values[1]);
	prepared->since = (TimestampTz) strtoll(row->values[2], NULL, 10) -
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	prepared->ours_to_finish = row->values[3][0] == 't';
	prepared->connected = row->values[4][0] == 't';
	prepared->xid = strtoull(row->values[5], NULL, 10);
	node->prepared = lappend(node->prepared, prepared);
}

/* Parses a GID and decides the transaction's fate. */
static void
judge(PreparedTransaction *prepared, const char *ours)
{
	unsigned long long fxid;
	unsigned long long number;
	unsigned int serverid;
	unsigned int umid;
	int			length = 0;
	int			pid = 0;
	int			nread;

	prepared->fate = FATE_OTHER;
	if (strncmp(prepared->gid, ours, strlen(ours)) != 0)
		return;
	nread = sscanf(prepared->gid + strlen(ours), "%llu_%16llx%n_%u_%u_%*16x:%d", &fxid,
				   &number, &length, &serverid, &umid, &pid);
	if (nread < 4)
		return;
	prepared->name = pnstrdup(prepared->gid, strlen(ours) + length);
	prepared->fxid = fxid;
	prepared->serverid = serverid;
	prepared->umid = umid;

	if (system_in(prepared->gid) == GetSystemIdentifier() &&
		(number >> SHUTTLE_RANDOM_BITS) > GetWALInsertionTimeLine())
		prepared->fate = FATE_LATER;
	else if (is_live(fxid))
		prepared->fate = nread == 4 ? FATE_CLIENT : FATE_LIVE;
	else if (shuttle_commit_record_exists(prepared->name))
		prepared->fate = FATE_COMMIT;
	else if (prepared->connected && is_elsewhere(fxid, pid))
		prepared->fate = FATE_LIVE;
	else
		prepared->fate = shuttle_identity_is_confirmed() ?
			FATE_ROLL_BACK : FATE_UNCONFIRMED;
}

/* The system identifier of the server that has prepared a transaction, which is that of its copies, too;
 * 0: unknown. */
static uint64
system_in(const char *gid)
{
	const char *last = strrchr(gid, '_');

	/*
	 * by names of earlier versions the session's identity is last, and begins
	 * with it
	 */
	if (last == NULL || strspn(last + 1, "0123456789abcdef") != 16)
		return 0;
	return strtoull(last + 1, NULL, 16);
}

/*
 * True if a transaction whose session is connected to the node is not this
 * server's: this is a copy of the server that works on it, not promoted. Or the
 * session was killed and the node has not noticed yet.
 */
static bool
is_elsewhere(uint64 fxid, int pid)
{
	return fxid >= U64FromFullTransactionId(ReadNextFullTransactionId()) ||
		BackendPidGetProc(pid) == NULL;
}

/* True while a session may still work on the transaction, or a later one has
 * the same xid. */
static bool
is_live(uint64 fxid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());
	TransactionId xid = (TransactionId) fxid;
	LOCKTAG		tag;

	/* lost in a crash, or so old that the xid has wrapped around */
	if (fxid >= next || next - fxid > PG_INT32_MAX)
		return false;
	SET_LOCKTAG_TRANSACTION(tag, xid);
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return TransactionIdIsInProgress(xid) || shuttle_standby_commit_is_open(xid);
}

/* ---- finishing it */

static bool
is_of_this_server(const RecoveryNode *node, const PreparedTransaction *prepared)
{
	return node->answered && node->serverid == prepared->serverid;
}

bool
shuttle_recovery_is_others(const PreparedTransaction *prepared,
						   const RecoveryNode *node, List *nodes)
{
	return prepared->serverid != node->serverid &&
		shuttle_recovery_any(prepared->gid, nodes, is_of_this_server);
}

static bool
is_to_finish(const RecoveryNode *node, const PreparedTransaction *prepared, List *nodes)
{
	return shuttle_recovery_is_decided(prepared) &&
		!prepared->tried && prepared->ours_to_finish &&
		!shuttle_recovery_is_others(prepared, node, nodes);
}

static PreparedTransaction *
next_to_finish(const RecoveryNode *node, List *nodes)
{
	ListCell   *cell;

	foreach(cell, node->prepared)
	{
		if (is_to_finish(node, lfirst(cell), nodes))
			return lfirst(cell);
	}
	return NULL;
}

static void
note_finished(RecoveryNode *node, PreparedTransaction *prepared, const ShuttleOutsideRun *run)
{
	/* 42704: another session was faster */
	prepared->tried = true;
	prepared->finished = run->ok || strcmp(run->sqlstate, "42704") == 0;
	if (!prepared->finished)
		prepared->error = run->error;
	if (!run->ok)
		return;
	if (prepared->fate == FATE_COMMIT)
		node->ncommitted++;
	else
		node->nrolled_back++;
	shuttle_node_totals_add(node->serverid, SHUTTLE_NODE_RECOVERIES, 1);
}

/*
 * A session may have finished its transaction behind the list, and before the look at its
 * lock. A list that is made behind that look no longer has it: to finish it again would be an
 * error in the node's log.
 */
static void
look_again(List *nodes, int limit_ms)
{
	List	   *answered = NIL;
	bool		any = false;
	ListCell   *cell;

	foreach(cell, nodes)
	{
		any = any || next_to_finish(lfirst(cell), nodes) != NULL;
		if (((RecoveryNode *) lfirst(cell))->answered)
			answered = lappend(answered, lfirst(cell));
	}
	if (any)
		shuttle_recovery_look(answered, limit_ms);
}

static void
finish_decided(List *nodes, int limit_ms)
{
	const char **sqls = palloc_array(const char *, Max(1, list_length(nodes)));
	PreparedTransaction **next = palloc_array(PreparedTransaction *,
											  Max(1, list_length(nodes)));
	bool		any = true;
	ListCell   *cell;

	while (any)
	{
		ShuttleOutsideRun *runs;

		any = false;
		foreach(cell, nodes)
		{
			int			i = foreach_current_index(cell);

			next[i] = next_to_finish(lfirst(cell), nodes);
			sqls[i] = next[i] == NULL ? NULL :
				psprintf("%s PREPARED %s",
						 next[i]->fate == FATE_COMMIT ? "COMMIT" : "ROLLBACK",
						 quote_literal_cstr(next[i]->gid));
			any = any || next[i] != NULL;
		}
		if (!any)
			break;
		runs = run_on(nodes, sqls, NULL, limit_ms);
		for (int i = 0; i < list_length(nodes); i++)
		{
			if (next[i] != NULL)
				note_finished(list_nth(nodes, i), next[i], &runs[i]);
		}
	}
}

void
shuttle_recovery_finish(List *nodes, int limit_ms)
{
	look_again(nodes, limit_ms);
	shuttle_recovery_ask_others(nodes, limit_ms);
	finish_decided(nodes, limit_ms);
}

void
shuttle_recovery_finish_listed(List *nodes, int limit_ms)
{
	judge_all(nodes);
	shuttle_recovery_ask_others(nodes, limit_ms);
	finish_decided(nodes, limit_ms);
}

static List *
late_nodes(List *nodes)
{
	List	   *late = NIL;
	ListCell   *cell;

	foreach(cell, nodes)
	{
		if (((RecoveryNode *) lfirst(cell))->is_late)
			late = lappend(late, lfirst(cell));
	}
	return late;
}

/* Nodes that answer are not kept waiting by those that do not. */
bool
shuttle_recovery_run(List *nodes, int limit_ms)
{
	bool		left;
	List	   *records = shuttle_commit_records(&left);
	List	   *late;
	ListCell   *cell;

	shuttle_recovery_ask(nodes, FIRST_LOOK_MS);
	shuttle_recovery_finish(nodes, limit_ms);
	late = late_nodes(nodes);
	if (late != NIL)
	{
		shuttle_recovery_look(late, limit_ms);
		shuttle_recovery_finish(nodes, limit_ms);
	}
	forget_records(records, nodes);
	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);
		ListCell   *inner;

		left = left || !shuttle_recovery_has_answered(node->serverid, nodes);
		foreach(inner, node->prepared)
		{
			const PreparedTransaction *prepared = lfirst(inner);

			left = left || (prepared->fate != FATE_OTHER && !prepared->finished);
		}
	}
	return left;
}

/* ---- records */

/* True if some node has an unfinished transaction of this name, under any
 * server: a server's host may have been changed. */
static bool
is_held(const char *name, List *nodes)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		ListCell   *inner;

		foreach(inner, ((RecoveryNode *) lfirst(cell))->prepared)
		{
			const PreparedTransaction *prepared = lfirst(inner);

			if (prepared->name != NULL && strcmp(prepared->name, name) == 0 &&
				!shuttle_recovery_is_finished(prepared->gid, nodes))
				return true;
		}
	}
	return false;
}

static void
forget_records(List *records, List *nodes)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, records)
	{
		const CommitRecord *record = lfirst(cell);
		bool		done = !is_held(record->name, nodes);
		ListCell   *inner;

		foreach(inner, record->servers)
			done = done && shuttle_recovery_has_answered(lfirst_oid(inner), nodes);
		if (done)
			names = lappend(names, record->name);
	}
	shuttle_commit_records_forget(names);
}

/*-------------------------------------------------------------------------
 * two_phase.c
 *	  Atomic commits on several nodes.
 *
 * 1. Before the local commit, all nodes that were written to get PREPARE
 *    TRANSACTION, in one round trip, and a commit record is written into a local
 *    table. Nodes that were only read commit in the same trip.
 * 2. The record commits with the local transaction: that is the decision.
 * 3. Then all nodes get COMMIT PREPARED, in a second round trip.
 *
 * A failure before 2 rolls everything back, here or by recovery, which finds
 * no record. After 2 recovery finishes it, since it finds the record. If this
 * server's synchronous standbys may lack the record, 3 is left to recovery. One
 * written node and no local write need none of this. A node with
 * shuttle_two_phase 'off' commits between 1 and 2.
 *
 * A standby cannot write the record. There the primary server commits it when all nodes have prepared, at the
 * end of 1, and this is 2 (decide()); the local commit writes nothing. If it is not known whether it
 * has, what is prepared stays so.
 *
 * PREPARE TRANSACTION by the client ends behind 1: the local transaction is prepared with
 * its record in it, so COMMIT PREPARED and ROLLBACK PREPARED decide as 2 does. From then on
 * no session has it; prepared.c of the cluster room does 3.
 *
 * Rules (trap 27): what 3 needs is allocated in 1; from 2 on nothing allocates
 * or raises. Waits of 3 end after shuttle.commit_wait.
 *
 * Memory: the commands of 3 are in commit.finish until they are queued.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_cut.h"
#include "storage/shuttle_read_only.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"
#include "storage/transaction/windows.h"

/* Name of the committing transaction, in its memory context. */
static const char *name = NULL;

/* The client has asked for PREPARE TRANSACTION, and decides later. */
static bool client_decides = false;

static void raise_cannot_prepare(const ShuttleNode *node);
static void raise_refusal(ShuttleNode *node);
static void make_finish(ShuttleNode *node, const char *sql);
static void start_finish(ShuttleNode *node);
static void await_finish(ShuttleNode *node, TimestampTz deadline, bool is_safe);

/* ---- who takes part */

/* True if the node must prepare, unless it is the only writer. */
static bool
is_writer(const ShuttleNode *node)
{
	return shuttle_transaction_is_open(node) && node->transaction.wrote && node->options.two_phase;
}

static bool
has_other_writer(const ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *other = dlist_container(ShuttleNode, link, iter.cur);

		if (other != node && shuttle_transaction_is_open(other) && other->transaction.wrote)
			return true;
	}
	return false;
}

/* True if the node and all that were written to can prepare. */
static bool
all_prepare(const ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *other = dlist_container(ShuttleNode, link, iter.cur);

		if (shuttle_transaction_is_open(other) && other->transaction.wrote && !other->options.two_phase)
			return false;
	}
	return node->options.two_phase;
}

static bool
settings_are_known(void *arg)
{
	ShuttleNode *node = arg;

	return node->connection.state != NODE_CONNECTING &&
		(node->connection.state != NODE_READY || node->commit.max_prepared >= 0 ||
		 node->options.pooled || dlist_is_empty(&node->queue.commands));
}

void
shuttle_two_phase_check_writer(ShuttleNode *node)
{
	ShuttleNode *other = NULL;
	dlist_iter	iter;

	if (!node->options.two_phase || shuttle_cluster_methods == NULL)
		return;
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *candidate = dlist_container(ShuttleNode, link, iter.cur);

		if (candidate != node && is_writer(candidate))
			other = candidate;
	}
	if (other == NULL)
		return;

	/*
	 * An idle connection's setting is that of a server that may have been
	 * restarted since.
	 */
	if (node->commit.max_prepared == 0 && !shuttle_transaction_is_open(node))
		shuttle_connection_revive(node, false);
	shuttle_wait_until(node, SHUTTLE_WAIT_CONNECT, settings_are_known, node);
	if (node->commit.max_prepared == 0)
		raise_cannot_prepare(node);
	if (other->commit.max_prepared == 0)
		raise_cannot_prepare(other);
}

/* What follows is sent without further waits. */
void
shuttle_two_phase_check_standby(ShuttleNode *node)
{
	if (!shuttle_read_only_is_lifted() || shuttle_cluster_methods == NULL)
		return;
	shuttle_wait_until(node, SHUTTLE_WAIT_CONNECT, settings_are_known, node);
	shuttle_cluster_methods->check_standby(has_other_writer(node) && !all_prepare(node));
}

static void
raise_cannot_prepare(const ShuttleNode *node)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("storage node \"%s\" cannot take part in an atomic commit over several servers",
					node->name),
			 errdetail("Its max_prepared_transactions is 0."),
			 errhint("Set max_prepared_transactions on the node, to at least the number of sessions that commit at once, and restart it; or accept commits that a crash can leave half done: ALTER SERVER %s OPTIONS (ADD shuttle_two_phase 'off').",
					 quote_identifier(node->name))));
}

/*
 * A node's part if none prepares. Under SERIALIZABLE a node that only read can
 * refuse, so it commits first. Otherwise a node with only locked rows keeps
 * them until the writes elsewhere are visible to whoever waits for the locks;
 * the answer to its COMMIT is not waited for.
 */
static CommitPart
plain_part(ShuttleNode *node, int nwriters)
{
	if (IsolationIsSerializable())
		return nwriters == 1 && node->transaction.wrote ? COMMIT_LAST : COMMIT_AT_ONCE;
	if (nwriters == 0 || node->transaction.wrote || !node->commit.must_wait)
		return COMMIT_AT_ONCE;
	node->commit.must_wait = false;
	return COMMIT_LAST;
}

static CommitPart
two_phase_part(const ShuttleNode *node)
{
	if (node->transaction.wrote)
		return node->options.two_phase ? COMMIT_PREPARED_FIRST : COMMIT_LAST;
	return node->commit.must_wait && !IsolationIsSerializable() ?
		COMMIT_BEHIND : COMMIT_AT_ONCE;
}

static void
count_writers(int *nwriters, int *nable)
{
	dlist_iter	iter;

	*nwriters = *nable = 0;
	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (shuttle_transaction_is_open(node) && node->transaction.wrote)
			(*nwriters)++;
		if (is_writer(node))
			(*nable)++;
	}
}

bool
shuttle_two_phase_is_needed(void)
{
	int			nwriters;
	int			nable;

	count_writers(&nwriters, &nable);
	return shuttle_cluster_methods != NULL && nable > 0 && (nwriters > 1 || shuttle_cluster_methods->wrote_here());
}

bool
shuttle_two_phase_plan(bool in_worker)
{
	int			nwriters;
	int			nable;
	bool		needed;
	dlist_iter	iter;

	count_writers(&nwriters, &nable);
	needed = !in_worker && shuttle_two_phase_is_needed();
	if (nwriters > 0 && shuttle_cluster_methods != NULL)
	{
		shuttle_cluster_methods->check_standby(nwriters > 1 && nable < nwriters);
		shuttle_cluster_methods->warn();
	}

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!shuttle_transaction_is_open(node))
			continue;
		node->commit.part = needed ? two_phase_part(node) : plain_part(node, nwriters);
		if (node->commit.part == COMMIT_PREPARED_FIRST && node->commit.max_prepared == 0)
			raise_cannot_prepare(node);
	}
	return needed;
}

/* Its locks are to be kept, too: whoever only locked rows prepares as well. */
static void
plan_client_part(ShuttleNode *node)
{
	if (!node->transaction.wrote && !node->commit.must_wait)
	{
		node->commit.part = COMMIT_AT_ONCE;
		return;
	}
	if (!node->options.two_phase)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot PREPARE a transaction that has written on storage node \"%s\"",
						node->name),
				 errdetail("The server has shuttle_two_phase 'off'."),
				 errhint("ALTER SERVER %s OPTIONS (DROP shuttle_two_phase);", quote_identifier(node->name))));
	if (node->commit.max_prepared == 0)
		raise_cannot_prepare(node);
	node->commit.part = COMMIT_PREPARED_FIRST;
}

bool
shuttle_two_phase_plan_client(void)
{
	bool		needed = false;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!shuttle_transaction_is_open(node))
			continue;
		plan_client_part(node);
		needed = needed || node->commit.part == COMMIT_PREPARED_FIRST;
	}
	if (needed && (shuttle_windows == NULL || shuttle_cluster_methods == NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot PREPARE a transaction that has written on storage nodes"),
				 errhint("Add pg_shuttle to shared_preload_libraries, and restart the server.")));
	client_decides = needed;
	return needed;
}

/* ---- before the local commit */

void
shuttle_two_phase_name(void)
{
	name = MemoryContextStrdup(TopTransactionContext, shuttle_cluster_methods->name());
	SHUTTLE_POINT("before-prepare");
}

void
shuttle_two_phase_ask_xid(ShuttleNode *node)
{
	shuttle_command_add(node, COMMAND_XID, "SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN pg_catalog.txid_current() END");
}

void
shuttle_two_phase_send(ShuttleNode *node)
{
	char		sql[SHUTTLE_GID_SIZE + 32];
	char		identity[NAMEDATALEN] = "";

	/* what the client prepares is no session's any more */
	if (!client_decides)
		shuttle_session_identity(identity, sizeof(identity));
	snprintf(node->commit.gid, sizeof(node->commit.gid), "%s_%u_%u_%s_%016llx", name,
			 node->key.serverid, node->key.umid, identity, (unsigned long long) GetSystemIdentifier());
	snprintf(sql, sizeof(sql), "COMMIT PREPARED '%s'", node->commit.gid);
	make_finish(node, sql);

	if (node->queue.unsynced)
		shuttle_command_add(node, COMMAND_SYNC, NULL);
	node->transaction.can_repeat = false;

	/*
	 * The node's role may have it off; COMMIT PREPARED then relies on the
	 * record.
	 */
	shuttle_command_add(node, COMMAND_CONTROL, "SET LOCAL synchronous_commit = on");
	node->commit.xid = 0;
	shuttle_two_phase_ask_xid(node);
	snprintf(sql, sizeof(sql), "PREPARE TRANSACTION '%s'", node->commit.gid);
	shuttle_command_add(node, COMMAND_PREPARE_TRANSACTION, sql);
	node->commit.two_phase = TWO_PHASE_ASKED;
	node->commit.unreplicated = false;
	shuttle_pipeline_end_packet(node);
}

/* Makes the commands for after the local commit. */
static void
make_finish(ShuttleNode *node, const char *sql)
{
	node->commit.finished = false;
	node->commit.finish_missing = false;
	node->commit.finish[0] = shuttle_command_make(node, COMMAND_FINISH, sql);
	node->commit.finish[1] = shuttle_command_make(node, COMMAND_SYNC, NULL);
	if (node->commit.finish[0] == NULL || node->commit.finish[1] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	node->commit.finish[0]->ignore_error = true;
}

/*
 * The decision must survive a crash of this server and, if it has synchronous
 * standbys, a promotion. ForceSyncCommit() alone does not wait for them.
 */
void
shuttle_two_phase_make_safe(void)
{
	ForceSyncCommit();
	if (synchronous_commit < SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
		(void) set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_LOCAL, true, 0, false);
}

void
shuttle_two_phase_record(void)
{
	List	   *servers = NIL;
	dlist_iter	iter;

	SHUTTLE_POINT("prepare-sent");
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!shuttle_transaction_is_open(node))
			continue;
		if (node->commit.part == COMMIT_PREPARED_FIRST)
			servers = list_append_unique_oid(servers, node->key.serverid);
		else if (node->commit.part == COMMIT_BEHIND)
			make_finish(node, "COMMIT");
	}
	shuttle_cluster_methods->record(name, servers, client_decides);
	if (!client_decides)
		shuttle_two_phase_make_safe();
	SHUTTLE_POINT("recorded");
}

bool
shuttle_two_phase_decide(void)
{
	ShuttlePreparedPart *parts;
	bool		is_decided;
	int			nparts = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
		nparts += dlist_container(ShuttleNode, link, iter.cur)->commit.two_phase == TWO_PHASE_DONE;
	parts = palloc0_array(ShuttlePreparedPart, nparts);
	nparts = 0;
	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.two_phase != TWO_PHASE_DONE)
			continue;
		parts[nparts].serverid = node->key.serverid;
		parts[nparts].system = node->epoch.system_identifier;
		parts[nparts++].xid = node->commit.xid;
	}
	is_decided = shuttle_cluster_methods->decide(name, parts, nparts);
	pfree(parts);
	return is_decided;
}

static bool
prepare_is_answered(void *arg)
{
	ShuttleNode *node = arg;

	return node->commit.two_phase != TWO_PHASE_ASKED || node->errors.first != NULL ||
		node->connection.state == NODE_LOST || node->connection.state == NODE_CLOSED;
}

void
shuttle_two_phase_check(ShuttleNode *node)
{
	shuttle_wait_until(node, SHUTTLE_WAIT_COMMIT, prepare_is_answered, node);
	if (node->commit.two_phase != TWO_PHASE_DONE)
	{
		if (node->connection.state == NODE_LOST || node->connection.state == NODE_CLOSED)
			shuttle_node_error_raise_lost(node);
		if (node->errors.first != NULL)
			raise_refusal(node);
	}
	shuttle_transaction_forget(node);

	/* PREPARE of a failed transaction answers ROLLBACK, without an error. */
	if (node->commit.two_phase != TWO_PHASE_DONE)
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("storage node \"%s\" rolled the transaction back",
						node->name),
				 errhint("Repeat the transaction.")));

	/* What a promotion could lose does not decide a commit. */
	if (node->commit.unreplicated)
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("storage node \"%s\" has prepared the transaction, but its standbys may not have it",
						node->name),
				 errdetail("The node was told not to wait for them any longer."),
				 errhint("Repeat the transaction.")));
}

/* Adds a hint if the node can commit but not prepare. */
static void
raise_refusal(ShuttleNode *node)
{
	const PGresult *result = node->errors.first->result;
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int			sqlstate = shuttle_node_error_result_sqlstate(result);

	if (sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
		node->commit.max_prepared <= 0)
		raise_cannot_prepare(node);
	if (sqlstate != ERRCODE_FEATURE_NOT_SUPPORTED)
		shuttle_node_error_raise(node, node->errors.first, "PREPARE TRANSACTION");
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("storage node \"%s\" cannot prepare the transaction for an atomic commit over several servers",
					node->name),
			 message != NULL ? errdetail("The node says: %s.", message) : 0,
			 errhint("Do this on the node in a transaction that writes nowhere else, or set shuttle_two_phase 'off' on the server.")));
}

void
shuttle_two_phase_answer(ShuttleNode *node, const ShuttleCommand *command,
						 bool failed)
{
	const char *tag = failed ? "" : PQcmdStatus(command->result);

	if (command->kind == COMMAND_XID)
	{
		if (failed || PQntuples(command->result) != 1 || command->generation != node->transaction.generation)
			return;
		node->commit.xid = strtoull(PQgetvalue(command->result, 0, 0), NULL, 10);
		shuttle_windows_note_xid(node);
		return;
	}
	if (command->kind == COMMAND_PREPARE_TRANSACTION)
	{
		if (command->generation != node->transaction.generation ||
			node->commit.two_phase != TWO_PHASE_ASKED)
			return;
		node->commit.two_phase = strcmp(tag, "PREPARE TRANSACTION") == 0 ?
			TWO_PHASE_DONE : TWO_PHASE_NONE;
		if (node->commit.two_phase == TWO_PHASE_DONE)
			shuttle_node_count(node, SHUTTLE_NODE_PREPARES, 1);
		return;
	}

	node->commit.finish_pending = false;
	node->commit.finished = !failed;

	/* Our recovery did not end it: it skips transactions of live sessions. */
	node->commit.finish_missing = failed &&
		shuttle_node_error_result_sqlstate(command->result) == ERRCODE_UNDEFINED_OBJECT;
	if (failed)
		return;
	shuttle_node_count(node, SHUTTLE_NODE_COMMITS, 1);
	shuttle_windows_acknowledge(node);
}

/* ---- after the local commit */

void
shuttle_two_phase_finish(void)
{
	TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									shuttle_settings.commit_wait_ms);
	bool		in_doubt = false;
	bool		is_safe;
	dlist_iter	iter;

	if (name == NULL)
		return;
	name = NULL;
	SHUTTLE_POINT("committed");
	is_safe = shuttle_cluster_methods->is_safe();
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (is_safe || node->commit.part != COMMIT_PREPARED_FIRST)
			start_finish(node);
	}
	SHUTTLE_POINT("commit-sent");
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.part == COMMIT_AT_ONCE || node->commit.part == COMMIT_LAST)
			continue;
		await_finish(node, deadline, is_safe);
		if (node->commit.part == COMMIT_PREPARED_FIRST &&
			(!node->commit.finished || node->commit.unreplicated))
			in_doubt = true;
	}
	shuttle_cluster_methods->in_doubt(in_doubt);
}

static void
start_finish(ShuttleNode *node)
{
	if (node->commit.finish[0] == NULL || node->connection.state != NODE_READY)
		return;
	shuttle_command_append(node, node->commit.finish[0]);
	shuttle_command_append(node, node->commit.finish[1]);
	node->commit.finish[0] = node->commit.finish[1] = NULL;
	node->commit.finish_pending = true;
	node->commit.unreplicated = false;
	shuttle_pipeline_send(node);
}

static bool
finish_is_answered(const ShuttleNode *node)
{
	return !node->commit.finish_pending;
}

void
shuttle_two_phase_warn_missing(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("storage node \"%s\" may not have committed", node_name),
			 errdetail("The transaction has committed here. The node does not have it prepared any more: somebody else has ended it there, or the node has lost it."),
			 errhint("Look on the node whether the transaction is there.")));
}

void
shuttle_two_phase_warn_unfinished(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("storage node \"%s\" has not committed yet", node_name),
			 errdetail("The transaction has committed here, and is prepared on the node."),
			 errhint("Recovery finishes it; see shuttle.transactions.")));
}

/* The commit here may be lost with this server, and is rolled back on the nodes then. */
static void
warn_of_undecided(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_T_R_STATEMENT_COMPLETION_UNKNOWN),
			 errmsg("storage node \"%s\" has not committed, and may roll back", node_name),
			 errdetail("The transaction has committed here, and is prepared on the node, but this server's synchronous standbys may not have the commit."),
			 errhint("Recovery commits it when they have it. If one that does not have it is promoted, the transaction is rolled back everywhere.")));
}

static void
warn_of_unreplicated(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("storage node \"%s\" has committed, but its standbys may not know", node_name),
			 errdetail("The node was told not to wait for them any longer."),
			 errhint("Recovery commits on a standby that is promoted within shuttle.record_retention.")));
}

static void
await_finish(ShuttleNode *node, TimestampTz deadline, bool is_safe)
{
	if (node->commit.finish_pending &&
		!shuttle_transaction_wait_quietly(node, finish_is_answered, deadline) &&
		node->connection.state == NODE_READY)
		shuttle_connection_lost(node, "the node did not answer in time");
	if (node->commit.part == COMMIT_BEHIND)
		shuttle_transaction_forget(node);
	else if (node->commit.finish_missing)
		shuttle_notices_warn_of_node(node, shuttle_two_phase_warn_missing);
	else if (!node->commit.finished)
		shuttle_notices_warn_of_node(node, is_safe || node->commit.part != COMMIT_PREPARED_FIRST ?
									 shuttle_two_phase_warn_unfinished : warn_of_undecided);
	else if (node->commit.unreplicated)
		shuttle_notices_warn_of_node(node, warn_of_unreplicated);
}

void
shuttle_two_phase_prepared(void)
{
	if (name == NULL)
		return;
	name = NULL;
	client_decides = false;
	shuttle_cluster_methods->in_doubt(true);
}

/* ---- the local transaction failed */

/* Another server decides, or has decided, and ends what is prepared when nobody here does. So the
 * sessions that prepared it end. */
static void
leave_prepared(void)
{
	dlist_iter	iter;

	name = NULL;
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.two_phase != TWO_PHASE_NONE && node->connection.state == NODE_READY)
			shuttle_connection_lost(node, "another server ends what it has prepared");
	}
}

void
shuttle_two_phase_undo(void)
{
	bool		in_doubt = client_decides;
	dlist_iter	iter;

	if (shuttle_cluster_methods != NULL && shuttle_cluster_methods->may_have_committed())
	{
		leave_prepared();
		return;
	}
	name = NULL;
	client_decides = false;
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		char		sql[SHUTTLE_GID_SIZE + 32];
		ShuttleCommand *command;

		if (node->commit.two_phase == TWO_PHASE_NONE)
			continue;
		in_doubt = true;
		if (node->commit.two_phase == TWO_PHASE_ASKED || node->connection.state != NODE_READY)
			continue;
		snprintf(sql, sizeof(sql), "ROLLBACK PREPARED '%s'", node->commit.gid);
		command = shuttle_command_try_add(node, COMMAND_CONTROL, sql);
		if (command == NULL)
		{
			shuttle_connection_lost(node, "out of memory");
			continue;
		}
		command->ignore_error = true;
		if (!shuttle_pipeline_sync(node))
			shuttle_connection_lost(node, "out of memory");
		else
			shuttle_node_count(node, SHUTTLE_NODE_ROLLBACKS, 1);
	}

	/* What was sent may not arrive. */
	if (in_doubt)
		shuttle_cluster_methods->in_doubt(true);
}

void
shuttle_two_phase_forget(ShuttleNode *node)
{
	for (int i = 0; i < lengthof(node->commit.finish); i++)
	{
		if (node->commit.finish[i] != NULL)
			pfree(node->commit.finish[i]);
		node->commit.finish[i] = NULL;
	}
	node->commit.part = COMMIT_AT_ONCE;
	node->commit.part_asked = false;
	node->commit.two_phase = TWO_PHASE_NONE;
	node->commit.finish_pending = false;
	node->commit.gid[0] = '\0';
	node->commit.window_part = 0;
}

/*-------------------------------------------------------------------------
 * node_reset.c
 *	  Resets a node after an error of a speculative request, and sends a new
 *	  connection's settings.
 *
 * A speculative packet is [..., SAVEPOINT a, request, RELEASE a, Sync]. If the
 * request fails:
 * 1. The node skips to that Sync. Its transaction has failed, so all packets
 *    sent after it fail, too, without effect. None of them begins or ends a
 *    transaction or savepoint: such commands wait until all speculative requests
 *    are answered (transaction.c).
 * 2. After reading that Sync, we send [ROLLBACK TO a, RELEASE a, Sync].
 * 3. Later packets that are speculative, too, are skipped for good: their owners
 *    send them again if needed. All other commands of later packets are queued
 *    again after the recovery, in order; placeholders take the outstanding
 *    answers to their first sending.
 *
 * Memory: placeholders are commands like others.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "storage/connection/connection.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"

static void recover(ShuttleNode *node);
static void repeat_rollback(ShuttleNode *node);
static bool replace_sent(ShuttleNode *node, dlist_head *again);
static void append_all(ShuttleNode *node, dlist_head *commands);
static void drop_skipped(ShuttleNode *node, ShuttleCommand *command);

void
shuttle_node_progress(ShuttleNode *node)
{
	for (;;)
	{
		if (node->connection.state == NODE_CONNECTING)
			shuttle_connection_poll(node);

		/* Do not send, either: libpq could read meanwhile. */
		if (shuttle_answer_pages_hold_up(node))
			return;
		shuttle_pipeline_send(node);
		if (node->connection.state == NODE_READY && node->socket.readable)
		{
			node->socket.readable = false;
			if (PQconsumeInput(node->connection.conn) == 0)
			{
				/*
				 * What arrived before the connection ended can still be read.
				 */
				shuttle_pipeline_read(node);
				if (node->connection.state == NODE_READY && dlist_is_empty(&node->queue.commands))
					(void) PQisBusy(node->connection.conn); /* reads the reason */
				if (node->connection.state == NODE_READY)
					shuttle_connection_broke(node, PQerrorMessage(node->connection.conn),
											 false);
			}
		}
		if (node->connection.state != NODE_READY)
			return;
		shuttle_pipeline_read(node);
		if (node->connection.state != NODE_READY)
			return;
		if (node->errors.recovery_due)
			recover(node);
		else if (node->rollback.again)
			repeat_rollback(node);
		else if (node->queue.nunsent_syncs == 0 || node->rollback.awaited ||
				 shuttle_pipeline_is_held(node))
			return;
	}
}

/* Moves the unsent commands to a list. */
static void
set_unsent_aside(ShuttleNode *node, dlist_head *unsent)
{
	dlist_init(unsent);
	while (node->queue.unsent != NULL)
	{
		ShuttleCommand *command = node->queue.unsent;
		bool		speculative = command->speculative;

		command->speculative = false;	/* keep nspeculative */
		shuttle_command_unlink(node, command);
		command->speculative = speculative;
		dlist_push_tail(unsent, &command->link);
	}
}

static void
recover(ShuttleNode *node)
{
	dlist_head	again;
	dlist_head	unsent;
	bool		unsynced = node->queue.unsynced;

	node->errors.recovery_due = false;
	node->errors.speculative_failed = false;

	dlist_init(&again);
	set_unsent_aside(node, &unsent);
	if (!replace_sent(node, &again) ||
		!shuttle_command_try_add(node, COMMAND_RECOVER, "ROLLBACK TO SAVEPOINT a") ||
		!shuttle_command_try_add(node, COMMAND_RECOVER, "RELEASE SAVEPOINT a") ||
		!shuttle_command_try_add(node, COMMAND_SYNC, NULL))
	{
		/* The queue is incomplete. */
		shuttle_connection_lost(node, "out of memory");
		return;
	}
	append_all(node, &again);
	append_all(node, &unsent);
	node->queue.unsynced = unsynced;
}

/* A late cancel hit the ROLLBACK of a transaction or savepoint, the only
 * command sent: sends it again before all others. */
static void
repeat_rollback(ShuttleNode *node)
{
	dlist_head	unsent;
	bool		unsynced = node->queue.unsynced;
	char		sql[48];
	bool		added;

	node->rollback.again = false;
	set_unsent_aside(node, &unsent);
	node->rollback.packet = node->queue.packet;
	if (node->rollback.level == 1)
		added = shuttle_command_try_add(node, COMMAND_ROLLBACK, "ROLLBACK") != NULL;
	else
	{
		snprintf(sql, sizeof(sql), "ROLLBACK TO SAVEPOINT s%d", node->rollback.level);
		added = shuttle_command_try_add(node, COMMAND_ROLLBACK, sql) != NULL;
		snprintf(sql, sizeof(sql), "RELEASE SAVEPOINT s%d", node->rollback.level);
		added = added && shuttle_command_try_add(node, COMMAND_ROLLBACK, sql) != NULL;
	}
	node->rollback.awaited = false;
	if (!added || !shuttle_pipeline_sync(node))
	{
		shuttle_connection_lost(node, "out of memory");
		return;
	}
	node->rollback.awaited = true;
	append_all(node, &unsent);
	node->queue.unsynced = unsynced;
}

/* Replaces all sent commands by placeholders and moves those to be sent again
 * to a list. Returns false if out of memory. */
static bool
replace_sent(ShuttleNode *node, dlist_head *again)
{
	dlist_head	sent;

	dlist_init(&sent);
	while (!dlist_is_empty(&node->queue.commands))
		dlist_push_tail(&sent, dlist_pop_head_node(&node->queue.commands));

	while (!dlist_is_empty(&sent))
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link,
												  dlist_pop_head_node(&sent));
		ShuttleCommand *placeholder;

		placeholder = shuttle_command_try_add(node, command->kind == COMMAND_SYNC ?
											  COMMAND_SYNC : COMMAND_CONTROL, NULL);
		if (placeholder == NULL)
			return false;
		placeholder->sent = true;
		placeholder->dropped = true;
		placeholder->result = command->result;
		command->result = NULL;
		if (placeholder->kind == COMMAND_SYNC)
			node->queue.nunsent_syncs--;

		if (command->speculative && !command->repeatable &&
			command->kind != COMMAND_SYNC)
			drop_skipped(node, command);
		else
		{
			/* Without its request the packet is no longer speculative. */
			if (command->speculative && !command->repeatable)
			{
				node->errors.nspeculative--;
				command->speculative = false;
			}
			command->sent = false;
			dlist_push_tail(again, &command->link);
		}
	}
	/* Placeholders are not to be sent. */
	node->queue.unsent = NULL;
	return true;
}

/* Drops a command that was speculative, and skipped. */
static void
drop_skipped(ShuttleNode *node, ShuttleCommand *command)
{
	if (command->kind == COMMAND_DECLARE)
		shuttle_cursor_forget_packet(node, command->packet);
	if (command->prepared != NULL)
		(void) shuttle_prepared_answer(node, command, true);
	if (command->request != NULL)
		shuttle_request_skip(command->request);
	shuttle_command_free(node, command);
}

/* Appends commands to be sent, with new packet numbers. */
static void
append_all(ShuttleNode *node, dlist_head *commands)
{
	while (!dlist_is_empty(commands))
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link,
												  dlist_pop_head_node(commands));

		if (command->kind == COMMAND_DECLARE &&
			node->requests.cursors[command->cursor].packet == command->packet)
			node->requests.cursors[command->cursor].packet = node->queue.packet;
		if (command->kind == COMMAND_BEGIN &&
			command->generation == node->transaction.generation)
			node->transaction.first_packet = node->queue.packet;
		command->packet = node->queue.packet;
		dlist_push_tail(&node->queue.commands, &command->link);
		if (node->queue.unsent == NULL)
			node->queue.unsent = command;
		if (command->kind == COMMAND_SYNC)
		{
			node->queue.nunsent_syncs++;
			node->queue.packet++;
		}
	}
}

void
shuttle_node_prepend_settings(ShuttleNode *node)
{
	dlist_head	waiting;
	bool		unsynced = node->queue.unsynced;

	/* Commands queued while connecting follow the settings. */
	dlist_init(&waiting);
	while (!dlist_is_empty(&node->queue.commands))
		dlist_push_tail(&waiting, dlist_pop_head_node(&node->queue.commands));
	node->queue.unsent = NULL;
	node->queue.nunsent_syncs = 0;
	shuttle_node_append_settings(node);
	append_all(node, &waiting);
	node->queue.unsynced = unsynced;
}

/*
 * Settings for the format of values, names from pg_catalog only, and the price of
 * workers. A path without pg_temp would begin with it: code of users may leave temporary
 * objects in a session that others use behind them. The tablets of a table are asked for by a request each, and each would
 * start workers of its own: a node that has the default of parallel_setup_cost
 * plans them only for large requests. more: further rows of VALUES; behind: a
 * UNION after them.
 */
#define SETTINGS_SQL(is_local, more, behind) \
	"SELECT pg_catalog.set_config(name, value, " is_local ")" \
	" FROM (VALUES" more \
	" ('search_path', 'pg_catalog, pg_temp')," \
	" ('TimeZone', 'GMT')," \
	" ('DateStyle', 'ISO')," \
	" ('IntervalStyle', 'postgres')," \
	" ('extra_float_digits', '3')," \
	" ('array_nulls', 'on')," \
	" ('cursor_tuple_fraction', '1')" \
	" UNION ALL SELECT 'parallel_setup_cost', '2000'" \
	" WHERE pg_catalog.current_setting('parallel_setup_cost') = '1000'" behind ")" \
	" AS settings (name, value)"

/* Only on Linux the last setting is sure to be accepted; an error would fail
 * the transaction. */
void
shuttle_node_add_local_settings(ShuttleNode *node)
{
	if (!node->options.pooled)
		return;
	if (PQserverVersion(node->connection.conn) < 140000)
		shuttle_command_add(node, COMMAND_CONTROL, SETTINGS_SQL("true", "", ""));
	else
		shuttle_command_add(node, COMMAND_CONTROL,
							SETTINGS_SQL("true", "",
										 " UNION ALL SELECT 'client_connection_check_interval', '2s'"
										 " WHERE pg_catalog.version() ~ 'linux'"));
}

/* Before 16, pg_stat_statements does not normalize the value of SET. */
void
shuttle_node_add_local_setting(ShuttleNode *node, const char *name,
							   const char *value)
{
	const char *format = PQserverVersion(node->connection.conn) >= 160000 ?
		"SET LOCAL %s = %s" : "SELECT pg_catalog.set_config('%s', %s, true)";
	char	   *quoted = quote_literal_cstr(value);
	char	   *sql = psprintf(format, name, quoted);

	shuttle_command_add(node, COMMAND_CONTROL, sql);
	pfree(sql);
	pfree(quoted);
}

/* In its own packet; a cancel must not hit it. */
static void
add_setting(ShuttleNode *node, CommandKind kind, const char *sql)
{
	ShuttleCommand *command = shuttle_command_add(node, kind, sql);

	command->ignore_error = true;
	command->spared_level = 1;
	shuttle_command_add(node, COMMAND_SYNC, NULL);
}

/*
 * A SELECT in its own packet: inside a transaction, ROLLBACK would undo it. A
 * packet before it sets default_transaction_deferrable off: if the remote
 * user's defaults are SERIALIZABLE, READ ONLY and DEFERRABLE, statements
 * outside transactions would wait for those of others. A pooler's session is
 * shared, and left unchanged. The node should notice the end of a connection as
 * soon as we do: until then an idle transaction keeps its locks.
 */
void
shuttle_node_append_settings(ShuttleNode *node)
{
	char		sql[1024];

	if (node->options.pooled)
		return;
	snprintf(sql, sizeof(sql),
			 SETTINGS_SQL("false",
						  " ('tcp_keepalives_idle', '%d'),"
						  " ('tcp_keepalives_interval', '%d'),"
						  " ('tcp_keepalives_count', '%d'),"
						  " ('default_transaction_isolation', 'read committed'),", "")
			 " UNION ALL"
			 " SELECT pg_catalog.current_setting('max_prepared_transactions')",
			 node->liveness.keepalives_idle_s, node->liveness.keepalives_interval_s,
			 node->liveness.keepalives_count);
	add_setting(node, COMMAND_CONTROL,
				"SET default_transaction_deferrable = off");
	add_setting(node, COMMAND_SETTINGS, sql);
	add_setting(node, COMMAND_EPOCH, SHUTTLE_EPOCH_SQL);
	if (node->commit.look_sql != NULL)
		add_setting(node, COMMAND_LOOK, node->commit.look_sql);

	/* Some platforms reject it. */
	if (PQserverVersion(node->connection.conn) >= 140000)
		add_setting(node, COMMAND_CONTROL,
					"SET client_connection_check_interval = '2s'");
}

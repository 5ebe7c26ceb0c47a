/*-------------------------------------------------------------------------
 * modify_send.c
 *	  Sends the rows that a ModifyTable has buffered, and takes what nodes answer.
 *
 * Deletes go first. INSERTs into tables whose answers need not be looked at are
 * streamed; all else waits until each table's piece is answered. Triggers and
 * RETURNING follow in the order of the source.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/outbox.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/modify_table.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* All tables together may hold as much as this many full buffers. */
#define FULL_BUFFERS 16

/* The same for INSERTs whose answers are read as they come, and how much of it
 * may be unsent. */
#define STREAMED_BUFFERS 4
#define UNSENT_BUFFERS 2

static void
keep_returned(ShuttleModify *modify, TupleTableSlot *row)
{
	tuplestore_puttupleslot(modify->returned, row);
	modify->nreturned++;
}

void
shuttle_modify_count(ShuttleModify *modify, ResultRelInfo *target,
					 TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	if (modify->node->canSetTag)
		modify->node->ps.state->es_processed++;
	if (target->ri_projectReturning != NULL)
		keep_returned(modify, shuttle_project_returning(modify->node->ps.state, target, CMD_INSERT,
														slot, NULL, plan_slot));
}

/* ---- flushing */

static void
raise_error(ShuttleModify *modify)
{
	ErrorData  *error = modify->unsent.error;

	if (error != NULL)
	{
		modify->unsent.error = NULL;
		ReThrowError(error);
	}
}

static bool
has_rows_for(const ShuttleUnsentRows *rows, const ShuttleNode *node)
{
	const ShuttleModify *modify = (const ShuttleModify *) rows;
	ListCell   *cell;

	foreach(cell, modify->writes)
	{
		ShuttleWrite *write = lfirst(cell);

		if ((node == NULL || write->storage_node == node) &&
			shuttle_write_buffer_has_rows(write))
			return true;
	}
	return false;
}

/* Sends a table's buffered rows, after the reads that must not see them. */
static void
send_rows(ShuttleModify *modify, ShuttleWrite *write)
{
	int			level = modify->unsent.item.nest_level;

	shuttle_outbox_before_rows(&modify->unsent, write->storage_node,
							   shuttle_write_brings_in(write));
	if (write->leaving != NULL && shuttle_write_buffer_has_rows(write->leaving))
		shuttle_write_buffer_send(write->leaving, level, !modify->ended);
	modify->nsent_bytes += shuttle_write_buffer_bytes(write);
	shuttle_write_buffer_send(write, level, !modify->ended);
}

/*
 * Deletes go first: the old row may conflict with the one inserted elsewhere.
 */
static void
send_in_order(ShuttleModify *modify,
			  void (*send) (ShuttleModify *modify, ShuttleWrite *write))
{
	static const CmdType order[] = {CMD_DELETE, CMD_UPDATE, CMD_INSERT};

	for (int i = 0; i < lengthof(order); i++)
	{
		ListCell   *cell;

		foreach(cell, modify->writes)
		{
			ShuttleWrite *write = lfirst(cell);

			if (write->operation != order[i] ||
				!shuttle_write_buffer_has_rows(write) ||
				(modify->holds_moves && shuttle_write_brings_in(write)))
				continue;
			send(modify, write);
		}
	}
}

static void
send_all(ShuttleModify *modify)
{
	send_in_order(modify, send_rows);
}

/* Triggers of these rows would fire within the savepoint. Rows are finished one by one if
 * the source calls code of users: only checks of domains come here. */
pg_noreturn static void
refuse_ahead(const ShuttleWrite *write)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a function that an INSERT into \"%s\" calls has a block with EXCEPTION",
					RelationGetRelationName(write->rel)),
			 errdetail("ON CONFLICT DO UPDATE has to finish rows with triggers before it."),
			 errhint("Set %s off, or insert and update in two statements.",
					 "shuttle.enable_write_buffer")));
}

/* Sends a table's rows before a savepoint of a statement within this one. */
static void
send_rows_ahead(ShuttleModify *modify, ShuttleWrite *write)
{
	if (write->upsert != NULL && write->operation == CMD_INSERT)
		refuse_ahead(write);
	shuttle_outbox_send_scans(&modify->unsent, write->storage_node,
							  shuttle_write_brings_in(write));
	modify->nsent_bytes += shuttle_write_buffer_bytes(write);
	shuttle_write_buffer_send(write, modify->unsent.item.nest_level, true);
}

static void
send_ahead(ShuttleUnsentRows *rows)
{
	send_in_order((ShuttleModify *) rows, send_rows_ahead);
}

void
shuttle_modify_follow_up(ShuttleModify *modify)
{
	modify->follows_up_late = false;
	for (;;)
	{
		ShuttleWrite *first = NULL;
		uint64		least = 0;
		ListCell   *cell;
		TupleTableSlot *row;

		foreach(cell, modify->writes)
		{
			uint64		number;

			if (shuttle_write_buffer_peek(lfirst(cell), &number) &&
				(first == NULL || number < least))
			{
				first = lfirst(cell);
				least = number;
			}
		}
		if (first == NULL)
			break;

		CHECK_FOR_INTERRUPTS();
		row = shuttle_write_buffer_return(first);
		if (row != NULL)
			keep_returned(modify, row);
		ResetPerTupleExprContext(modify->node->ps.state);
		if (modify->node->ps.ps_ExprContext != NULL)
			ResetExprContext(modify->node->ps.ps_ExprContext);
	}
}

/* Entries of global indexes need not wait for the answers of the rows, if nobody waits for theirs first: an error
 * of a row comes before one of its entry. */
static void
send_entries(const ShuttleModify *modify)
{
	const ShuttleWrite *first = modify->writes == NIL ? NULL : linitial(modify->writes);

	if (first != NULL && first->entries != NULL && modify->ended &&
		shuttle_write_behind_is_on_within(modify->unsent.item.nest_level) &&
		modify->node->ps.state->es_auxmodifytables == NIL)
		shuttle_global_rows_send(first->entries);
}

void
shuttle_modify_flush(ShuttleModify *modify, bool in_turn)
{
	bool		goes_on = modify->ended && modify->source != NULL &&
		shuttle_write_behind_is_on(modify->unsent.item.nest_level);
	ListCell   *cell;

	raise_error(modify);
	if (modify->source != NULL)
		shuttle_on_conflict_check_partitions(modify->node);
	send_all(modify);
	send_entries(modify);
	if (modify->ended)
		shuttle_foreign_key_ask();
	foreach(cell, modify->writes)
	{
		ShuttleWrite *write = lfirst(cell);
		uint64		nwritten = goes_on ? shuttle_write_buffer_go_on(write) :
			shuttle_write_buffer_finish(write);

		/* A moved row is counted when it is inserted. */
		if (modify->node->canSetTag && !shuttle_write_takes_out(write) && !write->core_follows_up)
			modify->node->ps.state->es_processed += nwritten;
	}
	shuttle_upserts_run(modify, in_turn);
	modify->nflushed = modify->nrows;
	modify->nbytes = modify->nsent_bytes = 0;
	if (modify->source == NULL)
		return;
	if (in_turn)
		shuttle_modify_follow_up(modify);
	else
		modify->follows_up_late = true;
}

static void
flush_for_others(ShuttleUnsentRows *rows)
{
	shuttle_modify_flush((ShuttleModify *) rows, false);
}

void
shuttle_modify_set_senders(ShuttleModify *modify)
{
	modify->unsent.has_rows = has_rows_for;
	modify->unsent.flush = flush_for_others;
	modify->unsent.send_ahead = send_ahead;
}

/* ---- streaming */

/* True if the table's buffered rows must not be sent before the source ends. */
static bool
waits_for_end(const ShuttleModify *modify, const ShuttleWrite *write)
{
	return modify->moves_wait && !modify->ended && shuttle_write_brings_in(write);
}

bool
shuttle_modify_take(ShuttleModify *modify, ShuttleWrite *write,
					TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	int64		nbytes = shuttle_write_buffer_bytes(write);
	bool		taken;

	if (!list_member_ptr(modify->writes, write))
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(modify->node->ps.state->es_query_cxt);

		modify->writes = lappend(modify->writes, write);
		MemoryContextSwitchTo(old_cxt);

		/* before there are rows that a function could see */
		shuttle_on_conflict_evaluate(write, &modify->conflict_values);
	}
	taken = shuttle_write_buffer_add(write, slot, plan_slot, modify->nrows++);
	if (!waits_for_end(modify, write))
		modify->nbytes += shuttle_write_buffer_bytes(write) - nbytes;
	return taken;
}

/* The size of so many full buffers. */
static int64
full_buffers(int n)
{
	return n * (int64) 1024 * shuttle_settings.write_buffer_size_kb;
}

/* True if as much of one table is under way as the next piece may hold, or if
 * all tables together hold as much as FULL_BUFFERS. */
static bool
has_to_wait(const ShuttleModify *modify, const ShuttleWrite *write, bool is_full)
{
	return modify->nbytes >= full_buffers(FULL_BUFFERS) ||
		(is_full && shuttle_write_buffer_is_ahead(write));
}

/* The table with most bytes of unsent or, sent, of unanswered rows. */
static ShuttleWrite *
largest(const ShuttleModify *modify, bool sent)
{
	ShuttleWrite *found = NULL;
	int64		most = 0;
	ListCell   *cell;

	foreach(cell, modify->writes)
	{
		ShuttleWrite *write = lfirst(cell);
		int64		nbytes = sent ? shuttle_write_buffer_sent_bytes(write) :
			shuttle_write_buffer_bytes(write);

		if (nbytes > most && shuttle_write_streams(write))
		{
			found = write;
			most = nbytes;
		}
	}
	return found;
}

/* Reads the answers of a table that have come, or waits for one. */
static void
take_answers(ShuttleModify *modify, ShuttleWrite *write, bool wait)
{
	int64		nbytes = shuttle_write_buffer_take_answers(write, wait);

	modify->nbytes -= nbytes;
	modify->nsent_bytes -= nbytes;
}

/*
 * Sends a full buffer, or the largest if all together hold enough, and waits if
 * too much is under way. So nodes work while rows are read, and no buffer has to
 * wait until all are answered.
 */
static void
stream(ShuttleModify *modify, ShuttleWrite *write, bool is_full)
{
	ListCell   *cell;

	if (!is_full && modify->nbytes - modify->nsent_bytes >= full_buffers(UNSENT_BUFFERS))
		write = largest(modify, false);
	else if (!is_full)
		return;
	if (write == NULL)
	{
		shuttle_modify_flush(modify, true);
		return;
	}
	send_rows(modify, write);
	foreach(cell, modify->writes)
	{
		if (shuttle_write_streams(lfirst(cell)))
			take_answers(modify, lfirst(cell), false);
	}
	while (modify->nbytes >= full_buffers(STREAMED_BUFFERS) &&
		   (write = largest(modify, true)) != NULL)
		take_answers(modify, write, true);
}

void
shuttle_modify_send_full(ShuttleModify *modify, ShuttleWrite *write)
{
	bool		is_full = shuttle_write_buffer_is_full(write) && !waits_for_end(modify, write);

	if (modify->waits_for_copies && modify->nbytes < full_buffers(FULL_BUFFERS))
		return;
	if (shuttle_write_streams(write))
	{
		stream(modify, write, is_full);
		return;
	}
	if (write->upsert != NULL)
	{
		if (is_full || modify->finishes_each || has_to_wait(modify, write, is_full))
			shuttle_modify_flush(modify, true);
		return;
	}
	modify->holds_moves = modify->moves_wait && !modify->ended;
	if (has_to_wait(modify, write, is_full))
		shuttle_modify_flush(modify, true);
	else if (is_full && shuttle_write_brings_in(write))
		send_all(modify);
	else if (is_full)
		send_rows(modify, write);
	modify->holds_moves = false;
}

/* What a row refers to is looked for together with the write of the row. It may be noted already. */
static void
expect_keys(ShuttleWrite *write, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	const TriggerDesc *triggers = write->target->ri_TrigDesc;
	MemoryContext old_cxt;

	if (triggers == NULL || write->notes_rows)
		return;
	if (write->operation == CMD_INSERT && triggers->trig_insert_after_row)
		shuttle_foreign_key_expect(write->rel, NULL, slot);
	else if (write->operation == CMD_UPDATE && triggers->trig_update_after_row)
	{
		MemoryContextReset(write->work_cxt);
		old_cxt = MemoryContextSwitchTo(write->work_cxt);
		shuttle_foreign_key_expect(write->rel, shuttle_write_old_row(write, plan_slot), slot);
		MemoryContextSwitchTo(old_cxt);
	}
}

bool
shuttle_modify_add(ShuttleModify *modify, ShuttleWrite *write,
				   TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	bool		taken = shuttle_modify_take(modify, write, slot, plan_slot);

	if (modify->source != NULL)
		expect_keys(write, slot, plan_slot);
	shuttle_modify_send_full(modify, write);
	return taken;
}

/*-------------------------------------------------------------------------
 * modify_table.c
 *	  Controls core's ModifyTable: rows that it writes to our foreign tables
 *	  are buffered, and flushed at the end of its source.
 *
 * The callbacks that write a row take it and return NULL, so that core counts
 * nothing and evaluates no RETURNING. Two functions wrap core's. The source's
 * sees when the last row was read, which is before AFTER STATEMENT triggers
 * are queued and before anybody reads the count: there all nodes are flushed
 * together, and the true counts are added. ModifyTable's own then returns the
 * rows of RETURNING, in the order of the source.
 *
 * A source with a Look Ahead is read to its end before the first row is
 * written: a batch requested after the first write on its node would see that
 * write (trap 24). The planner puts a Material on top of such a source; here
 * it is told to keep its rows. Rows of other sources that must be read first
 * are kept here (write_source.c).
 *
 * Buffered rows are also sent before anything that could see them (outbox.c).
 *
 * Memory: a ShuttleModify lives in its query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/ahead/outbox.h"
#include "executor/behind/behind.h"
#include "executor/executor_types.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_conflict.h"
#include "executor/write/write_table.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

struct ShuttleModify
{
	ShuttleUnsentRows unsent;	/* must be first */
	ModifyTableState *node;
	PlanState  *source;			/* NULL: COPY */
	ExecProcNodeMtd exec_modify;	/* core's */
	ExecProcNodeMtd exec_source;
	bool		read_first;		/* the source has yet to be read to its end */
	Tuplestorestate *kept;		/* the source's rows, if it is no Material;
								 * NULL: they are read one by one */
	TupleTableSlot *kept_slot;
	TupleTableSlot *source_slot;	/* for such a row, with the source's slot
									 * type */
	bool		ended;			/* the source has ended */
	bool		moves_wait;		/* moved rows are inserted after the source's
								 * end */
	bool		holds_moves;	/* moved rows must not be sent now */
	List	   *writes;			/* ShuttleWrites that are buffered */
	uint64		nrows;			/* rows taken so far */
	int64		nbytes;			/* of rows taken and not answered, except
								 * those that wait for the source's end */
	int64		nsent_bytes;	/* of those that were sent */
	Tuplestorestate *returned;	/* rows of RETURNING; NULL: no RETURNING */
	uint64		most_returned;	/* RETURNING rows that are wanted; 0: all */
	uint64		nreturned;		/* RETURNING rows that exist so far */
	uint64		nflushed;		/* rows flushed, of nrows */
	bool		follows_up_late;	/* triggers and RETURNING of answered rows
									 * wait until this statement continues */
	TupleTableSlot *returned_slot;
};

/* All tables together may hold as much as this many full buffers. */
#define FULL_BUFFERS 16

/* The same for INSERTs whose answers are read as they come, and how much of it
 * may be unsent. */
#define STREAMED_BUFFERS 4
#define UNSENT_BUFFERS 2

static void begin_modify(ModifyTableState *node);
static void keep_source(ShuttleModify *modify);
static bool may_buffer(ModifyTableState *node);
static TupleTableSlot *exec_buffered_modify(PlanState *node);
static TupleTableSlot *exec_source(PlanState *node);
static TupleTableSlot *next_returned(ShuttleModify *modify);
static void send_rows(ShuttleModify *modify, ShuttleWrite *write);
static void send_all(ShuttleModify *modify);
static void send_in_order(ShuttleModify *modify,
						  void (*send) (ShuttleModify *modify, ShuttleWrite *write));
static bool has_rows_for(const ShuttleUnsentRows *rows, const ShuttleNode *node);
static void flush(ShuttleModify *modify, bool in_turn);
static void flush_for_others(ShuttleUnsentRows *rows);
static void send_ahead(ShuttleUnsentRows *rows);
static void follow_up(ShuttleModify *modify);

/* ---- finding the ModifyTables of a statement */

List *
shuttle_modify_tables(const QueryDesc *query)
{
	List	   *tables = IsA(query->planstate, ModifyTableState) ?
		list_make1(query->planstate) : NIL;

	/* The topmost one of a DO ALSO rule is in this list, too. */
	return list_concat_unique_ptr(tables, query->estate->es_auxmodifytables);
}

void
shuttle_modify_start(QueryDesc *query, int eflags)
{
	MemoryContext old_cxt;
	ListCell   *cell;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || IsParallelWorker() ||
		(query->operation == CMD_SELECT &&
		 query->estate->es_auxmodifytables == NIL))
		return;

	old_cxt = MemoryContextSwitchTo(query->estate->es_query_cxt);
	foreach(cell, shuttle_modify_tables(query))
	{
		begin_modify(lfirst_node(ModifyTableState, cell));
		shuttle_foreign_direct_join(lfirst_node(ModifyTableState, cell));
	}
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_write_explain_commit(ExplainState *es)
{
	if (es->verbose && es->analyze && shuttle_explain_dist(es))
		shuttle_explain_text(es, "Commit", shuttle_commit_is_two_phase() ?
							 "prepared first" : "at once");
}

static ShuttleModify *
create_modify(ModifyTableState *node)
{
	EState	   *estate = node->ps.state;
	ShuttleModify *modify = MemoryContextAllocZero(estate->es_query_cxt,
												   sizeof(ShuttleModify));

	modify->node = node;
	modify->unsent.item.estate = estate;
	modify->unsent.has_rows = has_rows_for;
	modify->unsent.flush = flush_for_others;
	modify->unsent.send_ahead = send_ahead;
	shuttle_outbox_add(SHUTTLE_UNSENT_ROWS, &modify->unsent.item, estate->es_query_cxt);
	return modify;
}

void
shuttle_modify_begin_copy(ModifyTableState *node)
{
	if (shuttle_modify_find(&node->ps) == NULL)
		(void) create_modify(node);
}

/* Called in the query's context. */
static void
begin_modify(ModifyTableState *node)
{
	PlanState  *source = outerPlanState(node);
	bool		asks_again = shuttle_source_asks_again(node);
	ShuttleModify *modify;

	if (!asks_again && !may_buffer(node))
		return;
	modify = create_modify(node);
	modify->source = source;
	modify->moves_wait = node->operation == CMD_UPDATE && shuttle_move_is_seen(source);
	if (asks_again || (may_buffer(node) && shuttle_source_sees_snapshot(source)))
		keep_source(modify);
	if (((ModifyTable *) node->ps.plan)->returningLists != NIL)
	{
		modify->returned = tuplestore_begin_heap(false, false, work_mem);
		modify->returned_slot =
			MakeSingleTupleTableSlot(node->ps.ps_ResultTupleSlot->tts_tupleDescriptor,
									 &TTSOpsMinimalTuple);
	}

	modify->exec_modify = node->ps.ExecProcNodeReal;
	ExecSetExecProcNode(&node->ps, exec_buffered_modify);
	modify->exec_source = source->ExecProcNodeReal;
	ExecSetExecProcNode(source, exec_source);
}

/* Makes the source be read to its end before the first row is written. */
static void
keep_source(ShuttleModify *modify)
{
	modify->read_first = true;
	if (IsA(modify->source, MaterialState))
	{
		((MaterialState *) modify->source)->eflags |= EXEC_FLAG_REWIND;
		return;
	}
	modify->kept = tuplestore_begin_heap(false, false, work_mem);
	modify->kept_slot = MakeSingleTupleTableSlot(ExecGetResultType(modify->source),
												 &TTSOpsMinimalTuple);
	modify->source_slot = MakeSingleTupleTableSlot(ExecGetResultType(modify->source),
												   ExecGetResultSlotOps(modify->source, NULL));
}

/* True if a row may go to one of our foreign tables, or to a partition. */
static bool
may_buffer(ModifyTableState *node)
{
	ResultRelInfo *root = node->rootResultRelInfo;

	if (outerPlanState(node) == NULL)
		return false;
	if (!shuttle_settings.enable_write_buffer &&
		!shuttle_on_conflict_is_in(castNode(ModifyTable, node->ps.plan)))
		return false;
	if (root != NULL &&
		root->ri_RelationDesc->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return true;
	for (int i = 0; i < node->mt_nrels; i++)
	{
		ResultRelInfo *target = &node->resultRelInfo[i];

		if (target->ri_FdwRoutine != NULL && !target->ri_usesFdwDirectModify &&
			shuttle_foreign_is_ours(target->ri_FdwRoutine))
			return true;
	}
	return false;
}

ShuttleModify *
shuttle_modify_find(const PlanState *node)
{
	ShuttleUnsentRows *rows = NULL;

	while ((rows = shuttle_outbox_next_rows(rows)) != NULL)
	{
		ShuttleModify *modify = (ShuttleModify *) rows;

		if (&modify->node->ps == node || modify->source == node)
			return modify;
	}
	return NULL;
}

/* ---- execution */

static TupleTableSlot *
exec_buffered_modify(PlanState *node)
{
	ShuttleModify *modify = shuttle_modify_find(node);

	/* Local partitions return their rows as they write them. */
	if (!modify->ended)
	{
		TupleTableSlot *slot = modify->exec_modify(node);

		modify->nreturned += !TupIsNull(slot);
		if (!TupIsNull(slot) || !modify->ended)
			return slot;
	}
	return modify->returned == NULL ? NULL : next_returned(modify);
}

/* Reads the source to its end and keeps its rows. */
static void
read_to_end(ShuttleModify *modify)
{
	TupleTableSlot *row;

	modify->read_first = false;
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		row = modify->exec_source(modify->source);
		if (TupIsNull(row))
			break;
		if (modify->kept != NULL)
			tuplestore_puttupleslot(modify->kept, row);
	}
	if (modify->kept != NULL)
		return;
	ExecClearTuple(modify->source->ps_ResultTupleSlot);
	tuplestore_rescan(castNode(MaterialState, modify->source)->tuplestorestate);
}

static TupleTableSlot *
next_row(ShuttleModify *modify)
{
	if (modify->kept == NULL)
		return modify->exec_source(modify->source);
	if (!tuplestore_gettupleslot(modify->kept, true, false, modify->kept_slot))
		return NULL;
	return ExecCopySlot(modify->source_slot, modify->kept_slot);
}

/*
 * True if the caller wants no more RETURNING rows than those of the rows taken:
 * then no more are written (SPI_execute). Moved rows are written after the last
 * one, so theirs are unknown before.
 */
static bool
has_enough(ShuttleModify *modify)
{
	if (modify->most_returned == 0 || modify->ended ||
		modify->nreturned + modify->nrows - modify->nflushed < modify->most_returned)
		return false;
	if (!modify->moves_wait)
		flush(modify, true);
	return modify->moves_wait || modify->nreturned >= modify->most_returned;
}

/* True if the row was changed before: core must not see it again. */
static bool
fired_for(const ShuttleModify *modify, TupleTableSlot *row)
{
	ListCell   *cell;

	if (modify->node->operation == CMD_INSERT)
		return false;
	foreach(cell, modify->writes)
	{
		if (shuttle_write_buffer_fired_for(lfirst(cell), row))
			return true;
	}
	return false;
}

static TupleTableSlot *
exec_source(PlanState *node)
{
	ShuttleModify *modify = shuttle_modify_find(node);
	TupleTableSlot *row;

	if (modify->read_first)
		read_to_end(modify);
	if (modify->follows_up_late)
		follow_up(modify);
	do
	{
		CHECK_FOR_INTERRUPTS();
		row = has_enough(modify) ? NULL : next_row(modify);
	} while (!TupIsNull(row) && fired_for(modify, row));
	if (TupIsNull(row) && !modify->ended)
	{
		modify->ended = true;
		flush(modify, true);
	}
	return row;
}

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
		flush(modify, true);
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

	if (shuttle_write_streams(write))
	{
		stream(modify, write, is_full);
		return;
	}
	modify->holds_moves = modify->moves_wait && !modify->ended;
	if (has_to_wait(modify, write, is_full))
		flush(modify, true);
	else if (is_full && shuttle_write_brings_in(write))
		send_all(modify);
	else if (is_full)
		send_rows(modify, write);
	modify->holds_moves = false;
}

void
shuttle_modify_add(ShuttleModify *modify, ShuttleWrite *write,
				   TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	(void) shuttle_modify_take(modify, write, slot, plan_slot);
	shuttle_modify_send_full(modify, write);
}

void
shuttle_modify_limit(const QueryDesc *query, uint64 count)
{
	ShuttleModify *modify = NULL;

	if (query->planstate != NULL && IsA(query->planstate, ModifyTableState))
		modify = shuttle_modify_find(query->planstate);
	if (modify != NULL && modify->returned != NULL)
		modify->most_returned = count == 0 ? 0 : modify->nreturned + count;
}

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
														slot, plan_slot));
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

/* Sends a table's rows before a savepoint of a statement within this one. */
static void
send_rows_ahead(ShuttleModify *modify, ShuttleWrite *write)
{
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

/* Fires triggers and evaluates RETURNING for answered rows, in the order of the
 * source; RETURNING's rows are kept. */
static void
follow_up(ShuttleModify *modify)
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

/*
 * Sends all buffered rows and waits until they are written, except, after the
 * end of the source, for INSERTs whose count is known. in_turn: false if a
 * statement within this one caused the flush. Triggers and RETURNING then wait:
 * triggers queued within that statement would fire at its end, and its handlers
 * would catch errors of RETURNING.
 */
static void
flush(ShuttleModify *modify, bool in_turn)
{
	bool		goes_on = modify->ended && modify->source != NULL &&
		shuttle_write_behind_is_on(modify->unsent.item.nest_level);
	ListCell   *cell;

	raise_error(modify);
	if (modify->source != NULL)
		shuttle_on_conflict_check_partitions(modify->node);
	send_all(modify);
	foreach(cell, modify->writes)
	{
		ShuttleWrite *write = lfirst(cell);
		uint64		nwritten = goes_on ? shuttle_write_buffer_go_on(write) :
			shuttle_write_buffer_finish(write);

		/* A moved row is counted when it is inserted. */
		if (modify->node->canSetTag && !shuttle_write_takes_out(write))
			modify->node->ps.state->es_processed += nwritten;
	}
	modify->nflushed = modify->nrows;
	modify->nbytes = modify->nsent_bytes = 0;
	if (modify->source == NULL)
		return;
	if (in_turn)
		follow_up(modify);
	else
		modify->follows_up_late = true;
}

static void
flush_for_others(ShuttleUnsentRows *rows)
{
	flush((ShuttleModify *) rows, false);
}

void
shuttle_modify_end(const ModifyTableState *node)
{
	ShuttleModify *modify = shuttle_modify_find(&node->ps);

	if (modify == NULL)
		return;
	if (modify->kept != NULL)
	{
		ExecClearTuple(modify->source_slot);
		ExecClearTuple(modify->kept_slot);
		tuplestore_end(modify->kept);
		modify->kept = NULL;
	}
	if (modify->source == NULL && !modify->ended)
	{
		modify->ended = true;
		flush(modify, true);
	}
	if (modify->returned == NULL)
		return;
	ExecClearTuple(modify->returned_slot);
	tuplestore_end(modify->returned);
	modify->returned = NULL;
}

/* The next row of RETURNING, in ModifyTable's own slot. */
static TupleTableSlot *
next_returned(ShuttleModify *modify)
{
	TupleTableSlot *slot = modify->node->ps.ps_ResultTupleSlot;
	TupleTableSlot *from = modify->returned_slot;

	ExecClearTuple(slot);
	if (!tuplestore_gettupleslot(modify->returned, true, false, from))
		return NULL;
	slot_getallattrs(from);
	memcpy(slot->tts_values, from->tts_values,
		   sizeof(Datum) * slot->tts_tupleDescriptor->natts);
	memcpy(slot->tts_isnull, from->tts_isnull,
		   sizeof(bool) * slot->tts_tupleDescriptor->natts);
	return ExecStoreVirtualTuple(slot);
}

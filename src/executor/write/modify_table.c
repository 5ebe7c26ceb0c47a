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
 * Rows of a distributed table may refer to rows that another part of the
 * statement inserts into a reference table. Triggers write these to the copies,
 * at the statement's end; the rows are sent behind them, if core can count them
 * and do the rest before.
 *
 * Buffered rows are sent by modify_send.c, also before anything that could see
 * them (outbox.c).
 *
 * Memory: a ShuttleModify lives in its query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/executor_types.h"
#include "executor/outbox.h"
#include "executor/shuttle_executor.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/modify_table.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

static uint64 nended = 0;		/* sources whose rows have waited */

static void begin_modify(ModifyTableState *node, const List *tables);
static void keep_source(ShuttleModify *modify);
static bool may_buffer(ModifyTableState *node);
static TupleTableSlot *exec_buffered_modify(PlanState *node);
static TupleTableSlot *exec_source(PlanState *node);
static TupleTableSlot *next_returned(ShuttleModify *modify);

/* ---- finding the ModifyTables of a statement */

List *
shuttle_modify_tables(const QueryDesc *query)
{
	List	   *tables = IsA(query->planstate, ModifyTableState) ?
		list_make1(query->planstate) : NIL;

	/* The topmost one of a DO ALSO rule is in this list, too. */
	return list_concat_unique_ptr(tables, query->estate->es_auxmodifytables);
}

/* How often the statement writes to the table or to one of its partitions. */
static int
count_writes(const PlannedStmt *statement, Oid relid)
{
	int			nwrites = 0;
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->rellockmode >= RowExclusiveLock &&
			!shuttle_entry_is_excluded(rte) &&
			(rte->relid == relid || (get_rel_relispartition(rte->relid) &&
									 list_member_oid(get_partition_ancestors(rte->relid), relid))))
			nwrites++;
	}
	return nwrites;
}

/* The table that the statement names. */
static Oid
named_table(const ModifyTableState *node)
{
	return RelationGetRelid(node->rootResultRelInfo->ri_RelationDesc);
}

/* True if another part of the statement inserts into a reference table. How many rows an
 * UPDATE writes is known only if no other part changes them. */
static bool
has_to_wait(const ModifyTableState *node, const List *tables)
{
	ShuttleTableKind kind = list_length(tables) < 2 ? SHUTTLE_TABLE_OTHER : shuttle_table_kind(named_table(node));
	bool		brings_copies = false;
	int			nchanges = 0;
	ListCell   *cell;

	if (kind != SHUTTLE_TABLE_DISTRIBUTED && kind != SHUTTLE_TABLE_PARTITIONED)
		return false;
	foreach(cell, tables)
	{
		const ModifyTableState *other = lfirst_node(ModifyTableState, cell);

		if (other->operation != CMD_INSERT && named_table(other) == named_table(node))
			nchanges++;
		if ((other->operation == CMD_INSERT || other->operation == CMD_MERGE) &&
			shuttle_table_kind(named_table(other)) == SHUTTLE_TABLE_REFERENCE)
			brings_copies = true;
	}
	return brings_copies && (node->operation == CMD_INSERT || (node->operation == CMD_UPDATE && nchanges == 1));
}

/* Tells upserts that run of a statement within them that writes to their table. */
static void
note_writes(const PlannedStmt *statement)
{
	ShuttleUnsentRows *rows = NULL;

	while ((rows = shuttle_outbox_next_rows(rows)) != NULL)
	{
		ShuttleModify *modify = (ShuttleModify *) rows;

		if (shuttle_upsert_is_in((ModifyTable *) modify->node->ps.plan) &&
			!modify->is_written_beside &&
			count_writes(statement, named_table(modify->node)) > 0)
			shuttle_upserts_note_write(modify);
	}
}

void
shuttle_modify_start(QueryDesc *query, int eflags)
{
	MemoryContext old_cxt;
	List	   *tables;
	ListCell   *cell;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		note_writes(query->plannedstmt);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || IsParallelWorker() ||
		(query->operation == CMD_SELECT &&
		 query->estate->es_auxmodifytables == NIL))
		return;

	old_cxt = MemoryContextSwitchTo(query->estate->es_query_cxt);
	tables = shuttle_modify_tables(query);
	foreach(cell, tables)
	{
		begin_modify(lfirst_node(ModifyTableState, cell), tables);
		shuttle_foreign_direct_join(lfirst_node(ModifyTableState, cell));
	}
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_modify_explain_commit(ExplainState *es)
{
	if (es->verbose && es->analyze && shuttle_dist_is_wanted(es))
		shuttle_explain_text(es, "Commit", shuttle_two_phase_is_needed() ?
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
	shuttle_modify_set_senders(modify);
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
begin_modify(ModifyTableState *node, const List *tables)
{
	PlanState  *source = outerPlanState(node);
	bool		asks_again = shuttle_write_source_asks_again(node);
	ShuttleModify *modify;

	if (!asks_again && !may_buffer(node))
		return;
	modify = create_modify(node);
	modify->source = source;
	/* Another part of the statement, as in WITH, may change the same rows. */
	if (shuttle_upsert_is_in((ModifyTable *) node->ps.plan) &&
		count_writes(node->ps.state->es_plannedstmt, named_table(modify->node)) > 1)
		shuttle_upserts_note_write(modify);
	modify->finishes_each = shuttle_upsert_is_in((ModifyTable *) node->ps.plan) &&
		shuttle_write_source_calls_users_code(source);
	modify->moves_wait = node->operation == CMD_UPDATE && shuttle_write_move_is_seen(source);
	modify->waits_for_copies = has_to_wait(node, tables);
	modify->ended_number = PG_UINT64_MAX;
	if (asks_again || (may_buffer(node) && shuttle_write_source_sees_snapshot(source)))
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
	MaterialState *material = shuttle_write_source_kept(modify->source);

	modify->read_first = true;
	if (material != NULL)
	{
		material->eflags |= EXEC_FLAG_REWIND;
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
			shuttle_server_routine_is_ours(target->ri_FdwRoutine))
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
	PlanState  *read = modify->kept != NULL ? modify->source : &shuttle_write_source_kept(modify->source)->ss.ps;
	TupleTableSlot *row;

	modify->read_first = false;
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		row = read == modify->source ? modify->exec_source(read) : ExecProcNode(read);
		if (TupIsNull(row))
			break;
		if (modify->kept != NULL)
			tuplestore_puttupleslot(modify->kept, row);
	}
	if (modify->kept != NULL)
		return;
	ExecClearTuple(read->ps_ResultTupleSlot);
	tuplestore_rescan(castNode(MaterialState, read)->tuplestorestate);
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
	if (!modify->moves_wait && !modify->waits_for_copies)
		shuttle_modify_flush(modify, true);
	return modify->moves_wait || modify->waits_for_copies || modify->nreturned >= modify->most_returned;
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
		shuttle_modify_follow_up(modify);
	do
	{
		CHECK_FOR_INTERRUPTS();
		row = has_enough(modify) ? NULL : next_row(modify);
	} while (!TupIsNull(row) && fired_for(modify, row));
	if (TupIsNull(row) && !modify->ended)
	{
		modify->ended = true;
		if (modify->waits_for_copies)
			modify->ended_number = ++nended;
		else
			shuttle_modify_flush(modify, true);
	}
	return row;
}

/* The one of a statement whose rows have to be sent next: the first whose source has ended, then one
 * whose caller wanted no more rows. NULL: none waits. */
static ShuttleModify *
first_waiting(const EState *estate)
{
	ShuttleUnsentRows *rows = NULL;
	ShuttleModify *first = NULL;

	while ((rows = shuttle_outbox_next_rows(rows)) != NULL)
	{
		ShuttleModify *modify = (ShuttleModify *) rows;

		if (rows->item.estate == estate && modify->waits_for_copies &&
			(first == NULL || modify->ended_number < first->ended_number))
			first = modify;
	}
	return first;
}

void
shuttle_modify_finish(const QueryDesc *query)
{
	ShuttleModify *modify;

	while ((modify = first_waiting(query->estate)) != NULL)
	{
		modify->waits_for_copies = false;
		modify->ended = true;
		shuttle_modify_flush(modify, true);
	}
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
		shuttle_modify_flush(modify, true);
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

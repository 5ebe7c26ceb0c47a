/*-------------------------------------------------------------------------
 * write_move.c
 *	  Rows that an UPDATE moves out of a partition that is a foreign table.
 *
 * As core does between local tables, we delete the row in one partition and
 * insert it into another: on a node through its write buffer; into a local
 * table at once. Core itself moves rows out of local partitions, and passes
 * them to our INSERT.
 *
 * Rules: no scan of the statement may find a row in its new partition. Scans
 * are sent before the first row is written (early_start.c); if the source asks
 * nodes for more, inserts wait for its end. The scan has locked the row, so a
 * DELETE that does not find it is an error: the row would exist twice. ON DELETE
 * CASCADE of a node must not act, as the row still exists: such a row stays.
 * Memory: the tuple routing belongs to the ModifyTable, as in core.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "nodes/nodeFuncs.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_expressions.h"
#include "executor/executor_types.h"
#include "executor/facts/parameters.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

static bool can_leave(ShuttleWrite *write);
static ResultRelInfo *find_partition(ShuttleWrite *write, TupleTableSlot **slot);
static void insert_here(ShuttleModify *modify, EState *estate, ResultRelInfo *to,
						TupleTableSlot *slot, TupleTableSlot *plan_slot);
static void insert_there(ShuttleModify *modify, EState *estate, ResultRelInfo *to,
						 TupleTableSlot *slot, TupleTableSlot *plan_slot);

/* True if something asks nodes later, by key or in a SubPlan, or modifies a
 * table directly. */
static bool
reads_later(PlanState *node, void *context)
{
	if (node->subPlan != NIL || IsA(node, NestLoopState) || IsA(node, CustomScanState))
		return true;
	if (IsA(node, ForeignScanState))
	{
		const ForeignScan *scan = (const ForeignScan *) node->plan;

		return scan->operation != CMD_SELECT ||
			shuttle_expression_has(scan->fdw_exprs, SHUTTLE_HAS_PLAN_PARAM);
	}
	return planstate_tree_walker(node, reads_later, context);
}

bool
shuttle_write_move_is_seen(PlanState *source)
{
	return reads_later(source, NULL);
}

/* The table with no AFTER ROW triggers but those of global indexes: for foreign keys the row
 * is not deleted. */
static ResultRelInfo *
without_foreign_keys(const ResultRelInfo *target)
{
	ResultRelInfo *copy = palloc_object(ResultRelInfo);
	TriggerDesc *triggers = CopyTriggerDesc(target->ri_TrigDesc);

	*copy = *target;
	copy->ri_TrigDesc = triggers;
	triggers->trig_delete_after_row = shuttle_own_triggers_keep_entries(triggers);
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		if (triggers->triggers[i].tgisinternal)
			triggers->triggers[i].tgenabled = TRIGGER_DISABLED;
	}
	return copy;
}

/* Foreign keys are told that the row moves, global indexes that it is deleted. */
static void
note_leaving(ShuttleWrite *write, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	const TriggerDesc *triggers = write->target->ri_TrigDesc;
	ShuttleWrite *leaving = write->leaving;
	MemoryContext old_cxt;
	HeapTuple	old_row;

	if (triggers == NULL || !triggers->trig_delete_after_row)
		return;
	MemoryContextReset(write->work_cxt);
	old_cxt = MemoryContextSwitchTo(write->work_cxt);
	old_row = shuttle_write_old_row(write, plan_slot);
	if (leaving->target->ri_TrigDesc->trig_delete_after_row)
		ExecARDeleteTriggers(write->estate, leaving->target, NULL, old_row, NULL, false);
	shuttle_foreign_key_note_move(write->rel, old_row, slot);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_write_move(ShuttleWrite *write, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	ShuttleModify *modify = shuttle_modify_find(&write->node->ps);
	EState	   *estate = write->estate;
	ResultRelInfo *to;
	TupleTableSlot *row;

	if (!can_leave(write))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot move a row out of partition \"%s\", which is a foreign table",
						RelationGetRelationName(write->rel)),
				 errdetail("The row's new values belong to another partition."),
				 errhint("Delete the row and insert it anew.")));
	if (!shuttle_modify_take(modify, write->leaving, slot, plan_slot))
		return;
	note_leaving(write, slot, plan_slot);
	to = find_partition(write, &slot);
	row = ExecGetReturningSlot(estate, to);
	ExecCopySlot(row, slot);
	row->tts_tableOid = RelationGetRelid(to->ri_RelationDesc);
	if (to->ri_FdwRoutine != NULL)
		insert_there(modify, estate, to, row, plan_slot);
	else
		insert_here(modify, estate, to, row, plan_slot);
	shuttle_modify_send_full(modify, write->leaving);
}

/* True if we can do all that core does with such a row. */
static bool
can_leave(ShuttleWrite *write)
{
	const ResultRelInfo *target = write->target;
	const TriggerDesc *triggers = target->ri_TrigDesc;
	const ModifyTable *plan = (const ModifyTable *) write->node->ps.plan;
	MemoryContext old_cxt;

	if (write->leaving != NULL)
		return true;
	if (!shuttle_foreign_modify_is_buffered(write) || target->ri_WithCheckOptions != NIL ||
		shuttle_expression_has_old_or_new(plan->returningLists) ||
		(triggers != NULL &&
		 (triggers->trig_delete_before_row ||
		  (triggers->trig_delete_after_row && !shuttle_own_triggers_note_rows(triggers, TRIGGER_TYPE_DELETE)))))
		return false;
	old_cxt = MemoryContextSwitchTo(write->estate->es_query_cxt);
	write->leaving = shuttle_foreign_modify_create_write(write->node, write->target, CMD_DELETE);
	write->leaving->update = write;
	if (triggers != NULL)
		write->leaving->target = without_foreign_keys(target);
	shuttle_write_guard_moved(write->leaving);
	write->leaving->rows = write->rows;
	MemoryContextSwitchTo(old_cxt);
	return shuttle_foreign_modify_is_buffered(write->leaving);
}

/* Finds the partition of a row, and converts the row to its columns. */
static ResultRelInfo *
find_partition(ShuttleWrite *write, TupleTableSlot **slot)
{
	ModifyTableState *node = write->node;
	EState	   *estate = write->estate;
	TupleConversionMap *map = ExecGetChildToRootMap(write->target);
	ResultRelInfo *to;

	if (node->mt_partition_tuple_routing == NULL)
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(estate->es_query_cxt);
		Relation	root = node->rootResultRelInfo->ri_RelationDesc;

		node->mt_partition_tuple_routing = ExecSetupPartitionTupleRouting(estate, root);
		node->mt_root_tuple_slot = table_slot_create(root, NULL);
		MemoryContextSwitchTo(old_cxt);
	}
	if (map != NULL)
		*slot = execute_attr_map_slot(map->attrMap, *slot, node->mt_root_tuple_slot);
	to = ExecFindPartition(node, node->rootResultRelInfo,
						   node->mt_partition_tuple_routing, *slot, estate);
	map = ExecGetRootToChildMap(to, estate);
	if (map != NULL)
		*slot = execute_attr_map_slot(map->attrMap, *slot, to->ri_PartitionTupleSlot);
	return to;
}

/* A BEFORE trigger may skip the row. */
static void
insert_here(ShuttleModify *modify, EState *estate, ResultRelInfo *to,
			TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	if (to->ri_RelationDesc->rd_rel->relhasindex && to->ri_IndexRelationDescs == NULL)
		ExecOpenIndices(to, false);
	ItemPointerSetInvalid(&slot->tts_tid);
	ExecSimpleRelationInsert(to, estate, slot);
	if (ItemPointerIsValid(&slot->tts_tid))
		shuttle_modify_count(modify, to, slot, plan_slot);
}

/* Our foreign tables buffer the row; others have written it afterwards. */
static void
insert_there(ShuttleModify *modify, EState *estate, ResultRelInfo *to,
			 TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	TupleConstr *constraints = RelationGetDescr(to->ri_RelationDesc)->constr;

	if (to->ri_TrigDesc != NULL && to->ri_TrigDesc->trig_insert_before_row &&
		!ExecBRInsertTriggers(estate, to, slot))
		return;
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(to, estate, slot, CMD_INSERT);
	slot = to->ri_FdwRoutine->ExecForeignInsert(estate, to, slot, plan_slot);
	if (slot == NULL)
		return;
	ExecARInsertTriggers(estate, to, slot, NIL, NULL);
	shuttle_modify_count(modify, to, slot, plan_slot);
}

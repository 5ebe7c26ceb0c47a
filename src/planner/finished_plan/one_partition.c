/*-------------------------------------------------------------------------
 * one_partition.c
 *	  Makes an Append of a Merge Append that a key prunes to one partition.
 *
 * For the first rows of a key, in some order, core merges the partitions, and prunes
 * when it knows the key. If the key leaves one partition at most, there is nothing to
 * merge. An Append can be routed: each key is sent to its own tablet, not to all.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "parser/parsetree.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_executor.h"
#include "planner/finished_plan/finished_plan.h"

/* True if a step leaves one partition at most: it compares all columns of the key. */
static bool
finds_one(const PartitionPruneStep *step, const List *steps, PartitionKey key)
{
	ListCell   *lc;

	if (IsA(step, PartitionPruneStepOp))
	{
		const PartitionPruneStepOp *op = (const PartitionPruneStepOp *) step;

		return op->opstrategy == (key->strategy == PARTITION_STRATEGY_HASH ?
								  HTEqualStrategyNumber : BTEqualStrategyNumber) &&
			list_length(op->exprs) == key->partnatts;
	}
	if (((const PartitionPruneStepCombine *) step)->combineOp != PARTPRUNE_COMBINE_INTERSECT)
		return false;
	foreach(lc, ((const PartitionPruneStepCombine *) step)->source_stepids)
	{
		if (finds_one(list_nth(steps, lfirst_int(lc)), steps, key))
			return true;
	}
	return false;
}

/* True if at most one partition of a table is left when its rows are asked for. The
 * last step has the result of all. */
static bool
leaves_one(const PartitionedRelPruneInfo *table, const PlannedStmt *statement)
{
	Relation	parent;
	bool		one;

	if (table->exec_pruning_steps == NIL)
		return false;
	parent = table_open(rt_fetch(table->rtindex, statement->rtable)->relid, NoLock);
	one = finds_one(llast(table->exec_pruning_steps), table->exec_pruning_steps,
					RelationGetPartitionKey(parent));
	table_close(parent, NoLock);
	return one;
}

Plan *
shuttle_one_partition_append(Plan *plan, const PlannedStmt *statement)
{
	const MergeAppend *merge = (const MergeAppend *) plan;
	const PartitionPruneInfo *info;
	Append	   *append;
	ListCell   *lc;

	if (!IsA(plan, MergeAppend))
		return plan;
	info = shuttle_merge_append_pruning(merge, statement);
	if (info == NULL || list_length(info->prune_infos) != 1 ||
		!bms_is_empty(info->other_subplans))
		return plan;
	foreach(lc, linitial_node(List, info->prune_infos))
	{
		if (!leaves_one(lfirst_node(PartitionedRelPruneInfo, lc), statement))
			return plan;
	}
	append = makeNode(Append);
	append->plan = merge->plan;
	append->plan.type = T_Append;
	append->apprelids = merge->apprelids;
	append->appendplans = merge->mergeplans;
	append->first_partial_plan = list_length(merge->mergeplans);
	shuttle_append_take_pruning(append, merge);
	return &append->plan;
}

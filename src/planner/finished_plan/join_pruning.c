/*-------------------------------------------------------------------------
 * join_pruning.c
 *	  Run-time pruning of joins and groups of partitions.
 *
 * Core's planner gives an Append run-time pruning if its children are scans of
 * partitions, and none if they are joins of partitions, or their groups. If all
 * children have a key, and the key is an expression that is known when the plan
 * runs, we add the pruning that core would add for one of the joined tables. Core
 * executes it, and Routed Append and early start rely on it.
 *
 * The key is noted in the scan of a join that a node runs (shown/scan_keys.c).
 * For a join that runs here it is among the conditions of a scan that is surely
 * read first.
 *
 * Rule: a child that is pruned would return no rows; or, of a partial aggregate,
 * a state that adds nothing.
 * Memory: the plan's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_scan_key.h"
#include "planner/facts/key_equality.h"
#include "planner/finished_plan/finished_plan.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

/* What is known of a child. */
typedef struct ChildKey
{
	Oid			partition;
	Node	   *value;			/* NULL: no key is known, or it is done */
} ChildKey;

/* ---- keys of children */

static bool
is_column(const Node *node, Index rtindex, AttrNumber column)
{
	node = shuttle_meaning_without_relabels(node);
	return IsA(node, Var) && ((const Var *) node)->varno == rtindex &&
		((const Var *) node)->varattno == column;
}

/* The parameter that a condition says the column is equal to; or NULL. */
static Node *
find_parameter(const OpExpr *condition, PartitionKey key, Index rtindex, AttrNumber column)
{
	if (!shuttle_key_equality_is_of_family(condition, key->strategy, key->partopfamily[0], key->partcollation[0]))
		return NULL;
	if (IsA(lsecond(condition->args), Param) &&
		is_column(linitial(condition->args), rtindex, column))
		return lsecond(condition->args);
	if (IsA(linitial(condition->args), Param) &&
		is_column(lsecond(condition->args), rtindex, column))
		return linitial(condition->args);
	return NULL;
}

/* The table in the statement, which has locked it then; 0: it is not there. */
static Index
find_entry(const PlannedStmt *statement, Oid relid)
{
	ListCell   *lc;

	foreach(lc, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && rte->relid == relid)
			return foreach_current_index(lc) + 1;
	}
	return 0;
}

/* The key of a partition's own scan, by the conditions that its node checks. */
static ChildKey
key_of_partition(const ForeignScan *scan, const PlannedStmt *statement)
{
	Oid			partition = rt_fetch(scan->scan.scanrelid, statement->rtable)->relid;
	ChildKey	child = {.partition = partition};
	Oid			parentid;
	Relation	parent;
	PartitionKey key;
	ListCell   *lc;

	if (scan->operation != CMD_SELECT || scan->fdw_scan_tlist != NIL ||
		scan->fdw_exprs == NIL || !get_rel_relispartition(partition))
		return child;
	parentid = get_partition_parent(partition, true);
	if (find_entry(statement, parentid) == 0)
		return child;
	parent = table_open(parentid, NoLock);
	key = RelationGetPartitionKey(parent);
	if (key->partnatts == 1 && key->partattrs[0] != 0)
	{
		AttrNumber	column = get_attnum(partition, get_attname(RelationGetRelid(parent),
															   key->partattrs[0], false));

		foreach(lc, scan->fdw_recheck_quals)
		{
			child.value = find_parameter(lfirst(lc), key, scan->scan.scanrelid, column);
			if (child.value != NULL)
				break;
		}
	}
	table_close(parent, NoLock);
	return child;
}

/* True if each row of a join has a row of its outer side. */
static bool
has_outer_rows(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI || type == JOIN_ANTI;
}

/* The key of the rows that a child of an Append returns. */
static ChildKey
find_key(const Plan *plan, const PlannedStmt *statement)
{
	const ForeignScan *scan = (const ForeignScan *) plan;
	ChildKey	none = {InvalidOid, NULL};
	ChildKey	key;

	/* what an initplan of the child returns is not known outside of it */
	if (plan == NULL || plan->initPlan != NIL)
		return none;
	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			if (!shuttle_server_is_ours(scan->fs_server))
				return none;
			if (scan->scan.scanrelid > 0)
				return key_of_partition(scan, statement);
			key.value = shuttle_postgres_fdw_scan_key(scan, &key.partition);
			return key;
		case T_Agg:
			if (((const Agg *) plan)->groupingSets != NIL ||
				(((const Agg *) plan)->numCols == 0 &&
				 !DO_AGGSPLIT_SKIPFINAL(((const Agg *) plan)->aggsplit)))
				return none;
			break;
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			if (!has_outer_rows(((const Join *) plan)->jointype))
				return none;
			break;
		case T_Sort:
		case T_IncrementalSort:
		case T_Material:
		case T_Result:
			break;
		default:
			if (!shuttle_node_is_look_ahead_plan(plan))
				return none;
			break;
	}
	return find_key(outerPlan(plan), statement);
}

/* ---- pruning */

/* The function that compares a key with bounds, or hashes it; InvalidOid: none. */
static Oid
find_function(PartitionKey key, Oid type)
{
	if (key->strategy == PARTITION_STRATEGY_HASH)
		return shuttle_table_hash_function(key, type);
	if (type == key->parttypid[0])
		return key->partsupfunc[0].fn_oid;
	return get_opfamily_proc(key->partopfamily[0], key->partopcintype[0], type, BTORDER_PROC);
}

static List *
make_steps(PartitionKey key, Node *value, Oid function)
{
	PartitionPruneStepOp *step = makeNode(PartitionPruneStepOp);

	step->opstrategy = key->strategy == PARTITION_STRATEGY_HASH ?
		HTEqualStrategyNumber : BTEqualStrategyNumber;
	step->exprs = list_make1(value);
	step->cmpfns = list_make1_oid(function);
	return list_make1(step);
}

/* Takes the children, from the first on, that are of other partitions of its table
 * and have its key; their numbers are noted in the map. */
static void
take_children(PartitionedRelPruneInfo *info, PartitionDesc parts, ChildKey *children,
			  int nchildren, int first)
{
	Node	   *value = children[first].value;

	for (int i = first; i < nchildren; i++)
	{
		if (children[i].value == NULL || !equal(children[i].value, value))
			continue;
		for (int part = 0; part < parts->nparts; part++)
		{
			if (parts->oids[part] != children[i].partition || info->subplan_map[part] >= 0)
				continue;
			info->subplan_map[part] = i;
			info->relid_map[part] = parts->oids[part];
			info->present_parts = bms_add_member(info->present_parts, part);
			children[i].value = NULL;
			break;
		}
	}
}

/*
 * How children of one table are pruned by one key; NULL if there is no way. Children
 * that are pruned are taken.
 */
static PartitionedRelPruneInfo *
prune_table(const Plan *plan, const PlannedStmt *statement, ChildKey *children, int nchildren,
			int first)
{
	Node	   *value = children[first].value;
	Oid			parentid = get_partition_parent(children[first].partition, true);
	Index		rtindex = find_entry(statement, parentid);
	PartitionedRelPruneInfo *info = NULL;
	Bitmapset  *params = shuttle_expression_params(value);
	Relation	parent;
	Oid			function;

	/* a value that is known only below the Append is no help */
	if (rtindex == 0 || !bms_is_subset(params, plan->extParam))
		return NULL;
	parent = table_open(parentid, NoLock);
	function = find_function(RelationGetPartitionKey(parent), exprType(value));
	if (OidIsValid(function))
	{
		PartitionDesc parts = RelationGetPartitionDesc(parent, true);
		List	   *steps = make_steps(RelationGetPartitionKey(parent), value, function);

		info = shuttle_make_prune_info(rtindex, parts->nparts);
		take_children(info, parts, children, nchildren, first);
		info->execparamids = params;
		if (params == NULL)
			info->initial_pruning_steps = steps;
		else
			info->exec_pruning_steps = steps;
	}
	table_close(parent, NoLock);
	return info;
}

/* Has an Append or MergeAppend prune; false if no child's key is known. */
static bool
prune_append(Plan *plan, List *plans, PlannedStmt *statement)
{
	int			nchildren = list_length(plans);
	ChildKey   *children = palloc_array(ChildKey, nchildren);
	Bitmapset  *others = bms_add_range(NULL, 0, nchildren - 1);
	List	   *tables = NIL;

	for (int i = 0; i < nchildren; i++)
		children[i] = find_key(list_nth(plans, i), statement);
	for (int i = 0; i < nchildren; i++)
	{
		PartitionedRelPruneInfo *info = NULL;

		if (children[i].value != NULL)
			info = prune_table(plan, statement, children, nchildren, i);
		if (info == NULL)
			continue;
		tables = lappend(tables, list_make1(info));
		for (int part = 0; part < info->nparts; part++)
		{
			if (info->subplan_map[part] >= 0)
				others = bms_del_member(others, info->subplan_map[part]);
		}
	}
	if (tables != NIL)
		shuttle_append_set_pruning(statement, plan, tables, others);
	return tables != NIL;
}

/* True if EvalPlanQual may run a part of the plan. */
static bool
may_recheck(const PlannedStmt *statement)
{
	return statement->commandType != CMD_SELECT || statement->rowMarks != NIL ||
		statement->hasModifyingCTE;
}

static Plan *
prune_below(Plan *plan, ShuttleFinishedPlan *context)
{
	bool		prunes = false;
	Plan	  **child;

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;
	check_stack_depth();
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		*child = prune_below(*child, context);
	if (IsA(plan, Append) && !shuttle_append_prunes((Append *) plan))
		prunes = prune_append(plan, ((Append *) plan)->appendplans, context->statement);
	else if (IsA(plan, MergeAppend) &&
			 shuttle_merge_append_pruning((MergeAppend *) plan, context->statement) == NULL)
		prunes = prune_append(plan, ((MergeAppend *) plan)->mergeplans, context->statement);

	/* our node has the recheck prune by its own row (recheck_pruning.c) */
	return prunes && may_recheck(context->statement) ?
		shuttle_plan_place_routed_append(plan, context) : plan;
}

void
shuttle_join_pruning_add(PlannedStmt *statement)
{
	ShuttleFinishedPlan context = {.statement = statement};
	ListCell   *lc;

	if (!enable_partition_pruning)
		return;
	if (may_recheck(statement))
		context.next_id = shuttle_plan_next_id(statement);
	statement->planTree = prune_below(statement->planTree, &context);
	foreach(lc, statement->subplans)
		lfirst(lc) = prune_below(lfirst(lc), &context);
}

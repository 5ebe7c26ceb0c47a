/*-------------------------------------------------------------------------
 * foreign_writes.c
 *	  Which UPDATEs and DELETEs of foreign tables may run wholly on a node,
 *	  and which are refused.
 *
 * A foreign table may be a partition here and an ordinary table on its node,
 * which does not check partition bounds. So an UPDATE of the partition key is
 * shipped whole only if no row can leave its partition; else each new row is
 * checked when it is written (foreign_modify.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_system_columns.h"
#include "executor/shuttle_view_checks.h"
#include "planner/facts/written_tables.h"
#include "planner/scan/scan.h"
#include "planner/shown/shown.h"
#include "planner/shuttle_planner.h"
#include "planner/write/write.h"

/* The columns that an UPDATE sets, and their new values. */
typedef struct NewValues
{
	List	   *attributes;		/* of int */
	List	   *entries;		/* TargetEntries, in the same order */
} NewValues;

/* Core would refuse WHERE CURRENT OF only at the first row, and silently do
 * nothing if there is none. */
static void
add_update_targets(PlannerInfo *root, Index rtindex, RangeTblEntry *rte,
				   Relation rel)
{
	if (shuttle_expression_has(root->parse->jointree->quals, SHUTTLE_HAS_CURRENT_OF))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("WHERE CURRENT OF is not supported for this table type"),
				 errdetail("\"%s\" is a foreign table.",
						   RelationGetRelationName(rel)),
				 errhint("Name the row by its key.")));
	shuttle_postgres_fdw_get_routine()->AddForeignUpdateTargets(root, rtindex, rte, rel);
}

/* Replaces columns (of varno 1) by their new values. */
static Node *
put_new_values(Node *node, void *context)
{
	const NewValues *new_values = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		ListCell   *attribute;
		ListCell   *entry;

		forboth(attribute, new_values->attributes, entry, new_values->entries)
		{
			if (lfirst_int(attribute) == ((Var *) node)->varattno)
				return copyObject((Node *) lfirst_node(TargetEntry, entry)->expr);
		}
		return copyObject(node);
	}
	return expression_tree_mutator(node, put_new_values, context);
}

static bool
sets_any_of(const NewValues *new_values, Bitmapset *attributes)
{
	ListCell   *cell;

	foreach(cell, new_values->attributes)
	{
		if (bms_is_member(lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber,
						  attributes))
			return true;
	}
	return false;
}

/* True if no row can leave its partition: the UPDATE sets no column of the
 * partition constraint, or sets constants that satisfy it. */
static bool
rows_keep_partition(PlannerInfo *root, Index rtindex)
{
	RangeTblEntry *rte = planner_rt_fetch(rtindex, root);
	Relation	rel = table_open(rte->relid, NoLock);
	List	   *condition = RelationGetPartitionQual(rel);
	NewValues	new_values;
	Bitmapset  *attributes = NULL;
	Node	   *decided;

	table_close(rel, NoLock);
	if (condition == NIL)
		return true;
	get_translated_update_targetlist(root, rtindex, &new_values.entries,
									 &new_values.attributes);
	pull_varattnos((Node *) condition, 1, &attributes);
	if (!sets_any_of(&new_values, attributes))
		return true;

	decided = put_new_values((Node *) make_ands_explicit(condition), &new_values);
	decided = eval_const_expressions(root, decided);
	return IsA(decided, Const) && !((Const *) decided)->constisnull &&
		DatumGetBool(((Const *) decided)->constvalue);
}

bool
shuttle_foreign_writes_keep_partition(PlannerInfo *root, const ModifyTable *plan, Index rtindex)
{
	return plan->operation != CMD_UPDATE || rows_keep_partition(root, rtindex);
}

/*
 * The values that a Result above the scans computes. Of children of a table that is not partitioned,
 * scans give columns, and the new values are computed there.
 */
static List *
values_above(const ModifyTable *plan)
{
	const Plan *result = outerPlan(plan);
	List	   *values = NIL;
	ListCell   *cell;

	if (!IsA(result, Result) || outerPlan(result) == NULL)
		return NIL;
	foreach(cell, result->targetlist)
	{
		Expr	   *value = lfirst_node(TargetEntry, cell)->expr;

		if (tlist_member(value, outerPlan(result)->targetlist) == NULL)
			values = lappend(values, value);
	}
	return values;
}

/*
 * The node computes the new values of a table's columns. Core would compute them once more, from the rows that
 * the node returns, and could fail there. So they are NULL here, and so are the table's columns, from which a Result
 * above may compute them. ModifyTable reads system columns, and RETURNING columns of other tables.
 */
static void
leave_out_new_values(const ForeignScan *scan)
{
	ListCell   *cell;

	foreach(cell, scan->scan.plan.targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const Node *value = (const Node *) entry->expr;
		bool		is_read = IsA(value, PlaceHolderVar) ||
			(IsA(value, Var) && (((const Var *) value)->varno != scan->resultRelation || ((const Var *) value)->varattno <= 0));

		if (!is_read)
			entry->expr = (Expr *) makeNullConst(exprType(value), exprTypmod(value), exprCollation(value));
	}
}

/* Does in the scans that write a table what postgres_fdw leaves to be done. */
static void
finish_direct_modify(PlannerInfo *root, Plan *plan, Index rtindex)
{
	ForeignScan *scan = (ForeignScan *) plan;
	ListCell   *lc;

	if (plan == NULL)
		return;
	if (IsA(plan, ForeignScan) && scan->operation != CMD_SELECT && scan->resultRelation == rtindex)
	{
		scan->fdw_exprs = (List *)
			shuttle_stable_put_back(root, (Node *) scan->fdw_exprs);
		if (scan->operation == CMD_UPDATE)
			leave_out_new_values(scan);
	}
	if (IsA(plan, Append))
	{
		foreach(lc, ((Append *) plan)->appendplans)
			finish_direct_modify(root, lfirst(lc), rtindex);
	}
	finish_direct_modify(root, plan->lefttree, rtindex);
}

/* Stable values that are set, as in SET changed = now(), are shown to
 * postgres_fdw as stand-ins, too. */
static bool
plan_direct_modify(PlannerInfo *root, ModifyTable *plan, Index rtindex,
				   int subplan_index)
{
	Oid			relid = planner_rt_fetch(rtindex, root)->relid;
	List	   *targetlist = root->processed_tlist;
	bool		direct;

	shuttle_reference_write_refuse(relid);
	if (plan->returningLists != NIL &&
		shuttle_expression_has(list_nth(plan->returningLists, subplan_index), SHUTTLE_HAS_XMIN_TO_CMAX))
		return false;

	/* computed from NULLs, by a function that is not strict, they could fail */
	if (plan->operation == CMD_UPDATE && plan->returningLists != NIL &&
		contain_nonstrict_functions((Node *) values_above(plan)))
		return false;

	/* a node cannot tell that several requests are one statement */
	if (!shuttle_foreign_writes_keep_partition(root, plan, rtindex) || shuttle_written_is_twice(root, relid))
		return false;

	/* it would be sent before rows that it may refer to */
	if (plan->operation == CMD_UPDATE && shuttle_written_brings_copies(root))
		return false;
	root->processed_tlist = (List *)
		shuttle_stable_stand_in(root, shuttle_shown_expression((Node *) targetlist, true));
	direct = shuttle_postgres_fdw_get_routine()->PlanDirectModify(root, plan, rtindex, subplan_index);
	if (direct)
		shuttle_scan_proof_check_write(root, plan->plan.lefttree, rtindex);
	else
		direct = shuttle_keyed_write_plan(root, plan, subplan_index);
	root->processed_tlist = targetlist;
	if (direct)
		finish_direct_modify(root, plan->plan.lefttree, rtindex);
	return direct;
}

/* postgres_fdw's plan, as if check options of views named all columns, and without DO UPDATE, which is
 * executed here (conflict_here.c). */
static List *
plan_by_postgres_fdw(PlannerInfo *root, ModifyTable *plan, Index rtindex, int subplan_index)
{
	List	   *checks = plan->withCheckOptionLists;
	OnConflictAction action = plan->onConflictAction;
	List	   *fdw_private;

	if (checks != NIL)
	{
		plan->withCheckOptionLists = list_copy(checks);
		lfirst(list_nth_cell(plan->withCheckOptionLists, subplan_index)) =
			shuttle_view_checks_columns(list_nth(checks, subplan_index), rtindex);
	}
	if (action == ONCONFLICT_UPDATE)
		plan->onConflictAction = ONCONFLICT_NONE;
	fdw_private = shuttle_postgres_fdw_get_routine()->PlanForeignModify(root, plan, rtindex, subplan_index);
	plan->onConflictAction = action;
	plan->withCheckOptionLists = checks;
	return fdw_private;
}

/* PlanForeignModify, for writes that are not shipped whole. */
static List *
plan_modify(PlannerInfo *root, ModifyTable *plan, Index rtindex, int subplan_index)
{
	Oid			relid = planner_rt_fetch(rtindex, root)->relid;
	List	   *fdw_private;
	Bitmapset  *named = NULL;
	Relation	rel;
	ListCell   *lc;

	shuttle_reference_write_refuse(relid);
	fdw_private = plan_by_postgres_fdw(root, plan, rtindex, subplan_index);
	if (plan->returningLists != NIL)
		fdw_private = shuttle_system_columns_add_to_modify(fdw_private, plan->operation,
														   list_nth(plan->returningLists,
																	subplan_index),
														   rtindex);
	if (plan->operation != CMD_INSERT)
		return fdw_private;

	/*
	 * processed_tlist has all columns, parse->targetList those that are named
	 */
	foreach(lc, root->parse->targetList)
		named = bms_add_member(named, lfirst_node(TargetEntry, lc)->resno);
	rel = table_open(relid, NoLock);
	fdw_private = shuttle_remote_default_omit(fdw_private, rel, named);
	table_close(rel, NoLock);
	return fdw_private;
}

void
shuttle_foreign_writes_fill(FdwRoutine *routine)
{
	routine->AddForeignUpdateTargets = add_update_targets;
	routine->PlanForeignModify = plan_modify;
	routine->PlanDirectModify = plan_direct_modify;
}

/*-------------------------------------------------------------------------
 * keyed_writes.c
 *	  UPDATE and DELETE of foreign tables joined with local rows, as one
 *	  statement per table: the rows are sent as arrays, and the node joins
 *	  them.
 *
 * postgres_fdw modifies a table directly only if the node has all tables of
 * the statement. We let it deparse the statement with columns of other tables
 * as parameters. Then a custom scan that reads the other side
 * (executor/write/keyed/keyed_write.c) replaces the join in the finished plan,
 * whatever its method.
 *
 * Rules: all target tables of the statement, or none. The node must check
 * every qual between the table and the others, so only inner joins are taken,
 * and semi joins that keep the table's rows.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_paths.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/partition_sample.h"
#include "planner/join/inner_side.h"
#include "planner/shown/shown.h"
#include "planner/write/write.h"

/* Cost of sending a key, in fetched rows (docs/mechanisms.md). */
#define ROWS_OF_A_KEY 4

typedef struct KeyedWrite
{
	PlannerInfo *root;
	ModifyTable *plan;
	RelOptInfo *named;			/* the table that the statement names */
	Relids		others;			/* base relations joined with it */
	Join	   *join;
	Plan	   *source;			/* the join's other side */
	double		nread;			/* rows of the table that the join would read */
	ShuttleKeyedPlan keyed;
} KeyedWrite;

/* ---- the statement */

/*
 * True if all joins are inner joins or semi joins with the table on the left.
 */
static bool
joins_plainly(const KeyedWrite *write)
{
	ListCell   *cell;

	foreach(cell, write->root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, cell);

		if (join->jointype != JOIN_SEMI ||
			bms_is_member(write->named->relid, join->syn_righthand))
			return false;
	}
	return true;
}

/* Finds the tables of the statement; false if we do not handle it. */
static bool
find_tables(KeyedWrite *write)
{
	PlannerInfo *root = write->root;
	ModifyTable *plan = write->plan;
	Index		named = plan->rootRelation != 0 ? plan->rootRelation :
		linitial_int(plan->resultRelations);
	RangeTblEntry *rte = planner_rt_fetch(named, root);

	if (rte->relkind != RELKIND_FOREIGN_TABLE &&
		rte->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	write->named = find_base_rel(root, named);
	write->others = bms_copy(root->all_baserels);
	write->others = bms_del_member(write->others, named);
	return !bms_is_empty(write->others) && joins_plainly(write) &&
		root->placeholder_list == NIL && !root->hasPseudoConstantQuals &&
		root->qual_security_level == 0 && plan->withCheckOptionLists == NIL &&
		bms_is_empty(write->named->lateral_relids) &&
		!shuttle_partition_is_sampled(root, write->named);
}

/* ---- the finished plan */

/* Skips nodes that return the rows of their child unchanged. */
static Plan *
skip_carriers(Plan *plan)
{
	while (plan != NULL &&
		   (IsA(plan, Hash) || IsA(plan, Sort) || IsA(plan, Material) ||
			shuttle_node_is_look_ahead_plan(plan)))
		plan = outerPlan(plan);
	return plan;
}

/* True if a plan only reads target tables. */
static bool
reads_target(KeyedWrite *write, Plan *plan)
{
	ListCell   *cell;
	List	   *children;

	plan = skip_carriers(plan);
	if (plan == NULL)
		return false;
	if (shuttle_node_is_routed_append_plan(plan))
		return reads_target(write, outerPlan(plan));
	if (IsA(plan, ForeignScan))
	{
		Index		relid = ((ForeignScan *) plan)->scan.scanrelid;

		write->nread += plan->plan_rows;
		return relid > 0 && list_member_int(write->plan->resultRelations, relid);
	}
	if (!IsA(plan, Append) && !IsA(plan, MergeAppend))
		return false;
	children = IsA(plan, Append) ? ((Append *) plan)->appendplans :
		((MergeAppend *) plan)->mergeplans;
	foreach(cell, children)
	{
		if (!reads_target(write, lfirst(cell)))
			return false;
	}
	return children != NIL;
}

static bool
takes_parameters(const Join *join)
{
	return IsA(join, NestLoop) && ((const NestLoop *) join)->nestParams != NIL;
}

/* Finds the join with the target table, and its other side. */
static bool
find_join(KeyedWrite *write)
{
	Plan	   *plan = outerPlan(write->plan);
	Join	   *join;
	bool		target_is_outer;

	while (plan != NULL && IsA(plan, Result) && plan->qual == NIL &&
		   ((Result *) plan)->resconstantqual == NULL)
		plan = outerPlan(plan);
	if (plan == NULL ||
		(!IsA(plan, NestLoop) && !IsA(plan, HashJoin) && !IsA(plan, MergeJoin)))
		return false;
	join = (Join *) plan;
	target_is_outer = reads_target(write, outerPlan(plan));
	if (target_is_outer ? takes_parameters(join) :
		!reads_target(write, innerPlan(plan)))
		return false;
	if (join->jointype != JOIN_INNER &&
		!(join->jointype == JOIN_SEMI && target_is_outer) &&
		!(shuttle_is_right_semi(join->jointype) && !target_is_outer))
		return false;
	write->join = join;
	write->source = skip_carriers(target_is_outer ? innerPlan(plan) : outerPlan(plan));
	return write->source != NULL;
}

/*
 * True if sending keys is likely to cost less than reading the table for the
 * join, plus its round trip. A parameterized join has made that choice already.
 */
static bool
is_worth_it(const KeyedWrite *write)
{
	RelOptInfo *first = find_base_rel(write->root,
									  linitial_int(write->plan->resultRelations));
	ShuttleServerCost cost;

	if (takes_parameters(write->join))
		return true;
	if (!OidIsValid(first->serverid))
		return false;
	cost = shuttle_batch_cost_of_server(write->root, first->serverid);
	return write->source->plan_rows * ROWS_OF_A_KEY * cost.row <=
		(write->nread + write->join->plan.plan_rows * ROWS_OF_A_KEY) * cost.row +
		cost.round_trip;
}

/* ---- what is sent */

/* True for a column of the other tables. */
static bool
is_others_column(const KeyedWrite *write, Node *node)
{
	return IsA(node, Var) && !IS_SPECIAL_VARNO(((Var *) node)->varno) &&
		bms_is_member(((Var *) node)->varno, write->others);
}

/* True if a value can be sent: a column of the other side, or an expression
 * without columns. */
static bool
can_travel(const KeyedWrite *write, Node *node)
{
	if (IsA(node, Var))
		return is_others_column(write, node) && ((Var *) node)->varattno > 0 &&
			tlist_member((Expr *) node, write->source->targetlist) != NULL &&
			get_typtype(((Var *) node)->vartype) != TYPTYPE_PSEUDO;
	return !contain_var_clause(node) && !contain_subplans(node);
}

/* The index of a value in keyed.values; adds it. */
static int
add_value(KeyedWrite *write, Node *node)
{
	ListCell   *cell;

	foreach(cell, write->keyed.values)
	{
		if (equal(lfirst(cell), node))
			return foreach_current_index(cell);
	}
	write->keyed.values = lappend(write->keyed.values, copyObject(node));
	return list_length(write->keyed.values) - 1;
}

/* A scan of one target table with all join quals as remote quals; NULL if
 * impossible. */
static ForeignScan *
plan_scan(KeyedWrite *write, RelOptInfo *target)
{
	PlannerInfo *root = write->root;
	ParamPathInfo *info = shuttle_inner_param_info(root, target, write->others);
	ParamPathInfo *named = shuttle_inner_param_info(root, write->named, write->others);
	List	   *clauses;
	ForeignPath *path;
	ForeignScan *scan;
	ListCell   *cell;

	/*
	 * Without a join qual there is nothing to send; and a partition may lack
	 * a qual of an equivalence class.
	 */
	if (info == NULL || info->ppi_clauses == NIL ||
		list_length(info->ppi_clauses) < list_length(named->ppi_clauses))
		return NULL;
	foreach(cell, target->joininfo)
	{
		if (!list_member_ptr(info->ppi_clauses, lfirst(cell)))
			return NULL;
	}
	clauses = list_concat_copy(target->baserestrictinfo, info->ppi_clauses);
	path = shuttle_create_foreignscan_path(root, target, 1, 0, 0, write->others);
	scan = shuttle_postgres_fdw_get_routine()->GetForeignPlan(root, target,
															  planner_rt_fetch(target->relid, root)->relid,
															  path, NIL, clauses, NULL);
	scan->fs_server = target->serverid;
	shuttle_scan_set_relids(scan, target->relids);
	return scan;
}

/* Makes postgres_fdw deparse the statement for one target table. */
static bool
add_target(KeyedWrite *write, Index rtindex, int index)
{
	PlannerInfo *root = write->root;
	RangeTblEntry *rte = planner_rt_fetch(rtindex, root);
	ModifyTable *single;
	RelOptInfo *target;
	ForeignScan *scan;
	List	   *places = NIL;
	bool		any_column = false;
	ListCell   *cell;

	if (rte->relkind != RELKIND_FOREIGN_TABLE)
		return false;
	target = find_base_rel(root, rtindex);
	if (!shuttle_server_routine_is_ours(target->fdwroutine) ||
		has_row_triggers(root, rtindex, write->plan->operation) ||
		has_stored_generated_columns(root, rtindex) ||
		!shuttle_foreign_writes_keep_partition(root, write->plan, rtindex))
		return false;
	scan = plan_scan(write, target);
	if (scan == NULL)
		return false;

	single = makeNode(ModifyTable);
	single->operation = write->plan->operation;
	single->canSetTag = write->plan->canSetTag;
	if (write->plan->returningLists != NIL)
		single->returningLists = list_make1(list_nth(write->plan->returningLists, index));
	outerPlan(single) = &scan->scan.plan;
	if (!shuttle_postgres_fdw_get_routine()->PlanDirectModify(root, single, rtindex, 0))
		return false;
	shuttle_scan_proof_check_write(root, &scan->scan.plan, rtindex);
	foreach(cell, (List *) shuttle_stable_put_back(root, (Node *) scan->fdw_exprs))
	{
		if (!can_travel(write, lfirst(cell)))
			return false;
		any_column |= IsA(lfirst(cell), Var);
		places = lappend_int(places, add_value(write, lfirst(cell)));
	}
	write->keyed.targets = lappend(write->keyed.targets,
								   list_make3(list_make2_int(rtindex, (int) Min(Max(target->tuples, 0), INT_MAX)), places,
											  scan->fdw_private));
	return any_column;
}

/* ---- where keys go */

/*
 * The index of the value that a partition key column equals, by the
 * partitioning's operator: a column of the other side or an expression without
 * columns; negative: none.
 */
static int
find_key_value(KeyedWrite *write, RelOptInfo *rel, int column)
{
	PartitionScheme scheme = rel->part_scheme;
	ParamPathInfo *info = shuttle_inner_param_info(write->root, rel, write->others);
	int			strategy = scheme->strategy == PARTITION_STRATEGY_HASH ?
		HTEqualStrategyNumber : BTEqualStrategyNumber;
	List	   *clauses = list_concat_copy(info->ppi_clauses, rel->baserestrictinfo);
	ListCell   *cell;

	foreach(cell, clauses)
	{
		OpExpr	   *clause = (OpExpr *) lfirst_node(RestrictInfo, cell)->clause;
		Node	   *value;

		if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
			get_op_opfamily_strategy(clause->opno, scheme->partopfamily[column]) != strategy ||
			clause->inputcollid != scheme->partcollation[column] ||
			!op_strict(clause->opno))
			continue;
		if (list_member(rel->partexprs[column], linitial(clause->args)))
			value = lsecond(clause->args);
		else if (list_member(rel->partexprs[column], lsecond(clause->args)))
			value = linitial(clause->args);
		else
			continue;
		value = shuttle_stable_put_back(write->root, value);
		if (exprType(value) == scheme->partopcintype[column] &&
			!contain_volatile_functions(value) && can_travel(write, value))
			return add_value(write, value);
	}
	return -1;
}

/* Adds the values that choose a partition, at all levels; false if some are
 * missing. */
static bool
add_routes(KeyedWrite *write, RelOptInfo *rel)
{
	List	   *places = NIL;
	int			i = -1;

	if (rel->part_scheme == NULL || rel->partexprs == NULL || rel->part_rels == NULL)
		return false;
	for (int column = 0; column < rel->part_scheme->partnatts; column++)
	{
		int			place = find_key_value(write, rel, column);

		if (place < 0)
			return false;
		places = lappend_int(places, place);
	}
	write->keyed.routes = lappend(write->keyed.routes,
								  list_make2(list_make1_int(rel->relid), places));
	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		RelOptInfo *part = rel->part_rels[i];

		if (part != NULL &&
			planner_rt_fetch(part->relid, write->root)->relkind == RELKIND_PARTITIONED_TABLE &&
			!add_routes(write, part))
			return false;
	}
	return true;
}

/* ---- the node */

/*
 * The columns that ModifyTable reads: tableoid, and columns of the other side,
 * for RETURNING. The node computes all other new values, so they are NULL here.
 */
static List *
make_targetlist(KeyedWrite *write, Var **tableoid)
{
	List	   *targetlist = NIL;
	ListCell   *cell;

	foreach(cell, outerPlan(write->plan)->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, cell));
		Var		   *var = (Var *) entry->expr;

		if (entry->resjunk && entry->resname != NULL &&
			strcmp(entry->resname, "tableoid") == 0)
		{
			*tableoid = makeVar(write->named->relid, TableOidAttributeNumber,
								OIDOID, -1, InvalidOid, 0);
			entry->expr = (Expr *) copyObject(*tableoid);
		}
		else if (is_others_column(write, (Node *) var))
		{
			if (tlist_member((Expr *) var, write->source->targetlist) == NULL)
				return NIL;
			entry->expr = copyObject(entry->expr);
		}
		else
			entry->expr = (Expr *) makeNullConst(exprType((Node *) var),
												 exprTypmod((Node *) var),
												 exprCollation((Node *) var));
		targetlist = lappend(targetlist, entry);
	}
	return targetlist;
}

static void
replace_join(KeyedWrite *write, List *targetlist, Var *tableoid)
{
	Plan	   *plan;
	List	   *scan_targetlist = NIL;
	Relids		relids;
	ListCell   *cell;

	foreach(cell, write->source->targetlist)
		scan_targetlist = lappend(scan_targetlist,
								  makeTargetEntry(copyObject(lfirst_node(TargetEntry, cell)->expr),
												  foreach_current_index(cell) + 1,
												  NULL, false));
	if (tableoid != NULL)
		scan_targetlist = lappend(scan_targetlist,
								  makeTargetEntry((Expr *) tableoid,
												  list_length(scan_targetlist) + 1,
												  NULL, false));
	write->keyed.names_table = tableoid != NULL;
	relids = bms_add_member(bms_copy(write->others), write->named->relid);
	foreach(cell, write->plan->resultRelations)
		relids = bms_add_member(relids, lfirst_int(cell));
	plan = &shuttle_keyed_write_make(write->source, targetlist, scan_targetlist,
									 relids, &write->keyed)->scan.plan;
	plan->startup_cost = write->source->startup_cost;
	plan->total_cost = write->join->plan.total_cost;
	plan->plan_rows = write->join->plan.plan_rows;
	plan->plan_width = write->source->plan_width;
	shuttle_plan_copy_disabled(plan, write->source);
	outerPlan(write->plan) = plan;
}

bool
shuttle_keyed_write_plan(PlannerInfo *root, ModifyTable *plan, int index)
{
	KeyedWrite	write = {.root = root,.plan = plan};
	List	   *targetlist;
	Var		   *tableoid = NULL;
	ListCell   *cell;

	if (index > 0)
		return shuttle_node_is_keyed_write_plan(outerPlan(plan));
	if ((plan->operation != CMD_UPDATE && plan->operation != CMD_DELETE) ||
		!shuttle_settings.enable_write_buffer ||
		!find_tables(&write) || !find_join(&write) || !is_worth_it(&write))
		return false;
	foreach(cell, plan->resultRelations)
	{
		if (!add_target(&write, lfirst_int(cell), foreach_current_index(cell)))
			return false;
	}
	if (write.named->part_rels != NULL && !add_routes(&write, write.named))
		write.keyed.routes = NIL;
	targetlist = make_targetlist(&write, &tableoid);
	if (targetlist == NIL ||
		(list_length(plan->resultRelations) > 1 && tableoid == NULL))
		return false;
	write.keyed.operation = plan->operation;
	write.keyed.set_processed = plan->canSetTag;
	replace_join(&write, targetlist, tableoid);
	return true;
}

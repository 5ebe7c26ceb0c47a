/*-------------------------------------------------------------------------
 * grouping_targets.c
 *	  Targets of a grouping: what children are asked for and what is made of
 *	  it.
 *
 * If groups are combined here, children return grouping columns and sources of
 * aggregate states; if each group is in one child, the query's own targets; if
 * all aggregates ignore duplicates, nodes only remove duplicate rows.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_planner.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/union_branches.h"
#include "planner/group/group.h"
#include "planner/group/unions.h"
#include "planner/rewrite/subqueries.h"

static bool
is_group(const ShuttleGrouping *grouping, Index reference)
{
	return reference != 0 &&
		get_sortgroupref_clause_noerr(reference, grouping->whole_clause) != NULL;
}

/* Collects the aggregates of an expression. Returns true if it has something
 * else that does not depend on grouping columns only. */
static bool
collect_aggregates(Node *node, ShuttleGrouping *grouping)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (list_member(grouping->partial->exprs, node))
		return false;
	if (IsA(node, Aggref))
	{
		ShuttleAggregateState *state =
			shuttle_aggregate_state(grouping->input, (Aggref *) node);

		if (state == NULL)
			return true;
		foreach(lc, grouping->states)
		{
			ShuttleAggregateState *known = lfirst(lc);

			if (equal(known->partial, state->partial))
				return false;
		}
		grouping->states = lappend(grouping->states, state);
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, collect_aggregates, grouping);
}

/* Adds the grouping columns to a target. */
static void
add_groups(const ShuttleGrouping *grouping, PathTarget *target)
{
	ListCell   *lc;

	foreach(lc, grouping->target->exprs)
	{
		Index		reference = get_pathtarget_sortgroupref(grouping->target,
															foreach_current_index(lc));

		if (is_group(grouping, reference))
			add_column_to_pathtarget(target, lfirst(lc), reference);
	}
}

bool
shuttle_grouping_fill_targets(ShuttleGrouping *grouping)
{
	ListCell   *lc;

	if (grouping->is_whole)
	{
		grouping->answers = grouping->partial = grouping->states_target =
			grouping->target;
		return true;
	}
	grouping->answers = create_empty_pathtarget();
	grouping->partial = create_empty_pathtarget();
	grouping->states_target = create_empty_pathtarget();
	add_groups(grouping, grouping->answers);
	add_groups(grouping, grouping->partial);
	add_groups(grouping, grouping->states_target);
	if (collect_aggregates((Node *) grouping->target->exprs, grouping) ||
		collect_aggregates(grouping->having, grouping))
		return false;
	foreach(lc, grouping->states)
	{
		ShuttleAggregateState *state = lfirst(lc);

		add_new_columns_to_pathtarget(grouping->answers, state->sources);
		add_column_to_pathtarget(grouping->partial, (Expr *) state->partial, 0);
		add_column_to_pathtarget(grouping->states_target,
								 state->kind == SHUTTLE_STATE_AS_IS ?
								 linitial(state->sources) : (Expr *) state->partial, 0);
	}
	set_pathtarget_cost_width(grouping->root, grouping->answers);
	set_pathtarget_cost_width(grouping->root, grouping->partial);
	set_pathtarget_cost_width(grouping->root, grouping->states_target);
	return true;
}

/* ---- rows that do not repeat */

Index
shuttle_grouping_next_reference(const List *targetlist, const List *clauses)
{
	Index		largest = 0;
	ListCell   *lc;

	foreach(lc, targetlist)
		largest = Max(largest, lfirst_node(TargetEntry, lc)->ressortgroupref);
	foreach(lc, clauses)
		largest = Max(largest, lfirst_node(SortGroupClause, lc)->tleSortGroupRef);
	return largest + 1;
}

/* Lets nodes group by the argument of a DISTINCT aggregate, too. */
static void
add_distinct_value(ShuttleGrouping *grouping, const Aggref *aggregate, Expr *value)
{
	SortGroupClause *clause;

	if (list_member(grouping->answers->exprs, value))
		return;
	clause = copyObject(linitial_node(SortGroupClause, aggregate->aggdistinct));
	clause->tleSortGroupRef = shuttle_grouping_next_reference(grouping->targetlist, grouping->node_clause);
	add_column_to_pathtarget(grouping->answers, value, clause->tleSortGroupRef);
	grouping->node_clause = lappend(list_copy(grouping->node_clause), clause);
}

bool
shuttle_grouping_is_extreme(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	bool		answer;

	answer = HeapTupleIsValid(tuple) &&
		OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return answer;
}

/*
 * Collects the arguments of aggregates that ignore duplicates: DISTINCT ones,
 * and min() and the like of the same values. Returns true if an expression has
 * other aggregates or ungrouped columns.
 */
static bool
collect_values(Node *node, ShuttleGrouping *grouping)
{
	const Aggref *aggregate = (const Aggref *) node;
	Expr	   *value;

	if (node == NULL || list_member(grouping->answers->exprs, node))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
		return true;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, collect_values, grouping);

	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggfilter != NULL ||
		list_length(aggregate->args) != 1)
		return true;
	value = linitial_node(TargetEntry, aggregate->args)->expr;
	if (aggregate->aggdistinct != NIL)
	{
		add_distinct_value(grouping, aggregate, value);
		return false;
	}
	return !shuttle_grouping_is_extreme(aggregate->aggfnoid) ||
		!list_member(grouping->answers->exprs, value);
}

bool
shuttle_grouping_fill_rows_targets(ShuttleGrouping *grouping)
{
	List	   *wanted = list_make2(grouping->target->exprs, grouping->having);

	grouping->answers = create_empty_pathtarget();
	add_groups(grouping, grouping->answers);

	/* the first pass finds values, the second checks against all of them */
	(void) collect_values((Node *) wanted, grouping);
	if (list_length(grouping->node_clause) == list_length(grouping->whole_clause) ||
		collect_values((Node *) wanted, grouping))
		return false;
	set_pathtarget_cost_width(grouping->root, grouping->answers);
	grouping->partial = grouping->states_target = grouping->answers;
	return true;
}

/* ---- the same of a child */

void *
shuttle_grouping_translate(const ShuttleGrouping *grouping, RelOptInfo *child, void *node)
{
	if (grouping->branch != NULL)
		node = shuttle_union_translate_to_branch(grouping->branch,
												 shuttle_grouping_translate(grouping->outer, grouping->branch,
																			node));
	if (child == grouping->input)
		return node;
	return shuttle_translate_to_child(grouping->root, (Node *) node, child,
									  grouping->input);
}

PathTarget *
shuttle_grouping_translate_target(const ShuttleGrouping *grouping, RelOptInfo *child,
								  const PathTarget *target)
{
	PathTarget *translated = copy_pathtarget((PathTarget *) target);

	translated->exprs = shuttle_grouping_translate(grouping, child, translated->exprs);
	return translated;
}

/* A branch of a UNION ALL may select constants. Expressions over them are
 * folded: postgres_fdw ships few expressions over text constants. */
static void *
fold_constants(const ShuttleGrouping *grouping, void *translated)
{
	if (grouping->branch == NULL && grouping->input->rtekind != RTE_SUBQUERY)
		return translated;
	return eval_const_expressions(grouping->root, (Node *) translated);
}

void *
shuttle_grouping_translate_for_node(const ShuttleGrouping *grouping, RelOptInfo *child, void *node)
{
	return fold_constants(grouping, shuttle_grouping_translate(grouping, child, node));
}

PathTarget *
shuttle_grouping_translate_target_for_node(const ShuttleGrouping *grouping, RelOptInfo *child,
										   const PathTarget *target)
{
	PathTarget *translated = shuttle_grouping_translate_target(grouping, child, target);

	translated->exprs = fold_constants(grouping, translated->exprs);
	return translated;
}

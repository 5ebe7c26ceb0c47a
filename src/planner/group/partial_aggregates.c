/*-------------------------------------------------------------------------
 * partial_aggregates.c
 *	  GROUP BY, aggregates and DISTINCT over partitioned tables, inheritance
 *	  children, UNION ALL and partitionwise joins, computed in part by
 *	  nodes.
 *
 * Each foreign child gets a path of postgres_fdw's for the groups of its own
 * rows: postgres_fdw decides what can be shipped, and writes the SELECT. Local
 * children, and those whose node cannot do it, get core's partial aggregates.
 * Core's Finalize Aggregate combines them all and applies HAVING. If no group
 * has rows in two children, nothing is combined (whole_groups.c): any
 * aggregate and HAVING is shipped, and with LIMIT nodes sort, too
 * (ordered_groups.c). A branch of a UNION ALL may be a subquery: its groups
 * are those of what it selects from (union_branches.c).
 *
 * 	Finalize Aggregate
 * 	  Append, pruned at run time as the table's own
 * 		Foreign Scan: g, count(x), sum(x), and the state of avg(x) made of them
 * 		Partial Aggregate over a local child
 *
 * The executor makes states from what nodes return (foreign_aggregate.c).
 *
 * postgres_fdw ships no DISTINCT: while it plans, the query has a GROUP BY of
 * the same columns instead.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "base/shuttle_compat_paths.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/partition_sample.h"
#include "planner/facts/union_branches.h"
#include "planner/group/group.h"
#include "planner/join/inner_side.h"

/* Whole groups, duplicate removal and grouping without aggregates need no
 * combining. */
static AggSplit
choose_split(const ShuttleGrouping *grouping, AggSplit split)
{
	return grouping->root->parse->hasAggs && !grouping->is_whole &&
		!grouping->is_of_rows ? split : AGGSPLIT_SIMPLE;
}

/* ---- paths of children */

/* The states made from a foreign child's rows. */
static List *
translate_states(const ShuttleGrouping *grouping, RelOptInfo *child)
{
	List	   *states = NIL;
	ListCell   *lc;

	foreach(lc, grouping->states)
	{
		const ShuttleAggregateState *state = lfirst(lc);

		if (state->kind == SHUTTLE_STATE_AS_IS)
			continue;
		states = lappend(states,
						 list_make3(makeInteger(state->kind),
									shuttle_grouping_translate_for_node(grouping, child, state->partial),
									shuttle_grouping_translate_for_node(grouping, child,
																		state->sources)));
	}
	return states;
}

/* The upper relation of a child's groups, as core makes one per partition. */
static RelOptInfo *
make_groups_rel(const ShuttleGrouping *grouping, RelOptInfo *child)
{
	RelOptInfo *rel = makeNode(RelOptInfo);

	rel->reloptkind = RELOPT_OTHER_UPPER_REL;
	rel->relids = bms_copy(child->relids);
	rel->consider_startup = grouping->root->tuple_fraction > 0;
	rel->reltarget = shuttle_grouping_translate_target_for_node(grouping, child, grouping->answers);
	rel->serverid = child->serverid;
	rel->userid = child->userid;
	rel->useridiscurrent = child->useridiscurrent;
	rel->fdwroutine = child->fdwroutine;
	return rel;
}

static Path *
make_states_path(const ShuttleGrouping *grouping, RelOptInfo *child, ForeignPath *path)
{
	return (Path *) create_projection_path(grouping->root, child, &path->path,
										   shuttle_grouping_translate_target_for_node(grouping, child,
																					  grouping->states_target));
}

/* The child's groups in the query's order, or NULL. */
static Path *
make_sorted_path(const ShuttleGrouping *grouping, RelOptInfo *child, RelOptInfo *groups)
{
	ForeignPath *path;
	Path	   *sorted;

	if (!grouping->is_whole || !shuttle_ordered_groups_are_wanted(grouping->root))
		return NULL;
	path = shuttle_ordered_groups_path(grouping->root, grouping->input, child, groups,
									   grouping->target);
	if (path == NULL)
		return NULL;
	sorted = make_states_path(grouping, child, path);
	sorted->pathkeys = grouping->root->sort_pathkeys;
	return sorted;
}

static double
count_groups(const ShuttleGrouping *grouping, RelOptInfo *child, double rows)
{
	List	   *exprs = get_sortgrouplist_exprs(grouping->clause,
												grouping->targetlist);

	return estimate_num_groups(grouping->root, shuttle_grouping_translate(grouping, child, exprs),
							   rows, NULL, NULL);
}

/* The child's groups, computed by its node; NULL if it cannot. *sorted: a path
 * in the query's order, if wanted and possible. */
static Path *
make_remote_path(const ShuttleGrouping *grouping, RelOptInfo *child, Path **sorted)
{
	GroupPathExtraData extra = {.patype = PARTITIONWISE_AGGREGATE_FULL};
	ShuttleGroupClause saved;
	RelOptInfo *groups;
	ForeignPath *path;
	List	   *states;
	bool		groups_otherwise;

	if (child->fdwroutine == NULL || !shuttle_server_routine_is_ours(child->fdwroutine) ||
		shuttle_partition_is_sampled(grouping->root, child))
		return NULL;
	groups = make_groups_rel(grouping, child);
	extra.flags = grouping->flags;
	extra.targetList = grouping->targetlist;
	if (grouping->is_whole)
		extra.havingQual = shuttle_grouping_translate(grouping, child, grouping->having);
	saved = shuttle_set_group_clause(grouping->root, grouping->node_clause,
									 grouping->is_of_rows ? grouping->node_clause :
									 grouping->clause);
	child->fdwroutine->GetForeignUpperPaths(grouping->root, UPPERREL_GROUP_AGG,
											child, groups, &extra);
	(void) shuttle_set_group_clause(grouping->root, saved.whole, saved.processed);
	if (groups->pathlist == NIL)
		return NULL;

	path = linitial_node(ForeignPath, groups->pathlist);
	shuttle_fewer_groups_expect(grouping, child, &path->path);
	if (extra.havingQual != NULL)
		shuttle_sums_of_groups_expect_few(grouping->root, child, (List *) extra.havingQual,
										  count_groups(grouping, child, child->rows), &path->path);
	states = translate_states(grouping, child);
	groups_otherwise = grouping->is_distinct || grouping->is_of_rows ||
		grouping->branch != NULL;
	if (states != NIL || groups_otherwise)
	{
		Assert(path->fdw_private == NIL);
		path->fdw_private = list_make5(makeInteger(groups_otherwise), states,
									   grouping->node_clause, grouping->columns,
									   makeInteger(grouping->depth));
	}
	*sorted = make_sorted_path(grouping, child, groups);
	return make_states_path(grouping, child, path);
}

/* Appends the children's groups. The parent is the table's relation, so that
 * core adds run-time pruning. */
static Path *
append_children(const ShuttleGrouping *grouping, List *paths)
{
	double		rows = 0;
	AppendPath *append;
	ListCell   *lc;

	foreach(lc, paths)
		rows += ((Path *) lfirst(lc))->rows;
	append = shuttle_create_append_path(grouping->root, grouping->input, paths, NULL, rows);
	append->path.pathtarget = shuttle_grouping_translate_target(grouping, grouping->input,
																grouping->partial);
	return &append->path;
}

static AggStrategy
choose_strategy(const ShuttleGrouping *grouping)
{
	if (grouping->whole_clause == NIL)
		return AGG_PLAIN;
	if (grouping->clause != NIL && (grouping->flags & GROUPING_CAN_USE_HASH) != 0 &&
		(enable_hashagg || (grouping->flags & GROUPING_CAN_USE_SORT) == 0))
		return AGG_HASHED;
	return AGG_SORTED;
}

/* The child's groups or states, computed here. */
static Path *
make_local_path(const ShuttleGrouping *grouping, RelOptInfo *child)
{
	PlannerInfo *root = grouping->root;
	Path	   *path = child->cheapest_total_path;
	AggStrategy strategy = choose_strategy(grouping);
	PathTarget *target = shuttle_grouping_translate_target(grouping, child, grouping->partial);
	List	   *having = NIL;

	if (path == NULL || path->param_info != NULL)
		return NULL;
	if (grouping->is_of_rows)
		return (Path *) create_projection_path(root, child, path, target);
	path = (Path *) create_projection_path(root, child, path,
										   shuttle_grouping_translate_target(grouping, child,
																			 grouping->input->reltarget));
	if (strategy == AGG_SORTED && grouping->pathkeys != NIL)
		path = (Path *) create_sort_path(root, child, path, grouping->pathkeys, -1);
	if (grouping->is_whole)
		having = shuttle_grouping_translate(grouping, child, grouping->having);
	return (Path *) create_agg_path(root, child, path, target, strategy,
									choose_split(grouping, AGGSPLIT_INITIAL_SERIAL),
									grouping->clause, having,
									&grouping->partial_costs,
									count_groups(grouping, child, path->rows));
}

/* ---- branches of a UNION ALL that are subqueries */

static Path *make_asking_path(const ShuttleGrouping *grouping, RelOptInfo *child,
							  Path **sorted);

/* The groups of a branch's input; NULL if some of its relations cannot be
 * asked. */
static Path *
make_groups_of_branch(const ShuttleGrouping *grouping)
{
	bool		partitioned = false;
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, shuttle_inner_append_leaves(grouping->root, grouping->input, &partitioned))
	{
		Path	   *sorted;
		Path	   *path = make_asking_path(grouping, lfirst_node(RelOptInfo, lc),
											&sorted);

		if (path == NULL)
			return NULL;
		paths = lappend(paths, path);
	}
	if (paths == NIL)
		return NULL;
	return list_length(paths) == 1 ? linitial(paths) : append_children(grouping, paths);
}

static Path *
make_branch_path(const ShuttleGrouping *grouping, RelOptInfo *branch)
{
	ShuttleGrouping of_branch = *grouping;
	ShuttleAggregates saved;
	Path	   *path;

	of_branch.input = shuttle_union_branch_input(branch);
	if (of_branch.input == NULL)
		return NULL;
	of_branch.root = branch->subroot;
	of_branch.outer = grouping;
	of_branch.branch = branch;
	of_branch.depth++;
	of_branch.columns = make_tlist_from_pathtarget(grouping->states_target);

	saved = shuttle_union_set_aggregates(of_branch.root,
										 shuttle_union_get_aggregates(grouping->root));
	path = make_groups_of_branch(&of_branch);
	(void) shuttle_union_set_aggregates(of_branch.root, saved);
	return path != NULL ? shuttle_union_branch_path(grouping->root, branch, path) : NULL;
}

/*
 * The groups of a child or a branch, computed by nodes; as make_remote_path().
 */
static Path *
make_asking_path(const ShuttleGrouping *grouping, RelOptInfo *child, Path **sorted)
{
	Path	   *path = make_remote_path(grouping, child, sorted);

	return path != NULL ? path : make_branch_path(grouping, child);
}

/* ---- all children */

/* Merges the children's groups in the query's order; others are sorted here
 * first. */
static Path *
merge_children(const ShuttleGrouping *grouping, List *paths)
{
	PlannerInfo *root = grouping->root;
	MergeAppendPath *merged;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (!shuttle_ordered_groups_can_merge(root, grouping->input, grouping->target, path))
			return NULL;

		/* 15 would cost its own sort of a child by the ungrouped rows */
		if (!pathkeys_contained_in(root->sort_pathkeys, path->pathkeys))
			lfirst(lc) = create_sort_path(root, path->parent, path,
										  root->sort_pathkeys, -1);
	}
	merged = shuttle_create_merge_append_path(root, grouping->input, paths,
											  root->sort_pathkeys);
	merged->path.pathtarget = grouping->partial;
	return &merged->path;
}

/* The groups of all children; NULL if no node computes any. *merged: the same
 * in the query's order, or NULL. */
static Path *
make_append(const ShuttleGrouping *grouping, Path **merged)
{
	bool		partitioned = false;
	bool		any_remote = false;
	bool		any_sorted = false;
	List	   *paths = NIL;
	List	   *sorted_paths = NIL;
	ListCell   *lc;

	*merged = NULL;
	foreach(lc, shuttle_inner_append_leaves(grouping->root, grouping->input, &partitioned))
	{
		RelOptInfo *child = lfirst_node(RelOptInfo, lc);
		Path	   *sorted = NULL;
		Path	   *path;

		if (IS_DUMMY_REL(child))
			continue;
		path = make_asking_path(grouping, child, &sorted);
		if (path != NULL)
			any_remote = true;
		else
			path = make_local_path(grouping, child);
		if (path == NULL)
			return NULL;
		any_sorted |= sorted != NULL;
		paths = lappend(paths, path);
		sorted_paths = lappend(sorted_paths, sorted != NULL ? sorted : path);
	}
	if (!any_remote)
		return NULL;
	if (any_sorted)
		*merged = merge_children(grouping, sorted_paths);
	return append_children(grouping, paths);
}

/* ---- the whole */

static void
add_final_path(const ShuttleGrouping *grouping, Path *path, AggStrategy strategy)
{
	PlannerInfo *root = grouping->root;
	RelOptInfo *grouped = grouping->grouped;
	double		rows = 1;

	if (strategy != AGG_PLAIN)
		rows = Min(path->rows, count_groups(grouping, grouping->input,
											grouping->input->rows));
	if (strategy != AGG_HASHED && grouping->pathkeys != NIL)
		path = (Path *) create_sort_path(root, grouped, path, grouping->pathkeys, -1);
	add_path(grouped, (Path *)
			 create_agg_path(root, grouped, path, grouping->target, strategy,
							 choose_split(grouping, AGGSPLIT_FINAL_DESERIAL),
							 grouping->clause, (List *) grouping->having,
							 &grouping->final_costs, rows));
}

/* True of a table with children and of a partitionwise join. */
static bool
has_children(PlannerInfo *root, const RelOptInfo *input)
{
	if (input->reloptkind == RELOPT_BASEREL)
		return planner_rt_fetch(input->relid, root)->inh;
	return input->reloptkind == RELOPT_JOINREL && input->part_rels != NULL &&
		input->nparts > 0;
}

static bool
any_may_be_asked(PlannerInfo *root, RelOptInfo *input)
{
	bool		partitioned = false;
	ListCell   *lc;

	foreach(lc, shuttle_inner_append_leaves(root, input, &partitioned))
	{
		RelOptInfo *leaf = lfirst_node(RelOptInfo, lc);

		if (leaf->fdwroutine != NULL || shuttle_union_branch_input(leaf) != NULL)
			return true;
	}
	return false;
}

/* Cheap tests, before anything is built. */
static bool
may_be_split(PlannerInfo *root, RelOptInfo *input)
{
	return shuttle_settings.enable_storage_aggregate && has_children(root, input) &&
		bms_is_empty(input->lateral_relids) && !IS_DUMMY_REL(input) &&
		!root->parse->hasTargetSRFs &&
		!contain_volatile_functions((Node *) input->reltarget->exprs) &&
		any_may_be_asked(root, input);
}

/* Adds a path of the children's groups, which need no combining. */
static void
add_whole_groups(const ShuttleGrouping *grouping, Path *append)
{
	add_path(grouping->grouped, (Path *)
			 create_projection_path(grouping->root, grouping->grouped, append,
									grouping->target));
}

/* Core's costs of aggregates. Those that only our functions combine count as if
 * core could. */
static void
count_aggregates(PlannerInfo *root, AggSplit split, AggClauseCosts *costs)
{
	List	   *lent = NIL;
	ListCell   *lc;

	foreach(lc, root->aggtransinfos)
	{
		AggTransInfo *info = lfirst_node(AggTransInfo, lc);

		if (OidIsValid(info->combinefn_oid))
			continue;
		info->combinefn_oid = info->transfn_oid;
		lent = lappend(lent, info);
	}
	get_agg_clause_costs(root, split, costs);
	foreach(lc, lent)
		lfirst_node(AggTransInfo, lc)->combinefn_oid = InvalidOid;
}

/* Returns false if nodes cannot compute the groups. */
static bool
add_grouping_paths(ShuttleGrouping *grouping)
{
	PlannerInfo *root = grouping->root;
	Path	   *append;
	Path	   *merged;

	if (!(grouping->is_of_rows ? shuttle_grouping_fill_rows_targets(grouping) : shuttle_grouping_fill_targets(grouping)) ||
		contain_volatile_functions((Node *) grouping->partial->exprs))
		return false;
	if (root->parse->hasAggs)
	{
		count_aggregates(root, choose_split(grouping, AGGSPLIT_INITIAL_SERIAL),
						 &grouping->partial_costs);
		count_aggregates(root, choose_split(grouping, AGGSPLIT_FINAL_DESERIAL),
						 &grouping->final_costs);
	}
	append = make_append(grouping, &merged);
	if (append == NULL)
		return false;
	if (grouping->is_whole)
	{
		add_whole_groups(grouping, append);
		if (merged != NULL)
			add_whole_groups(grouping, merged);
		return true;
	}
	if (choose_strategy(grouping) != AGG_SORTED)
		add_final_path(grouping, append, choose_strategy(grouping));
	if (grouping->whole_clause != NIL && (grouping->flags & GROUPING_CAN_USE_SORT) != 0)
		add_final_path(grouping, append, AGG_SORTED);
	return true;
}

static bool
is_whole(const ShuttleGrouping *grouping)
{
	return grouping->whole_clause != NIL &&
		shuttle_whole_groups_are_certain(grouping->root, grouping->input,
										 get_sortgrouplist_exprs(grouping->whole_clause,
																 grouping->targetlist));
}

static void
consider_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped,
				const GroupPathExtraData *extra)
{
	ShuttleGrouping grouping = {.root = root,.input = input,.grouped = grouped};
	ShuttleGrouping of_parts;

	if (root->parse->groupingSets != NIL || !may_be_split(root, input) ||
		(root->parse->groupClause == NIL && !root->parse->hasAggs))
		return;
	grouping.target = grouped->reltarget;
	grouping.flags = extra->flags;
	grouping.targetlist = extra->targetList;
	grouping.having = extra->havingQual;
	grouping.whole_clause = grouping.node_clause = root->parse->groupClause;
	grouping.clause = shuttle_processed_group_clause(root);
	grouping.pathkeys = root->group_pathkeys;
	of_parts = grouping;
	grouping.is_whole = is_whole(&grouping);
	if ((grouping.is_whole && add_grouping_paths(&grouping)) ||
		add_grouping_paths(&of_parts) || !root->parse->hasAggs)
		return;
	grouping.is_whole = false;
	grouping.is_of_rows = true;
	(void) add_grouping_paths(&grouping);
}

static void
consider_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct)
{
	ShuttleGrouping grouping = {.root = root,.input = input,.grouped = distinct};

	if (root->parse->hasDistinctOn || root->parse->hasAggs || !may_be_split(root, input))
		return;
	grouping.is_distinct = true;
	grouping.target = input->cheapest_total_path->pathtarget;
	grouping.targetlist = root->processed_tlist;
	grouping.whole_clause = grouping.node_clause = root->parse->distinctClause;
	grouping.clause = shuttle_processed_distinct_clause(root);
	grouping.pathkeys = root->distinct_pathkeys;
	if (grouping.clause == NIL)
		return;					/* one row; core uses LIMIT 1 */
	if (grouping_is_hashable(grouping.clause))
		grouping.flags |= GROUPING_CAN_USE_HASH;
	if (grouping_is_sortable(grouping.clause))
		grouping.flags |= GROUPING_CAN_USE_SORT;
	grouping.is_whole = is_whole(&grouping);
	(void) add_grouping_paths(&grouping);
}

void
shuttle_partial_aggregates_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
									RelOptInfo *output, void *extra)
{
	if (stage == UPPERREL_GROUP_AGG)
		consider_groups(root, input, output, extra);
	else if (stage == UPPERREL_DISTINCT)
		consider_distinct(root, input, output);
}

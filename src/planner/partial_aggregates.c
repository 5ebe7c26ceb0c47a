/*-------------------------------------------------------------------------
 * partial_aggregates.c
 *	  GROUP BY, aggregates and DISTINCT over partitioned tables, heirs, UNION
 *	  ALL and joins of partitions, of which each node computes its part.
 *
 * Each foreign child is asked for complete groups of its own rows, by a path
 * that postgres_fdw makes for them: it says what can be shipped, and writes the
 * SELECT.  Local children, and those whose node cannot be asked, have core's
 * own partial aggregates.  Core's Finalize Aggregate combines them all, and
 * applies HAVING.  Where no group has rows of two children, there is nothing to
 * combine (whole_groups.c): any aggregate is asked for, and HAVING with it, and
 * where there is a LIMIT they also come sorted (ordered_groups.c).  A branch of a
 * UNION ALL may be a subquery of its own: its groups are those of what it selects
 * from (union_branches.c).
 *
 *	Finalize Aggregate
 *	  Append, pruned at run time as the table's own
 *		Foreign Scan: g, count(x), sum(x), and the state of avg(x) made of them
 *		Partial Aggregate over a local child
 *
 * The executor makes states of what nodes answer (foreign_aggregate.c).
 *
 * postgres_fdw ships no DISTINCT.  It is asked for a GROUP BY of the same
 * columns, which the query is given for as long as it looks.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/planner_internal.h"

/*
 * One grouping of a query, and what is asked for it; all of the parent.  What a branch
 * of a UNION ALL selects from is an input of its own, for the same grouping.
 */
typedef struct Grouping
{
	PlannerInfo *root;
	RelOptInfo *input;
	const struct Grouping *outer;	/* of the UNION ALL, else NULL */
	RelOptInfo *branch;			/* of it */
	List	   *columns;		/* of the branch: TargetEntries */
	int			depth;			/* of branches within branches; 0: none */
	RelOptInfo *grouped;
	bool		is_distinct;	/* and no GROUP BY */
	bool		is_whole;		/* each group is of one child */
	bool		is_of_rows;		/* nodes only leave out rows that repeat */
	PathTarget *target;			/* what comes out */
	int			flags;			/* GROUPING_CAN_... */
	List	   *targetlist;
	Node	   *having;
	List	   *whole_clause;	/* the query's */
	List	   *node_clause;	/* to group by on nodes */
	List	   *clause;			/* to group by here */
	List	   *pathkeys;		/* to sort by before */
	List	   *states;			/* of ShuttleAggregateState */
	PathTarget *answers;		/* groups, and sources of states */
	PathTarget *partial;		/* groups, and states as core makes them */
	PathTarget *states_target;	/* the same as scans of foreign children have */
	AggClauseCosts partial_costs;
	AggClauseCosts final_costs;
} Grouping;

static create_upper_paths_hook_type previous_upper_hook = NULL;

/* ---- what to ask for */

/* Of whole groups, rows, and groups only there is nothing to combine. */
static AggSplit
choose_split(const Grouping *grouping, AggSplit split)
{
	return grouping->root->parse->hasAggs && !grouping->is_whole &&
		!grouping->is_of_rows ? split : AGGSPLIT_SIMPLE;
}

static bool
is_group(const Grouping *grouping, Index reference)
{
	return reference != 0 &&
		get_sortgroupref_clause_noerr(reference, grouping->whole_clause) != NULL;
}

/*
 * Collects the aggregates of an expression.  Returns true where it has
 * something else that is neither a group nor computed of groups.
 */
static bool
collect_aggregates(Node *node, Grouping *grouping)
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

/* Puts the columns that are grouped by into a target. */
static void
add_groups(const Grouping *grouping, PathTarget *target)
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

/* Fills the targets; false where the query wants what nodes cannot give. */
static bool
fill_targets(Grouping *grouping)
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

/* A number that no column of the query is grouped or sorted by. */
static Index
next_reference(const Grouping *grouping)
{
	Index		largest = 0;
	ListCell   *lc;

	foreach(lc, grouping->targetlist)
		largest = Max(largest, lfirst_node(TargetEntry, lc)->ressortgroupref);
	foreach(lc, grouping->node_clause)
		largest = Max(largest, lfirst_node(SortGroupClause, lc)->tleSortGroupRef);
	return largest + 1;
}

/* Has nodes group by what a DISTINCT aggregate takes. */
static void
add_distinct_value(Grouping *grouping, const Aggref *aggregate, Expr *value)
{
	SortGroupClause *clause;

	if (list_member(grouping->answers->exprs, value))
		return;
	clause = copyObject(linitial_node(SortGroupClause, aggregate->aggdistinct));
	clause->tleSortGroupRef = next_reference(grouping);
	add_column_to_pathtarget(grouping->answers, value, clause->tleSortGroupRef);
	grouping->node_clause = lappend(list_copy(grouping->node_clause), clause);
}

static bool
is_extreme(Oid function)
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
 * Collects the values of aggregates to which it does not matter how often a value
 * comes: of DISTINCT ones, and then min() and the like of the same values.
 * Returns true where an expression has others, or what is not computed of groups.
 */
static bool
collect_values(Node *node, Grouping *grouping)
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
	return !is_extreme(aggregate->aggfnoid) ||
		!list_member(grouping->answers->exprs, value);
}

/* Fills the targets with groups and values; false where that would not do. */
static bool
fill_rows_targets(Grouping *grouping)
{
	List	   *wanted = list_make2(grouping->target->exprs, grouping->having);

	grouping->answers = create_empty_pathtarget();
	add_groups(grouping, grouping->answers);

	/* the first time finds values, and the second one what only these allow */
	(void) collect_values((Node *) wanted, grouping);
	if (list_length(grouping->node_clause) == list_length(grouping->whole_clause) ||
		collect_values((Node *) wanted, grouping))
		return false;
	set_pathtarget_cost_width(grouping->root, grouping->answers);
	grouping->partial = grouping->states_target = grouping->answers;
	return true;
}

/* ---- paths of children */

static void *
translate(const Grouping *grouping, RelOptInfo *child, void *node)
{
	if (grouping->branch != NULL)
		node = shuttle_translate_to_branch(grouping->branch,
										   translate(grouping->outer, grouping->branch,
													 node));
	if (child == grouping->input)
		return node;
	return shuttle_translate_to_child(grouping->root, (Node *) node, child,
									  grouping->input);
}

static PathTarget *
translate_target(const Grouping *grouping, RelOptInfo *child,
				 const PathTarget *target)
{
	PathTarget *translated = copy_pathtarget((PathTarget *) target);

	translated->exprs = translate(grouping, child, translated->exprs);
	return translated;
}

/*
 * What a child's node is asked for.  A branch of a UNION ALL may select constants.  What
 * is computed of them alone is made one: postgres_fdw ships few expressions over
 * constants of text.
 */
static void *
fold_constants(const Grouping *grouping, void *translated)
{
	if (grouping->branch == NULL && grouping->input->rtekind != RTE_SUBQUERY)
		return translated;
	return eval_const_expressions(grouping->root, (Node *) translated);
}

static void *
translate_for_node(const Grouping *grouping, RelOptInfo *child, void *node)
{
	return fold_constants(grouping, translate(grouping, child, node));
}

static PathTarget *
translate_target_for_node(const Grouping *grouping, RelOptInfo *child,
						  const PathTarget *target)
{
	PathTarget *translated = translate_target(grouping, child, target);

	translated->exprs = fold_constants(grouping, translated->exprs);
	return translated;
}

/* The states that a foreign child's answer is turned into. */
static List *
translate_states(const Grouping *grouping, RelOptInfo *child)
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
									translate_for_node(grouping, child, state->partial),
									translate_for_node(grouping, child,
													   state->sources)));
	}
	return states;
}

/* The relation of a child's groups, as core makes one for each partition. */
static RelOptInfo *
make_groups_rel(const Grouping *grouping, RelOptInfo *child)
{
	RelOptInfo *rel = makeNode(RelOptInfo);

	rel->reloptkind = RELOPT_OTHER_UPPER_REL;
	rel->relids = bms_copy(child->relids);
	rel->consider_startup = grouping->root->tuple_fraction > 0;
	rel->reltarget = translate_target_for_node(grouping, child, grouping->answers);
	rel->serverid = child->serverid;
	rel->userid = child->userid;
	rel->useridiscurrent = child->useridiscurrent;
	rel->fdwroutine = child->fdwroutine;
	return rel;
}

static Path *
make_states_path(const Grouping *grouping, RelOptInfo *child, ForeignPath *path)
{
	return (Path *) create_projection_path(grouping->root, child, &path->path,
										   translate_target_for_node(grouping, child,
																	 grouping->states_target));
}

/* The same in the query's order, or NULL. */
static Path *
make_sorted_path(const Grouping *grouping, RelOptInfo *child, RelOptInfo *groups)
{
	ForeignPath *path;
	Path	   *sorted;

	if (!grouping->is_whole || !shuttle_wants_ordered_groups(grouping->root))
		return NULL;
	path = shuttle_ordered_groups_path(grouping->root, grouping->input, child, groups,
									   grouping->target);
	if (path == NULL)
		return NULL;
	sorted = make_states_path(grouping, child, path);
	sorted->pathkeys = grouping->root->sort_pathkeys;
	return sorted;
}

/*
 * The child's groups as its node answers them; NULL: it cannot be asked.  sorted: is
 * set to a path in the query's order, where one is wanted and had.
 */
static Path *
make_remote_path(const Grouping *grouping, RelOptInfo *child, Path **sorted)
{
	GroupPathExtraData extra = {.patype = PARTITIONWISE_AGGREGATE_FULL};
	ShuttleGroupClause saved;
	RelOptInfo *groups;
	ForeignPath *path;
	List	   *states;
	bool		groups_otherwise;

	if (child->fdwroutine == NULL || !shuttle_foreign_is_ours(child->fdwroutine) ||
		shuttle_is_sampled(grouping->root, child))
		return NULL;
	groups = make_groups_rel(grouping, child);
	extra.flags = grouping->flags;
	extra.targetList = grouping->targetlist;
	if (grouping->is_whole)
		extra.havingQual = translate(grouping, child, grouping->having);
	saved = shuttle_set_group_clause(grouping->root, grouping->node_clause,
									 grouping->is_of_rows ? grouping->node_clause :
									 grouping->clause);
	child->fdwroutine->GetForeignUpperPaths(grouping->root, UPPERREL_GROUP_AGG,
											child, groups, &extra);
	(void) shuttle_set_group_clause(grouping->root, saved.whole, saved.processed);
	if (groups->pathlist == NIL)
		return NULL;

	path = linitial_node(ForeignPath, groups->pathlist);
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

/* Puts the groups of all children together, and under the parent itself, so that core
 * prunes them by its clauses. */
static Path *
append_children(const Grouping *grouping, List *paths)
{
	double		rows = 0;
	AppendPath *append;
	ListCell   *lc;

	foreach(lc, paths)
		rows += ((Path *) lfirst(lc))->rows;
	append = create_append_path(grouping->root, grouping->input, paths, NIL, NIL,
								NULL, 0, false, rows);
	append->path.pathtarget = translate_target(grouping, grouping->input,
											   grouping->partial);
	return &append->path;
}

static double
count_groups(const Grouping *grouping, RelOptInfo *child, double rows)
{
	List	   *exprs = get_sortgrouplist_exprs(grouping->clause,
												grouping->targetlist);

	return estimate_num_groups(grouping->root, translate(grouping, child, exprs),
							   rows, NULL, NULL);
}

static AggStrategy
choose_strategy(const Grouping *grouping)
{
	if (grouping->whole_clause == NIL)
		return AGG_PLAIN;
	if (grouping->clause != NIL && (grouping->flags & GROUPING_CAN_USE_HASH) != 0 &&
		(enable_hashagg || (grouping->flags & GROUPING_CAN_USE_SORT) == 0))
		return AGG_HASHED;
	return AGG_SORTED;
}

/* The child's rows, aggregated here. */
static Path *
make_local_path(const Grouping *grouping, RelOptInfo *child)
{
	PlannerInfo *root = grouping->root;
	Path	   *path = child->cheapest_total_path;
	AggStrategy strategy = choose_strategy(grouping);
	PathTarget *target = translate_target(grouping, child, grouping->partial);
	List	   *having = NIL;

	if (path == NULL || path->param_info != NULL)
		return NULL;
	if (grouping->is_of_rows)
		return (Path *) create_projection_path(root, child, path, target);
	path = (Path *) create_projection_path(root, child, path,
										   translate_target(grouping, child,
															grouping->input->reltarget));
	if (strategy == AGG_SORTED && grouping->pathkeys != NIL)
		path = (Path *) create_sort_path(root, child, path, grouping->pathkeys, -1);
	if (grouping->is_whole)
		having = translate(grouping, child, grouping->having);
	return (Path *) create_agg_path(root, child, path, target, strategy,
									choose_split(grouping, AGGSPLIT_INITIAL_SERIAL),
									grouping->clause, having,
									&grouping->partial_costs,
									count_groups(grouping, child, path->rows));
}

/* ---- branches of a UNION ALL that are subqueries */

static Path *make_asking_path(const Grouping *grouping, RelOptInfo *child,
							  Path **sorted);

/* The groups of what a branch selects from; NULL: some of that cannot be asked. */
static Path *
make_groups_of_branch(const Grouping *grouping)
{
	bool		partitioned = false;
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, shuttle_append_leaves(grouping->root, grouping->input, &partitioned))
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
make_branch_path(const Grouping *grouping, RelOptInfo *branch)
{
	Grouping	of_branch = *grouping;
	ShuttleAggregates saved;
	Path	   *path;

	of_branch.input = shuttle_branch_input(branch);
	if (of_branch.input == NULL)
		return NULL;
	of_branch.root = branch->subroot;
	of_branch.outer = grouping;
	of_branch.branch = branch;
	of_branch.depth++;
	of_branch.columns = make_tlist_from_pathtarget(grouping->states_target);

	saved = shuttle_set_aggregates(of_branch.root,
								   shuttle_get_aggregates(grouping->root));
	path = make_groups_of_branch(&of_branch);
	(void) shuttle_set_aggregates(of_branch.root, saved);
	return path != NULL ? shuttle_branch_path(grouping->root, branch, path) : NULL;
}

/* The groups of a child or a branch as nodes answer them; as make_remote_path(). */
static Path *
make_asking_path(const Grouping *grouping, RelOptInfo *child, Path **sorted)
{
	Path	   *path = make_remote_path(grouping, child, sorted);

	return path != NULL ? path : make_branch_path(grouping, child);
}

/* ---- all children */

/* The same in the query's order; children that do not come in it are sorted here. */
static Path *
merge_children(const Grouping *grouping, List *paths)
{
	PlannerInfo *root = grouping->root;
	MergeAppendPath *merged;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (!shuttle_can_merge_groups(root, grouping->input, grouping->target, path))
			return NULL;

		/* core prices its own sort of a child, on 15, by the ungrouped rows */
		if (!pathkeys_contained_in(root->sort_pathkeys, path->pathkeys))
			lfirst(lc) = create_sort_path(root, path->parent, path,
										  root->sort_pathkeys, -1);
	}
	merged = create_merge_append_path(root, grouping->input, paths,
									  root->sort_pathkeys, NULL);
	merged->path.pathtarget = grouping->partial;
	return &merged->path;
}

/*
 * The groups of all children; NULL where no node has a part in it.  merged: is set to
 * the same in the query's order, or NULL.
 */
static Path *
make_append(const Grouping *grouping, Path **merged)
{
	bool		partitioned = false;
	bool		any_remote = false;
	bool		any_sorted = false;
	List	   *paths = NIL;
	List	   *sorted_paths = NIL;
	ListCell   *lc;

	*merged = NULL;
	foreach(lc, shuttle_append_leaves(grouping->root, grouping->input, &partitioned))
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
add_final_path(const Grouping *grouping, Path *path, AggStrategy strategy)
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

/* A table with children, or a join that core makes partition by partition. */
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

	foreach(lc, shuttle_append_leaves(root, input, &partitioned))
	{
		RelOptInfo *leaf = lfirst_node(RelOptInfo, lc);

		if (leaf->fdwroutine != NULL || shuttle_branch_input(leaf) != NULL)
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

/* The children's groups, which are all. */
static void
add_whole_groups(const Grouping *grouping, Path *append)
{
	add_path(grouping->grouped, (Path *)
			 create_projection_path(grouping->root, grouping->grouped, append,
									grouping->target));
}

/* Core's costs of aggregates, of which some are combined by functions of ours: as
 * costly as its own. */
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

/* Returns false where nodes cannot be asked for that. */
static bool
add_grouping_paths(Grouping *grouping)
{
	PlannerInfo *root = grouping->root;
	Path	   *append;
	Path	   *merged;

	if (!(grouping->is_of_rows ? fill_rows_targets(grouping) : fill_targets(grouping)) ||
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
is_whole(const Grouping *grouping)
{
	return grouping->whole_clause != NIL &&
		shuttle_groups_are_whole(grouping->root, grouping->input,
								 get_sortgrouplist_exprs(grouping->whole_clause,
														 grouping->targetlist));
}

static void
consider_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped,
				const GroupPathExtraData *extra)
{
	Grouping	grouping = {.root = root,.input = input,.grouped = grouped};
	Grouping	of_parts;

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
	Grouping	grouping = {.root = root,.input = input,.grouped = distinct};

	if (root->parse->hasDistinctOn || root->parse->hasAggs || !may_be_split(root, input))
		return;
	grouping.is_distinct = true;
	grouping.target = input->cheapest_total_path->pathtarget;
	grouping.targetlist = root->processed_tlist;
	grouping.whole_clause = grouping.node_clause = root->parse->distinctClause;
	grouping.clause = shuttle_processed_distinct_clause(root);
	grouping.pathkeys = root->distinct_pathkeys;
	if (grouping.clause == NIL)
		return;					/* one row, which core asks for by LIMIT 1 */
	if (grouping_is_hashable(grouping.clause))
		grouping.flags |= GROUPING_CAN_USE_HASH;
	if (grouping_is_sortable(grouping.clause))
		grouping.flags |= GROUPING_CAN_USE_SORT;
	grouping.is_whole = is_whole(&grouping);
	(void) add_grouping_paths(&grouping);
}

static void
consider_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
					 RelOptInfo *output, void *extra)
{
	if (previous_upper_hook != NULL)
		previous_upper_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG)
		consider_groups(root, input, output, extra);
	else if (stage == UPPERREL_DISTINCT)
		consider_distinct(root, input, output);
}

void
shuttle_partial_aggregates_init(void)
{
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = consider_upper_paths;
}

/* ---- the plan */

/*
 * Adds a column for each state behind those that the node answers.  Errors:
 * what was asked for is not among these.
 */
static void
add_state_columns(ForeignScan *scan, const List *states)
{
	List	   *answers = scan->fdw_scan_tlist;
	List	   *columns = NIL;
	ListCell   *lc;

	/* postgres_fdw keeps its list for another plan of the path */
	scan->fdw_scan_tlist = list_copy(answers);
	foreach(lc, states)
	{
		const List *state = lfirst_node(List, lc);
		List	   *column;
		ListCell   *source;
		TargetEntry *entry;

		entry = makeTargetEntry(copyObject(lsecond(state)),
								list_length(scan->fdw_scan_tlist) + 1, NULL, false);
		scan->fdw_scan_tlist = lappend(scan->fdw_scan_tlist, entry);
		column = list_make2_int(intVal(linitial(state)), entry->resno);
		foreach(source, lthird(state))
		{
			TargetEntry *answer = tlist_member(lfirst(source), answers);

			if (answer == NULL)
				elog(ERROR, "a source of a partial aggregate is not asked for");
			column = lappend_int(column, answer->resno);
		}
		columns = lappend(columns, column);
	}
	if (!shuttle_scan_add_states(scan, columns))
		elog(ERROR, "unexpected plan of a partial aggregate");
}

ForeignScan *
shuttle_plan_partial_aggregate(PlannerInfo *root, RelOptInfo *rel, Oid relid,
							   ForeignPath *path, List *targetlist, List *clauses,
							   Plan *outer)
{
	bool		groups_otherwise = intVal(linitial(path->fdw_private)) != 0;
	List	   *states = lsecond(path->fdw_private);
	int			depth = intVal(list_nth(path->fdw_private, 4));
	ForeignPath plain = *path;
	ShuttleGroupClause saved;
	ForeignScan *scan;

	plain.fdw_private = NIL;
	if (groups_otherwise)
		saved = shuttle_set_group_clause(root, lthird(path->fdw_private),
										 lthird(path->fdw_private));
	scan = shuttle_plan_foreign_scan(root, rel, relid, &plain, targetlist, clauses,
									 outer);
	if (groups_otherwise)
		(void) shuttle_set_group_clause(root, saved.whole, saved.processed);
	if (states != NIL)
		add_state_columns(scan, states);

	/* core gives the plan of a branch the names that its columns have there */
	for (; depth > 0; depth--)
	{
		root->processed_tlist = lfourth(path->fdw_private);
		root = root->parent_root;
	}
	return scan;
}

bool
shuttle_is_partial_aggregate(const ForeignPath *path)
{
	return path->fdw_private != NIL && IsA(linitial(path->fdw_private), Integer);
}

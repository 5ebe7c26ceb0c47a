/*-------------------------------------------------------------------------
 * join_path.c
 *	  Batched joins as paths: core's nested loop with a Look Ahead under its
 *	  outer side, over a parameterised foreign scan.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/written_tables.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/join/inner_side.h"
#include "planner/join/join.h"
#include "planner/scan/scan.h"

/*
 * Join types of core's nested loop, and semi joins whose inner side is made
 * unique and becomes the outer side. The planner tries the others with sides
 * swapped.
 */
static bool
is_join_type(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI ||
		type == JOIN_ANTI || type == JOIN_UNIQUE_OUTER;
}

/*
 * For "big.k IN (SELECT ...)", looks up the rows of big for each distinct
 * value: the subquery becomes the outer side, made unique. NULL if that is
 * impossible, or if an expression would have to be computed for it: core would
 * add a column that nodes above do not expect.
 */
static Path *
make_unique_outer(PlannerInfo *root, RelOptInfo *outer, SpecialJoinInfo *semi)
{
	ListCell   *lc;

	foreach(lc, semi->semi_rhs_exprs)
	{
		if (!list_member(outer->reltarget->exprs, lfirst(lc)))
			return NULL;
	}
	return shuttle_unique_path(root, outer, semi);
}

/* True of partitioned tables, inheritance parents and UNION ALL. */
static bool
has_children(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->part_rels != NULL || planner_rt_fetch(rel->relid, root)->inh;
}

/*
 * For a dummy relation postgres_fdw was not called, so it has no fdw_private.
 */
static bool
is_inner_table(PlannerInfo *root, RelOptInfo *rel)
{
	if (!IS_SIMPLE_REL(rel) || IS_DUMMY_REL(rel))
		return false;
	if (has_children(root, rel))
		return true;
	return rel->rtekind == RTE_RELATION && rel->fdwroutine != NULL &&
		shuttle_server_can_look_ahead(rel->fdwroutine, rel->serverid);
}

static bool
is_inner_subquery(const RelOptInfo *rel)
{
	return IS_SIMPLE_REL(rel) && rel->rtekind == RTE_SUBQUERY && rel->subroot != NULL;
}

/* Sets *required to the join's own parameterization; false if core would reject
 * it. */
static bool
find_required_outer(RelOptInfo *outer, RelOptInfo *inner, Path *outer_path,
					Path *inner_path, JoinPathExtraData *extra,
					Relids *required)
{
	if (shuttle_uses_own_outer_join(extra->sjinfo, outer_path, inner_path))
		return false;
	*required = calc_nestloop_required_outer(shuttle_top_relids(outer),
											 PATH_REQ_OUTER(outer_path),
											 shuttle_top_relids(inner),
											 PATH_REQ_OUTER(inner_path));
	return *required == NULL ||
		bms_overlap(*required, extra->param_source_rels);
}

/* Makes a forced path win over all others. */
static void
force_cost(Path *path, const Path *outer)
{
	path->startup_cost = 0;
	path->total_cost = 1 + outer->total_cost * SHUTTLE_FORCED_COST +
		path->rows * SHUTTLE_FORCED_COST;
}

/*
 * False if the joinrel already has a better path than any batched join with
 * this outer path can be. Checked early since paths for an inner side with many
 * partitions take as long as the rest of planning.
 */
static bool
may_win(PlannerInfo *root, RelOptInfo *joinrel, Path *outer_path,
		ShuttleInner *inner, JoinType type, JoinPathExtraData *extra,
		const ShuttleKeyEstimate *estimate)
{
	Path	   *look_ahead;
	JoinCostWorkspace workspace;
	Relids		required;

	if (bms_overlap(PATH_REQ_OUTER(outer_path), shuttle_top_relids(inner->rel)) ||
		!find_required_outer(outer_path->parent, inner->rel, outer_path,
							 &inner->price, extra, &required))
		return false;
	if (shuttle_settings.debug_force_batched_join)
		return true;
	look_ahead = shuttle_look_ahead_path(root, outer_path, estimate, NULL);
	shuttle_initial_cost_nestloop(root, &workspace, type, look_ahead, &inner->price, extra);
	return shuttle_add_path_precheck(joinrel, &workspace,
									 build_join_pathkeys(root, joinrel, type,
														 look_ahead->pathkeys),
									 required);
}

/* Adds the join of one outer path with the inner scan. */
static void
add_batched_join(PlannerInfo *root, RelOptInfo *joinrel, Path *outer_path,
				 Path *inner_path, ShuttleGroups *groups, JoinType type,
				 JoinPathExtraData *extra, const ShuttleKeyEstimate *estimate)
{
	RelOptInfo *outer = outer_path->parent;
	RelOptInfo *inner = inner_path->parent;
	Path	   *look_ahead;
	NestPath   *join;
	JoinCostWorkspace workspace;
	Relids		required;

	if (!find_required_outer(outer, inner, outer_path, inner_path, extra,
							 &required))
		return;
	if ((shuttle_look_ahead_names_child_rows(outer_path) || shuttle_look_ahead_names_child_rows(inner_path)) &&
		(groups != NULL || !shuttle_planner_is_active()))
		return;
	look_ahead = shuttle_look_ahead_path(root, outer_path, estimate, groups);
	shuttle_initial_cost_nestloop(root, &workspace, type, look_ahead, inner_path, extra);
	if (shuttle_look_ahead_names_child_rows(outer_path))
		look_ahead = outer_path;
	inner_path = shuttle_path_for_child(root, inner_path, outer);
	if (inner_path == NULL)
		return;
	join = create_nestloop_path(root, joinrel, type, &workspace, extra, look_ahead,
								inner_path, extra->restrictlist,
								build_join_pathkeys(root, joinrel, type,
													look_ahead->pathkeys),
								required);
	if (shuttle_settings.debug_force_batched_join)
		force_cost(&join->jpath.path, outer_path);
	add_path(joinrel, &join->jpath.path);
}

/*
 * The inner side's parameterization. It names only the relations that the
 * clauses need, not all of the outer side: joins with larger outer sides then
 * share the paths of each partition.
 */
static ParamPathInfo *
find_parameters(PlannerInfo *root, const RelOptInfo *outer, RelOptInfo *inner)
{
	Relids		all = bms_union(shuttle_top_relids(outer), inner->lateral_relids);
	ParamPathInfo *info = shuttle_inner_param_info(root, inner, all);
	Relids		needed = bms_copy(inner->lateral_relids);
	ParamPathInfo *shared;
	ListCell   *lc;

	if (info == NULL || info->ppi_clauses == NIL)
		return NULL;
	foreach(lc, info->ppi_clauses)
		needed = bms_add_members(needed,
								 lfirst_node(RestrictInfo, lc)->clause_relids);
	needed = bms_del_members(needed, inner->relids);
	if (bms_is_empty(needed) || !bms_is_subset(needed, all) || bms_equal(needed, all))
		return info;
	shared = shuttle_inner_param_info(root, inner, needed);
	return list_length(shared->ppi_clauses) == list_length(info->ppi_clauses) ?
		shared : info;
}

/* Outer paths to try: the cheapest ones and the ordered ones. */
static List *
find_outer_paths(PlannerInfo *root, RelOptInfo *outer, JoinType type,
				 JoinPathExtraData *extra)
{
	List	   *paths = NIL;
	ListCell   *lc;

	if (type == JOIN_UNIQUE_OUTER)
	{
		Path	   *path = make_unique_outer(root, outer, extra->sjinfo);

		return path == NULL ? NIL : list_make1(path);
	}
	foreach(lc, outer->pathlist)
	{
		Path	   *path = (Path *) lfirst(lc);

		if (path == outer->cheapest_total_path ||
			path == outer->cheapest_startup_path || path->pathkeys != NIL)
			paths = lappend(paths, path);
	}
	return paths;
}

/* Outer paths whose batched join may be the best. */
static List *
promising_outer_paths(PlannerInfo *root, RelOptInfo *joinrel, List *outer_paths,
					  ShuttleInner *inner, JoinType type,
					  JoinPathExtraData *extra, const ShuttleKeyEstimate *estimate)
{
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, outer_paths)
	{
		if (may_win(root, joinrel, lfirst(lc), inner, type, extra, estimate))
			paths = lappend(paths, lfirst(lc));
	}
	return paths;
}

/*
 * The estimate for a join. With a unique outer side it becomes an inner join.
 */
static ShuttleKeyEstimate
find_key_estimate(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
				  const ParamPathInfo *keys, Oid serverid, List *outer_paths, JoinType *type)
{
	ShuttleKeyEstimate estimate = shuttle_key_estimate_make(root, outer, inner, keys, serverid);

	if (*type == JOIN_UNIQUE_OUTER)
	{
		shuttle_key_estimate_set_once(&estimate, (Path *) linitial(outer_paths));
		*type = JOIN_INNER;
	}
	return estimate;
}

/* Adds batched joins over a table, one for each outer path worth trying. */
static void
add_batched_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
				  RelOptInfo *rel, JoinType type, JoinPathExtraData *extra)
{
	ShuttleInner inner = {.rel = rel};
	ShuttleKeyEstimate estimate;
	Oid			serverid;
	List	   *outer_paths;
	Path	   *inner_path;
	ListCell   *lc;

	inner.leaves = shuttle_inner_append_leaves(root, rel, &inner.partitioned);
	serverid = shuttle_inner_append_server(inner.leaves);
	if (!OidIsValid(serverid) || shuttle_written_is_beside(root, inner.leaves))
		return;
	inner.info = find_parameters(root, outer, rel);
	if (inner.info == NULL ||
		shuttle_inner_clauses_have_placeholders(inner.info->ppi_clauses, outer->top_parent_relids))
		return;
	outer_paths = find_outer_paths(root, outer, type, extra);
	if (outer_paths == NIL)
		return;
	estimate = find_key_estimate(root, outer, rel, inner.info, serverid, outer_paths, &type);
	if (!shuttle_inner_price(root, &inner, &estimate))
		return;
	outer_paths = promising_outer_paths(root, joinrel, outer_paths, &inner, type,
										extra, &estimate);
	if (outer_paths == NIL)
		return;
	inner_path = shuttle_inner_make(root, &inner, &estimate);
	if (inner_path == NULL)
		return;
	foreach(lc, outer_paths)
		add_batched_join(root, joinrel, (Path *) lfirst(lc), inner_path, NULL, type,
						 extra, &estimate);
}

/* Sets keys to info with only the clauses that can be moved below the
 * subquery's grouping. False if there are none. */
static bool
find_group_keys(PlannerInfo *root, RelOptInfo *rel, const ParamPathInfo *info,
				ParamPathInfo *keys)
{
	*keys = *info;
	keys->ppi_clauses = shuttle_grouped_subquery_clauses(root, rel, info->ppi_clauses);
	return keys->ppi_clauses != NIL &&
		shuttle_inner_clauses_can_be_asked(keys->ppi_clauses, rel);
}

/*
 * Adds batched joins over a grouped subquery. Planning the subquery again is
 * expensive: it is done only if the join could win even if its keys cost
 * nothing.
 */
static void
add_joins_over_groups(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
					  RelOptInfo *rel, JoinType type, JoinPathExtraData *extra)
{
	ShuttleInner inner = {.rel = rel};
	Oid			serverid = shuttle_inner_groups_server(root, rel);
	ShuttleKeyEstimate estimate;
	ParamPathInfo keys;
	List	   *outer_paths;
	Path	   *inner_path;
	ListCell   *lc;

	if (!OidIsValid(serverid))
		return;
	inner.info = find_parameters(root, outer, rel);
	if (inner.info == NULL || !find_group_keys(root, rel, inner.info, &keys))
		return;
	outer_paths = find_outer_paths(root, outer, type, extra);
	if (outer_paths == NIL)
		return;
	estimate = find_key_estimate(root, outer, rel, &keys, serverid, outer_paths, &type);
	shuttle_inner_begin_price(&inner);
	outer_paths = promising_outer_paths(root, joinrel, outer_paths, &inner, type,
										extra, &estimate);
	if (outer_paths == NIL)
		return;
	inner.groups = shuttle_inner_groups_plan(root, rel, keys.ppi_clauses);
	if (inner.groups == NULL)
		return;
	shuttle_inner_groups_price(inner.groups, &inner.price, &estimate);
	outer_paths = promising_outer_paths(root, joinrel, outer_paths, &inner, type,
										extra, &estimate);
	if (outer_paths == NIL)
		return;
	inner_path = shuttle_inner_groups_make(root, inner.groups, &inner.price);
	foreach(lc, outer_paths)
		add_batched_join(root, joinrel, (Path *) lfirst(lc), inner_path, inner.groups,
						 type, extra, &estimate);
}

/* A statement that writes must read its source first, by a Material in the
 * finished plan; that needs our planner hook. */
static bool
may_write_too_soon(const PlannerInfo *root)
{
	return shuttle_written_find_statement(root)->commandType != CMD_SELECT &&
		!shuttle_planner_is_active();
}

void
shuttle_join_path_consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
						   RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (!shuttle_settings.enable_batched_join || !is_join_type(type) ||
		may_write_too_soon(root))
		return;
	if (!enable_nestloop && !shuttle_settings.debug_force_batched_join)
		return;
	if (is_inner_table(root, inner))
		add_batched_joins(root, joinrel, outer, inner, type, extra);
	else if (is_inner_subquery(inner))
		add_joins_over_groups(root, joinrel, outer, inner, type, extra);
}

/*-------------------------------------------------------------------------
 * remote_paths.c
 *	  Paths over foreign tables with the node's estimates (option
 *	  shuttle_remote_estimate).
 *
 * postgres_fdw makes its paths without remote estimates, while the relation's
 * pathlist is empty so that nothing displaces them. We reprice them by the
 * node and then add them. As postgres_fdw with use_remote_estimate, we also
 * add paths with orders for merge joins and parameterized paths. Aggregates,
 * sorts and limits: upper_paths.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "foreign/fdwapi.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_system_columns.h"
#include "planner/facts/relation_facts.h"
#include "planner/facts/written_tables.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/join/inner_side.h"
#include "planner/join/node_joins.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"
#include "planner/shown/shown.h"
#include "planner/shuttle_planner.h"
#include "planner/write/write.h"

/* Larger than the cost of any path of postgres_fdw's. */
#define HUGE_COST 1e20

/* Equivalence members that were tried as parameters. */
typedef struct TriedMembers
{
	Expr	   *current;
	List	   *earlier;
} TriedMembers;

bool
shuttle_remote_paths_have_estimate(PlannerInfo *root, RelOptInfo *rel)
{
	Relids		relids = rel->relids == NULL ? root->all_baserels : rel->relids;
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(relid, root);

		if (rte->rtekind == RTE_RELATION &&
			rte->relkind == RELKIND_FOREIGN_TABLE &&
			shuttle_option_cache_parsed(rel->serverid, rte->relid)->remote_estimate)
			return true;
	}
	return false;
}

double
shuttle_remote_path_add_priced(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path)
{
	const ShuttleEstimate *estimate;
	double		rows;

	if (path->path.pathkeys == NIL && path->fdw_private == NIL &&
		bms_equal(PATH_REQ_OUTER(&path->path), path->path.parent->lateral_relids))
		estimate = shuttle_remote_estimate_of_rel(root, path);
	else
		estimate = shuttle_remote_estimate_of_path(root, path);
	if (estimate != NULL)
		shuttle_remote_estimate_apply(root, path, estimate);
	rows = path->path.rows;
	add_path(rel, &path->path);
	return rows;
}

/*
 * Prices and adds postgres_fdw's paths. Returns a copy of the one without
 * pathkeys, or NULL. If postgres_fdw's prices made an ordered path displace it,
 * it is made from that one.
 */
static ForeignPath *
add_all_priced(PlannerInfo *root, RelOptInfo *rel, List *paths)
{
	ForeignPath *first = NULL;
	ForeignPath *plain = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		ForeignPath *path = (ForeignPath *) lfirst(lc);

		if (!IsA(path, ForeignPath))
			continue;
		if (first == NULL)
			first = shuttle_foreign_path_copy(path);
		if (path->path.pathkeys == NIL)
			plain = shuttle_foreign_path_copy(path);
		shuttle_remote_path_add_priced(root, rel, path);
	}
	if (plain == NULL && first != NULL)
	{
		plain = first;
		plain->path.pathkeys = NIL;
		shuttle_remote_path_add_priced(root, rel, shuttle_foreign_path_copy(plain));
	}
	return plain;
}

/* ---- orders */

/*
 * A column of the relation that is in the class and that the node can sort
 * by.  What a semi join hides on its inner side is no column of it.
 */
static bool
has_sortable_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class)
{
	EquivalenceMemberIterator members;
	EquivalenceMember *member;

	setup_eclass_member_iterator(&members, class, rel->relids);
	while ((member = eclass_member_iterator_next(&members)) != NULL)
	{
		Var		   *var = (Var *) member->em_expr;
		bool		hidden = false;
		ListCell   *lc;

		if (!IsA(var, Var) || var->varattno <= 0 ||
			var->vartype >= FirstGenbkiObjectId ||
			!bms_is_subset(member->em_relids, rel->relids))
			continue;
		foreach(lc, root->join_info_list)
		{
			SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, lc);

			if (join->jointype == JOIN_SEMI && IS_JOIN_REL(rel) &&
				bms_is_member(var->varno, join->syn_righthand))
				hidden = true;
		}
		if (!hidden)
			return true;
	}
	return false;
}

/* Equivalence classes by which a merge join could sort the relation. */
static List *
find_useful_classes(PlannerInfo *root, RelOptInfo *rel)
{
	Relids		relids = shuttle_top_relids(rel);
	List	   *classes = NIL;
	ListCell   *lc;

	if (rel->has_eclass_joins)
	{
		foreach(lc, root->eq_classes)
		{
			if (eclass_useful_for_merging(root, lfirst(lc), rel))
				classes = lappend(classes, lfirst(lc));
		}
	}
	foreach(lc, rel->joininfo)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (clause->mergeopfamilies == NIL)
			continue;
		update_mergeclause_eclasses(root, clause);
		if (bms_overlap(relids, clause->right_ec->ec_relids))
			classes = list_append_unique_ptr(classes, clause->right_ec);
		else if (bms_overlap(relids, clause->left_ec->ec_relids))
			classes = list_append_unique_ptr(classes, clause->left_ec);
	}
	return classes;
}

/*
 * The local join that EvalPlanQual runs instead of the node's join, sorted as
 * well. The sort must keep the columns that the node's quals and expressions
 * need.
 */
static Path *
sort_local_join(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path,
				List *pathkeys)
{
	Path	   *join = path->fdw_outerpath;
	PathTarget *target;
	List	   *quals;

	if (join == NULL || pathkeys_contained_in(pathkeys, join->pathkeys))
		return join;
	quals = shuttle_remote_estimate_dry_run(root, path, NIL)->scan.plan.qual;
	target = copy_pathtarget(join->pathtarget);
	add_new_columns_to_pathtarget(target,
								  pull_var_clause((Node *) target->exprs,
												  PVC_RECURSE_PLACEHOLDERS));
	add_new_columns_to_pathtarget(target,
								  pull_var_clause((Node *) quals,
												  PVC_RECURSE_PLACEHOLDERS));
	if (list_length(target->exprs) > list_length(join->pathtarget->exprs))
		join = (Path *) create_projection_path(root, rel, join, target);
	return (Path *) create_sort_path(root, rel, join, pathkeys, -1.0);
}

/* Adds paths sorted by each column that a merge join could want. The query's
 * own order is among postgres_fdw's paths. */
static void
add_ordered_paths(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path)
{
	ListCell   *lc;

	foreach(lc, find_useful_classes(root, rel))
	{
		EquivalenceClass *class = lfirst(lc);
		Oid			opfamily = linitial_oid(class->ec_opfamilies);
		ForeignPath *ordered;

		if (list_length(root->query_pathkeys) == 1 &&
			linitial_node(PathKey, root->query_pathkeys)->pk_eclass == class)
			continue;
		if (opfamily >= FirstGenbkiObjectId ||
			!has_sortable_column(root, rel, class) ||
			!shuttle_text_order_class_is_alike(root, rel, class))
			continue;
		ordered = shuttle_foreign_path_copy(path);
		ordered->path.pathkeys =
			list_make1(make_canonical_pathkey(root, class, opfamily,
											  COMPARE_LT, false));
		ordered->fdw_outerpath = sort_local_join(root, rel, path,
												 ordered->path.pathkeys);
		shuttle_remote_path_add_priced(root, rel, ordered);
	}
}

/* ---- parameters */

/* The outer relations of a join clause for a parameterized path of rel; NULL if
 * it cannot be moved there or shipped. */
static Relids
find_parameters(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *clause,
				ForeignPath *plain)
{
	Relids		outer;

	if (!join_clause_is_movable_to(clause, rel) ||
		!shuttle_inner_clauses_can_be_asked(list_make1(clause), rel))
		return NULL;
	outer = bms_del_member(bms_union(clause->clause_relids, rel->lateral_relids),
						   rel->relid);
	if (bms_is_empty(outer) ||
		list_length(shuttle_remote_estimate_dry_run(root, plain, list_make1(clause))->scan.plan.qual) >
		list_length(shuttle_remote_estimate_dry_run(root, plain, NIL)->scan.plan.qual))
		return NULL;
	return outer;
}

static List *
collect_parameters(PlannerInfo *root, RelOptInfo *rel, List *clauses,
				   ForeignPath *plain, List *infos)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Relids		outer = find_parameters(root, rel, lfirst_node(RestrictInfo, lc),
											plain);

		if (outer != NULL)
			infos = list_append_unique_ptr(infos,
										   get_baserel_parampathinfo(root, rel, outer));
	}
	return infos;
}

static bool
is_untried_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class,
				  EquivalenceMember *member, void *arg)
{
	TriedMembers *tried = arg;

	if (tried->current != NULL)
		return equal(member->em_expr, tried->current);
	if (list_member(tried->earlier, member->em_expr))
		return false;
	tried->current = member->em_expr;
	return true;
}

/* Adds a parameterized path for each useful set of outer relations. */
static void
add_parameterised_paths(PlannerInfo *root, RelOptInfo *rel, ForeignPath *plain)
{
	TriedMembers tried = {NULL, NIL};
	List	   *infos = collect_parameters(root, rel, rel->joininfo, plain, NIL);
	ListCell   *lc;

	while (rel->has_eclass_joins)
	{
		List	   *clauses;

		tried.current = NULL;
		clauses = generate_implied_equalities_for_column(root, rel,
														 is_untried_member, &tried,
														 rel->lateral_referencers);
		if (tried.current == NULL)
			break;
		infos = collect_parameters(root, rel, clauses, plain, infos);
		tried.earlier = lappend(tried.earlier, tried.current);
	}
	foreach(lc, infos)
	{
		ParamPathInfo *info = lfirst_node(ParamPathInfo, lc);
		ForeignPath *path;

		/* core may use the path in a join of children */
		if (rel->reloptkind == RELOPT_OTHER_MEMBER_REL &&
			shuttle_inner_clauses_have_placeholders(info->ppi_clauses, info->ppi_req_outer))
			continue;
		path = shuttle_foreign_path_copy(plain);
		path->path.param_info = info;
		info->ppi_rows = shuttle_remote_path_add_priced(root, rel, path);
	}
}

/* ---- callbacks */

/* True if the query's order has an expression of the relation that may leak what it
 * sees. */
static bool
sorts_by_leaky(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *key;
	ListCell   *lc;

	foreach(key, root->query_pathkeys)
	{
		foreach(lc, lfirst_node(PathKey, key)->pk_eclass->ec_members)
		{
			const EquivalenceMember *member = lfirst_node(EquivalenceMember, lc);

			if (bms_overlap(member->em_relids, shuttle_top_relids(rel)) &&
				contain_leaked_vars((Node *) member->em_expr))
				return true;
		}
	}
	return false;
}

/* True if the node would compute the query's order for rows that a policy or a security
 * barrier, which is checked here, hides. */
static bool
sorts_hidden_rows(PlannerInfo *root, RelOptInfo *rel)
{
	ForeignPath path = {.path.pathtype = T_ForeignScan,.path.parent = rel};

	return root->qual_security_level > 0 && IS_SIMPLE_REL(rel) &&
		sorts_by_leaky(root, rel) &&
		shuttle_remote_estimate_dry_run(root, &path, NIL)->scan.plan.qual != NIL;
}

/*
 * Hides query_pathkeys while postgres_fdw makes its paths, if the node sorts
 * differently, would have to wait for a value, or must not see it. Returns them, to be
 * restored.
 */
static List *
hide_order(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *wanted = root->query_pathkeys;

	if (!shuttle_text_order_pathkeys_are_alike(root, rel, wanted) ||
		shuttle_written_waits_beside(root, rel->relids, NIL) || sorts_hidden_rows(root, rel))
		root->query_pathkeys = NIL;
	return wanted;
}

static void
get_rel_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	ForeignPath *path = makeNode(ForeignPath);
	const ShuttleEstimate *estimate;
	List	   *hidden;

	shuttle_planner_report_late_load(root);
	shuttle_stable_in_conditions(root, rel);
	shuttle_uncounted_table_size(root, rel, relid);
	shuttle_subplan_price_conditions(root, rel);
	hidden = shuttle_written_hide_conditions(root, rel->baserestrictinfo, rel, JOIN_INNER, NULL);
	shuttle_postgres_fdw_get_routine()->GetForeignRelSize(root, rel, relid);
	shuttle_written_show_conditions(hidden);
	if (!shuttle_remote_paths_have_estimate(root, rel))
		return;

	/* only what the dry run needs: core has not set the size yet */
	path->path.pathtype = T_ForeignScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = rel->rows;
	estimate = shuttle_remote_estimate_of_rel(root, path);
	if (estimate == NULL)
		return;
	rel->rows = estimate->rows;
	rel->reltarget->width = estimate->width;
	rel->tuples = Max(rel->tuples, rel->rows);
}

static void
get_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	List	   *wanted = hide_order(root, rel);
	List	   *paths;
	ForeignPath *plain;

	shuttle_postgres_fdw_get_routine()->GetForeignPaths(root, rel, relid);
	root->query_pathkeys = wanted;
	if (!shuttle_remote_paths_have_estimate(root, rel))
		return;
	paths = rel->pathlist;
	rel->pathlist = NIL;
	plain = add_all_priced(root, rel, paths);
	if (plain == NULL)
		return;
	add_ordered_paths(root, rel, plain);
	add_parameterised_paths(root, rel, plain);
}

/* Copies of the join's local paths at huge cost: postgres_fdw needs one for
 * EvalPlanQual, but none may displace its own paths. */
static List *
make_stand_ins(const List *paths)
{
	List	   *stand_ins = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Path	   *copy;
		size_t		size;

		if (IsA(path, NestPath))
			size = sizeof(NestPath);
		else if (IsA(path, MergePath))
			size = sizeof(MergePath);
		else if (IsA(path, HashPath))
			size = sizeof(HashPath);
		else
			continue;
		copy = palloc(size);
		memcpy(copy, path, size);
		copy->startup_cost += HUGE_COST;
		copy->total_cost += HUGE_COST;
		stand_ins = lappend(stand_ins, copy);
	}
	return stand_ins;
}

/* Adds joins on the node, with the node's estimates. */
static void
add_estimated_joins(PlannerInfo *root, RelOptInfo *rel, List *paths)
{
	ForeignPath *plain = add_all_priced(root, rel, paths);
	const ShuttleEstimate *estimate;

	if (plain == NULL)
		return;
	estimate = shuttle_remote_estimate_of_rel(root, plain);
	if (estimate != NULL)
	{
		rel->rows = estimate->rows;
		rel->reltarget->width = estimate->width;
	}
	add_ordered_paths(root, rel, plain);
}

void
shuttle_remote_join_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer,
						  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	List	   *others = rel->pathlist;
	bool		paths_are_known = rel->fdw_private != NULL;
	bool		is_estimated = shuttle_remote_paths_have_estimate(root, rel);
	bool		is_repriced = is_estimated || shuttle_node_join_is_priced(root, rel);
	List	   *wanted;
	List	   *hidden;
	List	   *paths;
	ListCell   *lc;

	if (shuttle_is_grouped_early(rel) ||
		shuttle_expression_has(outer->reltarget->exprs, SHUTTLE_HAS_XMIN_TO_CMAX) ||
		shuttle_expression_has(inner->reltarget->exprs, SHUTTLE_HAS_XMIN_TO_CMAX) ||
		shuttle_written_waits_beside(root, rel->relids, extra->restrictlist))
		return;
	wanted = hide_order(root, rel);
	if (is_repriced)
		rel->pathlist = make_stand_ins(others);
	hidden = shuttle_written_hide_conditions(root, extra->restrictlist, NULL, type, extra->sjinfo);
	shuttle_postgres_fdw_get_routine()->GetForeignJoinPaths(root, rel, outer, inner,
															type, extra);
	shuttle_written_show_conditions(hidden);
	root->query_pathkeys = wanted;
	if (!paths_are_known && rel->fdw_private != NULL)
		shuttle_scan_proof_note_join(root, rel, outer, inner, type, extra->restrictlist);
	if (!is_repriced)
		return;
	paths = rel->pathlist;
	rel->pathlist = others;
	if (is_estimated)
	{
		add_estimated_joins(root, rel, paths);
		return;
	}
	shuttle_node_join_price(root, rel, outer, inner, type, extra->restrictlist, paths);
	if (paths_are_known)
		shuttle_node_join_reprice(root, rel, outer, inner, type, extra->restrictlist);
	foreach(lc, paths)
	{
		if (IsA(lfirst(lc), ForeignPath))
			add_path(rel, lfirst(lc));
	}
}

void
shuttle_remote_paths_fill(FdwRoutine *routine)
{
	routine->GetForeignRelSize = get_rel_size;
	routine->GetForeignPaths = get_paths;
	routine->GetForeignPlan = shuttle_outer_values_plan_scan;
	routine->GetForeignJoinPaths = shuttle_remote_join_paths;
	routine->GetForeignUpperPaths = shuttle_upper_paths_add;
}

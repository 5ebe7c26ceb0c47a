/*-------------------------------------------------------------------------
 * inner_append.c
 *	  The inner side of a batched join over a partitioned table, an
 *	  inheritance parent, or a UNION ALL.
 *
 * First the whole is priced from the sizes of its children; its paths are made
 * only if a join with that price may be the best. Then each live child gets a
 * scan parameterized by the outer side: foreign ones by inner_path.c, local
 * ones core's cheapest path. Core's Append over partitions has the steps of
 * run-time pruning, by which the routed append sends each key to the
 * partitions that can have rows; other children are all asked for each key.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat_paths.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/partition_sample.h"
#include "planner/join/inner_side.h"
#include "planner/join/join.h"

/* The cheapest path of a local child that needs no parameters but those of
 * info; or NULL. */
static Path *
cheapest_local_path(const RelOptInfo *child, const ParamPathInfo *info)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, child->pathlist)
	{
		Path	   *path = (Path *) lfirst(lc);

		if (bms_is_subset(PATH_REQ_OUTER(path), info->ppi_req_outer) &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	return best;
}

/* That path with exactly info's parameterization, as an Append requires. */
static Path *
local_path(PlannerInfo *root, RelOptInfo *child, const ParamPathInfo *info)
{
	Path	   *best = cheapest_local_path(child, info);

	if (bms_equal(PATH_REQ_OUTER(best), info->ppi_req_outer))
		return best;
	(void) shuttle_inner_param_info(root, child, info->ppi_req_outer);
	return reparameterize_path(root, best, info->ppi_req_outer, 1.0);
}

/*
 * True if a child's path checks all clauses of the parent's parameterization,
 * which the join relies on. For a local child core may lack a clause: members
 * of an equivalence class that use both sides of the join have no child
 * version.
 */
static bool
checks_all_clauses(const Path *child, const ParamPathInfo *parent)
{
	return child->param_info != NULL &&
		list_length(child->param_info->ppi_clauses) >=
		list_length(parent->ppi_clauses);
}

static void
add_leaf(PlannerInfo *root, RelOptInfo *rel, List **leaves, bool *partitioned)
{
	if (rel != NULL && !IS_DUMMY_REL(rel))
		*leaves = list_concat(*leaves,
							  shuttle_inner_append_leaves(root, rel, partitioned));
}

List *
shuttle_inner_append_leaves(PlannerInfo *root, RelOptInfo *rel, bool *partitioned)
{
	List	   *leaves = NIL;
	int			i = -1;
	ListCell   *lc;

	if (rel->part_rels != NULL && rel->nparts > 0)
	{
		*partitioned = true;
		while ((i = bms_next_member(rel->live_parts, i)) >= 0)
			add_leaf(root, rel->part_rels[i], &leaves, partitioned);
		return leaves;
	}
	if (!IS_SIMPLE_REL(rel) || !planner_rt_fetch(rel->relid, root)->inh)
		return list_make1(rel);
	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *child = lfirst_node(AppendRelInfo, lc);

		if (child->parent_relid == rel->relid)
			add_leaf(root, find_base_rel(root, child->child_relid), &leaves,
					 partitioned);
	}
	return leaves;
}

Oid
shuttle_inner_append_server(const List *leaves)
{
	ListCell   *lc;

	foreach(lc, leaves)
	{
		const RelOptInfo *leaf = (const RelOptInfo *) lfirst(lc);

		if (leaf->fdwroutine != NULL)
			return leaf->serverid;
	}
	return InvalidOid;
}

/* True if a clause sets the partition key column equal to an outer value. */
static bool
fixes_key(const List *clauses, List *key_exprs)
{
	ListCell   *clause;
	ListCell   *expr;

	foreach(clause, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, clause);

		if (rinfo->mergeopfamilies == NIL || !is_opclause(rinfo->clause))
			continue;
		foreach(expr, key_exprs)
		{
			if (equal(lfirst(expr), get_leftop(rinfo->clause)) ||
				equal(lfirst(expr), get_rightop(rinfo->clause)))
				return true;
		}
	}
	return false;
}

double
shuttle_inner_append_visited_share(const RelOptInfo *rel, const List *clauses, int nchildren)
{
	if (!enable_partition_pruning || rel->part_scheme == NULL || rel->partexprs == NULL)
		return 1;
	for (int i = 0; i < rel->part_scheme->partnatts; i++)
	{
		if (!fixes_key(clauses, rel->partexprs[i]))
			return 1;
	}
	return 1.0 / nchildren;
}

/* ---- the price */

/* Rows that a key finds in a child: all of the key's rows if it visits one
 * partition, else the child's share of them. */
static double
rows_of_leaf(const ShuttleInner *inner, const RelOptInfo *leaf)
{
	if (inner->share < 1)
		return Min(inner->rows_per_key, leaf->rows);
	return inner->rows_per_key * leaf->rows / Max(inner->rel->rows, 1);
}

/* Cost of a child per outer row that visits it; false if it cannot be asked by
 * key. */
static bool
price_leaf(PlannerInfo *root, const ShuttleInner *inner, RelOptInfo *leaf,
		   const ShuttleKeyEstimate *estimate, Cost *startup, Cost *total)
{
	double		part = estimate->keys_per_row;
	const Path *path;

	if (leaf->rtekind != RTE_RELATION)
		return false;			/* a subquery would be rescanned for each row */
	if (leaf->fdwroutine == NULL)
	{
		path = cheapest_local_path(leaf, inner->info);
		if (path == NULL)
			return false;
		*startup = path->startup_cost;
		*total = path->total_cost;
		return true;
	}

	/* A sampled table would be read whole for each key. */
	if (!shuttle_server_can_look_ahead(leaf->fdwroutine, leaf->serverid) ||
		shuttle_partition_is_sampled(root, leaf))
		return false;
	shuttle_batch_cost_of_key(root, leaf, &estimate->server, rows_of_leaf(inner, leaf),
							  estimate->outer_rows * estimate->keys_per_row * inner->share,
							  startup, total);
	if (shuttle_settings.debug_force_batched_join)
		part *= SHUTTLE_FORCED_COST;
	*startup *= part;
	*total = *total * part + shuttle_batch_cost_of_doubt(leaf, estimate);
	return true;
}

void
shuttle_inner_begin_price(ShuttleInner *inner)
{
	Path	   *price = &inner->price;

	NodeSetTag(price, T_Path);
	price->pathtype = T_CustomScan;
	price->parent = inner->rel;
	price->pathtarget = inner->rel->reltarget;
	price->param_info = (ParamPathInfo *) inner->info;
	price->rows = inner->info->ppi_rows;
}

bool
shuttle_inner_price(PlannerInfo *root, ShuttleInner *inner, ShuttleKeyEstimate *estimate)
{
	int			nleaves = list_length(inner->leaves);
	Path	   *price = &inner->price;
	ListCell   *lc;

	inner->rows_per_key = shuttle_key_estimate_rows_per_key(inner->rel, inner->info);
	inner->share = inner->partitioned ?
		shuttle_inner_append_visited_share(inner->rel, inner->info->ppi_clauses, nleaves) : 1;
	shuttle_inner_begin_price(inner);
	foreach(lc, inner->leaves)
	{
		Cost		startup;
		Cost		total;

		if (!price_leaf(root, inner, (RelOptInfo *) lfirst(lc), estimate, &startup,
						&total))
			return false;
		if (price->total_cost == 0)
			price->startup_cost = startup;
		price->total_cost += total * inner->share;
	}
	price->startup_cost = Min(price->startup_cost, price->total_cost);

	/* a batch of many keys has keys for each partition */
	estimate->nscans = Max(1, Min(nleaves,
								  ceil(Min(estimate->outer_rows, estimate->server.batch_size) *
									   estimate->keys_per_row * nleaves * inner->share)));
	return true;
}

/* ---- the path */

/* The path of a child; NULL if none of its clauses can be shipped. */
static Path *
make_leaf_path(PlannerInfo *root, const ShuttleInner *inner, RelOptInfo *leaf,
			   ShuttleKeyEstimate *estimate, ShuttleSibling *sibling)
{
	const ParamPathInfo *info = inner->info;
	Cost		startup;
	Cost		total;

	if (leaf->fdwroutine == NULL)
		return local_path(root, leaf, info);
	if (leaf != inner->rel)
		info = shuttle_inner_child_param_info(root, leaf, inner->rel, info,
											  rows_of_leaf(inner, leaf), sibling);
	(void) price_leaf(root, inner, leaf, estimate, &startup, &total);
	return shuttle_inner_path(root, leaf, info, startup, total, sibling,
							  &estimate->may_fail);
}

static Path *
make_append(PlannerInfo *root, const ShuttleInner *inner, List *children)
{
	Path	   *append;

	append = (Path *) shuttle_create_append_path(root, inner->rel, children,
												 inner->info->ppi_req_outer, -1);
	append->rows = inner->price.rows;
	append->startup_cost = inner->price.startup_cost;
	append->total_cost = inner->price.total_cost;
	return inner->partitioned ? shuttle_look_ahead_routed_append_path(append) : append;
}

Path *
shuttle_inner_make(PlannerInfo *root, const ShuttleInner *inner,
				   ShuttleKeyEstimate *estimate)
{
	List	   *children = NIL;
	ShuttleSibling sibling = {NULL};
	ListCell   *lc;

	foreach(lc, inner->leaves)
	{
		RelOptInfo *leaf = (RelOptInfo *) lfirst(lc);
		Path	   *path = make_leaf_path(root, inner, leaf, estimate, &sibling);

		if (path == NULL)
			return NULL;
		if (leaf == inner->rel)
			return path;
		if (!checks_all_clauses(path, inner->info))
			return NULL;
		children = lappend(children, path);
	}
	return make_append(root, inner, children);
}

/*-------------------------------------------------------------------------
 * inner_append.c
 *	  The inner side of a batched join over a partitioned table, a table that
 *	  others inherit, or a UNION ALL.
 *
 * Each live child gets a scan that takes its parameters from the outer side:
 * foreign ones as inner_path.c makes them, local ones core's cheapest.  Core's
 * Append over partitions brings the steps of run-time pruning, by which the
 * routed append sends each key where it can have rows; of other children all
 * are asked.
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

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/planner_internal.h"

typedef struct ChildPaths
{
	const ParamPathInfo *parent;
	const ShuttleAsking *asking;
	double		share;			/* of the keys, that each child is asked for */
	List	   *paths;
} ChildPaths;

/*
 * The cheapest path of a local partition that needs no more parameters than
 * there are, made to take exactly these, as an Append wants of its children.
 */
static Path *
local_path(PlannerInfo *root, RelOptInfo *child, Relids required_outer)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, child->pathlist)
	{
		Path	   *path = (Path *) lfirst(lc);

		if (bms_is_subset(PATH_REQ_OUTER(path), required_outer) &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	if (best == NULL || bms_equal(PATH_REQ_OUTER(best), required_outer))
		return best;
	(void) shuttle_param_info(root, child, required_outer);
	return reparameterize_path(root, best, required_outer, 1.0);
}

/*
 * A clause of the parent may have no copy for its partitions (members of an
 * equivalence class that use both sides of the join have none).  The join
 * believes that the inner side checks what the parent's parameters say.
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
							  shuttle_append_leaves(root, rel, partitioned));
}

List *
shuttle_append_leaves(PlannerInfo *root, RelOptInfo *rel, bool *partitioned)
{
	List	   *leaves = NIL;
	int			i = -1;
	ListCell   *lc;

	if (rel->part_rels != NULL)
	{
		*partitioned = true;
		while ((i = bms_next_member(rel->live_parts, i)) >= 0)
			add_leaf(root, rel->part_rels[i], &leaves, partitioned);
		return leaves;
	}
	if (!planner_rt_fetch(rel->relid, root)->inh)
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
shuttle_leaves_server(const List *leaves)
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

/* Adds the path of one child; false where it has none. */
static bool
add_leaf_path(PlannerInfo *root, RelOptInfo *leaf, ChildPaths *children)
{
	Relids		required_outer = children->parent->ppi_req_outer;
	ParamPathInfo *info;
	Path	   *path = NULL;

	if (leaf->rtekind != RTE_RELATION)
		return false;			/* it would run once more for each row */
	if (leaf->fdwroutine == NULL)
		path = local_path(root, leaf, required_outer);
	else if (!shuttle_can_look_ahead(leaf->fdwroutine, leaf->serverid))
		return false;
	else
	{
		info = shuttle_param_info(root, leaf, required_outer);
		if (info != NULL && info->ppi_clauses != NIL)
			path = shuttle_inner_path(root, leaf, info, children->asking,
									  children->share);
	}
	if (path == NULL || !checks_all_clauses(path, children->parent))
		return false;
	children->paths = lappend(children->paths, path);
	return true;
}

/* True where a join clause sets a column of the partition key equal to
 * something of the outer side. */
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

/* The share of the partitions that one key is expected to visit. */
static double
expected_share(RelOptInfo *inner, const ParamPathInfo *info, int nchildren)
{
	if (!enable_partition_pruning || inner->part_scheme == NULL ||
		inner->partexprs == NULL)
		return 1;
	for (int i = 0; i < inner->part_scheme->partnatts; i++)
	{
		if (!fixes_key(info->ppi_clauses, inner->partexprs[i]))
			return 1;
	}
	return 1.0 / nchildren;
}

Path *
shuttle_inner_append(PlannerInfo *root, RelOptInfo *inner, const List *leaves,
					 const ParamPathInfo *info, bool partitioned,
					 ShuttleAsking *asking)
{
	int			nleaves = list_length(leaves);
	ChildPaths	children = {
		.parent = info,
		.asking = asking,
		.share = expected_share(inner, info, Max(nleaves, 1)),
	};
	Path	   *append;
	ListCell   *lc;

	foreach(lc, leaves)
	{
		if (!add_leaf_path(root, (RelOptInfo *) lfirst(lc), &children))
			return NULL;
	}

	/* a batch of many keys has some for each partition */
	asking->nscans = Min(nleaves,
						 ceil(Min(asking->outer_rows, asking->server.batch_size) *
							  asking->keys_per_row * nleaves * children.share));
	append = (Path *) create_append_path(root, inner, children.paths, NIL, NIL,
										 info->ppi_req_outer, 0, false, -1);
	return partitioned ? shuttle_routed_append_path(root, append, children.share) :
		append;
}

/*-------------------------------------------------------------------------
 * shuttle_compat_paths.h
 *	  Version differences: paths other than joins, and plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_PATHS_H
#define SHUTTLE_COMPAT_PATHS_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"

/* 19 has one kind of path that makes rows unique, under the other one's name. */
#if PG_VERSION_NUM >= 190000
#define T_UpperUniquePath T_UniquePath
typedef UniquePath UpperUniquePath;
#endif

/* An Append or MergeAppend; 19 added the relations of appends that were pulled
 * up into it. */
static inline AppendPath *
shuttle_create_append_path(PlannerInfo *root, RelOptInfo *rel, List *subpaths,
						   Relids required_outer, double rows)
{
#if PG_VERSION_NUM >= 190000
	AppendPathInput input = {.subpaths = subpaths};

	return create_append_path(root, rel, input, NIL, required_outer, 0, false, rows);
#else
	return create_append_path(root, rel, subpaths, NIL, NIL, required_outer, 0,
							  false, rows);
#endif
}

static inline MergeAppendPath *
shuttle_create_merge_append_path(PlannerInfo *root, RelOptInfo *rel, List *subpaths,
								 List *pathkeys)
{
#if PG_VERSION_NUM >= 190000
	return create_merge_append_path(root, rel, subpaths, NIL, pathkeys, NULL);
#else
	return create_merge_append_path(root, rel, subpaths, pathkeys, NULL);
#endif
}

/* Plans a subquery; 17 added the set operation it belongs to, 19 a name. */
static inline PlannerInfo *
shuttle_subquery_planner(PlannerInfo *root, Query *subquery)
{
#if PG_VERSION_NUM >= 190000
	return subquery_planner(root->glob, subquery,
							choose_plan_name(root->glob, "shuttle", true), root, NULL,
							false, 0, NULL);
#elif PG_VERSION_NUM >= 170000
	return subquery_planner(root->glob, subquery, root, false, 0, NULL);
#else
	return subquery_planner(root->glob, subquery, root, false, 0);
#endif
}

/* A subquery scan without pathkeys; 16 added trivial_pathtarget. */
static inline Path *
shuttle_create_subqueryscan_path(PlannerInfo *root, RelOptInfo *rel, Path *subpath,
								 Relids required_outer)
{
#if PG_VERSION_NUM >= 160000
	return (Path *) create_subqueryscan_path(root, rel, subpath, false, NIL,
											 required_outer);
#else
	return (Path *) create_subqueryscan_path(root, rel, subpath, NIL, required_outer);
#endif
}

/* A parameterised scan of a foreign table. */
static inline ForeignPath *
shuttle_create_foreignscan_path(PlannerInfo *root, RelOptInfo *rel, double rows,
								Cost startup, Cost total, Relids required_outer)
{
#if PG_VERSION_NUM >= 180000
	return create_foreignscan_path(root, rel, NULL, rows, 0, startup, total, NIL,
								   required_outer, NULL, NIL, NIL);
#elif PG_VERSION_NUM >= 170000
	return create_foreignscan_path(root, rel, NULL, rows, startup, total, NIL,
								   required_outer, NULL, NIL, NIL);
#else
	return create_foreignscan_path(root, rel, NULL, rows, startup, total, NIL,
								   required_outer, NULL, NIL);
#endif
}

/* All members of an equivalence class; 18 keeps those of children beside the others. */
static inline List *
shuttle_all_members(const EquivalenceClass *class)
{
	List	   *members = list_copy(class->ec_members);

#if PG_VERSION_NUM >= 180000
	for (int i = 0; i < class->ec_childmembers_size; i++)
		members = list_concat(members, class->ec_childmembers[i]);
#endif
	return members;
}

/* 17 raised postgres_fdw's default cost of a row. */
#if PG_VERSION_NUM >= 170000
#define SHUTTLE_POSTGRES_FDW_TUPLE_COST 0.2
#else
#define SHUTTLE_POSTGRES_FDW_TUPLE_COST 0.01
#endif

/* 18 counts disabled nodes; before, they cost disable_cost. */
static inline void
shuttle_path_copy_disabled(Path *to, const Path *from)
{
#if PG_VERSION_NUM >= 180000
	to->disabled_nodes = from->disabled_nodes;
#endif
}

static inline void
shuttle_plan_copy_disabled(Plan *to, const Plan *from)
{
#if PG_VERSION_NUM >= 180000
	to->disabled_nodes = from->disabled_nodes;
#endif
}

#endif							/* SHUTTLE_COMPAT_PATHS_H */

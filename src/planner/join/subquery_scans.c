/*-------------------------------------------------------------------------
 * subquery_scans.c
 *	  Finds the scans below a path of a subquery that groups rows of one
 *	  table, of partitions, or of a join on a node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_paths.h"
#include "planner/join/inner_side.h"

typedef struct Search
{
	List	   *found;			/* of ShuttleSubqueryScan */
	double		share;			/* fraction of the keys that visit the scans
								 * found next */
	bool		is_alike;
} Search;

static bool find_scans(PlannerInfo *root, Path *path, Search *search);

static bool
found_foreign(const Search *search)
{
	return search->found != NIL &&
		IsA(((ShuttleSubqueryScan *) llast(search->found))->path, ForeignPath);
}

static bool
find_scans_of_children(PlannerInfo *root, const Path *append, List *children,
					   Search *search)
{
	RelOptInfo *parent = append->parent;
	Search		outside = *search;
	ListCell   *lc;

	search->share *= shuttle_inner_append_visited_share(parent, parent->baserestrictinfo,
														list_length(children));
	foreach(lc, children)
	{
		if (!find_scans(root, lfirst(lc), search))
			return false;
		if (parent->part_rels != NULL && found_foreign(search))
			search->is_alike = true;
	}
	search->share = outside.share;
	search->is_alike = outside.is_alike;
	return true;
}

static bool
add_scan(PlannerInfo *root, Path *path, Search *search)
{
	ShuttleSubqueryScan *scan = palloc_object(ShuttleSubqueryScan);

	scan->root = root;
	scan->path = path;
	scan->share = search->share;
	scan->is_alike = search->is_alike;
	search->found = lappend(search->found, scan);
	return true;
}

/*
 * Adds the scans below a path; false if there are other nodes, such as joins.
 */
static bool
find_scans(PlannerInfo *root, Path *path, Search *search)
{
	switch (nodeTag(path))
	{
		case T_ForeignPath:
			return add_scan(root, path, search);
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
			return path->parent->rtekind == RTE_RELATION && add_scan(root, path, search);
		case T_AppendPath:
			return find_scans_of_children(root, path, ((AppendPath *) path)->subpaths,
										  search);
		case T_MergeAppendPath:
			return find_scans_of_children(root, path,
										  ((MergeAppendPath *) path)->subpaths, search);
		case T_ProjectionPath:
			return find_scans(root, ((ProjectionPath *) path)->subpath, search);
		case T_SortPath:
			return find_scans(root, ((SortPath *) path)->subpath, search);
		case T_IncrementalSortPath:
			return find_scans(root, ((IncrementalSortPath *) path)->spath.subpath, search);
		case T_GroupPath:
			return find_scans(root, ((GroupPath *) path)->subpath, search);
		case T_AggPath:
			return find_scans(root, ((AggPath *) path)->subpath, search);
		case T_UpperUniquePath:
			return find_scans(root, ((UpperUniquePath *) path)->subpath, search);
		case T_LimitPath:		/* DISTINCT of constants */
			return find_scans(root, ((LimitPath *) path)->subpath, search);
		case T_SubqueryScanPath:
			return find_scans(path->parent->subroot, ((SubqueryScanPath *) path)->subpath,
							  search);
		default:
			return false;
	}
}

List *
shuttle_subquery_scans(PlannerInfo *subroot, Path *path)
{
	Search		search = {.share = 1};

	return find_scans(subroot, path, &search) ? search.found : NIL;
}

/* A path for the groups of a whole query has no relids. */
List *
shuttle_subquery_scan_tables(const ShuttleSubqueryScan *scan)
{
	Relids		relids = scan->path->parent->relids;
	List	   *tables = NIL;
	int			relid = -1;

	if (bms_is_empty(relids))
		relids = scan->root->all_baserels;
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		RelOptInfo *table = scan->root->simple_rel_array[relid];

		if (table != NULL)		/* NULL for an outer join's relid */
			tables = lappend(tables, table);
	}
	return tables;
}

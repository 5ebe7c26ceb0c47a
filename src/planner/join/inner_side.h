/*-------------------------------------------------------------------------
 * inner_side.h
 *	  Inner sides of batched joins: their paths, prices and keys.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_INNER_SIDE_H
#define SHUTTLE_PLANNER_JOIN_INNER_SIDE_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "planner/facts/batch_cost.h"
#include "planner/join/join.h"

/* A forced path costs this share of what it would, so as to win. */
#define SHUTTLE_FORCED_COST 0.0001

/* ---- parameterised scans (inner_path.c) */

/*
 * The ParamPathInfo of a base relation's scans with these parameters; NULL
 * without parameters. Made in the relation's own context, since GEQO frees what
 * else is made while it tries a join.
 */
extern ParamPathInfo *shuttle_inner_param_info(PlannerInfo *root, RelOptInfo *rel,
											   Relids required_outer);

/* Result of a dry run of GetForeignPlan for a parameterized scan. */
typedef struct ShuttleVerdict
{
	bool		can_batch;
	bool		may_fail;
} ShuttleVerdict;

/* The last child that got clauses; zeroes before the first one. */
typedef struct ShuttleSibling
{
	RelOptInfo *rel;			/* NULL: the next child cannot use its clauses */
	const ParamPathInfo *info;
	Bitmapset  *columns;		/* the parent's columns in its clauses */
	const ShuttleVerdict *verdict;	/* NULL: unknown for the next child */
} ShuttleSibling;

/* The same for a child, with rows estimated rows. Its clauses are those of the
 * parent's info, translated. */
extern ParamPathInfo *shuttle_inner_child_param_info(PlannerInfo *root, RelOptInfo *child,
													 RelOptInfo *parent,
													 const ParamPathInfo *info,
													 double rows, ShuttleSibling *sibling);

/*
 * A foreign scan parameterized by the relations of info, one key at a time.
 * Never put into the relation's pathlist, so that no other join uses its price.
 * NULL if no join clause can be shipped. Sets *may_fail if what is shipped can
 * raise errors. sibling: as shuttle_inner_child_param_info() left it, or zeroes.
 */
extern Path *shuttle_inner_path(PlannerInfo *root, RelOptInfo *inner,
								const ParamPathInfo *info, Cost startup, Cost total,
								ShuttleSibling *sibling, bool *may_fail);

/* True if join clauses may be part of a scan's remote SELECT: no security
 * barrier, no volatile function. */
extern bool shuttle_inner_clauses_can_be_asked(const List *clauses, RelOptInfo *inner);

/*
 * True if join clauses take placeholders of some relations. Core cannot take those from a child of such a
 * relation: it looks for the relations among those of the outer side, which has children only, and then
 * fails with "variable not found in subplan target list". PostgreSQL's own tables fail, too.
 */
extern bool shuttle_inner_clauses_have_placeholders(const List *clauses, Relids relids);

/* ---- the inner side of a batched join (inner_append.c) */

typedef struct ShuttleInner
{
	RelOptInfo *rel;
	List	   *leaves;			/* rel itself, or its leaf children */
	bool		partitioned;	/* some leaves are partitions */
	ShuttleGroups *groups;		/* for a grouped subquery, which has no
								 * leaves; else NULL */
	const ParamPathInfo *info;	/* its parameterization */
	double		rows_per_key;
	double		share;			/* fraction of the leaves that a key visits */
	Path		price;			/* only costs and parameterization of a scan
								 * for one outer row */
} ShuttleInner;

/* Initializes inner->price, without its costs. */
extern void shuttle_inner_begin_price(ShuttleInner *inner);

/* Fills in price, rows_per_key and share, and completes the estimate. False if
 * a leaf cannot be asked by key. */
extern bool shuttle_inner_price(PlannerInfo *root, ShuttleInner *inner,
								ShuttleKeyEstimate *estimate);

/*
 * The path with that price, and sets estimate->may_fail. For children of a
 * table or a UNION ALL it is an Append, routed if some are partitions. NULL if
 * a leaf has no clause that can be shipped.
 */
extern Path *shuttle_inner_make(PlannerInfo *root, const ShuttleInner *inner,
								ShuttleKeyEstimate *estimate);

/* The leaf relations of a base relation or of a partitionwise join: itself, or
 * its children at all levels. Sets *partitioned if some are partitions. */
extern List *shuttle_inner_append_leaves(PlannerInfo *root, RelOptInfo *rel,
										 bool *partitioned);

/* The server of the first foreign table among relations, or InvalidOid. */
extern Oid	shuttle_inner_append_server(const List *leaves);

/* Fraction of a partitioned table's children that a key visits with these
 * clauses. */
extern double shuttle_inner_append_visited_share(const RelOptInfo *rel, const List *clauses,
												 int nchildren);

/* ---- scans of a subquery (subquery_scans.c) */

typedef struct ShuttleSubqueryScan
{
	PlannerInfo *root;			/* the scan's query level */
	Path	   *path;
	double		share;			/* fraction of the keys that visit it */
	bool		is_alike;		/* another partition, like the scan before it */
} ShuttleSubqueryScan;

/* The scans below a path of a subquery. NIL if there are nodes between that
 * make its cost for a key unknown, such as a local join. */
extern List *shuttle_subquery_scans(PlannerInfo *subroot, Path *path);

/* The base relations (RelOptInfo) that such a scan reads. */
extern List *shuttle_subquery_scan_tables(const ShuttleSubqueryScan *scan);

/* ---- groups of the keys alone (inner_groups.c, grouped_subquery.c) */

/* True of a subquery with GROUP BY or DISTINCT that may be planned a second
 * time. */
extern bool shuttle_grouped_subquery_is_plain(const RangeTblEntry *rte);

/* The server of the first foreign table that such a subquery reads, or
 * InvalidOid. */
extern Oid	shuttle_inner_groups_server(PlannerInfo *root, RelOptInfo *rel);

/* The join clauses that can be tested below the subquery's grouping. */
extern List *shuttle_grouped_subquery_clauses(PlannerInfo *root, RelOptInfo *rel,
											  const List *clauses);

/* A copy of a relation's subquery with these clauses in it, beside the
 * conditions that core has pushed down into its own copy. */
extern Query *shuttle_grouped_subquery_with_clauses(PlannerInfo *root, const RelOptInfo *rel,
													const List *clauses);

/* True if the planned copy has core's conditions and nclauses more. */
extern bool shuttle_grouped_subquery_checks_same(const Query *planned, const Query *by_core,
												 int nclauses);

/* The subquery planned with these clauses; remembered until planning ends. NULL
 * if its nodes cannot be asked by key. */
extern ShuttleGroups *shuttle_inner_groups_plan(PlannerInfo *root, RelOptInfo *rel,
												const List *clauses);

/* Fills in the price of a key, and completes the estimate. */
extern void shuttle_inner_groups_price(const ShuttleGroups *groups, Path *price,
									   ShuttleKeyEstimate *estimate);

/* A subquery scan of the groups, with that price and parameterization. */
extern Path *shuttle_inner_groups_make(PlannerInfo *root, const ShuttleGroups *groups,
									   const Path *price);

/* Makes core create the relation's plan from these groups. */
extern void shuttle_inner_groups_adopt(const ShuttleGroups *groups);

#endif							/* SHUTTLE_PLANNER_JOIN_INNER_SIDE_H */

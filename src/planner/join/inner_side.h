/*-------------------------------------------------------------------------
 * inner_side.h
 *	  Inner sides of batched joins: their paths, prices and keys.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_INNER_SIDE_H
#define SHUTTLE_PLANNER_JOIN_INNER_SIDE_H

#include "planner/join/join.h"

/* A forced path costs this share of what it would, so as to win. */
#define SHUTTLE_FORCED_COST 0.0001

/* ---- parameterised scans (inner_path.c) */

/*
 * What core knows of a base relation's scans with these parameters.  It is
 * made where the relation lives: core's genetic search throws away whatever
 * else is made while it tries a join.  NULL without parameters.
 */
extern ParamPathInfo *shuttle_param_info(PlannerInfo *root, RelOptInfo *rel,
										 Relids required_outer);

/* What a dry run tells of a scan with parameters. */
typedef struct ShuttleVerdict
{
	bool		can_batch;
	bool		may_fail;
} ShuttleVerdict;

/* The child whose clauses were made last; zeroes before the first one. */
typedef struct ShuttleSibling
{
	RelOptInfo *rel;			/* NULL: its clauses are of no use to others */
	const ParamPathInfo *info;
	Bitmapset  *columns;		/* of the parent, that they use */
	const ShuttleVerdict *verdict;	/* of the child after it, too, unless NULL */
} ShuttleSibling;

/*
 * The same for a child, with the clauses that its parent's scans with these
 * parameters have, and so many rows.
 */
extern ParamPathInfo *shuttle_child_param_info(PlannerInfo *root, RelOptInfo *child,
											   RelOptInfo *parent,
											   const ParamPathInfo *info,
											   double rows, ShuttleSibling *sibling);

/*
 * A scan of the foreign table that takes its parameters from the relations of
 * info, a key at a time.  It is never put into the relation's list of paths, so
 * that no other join can use its price.  NULL where none of the join clauses
 * can be shipped.  Sets *may_fail where what is shipped may.  sibling: as
 * shuttle_child_param_info() left it, or zeroes.
 */
extern Path *shuttle_inner_path(PlannerInfo *root, RelOptInfo *inner,
								const ParamPathInfo *info, Cost startup, Cost total,
								ShuttleSibling *sibling, bool *may_fail);

/* ---- the inner side of a batched join (inner_append.c) */

typedef struct ShuttleInner
{
	RelOptInfo *rel;
	List	   *leaves;			/* that have its rows: itself, or its children */
	bool		partitioned;	/* some are partitions */
	ShuttleGroups *groups;		/* or NULL: then it has leaves */
	const ParamPathInfo *info;	/* what it takes of the outer side */
	double		rows_per_key;
	double		share;			/* of the leaves, that a key visits */
	Path		price;			/* of a scan for one outer row, and nothing
								 * else of it */
} ShuttleInner;

/* The price of an inner side, but for its costs. */
extern void shuttle_inner_begin_price(ShuttleInner *inner);

/* Fills in the price, with rows_per_key and share, and what each batch asks;
 * false where a leaf cannot be asked by key. */
extern bool shuttle_inner_price(PlannerInfo *root, ShuttleInner *inner,
								ShuttleKeyEstimate *estimate);

/*
 * A scan with that price, which finds out if what it asks may fail: of a table with foreign partitions or heirs, and of a
 * UNION ALL of foreign tables, it is an Append, routed where it has partitions.
 * NULL where a leaf has no clause that can be shipped.
 */
extern Path *shuttle_inner_make(PlannerInfo *root, const ShuttleInner *inner,
								ShuttleKeyEstimate *estimate);

/* The relations that have the rows of a base relation, or of a join that is made
 * partition by partition: itself, or its children and theirs.  Sets *partitioned
 * where some are partitions. */
extern List *shuttle_append_leaves(PlannerInfo *root, RelOptInfo *rel,
								   bool *partitioned);

/* The server of the first foreign table among relations, or InvalidOid. */
extern Oid	shuttle_leaves_server(const List *leaves);

/* The share of a partitioned table's children that a key visits where these are
 * its conditions. */
extern double shuttle_visited_share(const RelOptInfo *rel, const List *clauses,
									int nchildren);

/* True where clauses with values of the outer side may be part of a scan's
 * SELECT: no security barrier, no volatile function. */
extern bool shuttle_clauses_can_be_asked(const List *clauses, RelOptInfo *inner);

/* ---- scans of a subquery (subquery_scans.c) */

typedef struct ShuttleSubqueryScan
{
	PlannerInfo *root;			/* query level */
	Path	   *path;
	double		share;			/* of keys, that visit it */
	bool		is_alike;		/* as the one before: another partition */
} ShuttleSubqueryScan;

/* The scans below a path of a subquery; NIL where they are below a join that is
 * made here, or below other nodes that cost more for a key than they seem to. */
extern List *shuttle_subquery_scans(PlannerInfo *subroot, Path *path);

/* The tables that such a scan reads: RelOptInfos. */
extern List *shuttle_scanned_tables(const ShuttleSubqueryScan *scan);

/* ---- groups of the keys alone (inner_groups.c, grouped_subquery.c) */

/* True of a subquery with GROUP BY or DISTINCT and no more than can be planned a
 * second time. */
extern bool shuttle_has_plain_groups(const RangeTblEntry *rte);

/* The server of the first foreign table that such a subquery reads, else
 * InvalidOid. */
extern Oid	shuttle_groups_server(PlannerInfo *root, RelOptInfo *rel);

/* Those of join clauses that can be tested before the grouping. */
extern List *shuttle_clauses_on_groups(PlannerInfo *root, RelOptInfo *rel,
									   const List *clauses);

/* A copy of a relation's subquery that tests these clauses, beside the conditions
 * that core has given its own copy. */
extern Query *shuttle_subquery_with_clauses(PlannerInfo *root, const RelOptInfo *rel,
											const List *clauses);

/* True where the conditions of a planned copy are those of core's, and so many. */
extern bool shuttle_checks_the_same(const Query *planned, const Query *by_core,
									int nclauses);

/* The subquery planned for the keys of these clauses; remembered for the planning.
 * NULL where its nodes cannot be asked by key. */
extern ShuttleGroups *shuttle_groups_plan(PlannerInfo *root, RelOptInfo *rel,
										  const List *clauses);

/* Fills in what a key costs, and what each batch asks. */
extern void shuttle_groups_price(const ShuttleGroups *groups, Path *price,
								 ShuttleKeyEstimate *estimate);

/* A scan of the groups with that price and its parameters. */
extern Path *shuttle_groups_make(PlannerInfo *root, const ShuttleGroups *groups,
								 const Path *price);

/* Has core make the relation's plan of these groups. */
extern void shuttle_groups_adopt(const ShuttleGroups *groups);

/* ---- values that are computed here (outer_values.c) */

/* GetForeignPlan of all foreign tables that are asked for keys: postgres_fdw's,
 * with values of the outer side that it would not ship computed here. */
extern ForeignScan *shuttle_plan_foreign_scan(PlannerInfo *root, RelOptInfo *rel,
											  Oid relid, ForeignPath *path,
											  List *targetlist, List *clauses,
											  Plan *outer);

/* True where postgres_fdw may be shown a parameter in the place of an expression. */
extern bool shuttle_may_stand_in(Node *node);

/* True of a part of a CASE or a coercion of elements, or of the whole: what it
 * refers to is known inside it only. */
extern bool shuttle_refers_inside(Node *node);

/* The parameter; its number is negative. */
extern Param *shuttle_make_stand_in(Node *node, int number);

#endif							/* SHUTTLE_PLANNER_JOIN_INNER_SIDE_H */

/*-------------------------------------------------------------------------
 * scan.h
 *	  Paths of single foreign tables: prices, order and text of a scan.
 *
 * Files: scan_price.c adds the round trips that postgres_fdw leaves out;
 * remote_paths.c and remote_estimate.c ask the node's planner;
 * sibling_scans.c plans partitions that are alike once; text_order.c,
 * ignored_collations.c and locked_order.c say which order a node's rows have.
 *
 * In: paths of postgres_fdw. Out: the same with prices that compare.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SCAN_SCAN_H
#define SHUTTLE_PLANNER_SCAN_SCAN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* ---- costs (batch_cost.c, key_estimate.c) */

/* Has the scans of joins repriced (scan_price.c). */
extern void shuttle_scan_price_init(void);

/* GetForeignJoinPaths of our wrapper (remote_paths.c). */
extern void shuttle_remote_join_paths(PlannerInfo *root, RelOptInfo *rel,
									  RelOptInfo *outer, RelOptInfo *inner,
									  JoinType type, JoinPathExtraData *extra);

/* ---- functions that ignore collations (ignored_collations.c) */

/* An expression as postgres_fdw may be shown it, and as it was before. */
extern Node *shuttle_without_ignored_collations(Node *node);
extern Node *shuttle_with_ignored_collations(Node *node);

/* ---- scans of tables that are alike (sibling_scans.c) */

/* The plan of a child's scan, made of a sibling's; NULL where none is known that
 * differs in the table alone. */
extern ForeignScan *shuttle_sibling_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
										 const ForeignPath *path, List *targetlist,
										 const List *clauses);

/* Remembers the plan of a child's scan for its siblings; all that is needed of it
 * is copied. */
extern void shuttle_sibling_remember(PlannerInfo *root, RelOptInfo *rel, Oid relid,
									 const ForeignPath *path, const List *clauses,
									 const ForeignScan *scan);

/* ---- estimates by a node (remote_estimate.c, remote_paths.c) */

/* A path as the node sees it, without what the transfer of rows costs. */
typedef struct ShuttleEstimate
{
	bool		found;
	double		retrieved_rows; /* before local conditions */
	double		rows;
	int			width;			/* bytes */
	Cost		startup_cost;
	Cost		total_cost;
} ShuttleEstimate;

/*
 * The plan that postgres_fdw makes of a path, for a look at it.  The run's
 * only trace is in the relation's private data, and the real run overwrites it.
 * more_clauses: conditions of a scan, beside its relation's.
 */
extern ForeignScan *shuttle_dry_run(PlannerInfo *root, ForeignPath *path,
									List *more_clauses);

/* What the node says of a path; NULL where it said nothing that we know. */
extern const ShuttleEstimate *shuttle_estimate_path(PlannerInfo *root,
													ForeignPath *path);

/* The same for a path without order, and without parameters but for lateral
 * references: asked once a relation. */
extern const ShuttleEstimate *shuttle_estimate_rel(PlannerInfo *root,
												   ForeignPath *path);

/* Gives a path the estimate's rows and costs, with those of the transfer. */
extern void shuttle_estimate_apply(PlannerInfo *root, ForeignPath *path,
								   const ShuttleEstimate *estimate);

/* ---- the order of text (text_order.c) */

/*
 * True where the node of a relation sorts values of a type, by a collation if they
 * have one, as this server does.  It is asked on a connection of its own where the
 * session does not know.
 * Errors: cancel and timeouts; a node that cannot be asked sorts otherwise.
 */
extern bool shuttle_sorts_alike(PlannerInfo *root, const RelOptInfo *rel,
								Oid type, Oid collation);

/* The same of what is equal to some column of the relation. */
extern bool shuttle_class_sorts_alike(PlannerInfo *root, const RelOptInfo *rel,
									  const EquivalenceClass *class);

/* The same of an order that the relation's rows might come in. */
extern bool shuttle_order_is_alike(PlannerInfo *root, const RelOptInfo *rel,
								   const List *pathkeys);

/* The same of aggregates over a relation that depend on the order of text. */
extern bool shuttle_aggregates_are_alike(PlannerInfo *root,
										 const RelOptInfo *input,
										 const RelOptInfo *grouped,
										 const GroupPathExtraData *extra);

/* ---- order of rows that nodes lock (locked_order.c) */

/* Has merge joins of them sort here. */
extern void shuttle_locked_order_init(void);

#endif							/* SHUTTLE_PLANNER_SCAN_SCAN_H */

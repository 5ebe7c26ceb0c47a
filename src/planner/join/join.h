/*-------------------------------------------------------------------------
 * join.h
 *	  Batched joins as paths: when a nested loop asks a node for many keys at once.
 *
 * Files: join_path.c adds the paths; look_ahead_path.c makes the node over the outer
 * side; inner_path.c, inner_append.c and inner_groups.c make inner sides of a table,
 * of partitions and of groups; grouped_subquery.c and subquery_scans.c look into
 * subqueries with groups; key_estimate.c says what keys cost; node_joins.c, fixed_keys.c
 * and reference_tables.c decide what a node may join by itself, partition_orders.c
 * what core need not plan then, and whole_table_joins.c what is joined otherwise;
 * broken_semi_joins.c drops paths of postgres_fdw's that would fail on the node.
 *
 * In: core's relations and join clauses. Out: paths that core compares with
 * its own.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_JOIN_H
#define SHUTTLE_PLANNER_JOIN_JOIN_H

#include "nodes/pathnodes.h"

#include "planner/facts/batch_cost.h"

typedef struct ShuttleGroups ShuttleGroups; /* inner_side.h */

/* ---- costs (key_estimate.c) */

/* The estimate for join clauses info->ppi_clauses. */
extern ShuttleKeyEstimate shuttle_key_estimate_make(PlannerInfo *root, RelOptInfo *outer,
													RelOptInfo *inner, const ParamPathInfo *info,
													Oid serverid);

/* Changes the estimate: each row of the outer path has a key of its own. */
extern void shuttle_key_estimate_set_once(ShuttleKeyEstimate *estimate, const Path *outer);

/* Inner rows expected for one key. */
extern double shuttle_key_estimate_rows_per_key(const RelOptInfo *inner,
												const ParamPathInfo *info);

/* True if a clause compares a column with which the physical order is
 * correlated. */
extern bool shuttle_key_estimate_asks_ordered_column(PlannerInfo *root, const RelOptInfo *inner,
													 const List *clauses);

/* ---- Look Ahead as a path (look_ahead_path.c) */

/* A Look Ahead over a path, with the cost of its batches. groups: the inner
 * side, if the join is over groups; else NULL. */
extern Path *shuttle_look_ahead_path(PlannerInfo *root, Path *outer,
									 const ShuttleKeyEstimate *estimate,
									 ShuttleGroups *groups);

/* True if a path returns ROWID_VAR columns, which custom scans cannot pass on
 * before setrefs.c has resolved them. */
extern bool shuttle_look_ahead_names_child_rows(const Path *path);

/* A routed append over an Append's path, at the same cost; the Append itself if
 * it returns ROWID_VAR columns. */
extern Path *shuttle_look_ahead_routed_append_path(Path *append);

/* ---- batched joins (join_path.c) */

/* Part of set_join_pathlist_hook: adds paths of batched joins. */
extern void shuttle_join_path_consider(PlannerInfo *root, RelOptInfo *joinrel,
									   RelOptInfo *outer, RelOptInfo *inner,
									   JoinType type, JoinPathExtraData *extra);

#endif							/* SHUTTLE_PLANNER_JOIN_JOIN_H */

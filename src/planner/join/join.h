/*-------------------------------------------------------------------------
 * join.h
 *	  Batched joins as paths: when a nested loop asks a node for many keys at once.
 *
 * Files: join_path.c adds the paths; look_ahead_path.c makes the node over the outer
 * side; inner_path.c, inner_append.c and inner_groups.c make inner sides of a table,
 * of partitions and of groups; grouped_subquery.c and subquery_scans.c look into
 * subqueries with groups; outer_values.c has expressions computed here and sent as
 * keys; batch_cost.c and key_estimate.c say what it costs; node_joins.c, fixed_keys.c
 * and reference_tables.c decide what a node may join by itself, partition_orders.c
 * what core need not plan then, and kept_joins.c what is joined otherwise;
 * broken_semi_joins.c drops paths of postgres_fdw's that would fail on the node.
 *
 * In: core's relations and join clauses. Out: paths that core compares with
 * its own.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_JOIN_H
#define SHUTTLE_PLANNER_JOIN_JOIN_H

#include "nodes/pathnodes.h"

typedef struct ShuttleGroups ShuttleGroups; /* inner_side.h */

/* ---- costs (batch_cost.c, key_estimate.c) */

/* Costs and limits of a server. */
typedef struct ShuttleServerCost
{
	bool		guest;			/* a server of stock postgres_fdw */
	Cost		reach;			/* fdw_startup_cost of a scan */
	Cost		round_trip;		/* of one hop */
	Cost		request;		/* of a request, without round trip, keys and
								 * rows */
	Cost		row;			/* of one fetched row */
	Cost		postgres_fdw_row;	/* what postgres_fdw's paths charge for it */
	int			batch_size;		/* outer rows per batch */
	int			request_limit;	/* keys per request */
	int			in_flight;		/* batches in flight at most */
} ShuttleServerCost;

/* What a batched join asks nodes for. */
typedef struct ShuttleKeyEstimate
{
	ShuttleServerCost server;
	double		outer_rows;
	bool		outer_waits;	/* the outer side reads a foreign table, too */
	bool		answers_kept;	/* answers are cached for later batches
								 * (key_cache.c) */
	bool		may_fail;		/* the remote expressions can raise errors */
	double		keys_per_row;	/* keys sent per outer row; below 1 if keys
								 * repeat */
	double		rows_per_row;	/* inner rows received per outer row */
	bool		by_ordered_column;	/* the key column is correlated with the
									 * physical order */
	int			nscans;			/* inner scans (partitions) that a batch has
								 * keys for */
	int			inner_width;	/* bytes of an inner row */
} ShuttleKeyEstimate;

/* Remembered until planning ends. */
extern ShuttleServerCost shuttle_server_cost(PlannerInfo *root, Oid serverid);

/* The estimate for join clauses info->ppi_clauses. */
extern ShuttleKeyEstimate shuttle_key_estimate_make(PlannerInfo *root, RelOptInfo *outer,
													RelOptInfo *inner, const ParamPathInfo *info,
													Oid serverid);

/* Changes the estimate: each row of the outer path has a key of its own. */
extern void shuttle_key_estimate_set_once(ShuttleKeyEstimate *estimate, const Path *outer);

/* Cost of a Look Ahead over a path: hops, requests and local work. */
extern void shuttle_batches_cost(const ShuttleKeyEstimate *estimate, const Path *outer,
								 Cost *startup, Cost *total);

/* Inner rows expected for one key. */
extern double shuttle_rows_per_key(const RelOptInfo *inner,
								   const ParamPathInfo *info);

/* Cost of one key and its rows, if nkeys are sent in total. */
extern void shuttle_key_cost(PlannerInfo *root, RelOptInfo *inner,
							 const ShuttleServerCost *server, double rows,
							 double nkeys, Cost *startup, Cost *total);

/* The same if the node computes groups: path returns them for one key, which
 * finds so many rows in each of the tables. */
extern void shuttle_groups_key_cost(PlannerInfo *root, const Path *path,
									const List *tables,
									const ShuttleServerCost *server, double rows,
									double nkeys, Cost *startup, Cost *total);

/* True if a clause compares a column with which the physical order is
 * correlated. */
extern bool shuttle_asks_for_ordered_column(PlannerInfo *root, const RelOptInfo *inner,
											const List *clauses);

/* Cost per outer row for the risk that the node has no index for the key. */
extern Cost shuttle_doubt_cost(const RelOptInfo *inner, const ShuttleKeyEstimate *estimate);

/* Adds the round trips that postgres_fdw does not charge. nsiblings: partitions
 * that are scanned together. */
extern void shuttle_reprice_scan(const ShuttleServerCost *server, Path *path,
								 double page_rows, int nsiblings);

/* ---- Look Ahead as a path (look_ahead_path.c) */

/* A Look Ahead over a path, with the cost of its batches. groups: the inner
 * side, if the join is over groups; else NULL. */
extern Path *shuttle_look_ahead_path(PlannerInfo *root, Path *outer,
									 const ShuttleKeyEstimate *estimate,
									 ShuttleGroups *groups);

/* True if a path returns ROWID_VAR columns, which custom scans cannot pass on
 * before setrefs.c has resolved them. */
extern bool shuttle_names_child_rows(const Path *path);

/* A routed append over an Append's path, at the same cost; the Append itself if
 * it returns ROWID_VAR columns. */
extern Path *shuttle_routed_append_path(Path *append);

/* ---- batched joins (join_path.c) */

/* Part of set_join_pathlist_hook: adds paths of batched joins. */
extern void shuttle_join_path_consider(PlannerInfo *root, RelOptInfo *joinrel,
									   RelOptInfo *outer, RelOptInfo *inner,
									   JoinType type, JoinPathExtraData *extra);

#endif							/* SHUTTLE_PLANNER_JOIN_JOIN_H */

/*-------------------------------------------------------------------------
 * join.h
 *	  Batched joins as paths: when a nested loop asks a node for many keys at once.
 *
 * Files: join_path.c adds the paths; look_ahead_path.c makes the node over the
 * outer side; inner_path.c, inner_append.c and inner_groups.c make inner sides
 * of a table, of partitions and of groups; batch_cost.c and key_estimate.c say
 * what they cost; node_joins.c, fixed_keys.c, reference_tables.c and
 * semi_joins.c decide what a node may join by itself.
 *
 * In: core's relations and join clauses. Out: paths that core compares with
 * its own.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_JOIN_H
#define SHUTTLE_PLANNER_JOIN_JOIN_H

#include "base/shuttle_compat.h"

/* ---- costs (batch_cost.c, key_estimate.c) */

/* What the planner knows of a server's way to answer. */
typedef struct ShuttleServerCost
{
	bool		guest;			/* of stock postgres_fdw */
	Cost		reach;			/* of a scan, before its first row */
	Cost		round_trip;		/* one that nothing hides */
	Cost		request;		/* beside round trips, keys and rows */
	Cost		row;			/* of one fetched row */
	Cost		postgres_fdw_row;	/* the same in paths of postgres_fdw */
	int			batch_size;		/* outer rows */
	int			request_limit;	/* keys */
	int			in_flight;		/* batches */
} ShuttleServerCost;

/* What a batched join of two relations asks for. */
typedef struct ShuttleKeyEstimate
{
	ShuttleServerCost server;
	double		outer_rows;
	bool		outer_waits;	/* outer rows come from nodes themselves */
	bool		answers_kept;	/* for the keys of later batches */
	bool		may_fail;		/* what nodes compute for a key */
	double		keys_per_row;	/* asked for, for each outer row */
	double		rows_per_row;	/* that come, for each outer row */
	bool		by_ordered_column;	/* that the inner rows lie in order of */
	int			nscans;			/* that a batch may ask */
	int			inner_width;	/* bytes of a row */
} ShuttleKeyEstimate;

/* The answer is remembered for the planning. */
extern ShuttleServerCost shuttle_server_cost(PlannerInfo *root, Oid serverid);

/* What a join asks for with the clauses of info. */
extern ShuttleKeyEstimate shuttle_key_estimate_make(PlannerInfo *root, RelOptInfo *outer,
													RelOptInfo *inner, const ParamPathInfo *info,
													Oid serverid);

/* The same where each row of an outer path has a key of its own. */
extern void shuttle_key_estimate_set_once(ShuttleKeyEstimate *estimate, const Path *outer);

/* Cost of the round trips that nothing hides, and of what is done here, for the
 * rows of a path. */
extern void shuttle_batches_cost(const ShuttleKeyEstimate *estimate, const Path *outer,
								 Cost *startup, Cost *total);

/* Rows of a relation that one key is expected to find. */
extern double shuttle_rows_per_key(const RelOptInfo *inner,
								   const ParamPathInfo *info);

/* True where a query, or any within it, reads a foreign table. */
extern bool shuttle_reads_node(Node *query);

/* Cost of one key, and with its rows, where nkeys are asked for in all. */
extern void shuttle_key_cost(PlannerInfo *root, RelOptInfo *inner,
							 const ShuttleServerCost *server, double rows,
							 double nkeys, Cost *startup, Cost *total);

/* The same where a node makes a path's groups of so many rows for each key, which
 * it finds in each of the tables. */
extern void shuttle_groups_key_cost(PlannerInfo *root, const Path *path,
									const List *tables,
									const ShuttleServerCost *server, double rows,
									double nkeys, Cost *startup, Cost *total);

/* True where a clause asks for a column that rows lie in the order of. */
extern bool shuttle_asks_for_ordered_column(PlannerInfo *root, const RelOptInfo *inner,
											const List *clauses);

/* For each outer row, what it may cost that the node has no index. */
extern Cost shuttle_doubt_cost(const RelOptInfo *inner, const ShuttleKeyEstimate *estimate);

/* Adds to a scan's cost what postgres_fdw leaves out.  nsiblings: partitions
 * that are read together. */
extern void shuttle_reprice_scan(const ShuttleServerCost *server, Path *path,
								 double page_rows, int nsiblings);

/* ---- the inner side of a batched join (inner_append.c) */
typedef struct ShuttleGroups ShuttleGroups;

/* ---- Look Ahead as a path (look_ahead_path.c) */

/* A Look Ahead over a path, with the cost of its batches.  groups: that it is to be
 * joined with, or NULL. */
extern Path *shuttle_look_ahead_path(PlannerInfo *root, Path *outer,
									 const ShuttleKeyEstimate *estimate,
									 ShuttleGroups *groups);

/* True where no node of ours can stand above a path before the plan is
 * finished: its rows are named by variables of several result tables. */
extern bool shuttle_names_child_rows(const Path *path);

/* A routed append over an Append's path, at its cost; Append itself where it
 * names rows of its children. */
extern Path *shuttle_routed_append_path(Path *append);

/* ---- joins (join_path.c), finished plans (place_look_ahead.c) */
extern void shuttle_join_path_init(void);

#endif							/* SHUTTLE_PLANNER_JOIN_JOIN_H */

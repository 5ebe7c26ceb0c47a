/*-------------------------------------------------------------------------
 * batch_cost.h
 *	  What servers, batches and keys cost (batch_cost.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_BATCH_COST_H
#define SHUTTLE_PLANNER_FACTS_BATCH_COST_H

#include "nodes/pathnodes.h"

/* Overhead bytes of a row in memory and on the wire, in estimates. */
#define SHUTTLE_ROW_OVERHEAD_BYTES 64

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
extern ShuttleServerCost shuttle_batch_cost_of_server(PlannerInfo *root, Oid serverid);

/* True if it costs less to ask some tables where rows are, and then those that have them, nasked together,
 * than to ask all nparts at once. */
extern bool shuttle_batch_cost_prefers_places(Oid serverid, int nparts, double nasked);

/* Cost of a Look Ahead over a path: hops, requests and local work. */
extern void shuttle_batches_cost(const ShuttleKeyEstimate *estimate, const Path *outer,
								 Cost *startup, Cost *total);

/* Cost of one key and its rows, if nkeys are sent in total. */
extern void shuttle_batch_cost_of_key(PlannerInfo *root, RelOptInfo *inner,
									  const ShuttleServerCost *server, double rows,
									  double nkeys, Cost *startup, Cost *total);

/* The same if the node computes groups: path returns them for one key, which
 * finds so many rows in each of the tables. */
extern void shuttle_batch_cost_of_groups_key(PlannerInfo *root, const Path *path,
											 const List *tables,
											 const ShuttleServerCost *server, double rows,
											 double nkeys, Cost *startup, Cost *total);

/* Cost per outer row for the risk that the node has no index for the key. */
extern Cost shuttle_batch_cost_of_doubt(const RelOptInfo *inner, const ShuttleKeyEstimate *estimate);

/* Adds the round trips that postgres_fdw does not charge. nsiblings: partitions
 * that are scanned together. */
extern void shuttle_batch_cost_reprice_scan(const ShuttleServerCost *server, Path *path,
											double page_rows, int nsiblings);

#endif							/* SHUTTLE_PLANNER_FACTS_BATCH_COST_H */

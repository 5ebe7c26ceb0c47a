/*-------------------------------------------------------------------------
 * served_scan.h
 *	  Foreign scans whose rows come from the batches of a Look Ahead, and
 *	  Appends that visit only the children of a key.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_SERVED_SCAN_H
#define SHUTTLE_EXECUTOR_JOIN_SERVED_SCAN_H

#include "foreign/fdwapi.h"

#include "executor/join/key_set.h"
#include "executor/join/transport.h"
#include "executor/scan/scan.h"

/* ---- SQL of a batch (batch_sql.c) */

/*
 * Wraps a parameterized SELECT so that it runs for arrays of keys; the answer
 * has the key's ordinal, from 1, before the SELECT's columns. Parameters keep
 * their numbers: each is an array of a key column's values, or a value if it is
 * the same for all keys. fenced: conditions see only the rows of a key, as if
 * the SELECT ran alone; a table without an index is then read for each key.
 * few: the node's planner sees the number of keys; for our wrapper only.
 */
extern char *shuttle_batch_sql(const ShuttleServedScan *scan, bool fenced, bool few);

/* ---- served scans (served_scan.c) */

struct ShuttleServedScan
{
	FdwRoutine	routine;		/* must be first: fdwroutine points here */
	FdwRoutine *original;
	ForeignScanState *node;
	LookAheadState *look;		/* the current one, if several share it */
	int			index;			/* among the scans of its Look Ahead */

	const ShuttleTransport *transport;
	ShuttleChannel *channel;
	const char *sql;			/* the scan's own SELECT */
	List	   *attributes;		/* of its columns, as in postgres_fdw's plan */
	ShuttleTargetScan *target;	/* NULL: it is not the target of a write */
	ShuttleKeyShape key;
	ShuttleRoutedAppend *append;	/* the parent that routes rows here; or
									 * NULL */

	Bitmapset  *params;			/* parameters that the key depends on */
	bool		conditional;	/* may not be executed for each row */
	bool		waits;			/* an initplan has not run: no keys in this
								 * batch */
	bool		by_position;	/* Look Ahead's position tells the key */
	double		most_rows;		/* so many rows a key are enough; 0: all are
								 * wanted */
	bool		locks;			/* the request locks rows */
	bool		repeatable;		/* an answer may be used by later batches */
	bool		may_fail;		/* what it computes on the node may raise
								 * errors */
	bool		fenced;			/* a request that was not fenced has failed */
	ShuttleKeyCache *cache;		/* NULL: none (yet) */
	int			request_limit;	/* keys per request */
	double		rows_per_key;	/* estimate, then as seen */
	double		bytes_per_key;	/* as seen; 0: not known yet */
	double		keys_per_row;	/* distinct keys of an outer row, as seen */

	/* the scan under way */
	bool		started;
	ShuttleRange *range;		/* NULL: no rows (left) */
	int			row;
	MemoryContext alone_cxt;	/* of a key asked for alone */
	ShuttleKeySet *alone_set;	/* set of that key, or NULL */

	ShuttleCounters counters;
};

/* Replaces a foreign scan's callbacks with those of a served scan. */
extern ShuttleServedScan *shuttle_served_scan_create(ForeignScanState *node,
													 LookAheadState *look,
													 const ShuttleTransport *transport,
													 bool one_row);

/* Before the first request: a LIMIT takes so many rows of a key at most; 0: there is
 * none. The number is the same each time. */
extern void shuttle_served_scan_set_max_rows(ForeignScanState *node, double rows);

/* Gives the foreign scan its own callbacks back. */
extern void shuttle_served_scan_remove(ShuttleServedScan *scan);

/* Lets another Look Ahead use a served scan if its keys are the same. When a
 * Look Ahead is asked for its next row it takes the scan. */
extern bool shuttle_served_scan_can_share(const ForeignScanState *node,
										  const LookAheadState *look);
extern ShuttleServedScan *shuttle_served_scan_share(ForeignScanState *node,
													LookAheadState *look);
extern void shuttle_served_scan_take(ShuttleServedScan *scan,
									 LookAheadState *look, int index);

/* True if the scan's key depends on an initplan that has not run, and that the
 * next row may not need. look: whose next row it is. */
extern bool shuttle_served_scan_waits(ShuttleServedScan *scan,
									  const LookAheadState *look);

/* Executes the initplans that the scan's key depends on, unless it waits. */
extern void shuttle_served_scan_run_initplans(ShuttleServedScan *scan);

/* True if a request for nkeys keys is to be fenced: one key asks as the scan
 * itself would. */
static inline bool
shuttle_served_scan_fences(const ShuttleServedScan *scan, int nkeys)
{
	return nkeys == 1 || scan->fenced || scan->most_rows > 0;
}

/* A served scan's index among its Look Ahead's scans. */
extern int	shuttle_served_scan_index(const PlanState *node);

/* True if a scan's callbacks were replaced. */
extern bool shuttle_served_scan_is_served(const ForeignScanState *node);

/* Forgets the scan's place in a batch that is about to be freed. */
extern void shuttle_served_scan_forget(ShuttleServedScan *scan);

/* ---- routed append (routed_append.c) */

/* Replaces an Append whose children are chosen by run-time pruning, and visits
 * only the children that the current row's key is routed to. */
struct ShuttleRoutedAppend
{
	CustomScanState css;		/* must be first */
	AppendState *append;		/* NULL: core left out the Append */
	LookAheadState *look;		/* NULL: the Append runs as it is */
	int			index;			/* among the routed appends of its Look Ahead */
	ShuttleKeyShape shape;		/* the parameters that pruning depends on */
	bool		by_position;	/* Look Ahead's position tells the route */
	bool		through_append; /* switched off: the Append runs as it is, and
								 * only keys are routed */
	bool	   *served;			/* for each child: it is a served scan */
	Bitmapset  *changed;		/* parameters changed by any rescan */

	/* the scan under way */
	bool		started;
	const Bitmapset *route;
	int			child;			/* current child; < 0: at the end */
	Bitmapset  *own_route;		/* route of a key that no batch has routed */
};

/* The distinct keys of a batch and their children. */
typedef struct ShuttleRoutes
{
	ShuttleKeySet *set;
	int			size;
	const Bitmapset **children; /* for each key of the set */
} ShuttleRoutes;
extern void shuttle_routed_append_register(void);

/*
 * Lets a routed append use a Look Ahead's routes, if its run-time pruning
 * depends on no other parameters than those that Look Ahead sets. Several Look
 * Aheads may take it in turn, as they take served scans.
 */
extern bool shuttle_routed_append_link(ShuttleRoutedAppend *node,
									   LookAheadState *look, bool by_position);
extern void shuttle_routed_append_take(ShuttleRoutedAppend *node,
									   LookAheadState *look, int index);

/* Creates empty routes for a batch, in its context. */
extern ShuttleRoutes *shuttle_routed_append_make_routes(ShuttleRoutedAppend *node,
														int expected, MemoryContext cxt);

/* Routes the key with the current parameters; returns its number among the keys
 * of these routes, or SHUTTLE_KEY_UNKNOWN. */
extern int	shuttle_routed_append_find_route(ShuttleRoutedAppend *node,
											 ShuttleRoutes *routes);

#endif							/* SHUTTLE_EXECUTOR_JOIN_SERVED_SCAN_H */

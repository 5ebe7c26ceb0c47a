/*-------------------------------------------------------------------------
 * served_scan.h
 *	  Foreign scans whose rows come from the batches of a Look Ahead, and Appends
 *	  that visit only the children of a key.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_SERVED_SCAN_H
#define SHUTTLE_EXECUTOR_JOIN_SERVED_SCAN_H

#include "foreign/fdwapi.h"

#include "executor/join/key_set.h"
#include "executor/join/transport.h"
#include "executor/write/write_table.h"

/* ---- SQL of a batch (batch_sql.c) */

/*
 * Wraps a parameterised SELECT so that it runs for arrays of keys; the answer
 * has the key's ordinal, from 1, in front of the SELECT's columns.
 * The parameters keep their numbers: an array for each column of the key, the
 * value itself where it is the same for all keys.
 * fenced: conditions see the rows of a key and no others, as they do where the
 * SELECT stands alone; a table without an index is then read for each key.
 */
extern char *shuttle_batch_sql(const ShuttleServedScan *scan, bool fenced);

/* ---- served scans (served_scan.c) */

struct ShuttleServedScan
{
	FdwRoutine	routine;		/* must be first: fdwroutine points here */
	FdwRoutine *original;
	ForeignScanState *node;
	LookAheadState *look;		/* the one under way, where several share it */
	int			index;			/* among the scans of its Look Ahead */

	const ShuttleTransport *transport;
	ShuttleChannel *channel;
	const char *sql;			/* the scan's own SELECT */
	List	   *attributes;		/* of its columns, as postgres_fdw lists them */
	ShuttleTargetScan *target;	/* NULL: it does not read rows to be changed */
	ShuttleKeyShape key;
	ShuttleRoutedAppend *append;	/* that decides if a row comes here; or
									 * NULL */

	Bitmapset  *params;			/* that the key depends on */
	bool		conditional;	/* may not be executed for the next row */
	bool		waits;			/* for an initplan: no keys in this batch */
	bool		by_position;	/* may trust the position of Look Ahead */
	bool		one_row;		/* one row a key is enough */
	bool		locks;			/* the request locks rows */
	bool		repeatable;		/* an answer may be used by later batches */
	bool		may_fail;		/* by what it computes on the node */
	bool		fenced;			/* a request failed that was not */
	ShuttleKeyCache *cache;		/* NULL: none (yet) */
	int			request_limit;	/* keys */
	double		rows_per_key;	/* estimate, then as seen */
	double		bytes_per_key;	/* as seen; 0: not known yet */
	double		keys_per_row;	/* distinct keys of an outer row, as seen */

	/* the scan under way */
	bool		started;
	ShuttleRange *range;		/* NULL: no rows (left) */
	int			row;
	MemoryContext alone_cxt;	/* of a key that was not asked for ahead */
	ShuttleKeySet *alone_set;	/* that key, or NULL */

	ShuttleCounters counters;
};

/* Puts a served scan in the place of a foreign scan's callbacks. */
extern ShuttleServedScan *shuttle_served_scan_create(ForeignScanState *node,
													 LookAheadState *look,
													 const ShuttleTransport *transport,
													 bool one_row);

/*
 * Lets one more Look Ahead use a served scan, if its keys are the same; the
 * one that is asked for its next row takes the scan.
 */
extern bool shuttle_served_scan_can_share(const ForeignScanState *node,
										  const LookAheadState *look);
extern ShuttleServedScan *shuttle_served_scan_share(ForeignScanState *node,
													LookAheadState *look);
extern void shuttle_served_scan_take(ShuttleServedScan *scan,
									 LookAheadState *look, int index);

/* True where the scan's key depends on an initplan that was not executed yet,
 * and need not be for a row to come.  look: whose next row it is. */
extern bool shuttle_served_scan_waits(ShuttleServedScan *scan,
									  const LookAheadState *look);

/* Executes the initplans that the scan's key depends on; not for one that
 * waits. */
extern void shuttle_served_scan_settle(ShuttleServedScan *scan);

/* True where a request for so many keys is to be fenced: one key asks as the
 * scan itself would. */
static inline bool
shuttle_served_scan_fences(const ShuttleServedScan *scan, int nkeys)
{
	return nkeys == 1 || scan->fenced || scan->one_row;
}

/* Which of its Look Ahead's scans a served scan is. */
extern int	shuttle_served_scan_index(const PlanState *node);

/* True where the callbacks of a scan node were replaced. */
extern bool shuttle_is_served_scan(const ForeignScanState *node);

/* Forgets where in a batch the scan stands; the batch is about to go. */
extern void shuttle_served_scan_forget(ShuttleServedScan *scan);

/* ---- routed append (routed_append.c) */

/*
 * Stands where an Append stood whose children are chosen by run-time pruning,
 * and visits only the children that the current row's key is routed to.
 */
struct ShuttleRoutedAppend
{
	CustomScanState css;		/* must be first */
	AppendState *append;		/* NULL where nothing was left to append */
	LookAheadState *look;		/* NULL: the Append runs as it is */
	int			index;			/* among the routed appends of its Look Ahead */
	ShuttleKeyShape shape;		/* the parameters that pruning depends on */
	bool		by_position;	/* may trust the position of Look Ahead */
	bool		through_append; /* switched off: the Append runs as it is, and
								 * only keys are routed */
	bool	   *served;			/* for each child: is it a served scan */
	Bitmapset  *changed;		/* parameters that changed in any rescan */

	/* the scan under way */
	bool		started;
	const Bitmapset *route;
	int			child;			/* being read; < 0: at the end */
	Bitmapset  *own_route;		/* of a key that no batch has routed */
};

/* Where the keys of one batch go. */
typedef struct ShuttleRoutes
{
	ShuttleKeySet *set;
	int			size;
	const Bitmapset **children; /* for each key of the set */
} ShuttleRoutes;
extern void shuttle_routed_append_register(void);

/* Lets a routed append choose by the routes of a Look Ahead, if pruning at
 * run time decides by nothing but the parameters that it sets.  Several may
 * take it in turn, as they take served scans. */
extern bool shuttle_routed_append_link(ShuttleRoutedAppend *node,
									   LookAheadState *look, bool by_position);
extern void shuttle_routed_append_take(ShuttleRoutedAppend *node,
									   LookAheadState *look, int index);

/* Empty routes of a batch; they live in its context. */
extern ShuttleRoutes *shuttle_routes_create(ShuttleRoutedAppend *node,
											int expected, MemoryContext cxt);

/* Routes the key under the parameters as they are set now; returns its
 * number among the keys of these routes. */
extern int	shuttle_routes_find(ShuttleRoutedAppend *node,
								ShuttleRoutes *routes);

/* ---- Look Ahead (look_ahead.c) */

/* Has a scan node do without its Look Ahead (served_scan.c). */
extern void shuttle_served_scan_remove(ShuttleServedScan *scan);

#endif							/* SHUTTLE_EXECUTOR_JOIN_SERVED_SCAN_H */

/*-------------------------------------------------------------------------
 * shuttle_window.h
 *	  Door of the executor room: scans whose node returns only the first rows of
 *	  windows (window_sql.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_WINDOW_H
#define SHUTTLE_WINDOW_H

#include "nodes/plannodes.h"

/* A key of a window, for the node. */
typedef struct ShuttleWindowKey
{
	int			column;			/* of the scan's SELECT, from 1 */
	bool		descending;
	bool		nulls_first;
} ShuttleWindowKey;

/* Which rows of a window's partitions a node returns. */
typedef struct ShuttleWindowLimit
{
	const char *function;		/* row_number, rank or dense_rank */
	const char *condition;		/* what its value is compared with: "<= 3" */
	int			npartition;		/* keys of PARTITION BY; the others: ORDER BY */
	int			nkeys;
	ShuttleWindowKey *keys;
} ShuttleWindowLimit;

/* True if a scan's SELECT, which must be known, returns nothing but columns. */
extern bool shuttle_window_sql_reads_columns_only(const ForeignScan *scan);

/* The column of a scan's SELECT that is a table's column, from 1; 0: none. */
extern int	shuttle_window_sql_find_column(const ForeignScan *scan, const Var *var);

/* The scan with a SELECT that returns these rows only, in the window's order. The scan
 * itself must not be in an order. */
extern ForeignScan *shuttle_window_sql_limit_scan(const ForeignScan *scan,
												  const ShuttleWindowLimit *limit);

#endif							/* SHUTTLE_WINDOW_H */

/*-------------------------------------------------------------------------
 * shuttle_row_counts.h
 *	  Row counts of foreign tables without statistics (row_counts.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_ROW_COUNTS_H
#define SHUTTLE_ROW_COUNTS_H

#include "access/attnum.h"
#include "nodes/pg_list.h"

typedef struct ShuttleUncounted
{
	Oid			relid;
	Oid			serverid;
	Oid			userid;			/* whose mapping is used */
	char	   *schema;			/* its name on the node */
	char	   *name;
} ShuttleUncounted;

/* True if the node should be asked: no recent count is known, and it has not failed to
 * answer lately. */
extern bool shuttle_row_count_is_missing(Oid relid, Oid serverid, Oid userid);

/*
 * Asks the nodes of tables (ShuttleUncounted) for their row counts, and waits for all
 * answers, at most 2 s. Errors: cancel and timeouts; a node that fails is not asked
 * again for a while.
 */
extern void shuttle_row_counts_ask(const List *tables);

/* The count of a table, which must be locked; false: it is not known. */
extern bool shuttle_row_count_find(Oid relid, double *rows, double *pages);

/* False in most sessions, which never ask. */
extern bool shuttle_row_counts_are_known(void);

/* As in pg_statistic: stadistinct and stanullfrac. */
typedef struct ShuttleColumnCount
{
	float4		distinct_values;	/* negative: a fraction of the rows */
	float4		null_fraction;
} ShuttleColumnCount;

/* What came with it of a column; false: nothing. */
extern bool shuttle_row_counts_find_column(Oid relid, AttrNumber attribute, ShuttleColumnCount *column);

#endif							/* SHUTTLE_ROW_COUNTS_H */

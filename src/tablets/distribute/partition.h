/*-------------------------------------------------------------------------
 * partition.h
 *	  What a partitioned table and its distributed partitions have to agree in.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DISTRIBUTE_PARTITION_H
#define SHUTTLE_TABLETS_DISTRIBUTE_PARTITION_H

#include "nodes/pg_list.h"

/* ---- partition_bounds.c */

/* While a table gets a partition: core warns that it does not look at rows of a default
 * partition on nodes, but we do. Returns a level for AtEOXact_GUC(true, ..). */
extern int	shuttle_partition_begin_quiet(Oid parent);

/* Looks for a row of the default partition that belongs to a new one, and for rows of a new one
 * that do not. Errors: ERRCODE_CHECK_VIOLATION; ERRCODE_FEATURE_NOT_SUPPORTED if the
 * transaction's snapshot is an old one. */
extern void shuttle_partition_check_default(Oid partition);
extern void shuttle_partition_check_rows(Oid partition);

/* True if one of these tablets of a partition has a row that does not belong to the partition; bounds
 * by hash are not looked at. */
extern bool shuttle_partition_has_strays(Oid partition, const List *tablets);

/* A table has got or lost a partition: what is below the default partition is held against other
 * bounds now. Core forgets those of the default partition itself only. */
extern void shuttle_partition_bounds_changed(Oid parent);

/* ---- partition_indexes.c */

/* The indexes of a table that is locked, in a list of the caller's own. */
extern List *shuttle_partition_index_list(Oid relid);

/* Makes the index, or the constraint with one, that a table has got without its partitions for
 * all of them, too, and marks it as valid if all theirs are. */
extern void shuttle_partition_spread_index(Oid indexid);

/* Marks the indexes of a table as valid that all its partitions have as valid ones. */
extern void shuttle_partition_validate_indexes(Oid relid);

#endif							/* SHUTTLE_TABLETS_DISTRIBUTE_PARTITION_H */

/*-------------------------------------------------------------------------
 * partitions.h
 *	  Partitioned tables whose partitions are distributed tables.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_PARTITIONS_H
#define SHUTTLE_TABLETS_COMMON_PARTITIONS_H

#include "storage/lockdefs.h"

#include "tablets/common/layout.h"
#include "tablets/common/places.h"

/* A table and all partitions below it, parents first, without tablets; each is locked. */
extern List *shuttle_partitions_all(Oid relid, LOCKMODE mode);

/* Those that are distributed tables. */
extern List *shuttle_partitions_distributed(Oid relid);

/* The partitioned table that a table is a partition of, if that one is ours; InvalidOid: it is
 * none. */
extern Oid	shuttle_partitions_parent(Oid relid);

/* The partitioned table of ours at the top of a tree; relid: the table is no partition of ours. */
extern Oid	shuttle_partitions_top(Oid relid);

/* shuttle_table_lock_owned() of a table, and before it the same lock on its parent, if that is
 * ours: others route rows by what they know of the parent. Strangers are refused before. */
extern void shuttle_partitions_lock_owned(Oid relid);

/* The name of the column that spreads the partitions of a table of ours. */
extern char *shuttle_partitions_key(Oid relid);

/* A distributed partition, anywhere in the tree of a partitioned table of ours, for which these
 * placement rules hold; InvalidOid: there is none. */
extern Oid	shuttle_partitions_sibling(Oid relid, const char *rules);

/* How a new partition of a table is spread: as others with its placement rules, or as was said
 * when there were none. */
extern ShuttleLayout *shuttle_partitions_layout(Oid relid, const ShuttlePlaces *places, Oid type, Oid collation);

/* Notes a partitioned table. group: 0 if it has no group yet; ntablets: for the first
 * partition. */
extern void shuttle_partitions_note(Oid relid, const char *key, int group, int ntablets);

/* Its key has another name. */
extern void shuttle_partitions_rename_key(Oid relid, const char *key);

#endif							/* SHUTTLE_TABLETS_COMMON_PARTITIONS_H */

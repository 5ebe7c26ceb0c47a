/*-------------------------------------------------------------------------
 * shuttle_tablets.h
 *	  Door of the tablets room: distributed tables, reference tables and the
 *	  nodes that hold them.
 *
 * A distributed table is a partitioned table of core. Its partitions, the
 * tablets, are foreign tables on storage nodes, where the rows are partitions
 * of a table with the parent's name. Core's catalogs say where rows are; the
 * extension's tables only say which partitioned tables are ours.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_H
#define SHUTTLE_TABLETS_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"

/* Installs the room's hooks; called by _PG_init. */
extern void shuttle_tablets_init(void);

typedef enum ShuttleTableKind
{
	SHUTTLE_TABLE_OTHER,		/* none of ours */
	SHUTTLE_TABLE_DISTRIBUTED,
	SHUTTLE_TABLE_REFERENCE,
	SHUTTLE_TABLE_TABLET		/* a partition of a distributed table */
} ShuttleTableKind;

/* What a relation is; cached until it changes. Errors: none. */
extern ShuttleTableKind shuttle_table_kind(Oid relid);

/* The number of the tablet at a place among a distributed table's partitions: its
 * remainder. Core orders them by modulus first, so the place is another one after a split. */
static inline int
shuttle_tablet_number(const PartitionDescData *partitions, int place)
{
	return DatumGetInt32(partitions->boundinfo->datums[place][1]);
}

/* The name of a table's tablet, unquoted (tablet_names.c). */
extern char *shuttle_tablet_name(Oid relid, int number);

/* True of a distributed table whose nodes have traps for the rows of others
 * (routines.c). */
extern bool shuttle_table_has_traps(Oid relid);

/* The number of a routine's argument that has the distribution key; 0: it has
 * none; -1: nodes do not have the routine. */
extern int	shuttle_routine_key(Oid routine);

/* The foreign table that stands for the copies of a reference table (copy_tables.c),
 * locked; InvalidOid: there is none, or it is not a reference table. */
extern Oid	shuttle_copy_table_find(Oid relid);

/* True if it is such a foreign table. */
extern bool shuttle_is_copy_table(Oid relid);

/* True if the copies have all that this transaction has changed, but for
 * statements that are not finished (copy_changes.c). */
extern bool shuttle_copies_are_current(void);

#endif							/* SHUTTLE_TABLETS_H */

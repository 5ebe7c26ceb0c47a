/*-------------------------------------------------------------------------
 * ddl_partitioned.h
 *	  Statements on partitioned tables whose partitions are distributed tables.
 *
 * ddl_partitioned.c	ALTER TABLE, RENAME, CREATE INDEX
 * ddl_attach.c			partitions that come and go
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_DDL_PARTITIONED_H
#define SHUTTLE_TABLETS_DDL_DDL_PARTITIONED_H

#include "tablets/ddl/ddl.h"

/* Runs a statement on such a table (ddl->relid), and nodes follow. False: it is run as one on other
 * tables of ours. Errors: 0A000 for what is not possible. */
extern bool shuttle_ddl_partitioned_run(const ShuttleDdl *ddl);

/* Notes what nodes have of all partitions of a table, which are locked. */
extern void shuttle_ddl_note_partitions(Oid relid, LOCKMODE mode);

/* Run ALTER TABLE ... ATTACH and DETACH PARTITION. */
extern void shuttle_ddl_attach(const ShuttleDdl *ddl);
extern void shuttle_ddl_detach(const ShuttleDdl *ddl);

/* Distributes a new partition, and all below it (ddl_create.c). What cannot be distributed stays
 * here, with a notice. Errors: those of nodes. */
extern void shuttle_ddl_create_partition(Oid relid);

/* Called for statements on such tables; set by the room's hooks (ddl.c). */
extern bool (*shuttle_ddl_run_partitioned) (const ShuttleDdl *ddl);

/* The subcommands that make columns not null (ddl_table.c). Core wants those of a primary key to be
 * so in all partitions first. */
extern List *shuttle_ddl_not_null(const List *columns);

#endif							/* SHUTTLE_TABLETS_DDL_DDL_PARTITIONED_H */

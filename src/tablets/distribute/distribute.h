/*-------------------------------------------------------------------------
 * distribute.h
 *	  Tables are distributed, and brought back.
 *
 * distribute.c			distribute_table() and its like
 * distribute_checks.c	what cannot be distributed
 * key_partners.c		locks of the other tables of foreign keys (see key_partners.h)
 * load.c				rows go to tablets
 * partition_bounds.c	rows and bounds of partitions (see partition.h); partition_indexes.c: their indexes
 * surgery.c			an ordinary table becomes a partitioned one under its OID
 * bring_back.c			local_table()
 * node_setup.c			nodes are added and removed
 * publications.c		tables whose changes are not published any more
 *
 * In: a table, perhaps a column. Out: a refusal, or a partitioned table whose partitions
 * are foreign tables.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DISTRIBUTE_DISTRIBUTE_H
#define SHUTTLE_TABLETS_DISTRIBUTE_DISTRIBUTE_H

#include "nodes/parsenodes.h"
#include "utils/relcache.h"

#include "tablets/common/layout.h"
#include "tablets/common/refusal.h"

/* Of one table. */
#define SHUTTLE_MOST_TABLETS 4096

/* ---- distribute_checks.c */

/* What cannot be distributed by that column (key: NULL if it is not chosen yet); NULL:
 * nothing is to be refused. */
extern ShuttleRefusal *shuttle_distribute_refuse(Relation rel, const char *key);

/* The same of a partitioned table whose partitions are to be distributed, and of such a
 * partition. */
extern ShuttleRefusal *shuttle_distribute_refuse_partitioned(Relation rel, const char *key);
extern ShuttleRefusal *shuttle_distribute_refuse_partition(Relation rel, const char *key);

/* ---- publications.c */

/* Names of the publications that have a table, also by its schema or as one of all; NULL: none. */
extern char *shuttle_publications_of(Oid relid);

/* Warns of a table that is distributed now. */
extern void shuttle_publications_warn(Oid relid);

/* CREATE and ALTER PUBLICATION and SUBSCRIPTION: before the statement runs, and behind it, where it warns of
 * tables that are left out. Errors: 0A000 if a distributed table is named. */
extern void shuttle_publications_refuse(Node *statement);
extern void shuttle_publications_follow(Node *statement);

/* ---- load.c */

/* The columns whose values are copied, as a list of quoted names: not generated
 * ones. */
extern char *shuttle_load_columns(Oid relid);

/* Makes the tablets of a table, as foreign tables without a parent, and copies
 * the table's rows to them. Returns the number of rows.
 * tablets: their OIDs, in the order of the layout. */
extern uint64 shuttle_load_tablets(Oid relid, const char *key, const ShuttleLayout *layout, List **tablets);

/* Makes one tablet, as a partition of a table that is named in SQL; returns its OID. */
extern Oid	shuttle_load_make_tablet(Oid relid, const char *parent, const ShuttleTablet *tablet);

/*
 * Runs a statement that copies rows of a table, as the table's owner and without
 * triggers. Returns the number of rows.
 * Errors: 42501 if a policy would hide rows.
 */
extern uint64 shuttle_load_run(Oid relid, const char *sql);

/*
 * Runs a statement that computes values for existing rows of a table, without triggers, with the
 * rights and the search_path of the caller: functions of defaults may rely on them. Where code
 * of the table's owner would run, too, all runs as the owner. Its own names must be qualified.
 * Errors: 42501 if a policy would hide rows.
 */
extern uint64 shuttle_load_fill(Oid relid, const char *sql);

/* ---- bring_back.c, distribute.c: a table's tablets, as foreign tables of their own */

/* Takes all tablets from a table; returns their OIDs. */
extern List *shuttle_bring_back_detach(Oid relid);

/* Makes an ordinary table of one whose distribution column is to get another type. Errors: those of
 * local_table(); ERRCODE_FEATURE_NOT_SUPPORTED, nodes relate the column to those of other tables. */
extern void shuttle_bring_back_for_change(Oid relid);

/* Makes an ordinary table, or a tree of these, of one that becomes a partition of a table that is
 * spread otherwise. Errors: the same. */
extern void shuttle_bring_back_for_attach(Oid relid);

/* Gives a table its tablets, which are in the order of the layout. */
extern void shuttle_distribute_attach_tablets(Oid relid, const ShuttleLayout *layout, const List *tablets);

/* ---- distribute.c */

/*
 * Distributes a table, on which the caller holds AccessExclusiveLock, as
 * shuttle.distribute_table() does by default. Returns why it cannot be, or NULL.
 */
extern ShuttleRefusal *shuttle_distribute_try(Oid relid, const char *key);

/* What is to be done with a table that has become distributed; set by the room's hooks, as it may
 * distribute tables of ours. */
extern void (*shuttle_distribute_done) (Oid relid);

/* Distributes a table over some nodes. placed_as: a table whose placement rules it is to have; InvalidOid:
 * its own. */
extern void shuttle_distribute_over(Oid relid, const char *key, int ntablets, List *nodes, Oid placed_as);

/* ---- node_setup.c */

/* A server that holds tablets. Errors: ERRCODE_UNDEFINED_OBJECT;
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if it is no storage node. */
extern Oid	shuttle_node_find(const char *name);

/* Sets the labels of a server: a Jsonb. Errors: it is no object of strings. */
extern void shuttle_node_set_labels(const char *name, Datum labels);

/* ---- surgery.c; the caller holds AccessExclusiveLock on the table */

/*
 * Makes a partitioned table, spread by hash of one column, of an ordinary one,
 * under its OID. Its rows are gone at commit; its indexes become partitioned ones
 * that are not valid. Foreign keys from and to it were dropped before.
 * Errors: ERRCODE_OBJECT_IN_USE; ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if
 * wal_level is minimal and the table was made in this transaction.
 */
extern void shuttle_surgery_partition(Oid relid, AttrNumber key);

/* Gives a foreign table another server in place; the caller holds AccessExclusiveLock on
 * the tables it is a partition of, and invalidates them. */
extern void shuttle_surgery_move(Oid relid, Oid serverid);

/*
 * Makes an empty ordinary table of a partitioned one without partitions. Its
 * indexes must be hidden until rows are in, and built then.
 */
extern void shuttle_surgery_plain(Oid relid);
extern void shuttle_surgery_build_indexes(Oid relid);

/* Hides a table's indexes from core, which refuses foreign partitions of a table
 * with unique indexes and opens those of tables to be written; and shows them. */
extern void shuttle_surgery_hide_indexes(Oid relid);
extern void shuttle_surgery_show_indexes(Oid relid);

/* All partitions of the table have the index: those that are distributed on their nodes. */
extern void shuttle_surgery_index_is_valid(Oid indexid);

#endif							/* SHUTTLE_TABLETS_DISTRIBUTE_DISTRIBUTE_H */

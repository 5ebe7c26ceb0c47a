/*-------------------------------------------------------------------------
 * tablet_names.h
 *	  Names that tablets, their indexes and keys get when they are made, renamed, rewritten
 *	  or split.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_TABLET_NAMES_H
#define SHUTTLE_TABLETS_COMMON_TABLET_NAMES_H

#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/node_statements.h"

/* The name, unquoted, that a tablet of a number gets on its node which is made or named now. */
extern char *shuttle_tablet_next_name(Oid relid, int number);

/* Tablets have such names now, so later ones get others. */
extern void shuttle_tablet_names_used(Oid relid);

/* What its node calls a tablet, unquoted and without the schema. */
extern char *shuttle_tablet_remote_name(Oid tablet);

/* What a tablet is called here that its node calls so: the same, unless it is taken. Unquoted. */
extern const char *shuttle_tablet_local_name(Oid relid, const char *name);

/* Gives a tablet of a table another name here, and notes that its node calls it so. */
extern void shuttle_tablet_rename(Oid relid, Oid tablet, const char *name);

/* Names all tablets, and their traps, after their table: here, and by statements that are added for nodes. */
extern void shuttle_tablet_names_give(Oid relid, ShuttleNodeStatements *statements);

/* Notes that a schema has another name now: nodes have tablets of its tables there. */
extern void shuttle_tablet_follow_schema(const char *schema);

/* The tablet that its node calls so; schema: NULL if it is not known. InvalidOid: none. */
extern Oid	shuttle_tablet_named(const char *schema, const char *name);

/* The name of a half while the tablet is split, with its schema, quoted. */
extern char *shuttle_tablet_half_name(Oid relid, int number);

/* The statement that names the tablets' unique indexes on a node after the
 * table's; NULL: there are none. */
extern char *shuttle_tablet_text_name_indexes(Oid relid, const ShuttleLayout *layout);

/* The statement that names, on a node, the constraints that foreign keys of the table and to it
 * have for single tablets after the keys. */
extern char *shuttle_tablet_text_name_keys(Oid relid);

/* Puts the table's names into an error of one of its tablets. Returns the table, or that of which it
 * has the entries; InvalidOid: none. */
extern Oid	shuttle_tablet_name_objects(ShuttleErrorNames *names);

/* The name of a table's tablet on its node, with its schema, quoted. */
extern char *shuttle_tablet_qualified_name(Oid relid, int number);

/* The name of the trap that stands for a tablet on other nodes, with its schema, quoted. */
extern char *shuttle_tablet_trap_name(Oid relid, int number);

/* The statement that names the traps that a node has after the table. */
extern char *shuttle_tablet_trap_text_names(Oid relid, const ShuttleLayout *layout);

/* What follows PARTITION OF a table or ATTACH PARTITION. */
extern char *shuttle_tablet_text_bound(const ShuttleTablet *tablet);

#endif							/* SHUTTLE_TABLETS_COMMON_TABLET_NAMES_H */

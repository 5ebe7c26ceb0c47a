/*-------------------------------------------------------------------------
 * tablets_internal.h
 *	  What the files of the tablets room share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_INTERNAL_H
#define SHUTTLE_TABLETS_INTERNAL_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "storage/shuttle_storage.h"
#include "tablets/node_statements.h"
#include "tablets/shuttle_tablets.h"

/* ---- local_sql.c: statements of ours on this server */

/* Sets search_path to pg_catalog, so that names of other schemas are qualified.
 * Returns a level for AtEOXact_GUC(true, ..), which sets it back. */
extern int	shuttle_local_qualify_names(void);

/*
 * Runs a query with one parameter of type oid under search_path pg_catalog, so
 * that names of other schemas are qualified, and returns the first column as
 * strings in the current context; NULL values are left out.
 * Errors: those of the query.
 */
extern List *shuttle_local_texts(const char *sql, Oid relid);

/* The same with all columns: a list of arrays of strings. */
extern List *shuttle_local_rows(const char *sql, Oid relid);

/* The single string of such a query; NULL: no row. */
extern char *shuttle_local_text(const char *sql, Oid relid);

/* Runs a statement with the caller's rights under search_path pg_catalog. Our
 * own ProcessUtility hook lets it pass. Returns the number of rows. */
extern uint64 shuttle_local_run(const char *sql);

/* The same, under the search_path of the session. */
extern uint64 shuttle_local_run_unqualified(const char *sql);

/* The same with all rights, for what the caller may do by our checks only. */
extern uint64 shuttle_local_run_as_superuser(const char *sql);

/* True while shuttle_local_run() runs a statement. */
extern bool shuttle_local_is_running(void);

/* A quoted name with its schema, in the current context. */
extern char *shuttle_local_name(Oid relid);

/* The same of several relations, separated by commas. */
extern char *shuttle_local_names(const List *relids);

/* The role that owns a relation. */
extern Oid	shuttle_local_owner(Oid relid);

/* Quoted. */
extern const char *shuttle_local_owner_name(Oid relid);

/* Statements that take a relation's privileges from all but its owner; NIL: nobody has any. */
extern List *shuttle_local_granted(Oid relid);

/* Runs them: default privileges, for one, give some to what is made here. */
extern void shuttle_local_revoke(Oid relid);

/* ---- node_setup.c */

/* A server that holds tablets. Errors: ERRCODE_UNDEFINED_OBJECT;
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if it is no storage node. */
extern Oid	shuttle_node_find(const char *name);

/* ---- facts.c */

/* The servers of a distributed table's tablets, each once. */
extern List *shuttle_table_servers(Oid relid);

/* ---- groups.c */

/* A tablet has the rows whose hash has that remainder, which is its number. */
typedef struct ShuttleTablet
{
	int			modulus;
	int			number;
	Oid			serverid;
} ShuttleTablet;

/* How the tables of a group are spread. Tablets that were split have a larger modulus.
 * Core's order of partitions: by modulus, then by number. */
typedef struct ShuttleLayout
{
	int			group;			/* 0: not made yet */
	int			ntablets;
	ShuttleTablet *tablets;
	bool		traps;			/* the group's tables have traps */
} ShuttleLayout;

#define SHUTTLE_MOST_TABLETS 4096

/* Of a tablet that was split; core keeps an array of that many numbers for each table. */
#define SHUTTLE_MOST_MODULUS 65536

/* All servers that are storage nodes, by name. */
extern List *shuttle_nodes_all(void);

/* The same. Errors: there are none. */
extern List *shuttle_nodes_needed(void);

/* The layout of a distributed table. Errors: the table is not distributed. */
extern ShuttleLayout *shuttle_layout_of(Oid relid);

/*
 * The layout for a new table with a key of that type and collation: that of a
 * group that is spread in the same way, or a new one.
 * nodes: servers; NIL: all, and then a group whose tablets were moved will do, if it
 * had as many tablets before any was split, on as many nodes. Both functions wait while tablets of the group are moved.
 * Errors: there are no nodes.
 */
extern ShuttleLayout *shuttle_layout_find(List *nodes, int ntablets,
										  Oid type, Oid collation);

/* The tablet of a number; NULL: there is none. */
extern ShuttleTablet *shuttle_layout_tablet(const ShuttleLayout *layout, int number);

/* The layout of another table's group. Errors: ERRCODE_DATATYPE_MISMATCH. */
extern ShuttleLayout *shuttle_layout_colocated(Oid other, Oid type, Oid collation);

/* Notes what a table is in the extension's tables; layout: NULL for a reference
 * table. Makes the layout's group if it has none. */
extern void shuttle_table_note(Oid relid, ShuttleTableKind kind, ShuttleLayout *layout);

/* Forgets it. */
extern void shuttle_table_forget(Oid relid);

/* ---- table_text.c: what a node has to be told of a table */

/* A column as nodes have it; texts are SQL, quoted, with a space in front if
 * they are parts of a definition. */
typedef struct ShuttleNodeColumn
{
	AttrNumber	number;
	char	   *name;
	char	   *bare_type;		/* without collation */
	char	   *type;			/* with collation */
	char	   *generated;		/* or empty */
	char	   *not_null;		/* or empty */
} ShuttleNodeColumn;

/* Kinds of parts: those of pg_constraint.contype, and one for other indexes. */
#define SHUTTLE_PART_CHECK 'c'
#define SHUTTLE_PART_INDEX 'i'

/* A constraint or an index as nodes have it. */
typedef struct ShuttleNodePart
{
	Oid			oid;			/* of the constraint or index here */
	char		kind;
	char	   *name;			/* quoted */
	char	   *definition;		/* of a constraint, or CREATE INDEX */
} ShuttleNodePart;

extern List *shuttle_table_text_columns(Oid relid);

/* The same of the table of that name on a node. */
extern List *shuttle_table_text_node_columns(Oid relid, ShuttleNode *node);

/* Checks, then keys and unique constraints, then indexes. */
extern List *shuttle_table_text_parts(Oid relid);

/* The statement that makes a part on a node. */
extern char *shuttle_table_text_add_part(Oid relid, const ShuttleNodePart *part);

/* The schema if the node lacks it, and the table without indexes: the parent of
 * tablets, or, without a key, an ordinary table. */
extern List *shuttle_table_text_parent(Oid relid, const char *key);

/* A query of a table's storage options, for WITH or SET. A partitioned table has none:
 * its tablets have them. */
#define SHUTTLE_OPTIONS_QUERY "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = $1"

/* The statement that makes one tablet on its node. */
extern char *shuttle_table_text_tablet(Oid relid, const ShuttleTablet *tablet);

/* Primary key, unique constraints and indexes. */
extern List *shuttle_table_text_indexes(Oid relid);

/* Foreign keys of a table. */
extern List *shuttle_table_text_foreign_keys(Oid relid);

/* ---- needed_objects.c: types and functions that nodes need */

/* Statements that make what the table needs, if a node does not have it as it is here.
 * They fail on nodes that lack what cannot be made, or use another type of that name. */
extern List *shuttle_table_text_needed(Oid relid);

/* OIDs of the distributed and reference tables that need one of some objects.
 * objects: a query of their class and OID, under search_path pg_catalog. */
extern List *shuttle_tables_that_need(const char *objects);

/* ---- tablet_names.c */

/* The name of a table's tablet with its schema, quoted. */
extern char *shuttle_tablet_qualified_name(Oid relid, int number);

/* The name of the trap that stands for a tablet on other nodes, with its schema, quoted. */
extern char *shuttle_trap_qualified_name(Oid relid, int number);

/* The statement that names the traps that a node has after the table. */
extern char *shuttle_trap_text_names(Oid relid, const ShuttleLayout *layout);

/* What follows PARTITION OF a table or ATTACH PARTITION. */
extern char *shuttle_tablet_text_bound(const ShuttleTablet *tablet);

/* The statement that names the tablets' unique indexes on a node after the
 * table's; NULL: there are none. */
extern char *shuttle_tablet_text_name_indexes(Oid relid, const ShuttleLayout *layout);

/* Puts the table's names into an error of one of its tablets. */
extern void shuttle_tablet_name_objects(ShuttleErrorNames *names);

/* ---- reference.c */

/* Makes an ordinary table of a reference table. */
extern void shuttle_reference_end(Oid relid);

/* Makes the copies of all reference tables on a new node. */
extern void shuttle_reference_add_node(Oid serverid);

/* Drops the copies of all reference tables on a node that is going to be removed. */
extern void shuttle_reference_remove_node(Oid serverid);

/* ---- load.c, see distribute.h too */

/* Makes the tablets of a table, as foreign tables without a parent, and copies
 * the table's rows to them. Returns the number of rows. */
extern uint64 shuttle_load_tablets(Oid relid, const char *key, const ShuttleLayout *layout);

/* ---- surgery.c; the caller holds AccessExclusiveLock on the table */

/*
 * Makes a partitioned table, spread by hash of one column, of an ordinary one,
 * under its OID. Its rows are gone at commit; its indexes become partitioned ones
 * that are not valid. Foreign keys from and to it were dropped before.
 * Errors: ERRCODE_OBJECT_IN_USE; ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if
 * wal_level is minimal and the table was made in this transaction.
 */
extern void shuttle_surgery_partition(Oid relid, AttrNumber key);

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

#endif							/* SHUTTLE_TABLETS_INTERNAL_H */

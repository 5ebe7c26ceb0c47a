/*-------------------------------------------------------------------------
 * copies.h
 *	  Reference tables, and their copies on all nodes.
 *
 * reference.c		makes a reference table, and the copies
 * copy_changes.c	the triggers that send changed rows to the copies
 * copy_rows.c		sends rows to copies
 * copy_tables.c	foreign tables by which plans read copies
 *
 * In: rows of a reference table here. Out: statements that give its copies on
 * the nodes the same rows, in the same transaction.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_REFERENCE_COPIES_H
#define SHUTTLE_TABLETS_REFERENCE_COPIES_H

#include "access/xact.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "base/shuttle_utility.h"

/* ---- copy_rows.c: rows for copies */

/*
 * Statements for copies of one table. They are sent to all nodes at once, run on
 * each in the order of the calls, and lie in the context in which the struct was
 * made.
 */
typedef struct ShuttleCopies ShuttleCopies;

/* servers: the nodes. Errors: the table has no primary key. */
extern ShuttleCopies *shuttle_copies_open(Relation rel, List *servers);

/* True if two rows have the same primary key, to the byte. */
extern bool shuttle_copies_same_key(ShuttleCopies *copies, HeapTuple one, HeapTuple other);

/* Inserts the rows (HeapTuples), or overwrites those with the same keys. */
extern void shuttle_copies_put(ShuttleCopies *copies, const List *rows);

/* Deletes the rows whose keys these rows have. */
extern void shuttle_copies_delete(ShuttleCopies *copies, const List *rows);

/* Changes a row that has changed its key. */
extern void shuttle_copies_move(ShuttleCopies *copies, HeapTuple old_row, HeapTuple new_row);

/* Makes copies equal to the table for the keys of these rows, whatever either
 * has. */
extern void shuttle_copies_repeat(ShuttleCopies *copies, const List *rows);

/* Deletes the rows whose keys the table does not have. */
extern void shuttle_copies_delete_others(ShuttleCopies *copies);

/* Puts all rows of the table, and waits for all nodes. Returns the number of rows.
 * The caller keeps others from changing the table. */
extern uint64 shuttle_copies_put_all(ShuttleCopies *copies);

/* Waits for all nodes. Errors: the first one of a node. */
extern void shuttle_copies_finish(ShuttleCopies *copies);

/* ---- reference.c */

/* Makes a table's copies on nodes and puts its rows. The caller keeps others from
 * changing it. Returns the number of rows. */
extern uint64 shuttle_reference_make_copies(Relation rel, List *servers);

/* ---- copy_tables.c: the foreign table that plans read */

/* Makes it anew for nodes with these servers; none: only drops it. */
extern void shuttle_copy_table_make(Oid relid, const List *servers);

extern void shuttle_copy_table_drop(Oid relid);

/* ---- copy_changes.c: triggers */

/* Makes the triggers of a reference table, and drops them. */
extern void shuttle_copy_triggers_create(Oid relid);
extern void shuttle_copy_triggers_drop(Oid relid);

/* True if the triggers of a reference table, which keep its copies, have that name. */
extern bool shuttle_copy_trigger_has_name(const char *name);

/* They always fire, whatever a statement on all triggers has made of them. */
extern void shuttle_copy_triggers_enable(Oid relid);

/* Runs a statement, and truncates copies of the tables that it truncated. */
extern void shuttle_copy_truncate_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* Sends changes before a commit, and forgets them behind it; forgets those that are rolled back. */
extern void shuttle_copy_changes_end_transaction(XactEvent event);
extern void shuttle_copy_changes_end_savepoint(SubXactEvent event);

#endif							/* SHUTTLE_TABLETS_REFERENCE_COPIES_H */

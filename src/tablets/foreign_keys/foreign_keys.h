/*-------------------------------------------------------------------------
 * foreign_keys.h
 *	  Foreign keys whose two sides need not be on one node: this server checks them.
 *
 * foreign_key_catalog.c makes them, with their triggers; foreign_key_notes.c collects
 * the keys that statements write, foreign_key_queue.c knows when they are checked;
 * foreign_key_search.c finds the rows that have some keys, wherever they are;
 * foreign_key_actions.c has what is checked and done with keys.
 */
#ifndef SHUTTLE_TABLETS_FOREIGN_KEYS_FOREIGN_KEYS_H
#define SHUTTLE_TABLETS_FOREIGN_KEYS_FOREIGN_KEYS_H

#include "access/attnum.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "pg_config_manual.h"

#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

/* ---- foreign_key_catalog.c */

/* A foreign key, as its row of pg_constraint has it. */
typedef struct ShuttleForeignKey
{
	Oid			oid;
	char	   *name;
	Oid			child;			/* the table that has the key */
	Oid			parent;
	int			ncolumns;
	AttrNumber	child_columns[INDEX_MAX_KEYS];
	AttrNumber	parent_columns[INDEX_MAX_KEYS];
	Oid			parent_child[INDEX_MAX_KEYS];	/* operators: parent = child */
	Oid			parent_parent[INDEX_MAX_KEYS];
	Oid			child_child[INDEX_MAX_KEYS];
	int			nset;			/* columns that ON DELETE SET sets; 0: all */
	AttrNumber	set_columns[INDEX_MAX_KEYS];
	char		match;
	char		on_update;
	char		on_delete;
	bool		deferrable;
	bool		deferred;
} ShuttleForeignKey;

/* In the current context. */
extern ShuttleForeignKey *shuttle_foreign_key_load(Oid constraint);

/* Our keys from and to a table; OIDs of constraints. */
extern List *shuttle_foreign_keys_of(Oid relid);

/* True if the trigger is one of ours. */
extern bool shuttle_foreign_key_has_trigger(Oid function);

/*
 * Makes a foreign key as the statement says it, and locks both tables against writers.
 * Existing rows are looked at, unless the statement, or check, says otherwise.
 * Errors: those of core's ADD FOREIGN KEY; ERRCODE_FEATURE_NOT_SUPPORTED.
 */
extern Oid	shuttle_foreign_key_create(Oid child, Oid parent, const Constraint *constraint, bool check);

/* Makes the triggers that tablets of a table lack. */
extern void shuttle_foreign_key_follow(Oid relid);

extern void shuttle_foreign_key_drop(Oid constraint);

/* ---- surgery.c */

/* Notes that all rows meet a constraint. */
extern void shuttle_surgery_set_valid(Oid constraint);

/* ---- foreign_key_orphans.c */

/* Checks all rows, and notes that they are valid. */
extern void shuttle_foreign_key_validate(Oid constraint);

/* The values of a row that refers to nothing, as "1, 2"; NULL: there is none. */
extern char *shuttle_foreign_key_orphan(const ShuttleForeignKey *key);

/* ---- foreign_key_place.c: which keys nodes check */

/*
 * True if nodes can check a key that relates the rows of one node, and do what it says.
 * child_key, parent_key: the distribution columns; the latter is invalid if the parent is a
 * reference table. has_entries: the child has global indexes.
 */
extern bool shuttle_foreign_key_suits_nodes(const ShuttleForeignKey *key, AttrNumber child_key, AttrNumber parent_key, bool has_entries);

/* True if the key's actions change rows that one of some other keys (OIDs) has to know of. */
extern bool shuttle_foreign_key_acts_on(const ShuttleForeignKey *key, const List *others);

/* Refuses a key of ours on a table whose rows nodes change by keys of their own. */
extern void shuttle_foreign_key_refuse_node_actions(const ShuttleForeignKey *key);

/* ---- foreign_key_kept.c */

/* Drops keys (OIDs of constraints), and locks their tables. */
extern List *shuttle_foreign_key_kept_take(const List *constraints);

/* Makes them again. check: rows may have other values now. */
extern void shuttle_foreign_key_kept_give(const List *kept, bool check);

/* Executes an ALTER TABLE that adds a foreign key between tables that are not distributed, and
 * returns it. check: rows may not comply. Errors: 23503 if they do not. */
extern Oid	shuttle_foreign_key_add_here(Oid child, Oid parent, const char *text, bool check);

/* ---- foreign_key_queue.c */

/* A key that a statement wrote, or took from rows that may be referred to. */
typedef struct ShuttleKeyValues
{
	int			level;			/* transaction nest level */
	int			depth;			/* of the statement; 0: it has ended */
	Oid			userid;			/* the role that wrote it, over whose
								 * connections it is looked for: others need
								 * not see its rows yet */
	uint64		number;			/* in the order in which rows were written */
	Datum	   *values;
	bool	   *nulls;			/* of a parent's new values; of a child's
								 * values that are NULL in part, which MATCH
								 * FULL does not allow */
	Datum	   *new_values;		/* of a parent's row that was updated; else
								 * NULL */
	bool		settled;		/* of a parent: no child had it when asked */
} ShuttleKeyValues;

/* Errors: 55006, as core's of such a command, if keys of rows of a table wait for their check. */
extern void shuttle_foreign_key_refuse_pending(Oid relid, const char *command);

/* Checks what is deferred before a commit, and forgets keys behind it; those of a savepoint that is rolled
 * back are forgotten, others belong to the outer level. */
extern void shuttle_foreign_key_queue_end_transaction(XactEvent event);
extern void shuttle_foreign_key_queue_end_savepoint(SubXactEvent event);

/* SET CONSTRAINTS. constraint: InvalidOid for all. */
extern void shuttle_foreign_key_set(Oid constraint, bool deferred);

/* ---- foreign_key_search.c */

/* Where rows with some keys are looked for. */
typedef struct ShuttleKeySearch
{
	Oid			relid;
	int			ncolumns;
	const AttrNumber *columns;
	const Oid  *types;			/* of the keys, without domains */
	const Oid  *operators;
	uint32		nulls;			/* bits: columns that are NULL in all keys */
	bool		key_is_left;	/* operand of the operators */
	bool		holds;			/* rows stay locked until this server has
								 * committed */
	bool		waits;			/* for transactions that are prepared on nodes */
} ShuttleKeySearch;

/*
 * Which of the keys (of ShuttleKeyValues) a row has, which is then locked FOR KEY
 * SHARE. found: for each key, set to true. One request a node.
 */
extern void shuttle_foreign_key_search(const ShuttleKeySearch *search, const List *keys, bool *found);

/* The same in two steps, for a distributed table. Requests belong to the current context; the keys must be
 * there until they are read.
 * flushes: what is buffered for the nodes is written first. */
typedef struct ShuttleKeysAsked ShuttleKeysAsked;

extern ShuttleKeysAsked *shuttle_foreign_key_search_send(const ShuttleKeySearch *search, const List *keys, bool flushes);
extern void shuttle_foreign_key_search_read(ShuttleKeysAsked *asked, bool *found);

/* Has statements that follow on a distributed table's nodes wait for the transactions that are
 * prepared there and wrote it. Does not wait itself. */
extern void shuttle_foreign_key_wait(Oid relid);

/* Runs a statement of ours here; its triggers fire behind those of now. sees_newer: rows that
 * committed after the transaction's snapshot, too, which it must not change: 40001. */
extern int	shuttle_foreign_key_execute(SPIPlanPtr plan, Datum *values, bool sees_newer);

/* The query of the ordinals of keys that a row has. keys: where they come from, as the items
 * of ROWS FROM; condition: on the row t, or NULL; locks: the row. */
extern char *shuttle_foreign_key_search_text(const ShuttleKeySearch *search, const char *const *keys, const char *condition, bool locks);

/* The array of some keys' values (ShuttleKeyValues) of a column, or of their new values. */
extern Datum shuttle_foreign_key_array(Oid type, const List *keys, int column, bool of_new);

/* ---- foreign_key_newer.c */

/*
 * Under REPEATABLE READ: sets found for the keys that rows have which committed after
 * the transaction's snapshot on their nodes. Needs a round trip over other connections.
 */
extern void shuttle_foreign_key_newer(const ShuttleKeySearch *search, const List *keys, bool *found);

/* ---- foreign_key_actions.c */

/* Base types of the columns of one side. */
extern void shuttle_foreign_key_types(Oid relid, const AttrNumber *columns, int ncolumns, Oid *types);

/* Keys of child rows that have no parent, or can have none; the others' parents are locked. */
extern List *shuttle_foreign_key_missing(const ShuttleForeignKey *key, List *keys);

/* Asks for the children of keys of the parent, or for the parents of a child's, and does not wait;
 * NULL: they are here. flushes: as above. */
extern ShuttleKeysAsked *shuttle_foreign_key_ask_other(const ShuttleForeignKey *key, bool of_parent, List *keys, bool flushes);

/* Raises an error if child rows have one of the keys. */
extern void shuttle_foreign_key_check_missing(const ShuttleForeignKey *key, List *keys);

/* Raises an error if child rows refer to keys that no parent has any more. */
extern void shuttle_foreign_key_check_left(const ShuttleForeignKey *key, List *keys, bool is_restrict);

/* Does what the key says to children of these keys. deleted: parents' rows were deleted, else updated. */
extern void shuttle_foreign_key_act(const ShuttleForeignKey *key, List *keys, bool deleted);

#endif							/* SHUTTLE_TABLETS_FOREIGN_KEYS_FOREIGN_KEYS_H */

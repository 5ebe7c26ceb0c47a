/*-------------------------------------------------------------------------
 * foreign_key_queue.h
 *	  Keys that statements wrote, until they are checked.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_FOREIGN_KEYS_FOREIGN_KEY_QUEUE_H
#define SHUTTLE_TABLETS_FOREIGN_KEYS_FOREIGN_KEY_QUEUE_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "pg_config_manual.h"
#include "utils/hsearch.h"

#include "tablets/foreign_keys/foreign_keys.h"

/* The keys of one side of a constraint, in this transaction. */
typedef struct ShuttleKeyQueue
{
	ShuttleForeignKey *key;
	bool		of_parent;
	Oid			relid;			/* the table of that side */
	Oid			rows_relid;		/* it, or the tablet that attributes are of */
	AttrNumber	attributes[INDEX_MAX_KEYS];
	CommandId	looked_at;		/* the command whose rows is_off holds for */
	bool		is_off;			/* the trigger is disabled */
	bool		by_value[INDEX_MAX_KEYS];
	int16		length[INDEX_MAX_KEYS];
	MemoryContext cxt;
	List	   *running;		/* of ShuttleKeyValues, levels ascending: of
								 * statements that go on */
	List	   *ended;			/* and of those that have ended */
	HTAB	   *known;			/* of a child: those of both */
	int			most_keys;		/* from here on those of a list are looked up
								 * early */
	int			nusers;			/* checks that go on */
	List	   *expected;		/* of ShuttleKeyValues: of rows that are being
								 * inserted */
	List	   *asked_keys;		/* those that were asked for ahead */
	ShuttleKeysAsked *asked;
	bool	   *found;			/* what the answer said of asked_keys; NULL:
								 * it was not read yet */
	int			asked_level;
} ShuttleKeyQueue;

/* The queue of a constraint (OID) in this transaction; NULL: there is none. */
extern ShuttleKeyQueue *shuttle_foreign_key_queue_find(Oid constraint, bool of_parent);

/* Makes it, in a context below the transaction's. */
extern ShuttleKeyQueue *shuttle_foreign_key_queue_make(Oid constraint, bool of_parent);

/* Adds a key, copied. new_values: of a parent's row that was updated; else NULL. nulls: theirs, or those of
 * a child's key. */
extern void shuttle_foreign_key_queue_add(ShuttleKeyQueue *queue, const Datum *values, const Datum *new_values,
										  const bool *nulls);

/* Takes note of a child's key, copied, whose row is going to be inserted. */
extern void shuttle_foreign_key_queue_expect(ShuttleKeyQueue *queue, const Datum *values);

/* The current statement on the queue's table has ended: checks what is due in the queue, which may be gone then.
 * Errors: those of core's triggers. */
extern void shuttle_foreign_key_queue_end_statement(ShuttleKeyQueue *queue);

/* ---- foreign_key_list.c */

/* A hash table of keys. only_values: two are the same whatever statement wrote them. */
extern HTAB *shuttle_foreign_key_list_hash(MemoryContext cxt, bool only_values);

/* Looks for a key of the queue in it. Returns whether it was there. */
extern bool shuttle_foreign_key_list_search(const ShuttleKeyQueue *queue, HTAB *hash, ShuttleKeyValues *values, HASHACTION action);

/* Where the keys begin that are of this nest level, and of statements of this depth or within these. depth: 0 for any. */
extern int	shuttle_foreign_key_list_tail(const List *keys, int depth);

/* Takes these keys off one of the queue's lists; before they are checked, as statements of ours can add others. */
extern List *shuttle_foreign_key_list_take(ShuttleKeyQueue *queue, List **keys, int depth);

/* Gives keys back that were taken; nothing was added meanwhile. */
extern void shuttle_foreign_key_list_give(ShuttleKeyQueue *queue, List **keys, const List *given);

/* Statements of this depth, and those within them, have ended. */
extern void shuttle_foreign_key_list_end(ShuttleKeyQueue *queue, int depth);

/* Keys of nest levels above one belong to it now. */
extern void shuttle_foreign_key_list_raise(List *keys, int level);

#endif							/* SHUTTLE_TABLETS_FOREIGN_KEYS_FOREIGN_KEY_QUEUE_H */

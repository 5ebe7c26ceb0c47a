/*-------------------------------------------------------------------------
 * foreign_key_list.c
 *	  The list of a queue's keys; a child's are in it once.
 *
 * Memory: the queue's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "tablets/foreign_keys/foreign_key_queue.h"
#include "tablets/foreign_keys/foreign_keys.h"

static const ShuttleKeyQueue *hashed_queue; /* for functions of a hash table */

static bool
is_null(const ShuttleKeyValues *values, int column)
{
	return !hashed_queue->of_parent && values->nulls != NULL && values->nulls[column];
}

static uint32
hash_key(const void *entry, Size size)
{
	const ShuttleKeyValues *values = *(ShuttleKeyValues *const *) entry;
	uint32		hash = 0;

	for (int i = 0; i < hashed_queue->key->ncolumns; i++)
		hash = hash * 31 + (is_null(values, i) ? 0 :
							datum_image_hash(values->values[i], hashed_queue->by_value[i], hashed_queue->length[i]));
	return hash;
}

static int
compare_keys(const void *one, const void *other, Size size)
{
	const ShuttleKeyValues *a = *(ShuttleKeyValues *const *) one;
	const ShuttleKeyValues *b = *(ShuttleKeyValues *const *) other;

	for (int i = 0; i < hashed_queue->key->ncolumns; i++)
	{
		if (is_null(a, i) != is_null(b, i))
			return 1;
		if (!is_null(a, i) &&
			!datum_image_eq(a->values[i], b->values[i], hashed_queue->by_value[i], hashed_queue->length[i]))
			return 1;
	}
	return 0;
}

HTAB *
shuttle_foreign_key_list_hash(MemoryContext cxt)
{
	HASHCTL		control = {
		.keysize = sizeof(ShuttleKeyValues *),
		.entrysize = sizeof(ShuttleKeyValues *),
		.hash = hash_key,
		.match = compare_keys,
		.hcxt = cxt,
	};

	return hash_create("pg_shuttle keys", 128, &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

bool
shuttle_foreign_key_list_search(const ShuttleKeyQueue *queue, HTAB *hash, ShuttleKeyValues *values, HASHACTION action)
{
	bool		found;

	hashed_queue = queue;
	(void) hash_search(hash, &values, action, &found);
	return found;
}

List *
shuttle_foreign_key_list_take(ShuttleKeyQueue *queue)
{
	int			level = GetCurrentTransactionNestLevel();
	int			n = list_length(queue->keys);
	List	   *taken;
	ListCell   *cell;

	while (n > 0 && ((ShuttleKeyValues *) list_nth(queue->keys, n - 1))->level >= level)
		n--;
	taken = list_copy_tail(queue->keys, n);
	queue->keys = list_truncate(queue->keys, n);
	foreach(cell, queue->known != NULL ? taken : NIL)
		(void) shuttle_foreign_key_list_search(queue, queue->known, lfirst(cell), HASH_REMOVE);
	return taken;
}

void
shuttle_foreign_key_list_give(ShuttleKeyQueue *queue, const List *keys)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(queue->cxt);
	const ListCell *cell;

	foreach(cell, keys)
	{
		queue->keys = lappend(queue->keys, lfirst(cell));
		if (queue->known != NULL)
			(void) shuttle_foreign_key_list_search(queue, queue->known, lfirst(cell), HASH_ENTER);
	}
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_foreign_key_list_raise(ShuttleKeyQueue *queue, int level)
{
	for (int i = list_length(queue->keys) - 1; i >= 0; i--)
	{
		ShuttleKeyValues *key = list_nth(queue->keys, i);

		if (key->level <= level)
			return;
		key->level = level;
	}
}

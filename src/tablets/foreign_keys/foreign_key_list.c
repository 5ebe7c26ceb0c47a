/*-------------------------------------------------------------------------
 * foreign_key_list.c
 *	  The two lists of a queue's keys.
 *
 * A child's key is noted once for each statement that goes on, and once for each nest level and role for those
 * that have ended.
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

static int
compare_noted(const void *one, const void *other, Size size)
{
	const ShuttleKeyValues *a = *(ShuttleKeyValues *const *) one;
	const ShuttleKeyValues *b = *(ShuttleKeyValues *const *) other;

	if (a->level != b->level || a->depth != b->depth || a->userid != b->userid)
		return 1;
	return compare_keys(one, other, size);
}

HTAB *
shuttle_foreign_key_list_hash(MemoryContext cxt, bool only_values)
{
	HASHCTL		control = {
		.keysize = sizeof(ShuttleKeyValues *),
		.entrysize = sizeof(ShuttleKeyValues *),
		.hash = hash_key,
		.match = only_values ? compare_keys : compare_noted,
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

int
shuttle_foreign_key_list_tail(const List *keys, int depth)
{
	int			level = GetCurrentTransactionNestLevel();
	int			n = list_length(keys);

	while (n > 0)
	{
		const ShuttleKeyValues *values = list_nth(keys, n - 1);

		if (values->level < level || values->depth < depth)
			break;
		n--;
	}
	return n;
}

List *
shuttle_foreign_key_list_take(ShuttleKeyQueue *queue, List **keys, int depth)
{
	int			n = shuttle_foreign_key_list_tail(*keys, depth);
	List	   *taken = list_copy_tail(*keys, n);
	ListCell   *cell;

	*keys = list_truncate(*keys, n);
	foreach(cell, queue->known != NULL ? taken : NIL)
		(void) shuttle_foreign_key_list_search(queue, queue->known, lfirst(cell), HASH_REMOVE);
	return taken;
}

void
shuttle_foreign_key_list_give(ShuttleKeyQueue *queue, List **keys, const List *given)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(queue->cxt);
	const ListCell *cell;

	foreach(cell, given)
	{
		if (queue->known == NULL || !shuttle_foreign_key_list_search(queue, queue->known, lfirst(cell), HASH_ENTER))
			*keys = lappend(*keys, lfirst(cell));
	}
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_foreign_key_list_end(ShuttleKeyQueue *queue, int depth)
{
	List	   *ended = shuttle_foreign_key_list_take(queue, &queue->running, depth);
	ListCell   *cell;

	foreach(cell, ended)
		((ShuttleKeyValues *) lfirst(cell))->depth = 0;
	shuttle_foreign_key_list_give(queue, &queue->ended, ended);
	list_free(ended);
}

void
shuttle_foreign_key_list_raise(List *keys, int level)
{
	for (int i = list_length(keys) - 1; i >= 0; i--)
	{
		ShuttleKeyValues *key = list_nth(keys, i);

		if (key->level <= level)
			return;
		key->level = level;
	}
}

/*-------------------------------------------------------------------------
 * global_passing.c
 *	  Entries of global indexes that are both deleted and inserted at once.
 *
 * Where a row was changed twice, as by the actions of two foreign keys, the entry between was never there.
 * Where a row took another one's place, its entry is there already. Deletes are sent before inserts, so
 * that the first kind would stay for ever.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/hsearch.h"

#include "tablets/indexes/global.h"

bool
shuttle_global_passing_are_equal(const ShuttleGlobalIndex *index, const Datum *one, const Datum *other)
{
	uint64		nulls = shuttle_global_nulls(index, one);

	if (nulls != shuttle_global_nulls(index, other))
		return false;
	for (int i = 0; i < index->ncolumns; i++)
	{
		if (!shuttle_global_is_null(nulls, i) &&
			!datum_image_eq(one[i], other[i], index->columns[i].by_value, index->columns[i].length))
			return false;
	}
	return true;
}

static uint32
hash_values(const ShuttleGlobalIndex *index, const Datum *values)
{
	uint64		nulls = shuttle_global_nulls(index, values);
	uint32		hash = (uint32) nulls;

	for (int i = 0; i < index->ncolumns; i++)
	{
		if (!shuttle_global_is_null(nulls, i))
			hash = hash_combine(hash, datum_image_hash(values[i], index->columns[i].by_value, index->columns[i].length));
	}
	return hash;
}

/* Entries that are to be inserted. */
typedef struct NewEntries
{
	uint32		hash;			/* hash key */
	List	   *entries;
} NewEntries;

static HTAB *
hash_entries(const ShuttleGlobalIndex *index, const List *entries)
{
	HASHCTL		control = {.keysize = sizeof(uint32),.entrysize = sizeof(NewEntries),.hcxt = CurrentMemoryContext};
	HTAB	   *hashed = hash_create("shuttle new entries", list_length(entries), &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	const ListCell *cell;

	foreach(cell, entries)
	{
		uint32		hash = hash_values(index, lfirst(cell));
		bool		found;
		NewEntries *new = hash_search(hashed, &hash, HASH_ENTER, &found);

		if (!found)
			new->entries = NIL;
		new->entries = lappend(new->entries, lfirst(cell));
	}
	return hashed;
}

/* Takes an entry that equals the given one away. */
static bool
take_equal(HTAB *hashed, const ShuttleGlobalIndex *index, const Datum *values)
{
	uint32		hash = hash_values(index, values);
	NewEntries *new = hash_search(hashed, &hash, HASH_FIND, NULL);
	const ListCell *cell;

	foreach(cell, new == NULL ? NIL : new->entries)
	{
		if (shuttle_global_passing_are_equal(index, lfirst(cell), values))
		{
			new->entries = list_delete_ptr(new->entries, lfirst(cell));
			return true;
		}
	}
	return false;
}

void
shuttle_global_passing_leave_out(ShuttleGlobalEntries *entries)
{
	HTAB	   *hashed;
	HASH_SEQ_STATUS status;
	NewEntries *new;
	List	   *deletes = NIL;
	ListCell   *cell;

	if (entries->deletes == NIL || entries->inserts == NIL)
		return;
	hashed = hash_entries(entries->index, entries->inserts);
	foreach(cell, entries->deletes)
	{
		if (!take_equal(hashed, entries->index, lfirst(cell)))
			deletes = lappend(deletes, lfirst(cell));
	}
	if (list_length(deletes) < list_length(entries->deletes))
	{
		entries->deletes = deletes;
		entries->inserts = NIL;
		hash_seq_init(&status, hashed);
		while ((new = hash_seq_search(&status)) != NULL)
			entries->inserts = list_concat(entries->inserts, new->entries);
	}
	hash_destroy(hashed);
}

/*-------------------------------------------------------------------------
 * analyze_known.c
 *	  What is known of foreign tables between two calls of ANALYZE.
 *
 * ANALYZE first asks for a table's size and then for its rows, for a
 * partitioned table first the one of all partitions and then the other, and
 * carries nothing of ours from the one to the other.
 * Memory: each entry has a context of its own below the caller's, and leaves
 * the session's list when that context goes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "executor/statistics/statistics.h"

static dlist_head known_tables = DLIST_STATIC_INIT(known_tables);

static void forget(void *arg);

ShuttleKnownTable *
shuttle_known_create(Oid relid)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "pg_shuttle analyzed table",
											  ALLOCSET_SMALL_SIZES);
	ShuttleKnownTable *known = MemoryContextAllocZero(cxt, sizeof(ShuttleKnownTable));
	MemoryContextCallback *callback = MemoryContextAlloc(cxt, sizeof(MemoryContextCallback));

	known->cxt = cxt;
	known->relid = relid;
	known->table.rows = -1;
	dlist_push_head(&known_tables, &known->link);
	callback->func = forget;
	callback->arg = known;
	MemoryContextRegisterResetCallback(cxt, callback);
	return known;
}

static void
forget(void *arg)
{
	dlist_delete(&((ShuttleKnownTable *) arg)->link);
}

ShuttleKnownTable *
shuttle_known_find(Oid relid, bool ahead)
{
	dlist_iter	iter;

	dlist_foreach(iter, &known_tables)
	{
		ShuttleKnownTable *known = dlist_container(ShuttleKnownTable, link, iter.cur);

		if (known->relid == relid && known->ahead == ahead)
		{
			known->ahead = false;
			return known;
		}
	}
	return NULL;
}

void
shuttle_known_free(ShuttleKnownTable *known)
{
	MemoryContextDelete(known->cxt);
}

/*-------------------------------------------------------------------------
 * analyze_known.c
 *	  What is known of foreign tables between two callbacks of ANALYZE.
 *
 * ANALYZE first asks for a table's size and later for its rows (for
 * partitions, first all sizes), and passes nothing of ours from one call to
 * the other.
 *
 * Memory: each entry has its own context below the caller's, and leaves the
 * list when that context is deleted.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "executor/statistics/statistics.h"

static dlist_head known_tables = DLIST_STATIC_INIT(known_tables);

static void forget(void *arg);

ShuttleKnownTable *
shuttle_analyze_known_create(Oid relid)
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
shuttle_analyze_known_find(Oid relid, bool prefetched)
{
	dlist_iter	iter;

	dlist_foreach(iter, &known_tables)
	{
		ShuttleKnownTable *known = dlist_container(ShuttleKnownTable, link, iter.cur);

		if (known->relid == relid && known->prefetched == prefetched)
		{
			known->prefetched = false;
			return known;
		}
	}
	return NULL;
}

void
shuttle_analyze_known_free(ShuttleKnownTable *known)
{
	MemoryContextDelete(known->cxt);
}

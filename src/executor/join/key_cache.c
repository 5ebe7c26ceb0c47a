/*-------------------------------------------------------------------------
 * key_cache.c
 *	  Answers for keys that earlier batches have asked for.
 *
 * The cache starts with a Look Ahead's second batch or second run, so that
 * joins of one batch pay nothing. A key in the cache is not asked for again:
 * the outer row refers to its entry.
 *
 *	PENDING --batch freed, answer was read--> KEPT
 *	PENDING --batch freed, answer was not read--> LOST
 *	LOST --a later batch asks for it--> PENDING
 *
 * Batches are freed in the order in which they were sent. So a row that refers
 * to a PENDING entry later finds it KEPT or LOST; if LOST, its batch asks for
 * all such keys of its rows together.
 *
 * Rules: keys are equal as in batches. Nothing is evicted before the end: the
 * first keys stay, and once they use as much memory as a hash table may, later
 * keys are asked for in each batch. If few keys repeat, no more are added.
 * Memory: cache_cxt of the Look Ahead, below the query's context; rows stay in
 * the context that their answer was read into, which becomes a child of
 * cache_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/join/join.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"

/* After so many lookups so many hits are expected: looking up a key costs a
 * small part of asking for it. */
#define FIRST_VERDICT 8192
#define LEAST_HITS (1.0 / 16)

typedef enum EntryState
{
	ENTRY_LOST,
	ENTRY_PENDING,
	ENTRY_KEPT
} EntryState;

typedef struct CacheEntry
{
	EntryState	state;
	int			key;			/* PENDING: its number in set; KEPT: its first
								 * row */
	const ShuttleKeySet *set;	/* PENDING: asks for it */
	ShuttleRange *range;		/* KEPT: has its rows */
} CacheEntry;

struct ShuttleKeyCache
{
	LookAheadState *look;
	ShuttleKeySet *keys;
	CacheEntry *entries;		/* for each key; size are allocated */
	int			size;
	int			npending;
};

static void expect_entry(ShuttleKeyCache *cache, int entry, ShuttleKeySet *set,
						 int key);
static void note_keys(ShuttleKeyCache *cache, ShuttleKeySet *set);

static ShuttleKeyCache *
create_cache(LookAheadState *look, ShuttleServedScan *scan)
{
	MemoryContext old;
	ShuttleKeyCache *cache;

	if (look->cache_cxt == NULL)
		look->cache_cxt = AllocSetContextCreate(look->css.ss.ps.state->es_query_cxt,
												"shuttle key cache",
												ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(look->cache_cxt);
	cache = palloc0(sizeof(ShuttleKeyCache));
	cache->look = look;
	cache->size = 64;
	cache->entries = palloc_array(CacheEntry, cache->size);
	cache->keys = shuttle_key_set_create(&scan->key, cache->size, look->cache_cxt);
	MemoryContextSwitchTo(old);
	return cache;
}

/*
 * Closes the caches for the rest of the query if few keys repeat in all scans.
 */
static void
consider_closing(LookAheadState *look)
{
	if (look->cache_lookups >= FIRST_VERDICT &&
		look->numbers.hits < look->cache_lookups * LEAST_HITS)
		look->cache_closed = true;
}

void
shuttle_key_caches_begin(LookAheadState *look)
{
	dlist_iter	iter;

	consider_closing(look);
	if (look->cached || look->shares || look->batch_size == 1 ||
		!shuttle_settings.enable_key_cache)
		return;
	look->cached = true;
	for (int i = 0; i < look->nscans; i++)
	{
		ShuttleServedScan *scan = look->scans[i];

		/* a scan that may not be executed may never read its answers */
		if (!scan->repeatable || scan->conditional)
			continue;
		scan->cache = create_cache(look, scan);
		look->numbers.caches = true;
		dlist_foreach(iter, &look->batches)
		{
			ShuttleBatch *batch = dlist_container(ShuttleBatch, link, iter.cur);

			if (batch->sets[i] != NULL)
				note_keys(scan->cache, batch->sets[i]);
		}
	}
}

/* Bytes of a Look Ahead's caches, with those expected for pending entries. */
static double
expected_bytes(const ShuttleKeyCache *cache, const ShuttleServedScan *scan)
{
	return cache->look->cache_bytes +
		MemoryContextMemAllocated(cache->look->cache_cxt, false) +
		cache->npending * scan->bytes_per_key;
}

static bool
is_full(const ShuttleKeyCache *cache, const ShuttleServedScan *scan)
{
	return expected_bytes(cache, scan) > get_hash_memory_limit();
}

/* Makes an entry PENDING: set asks for its key. */
static void
expect_entry(ShuttleKeyCache *cache, int entry, ShuttleKeySet *set, int key)
{
	if (entry >= cache->size)
	{
		cache->size *= 2;
		cache->entries = repalloc_huge(cache->entries,
									   sizeof(CacheEntry) * cache->size);
	}
	cache->entries[entry] = (CacheEntry)
	{
		.state = ENTRY_PENDING,
			.key = key,
			.set = set,
	};
	cache->npending++;
	shuttle_key_set_remember(set, key, entry);
}

/* Adds the keys of a batch that was sent before the cache existed. */
static void
note_keys(ShuttleKeyCache *cache, ShuttleKeySet *set)
{
	for (int key = 0; key < set->nkeys; key++)
	{
		shuttle_key_set_evaluate_as(set, key);
		expect_entry(cache, shuttle_key_set_find_evaluated(cache->keys, true),
					 set, key);
	}
}

int
shuttle_key_cache_collect(ShuttleServedScan *scan, ShuttleKeySet *set)
{
	ShuttleKeyCache *cache = scan->cache;
	int			nkeys = cache->keys->nkeys;
	CacheEntry *entry;
	int			number;
	int			key;

	if (cache->look->cache_closed)
		return shuttle_key_set_find(set, true);
	number = shuttle_key_set_find(cache->keys, !is_full(cache, scan));
	if (number == SHUTTLE_KEY_EMPTY)
		return number;
	cache->look->cache_lookups++;
	entry = &cache->entries[number];
	if (number >= 0 && number < nkeys && entry->state != ENTRY_LOST)
	{
		if (entry->set == set)
			return entry->key;
		cache->look->numbers.hits++;
		return SHUTTLE_KEY_CACHED - number;
	}
	key = shuttle_key_set_find_evaluated(set, true);
	if (number >= 0)
		expect_entry(cache, number, set, key);
	return key;
}

int
shuttle_key_cache_find(ShuttleServedScan *scan)
{
	int			number = shuttle_key_set_find_evaluated(scan->cache->keys, false);

	return number >= 0 ? SHUTTLE_KEY_CACHED - number : SHUTTLE_KEY_UNKNOWN;
}

bool
shuttle_key_cache_get(const ShuttleServedScan *scan, int key,
					  ShuttleRange **range, int *row)
{
	const CacheEntry *entry = &scan->cache->entries[SHUTTLE_KEY_CACHED - key];

	if (entry->state != ENTRY_KEPT)
		return false;
	*range = entry->range;
	*row = entry->key;
	return true;
}

/* Where a batch stores the key that one of its rows has for a scan, or NULL. */
static int *
find_place(const ShuttleServedScan *scan, ShuttleBatch *batch, int row)
{
	LookAheadState *look = scan->look;
	ShuttleRoutedKey *routed;

	if (scan->append == NULL)
		return &batch->keys[row * look->ncolumns + look->columns[scan->index]];
	routed = &batch->routed_keys[row * look->nappends + scan->append->index];
	return routed->scan == scan->index ? &routed->key : NULL;
}

void
shuttle_key_cache_repair(ShuttleServedScan *scan, ShuttleBatch *batch)
{
	ShuttleKeyCache *cache = scan->cache;
	ShuttleKeySet *set = batch->sets[scan->index];
	int			first = set->nkeys;

	if (set->repaired)
		return;
	set->repaired = true;
	for (int row = scan->look->position - 1; row < batch->nrows; row++)
	{
		int		   *place = find_place(scan, batch, row);
		int			number = place != NULL ? SHUTTLE_KEY_CACHED - *place : -1;

		if (number < 0 || cache->entries[number].state == ENTRY_KEPT)
			continue;
		shuttle_key_set_evaluate_as(cache->keys, number);
		*place = shuttle_key_set_find_evaluated(set, true);
		if (cache->entries[number].state == ENTRY_LOST)
			expect_entry(cache, number, set, *place);
	}
	shuttle_key_ranges_add(set, first, scan->request_limit);
}

/* Takes over the rows of a range whose batch is about to be freed. */
static ShuttleRange *
take_range(LookAheadState *look, ShuttleRange *range)
{
	ShuttleRange *kept = MemoryContextAlloc(look->cache_cxt, sizeof(ShuttleRange));

	*kept = *range;
	range->rows_cxt = NULL;
	MemoryContextSetParent(kept->rows_cxt, look->cache_cxt);
	look->cache_bytes += MemoryContextMemAllocated(kept->rows_cxt, true);
	return kept;
}

void
shuttle_key_cache_keep(ShuttleServedScan *scan, ShuttleKeySet *set)
{
	ShuttleKeyCache *cache = scan->cache;

	if (set->entries == NULL)
		return;
	for (int i = 0; i < set->nranges; i++)
	{
		ShuttleRange *range = set->ranges[i];
		ShuttleRange *kept = NULL;

		/* not even one batch fits into memory */
		if (range->state == SHUTTLE_RANGE_UNSENT ||
			range->state == SHUTTLE_RANGE_SPOOLED)
			cache->look->cache_closed = true;
		for (int key = range->first; key < range->first + range->nkeys; key++)
		{
			CacheEntry *entry;

			if (set->entries[key] < 0)
				continue;
			entry = &cache->entries[set->entries[key]];
			cache->npending--;
			if (kept == NULL && range->state == SHUTTLE_RANGE_LOADED)
				kept = take_range(cache->look, range);
			*entry = (CacheEntry)
			{
				.state = kept != NULL ? ENTRY_KEPT : ENTRY_LOST,
					.range = kept,
					.key = set->head[key],
			};
		}
	}
}

/*-------------------------------------------------------------------------
 * look_ahead_batch.c
 *	  Batches of outer rows whose keys are asked for together.
 *
 * A batch is filled with copies of outer rows. For each row the loop's
 * parameters are set and the keys of the scans on the inner side are added to
 * the sets of distinct keys; then the requests for them are sent. Rules: a
 * guess is only a hint: a scan whose key is missing asks for it alone, so no
 * result can change. Memory: each batch has its own context below the Look
 * Ahead's, deleted when the row after its last one is asked for.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/look_ahead_params.h"
#include "executor/facts/row_need.h"
#include "executor/facts/safe_values.h"
#include "executor/join/join.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/prefetch/prefetch.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"

/* The most outer rows of a batch while a scan waits for an initplan; the first
 * such batch has one row. */
#define MOST_WAITING_ROWS 32

/* The most that a batch may exceed batch_size if the cache has most of its
 * keys. */
#define MOST_STRETCH 16

/* Bytes held by all batches. */
static Size
held_bytes(const LookAheadState *look)
{
	return look->cxt == NULL ? 0 : MemoryContextMemAllocated(look->cxt, true);
}

void
shuttle_look_ahead_batches_tell_memory(LookAheadState *look)
{
	int64		held = held_bytes(look) + look->cache_bytes +
		(look->cache_cxt != NULL ?
		 MemoryContextMemAllocated(look->cache_cxt, false) : 0);

	look->numbers.peak_bytes = Max(look->numbers.peak_bytes, held);
	shuttle_dist_count_memory(held - look->told_bytes);
	look->told_bytes = held;
}

/* Bytes of inner rows per outer row so far, in all scans; 0: unknown. Not every
 * outer row has a key for every scan, nor a new one. */
static double
bytes_per_row(const LookAheadState *look)
{
	double		bytes = 0;

	for (int i = 0; i < look->nscans; i++)
		bytes += look->scans[i]->bytes_per_key * look->scans[i]->keys_per_row;
	return bytes;
}

bool
shuttle_look_ahead_batch_may_fill(LookAheadState *look)
{
	double		expected;

	if (look->outer_done || look->stopped != NULL)
		return false;
	if (look->nbatches == 0)
		return true;
	if (look->waits || look->locks_late || !shuttle_read_ahead_is_allowed(look) ||
		look->nbatches >= look->most_in_flight ||
		(look->row_goal > 0 &&
		 look->rows_pulled - look->rows_taken + look->next_size > look->rows_taken))
		return false;
	expected = bytes_per_row(look) * look->next_size * (look->nbatches + 1);
	return held_bytes(look) < (Size) work_mem * 1024 &&
		expected < Max(work_mem, shuttle_settings.fetch_ahead_kb) * 1024.0;
}

/* For tests: true for about one guess in four. */
static bool
spoiled(void)
{
	return shuttle_settings.debug_spoil_look_ahead &&
		pg_prng_uint64(&pg_global_prng_state) % 4 == 0;
}

/* A scan's key set in a batch, created when first needed: of many scans most
 * have few keys. */
static ShuttleKeySet *
find_set(LookAheadState *look, ShuttleBatch *batch, int scan)
{
	if (batch->sets[scan] == NULL)
	{
		batch->sets[scan] =
			shuttle_key_set_create(&look->scans[scan]->key,
								   batch->size / look->nscans + 1, batch->cxt);
		batch->sets[scan]->scan = look->scans[scan];
	}
	return batch->sets[scan];
}

/* Collects the key of one scan with the current parameters. */
static int
collect_key(LookAheadState *look, ShuttleBatch *batch, int scan)
{
	int			key = SHUTTLE_KEY_UNKNOWN;
	ShuttleKeySet *set;

	if (look->scans[scan]->waits)
		return SHUTTLE_KEY_UNKNOWN;
	set = find_set(look, batch, scan);
	if (!spoiled())
	{
		key = look->scans[scan]->cache == NULL ?
			shuttle_key_set_find(set, true) :
			shuttle_key_cache_collect(look->scans[scan], set);
		look->numbers.keys += key != SHUTTLE_KEY_EMPTY;
	}
	if (spoiled() && set->nkeys > 0)
		key = pg_prng_uint64(&pg_global_prng_state) % set->nkeys;
	return key;
}

/* Routes the current row, and collects the keys of the scans that it is routed
 * to. */
static void
collect_routed(LookAheadState *look, ShuttleBatch *batch, int row, int append)
{
	ShuttleRoutedAppend *node = look->appends[append];
	ShuttleRoutes *routes = batch->routes[append];
	int			key = shuttle_routed_append_find_route(node, routes);
	ShuttleRoutedKey *routed = &batch->routed_keys[row * look->nappends + append];
	int			nserved = 0;
	int			child = -1;

	batch->route_keys[row * look->nappends + append] = key;
	routed->scan = -1;
	if (key == SHUTTLE_KEY_UNKNOWN)
		return;
	while ((child = bms_next_member(routes->children[key], child)) >= 0)
	{
		if (!node->served[child])
			continue;
		routed->scan =
			shuttle_served_scan_index(node->append->appendplans[child]);
		routed->key = collect_key(look, batch, routed->scan);
		nserved++;
	}
	if (nserved > 1)
		routed->scan = -1;
}

/* Collects the keys of an outer row: row number `row` of the batch. */
static void
collect_keys(LookAheadState *look, ShuttleBatch *batch, int row,
			 TupleTableSlot *slot)
{
	shuttle_look_ahead_set_params(look, slot);
	for (int i = 0; i < look->nappends; i++)
		collect_routed(look, batch, row, i);
	for (int i = 0; i < look->nscans && look->ncolumns > 0; i++)
	{
		if (look->columns[i] >= 0)
			batch->keys[row * look->ncolumns + look->columns[i]] =
				collect_key(look, batch, i);
	}
	if (batch->locals != NULL)
		shuttle_local_collect(look, batch, row);
}

/* Outer rows of the next batch: if reading them or asking for their keys locks
 * rows, only those that are surely needed. */
static int
next_rows(const LookAheadState *look)
{
	if (!look->locks_late)
		return look->next_size;
	return (int) Min(look->next_size, shuttle_row_need_count(look->need));
}

static ShuttleBatch *
create_batch(LookAheadState *look)
{
	MemoryContext cxt = AllocSetContextCreate(look->cxt, "shuttle batch",
											  ALLOCSET_DEFAULT_SIZES);
	ShuttleBatch *batch = MemoryContextAllocZero(cxt, sizeof(ShuttleBatch));
	MemoryContext old = MemoryContextSwitchTo(cxt);
	int			size = next_rows(look);
	Size		nkeys = (Size) size * look->ncolumns;
	int			nroutes = size * look->nappends;

	batch->cxt = cxt;
	batch->size = size;
	batch->rows = palloc(sizeof(void *) * batch->size);
	batch->keys = palloc_extended(sizeof(int) * (nkeys + 1), MCXT_ALLOC_HUGE);
	memset(batch->keys, 0xff, sizeof(int) * nkeys); /* SHUTTLE_KEY_UNKNOWN */
	batch->sets = palloc0(sizeof(ShuttleKeySet *) * look->nscans);
	batch->route_keys = palloc(sizeof(int) * (nroutes + 1));
	memset(batch->route_keys, 0xff, sizeof(int) * nroutes);
	batch->routed_keys = palloc(sizeof(ShuttleRoutedKey) * (nroutes + 1));
	memset(batch->routed_keys, 0xff, sizeof(ShuttleRoutedKey) * nroutes);
	batch->routes = palloc(sizeof(ShuttleRoutes *) * (look->nappends + 1));
	for (int i = 0; i < look->nappends; i++)
		batch->routes[i] = shuttle_routed_append_make_routes(look->appends[i], batch->size,
															 cxt);
	MemoryContextSwitchTo(old);
	shuttle_local_begin_batch(look, batch);
	return batch;
}

/* Batches stay small while a scan waits for an initplan: its value is known
 * once the join has reached a row that needs it. */
static void
consider_waiting(LookAheadState *look)
{
	bool		waited = look->waits;

	look->waits = false;
	for (int i = 0; i < look->nscans; i++)
	{
		if (shuttle_served_scan_waits(look->scans[i], look))
			look->waits = true;
	}
	if (look->waits)
		look->next_size = Min(look->next_size, waited ? MOST_WAITING_ROWS : 1);
	else if (waited && look->row_goal == 0)
		look->next_size = look->batch_size;
}

/* Executes the initplans that keys depend on now, not while a key is being
 * evaluated. There is an outer row that needs them. */
static void
run_initplans(LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
		shuttle_served_scan_run_initplans(look->scans[i]);
}

/* Argument of collect_rows(): the next row whose keys are to be collected. */
typedef struct CollectContext
{
	LookAheadState *look;
	ShuttleBatch *batch;
	int			row;
} CollectContext;

static void
collect_rows(void *arg)
{
	CollectContext *context = arg;

	for (; context->row < context->batch->nrows; context->row++)
	{
		shuttle_outer_row_store(&context->look->rows,
								context->batch->rows[context->row],
								context->look->slot);
		collect_keys(context->look, context->batch, context->row,
					 context->look->slot);
	}
}

/* Collects a batch's keys if computing them may fail. A row for which it fails
 * has no keys: its scans compute them when the join reaches it. */
static void
collect_computed(LookAheadState *look, ShuttleBatch *batch)
{
	CollectContext context = {.look = look,.batch = batch};

	for (; context.row < batch->nrows; context.row++)
	{
		if (shuttle_caught_error_try(collect_rows, &context))
			return;
	}
}

/* The batch's copy of its last row: the keys of local scans point to its
 * values. */
static TupleTableSlot *
show_copy(LookAheadState *look, ShuttleBatch *batch)
{
	shuttle_outer_row_store(&look->rows, batch->rows[batch->nrows], look->slot);
	return look->slot;
}

/* Copies outer rows into the batch until it is full or there are no more.
 * Memory of child contexts is checked every 16 rows only. */
static void
pull_rows(LookAheadState *look, ShuttleBatch *batch)
{
	Size		limit = (Size) work_mem * 1024 / 2;

	while (batch->nrows < batch->size)
	{
		TupleTableSlot *row = shuttle_read_ahead_outer(look, batch);
		MemoryContext old;

		if (TupIsNull(row))
		{
			look->outer_done = look->stopped == NULL;
			break;
		}
		old = MemoryContextSwitchTo(batch->cxt);
		batch->rows[batch->nrows] = shuttle_outer_row_copy(&look->rows, row);
		MemoryContextSwitchTo(old);
		if (batch->nrows == 0)
			run_initplans(look);
		if (!look->may_fail)
			collect_keys(look, batch, batch->nrows,
						 batch->locals == NULL ? row : show_copy(look, batch));
		batch->nrows++;
		look->rows_pulled++;
		if (MemoryContextMemAllocated(batch->cxt, (batch->nrows & 15) == 0) > limit ||
			!shuttle_read_ahead_is_allowed(look))
			break;
	}
	if (look->may_fail)
		collect_computed(look, batch);
	ExecClearTuple(look->slot);
}

/* Sends all requests of a batch together. */
static void
send_batch(LookAheadState *look, ShuttleBatch *batch)
{
	for (int i = 0; i < look->nscans; i++)
	{
		ShuttleKeySet *set = batch->sets[i];

		look->scans[i]->keys_per_row = set == NULL ? 0 :
			(double) set->nkeys / batch->nrows;
		if (set == NULL)
			continue;
		look->numbers.distinct_keys += set->nkeys;
		shuttle_key_ranges_create(set, set->scan->request_limit);

		/* batch size 1: a key is asked for when it is needed, if ever */
		if (look->batch_size == 1)
			continue;
		for (int j = 0; j < set->nranges; j++)
		{
			if (!spoiled())
				shuttle_key_range_send(set, set->ranges[j], true);
		}
	}
}

/* The largest number of keys that a batch asks one scan for. */
static int
most_keys(const LookAheadState *look, const ShuttleBatch *batch)
{
	int			most = 0;

	for (int i = 0; i < look->nscans; i++)
	{
		if (batch->sets[i] != NULL)
			most = Max(most, batch->sets[i]->nkeys);
	}
	return most;
}

/* If each request is waited for, and the cache had most keys of a batch, the
 * next batch takes more rows, to ask for as many keys as usual. */
static void
consider_stretching(LookAheadState *look, const ShuttleBatch *batch)
{
	int			usual = look->batch_size / 2;

	if (!look->may_stretch || !look->cached || look->row_goal > 0)
		return;
	if (most_keys(look, batch) <= usual)
		look->stretch = Min(look->stretch * 2, MOST_STRETCH);
	else
		look->stretch = Max(look->stretch / 2, 1);
}

/* The next batch is twice as large, up to its full size; but its rows must fit
 * into work_mem. */
static void
ramp_up(LookAheadState *look, const ShuttleBatch *batch)
{
	double		bytes = bytes_per_row(look);

	consider_stretching(look, batch);
	look->next_size = Min(look->next_size * 2, look->batch_size * look->stretch);
	if (bytes > 0)
		look->next_size = Max(1, Min(look->next_size, work_mem * 1024.0 / bytes));
}

bool
shuttle_look_ahead_batch_fill(LookAheadState *look)
{
	ShuttleBatch *batch;

	if (look->rows_pulled == 0)
		shuttle_correlated_renew(look);
	consider_waiting(look);
	if (look->nscans > 0 && (look->rows_pulled > 0 || look->ran_before))
		shuttle_key_caches_begin(look);
	batch = create_batch(look);
	shuttle_look_ahead_save_params(look);
	pull_rows(look, batch);
	shuttle_look_ahead_restore_params(look);
	if (batch->nrows == 0)
	{
		MemoryContextDelete(batch->cxt);
		return false;
	}
	dlist_push_tail(&look->batches, &batch->link);
	look->nbatches++;
	send_batch(look, batch);
	ramp_up(look, batch);
	look->numbers.batches++;
	look->numbers.largest_batch = Max(look->numbers.largest_batch, batch->nrows);
	look->numbers.most_in_flight = Max(look->numbers.most_in_flight,
									   look->nbatches);
	shuttle_look_ahead_batches_tell_memory(look);
	return true;
}

void
shuttle_look_ahead_batch_drop(LookAheadState *look, ShuttleBatch *batch)
{
	shuttle_look_ahead_batches_tell_memory(look);
	ExecClearTuple(look->slot);
	if (look->projects)
		ExecClearTuple(look->css.ss.ss_ScanTupleSlot);
	for (int i = 0; i < look->nscans; i++)
	{
		if (look->scans[i]->look == look)
		{
			ExecClearTuple(look->scans[i]->node->ss.ss_ScanTupleSlot);
			shuttle_served_scan_forget(look->scans[i]);
		}
		if (batch->sets[i] == NULL)
			continue;
		if (look->scans[i]->cache != NULL)
			shuttle_key_cache_keep(look->scans[i], batch->sets[i]);
		shuttle_key_ranges_close(batch->sets[i]);
	}
	shuttle_local_end_batch(look, batch);
	dlist_delete(&batch->link);
	look->nbatches--;
	if (look->current == batch)
	{
		look->current = NULL;
		look->position = 0;
	}
	MemoryContextDelete(batch->cxt);
	shuttle_look_ahead_batches_tell_memory(look);
}

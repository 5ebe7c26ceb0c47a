/*-------------------------------------------------------------------------
 * local_prefetch.c
 *	  Prefetches pages of local index scans ahead of the join.
 *
 * Each scan's keys are evaluated for the rows of a batch. Then two positions
 * run ahead of the current row: at the first, the leaf page of a key is
 * prefetched; at the second, that leaf is read and the table pages are
 * prefetched. Each stops at the tablespace's effective_io_concurrency of reads
 * in flight.
 *
 * This pays only if reads are slow, so it starts only then:
 *
 * 	 WATCH --the session reads pages--> PROBE --they are slow--> PREFETCH
 * 	   ^								  | they are not			|
 * 	   +----------------------------------+						|
 * 	   +---- a batch that started no read, or won nothing ------+
 *
 * WATCH returns rows and checks core's count of pages read now and then; if
 * all is in shared buffers it stays there. PROBE reads the pages of a few rows
 * one by one, just before the join does, and compares the time with the CPU
 * time of finding them: if the kernel has the pages cached, prefetching gains
 * nothing. PREFETCH times some prefetched leaves: they must be faster than those
 * of PROBE. It probes again now and then. Each time it does not pay, the next
 * WATCH is longer.
 *
 * Memory: the keys of a batch live in its context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "common/pg_prng.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "portability/instr_time.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/look_ahead_params.h"
#include "executor/join/join.h"
#include "executor/prefetch/prefetch.h"

/* Lengths in outer rows: of the first WATCH; of later ones, at least and at
 * most; of a PROBE at most; between two PROBEs, at least and at most. */
#define FIRST_WATCH 16
#define LEAST_WATCH 64
#define MOST_WATCH 2048
#define MOST_PROBES 16
#define LEAST_AHEAD 64
#define MOST_AHEAD 4096

/*
 * A read is slow if it takes this many times the CPU time of finding the page.
 */
#define SLOW_READ 12

/* Number of slow reads that start PREFETCH. */
#define LEAST_SLOW 2

/* Leaves are timed from this row of a batch on, at least so many; their median
 * must be below this fraction of the probe's. */
#define FIRST_TIMED 16
#define LEAST_TIMED 4
#define FASTER_READ 0.75

/* One scan's keys and pages for the rows of a batch. */
struct ShuttleLocalKeys
{
	ShuttleLocalScan *scan;
	int			distance;		/* rows between the positions, at most */
	Datum	   *values;			/* row * nvalues + value */
	bool	   *wanted;			/* for each row: has a key */
	BlockNumber *leaves;		/* for each row: its leaf page, once found */
	bool	   *leaf_reads;		/* for each row: reads started */
	uint8	   *heap_reads;
	int			next_leaf;		/* first position */
	int			next_heap;		/* second position */
	int			passed;			/* rows the join has read */
	int			leaves_under_way;
	int			heaps_under_way;
};

/* ---- asking for pages */

static ShuttleLocalKeys *
create_keys(ShuttleLocalScan *scan, int nrows)
{
	ShuttleLocalKeys *keys = palloc0_object(ShuttleLocalKeys);

	keys->scan = scan;
	keys->distance = 2 * Max(scan->index_limit, scan->heap_limit);
	keys->values = palloc_array(Datum, nrows * scan->nvalues);
	keys->wanted = palloc_array(bool, nrows);
	keys->leaves = palloc_array(BlockNumber, nrows);
	keys->leaf_reads = palloc0_array(bool, nrows);
	keys->heap_reads = palloc0_array(uint8, nrows);

	/* no prefetch for the first row: the join reads its pages right away */
	keys->next_leaf = keys->next_heap = 1;
	keys->leaves[0] = InvalidBlockNumber;
	return keys;
}

static bool
start_read(LookAheadState *look, Relation rel, BlockNumber block)
{
	if (!PrefetchBuffer(rel, MAIN_FORKNUM, block).initiated_io)
		return false;
	look->numbers.prefetched_pages++;
	look->pace.started++;
	return true;
}

/* Finds the leaf of a row's key and prefetches it. */
static void
start_leaf(LookAheadState *look, ShuttleLocalKeys *keys, int row)
{
	ShuttleLocalScan *scan = keys->scan;

	keys->leaves[row] = InvalidBlockNumber;
	if (!keys->wanted[row])
		return;
	keys->leaves[row] = shuttle_local_tree_leaf(scan, &keys->values[row * scan->nvalues],
												NULL);
	if (!BlockNumberIsValid(keys->leaves[row]) || scan->index_limit == 0 ||
		(row > 0 && keys->leaves[row - 1] == keys->leaves[row]))
		return;
	keys->leaf_reads[row] = start_read(look, scan->index, keys->leaves[row]);
	keys->leaves_under_way += keys->leaf_reads[row];
}

/* Reads the leaf of a row's key and prefetches its table pages. */
static void
start_heaps(LookAheadState *look, ShuttleLocalKeys *keys, int row)
{
	ShuttleLocalScan *scan = keys->scan;
	ShuttleProbe *timing = &look->pace.prefetched;
	int			nblocks;

	if (row < FIRST_TIMED || timing->nreads >= SHUTTLE_PROBE_READS)
		timing = NULL;
	keys->leaves_under_way -= keys->leaf_reads[row];
	if (!BlockNumberIsValid(keys->leaves[row]) || scan->heap_limit == 0)
		return;
	nblocks = shuttle_local_tree_blocks(scan, keys->leaves[row],
										&keys->values[row * scan->nvalues],
										timing);
	for (int i = 0; i < nblocks; i++)
		keys->heap_reads[row] += start_read(look, scan->heap, scan->blocks[i]);
	if (row >= keys->passed)
		keys->heaps_under_way += keys->heap_reads[row];
}

/*
 * Prefetches as many pages as may be in flight, for rows after the current one.
 */
static void
advance(LookAheadState *look, ShuttleLocalKeys *keys, int position, int nrows)
{
	ShuttleLocalScan *scan = keys->scan;

	while (keys->passed <= position)
		keys->heaps_under_way -= keys->heap_reads[keys->passed++];
	while (keys->next_heap < nrows &&
		   keys->next_heap <= position + keys->distance &&
		   keys->heaps_under_way < Max(scan->heap_limit, 1))
	{
		while (keys->next_leaf < nrows &&
			   keys->next_leaf <= keys->next_heap + keys->distance &&
			   (keys->leaves_under_way < scan->index_limit ||
				keys->next_leaf <= keys->next_heap))
			start_leaf(look, keys, keys->next_leaf++);
		start_heaps(look, keys, keys->next_heap++);
	}
}

void
shuttle_local_advance(LookAheadState *look, ShuttleBatch *batch)
{
	for (int i = 0; i < look->nlocals; i++)
		advance(look, batch->locals[i], look->position, batch->nrows);
}

/* ---- keys of a batch */

void
shuttle_local_collect(LookAheadState *look, ShuttleBatch *batch, int row)
{
	MemoryContext old = MemoryContextSwitchTo(batch->cxt);

	for (int i = 0; i < look->nlocals; i++)
	{
		ShuttleLocalKeys *keys = batch->locals[i];
		ShuttleLocalScan *scan = keys->scan;

		keys->wanted[row] =
			shuttle_local_scan_evaluate(scan, &keys->values[row * scan->nvalues]);
		if (shuttle_settings.debug_spoil_look_ahead &&
			pg_prng_uint64(&pg_global_prng_state) % 4 == 0)
			keys->wanted[row] = false;
	}
	MemoryContextSwitchTo(old);
}

/* ---- does it pay */

static void
begin_watch(ShuttlePace *pace, int rows)
{
	pace->state = SHUTTLE_PACE_WATCH;
	pace->window = pace->rows_left = rows;
	pace->pages_read = pgBufferUsage.shared_blks_read;
}

/* Back to WATCH; each time for longer. */
static void
pause_prefetch(LookAheadState *look)
{
	ShuttlePace *pace = &look->pace;

	look->numbers.prefetch_pauses++;
	begin_watch(pace, pace->patience);
	pace->patience = Min(pace->patience * 2, MOST_WATCH);
	pace->stretch = LEAST_AHEAD;
}

static void
begin_probe(ShuttlePace *pace)
{
	pace->state = SHUTTLE_PACE_PROBE;
	pace->rows_left = 1;
	pace->nprobes = 0;
	pace->probe.nreads = 0;
	pace->work_us = 0;
}

static void
begin_prefetch(LookAheadState *look)
{
	ShuttlePace *pace = &look->pace;

	pace->state = SHUTTLE_PACE_PREFETCH;
	pace->probe_due = false;
	pace->rows_left = pace->stretch;
	pace->stretch = Min(pace->stretch * 2, MOST_AHEAD);
	pace->prefetched.nreads = 0;
}

/* Reads one scan's pages for the current parameters. */
static void
probe_scan(ShuttleLocalScan *scan, ShuttleProbe *probe)
{
	Datum	   *values = palloc_array(Datum, scan->nvalues + 1);
	BlockNumber leaf;

	if (!shuttle_local_scan_evaluate(scan, values))
		return;
	leaf = shuttle_local_tree_leaf(scan, values, probe);
	if (BlockNumberIsValid(leaf) &&
		shuttle_local_tree_blocks(scan, leaf, values, probe) > 0)
		shuttle_local_tree_touch(scan->heap, scan->blocks[0], probe);
}

/* Reads a row's pages for all scans and records the times. */
static void
probe_row(LookAheadState *look, TupleTableSlot *row)
{
	ShuttlePace *pace = &look->pace;
	ShuttleProbe probe = {0};
	MemoryContext old = MemoryContextSwitchTo(look->probe_cxt);
	instr_time	start;
	instr_time	end;
	double		work_us;

	shuttle_look_ahead_save_params(look);
	shuttle_look_ahead_set_params(look, row);
	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < look->nlocals; i++)
		probe_scan(look->locals[i], &probe);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	shuttle_look_ahead_restore_params(look);
	MemoryContextSwitchTo(old);
	MemoryContextReset(look->probe_cxt);

	work_us = (INSTR_TIME_GET_DOUBLE(end) * 1e6 - probe.total_us) / look->nlocals;
	pace->work_us = pace->nprobes++ == 0 ? work_us : Min(pace->work_us, work_us);
	for (int i = 0; i < probe.nreads && pace->probe.nreads < SHUTTLE_PROBE_READS; i++)
		pace->probe.read_us[pace->probe.nreads++] = probe.read_us[i];
}

/* Decides by the probes' times. */
static void
judge_probes(LookAheadState *look)
{
	ShuttlePace *pace = &look->pace;
	int			nslow = 0;

	for (int i = 0; i < pace->probe.nreads; i++)
		nslow += pace->probe.read_us[i] > SLOW_READ * pace->work_us;
	if (nslow >= LEAST_SLOW)
		begin_prefetch(look);
	else
		pause_prefetch(look);
}

void
shuttle_local_turn(LookAheadState *look, TupleTableSlot *row)
{
	ShuttlePace *pace = &look->pace;

	pace->rows_left = 1;
	switch (pace->state)
	{
		case SHUTTLE_PACE_WATCH:
			if (pgBufferUsage.shared_blks_read - pace->pages_read >= pace->window / 8)
				begin_probe(pace);
			else
				begin_watch(pace, LEAST_WATCH);
			break;
		case SHUTTLE_PACE_PROBE:

			/* rows whose pages were prefetched tell nothing */
			if (look->current != NULL && look->current->locals != NULL)
				break;
			probe_row(look, row);
			if (pace->probe.nreads >= SHUTTLE_PROBE_READS ||
				pace->nprobes >= MOST_PROBES)
				judge_probes(look);
			break;
		case SHUTTLE_PACE_PREFETCH:
			pace->probe_due = true;
			pace->rows_left = INT_MAX;
			break;
	}
}

void
shuttle_local_begin_batch(LookAheadState *look, ShuttleBatch *batch)
{
	MemoryContext old;

	if (look->pace.state != SHUTTLE_PACE_PREFETCH || look->nlocals == 0)
		return;
	old = MemoryContextSwitchTo(batch->cxt);
	batch->locals = palloc_array(ShuttleLocalKeys *, look->nlocals);
	for (int i = 0; i < look->nlocals; i++)
		batch->locals[i] = create_keys(look->locals[i], batch->size);
	MemoryContextSwitchTo(old);
}

static double
median_us(ShuttleProbe *probe)
{
	double	   *read_us = probe->read_us;

	for (int i = 1; i < probe->nreads; i++)
	{
		for (int j = i; j > 0 && read_us[j] < read_us[j - 1]; j--)
		{
			double		slower = read_us[j - 1];

			read_us[j - 1] = read_us[j];
			read_us[j] = slower;
		}
	}
	return read_us[probe->nreads / 2];
}

/* True unless prefetched leaves were no faster. */
static bool
wins_time(ShuttlePace *pace)
{
	return pace->probe.nreads == 0 || pace->prefetched.nreads < LEAST_TIMED ||
		median_us(&pace->prefetched) < FASTER_READ * median_us(&pace->probe);
}

void
shuttle_local_end_batch(LookAheadState *look, const ShuttleBatch *batch)
{
	ShuttlePace *pace = &look->pace;
	int64		started = pace->started;

	if (batch->locals == NULL || look->position < batch->nrows)
		return;
	pace->started = 0;
	if (pace->state != SHUTTLE_PACE_PREFETCH || shuttle_settings.debug_force_batched_join)
		return;
	if (started == 0 || !wins_time(pace))
		pause_prefetch(look);
	else if (pace->probe_due)
		begin_probe(pace);
	else
		pace->patience = LEAST_WATCH;
}

void
shuttle_local_start(LookAheadState *look)
{
	ShuttlePace *pace = &look->pace;

	look->probe_cxt = AllocSetContextCreate(look->cxt, "shuttle probe",
											ALLOCSET_SMALL_SIZES);
	pace->patience = LEAST_WATCH;
	pace->stretch = LEAST_AHEAD;
	begin_watch(pace, FIRST_WATCH);
	if (shuttle_settings.debug_force_batched_join)
		begin_prefetch(look);
}

/* ---- linking */

void
shuttle_local_claim(LookAheadState *look, PlanState *node,
					const Bitmapset *bound_between, bool one_row)
{
	ShuttleLocalScan *scan = shuttle_local_scan_create(look, node, bound_between,
													   one_row);

	if (scan == NULL)
		return;
	if (look->nlocals == 0)
		look->locals = palloc(sizeof(ShuttleLocalScan *));
	else
		look->locals = repalloc(look->locals, sizeof(ShuttleLocalScan *) *
								(look->nlocals + 1));
	look->locals[look->nlocals++] = scan;
}

/*-------------------------------------------------------------------------
 * key_range.c
 *	  Requests for ranges of keys, and the rows of their answers.
 *
 * Rules: rows of a key stay in the order in which they came. If a request
 * fails, or its rows exceed work_mem, it is repeated in two halves when the
 * join reaches their keys. So an error is raised for the key that causes it,
 * and only when the join is there. A request may also fail for rows of no key
 * at all: it is first repeated fenced. Memory: a range's rows have their own
 * context below the set's; if one key's rows are too big they go to a
 * temporary file.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/shuttle_compat_executor.h"
#include "executor/executor_types.h"
#include "executor/facts/safe_values.h"
#include "executor/join/join.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "storage/shuttle_storage.h"

#define FIRST_ROWS 16

/* Bytes of rows read between two checks of memory. */
#define CHECK_BYTES 8192

static ShuttleRange *find_range(ShuttleKeySet *set, int key);
static void read_answer(ShuttleKeySet *set, ShuttleRange *range);
static void evict_others(ShuttleKeySet *set, ShuttleRange *keep);
static void split_range(ShuttleKeySet *set, ShuttleRange *range);

static ShuttleRange *
create_range(ShuttleKeySet *set, int first, int nkeys)
{
	ShuttleRange *range = MemoryContextAllocZero(set->cxt, sizeof(ShuttleRange));

	range->first = first;
	range->nkeys = nkeys;
	return range;
}

void
shuttle_key_ranges_create(ShuttleKeySet *set, int limit)
{
	int			nranges = (set->nkeys + limit - 1) / limit;

	set->nranges = nranges;
	set->ranges = MemoryContextAlloc(set->cxt,
									 sizeof(ShuttleRange *) * Max(nranges, 1));
	for (int i = 0; i < nranges; i++)
		set->ranges[i] = create_range(set, i * limit,
									  Min(limit, set->nkeys - i * limit));
}

void
shuttle_key_ranges_add(ShuttleKeySet *set, int first, int limit)
{
	int			nmore = (set->nkeys - first + limit - 1) / limit;

	set->ranges = repalloc(set->ranges, sizeof(ShuttleRange *) *
						   Max(set->nranges + nmore, 1));
	for (; first < set->nkeys; first += limit)
	{
		ShuttleRange *range = create_range(set, first,
										   Min(limit, set->nkeys - first));

		set->ranges[set->nranges++] = range;
		shuttle_key_range_send(set, range, true);
	}
}

void
shuttle_key_range_send(ShuttleKeySet *set, ShuttleRange *range, bool speculative)
{
	ShuttleServedScan *scan = set->scan;
	MemoryContext old = MemoryContextSwitchTo(set->cxt);

	Assert(range->state == SHUTTLE_RANGE_UNSENT);
	range->fenced = shuttle_served_scan_fences(scan, range->nkeys);
	range->answer = scan->transport->send(scan->channel, set, range->first,
										  range->nkeys, speculative);
	range->state = SHUTTLE_RANGE_SENT;
	MemoryContextSwitchTo(old);
}

ShuttleRange *
shuttle_key_range_load(ShuttleKeySet *set, int key)
{
	for (;;)
	{
		ShuttleRange *range = find_range(set, key);

		switch (range->state)
		{
			case SHUTTLE_RANGE_LOADED:
			case SHUTTLE_RANGE_SPOOLED:
				return range;
			case SHUTTLE_RANGE_UNSENT:

				/*
				 * the error of a single key that is needed now is the
				 * statement's
				 */
				if (range->nkeys == 1 && set->scan->may_fail &&
					shuttle_caught_error_reads_ahead())
					shuttle_caught_error_pause();
				shuttle_key_range_send(set, range, range->nkeys > 1);
				break;
			case SHUTTLE_RANGE_SENT:
				read_answer(set, range);
				break;
		}
	}
}

static ShuttleRange *
find_range(ShuttleKeySet *set, int key)
{
	int			low = 0;
	int			high = set->nranges - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (set->ranges[middle]->first <= key)
			low = middle;
		else
			high = middle - 1;
	}
	return set->ranges[low];
}

/* Appends a row to the rows of its key. */
static void
add_row(ShuttleKeySet *set, ShuttleRange *range, int key, HeapTuple tuple)
{
	int			row = range->nrows;

	if (row == range->rows_size)
	{
		range->rows_size = Max(FIRST_ROWS, range->rows_size * 2);
		if (range->rows == NULL)
		{
			range->rows = palloc(sizeof(HeapTuple) * range->rows_size);
			range->next = palloc(sizeof(int) * range->rows_size);
		}
		else
		{
			range->rows = repalloc_huge(range->rows,
										sizeof(HeapTuple) * range->rows_size);
			range->next = repalloc_huge(range->next,
										sizeof(int) * range->rows_size);
		}
	}
	range->rows[row] = tuple;
	range->next[row] = -1;
	if (set->tail[key] >= 0)
		range->next[set->tail[key]] = row;
	else
		set->head[key] = row;
	set->tail[key] = row;
	range->nrows++;
}

/* Frees the rows of a range, which must be requested again. */
static void
drop_rows(ShuttleKeySet *set, ShuttleRange *range)
{
	if (range->answer != NULL)
		set->scan->transport->close_answer(range->answer);
	range->answer = NULL;
	if (range->rows_cxt != NULL)
		MemoryContextDelete(range->rows_cxt);
	range->rows_cxt = NULL;
	range->rows = NULL;
	range->next = NULL;
	range->nrows = range->rows_size = 0;
	for (int i = range->first; i < range->first + range->nkeys; i++)
		set->head[i] = set->tail[i] = -1;
	range->state = SHUTTLE_RANGE_UNSENT;
}

/* Writes one row to the temporary file of a key that is too big. */
static void
spool_row(ShuttleRange *range, HeapTuple tuple)
{
	BufFileWrite(range->spool, &tuple->t_len, sizeof(tuple->t_len));
	BufFileWrite(range->spool, &tuple->t_self, sizeof(tuple->t_self));
	BufFileWrite(range->spool, tuple->t_data, tuple->t_len);
	range->spool_rows++;
}

/* Moves the rows so far of a one-key range to a temporary file. */
static void
begin_spool(ShuttleKeySet *set, ShuttleRange *range)
{
	MemoryContext old = MemoryContextSwitchTo(set->cxt);
	int			row = set->head[range->first];

	range->spool = BufFileCreateTemp(false);
	MemoryContextSwitchTo(old);
	for (; row >= 0; row = range->next[row])
		spool_row(range, range->rows[row]);
	MemoryContextReset(range->rows_cxt);
	range->rows = NULL;
	range->next = NULL;
	range->rows_size = 0;
}

HeapTuple
shuttle_key_range_spooled_row(ShuttleRange *range, int row)
{
	HeapTuple	tuple;
	uint32		length;

	if (row == 0 && BufFileSeek(range->spool, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file of a key's rows")));
	MemoryContextReset(range->rows_cxt);
	if (row == range->spool_rows)
		return NULL;
	BufFileReadExact(range->spool, &length, sizeof(length));
	tuple = MemoryContextAlloc(range->rows_cxt, HEAPTUPLESIZE + length);
	tuple->t_len = length;
	tuple->t_tableOid = InvalidOid;
	tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	BufFileReadExact(range->spool, &tuple->t_self, sizeof(tuple->t_self));
	BufFileReadExact(range->spool, tuple->t_data, length);
	return tuple;
}

/* True if a range's rows need more than work_mem. */
static bool
too_big(const ShuttleRange *range)
{
	return MemoryContextMemAllocated(range->rows_cxt, true) >
		(Size) work_mem * 1024;
}

/* Updates the estimates of rows and bytes per key, for the next batches. */
static void
learn_size(ShuttleKeySet *set, const ShuttleRange *range)
{
	ShuttleServedScan *scan = set->scan;
	double		rows = (double) range->nrows / range->nkeys;
	double		bytes = (double) MemoryContextMemAllocated(range->rows_cxt, true) /
		range->nkeys;

	/* the first answer replaces the planner's estimate */
	if (scan->bytes_per_key == 0)
		scan->rows_per_key = rows;
	scan->rows_per_key = Max(rows, (scan->rows_per_key + rows) / 2);
	scan->bytes_per_key = Max(bytes, (scan->bytes_per_key + bytes) / 2);
}

/* The request failed or was skipped: it is sent again when needed. */
static void
ask_again(ShuttleKeySet *set, ShuttleRange *range, ShuttleStatus status)
{
	drop_rows(set, range);
	if (status != SHUTTLE_FAILED)
		return;
	set->scan->fenced = true;
	if (range->fenced && range->nkeys > 1)
		split_range(set, range);
}

/* Reads an answer to its end, or until it must be requested in another way. */
static void
read_answer(ShuttleKeySet *set, ShuttleRange *range)
{
	ShuttleServedScan *scan = set->scan;
	Size		unseen_bytes = 0;
	MemoryContext old;

	evict_others(set, range);
	range->rows_cxt = GenerationContextCreate(set->cxt, "shuttle rows",
											  ALLOCSET_SMALL_MINSIZE,
											  ALLOCSET_SMALL_INITSIZE,
											  ALLOCSET_DEFAULT_MAXSIZE);
	old = MemoryContextSwitchTo(range->rows_cxt);
	for (;;)
	{
		HeapTuple	tuple;
		int			ordinal;
		ShuttleStatus status;

		status = scan->transport->next(range->answer, true, &ordinal, &tuple);
		if (status == SHUTTLE_END)
			break;
		if (status != SHUTTLE_ROW)
		{
			MemoryContextSwitchTo(old);
			ask_again(set, range, status);
			return;
		}
		if (ordinal < 0 || ordinal >= range->nkeys)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("storage node answered for a key that was not asked for")));
		if (range->spool != NULL)
		{
			spool_row(range, tuple);
			MemoryContextReset(range->rows_cxt);
			continue;
		}
		add_row(set, range, range->first + ordinal, tuple);
		unseen_bytes += tuple->t_len;
		if (unseen_bytes < CHECK_BYTES || !too_big(range))
			continue;
		unseen_bytes = 0;
		if (range->nkeys > 1)
		{
			scan->bytes_per_key = Max(scan->bytes_per_key,
									  work_mem * 1024.0 / range->nkeys);
			MemoryContextSwitchTo(old);
			drop_rows(set, range);
			split_range(set, range);
			return;
		}
		begin_spool(set, range);
	}
	MemoryContextSwitchTo(old);
	scan->transport->close_answer(range->answer);
	range->answer = NULL;
	range->state = range->spool ? SHUTTLE_RANGE_SPOOLED : SHUTTLE_RANGE_LOADED;
	if (range->spool == NULL)
		learn_size(set, range);
}

void
shuttle_key_ranges_close(ShuttleKeySet *set)
{
	for (int i = 0; i < set->nranges; i++)
	{
		ShuttleRange *range = set->ranges[i];

		if (range->answer != NULL)
			set->scan->transport->close_answer(range->answer);
		if (range->spool != NULL)
			BufFileClose(range->spool);
	}
	set->nranges = 0;
}

/*
 * Makes room for a range: frees the set's other ranges beyond work_mem, which
 * are requested again if a later row has one of their keys. The range itself
 * counts as well, unless it was evicted before: then outer rows return to keys,
 * and two ranges that do not fit together would evict each other in turn.
 */
static void
evict_others(ShuttleKeySet *set, ShuttleRange *keep)
{
	Size		limit = (Size) work_mem * 1024;
	Size		held = 0;

	if (!keep->was_evicted)
		limit -= Min(limit, set->scan->bytes_per_key * keep->nkeys);

	for (int i = 0; i < set->nranges; i++)
	{
		ShuttleRange *range = set->ranges[i];

		if (range != keep && range->state == SHUTTLE_RANGE_LOADED)
			held += MemoryContextMemAllocated(range->rows_cxt, true);
	}
	for (int i = 0; i < set->nranges && held > limit; i++)
	{
		ShuttleRange *range = set->ranges[i];

		if (range == keep || range->state != SHUTTLE_RANGE_LOADED)
			continue;
		held -= MemoryContextMemAllocated(range->rows_cxt, true);
		drop_rows(set, range);
		range->was_evicted = true;
	}
}

/* Cuts an unsent range in two. */
static void
split_range(ShuttleKeySet *set, ShuttleRange *range)
{
	int			nfirst = range->nkeys / 2;
	ShuttleRange *second = create_range(set, range->first + nfirst,
										range->nkeys - nfirst);
	ShuttleRange **ranges;
	int			at = 0;

	Assert(range->state == SHUTTLE_RANGE_UNSENT && nfirst > 0);
	range->nkeys = nfirst;
	ranges = MemoryContextAlloc(set->cxt,
								sizeof(ShuttleRange *) * (set->nranges + 1));
	for (int i = 0; i < set->nranges; i++)
	{
		ranges[at++] = set->ranges[i];
		if (set->ranges[i] == range)
			ranges[at++] = second;
	}
	pfree(set->ranges);
	set->ranges = ranges;
	set->nranges = at;
}

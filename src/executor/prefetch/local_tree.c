/*-------------------------------------------------------------------------
 * local_tree.c
 *	  Finds the pages of a local btree, and of its table, for a key.
 *
 * A search descends from the root as core's does, but stops above the leaf
 * level, since the leaf may not be cached yet. Its result is a hint.
 * Visibility is not checked, no lock outlives a call, and a page that was
 * split, deleted or recycled in between only makes a hint wrong or missing:
 * each page is checked before use. Pages are pinned and share-locked one at a
 * time, as in core's searches.
 *
 * Memory: comparisons run in the per-tuple memory of the scan's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/rel.h"

#include "base/shuttle_compat_catalog.h"
#include "executor/executor_types.h"
#include "executor/prefetch/prefetch.h"

/* Most steps to the right on one level. */
#define MOST_STEPS 4

/* Most entries of a leaf to check for one key. */
#define MOST_ENTRIES 256

/* Whether an index entry matches the keys. */
typedef enum EntryVerdict
{
	ENTRY_MATCHES,
	ENTRY_DIFFERS,
	ENTRY_ENDS					/* nor do later ones match */
} EntryVerdict;

/* ---- pages */

/* Reads a page; a probe records the time if it was not in shared buffers. */
static Buffer
read_buffer(Relation rel, BlockNumber block, ShuttleProbe *probe)
{
	int64		before = pgBufferUsage.shared_blks_read;
	instr_time	start;
	instr_time	end;
	Buffer		buffer;

	if (probe == NULL)
		return ReadBuffer(rel, block);
	INSTR_TIME_SET_CURRENT(start);
	buffer = ReadBuffer(rel, block);
	INSTR_TIME_SET_CURRENT(end);
	if (pgBufferUsage.shared_blks_read != before &&
		probe->nreads < SHUTTLE_PROBE_READS)
	{
		INSTR_TIME_SUBTRACT(end, start);
		probe->read_us[probe->nreads] = INSTR_TIME_GET_DOUBLE(end) * 1e6;
		probe->total_us += probe->read_us[probe->nreads++];
	}
	return buffer;
}

void
shuttle_local_tree_touch(Relation rel, BlockNumber block, ShuttleProbe *probe)
{
	ReleaseBuffer(read_buffer(rel, block, probe));
}

/* Uses nbtree's own locking functions, for their valgrind annotations. */
static Buffer
read_page(Relation index, BlockNumber block, ShuttleProbe *probe)
{
	Buffer		buffer = read_buffer(index, block, probe);

	_bt_lockbuf(index, buffer, BT_READ);
	return buffer;
}

/* True if a locked page is a btree page of this level. */
static bool
is_page_of_level(Buffer buffer, uint32 level)
{
	Page		page = BufferGetPage(buffer);

	return !PageIsNew(page) &&
		PageGetSpecialSize(page) == MAXALIGN(sizeof(BTPageOpaqueData)) &&
		(P_IGNORE(BTPageGetOpaque(page)) ||
		 BTPageGetOpaque(page)->btpo_level == level);
}

/* Moves right past pages split or deleted since the search saw the link to
 * them. Returns the locked page, or InvalidBuffer if it gave up. */
static Buffer
move_right(ShuttleLocalScan *scan, Buffer buffer, uint32 level, ShuttleProbe *probe)
{
	int32		enough = scan->start.nextkey ? 0 : 1;

	for (int i = 0; i < MOST_STEPS; i++)
	{
		Page		page = BufferGetPage(buffer);
		BTPageOpaque opaque;
		BlockNumber next;

		if (!is_page_of_level(buffer, level))
			break;
		opaque = BTPageGetOpaque(page);
		if (!P_IGNORE(opaque) &&
			(P_RIGHTMOST(opaque) ||
			 _bt_compare(scan->index, &scan->start, page, P_HIKEY) < enough))
			return buffer;
		if (P_RIGHTMOST(opaque))
			break;
		next = opaque->btpo_next;
		_bt_relbuf(scan->index, buffer);
		buffer = read_page(scan->index, next, probe);
	}
	_bt_relbuf(scan->index, buffer);
	return InvalidBuffer;
}

/* The first entry of a page at or after the search's start. */
static OffsetNumber
search_page(ShuttleLocalScan *scan, Page page)
{
	OffsetNumber low = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	OffsetNumber high = PageGetMaxOffsetNumber(page) + 1;
	int32		enough = scan->start.nextkey ? 0 : 1;

	while (low < high)
	{
		OffsetNumber middle = low + (high - low) / 2;

		if (_bt_compare(scan->index, &scan->start, page, middle) >= enough)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The child page where the search continues; releases the page. */
static BlockNumber
find_child(ShuttleLocalScan *scan, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber first = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	BlockNumber child = InvalidBlockNumber;

	if (first <= PageGetMaxOffsetNumber(page))
	{
		OffsetNumber offset = Max(first, OffsetNumberPrev(search_page(scan, page)));
		IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));

		child = BTreeTupleGetDownLink(entry);
	}
	_bt_relbuf(scan->index, buffer);
	return child;
}

static void
set_start(ShuttleLocalScan *scan, const Datum *values)
{
	for (int i = 0; i < scan->start.keysz; i++)
	{
		if (scan->start_values[i] >= 0)
			scan->start.scankeys[i].sk_argument = values[scan->start_values[i]];
	}
}

static BlockNumber
find_leaf(ShuttleLocalScan *scan, ShuttleProbe *probe)
{
	Buffer		buffer = shuttle_bt_getroot(scan->index, scan->heap);
	BlockNumber block;
	uint32		level;

	if (!BufferIsValid(buffer))
		return InvalidBlockNumber;
	level = BTPageGetOpaque(BufferGetPage(buffer))->btpo_level;
	block = BufferGetBlockNumber(buffer);
	if (level == 0)
		_bt_relbuf(scan->index, buffer);
	while (level > 0)
	{
		buffer = move_right(scan, buffer, level, probe);
		block = BufferIsValid(buffer) ? find_child(scan, buffer) : InvalidBlockNumber;
		if (--level == 0 || !BlockNumberIsValid(block))
			break;
		buffer = read_page(scan->index, block, probe);
	}
	return block;
}

BlockNumber
shuttle_local_tree_leaf(ShuttleLocalScan *scan, const Datum *values,
						ShuttleProbe *probe)
{
	MemoryContext old;
	BlockNumber leaf;

	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(scan->econtext->ecxt_per_tuple_memory);
	set_start(scan, values);
	leaf = find_leaf(scan, probe);
	MemoryContextSwitchTo(old);
	ResetExprContext(scan->econtext);
	return leaf;
}

/* ---- entries of a leaf */

static EntryVerdict
judge_entry(ShuttleLocalScan *scan, IndexTuple entry, const Datum *values)
{
	for (int i = 0; i < scan->nkeys; i++)
	{
		ShuttleLocalKey *key = &scan->keys[i];
		ScanKey		test = &key->key;
		Datum		argument = key->value < 0 ? test->sk_argument : values[key->value];
		bool		isnull;
		Datum		column = index_getattr(entry, test->sk_attno,
										   RelationGetDescr(scan->index), &isnull);
		bool		matches;

		if ((test->sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL)) != 0)
			matches = isnull == ((test->sk_flags & SK_SEARCHNULL) != 0);
		else
			matches = !isnull &&
				DatumGetBool(FunctionCall2Coll(&test->sk_func, test->sk_collation,
											   column, argument));
		if (!matches)
			return key->is_start ? ENTRY_ENDS : ENTRY_DIFFERS;
	}
	return ENTRY_MATCHES;
}

/* Adds the pages of an entry's rows. */
static int
add_blocks(ShuttleLocalScan *scan, IndexTuple entry, int nblocks)
{
	int			nrows = BTreeTupleIsPosting(entry) ? BTreeTupleGetNPosting(entry) : 1;

	for (int i = 0; i < nrows && nblocks < scan->nblocks; i++)
	{
		ItemPointer row = BTreeTupleIsPosting(entry) ?
			BTreeTupleGetPostingN(entry, i) : &entry->t_tid;
		BlockNumber block = ItemPointerGetBlockNumber(row);

		if (nblocks == 0 || scan->blocks[nblocks - 1] != block)
			scan->blocks[nblocks++] = block;
	}
	return nblocks;
}

static int
read_entries(ShuttleLocalScan *scan, Page page, const Datum *values)
{
	OffsetNumber first = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset = search_page(scan, page);
	int			nblocks = 0;

	if (scan->backward)
		offset--;
	for (int i = 0; i < MOST_ENTRIES && nblocks < scan->nblocks; i++)
	{
		ItemId		item;
		IndexTuple	entry;
		EntryVerdict verdict;

		if (offset < first || offset > last)
			break;
		item = PageGetItemId(page, offset);
		entry = (IndexTuple) PageGetItem(page, item);
		offset += scan->backward ? -1 : 1;
		if (ItemIdIsDead(item))
			continue;
		verdict = judge_entry(scan, entry, values);
		if (verdict == ENTRY_ENDS)
			break;
		if (verdict == ENTRY_MATCHES)
			nblocks = add_blocks(scan, entry, nblocks);
	}
	return nblocks;
}

/* Leaves out pages that an index-only scan need not read. */
static int
drop_visible(ShuttleLocalScan *scan, int nblocks)
{
	Buffer		map = InvalidBuffer;
	int			kept = 0;

	for (int i = 0; i < nblocks; i++)
	{
		if (!VM_ALL_VISIBLE(scan->heap, scan->blocks[i], &map))
			scan->blocks[kept++] = scan->blocks[i];
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	return kept;
}

int
shuttle_local_tree_blocks(ShuttleLocalScan *scan, BlockNumber leaf,
						  const Datum *values, ShuttleProbe *probe)
{
	Buffer		buffer;
	MemoryContext old;
	int			nblocks = 0;

	if (!scan->exact)
		return 0;
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(scan->econtext->ecxt_per_tuple_memory);
	set_start(scan, values);
	buffer = move_right(scan, read_page(scan->index, leaf, probe), 0, probe);
	if (BufferIsValid(buffer))
	{
		nblocks = read_entries(scan, BufferGetPage(buffer), values);
		_bt_relbuf(scan->index, buffer);
	}
	if (scan->index_only)
		nblocks = drop_visible(scan, nblocks);
	MemoryContextSwitchTo(old);
	ResetExprContext(scan->econtext);
	return nblocks;
}

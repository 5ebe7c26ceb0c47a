/*-------------------------------------------------------------------------
 * answer_store.c
 *	  Rows of an answer moved out of the way: in memory up to work_mem, the
 *	  rest in a temporary file.
 *
 * A stored row is a header (size, number of columns, format) and for each
 * column its length (-1: NULL) and value with a NUL. Rows move to the file in
 * order; the newest ones are in memory. Once there is a file, memory is
 * limited to one write block.
 *
 * Memory: context "shuttle answer", a child of the request's. The file has no
 * resource owner, since an answer may outlive its subtransaction; the reset
 * callback closes it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "explain/shuttle_explain.h"
#include "storage/request/answer.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

#define READ_BLOCK_BYTES (64 * 1024)
#define WRITE_BLOCK_BYTES (256 * 1024)

typedef struct StoredRow
{
	int64		size;			/* including this header */
	int32		ncolumns;
	bool		in_binary;
} StoredRow;

struct ShuttleStore
{
	MemoryContext cxt;
	MemoryContextCallback callback;
	Size		limit_bytes;

	/* rows in memory */
	char	   *rows;
	Size		used;
	Size		allocated;

	/* rows in the file, all older than those in memory */
	File		file;			/* 0: none */
	int64		file_size;

	/* reading */
	int64		position;		/* from file_size on: in memory */
	char	   *block;
	Size		block_allocated;
	int64		block_start;
	Size		block_size;
	ShuttleRow	row;
};

static void close_file(void *arg);
static void make_room(ShuttleStore *store, Size size);
static void spill(ShuttleStore *store);
static char *read_file(ShuttleStore *store, Size size);
static void unpack_row(ShuttleStore *store, char *stored);

ShuttleStore *
shuttle_answer_store_create(MemoryContext owner)
{
	MemoryContext cxt = AllocSetContextCreate(owner, "shuttle answer",
											  ALLOCSET_DEFAULT_SIZES);
	ShuttleStore *store = MemoryContextAllocZero(cxt, sizeof(ShuttleStore));

	store->cxt = cxt;
	store->limit_bytes = (Size) work_mem * 1024;
	store->callback.func = close_file;
	store->callback.arg = store;
	MemoryContextRegisterResetCallback(cxt, &store->callback);
	return store;
}

static void
close_file(void *arg)
{
	ShuttleStore *store = arg;

	if (store->file > 0)
		FileClose(store->file);
	store->file = 0;
	shuttle_dist_count_memory(-(int64) store->allocated);
	store->allocated = 0;
}

/* Appends a row.  Errors: those of temporary files. */
void
shuttle_answer_store_put(ShuttleStore *store, const ShuttleRow *row)
{
	StoredRow	header;
	char	   *to;

	/* Padding is written, too. */
	memset(&header, 0, sizeof(header));
	header.size = sizeof(StoredRow);
	header.ncolumns = row->ncolumns;
	header.in_binary = row->in_binary;
	for (int i = 0; i < row->ncolumns; i++)
		header.size += sizeof(int32) +
			(row->values[i] != NULL ? row->lengths[i] + 1 : 0);
	header.size = MAXALIGN(header.size);
	make_room(store, header.size);

	to = store->rows + store->used;
	store->used += header.size;
	memset(to + header.size - MAXIMUM_ALIGNOF, 0, MAXIMUM_ALIGNOF);
	memcpy(to, &header, sizeof(header));
	to += sizeof(header);
	for (int i = 0; i < row->ncolumns; i++)
	{
		int32		length = row->values[i] != NULL ? row->lengths[i] : -1;

		memcpy(to, &length, sizeof(length));
		to += sizeof(length);
		if (length >= 0)
		{
			memcpy(to, row->values[i], length);
			to[length] = '\0';
			to += length + 1;
		}
	}
}

static void
make_room(ShuttleStore *store, Size size)
{
	Size		wanted;

	if (store->used + size <= store->allocated)
		return;
	if (store->used > 0 && store->used + size > store->limit_bytes)
		spill(store);
	if (store->used + size <= store->allocated)
		return;

	wanted = Max(store->used + size, Min(store->allocated * 2, store->limit_bytes));
	wanted = Max(wanted, 8192);
	if (store->rows == NULL)
		store->rows = MemoryContextAllocHuge(store->cxt, wanted);
	else
		store->rows = repalloc_huge(store->rows, wanted);
	shuttle_dist_count_memory(wanted - store->allocated);
	store->allocated = wanted;
}

/* Appends the rows in memory to the file. */
static void
spill(ShuttleStore *store)
{
	Size		written = 0;

	if (store->file <= 0)
		store->file = OpenTemporaryFile(true);
	while (written < store->used)
	{
		int			size = Min(store->used - written, 1024 * 1024);
		int			done = FileWrite(store->file, store->rows + written, size,
									 store->file_size + written,
									 WAIT_EVENT_BUFFILE_WRITE);

		if (done <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to temporary file: %m")));
		written += done;
	}
	store->file_size += store->used;
	store->used = 0;
	store->limit_bytes = Min(store->limit_bytes, WRITE_BLOCK_BYTES);
	if (store->allocated > store->limit_bytes)
	{
		pfree(store->rows);
		store->rows = NULL;
		shuttle_dist_count_memory(-(int64) store->allocated);
		store->allocated = 0;
	}
}

/* Returns the next row, valid until the next call; false: no more rows. */
bool
shuttle_answer_store_get(ShuttleStore *store, ShuttleRow *row)
{
	StoredRow	header;
	char	   *stored;

	if (store->position >= store->file_size)
	{
		if (store->position >= store->file_size + (int64) store->used)
			return false;
		stored = store->rows + (store->position - store->file_size);
		memcpy(&header, stored, sizeof(header));
	}
	else
	{
		memcpy(&header, read_file(store, sizeof(header)), sizeof(header));
		stored = read_file(store, header.size);
	}
	store->position += header.size;
	unpack_row(store, stored);
	*row = store->row;
	return true;
}

bool
shuttle_answer_store_has_rows(const ShuttleStore *store)
{
	return store->position < store->file_size + (int64) store->used;
}

/* The next size bytes of the file, through the block in memory. */
static char *
read_file(ShuttleStore *store, Size size)
{
	int64		offset = store->position - store->block_start;
	Size		wanted = Max(size, READ_BLOCK_BYTES);
	Size		nread = 0;

	if (store->block != NULL && offset >= 0 &&
		offset + (int64) size <= (int64) store->block_size)
		return store->block + offset;

	if (wanted > store->block_allocated)
	{
		if (store->block != NULL)
			pfree(store->block);
		store->block = NULL;
		store->block = MemoryContextAllocHuge(store->cxt, wanted);
		store->block_allocated = wanted;
	}
	store->block_size = 0;
	wanted = Min((int64) wanted, store->file_size - store->position);
	while (nread < wanted)
	{
		int			done = FileRead(store->file, store->block + nread,
									Min(wanted - nread, 1024 * 1024),
									store->position + nread,
									WAIT_EVENT_BUFFILE_READ);

		if (done <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read from temporary file: %m")));
		nread += done;
	}
	store->block_start = store->position;
	store->block_size = nread;
	return store->block;
}

static void
unpack_row(ShuttleStore *store, char *stored)
{
	ShuttleRow *row = &store->row;
	StoredRow	header;

	memcpy(&header, stored, sizeof(header));
	stored += sizeof(header);
	if (row->values == NULL)
	{
		row->ncolumns = header.ncolumns;
		row->values = MemoryContextAllocZero(store->cxt,
											 sizeof(char *) * Max(1, row->ncolumns));
		row->lengths = MemoryContextAllocZero(store->cxt,
											  sizeof(int) * Max(1, row->ncolumns));
	}
	Assert(row->ncolumns == header.ncolumns);
	row->in_binary = header.in_binary;
	for (int i = 0; i < row->ncolumns; i++)
	{
		int32		length;

		memcpy(&length, stored, sizeof(length));
		stored += sizeof(length);
		row->values[i] = length >= 0 ? stored : NULL;
		row->lengths[i] = Max(length, 0);
		if (length >= 0)
			stored += length + 1;
	}
}

MemoryContext
shuttle_answer_store_context(const ShuttleStore *store)
{
	return store->cxt;
}

void
shuttle_answer_store_rewind(ShuttleStore *store)
{
	store->position = 0;
}

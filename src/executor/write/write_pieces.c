/*-------------------------------------------------------------------------
 * write_pieces.c
 *	  Requests for the rows of a write buffer, and their answers.
 *
 * The rows of one request are a piece; the answer gives the number of rows
 * written, and the rows for RETURNING.
 *
 * Memory: a piece has its own context, which also owns its request, until its
 * last row is returned.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_counters.h"
#include "executor/behind/behind.h"
#include "executor/executor_types.h"
#include "executor/facts/scan_facts.h"
#include "executor/scan/remote_values.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

/* Rows that were sent in one request. */
typedef struct SentPiece
{
	MemoryContext cxt;
	ShuttleRequest *request;	/* NULL: its answer was read */
	int			nrows;
	int64		nbytes;
	bool		follows;		/* not the statement's first piece for the
								 * table */
	bool		marked;			/* returns the mark of ON CONFLICT */

	/* For RETURNING and triggers, for each row sent. */
	uint64	   *numbers;
	MinimalTuple *plan_rows;
	bool	   *written;
	HeapTuple  *returned;		/* NULL: no column is wanted */
	bool		is_known;		/* these are the rows sent, unless an answer
								 * is read */
	int			next;			/* next row to be returned */
} SentPiece;

static void send_piece(ShuttleWrite *write, const char *sql, int nparams,
					   const char *const *values, const int *lengths, int nest_level);
static uint64 finish_piece(ShuttleWrite *write, SentPiece *piece);
static void keep_returned(ShuttleWrite *write, SentPiece *piece, uint64 nwritten);
static void keep_conflicting(ShuttleWrite *write, const SentPiece *piece);

/* ---- sending */

/* The node's description of the table; asks and waits if needed. */
static ShuttleRemoteTable *
read_table(ShuttleWrite *write)
{
	return shuttle_remote_table_read(write->rel, write->storage_node,
									 shuttle_scan_snapshot(write->estate));
}

void
shuttle_write_read_table(ShuttleWrite *write)
{
	write->buffer->table = read_table(write);
}

bool
shuttle_write_is_plain(ShuttleWrite *write)
{
	return read_table(write)->plain;
}

/* One row, or rows of a table that is still unknown, are sent with VALUES,
 * which need no types; the node is asked about the table at the same time. */
static bool
travels_as_values(ShuttleWrite *write)
{
	ShuttleWriteBuffer *buffer = write->buffer;

	if (buffer->nrows == 1)
		return !buffer->by_ctid || !buffer->returns;
	return !buffer->by_ctid &&
		buffer->nrows * write->nattributes + shuttle_on_conflict_count_values(write) <=
		SHUTTLE_MAX_PARAMETERS &&
		!shuttle_remote_table_is_asked(write->rel, write->storage_node);
}

/* Appends the values of ON CONFLICT to those of the rows; returns how many
 * there are. In work_cxt. */
static int
add_conflict_values(ShuttleWrite *write, const char ***values, int nvalues)
{
	int			n = shuttle_on_conflict_count_values(write);

	if (n > 0)
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(write->work_cxt);
		const char **all = palloc_array(const char *, nvalues + n);

		memcpy(all, *values, sizeof(char *) * nvalues);
		shuttle_on_conflict_add_values(write, all + nvalues);
		*values = all;
		MemoryContextSwitchTo(old_cxt);
	}
	return nvalues + n;
}

/* Reads the answers so far: a later request must recognize rows of an earlier
 * one by the mark in the answer of the first that wrote any. */
static void
learn_mark(ShuttleWrite *write)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	ListCell   *cell;

	foreach(cell, buffer->pieces)
	{
		SentPiece  *piece = lfirst(cell);

		if (piece->request != NULL)
			buffer->nfinished += finish_piece(write, piece);
	}
}

/* The statement for many rows; with ON CONFLICT DO UPDATE it depends on the
 * mark. */
static const char *
array_sql(ShuttleWrite *write)
{
	ShuttleWriteBuffer *buffer = write->buffer;

	if (buffer->sql == NULL || shuttle_on_conflict_updates(write))
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(write->estate->es_query_cxt);

		if (buffer->sql != NULL)
			pfree(buffer->sql);
		buffer->sql = shuttle_write_array_sql(write, buffer->table);
		if (buffer->in_binary == NULL)
			buffer->in_binary = shuttle_write_choose_binary(write, buffer->table);
		MemoryContextSwitchTo(old_cxt);
	}
	return buffer->sql;
}

void
shuttle_write_buffer_send(ShuttleWrite *write, int nest_level, bool more)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	const char *sql;
	const char **values;
	int		   *lengths;
	int			nvalues;
	ShuttleWaitingRows rows = {
		.by_ctid = buffer->by_ctid,
		.nrows = buffer->nrows,
		.rows = buffer->rows,
		.slot = buffer->values_slot,
	};

	if (shuttle_on_conflict_needs_mark(write))
		learn_mark(write);
	(void) shuttle_on_conflict_expect(write, more);
	MemoryContextReset(write->work_cxt);
	if (travels_as_values(write))
	{
		int			nparams = write->nvalues * buffer->nrows;
		bool		ask = buffer->nrows > 1;

		sql = shuttle_write_values_sql(write, buffer->nrows);
		if (buffer->by_ctid && OidIsValid(buffer->rows[0].tableoid) &&
			write->sql_by_table != NULL)
		{
			sql = write->sql_by_table;
			nparams++;
		}
		values = shuttle_write_print_rows(write, &rows);
		nparams = add_conflict_values(write, &values, nparams);
		send_piece(write, sql, nparams, values, NULL, nest_level);
		if (ask)
			shuttle_remote_table_ask(write->rel, write->storage_node,
									 shuttle_scan_snapshot(write->estate));
		return;
	}

	shuttle_write_read_table(write);
	sql = array_sql(write);
	nvalues = write->nvalues + buffer->by_ctid;
	lengths = MemoryContextAlloc(write->work_cxt, sizeof(int) * Max(nvalues, 1));
	values = shuttle_write_print_arrays(write, &rows, buffer->table, lengths);
	nvalues = add_conflict_values(write, &values, nvalues);
	send_piece(write, sql, nvalues, values, buffer->in_binary == NULL ? NULL : lengths,
			   nest_level);
}

/* Sends the buffered rows, which were printed into values. */
static void
send_piece(ShuttleWrite *write, const char *sql, int nparams,
		   const char *const *values, const int *lengths, int nest_level)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	MemoryContext cxt = AllocSetContextCreate(write->estate->es_query_cxt,
											  "shuttle written piece",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	SentPiece  *piece = palloc0_object(SentPiece);
	ShuttleWrite *shown = shuttle_write_shown(write);
	ShuttleStatement statement = {
		.sql = sql,
		.nparams = nparams,
		.values = values,
		.lengths = lengths,
		.effect = SHUTTLE_WRITES,
		.types_hash = write->types_hash,
		.looks = shuttle_write_looks(write),
		.snapshot = shuttle_scan_snapshot(write->estate),
		.nest_level = nest_level,
		.counters = &shown->counters,
	};

	piece->cxt = cxt;
	piece->nrows = buffer->nrows;
	piece->nbytes = buffer->nbytes;
	piece->follows = buffer->has_sent;
	buffer->has_sent = true;
	piece->marked = shuttle_on_conflict_wants_mark(write);
	if (buffer->returns)
	{
		piece->is_known = shuttle_write_behind_is_on(nest_level) && shuttle_write_knows_rows(write);
		piece->numbers = palloc_array(uint64, buffer->nrows);
		piece->plan_rows = palloc_array(MinimalTuple, buffer->nrows);
		piece->written = palloc0_array(bool, buffer->nrows);
		piece->returned = palloc0_array(HeapTuple, buffer->nrows);
		for (int i = 0; i < buffer->nrows; i++)
		{
			piece->numbers[i] = buffer->rows[i].number;
			piece->plan_rows[i] = buffer->rows[i].plan_row == NULL ? NULL :
				shuttle_copy_minimal_tuple(buffer->rows[i].plan_row);
			if (piece->is_known)
				piece->returned[i] = shuttle_write_known_row(write, buffer->rows[i].values);
		}
	}
	shuttle_explain_remote_note(&shown->asked, &statement, write->estate);
	piece->request = shuttle_request_send(write->storage_node, &statement, cxt);
	shuttle_count(&shown->counters, SHUTTLE_WRITE_REQUESTS, buffer->nrows);

	MemoryContextSwitchTo(write->estate->es_query_cxt);
	buffer->pieces = lappend(buffer->pieces, piece);
	MemoryContextSwitchTo(old_cxt);

	buffer->nsent_bytes += buffer->nbytes;
	shuttle_write_buffer_clear(write);
	MemoryContextReset(write->work_cxt);
}

/* ---- answers */

/* Waits for the pieces' answers, or leaves unanswered pieces to write_behind.c;
 * returns how many rows were written. */
static uint64
take_pieces(ShuttleWrite *write, bool leaves)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	uint64		nwritten = buffer->nfinished;
	ListCell   *cell;

	buffer->nsent_bytes = 0;
	buffer->nfinished = 0;
	foreach(cell, buffer->pieces)
	{
		SentPiece  *piece = lfirst(cell);

		if (leaves && piece->request != NULL && (!buffer->returns || piece->is_known) &&
			shuttle_request_look(piece->request) == SHUTTLE_PENDING)
		{
			shuttle_write_behind_leave(write, piece->request, piece->nrows,
									   piece->nbytes);
			piece->request = NULL;
			nwritten += piece->nrows;
			if (buffer->returns)
				memset(piece->written, true, piece->nrows);
		}
		else if (piece->request != NULL)
			nwritten += finish_piece(write, piece);
		if (!buffer->returns)
		{
			MemoryContextDelete(piece->cxt);
			buffer->pieces = foreach_delete_current(buffer->pieces, cell);
		}
	}
	return nwritten;
}

bool
shuttle_write_streams(const ShuttleWrite *write)
{
	return write->operation == CMD_INSERT && write->node->operation == CMD_INSERT &&
		!write->buffer->returns && write->conflict == NULL;
}

int64
shuttle_write_buffer_take_answers(ShuttleWrite *write, bool wait)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	int64		nbytes = 0;

	while (buffer->pieces != NIL)
	{
		SentPiece  *piece = linitial(buffer->pieces);

		if (!wait && !shuttle_request_is_answered(piece->request))
			break;
		buffer->nfinished += finish_piece(write, piece);
		nbytes += piece->nbytes;
		MemoryContextDelete(piece->cxt);
		buffer->pieces = list_delete_first(buffer->pieces);
		wait = false;
	}
	buffer->nsent_bytes -= nbytes;
	return nbytes;
}

uint64
shuttle_write_buffer_finish(ShuttleWrite *write)
{
	return take_pieces(write, false);
}

/* True if it is known what is to be done with rows after they are written, and
 * the statement cannot skip a row. */
static bool
writes_all(const ShuttleWrite *write)
{
	const ModifyTable *plan = castNode(ModifyTable, write->node->ps.plan);

	return write->operation == CMD_INSERT && plan->operation == CMD_INSERT &&
		plan->onConflictAction == ONCONFLICT_NONE && write->conflict == NULL &&
		(!write->buffer->returns || shuttle_write_knows_rows(write));
}

uint64
shuttle_write_buffer_go_on(ShuttleWrite *write)
{
	const ShuttleRemoteTable *table;
	uint64		nwritten;

	if (!writes_all(write))
		return shuttle_write_buffer_finish(write);

	/* A tablet's triggers, rules and policies are here. */
	if (shuttle_table_kind(RelationGetRelid(write->rel)) == SHUTTLE_TABLE_TABLET)
		return take_pieces(write, shuttle_write_behind_is_safe());
	table = shuttle_remote_table_look(write->rel, write->storage_node);
	if (table != NULL)
		return take_pieces(write, table->plain && shuttle_write_behind_is_safe());

	/* The answer comes right after that of the rows. */
	shuttle_remote_table_ask(write->rel, write->storage_node,
							 shuttle_scan_snapshot(write->estate));
	nwritten = shuttle_write_buffer_finish(write);
	(void) read_table(write);
	return nwritten;
}

/* True if core's EXPLAIN shows how many rows had a conflict. */
static bool
leaves_out_conflicts(const ShuttleWrite *write)
{
	const ModifyTable *plan = (const ModifyTable *) write->node->ps.plan;

	return plan != NULL && plan->onConflictAction == ONCONFLICT_NOTHING;
}

static uint64
finish_piece(ShuttleWrite *write, SentPiece *piece)
{
	uint64		nwritten;

	/*
	 * An error may mean that the node's table has changed, and the
	 * transaction may continue after a rollback to a savepoint; no context is
	 * reset then.
	 */
	PG_TRY();
	{
		nwritten = shuttle_request_finish(piece->request);
	}
	PG_CATCH();
	{
		shuttle_remote_table_forget(RelationGetRelid(write->rel), write->storage_node);
		PG_RE_THROW();
	}
	PG_END_TRY();

	if (leaves_out_conflicts(write) && nwritten < piece->nrows)
		InstrCountTuples2(&write->node->ps, piece->nrows - nwritten);
	if (write->buffer->by_ctid || write->node->ps.plan == NULL)
		shuttle_write_check_count(write, piece->nrows, piece->follows, nwritten);
	if (write->buffer->returns || piece->marked)
		keep_returned(write, piece, nwritten);
	if (write->upsert != NULL && !write->buffer->by_ctid)
		keep_conflicting(write, piece);
	shuttle_request_close(piece->request);
	piece->request = NULL;
	return nwritten;
}

/* Makes a tuple of a returned row, in the current context; NULL: not needed. */
static HeapTuple
take_row(ShuttleWrite *write, const SentPiece *piece, const ShuttleRow *row)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	ShuttleDecoder *decoder = piece->marked ? buffer->marked_decoder : buffer->decoder;
	bool		is_changed = write->upsert != NULL && buffer->by_ctid;
	HeapTuple	tuple;

	if (piece->marked)
		shuttle_on_conflict_take_mark(write, row, 0);
	if (is_changed)
		shuttle_on_conflict_take_mark(write->upsert->insert, row, 1);
	if (!buffer->returns || decoder == NULL)
		return NULL;
	tuple = shuttle_row_decoder_tuple(decoder, row);
	if (is_changed)
		HeapTupleHeaderSetXmax(tuple->t_data, (TransactionId) shuttle_row_int64(row, 1));
	else
		shuttle_on_conflict_show_xmax(write, tuple, row, piece->marked);
	return tuple;
}

/*
 * Stores the returned rows at the places of the rows sent. An INSERT does not
 * return the place: rows come in the order in which they were sent; if there
 * are fewer, that is all we know.
 */
static void
keep_returned(ShuttleWrite *write, SentPiece *piece, uint64 nwritten)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	MemoryContext old_cxt = MemoryContextSwitchTo(piece->cxt);
	ShuttleRow	row;
	int			place = 0;

	if (buffer->decoder == NULL && !buffer->by_ctid && !piece->marked)
		memset(piece->written, true, Min(nwritten, piece->nrows));
	else
	{
		while (shuttle_request_fetch(piece->request, true, &row) == SHUTTLE_ROW)
		{
			HeapTuple	returned = take_row(write, piece, &row);
			int64		number = ++place;

			if (buffer->by_ctid)
				number = shuttle_row_int64(&row, 0);
			else if (write->upsert != NULL && nwritten < piece->nrows)
				number = place = shuttle_upsert_find_place(write->upsert, returned, piece->plan_rows,
														   place - 1, piece->nrows) + 1;
			if (number < 1 || number > piece->nrows)
				ereport(ERROR,
						(errcode(ERRCODE_PROTOCOL_VIOLATION),
						 errmsg("storage node \"%s\" returned a row that was not asked for",
								shuttle_node_name(write->storage_node))));
			if (!buffer->returns)
				continue;
			piece->written[number - 1] = true;
			if (returned != NULL)
				piece->returned[number - 1] = returned;
		}
	}
	MemoryContextSwitchTo(old_cxt);
}

/* Hands the rows over that an INSERT has not inserted, for DO UPDATE. */
static void
keep_conflicting(ShuttleWrite *write, const SentPiece *piece)
{
	for (int i = 0; i < piece->nrows; i++)
	{
		if (!piece->written[i])
			shuttle_upsert_keep(write->upsert, piece->numbers[i], piece->plan_rows[i]);
	}
}

/* ---- rows that were written */

bool
shuttle_write_buffer_peek(ShuttleWrite *write, uint64 *number)
{
	ShuttleWriteBuffer *buffer = write->buffer;

	while (buffer->pieces != NIL)
	{
		SentPiece  *piece = linitial(buffer->pieces);

		if (piece->request != NULL)
			return false;
		while (piece->next < piece->nrows && !piece->written[piece->next])
			piece->next++;
		if (piece->next < piece->nrows)
		{
			*number = piece->numbers[piece->next];
			return true;
		}
		buffer->pieces = list_delete_first(buffer->pieces);
		ExecClearTuple(ExecGetReturningSlot(write->estate, write->target));
		if (buffer->plan_slot != NULL)
			ExecClearTuple(buffer->plan_slot);
		MemoryContextDelete(piece->cxt);
	}
	return false;
}

TupleTableSlot *
shuttle_write_buffer_return(ShuttleWrite *write)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	SentPiece  *piece = linitial(buffer->pieces);
	int			place = piece->next++;
	TupleTableSlot *slot = ExecGetReturningSlot(write->estate, write->target);
	TupleTableSlot *found = write->upsert != NULL && write->operation == CMD_UPDATE ? buffer->plan_slot : NULL;

	if (piece->returned[place] != NULL)
		ExecForceStoreHeapTuple(piece->returned[place], slot, false);
	else
		shuttle_write_store_nothing(slot);
	slot->tts_tableOid = RelationGetRelid(write->rel);
	if (buffer->plan_slot != NULL)
		ExecForceStoreMinimalTuple(piece->plan_rows[place], buffer->plan_slot, false);
	if (found != NULL)
		found->tts_tableOid = RelationGetRelid(write->rel);
	shuttle_write_queue_triggers(write, slot);
	if (write->target->ri_WithCheckOptions != NIL && write->operation != CMD_DELETE)
		ExecWithCheckOptions(WCO_VIEW_CHECK, write->target, slot, write->estate);
	if (write->target->ri_projectReturning == NULL)
		return NULL;
	return shuttle_project_returning(write->estate, write->target, write->operation, slot,
									 found, buffer->plan_slot);
}

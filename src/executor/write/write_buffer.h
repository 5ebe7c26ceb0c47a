/*-------------------------------------------------------------------------
 * write_buffer.h
 *	  One table that a statement writes, its buffered rows, and their
 *	  requests.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_WRITE_BUFFER_H
#define SHUTTLE_EXECUTOR_WRITE_WRITE_BUFFER_H

#include "nodes/execnodes.h"

#include "executor/executor_types.h"
#include "executor/fdw/postgres_fdw.h"
#include "storage/shuttle_storage.h"

struct ShuttleWrite
{
	ModifyTableState *node;
	bool		notes_rows;		/* when they are sent, so that no AFTER ROW
								 * trigger need fire */
	struct ShuttleGlobalRows *entries;	/* then, of a table with global
										 * indexes */
	ResultRelInfo *target;
	Relation	rel;
	EState	   *estate;
	CmdType		operation;
	ShuttleNode *storage_node;
	ShuttlePostgresFdwModify postgres_fdw;
	ShuttleDecoder *decoder;	/* NULL: nothing is returned */
	ShuttleOnConflict *conflict;	/* NULL: no ON CONFLICT clause of ours */
	ShuttleUpsert *upsert;		/* INSERT with DO UPDATE that is executed
								 * here, and its UPDATE; else NULL */

	/* UPDATE, DELETE */
	AttrNumber	ctid_column;	/* its column in the source's rows */
	ShuttleTargetRows *rows;
	char	   *sql_by_table;	/* sql with a condition on tableoid; or NULL */

	/* UPDATE: rows moved between partitions (write_move.c) */
	ShuttleWrite *leaving;		/* deletes rows from this partition; NULL:
								 * none yet */
	ShuttleWrite *arriving;		/* inserts rows from other partitions; or NULL */
	ShuttleWrite *update;		/* in leaving and arriving: the table's
								 * UPDATE; beside an upsert: its INSERT; NULL:
								 * it has none */

	int			batch_size;		/* INSERT: rows in one VALUES list */
	int			row_limit;		/* INSERT: rows of one request if the option
								 * batch_size is set; else 0 */

	/* values sent for each row, in UPDATE and DELETE after the ctid */
	int			nattributes;
	AttrNumber *attributes;
	FmgrInfo   *output;
	ShuttlePrintNeed need;
	int			nvalues;		/* nattributes, plus one for the ctid */
	uint32		types_hash;		/* of the types of the table's columns */
	const char **values;		/* room for batch_size rows */

	char	   *insert_sql;		/* INSERT of insert_rows rows; NULL: not made
								 * yet */
	int			insert_rows;

	bool		core_follows_up;	/* core counts, returns and gives to
									 * triggers what is not sent yet */
	bool		decided;		/* buffer has been decided */
	ShuttleWriteBuffer *buffer; /* NULL: not buffered */
	MemoryContext work_cxt;

	/* For EXPLAIN; leaving and arriving rows use the UPDATE's. */
	ShuttleAsked *asked;		/* NULL: nothing */
	ShuttleCounters counters;
};

/* True if the node has to look for rows to write these, for DIST's counters. */
static inline bool
shuttle_write_looks(const ShuttleWrite *write)
{
	const ModifyTable *plan = (const ModifyTable *) write->node->ps.plan;

	return write->operation != CMD_INSERT || write->conflict != NULL ||
		(plan != NULL && plan->onConflictAction != ONCONFLICT_NONE);
}

/* The write that EXPLAIN shows for a table. */
static inline ShuttleWrite *
shuttle_write_shown(ShuttleWrite *write)
{
	return write->update != NULL ? write->update : write;
}

/* ---- rows that change their partition (write_move.c) */

/* True for rows that an UPDATE moves out of a partition. */
static inline bool
shuttle_write_takes_out(const ShuttleWrite *write)
{
	return write->operation == CMD_DELETE && write->node->operation == CMD_UPDATE;
}

/* True for rows that an UPDATE moves into a partition. */
static inline bool
shuttle_write_brings_in(const ShuttleWrite *write)
{
	return write->operation == CMD_INSERT && write->node->operation == CMD_UPDATE;
}

/* Moves a row of an UPDATE to the partition that its new values belong to.
 * Errors: if that is not possible; core's, if there is no such partition. */
extern void shuttle_write_move(ShuttleWrite *write, TupleTableSlot *slot,
							   TupleTableSlot *plan_slot);

/* True if a later scan of the source, or a statement run on a node, could meet
 * rows that were moved. */
extern bool shuttle_write_move_is_seen(PlanState *source);

/* ---- statements for many rows (write_sql.c) */

/*
 * The statement whose parameters are arrays: the values of each attribute;
 * UPDATE and DELETE: first ctids, last tableoids (NULL: unknown). In the
 * current context.
 */
extern char *shuttle_write_array_sql(const ShuttleWrite *write,
									 const ShuttleRemoteTable *table);

/*
 * The SELECT that locks the rows which have the keys, in the order of the keys:
 * first the place of the key, ctid, tableoid, 1 if our transaction wrote the
 * row, and by which command; then attributes. condition: of the row, or NULL;
 * has_null: NULLs are equal; changes_keys: locks FOR UPDATE.
 */
extern char *shuttle_write_lock_sql(const ShuttleWrite *keys, const ShuttleRemoteTable *table,
									const List *attributes, const char *condition,
									bool has_null, bool changes_keys);

/* ---- values of many rows (write_values.c) */

/* Finds the attributes whose values are sent with each row. */
extern void shuttle_write_collect_values(ShuttleWrite *write);

/* Stores a row of NULLs if RETURNING needs no columns, except perhaps system
 * columns. */
extern void shuttle_write_store_nothing(TupleTableSlot *slot);

/* A row that is not sent yet. */
typedef struct ShuttleWaitingRow
{
	uint64		number;
	ItemPointerData ctid;		/* UPDATE, DELETE */
	Oid			tableoid;		/* on the node; InvalidOid: unknown */
	MinimalTuple values;		/* of the attributes that are sent */
	MinimalTuple plan_row;		/* the source's row; NULL: not needed */
} ShuttleWaitingRow;

typedef struct ShuttleWaitingRows
{
	bool		by_ctid;
	int			nrows;
	ShuttleWaitingRow *rows;
	TupleTableSlot *slot;		/* for their values, one row at a time */
} ShuttleWaitingRows;

/*
 * Prints the parameters of a statement, in work_cxt. rows: one text for each
 * value; with a ctid there is one row, and its tableoid comes last. arrays: as
 * in shuttle_write_array_sql(); lengths gets those of binary ones and -1 for
 * texts.
 */
extern const char **shuttle_write_print_rows(const ShuttleWrite *write,
											 const ShuttleWaitingRows *rows);
extern const char **shuttle_write_print_arrays(const ShuttleWrite *write,
											   const ShuttleWaitingRows *rows,
											   const ShuttleRemoteTable *table,
											   int *lengths);

/* Appends an element to the text of an array that begins with a brace. */
extern void shuttle_write_append_element(StringInfo array, const char *text,
										 char delimiter);

/* ---- binary arrays of many rows (write_binary.c) */

/* Which attributes of an INSERT can be sent as binary arrays: those of types
 * that nodes know by the same name and number, and read bit for bit. In the
 * current context. */
extern bool *shuttle_write_choose_binary(const ShuttleWrite *write,
										 const ShuttleRemoteTable *table);

/* Appends the head of a binary array of nrows elements, and an element; NULL:
 * value is not read. */
extern void shuttle_write_begin_binary(StringInfo array, Oid type, int nrows);
extern void shuttle_write_append_binary(StringInfo array, Form_pg_attribute attribute,
										Datum value, bool is_null);

/* ---- buffered rows (write_buffer.c) */

struct ShuttleWriteBuffer
{
	bool		by_ctid;		/* UPDATE, DELETE */
	bool		returns;		/* rows are needed after they are written */
	TupleDesc	desc;			/* of values */
	TupleTableSlot *values_slot;
	Datum	   *row_values;		/* of the row that is being added */
	bool	   *row_nulls;
	TupleTableSlot *plan_slot;	/* NULL: the source's row is not needed */
	ShuttleDecoder *decoder;	/* NULL: no column is returned */
	ShuttleDecoder *marked_decoder; /* the same, if a mark precedes the
									 * columns */
	HTAB	   *named;			/* ctids the statement has changed; NULL:
								 * INSERT */

	MemoryContext rows_cxt;
	ShuttleWaitingRow *rows;
	int			nrows;
	int			size;
	int64		nbytes;
	int64		nsent_bytes;	/* of pieces not waited for yet */
	bool		has_sent;		/* some piece was sent */

	ShuttleRemoteTable *table;	/* set while a piece is made or checked */
	char	   *sql;			/* statement for many rows, in the query's
								 * context */
	bool	   *in_binary;		/* which attributes its arrays are sent so */
	List	   *pieces;			/* oldest first */
	uint64		nfinished;		/* rows written but not reported yet */
};

/* Makes the write a buffered one, in the query's context. */
extern void shuttle_write_buffer_create(ShuttleWrite *write);

/* Adds a row; its values are copied. number: its place among the rows of its
 * run. Returns false if the statement has changed that row before. */
extern bool shuttle_write_buffer_add(ShuttleWrite *write, TupleTableSlot *slot,
									 TupleTableSlot *plan_slot, uint64 number);

/* Adds the new version of a stored row, which write->upsert has locked. */
extern void shuttle_write_buffer_add_found(ShuttleWrite *write, TupleTableSlot *slot,
										   HeapTuple stored, const ItemPointerData *ctid,
										   Oid tableoid, uint64 number);

/* Forgets the rows that are buffered. */
extern void shuttle_write_buffer_clear(ShuttleWrite *write);

/* True if the statement has already changed the source's row and fired BEFORE
 * ROW triggers for it: core fires them once for a row of a local table. */
extern bool shuttle_write_buffer_fired_for(const ShuttleWrite *write,
										   TupleTableSlot *plan_slot);

/* True if there are rows to be sent. */
extern bool shuttle_write_buffer_has_rows(const ShuttleWrite *write);

/* Approximate size of the buffered rows when they are sent, and of those that
 * were sent and not answered. */
extern int64 shuttle_write_buffer_bytes(const ShuttleWrite *write);
extern int64 shuttle_write_buffer_sent_bytes(const ShuttleWrite *write);

/* is_full: true if buffered rows must be sent now. is_ahead: true if so much
 * was sent that its answer must be waited for. */
extern bool shuttle_write_buffer_is_full(const ShuttleWrite *write);
extern bool shuttle_write_buffer_is_ahead(const ShuttleWrite *write);

/* ---- requests for them (write_pieces.c) */

/* True if the node writes each row that it is sent, or fails. Waits for the
 * node's answer if nothing is known of the table. */
extern bool shuttle_write_is_plain(ShuttleWrite *write);

/* Stores the node's description of the table; asks and waits if needed. */
extern void shuttle_write_read_table(ShuttleWrite *write);

/*
 * Sends what is buffered. Waits only for the node's description of the table,
 * if it is unknown, and with ON CONFLICT DO UPDATE for the first piece.
 * nest_level: transaction nest level that the rows belong to. more: other rows
 * may follow.
 */
extern void shuttle_write_buffer_send(ShuttleWrite *write, int nest_level, bool more);

/* True if answers can be read at any time: nothing follows from them. */
extern bool shuttle_write_streams(const ShuttleWrite *write);

/* Reads the answers that have come; wait: waits for the oldest one. Returns the
 * bytes of their rows, which the next function counts. Errors: those of the
 * node. */
extern int64 shuttle_write_buffer_take_answers(ShuttleWrite *write, bool wait);

/* Waits for the answers; returns how many rows were written. Errors: those of
 * the node. */
extern uint64 shuttle_write_buffer_finish(ShuttleWrite *write);

/*
 * The same, but leaves an INSERT whose count is known to write_behind.c. If it
 * is unknown whether the table permits that, asks the node for the next time.
 */
extern uint64 shuttle_write_buffer_go_on(ShuttleWrite *write);

/* Gets the number of the next returned row; false: there is none. */
extern bool shuttle_write_buffer_peek(ShuttleWrite *write, uint64 *number);

/*
 * Does with that row what core does with a written row: AFTER ROW triggers,
 * checks of views, RETURNING. Returns NULL without RETURNING; else the slot is
 * valid until the next call.
 */
extern TupleTableSlot *shuttle_write_buffer_return(ShuttleWrite *write);

/* ---- their counts (write_counts.c) */

/* Errors: the node has not written the nsent rows of a request, though nothing
 * there may have intended that. follows: an earlier request of the statement
 * was sent for the table. */
extern void shuttle_write_check_count(ShuttleWrite *write, int nsent, bool follows,
									  uint64 nwritten);

/* ---- what is done with them (write_follow_up.c) */

/* True if something is to be done with rows after they are written. */
extern bool shuttle_write_follows_up(const ShuttleWrite *write);

/* True if the rows that an INSERT returns are those that it sends: no trigger of
 * a tablet changes them, and RETURNING is all that is done with them. */
extern bool shuttle_write_knows_rows(const ShuttleWrite *write);

/* True if core can count a row of a tablet, return it and queue its triggers before it is sent. */
extern bool shuttle_write_core_can_follow_up(const ShuttleWrite *write);

/* Makes a returned row of the values sent, in the current context. */
extern HeapTuple shuttle_write_known_row(const ShuttleWrite *write, MinimalTuple values);

/* Queues AFTER ROW triggers for the returned row; core fires them at the
 * statement's end, in this order. */
extern void shuttle_write_queue_triggers(ShuttleWrite *write, TupleTableSlot *slot);

/* The row as it was, which the source of an UPDATE or DELETE has in a junk column if there are
 * triggers; in the current context. */
extern HeapTuple shuttle_write_old_row(const ShuttleWrite *write, TupleTableSlot *plan_slot);

/* ---- what a statement writes (write_source.c) */

/*
 * True if the source asks nodes repeatedly, key by key: by a Look Ahead, above
 * which the planner has put a Material; or without one, for a table that the
 * statement writes. A later answer would see what was written.
 */
extern bool shuttle_write_source_asks_again(const ModifyTableState *node);

/* The Material that keeps a source's rows: the source itself, or what it computes its columns from;
 * NULL: there is none. */
extern MaterialState *shuttle_write_source_kept(PlanState *source);

/* True if the source calls functions that must see the state before the
 * statement, and may call them after rows are written. */
extern bool shuttle_write_source_sees_snapshot(PlanState *source);

/* Evaluates the statement's own subqueries, those of DO UPDATE, that call such functions. */
extern void shuttle_write_source_evaluate_stable(ModifyTableState *node);

/* True if the source calls functions that may have blocks with EXCEPTION. */
extern bool shuttle_write_source_calls_users_code(PlanState *source);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_BUFFER_H */

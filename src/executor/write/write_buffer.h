/*-------------------------------------------------------------------------
 * write_buffer.h
 *	  One table that a statement writes, its buffered rows, and the requests that
 *	  are made of them.
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
	ResultRelInfo *target;
	Relation	rel;
	EState	   *estate;
	CmdType		operation;
	ShuttleNode *storage_node;
	ShuttlePostgresFdwModify postgres_fdw;
	ShuttleDecoder *decoder;	/* NULL: nothing is returned */
	ShuttleOnConflict *conflict;	/* NULL: there is no such clause */

	/* UPDATE, DELETE */
	AttrNumber	ctid_column;	/* in the source's rows */
	ShuttleTargetRows *rows;
	char	   *sql_by_table;	/* with a condition on tableoid; or NULL */

	/* UPDATE: rows that it moves between partitions (write_move.c) */
	ShuttleWrite *leaving;		/* takes them out of this one; NULL: none yet */
	ShuttleWrite *arriving;		/* brings them here from others; or NULL */
	ShuttleWrite *update;		/* of leaving and arriving rows: the table's
								 * own; NULL: it has none */

	int			batch_size;		/* INSERT: rows of one VALUES */
	int			row_limit;		/* INSERT: rows of one request, where the
								 * option batch_size says it; else 0 */

	/* values that travel, for each row; UPDATE and DELETE: behind the ctid */
	int			nattributes;
	AttrNumber *attributes;
	FmgrInfo   *output;
	ShuttlePrintNeed need;
	int			nvalues;		/* with the ctid */
	const char **values;		/* room for batch_size rows */

	char	   *insert_sql;		/* for insert_rows rows; NULL: for one */
	int			insert_rows;

	bool		decided;		/* whether it is buffered */
	ShuttleWriteBuffer *buffer; /* NULL: it is not */
	MemoryContext work_cxt;

	/* What EXPLAIN shows; of leaving and arriving rows it is the update's. */
	ShuttleAsked *asked;		/* NULL: nothing */
	ShuttleCounters counters;
};

/* True where a node has to look for rows to write these, so that DIST counts them. */
static inline bool
shuttle_write_looks(const ShuttleWrite *write)
{
	const ModifyTable *plan = (const ModifyTable *) write->node->ps.plan;

	return write->operation != CMD_INSERT || write->conflict != NULL ||
		(plan != NULL && plan->onConflictAction != ONCONFLICT_NONE);
}

/* The write that EXPLAIN shows: one of a table. */
static inline ShuttleWrite *
shuttle_write_shown(ShuttleWrite *write)
{
	return write->update != NULL ? write->update : write;
}

/* ---- rows that change their partition (write_move.c) */

/* True for the rows that an UPDATE takes out of a partition. */
static inline bool
shuttle_write_takes_out(const ShuttleWrite *write)
{
	return write->operation == CMD_DELETE && write->node->operation == CMD_UPDATE;
}

/* True for those that it brings to one. */
static inline bool
shuttle_write_brings_in(const ShuttleWrite *write)
{
	return write->operation == CMD_INSERT && write->node->operation == CMD_UPDATE;
}

/*
 * Moves a row of an UPDATE to the partition that its new values belong to.
 * Errors: where that is not possible; core's, where there is no such partition.
 */
extern void shuttle_write_move(ShuttleWrite *write, TupleTableSlot *slot,
							   TupleTableSlot *plan_slot);

/* True where a scan that is yet to be made, or a statement on a node, could meet
 * rows that were moved. */
extern bool shuttle_move_is_seen(PlanState *source);

/* ---- statements for many rows (write_sql.c) */

/*
 * The statement whose parameters are arrays: of each attribute's values, and
 * for UPDATE and DELETE of ctids in front of those and of tableoids (NULL: not
 * known) behind them.  In the current context.
 */
extern char *shuttle_write_array_sql(const ShuttleWrite *write,
									 const ShuttleRemoteTable *table);

/* ---- values of many rows (write_values.c) */

/* Stores a row of which RETURNING wants no column, but maybe system columns. */
extern void shuttle_write_store_nothing(TupleTableSlot *slot);

/* A row that waits to be sent. */
typedef struct ShuttleWaitingRow
{
	uint64		number;
	ItemPointerData ctid;		/* UPDATE, DELETE */
	Oid			tableoid;		/* of the node; InvalidOid: not known */
	MinimalTuple values;		/* of the attributes that travel */
	MinimalTuple plan_row;		/* of the source; NULL: nobody needs it */
} ShuttleWaitingRow;

typedef struct ShuttleWaitingRows
{
	bool		by_ctid;
	int			nrows;
	ShuttleWaitingRow *rows;
	TupleTableSlot *slot;		/* for their values */
} ShuttleWaitingRows;

/*
 * Texts for the parameters of a statement, in work_cxt.  Of rows: one for each
 * value; where they have a ctid there is one row, and its tableoid comes last.
 * Of arrays: as shuttle_write_array_sql() says.
 */
extern const char **shuttle_write_print_rows(const ShuttleWrite *write,
											 const ShuttleWaitingRows *rows);
extern const char **shuttle_write_print_arrays(const ShuttleWrite *write,
											   const ShuttleWaitingRows *rows,
											   const ShuttleRemoteTable *table);

/* Appends an element to the text of an array that begins with a brace. */
extern void shuttle_write_append_element(StringInfo array, const char *text,
										 char delimiter);

/* ---- buffered rows (write_buffer.c) */

struct ShuttleWriteBuffer
{
	bool		by_ctid;		/* UPDATE, DELETE */
	bool		returns;		/* something follows up on rows */
	TupleDesc	desc;			/* of values */
	TupleTableSlot *values_slot;
	TupleTableSlot *plan_slot;	/* NULL: nothing that follows needs one */
	ShuttleDecoder *decoder;	/* NULL: no column is returned */
	ShuttleDecoder *marked_decoder; /* the same, behind a mark */
	HTAB	   *named;			/* ctids of this statement; NULL: none */

	MemoryContext rows_cxt;
	ShuttleWaitingRow *rows;
	int			nrows;
	int			size;
	int64		nbytes;
	int64		nsent_bytes;	/* of pieces that were not waited for */
	bool		has_sent;		/* some piece of the statement */

	ShuttleRemoteTable *table;	/* while a piece is made or judged */
	char	   *sql;			/* of many rows, in the query's context */
	List	   *pieces;			/* oldest first */
	uint64		nfinished;		/* rows written that nobody has counted yet */
};

/* Makes the write a buffered one, in the query's context. */
extern void shuttle_write_buffer_create(ShuttleWrite *write);

/*
 * Takes a row; its values are copied.  number tells its place among the rows
 * of its run.  Returns false where the statement has changed that row before.
 */
extern bool shuttle_write_buffer_add(ShuttleWrite *write, TupleTableSlot *slot,
									 TupleTableSlot *plan_slot, uint64 number);

/*
 * True where the statement has changed the source's row before, and has fired BEFORE
 * ROW triggers for it, as core does once for a row of a table of here.
 */
extern bool shuttle_write_buffer_fired_for(const ShuttleWrite *write,
										   TupleTableSlot *plan_slot);

/* True where rows wait to be sent. */
extern bool shuttle_write_buffer_has_rows(const ShuttleWrite *write);

/* What the rows that wait will have when they are sent, roughly. */
extern int64 shuttle_write_buffer_bytes(const ShuttleWrite *write);

/* True where there are so many of them that they are to be sent now; true
 * where so much was sent that its answer is to be waited for. */
extern bool shuttle_write_buffer_is_full(const ShuttleWrite *write);
extern bool shuttle_write_buffer_is_ahead(const ShuttleWrite *write);

/* ---- requests for them (write_pieces.c) */

/* True where the node writes each row that it is sent, or fails.  Waits for
 * the node's answer where nothing is known of the table. */
extern bool shuttle_write_is_plain(ShuttleWrite *write);

/*
 * Sends what is buffered; waits only for what the node says of the table,
 * where that was not known, and with ON CONFLICT DO UPDATE for the first piece.
 * nest_level: transaction nest level that the rows belong to.
 * more: other rows may follow.
 */
extern void shuttle_write_buffer_send(ShuttleWrite *write, int nest_level, bool more);

/* Waits for the answers of what was sent; returns how many rows were written.
 * Errors: those of the node. */
extern uint64 shuttle_write_buffer_finish(ShuttleWrite *write);

/*
 * The same, but an INSERT whose count is known is left to write_behind.c.  Where
 * the node has not said yet if it is, it is asked, for the next time.
 */
extern uint64 shuttle_write_buffer_go_on(ShuttleWrite *write);

/* The number of the next returned row; false: there is none. */
extern bool shuttle_write_buffer_peek(ShuttleWrite *write, uint64 *number);

/*
 * Does with that row what core does with one that was written: AFTER ROW
 * triggers, checks of views, RETURNING.  Returns NULL where there is no
 * RETURNING; else the slot is good until the next call.
 */
extern TupleTableSlot *shuttle_write_buffer_return(ShuttleWrite *write);

/* ---- what is done with them (write_follow_up.c) */

/* True where something is to be done with rows that were written. */
extern bool shuttle_write_follows_up(const ShuttleWrite *write);

/* Queues AFTER ROW triggers for the row of a piece that is returned; core fires them when
 * the statement ends, in this order. */
extern void shuttle_write_queue_triggers(ShuttleWrite *write, TupleTableSlot *slot);

/* ---- what a statement writes (write_source.c) */

/*
 * True where the source asks nodes again and again, key by key: by a Look Ahead,
 * above which the planner has put a Material, also where it cannot batch the keys; or
 * without one, for a table that the statement writes.  A later answer would see what
 * was written.
 */
extern bool shuttle_source_asks_again(const ModifyTableState *node);

/* True where it calls functions that are to see the state before the statement, and
 * nothing shows that they are called before rows are written. */
extern bool shuttle_source_sees_snapshot(PlanState *source);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_BUFFER_H */

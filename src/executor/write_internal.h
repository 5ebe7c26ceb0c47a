/*-------------------------------------------------------------------------
 * write_internal.h
 *	  What the files that write rows of foreign tables share.
 *
 * A ShuttleWrite writes one table for one statement.  It sends each row at
 * once, or it is buffered: then it belongs to the run of its ModifyTable, and
 * its rows go out when the run flushes.
 *-------------------------------------------------------------------------
 */
#ifndef WRITE_INTERNAL_H
#define WRITE_INTERNAL_H

#include "executor/execdesc.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"

#include "executor/executor_internal.h"

typedef struct ShuttleWrite ShuttleWrite;
typedef struct ShuttleWriteBuffer ShuttleWriteBuffer;
typedef struct ShuttleWriteRun ShuttleWriteRun;
typedef struct ShuttleRemoteTable ShuttleRemoteTable;
typedef struct ShuttleWriteConflict ShuttleWriteConflict;

/* What a table is called in statements of ours that write it. */
#define SHUTTLE_TABLE_ALIAS "shuttle_table"

/* Of one request; the protocol counts them in 16 bits. */
#define SHUTTLE_MAX_PARAMETERS 65535

struct ShuttleWrite
{
	ModifyTableState *node;
	ResultRelInfo *target;
	Relation	rel;
	EState	   *estate;
	CmdType		operation;
	ShuttleNode *storage_node;
	ShuttlePeerModify peer;
	ShuttleDecoder *decoder;	/* NULL: nothing is returned */
	ShuttleWriteConflict *conflict; /* NULL: there is no such clause */

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

/* The write that EXPLAIN shows: one of a table. */
static inline ShuttleWrite *
shuttle_write_shown(ShuttleWrite *write)
{
	return write->update != NULL ? write->update : write;
}

/* True where a node has to look for rows to write these, so that DIST counts them. */
static inline bool
shuttle_write_looks(const ShuttleWrite *write)
{
	const ModifyTable *plan = (const ModifyTable *) write->node->ps.plan;

	return write->operation != CMD_INSERT || write->conflict != NULL ||
		(plan != NULL && plan->onConflictAction != ONCONFLICT_NONE);
}

/* ---- rows of one request (foreign_modify.c) */

/* Makes a write of a table for which the plan has none of that operation; in the
 * query's context. */
extern ShuttleWrite *shuttle_write_create(ModifyTableState *node, ResultRelInfo *target,
										  CmdType operation);

/* True where rows are to be buffered, as is decided when the first one comes. */
extern bool shuttle_write_is_buffered(ShuttleWrite *write);

/*
 * The INSERT of nrows rows with VALUES.  Lives until it is asked for another
 * number of rows, or with ON CONFLICT DO UPDATE.
 */
extern const char *shuttle_write_values_sql(ShuttleWrite *write, int nrows);

/* Raises that more rows were changed than were named (trap 22). */
extern void shuttle_write_refuse_several(ShuttleWrite *write, uint64 nrows);

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

/* ---- what EXPLAIN shows of rows that are routed (explain_routed.c) */

/* Installs the hook that has ModifyTables explain these; called once. */
extern void shuttle_explain_routed_init(void);

/* Prints what a table's write sent, where EXPLAIN wants that. */
extern void shuttle_write_explain(ShuttleWrite *write, ExplainState *es);

/* ---- ON CONFLICT with columns (write_conflict.c) */

/* True where the planner took such a clause out of the statement. */
extern bool shuttle_conflict_is_in(const ModifyTable *plan);

/* The plan's clause for a write, or NULL; the INSERT in write->peer then names
 * its table.  In the query's context. */
extern ShuttleWriteConflict *shuttle_conflict_create(ShuttleWrite *write);

/* True where it is DO UPDATE. */
extern bool shuttle_conflict_updates(const ShuttleWrite *write);

/*
 * Says of the request that is made next if more of them may follow.  Where
 * wants_mark() says so, its answer then has columns in front, for take_mark();
 * while needs_mark() says so, all answers are to be read before another request
 * is made.
 */
extern void shuttle_conflict_expect(ShuttleWrite *write, bool more);
extern bool shuttle_conflict_wants_mark(const ShuttleWrite *write);
extern bool shuttle_conflict_needs_mark(const ShuttleWrite *write);
extern void shuttle_conflict_take_mark(ShuttleWrite *write, const ShuttleRow *row);

/* How many columns are in front of those that RETURNING wants; marked: in such an
 * answer. */
extern int	shuttle_conflict_front_columns(const ShuttleWrite *write, bool marked);

/*
 * True where RETURNING looks at xmax, which the node then returns: 0 says that DO
 * UPDATE has inserted a row.  The other one puts it into a row's tuple.
 */
extern bool shuttle_conflict_returns_xmax(const ShuttleWrite *write);
extern void shuttle_conflict_show_xmax(const ShuttleWrite *write, HeapTuple tuple,
									   const ShuttleRow *row, bool marked);

/* Appends what stands behind the rows of an INSERT, RETURNING included; nparams:
 * parameters of the rows, which those of the clause follow. */
extern void shuttle_conflict_append_tail(StringInfo sql, const ShuttleWrite *write,
										 int nparams);

/* How many these are, and their values as texts; 0 without a clause. */
extern int	shuttle_conflict_count_values(const ShuttleWrite *write);
extern void shuttle_conflict_add_values(const ShuttleWrite *write, const char **values);

/* Within PG_CATCH: raises that a row was to be updated a second time, where the
 * node's error says that; else returns. */
extern void shuttle_conflict_translate_error(const ShuttleWrite *write);

/* Raises an error where a row went to a partition that is not ours. */
extern void shuttle_conflict_check_partitions(const ModifyTableState *node);

/* The INSERT of one row as EXPLAIN shows it, also without such a clause; of UPDATE
 * and DELETE the statement of one row. */
extern const char *shuttle_conflict_shown_sql(const ShuttleWrite *write);

/* The private list as EXPLAIN shows it. */
extern List *shuttle_conflict_explained(ModifyTableState *node,
										ResultRelInfo *target, List *fdw_private);

/* ---- columns that an INSERT leaves to the node (remote_default.c) */

/* shuttle_remote_default_omit() for rows that are routed or copied to target. */
extern List *shuttle_remote_default_omit_routed(List *fdw_private,
												const ModifyTableState *node,
												ResultRelInfo *target);

/* ---- what a node says of its table (remote_table.c) */

struct ShuttleRemoteTable
{
	bool		valid;
	bool		plain;			/* no trigger, rule or policy changes which
								 * rows a write writes */
	char	  **types;			/* of the column of each attribute, without a
								 * length; NULL: there is none */
	bool	   *as_text;		/* travels as text and is cast there */
	char	   *delimiters;		/* between the elements of its arrays */
};

/* Asks the node, if it was not asked yet, without waiting.  The answer stays
 * until somebody looks for it.  snapshot: as of shuttle_request_send(). */
extern void shuttle_remote_table_ask(Relation rel, ShuttleNode *node,
									 uint64 snapshot);

/* True where something is known, or will be by what is on its way. */
extern bool shuttle_remote_table_is_asked(Relation rel, ShuttleNode *node);

/* What is known without waiting; NULL: nothing, yet. */
extern const ShuttleRemoteTable *shuttle_remote_table_look(Relation rel,
														   ShuttleNode *node);

/* The node is to be asked again. */
extern void shuttle_remote_table_forget(Oid relid, ShuttleNode *node);

/* What the node says; asks where it must, and waits.  Lives until the next
 * command that changes the foreign table, so for one flush.  Errors: those of
 * the node. */
extern ShuttleRemoteTable *shuttle_remote_table_read(Relation rel,
													 ShuttleNode *node,
													 uint64 snapshot);

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

/* ---- ModifyTable (write_run.c) */

/* Lists the ModifyTableStates of a statement, each once. */
extern List *shuttle_modify_tables(const QueryDesc *query);

/* Installs the hook that finds a statement's ModifyTables; called once. */
extern void shuttle_write_run_init(void);

/* Has tables that their nodes change by themselves be asked together
 * (foreign_direct.c). */
extern void shuttle_foreign_direct_join(ModifyTableState *node);

/* Says how the transaction would commit now, with DIST and VERBOSE. */
extern void shuttle_write_explain_commit(ExplainState *es);

/* The run that the write belongs to; NULL: it is not steered by us (COPY). */
extern ShuttleWriteRun *shuttle_write_run_find(const ModifyTableState *node);

/* Begins the run of a COPY, if it was not begun. */
extern void shuttle_write_run_begin_copy(ModifyTableState *node);

/* The statement ends: a COPY's rows are flushed, files are closed. */
extern void shuttle_write_run_end(const ModifyTableState *node);

/* A buffered write takes a row; may send what is buffered. */
extern void shuttle_write_run_add(ShuttleWriteRun *run, ShuttleWrite *write,
								  TupleTableSlot *slot,
								  TupleTableSlot *plan_slot);

/* The two halves of that; take: false where the row was changed before. */
extern bool shuttle_write_run_take(ShuttleWriteRun *run, ShuttleWrite *write,
								   TupleTableSlot *slot, TupleTableSlot *plan_slot);
extern void shuttle_write_run_send_full(ShuttleWriteRun *run, ShuttleWrite *write);

/* Says how many rows of RETURNING a statement is run for; 0: all. */
extern void shuttle_write_run_limit(const QueryDesc *query, uint64 count);

/* Counts a row that core does not count, and keeps it for RETURNING. */
extern void shuttle_write_run_count(ShuttleWriteRun *run, ResultRelInfo *target,
									TupleTableSlot *slot, TupleTableSlot *plan_slot);

/*
 * Sends what other executor runs than that of estate have buffered for the
 * node, and waits: called before a request that could see it.
 */
extern void shuttle_write_flush_others(ShuttleNode *node, const EState *estate);

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

/* ---- INSERTs that are not waited for (write_behind.c, plpgsql_statements.c) */

/* Installs hooks and callbacks; called once. */
extern void shuttle_write_behind_init(void);

/* True where statements that begin at a nest level of the transaction need not be
 * waited for: another one's end will be. */
extern bool shuttle_write_behind_is_on(int nest_level);

/* False where a block with EXCEPTION may be being entered that we do not know of. */
extern bool shuttle_write_behind_is_safe(void);

/* Takes over a request that was sent and not answered, of nrows rows.  Errors: of
 * earlier ones. */
extern void shuttle_write_behind_leave(ShuttleWrite *write, ShuttleRequest *request,
									   int nrows, int64 nbytes);

/* Waits for all that were sent at a nest level or deeper.  Errors: theirs. */
extern void shuttle_write_behind_finish(int level);

/* PL/pgSQL is about to enter a block with EXCEPTION.  Errors: as above. */
extern void shuttle_write_behind_enter_block(void);

/* Has PL/pgSQL tell us of the statements that it begins from now on. */
extern void shuttle_plpgsql_statements_see(void);

/* True where it does. */
extern bool shuttle_plpgsql_statements_are_seen(void);

#endif							/* WRITE_INTERNAL_H */

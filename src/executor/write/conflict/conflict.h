/*-------------------------------------------------------------------------
 * conflict.h
 *	  ON CONFLICT of an INSERT into foreign tables.
 *
 * on_conflict.c, conflict_clause.c, conflict_proof.c	the clause as it is sent to a node
 * conflict_rows.c	values of DO UPDATE that are computed here for each row
 * upsert.c, upsert_rows.c, upsert_triggers.c	DO UPDATE that is executed here, since
 *			triggers must see the rows
 * conflict_by_row.c	rows that are inserted one by one, since a global index decides
 *
 * In: the clause that the planner has put into the plan, rows of write/. Out: SQL
 * text, values, and rows of an UPDATE.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_H
#define SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_H

#include "nodes/execnodes.h"

#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* Columns of the mark. */
#define SHUTTLE_MARK_COLUMNS 2

/* Alias of the written table in our statements. */
#define SHUTTLE_TABLE_ALIAS "shuttle_table"

/* Registers the node that inserts row by row (conflict_by_row.c). */
extern void shuttle_conflict_by_row_register(void);

/* ---- ON CONFLICT with columns (on_conflict.c) */

/* True if the planner moved an ON CONFLICT clause out of the statement. */
extern bool shuttle_on_conflict_is_in(const ModifyTable *plan);

/* The plan's clause for a write, or NULL. Adds an alias to the INSERT in
 * write->postgres_fdw. In the query's context. */
extern ShuttleOnConflict *shuttle_on_conflict_create(ShuttleWrite *write);

/* True if the clause is DO UPDATE. */
extern bool shuttle_on_conflict_updates(const ShuttleWrite *write);

/*
 * Announces a request; more: others may follow. If wants_mark(), its answer has
 * leading columns for take_mark(), from column on. While needs_mark(), all answers must be read
 * before the next request is made.
 */
extern void shuttle_on_conflict_expect(ShuttleWrite *write, bool more);
extern bool shuttle_on_conflict_wants_mark(const ShuttleWrite *write);
extern bool shuttle_on_conflict_needs_mark(const ShuttleWrite *write);
extern void shuttle_on_conflict_take_mark(ShuttleWrite *write, const ShuttleRow *row,
										  int column);

/* Gets the mark's command, on the node; false: nothing was written yet. */
extern bool shuttle_on_conflict_mark(const ShuttleWrite *write, uint64 *command);

/* The arbiters of an INSERT whose rows are updated here (upsert.h): ints,
 * attributes; and the condition of a partial index, in SQL, or NULL. */
extern List *shuttle_on_conflict_arbiters(const ShuttleWrite *write);
extern const char *shuttle_on_conflict_arbiter_condition(const ShuttleWrite *write);

/* Number of columns before those of RETURNING; marked: in an answer with the
 * mark. */
extern int	shuttle_on_conflict_front_columns(const ShuttleWrite *write, bool marked);

/* True if RETURNING uses xmax, which the node then returns: 0 means that DO
 * UPDATE has inserted the row. show_xmax puts it into the tuple. */
extern bool shuttle_on_conflict_returns_xmax(const ShuttleWrite *write);
extern void shuttle_on_conflict_show_xmax(const ShuttleWrite *write, HeapTuple tuple,
										  const ShuttleRow *row, bool marked);

/* Appends all that follows the rows of an INSERT, RETURNING included. nparams:
 * number of the rows' parameters, which the clause's own follow. */
extern void shuttle_on_conflict_append_tail(StringInfo sql, const ShuttleWrite *write,
											int nparams);

/* True if the clause has values that are computed here for each row. Such a row
 * is sent by itself; they are computed of its slot before it is buffered. */
extern bool shuttle_on_conflict_computes_rows(const ShuttleWrite *write);
extern void shuttle_on_conflict_compute_row(const ShuttleWrite *write, TupleTableSlot *slot);

/*
 * The number of the clause's parameters, 0 without a clause; and their texts.
 */
extern int	shuttle_on_conflict_count_values(const ShuttleWrite *write);

/* Evaluates them, once for all tables of a statement (*values: NULL before). */
extern void shuttle_on_conflict_evaluate(const ShuttleWrite *write, const char *const **values);
extern void shuttle_on_conflict_add_values(const ShuttleWrite *write, const char **values);

/* One of shuttle_storage_calls: a row was written a second time, or EXCLUDED on the node
 * was not the row that was sent. Whatever reads the node's next answer raises this error. */
extern void shuttle_on_conflict_translate_error(ShuttleErrorNames *names, const char *sql);

/* Raises an error if rows went to a partition that is not our foreign table. */
extern void shuttle_on_conflict_check_partitions(const ModifyTableState *node);

/* The INSERT of one row for EXPLAIN, also without such a clause; for UPDATE and
 * DELETE the statement of one row. */
extern const char *shuttle_on_conflict_shown_sql(const ShuttleWrite *write);

/* The private list for EXPLAIN. */
extern List *shuttle_on_conflict_explained(ModifyTableState *node,
										   ResultRelInfo *target, List *fdw_private);

#endif							/* SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_H */

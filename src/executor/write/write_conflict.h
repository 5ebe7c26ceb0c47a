/*-------------------------------------------------------------------------
 * write_conflict.h
 *	  INSERT ... ON CONFLICT as a node gets it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_WRITE_CONFLICT_H
#define SHUTTLE_EXECUTOR_WRITE_WRITE_CONFLICT_H

#include "nodes/execnodes.h"

#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* What a table is called in statements of ours that write it. */
#define SHUTTLE_TABLE_ALIAS "shuttle_table"

/* ---- ON CONFLICT with columns (write_conflict.c) */

/* True where the planner took such a clause out of the statement. */
extern bool shuttle_on_conflict_is_in(const ModifyTable *plan);

/* The plan's clause for a write, or NULL; the INSERT in write->postgres_fdw then names
 * its table.  In the query's context. */
extern ShuttleOnConflict *shuttle_on_conflict_create(ShuttleWrite *write);

/* True where it is DO UPDATE. */
extern bool shuttle_on_conflict_updates(const ShuttleWrite *write);

/*
 * Says of the request that is made next if more of them may follow.  Where
 * wants_mark() says so, its answer then has columns in front, for take_mark();
 * while needs_mark() says so, all answers are to be read before another request
 * is made.
 */
extern void shuttle_on_conflict_expect(ShuttleWrite *write, bool more);
extern bool shuttle_on_conflict_wants_mark(const ShuttleWrite *write);
extern bool shuttle_on_conflict_needs_mark(const ShuttleWrite *write);
extern void shuttle_on_conflict_take_mark(ShuttleWrite *write, const ShuttleRow *row);

/* How many columns are in front of those that RETURNING wants; marked: in such an
 * answer. */
extern int	shuttle_on_conflict_front_columns(const ShuttleWrite *write, bool marked);

/*
 * True where RETURNING looks at xmax, which the node then returns: 0 says that DO
 * UPDATE has inserted a row.  The other one puts it into a row's tuple.
 */
extern bool shuttle_on_conflict_returns_xmax(const ShuttleWrite *write);
extern void shuttle_on_conflict_show_xmax(const ShuttleWrite *write, HeapTuple tuple,
										  const ShuttleRow *row, bool marked);

/* Appends what stands behind the rows of an INSERT, RETURNING included; nparams:
 * parameters of the rows, which those of the clause follow. */
extern void shuttle_on_conflict_append_tail(StringInfo sql, const ShuttleWrite *write,
											int nparams);

/* How many these are, and their values as texts; 0 without a clause. */
extern int	shuttle_on_conflict_count_values(const ShuttleWrite *write);
extern void shuttle_on_conflict_add_values(const ShuttleWrite *write, const char **values);

/* Within PG_CATCH: raises that a row was to be updated a second time, where the
 * node's error says that; else returns. */
extern void shuttle_on_conflict_translate_error(const ShuttleWrite *write);

/* Raises an error where a row went to a partition that is not ours. */
extern void shuttle_on_conflict_check_partitions(const ModifyTableState *node);

/* The INSERT of one row as EXPLAIN shows it, also without such a clause; of UPDATE
 * and DELETE the statement of one row. */
extern const char *shuttle_on_conflict_shown_sql(const ShuttleWrite *write);

/* The private list as EXPLAIN shows it. */
extern List *shuttle_on_conflict_explained(ModifyTableState *node,
										   ResultRelInfo *target, List *fdw_private);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_CONFLICT_H */

/*-------------------------------------------------------------------------
 * conflict_rows.h
 *	  Values of ON CONFLICT that are computed here for each row.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_ROWS_H
#define SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_ROWS_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"

typedef struct ShuttleConflictRows ShuttleConflictRows;

/*
 * expressions: with Vars of range table index excluded, the row to be inserted
 * into the statement's table. NULL if there are none. In the query's context.
 * Errors: 0A000 if they need a column whose value the node decides.
 */
extern ShuttleConflictRows *shuttle_conflict_rows_create(const ShuttleWrite *write,
														 Index excluded,
														 List *expressions);

/* Their number; 0 for NULL. */
extern int	shuttle_conflict_rows_count(const ShuttleConflictRows *rows);

/* Computes them of the row in the slot. Errors: those of the expressions. */
extern void shuttle_conflict_rows_compute(ShuttleConflictRows *rows, TupleTableSlot *slot);

/* The texts of the row computed last, valid until the next one. */
extern const char *const *shuttle_conflict_rows_values(const ShuttleConflictRows *rows);

/* SQL that is true if EXCLUDED on the node has the values that they were
 * computed of, for an INSERT of one row whose values are $1, $2, ... */
extern const char *shuttle_conflict_rows_same(const ShuttleConflictRows *rows);

/* Raises the error that the node decides the value of a column of EXCLUDED. */
pg_noreturn extern void shuttle_conflict_rows_refuse_default(const ShuttleWrite *write,
															 AttrNumber number);

#endif							/* SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_ROWS_H */

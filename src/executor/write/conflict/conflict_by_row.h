/*-------------------------------------------------------------------------
 * conflict_by_row.h
 *	  A statement whose rows are inserted one by one or together, since a global index decides about conflicts.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_BY_ROW_H
#define SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_BY_ROW_H

#include "nodes/execnodes.h"
#include "nodes/params.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

#include "executor/shuttle_by_row.h"

typedef struct ShuttleByRowState
{
	CustomScanState css;		/* must be first */
	ShuttleByRowPlan plan;
	PlannedStmt *insert;
	PlannedStmt *update;
	PlannedStmt *select;
	PlannedStmt *insert_rows;
	PlannedStmt *update_rows;
	PlannedStmt *find_rows;
	PlannedStmt *update_new;
	TupleTableSlot *new_values; /* what it returns */
	ParamListInfo params;		/* the client's, then those of a row */
	Relation	arbiter;		/* NULL: none */
	QueryEnvironment *environment;	/* has rows that are written together */
	Tuplestorestate *proposed;
	int64		nproposed;
	TupleTableSlot *row;		/* one of these */
	Tuplestorestate *returned;
	TupleTableSlot *returned_row;	/* one of these */
	MemoryContext row_cxt;
	bool		is_done;

	/*
	 * rows that were written: arrays of the arbiter's values, in the query's
	 * context
	 */
	IndexInfo  *index;
	TupleTableSlot *table_row;	/* the row as one of the table */
	List	   *written;

	/* of the statement that is executed */
	PlannedStmt *running;
	Tuplestorestate *answer;
	uint64		nrows;
} ShuttleByRowState;

/* Runs a statement for the current row, or for those of the environment. Returns the error, or NULL; state->answer has the
 * rows that were returned. */
extern ErrorData *shuttle_conflict_run(ShuttleByRowState *state, PlannedStmt *statement, bool may_fail);

/* Takes over what the last statement has written, and returned. */
extern void shuttle_conflict_take_answer(ShuttleByRowState *state);

/* The arbiter's values of the current row, in the current context; NULL: it can be in conflict with no row. */
extern Datum *shuttle_conflict_values(ShuttleByRowState *state);
extern bool shuttle_conflict_values_are_equal(const ShuttleByRowState *state, const Datum *one, const Datum *other);

/* True if the statement has written a row with these values. */
extern bool shuttle_conflict_is_written(const ShuttleByRowState *state, const Datum *values);
extern void shuttle_conflict_note_written(ShuttleByRowState *state, Datum *values);

/* True if an error is that of a unique index of the table. */
extern bool shuttle_conflict_is_one(const ShuttleByRowState *state, const ErrorData *error);

/* Writes the current row. is_known: there was a row in conflict with it. Returns true if it was inserted. */
extern bool shuttle_conflict_write_row(ShuttleByRowState *state, bool is_known);

/* ---- conflict_batches.c */

/* Writes all proposed rows, in their order. */
extern void shuttle_conflict_write_batches(ShuttleByRowState *state);

#endif							/* SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_BY_ROW_H */

/*-------------------------------------------------------------------------
 * upsert.h
 *	  INSERT ... ON CONFLICT DO UPDATE whose rows are changed here.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_CONFLICT_UPSERT_H
#define SHUTTLE_EXECUTOR_WRITE_CONFLICT_UPSERT_H

#include "nodes/execnodes.h"

#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* A proposed row that the node has not inserted. */
typedef struct ShuttleConflictingRow
{
	uint64		number;			/* its place in the source */
	MinimalTuple excluded;
	HeapTuple	stored;			/* the row that it conflicts with, locked;
								 * NULL: that is gone */
	ItemPointerData ctid;		/* of the stored row, on the node */
	Oid			tableoid;
	bool		is_own;			/* our transaction wrote the stored row, */
	uint64		command;		/* by this command of the node */
} ShuttleConflictingRow;

/* What an INSERT into one table needs for DO UPDATE. */
struct ShuttleUpsert
{
	ShuttleWrite *insert;		/* the INSERT, with DO NOTHING */
	ShuttleWrite *changes;		/* the UPDATE of stored rows */
	ShuttleWrite *keys;			/* prints values of the arbiters */
	List	   *attributes;		/* ints: what is read of stored rows */
	ShuttleDecoder *decoder;	/* of these */
	bool		by_row;			/* a row is finished before the next one's
								 * triggers fire */
	bool		is_first;		/* before the statement the transaction had
								 * not written on the node */
	TupleTableSlot *excluded;
	MemoryContext rows_cxt;
	ShuttleConflictingRow *rows;	/* in the order of the source */
	int			nrows;
	int			size;
	ShuttleRequest *request;	/* that locks stored rows */
};

/* ---- one table (upsert_rows.c) */

/* True if the plan's ON CONFLICT is of ours, and is executed here. */
extern bool shuttle_upsert_is_in(const ModifyTable *plan);

/* Adds to an INSERT what DO UPDATE needs; in the query's context. */
extern void shuttle_upsert_create(ShuttleWrite *insert);

/*
 * The place of a returned row among the rows sent, at or behind from. Errors:
 * the node has changed its key.
 */
extern int	shuttle_upsert_find_place(const ShuttleUpsert *upsert, HeapTuple returned,
									  const MinimalTuple *sent, int from, int nsent);

/* Keeps a copy of a row that was not inserted. */
extern void shuttle_upsert_keep(ShuttleUpsert *upsert, uint64 number, MinimalTuple excluded);

/* Asks the node for the stored rows of all that are kept, and for locks on
 * them; and reads the answer. */
extern void shuttle_upsert_ask(ShuttleUpsert *upsert, int nest_level);
extern void shuttle_upsert_read(ShuttleUpsert *upsert);

/* Forgets the rows. */
extern void shuttle_upsert_reset(ShuttleUpsert *upsert);

/* ---- all tables of a statement (upsert.c) */

/*
 * Does with all rows that were not inserted what DO UPDATE says, and waits until
 * it is done. in_turn: as for shuttle_modify_flush().
 */
extern void shuttle_upserts_run(ShuttleModify *modify, bool in_turn);

/* Called when another part of the statement, or something that the statement
 * calls, is about to write to its table. */
extern void shuttle_upserts_note_write(ShuttleModify *modify);

#endif							/* SHUTTLE_EXECUTOR_WRITE_CONFLICT_UPSERT_H */

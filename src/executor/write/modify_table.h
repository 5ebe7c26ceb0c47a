/*-------------------------------------------------------------------------
 * modify_table.h
 *	  A ModifyTable of core that we control (modify_table.c, modify_send.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_MODIFY_TABLE_H
#define SHUTTLE_EXECUTOR_WRITE_MODIFY_TABLE_H

#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

#include "executor/executor_types.h"
#include "executor/outbox.h"

struct ShuttleModify
{
	ShuttleUnsentRows unsent;	/* must be first */
	ModifyTableState *node;
	PlanState  *source;			/* NULL: COPY */
	ExecProcNodeMtd exec_modify;	/* core's */
	ExecProcNodeMtd exec_source;
	bool		read_first;		/* the source has yet to be read to its end */
	Tuplestorestate *kept;		/* the source's rows, if it is no Material;
								 * NULL: they are read one by one */
	TupleTableSlot *kept_slot;
	TupleTableSlot *source_slot;	/* a kept row as the source would return
									 * it */
	bool		ended;			/* the source has ended */
	bool		moves_wait;		/* moved rows are inserted after the source's
								 * end */
	bool		holds_moves;	/* moved rows must not be sent now */
	List	   *writes;			/* ShuttleWrites that are buffered */
	uint64		nrows;			/* rows taken so far */
	const char *const *conflict_values; /* of ON CONFLICT; NULL: none, or not
										 * evaluated */
	int64		nbytes;			/* of rows taken and not answered, except
								 * those that wait for the source's end */
	int64		nsent_bytes;	/* the part of nbytes that was sent */
	Tuplestorestate *returned;	/* rows of RETURNING; NULL: no RETURNING */
	uint64		most_returned;	/* RETURNING rows that are wanted; 0: all */
	uint64		nreturned;		/* RETURNING rows that exist so far */
	uint64		nflushed;		/* rows flushed, of nrows */
	bool		follows_up_late;	/* triggers and RETURNING of answered rows
									 * wait until this statement continues */
	bool		waits_for_copies;	/* rows are sent when the triggers that
									 * write copies have fired */
	uint64		ended_number;	/* of such a source among those that ended;
								 * the last number if it has not */
	TupleTableSlot *returned_slot;

	/* ON CONFLICT DO UPDATE that is executed here (upsert.c) */
	bool		in_upsert;		/* its rows are being changed */
	bool		finishes_each;	/* the source's functions may begin savepoints */
	bool		is_written_beside;	/* something beside it, in the statement
									 * or called by it, writes to its table */
	List	   *unwritten_servers;	/* Oids: servers on which the transaction
									 * had not written by then */
};

/* ---- modify_send.c */

/* Lets the outbox send this table's rows. */
extern void shuttle_modify_set_senders(ShuttleModify *modify);

/*
 * Sends all buffered rows and waits until they are written, except, after the
 * end of the source, for INSERTs whose count is known. in_turn: false if a
 * statement within this one caused the flush. Triggers and RETURNING then wait:
 * triggers queued within that statement would fire at its end, and its handlers
 * would catch errors of RETURNING.
 */
extern void shuttle_modify_flush(ShuttleModify *modify, bool in_turn);

/* Fires triggers and evaluates RETURNING for answered rows, in the order of the
 * source; RETURNING's rows are kept. */
extern void shuttle_modify_follow_up(ShuttleModify *modify);

#endif							/* SHUTTLE_EXECUTOR_WRITE_MODIFY_TABLE_H */

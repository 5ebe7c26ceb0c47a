/*-------------------------------------------------------------------------
 * outside_transaction.h
 *	  A statement that runs on a node outside of the session's transaction.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_OUTSIDE_TRANSACTION_H
#define SHUTTLE_STORAGE_REQUEST_OUTSIDE_TRANSACTION_H

#include "lib/stringinfo.h"

#include "storage/connection/connection.h"
#include "storage/shuttle_storage.h"

typedef enum RunState
{
	RUN_CONNECTING,
	RUN_SENDING,
	RUN_ENDED
} RunState;

/* Texts sent, in this order. */
typedef enum RunStep
{
	STEP_EPOCH,
	STEP_READ_ONLY,
	STEP_CHECK_INTERVAL,
	STEP_BEGIN,
	STEP_PARAMETER,
	STEP_SQL
} RunStep;

typedef struct OutsideRun
{
	ShuttleNode node;			/* only its connection and options; in no list */
	ShuttleOutsideRun *result;
	const char *sql;
	RunState	state;
	RunStep		step;
	bool		flush_pending;	/* libpq holds bytes that are not sent */
	bool		ready;			/* the socket is ready */
	bool		new_answer;		/* the next row begins an answer */
	bool		cancelled;
	bool		answered;		/* the user's text was answered; with rows, if
								 * the caller wants rows */
	StringInfoData rows;		/* as JSON, without the closing bracket */
} OutsideRun;

/* ---- outside_connection.c */

/* Takes the side's connection, or begins to connect. */
extern void shuttle_outside_connect(OutsideRun *run, Oid userid);

/* Goes on connecting. The run is sending then if the connection is there. */
extern void shuttle_outside_go_on_connecting(OutsideRun *run);

/* Closes the connection, or returns it to its side if it is still usable. */
extern void shuttle_outside_end(OutsideRun *run);

/* ---- outside_answer.c */

/* Takes one result, which the caller frees; an unexpected one fails the run. */
extern void shuttle_outside_take_result(OutsideRun *run, PGresult *result);

/* Ends the run with an error, unless it has one. */
extern void shuttle_outside_fail(OutsideRun *run, const char *sqlstate, const char *message);

#endif							/* SHUTTLE_STORAGE_REQUEST_OUTSIDE_TRANSACTION_H */

/*-------------------------------------------------------------------------
 * request.h
 *	  Requests: a statement on its way to a node, and its answer on its way back.
 *
 * Files: request.c, request_answer.c and request_pages.c are a request from
 * its first packet to its end; command_queue.c is the queue of a node,
 * pipeline.c sends it and reads answers, wait.c drives all queues; answer_pages.c and answer_store.c keep
 * rows; prepared.c, cursor.c, cancel.c, notices.c and node_error.c are what
 * their names say; query.c runs statements of our own, outside_transaction.c
 * and outside_answer.c those beside the session's transaction.
 *
 * In: SQL and parameters. Out: rows, counts or an error, read by whoever waits.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_REQUEST_H
#define SHUTTLE_STORAGE_REQUEST_REQUEST_H

#include "lib/ilist.h"
#include "libpq-fe.h"

#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- a request, from its first packet to its end */

/* How the values of the next answers are asked for. */
typedef enum RequestFormat
{
	FORMAT_TEXT,
	FORMAT_UNDECIDED,			/* texts, until the first answer tells types */
	FORMAT_BINARY
} RequestFormat;

typedef enum RequestMode
{
	REQUEST_WHOLE,				/* sent as it is */
	REQUEST_HELD,				/* with a limit; more rows: a cursor */
	REQUEST_CURSOR
} RequestMode;

typedef enum RequestState
{
	REQUEST_UNSENT,				/* has to be sent (again) by a cursor */
	REQUEST_OPEN,				/* answers are to come */
	REQUEST_DONE,				/* all answers are here, or read */
	REQUEST_FAILED,
	REQUEST_SKIPPED				/* because of another one's error */
} RequestState;

struct ShuttleRequest
{
	dlist_node	link;			/* in node->requests */
	ShuttleNode *node;
	MemoryContext cxt;
	MemoryContextCallback callback;
	RequestMode mode;
	RequestState state;

	/* what was asked; copied, for it may have to be sent again */
	char	   *sql;
	char	   *sent_sql;		/* with a limit or a DECLARE around it */
	int			nparams;
	char	  **values;
	ShuttleEffect effect;
	uint64		snapshot;
	bool		ahead;
	bool		repeats;		/* UNSENT: as it was sent before */
	bool		being_sent;		/* again, or that failed */
	double		estimated_rows;
	double		row_goal;
	bool		whole;			/* see ShuttleStatement */
	bool		keep;			/* the same */
	int			row_bytes;
	bool		is_narrow;		/* no row can be wide, by the columns' types */
	ShuttlePageLimits limits;	/* none is 0 */
	const ShuttleDecoder *decoder;	/* NULL: texts are wanted */
	int			ncolumns;		/* that it must have; 0: not known */
	bool		tag_only;
	bool		custom_plan;
	bool		looks;
	ShuttleCounters *counters;
	int			level;			/* nest level of its owner */
	int			nest_level;		/* at which it is to be sent; 0: the current */
	int			sent_level;		/* nest level at which it was sent */
	uint64		generation;		/* of the node's transaction */
	bool		unawaited;		/* see shuttle_request_leave() */
	char	   *origin;			/* the same */

	/* format of values (answer_format.c) */
	RequestFormat format;
	bool		format_checked; /* the first answer was compared with it */
	bool		refused_binary; /* it has to be texts */
	uint64		format_key;

	/* answers */
	dlist_head	pages;			/* ShuttlePages: parts of the answer */
	ShuttlePage *reading;		/* the one being read; NULL: the first */
	int			row;			/* next one of that */
	bool		flowing;		/* rows of the incomplete page can be read */
	bool		stored_part;	/* such rows are in the store */
	ShuttleStore *store;		/* rows that had to get out of the way; they
								 * come before those of pages */
	bool		handed_out;		/* a row was */
	bool		forgot;			/* rows that were handed out are gone */
	uint64		naffected;
	ShuttleNodeError *error;
	bool		own_error;		/* error is of this request, sent ahead */
	int64		scanned_before;
	int			nscanned_asked; /* counters asked for and not answered */

	/* pages of a cursor */
	int			cursor;			/* slot; -1: none */
	int			page_rows;
	int			window;			/* pages asked for and not read at most, if
								 * fetch_ahead allows so many */
	int			nrefills;		/* times that rows beyond the goal were wanted */
	int			npages_asked;	/* and not answered */
	int			npages_here;	/* complete ones in pages */
	int64		bytes_here;		/* memory of pages */
	bool		being_read;		/* its owner has asked for a row */
	bool		at_end;			/* the cursor is */
	bool		stalled;		/* the reader waits, and the window grew */
	bool		reads_ahead;	/* the reader does not need the rows yet */
	int64		nrows_asked;	/* by FETCHes since the cursor was opened */
	bool		outgrown;		/* there were more rows than estimated */
	int64		nrows_seen;
	int64		nbytes_seen;	/* of the wire */
	int64		memory_seen;	/* bytes that the same took here */
	int64	   *width;			/* of the largest row of late, in bytes of the
								 * wire; 0: none was seen.  The decoder's, for
								 * all requests of a scan, or own_width */
	int64		own_width;

	ShuttleRow	current;
};

/* ---- request.c, request_answer.c, request_pages.c */

/* What the pump says; the command belongs to the request from then on. */
extern void shuttle_request_answer(ShuttleRequest *request,
								   ShuttleCommand *command);

/* The same of a part of a command's answer; false where memory is short. */
extern bool shuttle_request_take(ShuttleRequest *request,
								 ShuttleCommand *command, PGresult *result);

/* A command of the request failed; error may be NULL: the connection did. */
extern void shuttle_request_fail(ShuttleRequest *request,
								 ShuttleNodeError *error, bool own_error);

/* The node skips a request sent ahead because of another one's error. */
extern void shuttle_request_skip(ShuttleRequest *request);

/* Nothing of a request was done: it is sent again when it is next asked for. */
extern void shuttle_request_repeat(ShuttleRequest *request);

/* The same for all requests of the node's transaction. */
extern void shuttle_request_repeat_all(ShuttleNode *node);

/* Reads an answer to its end, into a store where it is long.  Errors: cancel
 * and the like; an error of the node stays in the request. */
extern void shuttle_request_complete(ShuttleRequest *request);

/* The reset callback of a request's context. */
extern void shuttle_request_abandon(void *request);

/* A (sub)transaction rolled back: the request's commands are void. */
extern void shuttle_request_abort(ShuttleRequest *request);

/* Ends the savepoint of a packet that is sent ahead. */
extern void shuttle_request_add_release(ShuttleRequest *request);

/* Adds the query that counts rows scanned, in front of or behind a request. */
extern void shuttle_request_add_scanned(ShuttleRequest *request, bool behind);

/* A condition for waits: something of a request can be read, or it ended. */
extern bool shuttle_request_has_news(void *request);

/* Most rows of an answer that is held back until it is complete. */
static inline int64
shuttle_request_most_held(const ShuttleRequest *request)
{
	double		rows = request->limits.fetch_limit;

	if (request->row_goal > 0)
		rows = Min(rows, 2 * request->row_goal);
	return (int64) Max(1, rows);
}

/* Puts DECLARE and the first FETCHes of a cursor into the packet. */
extern void shuttle_pages_open(ShuttleRequest *request);

/* Asks for more pages where the window allows it.  waits: the reader has used
 * up all that was here. */
extern void shuttle_pages_ask(ShuttleRequest *request, bool waits);

/* The same for a reader that takes all there is out of the way. */
extern void shuttle_pages_ask_all(ShuttleRequest *request);

/* A page was read to its end: changes the size of the next ones, and asks for
 * them. */
extern void shuttle_request_page_was_read(ShuttleRequest *request);

#endif							/* SHUTTLE_STORAGE_REQUEST_REQUEST_H */

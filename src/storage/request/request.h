/*-------------------------------------------------------------------------
 * request.h
 *	  Requests: a statement sent to a node, and its answer.
 *
 * Files: request.c sends requests, request_read.c returns their rows,
 * request_answer.c takes their answers and ends them, request_pages.c reads by
 * cursor; command_queue.c is a node's queue, pipeline.c sends it, by
 * command.c, and reads answers, wait.c drives all queues; answer_pages.c and
 * answer_store.c keep rows; prepared.c, cursor.c, cancel.c, notices.c and
 * node_error.c do what their names say; query.c runs statements of our own,
 * outside_transaction.c, outside_connection.c and outside_answer.c statements
 * outside the session's transaction.
 *
 * In: SQL and parameters. Out: rows, counts or an error, for whoever waits.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_REQUEST_H
#define SHUTTLE_STORAGE_REQUEST_REQUEST_H

#include "lib/ilist.h"
#include "libpq-fe.h"

#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- a request, from its first packet to its end */

/* Format requested for the next answers. */
typedef enum RequestFormat
{
	FORMAT_TEXT,
	FORMAT_UNDECIDED,			/* text, until the first answer shows the
								 * types */
	FORMAT_BINARY
} RequestFormat;

typedef enum RequestMode
{
	REQUEST_WHOLE,				/* sent as it is */
	REQUEST_HELD,				/* sent with a LIMIT; if more rows come:
								 * cursor */
	REQUEST_CURSOR
} RequestMode;

typedef enum RequestState
{
	REQUEST_UNSENT,				/* to be sent (again) */
	REQUEST_OPEN,				/* answers are outstanding */
	REQUEST_DONE,				/* all answers have arrived */
	REQUEST_FAILED,
	REQUEST_SKIPPED				/* skipped because of another request's error */
} RequestState;

struct ShuttleRequest
{
	dlist_node	link;			/* in node->requests */
	ShuttleNode *node;
	MemoryContext cxt;
	MemoryContextCallback callback;
	RequestMode mode;
	RequestState state;

	/* the statement; copied, as it may be sent again */
	char	   *sql;
	char	   *sent_sql;		/* with LIMIT or DECLARE added */
	int			nparams;
	char	  **values;
	int		   *lengths;		/* of values; NULL: all are texts */
	int		   *formats;		/* 1: binary; NULL: all are texts */
	ShuttleEffect effect;
	uint64		snapshot;
	bool		speculative;
	bool		repeats;		/* UNSENT: repeat as it was sent before */
	bool		being_sent;		/* being sent again, or that failed */
	bool		admitted;		/* its node's snapshot fits to those of others
								 * (cut.c) */
	double		estimated_rows;
	double		row_goal;
	bool		whole;			/* see ShuttleStatement */
	bool		may_stop;		/* see ShuttleStatement */
	bool		keep;			/* see ShuttleStatement */
	int			row_bytes;
	bool		is_narrow;		/* column types limit the row's size */
	ShuttlePageLimits limits;	/* none is 0 */
	const ShuttleDecoder *decoder;	/* NULL: rows as texts */
	int			ncolumns;		/* expected; 0: unknown */
	bool		tag_only;
	bool		custom_plan;
	bool		changes_tables; /* see ShuttleStatement */
	uint32		types_hash;		/* of parameters and columns */
	bool		packet_goes_on; /* only when it is sent first */
	bool		is_behind;		/* another request, in its packet */
	bool		looks;
	bool		is_transaction; /* see ShuttleStatement */
	ShuttleCounters *counters;
	int			level;			/* nest level of its owner */
	int			nest_level;		/* nest level to send it at; 0: the current */
	int			sent_level;		/* nest level at which it was sent */
	uint64		generation;		/* of the node's transaction */
	bool		unawaited;		/* see shuttle_request_leave() */
	char	   *origin;			/* see shuttle_request_leave() */
	Oid			userid;			/* the role for whose statement it was sent */

	/* format of values (answer_format.c) */
	RequestFormat format;
	bool		format_checked; /* the first answer was checked */
	bool		refused_binary; /* only text is possible */
	uint64		format_key;

	/* answers */
	dlist_head	pages;			/* ShuttlePages: parts of the answer */
	ShuttlePage *reading;		/* page being read; NULL: the first */
	int			row;			/* next row of that page */
	bool		flowing;		/* rows of an incomplete page may be read */
	bool		stored_part;	/* the store has rows of an incomplete page */
	ShuttleStore *store;		/* rows moved out of memory; they precede
								 * those in pages */
	bool		handed_out;		/* a row was returned */
	bool		forgot;			/* returned rows were freed */
	uint64		naffected;
	ShuttleNodeError *error;
	bool		own_error;		/* speculative, and the error is its own */
	bool		lost;			/* with the connection; another one may have
								 * begun */
	int64		most_held;		/* rows of a held answer, without its last */
	int64		scanned_before;
	int			nscanned_asked; /* counter queries not answered */

	/* pages of a cursor */
	int			cursor;			/* slot; -1: none */
	int			page_rows;
	int			window;			/* limit of pages requested and not read, if
								 * fetch_ahead allows */
	int			nrefills;		/* times that more rows than the goal were
								 * read */
	int			npages_asked;	/* requested pages not answered */
	int			npages_here;	/* complete pages in memory */
	int64		bytes_here;		/* memory of pages */
	bool		being_read;		/* its owner has fetched */
	bool		at_end;			/* the cursor is at its end */
	bool		stalled;		/* the reader waits and the window was widened */
	bool		prefetches;		/* the reader does not need the rows yet */
	int64		nrows_asked;	/* by FETCH since the cursor was opened */
	bool		outgrown;		/* there were more rows than estimated */
	int64		nrows_seen;
	int64		nrows_read;		/* returned to the reader */
	int64		nbytes_seen;	/* as messages */
	int64		memory_seen;	/* memory of the same rows */
	int64	   *width;			/* recent maximum size of a row's message; 0:
								 * none. Points to own_width or to the
								 * decoder's, shared by a scan's requests */
	int64		own_width;

	ShuttleRow	current;
};

/* ---- request.c, request_read.c, request_answer.c, request_pages.c */

/*
 * Sends a request again: by a cursor, unless the first sending had no effect.
 */
extern void shuttle_request_send_again(ShuttleRequest *request, bool speculative);

/* Takes the answer to a command, and the command. */
extern void shuttle_request_answer(ShuttleRequest *request,
								   ShuttleCommand *command);

/* Takes a part of a command's answer; false if out of memory. */
extern bool shuttle_request_take(ShuttleRequest *request,
								 ShuttleCommand *command, PGresult *result);

/* A command of the request failed. error NULL: by the connection. */
extern void shuttle_request_fail(ShuttleRequest *request,
								 ShuttleNodeError *error, bool own_error);

/* The node skipped the request because of a speculative one's error. */
extern void shuttle_request_skip(ShuttleRequest *request);

/*
 * The node did nothing for the request: send it again when it is next needed.
 */
extern void shuttle_request_repeat(ShuttleRequest *request);

/* True if COMMIT may be sent behind it: it was sent, on a connection that has worked
 * lately. If that were lost, nobody could tell whether the node had committed. */
extern bool shuttle_request_is_sent_safely(const ShuttleRequest *request);

/* Takes back a request of which nothing was handed out: it is sent again, as it was,
 * in a new transaction. */
extern void shuttle_request_take_back(ShuttleRequest *request);

/* Repeats all requests of the node's transaction. */
extern void shuttle_request_repeat_all(ShuttleNode *node);

/* Reads an answer to its end, into a store if it is long. Errors: cancel and
 * the like; an error of the node stays in the request. */
extern void shuttle_request_complete(ShuttleRequest *request);

/* The reset callback of a request's context. */
extern void shuttle_request_abandon(void *request);

/* A (sub)transaction rolled back: discards the request's commands. */
extern void shuttle_request_abort(ShuttleRequest *request);

/* Adds the RELEASE of the savepoint around a speculative packet. */
extern void shuttle_request_add_release(ShuttleRequest *request);

/* Adds the query that counts scanned rows, before or after a request. */
extern void shuttle_request_add_scanned(ShuttleRequest *request, bool behind);

/* Wait condition: the request has a row to read, or has ended. */
extern bool shuttle_request_has_news(void *request);

/* Adds DECLARE and the first FETCHes to the packet. */
extern void shuttle_request_pages_open(ShuttleRequest *request);

/* Requests more pages if the window allows. waits: the reader has read all that
 * arrived. */
extern void shuttle_request_pages_ask(ShuttleRequest *request, bool waits);

/* Requests more pages while the answer is moved to the store. */
extern void shuttle_request_pages_ask_all(ShuttleRequest *request);

/* A page was read: adapts the size of the next ones, and requests them. */
extern void shuttle_request_page_was_read(ShuttleRequest *request);

#endif							/* SHUTTLE_STORAGE_REQUEST_REQUEST_H */

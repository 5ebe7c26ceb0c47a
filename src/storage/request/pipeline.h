/*-------------------------------------------------------------------------
 * pipeline.h
 *	  The queue of a node: commands, packets, and waiting for answers.
 *
 * A node's commands stand in one queue, oldest first: sent ones, which wait
 * for their answers, then those that are not sent yet (while the node connects
 * or is rolled back after a cancel).  A packet is a run of commands up to a Sync; the
 * node skips the rest of a packet behind an error.  Reading answers (the pump)
 * neither allocates from the server nor raises: it stores what happened, and
 * whoever waits raises it (traps 34, 35a).
 *
 * Memory: a node and its commands live in node->cxt for the session; requests
 * in contexts of their owners.  PGresults belong to a command; what the pump
 * keeps of an error is malloc'd and counted.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_PIPELINE_H
#define SHUTTLE_STORAGE_REQUEST_PIPELINE_H

#include <poll.h>

#include "lib/ilist.h"
#include "libpq-fe.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_wait_events.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- the error that requests share (made by node_error.c) */

/* The first error of a transaction, shared by all requests that it failed. */
struct ShuttleNodeError
{
	int			nholders;
	PGresult   *result;
	char	   *sql;			/* malloc'd; NULL if memory was short */

	/* Of a request that nobody waited for. */
	char	   *origin;			/* malloc'd: context of its statement; or NULL */
	int			level;			/* nest level that it belongs to */
	int			nraised_inside; /* at deeper ones */
};

/* ---- the commands that pipeline.c sends */

typedef enum CommandKind
{
	COMMAND_CONTROL,			/* SAVEPOINT, SET, ...: only checked */
	COMMAND_BEGIN,
	COMMAND_COMMIT,
	COMMAND_PREPARE_TRANSACTION,
	COMMAND_FINISH,				/* COMMIT, behind the local one */
	COMMAND_ROLLBACK,			/* also to a savepoint, after an abort */
	COMMAND_GUARD,				/* SAVEPOINT in front of a request sent ahead */
	COMMAND_RECOVER,			/* ROLLBACK to that */
	COMMAND_SETTINGS,			/* of a connection, before it is used */
	COMMAND_LOOK,				/* does the node hold something prepared */
	COMMAND_PREPARE,
	COMMAND_CLOSE_PREPARED,
	COMMAND_STATEMENT,			/* a request's statement as it is */
	COMMAND_DECLARE,			/* its cursor */
	COMMAND_FETCH,				/* a page of that */
	COMMAND_SCANNED,			/* counters before or behind a request */
	COMMAND_SYNC
} CommandKind;

struct ShuttleCommand
{
	dlist_node	link;			/* in node->commands */
	CommandKind kind;
	bool		sent;
	bool		ahead;			/* behind the savepoint of its packet; Sync:
								 * of a packet sent ahead */
	bool		repeatable;		/* sent ahead, and of use if sent again */
	bool		ignore_error;
	bool		prepared_earlier;	/* not by a command of its own packet */
	bool		dropped;		/* its answer is of no interest any more */
	bool		in_binary;		/* STATEMENT, FETCH: values are asked for so */
	int			nrows_asked;	/* FETCH */
	bool		behind_end;		/* FETCH: of no more rows, as was seen since */
	int			spared_level;	/* must not be hit by a cancel for the sake of
								 * this level or one inside; 0: may be */
	int			cursor;			/* DECLARE: its slot */
	uint64		packet;
	uint64		generation;
	char	   *sql;			/* in node->cxt; NULL: the request's, or none */
	ShuttleRequest *request;	/* NULL: none, or it is gone */
	ShuttlePrepared *prepared;
	PGresult   *result;
	bool		begun;			/* libpq knows how to give its rows */
	int64		nrows;			/* of its answer, so far */
	int			tag_bytes;		/* of the answer's command tag */
	uint64		naffected;		/* as that says */
	bool		tells_rows;		/* and these are the rows of the answer */
};

/* ---- command_queue.c */

/* Adds a command; returns NULL where memory is short, else never fails. */
extern ShuttleCommand *shuttle_pipeline_try(ShuttleNode *node, CommandKind kind,
											const char *sql);

/* Adds a command.  sql is copied.  Errors: out of memory. */
extern ShuttleCommand *shuttle_pipeline_add(ShuttleNode *node, CommandKind kind,
											const char *sql);

/* The two halves of that: a command that is in no queue yet, and its adding,
 * which cannot fail. */
extern ShuttleCommand *shuttle_pipeline_make(ShuttleNode *node, CommandKind kind,
											 const char *sql);
extern void shuttle_pipeline_append(ShuttleNode *node, ShuttleCommand *command);

/* Takes out a command that is in the queue. */
extern void shuttle_pipeline_unlink(ShuttleNode *node, ShuttleCommand *command);

/* ---- pipeline.c */

/* Ends the packet and sends what can be sent; false: memory is short.  Never
 * raises. */
extern bool shuttle_pipeline_sync(ShuttleNode *node);

/* The same, and raises where memory is short. */
extern void shuttle_pipeline_end_packet(ShuttleNode *node);

/* Sends what can be sent; never raises. */
extern void shuttle_pipeline_send(ShuttleNode *node);

/* True where the next packet has to wait for an answer to those before. */
extern bool shuttle_pipeline_is_held(const ShuttleNode *node);

/*
 * Reads the answers that are here; never raises, sends or allocates from the
 * server.  Stops behind a packet whose failure makes a recovery due.
 */
extern void shuttle_pipeline_read(ShuttleNode *node);

/* Drops a command that is not in the queue any more. */
extern void shuttle_command_free(ShuttleNode *node, ShuttleCommand *command);

/* Forgets all commands; their requests fail. */
extern void shuttle_pipeline_clear(ShuttleNode *node);

/* True for command tags that tell how many rows were sent; counts of what was
 * written may differ from the rows returned. */
static inline bool
shuttle_tag_tells_rows(const char *tag)
{
	return strncmp(tag, "FETCH ", 6) == 0 || strncmp(tag, "SELECT ", 7) == 0;
}

/* What is told of a connection whose node keeps no protocol. */
#define SHUTTLE_NO_ANSWER "The node's answer is not what the protocol has."

/* ---- node_error.c */
extern ShuttleNodeError *shuttle_node_error_create(PGresult *result,
												   const char *sql);

/* Adds where the request's statement stood; never raises. */
extern void shuttle_node_error_place(ShuttleNodeError *error,
									 const ShuttleRequest *request);
extern ShuttleNodeError *shuttle_node_error_hold(ShuttleNodeError *error);
extern void shuttle_node_error_release(ShuttleNodeError **error);

pg_noreturn extern void shuttle_node_error_raise(ShuttleNode *node,
												 ShuttleNodeError *error,
												 const char *sql);

/* Raises why a node has no connection. */
pg_noreturn extern void shuttle_connection_raise(ShuttleNode *node);

/* SQLSTATE of a result, 0 if it has none. */
extern int	shuttle_result_sqlstate(const PGresult *result);

/* ---- notices.c */

/* libpq's receiver of notices; arg is a node.  Never raises. */
extern void shuttle_notice_receive(void *arg, const PGresult *result);

/* Some are there to be shown. */
extern bool shuttle_notices_waiting;

/* Shows them. */
extern void shuttle_notices_show(void);

/*
 * Warns of a node where nothing may be raised (trap 27): the client's encoding may lack
 * a character of its name, which then has question marks.
 */
extern void shuttle_warn_of_node(const ShuttleNode *node, void (*warn) (const char *name));

/* ---- prepared.c */

/*
 * The prepared statement for a request's text, or NULL where it is to be sent
 * as it is.  Adds the commands that prepare it, and those that close others.
 */
extern ShuttlePrepared *shuttle_prepared_use(ShuttleNode *node,
											 ShuttleRequest *request,
											 bool *earlier);
extern const char *shuttle_prepared_name(const ShuttlePrepared *prepared);
extern const char *shuttle_prepared_sql(const ShuttlePrepared *prepared);

/* True if a text was prepared by an earlier transaction, and not used in this
 * one: it may be out of date. */
extern bool shuttle_prepared_is_untried(ShuttleNode *node, const char *sql);

/* What the pump says of a statement.  Returns true where it failed because it
 * was prepared for what the node's tables were then; it is forgotten. */
extern bool shuttle_prepared_answer(ShuttleNode *node, ShuttleCommand *command,
									bool failed);

/* A command is freed without an answer. */
extern void shuttle_prepared_release(ShuttleCommand *command);

/* The connection is gone, and its statements with it. */
extern void shuttle_prepared_clear(ShuttleNode *node);

/* ---- wait.c */

typedef bool (*ShuttleCondition) (void *arg);

/*
 * Drives all connections on until condition(arg) holds.
 * node, event: what is waited for, as others see it.
 * Errors: cancel, timeouts, out of memory; never an error of a node.
 */
extern void shuttle_wait_until(ShuttleNode *node, ShuttleWaitEvent event,
							   ShuttleCondition condition, void *arg);

/* A socket was opened, replaced or closed. */
extern void shuttle_wait_set_changed(void);

/* ---- cancel.c */

/*
 * Cancels what runs on nodes, which are linked by cancel_link, and marks those
 * that were told (cancelled).  Gives up when none has answered for limit_ms.
 * Never raises.
 */
extern void shuttle_cancel(dlist_head *nodes, int limit_ms);
extern bool shuttle_cancel_one(ShuttleNode *node, int limit_ms);

/* ---- cursors of a node (cursor.c) */

/* Returns a free slot; name is "c<slot>". */
extern int	shuttle_cursor_allocate(ShuttleNode *node);

/* Its request is gone; never raises. */
extern void shuttle_cursor_release(ShuttleNode *node, int cursor);

/* The DECLARE was answered. */
extern void shuttle_cursor_answer(ShuttleNode *node, ShuttleCommand *command,
								  bool failed);

/* Adds CLOSE for cursors that nobody needs. */
extern void shuttle_cursor_close_unwanted(ShuttleNode *node);

/* Cursors end that were declared at level or deeper, or in a packet. */
extern void shuttle_cursor_forget_level(ShuttleNode *node, int level);
extern void shuttle_cursor_forget_packet(ShuttleNode *node, uint64 packet);

/* A level was released: its cursors belong to the one above. */
extern void shuttle_cursor_release_level(ShuttleNode *node, int level);

#endif							/* SHUTTLE_STORAGE_REQUEST_PIPELINE_H */

/*-------------------------------------------------------------------------
 * pipeline.h
 *	  A node's queue: commands, packets, and waiting for answers.
 *
 * Commands are queued oldest first: those sent and not answered, then those to
 * be sent (while the node connects or rolls back after a cancel). A packet is
 * a series of commands that ends with a Sync; after an error the node skips
 * the rest of the packet. Reading answers (the pump) neither allocates from
 * the server nor raises: it stores what happened, and whoever waits raises it
 * (traps 34, 35a).
 *
 * Memory: a node and its commands live in node->cxt for the session; requests
 * in their owners' contexts. A command owns its PGresult; copies of errors are
 * malloc'd and reference-counted.
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

/* The first error of a node's transaction, shared by the requests it failed. */
struct ShuttleNodeError
{
	int			nholders;
	PGresult   *result;
	char	   *sql;			/* malloc'd; NULL if memory was short */
	Oid			userid;			/* the role whose request failed; InvalidOid:
								 * none did */

	/* Set for a request that nobody waits for. */
	char	   *origin;			/* malloc'd context of its statement; or NULL */
	int			level;			/* nest level it was sent at */
	int			nraised_inside; /* at deeper levels */
};

/* ---- the commands that pipeline.c sends */

typedef enum CommandKind
{
	COMMAND_CONTROL,			/* SAVEPOINT, SET, ...: only its error matters */
	COMMAND_BEGIN,
	COMMAND_COMMIT,
	COMMAND_PREPARE_TRANSACTION,
	COMMAND_FINISH,				/* COMMIT [PREPARED], after the local one */
	COMMAND_ROLLBACK,			/* also to a savepoint, after an abort */
	COMMAND_GUARD,				/* SAVEPOINT before a speculative request */
	COMMAND_RECOVER,			/* ROLLBACK TO that */
	COMMAND_SETTINGS,			/* settings of a new connection */
	COMMAND_EPOCH,				/* asks which server a new connection leads to */
	COMMAND_LOOK,				/* asks for leftover prepared transactions */
	COMMAND_XID,				/* asks for the transaction's identifier */
	COMMAND_SNAPSHOT,			/* asks for its snapshot */
	COMMAND_PREPARE,
	COMMAND_CLOSE_PREPARED,
	COMMAND_STATEMENT,			/* a request's statement as it is */
	COMMAND_DECLARE,			/* its cursor */
	COMMAND_FETCH,				/* a page of it */
	COMMAND_SCANNED,			/* counters before or after a request */
	COMMAND_SYNC
} CommandKind;

struct ShuttleCommand
{
	dlist_node	link;			/* in node->commands */
	CommandKind kind;
	bool		sent;
	bool		speculative;	/* follows the savepoint of a speculative
								 * packet; Sync: of such a packet */
	bool		repeatable;		/* speculative, and worth sending again */
	bool		ignore_error;
	bool		prepared_earlier;	/* by an earlier packet */
	bool		dropped;		/* its answer is no longer wanted */
	bool		in_binary;		/* STATEMENT, FETCH: binary values requested */
	int			nrows_asked;	/* FETCH */
	bool		behind_end;		/* FETCH: the cursor turned out to be at its
								 * end */
	int			spared_level;	/* a cancel to roll back this level or an
								 * inner one must not hit it; 0: may */
	int			cursor;			/* DECLARE: its slot */
	uint64		packet;
	uint64		generation;
	char	   *sql;			/* NULL: the request's, or none */
	ShuttleRequest *request;	/* NULL: none, or freed */
	ShuttlePrepared *prepared;
	PGresult   *result;
	bool		begun;			/* libpq's row mode is set */
	int64		nrows;			/* of its answer so far */
	int			tag_bytes;		/* length of the command tag; 0: none that the
								 * answer can have */
	uint64		naffected;		/* row count in the tag */
	bool		tells_rows;		/* and it is the number of rows sent */
};

/* ---- command_queue.c */

/* Adds a command; returns NULL if out of memory. */
extern ShuttleCommand *shuttle_command_try_add(ShuttleNode *node, CommandKind kind,
											   const char *sql);

/* Adds a command.  sql is copied.  Errors: out of memory. */
extern ShuttleCommand *shuttle_command_add(ShuttleNode *node, CommandKind kind,
										   const char *sql);

/* The two halves of it: makes a command, and adds it, which cannot fail. */
extern ShuttleCommand *shuttle_command_make(ShuttleNode *node, CommandKind kind,
											const char *sql);
extern void shuttle_command_append(ShuttleNode *node, ShuttleCommand *command);

/* Removes a command from the queue. */
extern void shuttle_command_unlink(ShuttleNode *node, ShuttleCommand *command);

/* Frees a command that is not in the queue. */
extern void shuttle_command_free(ShuttleNode *node, ShuttleCommand *command);

/* True if no outstanding answer takes the node any time, such as pages requested
 * beyond the end of a cursor. */
extern bool shuttle_command_queue_is_idle(ShuttleNode *node);

/* True if a command sent must not be hit by a cancel that rolls back this level. */
extern bool shuttle_command_queue_has_spared(ShuttleNode *node, int level);

/* ---- command.c */

/* Hands a command to libpq; false if the connection broke. Never raises. */
extern bool shuttle_command_send(ShuttleNode *node, ShuttleCommand *command);

/* Each command has one final result; one that asks for rows has a result with
 * rows. */
extern bool shuttle_command_fits(const ShuttleCommand *command, const PGresult *result);

extern bool shuttle_command_failed(const ShuttleCommand *command);

/* True if the tag is that of ROLLBACK [TO] or the RELEASE after it. */
extern bool shuttle_command_ended_transaction(const ShuttleCommand *command);

/* ---- pipeline.c */

/* Ends the packet and sends what can be sent; false if out of memory. Never
 * raises. */
extern bool shuttle_pipeline_sync(ShuttleNode *node);

/* The same. Errors: out of memory. */
extern void shuttle_pipeline_end_packet(ShuttleNode *node);

/* Sends what can be sent; never raises. */
extern void shuttle_pipeline_send(ShuttleNode *node);

/* True if the next packet has to wait for earlier answers. */
extern bool shuttle_pipeline_is_held(const ShuttleNode *node);

/* Reads the answers that have arrived; never raises, sends or allocates from
 * the server. Stops after a packet whose error makes a recovery due. */
extern void shuttle_pipeline_read(ShuttleNode *node);

/* Forgets all commands; their requests fail. */
extern void shuttle_pipeline_clear(ShuttleNode *node);

/* True if the tag has the number of rows sent. The count of a write may differ
 * from the rows it returned. */
static inline bool
shuttle_tag_tells_rows(const char *tag)
{
	return strncmp(tag, "FETCH ", 6) == 0 || strncmp(tag, "SELECT ", 7) == 0;
}

/* Message if a node violates the protocol. */
#define SHUTTLE_NO_ANSWER "The node's answer is not what the protocol has."

/* ---- node_error.c */
extern ShuttleNodeError *shuttle_node_error_create(PGresult *result,
												   const char *sql);

/* Notes whose request failed, and the context of its statement; never raises. */
extern void shuttle_node_error_place(ShuttleNodeError *error,
									 const ShuttleRequest *request);
extern ShuttleNodeError *shuttle_node_error_hold(ShuttleNodeError *error);
extern void shuttle_node_error_release(ShuttleNodeError **error);

pg_noreturn extern void shuttle_node_error_raise(ShuttleNode *node,
												 ShuttleNodeError *error,
												 const char *sql);

/* Raises the reason why a node has no connection. */
pg_noreturn extern void shuttle_node_error_raise_lost(ShuttleNode *node);

/* For ereport(): adds the node, and a request without its constants (sql: NULL for none). */
extern int	shuttle_node_error_add_request(const ShuttleNode *node, const char *sql);

/* The length of a node's context (NULL: none) without values of parameters, which it has last if the
 * node's log_parameter_max_length_on_error says so. */
extern int	shuttle_node_error_context_length(const char *context);

/* SQLSTATE of a result; 0: none. */
extern int	shuttle_node_error_result_sqlstate(const PGresult *result);

/*
 * True for a FATAL error of the node, an error that libpq made up, and COPY,
 * which no request uses: the results that follow cannot be assigned. Earlier
 * answers still count.
 */
extern bool shuttle_node_error_ends_connection(const PGresult *result);

/* The reason: the node's (said), libpq's or ours. */
extern const char *shuttle_node_error_reason_of_end(const ShuttleNode *node,
													const PGresult *result, bool *said);

/* ---- notices.c */

/* libpq's receiver of notices; arg is a node.  Never raises. */
extern void shuttle_notice_receive(void *arg, const PGresult *result);

/* Notices are waiting to be shown. */
extern bool shuttle_notices_waiting;

/* Shows them. */
extern void shuttle_notices_show(void);

/*
 * Warns about a node when nothing may be raised (trap 27). If the client's
 * encoding lacks a character of its name, the name is shown with question
 * marks.
 */
extern void shuttle_notices_warn_of_node(const ShuttleNode *node, void (*warn) (const char *name));

/* ---- prepared.c */

/*
 * The prepared statement for a request's text, or NULL: send it as it is. Adds
 * the commands that prepare it and close an old one. earlier: set if it was
 * prepared by an earlier packet.
 */
extern ShuttlePrepared *shuttle_prepared_use(ShuttleNode *node,
											 ShuttleRequest *request,
											 bool *earlier);
extern const char *shuttle_prepared_name(const ShuttlePrepared *prepared);
extern const char *shuttle_prepared_sql(const ShuttlePrepared *prepared);

/* True if a request's text was prepared by an earlier transaction and not used in
 * this one: it may be outdated. */
extern bool shuttle_prepared_is_untried(ShuttleNode *node, const ShuttleRequest *request);

/* A prepared statement was answered. Returns true if it failed since the node's
 * tables were altered; it is then forgotten. */
extern bool shuttle_prepared_answer(ShuttleNode *node, ShuttleCommand *command,
									bool failed);

/* A command with a prepared statement is freed without an answer. */
extern void shuttle_prepared_release(ShuttleCommand *command);

/* The connection is closed, and its prepared statements are gone. */
extern void shuttle_prepared_clear(ShuttleNode *node);

/* ---- wait.c */

typedef bool (*ShuttleCondition) (void *arg);

/*
 * Sends and reads on all connections until condition(arg) holds. node, event:
 * what the session waits for, as shown to others. Errors: cancel, timeouts, out
 * of memory; never an error of a node.
 */
extern void shuttle_wait_until(ShuttleNode *node, ShuttleWaitEvent event,
							   ShuttleCondition condition, void *arg);

/* A socket was opened, replaced or closed. */
extern void shuttle_wait_set_changed(void);

/* ---- cancel.c */

/*
 * Cancels what runs on the nodes linked by cancel_link, and sets cancelled in
 * those that were reached. Gives up if none has answered for limit_ms. Never
 * raises.
 */
extern void shuttle_cancel(dlist_head *nodes, int limit_ms);
extern bool shuttle_cancel_one(ShuttleNode *node, int limit_ms);

/* ---- cursors of a node (cursor.c) */

/* Returns a free slot; the cursor's name is "c<slot>". */
extern int	shuttle_cursor_allocate(ShuttleNode *node);

/* The cursor's request is freed; never raises. */
extern void shuttle_cursor_release(ShuttleNode *node, int cursor);

/* DECLARE was answered. */
extern void shuttle_cursor_answer(ShuttleNode *node, ShuttleCommand *command,
								  bool failed);

/* Adds CLOSE for unused cursors. */
extern void shuttle_cursor_close_unwanted(ShuttleNode *node);

/* For shuttle_wait_until(), of a ShuttleNode: true if all unused cursors can be closed, or the connection is lost. */
extern bool shuttle_cursor_can_close_unwanted(void *arg);

/* Forgets cursors declared at level or deeper, or in a packet. */
extern void shuttle_cursor_forget_level(ShuttleNode *node, int level);
extern void shuttle_cursor_forget_packet(ShuttleNode *node, uint64 packet);

/* A level was released: its cursors move to the outer level. */
extern void shuttle_cursor_release_level(ShuttleNode *node, int level);

#endif							/* SHUTTLE_STORAGE_REQUEST_PIPELINE_H */

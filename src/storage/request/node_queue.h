/*-------------------------------------------------------------------------
 * node_queue.h
 *	  Parts of ShuttleNode for this folder: queue of commands, errors,
 *	  prepared statements, requests and cursors.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_NODE_QUEUE_H
#define SHUTTLE_STORAGE_REQUEST_NODE_QUEUE_H

#include "lib/ilist.h"
#include "portability/instr_time.h"
#include "utils/hsearch.h"

#include "storage/storage_types.h"

/* Commands to the node, oldest first (pipeline.c). */
typedef struct NodeQueue
{
	dlist_head	commands;
	ShuttleCommand *unsent;		/* the first one that is not sent; or NULL */
	int			nunsent_syncs;	/* complete packets that are not sent */
	uint64		packet;			/* number of the packet being made */
	bool		unsynced;		/* that packet lacks its Sync */
	bool		goes_on;		/* as its last request said */
	bool		adding_speculative; /* commands added now belong to a
									 * speculative request */
	bool		adding_repeatable;	/* and can be sent again */
	int			nin_flight;		/* commands sent and not answered, without
								 * Syncs */
	bool		timing;			/* the next answer measures a round trip */
	instr_time	sent_at;		/* when that round trip began */
} NodeQueue;

/* The node's socket in the session's wait set (wait.c). */
typedef struct NodeSocket
{
	int			set_position;	/* -1: not in the set */
	uint32		set_events;		/* that the set waits for */
	bool		readable;		/* there may be something to read */
	bool		flush_pending;	/* libpq holds bytes that are not sent */
	uint64		wait_number;	/* of the last wait for this node */
} NodeSocket;

/* Errors that the node has answered (node_error.c, node_reset.c). */
typedef struct NodeErrors
{
	ShuttleNodeError *first;	/* failed the current transaction; or NULL */
	bool		speculative_failed; /* a speculative request failed */
	uint64		speculative_packet; /* the packet of that request */
	bool		recovery_due;	/* that packet was read to its end */
	int			nspeculative;	/* speculative packets not answered */
} NodeErrors;

/* Statements that the node has prepared (prepared.c). */
typedef struct NodePrepared
{
	HTAB	   *statements;
	dlist_head	lru;			/* least recently used first */
	int			nstatements;
	uint64		last_number;	/* makes the name of the next one */
	uint64		changed_generation; /* last transaction that changed tables
									 * there */
	HTAB	   *seen_texts;		/* hashes of texts that were used once */
	uint32	   *seen_order;		/* the same hashes in a ring */
	int			next_seen;		/* the oldest one in the ring */
} NodePrepared;

typedef enum CursorState
{
	CURSOR_FREE,
	CURSOR_USED,				/* by a request */
	CURSOR_UNWANTED				/* its request is gone: close it when open */
} CursorState;

/* The number of a slot makes the cursor's name. */
typedef struct CursorSlot
{
	CursorState state;
	bool		answered;		/* DECLARE was answered */
	int			level;			/* the cursor ends when this level rolls back */
	uint64		packet;			/* the packet that declares it */
} CursorSlot;

/* Requests to the node that are alive, and their cursors (request.c, cursor.c). */
typedef struct NodeRequests
{
	dlist_head	all;			/* in the order in which they were sent */
	int			nunawaited;		/* requests that nobody waits for */
	bool		repeat_due;		/* some have to be sent again */
	CursorSlot *cursors;
	int			ncursors;
} NodeRequests;

#endif							/* SHUTTLE_STORAGE_REQUEST_NODE_QUEUE_H */

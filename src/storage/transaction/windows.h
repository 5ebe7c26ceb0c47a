/*-------------------------------------------------------------------------
 * windows.h
 *	  Shared memory: the transactions that are being committed on several nodes.
 *
 * A window opens before the local commit of a transaction that wrote on several
 * nodes, or on a node and here. It has ended when all parts are known to have
 * committed. Files: windows.c has what commits do; window_checks.c decides by
 * windows what readers may use together.
 *
 * In: parts with their nodes' transaction identifiers. Out: whether snapshots
 * of several nodes show the same transactions.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_TRANSACTION_WINDOWS_H
#define SHUTTLE_STORAGE_TRANSACTION_WINDOWS_H

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "utils/snapshot.h"

#include "storage/connection/node.h"
#include "storage/shuttle_cut.h"
#include "storage/storage_types.h"

/* Parts with identifiers; a transaction with more blocks readers until it has ended. */
#define SHUTTLE_MOST_PARTS 16

/* In Window.returned: the client was not told that it has committed. */
#define SHUTTLE_NOT_TOLD PG_UINT64_MAX

/* In Window.acknowledged: what was written here is visible. */
#define SHUTTLE_PART_HERE (UINT32_C(1) << 31)

#define SHUTTLE_MOST_ENDED 4096 /* windows that ended last */
#define SHUTTLE_MOST_DOUBTFUL 256	/* left to recovery */

/* A node that a transaction wrote on. */
typedef struct WindowPart
{
	uint64		system;			/* system identifier; 0: unknown */
	uint64		xid;			/* full, of the node; 0: unknown */
	Oid			serverid;
} WindowPart;

/* All but acknowledged changes under the exclusive lock. */
typedef struct Window
{
	uint64		start;			/* times are values of the clock; 0: unused */
	uint64		returned;		/* the client may have its answer; 0: not yet */
	uint64		end;			/* 0: not yet */
	uint64		fxid;			/* local; 0: none was assigned */
	Oid			database;
	bool		wrote_here;
	bool		seen;			/* by a read that is ordered */
	int			nparts;			/* may exceed SHUTTLE_MOST_PARTS */
	pg_atomic_uint32 acknowledged;	/* a bit for each part that is known to be
									 * visible */
	WindowPart	parts[SHUTTLE_MOST_PARTS];
} Window;

/* An ended window with a local part; these are few, and all are looked at. */
typedef struct EndedHere
{
	uint64		fxid;
	uint64		number;			/* among all ended windows, from 1 */
} EndedHere;

/* A server whose leftovers of earlier runs of this server are finished. */
typedef struct WindowServer
{
	Oid			database;
	Oid			serverid;
	uint32		timeline;
	uint64		noted_at;		/* the clock when this became known */
} WindowServer;

#define SHUTTLE_MOST_ENDED_HERE 1024
#define SHUTTLE_MOST_RECOVERED 1024

typedef struct Windows
{
	LWLock	   *lock;
	ConditionVariable changed;	/* a part was acknowledged, a window ended, or
								 * the fence was lowered */
	pg_atomic_uint64 clock;		/* counts events; raised under the exclusive
								 * lock */
	pg_atomic_uint32 any_here;	/* some transaction wrote here and on a node */
	uint64		horizon;		/* what returned before it is seen by later
								 * reads that are ordered */
	pg_atomic_uint32 alone_wanted;	/* commits on one node, or here alone, are
									 * to have windows */
	pg_atomic_uint64 alone_since;	/* the clock from which on all of them
									 * have; 0: not all have */
	TimestampTz alone_used_at;	/* by a reader that needs them */
	pg_atomic_uint32 *alone;	/* for each process: commits without one */
	int			fence_owner;	/* process; 0: no fence */
	TimestampTz fence_raised;
	TimestampTz fence_next;		/* the next one may not be raised before */
	uint64		nended;
	uint64		lost_end;		/* end of the window overwritten last */
	uint64		nended_here;
	uint64		lost_fxid;		/* highest of those overwritten */
	int			nrecovered;
	int			next_recovered;
	WindowServer recovered[SHUTTLE_MOST_RECOVERED];
	Window		ended[SHUTTLE_MOST_ENDED];
	EndedHere	ended_here[SHUTTLE_MOST_ENDED_HERE];
	int			nslots;
	int			nactive;
	Window	   *slots;			/* nslots of them */
	int			active[FLEXIBLE_ARRAY_MEMBER];	/* a permutation of slots:
												 * those in use come first */
} Windows;

/* NULL: the library is not preloaded. */
extern Windows *shuttle_windows;

extern Size shuttle_windows_memory_size(void);
extern void shuttle_windows_set_up_memory(LWLock *lock);

/* ---- windows.c: commits */

/* The next value of the clock; the exclusive lock is held. */
extern uint64 shuttle_windows_tick(void);

/* The local transaction is about to commit: notes whether it wrote here, before the
 * commit record is written. */
extern void shuttle_windows_note_local(void);

/* The transaction has ended: what was noted is not the next one's. */
extern void shuttle_windows_forget_local(void);

/*
 * Opens the window of the local transaction if it needs one: the nodes to commit
 * have prepared, or are about to be told. Waits while a reader has raised the
 * fence. Errors: cancel and the like.
 */
extern void shuttle_windows_open(void);

/* A window that has ended, or is void; the exclusive lock is held. */
extern void shuttle_windows_end(Window *window);
extern void shuttle_windows_free(Window *window);

/* The local transaction failed: before anything is rolled back on nodes, since an
 * aborted transaction looks like a committed one in a snapshot. Never raises. */
extern void shuttle_windows_abort(void);

/* A node has committed, or all have that will now. Never raise. */
extern void shuttle_windows_acknowledge(const ShuttleNode *node);

/* The only node to commit has told its transaction's identifier. Never raises. */
extern void shuttle_windows_note_xid(const ShuttleNode *node);

extern void shuttle_windows_close(void);

/* True if what an earlier run of this server, or an earlier primary of the node, left
 * prepared there was known to be finished at that time of the clock. */
extern bool shuttle_windows_is_recovered(const ShuttleNode *node, uint64 at);
extern void shuttle_windows_note_recovered(const ShuttleNode *node);

/* ---- windows_alone.c: commits on one node, or here alone */

/* True if the window has a single part. */
static inline bool
shuttle_window_is_alone(const Window *window)
{
	return window->nparts + window->wrote_here == 1;
}

/* True if the transaction's identifier on a node is wanted. */
extern bool shuttle_windows_want_xid(void);

/* A commit with one part is about to be sent: true if it needs a window. */
extern bool shuttle_windows_follow_alone(void);

/* The local transaction has ended. */
extern void shuttle_windows_end_alone(void);

/* From here on all of them have windows. Errors: 40001, cancel and the like. */
extern void shuttle_windows_want_alone(void);

/* alone_since before all local snapshots of the transaction. */
extern uint64 shuttle_windows_alone_before(void);

/* ---- windows.c: the fence */

/* While it is up no window opens. Waits for another reader's. Errors: cancel and the like. */
extern void shuttle_windows_raise_fence(void);

/* Never raises; does nothing if this session has none. */
extern void shuttle_windows_lower_fence(void);

/* ---- window_checks.c */

/* A node's snapshot; xids are full. */
typedef struct NodeSnapshot
{
	uint64		xmin;
	uint64		xmax;
	int			nrunning;
	uint64		running[FLEXIBLE_ARRAY_MEMBER];
} NodeSnapshot;

/* One of the snapshots that are to be used together. */
typedef struct WindowView
{
	Oid			serverid;
	uint64		system;
	uint64		first;			/* the clock before the snapshot was taken */
	const NodeSnapshot *snapshot;
	bool		lags;			/* out: a transaction seen by another one is
								 * not seen by this one */
} WindowView;

/* Open windows that a reader waits for. */
#define SHUTTLE_MOST_AWAITED 32

typedef struct WindowWait
{
	int			nawaited;
	uint64		starts[SHUTTLE_MOST_AWAITED];
	bool		for_xid[SHUTTLE_MOST_AWAITED];	/* with its only part's
												 * identifier it can be judged */
} WindowWait;

typedef struct WindowCheck
{
	WindowView *views;
	int			nviews;
	bool		reads_here;
	Snapshot	here;			/* NULL: nothing written here is visible */
	uint64		next_here;		/* full xid that this server gives next */
	uint64		first_here;		/* the clock before the local snapshot was
								 * used */
	uint64		alone_here;		/* alone_since before it was taken */
	bool		is_ordered;		/* with all commits: what is seen all later
								 * ones see, too */
	bool		here_lags;		/* out */
	WindowWait	wait;			/* out */
} WindowCheck;

/* Parses the text of pg_current_snapshot() in the current context; NULL: it is none. */
extern NodeSnapshot *shuttle_window_snapshot(const char *text);

/* True if all see the same transactions; else sets the outputs. */
extern bool shuttle_window_check(WindowCheck *check);

/* The open windows with two or more parts among the views. */
extern void shuttle_window_list_open(WindowCheck *check);

/* True if none of these windows has a part among the views that is not visible yet.
 * server: set to the server of such a part. */
extern bool shuttle_window_is_over(const WindowCheck *check, Oid *server);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_WINDOWS_H */

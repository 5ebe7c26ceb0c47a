/*-------------------------------------------------------------------------
 * shuttle_cut.h
 *	  Door of the storage room: reads of several nodes in one state
 *	  (shuttle.read_consistency = atomic), and in one order (strict), and what they need
 *	  to know of commits.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CUT_H
#define SHUTTLE_CUT_H

#include "executor/execdesc.h"
#include "nodes/pg_list.h"

#include "base/shuttle_settings.h"
#include "storage/shuttle_storage.h"

static inline bool
shuttle_cut_is_wanted(void)
{
	return shuttle_settings.read_consistency != SHUTTLE_READ_NODE;
}

/* All reads are ordered, also those of one node or of local rows alone. */
static inline bool
shuttle_cut_is_strict(void)
{
	return shuttle_settings.read_consistency == SHUTTLE_READ_STRICT;
}

/*
 * A statement is about to read these nodes (ShuttleNodes), and local rows if reads_here:
 * begins their transactions at the same time, and asks each for its snapshot in
 * the same packet. A node whose connection is gone is left out; it joins when it is
 * asked. Returns the nodes for shuttle_cut_send().
 */
extern List *shuttle_cut_open(QueryDesc *query, List *nodes, bool reads_here);

/* What shuttle_cut_open() began and no request has sent goes out. */
extern void shuttle_cut_send(List *nodes);

/*
 * The statement is about to read local rows. If it has not begun to, and nodes do
 * not fit, its snapshot may be replaced by a new one: returns true then. Errors:
 * 40001.
 */
extern bool shuttle_cut_read_here(QueryDesc *query);

/* Under REPEATABLE READ: what may read local rows before the cut is known. */
extern void shuttle_cut_note_start(const QueryDesc *query);
extern void shuttle_cut_note_end(void);
extern void shuttle_cut_note_utility(const Node *statement);

/* A statement starts, and ends: what it reads fits together until then. */
extern void shuttle_cut_enter(QueryDesc *query);
extern void shuttle_cut_leave(QueryDesc *query);

/* BEGIN: no local snapshot was taken yet. */
extern void shuttle_windows_begin_transaction(void);

/* ---- commits (windows.c, two_phase.c) */

/* The local transaction has committed. Never raises. */
extern void shuttle_windows_committed(void);

/* A transaction that the client has prepared is about to commit, and has ended on nodes as far as it does now. fxid: local, full.
 * Errors of the first: cancel and the like. */
extern void shuttle_windows_open_prepared(uint64 fxid, const ShuttlePreparedPart *parts, int nparts);
extern void shuttle_windows_close_prepared(const ShuttlePreparedPart *parts, int nparts);

/* The same for a transaction of a standby, for whose commit the local one decides: nothing but that was written
 * here. The window stays when the local transaction ends, until it is closed or the session ends. */
extern void shuttle_windows_open_standby(uint64 fxid, const ShuttlePreparedPart *parts, int nparts);

/* False: the library is not preloaded. */
extern bool shuttle_windows_are_there(void);

/* The local commit decides for nodes: it has to be safe when it returns. */
extern void shuttle_two_phase_make_safe(void);

/* Warnings of a commit that is decided: the node does not have it prepared any more, or it
 * still has. */
extern void shuttle_two_phase_warn_missing(const char *node_name);
extern void shuttle_two_phase_warn_unfinished(const char *node_name);

/* ---- recovery (windows.c) */

/* Counts the beginnings and ends of commits on several nodes. */
extern uint64 shuttle_windows_clock(void);

/* A server was asked what it has prepared: asked_at is the clock before that, held
 * the local full xids of what it still has. */
extern void shuttle_windows_reconcile(Oid serverid, uint64 asked_at,
									  const uint64 *held, int nheld);

#endif							/* SHUTTLE_CUT_H */

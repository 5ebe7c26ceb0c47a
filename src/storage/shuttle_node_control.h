/*-------------------------------------------------------------------------
 * shuttle_node_control.h
 *	  Door of the storage room: what an administrator tells all sessions of a
 *	  node, and what is shown of them.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_NODE_CONTROL_H
#define SHUTTLE_NODE_CONTROL_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "storage/shuttle_storage.h"

/* ---- epoch.c */

/* Forgets which timeline of a server was seen: the next connection is right. */
extern void shuttle_epoch_forget(Oid serverid);

/* ---- pause.c */

/*
 * Pauses a node: until then no session of the database begins a transaction
 * there. Errors: the library is not preloaded; too many nodes are paused.
 */
extern void shuttle_pause_begin(Oid serverid, TimestampTz until);

/* Ends a pause; false: there was none. Errors: not preloaded. */
extern bool shuttle_pause_end(Oid serverid);

/* 0: it is not paused. */
extern TimestampTz shuttle_pause_ends_at(Oid serverid);

/* Number of other sessions with a transaction on the node; only after
 * shuttle_pause_begin(). */
extern int	shuttle_pause_count_users(Oid serverid);

/* ---- totals (node_totals.c) */

typedef struct ShuttleNodeTotals
{
	Oid			serverid;
	TimestampTz since;
	int64		value[SHUTTLE_NNODE_TOTALS];
} ShuttleNodeTotals;

/*
 * Totals of this database's servers, also dropped ones; of all sessions, or
 * only of this one if the library is not preloaded. List of ShuttleNodeTotals
 * in the current context.
 */
extern List *shuttle_node_totals(void);

/* Resets the totals of a server (InvalidOid: of all in the database), and forgets
 * its round trips. */
extern void shuttle_node_totals_reset(Oid serverid);

#endif							/* SHUTTLE_NODE_CONTROL_H */

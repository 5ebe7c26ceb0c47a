/*-------------------------------------------------------------------------
 * shuttle_node_control.h
 *	  Door of the storage room: what an administrator tells all sessions of a
 *	  node.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_NODE_CONTROL_H
#define SHUTTLE_NODE_CONTROL_H

#include "datatype/timestamp.h"

/* ---- epoch.c */

/* Forgets which timeline of a server was seen: the next connection is right. */
extern void shuttle_node_epoch_forget(Oid serverid);

/* ---- pause.c */

/*
 * Pauses a node: until then no session of the database begins a transaction
 * there. Errors: the library is not preloaded; too many nodes are paused.
 */
extern void shuttle_node_pause(Oid serverid, TimestampTz until);

/* Ends a pause; false: there was none. Errors: not preloaded. */
extern bool shuttle_node_resume(Oid serverid);

/* 0: it is not paused. */
extern TimestampTz shuttle_node_paused_until(Oid serverid);

/* Number of other sessions with a transaction on the node; only after
 * shuttle_node_pause(). */
extern int	shuttle_node_count_users(Oid serverid);

#endif							/* SHUTTLE_NODE_CONTROL_H */

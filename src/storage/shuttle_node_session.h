/*-------------------------------------------------------------------------
 * shuttle_node_session.h
 *	  Of a node's session, what matters if a node executes more than our own
 *	  statements: its version, and the messages that it sends.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_NODE_SESSION_H
#define SHUTTLE_NODE_SESSION_H

#include "storage/shuttle_storage.h"

/* The server's version, as server_version_num; 0: not connected yet.
 * (connection.c) */
extern int	shuttle_node_version(const ShuttleNode *node);

/* Keeps messages that come from now on until the next call, which shows them as
 * messages of this server, or drops them. (notices.c) */
extern void shuttle_notices_hold(void);

/* False if there were more than are kept. */
extern bool shuttle_notices_are_kept(void);
extern void shuttle_notices_release(bool show);

#endif							/* SHUTTLE_NODE_SESSION_H */

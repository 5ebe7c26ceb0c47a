/*-------------------------------------------------------------------------
 * admin.h
 *	  What administrators call: servers adopted, paused, disconnected, shown.
 *
 * Files: adopt.c, disconnect.c, node_control.c, node_views.c, run_on_nodes.c.
 *
 * In: SQL functions of the extension. Out: the node's answers.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_ADMIN_ADMIN_H
#define SHUTTLE_CLUSTER_ADMIN_ADMIN_H

#include "nodes/parsenodes.h"

/* Repeats on nodes what DISCARD did here (disconnect.c). */
extern void shuttle_disconnect_repeat_discard(const DiscardStmt *stmt);

#endif							/* SHUTTLE_CLUSTER_ADMIN_ADMIN_H */

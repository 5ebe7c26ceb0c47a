/*-------------------------------------------------------------------------
 * servers.h
 *	  Servers of our wrapper, and their foreign tables.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_COMMON_SERVERS_H
#define SHUTTLE_CLUSTER_COMMON_SERVERS_H

#include "nodes/pg_list.h"
#include "utils/array.h"

/*
 * Takes AccessExclusiveLock on every foreign table of a server, and prevents
 * new ones until the end of the transaction. Returns their OIDs. Errors:
 * ERRCODE_OBJECT_IN_USE if this statement uses one.
 */
extern List *shuttle_server_tables_lock(Oid serverid);

/* All servers of our wrapper, by name. */
extern List *shuttle_server_list(void);

/* The servers with these names, in their order, each once. Errors: a null;
 * as of shuttle_server_find(). */
extern List *shuttle_server_find_all(ArrayType *names);

/* Foreign servers of other query nodes (query_nodes.c). */
extern List *shuttle_query_node_list(void);

#endif							/* SHUTTLE_CLUSTER_COMMON_SERVERS_H */

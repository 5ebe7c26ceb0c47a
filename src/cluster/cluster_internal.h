/*-------------------------------------------------------------------------
 * cluster_internal.h
 *	  What the files of the cluster room share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_INTERNAL_H
#define SHUTTLE_CLUSTER_INTERNAL_H

#include "nodes/parsenodes.h"
#include "utils/array.h"

#include "cluster/shuttle_cluster.h"

/* postgres_fdw would act on its own option, so ours has another name; see
 * adopt.c. */
#define SHUTTLE_THEIR_ESTIMATE "use_remote_estimate"
#define SHUTTLE_OUR_ESTIMATE "shuttle_remote_estimate"

/* True if the name has the prefix of our options. */
extern bool shuttle_option_is_ours(const char *name);

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

/* Registers the callbacks of commit.c with storage/. */
extern void shuttle_commit_init(void);

/* Repeats on nodes what DISCARD did here (disconnect.c). */
extern void shuttle_discard_on_nodes(const DiscardStmt *stmt);

#endif							/* SHUTTLE_CLUSTER_INTERNAL_H */

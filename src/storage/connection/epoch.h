/*-------------------------------------------------------------------------
 * epoch.h
 *	  Which server of a node is its current primary (epoch.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_EPOCH_H
#define SHUTTLE_STORAGE_CONNECTION_EPOCH_H

#include "libpq-fe.h"

#include "storage/shuttle_storage.h"

typedef enum EpochNews
{
	EPOCH_NO_NEWS,
	EPOCH_MOVED,				/* another address, or a newer timeline */
	EPOCH_REPLACED				/* another system identifier */
} EpochNews;

/* The server that a connection leads to, and what to log about it. */
typedef struct NodeEpoch
{
	uint32		hosts;			/* hash of the server's options that name
								 * hosts; 0: its primary is not followed */
	bool		asked;			/* the next three are known */
	bool		is_standby;
	uint64		system_identifier;
	uint32		timeline;		/* 0: not known, or a standby */
	uint64		compared_at;	/* state of the shared memory that was
								 * compared */
	bool		is_old;			/* according to that comparison */
	EpochNews	news;
	uint32		timeline_before;
	char		address_before[128];
} NodeEpoch;

/*
 * What a new connection asks in a packet of its own. One row; timeline is empty on a
 * standby. No row if the role may not call these functions: ts_stat() plans its
 * text only when it is called, so no error is written to the node's log then.
 */
#define SHUTTLE_EPOCH_SQL \
	"SELECT pg_catalog.split_part(word, ' ', 1), pg_catalog.split_part(word, ' ', 2)" \
	" FROM pg_catalog.ts_stat('SELECT pg_catalog.array_to_tsvector(ARRAY[pg_catalog.concat(system_identifier, '' ''," \
	" CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN" \
	" pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) END)]) FROM pg_catalog.pg_control_system()')" \
	" WHERE pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')" \
	" AND pg_catalog.has_function_privilege('pg_catalog.pg_is_in_recovery()', 'EXECUTE')" \
	" AND pg_catalog.has_function_privilege('pg_catalog.pg_current_wal_insert_lsn()', 'EXECUTE')" \
	" AND pg_catalog.has_function_privilege('pg_catalog.pg_walfile_name(pg_catalog.pg_lsn)', 'EXECUTE')"

/* A new connection. hosts: as in NodeEpoch. */
extern void shuttle_epoch_begin(ShuttleNode *node, uint32 hosts);

/* Takes the answer. Returns false if it comes from an old primary. Never raises;
 * what is to be logged waits for shuttle_epoch_log(). */
extern bool shuttle_epoch_take(ShuttleNode *node, const PGresult *result);

/* True if another connection has met a newer timeline or another server. Never
 * raises. */
extern bool shuttle_epoch_is_old(ShuttleNode *node);

/* Says so, for errors; never raises. */
extern void shuttle_epoch_explain(const ShuttleNode *node, char *to, int room);
#define SHUTTLE_EPOCH_HINT \
	"If the node was restored to an earlier state on purpose, call shuttle.forget_epoch()."

/* Logs the node's news, if there are any. */
extern bool shuttle_epoch_news; /* some node of the session has news */
extern void shuttle_epoch_log(ShuttleNode *node);
extern void shuttle_epoch_log_all(void);

/* Shared memory of epoch.c. */
extern Size shuttle_epoch_memory_size(void);
extern void shuttle_epoch_set_up_memory(void);

#endif							/* SHUTTLE_STORAGE_CONNECTION_EPOCH_H */

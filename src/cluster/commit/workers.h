/*-------------------------------------------------------------------------
 * workers.h
 *	  What the files about background workers share.
 *
 * worker.c has the launcher, and looks for prepared transactions;
 * statistics_launch.c says when the launcher starts a worker that copies
 * statistics. That worker is in the executor room.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_COMMIT_WORKERS_H
#define SHUTTLE_CLUSTER_COMMIT_WORKERS_H

/* ---- the launcher (worker.c) */

typedef enum ShuttleDatabaseState
{
	SHUTTLE_DATABASE_GONE,
	SHUTTLE_DATABASE_CLOSED,	/* datallowconn is false */
	SHUTTLE_DATABASE_OPEN
} ShuttleDatabaseState;

/* What a database is now; for the launcher, outside a transaction. */
extern ShuttleDatabaseState shuttle_worker_database_state(Oid databaseid);

/* Ends the launcher's sleep, if it runs. Neither allocates nor raises. */
extern void shuttle_worker_wake_launcher(void);

/* ---- news for standbys that are query nodes (beat.c) */

/* For shared memory; if the library is preloaded. */
extern void shuttle_beat_memory_request(void);
extern void shuttle_beat_memory_set_up(void);

/* There is such a query node. */
extern void shuttle_beat_begin(void);

/* For the launcher, outside a transaction. Returns the time to the next call, in ms. */
extern long shuttle_beat_if_due(void);

/* ---- when to copy statistics (statistics_launch.c) */

/* For shared memory; if the library is preloaded. */
extern void shuttle_statistics_memory_request(void);
extern void shuttle_statistics_memory_set_up(void);

/* Notes that this database has servers of ours. */
extern void shuttle_statistics_want(void);

/* For the launcher: starts a worker for the database that has been due longest,
 * unless one is running. Does not wait for it. Returns the time until a database
 * is due, in ms; the end of a worker sets the latch. */
extern long shuttle_statistics_start_due(void);

#endif							/* SHUTTLE_CLUSTER_COMMIT_WORKERS_H */

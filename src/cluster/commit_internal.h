/*-------------------------------------------------------------------------
 * commit_internal.h
 *	  What the files about commits over several nodes share.
 *
 * A transaction that is prepared on nodes has a name,
 *	  shuttle_<cluster>_<database>_<full xid>_<64 random bits>
 * and is prepared on each by a name of its own with _<server>_<user mapping>_
 * behind, and the session's identity (session_name.c), by which others that wait
 * for it know who it is.  The cluster is a random number that CREATE EXTENSION makes.  Only
 * the record of that very name decides (trap 29): an xid that wrote nothing
 * before a crash is given out again.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMMIT_INTERNAL_H
#define SHUTTLE_COMMIT_INTERNAL_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "storage/shuttle_storage.h"

#define SHUTTLE_CLUSTER_ID_LENGTH 32	/* hexadecimal digits */

#define SHUTTLE_MOST_NAME 160

/* What all names of prepared transactions of ours, on any server, begin with. */
#define SHUTTLE_PREPARED_PREFIX "shuttle_"

/* ---- identity.c */

/*
 * The number of this cluster, in the current context.
 * Errors: the extension's tables are not there.
 */
extern char *shuttle_identity(void);

/* The same, or NULL where the extension is not in this database. */
extern char *shuttle_identity_if_any(void);

/*
 * True while this server is the one that the number was made for, or that was
 * told to go on for it: not on a standby that was promoted, or a copy.
 */
extern bool shuttle_identity_is_confirmed(void);

/* ---- commit_record.c */

typedef struct CommitRecord
{
	char	   *name;
	List	   *servers;
	TimestampTz since;
} CommitRecord;

/* Adds a record; removes that of a transaction that all nodes have finished,
 * where finished is not NULL. */
extern void shuttle_commit_record_add(const char *name, List *servers,
									  const char *finished);

/* Sees what has committed by now; a query that runs in parallel can't take a snapshot. */
extern bool shuttle_commit_record_exists(const char *name);

/* All records, under a snapshot taken now: list of CommitRecord. */
extern List *shuttle_commit_records(void);

/* Removes records with these names. */
extern void shuttle_commit_records_forget(List *names);

/* ---- extension_tables.c */

typedef enum ShuttleExtensionTable
{
	SHUTTLE_TABLE_COMMIT_RECORDS,
	SHUTTLE_TABLE_IDENTITY,
	SHUTTLE_TABLE_QUERY_NODES
} ShuttleExtensionTable;

#define SHUTTLE_NTABLES (SHUTTLE_TABLE_QUERY_NODES + 1)

/* The OID of a table of the extension; InvalidOid where it is not there. */
extern Oid	shuttle_extension_table(ShuttleExtensionTable table);

/* ---- recovery.c and recovery_mappings.c */

typedef enum PreparedFate
{
	FATE_COMMIT,				/* there is a record */
	FATE_ROLL_BACK,				/* there is none, and there will be none */
	FATE_LIVE,					/* its session is at work on it */
	FATE_UNCONFIRMED,			/* there is none, but this may be a copy */
	FATE_OTHER					/* of another cluster or database */
} PreparedFate;

/* A transaction that a node holds prepared. */
typedef struct PreparedTransaction
{
	char	   *gid;
	char	   *owner;			/* role on the node; empty: it was dropped */
	TimestampTz since;
	bool		ours_to_finish; /* the role of the connection may */
	bool		connected;		/* the session that has prepared it is */
	Oid			serverid;		/* by its name; or 0 */
	Oid			umid;
	char	   *name;			/* without its server; NULL: not of ours */
	uint64		fxid;
	PreparedFate fate;
	bool		tried;
	bool		finished;
	char	   *error;			/* why it could not be; or NULL */
} PreparedTransaction;

/* True for what recovery is to finish. */
static inline bool
shuttle_recovery_is_decided(const PreparedTransaction *prepared)
{
	return prepared->fate == FATE_COMMIT || prepared->fate == FATE_ROLL_BACK;
}

/* A server, and one of those who may ask it. */
typedef struct RecoveryNode
{
	Oid			serverid;
	char	   *name;
	Oid			userid;			/* whose mapping, or who uses PUBLIC's */
	bool		by_public;
	Oid			umid;
	double		rank;			/* in which order mappings are tried */
	ShuttleSide *side;
	bool		asked;
	bool		answered;
	bool		is_standby;		/* and so could not answer */
	bool		is_late;		/* has not answered in time */
	char	   *error;			/* why it has not */
	List	   *prepared;		/* of PreparedTransaction */
	int			ncommitted;
	int			nrolled_back;
} RecoveryNode;

/* ---- recovery_mappings.c */

/* A server, asked by a user's mapping; InvalidOid: by the public one. */
extern RecoveryNode *shuttle_recovery_node(Oid serverid, Oid userid);

/* Servers of our wrapper, each with all mappings, in the order in which they are to be
 * tried: list of RecoveryNode. */
extern List *shuttle_recovery_nodes(void);

/* Asks each server by one of its mappings, or by a few where that fails. */
extern void shuttle_recovery_ask(List *nodes, int limit_ms);

/* Asks by further ones where there is something that the roles asked may not finish. */
extern void shuttle_recovery_ask_others(List *nodes, int limit_ms);

/* True where a server was asked, and has answered. */
extern bool shuttle_recovery_has_answered(Oid serverid, List *nodes);

/* True where a test holds for what one of the nodes has of a name. */
extern bool shuttle_recovery_any(const char *gid, List *nodes,
								 bool (*test) (const RecoveryNode *node,
											   const PreparedTransaction *prepared));

/* True where one of the roles that were asked may finish it. */
extern bool shuttle_recovery_has_role(const char *gid, List *nodes);

/* True where it was finished now, by whatever mapping. */
extern bool shuttle_recovery_is_finished(const char *gid, List *nodes);

/* ---- recovery.c */

/*
 * Asks nodes what they hold prepared, and judges it.  limit_ms: as for
 * shuttle_outside_run().
 */
extern void shuttle_recovery_look(List *nodes, int limit_ms);

/* Finishes what is to be finished on nodes that have been looked at. */
extern void shuttle_recovery_finish(List *nodes, int limit_ms);

/* Both, and forgets records that nobody needs.  Returns whether anything is
 * left to be done later. */
extern bool shuttle_recovery_run(List *nodes, int limit_ms);

/*
 * True where what a node holds is left to another server, which leads to the same
 * node, and whose number it bears.
 */
extern bool shuttle_recovery_is_others(const PreparedTransaction *prepared,
									   const RecoveryNode *node, List *nodes);

/* How long a worker or a session waits for nodes; they are asked again later. */
#define SHUTTLE_RECOVERY_WAIT_MS 10000

/* ---- commit.c */

/*
 * A node holds something prepared that is, or could be, in this session's way: a
 * worker sees to it, or else the session itself, as far as the role on the node may.
 * Records are left to shuttle.recover(): this is not the transaction to remove them
 * in.
 */
extern void shuttle_commit_recover_on(Oid serverid, Oid userid);

/* ---- worker.c */

extern void shuttle_recovery_worker_init(void);

/* Has the worker look soon, or at its next turn; never raises. */
extern void shuttle_recovery_wanted(bool soon);

/* True where there is a worker. */
extern bool shuttle_recovery_has_worker(void);

#endif							/* SHUTTLE_COMMIT_INTERNAL_H */

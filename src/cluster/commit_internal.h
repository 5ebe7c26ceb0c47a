/*-------------------------------------------------------------------------
 * commit_internal.h
 *	  What the files about commits over several nodes share.
 *
 * The name of a distributed transaction is
 *
 * 	  shuttle_<cluster>_<database>_<full xid>_<timeline, 40 random bits>
 *
 * The GID on each node is that name with _<server>_<user mapping>_ and the
 * session's identity (session_name.c) appended, by which waiting sessions know
 * who holds the lock. The cluster is a random number made by CREATE EXTENSION.
 * Only the commit record of exactly that name decides (trap 29): after a crash
 * the server reuses an xid that wrote nothing.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMMIT_INTERNAL_H
#define SHUTTLE_COMMIT_INTERNAL_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "storage/shuttle_storage.h"

#define SHUTTLE_CLUSTER_ID_LENGTH 32	/* hexadecimal digits */

#define SHUTTLE_MOST_NAME 160

/* Prefix of the GIDs of all our prepared transactions. */
#define SHUTTLE_PREPARED_PREFIX "shuttle_"

/* The number in a name: this server's timeline, and in these bits a random one. */
#define SHUTTLE_RANDOM_BITS 40

/* ---- identity.c */

/* The cluster's random number. Errors: the extension's tables are missing. */
extern char *shuttle_identity(void);

/* The same; NULL if the extension is not in this database. */
extern char *shuttle_identity_if_any(void);

/* True while this server is the one that the number was made for or confirmed
 * for; false on a promoted standby or a copy. */
extern bool shuttle_identity_is_confirmed(void);

/* ---- commit_record.c */

typedef struct CommitRecord
{
	char	   *name;
	List	   *servers;
	TimestampTz since;
} CommitRecord;

/* Adds a record, and removes that of the finished transaction, if not NULL. */
extern void shuttle_commit_record_add(const char *name, List *servers,
									  const char *finished);

/* Uses SnapshotSelf: sees what has committed by now, also in parallel mode. */
extern bool shuttle_commit_record_exists(const char *name);

/* True if records of commits on these servers are kept for a while. */
extern bool shuttle_commit_record_lasts(const List *servers);

/* All records, under a snapshot taken now, but for those that are kept: list of
 * CommitRecord. Sets any_kept. */
extern List *shuttle_commit_records(bool *any_kept);

/* Removes records with these names. */
extern void shuttle_commit_records_forget(List *names);

/* ---- recovery.c and recovery_mappings.c */

typedef enum PreparedFate
{
	FATE_COMMIT,				/* there is a commit record */
	FATE_UNREPLICATED,			/* there is, but this server's standbys may
								 * lack it */
	FATE_ROLL_BACK,				/* no record, and there will be none */
	FATE_LIVE,					/* its session still works on it */
	FATE_UNCONFIRMED,			/* no record, but this server may be a copy */
	FATE_LATER,					/* of a standby that was promoted in this
								 * server's place */
	FATE_OTHER					/* of another cluster or database */
} PreparedFate;

/* A prepared transaction on a node. */
typedef struct PreparedTransaction
{
	char	   *gid;
	char	   *owner;			/* role on the node; empty: dropped */
	TimestampTz since;
	bool		ours_to_finish; /* our role on the node may finish it */
	bool		connected;		/* the session that prepared it is connected */
	Oid			serverid;		/* server in its GID; or 0 */
	Oid			umid;
	char	   *name;			/* GID without server; NULL: not ours */
	uint64		fxid;
	PreparedFate fate;
	bool		tried;
	bool		finished;
	char	   *error;			/* why it could not be finished; or NULL */
} PreparedTransaction;

/* True if recovery is to finish it. */
static inline bool
shuttle_recovery_is_decided(const PreparedTransaction *prepared)
{
	return prepared->fate == FATE_COMMIT || prepared->fate == FATE_ROLL_BACK;
}

/* A server and one user mapping by which it can be asked. */
typedef struct RecoveryNode
{
	Oid			serverid;
	char	   *name;
	Oid			userid;			/* the mapping's user, or who uses PUBLIC's */
	bool		by_public;
	Oid			umid;
	double		rank;			/* mappings are tried in this order */
	ShuttleSide *side;
	bool		asked;
	bool		answered;
	bool		is_standby;		/* it is a standby, which shows nothing */
	bool		is_late;		/* did not answer in time */
	char	   *error;			/* why it did not answer */
	List	   *prepared;		/* of PreparedTransaction */
	int			ncommitted;
	int			nrolled_back;
} RecoveryNode;

/* ---- recovery_mappings.c */

/* A server with a user's mapping; InvalidOid: the public mapping. */
extern RecoveryNode *shuttle_recovery_node(Oid serverid, Oid userid);

/* All servers of our wrapper with all their mappings, in the order to try them:
 * list of RecoveryNode. */
extern List *shuttle_recovery_nodes(void);

/* Asks each server by one mapping, and by a few more if that fails. */
extern void shuttle_recovery_ask(List *nodes, int limit_ms);

/* Asks by further mappings where no role so far may finish a transaction. */
extern void shuttle_recovery_ask_others(List *nodes, int limit_ms);

/* True if a server has answered. */
extern bool shuttle_recovery_has_answered(Oid serverid, List *nodes);

/* True if a test holds for the transaction gid on one of the nodes. */
extern bool shuttle_recovery_any(const char *gid, List *nodes,
								 bool (*test) (const RecoveryNode *node,
											   const PreparedTransaction *prepared));

/* True if one of our roles may finish it. */
extern bool shuttle_recovery_has_role(const char *gid, List *nodes);

/* True if it was finished by any mapping. */
extern bool shuttle_recovery_is_finished(const char *gid, List *nodes);

/* ---- recovery.c */

/* Lists the prepared transactions of nodes and decides their fate. limit_ms: as
 * for shuttle_outside_run(). */
extern void shuttle_recovery_look(List *nodes, int limit_ms);

/* Commits or rolls back decided transactions on nodes that were listed. */
extern void shuttle_recovery_finish(List *nodes, int limit_ms);

/* Does both, and removes records that nobody needs. Returns true if something
 * is left to do later. */
extern bool shuttle_recovery_run(List *nodes, int limit_ms);

/* True if a prepared transaction is left to another foreign server, which leads
 * to the same node and whose OID is in the GID. */
extern bool shuttle_recovery_is_others(const PreparedTransaction *prepared,
									   const RecoveryNode *node, List *nodes);

/* How long a worker or a session waits for nodes in one look. */
#define SHUTTLE_RECOVERY_WAIT_MS 10000

/* ---- synchronous_standbys.c */

/* True if this server's synchronous standbys, if it has any, have flushed the
 * position. Never raises. */
extern bool shuttle_is_replicated(XLogRecPtr lsn);

/* Waits until they confirm that they follow this server now, and so have all commit
 * records that can be seen; false: not in time. */
extern bool shuttle_await_standbys(int limit_ms);

/* ---- commit.c */

/*
 * A prepared transaction on the node blocks this session, or could. The worker
 * finishes it, or else this session, as far as its role on the node may.
 * Records stay: this transaction is not the one to remove them.
 */
extern void shuttle_commit_recover_on(Oid serverid, Oid userid);

/* ---- worker.c */

/* Registers the launcher, and has shared memory; if the library is preloaded. */
extern void shuttle_recovery_worker_register(void);
extern void shuttle_recovery_memory_request(void);
extern void shuttle_recovery_memory_set_up(void);

/* Makes the worker look soon, or at its next turn; never raises. */
extern void shuttle_recovery_wanted(bool soon);

/* True if the worker is running. */
extern bool shuttle_recovery_has_worker(void);

#endif							/* SHUTTLE_COMMIT_INTERNAL_H */

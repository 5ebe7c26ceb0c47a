/*-------------------------------------------------------------------------
 * commit.h
 *	  Commits over several nodes, and recovery of those that did not end.
 *
 * Files: commit.c, commit_record.c, prepared.c, synchronous_standbys.c; primary.c and
 * standby_commit.c, of commits of standbys; recovery.c, recovery_functions.c,
 * recovery_mappings.c, restore_point.c; worker.c and statistics_launch.c (see workers.h).
 *
 * The name of a distributed transaction is
 *
 * 	  shuttle_<cluster>_<database>_<full xid>_<timeline, 40 random bits>
 *
 * The GID on each node is that name with _<server>_<user mapping>_<the session's
 * identity>_<system identifier> appended. By the identity (session_name.c) waiting sessions know
 * who holds the lock; it is empty if the client has prepared it. The system identifier is that of
 * all copies of this server, whatever their shuttle.query_node_name. The cluster is a random number made by CREATE EXTENSION.
 * Only the commit record of exactly that name decides (trap 29): after a crash
 * the server reuses an xid that wrote nothing.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_COMMIT_COMMIT_H
#define SHUTTLE_CLUSTER_COMMIT_COMMIT_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "base/shuttle_utility.h"
#include "storage/shuttle_cut.h"
#include "storage/shuttle_storage.h"

#define SHUTTLE_CLUSTER_ID_LENGTH 32	/* hexadecimal digits */

#define SHUTTLE_MOST_NAME 160

/* Prefix of the GIDs of all our prepared transactions. */
#define SHUTTLE_PREPARED_PREFIX "shuttle_"

/* The number in a name: this server's timeline, and in these bits a random one. */
#define SHUTTLE_RANDOM_BITS 40

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

/* The same for a transaction that the client prepares. It may stay so for days, so no lock is kept. */
extern void shuttle_commit_record_prepare(const char *name, List *servers);

/* The record that a prepared transaction of this server has written; NULL: none. With one, the
 * table stays locked against restore points. */
extern CommitRecord *shuttle_commit_record_of(TransactionId xid);

/* Replaces a record by one of now, from which on it is kept. */
extern void shuttle_commit_record_renew(const CommitRecord *record);

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
	FATE_CLIENT,				/* the client has prepared it here */
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
	uint64		xid;			/* full, of the node */
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

/* The same right behind the decision on them: they are not listed again. */
extern void shuttle_recovery_finish_listed(List *nodes, int limit_ms);

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
extern bool shuttle_synchronous_standbys_have(XLogRecPtr lsn);

/* Waits until they confirm that they follow this server now, and so have all commit
 * records that can be seen; false: not in time. */
extern bool shuttle_synchronous_standbys_await(int limit_ms);

/* ---- commit.c */

/*
 * A prepared transaction on the node blocks this session, or could. The worker
 * finishes it, or else this session, as far as its role on the node may.
 * Records stay: this transaction is not the one to remove them.
 */
extern void shuttle_commit_recover_on(Oid serverid, Oid userid);

/* The name of this session's transaction on this server. */
extern char *shuttle_commit_name(void);

/* Writes the record of the transaction, which decides; and the transaction has ended on nodes. */
extern void shuttle_commit_add_record(const char *name, List *servers);
extern void shuttle_commit_note_end(bool in_doubt);

/* Registers the callbacks of commit.c with storage/. */
extern void shuttle_commit_init(void);

/* ---- primary.c: on a standby, in this order */

/* Begins the transaction on the primary server, which gives its name. Errors: ERRCODE_CANNOT_CONNECT_NOW;
 * cancel and the like. */
extern char *shuttle_primary_begin(void);

/* Nodes have prepared by that name: has the primary server commit. Errors: it has not, or may not
 * have. */
extern void shuttle_primary_decide(const char *name, const ShuttlePreparedPart *parts, int nparts);

/* It has: whether its synchronous standbys know; and nodes have ended the transaction. Neither allocate nor raise. */
extern bool shuttle_primary_is_safe(void);
extern void shuttle_primary_end(bool all_over);

/* The local transaction has failed. Returns true if the primary server may have committed. Never raises. */
extern bool shuttle_primary_fail(void);

/* ---- standby_commit.c */

/* True if a standby's session may still work on a transaction that was committed here. */
extern bool shuttle_standby_commit_is_open(TransactionId xid);

/* ---- prepared.c */

/* Runs COMMIT PREPARED or ROLLBACK PREPARED, here and on nodes. */
extern void shuttle_prepared_end(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* ---- worker.c */

/* Registers the launcher, and has shared memory; if the library is preloaded. */
extern void shuttle_worker_register(void);
extern void shuttle_worker_memory_request(void);
extern void shuttle_worker_memory_set_up(void);

/* Makes the worker look soon, or at its next turn; never raises. */
extern void shuttle_worker_wake(bool soon);

/* True if the worker is running. */
extern bool shuttle_worker_is_running(void);

#endif							/* SHUTTLE_CLUSTER_COMMIT_COMMIT_H */

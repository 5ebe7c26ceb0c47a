/*-------------------------------------------------------------------------
 * node_transaction.h
 *	  Parts of ShuttleNode for this folder: its transaction, its part in a
 *	  commit, and ROLLBACK after a cancel.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_TRANSACTION_NODE_TRANSACTION_H
#define SHUTTLE_STORAGE_TRANSACTION_NODE_TRANSACTION_H

#include "datatype/timestamp.h"
#include "lib/ilist.h"

#include "storage/storage_types.h"

typedef enum TransactionKind
{
	TRANSACTION_NONE,
	TRANSACTION_CLEAN,			/* REPEATABLE READ READ ONLY, for one snapshot
								 * of a local READ COMMITTED transaction; can
								 * be replaced at any time */
	TRANSACTION_CURRENT,		/* READ COMMITTED: wrote, or locked rows */
	TRANSACTION_FIXED			/* isolation level of the local one:
								 * REPEATABLE READ or SERIALIZABLE */
} TransactionKind;

/* The transaction that is open on the node (transaction.c, snapshot.c). */
typedef struct NodeTransaction
{
	TransactionKind kind;
	uint64		generation;		/* counts transactions */
	uint64		snapshot;		/* number of the local snapshot of a clean
								 * transaction */
	uint64	   *readers;		/* numbers of the snapshots that have read the
								 * node in this transaction; those no longer
								 * in use may be missing */
	int			nreaders;
	int			readers_size;
	uint64		first;			/* the clock of windows.h before BEGIN */
	bool		in_state;		/* no answer of it was used unless it fits to
								 * others (cut.c) */
	bool		snapshot_asked; /* for the node's own snapshot */
	struct pg_result *snapshot_answer;	/* NULL: not here */
	uint64		first_packet;	/* the packet of BEGIN */
	bool		begun;			/* BEGIN was answered */
	bool		can_repeat;		/* no answer of the local transaction has
								 * arrived, or only that of BEGIN to one that
								 * only reads, and no COMMIT was sent: it can
								 * be repeated on a new connection */
	bool		begin_again;	/* the first request failed by an outdated
								 * prepared statement, without effect; the
								 * next request sends BEGIN again */
	int			read_only_level;	/* nest level from which on the node's
									 * transaction is READ ONLY; 0: it is not */
	bool		is_statement;	/* a statement without BEGIN: it has ended
								 * when that is answered */
	bool		wrote;			/* wrote, or may have written */
	int			level;			/* 1 + open savepoints, unmarked ones included */
	int			begun_level;	/* nest level of BEGIN */
	int			unmarked_level; /* savepoints up to this nest level were not
								 * sent: with them all is rolled back */
	int			used_level;		/* lowest nest level that used the node; 0:
								 * none */
	int			wanted_level;	/* lowest nest level with a plan that may use
								 * it; 0: none */
	TimestampTz timeout_deadline;	/* local deadline that the node's
									 * statement_timeout is for; 0: not set,
									 * -1: unknown */
	long		timeout_ms;		/* the node's statement_timeout */
	int			lock_timeout;	/* the node's; 0: not set, -1: unknown */
	int			replica;		/* session_replication_role is; 0: not set,
								 * -1: unknown */
	bool		fast_start;		/* the node's cursor_tuple_fraction is low */
} NodeTransaction;

/* A node's part in the local transaction's commit. */
typedef enum CommitPart
{
	COMMIT_AT_ONCE,				/* COMMIT before the local commit */
	COMMIT_PREPARED_FIRST,		/* PREPARE TRANSACTION; COMMIT PREPARED after
								 * the local commit */
	COMMIT_LAST,				/* COMMIT when all others have committed or
								 * prepared */
	COMMIT_BEHIND				/* COMMIT after the local commit: keeps locks
								 * till then */
} CommitPart;

typedef enum TwoPhaseState
{
	TWO_PHASE_NONE,				/* not asked, or refused */
	TWO_PHASE_ASKED,			/* not answered: may be prepared */
	TWO_PHASE_DONE
} TwoPhaseState;
#define SHUTTLE_GID_SIZE 200	/* as core's GIDSIZE */

/* The end of the node's transaction (node_commit.c, two_phase.c). */
typedef struct NodeCommit
{
	bool		must_wait;		/* wait for the answer to COMMIT */
	bool		pending;		/* COMMIT was sent, and is waited for */
	bool		done;			/* its tag was COMMIT */
	bool		unknown;		/* no answer to COMMIT came */
	bool		skipped;		/* it followed an error in its packet */
	bool		writes;			/* the committing transaction has written */
	int			max_prepared;	/* the node's max_prepared_transactions; -1:
								 * unknown */
	CommitPart	part;
	bool		part_asked;		/* sent; the answer is to be checked */
	TwoPhaseState two_phase;
	char		gid[SHUTTLE_GID_SIZE];	/* for PREPARE TRANSACTION */
	uint64		xid;			/* of the transaction that prepares, full; 0:
								 * unknown */
	int			window_part;	/* number in the window (windows.h); 0: none */
	ShuttleCommand *finish[2];	/* commands for after the local commit,
								 * allocated before it */
	bool		finish_missing; /* the node no longer had the prepared
								 * transaction */
	bool		unreplicated;	/* PREPARE TRANSACTION or COMMIT PREPARED did
								 * not wait for the node's standbys */
	bool		finish_pending; /* sent and not answered */
	bool		finished;
	char	   *look_sql;		/* query for leftover prepared transactions,
								 * for a new connection; NULL: none */
	bool		left_prepared;	/* the answer: there are some */
} NodeCommit;

/* Cancelling the node's work, and ROLLBACK after it (transaction_abort.c). */
typedef struct NodeRollback
{
	dlist_node	cancel_link;	/* in a list of nodes to cancel */
	bool		cancelled;		/* the cancel request reached the node */
	bool		awaited;		/* after a cancel: send nothing before the tag
								 * of ROLLBACK has arrived */
	bool		failed;			/* a late cancel hit ROLLBACK */
	bool		again;			/* ROLLBACK is to be sent again */
	uint64		packet;			/* the packet of ROLLBACK; 0: none */
	int			ntries;
	int			level;			/* level rolled back; 1: whole transaction */
} NodeRollback;

#endif							/* SHUTTLE_STORAGE_TRANSACTION_NODE_TRANSACTION_H */

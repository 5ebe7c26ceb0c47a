/*-------------------------------------------------------------------------
 * node_transaction.h
 *	  The parts of a node that the files of this folder serve: its
 *	  transaction, its part in a commit, and a ROLLBACK behind a cancel.
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
	TRANSACTION_CLEAN,			/* REPEATABLE READ READ ONLY for one snapshot
								 * of a local READ COMMITTED transaction; can
								 * be replaced at any time */
	TRANSACTION_CURRENT,		/* READ COMMITTED: wrote, or locked rows */
	TRANSACTION_FIXED			/* isolation of the local one: REPEATABLE READ
								 * or SERIALIZABLE */
} TransactionKind;

/* The transaction that is open on the node (transaction.c, snapshot.c). */
typedef struct NodeTransaction
{
	TransactionKind kind;
	uint64		generation;		/* counts transactions */
	uint64		snapshot;		/* the local one that a clean transaction
								 * shows */
	uint64	   *readers;		/* numbers of the snapshots that have read the
								 * node in this transaction; those not in use
								 * any more may be missing */
	int			nreaders;
	int			readers_size;
	uint64		first_packet;	/* the packet of BEGIN */
	bool		begun;			/* BEGIN was answered */
	bool		can_repeat;		/* nothing of the local transaction was
								 * answered, or asked to commit: it can be
								 * sent again over another connection */
	bool		begin_again;	/* the first request failed by an outdated
								 * prepared statement and did nothing; the
								 * next request begins again */
	int			read_only_level;	/* nest level from which on the local
									 * transaction is READ ONLY; 0: it is not */
	bool		wrote;			/* or may have: not only read or locked */
	int			level;			/* 1 + open savepoints */
	int			begun_level;	/* nest level at which it began */
	int			used_level;		/* lowest nest level that used the node; 0:
								 * none yet */
	int			wanted_level;	/* lowest nest level that began a plan that
								 * may use it; 0: none */
	TimestampTz timeout_deadline;	/* the node's statement_timeout is for
									 * this; 0: not set, -1: not known */
	long		timeout_ms;		/* that statement_timeout */
	int			lock_timeout;	/* the node's; 0: not set, -1: not known */
	bool		fast_start;		/* the node's cursor_tuple_fraction is low */
} NodeTransaction;

/* What a node has to do when the local transaction commits. */
typedef enum CommitPart
{
	COMMIT_AT_ONCE,				/* COMMIT before the local one */
	COMMIT_PREPARED_FIRST,		/* PREPARE TRANSACTION, and COMMIT PREPARED
								 * behind the local one */
	COMMIT_LAST,				/* COMMIT when all others have agreed */
	COMMIT_BEHIND				/* COMMIT behind the local one: keeps locks */
} CommitPart;

typedef enum TwoPhaseState
{
	TWO_PHASE_NONE,				/* not asked to, or the node refused */
	TWO_PHASE_ASKED,			/* no answer yet: it may be */
	TWO_PHASE_DONE
} TwoPhaseState;
#define SHUTTLE_GID_SIZE 200	/* as core's GIDSIZE */

/* The end of the node's transaction (transaction_end.c, two_phase.c). */
typedef struct NodeCommit
{
	bool		must_wait;		/* COMMIT has to be waited for */
	bool		pending;		/* a COMMIT that is waited for */
	bool		done;			/* its tag was COMMIT */
	bool		unknown;		/* its answer did not come */
	bool		writes;			/* the transaction to be committed has written */
	int			max_prepared;	/* the node's max_prepared_transactions; -1:
								 * not known */
	CommitPart	part;
	bool		part_asked;		/* the answer to this part is to be checked */
	TwoPhaseState two_phase;
	char		gid[SHUTTLE_GID_SIZE];	/* of PREPARE TRANSACTION */
	ShuttleCommand *finish[2];	/* made in time, and not in the queue yet */
	bool		finish_missing; /* the node had nothing to finish any more */
	bool		finish_pending; /* not answered yet */
	bool		finished;
	char	   *look_sql;		/* asks over a new connection what was left
								 * prepared; NULL: does not ask */
	bool		left_prepared;	/* the answer: something was */
} NodeCommit;

/* Cancelling the node's work, and the ROLLBACK behind it (transaction_abort.c). */
typedef struct NodeRollback
{
	dlist_node	cancel_link;	/* in the list of nodes to be cancelled */
	bool		cancelled;		/* the node was told to cancel */
	bool		awaited;		/* after a cancel: nothing goes out before
								 * ROLLBACK was answered by its own tag */
	bool		failed;			/* the late cancel hit it */
	bool		again;			/* so it is to be sent again */
	uint64		packet;			/* the packet of ROLLBACK; 0: none */
	int			ntries;
	int			level;			/* level rolled back; 1: whole transaction */
} NodeRollback;

#endif							/* SHUTTLE_STORAGE_TRANSACTION_NODE_TRANSACTION_H */

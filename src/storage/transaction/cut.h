/*-------------------------------------------------------------------------
 * cut.h
 *	  Cuts: the snapshots of nodes that a statement reads together.
 *
 * Files: cut.c says which nodes belong together; cut_settle.c takes snapshots again
 * until they fit; cut_here.c is for statements that read local rows, too.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_TRANSACTION_CUT_H
#define SHUTTLE_STORAGE_TRANSACTION_CUT_H

#include "base/shuttle_compat.h"
#include "storage/connection/node.h"
#include "storage/shuttle_cut.h"
#include "storage/transaction/windows.h"

/* A node's transaction. */
typedef struct CutMember
{
	ShuttleNode *node;
	uint64		generation;		/* of the node's transactions */
	uint64		first;			/* the clock before BEGIN was sent */
	bool		used;			/* rows were handed out: its snapshot stays */
	bool		checked;		/* it was found to fit: answers may be used
								 * even if its transaction has ended */
	NodeSnapshot *snapshot;		/* NULL: not known yet */
} CutMember;

/* What a statement reads, and STABLE functions that it calls; under REPEATABLE READ
 * what the transaction reads. */
typedef struct Cut
{
	uint64		number;			/* of the local snapshot;
								 * SHUTTLE_WHOLE_TRANSACTION */
	uint64		used_at;		/* to find the one used longest ago */
	QueryDesc  *owner;			/* the outermost statement, which may have
								 * ended by an error; NULL: the transaction */
	int			level;			/* nest level at which it began */
	uint64		first;			/* the clock when it began, or when its local
								 * snapshot was replaced */
	uint64		alone_here;		/* alone_since before its local snapshot */
	bool		settled;		/* all members fit together */
	bool		asks;			/* snapshots are asked for when transactions
								 * begin */
	bool		forgot;			/* earlier members are not known any more */
	bool		reads_here;
	bool		read_here;		/* local rows may have been read */
	Snapshot	here;			/* copy of the local snapshot; NULL: it is
								 * older than all windows that wrote here */
	int			nmembers;
	int			room;
	CutMember  *members;
} Cut;

#define SHUTTLE_WHOLE_TRANSACTION PG_UINT64_MAX

/* ---- cut.c */

/* The cut that a request under this snapshot belongs to. */
extern Cut *shuttle_cut_get(uint64 snapshot);

extern void shuttle_cut_init(void);

/* Adds what asks for the snapshot of the node's transaction. */
extern void shuttle_cut_ask(ShuttleNode *node);

/* True if the node still has the member's transaction. */
extern bool shuttle_cut_is_current(const CutMember *member);

/* True if rows of the node's present transaction were handed out. */
extern bool shuttle_cut_is_used(const ShuttleNode *node);

/* True if a statement being executed reads the same transactions of nodes, and they fit. */
extern bool shuttle_cut_is_inside_another(const Cut *cut);

/* The node's transaction begins anew: all cuts that it belongs to have to settle again. */
extern void shuttle_cut_renew(ShuttleNode *node, uint64 generation_before);

/* A REPEATABLE READ transaction is about to read local rows: begins on all nodes, too. */
extern void shuttle_cut_begin_with_here(Cut *cut, uint64 snapshot);

/* ---- cut_settle.c */

/* Raises that the statement cannot go on in one state: 40001. */
pg_noreturn extern void shuttle_cut_fail(void);

/* True if all snapshots have arrived. */
extern bool shuttle_cut_is_here(const Cut *cut);

/*
 * Waits until all members fit together; those that are not used take new snapshots.
 * query: its local snapshot may be replaced; NULL: it may not. Returns true if it was.
 */
extern bool shuttle_cut_settle(Cut *cut, QueryDesc *query);

/* ---- cut_here.c */

/* True if a REPEATABLE READ transaction has read nothing here. query: the statement that is
 * about to; NULL: another one. */
extern bool shuttle_cut_can_move(const QueryDesc *query);

/* The local snapshot of a REPEATABLE READ transaction belongs to the cut. */
extern void shuttle_cut_note_here(Cut *cut);

/* Gives a statement that has not begun to read a new snapshot, and returns true; or the
 * transaction, if that can move. */
extern bool shuttle_cut_replace_snapshot(Cut *cut, QueryDesc *query);

/* Errors: the transaction's local snapshot is another session's. */
extern void shuttle_cut_check_own(void);

/* The transaction is over. */
extern void shuttle_cut_forget_here(void);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_CUT_H */

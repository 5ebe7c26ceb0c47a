/*-------------------------------------------------------------------------
 * move.h
 *	  What the files of this sub-room share: moving tablets between nodes, online.
 *
 * In: a tablet and a node. Out: the tablet, and those of the same number of all tables
 * of its group, on that node. move.c has the steps, move_nodes.c what they do on the
 * nodes, move_checks.c what forbids it, move_left.c what is left of moves that were
 * interrupted, which shuttle.check() shows and removes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_MOVE_H
#define SHUTTLE_TABLETS_MOVE_MOVE_H

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/distribute.h"
#include "tablets/tablets_internal.h"

/* Names of publications, subscriptions and slots of moves begin so. */
#define SHUTTLE_MOVE_PREFIX "shuttle_move_"

typedef struct ShuttleMove
{
	List	   *relids;			/* all tables of the group */
	ShuttleLayout *layout;
	int			number;			/* of the tablets */
	Oid			source;			/* servers; source is invalid if it is not
								 * known */
	Oid			target;
	ShuttleSide *source_side;	/* connections for the looks; NULL: each look
								 * has its own */
	ShuttleSide *target_side;
	char	   *name;			/* of publication, subscription and slot */
	bool		has_stopped;	/* the subscription does not follow any more */
	char	   *sync_slots;		/* pattern of slots that the subscription
								 * made; NULL: none seen */
	bool		is_undone;		/* what was made is being removed */
	bool		is_unlocked;	/* the session's locks on tables were given
								 * back for that */
	ShuttleMoveProgress progress;
} ShuttleMove;

/* ---- move.c */

/*
 * Moves a tablet and those that are colocated with it. SPI is connected so that it can
 * commit. Returns false if it is not there any more, or not on the source.
 * source: InvalidOid for any. number: of nmoves, from 1 on. Errors: nothing has changed,
 * unless a warning says so.
 */
extern bool shuttle_move_run(Oid tablet, Oid source, Oid target, int number, int nmoves);

/* Commits, and begins a transaction. */
extern void shuttle_move_commit(void);

/* Errors: the procedure of that name is called in a transaction block. */
extern void shuttle_move_check_call(FunctionCallInfo fcinfo, const char *name);

/* ---- move_nodes.c */

/* The tables of a group, in an order that is always the same. */
extern List *shuttle_move_members(int group);

/* The name for a group's tablets of one number. */
extern char *shuttle_move_name(int group, int number);

/* Runs one statement outside of the transaction and returns the first column of its first
 * row; NULL: there is none. Errors: those of the node. */
extern char *shuttle_move_ask(Oid serverid, const char *sql);

/* Makes the tables and the empty tablets on the new node, in the local transaction. */
extern void shuttle_move_make(const ShuttleMove *move);

/* Has the old node write what identifies changed rows. Errors: ERRCODE_LOCK_NOT_AVAILABLE. */
extern void shuttle_move_identify(ShuttleMove *move);

/* Begins the copy; true when all rows are there. Errors: the copy has failed, or the new
 * node could not follow. */
extern void shuttle_move_copy(const ShuttleMove *move);
extern bool shuttle_move_is_copied(const ShuttleMove *move);

/* Bytes that a node has of the tablets, with indexes; while they are copied, too. */
extern int64 shuttle_move_bytes(const ShuttleMove *move, Oid serverid);

/* Has the new node follow what is written on the old one, or not. */
extern void shuttle_move_follow(const ShuttleMove *move, bool follow);

/* The end of the old node's log; and if the new node has all up to there. */
extern char *shuttle_move_log_end(const ShuttleMove *move);
extern bool shuttle_move_has_all(const ShuttleMove *move, const char *log_end, int64 except_bytes);

/* Locks the tablets on the old node against all, in the local transaction. */
extern void shuttle_move_lock_source(const ShuttleMove *move);

/* Makes the new tablets the real ones and drops the old ones, likewise. */
extern void shuttle_move_change_nodes(const ShuttleMove *move);

/* Stops the subscription on the new node and notes which slots it has. */
extern void shuttle_move_stop_copy(ShuttleMove *move);

/* Removes subscription, slot and publication. Servers that are not valid are left out. */
extern void shuttle_move_end_copy(ShuttleMove *move);

/* The same, and the half copied tablets. Does nothing where nothing is. */
extern void shuttle_move_undo(ShuttleMove *move);

/* ---- move_checks.c */

/* Raises an error that a node forbids the move. */
pg_noreturn extern void shuttle_move_refuse_node(Oid serverid, const char *detail, const char *hint);

/* Errors: settings and privileges of the nodes that forbid it. */
extern void shuttle_move_check_nodes(Oid source, Oid target);

/* Errors: tables whose changes cannot be followed on another node. */
extern void shuttle_move_check_tables(const List *relids, Oid source);

/* ---- ../groups.c */

/* The group of a distributed table; 0: it is none. */
extern int	shuttle_group_of(Oid relid);

/* For the session: waits for tables that are joining the group, and keeps others out. An
 * error that ends the transaction unlocks it. */
extern void shuttle_group_lock_places(int group);
extern void shuttle_group_unlock_places(int group);

/* ---- ../surgery.c */

/* Gives a tablet another server in place; the caller holds AccessExclusiveLock on the
 * tablet's table and invalidates it. */
extern void shuttle_surgery_move(Oid relid, Oid serverid);

#endif							/* SHUTTLE_TABLETS_MOVE_MOVE_H */

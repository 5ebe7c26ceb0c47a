/*-------------------------------------------------------------------------
 * move.h
 *	  What the files of this sub-room share: moving tablets between nodes, online.
 *
 * In: a tablet and a node. Out: the tablet, and those of the same number of all tables
 * of its group, on that node. move.c has the steps, move_nodes.c what they do on the
 * nodes, move_left.c what is left of moves that were interrupted, which
 * shuttle.check() shows and removes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_MOVE_H
#define SHUTTLE_TABLETS_MOVE_MOVE_H

#include "nodes/pg_list.h"

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
	char	   *name;			/* of publication, subscription and slot */
	bool		has_stopped;	/* the subscription does not follow any more */
	char	   *sync_slots;		/* pattern of slots that the subscription
								 * made; NULL: none seen */
} ShuttleMove;

/* ---- move_nodes.c */

/* The tables of a table's group, in an order that is always the same. */
extern List *shuttle_move_members(Oid relid);

/* The name for a group's tablets of one number. */
extern char *shuttle_move_name(int group, int number);

/* Runs one statement outside of the transaction and returns its rows, arrays of
 * strings. Errors: those of the node. */
extern List *shuttle_move_ask(Oid serverid, const char *sql, int ncolumns);

/* Errors: settings and privileges of the nodes that forbid it. */
extern void shuttle_move_check_nodes(const ShuttleMove *move);

/* Makes the tables and the empty tablets on the new node, in the local transaction. */
extern void shuttle_move_make(const ShuttleMove *move);

/* Begins the copy; true when all rows are there. Errors: the copy has failed. */
extern void shuttle_move_copy(const ShuttleMove *move);
extern bool shuttle_move_is_copied(const ShuttleMove *move);

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

/* ---- ../surgery.c */

/* Gives a tablet another server in place; the caller holds AccessExclusiveLock on the
 * tablet's table and invalidates it. */
extern void shuttle_surgery_move(Oid relid, Oid serverid);

#endif							/* SHUTTLE_TABLETS_MOVE_MOVE_H */

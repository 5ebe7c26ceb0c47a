/*-------------------------------------------------------------------------
 * settle.h
 *	  Tables leave their group for one with the same placement rules, and come back.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_SETTLE_H
#define SHUTTLE_TABLETS_MOVE_SETTLE_H

#include "nodes/pg_list.h"

/* The distributed tables below a table, and itself; of these, the ones without a rule of
 * their own below that table. */
extern List *shuttle_settle_tables(Oid relid);

/* Gives tables whose group has other rules than they have another group. alone: also
 * those that are no partitions or entries, whose rules else hold for the whole group. */
extern void shuttle_settle(const List *relids, bool alone);

/* The numbers of the group that a group left, of all that left it, and of the group itself. */
extern List *shuttle_settle_family(int group);

/* The group that a group left, or that has left it too, under the same rules and of the same
 * form: tablets go where that one has them. 0: there is none. */
extern int	shuttle_settle_leader(int group);

/* Joins a group with its leader, if it lies where that one does. */
extern void shuttle_settle_join(int group);

/* The same of all groups, each in a transaction of its own; tables are not locked. */
extern void shuttle_settle_join_all(void);

#endif							/* SHUTTLE_TABLETS_MOVE_SETTLE_H */

/*-------------------------------------------------------------------------
 * move.h
 *	  Moves tables between nodes while they are used.
 *
 * move.c			the steps of a move, and its locks
 * move_nodes.c		how rows get to the new node
 * move_tablets.c	what is moved: a tablet, with the tablets of the same number
 *					of all tables of its group
 * split.c			or such a tablet is split in two on its way
 * move_table.c		or an ordinary foreign table (move_table.h)
 * move_checks.c	what forbids a move
 * move_remains.c		what interrupted moves left; shuttle.check() removes it
 * rebalance.c, balance_read.c, balance_plan.c	which tablets to move (balance.h)
 *
 * In: a tablet or foreign table, and a node. Out: the same table on that node.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_MOVE_H
#define SHUTTLE_TABLETS_MOVE_MOVE_H

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/problems.h"
#include "tablets/common/progress.h"

/* Of a tablet that was split; core keeps an array of that many numbers for each table. */
#define SHUTTLE_MOST_MODULUS 65536

/* Names of publications, subscriptions and slots of moves begin so. */
#define SHUTTLE_MOVE_PREFIX "shuttle_move_"

typedef struct ShuttleMove ShuttleMove;

/* What is moved: tablets of a group, or an ordinary foreign table. All but drop_half run in
 * the local transaction. */
typedef struct ShuttleMoveKind
{
	/* Makes the empty tables on the new node. */
	void		(*make) (ShuttleMove *move);

	/*
	 * Makes the new tables the real ones, drops the old ones, and changes the
	 * servers here.
	 */
	void		(*change) (const ShuttleMove *move);

	/*
	 * Drops what make has made, unless the change was made. Does nothing
	 * where nothing is.
	 */
	void		(*drop_half) (const ShuttleMove *move);
} ShuttleMoveKind;

struct ShuttleMove
{
	const ShuttleMoveKind *kind;
	List	   *relids;			/* all tables of the group; or the foreign
								 * table */
	List	   *names;			/* of their tablets, qualified and quoted: to
								 * undo, no table may be locked; NIL: not
								 * noted */
	char	   *remote;			/* the qualified name of the foreign table's
								 * on its nodes; NULL: tablets are moved */
	char	   *remote_schema;	/* its parts, */
	char	   *remote_table;
	List	   *sequences;		/* and those of its sequences; set when it is
								 * made */
	ShuttleLayout *layout;		/* of tablets */
	int			number;			/* of the tablets */
	ShuttleLayout *parts;		/* what the new node gets for each: a tablet,
								 * or two halves */
	char	   *files;			/* of tablets that are split, on their node */
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
	bool		is_undone;		/* what was made for it is being removed */
	bool		is_unlocked;	/* the session's locks on tables were given
								 * back for that */
	int			first_locked;	/* of relids; the others follow, in a circle */
	int			nlooks;			/* at what the nodes have copied */
	ShuttleMoveProgress progress;
};

/* ---- move.c */

/*
 * Moves a tablet and those that are colocated with it. SPI is connected so that it can
 * commit. Returns false if it is not there any more, or not on the source.
 * source: InvalidOid for any. split: in two halves. number: of nmoves, from 1 on. Errors: nothing has changed,
 * unless a warning says so.
 */
extern bool shuttle_move_run(Oid tablet, Oid source, Oid target, bool split, int number, int nmoves);

/* CALL shuttle.move_tablet() and split_tablet(). */
extern void shuttle_move_call(FunctionCallInfo fcinfo, const char *name, bool split);

/* The steps of a move whose tables are locked by shuttle_move_lock(). Errors: as above. */
extern void shuttle_move_steps(ShuttleMove *move);

/* For the session: keeps DDL away. Returns the tables that could be locked: not those that
 * were dropped. */
extern List *shuttle_move_lock(const List *relids);
extern void shuttle_move_unlock(const List *relids);

/* Locks a table that is moved for itself, with the tables of which it is a partition, the topmost
 * first. */
extern void shuttle_move_lock_table(Oid relid);

/* Errors: ERRCODE_T_R_DEADLOCK_DETECTED, if another session uses the tables and has waited for this
 * one for a while; what is being undone gives them free instead. */
extern void shuttle_move_find_deadlock(ShuttleMove *move);

/* Commits, and begins a transaction. */
extern void shuttle_move_commit(void);

/* Errors: the procedure of that name is called in a transaction block. */
extern void shuttle_move_check_call(FunctionCallInfo fcinfo, const char *name);

/* ---- move_tablets.c */

extern const ShuttleMoveKind shuttle_move_tablets;

/* The tables of a group, in an order that is always the same. */
extern List *shuttle_move_members(int group);

/* The name for a group's tablets of one number. */
extern char *shuttle_move_name(int group, int number);

/* The column that spreads a table, quoted. */
extern char *shuttle_move_key(Oid relid);

/* ---- split.c */

/* What the new node gets for a tablet: its halves. Its number is that of the first. */
extern ShuttleLayout *shuttle_split_parts(const ShuttleTablet *tablet, Oid target);

/* True if tablets are split. */
extern bool shuttle_split_is(const ShuttleMove *move);

/* Errors: what forbids it. */
extern void shuttle_split_check(const ShuttleMove *move);

/* An expression, for the old node, of what is published: the rows of the tablets, as those
 * of their tables. */
extern char *shuttle_split_published(const ShuttleMove *move);

/* Notes the files of the tablets. Errors: they are not those that were noted. */
extern void shuttle_split_check_files(ShuttleMove *move);

/* Makes the halves of the tablets here. */
extern void shuttle_split_here(const ShuttleMove *move);

/* Has the halves here take over statistics from the new node. */
extern void shuttle_split_analyze(const ShuttleMove *move);

/* ---- move_nodes.c */

/* Names of the tables that are moved on the old node, separated by commas, as literals or
 * not; and of those that the new one gets for them. */
extern char *shuttle_move_names(const ShuttleMove *move, bool literals);

/* Those of the tables, as literals. */
extern char *shuttle_move_parents(const ShuttleMove *move);
extern char *shuttle_move_new_names(const ShuttleMove *move, bool literals);

/* The name of a table's tablet that is moved, with its schema, quoted. */
extern char *shuttle_move_tablet_name(const ShuttleMove *move, Oid relid);

/* The name that the new node has for a part of a table's tablet until the move is done,
 * with its schema, quoted. */
extern char *shuttle_move_new_name(const ShuttleMove *move, Oid relid, int part);

/* Analyzes the new tables, so that the node plans well at once. */
extern void shuttle_move_analyze(const ShuttleMove *move);

/* Runs one statement outside of the transaction and returns the first column of its first
 * row; NULL: there is none. Errors: those of the node. */
extern char *shuttle_move_ask(Oid serverid, const char *sql);

/* Refuses a move if the remote user cannot subscribe to the old node on the new one. */
extern void shuttle_move_check_subscription(Oid source, Oid target);

/* The same by a connection of the move. */
extern char *shuttle_move_ask_side(const ShuttleMove *move, Oid serverid, const char *sql);

/* The same of a query that has one row. Errors: ERRCODE_PROTOCOL_VIOLATION. */
extern char *shuttle_move_need_side(const ShuttleMove *move, Oid serverid, const char *sql);

/* Makes the publication, and has the old node write what identifies changed rows. Errors:
 * ERRCODE_LOCK_NOT_AVAILABLE. */
extern void shuttle_move_publish(ShuttleMove *move);

/* Begins the copy; true when all rows are there. Errors: the copy has failed, or the new
 * node could not follow. */
extern void shuttle_move_copy(ShuttleMove *move);
extern bool shuttle_move_is_copied(const ShuttleMove *move);

/* Bytes that a node has of tables of those names, literals, with indexes; while they are
 * copied, too. */
extern int64 shuttle_move_bytes(const ShuttleMove *move, Oid serverid, const char *names);

/* Has the new node follow what is written on the old one, or not. */
extern void shuttle_move_follow(const ShuttleMove *move, bool follow);

/* The end of the old node's log; and if the new node has all up to there. */
extern char *shuttle_move_log_end(const ShuttleMove *move);
extern bool shuttle_move_has_all(const ShuttleMove *move, const char *log_end, int64 except_bytes);

/* Locks the tables on the old node against all, in the local transaction. */
extern void shuttle_move_lock_source(const ShuttleMove *move);

/* Stops the subscription on the new node and notes which slots it has. */
extern void shuttle_move_stop_copy(ShuttleMove *move);

/* Removes subscription, slot and publication, and gives the old table its identity back. Servers that are not valid are left out. */
extern void shuttle_move_end_copy(ShuttleMove *move);

/* The same, and the half copied tables. Does nothing where nothing is. */
extern void shuttle_move_undo(ShuttleMove *move);

/* ---- move_checks.c */

/* Raises an error that a node forbids the move. */
pg_noreturn extern void shuttle_move_refuse_node(Oid serverid, const char *detail, const char *hint);

/* Errors: settings and privileges of the nodes that forbid it. */
extern void shuttle_move_check_nodes(Oid source, Oid target);

/* Errors: tables whose changes cannot be followed on another node. */
extern void shuttle_move_check_tables(const List *relids, Oid source);

/* The same: columns of one without a key. generated: the first generated one; NULL: none. */
extern void shuttle_move_check_whole_rows(Oid relid, Oid source, const char *generated);

/* Raises an error that a table cannot be moved. */
pg_noreturn extern void shuttle_move_refuse_table(Oid relid, const char *detail, const char *hint);

/* ---- move_remains.c */

/* Adds a row for each node that has something of a move that was interrupted. */
extern void shuttle_move_check_remains(ShuttleCheck *check);

/* ---- move_table.c */

/* The same of moves of ordinary foreign tables. */
extern void shuttle_move_check_left_tables(ShuttleCheck *check);

#endif							/* SHUTTLE_TABLETS_MOVE_MOVE_H */

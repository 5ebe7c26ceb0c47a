/*-------------------------------------------------------------------------
 * distribute.h
 *	  What the files that distribute tables and bring them back share.
 *
 * In: a table, perhaps a column. Out: an error that has not been raised, which
 * distribute_table() and reference_table() raise and advise() shows; and what the
 * view shuttle.progress shows of their work.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DISTRIBUTE_H
#define SHUTTLE_TABLETS_DISTRIBUTE_H

#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "tablets/tablets_internal.h"

/* ---- distribute_checks.c */

/* An error that has not been raised. */
typedef struct ShuttleRefusal
{
	int			code;			/* SQLSTATE */
	const char *message;
	const char *detail;			/* or NULL */
	const char *hint;			/* or NULL */
} ShuttleRefusal;

extern ShuttleRefusal *shuttle_refusal(int code, const char *message,
									   const char *detail, const char *hint);

/* Locks a table for itself. Errors: 42501, before it waits, if the caller does not
 * own the table. */
extern void shuttle_lock_owned(Oid relid);

/* True of tables that belong to this extension. */
extern bool shuttle_is_extension_table(Oid relid);

/* Raises a refusal; NULL: does nothing. */
extern void shuttle_refusal_raise(const ShuttleRefusal *refusal);

/* The four checks return NULL if nothing is to be refused: a table of another
 * owner, or one that is distributed or a reference table already; */
extern ShuttleRefusal *shuttle_refuse_taken(Relation rel);

/*
 * what cannot be distributed by that column.
 * key: NULL if the column is not chosen yet.
 * group: tables that are distributed together with this one, OIDs;
 */
extern ShuttleRefusal *shuttle_refuse_distribution(Relation rel, const char *key,
												   const List *group);

/* what cannot be a reference table (reference.c). */
extern ShuttleRefusal *shuttle_refuse_reference(Relation rel);

/* ---- session_checks.c */

/*
 * An error if a node's session may decide a check constraint otherwise; else NULL.
 * only: the quoted name of the constraint to look at; NULL: all.
 */
extern ShuttleRefusal *shuttle_refuse_session_checks(Relation rel, const char *only);

/* ---- load.c */

/* The columns whose values are copied, as a list of quoted names: not generated
 * ones. */
extern char *shuttle_load_columns(Oid relid);

/* Makes one tablet, as a partition of a table that is named in SQL. */
extern void shuttle_load_make_tablet(Oid relid, const char *parent, const ShuttleTablet *tablet);

/* Errors: ERRCODE_DUPLICATE_TABLE, the name of the table's tablet is in use. */
extern void shuttle_load_check_name(Oid relid, int number);

/*
 * Runs a statement that copies rows of a table, as the table's owner and without
 * triggers. Returns the number of rows.
 * Errors: 42501 if a policy would hide rows.
 */
extern uint64 shuttle_load_run(Oid relid, const char *sql);

/*
 * Runs a statement that computes values for existing rows of a table, without triggers, with the
 * rights and the search_path of the caller: functions of defaults may rely on them. Its
 * own names must be qualified. Errors: 42501 if a policy would hide rows.
 */
extern uint64 shuttle_load_fill(Oid relid, const char *sql);

/*
 * Refuses a transaction whose snapshot may be older than the lock on a table: rows
 * that others have committed since would be lost. Errors: 25001.
 */
extern void shuttle_load_check_snapshot(void);

/* ---- bring_back.c, distribute.c: a table's tablets, as foreign tables of their own */

/* Takes all tablets from a table; returns their OIDs. */
extern List *shuttle_tablets_detach(Oid relid);

/* Gives a table the tablets that are named after it. */
extern void shuttle_tablets_attach(Oid relid, const ShuttleLayout *layout);

/* ---- distribute.c */

/*
 * Distributes a table, on which the caller holds AccessExclusiveLock, as
 * shuttle.distribute_table() does by default. Returns why it cannot be, or NULL.
 */
extern ShuttleRefusal *shuttle_distribute_try(Oid relid, const char *key);

/* ---- progress.c */

/* Numbers are those of the view. */
typedef enum ShuttleProgressCommand
{
	SHUTTLE_PROGRESS_DISTRIBUTE = 1,
	SHUTTLE_PROGRESS_REFERENCE,
	SHUTTLE_PROGRESS_LOCAL,
	SHUTTLE_PROGRESS_MOVE
} ShuttleProgressCommand;

typedef enum ShuttleProgressPhase
{
	SHUTTLE_PROGRESS_TABLES = 1,
	SHUTTLE_PROGRESS_ROWS,
	SHUTTLE_PROGRESS_KEYS,
	SHUTTLE_PROGRESS_ANALYZE,
	SHUTTLE_PROGRESS_FOLLOW,
	SHUTTLE_PROGRESS_CHANGE,
	SHUTTLE_PROGRESS_CLEAN
} ShuttleProgressPhase;

/* What is shown of tablets that move. */
typedef struct ShuttleMoveProgress
{
	Oid			tablet;			/* one of them */
	int			number;			/* of the move, from 1 on */
	int			nmoves;			/* of a list */
	int64		bytes;			/* on the new node, of all of them */
	int64		estimated_bytes;	/* on the old node */
} ShuttleMoveProgress;

/* Rows and bytes of our requests are counted from here on, until
 * shuttle_progress_end(), an error, or the end of the current memory context. */
extern void shuttle_progress_start(ShuttleProgressCommand command);

/* Shows a phase of a table, which is locked. Rows are counted anew if it is
 * another table. */
extern void shuttle_progress_show(Oid relid, ShuttleProgressPhase phase);

/* Adds rows that requests do not count. */
extern void shuttle_progress_add_rows(int64 nrows);

/* Shows a move; requests are not counted. */
extern void shuttle_progress_move(const ShuttleMoveProgress *move, ShuttleProgressPhase phase);

extern void shuttle_progress_end(void);

#endif							/* SHUTTLE_TABLETS_DISTRIBUTE_H */

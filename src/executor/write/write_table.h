/*-------------------------------------------------------------------------
 * write_table.h
 *	  What must be known of a remote table before its rows are written: its
 *	  columns, which row is meant, and whether triggers may interfere.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_WRITE_TABLE_H
#define SHUTTLE_EXECUTOR_WRITE_WRITE_TABLE_H

#include "foreign/fdwapi.h"

#include "base/shuttle_compat_explain.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- callbacks (foreign_direct.c, foreign_modify.c) */
extern void shuttle_foreign_direct_fill(FdwRoutine *routine);
extern void shuttle_foreign_modify_fill(FdwRoutine *routine);

/* Makes a ModifyTable's direct modifications be sent together
 * (foreign_direct.c). */
extern void shuttle_foreign_direct_join(ModifyTableState *node);

/* Parameters of a request: the protocol counts them in 16 bits. */
#define SHUTTLE_MAX_PARAMETERS 65535

/* ---- rows of one request (foreign_modify.c, write_sql.c) */

/* Creates a write for an operation that the plan does not have for the table;
 * in the query's context. */
extern ShuttleWrite *shuttle_foreign_modify_create_write(ModifyTableState *node, ResultRelInfo *target,
														 CmdType operation);

/* True if rows are buffered; decided when the first one comes. */
extern bool shuttle_foreign_modify_is_buffered(ShuttleWrite *write);

/* The INSERT of nrows rows with VALUES (write_sql.c). Valid until called with
 * another number of rows; with ON CONFLICT DO UPDATE until the next call. */
extern const char *shuttle_write_values_sql(ShuttleWrite *write, int nrows);

/* Tables on a node in which a DELETE acts on rows that refer to its row. */
#define SHUTTLE_CASCADING_TABLES \
	"SELECT confrelid FROM pg_catalog.pg_constraint" \
	" WHERE contype = 'f' AND confdeltype IN ('c', 'n', 'd')"

/* Makes a DELETE of rows that are moved leave them alone in such tables. */
extern void shuttle_write_guard_moved(ShuttleWrite *leaving);

/* ---- rows that are noted when they are sent (write_entries.c) */

/* Prepares a new write for such rows, of global indexes and foreign keys, and does without
 * RETURNING that only triggers would need. */
extern void shuttle_write_begin_entries(ShuttleWrite *write);

/* Notes a row that is going to be sent. */
extern void shuttle_write_note_row(ShuttleWrite *write, TupleTableSlot *slot);

/* ---- what EXPLAIN shows (explain_writes.c) */

/* Prints what was sent for a table, if EXPLAIN wants it. */
extern void shuttle_explain_write(ShuttleWrite *write, ExplainState *es);

/* Callback of ModifyTable: the same, after what postgres_fdw prints. */
extern void shuttle_explain_foreign_modify(ModifyTableState *mtstate, ResultRelInfo *target,
										   List *fdw_private, int subplan_index,
										   ExplainState *es);

/* After ExecutorFinish: prepares ModifyTables to show these in EXPLAIN. */
extern void shuttle_explain_partitions_finish(QueryDesc *query);

/* ---- columns that an INSERT leaves to the node (remote_default.c) */

/* shuttle_remote_default_omit() for rows that are routed or copied to target. */
extern List *shuttle_remote_default_omit_routed(List *fdw_private,
												const ModifyTableState *node,
												ResultRelInfo *target);

/* ---- what a node says of its table (remote_table.c) */

struct ShuttleRemoteTable
{
	bool		valid;
	bool		plain;			/* no trigger, rule or policy there changes
								 * which rows are written */
	bool		cascades;		/* a DELETE there deletes or changes rows of
								 * other tables */
	char	  **types;			/* type of each attribute's column, without
								 * length; NULL: no such column */
	bool	   *as_text;		/* sent as text and cast there */
	char	   *delimiters;		/* between elements of its arrays */
};

/* Asks the node once, without waiting. The answer is kept until it is looked
 * for. snapshot: as in shuttle_request_send(). */
extern void shuttle_remote_table_ask(Relation rel, ShuttleNode *node,
									 uint64 snapshot);

/* A transaction has ended: what was asked for in it, and was not read, is asked for again. */
extern void shuttle_remote_table_end_transaction(void);

/* True if the table is known, or the answer is under way. */
extern bool shuttle_remote_table_is_asked(Relation rel, ShuttleNode *node);

/* What is known without waiting; NULL: nothing yet. */
extern const ShuttleRemoteTable *shuttle_remote_table_look(Relation rel,
														   ShuttleNode *node);

/* Makes the next caller ask the node again. */
extern void shuttle_remote_table_forget(Oid relid, ShuttleNode *node);

/*
 * The node's description of the table; asks if needed, and waits. Valid until
 * the next command that changes the foreign table, so for one flush. Errors:
 * those of the node.
 */
extern ShuttleRemoteTable *shuttle_remote_table_read(Relation rel,
													 ShuttleNode *node,
													 uint64 snapshot);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_TABLE_H */

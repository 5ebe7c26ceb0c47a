/*-------------------------------------------------------------------------
 * write_table.h
 *	  What has to be known of a remote table before its rows are written: its
 *	  columns, which row is meant, and whether triggers may do more.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_WRITE_TABLE_H
#define SHUTTLE_EXECUTOR_WRITE_WRITE_TABLE_H

#include "foreign/fdwapi.h"

#include "base/shuttle_compat_explain.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- callbacks (foreign_routine.c and the files it names) */
extern void shuttle_foreign_direct_fill(FdwRoutine *routine);
extern void shuttle_foreign_modify_fill(FdwRoutine *routine);

/* ---- rows that are changed by name (target_rows.c) */
extern ShuttleTargetRows *shuttle_target_rows_create(const char *table_name,
													 MemoryContext cxt);

/* Turns the ctid that a plan has of a row back into that of the node, and
 * returns the row's table there; InvalidOid: not known. */
extern Oid	shuttle_target_rows_decode(const ShuttleTargetRows *rows,
									   ItemPointer ctid);

/* Raises that more rows were changed than were named (trap 22). */
extern void shuttle_write_refuse_several(ShuttleWrite *write, uint64 nrows);

/* How a scan reads the target of an UPDATE or DELETE. */
typedef struct ShuttleTargetScan
{
	ShuttleTargetRows *rows;
	AttrNumber	ctid_column;	/* of a join's rows; 0: it is the row's own */
	const char *sql;			/* the SELECT with tableoid behind its columns */
	List	   *attributes;		/* of int: attribute of each column */
} ShuttleTargetScan;

/*
 * sql, attributes: the SELECT to be sent, and what its columns are.
 * Returns NULL where the scan does not read a target, or where postgres_fdw's
 * text is not of the known shape; in the current context.
 */
extern ShuttleTargetScan *shuttle_target_scan_create(ForeignScanState *scan,
													 const char *sql,
													 List *attributes);

/* Changes a decoded row's ctid so that it also tells the row's table. */
extern void shuttle_target_scan_name_row(ShuttleTargetScan *target,
										 HeapTuple tuple, TupleDesc desc);

/* Of one request; the protocol counts them in 16 bits. */
#define SHUTTLE_MAX_PARAMETERS 65535

/* ---- rows of one request (foreign_modify.c) */

/* Makes a write of a table for which the plan has none of that operation; in the
 * query's context. */
extern ShuttleWrite *shuttle_write_create(ModifyTableState *node, ResultRelInfo *target,
										  CmdType operation);

/* True where rows are to be buffered, as is decided when the first one comes. */
extern bool shuttle_write_is_buffered(ShuttleWrite *write);

/*
 * The INSERT of nrows rows with VALUES (write_sql.c).  Lives until it is asked for
 * another number of rows, or with ON CONFLICT DO UPDATE.
 */
extern const char *shuttle_write_values_sql(ShuttleWrite *write, int nrows);

/* ---- what EXPLAIN shows of rows that are routed (explain_routed.c) */

/* Behind ExecutorFinish: has ModifyTables explain these. */
extern void shuttle_explain_routed_finish(QueryDesc *query);

/* Prints what a table's write sent, where EXPLAIN wants that. */
extern void shuttle_write_explain(ShuttleWrite *write, ExplainState *es);

/* ---- columns that an INSERT leaves to the node (remote_default.c) */

/* shuttle_remote_default_omit() for rows that are routed or copied to target. */
extern List *shuttle_remote_default_omit_routed(List *fdw_private,
												const ModifyTableState *node,
												ResultRelInfo *target);

/* ---- what a node says of its table (remote_table.c) */

struct ShuttleRemoteTable
{
	bool		valid;
	bool		plain;			/* no trigger, rule or policy changes which
								 * rows a write writes */
	char	  **types;			/* of the column of each attribute, without a
								 * length; NULL: there is none */
	bool	   *as_text;		/* travels as text and is cast there */
	char	   *delimiters;		/* between the elements of its arrays */
};

/* Asks the node, if it was not asked yet, without waiting.  The answer stays
 * until somebody looks for it.  snapshot: as of shuttle_request_send(). */
extern void shuttle_remote_table_ask(Relation rel, ShuttleNode *node,
									 uint64 snapshot);

/* True where something is known, or will be by what is on its way. */
extern bool shuttle_remote_table_is_asked(Relation rel, ShuttleNode *node);

/* What is known without waiting; NULL: nothing, yet. */
extern const ShuttleRemoteTable *shuttle_remote_table_look(Relation rel,
														   ShuttleNode *node);

/* The node is to be asked again. */
extern void shuttle_remote_table_forget(Oid relid, ShuttleNode *node);

/* What the node says; asks where it must, and waits.  Lives until the next
 * command that changes the foreign table, so for one flush.  Errors: those of
 * the node. */
extern ShuttleRemoteTable *shuttle_remote_table_read(Relation rel,
													 ShuttleNode *node,
													 uint64 snapshot);

/* ---- ModifyTable (write_run.c) */

/* Has tables that their nodes change by themselves be asked together
 * (foreign_direct.c). */
extern void shuttle_foreign_direct_join(ModifyTableState *node);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_TABLE_H */

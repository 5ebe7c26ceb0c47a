/*-------------------------------------------------------------------------
 * shuttle_executor.h
 *	  Door of the executor room: Look Ahead, served scans, and the callbacks
 *	  of foreign tables on our wrapper.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_H
#define SHUTTLE_EXECUTOR_H

#include "foreign/fdwapi.h"
#include "nodes/extensible.h"

/* ---- foreign tables on the wrapper shuttle (foreign_*.c) */

/*
 * Lays every callback that executes over a routine that plans: scans, direct
 * modify, row modify, COPY, TRUNCATE, ANALYZE, IMPORT, EXPLAIN.
 * planner: postgres_fdw's own routine, for the printing of what it planned;
 * must live as long as the session.
 */
extern void shuttle_foreign_fill_routine(FdwRoutine *routine,
										 const FdwRoutine *planner);

/* True where a routine is ours, and not postgres_fdw's. */
extern bool shuttle_foreign_is_ours(const FdwRoutine *routine);

/* True where a foreign table is the same on its node as a table that is written, or as
 * one that belongs to that. */
extern bool shuttle_write_reaches(Oid target, Oid relid);

/* ---- Look Ahead (look_ahead_plan.c, look_ahead_links.c) */

/* Whether a Look Ahead prefetches for local index scans. */
typedef enum ShuttleLocalUse
{
	SHUTTLE_LOCAL_NOT,
	SHUTTLE_LOCAL_TOO,			/* beside what it asks for */
	SHUTTLE_LOCAL_ONLY
} ShuttleLocalUse;

/* What the planner decides for one Look Ahead. */
typedef struct ShuttleLookAheadPlan
{
	int			batch_size;		/* outer rows */
	List	   *certain;		/* of int: subqueries evaluated for each row */
	List	   *conditional;	/* of int: others that it looks ahead for */
	ShuttleLocalUse local;
} ShuttleLookAheadPlan;

/*
 * Makes the plan node.  scan_targetlist describes the outer's columns for
 * EXPLAIN; targetlist hands them on unchanged.  Costs are the caller's.
 */
extern CustomScan *shuttle_look_ahead_make(Plan *outer, List *targetlist,
										   List *scan_targetlist,
										   const ShuttleLookAheadPlan *plan);

extern bool shuttle_is_look_ahead_plan(const Plan *plan);

/* Has a Look Ahead prefetch for local index scans as well. */
extern void shuttle_look_ahead_add_local(CustomScan *scan);

/* Makes a routed append over an Append; target lists as above. */
extern bool shuttle_is_routed_append_plan(const Plan *plan);
extern CustomScan *shuttle_routed_append_make(Plan *append, List *targetlist,
											  List *scan_targetlist);

/* Layout of custom_private; unpack asserts it. */
extern List *shuttle_look_ahead_pack(const ShuttleLookAheadPlan *plan);
extern void shuttle_look_ahead_unpack(const List *packed,
									  ShuttleLookAheadPlan *plan);

/* True where a foreign table's server can be asked for batches of keys; the
 * table's routine, where it is at hand, spares a look-up. */
extern bool shuttle_can_look_ahead(const FdwRoutine *routine, Oid serverid);

/* True where the server is on our wrapper; on stock postgres_fdw. */
extern bool shuttle_server_is_ours(Oid serverid);
extern bool shuttle_server_is_postgres_fdw(Oid serverid);

/* postgres_fdw's own routine; its library is loaded if it was not. */
extern const FdwRoutine *shuttle_postgres_fdw_get_routine(void);

/* True where a scan's parameters can be asked for in batches: its SELECT and
 * their types are such that a request can be made. */
extern bool shuttle_scan_can_batch(const ForeignScan *scan);

/* ---- MERGE of foreign partitions (merge_run.c) */

/* Makes the node over the plan that reads everything, and those of the actions. */
extern CustomScan *shuttle_merge_make(List *plans);

extern bool shuttle_is_merge_plan(const Plan *plan);

/* True where an aggregate in an expression takes values of parameters of the plan and
 * no column (parameters.c).  In a request for several keys these are columns of the
 * keys, and SQL takes it for an aggregate of them. */
extern bool shuttle_aggregates_values(Node *expression);

/* True where such a scan computes on the node what may fail: requests of guests
 * then run in subtransactions. */
extern bool shuttle_scan_may_fail(const ForeignScan *scan);

/* True where a plan can have a foreign scan; looks at its range table. */
extern bool shuttle_reads_foreign_table(const PlannedStmt *statement);

/* ---- scans of tables that are alike (sibling_sql.c, column_names.c) */

/* What postgres_fdw wrote for the scan of one table, in parts. */
typedef struct ShuttleScanText
{
	const char *before;			/* the table's name */
	int			before_bytes;
	const char *behind;
	int			behind_bytes;
	List	   *attributes;
	int			fetch_size;
} ShuttleScanText;

/* Takes it apart; false where it is not of the known shape, or the name is not
 * this table's.  The parts are the scan's own. */
extern bool shuttle_scan_text_split(const ForeignScan *scan, Oid serverid, Oid relid,
									ShuttleScanText *parts);

/* The private list of a scan of another table, with its name in the text. */
extern List *shuttle_scan_text_of(const ShuttleScanText *parts, Oid serverid, Oid relid);

/* SHA-256 of the names that a table's columns have on the node, by their numbers:
 * where it is the same postgres_fdw writes the same columns of two tables.  To be
 * read at once. */
#define SHUTTLE_DIGEST_BYTES 32
extern const uint8 *shuttle_columns_digest(Oid relid);

/* A scan's SELECT with unknown values for its parameters, or NULL where the
 * plan's shape is not the known one; in the current context. */
extern char *shuttle_scan_sql_without_values(const ForeignScan *scan);

/*
 * Puts a TABLESAMPLE clause behind a table's name in the scan's SELECT.
 * alias: the n of its alias rn; 0: the scan is of one table.
 * Returns false where the SELECT is not of the known shape.
 */
extern bool shuttle_scan_add_sample(ForeignScan *scan, int alias,
									const char *clause);

/* ---- columns that an INSERT leaves to the node (remote_default.c) */

/*
 * The private list of an INSERT into a foreign table without the columns that it
 * may leave to the node and that are not in named (of int: attributes).
 */
extern List *shuttle_remote_default_omit(List *fdw_private, Relation rel,
										 const Bitmapset *named);

/* Says in the plan of an INSERT into a partitioned table which columns have a
 * value (of int: attributes). */
extern void shuttle_remote_default_attach(ModifyTable *plan, List *named);

/* ---- INSERT ... ON CONFLICT (write_conflict.c) */

/*
 * Gives a finished plan a clause that core does not know of.  Its Vars are of
 * relation target and of the clause's exclRelIndex; parameters are the
 * expressions that its external Params stand for, from 1 on.
 */
extern void shuttle_on_conflict_attach(ModifyTable *plan, OnConflictExpr *clause,
									   Index target, List *parameters);

/* Refuses DO UPDATE where a table here has triggers that would have to fire. */
extern void shuttle_on_conflict_check_triggers(Relation rel,
											   const TriggerDesc *triggers);

/* ---- partial aggregates (foreign_aggregate.c) */

/* How the state of a partial aggregate is made of a node's answer. */
typedef enum ShuttleStateKind
{
	SHUTTLE_STATE_AS_IS,		/* it is the answer */
	SHUTTLE_STATE_INT_AVERAGE,	/* of count, sum: int8[] */
	SHUTTLE_STATE_FLOAT_SQUARES,	/* of count, sum, variance: float8[] */
	SHUTTLE_STATE_INTERVAL_AVERAGE, /* of count, sum: interval[], until 16 */
	SHUTTLE_STATE_INT_SUM,		/* of count, sum: bytea, as the others */
	SHUTTLE_STATE_INT_SQUARES,	/* of count, sum, sum of squares */
	SHUTTLE_STATE_NUMERIC_SUM,	/* of count, sum */
	SHUTTLE_STATE_NUMERIC_SQUARES,	/* of count, sum, sum of squares */
	SHUTTLE_STATE_INTERVAL_SUM, /* of count, sum; since 17 */
	SHUTTLE_STATE_ARRAY,		/* of an array of the values: an aggregate of
								 * ours (collected.c), as the next */
	SHUTTLE_STATE_TEXT			/* of string_agg() with a constant delimiter */
} ShuttleStateKind;

/*
 * Tells a scan of ours which columns of its rows are states that it computes.
 * states: of lists of int: ShuttleStateKind, the column, and the columns that it
 * is made of, from 1.
 * Returns false where the plan is not of the known shape.
 */
extern bool shuttle_scan_add_states(ForeignScan *scan, List *states);

/* True where a scan has states that only aggregates of ours combine. */
extern bool shuttle_scan_collects(const ForeignScan *scan);

/* ---- UPDATE and DELETE that nodes join (keyed_write.c) */

typedef struct ShuttleKeyedPlan
{
	CmdType		operation;
	bool		set_processed;
	bool		names_table;	/* the last column of a row is its table */
	List	   *values;			/* expressions over the source's rows */
	List	   *targets;		/* for each table that is changed: its index
								 * in the range table, the values that are its
								 * parameters (from 0), and what postgres_fdw
								 * has planned */
	List	   *routes;			/* for each partitioned table: its index, and
								 * the values of its partition key; NIL: all
								 * keys go to all tables */
} ShuttleKeyedPlan;

/*
 * Makes the plan node, whose custom_exprs are the values.  scan_targetlist:
 * the source's columns, and the table's oid where names_table says so; relids:
 * of all tables.  Costs are the caller's.
 */
extern CustomScan *shuttle_keyed_write_make(Plan *source, List *targetlist,
											List *scan_targetlist, Relids relids,
											const ShuttleKeyedPlan *plan);

extern bool shuttle_is_keyed_write_plan(const Plan *plan);

/* Registers plan nodes and installs hooks; called by _PG_init. */
extern void shuttle_executor_init(void);

/* ---- tables with a copy on several nodes (reference_writes.c) */

/* Errors: ERRCODE_FEATURE_NOT_SUPPORTED where the foreign table is one. */
extern void shuttle_refuse_reference_write(Oid relid);

/* ---- stable values (sure_values.c) */

/* True of an expression without columns that can be computed before it is known
 * whether it is needed: it raises no error and does nothing else. */
extern bool shuttle_is_sure_value(Node *expression);

#endif							/* SHUTTLE_EXECUTOR_H */

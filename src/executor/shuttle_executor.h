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

/* Registers plan nodes and installs hooks; called by _PG_init. */
extern void shuttle_executor_init(void);

/* ---- foreign tables and their servers (foreign_routine.c, remote_names.c,
 * server_kind.c, postgres_fdw_routine.c) */

/*
 * Replaces those callbacks of a copy of postgres_fdw's routine that execute
 * something: scans, direct modify, row modify, COPY, TRUNCATE, ANALYZE, IMPORT,
 * EXPLAIN. planner: postgres_fdw's routine itself, whose EXPLAIN ours calls; it
 * must live as long as the session.
 */
extern void shuttle_foreign_fill_routine(FdwRoutine *routine,
										 const FdwRoutine *planner);

/* True if a foreign table is the same remote table as target or one of its
 * children. */
extern bool shuttle_remote_write_reaches(Oid target, Oid relid);

/* True if the server is on our wrapper; or on stock postgres_fdw. */
extern bool shuttle_server_is_ours(Oid serverid);
extern bool shuttle_server_is_postgres_fdw(Oid serverid);

/* postgres_fdw's own routine; loads its library. */
extern const FdwRoutine *shuttle_postgres_fdw_get_routine(void);

/* ---- copies of reference tables (copied_joins.c) */

/* True if plans may read copies in place of reference tables now. */
extern bool shuttle_copied_joins_are_allowed(void);

/* Keeps the query in a plan that reads copies, for when they must not
 * be read any more. */
extern void shuttle_copied_join_keep_query(PlannedStmt *statement, Query *query);

/* ---- Look Ahead and routed append (look_ahead_plan.c, routed_append.c) */

/* Whether a Look Ahead prefetches pages of local index scans. */
typedef enum ShuttleLocalUse
{
	SHUTTLE_LOCAL_NOT,
	SHUTTLE_LOCAL_TOO,			/* in addition to asking for keys */
	SHUTTLE_LOCAL_ONLY
} ShuttleLocalUse;

/* What the planner decides for one Look Ahead. */
typedef struct ShuttleLookAheadPlan
{
	int			batch_size;		/* outer rows */
	List	   *certain;		/* ints: plan_ids of SubPlans evaluated for
								 * each row */
	List	   *conditional;	/* ints: plan_ids of SubPlans that may be
								 * skipped */
	ShuttleLocalUse local;
} ShuttleLookAheadPlan;

/* Makes the plan node. scan_targetlist: the outer columns, for EXPLAIN;
 * targetlist returns them unchanged. The caller sets costs. */
extern CustomScan *shuttle_look_ahead_make(Plan *outer, List *targetlist,
										   List *scan_targetlist,
										   const ShuttleLookAheadPlan *plan);

/* Makes a Look Ahead prefetch for local index scans, too. */
extern void shuttle_look_ahead_add_local(CustomScan *scan);

/* Makes a routed append over an Append; target lists as above. */
extern CustomScan *shuttle_routed_append_make(Plan *append, List *targetlist,
											  List *scan_targetlist);

/* Layout of custom_private; unpack asserts it. */
extern List *shuttle_look_ahead_pack(const ShuttleLookAheadPlan *plan);
extern void shuttle_look_ahead_unpack(const List *packed,
									  ShuttleLookAheadPlan *plan);

/* ---- what a routine or a plan node is (server_kind.c, node_names.c) */

/* True if a routine is ours, not postgres_fdw's. */
extern bool shuttle_server_routine_is_ours(const FdwRoutine *routine);

extern bool shuttle_node_is_look_ahead_plan(const Plan *plan);
extern bool shuttle_node_is_routed_append_plan(const Plan *plan);
extern bool shuttle_node_is_merge_plan(const Plan *plan);
extern bool shuttle_node_is_keyed_write_plan(const Plan *plan);
extern bool shuttle_node_is_routed_statement_plan(const Plan *plan);

/* True if a plan's range table has a foreign table. */
extern bool shuttle_reads_foreign_table(const PlannedStmt *statement);

/* ---- finished plans (plan_facts.c) */

/*
 * Where a plan node keeps its n-th child: 0 is its outer and 1 its inner plan,
 * either may be NULL; then its other children. Returns NULL after the last.
 */
extern Plan **shuttle_plan_child(Plan *plan, int n);

/* True if a node scans a local table. */
extern bool shuttle_plan_scans_local_table(const Plan *plan);

/* ---- batches of keys (server_kind.c, look_ahead_links.c, parameters.c) */

/* True if a foreign table's server can be asked for batches of keys. routine:
 * the table's, which saves a look-up; or NULL. */
extern bool shuttle_server_can_look_ahead(const FdwRoutine *routine, Oid serverid);

/* True if a scan can be asked for batches of keys: its SELECT and parameter
 * types allow such a request. */
extern bool shuttle_look_ahead_scan_can_batch(const ForeignScan *scan);

/* True if the scan's SELECT can raise errors: stock postgres_fdw's requests
 * then run in subtransactions. */
extern bool shuttle_look_ahead_scan_may_fail(const ForeignScan *scan);

/*
 * True if an expression has an aggregate over parameters and no column. In a
 * request for several keys the parameters become columns of the keys, and SQL
 * would aggregate over the keys.
 */
extern bool shuttle_parameters_are_aggregated(Node *expression);

/* ---- the SELECT of a scan (batch_sql.c, foreign_sample.c) */

/* A scan's SELECT with placeholders of unknown value for its parameters; NULL
 * if the plan's shape is unknown. In the current context. */
extern char *shuttle_batch_sql_without_values(const ForeignScan *scan);

/*
 * Adds a TABLESAMPLE clause to a scan's SELECT. alias: n of the table's alias
 * rn; 0: the scan has one table. Returns false if the SELECT's shape is
 * unknown.
 */
extern bool shuttle_foreign_sample_add(ForeignScan *scan, int alias,
									   const char *clause);

/* ---- scans of tables that are alike (sibling_sql.c, column_names.c) */

/* postgres_fdw's SELECT of one table, split at the table's name. */
typedef struct ShuttleScanText
{
	const char *before;			/* text before the table's name */
	int			before_bytes;
	const char *behind;
	int			behind_bytes;
	List	   *attributes;
	int			fetch_size;
} ShuttleScanText;

/* Splits it; false if its shape is unknown or it names another table. The parts
 * point into the scan. */
extern bool shuttle_sibling_sql_split(const ForeignScan *scan, Oid serverid, Oid relid,
									  ShuttleScanText *parts);

/* The private list of the same scan of another table. */
extern List *shuttle_sibling_sql_of(const ShuttleScanText *parts, Oid serverid, Oid relid);

/* The names of a table's columns on its node, as one text: if it is equal,
 * postgres_fdw deparses columns of two tables equally. Valid until the next
 * call. */
extern const char *shuttle_column_names(Oid relid);

/* ---- columns that an INSERT leaves to the node (remote_default.c) */

/* The private list of an INSERT without columns that may be left to the node
 * and that the statement does not name (named: attributes). */
extern List *shuttle_remote_default_omit(List *fdw_private, Relation rel,
										 const Bitmapset *named);

/* Notes in the plan of an INSERT into a partitioned table which columns have a
 * value (named: ints, attributes). */
extern void shuttle_remote_default_attach(ModifyTable *plan, List *named);

/* ---- INSERT ... ON CONFLICT (on_conflict.c) */

/*
 * Attaches the clause to a finished plan. Its Vars belong to relation target
 * and to exclRelIndex; parameters: the expressions of its PARAM_EXTERNs, from
 * 1; row_values: those of the PARAM_EXTERNs after these, evaluated for each row,
 * with Vars of exclRelIndex.
 */
extern void shuttle_on_conflict_attach(ModifyTable *plan, OnConflictExpr *clause,
									   Index target, List *parameters,
									   List *row_values);

/* ---- partial aggregates (foreign_aggregate.c, postgres_fdw_private.c) */

/* How the state of a partial aggregate is made from a node's answer. */
typedef enum ShuttleStateKind
{
	SHUTTLE_STATE_AS_IS,		/* the answer is the state */
	SHUTTLE_STATE_INT_AVERAGE,	/* of count, sum: int8[] */
	SHUTTLE_STATE_FLOAT_SQUARES,	/* of count, sum, variance: float8[] */
	SHUTTLE_STATE_INTERVAL_AVERAGE, /* of count, sum: interval[], until 16 */
	SHUTTLE_STATE_INT_SUM,		/* of count, sum: bytea, as the others */
	SHUTTLE_STATE_INT_SQUARES,	/* of count, sum, sum of squares */
	SHUTTLE_STATE_NUMERIC_SUM,	/* of count, sum */
	SHUTTLE_STATE_NUMERIC_SQUARES,	/* of count, sum, sum of squares */
	SHUTTLE_STATE_INTERVAL_SUM, /* of count, sum; since 17 */
	SHUTTLE_STATE_ARRAY,		/* of array_agg(): for our own aggregates
								 * (collected.c); also the next */
	SHUTTLE_STATE_TEXT			/* of string_agg() with a constant delimiter */
} ShuttleStateKind;

/*
 * Tells a scan which columns are states that it computes. states: lists of int:
 * ShuttleStateKind, the column, and its source columns, from 1. Returns false
 * if the plan's shape is unknown.
 */
extern bool shuttle_postgres_fdw_add_scan_states(ForeignScan *scan, List *states);

/* True if a scan has states that only our aggregates combine. */
extern bool shuttle_foreign_aggregate_collects(const ForeignScan *scan);

/* ---- UPDATE and DELETE joined by nodes (keyed_write.c) */

typedef struct ShuttleKeyedPlan
{
	CmdType		operation;
	bool		set_processed;
	bool		names_table;	/* the last column of a row is tableoid */
	List	   *values;			/* expressions over the source's rows */
	List	   *targets;		/* for each target table: its range table
								 * index, indexes of the values that are its
								 * parameters, and postgres_fdw's plan */
	List	   *routes;			/* for each partitioned table: its range table
								 * index, and indexes of the values of its
								 * partition key; NIL: all keys go to all
								 * tables */
} ShuttleKeyedPlan;

/*
 * Makes the plan node; its custom_exprs are the values. scan_targetlist: the
 * source's columns, then tableoid if names_table; relids: all tables. The
 * caller sets costs.
 */
extern CustomScan *shuttle_keyed_write_make(Plan *source, List *targetlist,
											List *scan_targetlist, Relids relids,
											const ShuttleKeyedPlan *plan);

/* ---- MERGE of foreign partitions (merge_run.c) */

/* Makes the node over the plan that reads everything and the actions' plans. */
extern CustomScan *shuttle_merge_make(List *plans);

/* ---- tables with a copy on several nodes (reference_writes.c) */

/* Errors: ERRCODE_FEATURE_NOT_SUPPORTED if the foreign table is a reference
 * table. */
extern void shuttle_reference_write_refuse(Oid relid);

/* ---- statements for one node (routed_statement.c, routed_keys.c) */

typedef struct ShuttleRoutedPlan
{
	const char *sql;			/* parameters are $1, $2, ... */
	List	   *tablet_sql;		/* the same over tablets of one number: a list
								 * of parts, Strings, and one of the tables
								 * whose tablets are named between them; NIL:
								 * there is none */
	List	   *values;			/* their expressions */
	List	   *relids;			/* Oid of each distributed table */
	List	   *keys;			/* and its key, an expression without columns */
	Oid			userid;			/* whose mapping is used; 0: the current
								 * user's */
	int			effect;			/* ShuttleEffect */
	CmdType		command;
	bool		set_processed;
	double		expected_rows;
	bool		certain;		/* they are the most that can come */
	bool		reads_copies;	/* of reference tables */
	bool		one_node;		/* equal keys are on one node, and all are
								 * equal */
	Query	   *query;			/* to plan again; NULL: it is never needed */
	uint64		number;			/* given when it is made; its copies share it */
} ShuttleRoutedPlan;

/* Makes the plan node; the caller sets its columns, rows and costs. */
extern CustomScan *shuttle_routed_statement_make(const ShuttleRoutedPlan *plan);

/* Its query, which may have to be planned again; or NULL. */
extern Query *shuttle_routed_query(const CustomScan *scan);

/* True if the table's partitions are found by a key of this type. */
extern bool shuttle_routed_key_fits(Oid relid, Oid type);

/* True of a NULL, which stands for the key of a table that is whole on one server, if the
 * statement has none; no row has it. */
static inline bool
shuttle_routed_is_any_key(const Expr *key)
{
	return IsA(key, Const) && ((const Const *) key)->constisnull;
}

/* False if these keys of tables are constants of several nodes. */
extern bool shuttle_routed_keys_meet(const List *relids, const List *keys);

/* True while a routed statement is planned again, by core. */
extern bool shuttle_routed_is_switched_off(void);

/* ---- calls that one node executes (executor/router) */

/* Makes the plan node of a statement that only calls a function. sql: the
 * statement for the node; values: the arguments; key: the number of the one with the
 * distribution key. The caller adds core's plan of it as the child. */
extern CustomScan *shuttle_call_make(Oid routine, const char *sql, List *values, int key);

/* A routine's name with its schema, quoted. */
extern char *shuttle_call_name(Oid routine);

/* A type's name for the call's text; without a length it means any length. */
extern char *shuttle_call_type_name(Oid type, int32 typmod);

/* Set by the planner room: as shuttle_text_order_servers_are_alike(). */
extern bool (*shuttle_nodes_sort_alike) (const List *servers, Oid userid, Oid type, Oid collation);

/* ---- stable values (safe_values.c) */

/* True of an expression without columns that can be computed before it is known
 * to be needed: it cannot raise errors and has no side effects. */
extern bool shuttle_safe_value_is_safe(Node *expression);

/* ---- types (call_functions.c) */

/* True of types whose values mean the same on a node. */
extern bool shuttle_call_type_is_alike(Oid type);

#endif							/* SHUTTLE_EXECUTOR_H */

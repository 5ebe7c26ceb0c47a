/*-------------------------------------------------------------------------
 * executor_internal.h
 *	  What the callbacks of foreign tables share within the executor room.
 *-------------------------------------------------------------------------
 */
#ifndef EXECUTOR_INTERNAL_H
#define EXECUTOR_INTERNAL_H

#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "utils/resowner.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "storage/shuttle_storage.h"

/* ---- callbacks (foreign_routine.c and the files it names) */

/* postgres_fdw's own routine; set with the first routine of ours. */
extern const FdwRoutine *shuttle_peer_routine;

extern void shuttle_foreign_scan_fill(FdwRoutine *routine);
extern void shuttle_foreign_direct_fill(FdwRoutine *routine);
extern void shuttle_foreign_modify_fill(FdwRoutine *routine);
extern void shuttle_foreign_truncate_fill(FdwRoutine *routine);
extern void shuttle_foreign_analyze_fill(FdwRoutine *routine);
extern void shuttle_foreign_import_fill(FdwRoutine *routine);
extern void shuttle_foreign_async_fill(FdwRoutine *routine);

/* ---- rows that are sure to be needed (row_need.c) */

typedef enum ShuttleNeedKind
{
	SHUTTLE_NEED_RUN,			/* so many as a run takes and has not got */
	SHUTTLE_NEED_LIMIT,			/* so many as a LIMIT has not got */
	SHUTTLE_NEED_HELD,			/* fewer by those that a Look Ahead holds */
	SHUTTLE_NEED_PART,			/* one, where not all are needed above */
	SHUTTLE_NEED_ONE
} ShuttleNeedKind;

/* What a node above does to the number of rows that are needed. */
typedef struct ShuttleNeedStep
{
	ShuttleNeedKind kind;
	PlanState  *node;
	double		rows;			/* of a run */
	const struct ShuttleNeedStep *above;	/* NULL: all rows are needed */
} ShuttleNeedStep;

/* All steps above a node. */
typedef struct ShuttleRowNeed ShuttleRowNeed;

/* Keeps steps for the rest of the query, in place of old ones; NULL of none. */
extern ShuttleRowNeed *shuttle_row_need_copy(ShuttleRowNeed *old,
											 const ShuttleNeedStep *last,
											 EState *estate);

/* Rows that the node will surely be asked for still, or else be at its end, this
 * one included; INFINITY: all, also of NULL. */
extern double shuttle_rows_needed(const ShuttleRowNeed *need);

/* True where a join surely makes at most one row of each outer row. */
extern bool shuttle_join_gives_one(const JoinState *join);

/* True where a foreign scan's SELECT gives one row at most. */
extern bool shuttle_scan_gives_one(const ForeignScanState *node);

/* True where a Limit takes the first row of its child, and no other. */
extern bool shuttle_limit_takes_one(const PlanState *node);

/* ---- foreign scans (foreign_scan.c) */

/* What is started once the plan has computed something (early_start.c). */
typedef struct ShuttleLaterStart ShuttleLaterStart;

/* The storage node of a scan, for the user that the scan runs as. */
extern ShuttleNode *shuttle_foreign_scan_node(ForeignScanState *scan);

/* What the scan's SELECT does on its node. */
extern ShuttleEffect shuttle_foreign_scan_effect(ForeignScanState *scan);

/*
 * Bounds of a scan's pages, by the options of its tables and their server: a
 * table's wins, and in a join the largest.  Rows of a page are fetch_size where
 * shuttle_fetch_limit is not set.  What is not set is the setting's.
 */
extern ShuttlePageLimits shuttle_foreign_page_limits(ForeignScanState *scan);

/*
 * What the rows of a scan's answer are decoded into: the scan's row type,
 * with the type of a table in place of a whole row's RECORD.
 */
extern TupleDesc shuttle_foreign_scan_desc(ForeignScanState *scan);

/* A decoder of the scan's rows (scan_decoder.c); attributes and first_column as
 * of shuttle_decoder_create(). */
extern ShuttleDecoder *shuttle_foreign_scan_decoder(ForeignScanState *scan,
													List *attributes,
													int first_column,
													MemoryContext owner);

/* ---- states of partial aggregates (foreign_aggregate.c) */

/* Has a scan's decoder compute the columns that shuttle_scan_add_states() added
 * to the plan, if any. */
extern void shuttle_foreign_states_add(ShuttleDecoder *decoder,
									   const ForeignScan *plan,
									   MemoryContext owner);

/*
 * A part of string_agg() as our aggregate reads it.  delimiter: NULL: none.
 * Both are texts, or bytea, without compression.
 */
extern bytea *shuttle_collected_text(const struct varlena *delimiter,
									 const struct varlena *text);

/* Number of the local snapshot that an executor run reads under. */
extern uint64 shuttle_foreign_snapshot(EState *estate);

/* True where the scan was not sent, only reads, and needs nothing that the
 * plan has yet to compute: it can be sent at any time. */
extern bool shuttle_foreign_scan_can_start(ForeignScanState *scan);

/* True for a scan, not sent either, that locks rows of a table which its statement
 * changes, and needs nothing that the plan has yet to compute. */
extern bool shuttle_foreign_scan_is_target(ForeignScanState *scan);

/*
 * True where it waits for uncorrelated subqueries only, whose values it sends as
 * they are; has_params: they have all run.
 */
extern bool shuttle_foreign_scan_awaits_params(ForeignScanState *scan);
extern bool shuttle_foreign_scan_has_params(ForeignScanState *scan);

/* When it is sent because its rows are wanted, others may be started. */
extern void shuttle_foreign_scan_set_later(ForeignScanState *scan,
										   ShuttleLaterStart *later);

/* Scans that are merged with it: where it has to ask for more rows, those ask as
 * well that will soon have to. */
extern void shuttle_foreign_scan_read_beside(ForeignScanState *scan, List *scans);

/*
 * Whoever reads a row of the scan will read all of them, so that more than a
 * page may be locked at a time; and all of the scans together, those of other
 * kinds left out, so that they may be sent with it.
 */
extern void shuttle_foreign_scan_read_whole(ForeignScanState *scan, List *together);

/*
 * Rows that the plan above will take of a scan of ours, from now on; 0: all.
 * Other scans are left alone.
 * need: what says how many are sure to be needed, while it locks rows.
 */
extern void shuttle_foreign_scan_set_goal(ForeignScanState *scan, double rows,
										  const ShuttleNeedStep *need);

/* Has a scan of ours pause where it is read ahead and has no row here; false of
 * another scan. */
extern bool shuttle_foreign_scan_pause(ForeignScanState *scan);

/*
 * Rows that the plan can never ask for more of, without its offset; 0: any
 * number.  They are shipped as LIMIT where no filter is left here.  The second
 * function says what is shipped.
 */
extern void shuttle_foreign_scan_set_bound(ForeignScanState *scan, double rows);
extern double shuttle_foreign_scan_bound(const ForeignScanState *scan);

/*
 * Sends a scan's request if it was not sent, without waiting.
 * nest_level: of the transaction that it belongs to; 0: the current one.
 * ahead: the plan might never read it.
 */
extern void shuttle_foreign_scan_send(ForeignScanState *scan, int nest_level, bool ahead);

/*
 * Runs the scan's node without waiting: its next row, or an empty slot or NULL
 * at the end, or where *pending says that no row is here yet.  The first call
 * after the request was sent is always pending, as an asynchronous request of
 * postgres_fdw is.
 */
extern TupleTableSlot *shuttle_foreign_scan_try(ForeignScanState *scan, bool *pending);

/* The request of a scan that was sent. */
extern ShuttleRequest *shuttle_foreign_scan_request(ForeignScanState *scan);

/* ---- rows that may not be needed (read_ahead.c) */

/* True while an outer row is read that the plan may stop in front of. */
extern bool shuttle_is_reading_ahead(void);

/*
 * Ends reading ahead, in front of a request that may fail.  The nodes below the
 * Look Ahead are called again when the row is needed.
 */
pg_noreturn extern void shuttle_pause(void);

/* ---- row locks (foreign_locks.c) */

/*
 * The SELECT that the scan sends: postgres_fdw's, with the locks that the
 * statement asks for.
 * Errors: the tables of a join are to be locked in different ways.
 */
extern const char *shuttle_foreign_scan_sql(ForeignScanState *scan);

/* Explains the scan as postgres_fdw does, with the SELECT as it is sent. */
extern void shuttle_foreign_scan_explain(ForeignScanState *scan,
										 ExplainState *es);

/* ---- what EXPLAIN shows of nodes (explain_remote.c) */

/* The different statements that a plan node sent to a node for one table, each
 * with its last values. */
typedef struct ShuttleAsked ShuttleAsked;

/* Keeps a statement that is sent, in memory of owner. */
extern void shuttle_asked_keep(ShuttleAsked **asked, const ShuttleStatement *sent,
							   MemoryContext owner);

/* The same in the query's memory, where its plan may be printed with nodes' own
 * plans; *asked is NULL at first. */
static inline void
shuttle_asked_note(ShuttleAsked **asked, const ShuttleStatement *sent, EState *estate)
{
	if (unlikely(shuttle_settings.explain_remote) && estate->es_instrument != 0)
		shuttle_asked_keep(asked, sent, estate->es_query_cxt);
}

/*
 * Prints the node's plans of them, where EXPLAIN wants that.  Above the plan stands
 * its statement, unless it is the only one, and the one that is shown besides.
 * shown: that one; NULL: whatever was sent.
 * Errors: cancel; what the node refuses is printed.
 */
extern void shuttle_asked_explain(const ShuttleAsked *asked, ShuttleNode *node,
								  const char *shown, ExplainState *es);

/* Prints the conditions of a table's scan that the node checks, with DIST. */
extern void shuttle_storage_filter_explain(ForeignScanState *scan, ExplainState *es);

/* ---- samples (foreign_sample.c) */

/* The SELECT of a scan that begins: each run of it finds the same sample. */
extern const char *shuttle_foreign_sample_sql(const char *sql);

/* ---- rows that are changed by name (target_rows.c, foreign_modify.c) */

/* The tables on the node whose rows a statement's target has shown. */
typedef struct ShuttleTargetRows ShuttleTargetRows;

extern ShuttleTargetRows *shuttle_target_rows_create(const char *table_name,
													 MemoryContext cxt);

/* Turns the ctid that a plan has of a row back into that of the node, and
 * returns the row's table there; InvalidOid: not known. */
extern Oid	shuttle_target_rows_decode(const ShuttleTargetRows *rows,
									   ItemPointer ctid);

/* True while a MERGE is run by its node (merge_run.c). */
extern bool shuttle_runs_merge(const EState *estate);

/* Those of a foreign table in a MERGE, which its scans and actions share, made at need;
 * NULL in other statements. */
extern ShuttleTargetRows *shuttle_merge_target_rows(EState *estate, Oid relid,
													const char *table_name);

/* The input of a MERGE's node that reads everything; NULL: it is another node. */
extern PlanState *shuttle_merge_reading(const PlanState *node);

/* The plan of WITH that this one scans to its end; NULL likewise. */
extern PlanState *shuttle_merge_rows(const PlanState *node);

/* Called once. */
extern void shuttle_merge_register(void);

/* Those of a table whose rows are updated or deleted by name; else NULL. */
extern ShuttleTargetRows *shuttle_foreign_modify_rows(ResultRelInfo *target);

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

/* ---- scans that were not sent yet (unsent_scans.c) */

/* A member of the session's list of scans without parameters of the plan. */
typedef struct ShuttleUnsentScan
{
	struct ShuttleUnsentScan *next;
	struct ShuttleUnsentScan *previous;
	ForeignScanState *scan;
	ShuttleNode *node;
	ResourceOwner owner;		/* of the snapshot that the scan runs under */
	uint64		number;			/* counts the scans that were listed */
	int			nest_level;		/* of the transaction that the scan belongs to */
	bool		listed;
} ShuttleUnsentScan;

/* Lists a scan; it leaves the list when it is removed, or when its executor
 * run's resources or memory go.  unsent lives in that memory. */
extern void shuttle_unsent_add(ShuttleUnsentScan *unsent,
							   ForeignScanState *scan, ShuttleNode *node);
extern void shuttle_unsent_remove(ShuttleUnsentScan *unsent);

/*
 * Called before a write is sent: sends what was begun on that node and not
 * asked for yet, so that it sees the node as it was before the statement.
 */
extern void shuttle_unsent_send_all(ShuttleNode *node);

/*
 * The same for a write that was begun a while ago: what was begun since, by
 * functions, sees it.  begun: shuttle_unsent_number() of that time.
 */
extern void shuttle_unsent_send_older(ShuttleNode *node, uint64 begun);

/* Sends those of a statement that lock the rows which it is to change. */
extern void shuttle_unsent_send_targets(const EState *estate);
extern uint64 shuttle_unsent_number(void);

/* True where the statement writes a table that the scan reads, by any name. */
extern bool shuttle_reads_written_table(const ForeignScanState *scan);

/* True where it may have that read once more behind a write. */
extern bool shuttle_may_read_behind_write(const ForeignScanState *scan, int eflags);

/* ---- early start (early_start.c) */

/*
 * Sends the first page of every scan below that will be read, where
 * shuttle.enable_early_start is on.
 * count: rows that the run will take; 0: all.
 */
extern void shuttle_early_start(PlanState *root, uint64 count);

/* Starts what has waited for what has run now. */
extern void shuttle_early_start_later(ShuttleLaterStart *later);

/* Starts the subqueries that params are of, where several have to run. */
extern void shuttle_early_start_params(EState *estate, const Bitmapset *params);

/* The most that a LIMIT can ever read, from how many the nodes above can; 0:
 * any number (row_goal.c). */
extern double shuttle_row_bound_below_limit(LimitState *node, double bound);

/* Installs the hook that starts scans early; called once. */
extern void shuttle_early_start_init(void);

/* ---- parameters of requests (parameters.c) */

typedef struct ShuttleParameters ShuttleParameters;

/* Prepares expressions that become $1, $2, ...; NULL for an empty list. */
extern ShuttleParameters *shuttle_parameters_create(List *expressions,
													PlanState *parent);

/* How many there are; 0 for NULL. */
extern int	shuttle_parameters_count(const ShuttleParameters *parameters);

/*
 * True where a scan's parameters stand for literals (planner/literal_plans.c).  The
 * node that used to plan the literals has to plan these values, unless one row is all
 * that can be found.
 */
extern bool shuttle_has_literals(const ForeignScan *scan);

/*
 * Evaluates them to texts, under the settings that values travel with.  The
 * texts live in the per-tuple memory of econtext, the array until next time.
 */
extern const char *const *shuttle_parameters_evaluate(ShuttleParameters *parameters,
													  ExprContext *econtext);

/* Parameters of the plan (PARAM_EXEC) that the expressions depend on. */
extern Bitmapset *shuttle_exec_params(List *expressions);

/* ---- postgres_fdw's private lists (peer_private.c) */

/* What postgres_fdw planned for a scan. */
typedef struct ShuttlePeerScan
{
	const char *sql;
	List	   *attributes;		/* of int: attribute of each column */
	int			fetch_size;
} ShuttlePeerScan;

/* What it planned for INSERT, UPDATE or DELETE of single rows. */
typedef struct ShuttlePeerModify
{
	const char *sql;
	List	   *target_attributes;	/* of int: what $2.. (INSERT: $1..) set */
	int			values_end;		/* INSERT: length up to the end of VALUES */
	bool		has_returning;
	List	   *attributes;		/* of int: attribute of each column returned */
} ShuttlePeerModify;

/* What it planned for a whole UPDATE or DELETE. */
typedef struct ShuttlePeerDirect
{
	const char *sql;
	bool		has_returning;
	List	   *attributes;		/* of int: attribute of each column returned */
	bool		set_processed;
} ShuttlePeerDirect;

/*
 * These read the lists and return false where the shape is not the known one;
 * nothing is copied.
 */
extern bool shuttle_peer_read_scan(const ForeignScan *scan, ShuttlePeerScan *peer);
extern bool shuttle_peer_read_modify(const List *fdw_private, ShuttlePeerModify *peer);
extern bool shuttle_peer_read_direct(const ForeignScan *scan, ShuttlePeerDirect *peer);

/* Has its text, in place, say -0 of a float as a node understands it. */
extern void shuttle_peer_quote_zeros(ForeignScan *scan);

/* The scan with another SELECT; all else is shared. */
extern ForeignScan *shuttle_peer_replace_scan_sql(const ForeignScan *scan,
												  const char *sql);

/* The same of an INSERT, UPDATE or DELETE. */
extern List *shuttle_peer_replace_modify_sql(List *fdw_private, char *sql);

/* The same of an INSERT that sets other columns. */
extern List *shuttle_peer_replace_insert(List *fdw_private, char *sql,
										 List *target_attributes, int values_end);

/* The private list of a scan that we have postgres_fdw run. */
extern List *shuttle_peer_make_scan(char *sql, List *attributes, int fetch_size);

/* The SELECT of a scan, and the attributes of its columns; NULL and NIL where
 * the shape is not the known one. */
extern const char *shuttle_peer_scan_sql(const ForeignScan *scan);
extern List *shuttle_peer_scan_attributes(const ForeignScan *scan);

/* What shuttle_scan_add_states() put there. */
extern List *shuttle_peer_scan_states(const ForeignScan *scan);

/* ---- reading SQL (sql_words.c) */

/* The end of the token that begins here: a literal, a quoted name, a comment,
 * a word, a parameter, or one character. */
extern const char *shuttle_sql_skip_token(const char *from);

/* True where a SELECT made by postgres_fdw locks rows. */
extern bool shuttle_sql_locks(const char *sql);

extern int	shuttle_sql_count_locks(const char *sql);

/* Gives each of its locking clauses another strength (UPDATE, KEY SHARE, ...)
 * and adds a policy (SKIP LOCKED, NOWAIT); NULL leaves the one or the other. */
extern char *shuttle_sql_change_locks(const char *sql, const char *strength,
									  const char *policy);

/* Where the name of the first table stands; false: the SELECT is of another form. */
extern bool shuttle_sql_find_table(const char *sql, const char **begin,
								   const char **end);

/* Adds a TABLESAMPLE clause to the table of alias r<alias>, or to the only one
 * (0); NULL where it is not found. */
extern char *shuttle_sql_add_sample(const char *sql, int alias, const char *clause);

/* True where a SELECT samples; gives the samples without a seed this one. */
extern bool shuttle_sql_samples(const char *sql);
extern char *shuttle_sql_add_seed(const char *sql, double seed);

/* Adds tableoid to a SELECT's list, of the table whose ctid is an item of the
 * list (from 1; 0: there is one table); NULL where that is not what it is. */
extern char *shuttle_sql_add_tableoid(const char *sql, int ctid_item);

/* Adds a condition on tableoid to an UPDATE or DELETE of the row of ctid $1;
 * NULL where it is none. */
extern char *shuttle_sql_compare_tableoid(const char *sql, int parameter);

/* Value of a SELECT's own LIMIT; negative where there is none, or where it is
 * not a number. */
extern double shuttle_sql_limit(const char *sql);

/* True where a LIMIT can stand behind a SELECT: it neither has one nor locks. */
extern bool shuttle_sql_takes_limit(const char *sql);

/* True where a SELECT has a GROUP BY of its own. */
extern bool shuttle_sql_groups(const char *sql);

/* False where a SELECT does nothing but take columns and compare them, which
 * cannot fail for a row (of a table; a view may compute anything). */
extern bool shuttle_sql_may_fail(const char *sql);

/* The handler of postgres_fdw, as its library calls it. */
#define SHUTTLE_PEER_HANDLER "postgres_fdw_handler"

/* ---- options and remote names (remote_names.c) */

/* Options of a foreign table, then those of its server; to be read at once. */
extern const List *shuttle_foreign_options(Oid relid);

/* The value of the first option of that name; otherwise where it is not set. */
extern bool shuttle_option_bool(const List *options, const char *name, bool otherwise);
extern int	shuttle_option_int(const List *options, const char *name, int otherwise);
extern int	shuttle_option_kb(const List *options, const char *name, int otherwise);

/* The name that a foreign table, or its column, has there. */
extern void shuttle_remote_table_name(Relation rel, char **schema, char **name);
extern char *shuttle_remote_column_name(Relation rel, AttrNumber attribute);

/* Appends that name, quoted. */
extern void shuttle_append_remote_table(StringInfo sql, Relation rel);
extern void shuttle_append_remote_column(StringInfo sql, Relation rel,
										 AttrNumber attribute);

/* ---- other_writes.c */

extern void shuttle_other_writes_init(void);
extern void shuttle_foreign_truncate_init(void);

#endif							/* EXECUTOR_INTERNAL_H */

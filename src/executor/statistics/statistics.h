/*-------------------------------------------------------------------------
 * statistics.h
 *	  ANALYZE of foreign tables.
 *
 * Files: foreign_analyze.c has the callback; analyze_node.c asks a node for
 * its statistics of a table; analyze_copy.c writes them as this server's;
 * analyze_sample.c takes a sample if there are none; analyze_many.c is
 * shuttle.analyze(), which asks for many tables at once; analyze_columns.c and
 * analyze_known.c keep what core does not hand on. Beside it,
 * statistics_worker.c copies statistics of tables that nodes have analyzed, which
 * followed_tables.c finds; row_counts.c asks for rows of tables without statistics.
 *
 * In: a table or a server; the worker's turn. Out: rows of pg_statistic and pg_class.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_STATISTICS_STATISTICS_H
#define SHUTTLE_EXECUTOR_STATISTICS_STATISTICS_H

#include "foreign/fdwapi.h"

#include "lib/stringinfo.h"

#include "base/shuttle_utility.h"
#include "storage/shuttle_storage.h"

/* The foreign tables of our wrapper, for a FROM clause: t is pg_foreign_table. */
#define SHUTTLE_OUR_TABLES_SQL \
	"pg_catalog.pg_foreign_table t" \
	" JOIN pg_catalog.pg_foreign_server s ON s.oid OPERATOR(pg_catalog.=) t.ftserver" \
	" JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid OPERATOR(pg_catalog.=) s.srvfdw" \
	" AND w.fdwhandler OPERATOR(pg_catalog.=) 'shuttle.fdw_handler()'::pg_catalog.regprocedure"

/* ---- what a node knows (analyze_node.c) */

/* What a node reports of a column: its type, and the columns of pg_stats. */
typedef enum ShuttleColumnFact
{
	FACT_NAME,
	FACT_TYPE,					/* schema.name; for a domain, its base type */
	FACT_COLLATION,				/* as shuttle_analyze_collation_name() returns
								 * it */
	FACT_NULL_FRAC,
	FACT_AVG_WIDTH,
	FACT_N_DISTINCT,
	FACT_COMMON_VALUES,
	FACT_COMMON_FREQUENCIES,
	FACT_HISTOGRAM,
	FACT_CORRELATION,
	FACT_COMMON_ELEMENTS,
	FACT_ELEMENT_FREQUENCIES,
	FACT_ELEMENT_COUNTS,
	FACT_RANGE_LENGTHS,			/* for ranges; from 17 on */
	FACT_RANGE_EMPTY,
	FACT_RANGE_BOUNDS,
	NCOLUMN_FACTS
} ShuttleColumnFact;

/* Texts; NULL if missing. */
typedef struct ShuttleColumnFacts
{
	char	   *facts[NCOLUMN_FACTS];
} ShuttleColumnFacts;

typedef struct ShuttleNodeTable
{
	char		kind;			/* relkind; '\0': the node knows no such table */
	double		pages;			/* current, with partitions and children */
	double		rows;			/* from statistics and size; negative: unknown */
	bool		has_foreign;	/* it or a partition is a foreign table */
	List	   *columns;		/* of ShuttleColumnFacts, only with statistics */
} ShuttleNodeTable;

/* The statement that asks for tables by their remote names; both lists are of
 * char *. */
extern char *shuttle_analyze_node_tables_sql(List *schemas, List *names);

/* Stores a row of its answer in tables, an array in the order of the names;
 * allocates in the current context. Errors: 08P01 if the row is malformed. */
extern void shuttle_analyze_node_tables_take(ShuttleNodeTable *tables, int ntables,
											 const ShuttleRow *row);

/* Appends names as one array of type name[], for such statements. */
extern void shuttle_analyze_append_names(StringInfo sql, List *names);

/* A name that is equal on two servers if the collation is the same. */
extern char *shuttle_analyze_collation_name(Oid collation);

/* ---- what ANALYZE is about to use (analyze_known.c) */

/* What is known of a foreign table between ANALYZE's callbacks. */
typedef struct ShuttleKnownTable
{
	dlist_node	link;			/* in the session's list; owned by cxt */
	MemoryContext cxt;			/* holds all of this */
	Oid			relid;
	bool		prefetched;		/* asked for ahead by shuttle.analyze() */
	Bitmapset  *columns;		/* columns that the statement names; NULL: all */
	ShuttleNodeTable table;
} ShuttleKnownTable;

/* Creates an empty entry, in a child of the current context. */
extern ShuttleKnownTable *shuttle_analyze_known_create(Oid relid);

/* The latest entry of a table, or NULL. prefetched: finds one asked for ahead, and
 * clears that flag; else the others. */
extern ShuttleKnownTable *shuttle_analyze_known_find(Oid relid, bool prefetched);
extern void shuttle_analyze_known_free(ShuttleKnownTable *known);

/* ---- the callback, and what became of a table (foreign_analyze.c) */
extern void shuttle_foreign_analyze_fill(FdwRoutine *routine);

/* Asks the node for what ANALYZE of the table will need, ahead of it. Kept until
 * then, or until the current context is reset. */
extern void shuttle_foreign_analyze_prefetch(Relation rel);

/*
 * The table's node as the table's owner: ANALYZE runs with the owner's rights.
 */
extern ShuttleNode *shuttle_foreign_analyze_node(Relation rel);

typedef enum ShuttleAnalyzeOutcome
{
	SHUTTLE_NOT_ANALYZED,
	SHUTTLE_SAMPLED,			/* or there were no rows */
	SHUTTLE_COPIED
} ShuttleAnalyzeOutcome;

/* Outcome for the last foreign table; callers reset it before. */
extern ShuttleAnalyzeOutcome shuttle_foreign_analyze_outcome;

/* ---- columns that a statement names (analyze_columns.c) */

/* Attributes that the running ANALYZE names for a table; NULL: none, or the
 * table is not named. */
extern Bitmapset *shuttle_analyze_columns(Relation rel);

/* Runs a VACUUM or ANALYZE, whose column names are needed. */
extern void shuttle_analyze_columns_run(ProcessUtility_hook_type run,
										SHUTTLE_UTILITY_PARAMETERS);

/* ---- the copy (analyze_copy.c) */

/* True if the node has statistics for all columns that ANALYZE wants, with
 * equal types and collations. */
extern bool shuttle_analyze_copy_is_possible(Relation rel, const ShuttleKnownTable *known);

/* Writes the node's statistics into pg_statistic. Returns the number of
 * columns, or -1 if a value is invalid here; then nothing is changed. */
extern int	shuttle_analyze_copy_statistics(Relation rel, const ShuttleKnownTable *known);

/* ---- tables whose statistics follow their nodes' (followed_tables.c) */

typedef struct ShuttleFollowedTable
{
	Oid			relid;
	Oid			serverid;
	Oid			owner;
	char	   *schema;			/* its name on the node */
	char	   *name;
	double		rows;			/* reltuples here */

	/* the node's state at the last copy */
	bool		is_copied;
	bool		has_failed;		/* it could not be copied */
	TimestampTz copied_analyzed_at;
	double		copied_changes;

	/* the node's state now */
	bool		is_answered;
	TimestampTz analyzed_at;	/* by the node's clock; 0: never */
	double		changes;		/* rows since then */
} ShuttleFollowedTable;

/* Lists the tables that shuttle.statistics_tables says, in the current context,
 * without those that are locked exclusively. */
extern List *shuttle_followed_tables(void);

/* Asks all nodes at once for the state of tables, outside the transaction.
 * Returns the servers that have not answered within limit_ms, in the current
 * context. */
extern List *shuttle_followed_ask(List *tables, int limit_ms);

/* True if the node has newer statistics, or many rows have changed. */
extern bool shuttle_followed_is_stale(const ShuttleFollowedTable *table);

/* ---- samples (analyze_sample.c) */

/* Completes table->rows and pages by counting on the node. */
extern void shuttle_analyze_sample_count(Relation rel, ShuttleNodeTable *table);

/* Lets the node take a sample and decodes at most nwanted rows, in the current
 * context. Returns their number, and in *ntotal the table's rows. */
extern int	shuttle_analyze_sample_take(Relation rel, ShuttleNodeTable *table,
										HeapTuple *rows, int nwanted, double *ntotal);

/* True if all rows are to be fetched (analyze_sampling 'off'). */
extern bool shuttle_analyze_sample_is_off(Relation rel);

#endif							/* SHUTTLE_EXECUTOR_STATISTICS_STATISTICS_H */

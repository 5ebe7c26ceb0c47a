/*-------------------------------------------------------------------------
 * statistics.h
 *	  ANALYZE of foreign tables.
 *
 * Files: foreign_analyze.c is the callback; analyze_node.c asks a node what it
 * knows of a table; analyze_copy.c writes the node's statistics as this
 * server's; analyze_sample.c takes a sample where there are none;
 * analyze_many.c is shuttle.analyze(), which asks for many tables at once;
 * analyze_columns.c and analyze_known.c keep what core does not hand on.
 *
 * In: a table or a server. Out: rows of pg_statistic and pg_class.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_STATISTICS_STATISTICS_H
#define SHUTTLE_EXECUTOR_STATISTICS_STATISTICS_H

#include "foreign/fdwapi.h"

#include "storage/shuttle_storage.h"

/* ---- callbacks (foreign_routine.c and the files it names) */
extern void shuttle_foreign_analyze_fill(FdwRoutine *routine);

/* ---- what a node knows (analyze_node.c) */

/* What a node says of a column: its type, and the columns of pg_stats. */
typedef enum ShuttleColumnFact
{
	FACT_NAME,
	FACT_TYPE,					/* schema.name, of a domain its base type's */
	FACT_COLLATION,				/* as shuttle_collation_name() tells it */
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
	FACT_RANGE_LENGTHS,			/* of ranges: from version 17 on */
	FACT_RANGE_EMPTY,
	FACT_RANGE_BOUNDS,
	NCOLUMN_FACTS
} ShuttleColumnFact;

/* Texts; NULL where there is none. */
typedef struct ShuttleNodeColumn
{
	char	   *facts[NCOLUMN_FACTS];
} ShuttleNodeColumn;

typedef struct ShuttleNodeTable
{
	char		kind;			/* relkind; '\0': the node knows no such table */
	double		pages;			/* with partitions and children, now */
	double		rows;			/* by statistics and size; negative: not known */
	bool		has_foreign;	/* it, or a partition, is a foreign table
								 * there */
	List	   *columns;		/* of ShuttleNodeColumn: those with statistics */
} ShuttleNodeTable;

/*
 * The statement that asks for tables, by the names that they have there; both
 * lists are of char *.
 */
extern char *shuttle_node_tables_sql(List *schemas, List *names);

/* Takes a row of its answer into tables, an array in the order of the names;
 * in the current context.  Errors: 08P01 where it is none. */
extern void shuttle_node_tables_take(ShuttleNodeTable *tables, int ntables,
									 const ShuttleRow *row);

/* A name by which two servers tell whether they sort texts alike. */
extern char *shuttle_collation_name(Oid collation);

/* ---- what ANALYZE is about to use (analyze_known.c) */

/* What is known of a foreign table that ANALYZE is about to come to. */
typedef struct ShuttleKnownTable
{
	dlist_node	link;			/* in the session's list; owned by cxt */
	MemoryContext cxt;			/* of all this */
	Oid			relid;
	bool		ahead;			/* asked for before ANALYZE came to it */
	Bitmapset  *columns;		/* that the statement names; NULL: all */
	ShuttleNodeTable table;
} ShuttleKnownTable;

/* An entry without knowledge; a child of the current context. */
extern ShuttleKnownTable *shuttle_known_create(Oid relid);

/* The latest entry of a table, or NULL; one that was asked for ahead only
 * where ahead is true, which it is no longer. */
extern ShuttleKnownTable *shuttle_known_find(Oid relid, bool ahead);
extern void shuttle_known_free(ShuttleKnownTable *known);

/* ---- what became of it (foreign_analyze.c) */

typedef enum ShuttleAnalyzeOutcome
{
	SHUTTLE_NOT_ANALYZED,
	SHUTTLE_SAMPLED,			/* or there were no rows */
	SHUTTLE_COPIED
} ShuttleAnalyzeOutcome;

/* Of the last foreign table that ANALYZE came to; whoever wants to know sets it
 * back first. */
extern ShuttleAnalyzeOutcome shuttle_analyze_outcome;

/* ---- columns that a statement names (analyze_columns.c) */

/* Attribute numbers that the ANALYZE under way names for a table; NULL: it
 * names none, or not the table. */
extern Bitmapset *shuttle_analyze_columns(Relation rel);

/* Installs the hook that sees the statement; called once. */
extern void shuttle_analyze_columns_init(void);

/* ---- the copy (analyze_copy.c) */

/* True where all columns that ANALYZE wants have statistics on the node, of the
 * same types and collations as here. */
extern bool shuttle_statistics_fit(Relation rel, const ShuttleKnownTable *known);

/*
 * Writes the node's statistics into pg_statistic.  Returns the number of
 * columns, or -1 where a value is none here: then nothing is changed.
 */
extern int	shuttle_statistics_copy(Relation rel, const ShuttleKnownTable *known);

/* ---- samples (analyze_sample.c) */

/* Completes rows and pages of what is known by counting on the node. */
extern void shuttle_sample_count(Relation rel, ShuttleNodeTable *table);

/*
 * Has the node take a sample, and decodes it into rows: at most nwanted, in
 * the current context.  Returns their number, and in *ntotal the table's.
 */
extern int	shuttle_sample_take(Relation rel, ShuttleNodeTable *table,
								HeapTuple *rows, int nwanted, double *ntotal);

/* True where the user wants all rows to travel (analyze_sampling 'off'). */
extern bool shuttle_sample_is_off(Relation rel);

/* The node of a table, as its owner, as whom ANALYZE reads. */
extern ShuttleNode *shuttle_analyze_node(Relation rel);

#endif							/* SHUTTLE_EXECUTOR_STATISTICS_STATISTICS_H */

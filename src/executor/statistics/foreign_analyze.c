/*-------------------------------------------------------------------------
 * foreign_analyze.c
 *	  ANALYZE of foreign tables.
 *
 * Usually the node has statistics, which are copied; no row is sent. Core's
 * ANALYZE does not know: it asks for rows and gets none, while we write the
 * statistics, and it only updates the table's size.
 *
 * If they cannot be copied, the node takes a sample (analyze_sample.c);
 * likewise for a parent as a whole, for which core combines rows of all
 * children.
 *
 * All runs on the session's one connection to the node, so it sees the
 * transaction's own changes and never waits for its locks.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat_catalog.h"
#include "executor/fdw/fdw.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

ShuttleAnalyzeOutcome shuttle_foreign_analyze_outcome = SHUTTLE_NOT_ANALYZED;

static bool analyze_foreign_table(Relation rel, AcquireSampleRowsFunc *acquire,
								  BlockNumber *npages);
static ShuttleKnownTable *know_table(Relation rel);
static ShuttleKnownTable *ask_node(Relation rel);
static void take_answer(void *arg, const ShuttleRow *row);
static int	acquire_copy(Relation rel, int elevel, HeapTuple *rows, int nwanted,
						 double *ntotal, double *ndead);
static int	acquire_sample(Relation rel, int elevel, HeapTuple *rows,
						   int nwanted, double *ntotal, double *ndead);
static int	sample_known(Relation rel, ShuttleKnownTable *known, int elevel,
						 HeapTuple *rows, int nwanted, double *ntotal,
						 double *ndead);

void
shuttle_foreign_analyze_fill(FdwRoutine *routine)
{
	routine->AnalyzeForeignTable = analyze_foreign_table;

	/* it would open a connection of postgres_fdw beside ours */
	shuttle_clear_statistics_import(routine);
}

/*
 * Core calls this before it switches to the owner's rights for a table's own
 * statistics, and after it for a parent's. If a user analyzes with such rights
 * from the start, a sample is taken.
 */
static bool
analyze_foreign_table(Relation rel, AcquireSampleRowsFunc *acquire,
					  BlockNumber *npages)
{
	ShuttleKnownTable *known = know_table(rel);
	MemoryContext old_cxt = MemoryContextSwitchTo(known->cxt);

	known->columns = shuttle_analyze_columns(rel);
	if (!InSecurityRestrictedOperation() &&
		shuttle_remote_option_bool(shuttle_remote_options(RelationGetRelid(rel)),
								   "shuttle_copy_statistics", true) &&
		shuttle_analyze_copy_is_possible(rel, known))
		*acquire = acquire_copy;
	else
	{
		*acquire = acquire_sample;
		if (!shuttle_analyze_sample_is_off(rel))
			shuttle_analyze_sample_count(rel, &known->table);
	}
	*npages = (BlockNumber) Min(known->table.pages, MaxBlockNumber);
	MemoryContextSwitchTo(old_cxt);
	shuttle_foreign_analyze_outcome = SHUTTLE_SAMPLED;
	return true;
}

static ShuttleKnownTable *
know_table(Relation rel)
{
	ShuttleKnownTable *known = shuttle_analyze_known_find(RelationGetRelid(rel), true);

	return known != NULL ? known : ask_node(rel);
}

void
shuttle_foreign_analyze_prefetch(Relation rel)
{
	ask_node(rel)->prefetched = true;
}

static ShuttleKnownTable *
ask_node(Relation rel)
{
	ShuttleKnownTable *known = shuttle_analyze_known_create(RelationGetRelid(rel));
	MemoryContext old_cxt = MemoryContextSwitchTo(known->cxt);
	char	   *schema;
	char	   *name;

	shuttle_remote_table_name(rel, &schema, &name);
	shuttle_query(shuttle_foreign_analyze_node(rel),
				  shuttle_analyze_node_tables_sql(list_make1(schema), list_make1(name)),
				  SHUTTLE_READS, 0, take_answer, known);
	MemoryContextSwitchTo(old_cxt);
	return known;
}

static void
take_answer(void *arg, const ShuttleRow *row)
{
	ShuttleKnownTable *known = arg;
	MemoryContext old_cxt = MemoryContextSwitchTo(known->cxt);

	shuttle_analyze_node_tables_take(&known->table, 1, row);
	MemoryContextSwitchTo(old_cxt);
}

/* ANALYZE reads as the table's owner. */
ShuttleNode *
shuttle_foreign_analyze_node(Relation rel)
{
	return shuttle_connection_get(GetForeignServerIdByRelId(RelationGetRelid(rel)),
								  rel->rd_rel->relowner);
}

static int
acquire_copy(Relation rel, int elevel, HeapTuple *rows, int nwanted,
			 double *ntotal, double *ndead)
{
	ShuttleKnownTable *known = shuttle_analyze_known_find(RelationGetRelid(rel), false);
	int			ncolumns = shuttle_analyze_copy_statistics(rel, known);

	if (ncolumns < 0)
		return sample_known(rel, known, elevel, rows, nwanted, ntotal, ndead);

	*ntotal = known->table.rows;
	*ndead = 0;
	ereport(elevel,
			(errmsg("\"%s\": table contains about %.0f rows, statistics of %d columns copied from storage node \"%s\"",
					RelationGetRelationName(rel), *ntotal, ncolumns,
					shuttle_node_name(shuttle_foreign_analyze_node(rel)))));
	shuttle_analyze_known_free(known);
	shuttle_foreign_analyze_outcome = SHUTTLE_COPIED;
	return 0;
}

static int
acquire_sample(Relation rel, int elevel, HeapTuple *rows, int nwanted,
			   double *ntotal, double *ndead)
{
	ShuttleKnownTable *known = shuttle_analyze_known_find(RelationGetRelid(rel), false);

	return sample_known(rel, known, elevel, rows, nwanted, ntotal, ndead);
}

static int
sample_known(Relation rel, ShuttleKnownTable *known, int elevel,
			 HeapTuple *rows, int nwanted, double *ntotal, double *ndead)
{
	int			nrows = shuttle_analyze_sample_take(rel, &known->table, rows, nwanted, ntotal);

	*ndead = 0;
	ereport(elevel,
			(errmsg("\"%s\": table contains %.0f rows, %d rows in sample",
					RelationGetRelationName(rel), *ntotal, nrows)));
	shuttle_analyze_known_free(known);
	return nrows;
}

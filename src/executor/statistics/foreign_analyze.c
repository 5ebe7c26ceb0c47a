/*-------------------------------------------------------------------------
 * foreign_analyze.c
 *	  ANALYZE of foreign tables.
 *
 * The node has statistics of its own as a rule: they are copied, and no row
 * travels.  Core's ANALYZE knows nothing of that.  It asks for rows; it gets
 * none, the statistics are written meanwhile, and all that is left to it is to
 * note the size of the table.
 *
 * Where they cannot be copied, the node takes a sample (analyze_sample.c).  So
 * it does for what is said of a partitioned table or a parent as a whole, for
 * which core puts together rows of all.
 *
 * All runs on the session's one connection to the node, so that it sees and
 * waits for nothing that the transaction did itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "executor/fdw/fdw.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

ShuttleAnalyzeOutcome shuttle_analyze_outcome = SHUTTLE_NOT_ANALYZED;

static bool analyze_foreign_table(Relation rel, AcquireSampleRowsFunc *acquire,
								  BlockNumber *npages);
static ShuttleKnownTable *know_table(Relation rel);
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
}

/*
 * Core asks for a table's own statistics before it takes on the owner's rights,
 * and for its part in those of a parent with them.  Where somebody analyzes
 * under such rights from the start, a sample does as well.
 */
static bool
analyze_foreign_table(Relation rel, AcquireSampleRowsFunc *acquire,
					  BlockNumber *npages)
{
	ShuttleKnownTable *known = know_table(rel);
	MemoryContext old_cxt = MemoryContextSwitchTo(known->cxt);

	known->columns = shuttle_analyze_columns(rel);
	if (!InSecurityRestrictedOperation() &&
		shuttle_option_bool(shuttle_foreign_options(RelationGetRelid(rel)),
							"shuttle_copy_statistics", true) &&
		shuttle_statistics_fit(rel, known))
		*acquire = acquire_copy;
	else
	{
		*acquire = acquire_sample;
		if (!shuttle_sample_is_off(rel))
			shuttle_sample_count(rel, &known->table);
	}
	*npages = (BlockNumber) Min(known->table.pages, MaxBlockNumber);
	MemoryContextSwitchTo(old_cxt);
	shuttle_analyze_outcome = SHUTTLE_SAMPLED;
	return true;
}

/* Asks the node, unless it was asked ahead. */
static ShuttleKnownTable *
know_table(Relation rel)
{
	ShuttleKnownTable *known = shuttle_known_find(RelationGetRelid(rel), true);
	MemoryContext old_cxt;
	char	   *schema;
	char	   *name;

	if (known != NULL)
		return known;
	known = shuttle_known_create(RelationGetRelid(rel));
	old_cxt = MemoryContextSwitchTo(known->cxt);
	shuttle_remote_table_name(rel, &schema, &name);
	shuttle_query(shuttle_analyze_node(rel),
				  shuttle_node_tables_sql(list_make1(schema), list_make1(name)),
				  SHUTTLE_READS, 0, take_answer, known);
	MemoryContextSwitchTo(old_cxt);
	return known;
}

static void
take_answer(void *arg, const ShuttleRow *row)
{
	ShuttleKnownTable *known = arg;
	MemoryContext old_cxt = MemoryContextSwitchTo(known->cxt);

	shuttle_node_tables_take(&known->table, 1, row);
	MemoryContextSwitchTo(old_cxt);
}

/* ANALYZE reads as the table's owner, whoever runs it. */
ShuttleNode *
shuttle_analyze_node(Relation rel)
{
	return shuttle_node_get(GetForeignServerIdByRelId(RelationGetRelid(rel)),
							rel->rd_rel->relowner);
}

static int
acquire_copy(Relation rel, int elevel, HeapTuple *rows, int nwanted,
			 double *ntotal, double *ndead)
{
	ShuttleKnownTable *known = shuttle_known_find(RelationGetRelid(rel), false);
	int			ncolumns = shuttle_statistics_copy(rel, known);

	if (ncolumns < 0)
		return sample_known(rel, known, elevel, rows, nwanted, ntotal, ndead);

	*ntotal = known->table.rows;
	*ndead = 0;
	ereport(elevel,
			(errmsg("\"%s\": table contains about %.0f rows, statistics of %d columns copied from storage node \"%s\"",
					RelationGetRelationName(rel), *ntotal, ncolumns,
					shuttle_node_name(shuttle_analyze_node(rel)))));
	shuttle_known_free(known);
	shuttle_analyze_outcome = SHUTTLE_COPIED;
	return 0;
}

static int
acquire_sample(Relation rel, int elevel, HeapTuple *rows, int nwanted,
			   double *ntotal, double *ndead)
{
	ShuttleKnownTable *known = shuttle_known_find(RelationGetRelid(rel), false);

	return sample_known(rel, known, elevel, rows, nwanted, ntotal, ndead);
}

static int
sample_known(Relation rel, ShuttleKnownTable *known, int elevel,
			 HeapTuple *rows, int nwanted, double *ntotal, double *ndead)
{
	int			nrows = shuttle_sample_take(rel, &known->table, rows, nwanted, ntotal);

	*ndead = 0;
	ereport(elevel,
			(errmsg("\"%s\": table contains %.0f rows, %d rows in sample",
					RelationGetRelationName(rel), *ntotal, nrows)));
	shuttle_known_free(known);
	return nrows;
}

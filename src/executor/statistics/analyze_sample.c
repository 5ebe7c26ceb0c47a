/*-------------------------------------------------------------------------
 * analyze_sample.c
 *	  Samples of foreign tables, for ANALYZE.
 *
 * The node takes the sample, so only sampled rows are sent, unless the user
 * wants all (analyze_sampling 'off'). A large table is sampled as core does:
 * as many pages as rows are wanted, and the fraction of their rows that gives
 * these.
 *
 * The number of rows comes from the node's statistics. Without them the node
 * counts the rows of some pages, or all rows of a view. A table that is small
 * by that number is read whole. If more rows come than the number makes
 * likely, the transfer stops, the node counts, and takes another sample.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "cluster/shuttle_cluster.h"
#include "executor/fdw/fdw.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

/* Pages sampled to count the rows of a table without statistics. */
#define COUNTED_PAGES 1000

/* The option analyze_sampling, as postgres_fdw knows it. */
typedef enum SamplingMethod
{
	SAMPLE_OFF,					/* all rows are fetched */
	SAMPLE_AUTO,
	SAMPLE_RANDOM,				/* WHERE random() < share */
	SAMPLE_SYSTEM,				/* TABLESAMPLE */
	SAMPLE_BERNOULLI
} SamplingMethod;

static const char *const sampling_names[] = {
	[SAMPLE_OFF] = "off",
	[SAMPLE_AUTO] = "auto",
	[SAMPLE_RANDOM] = "random",
	[SAMPLE_SYSTEM] = "system",
	[SAMPLE_BERNOULLI] = "bernoulli",
};

/* The sample that is being taken. */
typedef struct Sample
{
	HeapTuple  *rows;
	int			nwanted;
	int			nrows;
	double		nseen;
	double		nskip;			/* rows to skip; negative: not drawn yet */
	ReservoirStateData reservoir;
	ShuttleDecoder *decoder;
	MemoryContext cxt;			/* of the rows */
} Sample;

static SamplingMethod wanted_method(Relation rel);
static bool has_tablesample(const ShuttleNodeTable *table);
static double count_rows(Relation rel, const char *clause);
static void keep_count(void *arg, const ShuttleRow *row);
static bool read_rows(Sample *sample, Relation rel, const char *clause,
					  int limit);
static List *append_columns(StringInfo sql, Relation rel);
static char *sample_clause(SamplingMethod method, const ShuttleNodeTable *table,
						   int nwanted);
static void sample_row(Sample *sample, const ShuttleRow *row);
static void begin_sample(Sample *sample, HeapTuple *rows, int nwanted);

static SamplingMethod
wanted_method(Relation rel)
{
	const List *options = shuttle_remote_options(RelationGetRelid(rel));
	const char *name = shuttle_option_text(options, "analyze_sampling");

	for (int i = 0; name != NULL && i < lengthof(sampling_names); i++)
	{
		if (strcmp(name, sampling_names[i]) == 0)
			return i;
	}
	return SAMPLE_AUTO;
}

bool
shuttle_analyze_sample_is_off(Relation rel)
{
	return wanted_method(rel) == SAMPLE_OFF;
}

/* True if TABLESAMPLE works; foreign partitions would return all rows. */
static bool
has_tablesample(const ShuttleNodeTable *table)
{
	return !table->has_foreign &&
		(table->kind == RELKIND_RELATION || table->kind == RELKIND_MATVIEW ||
		 table->kind == RELKIND_PARTITIONED_TABLE);
}

/*
 * A table unknown to the node is left to the SELECT, which raises the error. A
 * table without pages gets those that its rows would need here, so that it has
 * a share in its parent's sample.
 */
void
shuttle_analyze_sample_count(Relation rel, ShuttleNodeTable *table)
{
	if (table->rows < 0 && table->kind != '\0')
	{
		if (has_tablesample(table) && table->pages > COUNTED_PAGES)
		{
			double		share = COUNTED_PAGES / table->pages;

			table->rows = rint(count_rows(rel, psprintf(" TABLESAMPLE SYSTEM (%.9g)",
														100 * share)) / share);
		}
		if (table->rows <= 0)
			table->rows = count_rows(rel, "");
	}
	if (table->pages == 0 && table->rows > 0)
		table->pages = ceil(table->rows *
							(get_relation_data_width(RelationGetRelid(rel), NULL) +
							 MAXALIGN(SizeofHeapTupleHeader)) / BLCKSZ);
}

static double
count_rows(Relation rel, const char *clause)
{
	StringInfoData sql;
	double		count = 0;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT pg_catalog.count(*) FROM ");
	shuttle_remote_append_table(&sql, rel);
	appendStringInfoString(&sql, clause);
	shuttle_query(shuttle_foreign_analyze_node(rel), sql.data, SHUTTLE_READS, 1,
				  keep_count, &count);
	pfree(sql.data);
	return count;
}

static void
keep_count(void *arg, const ShuttleRow *row)
{
	*(double *) arg = shuttle_row_int64(row, 0);
}

int
shuttle_analyze_sample_take(Relation rel, ShuttleNodeTable *table, HeapTuple *rows,
							int nwanted, double *ntotal)
{
	SamplingMethod method = wanted_method(rel);
	Sample		sample;

	begin_sample(&sample, rows, nwanted);
	if (method == SAMPLE_OFF)
	{
		read_rows(&sample, rel, "", 0);
		*ntotal = sample.nseen;
	}
	else if (table->rows <= nwanted && read_rows(&sample, rel, "", nwanted + 1))
		*ntotal = sample.nseen;
	else if (table->rows > nwanted &&
			 read_rows(&sample, rel, sample_clause(method, table, nwanted), 2 * nwanted))
		*ntotal = table->rows;
	else
	{
		for (int i = 0; i < sample.nrows; i++)
			heap_freetuple(rows[i]);
		*ntotal = table->rows = count_rows(rel, "");
		begin_sample(&sample, rows, nwanted);
		read_rows(&sample, rel, sample_clause(method, table, nwanted), 2 * nwanted);
	}
	return sample.nrows;
}

static void
begin_sample(Sample *sample, HeapTuple *rows, int nwanted)
{
	memset(sample, 0, sizeof(Sample));
	sample->rows = rows;
	sample->nwanted = nwanted;
	sample->nskip = -1;
	sample->cxt = CurrentMemoryContext;
	reservoir_init_selection_state(&sample->reservoir, nwanted);
}

/* The clause after the table's name. */
static char *
sample_clause(SamplingMethod method, const ShuttleNodeTable *table, int nwanted)
{
	double		share = Min(1, nwanted / table->rows);

	if (method == SAMPLE_AUTO && has_tablesample(table) && table->pages > nwanted)
		return psprintf(" TABLESAMPLE SYSTEM (%.9g) WHERE pg_catalog.random() < %.9g",
						100 * nwanted / table->pages,
						Min(1, table->pages / table->rows));
	if (method == SAMPLE_SYSTEM)
		return psprintf(" TABLESAMPLE SYSTEM (%.9g)", 100 * share);
	if (method == SAMPLE_BERNOULLI ||
		(method == SAMPLE_AUTO && has_tablesample(table)))
		return psprintf(" TABLESAMPLE BERNOULLI (%.9g)", 100 * share);
	return psprintf(" WHERE pg_catalog.random() < %.9g", share);
}

/* Reads in pages, since the number of rows is unknown. limit: stops and returns
 * false at that many rows; 0: none. */
static bool
read_rows(Sample *sample, Relation rel, const char *clause, int limit)
{
	ShuttleStatement statement = {
		.effect = SHUTTLE_READS,
		.size = SHUTTLE_SIZE_ESTIMATED,
		.estimated_rows = sample->nwanted + 1e6,
	};
	StringInfoData sql;
	List	   *attributes;
	ShuttleRequest *request;
	ShuttleRow	row;

	initStringInfo(&sql);
	attributes = append_columns(&sql, rel);
	appendStringInfoString(&sql, clause);
	if (limit > 0)
		appendStringInfo(&sql, " LIMIT %d", limit);
	statement.sql = sql.data;
	sample->decoder = shuttle_row_decoder_create(RelationGetDescr(rel), attributes, 0,
												 rel, shuttle_foreign_analyze_node(rel),
												 CurrentMemoryContext);
	request = shuttle_request_send(shuttle_foreign_analyze_node(rel), &statement,
								   CurrentMemoryContext);
	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
	{
		CHECK_FOR_INTERRUPTS();
		sample_row(sample, &row);
	}
	shuttle_request_close(request);
	return limit == 0 || sample->nseen < limit;
}

/* Appends a SELECT of all columns; returns their attribute numbers. */
static List *
append_columns(StringInfo sql, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *attributes = NIL;

	appendStringInfoString(sql, "SELECT ");
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		if (attributes != NIL)
			appendStringInfoString(sql, ", ");
		shuttle_remote_append_column(sql, rel, i + 1);
		attributes = lappend_int(attributes, i + 1);
	}
	if (attributes == NIL)
		appendStringInfoString(sql, "NULL");
	appendStringInfoString(sql, " FROM ");
	shuttle_remote_append_table(sql, rel);
	return attributes;
}

/* Adds a row to the sample or skips it, as core's acquire_sample_rows(): the
 * first nwanted, then by Vitter's algorithm, replacing a random one. */
static void
sample_row(Sample *sample, const ShuttleRow *row)
{
	MemoryContext old_cxt;
	int			place;

	sample->nseen++;
	if (sample->nrows < sample->nwanted)
		place = sample->nrows++;
	else
	{
		if (sample->nskip < 0)
			sample->nskip = reservoir_get_next_S(&sample->reservoir,
												 sample->nseen, sample->nwanted);
		if (sample->nskip-- > 0)
			return;
		place = (int) (sample->nwanted *
					   sampler_random_fract(&sample->reservoir.randstate));
		heap_freetuple(sample->rows[place]);
	}
	old_cxt = MemoryContextSwitchTo(sample->cxt);
	sample->rows[place] = shuttle_row_decoder_tuple(sample->decoder, row);
	MemoryContextSwitchTo(old_cxt);
}

/*-------------------------------------------------------------------------
 * foreign_table.c
 *	  TRUNCATE and ANALYZE of foreign tables.
 *
 * Both run on the session's one connection to the node, so that they see and
 * wait for nothing that the transaction did itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "commands/vacuum.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "executor/write_internal.h"

/* The option analyze_sampling, as postgres_fdw knows it. */
typedef enum SamplingMethod
{
	SAMPLE_OFF,					/* all rows travel */
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

/* What the node says of a table. */
typedef struct RemoteTable
{
	double		nrows;			/* reltuples; 0 or less: not known */
	char		kind;			/* relkind */
} RemoteTable;

/* The sample that is being taken. */
typedef struct Sample
{
	HeapTuple  *rows;
	int			nwanted;
	int			nrows;
	double		nseen;
	double		nskip;			/* rows to pass over; negative: to be drawn */
	ReservoirStateData reservoir;
	ShuttleDecoder *decoder;
	MemoryContext cxt;			/* of the rows */
} Sample;

static void exec_foreign_truncate(List *rels, DropBehavior behavior,
								  bool restart_seqs);
static bool analyze_foreign_table(Relation rel, AcquireSampleRowsFunc *sampler,
								  BlockNumber *npages);
static int	acquire_sample(Relation rel, int elevel, HeapTuple *rows,
						   int nwanted, double *ntotal, double *ndead);
static ShuttleNode *owners_node(Relation rel);
static void ask_about_table(Relation rel, RemoteTable *table);
static SamplingMethod choose_method(Relation rel, int nwanted,
									RemoteTable *table);
static char *sample_sql(Relation rel, SamplingMethod method, double share,
						List **attributes);
static char *quoted_remote_table(Relation rel);
static void keep_page_count(void *arg, const ShuttleRow *row);
static void keep_table(void *arg, const ShuttleRow *row);
static void read_sample(Sample *sample, ShuttleNode *node, const char *sql);
static void sample_row(Sample *sample, const ShuttleRow *row);

void
shuttle_foreign_table_fill(FdwRoutine *routine)
{
	routine->ExecForeignTruncate = exec_foreign_truncate;
	routine->AnalyzeForeignTable = analyze_foreign_table;
}

/* All tables are of one server. */
static void
exec_foreign_truncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	StringInfoData sql;
	Oid			serverid = InvalidOid;
	ShuttleNode *node;
	ListCell   *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "TRUNCATE ");
	foreach(cell, rels)
	{
		Relation	rel = lfirst(cell);
		List	   *options = shuttle_foreign_options(RelationGetRelid(rel));

		if (!shuttle_option_bool(options, "truncatable", true))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("foreign table \"%s\" does not allow truncates",
							RelationGetRelationName(rel))));
		if (foreach_current_index(cell) > 0)
			appendStringInfoString(&sql, ", ");
		shuttle_append_remote_table(&sql, rel);
		serverid = GetForeignServerIdByRelId(RelationGetRelid(rel));
	}
	appendStringInfoString(&sql, restart_seqs ? " RESTART IDENTITY" : " CONTINUE IDENTITY");
	appendStringInfoString(&sql, behavior == DROP_CASCADE ? " CASCADE" : " RESTRICT");

	node = shuttle_node_get(serverid, GetUserId());
	shuttle_write_flush_others(node, NULL);
	shuttle_query(node, sql.data, SHUTTLE_WRITES, NULL, NULL);
	pfree(sql.data);
}

static bool
analyze_foreign_table(Relation rel, AcquireSampleRowsFunc *sampler,
					  BlockNumber *npages)
{
	char	   *sql;

	*sampler = acquire_sample;
	*npages = 0;
	sql = psprintf("SELECT pg_catalog.pg_relation_size(%s::pg_catalog.regclass) / %d",
				   quoted_remote_table(rel), BLCKSZ);
	shuttle_query(owners_node(rel), sql, SHUTTLE_READS, keep_page_count, npages);
	return true;
}

/* ANALYZE reads as the table's owner, whoever runs it. */
static ShuttleNode *
owners_node(Relation rel)
{
	return shuttle_node_get(GetForeignServerIdByRelId(RelationGetRelid(rel)),
							rel->rd_rel->relowner);
}

static void
keep_page_count(void *arg, const ShuttleRow *row)
{
	BlockNumber *npages = arg;

	if (row->values[0] != NULL)
		*npages = strtoul(row->values[0], NULL, 10);
}

static int
acquire_sample(Relation rel, int elevel, HeapTuple *rows, int nwanted,
			   double *ntotal, double *ndead)
{
	Sample		sample = {0};
	RemoteTable table = {0};
	SamplingMethod method = choose_method(rel, nwanted, &table);
	List	   *attributes;
	char	   *sql;

	sample.rows = rows;
	sample.nwanted = nwanted;
	sample.nskip = -1;
	sample.cxt = CurrentMemoryContext;
	reservoir_init_selection_state(&sample.reservoir, nwanted);

	sql = sample_sql(rel, method, nwanted / Max(table.nrows, 1), &attributes);
	sample.decoder = shuttle_decoder_create(RelationGetDescr(rel), attributes, 0,
											rel, CurrentMemoryContext);
	read_sample(&sample, owners_node(rel), sql);

	*ndead = 0;
	*ntotal = method == SAMPLE_OFF ? sample.nseen : table.nrows;
	ereport(elevel,
			(errmsg("\"%s\": table contains %.0f rows, %d rows in sample",
					RelationGetRelationName(rel), *ntotal, sample.nrows)));
	return sample.nrows;
}

/*
 * Decides who takes the sample.  The node does where it knows about how many
 * rows it has, and where these are more than are wanted.
 */
static SamplingMethod
choose_method(Relation rel, int nwanted, RemoteTable *table)
{
	List	   *options = shuttle_foreign_options(RelationGetRelid(rel));
	const char *name = shuttle_option_text(options, "analyze_sampling");
	SamplingMethod method = SAMPLE_AUTO;

	for (int i = 0; name != NULL && i < lengthof(sampling_names); i++)
	{
		if (strcmp(name, sampling_names[i]) == 0)
			method = i;
	}
	if (method == SAMPLE_OFF)
		return method;

	ask_about_table(rel, table);
	if (table->nrows <= nwanted)
		return SAMPLE_OFF;
	if (method != SAMPLE_AUTO)
		return method;

	/* Views and the like have no TABLESAMPLE. */
	if (table->kind == RELKIND_RELATION || table->kind == RELKIND_MATVIEW ||
		table->kind == RELKIND_PARTITIONED_TABLE)
		return SAMPLE_BERNOULLI;
	return SAMPLE_RANDOM;
}

static void
ask_about_table(Relation rel, RemoteTable *table)
{
	char	   *sql;

	sql = psprintf("SELECT reltuples, relkind FROM pg_catalog.pg_class WHERE oid = %s::pg_catalog.regclass",
				   quoted_remote_table(rel));
	shuttle_query(owners_node(rel), sql, SHUTTLE_READS, keep_table, table);
}

static void
keep_table(void *arg, const ShuttleRow *row)
{
	RemoteTable *table = arg;

	table->nrows = row->values[0] == NULL ? -1 : strtod(row->values[0], NULL);
	table->kind = row->values[1] == NULL ? '\0' : row->values[1][0];
}

/* The SELECT of all columns, for all rows or a share (0 to 1) of them. */
static char *
sample_sql(Relation rel, SamplingMethod method, double share, List **attributes)
{
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData sql;

	*attributes = NIL;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		if (*attributes != NIL)
			appendStringInfoString(&sql, ", ");
		shuttle_append_remote_column(&sql, rel, i + 1);
		*attributes = lappend_int(*attributes, i + 1);
	}
	if (*attributes == NIL)
		appendStringInfoString(&sql, "NULL");
	appendStringInfoString(&sql, " FROM ");
	shuttle_append_remote_table(&sql, rel);

	if (method == SAMPLE_RANDOM)
		appendStringInfo(&sql, " WHERE pg_catalog.random() < %f", share);
	else if (method == SAMPLE_SYSTEM)
		appendStringInfo(&sql, " TABLESAMPLE SYSTEM(%f)", 100 * share);
	else if (method == SAMPLE_BERNOULLI)
		appendStringInfo(&sql, " TABLESAMPLE BERNOULLI(%f)", 100 * share);
	return sql.data;
}

/* Reads by pages, as nobody knows how many rows there will be. */
static void
read_sample(Sample *sample, ShuttleNode *node, const char *sql)
{
	ShuttleStatement statement = {
		.sql = sql,
		.effect = SHUTTLE_READS,
		.size = SHUTTLE_SIZE_ESTIMATED,
		.estimated_rows = sample->nwanted + 1e6,
	};
	ShuttleRequest *request;
	ShuttleRow	row;

	request = shuttle_request_send(node, &statement, CurrentMemoryContext);
	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
	{
		CHECK_FOR_INTERRUPTS();
		sample_row(sample, &row);
	}
	shuttle_request_close(request);
}

/*
 * Takes a row into the sample or passes it over, as acquire_sample_rows() of
 * core does: the first nwanted, then each with the chance that Vitter's
 * algorithm gives it, in the place of a random one.
 */
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
	sample->rows[place] = shuttle_decoder_tuple(sample->decoder, row);
	MemoryContextSwitchTo(old_cxt);
}

/* The remote table's name as a literal. */
static char *
quoted_remote_table(Relation rel)
{
	StringInfoData name;

	initStringInfo(&name);
	shuttle_append_remote_table(&name, rel);
	return quote_literal_cstr(name.data);
}

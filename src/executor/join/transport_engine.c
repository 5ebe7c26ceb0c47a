/*-------------------------------------------------------------------------
 * transport_engine.c
 *	  Batches of keys over our own connections: many in flight.
 *
 * Memory: a channel lives in the query's context; an answer and its request
 * in the context that was current when it was sent (its key set's).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_compat_explain.h"
#include "executor/executor_types.h"
#include "executor/facts/scan_facts.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/join/transport.h"
#include "executor/outbox.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "storage/shuttle_storage.h"
#include "executor/executor.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"


/* What a node's planner assumes of an array that it does not see. */
#define ASSUMED_KEYS 10

/* Rows that take a node about as long as to plan their SELECT. */
#define PLANNED_ROWS 100

struct ShuttleChannel
{
	ShuttleServedScan *scan;
	ShuttleNode *node;
	ShuttleDecoder *decoder;
	ShuttleStatement statement; /* template of all requests */
	const char *fenced_sql;		/* NULL until it is needed */
	const char *few_sql;		/* likewise */
	MemoryContext values_cxt;	/* texts of one request's parameters */
	ShuttleAsked *asked;		/* for EXPLAIN; NULL: not wanted */
};

struct ShuttleAnswer
{
	ShuttleChannel *channel;
	ShuttleRequest *request;
};

static ShuttleChannel *
open_channel(ShuttleServedScan *scan)
{
	ForeignScanState *node = scan->node;
	EState	   *estate = node->ss.ps.state;
	ShuttleChannel *channel = palloc0(sizeof(ShuttleChannel));

	channel->scan = scan;
	channel->node = shuttle_scan_node(node);
	channel->decoder = shuttle_scan_decoder_create(node, scan->attributes, 1,
												   estate->es_query_cxt);
	channel->statement = (ShuttleStatement)
	{
		.sql = shuttle_batch_sql(scan, false, false),
			.nparams = scan->key.ncolumns,
			.effect = shuttle_scan_effect(node),
			.limits = shuttle_scan_page_limits(node),
			.row_bytes = node->ss.ps.plan->plan_width,
			.snapshot = shuttle_scan_snapshot(estate),
			.counters = &scan->counters,
			.decoder = channel->decoder,
	};
	channel->values_cxt = AllocSetContextCreate(estate->es_query_cxt,
												"shuttle parameters",
												ALLOCSET_DEFAULT_SIZES);
	return channel;
}

/* The texts of a request's parameters, in values_cxt. */
static const char *const *
make_values(ShuttleChannel *channel, ShuttleKeySet *set, int first, int nkeys)
{
	ShuttleServedScan *scan = channel->scan;
	const char **values = palloc0(sizeof(char *) * scan->key.ncolumns);
	int			nestlevel = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);

	for (int i = 0; i < scan->key.ncolumns; i++)
	{
		ShuttleKeyColumn *column = &scan->key.columns[i];

		if (!column->scalar)
		{
			Datum		keys = shuttle_key_set_array(set, i, first, nkeys);

			/* text[] if values of the type cannot be unnested */
			values[i] = column->as_text ? OidOutputFunctionCall(F_ARRAY_OUT, keys) :
				OutputFunctionCall(&column->output, keys);
		}
		else if (!set->nulls[i][first])
			values[i] = OutputFunctionCall(&column->output,
										   set->values[i][first]);
	}
	shuttle_row_transmission_end(nestlevel);
	return values;
}

/* True if the node should see the number of keys: there are fewer than it assumes, and
 * their rows cost more than to plan the statement each time. */
static bool
are_few(const ShuttleServedScan *scan, int nkeys)
{
	return nkeys < ASSUMED_KEYS && nkeys * scan->rows_per_key >= PLANNED_ROWS;
}

/* The SQL of a request; it lives as long as the channel. */
static const char *
choose_sql(ShuttleChannel *channel, int nkeys)
{
	ShuttleServedScan *scan = channel->scan;
	bool		fenced = shuttle_served_scan_fences(scan, nkeys);
	const char **sql = fenced ? &channel->fenced_sql : &channel->few_sql;
	MemoryContext old;

	if (!fenced && !are_few(scan, nkeys))
		return channel->statement.sql;
	if (*sql == NULL)
	{
		old = MemoryContextSwitchTo(scan->node->ss.ps.state->es_query_cxt);
		*sql = shuttle_batch_sql(scan, fenced, !fenced);
		MemoryContextSwitchTo(old);
	}
	return *sql;
}

static ShuttleAnswer *
send_keys(ShuttleChannel *channel, ShuttleKeySet *set, int first, int nkeys,
		  bool speculative)
{
	ShuttleServedScan *scan = channel->scan;
	ShuttleAnswer *answer = palloc(sizeof(ShuttleAnswer));
	ShuttleStatement statement = channel->statement;
	MemoryContext old;

	shuttle_outbox_before_read(channel->node, scan->node->ss.ps.state);
	MemoryContextReset(channel->values_cxt);
	old = MemoryContextSwitchTo(channel->values_cxt);
	statement.values = make_values(channel, set, first, nkeys);
	MemoryContextSwitchTo(old);
	statement.sql = choose_sql(channel, nkeys);
	statement.speculative = speculative;
	statement.size = scan->most_rows == 1 ? SHUTTLE_SIZE_CERTAIN : SHUTTLE_SIZE_ESTIMATED;
	statement.estimated_rows = nkeys * (scan->most_rows > 0 ?
										Min(scan->most_rows, scan->rows_per_key) :
										scan->rows_per_key);
	answer->channel = channel;
	shuttle_explain_remote_note(&channel->asked, &statement, scan->node->ss.ps.state);
	answer->request = shuttle_request_send(channel->node, &statement, set->cxt);
	return answer;
}

static ShuttleStatus
next_row(ShuttleAnswer *answer, bool wait, int *ordinal, HeapTuple *tuple)
{
	ShuttleServedScan *scan = answer->channel->scan;
	ShuttleRow	row;
	ShuttleStatus status = shuttle_request_fetch(answer->request, wait, &row);

	if (status == SHUTTLE_ROW)
	{
		int64		number = shuttle_row_int64(&row, 0);

		*ordinal = number > 0 && number <= INT_MAX ? (int) number - 1 : -1;
		*tuple = shuttle_row_decoder_tuple(answer->channel->decoder, &row);
		if (scan->target != NULL)
			shuttle_target_scan_name_row(scan->target, *tuple,
										 scan->node->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
	}
	return status;
}

static void
explain_channel(const ShuttleChannel *channel, ExplainState *es)
{
	shuttle_explain_remote_asked(channel->asked, channel->node, NULL, es);
}

static void
close_answer(ShuttleAnswer *answer)
{
	shuttle_request_close(answer->request);
	pfree(answer);
}

static void
close_channel(ShuttleChannel *channel)
{
	MemoryContextDelete(channel->values_cxt);
}

const ShuttleTransport shuttle_transport_engine = {
	.is_engine = true,
	.open = open_channel,
	.send = send_keys,
	.next = next_row,
	.close_answer = close_answer,
	.close = close_channel,
	.explain = explain_channel,
};

/*-------------------------------------------------------------------------
 * explain_output.c
 *	  Labels of the counters, and their printing in every format.
 *
 * A label is printed for each plan node that has the counter, and at the top
 * level for the query's total; released labels never change. Text output shows
 * the unit, other formats do not, as in core. Times are milliseconds with
 * three decimals.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/shuttle_compat_explain.h"
#include "explain/explain_internal.h"

/* Groups of counters, which are shown or left out together. */
typedef enum CounterKind
{
	COUNTER_READS,
	COUNTER_SCANS,
	COUNTER_WRITES,
	COUNTER_BYTES,
	COUNTER_RETRIES				/* shown if there were some */
} CounterKind;

typedef struct CounterLabel
{
	const char *label;
	const char *unit;			/* NULL: the label says it */
	CounterKind kind;
	bool		engine;			/* only known on our connections */
} CounterLabel;

/* Printed in this order; a counter in us is shown in ms. */
static const CounterLabel labels[] = {
	[SHUTTLE_READ_REQUESTS] = {"Storage Read Requests", NULL, COUNTER_READS, false},
	[SHUTTLE_ROWS_SCANNED] = {"Storage Rows Scanned", NULL, COUNTER_SCANS, true},
	[SHUTTLE_ROWS_RETURNED] = {"Storage Rows Returned", NULL, COUNTER_READS, false},
	[SHUTTLE_READ_TIME_US] = {"Storage Read Time", "us", COUNTER_READS, false},
	[SHUTTLE_WRITE_REQUESTS] = {"Storage Write Requests", NULL, COUNTER_WRITES, false},
	[SHUTTLE_FLUSH_REQUESTS] = {"Storage Flush Requests", NULL, COUNTER_WRITES, false},
	[SHUTTLE_FLUSH_TIME_US] = {"Storage Flush Time", "us", COUNTER_WRITES, false},
	[SHUTTLE_BYTES_SENT] = {"Storage Bytes Sent", "bytes", COUNTER_BYTES, true},
	[SHUTTLE_BYTES_RECEIVED] = {"Storage Bytes Received", "bytes", COUNTER_BYTES, true},
	[SHUTTLE_SNAPSHOT_RETRIES] = {"Snapshot Retries", NULL, COUNTER_RETRIES, true},
	[SHUTTLE_SNAPSHOT_TIME_US] = {"Snapshot Retry Time", "us", COUNTER_RETRIES, true},
};

StaticAssertDecl(lengthof(labels) == SHUTTLE_NCOUNTERS,
				 "every counter has a label");

static void print_counters(ExplainState *es,
						   const ShuttleExplainNumbers *numbers);
static void print_counter(ExplainState *es, const CounterLabel *label,
						  int64 value);
static void print_memory(ExplainState *es, int64 bytes);

void
shuttle_explain_counters(ExplainState *es, const ShuttleExplainNumbers *numbers)
{
	if (!es->analyze || !shuttle_dist_is_wanted(es))
		return;
	if (es->verbose && numbers->node_name != NULL)
		ExplainPropertyText("Storage Node", numbers->node_name, es);
	print_counters(es, numbers);
}

void
shuttle_explain_look_ahead(ExplainState *es,
						   const ShuttleLookAheadNumbers *numbers)
{
	if (!es->analyze)
		return;
	ExplainPropertyInteger("Batches", NULL, numbers->batches, es);
	if (numbers->asks)
	{
		ExplainPropertyInteger("Keys", NULL, numbers->keys, es);
		ExplainPropertyInteger("Distinct Keys", NULL, numbers->distinct_keys, es);
	}
	if (numbers->caches)
		ExplainPropertyInteger("Hits", NULL, numbers->hits, es);
	ExplainPropertyInteger("Largest Batch", NULL, numbers->largest_batch, es);
	if (numbers->asks)
	{
		ExplainPropertyInteger("Most In Flight", NULL, numbers->most_in_flight, es);
		ExplainPropertyInteger("Served", NULL, numbers->served, es);
		ExplainPropertyInteger("Alone", NULL, numbers->alone, es);
	}
	if (numbers->prefetches)
	{
		ExplainPropertyInteger("Prefetched Pages", NULL, numbers->prefetched_pages, es);
		ExplainPropertyInteger("Prefetch Pauses", NULL, numbers->prefetch_pauses, es);
	}
	if (shuttle_dist_is_wanted(es))
		print_memory(es, numbers->peak_bytes);
}

void
shuttle_explain_text(ExplainState *es, const char *label, const char *value)
{
	ExplainPropertyText(label, value, es);
}

void
shuttle_explain_lines(ExplainState *es, const char *label, List *lines)
{
	ListCell   *lc;

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyList(label, lines, es);
		return;
	}
	appendStringInfoSpaces(es->str, es->indent * 2);
	appendStringInfo(es->str, "%s:\n", label);
	foreach(lc, lines)
	{
		appendStringInfoSpaces(es->str, es->indent * 2 + 2);
		appendStringInfo(es->str, "%s\n", (const char *) lfirst(lc));
	}
}

void
shuttle_explain_call_local(ExplainState *es)
{
	static const char foreign[] = "Foreign ";
	int			nbytes = strlen(foreign);
	int			at = es->str->len - 1;

	/* find the beginning of the last line, after its indentation */
	if (es->format != EXPLAIN_FORMAT_TEXT || at < 0)
		return;
	while (at > 0 && es->str->data[at - 1] != '\n')
		at--;
	while (es->str->data[at] == ' ')
		at++;
	if (strncmp(es->str->data + at, foreign, nbytes) != 0)
		return;
	memmove(es->str->data + at, es->str->data + at + nbytes,
			es->str->len - at - nbytes + 1);
	es->str->len -= nbytes;
}

void
shuttle_explain_begin_tables(ExplainState *es)
{
	ExplainOpenGroup("Written Tables", "Written Tables", false, es);
}

void
shuttle_explain_end_tables(ExplainState *es)
{
	ExplainCloseGroup("Written Tables", "Written Tables", false, es);
}

void
shuttle_explain_begin_table(ExplainState *es, const char *operation, const char *name)
{
	ExplainOpenGroup("Written Table", NULL, true, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "%s on %s\n", operation, quote_identifier(name));
		es->indent++;
		return;
	}
	ExplainPropertyText("Operation", operation, es);
	ExplainPropertyText("Relation Name", name, es);
}

void
shuttle_explain_end_table(ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
	ExplainCloseGroup("Written Table", NULL, true, es);
}

/* For stock postgres_fdw, bytes and rows scanned are unknown. Totals omit them
 * if requests were made but we sent no bytes, rather than print zero. */
void
shuttle_explain_totals(ExplainState *es, const ShuttleCounters *totals,
					   int64 peak_bytes)
{
	const int64 *value = totals->value;
	ShuttleExplainNumbers numbers = {
		.counters = totals,
		.reads = true,
		.writes = true,
		.engine = value[SHUTTLE_BYTES_SENT] > 0 ||
		value[SHUTTLE_READ_REQUESTS] + value[SHUTTLE_FLUSH_REQUESTS] == 0,
	};

	print_counters(es, &numbers);
	print_memory(es, peak_bytes);
}

static void
print_counters(ExplainState *es, const ShuttleExplainNumbers *numbers)
{
	for (int i = 0; i < SHUTTLE_NCOUNTERS; i++)
	{
		const CounterLabel *label = &labels[i];

		if (label->kind == COUNTER_READS && !numbers->reads)
			continue;
		if (label->kind == COUNTER_SCANS && !numbers->reads && !numbers->looks)
			continue;
		if (label->kind == COUNTER_WRITES && !numbers->writes)
			continue;
		if (label->kind == COUNTER_RETRIES && numbers->counters->value[SHUTTLE_SNAPSHOT_RETRIES] == 0)
			continue;
		if (label->engine && !numbers->engine)
			continue;
		print_counter(es, label, numbers->counters->value[i]);
	}
}

static void
print_counter(ExplainState *es, const CounterLabel *label, int64 value)
{
	if (label->unit == NULL || strcmp(label->unit, "us") != 0)
		ExplainPropertyInteger(label->label, label->unit, value, es);
	else if (es->timing)
		ExplainPropertyFloat(label->label, "ms", value / 1000.0, 3, es);
}

/* Rounded up, as core prints memory. */
static void
print_memory(ExplainState *es, int64 bytes)
{
	ExplainPropertyInteger("Peak Memory Usage", "kB",
						   (bytes + 1023) / 1024, es);
}

/*-------------------------------------------------------------------------
 * progress.c
 *	  Shows the progress of long work on a table to other sessions.
 *
 * The numbers are parameters of core's progress machinery, which other sessions
 * read without a lock and which an error clears. Its commands are fixed, so ours
 * is COPY, with numbers in parameters that COPY does not use. Building an index
 * sets parameters 8 to 16, so ours are beyond, but for those of moves, which build none.
 *
 * Requests count rows and bytes as ever; each time they do, the numbers are
 * published. That is once for each request or page of an answer.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_counters.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/progress.h"
#include "tablets/common/table_facts.h"

#define PARAMETER_MOVE 14
#define PARAMETER_NMOVES 15
#define PARAMETER_ESTIMATED_BYTES 16
#define PARAMETER_ESTIMATE 17
#define PARAMETER_PHASE 18
#define PARAMETER_COMMAND 19

#define SAMPLE_PAGES 100		/* of a table that was never analyzed */

/* NULL if a tablet was never analyzed. */
static const char *const estimate_query =
"SELECT sum(reltuples)::int8::text FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = $1 HAVING min(reltuples) >= 0";

static ShuttleProgressCommand progress_command;
static Oid	progress_relid;
static int64 progress_rows;		/* that no request has counted */
static ShuttleCounters progress_start;	/* when the table was begun */

static int64
count_since(ShuttleCounter counter)
{
	return shuttle_counters_of_session.value[counter] - progress_start.value[counter];
}

/* Parameters of other commands, such as ANALYZE, are left alone. */
static void
publish(void)
{
	const int	parameters[] = {PROGRESS_COPY_TUPLES_PROCESSED, PROGRESS_COPY_BYTES_PROCESSED};
	bool		is_local = progress_command == SHUTTLE_PROGRESS_LOCAL;
	int64		values[] = {
		progress_rows + count_since(is_local ? SHUTTLE_ROWS_RETURNED : SHUTTLE_WRITE_REQUESTS),
		count_since(is_local ? SHUTTLE_BYTES_RECEIVED : SHUTTLE_BYTES_SENT),
	};

	if (MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_COMMAND_COPY)
		pgstat_progress_update_multi_param(lengthof(parameters), parameters, values);
}

static void
forget(void *arg)
{
	shuttle_counted = NULL;
}

void
shuttle_progress_start(ShuttleProgressCommand command)
{
	MemoryContextCallback *callback = palloc0_object(MemoryContextCallback);

	callback->func = forget;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	progress_command = command;
	progress_relid = InvalidOid;
	shuttle_counted = publish;
}

/* The percentage of a table's pages that are read for an estimate. */
static double
percent_of_pages(BlockNumber pages)
{
	return pages <= SAMPLE_PAGES ? 100 : 100.0 * SAMPLE_PAGES / pages;
}

static double
estimate_local_rows(Relation rel)
{
	BlockNumber pages;
	double		rows = 0;
	double		visible;
	double		percent;

	estimate_rel_size(rel, NULL, &pages, &rows, &visible);
	if (rel->rd_rel->reltuples >= 0 || pages == 0)
		return rows;
	percent = percent_of_pages(pages);
	return 100 / percent *
		shuttle_local_read_as_owner(RelationGetRelid(rel), psprintf("SELECT FROM ONLY %s TABLESAMPLE SYSTEM (%f)",
																	shuttle_local_name(RelationGetRelid(rel)), percent), NULL);
}

/* Asks nodes, which know the sizes of tablets that were never analyzed. */
static int64
estimate_node_rows(Oid relid)
{
	char	   *name = shuttle_local_name(relid);
	char	   *percent = psprintf("(SELECT LEAST(100, 100.0 * %d / GREATEST(sum(pg_relation_size(inhrelid)) /"
								   " current_setting('block_size')::int8, 1)) FROM pg_inherits WHERE inhparent = to_regclass(%s))",
								   SAMPLE_PAGES, quote_literal_cstr(name));
	char	   *sql = psprintf("SELECT (count(*) * 100 / %s)::int8 FROM %s TABLESAMPLE SYSTEM (%s)",
							   percent, name, percent);
	int64		rows = 0;
	ListCell   *cell;

	foreach(cell, shuttle_table_servers(relid))
	{
		char	  **answer = shuttle_node_row(shuttle_connection_get(lfirst_oid(cell), GetUserId()), sql, 1, 1);

		rows += pg_strtoint64(answer[0]);
	}
	return rows;
}

/* Rows of a local table, or of all tablets. */
static int64
estimate_rows(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	int64		rows;

	if (rel->rd_rel->relkind == RELKIND_RELATION)
		rows = (int64) estimate_local_rows(rel);
	else
	{
		const char *text = shuttle_local_text(estimate_query, relid);

		rows = text == NULL ? estimate_node_rows(relid) : pg_strtoint64(text);
	}
	table_close(rel, NoLock);
	return rows;
}

void
shuttle_progress_show(Oid relid, ShuttleProgressPhase phase)
{
	static int64 estimate;

	if (shuttle_counted != publish)
		return;
	if (relid != progress_relid)
	{
		progress_relid = relid;
		progress_rows = 0;
		progress_start = shuttle_counters_of_session;
		estimate = estimate_rows(relid);
	}
	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, relid);
	pgstat_progress_update_param(PARAMETER_ESTIMATE, estimate);
	pgstat_progress_update_param(PARAMETER_PHASE, phase);
	pgstat_progress_update_param(PARAMETER_COMMAND, progress_command);
	publish();
}

void
shuttle_progress_add_rows(int64 nrows)
{
	progress_rows += nrows;
	if (shuttle_counted == publish)
		publish();
}

/* Beginning a command anew would hide it for a moment. A subtransaction that fails ends it. */
void
shuttle_progress_move(const ShuttleMoveProgress *move, ShuttleProgressPhase phase)
{
	const int	parameters[] = {PROGRESS_COPY_BYTES_PROCESSED, PARAMETER_ESTIMATED_BYTES, PARAMETER_MOVE,
	PARAMETER_NMOVES, PARAMETER_PHASE, PARAMETER_COMMAND};
	int64		values[] = {move->bytes, move->estimated_bytes, move->number,
	move->nmoves, phase, SHUTTLE_PROGRESS_MOVE};

	if (MyBEEntry == NULL)
		return;
	if (MyBEEntry->st_progress_command != PROGRESS_COMMAND_COPY || MyBEEntry->st_progress_command_target != move->tablet)
		pgstat_progress_start_command(PROGRESS_COMMAND_COPY, move->tablet);
	pgstat_progress_update_multi_param(lengthof(parameters), parameters, values);
}

void
shuttle_progress_end(void)
{
	shuttle_counted = NULL;
	pgstat_progress_end_command();
}

/*-------------------------------------------------------------------------
 * progress.c
 *	  Shows the progress of long work on a table to other sessions.
 *
 * The numbers are parameters of core's progress machinery, which other sessions
 * read without a lock and which an error clears. Its commands are fixed, so ours
 * is COPY, with numbers in parameters that COPY does not use. Building an index
 * sets parameters 8 to 16, so ours are beyond.
 *
 * Requests count rows and bytes as ever; each time they do, the numbers are
 * published. That is once for each request or page of an answer.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "optimizer/plancat.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_counters.h"
#include "tablets/distribute.h"
#include "tablets/tablets_internal.h"

#define PARAMETER_ESTIMATE 17
#define PARAMETER_PHASE 18
#define PARAMETER_COMMAND 19

static const char *const estimate_query =
"SELECT sum(GREATEST(reltuples, 0))::int8::text FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = $1";

static ShuttleProgressCommand progress_command;
static Oid	progress_relid;
static int64 progress_rows;		/* that no request has counted */
static ShuttleCounters progress_start;	/* when the table was begun */

static int64
count_since(ShuttleCounter counter)
{
	return shuttle_session_counters.value[counter] - progress_start.value[counter];
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

/* Rows of a local table, or of all tablets. */
static int64
estimate_rows(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	BlockNumber pages;
	double		rows = 0;
	double		visible;

	if (rel->rd_rel->relkind == RELKIND_RELATION)
		estimate_rel_size(rel, NULL, &pages, &rows, &visible);
	else
	{
		const char *text = shuttle_local_text(estimate_query, relid);

		rows = text == NULL ? 0 : pg_strtoint64(text);
	}
	table_close(rel, NoLock);
	return (int64) rows;
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
		progress_start = shuttle_session_counters;
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

void
shuttle_progress_end(void)
{
	shuttle_counted = NULL;
	pgstat_progress_end_command();
}

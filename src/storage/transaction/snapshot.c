/*-------------------------------------------------------------------------
 * snapshot.c
 *	  Numbers of local snapshots, and which of them are in use.
 *
 * Two statements have the same snapshot if the server gave them the same copy,
 * as it does for a STABLE function and the statement that calls it. Neither
 * address nor contents tell: memory is reused, and snapshots with no commit in
 * between are equal. So the number is kept in the copy, in
 * snapXactCompletionCount, which the server sets to 0 in every copy, also in
 * parallel workers, and reads only in its static snapshots.
 *
 * A snapshot is in use while a plan that uses it runs; a cursor's is not
 * between fetches.
 *
 * Memory: Runs are on the stack.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "base/shuttle_compat_executor.h"
#include "storage/connection/connection.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"

/* An executor run that has not returned. */
typedef struct Run
{
	Snapshot	snapshot;		/* registered by its plan */
	struct Run *outer;
	int			depth;			/* from 1 */
} Run;

static Run *innermost_run = NULL;
static uint64 last_number = 0;

uint64
shuttle_snapshot_number(Snapshot snapshot)
{
	Assert(snapshot->copied);
	if (snapshot->snapXactCompletionCount == 0)
		snapshot->snapXactCompletionCount = ++last_number;
	return snapshot->snapXactCompletionCount;
}

static bool
is_in_use(uint64 number)
{
	for (const Run *run = innermost_run; run != NULL; run = run->outer)
	{
		if (run->snapshot != InvalidSnapshot &&
			run->snapshot->snapXactCompletionCount == number)
			return true;
	}
	return false;
}

int
shuttle_snapshot_run_depth(void)
{
	return innermost_run == NULL ? 0 : innermost_run->depth;
}

bool
shuttle_snapshot_is_needed(const ShuttleNode *node)
{
	for (int i = 0; i < node->transaction.nreaders; i++)
	{
		if (is_in_use(node->transaction.readers[i]))
			return true;
	}
	return false;
}

void
shuttle_snapshot_note_reader(ShuttleNode *node, uint64 number)
{
	int			nkept = 0;

	if (node->transaction.nreaders > 0 && node->transaction.readers[node->transaction.nreaders - 1] == number)
		return;

	/* Keep only those in use: they are few. */
	for (int i = 0; i < node->transaction.nreaders; i++)
	{
		if (node->transaction.readers[i] != number && is_in_use(node->transaction.readers[i]))
			node->transaction.readers[nkept++] = node->transaction.readers[i];
	}
	node->transaction.nreaders = nkept;
	if (nkept == node->transaction.readers_size)
	{
		int			size = Max(8, 2 * nkept);

		node->transaction.readers = node->transaction.readers == NULL ?
			MemoryContextAlloc(node->cxt, size * sizeof(uint64)) :
			repalloc(node->transaction.readers, size * sizeof(uint64));
		node->transaction.readers_size = size;
	}
	node->transaction.readers[node->transaction.nreaders++] = number;
}

static void
begin_run(Run *run, Snapshot snapshot)
{
	run->snapshot = snapshot;
	run->outer = innermost_run;
	run->depth = shuttle_snapshot_run_depth() + 1;
	innermost_run = run;
}

/* PG_FINALLY: an executor run has no memory context of its own. */
void
shuttle_snapshot_run(ExecutorRun_hook_type run_plan, SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	Run			run;

	begin_run(&run, queryDesc->estate->es_snapshot);
	PG_TRY();
	{
		run_plan(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		innermost_run = run.outer;
	}
	PG_END_TRY();
}

/* Data-modifying CTEs run to their end here. Without them the snapshot does not
 * count as in use: AFTER triggers see later commits. */
void
shuttle_snapshot_finish(ExecutorFinish_hook_type finish_plan, QueryDesc *queryDesc)
{
	bool		has_writing_with = queryDesc->estate->es_auxmodifytables != NIL;
	Run			run;

	begin_run(&run, has_writing_with ? queryDesc->estate->es_snapshot : InvalidSnapshot);
	PG_TRY();
	{
		finish_plan(queryDesc);
	}
	PG_FINALLY();
	{
		innermost_run = run.outer;
	}
	PG_END_TRY();
}

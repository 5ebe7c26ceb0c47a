/*-------------------------------------------------------------------------
 * unsent_scans.c
 *	  The list of foreign scans that were begun and not asked for yet.
 *
 * A read must see its node as it was before its statement (trap 24), and
 * scans are asked for when they are first read, which may be after the
 * statement's first write.  So a write first sends what was begun on its node
 * and depends on nothing that the plan computes.  The scans of an outer
 * statement are sent as well when a function writes: their snapshot is older.
 * Scans that lock are not, but for those of a table that is changed beside
 * another write of WITH: the node leaves out of their pages what that one has
 * changed meanwhile.  remote_scan.c sends them.
 *
 * A scan may be read again behind the write.  So the rows of a table that its
 * statement writes stay here.
 *
 * Memory: members live in the memory of their executor run and leave the
 * list, by a reset callback, before it goes.  The run of a cursor that failed
 * in a savepoint loses its snapshot and tables when that is rolled back, and
 * its memory later: so they leave the list with their resource owner, too.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "base/shuttle_compat_executor.h"
#include "executor/ahead/ahead.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

static ShuttleUnsentScan *first_unsent = NULL;
static uint64 latest_number = 0;

static void
remove_at_reset(void *arg)
{
	shuttle_unsent_remove(arg);
}

/* Each owner that is released is the current one meanwhile. */
static void
remove_of_owner(ResourceReleasePhase phase, bool isCommit, bool isTopLevel,
				void *arg)
{
	ShuttleUnsentScan *unsent = first_unsent;

	while (unsent != NULL)
	{
		ShuttleUnsentScan *next = unsent->next;

		if (unsent->owner == CurrentResourceOwner)
			shuttle_unsent_remove(unsent);
		unsent = next;
	}
}

/* What a savepoint leaves behind belongs to the level around. */
static void
end_savepoint(SubXactEvent event, SubTransactionId self, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	if (event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	for (ShuttleUnsentScan *unsent = first_unsent; unsent != NULL; unsent = unsent->next)
	{
		if (unsent->nest_level >= level)
			unsent->nest_level = level - 1;
	}
}

void
shuttle_unsent_add(ShuttleUnsentScan *unsent, ForeignScanState *scan,
				   ShuttleNode *node)
{
	MemoryContext query_cxt = scan->ss.ps.state->es_query_cxt;
	MemoryContextCallback *callback;
	static bool registered = false;

	Assert(!unsent->listed);
	if (!registered)
	{
		RegisterResourceReleaseCallback(remove_of_owner, NULL);
		RegisterSubXactCallback(end_savepoint, NULL);
	}
	registered = true;
	callback = MemoryContextAlloc(query_cxt, sizeof(MemoryContextCallback));
	callback->func = remove_at_reset;
	callback->arg = unsent;

	unsent->scan = scan;
	unsent->node = node;
	unsent->owner = CurrentResourceOwner;
	unsent->number = ++latest_number;
	unsent->nest_level = GetCurrentTransactionNestLevel();
	unsent->previous = NULL;
	unsent->next = first_unsent;
	if (first_unsent != NULL)
		first_unsent->previous = unsent;
	first_unsent = unsent;
	unsent->listed = true;
	MemoryContextRegisterResetCallback(query_cxt, callback);
}

void
shuttle_unsent_remove(ShuttleUnsentScan *unsent)
{
	if (!unsent->listed)
		return;
	if (unsent->previous != NULL)
		unsent->previous->next = unsent->next;
	else
		first_unsent = unsent->next;
	if (unsent->next != NULL)
		unsent->next->previous = unsent->previous;
	unsent->listed = false;
}

ShuttleUnsentScan *
shuttle_unsent_first(void)
{
	return first_unsent;
}

uint64
shuttle_unsent_number(void)
{
	return latest_number;
}

bool
shuttle_reads_written_table(const ForeignScanState *scan)
{
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	ListCell   *lc;

	foreach(lc, estate->es_plannedstmt->resultRelations)
	{
		Oid			written = exec_rt_fetch(lfirst_int(lc), estate)->relid;
		int			rtindex = -1;

		while ((rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
		{
			const RangeTblEntry *rte = exec_rt_fetch(rtindex, estate);

			if (rte->rtekind == RTE_RELATION && shuttle_write_reaches(written, rte->relid))
				return true;
		}
	}
	return false;
}

bool
shuttle_may_read_behind_write(const ForeignScanState *scan, int eflags)
{
	const PlannedStmt *statement = scan->ss.ps.state->es_plannedstmt;

	return (statement->hasModifyingCTE || statement->subplans != NIL ||
			(eflags & EXEC_FLAG_REWIND) != 0) && shuttle_reads_written_table(scan);
}

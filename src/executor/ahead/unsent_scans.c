/*-------------------------------------------------------------------------
 * unsent_scans.c
 *	  The list of foreign scans that were begun and not sent yet.
 *
 * A scan must see its node as it was before its statement (trap 24), but is
 * sent when it is first read, perhaps after the statement's first write. So a
 * write first sends the unsent scans of its node that have no executor
 * parameters. If a function writes, the scans of the outer statements are
 * sent, too: their snapshots are older. Scans that lock rows are not sent,
 * except those of a table that is changed while another part of WITH writes:
 * the node's later pages leave out what that part has changed. remote_scan.c
 * sends them.
 *
 * As a scan may be read again after the write, we keep all its rows if its
 * statement writes the table. Memory: members live in their executor's memory
 * and leave the list in its reset callback. If a cursor fails in a savepoint,
 * the rollback releases its snapshot and tables before its memory: members
 * leave the list with their resource owner, too.
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

/* While an owner is released it is CurrentResourceOwner. */
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

/* Scans of a released savepoint belong to the parent's nest level. */
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

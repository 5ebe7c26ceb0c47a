/*-------------------------------------------------------------------------
 * cut_nodes.c
 *	  Finds the nodes that a plan can read, so that their transactions begin
 *	  together.
 *
 * Under shuttle.read_consistency = atomic a statement over several nodes reads them in one
 * state, which is cheap if all begin at the same time. That is before the plan's first run:
 * pruning when the plan started has left out what is not read. Of pruning by values that
 * come later nothing is known, nor of what functions read; such nodes join late.
 *
 * Nodes that the statement writes to are left out: they are read by a transaction
 * of another kind.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_executor.h"
#include "executor/early/early.h"
#include "executor/facts/scan_facts.h"
#include "executor/router/routed.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_cut.h"

typedef struct Found
{
	const List *written;		/* OIDs of servers */
	List	   *nodes;
} Found;

static List *
written_servers(EState *estate)
{
	List	   *servers = NIL;

	SHUTTLE_EACH_WRITTEN(rtindex, estate->es_plannedstmt)
	{
		const RangeTblEntry *rte = exec_rt_fetch(rtindex, estate);

		if (rte->relkind == RELKIND_FOREIGN_TABLE)
			servers = list_append_unique_oid(servers, GetForeignServerIdByRelId(rte->relid));
	}
	return servers;
}

static bool
find_nodes(PlanState *node, void *arg)
{
	Found	   *found = arg;
	ShuttleNode *read = NULL;

	if (node == NULL)
		return false;
	if (IsA(node, ForeignScanState))
	{
		ForeignScanState *scan = (ForeignScanState *) node;
		const ForeignScan *plan = (const ForeignScan *) node->plan;

		if (plan->operation == CMD_SELECT && shuttle_server_is_ours(plan->fs_server) &&
			!list_member_oid(found->written, plan->fs_server) &&
			shuttle_scan_effect(scan) == SHUTTLE_READS)
			read = shuttle_scan_node(scan);
	}
	else if (shuttle_node_is_routed_statement_plan(node->plan))
		read = shuttle_routed_node(node);
	if (read != NULL)
		found->nodes = list_append_unique_ptr(found->nodes, read);
	return planstate_tree_walker(node, find_nodes, arg);
}

/* True if the statement reads rows of a local table that others see. */
static bool
reads_here(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relid >= FirstNormalObjectId &&
			(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
			!(statement->commandType == CMD_INSERT && rte->rellockmode == RowExclusiveLock) &&
			get_rel_persistence(rte->relid) != RELPERSISTENCE_TEMP)
			return true;
	}
	return false;
}

/* Returns true if the statement's snapshot was replaced. */
bool
shuttle_cut_nodes_run(QueryDesc *query, ScanDirection direction, uint64 count)
{
	Found		found = {NIL, NIL};
	bool		is_first = !query->already_executed && shuttle_cut_is_wanted() &&
		!ScanDirectionIsNoMovement(direction) && !IsParallelWorker();
	bool		is_here = is_first && reads_here(query->plannedstmt);

	if (is_first && shuttle_reads_foreign_table(query->plannedstmt))
	{
		found.written = written_servers(query->estate);
		(void) find_nodes(query->planstate, &found);
		found.nodes = shuttle_cut_open(query, found.nodes, is_here);
	}
	shuttle_early_start_run(query, direction, count);
	shuttle_cut_send(found.nodes);
	return is_here && shuttle_cut_read_here(query);
}

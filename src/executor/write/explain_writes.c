/*-------------------------------------------------------------------------
 * explain_writes.c
 *	  What EXPLAIN (ANALYZE, DIST) shows of written tables, those included
 *	  that ModifyTable routes rows to and that are not in its plan.
 *
 * Core prints the plan's tables and lets their FDWs add lines; for an INSERT
 * into a partitioned table that is the named table, and no partition. So when
 * a statement that may be printed has ended, the last such table gets an
 * FdwRoutine that also prints the partitions. Only EXPLAIN and the end of the
 * executor use it from then on.
 *
 * If the plan has local tables only (an UPDATE that moves rows out of them),
 * the last of them gets it. Core prints "Foreign" before the name of a table
 * with an FdwRoutine; that word is removed.
 * Memory: the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_explain.h"
#include "executor/executor_types.h"
#include "executor/fdw/fdw.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_executor.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "explain/shuttle_explain.h"

void
shuttle_explain_foreign_modify(ModifyTableState *mtstate, ResultRelInfo *target,
							   List *fdw_private, int subplan_index, ExplainState *es)
{
	ShuttleWrite *write = target->ri_FdwState;

	if (es->verbose)
		fdw_private = shuttle_on_conflict_explained(mtstate, target, fdw_private);
	shuttle_postgres_fdw_routine->ExplainForeignModify(mtstate, target, fdw_private,
													   subplan_index, es);
	if (write == NULL)
		return;

	shuttle_explain_write(write, es);
	shuttle_modify_explain_commit(es);
}

void
shuttle_explain_write(ShuttleWrite *write, ExplainState *es)
{
	ShuttleExplainNumbers numbers = {
		.counters = &write->counters,
		.writes = true,
		.looks = shuttle_write_looks(write),
		.engine = true,
		.node_name = shuttle_node_name(write->storage_node),
	};

	shuttle_explain_counters(es, &numbers);
	if (write->asked != NULL)
		shuttle_explain_remote_asked(write->asked, write->storage_node,
									 shuttle_on_conflict_shown_sql(write), es);
}

/* ---- rows that are routed */

typedef struct RoutedRoutine
{
	FdwRoutine	routine;		/* must be first: seen by core */
	const FdwRoutine *own;		/* the table's own; NULL: none */
} RoutedRoutine;

/* The write of rows that a ModifyTable routed to a table; NULL: none. */
static ShuttleWrite *
routed_write(const ModifyTableState *node, const ResultRelInfo *target)
{
	ShuttleWrite *write;

	if (target->ri_FdwRoutine == NULL || target->ri_FdwState == NULL ||
		!shuttle_server_routine_is_ours(target->ri_FdwRoutine))
		return NULL;
	write = target->ri_FdwState;
	return write->node == node && write->operation == CMD_INSERT ? write : NULL;
}

/* Lists the writes of a ModifyTable that core does not show. */
static List *
list_routed(ModifyTableState *node)
{
	List	   *writes = NIL;
	ShuttleWrite *write;
	ListCell   *cell;

	foreach(cell, node->ps.state->es_tuple_routing_result_relations)
	{
		write = routed_write(node, lfirst(cell));
		if (write != NULL)
			writes = lappend(writes, write);
	}

	/* Partitions that the statement also modifies directly. */
	for (int i = 0; i < node->mt_nrels; i++)
	{
		ResultRelInfo *target = &node->resultRelInfo[i];

		write = target->ri_usesFdwDirectModify ? routed_write(node, target) : NULL;
		if (write != NULL)
			writes = lappend(writes, write);
	}
	return writes;
}

static void
explain_table(ShuttleWrite *write, ExplainState *es)
{
	shuttle_explain_begin_table(es, "Foreign Insert", RelationGetRelationName(write->rel));
	if (es->verbose)
		shuttle_explain_text(es, "Remote SQL", shuttle_on_conflict_shown_sql(write));
	shuttle_explain_write(write, es);
	shuttle_explain_end_table(es);
}

/* Replaces a table's ExplainForeignModify. */
static void
explain_partition(ModifyTableState *node, ResultRelInfo *target, List *fdw_private,
				  int subplan_index, ExplainState *es)
{
	const FdwRoutine *own = ((RoutedRoutine *) target->ri_FdwRoutine)->own;
	ListCell   *cell;

	if (own == NULL)
		shuttle_explain_call_local(es);
	else if (own->ExplainForeignModify != NULL)
		own->ExplainForeignModify(node, target, fdw_private, subplan_index, es);
	if (!es->analyze || !shuttle_dist_is_wanted(es))
		return;
	shuttle_explain_begin_tables(es);
	foreach(cell, list_routed(node))
		explain_table(lfirst(cell), es);
	shuttle_explain_end_tables(es);
	if (own == NULL || !shuttle_server_routine_is_ours(own))
		shuttle_modify_explain_commit(es);
}

/* The last table whose ExplainForeignModify core calls, else the last local
 * table; or NULL. */
static ResultRelInfo *
find_speaker(ModifyTableState *node)
{
	ResultRelInfo *local = NULL;

	for (int i = node->mt_nrels - 1; i >= 0; i--)
	{
		ResultRelInfo *target = &node->resultRelInfo[i];

		if (target->ri_FdwRoutine != NULL && !target->ri_usesFdwDirectModify)
			return target;
		if (target->ri_FdwRoutine == NULL && local == NULL)
			local = target;
	}
	return local;
}

static void
prepare_explain(ModifyTableState *node)
{
	ResultRelInfo *speaker = find_speaker(node);
	RoutedRoutine *routine;

	if (speaker == NULL || list_routed(node) == NIL)
		return;
	routine = palloc0_object(RoutedRoutine);
	routine->own = speaker->ri_FdwRoutine;
	if (routine->own != NULL)
		routine->routine = *routine->own;
	else
		routine->routine.type = T_FdwRoutine;
	routine->routine.ExplainForeignModify = explain_partition;
	speaker->ri_FdwRoutine = &routine->routine;
}

void
shuttle_explain_partitions_finish(QueryDesc *query)
{
	MemoryContext old_cxt;
	ListCell   *cell;

	if (query->instrument_options == 0)
		return;
	old_cxt = MemoryContextSwitchTo(query->estate->es_query_cxt);
	foreach(cell, shuttle_modify_tables(query))
		prepare_explain(lfirst_node(ModifyTableState, cell));
	MemoryContextSwitchTo(old_cxt);
}

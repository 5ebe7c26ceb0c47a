/*-------------------------------------------------------------------------
 * shuttle_compat_executor.h
 *	  Version differences: plan nodes, tuples and the executor's state.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_EXECUTOR_H
#define SHUTTLE_COMPAT_EXECUTOR_H

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "storage/buffile.h"
#include "utils/rel.h"

/* ---- triggers */

/* Arguments of ExecBRUpdateTriggers() that tell of a row that it had to lock. */
#if PG_VERSION_NUM >= 180000	/* 18 added is_merge_update */
#define SHUTTLE_NO_LOCK_RESULT NULL, NULL, false
#elif PG_VERSION_NUM >= 160000	/* 16 added tmresult */
#define SHUTTLE_NO_LOCK_RESULT NULL, NULL
#else
#define SHUTTLE_NO_LOCK_RESULT NULL
#endif

/* Fires BEFORE ROW UPDATE triggers of a foreign table, which may change the new
 * row; false: they skip it. */
static inline bool
shuttle_fire_before_update(ModifyTableState *node, ResultRelInfo *target, HeapTuple old_row,
						   TupleTableSlot *new_row)
{
	return ExecBRUpdateTriggers(node->ps.state, &node->mt_epqstate, target, NULL, old_row,
								new_row, SHUTTLE_NO_LOCK_RESULT);
}

/* ---- runs and their state */

/* Arguments of an ExecutorRun_hook; 18 removed execute_once. */
#if PG_VERSION_NUM < 180000
#define SHUTTLE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, bool execute_once
#define SHUTTLE_EXECUTOR_RUN_ARGUMENTS queryDesc, direction, count, execute_once
#else
#define SHUTTLE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define SHUTTLE_EXECUTOR_RUN_ARGUMENTS queryDesc, direction, count
#endif

/* Arguments of an ExecutorCheckPerms_hook, permissions: what is checked; 16 added a list of that to
 * the range table. */
#if PG_VERSION_NUM >= 160000
#define SHUTTLE_PERMISSIONS_PARAMETERS List *entries, List *permissions, bool raise
#define SHUTTLE_PERMISSIONS_ARGUMENTS entries, permissions, raise
#else
#define SHUTTLE_PERMISSIONS_PARAMETERS List *permissions, bool raise
#define SHUTTLE_PERMISSIONS_ARGUMENTS permissions, raise
#endif

/* Runs a query to its end; 18 left an argument out. */
static inline void
shuttle_executor_run_all(QueryDesc *query)
{
#if PG_VERSION_NUM >= 180000
	ExecutorRun(query, ForwardScanDirection, 0);
#else
	ExecutorRun(query, ForwardScanDirection, 0, true);
#endif
}

/* True for EXPLAIN (GENERIC_PLAN), new in 16: parameters have no values. */
static inline bool
shuttle_explains_generic(int eflags)
{
#if PG_VERSION_NUM >= 160000
	return (eflags & EXEC_FLAG_EXPLAIN_GENERIC) != 0;
#else
	return false;
#endif
}

/* Shares what a scan needs of one EState with another one that runs a part of
 * the same statement. */
static inline void
shuttle_share_executor_state(EState *to, const EState *from)
{
	to->es_snapshot = from->es_snapshot;
	to->es_crosscheck_snapshot = from->es_crosscheck_snapshot;
	to->es_range_table = from->es_range_table;
	to->es_range_table_size = from->es_range_table_size;
	to->es_relations = from->es_relations;
#if PG_VERSION_NUM >= 160000
	to->es_rteperminfos = from->es_rteperminfos;
#endif
#if PG_VERSION_NUM >= 180000
	to->es_unpruned_relids = from->es_unpruned_relids;
#endif
	to->es_plannedstmt = from->es_plannedstmt;
	to->es_param_list_info = from->es_param_list_info;
	to->es_queryEnv = from->es_queryEnv;
	to->es_sourceText = from->es_sourceText;
}

/* Opens a target table or a parent of it; 18 has a flag for that. */
static inline Relation
shuttle_changed_relation(EState *estate, Index rtindex)
{
#if PG_VERSION_NUM >= 180000
	return ExecGetRangeTableRelation(estate, rtindex, true);
#else
	return ExecGetRangeTableRelation(estate, rtindex);
#endif
}

/* Iterates over the range table indexes of tables that a statement writes; 19
 * made the list a set. */
#if PG_VERSION_NUM >= 190000
#define SHUTTLE_EACH_WRITTEN(rtindex, statement) \
	for (int rtindex = -1; \
		 (rtindex = bms_next_member((statement)->resultRelationRelids, rtindex)) >= 0;)
#else
#define SHUTTLE_EACH_WRITTEN(rtindex, statement) \
	for (int rtindex = 0, rtindex##_at = 0; \
		 rtindex##_at < list_length((statement)->resultRelations) && \
		 (rtindex = list_nth_int((statement)->resultRelations, rtindex##_at)) > 0; \
		 rtindex##_at++)
#endif

/* What EXPLAIN ANALYZE measures of a node has a type of its own since 19. */
#if PG_VERSION_NUM < 190000
typedef Instrumentation NodeInstrumentation;
#endif

/* True while the time of a node is running. */
static inline bool
shuttle_is_timed(const NodeInstrumentation * node)
{
#if PG_VERSION_NUM >= 190000
	return node->instr.need_timer && !INSTR_TIME_IS_ZERO(node->instr.starttime);
#else
	return node->need_timer && !INSTR_TIME_IS_ZERO(node->starttime);
#endif
}

/* ---- who a scan or a write runs as */

/* The user of a foreign scan or direct modify: since 16 in the plan, before in
 * the range table. */
static inline Oid
shuttle_scan_user(const ForeignScan *scan, EState *estate)
{
#if PG_VERSION_NUM >= 160000
	Oid			user = scan->checkAsUser;
#else
	Index		rtindex = scan->scan.scanrelid;
	Oid			user;

	if (rtindex == 0)
		rtindex = bms_next_member(scan->fs_relids, -1);
	user = exec_rt_fetch(rtindex, estate)->checkAsUser;
#endif
	return OidIsValid(user) ? user : GetUserId();
}

/* The user of a write; since 16 in RTEPermissionInfo. */
#if PG_VERSION_NUM < 160000
static inline Oid
ExecGetResultRelCheckAsUser(ResultRelInfo *target, EState *estate)
{
	Index		rtindex = target->ri_RangeTableIndex;
	Oid			user;

	if (rtindex == 0)
		rtindex = target->ri_RootResultRelInfo->ri_RangeTableIndex;
	user = exec_rt_fetch(rtindex, estate)->checkAsUser;
	return OidIsValid(user) ? user : GetUserId();
}
#endif

/* Copies a scan's user; before 16 it is in the range table. */
static inline void
shuttle_copy_scan_user(ForeignScan *to, const ForeignScan *from)
{
#if PG_VERSION_NUM >= 160000
	to->checkAsUser = from->checkAsUser;
	to->fs_base_relids = from->fs_base_relids;
#endif
}

/* ---- rows */

/* Comes after the last column of a row type; new in 19. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/* 18 added an argument for extra space in front. */
static inline MinimalTuple
shuttle_form_minimal_tuple(TupleDesc desc, Datum *values, bool *nulls)
{
#if PG_VERSION_NUM >= 180000
	return heap_form_minimal_tuple(desc, values, nulls, 0);
#else
	return heap_form_minimal_tuple(desc, values, nulls);
#endif
}

static inline MinimalTuple
shuttle_copy_minimal_tuple(MinimalTuple tuple)
{
#if PG_VERSION_NUM >= 180000
	return heap_copy_minimal_tuple(tuple, 0);
#else
	return heap_copy_minimal_tuple(tuple);
#endif
}

/*
 * The conversion from the root's rows to a partition's; 16 made it a function.
 */
#if PG_VERSION_NUM < 160000
static inline TupleConversionMap *
ExecGetRootToChildMap(ResultRelInfo *child, EState *estate)
{
	return child->ri_RootToPartitionMap;
}
#endif

/* Evaluates RETURNING for a row of a foreign table (for DELETE the old row); 18
 * has OLD and NEW. old_row: what UPDATE found; NULL: plan_row has it. */
static inline TupleTableSlot *
shuttle_project_returning(EState *estate, ResultRelInfo *target,
						  CmdType operation, TupleTableSlot *row,
						  TupleTableSlot *old_row, TupleTableSlot *plan_row)
{
	ProjectionInfo *projection = target->ri_projectReturning;
	ExprContext *econtext = projection->pi_exprContext;

	econtext->ecxt_scantuple = row;
	econtext->ecxt_outertuple = plan_row;
#if PG_VERSION_NUM >= 180000
	{
		TupleTableSlot *new_row = operation == CMD_DELETE ? NULL : row;
		int			flags = projection->pi_state.flags;

		if (operation == CMD_DELETE)
			old_row = row;
		else if (operation == CMD_UPDATE && old_row == NULL && (flags & EEO_FLAG_HAS_OLD) != 0)
		{
			bool		is_null;
			Datum		whole = ExecGetJunkAttribute(plan_row, target->ri_RowIdAttNo,
													 &is_null);
			HeapTupleHeader header = DatumGetHeapTupleHeader(whole);
			HeapTupleData tuple = {
				.t_len = HeapTupleHeaderGetDatumLength(header),
				.t_tableOid = RelationGetRelid(target->ri_RelationDesc),
				.t_data = header,
			};

			ItemPointerSetInvalid(&tuple.t_self);
			old_row = target->ri_oldTupleSlot;
			ExecForceStoreHeapTuple(&tuple, old_row, false);
		}
		econtext->ecxt_oldtuple = old_row != NULL ? old_row :
			(flags & EEO_FLAG_HAS_OLD) != 0 ? ExecGetAllNullSlot(estate, target) : NULL;
		econtext->ecxt_newtuple = new_row != NULL ? new_row :
			(flags & EEO_FLAG_HAS_NEW) != 0 ? ExecGetAllNullSlot(estate, target) : NULL;
		if (old_row == NULL)
			projection->pi_state.flags |= EEO_FLAG_OLD_IS_NULL;
		else
			projection->pi_state.flags &= ~EEO_FLAG_OLD_IS_NULL;
		if (new_row == NULL)
			projection->pi_state.flags |= EEO_FLAG_NEW_IS_NULL;
		else
			projection->pi_state.flags &= ~EEO_FLAG_NEW_IS_NULL;
	}
#endif
	return ExecProject(projection);
}

/* Late minor releases also check the condition of a view for the row that conflicts. The kind is the last one
 * there; before, no check is of that kind. */
#define SHUTTLE_WCO_VIEW_CONFLICT_CHECK ((WCOKind) (WCO_RLS_MERGE_DELETE_CHECK + 1))

/* New in 16: raises an error on a short read. */
#if PG_VERSION_NUM < 160000
static inline void
shuttle_BufFileReadExact(BufFile *file, void *to, size_t size)
{
	if (BufFileRead(file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}
#define BufFileReadExact shuttle_BufFileReadExact
#endif

/* ---- plan nodes and their run-time pruning */

/* Since 16 fs_relids includes outer joins. */
#if PG_VERSION_NUM < 160000
#define fs_base_relids fs_relids
#endif

/* Sets the relids of a scan that core has not planned. */
static inline void
shuttle_scan_set_relids(ForeignScan *scan, Relids relids)
{
	scan->fs_relids = bms_copy(relids);
	scan->fs_base_relids = scan->fs_relids;
}

/* True if an Append has run-time pruning. */
static inline bool
shuttle_append_prunes(const Append *append)
{
#if PG_VERSION_NUM >= 180000
	return append->part_prune_index >= 0;
#else
	return append->part_prune_info != NULL;
#endif
}

/* How a MergeAppend prunes; NULL: it does not. */
static inline const PartitionPruneInfo *
shuttle_merge_append_pruning(const MergeAppend *append, const PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 180000
	return append->part_prune_index < 0 ? NULL :
		list_nth_node(PartitionPruneInfo, statement->partPruneInfos, append->part_prune_index);
#else
	return append->part_prune_info;
#endif
}

/* Has an Append prune as a MergeAppend of the same children does. */
static inline void
shuttle_append_take_pruning(Append *append, const MergeAppend *merge)
{
#if PG_VERSION_NUM >= 180000
	append->part_prune_index = merge->part_prune_index;
#else
	append->part_prune_info = merge->part_prune_info;
#endif
}

/* Has an Append or MergeAppend of a finished plan prune; 18 keeps how in the
 * statement. */
static inline void
shuttle_append_set_pruning(PlannedStmt *statement, Plan *plan, List *tables, Bitmapset *others)
{
	PartitionPruneInfo *info = makeNode(PartitionPruneInfo);

	info->prune_infos = tables;
	info->other_subplans = others;
#if PG_VERSION_NUM >= 180000
	info->relids = bms_copy(IsA(plan, Append) ? ((Append *) plan)->apprelids :
							((MergeAppend *) plan)->apprelids);
	if (IsA(plan, Append))
		((Append *) plan)->part_prune_index = list_length(statement->partPruneInfos);
	else
		((MergeAppend *) plan)->part_prune_index = list_length(statement->partPruneInfos);
	statement->partPruneInfos = lappend(statement->partPruneInfos, info);
#else
	if (IsA(plan, Append))
		((Append *) plan)->part_prune_info = info;
	else
		((MergeAppend *) plan)->part_prune_info = info;
#endif
}

/* Empty maps of a partitioned table's partitions. */
static inline PartitionedRelPruneInfo *
shuttle_make_prune_info(Index rtindex, int nparts)
{
	PartitionedRelPruneInfo *info = makeNode(PartitionedRelPruneInfo);

	info->rtindex = rtindex;
	info->nparts = nparts;
	info->subplan_map = palloc(sizeof(int) * nparts);
	info->subpart_map = palloc(sizeof(int) * nparts);
	info->relid_map = palloc0(sizeof(Oid) * nparts);
	memset(info->subplan_map, -1, sizeof(int) * nparts);
	memset(info->subpart_map, -1, sizeof(int) * nparts);
#if PG_VERSION_NUM >= 180000
	info->leafpart_rti_map = palloc0(sizeof(int) * nparts);
#endif
	return info;
}

/* The children of an Append that run-time pruning selects. */
static inline Bitmapset *
shuttle_find_matching_subplans(PartitionPruneState *state)
{
#if PG_VERSION_NUM >= 180000
	return ExecFindMatchingSubPlans(state, false, NULL);
#else
	return ExecFindMatchingSubPlans(state, false);
#endif
}

/* Since 18 an EvalPlanQual tree shares the statement's run-time pruning. Makes
 * the tree its own, if so; initial pruning is kept. */
static inline bool
shuttle_make_pruning(EState *estate)
{
#if PG_VERSION_NUM >= 180000
	List	   *results = estate->es_part_prune_results;
	Bitmapset  *unpruned = estate->es_unpruned_relids;

	if (estate->es_epq_active == NULL || estate->es_part_prune_states !=
		estate->es_epq_active->parentestate->es_part_prune_states)
		return false;
	estate->es_part_prune_states = NIL;
	estate->es_part_prune_results = NIL;
	estate->es_unpruned_relids = bms_copy(unpruned);
	ExecDoInitialPruning(estate);
	estate->es_part_prune_results = results;
	estate->es_unpruned_relids = unpruned;
	return true;
#else
	return false;
#endif
}

#if PG_VERSION_NUM >= 180000
#define SHUTTLE_OWN_PRUNING(node, append, children, now) \
	((now) == NULL || list_member_ptr((node)->state->es_part_prune_states, now) ? (now) : \
	 ExecInitPartitionExecPruning(node, list_length(children), (append)->part_prune_index, \
								  (append)->apprelids, &(Bitmapset *) {NULL}))
#else
#define SHUTTLE_OWN_PRUNING(node, append, children, now) ((void) (append), (now))
#endif

/* 19 renamed what DO UPDATE keeps for a table. */
#if PG_VERSION_NUM >= 190000
typedef OnConflictActionState ShuttleOnConflictState;
#else
typedef OnConflictSetState ShuttleOnConflictState;
#endif

/* New in 18: virtual generated columns, whose expressions stand for them in a condition. */
#if PG_VERSION_NUM < 180000
#define shuttle_expand_generated(condition, rel) (condition)
#else
#include "rewrite/rewriteHandler.h"
#define shuttle_expand_generated(condition, rel) expand_generated_columns_in_expr(condition, rel, 1)
#endif

#endif							/* SHUTTLE_COMPAT_EXECUTOR_H */

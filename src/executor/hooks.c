/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks that the executor room uses, and the order of its parts.
 *
 * explain/ and storage/ install theirs later, so they run around these.
 *
 * Not here: callbacks of caches that are registered when the cache is made
 * (remote_table.c, column_names.c, server_kind.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_utility.h"
#include "executor/behind/behind.h"
#include "executor/early/early.h"
#include "executor/facts/safe_values.h"
#include "executor/join/join.h"
#include "executor/join/served_scan.h"
#include "executor/outbox.h"
#include "executor/router/call.h"
#include "executor/router/routed.h"
#include "executor/scan/late_locks.h"
#include "executor/shuttle_executor.h"
#include "executor/standby_writes.h"
#include "executor/statistics/statistics.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/keyed/keyed_write.h"
#include "executor/write/write.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_cut.h"
#include "storage/shuttle_read_only.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

static ExecutorStart_hook_type previous_start = standard_ExecutorStart;
static ExecutorRun_hook_type previous_run = standard_ExecutorRun;
static ExecutorFinish_hook_type previous_finish = standard_ExecutorFinish;
static ExecutorEnd_hook_type previous_end = standard_ExecutorEnd;
static ProcessUtility_hook_type previous_utility = standard_ProcessUtility;

static void
start_executor(QueryDesc *query, int eflags)
{
	uint64		begun = shuttle_look_aheads_begun();
	bool		standby_writes = shuttle_standby_writes_check(query, eflags);

	shuttle_cut_enter(query);

	/* both may change the plan */
	shuttle_routed_start(query, eflags);
	shuttle_unawaited_update_start(query);
	shuttle_copied_join_start(query);
	if (standby_writes)
		shuttle_standby_writes_start(previous_start, query, eflags);
	else
		previous_start(query, eflags);

	/* which sources look ahead is known when writes begin */
	shuttle_look_aheads_link(query, eflags, begun);
	shuttle_modify_start(query, eflags);
	shuttle_other_writes_start(query, eflags);
	shuttle_copied_joins_start_change(query, eflags);
	shuttle_caught_error_start(query);
}

static void
run_executor(SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	/* goals are known before scans are started */
	bool		renewed;

	shuttle_row_goal_run(queryDesc, direction, count);
	renewed = shuttle_cut_nodes_run(queryDesc, direction, count);
	shuttle_write_behind_run(queryDesc);
	shuttle_modify_limit(queryDesc, count);
	if (renewed)
		PushActiveSnapshot(queryDesc->snapshot);
	previous_run(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
	if (renewed)
		PopActiveSnapshot();
	shuttle_write_behind_exit();
}

static void
finish_executor(QueryDesc *query)
{
	shuttle_write_behind_enter();
	previous_finish(query);
	shuttle_modify_finish(query);
	shuttle_global_rows_finish();
	shuttle_explain_partitions_finish(query);
	shuttle_write_behind_exit();
}

static void
end_executor(QueryDesc *query)
{
	shuttle_other_writes_end(query);
	shuttle_cut_leave(query);
	previous_end(query);
}

static void
truncate_tables(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_foreign_truncate_run(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
call_routine(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_call_run(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
copy_rows(SHUTTLE_UTILITY_PARAMETERS)
{
	int			outer = shuttle_statement_enter_copy();

	PG_TRY();					/* what is counted outlives the statement */
	{
		shuttle_copied_joins_run_change(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		shuttle_statement_leave_copy(outer);
	}
	PG_END_TRY();
}

/* A statement has one part. TRUNCATE has two, in any order; CALL has two, and the list of
 * INSERTs that are not waited for must be around the call. */
static void
run_statement(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_cut_note_utility(pstmt->utilityStmt);
	switch (nodeTag(pstmt->utilityStmt))
	{
		case T_CallStmt:
		case T_DoStmt:
			shuttle_write_behind_call(call_routine, SHUTTLE_UTILITY_ARGUMENTS);
			break;
		case T_CopyStmt:
			pstmt = shuttle_other_writes_thaw(pstmt);
			if (castNode(CopyStmt, pstmt->utilityStmt)->is_from)
				copy_rows(SHUTTLE_UTILITY_ARGUMENTS);
			else
				previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
			shuttle_other_writes_copied(castNode(CopyStmt, pstmt->utilityStmt));
			break;
		case T_TruncateStmt:
			shuttle_copied_joins_run_change(truncate_tables, SHUTTLE_UTILITY_ARGUMENTS);
			break;
		case T_TransactionStmt:
			shuttle_windows_begin_transaction();
			previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
			break;
		case T_VacuumStmt:
			shuttle_analyze_columns_run(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
			break;
		default:
			previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
	}
}

static void
run_utility(SHUTTLE_UTILITY_PARAMETERS)
{
	pstmt = shuttle_read_only_take_wish(pstmt);
	shuttle_standby_writes_run(run_statement, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
end_transaction(XactEvent event, void *arg)
{
	shuttle_write_behind_end_transaction(event);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
	{
		shuttle_copied_joins_end_transaction();
		shuttle_remote_table_end_transaction();
	}
	if (event == XACT_EVENT_ABORT)
		shuttle_outbox_end_level(1, true);
}

static void
begin_or_end_savepoint(SubXactEvent event, SubTransactionId self, SubTransactionId parent,
					   void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	shuttle_write_behind_savepoint(event);
	if (event == SUBXACT_EVENT_START_SUB)
		shuttle_outbox_before_savepoint();
	else if (event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB)
		shuttle_outbox_end_level(level, event == SUBXACT_EVENT_ABORT_SUB);
}

static void
flush_before_read(ShuttleNode *node)
{
	shuttle_outbox_before_read(node, NULL);
}

/* Errors of what the statement has written come first. */
static void
finish_writes(void)
{
	shuttle_global_rows_finish();
	shuttle_write_behind_finish(1);
}

void
shuttle_executor_init(void)
{
	shuttle_look_ahead_register();
	shuttle_routed_append_register();
	shuttle_lock_ahead_register();
	shuttle_keyed_write_register();
	shuttle_merge_register();
	shuttle_conflict_by_row_register();
	shuttle_routed_statement_register();
	shuttle_call_register();
	shuttle_write_behind_init();
	shuttle_storage_calls.translate_error = shuttle_on_conflict_translate_error;
	shuttle_foreign_key_before_read = flush_before_read;
	shuttle_foreign_key_before_error = finish_writes;

	if (ExecutorStart_hook != NULL)
		previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	if (ExecutorRun_hook != NULL)
		previous_run = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
	if (ExecutorFinish_hook != NULL)
		previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
	if (ExecutorEnd_hook != NULL)
		previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = end_executor;
	if (ProcessUtility_hook != NULL)
		previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;

	/*
	 * Core calls the last one first: these, then those of tablets/ and of
	 * storage/, which are set up before.
	 */
	RegisterXactCallback(end_transaction, NULL);
	RegisterSubXactCallback(begin_or_end_savepoint, NULL);
	RegisterResourceReleaseCallback(shuttle_outbox_release, NULL);
}

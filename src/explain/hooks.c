/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks that the explain room uses.
 *
 * They are installed after those of executor/, so they run around these:
 * counters cover what the executor room sends early.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "explain/explain_internal.h"

static ProcessUtility_hook_type previous_utility = standard_ProcessUtility;
static ExplainOneQuery_hook_type previous_explain = standard_ExplainOneQuery;
static ExecutorStart_hook_type previous_start = standard_ExecutorStart;
static ExecutorRun_hook_type previous_run = standard_ExecutorRun;
static ExecutorFinish_hook_type previous_finish = standard_ExecutorFinish;
static ExecutorEnd_hook_type previous_end = standard_ExecutorEnd;

static void
run_utility(SHUTTLE_UTILITY_PARAMETERS)
{
	if (IsA(pstmt->utilityStmt, ExplainStmt))
		shuttle_dist_explain(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
	else
		previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
}

static void
explain_one_query(Query *query, int cursor_options, IntoClause *into,
				  ExplainState *es, const char *query_string,
				  ParamListInfo params, QueryEnvironment *environment)
{
	shuttle_dist_learn_state(es);
	previous_explain(query, cursor_options, into, es, query_string, params, environment);
}

static void
start_executor(QueryDesc *query, int eflags)
{
	shuttle_dist_start(previous_start, query, eflags);
}

static void
run_executor(SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	shuttle_dist_run(previous_run, SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
}

static void
finish_executor(QueryDesc *query)
{
	shuttle_dist_finish(previous_finish, query);
}

static void
end_executor(QueryDesc *query)
{
	shuttle_dist_end(query);
	previous_end(query);
}

void
shuttle_explain_init(void)
{
	shuttle_dist_register();

	if (ProcessUtility_hook != NULL)
		previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
	if (ExplainOneQuery_hook != NULL)
		previous_explain = ExplainOneQuery_hook;
	ExplainOneQuery_hook = explain_one_query;
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
}

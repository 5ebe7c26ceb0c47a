/*-------------------------------------------------------------------------
 * call_node.c
 *	  Plan node of a statement that only calls a function, which a storage node
 *	  may execute.
 *
 * Its child is core's plan of the statement: it checks the caller's right to
 * execute the function, and runs if the call cannot be shipped.
 *
 * Memory: rows belong to the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"
#include "executor/behind/behind.h"
#include "executor/facts/node_names.h"
#include "executor/facts/parameters.h"
#include "executor/router/call.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

typedef struct CallState
{
	CustomScanState css;		/* must be first */
	ShuttleRoutedPlan plan;
	ShuttleCall call;
	ShuttleParameters *parameters;
	TupleTableSlot *slot;
	bool		begun;
	bool		shipped;
	ShuttleCounters counters;
} CallState;

static Node *create_state(CustomScan *plan);
static void begin_call(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_call(CustomScanState *node);
static void end_call(CustomScanState *node);
static void rescan_call(CustomScanState *node);
static void explain_call(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomScanMethods call_methods = {
	.CustomName = shuttle_node_shipped_call_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods call_exec_methods = {
	.CustomName = shuttle_node_shipped_call_name,
	.BeginCustomScan = begin_call,
	.ExecCustomScan = exec_call,
	.EndCustomScan = end_call,
	.ReScanCustomScan = rescan_call,
	.ExplainCustomScan = explain_call,
};

void
shuttle_call_register(void)
{
	RegisterCustomScanMethods(&call_methods);
}

CustomScan *
shuttle_call_make(Oid routine, const char *sql, List *values, int key)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &call_methods;
	scan->custom_exprs = values;
	scan->custom_private = list_make3(makeString(pstrdup(sql)), list_make1_oid(routine),
									  list_make1_int(key));
	return scan;
}

static Node *
create_state(CustomScan *plan)
{
	CallState  *state = palloc0_object(CallState);

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &call_exec_methods;
	return (Node *) state;
}

static void
begin_call(CustomScanState *node, EState *estate, int eflags)
{
	CallState  *state = (CallState *) node;
	const CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	PlanState  *plan_state = &node->ss.ps;

	node->custom_ps = list_make1(ExecInitNode(linitial(scan->custom_plans), estate, eflags));
	state->plan.values = scan->custom_exprs;
	state->plan.keys = list_make1(list_nth(scan->custom_exprs, linitial_int(lthird(scan->custom_private)) - 1));
	state->call.routine = linitial_oid(lsecond(scan->custom_private));
	state->call.sql = strVal(linitial(scan->custom_private));
	state->call.plan = &state->plan;
	state->call.keys = ExecInitExprList(state->plan.keys, plan_state);
	state->call.arguments = ExecInitExprList(state->plan.values, plan_state);
	state->call.econtext = plan_state->ps_ExprContext;
	state->call.estate = estate;
	state->call.counters = &state->counters;
	state->call.desc = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	state->parameters = shuttle_parameters_create(state->plan.values, plan_state);
	state->call.nparams = shuttle_parameters_count(state->parameters);
}

/* Nothing of this server's transaction is older than the call. */
static bool
is_outermost(void)
{
	return !IsTransactionBlock() && GetCurrentTransactionNestLevel() == 1 &&
		shuttle_snapshot_run_depth() <= 1;
}

static void
ship(CallState *state)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	state->call.rows = tuplestore_begin_heap(false, false, work_mem);
	state->slot = MakeSingleTupleTableSlot(state->call.desc, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old_cxt);
	state->call.outermost = is_outermost();
	state->call.is_transaction = shuttle_write_behind_commit_follows();
	state->call.values = shuttle_parameters_evaluate(state->parameters, state->call.econtext);
	state->shipped = shuttle_call_ship(&state->call);
}

static TupleTableSlot *
exec_call(CustomScanState *node)
{
	CallState  *state = (CallState *) node;

	if (!state->begun)
		ship(state);
	state->begun = true;
	if (!state->shipped)
		return ExecProcNode(linitial(node->custom_ps));
	(void) tuplestore_gettupleslot(state->call.rows, true, false, state->slot);
	return state->slot;
}

static void
end_rows(CallState *state)
{
	if (state->slot != NULL)
		ExecDropSingleTupleTableSlot(state->slot);
	if (state->call.rows != NULL)
		tuplestore_end(state->call.rows);
	state->slot = NULL;
	state->call.rows = NULL;
}

static void
end_call(CustomScanState *node)
{
	end_rows((CallState *) node);
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan_call(CustomScanState *node)
{
	CallState  *state = (CallState *) node;

	end_rows(state);
	state->begun = false;
	ExecReScan(linitial(node->custom_ps));
}

/* EXPLAIN of a generic plan does not know the key. */
static void
explain_place(CallState *state, ExplainState *es)
{
	const char *reason = NULL;
	Oid			server;

	state->call.outermost = state->call.is_transaction = !IsTransactionBlock();
	server = shuttle_call_server(&state->call, &reason);
	if (!OidIsValid(server))
	{
		shuttle_explain_text(es, "Runs Here", reason);
		return;
	}
	shuttle_explain_text(es, "Node", GetForeignServer(server)->servername);
	if (es->verbose)
		shuttle_explain_text(es, "Keys", shuttle_call_place(&state->call, server, NULL) == SHUTTLE_KEYS_THERE ? "known" : "traps");
}

static void
explain_call(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CallState  *state = (CallState *) node;
	ShuttleExplainNumbers numbers = {
		.counters = &state->counters,
		.writes = true,
		.looks = true,
		.engine = true,
	};

	if (shuttle_explains_generic(node->ss.ps.state->es_top_eflags))
		shuttle_explain_text(es, "Node", "by key");
	else
		explain_place(state, es);
	if (es->verbose)
		shuttle_explain_text(es, "Remote SQL", state->call.sql);
	if (state->begun && state->shipped)
		shuttle_explain_counters(es, &numbers);
}

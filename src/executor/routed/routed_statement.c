/*-------------------------------------------------------------------------
 * routed_statement.c
 *	  Plan node that is a whole statement, which one storage node executes
 *	  (planner/router).
 *
 * The node's rows are returned as they come. Without RETURNING, an UPDATE or
 * DELETE returns none, and its number is the node's. If it is the whole
 * transaction, COMMIT is in its packet. In a function it may be left
 * (behind/left_update.c).
 *
 * Memory: the state and the request belong to the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/ahead/outbox.h"
#include "executor/behind/behind.h"
#include "executor/kinds.h"
#include "executor/routed/routed.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_routed_text.h"
#include "executor/write/write.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_commit_behind.h"
#include "storage/shuttle_storage.h"

typedef struct RoutedState
{
	CustomScanState css;		/* must be first */
	ShuttleRoutedPlan plan;
	Oid			serverid;		/* InvalidOid: EXPLAIN does not know it */
	const char *sql;
	ShuttleNode *node;
	ShuttleParameters *parameters;
	ShuttleDecoder *decoder;	/* NULL: no rows come */
	ShuttleRequest *request;	/* NULL: not sent */
	bool		ended;
	ShuttleAsked *asked;		/* for EXPLAIN; NULL: nothing */
	ShuttleCounters counters;
} RoutedState;

static Node *create_state(CustomScan *plan);
static void begin_routed(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_routed(CustomScanState *node);
static void end_routed(CustomScanState *node);
static void rescan_routed(CustomScanState *node);
static void explain_routed(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomScanMethods routed_methods = {
	.CustomName = shuttle_routed_statement_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods routed_exec_methods = {
	.CustomName = shuttle_routed_statement_name,
	.BeginCustomScan = begin_routed,
	.ExecCustomScan = exec_routed,
	.EndCustomScan = end_routed,
	.ReScanCustomScan = rescan_routed,
	.ExplainCustomScan = explain_routed,
};

void
shuttle_routed_statement_register(void)
{
	RegisterCustomScanMethods(&routed_methods);
}

/* ---- the plan */

CustomScan *
shuttle_routed_statement_make(const ShuttleRoutedPlan *plan)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *numbers = list_make5_int(list_length(plan->values), plan->effect, plan->command,
										 plan->set_processed, plan->certain);

	numbers = lappend_int(numbers, plan->reads_copies);
	numbers = lappend_int(numbers, plan->one_node);
	scan->methods = &routed_methods;
	scan->custom_exprs = list_concat_copy(plan->values, plan->keys);
	scan->custom_private = list_make5(makeString(pstrdup(plan->sql)), numbers,
									  lappend_oid(list_copy(plan->relids), plan->userid),
									  plan->query, plan->tablet_sql);
	return scan;
}

Query *
shuttle_routed_query(const CustomScan *scan)
{
	return lfourth(scan->custom_private);
}

void
shuttle_routed_statement_unpack(const CustomScan *scan, ShuttleRoutedPlan *plan)
{
	const List *numbers = lsecond(scan->custom_private);
	const List *oids = lthird(scan->custom_private);
	int			nvalues = linitial_int(numbers);

	plan->sql = strVal(linitial(scan->custom_private));
	plan->tablet_sql = list_nth(scan->custom_private, 4);
	plan->values = list_copy_head(scan->custom_exprs, nvalues);
	plan->keys = list_copy_tail(scan->custom_exprs, nvalues);
	plan->relids = list_copy_head(oids, list_length(oids) - 1);
	plan->userid = llast_oid(oids);
	plan->effect = lsecond_int(numbers);
	plan->command = lthird_int(numbers);
	plan->set_processed = lfourth_int(numbers) != 0;
	plan->certain = list_nth_int(numbers, 4) != 0;
	plan->reads_copies = list_nth_int(numbers, 5) != 0;
	plan->one_node = list_nth_int(numbers, 6) != 0;
	plan->expected_rows = scan->scan.plan.plan_rows;
	plan->query = shuttle_routed_query(scan);
}

/* ---- begin */

static Node *
create_state(CustomScan *plan)
{
	RoutedState *state = palloc0_object(RoutedState);

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &routed_exec_methods;
	return (Node *) state;
}

static void
make_decoder(RoutedState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	List	   *attributes = NIL;

	for (int i = 1; i <= slot->tts_tupleDescriptor->natts; i++)
		attributes = lappend_int(attributes, i);
	if (attributes != NIL || state->plan.command == CMD_SELECT)
		state->decoder = shuttle_decoder_create(slot->tts_tupleDescriptor, attributes, 0, NULL, NULL,
												state->css.ss.ps.state->es_query_cxt);
}

char *
shuttle_routed_text(const List *parts, int tablet)
{
	StringInfoData text;
	ListCell   *part;

	initStringInfo(&text);
	foreach(part, parts)
	{
		if (foreach_current_index(part) > 0)
			appendStringInfo(&text, "%d", tablet);
		appendStringInfoString(&text, strVal(lfirst(part)));
	}
	return text.data;
}

static void
begin_routed(CustomScanState *node, EState *estate, int eflags)
{
	RoutedState *state = (RoutedState *) node;
	PlanState  *plan_state = &node->ss.ps;
	int			tablet;

	shuttle_routed_statement_unpack((CustomScan *) plan_state->plan, &state->plan);
	state->sql = state->plan.sql;
	if (shuttle_explains_generic(eflags))
		return;
	state->serverid = shuttle_routed_server(&state->plan,
											ExecInitExprList(state->plan.keys, plan_state),
											plan_state->ps_ExprContext, &tablet);
	if (!OidIsValid(state->serverid))
		elog(ERROR, "a routed statement has keys on several nodes");
	if (state->plan.tablet_sql != NIL)
		state->sql = shuttle_routed_text(state->plan.tablet_sql, tablet);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	state->node = shuttle_node_get(state->serverid, OidIsValid(state->plan.userid) ?
								   state->plan.userid : GetUserId());
	state->parameters = shuttle_parameters_create(state->plan.values, plan_state);
	make_decoder(state);
}

/* ---- run */

static void
send_statement(RoutedState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	const ShuttleRoutedPlan *plan = &state->plan;
	ShuttleStatement statement = {
		.sql = state->sql,
		.nparams = shuttle_parameters_count(state->parameters),
		.effect = plan->effect,
		.size = plan->certain ? SHUTTLE_SIZE_CERTAIN : SHUTTLE_SIZE_ESTIMATED,
		.estimated_rows = plan->expected_rows,
		.limits.fetch_limit = shuttle_settings.fetch_limit,
		.looks = plan->effect == SHUTTLE_WRITES,
		.snapshot = shuttle_foreign_snapshot(estate),
		.row_bytes = state->css.ss.ps.plan->plan_width,
		.decoder = state->decoder,
		.counters = &state->counters,
	};
	bool		may_commit;

	shuttle_left_update_before_request(state->node);
	statement.values = shuttle_parameters_evaluate(state->parameters,
												   state->css.ss.ps.ps_ExprContext);
	if (plan->effect == SHUTTLE_WRITES)
		shuttle_outbox_before_write(state->node, estate);
	else
		shuttle_outbox_before_read(state->node, estate);
	may_commit = plan->effect == SHUTTLE_WRITES && state->decoder == NULL &&
		shuttle_write_behind_commit_follows() && shuttle_commit_behind_is_possible(state->node);
	shuttle_asked_note(&state->asked, &statement, estate);
	state->request = shuttle_request_send(state->node, &statement, estate->es_query_cxt);
	if (may_commit && shuttle_commit_behind_send(state->request))
		(void) shuttle_commit_behind_await(state->request);
}

static void
count_rows(RoutedState *state, uint64 nrows)
{
	if (state->plan.effect == SHUTTLE_WRITES)
		shuttle_count(&state->counters, SHUTTLE_WRITE_REQUESTS, nrows);
	if (state->plan.command != CMD_SELECT && state->plan.set_processed)
		state->css.ss.ps.state->es_processed += nrows;
}

/* Waits for the answer, unless a later one of the node is waited for anyway. */
static void
finish_write(RoutedState *state)
{
	if (state->css.ss.ps.instrument == NULL && state->plan.effect == SHUTTLE_WRITES &&
		shuttle_request_look(state->request) == SHUTTLE_PENDING &&
		shuttle_left_update_is_possible())
	{
		shuttle_left_update_leave(state->node, state->request);
		state->request = NULL;
	}
	else
		count_rows(state, shuttle_request_finish(state->request));
	state->ended = true;
}

static TupleTableSlot *
exec_routed(CustomScanState *node)
{
	RoutedState *state = (RoutedState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ShuttleRow	row;

	ExecClearTuple(slot);
	if (state->ended)
		return slot;
	if (state->request == NULL)
		send_statement(state);
	if (state->decoder == NULL)
		finish_write(state);
	else if (shuttle_request_fetch(state->request, true, &row) == SHUTTLE_ROW)
	{
		count_rows(state, 1);
		shuttle_decoder_store(state->decoder, &row, slot);
	}
	else
		state->ended = true;
	return slot;
}

static void
end_routed(CustomScanState *node)
{
	RoutedState *state = (RoutedState *) node;

	if (state->request != NULL)
		shuttle_request_close(state->request);
	state->request = NULL;
}

/* Only reads are started again, by a cursor that is rewound. */
static void
rescan_routed(CustomScanState *node)
{
	RoutedState *state = (RoutedState *) node;

	Assert(state->plan.effect != SHUTTLE_WRITES || state->request == NULL);
	end_routed(node);
	state->ended = false;
}

static void
explain_routed(CustomScanState *node, List *ancestors, ExplainState *es)
{
	RoutedState *state = (RoutedState *) node;
	bool		writes = state->plan.effect == SHUTTLE_WRITES;
	ShuttleExplainNumbers numbers = {
		.counters = &state->counters,
		.reads = !writes,
		.writes = writes,
		.looks = writes,
		.engine = true,
	};

	shuttle_explain_text(es, "Node", OidIsValid(state->serverid) ?
						 GetForeignServer(state->serverid)->servername : "by key");
	if (es->verbose)
		shuttle_explain_text(es, "Remote SQL", state->sql);
	if (state->node == NULL)
		return;
	shuttle_explain_counters(es, &numbers);
	shuttle_asked_explain(state->asked, state->node, state->sql, es);
	if (writes)
		shuttle_write_explain_commit(es);
}

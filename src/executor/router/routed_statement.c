/*-------------------------------------------------------------------------
 * routed_statement.c
 *	  Plan node that is a whole statement, which one storage node executes
 *	  (planner/router).
 *
 * The node's rows are returned as they come. Without RETURNING, an UPDATE or
 * DELETE returns none, and its number is the node's. If it is the whole
 * transaction, and returns one row at most, the node commits it at once. In a
 * function it may be left (behind/unawaited_update.c).
 *
 * Memory: the state and the request belong to the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/facts/node_names.h"
#include "executor/facts/parameters.h"
#include "executor/facts/scan_facts.h"
#include "executor/outbox.h"
#include "executor/router/routed.h"
#include "executor/router/routed_kept.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_routed_text.h"
#include "executor/write/write.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_commit_behind.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

#define ROW_IN_MEMORY_BYTES (16 * 1024) /* the least work_mem is 64 kB */

typedef struct RoutedState
{
	CustomScanState css;		/* must be first */
	ShuttleRoutedPlan plan;
	Oid			serverid;		/* InvalidOid: EXPLAIN does not know it */
	const char *sql;
	ShuttleNode *node;
	ShuttleParameters *parameters;
	ShuttleDecoder *decoder;	/* NULL: no rows come */
	char	   *lock_sql;		/* where sql names tables; or NULL */
	ShuttleRequest *lock;		/* of lock_sql; NULL: not sent */
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
	.CustomName = shuttle_node_routed_statement_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods routed_exec_methods = {
	.CustomName = shuttle_node_routed_statement_name,
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
	static uint64 number = 0;
	CustomScan *scan = makeNode(CustomScan);
	List	   *numbers = list_make5_int(list_length(plan->values), plan->effect, plan->command,
										 plan->set_processed, plan->certain);

	numbers = lappend_int(numbers, plan->reads_copies);
	numbers = lappend_int(numbers, plan->one_node);
	number++;
	numbers = lappend_int(numbers, (int) (number >> 32));
	numbers = lappend_int(numbers, (int) number);
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
	plan->number = (uint64) (uint32) list_nth_int(numbers, 7) << 32 | (uint32) list_nth_int(numbers, 8);
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

static Oid
user_of(const RoutedState *state)
{
	return OidIsValid(state->plan.userid) ? state->plan.userid : GetUserId();
}

/* As the last execution of the plan; false if it has left nothing. */
static bool
begin_as_before(RoutedState *state)
{
	PlanState  *node = &state->css.ss.ps;
	ShuttleRoutedKept *kept = shuttle_routed_kept_use(&state->plan, state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor,
													  node->state->es_query_cxt);
	Expr	   *key;
	ShuttleRoutedPlace *place;
	Datum		value;
	bool		is_null;

	if (kept == NULL)
		return false;
	key = linitial(state->plan.keys);
	value = shuttle_parameters_value(key, shuttle_parameters_prepare(key, node), node->ps_ExprContext, &is_null);
	place = shuttle_routed_kept_place(kept, &state->plan, value, is_null);
	state->serverid = place->serverid;
	state->sql = place->sql;
	state->node = shuttle_routed_kept_node(place, user_of(state));
	state->decoder = shuttle_routed_kept_decoder(kept);
	state->parameters = shuttle_routed_kept_parameters(kept);
	shuttle_parameters_bind(state->parameters, state->plan.values, node);
	return true;
}

ShuttleDecoder *
shuttle_routed_decoder(TupleDesc desc, MemoryContext owner)
{
	List	   *attributes = NIL;

	for (int i = 1; i <= desc->natts; i++)
		attributes = lappend_int(attributes, i);
	return shuttle_row_decoder_create(desc, attributes, 0, NULL, NULL, owner);
}

static void
make_decoder(RoutedState *state)
{
	TupleDesc	desc = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;

	if (desc->natts > 0 || state->plan.command == CMD_SELECT)
		state->decoder = shuttle_routed_decoder(desc, state->css.ss.ps.state->es_query_cxt);
}

char *
shuttle_routed_text(const List *parts, int tablet)
{
	StringInfoData text;
	ListCell   *part;
	ListCell   *relid;

	initStringInfo(&text);
	forboth(part, linitial(parts), relid, lsecond(parts))
	{
		appendStringInfoString(&text, strVal(lfirst(part)));
		appendStringInfoString(&text, shuttle_tablet_text(shuttle_tablet_find(lfirst_oid(relid), tablet)));
	}
	appendStringInfoString(&text, strVal(llast(linitial(parts))));
	return text.data;
}

static void
begin_routed(CustomScanState *node, EState *estate, int eflags)
{
	RoutedState *state = (RoutedState *) node;
	PlanState  *plan_state = &node->ss.ps;
	List	   *keys;
	int			tablet;

	shuttle_routed_statement_unpack((CustomScan *) plan_state->plan, &state->plan);
	state->sql = state->plan.sql;
	if (shuttle_explains_generic(eflags))
		return;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && begin_as_before(state))
		return;
	keys = ExecInitExprList(state->plan.keys, plan_state);
	state->serverid = shuttle_routed_server(&state->plan, keys, plan_state->ps_ExprContext, &tablet);
	if (!OidIsValid(state->serverid))
		elog(ERROR, "a routed statement has keys on several nodes");
	if (state->plan.tablet_sql != NIL)
		state->sql = shuttle_routed_text(state->plan.tablet_sql, tablet);
	else
		state->lock_sql = shuttle_routed_lock_text(shuttle_routed_tablets(&state->plan, keys, plan_state->ps_ExprContext,
																		  state->serverid));
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	state->node = shuttle_connection_get(state->serverid, user_of(state));
	state->parameters = shuttle_parameters_create(state->plan.values, plan_state);
	make_decoder(state);
}

ShuttleNode *
shuttle_routed_node(const PlanState *node)
{
	const RoutedState *state = (const RoutedState *) node;

	return state->plan.effect == SHUTTLE_READS ? state->node : NULL;
}

/* ---- run */

/* The client may lack a character. A row that work_mem does not hold goes to a temporary file. */
bool
shuttle_routed_row_may_follow_commit(const ShuttleDecoder *decoder)
{
	int			client = pg_get_client_encoding();

	return decoder == NULL ||
		((client == GetDatabaseEncoding() || client == PG_SQL_ASCII) &&
		 (temp_file_limit < 0 || shuttle_row_decoder_is_narrow(decoder, ROW_IN_MEMORY_BYTES)));
}

/* Many rows may not fit into temporary files, which would have to undo the statement. */
static bool
rows_may_follow_commit(const RoutedState *state)
{
	return state->decoder == NULL || (state->plan.certain && state->plan.expected_rows <= 1 &&
									  shuttle_routed_row_may_follow_commit(state->decoder));
}

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
		.snapshot = shuttle_scan_snapshot(estate),
		.row_bytes = state->css.ss.ps.plan->plan_width,
		.decoder = state->decoder,
		.counters = &state->counters,
	};
	bool		may_commit;

	shuttle_unawaited_update_before_request(state->node);
	statement.values = shuttle_parameters_evaluate(state->parameters,
												   state->css.ss.ps.ps_ExprContext);
	if (plan->effect == SHUTTLE_WRITES)
		shuttle_outbox_before_write(state->node, estate);
	else
		shuttle_outbox_before_read(state->node, estate);
	may_commit = plan->effect == SHUTTLE_WRITES && rows_may_follow_commit(state) &&
		shuttle_write_behind_commit_follows() && shuttle_node_commit_behind_is_possible(state->node);
	statement.is_transaction = state->lock_sql == NULL &&
		(may_commit || (plan->effect == SHUTTLE_READS && shuttle_write_behind_commit_follows()));
	shuttle_explain_remote_note(&state->asked, &statement, estate);

	/*
	 * A text of tables means fewer rows on a node that no longer has the
	 * tablets which it is sent there for, as another server has moved them:
	 * they are locked by their names.
	 */
	if (state->lock_sql != NULL)
		state->lock = shuttle_routed_lock_send(state->node, state->lock_sql, plan->effect,
											   statement.snapshot, estate->es_query_cxt);
	state->request = shuttle_request_send(state->node, &statement, estate->es_query_cxt);
	if (may_commit && shuttle_node_commit_behind_send(state->request))
		(void) shuttle_node_commit_behind_await(state->request);
}

/* Its answer comes in front of the text's. A text that is sent again over a new connection
 * has its lock in front of it only while that is waited for. */
static void
await_lock(RoutedState *state)
{
	if (state->lock == NULL)
		return;
	(void) shuttle_request_finish(state->lock);
	shuttle_request_close(state->lock);
	state->lock = NULL;
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
		shuttle_unawaited_update_is_possible())
	{
		if (state->lock != NULL)
			shuttle_unawaited_update_send(state->node, state->lock);
		shuttle_unawaited_update_send(state->node, state->request);
		state->lock = state->request = NULL;
	}
	else
	{
		await_lock(state);
		count_rows(state, shuttle_request_finish(state->request));
	}
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
	{
		finish_write(state);
		return slot;
	}
	await_lock(state);
	if (shuttle_request_fetch(state->request, true, &row) == SHUTTLE_ROW)
	{
		count_rows(state, 1);
		shuttle_row_decoder_store(state->decoder, &row, slot);
	}
	else
		state->ended = true;
	return slot;
}

static void
end_routed(CustomScanState *node)
{
	RoutedState *state = (RoutedState *) node;

	if (state->lock != NULL)
		shuttle_request_close(state->lock);
	if (state->request != NULL)
		shuttle_request_close(state->request);
	state->lock = state->request = NULL;
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
	shuttle_explain_remote_asked(state->asked, state->node, state->sql, es);
	if (writes)
		shuttle_modify_explain_commit(es);
}

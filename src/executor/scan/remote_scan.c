/*-------------------------------------------------------------------------
 * remote_scan.c
 *	  Makes the SELECT of a foreign scan and sends it: when the scan is read, or
 *	  before.
 *
 * How the answer travels (whole, in pages, held back) is storage's business; the
 * scan says what it knows: how many rows to expect, whether that is certain, how
 * many the plan will take, and whether the SELECT locks or may write.  The
 * callbacks of the scan are in foreign_scan.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/facts/node_names.h"
#include "executor/facts/parameters.h"
#include "executor/facts/row_need.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/outbox.h"
#include "executor/scan/remote_scan.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

/* What a server may send before it gets an acknowledgement: TCP's initial
 * window of ten segments. */
#define FIRST_WINDOW_BYTES (10 * 1460)

/* Overhead of a row on the wire, a guess. */
#define ROW_OVERHEAD_BYTES 24

static void judge_size(ShuttleRemoteScan *remote, const ForeignScan *plan);

/* ---- what is sent */

bool
shuttle_remote_scan_is_plain(const ForeignScanState *scan)
{
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;

	return plan->operation == CMD_SELECT && scan->fdw_state != NULL &&
		shuttle_server_scan_is_ours(scan);
}

bool
shuttle_remote_scan_has_safe_values(const ForeignScan *plan)
{
	return !contain_mutable_functions((Node *) plan->fdw_exprs) ||
		shuttle_safe_value_is_safe((Node *) plan->fdw_exprs);
}

/* Prepares the first request; many scans of a plan are never read. */
static void
prepare_scan(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	MemoryContext query_cxt = scan->ss.ps.state->es_query_cxt;
	MemoryContext old_cxt;
	ShuttlePostgresFdwScan postgres_fdw;
	const char *sql;

	if (remote->sql != NULL)
		return;
	old_cxt = MemoryContextSwitchTo(query_cxt);
	if (!shuttle_postgres_fdw_read_scan(plan, &postgres_fdw))
		elog(ERROR, "unexpected plan of a foreign scan");
	if (remote->node == NULL)
		remote->node = shuttle_scan_node(scan);
	remote->request_cxt = AllocSetContextCreate(query_cxt, "shuttle scan request",
												ALLOCSET_SMALL_SIZES);
	remote->row_cxt = AllocSetContextCreate(query_cxt, "shuttle scan row",
											ALLOCSET_SMALL_SIZES);
	remote->effect = shuttle_scan_effect(scan);
	remote->limits = shuttle_scan_page_limits(scan);
	remote->parameters = shuttle_parameters_create(plan->fdw_exprs,
												   (PlanState *) scan);
	sql = shuttle_foreign_sample_sql(shuttle_foreign_scan_sql(scan));
	remote->target = shuttle_target_scan_create(scan, sql, postgres_fdw.attributes);
	remote->decoder = shuttle_scan_decoder_create(scan, remote->target != NULL ?
												  remote->target->attributes :
												  postgres_fdw.attributes, 0, query_cxt);
	remote->is_virtual = !plan->fsSystemCol &&
		shuttle_row_decoder_is_virtual(remote->decoder);
	remote->sql = remote->target != NULL ? remote->target->sql : sql;
	if (shuttle_remote_scan_limit(scan) > 0)
		remote->sql = psprintf("%s LIMIT %.0f", remote->sql, remote->max_rows);
	judge_size(remote, plan);
	MemoryContextSwitchTo(old_cxt);
}

/* Estimated rows read per row that passes nfilters local filters. Their
 * selectivity is not in the plan; core's default is a third. */
static double
rows_per_filtered_row(int nfilters)
{
	return pow(3, Min(nfilters, 6));
}

/* Estimates the number of rows. It is certain for an aggregate without groups
 * and for a LIMIT of at most one page. */
static void
judge_size(ShuttleRemoteScan *remote, const ForeignScan *plan)
{
	double		limit = shuttle_remote_sql_limit(remote->sql);
	int			nfilters = list_length(plan->scan.plan.qual);

	remote->size = SHUTTLE_SIZE_CERTAIN;
	if (plan->scan.scanrelid == 0 &&
		contain_agg_clause((Node *) plan->fdw_scan_tlist) &&
		!shuttle_remote_sql_groups(remote->sql))
		remote->expected_rows = 1;
	else if (limit >= 0 && limit <= remote->limits.fetch_limit)
		remote->expected_rows = limit;
	else
	{
		/* plan_rows counts rows after local filters */
		remote->size = SHUTTLE_SIZE_ESTIMATED;
		remote->expected_rows = plan->scan.plan.plan_rows * rows_per_filtered_row(nfilters);
		if (limit >= 0)
			remote->expected_rows = Min(remote->expected_rows, limit);
	}
}

double
shuttle_remote_scan_lock_goal(const ShuttleRemoteScan *remote)
{
	double		rows = shuttle_row_need_count(remote->need);

	return isinf(rows) ? 0 : rows;
}

/*
 * Rows to ask for first if the plan reads only some; 0: all. The selectivity of
 * local filters is a guess: asking for twice as many rows, or for all that fit
 * in TCP's first window, costs less than asking again.
 */
static double
first_rows(const ShuttleRemoteScan *remote, const ForeignScan *plan)
{
	int			nfilters = list_length(plan->scan.plan.qual);

	if (remote->effect == SHUTTLE_LOCKS)
		return shuttle_remote_scan_lock_goal(remote);
	if (remote->row_goal <= 0 || nfilters == 0 ||
		(remote->effect != SHUTTLE_READS && remote->effect != SHUTTLE_READS_TO_LOCK))
		return remote->row_goal;
	return Max(2 * remote->row_goal * rows_per_filtered_row(nfilters),
			   FIRST_WINDOW_BYTES /
			   (plan->scan.plan.plan_width + ROW_OVERHEAD_BYTES));
}

/* ---- whether it can be sent */

/* True if the scan was not sent, and all values that it sends are known. */
static bool
has_values(ForeignScanState *scan, bool beside_running)
{
	const ShuttleRemoteScan *remote = scan->fdw_state;

	/*
	 * Listed scans depend on no value of the plan, and on no value that may
	 * raise an error.
	 */
	if (remote->unsent.item.listed)
		return true;
	return (beside_running || remote->params_come) && remote->request == NULL &&
		shuttle_remote_scan_has_params(scan);
}

bool
shuttle_remote_scan_can_start(ForeignScanState *scan, bool beside_running)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;

	if (!shuttle_remote_scan_is_plain(scan) || !has_values(scan, beside_running) ||
		!(beside_running ? shuttle_safe_value_is_safe((Node *) plan->fdw_exprs) :
		  shuttle_remote_scan_has_safe_values(plan)))
		return false;
	prepare_scan(scan);
	return remote->effect == SHUTTLE_READS || remote->effect == SHUTTLE_READS_TO_LOCK;
}

/* True if the scan was not sent, locks rows of a target table of its statement,
 * and needs no value that the plan has yet to compute. */
static bool
is_target(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;
	const PlannedStmt *statement = scan->ss.ps.state->es_plannedstmt;

	if (!shuttle_remote_scan_is_plain(scan) || !remote->unsent.item.listed)
		return false;
	SHUTTLE_EACH_WRITTEN(rtindex, statement)
	{
		if (bms_is_member(rtindex, plan->fs_base_relids))
		{
			prepare_scan(scan);
			return remote->effect == SHUTTLE_LOCKS;
		}
	}
	return false;
}

bool
shuttle_remote_scan_awaits_params(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	const ParamExecData *params = scan->ss.ps.state->es_param_exec_vals;
	ListCell   *cell;

	if (!shuttle_remote_scan_is_plain(scan) || remote->request != NULL || bms_is_empty(remote->exec_params))
		return false;

	/* expressions over parameters might raise errors */
	foreach(cell, ((ForeignScan *) scan->ss.ps.plan)->fdw_exprs)
	{
		if (!IsA(lfirst(cell), Param))
			return false;
	}
	for (int i = -1; (i = bms_next_member(remote->exec_params, i)) >= 0;)
	{
		if (params[i].execPlan == NULL)
			return false;
	}
	return true;
}

bool
shuttle_remote_scan_has_params(ForeignScanState *scan)
{
	const ShuttleRemoteScan *remote = scan->fdw_state;
	const ParamExecData *params = scan->ss.ps.state->es_param_exec_vals;

	for (int i = -1; (i = bms_next_member(remote->exec_params, i)) >= 0;)
	{
		if (params[i].execPlan != NULL)
			return false;
	}
	return true;
}

/* ---- what the plan says of its rows */

bool
shuttle_remote_scan_set_later(ForeignScanState *scan, ShuttleLaterStart *later)
{
	ShuttleRemoteScan *remote = scan->fdw_state;

	if (!shuttle_remote_scan_is_plain(scan))
		return false;
	remote->later = later;
	remote->params_come = remote->params_come || shuttle_remote_scan_awaits_params(scan);
	return true;
}

void
shuttle_remote_scan_read_beside(ForeignScanState *scan, List *scans)
{
	if (shuttle_remote_scan_is_plain(scan))
		((ShuttleRemoteScan *) scan->fdw_state)->beside = scans;
}

void
shuttle_remote_scan_set_goal(ForeignScanState *scan, double rows, bool may_stop,
							 const ShuttleNeedStep *need)
{
	ShuttleRemoteScan *remote = scan->fdw_state;

	if (!shuttle_remote_scan_is_plain(scan))
		return;
	remote->need = shuttle_row_need_copy(remote->need, need, scan->ss.ps.state);
	remote->row_goal = rows;
	remote->may_stop = may_stop;

	/* scans that lock set their goal before each page */
	if (remote->request != NULL && remote->need == NULL)
		shuttle_request_set_goal(remote->request, remote->effect == SHUTTLE_LOCKS ?
								 0 : rows);
}

void
shuttle_remote_scan_read_whole(ForeignScanState *scan, List *together)
{
	ShuttleRemoteScan *remote = scan->fdw_state;

	if (!shuttle_remote_scan_is_plain(scan))
		return;
	remote->whole = true;
	remote->together = together;
}

bool
shuttle_remote_scan_pause(ForeignScanState *scan)
{
	if (!shuttle_remote_scan_is_plain(scan))
		return false;
	((ShuttleRemoteScan *) scan->fdw_state)->pauses = true;
	return true;
}

void
shuttle_remote_scan_set_max_rows(ForeignScanState *scan, double rows)
{
	ShuttleRemoteScan *remote = scan->fdw_state;

	if (shuttle_remote_scan_is_plain(scan) && remote->sql == NULL)
		remote->max_rows = rows;
}

double
shuttle_remote_scan_limit(const ForeignScanState *scan)
{
	const ShuttleRemoteScan *remote = scan->fdw_state;
	const char *sql;

	if (!shuttle_remote_scan_is_plain(scan) || remote->max_rows <= 0 || remote->max_rows > SHUTTLE_MAX_SHIPPED_LIMIT ||
		scan->ss.ps.plan->qual != NIL)
		return 0;
	sql = shuttle_postgres_fdw_scan_sql((const ForeignScan *) scan->ss.ps.plan);
	return sql != NULL && shuttle_remote_sql_takes_limit(sql) ? remote->max_rows : 0;
}

/* ---- sending */

void
shuttle_remote_scan_send(ForeignScanState *scan, int nest_level, bool speculative)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	ShuttleStatement statement = {0};

	if (remote->request != NULL)
		return;
	prepare_scan(scan);
	shuttle_outbox_remove(&remote->unsent.item);

	statement.sql = remote->sql;
	statement.nparams = shuttle_parameters_count(remote->parameters);
	statement.values = shuttle_parameters_evaluate(remote->parameters,
												   scan->ss.ps.ps_ExprContext);
	statement.effect = remote->effect;
	statement.size = remote->size;
	statement.estimated_rows = remote->expected_rows;
	statement.row_goal = first_rows(remote, plan);
	statement.whole = remote->whole && statement.row_goal <= 0;
	statement.may_stop = remote->may_stop;
	statement.keep = remote->effect == SHUTTLE_READS &&
		shuttle_scan_may_read_behind_write(scan, remote->eflags);
	statement.limits = remote->limits;
	statement.speculative = speculative;
	statement.nest_level = nest_level;
	statement.snapshot = shuttle_scan_snapshot(estate);
	statement.row_bytes = scan->ss.ps.plan->plan_width;
	statement.decoder = remote->decoder;
	statement.counters = &remote->counters;
	statement.custom_plan = plan->scan.plan.plan_rows > 1 && shuttle_parameters_are_literals(plan);
	shuttle_explain_remote_note(&remote->asked, &statement, estate);
	remote->request = shuttle_request_send(remote->node, &statement,
										   remote->request_cxt);
	remote->ended = false;
	remote->returned_row = false;
	remote->awaited = false;
}

/* For the outbox: sends a scan that a write must not overtake. */
static bool
send_before_write(ShuttleUnsentScan *unsent, bool only_target)
{
	ForeignScanState *scan = unsent->scan;
	bool		ahead = !only_target && shuttle_remote_scan_can_start(scan, false);

	/* Scans that lock stay, except for those of a target. */
	if (!ahead && !((only_target || scan->ss.ps.state->es_plannedstmt->hasModifyingCTE) &&
					is_target(scan)))
		return false;
	shuttle_remote_scan_send(scan, unsent->item.nest_level, ahead);
	return true;
}

void
shuttle_remote_scan_list(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	EState	   *estate = scan->ss.ps.state;

	remote->unsent.scan = scan;
	remote->unsent.send = send_before_write;
	remote->unsent.item.node = remote->node;
	remote->unsent.item.estate = estate;
	shuttle_outbox_add(SHUTTLE_UNSENT_SCANS, &remote->unsent.item, estate->es_query_cxt);
}

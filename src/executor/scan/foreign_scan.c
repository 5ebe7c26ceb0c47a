/*-------------------------------------------------------------------------
 * foreign_scan.c
 *	  Scans of foreign tables, joins and aggregates on a storage node.
 *
 * A scan sends postgres_fdw's SELECT when it is first read, or earlier by
 * early start, and decodes one row at a time. How the answer is transferred
 * (streamed, in pages, held back) is up to storage/; the scan tells it how
 * many rows to expect, whether that is certain, how many the plan will read,
 * and whether the SELECT locks or may write.
 *
 * 	BEGUN --send--> SENT --last row--> ENDED
 * 	SENT, ENDED --rescan, parameters of the SELECT changed--> BEGUN
 * 	SENT, ENDED --rescan, else--> SENT (rewound), or BEGUN
 *
 * Memory: the state lives in the query's context; request_cxt owns the request
 * and is reset with each new one, row_cxt holds the current row.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/ahead/ahead.h"
#include "executor/ahead/row_need.h"
#include "executor/executor_types.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/kinds.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"
#include "executor/write/write_table.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

/* What a server may send before it gets an acknowledgement: TCP's initial
 * window of ten segments. */
#define FIRST_WINDOW_BYTES (10 * 1460)

/* Overhead of a row on the wire, a guess. */
#define ROW_OVERHEAD_BYTES 24

/* A larger LIMIT saves nothing, and could not be printed exactly. */
#define MAX_SHIPPED_LIMIT 1e15

typedef struct RemoteScan
{
	ShuttleNode *node;			/* NULL in EvalPlanQual until needed */
	const char *sql;			/* NULL: not prepared */
	ShuttleEffect effect;
	ShuttleSize size;
	double		expected_rows;
	double		row_goal;		/* rows that the plan will read; 0: all */
	double		bound;			/* most rows that it can ever read; 0:
								 * unlimited */
	ShuttleRowNeed *need;		/* limits rows locked ahead; NULL: no limit,
								 * or no locks */
	bool		whole;			/* if one row is read, all will be */
	int			eflags;			/* the executor's flags */
	List	   *together;		/* scans that are read together with it */
	List	   *beside;			/* scans that are merged with it */
	ShuttleLaterStart *later;	/* starts others when it is sent */
	bool		params_come;	/* all parameters are set by initplans */
	ShuttlePageLimits limits;
	ShuttleParameters *parameters;
	Bitmapset  *exec_params;	/* PARAM_EXEC parameters of the SELECT */
	ShuttleDecoder *decoder;
	bool		is_virtual;		/* rows may be virtual tuples */
	ShuttleTargetScan *target;	/* for scans of target rows; else NULL */

	ShuttleRequest *request;	/* NULL: not sent */
	bool		ended;
	bool		returned_row;	/* a row was returned since it was sent */
	bool		awaited;		/* a row was asked for since it was sent */
	bool		no_wait;		/* while shuttle_foreign_scan_try() runs */
	bool		pending;		/* with no_wait: no row is here yet */
	bool		pauses;			/* pauses instead of waiting when read ahead */
	MemoryContext request_cxt;
	MemoryContext row_cxt;
	ShuttleUnsentScan unsent;
	ShuttleAsked *asked;		/* sent statements, for EXPLAIN; or NULL */
	ShuttleCounters counters;
} RemoteScan;

static void begin_foreign_scan(ForeignScanState *scan, int eflags);
static TupleTableSlot *iterate_foreign_scan(ForeignScanState *scan);
static void rescan_foreign_scan(ForeignScanState *scan);
static void end_foreign_scan(ForeignScanState *scan);
static void explain_foreign_scan(ForeignScanState *scan, ExplainState *es);
static void prepare_scan(ForeignScanState *scan);
static void judge_size(RemoteScan *remote, const ForeignScan *plan);
static void store_tuple(RemoteScan *remote, const ShuttleRow *row,
						TupleTableSlot *slot);
static void drop_request(RemoteScan *remote);
static void ask_again(ForeignScanState *scan);

void
shuttle_foreign_scan_fill(FdwRoutine *routine)
{
	routine->BeginForeignScan = begin_foreign_scan;
	routine->IterateForeignScan = iterate_foreign_scan;
	routine->ReScanForeignScan = rescan_foreign_scan;
	routine->EndForeignScan = end_foreign_scan;
	routine->ShutdownForeignScan = NULL;
	routine->ExplainForeignScan = explain_foreign_scan;

	/* a connection belongs to one process */
	routine->IsForeignScanParallelSafe = NULL;
}

/* True if computing the parameters cannot raise errors. */
static bool
has_sure_values(const ForeignScan *plan)
{
	return !contain_mutable_functions((Node *) plan->fdw_exprs) ||
		shuttle_is_sure_value((Node *) plan->fdw_exprs);
}

static void
begin_foreign_scan(ForeignScanState *scan, int eflags)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	RemoteScan *remote;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	remote = palloc0_object(RemoteScan);
	remote->exec_params = shuttle_exec_params(plan->fdw_exprs);
	remote->eflags = eflags;
	scan->fdw_state = remote;

	/* EvalPlanQual rechecks given rows and rarely scans */
	if (scan->ss.ps.state->es_epq_active != NULL)
		return;

	/* starts connecting, so that several nodes connect at the same time */
	remote->node = shuttle_foreign_scan_node(scan);
	if (bms_is_empty(remote->exec_params) && has_sure_values(plan))
		shuttle_unsent_add(&remote->unsent, scan, remote->node);
}

/* Prepares the first request; many scans of a plan are never read. */
static void
prepare_scan(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
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
		remote->node = shuttle_foreign_scan_node(scan);
	remote->request_cxt = AllocSetContextCreate(query_cxt, "shuttle scan request",
												ALLOCSET_SMALL_SIZES);
	remote->row_cxt = AllocSetContextCreate(query_cxt, "shuttle scan row",
											ALLOCSET_SMALL_SIZES);
	remote->effect = shuttle_foreign_scan_effect(scan);
	remote->limits = shuttle_foreign_page_limits(scan);
	remote->parameters = shuttle_parameters_create(plan->fdw_exprs,
												   (PlanState *) scan);
	sql = shuttle_foreign_sample_sql(shuttle_foreign_scan_sql(scan));
	remote->target = shuttle_target_scan_create(scan, sql, postgres_fdw.attributes);
	remote->decoder = shuttle_foreign_scan_decoder(scan, remote->target != NULL ?
												   remote->target->attributes :
												   postgres_fdw.attributes, 0, query_cxt);
	remote->is_virtual = !plan->fsSystemCol &&
		shuttle_decoder_is_virtual(remote->decoder);
	remote->sql = remote->target != NULL ? remote->target->sql : sql;
	if (shuttle_foreign_scan_bound(scan) > 0)
		remote->sql = psprintf("%s LIMIT %.0f", remote->sql, remote->bound);
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
judge_size(RemoteScan *remote, const ForeignScan *plan)
{
	double		limit = shuttle_sql_limit(remote->sql);
	int			nfilters = list_length(plan->scan.plan.qual);

	remote->size = SHUTTLE_SIZE_CERTAIN;
	if (plan->scan.scanrelid == 0 &&
		contain_agg_clause((Node *) plan->fdw_scan_tlist) &&
		!shuttle_sql_groups(remote->sql))
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

/* Rows that may be locked at a time; 0: unlimited. */
static double
lock_goal(const RemoteScan *remote)
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
first_rows(const RemoteScan *remote, const ForeignScan *plan)
{
	int			nfilters = list_length(plan->scan.plan.qual);

	if (remote->effect == SHUTTLE_LOCKS)
		return lock_goal(remote);
	if (remote->row_goal <= 0 || nfilters == 0 ||
		remote->effect != SHUTTLE_READS)
		return remote->row_goal;
	return Max(2 * remote->row_goal * rows_per_filtered_row(nfilters),
			   FIRST_WINDOW_BYTES /
			   (plan->scan.plan.plan_width + ROW_OVERHEAD_BYTES));
}

/* True if the scan's state is a RemoteScan, and it is not a served scan. */
static bool
is_plain(const ForeignScanState *scan)
{
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;

	return plan->operation == CMD_SELECT && scan->fdw_state != NULL &&
		shuttle_foreign_scan_is_ours(scan);
}

bool
shuttle_foreign_scan_can_start(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;

	/*
	 * Listed scans depend on no value of the plan, and on no value that may
	 * raise an error.
	 */
	if (!is_plain(scan) || !has_sure_values((ForeignScan *) scan->ss.ps.plan) ||
		!(remote->unsent.listed ||
		  (remote->params_come && remote->request == NULL &&
		   shuttle_foreign_scan_has_params(scan))))
		return false;
	prepare_scan(scan);
	return remote->effect == SHUTTLE_READS;
}

bool
shuttle_foreign_scan_is_target(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;
	const PlannedStmt *statement = scan->ss.ps.state->es_plannedstmt;
	ListCell   *cell;

	if (!is_plain(scan) || !remote->unsent.listed)
		return false;
	foreach(cell, statement->resultRelations)
	{
		if (bms_is_member(lfirst_int(cell), plan->fs_base_relids))
		{
			prepare_scan(scan);
			return remote->effect == SHUTTLE_LOCKS;
		}
	}
	return false;
}

bool
shuttle_foreign_scan_awaits_params(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
	const ParamExecData *params = scan->ss.ps.state->es_param_exec_vals;
	ListCell   *cell;

	if (!is_plain(scan) || remote->request != NULL || bms_is_empty(remote->exec_params))
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
shuttle_foreign_scan_has_params(ForeignScanState *scan)
{
	const RemoteScan *remote = scan->fdw_state;
	const ParamExecData *params = scan->ss.ps.state->es_param_exec_vals;

	for (int i = -1; (i = bms_next_member(remote->exec_params, i)) >= 0;)
	{
		if (params[i].execPlan != NULL)
			return false;
	}
	return true;
}

void
shuttle_foreign_scan_set_later(ForeignScanState *scan, ShuttleLaterStart *later)
{
	RemoteScan *remote = scan->fdw_state;

	if (!is_plain(scan))
		return;
	remote->later = later;
	remote->params_come = remote->params_come || shuttle_foreign_scan_awaits_params(scan);
}

void
shuttle_foreign_scan_read_beside(ForeignScanState *scan, List *scans)
{
	if (is_plain(scan))
		((RemoteScan *) scan->fdw_state)->beside = scans;
}

void
shuttle_foreign_scan_set_goal(ForeignScanState *scan, double rows,
							  const ShuttleNeedStep *need)
{
	RemoteScan *remote = scan->fdw_state;

	if (!is_plain(scan))
		return;
	remote->need = shuttle_row_need_copy(remote->need, need, scan->ss.ps.state);
	remote->row_goal = rows;

	/* scans that lock set their goal before each page */
	if (remote->request != NULL && remote->need == NULL)
		shuttle_request_set_goal(remote->request, remote->effect == SHUTTLE_LOCKS ?
								 0 : rows);
}

void
shuttle_foreign_scan_read_whole(ForeignScanState *scan, List *together)
{
	RemoteScan *remote = scan->fdw_state;

	if (!is_plain(scan))
		return;
	remote->whole = true;
	remote->together = together;
}

bool
shuttle_foreign_scan_pause(ForeignScanState *scan)
{
	if (!is_plain(scan))
		return false;
	((RemoteScan *) scan->fdw_state)->pauses = true;
	return true;
}

void
shuttle_foreign_scan_set_bound(ForeignScanState *scan, double rows)
{
	RemoteScan *remote = scan->fdw_state;

	if (is_plain(scan) && remote->sql == NULL)
		remote->bound = rows;
}

double
shuttle_foreign_scan_bound(const ForeignScanState *scan)
{
	const RemoteScan *remote = scan->fdw_state;
	const char *sql;

	if (!is_plain(scan) || remote->bound <= 0 || remote->bound > MAX_SHIPPED_LIMIT ||
		scan->ss.ps.plan->qual != NIL)
		return 0;
	sql = shuttle_postgres_fdw_scan_sql((const ForeignScan *) scan->ss.ps.plan);
	return sql != NULL && shuttle_sql_takes_limit(sql) ? remote->bound : 0;
}

/* Sends buffered writes first, since a function sees its caller's writes. */
static void
send_when_needed(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
	ListCell   *cell;

	if (remote->request != NULL)
		return;
	shuttle_early_start_params(scan->ss.ps.state, remote->exec_params);
	shuttle_write_flush_others(remote->node, scan->ss.ps.state);
	shuttle_foreign_scan_send(scan, 0, false);
	if (remote->later != NULL)
		shuttle_early_start_later(remote->later);
	if (remote->effect != SHUTTLE_LOCKS)
		return;
	foreach(cell, remote->together)
	{
		ForeignScanState *other = lfirst_node(ForeignScanState, cell);

		if (is_plain(other) && ((RemoteScan *) other->fdw_state)->unsent.listed)
		{
			shuttle_write_flush_others(shuttle_foreign_scan_node(other), other->ss.ps.state);
			shuttle_foreign_scan_send(other, 0, false);
		}
	}
}

void
shuttle_foreign_scan_send(ForeignScanState *scan, int nest_level, bool ahead)
{
	RemoteScan *remote = scan->fdw_state;
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	ShuttleStatement statement = {0};

	if (remote->request != NULL)
		return;
	prepare_scan(scan);
	shuttle_unsent_remove(&remote->unsent);

	statement.sql = remote->sql;
	statement.nparams = shuttle_parameters_count(remote->parameters);
	statement.values = shuttle_parameters_evaluate(remote->parameters,
												   scan->ss.ps.ps_ExprContext);
	statement.effect = remote->effect;
	statement.size = remote->size;
	statement.estimated_rows = remote->expected_rows;
	statement.row_goal = first_rows(remote, plan);
	statement.whole = remote->whole && statement.row_goal <= 0;
	statement.keep = remote->effect == SHUTTLE_READS &&
		shuttle_may_read_behind_write(scan, remote->eflags);
	statement.limits = remote->limits;
	statement.ahead = ahead;
	statement.nest_level = nest_level;
	statement.snapshot = shuttle_foreign_snapshot(estate);
	statement.row_bytes = scan->ss.ps.plan->plan_width;
	statement.decoder = remote->decoder;
	statement.counters = &remote->counters;
	statement.custom_plan = plan->scan.plan.plan_rows > 1 && shuttle_has_literals(plan);
	shuttle_asked_note(&remote->asked, &statement, estate);
	remote->request = shuttle_request_send(remote->node, &statement,
										   remote->request_cxt);
	remote->ended = false;
	remote->returned_row = false;
	remote->awaited = false;
}

TupleTableSlot *
shuttle_foreign_scan_try(ForeignScanState *scan, bool *pending)
{
	RemoteScan *remote = scan->fdw_state;
	PlanState  *node = &scan->ss.ps;
	TupleTableSlot *slot = NULL;

	send_when_needed(scan);
	remote->pending = !remote->awaited;
	remote->awaited = true;
	if (!remote->pending)
	{
		remote->no_wait = true;
		slot = node->ExecProcNodeReal(node);
		remote->no_wait = false;
	}
	*pending = remote->pending;
	return slot;
}

ShuttleRequest *
shuttle_foreign_scan_request(ForeignScanState *scan)
{
	return ((RemoteScan *) scan->fdw_state)->request;
}

/* If the scan must wait for its next page, makes merged scans ask now, too. */
static void
ask_beside(RemoteScan *remote)
{
	ListCell   *cell;

	if (!shuttle_request_is_used_up(remote->request))
		return;
	foreach(cell, remote->beside)
	{
		ForeignScanState *other = lfirst_node(ForeignScanState, cell);
		RemoteScan *other_remote = other->fdw_state;

		if (is_plain(other) && other_remote != remote && other_remote->request != NULL)
			shuttle_request_ask_soon(other_remote->request);
	}
}

static TupleTableSlot *
iterate_foreign_scan(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
	TupleTableSlot *slot = scan->ss.ss_ScanTupleSlot;
	ShuttleRow	row;

	/* the slot points into row_cxt or to the decoder's memory */
	ExecClearTuple(slot);
	if (remote->ended)
		return slot;
	if (remote->pauses && shuttle_is_reading_ahead() &&
		(remote->request == NULL || !shuttle_request_has_rows(remote->request)))
		shuttle_pause();

	send_when_needed(scan);
	if (remote->beside != NIL)
		ask_beside(remote);
	if (remote->need != NULL && !shuttle_request_has_rows(remote->request))
		shuttle_request_set_goal(remote->request, lock_goal(remote));
	for (;;)
	{
		switch (shuttle_request_fetch(remote->request, !remote->no_wait, &row))
		{
			case SHUTTLE_ROW:
				remote->returned_row = true;
				if (remote->is_virtual)
					shuttle_decoder_store(remote->decoder, &row, slot);
				else
					store_tuple(remote, &row, slot);
				return slot;

			case SHUTTLE_END:
				remote->ended = true;
				return slot;

			case SHUTTLE_FAILED:
			case SHUTTLE_LOST:
				ask_again(scan);
				break;

			case SHUTTLE_PENDING:
				Assert(remote->no_wait);
				remote->pending = true;
				return slot;
		}
	}
}

static void
store_tuple(RemoteScan *remote, const ShuttleRow *row, TupleTableSlot *slot)
{
	MemoryContext old_cxt;
	HeapTuple	tuple;

	MemoryContextReset(remote->row_cxt);
	old_cxt = MemoryContextSwitchTo(remote->row_cxt);
	tuple = shuttle_decoder_tuple(remote->decoder, row);
	if (remote->target != NULL)
		shuttle_target_scan_name_row(remote->target, tuple,
									 slot->tts_tupleDescriptor);
	MemoryContextSwitchTo(old_cxt);
	ExecStoreHeapTuple(tuple, slot, false);
}

/*
 * A request sent ahead failed: sends it again now that it is needed, so that
 * the error is raised. After the first returned row a second answer could not
 * be continued, so then an error is raised in any case.
 */
static void
ask_again(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
	bool		returned_row = remote->returned_row;
	ShuttleRow	row;

	drop_request(remote);
	send_when_needed(scan);
	if (!returned_row)
		return;
	while (shuttle_request_fetch(remote->request, true, &row) == SHUTTLE_ROW)
		;
	ereport(ERROR,
			(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
			 errmsg("lost the answer of storage node \"%s\"",
					shuttle_node_name(remote->node)),
			 errhint("Repeat the statement.")));
}

static void
rescan_foreign_scan(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;
	bool		changed;

	if (remote == NULL || remote->request == NULL)
		return;

	ExecClearTuple(scan->ss.ss_ScanTupleSlot);
	remote->ended = false;

	/*
	 * A parameter used only by a local filter does not change the answer. A
	 * SELECT that may write is repeated as often as in postgres_fdw.
	 */
	if (remote->effect == SHUTTLE_MAY_WRITE)
		changed = scan->ss.ps.chgParam != NULL;
	else
		changed = bms_overlap(scan->ss.ps.chgParam, remote->exec_params);
	if (!changed && shuttle_request_rewind(remote->request))
		remote->returned_row = false;
	else
		drop_request(remote);
}

static void
drop_request(RemoteScan *remote)
{
	if (remote->request == NULL)
		return;
	shuttle_request_close(remote->request);
	remote->request = NULL;
	MemoryContextReset(remote->request_cxt);
}

static void
end_foreign_scan(ForeignScanState *scan)
{
	RemoteScan *remote = scan->fdw_state;

	if (remote == NULL)
		return;
	shuttle_unsent_remove(&remote->unsent);
	drop_request(remote);
}

static void
explain_foreign_scan(ForeignScanState *scan, ExplainState *es)
{
	RemoteScan *remote = scan->fdw_state;
	ShuttleExplainNumbers numbers = {.reads = true,.engine = true};

	shuttle_foreign_scan_explain(scan, es);
	if (remote == NULL || remote->node == NULL)
		return;

	numbers.counters = &remote->counters;
	numbers.node_name = shuttle_node_name(remote->node);
	shuttle_explain_counters(es, &numbers);
	shuttle_asked_explain(remote->asked, remote->node, NULL, es);
}

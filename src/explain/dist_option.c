/*-------------------------------------------------------------------------
 * dist_option.c
 *	  The DIST option of EXPLAIN, and totals of a plan.
 *
 * From 18 on core handles the option. Before, our ProcessUtility hook removes
 * it from the statement. On all versions that hook keeps a frame for each
 * running EXPLAIN, with DIST or not, to tell an EXPLAIN inside a function from
 * the one around it.
 *
 * A frame follows its EXPLAIN's plan through the executor:
 *
 * 	 no query --ExecutorStart--> running --ExecutorFinish--> run
 * 			^						 |						  |
 * 			+---------------- ExecutorEnd: print totals ------+
 *
 * The plan is recognized by its source text: EXPLAIN passes the same pointer
 * to the executor that ProcessUtility got, or the prepared statement's text
 * for EXECUTE. Functions that run meanwhile have other texts. ExecutorEnd is
 * the last hook called while the query's output is open, after its nodes and
 * before "Execution Time".
 *
 * The ExplainState is learned where core first shows it: the option handler
 * (18), ExplainOneQuery's hook, or for EXECUTE the first of our plan nodes
 * that is printed; before 18 a plan without one has no totals there.
 *
 * Memory: a frame lives on the C stack of its ProcessUtility call.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "commands/prepare.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_utility.h"
#include "explain/explain_internal.h"

typedef struct ExplainFrame
{
	struct ExplainFrame *outer;
	PlannedStmt *statement;		/* the statement that core gets */
	const char *source;			/* text of the client's statement */
	const char *prepared;		/* name in EXPLAIN EXECUTE, or NULL */
	bool		dist;			/* DIST was given */
	ExplainState *es;			/* NULL: not seen yet */
	QueryDesc  *query;			/* plan between ExecutorStart and End */
	bool		executed;		/* the plan has run: counters are complete */
	ShuttleCounters counters;	/* first the session's before the plan, then
								 * the plan's */
	int64		bytes;			/* memory in use, as reported */
	int64		peak_bytes;
} ExplainFrame;

/* The running EXPLAIN; removed by the ProcessUtility call that owns it. */
static ExplainFrame *innermost = NULL;

static int	extension_id;

static void handle_option(ExplainState *es, DefElem *option,
						  ParseState *pstate);
static PlannedStmt *without_option(PlannedStmt *pstmt, bool *dist);
static const char *prepared_name(const ExplainStmt *stmt);
static bool is_explained(const ExplainFrame *frame, const QueryDesc *query);
static bool counts_rows_scanned(const QueryDesc *query);
static void take_counters(ExplainFrame *frame);

void
shuttle_dist_register(void)
{
	extension_id = GetExplainExtensionId("pg_shuttle");
	RegisterExtensionExplainOption("dist", handle_option, GUCCheckBooleanExplainOption);
}

bool
shuttle_dist_explain_is_open(void)
{
	return innermost != NULL;
}

/*
 * The plan that is printed must be the one that the frame's EXPLAIN ran: with
 * auto_explain, a second ExplainState prints the same plan, and others print
 * those of functions inside.
 */
bool
shuttle_dist_is_wanted(ExplainState *es)
{
	ExplainFrame *frame = innermost;

	if (frame != NULL && frame->es == NULL && frame->query != NULL &&
		es->pstmt == frame->query->plannedstmt)
		frame->es = es;
	if (frame != NULL && frame->dist && frame->es == es)
		return true;
	if (GetExplainExtensionState(es, extension_id) != NULL)
		return true;
	return shuttle_settings.explain_dist && es->analyze;
}

/* Memory counts for the outer EXPLAINs, too. */
void
shuttle_dist_count_memory(int64 change)
{
	for (ExplainFrame *frame = innermost; frame != NULL; frame = frame->outer)
	{
		if (frame->query == NULL)
			continue;
		frame->bytes += change;
		frame->peak_bytes = Max(frame->peak_bytes, frame->bytes);
	}
}

/* Core's parser of EXPLAIN options calls this, from 18 on. */
static void
handle_option(ExplainState *es, DefElem *option, ParseState *pstate)
{
	static char wanted;			/* only its address is used */

	SetExplainExtensionState(es, extension_id,
							 defGetBoolean(option) ? &wanted : NULL);
	if (innermost != NULL && innermost->query == NULL)
		innermost->es = es;
}

void
shuttle_dist_explain(ProcessUtility_hook_type explain, SHUTTLE_UTILITY_PARAMETERS)
{
	ExplainFrame frame = {
		.outer = innermost,
		.source = queryString,
	};

	frame.prepared = prepared_name((ExplainStmt *) pstmt->utilityStmt);
	frame.statement = without_option(pstmt, &frame.dist);

	/* the frame is on this stack: a reset callback would come too late */
	PG_TRY();
	{
		innermost = &frame;
		pstmt = frame.statement;
		explain(SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		innermost = frame.outer;
	}
	PG_END_TRY();
}

/*
 * Reads the option; the last one wins, as in core. Returns the statement for
 * core: if it does not know the option, a copy without it, since the tree may
 * be a cached plan's.
 */
static PlannedStmt *
without_option(PlannedStmt *pstmt, bool *dist)
{
	ExplainStmt *stmt = (ExplainStmt *) pstmt->utilityStmt;
	List	   *kept = NIL;
	ListCell   *cell;

	*dist = false;
	foreach(cell, stmt->options)
	{
		DefElem    *option = (DefElem *) lfirst(cell);

		if (strcmp(option->defname, "dist") == 0)
			*dist = defGetBoolean(option);
		else
			kept = lappend(kept, option);
	}

	if (SHUTTLE_EXPLAIN_TAKES_OPTIONS ||
		list_length(kept) == list_length(stmt->options))
		return pstmt;

	stmt = copyObject(stmt);
	stmt->options = kept;
	pstmt = copyObject(pstmt);
	pstmt->utilityStmt = (Node *) stmt;
	return pstmt;
}

/* The name in EXPLAIN EXECUTE and EXPLAIN CREATE TABLE AS EXECUTE, or NULL. */
static const char *
prepared_name(const ExplainStmt *stmt)
{
	const Query *query = castNode(Query, stmt->query);

	while (query->commandType == CMD_UTILITY && query->utilityStmt != NULL)
	{
		Node	   *utility = query->utilityStmt;

		if (IsA(utility, ExecuteStmt))
			return ((ExecuteStmt *) utility)->name;
		if (!IsA(utility, CreateTableAsStmt))
			return NULL;
		query = castNode(Query, ((CreateTableAsStmt *) utility)->query);
	}
	return NULL;
}

void
shuttle_dist_learn_state(ExplainState *es)
{
	if (innermost != NULL && innermost->query == NULL)
		innermost->es = es;
}

void
shuttle_dist_start(ExecutorStart_hook_type start_plan, QueryDesc *queryDesc, int eflags)
{
	bool		outer_counts = shuttle_counters_want_rows_scanned;

	if (innermost != NULL && is_explained(innermost, queryDesc))
	{
		innermost->query = queryDesc;
		innermost->executed = false;
		innermost->counters = shuttle_counters_of_session;
		innermost->bytes = 0;
		innermost->peak_bytes = 0;
	}

	/* the flag must not stay on: it changes what queries send */
	PG_TRY();
	{
		if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
			shuttle_counters_want_rows_scanned |= counts_rows_scanned(queryDesc);
		start_plan(queryDesc, eflags);
	}
	PG_FINALLY();
	{
		shuttle_counters_want_rows_scanned = outer_counts;
	}
	PG_END_TRY();
}

void
shuttle_dist_run(ExecutorRun_hook_type run_plan, SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	bool		outer_counts = shuttle_counters_want_rows_scanned;

	/* as in shuttle_dist_start() */
	PG_TRY();
	{
		shuttle_counters_want_rows_scanned |= counts_rows_scanned(queryDesc);
		run_plan(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		shuttle_counters_want_rows_scanned = outer_counts;
	}
	PG_END_TRY();
}

void
shuttle_dist_finish(ExecutorFinish_hook_type finish_plan, QueryDesc *queryDesc)
{
	bool		outer_counts = shuttle_counters_want_rows_scanned;

	/* as in shuttle_dist_start() */
	PG_TRY();
	{
		shuttle_counters_want_rows_scanned |= counts_rows_scanned(queryDesc);
		finish_plan(queryDesc);
	}
	PG_FINALLY();
	{
		shuttle_counters_want_rows_scanned = outer_counts;
	}
	PG_END_TRY();

	if (innermost != NULL && innermost->query == queryDesc)
		take_counters(innermost);
}

void
shuttle_dist_end(QueryDesc *queryDesc)
{
	ExplainFrame *frame = innermost;

	if (frame != NULL && frame->query == queryDesc)
	{
		ExplainState *es = frame->es;

		if (frame->executed && es != NULL && es->analyze && es->summary &&
			es->pstmt == queryDesc->plannedstmt && shuttle_dist_is_wanted(es))
			shuttle_explain_totals(es, &frame->counters, frame->peak_bytes);
		frame->query = NULL;
	}
}

/* True if the frame's EXPLAIN starts this plan; see the file header. */
static bool
is_explained(const ExplainFrame *frame, const QueryDesc *query)
{
	PreparedStatement *prepared;

	if (frame->query != NULL)
		return false;			/* a query inside a function */
	if (frame->prepared == NULL)
		return query->sourceText == frame->source;
	prepared = FetchPreparedStatement(frame->prepared, false);
	return prepared != NULL &&
		query->sourceText == prepared->plansource->query_string;
}

/* With shuttle.explain_dist, EXPLAIN ANALYZE or auto_explain may print any
 * instrumented plan. */
static bool
counts_rows_scanned(const QueryDesc *query)
{
	if (shuttle_settings.explain_dist && query->instrument_options != 0)
		return true;
	return innermost != NULL && innermost->query == query && innermost->dist;
}

/* Turns the session's counters before the plan into the plan's own. */
static void
take_counters(ExplainFrame *frame)
{
	for (int i = 0; i < SHUTTLE_NCOUNTERS; i++)
		frame->counters.value[i] =
			shuttle_counters_of_session.value[i] - frame->counters.value[i];
	frame->executed = true;
}

/*-------------------------------------------------------------------------
 * option.c
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
static ProcessUtility_hook_type previous_utility = NULL;
static ExplainOneQuery_hook_type previous_explain = NULL;
static ExecutorStart_hook_type previous_start = NULL;
static ExecutorRun_hook_type previous_run = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;
static ExecutorEnd_hook_type previous_end = NULL;

static void handle_option(ExplainState *es, DefElem *option,
						  ParseState *pstate);
static void process_utility(PlannedStmt *pstmt, const char *queryString,
							bool readOnlyTree, ProcessUtilityContext context,
							ParamListInfo params, QueryEnvironment *queryEnv,
							DestReceiver *dest, QueryCompletion *qc);
static PlannedStmt *without_option(PlannedStmt *pstmt, bool *dist);
static const char *prepared_name(const ExplainStmt *stmt);
static void explain_one_query(Query *query, int cursorOptions,
							  IntoClause *into, ExplainState *es,
							  const char *queryString, ParamListInfo params,
							  QueryEnvironment *queryEnv);
static void executor_start(QueryDesc *queryDesc, int eflags);
static void executor_run(SHUTTLE_EXECUTOR_RUN_PARAMETERS);
static void executor_finish(QueryDesc *queryDesc);
static void executor_end(QueryDesc *queryDesc);
static bool is_explained(const ExplainFrame *frame, const QueryDesc *query);
static bool counts_rows_scanned(const QueryDesc *query);
static void take_counters(ExplainFrame *frame);

void
shuttle_explain_init(void)
{
	extension_id = GetExplainExtensionId("pg_shuttle");
	RegisterExtensionExplainOption("dist", handle_option);

	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
	previous_explain = ExplainOneQuery_hook;
	ExplainOneQuery_hook = explain_one_query;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = executor_finish;
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
}

bool
shuttle_explain_is_open(void)
{
	return innermost != NULL;
}

/*
 * The plan that is printed must be the one that the frame's EXPLAIN ran: with
 * auto_explain, a second ExplainState prints the same plan, and others print
 * those of functions inside.
 */
bool
shuttle_explain_dist(ExplainState *es)
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
shuttle_explain_memory(int64 change)
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

static void
process_utility(PlannedStmt *pstmt, const char *queryString,
				bool readOnlyTree, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *queryEnv,
				DestReceiver *dest, QueryCompletion *qc)
{
	ExplainFrame frame = {
		.outer = innermost,
		.source = queryString,
	};

	if (!IsA(pstmt->utilityStmt, ExplainStmt))
	{
		shuttle_utility_run(previous_utility, pstmt, queryString, readOnlyTree, context, params,
							queryEnv, dest, qc);
		return;
	}
	frame.prepared = prepared_name((ExplainStmt *) pstmt->utilityStmt);
	frame.statement = without_option(pstmt, &frame.dist);

	/* the frame is on this stack: a reset callback would come too late */
	PG_TRY();
	{
		innermost = &frame;
		shuttle_utility_run(previous_utility, frame.statement, queryString, readOnlyTree, context,
							params, queryEnv, dest, qc);
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

/* Only learns the ExplainState. */
static void
explain_one_query(Query *query, int cursorOptions, IntoClause *into,
				  ExplainState *es, const char *queryString,
				  ParamListInfo params, QueryEnvironment *queryEnv)
{
	if (innermost != NULL && innermost->query == NULL)
		innermost->es = es;
	if (previous_explain != NULL)
		previous_explain(query, cursorOptions, into, es, queryString, params,
						 queryEnv);
	else
		standard_ExplainOneQuery(query, cursorOptions, into, es, queryString,
								 params, queryEnv);
}

static void
executor_start(QueryDesc *queryDesc, int eflags)
{
	bool		outer_counts = shuttle_count_rows_scanned;

	if (innermost != NULL && is_explained(innermost, queryDesc))
	{
		innermost->query = queryDesc;
		innermost->executed = false;
		innermost->counters = shuttle_session_counters;
		innermost->bytes = 0;
		innermost->peak_bytes = 0;
	}

	/* the flag must not stay on: it changes what queries send */
	PG_TRY();
	{
		if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
			shuttle_count_rows_scanned |= counts_rows_scanned(queryDesc);
		if (previous_start != NULL)
			previous_start(queryDesc, eflags);
		else
			standard_ExecutorStart(queryDesc, eflags);
	}
	PG_FINALLY();
	{
		shuttle_count_rows_scanned = outer_counts;
	}
	PG_END_TRY();
}

static void
executor_run(SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	bool		outer_counts = shuttle_count_rows_scanned;

	/* As in executor_start. */
	PG_TRY();
	{
		shuttle_count_rows_scanned |= counts_rows_scanned(queryDesc);
		if (previous_run != NULL)
			previous_run(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
		else
			standard_ExecutorRun(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		shuttle_count_rows_scanned = outer_counts;
	}
	PG_END_TRY();
}

static void
executor_finish(QueryDesc *queryDesc)
{
	bool		outer_counts = shuttle_count_rows_scanned;

	/* As in executor_start. */
	PG_TRY();
	{
		shuttle_count_rows_scanned |= counts_rows_scanned(queryDesc);
		if (previous_finish != NULL)
			previous_finish(queryDesc);
		else
			standard_ExecutorFinish(queryDesc);
	}
	PG_FINALLY();
	{
		shuttle_count_rows_scanned = outer_counts;
	}
	PG_END_TRY();

	if (innermost != NULL && innermost->query == queryDesc)
		take_counters(innermost);
}

static void
executor_end(QueryDesc *queryDesc)
{
	ExplainFrame *frame = innermost;

	if (frame != NULL && frame->query == queryDesc)
	{
		ExplainState *es = frame->es;

		if (frame->executed && es != NULL && es->analyze && es->summary &&
			es->pstmt == queryDesc->plannedstmt && shuttle_explain_dist(es))
			shuttle_explain_totals(es, &frame->counters, frame->peak_bytes);
		frame->query = NULL;
	}

	if (previous_end != NULL)
		previous_end(queryDesc);
	else
		standard_ExecutorEnd(queryDesc);
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
			shuttle_session_counters.value[i] - frame->counters.value[i];
	frame->executed = true;
}

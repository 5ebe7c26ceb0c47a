/*-------------------------------------------------------------------------
 * explain_remote.c
 *	  What EXPLAIN shows of a scan's statement on its node: the conditions that
 *	  the node checks, and with shuttle.explain_remote the node's own plan.
 *
 * A node is asked for its plan when the statement is over, in the same
 * transaction, by EXPLAIN of the text that it was sent last, with the values of
 * then.  Nothing is executed a second time.  Where the node refuses, its message
 * stands in the plan's place.
 *
 * Memory: what was sent last is kept in a context of its own, below the scan's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/look_ahead_internal.h"
#include "explain/shuttle_explain.h"

struct ShuttleAsked
{
	MemoryContext cxt;			/* of the next */
	const char *sql;
	int			nparams;
	const char **values;
};

typedef struct PlanQuestion
{
	const ShuttleAsked *asked;
	ShuttleNode *node;
	bool		costs;
	List	   *lines;			/* of char *: the answer */
} PlanQuestion;

void
shuttle_asked_note(ShuttleAsked **asked, const ShuttleStatement *statement,
				   MemoryContext owner)
{
	ShuttleAsked *last = *asked;
	MemoryContext before;

	if (!shuttle_settings.explain_remote)
		return;
	if (last == NULL)
	{
		last = *asked = MemoryContextAllocZero(owner, sizeof(ShuttleAsked));
		last->cxt = AllocSetContextCreate(owner, "shuttle statement to explain",
										  ALLOCSET_SMALL_SIZES);
	}
	MemoryContextReset(last->cxt);
	before = MemoryContextSwitchTo(last->cxt);
	last->sql = pstrdup(statement->sql);
	last->nparams = statement->nparams;
	last->values = palloc0_array(const char *, statement->nparams + 1);
	for (int i = 0; i < statement->nparams; i++)
	{
		if (statement->values[i] != NULL)
			last->values[i] = pstrdup(statement->values[i]);
	}
	MemoryContextSwitchTo(before);
}

static void
ask_for_plan(void *arg)
{
	PlanQuestion *question = arg;
	ShuttleStatement statement = {
		.sql = psprintf("EXPLAIN (COSTS %s) %s", question->costs ? "on" : "off",
						question->asked->sql),
		.nparams = question->asked->nparams,
		.values = question->asked->values,
		.effect = SHUTTLE_READS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.ncolumns = 1,
	};
	ShuttleRequest *request;
	ShuttleRow	row;

	request = shuttle_request_send(question->node, &statement, CurrentMemoryContext);
	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
		question->lines = lappend(question->lines, pstrdup(shuttle_row_text(&row, 0)));
	shuttle_request_close(request);
}

void
shuttle_asked_explain(const ShuttleAsked *asked, ShuttleNode *node, ExplainState *es)
{
	PlanQuestion question = {.asked = asked,.node = node,.costs = es->costs};
	ErrorData  *error;

	if (asked == NULL || asked->sql == NULL || !es->analyze || !es->verbose ||
		!shuttle_settings.explain_remote || !shuttle_explain_dist(es) ||
		!shuttle_can_begin_subtransaction())
		return;
	error = shuttle_attempt_error(ask_for_plan, &question);
	if (error != NULL)
		question.lines = list_make1(psprintf("not known: %s", error->message));
	shuttle_explain_lines(es, "Remote Plan", question.lines);
}

/* Who computes a parameter is not known here: it is printed by its number. */
static Node *
number_params(Node *node, void *context)
{
	if (node != NULL && IsA(node, Param))
	{
		Param	   *param = copyObject((Param *) node);

		param->paramkind = PARAM_EXTERN;
		return (Node *) param;
	}
	return expression_tree_mutator(node, number_params, context);
}

void
shuttle_storage_filter_explain(ForeignScanState *scan, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	List	   *context;
	Node	   *conditions;

	/* of joins and aggregates only the SELECT knows */
	if (plan->scan.scanrelid == 0 || plan->fdw_recheck_quals == NIL ||
		!shuttle_explain_dist(es))
		return;
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	conditions = number_params((Node *) make_ands_explicit(plan->fdw_recheck_quals), NULL);
	shuttle_explain_text(es, "Storage Filter",
						 deparse_expression(conditions, context,
											es->verbose || list_length(es->rtable) > 1,
											false));
}

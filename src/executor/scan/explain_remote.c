/*-------------------------------------------------------------------------
 * explain_remote.c
 *	  What EXPLAIN shows of the node: the quals that it checks, and with
 *	  shuttle.explain_remote its own plans.
 *
 * After the statement has run, in the same transaction, the node is asked to
 * EXPLAIN each SQL text that it was sent, with the last values sent. Nothing
 * is executed again. If the node raises an error, the message is printed
 * instead of the plan.
 *
 * Memory: texts live in the query's context; the values of each in a child
 * context, reset when the text is sent again.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/executor_types.h"
#include "executor/facts/safe_values.h"
#include "executor/scan/remote_values.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

/* Most texts recorded for one table of a plan node. */
#define MOST_STATEMENTS 16

/* Longer texts are cut above their plan. */
#define MOST_SHOWN_BYTES 1000

typedef struct AskedStatement
{
	char	   *sql;
	MemoryContext cxt;			/* of the values */
	int			nparams;
	const char **values;
} AskedStatement;

struct ShuttleAsked
{
	List	   *statements;		/* AskedStatements, in order of first use */
	bool		more;			/* others were sent, too */
};

typedef struct PlanQuestion
{
	const AskedStatement *statement;
	ShuttleNode *node;
	bool		costs;
	List	   *lines;			/* of char *: the answer */
} PlanQuestion;

/* Finds or adds a statement; NULL: too many. */
static AskedStatement *
find_statement(ShuttleAsked *asked, const char *sql, MemoryContext owner)
{
	AskedStatement *statement;
	ListCell   *cell;

	foreach(cell, asked->statements)
	{
		statement = lfirst(cell);
		if (strcmp(statement->sql, sql) == 0)
			return statement;
	}
	if (list_length(asked->statements) == MOST_STATEMENTS)
	{
		asked->more = true;
		return NULL;
	}
	statement = palloc0_object(AskedStatement);
	statement->sql = pstrdup(sql);
	statement->cxt = AllocSetContextCreate(owner, "shuttle statement to explain",
										   ALLOCSET_SMALL_SIZES);
	asked->statements = lappend(asked->statements, statement);
	return statement;
}

void
shuttle_explain_remote_keep(ShuttleAsked **asked, const ShuttleStatement *sent, MemoryContext owner)
{
	MemoryContext before = MemoryContextSwitchTo(owner);
	AskedStatement *statement;

	if (*asked == NULL)
		*asked = palloc0_object(ShuttleAsked);
	statement = find_statement(*asked, sent->sql, owner);
	if (statement != NULL)
	{
		MemoryContextReset(statement->cxt);
		MemoryContextSwitchTo(statement->cxt);
		statement->nparams = sent->nparams;
		statement->values = palloc0_array(const char *, sent->nparams + 1);
		for (int i = 0; i < sent->nparams; i++)
		{
			if (sent->values[i] != NULL)
				statement->values[i] = pstrdup(sent->values[i]);
		}
	}
	MemoryContextSwitchTo(before);
}

static void
ask_for_plan(void *arg)
{
	PlanQuestion *question = arg;
	ShuttleStatement statement = {
		.sql = psprintf("EXPLAIN (COSTS %s) %s", question->costs ? "on" : "off",
						question->statement->sql),
		.nparams = question->statement->nparams,
		.values = question->statement->values,
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

static char *
shorten(const char *sql)
{
	int			length = strlen(sql);

	if (length <= MOST_SHOWN_BYTES)
		return pstrdup(sql);
	return psprintf("%.*s ...", pg_mbcliplen(sql, length, MOST_SHOWN_BYTES), sql);
}

/* The plan of one statement; named: with its SQL above. */
static List *
plan_lines(const AskedStatement *statement, ShuttleNode *node, bool named, bool costs)
{
	PlanQuestion question = {.statement = statement,.node = node,.costs = costs};
	ErrorData  *error = shuttle_caught_error_run(ask_for_plan, &question);
	ListCell   *cell;

	if (error != NULL)
		question.lines = list_make1(psprintf("not known: %s", error->message));
	if (!named)
		return question.lines;
	foreach(cell, question.lines)
		lfirst(cell) = psprintf("  %s", (char *) lfirst(cell));
	return lcons(shorten(statement->sql), question.lines);
}

void
shuttle_explain_remote_asked(const ShuttleAsked *asked, ShuttleNode *node, const char *shown,
							 ExplainState *es)
{
	List	   *lines = NIL;
	bool		named;
	ListCell   *cell;

	if (asked == NULL || !es->analyze || !es->verbose ||
		!shuttle_settings.explain_remote || !shuttle_dist_is_wanted(es) ||
		!shuttle_caught_error_is_possible())
		return;

	/* pending write-behind errors must not be raised in our subtransactions */
	shuttle_write_behind_finish(1);
	named = list_length(asked->statements) > 1 ||
		(shown != NULL &&
		 strcmp(((AskedStatement *) linitial(asked->statements))->sql, shown) != 0);
	foreach(cell, asked->statements)
		lines = list_concat(lines, plan_lines(lfirst(cell), node, named, es->costs));
	if (asked->more)
		lines = lappend(lines, "and others that are not shown");
	shuttle_explain_lines(es, "Remote Plan", lines);
}

/*
 * ruleutils cannot find where a parameter is computed, so it is printed as $n.
 */
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
shuttle_explain_remote_filter(ForeignScanState *scan, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	List	   *context;
	Node	   *conditions;

	/* for joins and aggregates only the SELECT has them */
	if (plan->scan.scanrelid == 0 || plan->fdw_recheck_quals == NIL ||
		!shuttle_dist_is_wanted(es))
		return;
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	conditions = number_params((Node *) make_ands_explicit(plan->fdw_recheck_quals), NULL);
	shuttle_explain_text(es, "Storage Filter",
						 deparse_expression(conditions, context,
											es->verbose || list_length(es->rtable) > 1,
											false));
}

/*-------------------------------------------------------------------------
 * called_routines.c
 *	  Statements that only call a function that nodes have: SELECT f(..), or
 *	  SELECT .. FROM f(..).
 *
 * Whether a node can execute the call is found out when it is executed
 * (executor/router). The plan has core's plan as its child, for when it cannot.
 *
 * SELECT f(..) within PL/pgSQL is left alone: PL/pgSQL takes core's plan of such
 * expressions apart.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/router/router.h"
#include "tablets/shuttle_proof.h"
#include "tablets/shuttle_tablets.h"

/* A call, as it stands in a statement. */
typedef struct Called
{
	FuncExpr   *function;
	const RangeTblEntry *rte;	/* NULL: SELECT f(..) */
	int			key;			/* number of the argument */
} Called;

static bool
has_only_targets(const Query *query)
{
	return query->commandType == CMD_SELECT && query->jointree->quals == NULL &&
		!query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasSubLinks && query->cteList == NIL && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL &&
		query->distinctClause == NIL && query->sortClause == NIL &&
		query->limitOffset == NULL && query->limitCount == NULL && query->rowMarks == NIL &&
		query->setOperations == NULL;
}

/* True of a statement that a client sent itself, not PL/pgSQL. */
static bool
is_clients(const ShuttlePlanCall *call)
{
	return call->query_string != NULL && call->query_string == debug_query_string;
}

static bool
reads_columns(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->resjunk || !IsA(entry->expr, Var) || ((Var *) entry->expr)->varattno <= 0)
			return false;
	}
	return query->targetList != NIL;
}

/* The function of SELECT .. FROM f(..); NULL: it is another statement. */
static FuncExpr *
function_in_from(const Query *query, const RangeTblEntry *rte)
{
	Node	   *function;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1 || rte->funcordinality ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef) || !reads_columns(query))
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions)->funcexpr;
	return function != NULL && IsA(function, FuncExpr) ? (FuncExpr *) function : NULL;
}

static FuncExpr *
find_function(const Query *query, const ShuttlePlanCall *call, Called *called)
{
	const TargetEntry *entry;

	if (list_length(query->jointree->fromlist) == 1 && list_length(query->rtable) == 1)
	{
		called->rte = linitial_node(RangeTblEntry, query->rtable);
		return function_in_from(query, called->rte);
	}
	if (query->jointree->fromlist != NIL || list_length(query->targetList) != 1 || !is_clients(call))
		return NULL;
	entry = linitial_node(TargetEntry, query->targetList);
	return IsA(entry->expr, FuncExpr) && ((FuncExpr *) entry->expr)->funcresulttype != RECORDOID ?
		(FuncExpr *) entry->expr : NULL;
}

/* Fills in default arguments, in the order of the declaration. */
static void
expand_arguments(FuncExpr *function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function->funcid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function->funcid);
	function->args = expand_function_arguments(function->args, false, function->funcresulttype, tuple);
	ReleaseSysCache(tuple);
}

static bool
find_call(const Query *query, const ShuttlePlanCall *call, Called *called)
{
	FuncExpr   *function;

	/* cursors may read in part, or backwards */
	if ((call->cursor_options & CURSOR_OPT_PARALLEL_OK) == 0 || !has_only_targets(query))
		return false;
	function = find_function(query, call, called);
	if (function == NULL)
		return false;
	called->key = shuttle_routine_key(function->funcid);
	if (called->key <= 0 || contain_volatile_functions((Node *) function->args))
		return false;
	called->function = copyObject(function);
	expand_arguments(called->function);
	return called->key <= list_length(called->function->args) &&
		!contain_volatile_functions((Node *) called->function->args);
}

/* ---- the node's statement */

static void
append_call(StringInfo text, const FuncExpr *function)
{
	ListCell   *cell;

	appendStringInfo(text, "%s(", shuttle_call_name(function->funcid));
	foreach(cell, function->args)
	{
		int			i = foreach_current_index(cell);

		appendStringInfo(text, "%s$%d::%s", i > 0 ? ", " : "", i + 1,
						 shuttle_call_type_name(exprType(lfirst(cell)), -1));
	}
	appendStringInfoChar(text, ')');
}

/* The names of the function's columns on the node, with types if it has none. */
static void
append_columns(StringInfo text, const RangeTblEntry *rte)
{
	const RangeTblFunction *function = linitial_node(RangeTblFunction, rte->functions);

	appendStringInfoString(text, " AS f(");
	for (int i = 0; i < list_length(rte->eref->colnames); i++)
	{
		appendStringInfo(text, "%sc%d", i > 0 ? ", " : "", i + 1);
		if (function->funccoltypes != NIL)
			appendStringInfo(text, " %s", shuttle_call_type_name(list_nth_oid(function->funccoltypes, i),
																 list_nth_int(function->funccoltypmods, i)));
	}
	appendStringInfoChar(text, ')');
}

static char *
make_text(const Query *query, const Called *called)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT ");
	if (called->rte == NULL)
	{
		append_call(&text, called->function);
		return text.data;
	}
	foreach(cell, query->targetList)
		appendStringInfo(&text, "%sf.c%d", foreach_current_index(cell) > 0 ? ", " : "",
						 ((Var *) lfirst_node(TargetEntry, cell)->expr)->varattno);
	appendStringInfoString(&text, " FROM ");
	append_call(&text, called->function);
	append_columns(&text, called->rte);
	return text.data;
}

/* The arguments are what the text's parameters stand for. */
static void
prove_text(const char *text, const Query *query, const Called *called, List *arguments)
{
	Query	   *meant = copyObject((Query *) query);
	FuncExpr   *function = copyObject(called->function);

	function->args = arguments;
	if (called->rte == NULL)
		linitial_node(TargetEntry, meant->targetList)->expr = (Expr *) function;
	else
		linitial_node(RangeTblFunction, linitial_node(RangeTblEntry, meant->rtable)->functions)->funcexpr =
			(Node *) function;
	shuttle_proof_check_statement(text, meant, arguments);
}

/* ---- the plan */

/* The columns of core's plan, which is below. */
static void
take_columns(CustomScan *scan, const Plan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		Node	   *value = (Node *) entry->expr;
		TargetEntry *column = flatCopyTargetEntry((TargetEntry *) entry);

		column->expr = (Expr *) makeNullConst(exprType(value), exprTypmod(value), exprCollation(value));
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, column);
		column = flatCopyTargetEntry((TargetEntry *) entry);
		column->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(value), exprTypmod(value),
										exprCollation(value), 0);
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist, column);
	}
}

static void
put_above(PlannedStmt *statement, CustomScan *scan)
{
	Plan	   *below = statement->planTree;
	Plan	   *plan = &scan->scan.plan;

	take_columns(scan, below);
	scan->custom_plans = list_make1(below);
	plan->startup_cost = below->startup_cost;
	plan->total_cost = below->total_cost;
	plan->plan_rows = below->plan_rows;
	plan->plan_width = below->plan_width;
	plan->extParam = bms_copy(below->extParam);
	plan->allParam = bms_copy(below->allParam);
	fix_opfuncids((Node *) scan->custom_exprs);
	statement->planTree = plan;
}

PlannedStmt *
shuttle_called_routines_plan(Query *query, ShuttlePlanCall call)
{
	Called		called = {0};
	CustomScan *scan;
	PlannedStmt *statement;
	char	   *sql;
	List	   *arguments;

	if (!find_call(query, &call, &called))
		return shuttle_plan_rest(query, call);
	sql = make_text(query, &called);
	arguments = (List *) eval_const_expressions(NULL, (Node *) called.function->args);
	if (shuttle_settings.debug_prove_texts)
		prove_text(sql, query, &called, arguments);
	scan = shuttle_call_make(called.function->funcid, sql, arguments, called.key);
	statement = shuttle_plan_rest(query, call);
	put_above(statement, scan);
	return statement;
}

/*-------------------------------------------------------------------------
 * unawaited_update.c
 *	  Routed UPDATEs, DELETEs, upserts and MERGEs of PL/pgSQL functions that are sent
 *	  and not waited for.
 *
 * An UPDATE may wait for a row's lock. What the session reads next must be as new as
 * what the holder of the lock has committed. So an UPDATE is left, unlike an INSERT,
 * only while nothing is read but by its own node, behind it: until
 * - a statement that is not routed, or is routed to another node,
 * - any other statement of PL/pgSQL, unless it computes a value by built-in immutable
 *	 functions alone,
 * - the end of the function, unless the client's statement is nothing but its call.
 * What is left is waited for before the next snapshot is taken.
 *
 * Its number of rows is not known. So the function must not use FOUND or GET
 * DIAGNOSTICS; nor WHILE, whose condition is computed behind other statements.
 *
 * Memory: none.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"

#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/behind/exception_blocks.h"
#include "executor/behind/unawaited_update.h"
#include "executor/facts/node_names.h"
#include "executor/outbox.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

static const char *const words[] = {"found", "diagnostics", "while", NULL};

/* The statement of PL/pgSQL that runs. */
typedef struct Running
{
	PLpgSQL_execstate *estate;	/* NULL: none is known */
	const PLpgSQL_stmt *statement;
	int			depth;			/* of the run that called its function */
	int			nest_level;
} Running;

static Running running;
static ShuttleNode *left_on = NULL; /* the node of what may be left */
static Oid	called = InvalidOid;	/* the function if the client's statement
									 * is nothing but its call */
static const PLpgSQL_execstate *first_call = NULL;	/* that call */

/* Whether the function that was looked at last has none of the words. */
static const PLpgSQL_execstate *looked_at = NULL;
static bool lacks_words;

/* ---- what may run behind it */

/* A block whose handler catches an error has to know whether the UPDATE had failed before, but
 * does not wait for its lock then. */
static bool
may_be_caught(Oid function)
{
	return shuttle_settings.strict_savepoints && GetCurrentTransactionNestLevel() > 1 &&
		!get_func_leakproof(function);
}

static bool
is_not_quiet(Oid function, void *context)
{
	return function != F_NOW &&
		(function >= FirstNormalObjectId || func_volatile(function) != PROVOLATILE_IMMUTABLE ||
		 may_be_caught(function));
}

/* True unless it reads nothing but its parameters. */
static bool
may_read(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_ArrayExpr:
			return check_functions_in_node(node, is_not_quiet, NULL) ||
				expression_tree_walker(node, may_read, context);
		default:
			return true;
	}
}

/* The source of the plan of an expression or statement; NULL: none is valid. */
static const CachedPlanSource *
source_of(const PLpgSQL_expr *expression)
{
	List	   *sources = expression == NULL || expression->plan == NULL ? NIL :
		SPI_plan_get_plan_sources(expression->plan);
	const CachedPlanSource *source = list_length(sources) == 1 ? linitial(sources) : NULL;

	return source != NULL && source->is_valid ? source : NULL;
}

/* True if a statement has a kept plan for one node. */
static bool
is_routed(const PLpgSQL_expr *statement)
{
	const CachedPlanSource *source = source_of(statement);
	const CachedPlan *plan = source == NULL ? NULL : source->gplan;
	Plan	   *tree;

	if (plan == NULL || !plan->is_valid || list_length(plan->stmt_list) != 1)
		return false;
	tree = ((PlannedStmt *) linitial(plan->stmt_list))->planTree;
	return tree != NULL && shuttle_node_is_routed_statement_plan(tree) &&
		!may_read((Node *) ((CustomScan *) tree)->custom_exprs, NULL);
}

static bool
casts_quietly(Oid from, Oid to)
{
	Oid			function = InvalidOid;
	CoercionPathType path;

	if (from == to)
		return true;
	if (get_typtype(to) != TYPTYPE_BASE)
		return false;
	path = find_coercion_pathway(to, from, COERCION_ASSIGNMENT, &function);
	return path == COERCION_PATH_RELABELTYPE ||
		(path == COERCION_PATH_FUNC && !is_not_quiet(function, NULL));
}

/* type: what its value is converted to. */
static bool
is_quiet(const PLpgSQL_expr *expression, Oid type)
{
	const CachedPlanSource *source = source_of(expression);
	const Query *query = source == NULL || list_length(source->query_list) != 1 ? NULL :
		linitial(source->query_list);
	Node	   *value;

	if (query == NULL || query->commandType != CMD_SELECT || query->rtable != NIL ||
		query->hasSubLinks || list_length(query->targetList) != 1)
		return false;
	value = (Node *) ((TargetEntry *) linitial(query->targetList))->expr;
	return !may_read(value, NULL) && casts_quietly(exprType(value), type);
}

/* A variable is converted if its type is not the function's. */
static bool
returns_quietly(const PLpgSQL_execstate *estate, const PLpgSQL_stmt_return *statement)
{
	const PLpgSQL_datum *datum;

	if (statement->retvarno < 0)
		return statement->expr == NULL || is_quiet(statement->expr, estate->func->fn_rettype);
	datum = estate->datums[statement->retvarno];
	return statement->retvarno == estate->func->out_param_varno ||
		(datum->dtype == PLPGSQL_DTYPE_VAR &&
		 ((const PLpgSQL_var *) datum)->datatype->typoid == estate->func->fn_rettype);
}

static bool
may_follow(const PLpgSQL_execstate *estate, const PLpgSQL_stmt *statement)
{
	const PLpgSQL_stmt_if *branch = (const PLpgSQL_stmt_if *) statement;

	switch (statement->cmd_type)
	{
		case PLPGSQL_STMT_EXECSQL:
			return is_routed(((const PLpgSQL_stmt_execsql *) statement)->sqlstmt);
		case PLPGSQL_STMT_IF:
			return branch->elsif_list == NIL && is_quiet(branch->cond, BOOLOID);
		case PLPGSQL_STMT_RETURN:
			return returns_quietly(estate, (const PLpgSQL_stmt_return *) statement);
		default:
			return false;
	}
}

/* ---- leaving and waiting */

static void
wait_for_left(void)
{
	shuttle_write_behind_finish(1);
	left_on = NULL;
}

static bool
is_left(void)
{
	if (left_on != NULL && shuttle_outbox_oldest(1) == NULL)
		left_on = NULL;
	return left_on != NULL;
}

static bool
function_lacks_words(const PLpgSQL_execstate *estate)
{
	if (looked_at != estate)
	{
		lacks_words = shuttle_exception_function_lacks_words(estate->func->fn_oid, words);
		looked_at = estate;
	}
	return lacks_words;
}

/* True if that statement's own query runs, or begins, at that depth. */
static bool
runs_directly(int depth)
{
	return running.estate != NULL && running.depth == depth &&
		running.nest_level == GetCurrentTransactionNestLevel() &&
		running.statement->cmd_type == PLPGSQL_STMT_EXECSQL;
}

bool
shuttle_unawaited_update_is_possible(void)
{
	shuttle_plpgsql_statements_see();
	return runs_directly(shuttle_snapshot_run_depth() - 1) &&
		shuttle_write_behind_is_on(GetCurrentTransactionNestLevel()) &&
		shuttle_write_behind_is_safe() && function_lacks_words(running.estate);
}

void
shuttle_unawaited_update_send(ShuttleNode *node, ShuttleRequest *request)
{
	shuttle_write_behind_leave_routed(node, request);
	left_on = node;
}

void
shuttle_unawaited_update_before_request(const ShuttleNode *node)
{
	if (is_left() && left_on != node)
		wait_for_left();
}

/* True if it was taken for this query, which has not begun. */
static bool
is_for_query_alone(Snapshot snapshot)
{
	return snapshot == GetActiveSnapshot() && snapshot->active_count == 1 &&
		snapshot->regd_count == 1;
}

static void
take_snapshot_again(QueryDesc *query)
{
	UnregisterSnapshot(query->snapshot);
	PopActiveSnapshot();
	PushActiveSnapshot(GetTransactionSnapshot());
	query->snapshot = RegisterSnapshot(GetActiveSnapshot());
}

void
shuttle_unawaited_update_start(QueryDesc *query)
{
	if (!is_left() || shuttle_node_is_routed_statement_plan(query->plannedstmt->planTree))
		return;
	wait_for_left();
	if (!IsolationUsesXactSnapshot() && is_for_query_alone(query->snapshot))
		take_snapshot_again(query);
}

bool
shuttle_unawaited_update_may_be_late(void)
{
	return is_left() && TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* ---- when */

/* The function, if the plan is nothing but its call. */
static Oid
called_once(const Plan *plan)
{
	const Node *value;

	if (shuttle_node_is_shipped_call_plan(plan))
		plan = linitial(((const CustomScan *) plan)->custom_plans);
	if (!IsA(plan, Result) || plan->lefttree != NULL ||
		((const Result *) plan)->resconstantqual != NULL || list_length(plan->targetlist) != 1)
		return InvalidOid;
	value = (Node *) ((TargetEntry *) linitial(plan->targetlist))->expr;
	return IsA(value, FuncExpr) && !may_read((Node *) ((const FuncExpr *) value)->args, NULL) ?
		((const FuncExpr *) value)->funcid : InvalidOid;
}

void
shuttle_unawaited_update_client(const PlannedStmt *statement)
{
	first_call = NULL;
	called = statement == NULL ? InvalidOid : called_once(statement->planTree);
}

void
shuttle_unawaited_update_call(Oid procedure)
{
	first_call = NULL;
	called = procedure;
}

void
shuttle_unawaited_update_begin_function(const PLpgSQL_execstate *estate)
{
	looked_at = NULL;
	if (first_call == NULL && OidIsValid(called) && estate->func->fn_oid == called)
		first_call = estate;
}

void
shuttle_unawaited_update_end_function(const PLpgSQL_execstate *estate)
{
	if (is_left() && estate != first_call)
		wait_for_left();
}

void
shuttle_unawaited_update_begin_statement(PLpgSQL_execstate *estate, const PLpgSQL_stmt *statement)
{
	if (is_left() && !may_follow(estate, statement))
		wait_for_left();
	running.estate = estate;
	running.statement = statement;
	running.depth = shuttle_snapshot_run_depth();
	running.nest_level = GetCurrentTransactionNestLevel();
}

void
shuttle_unawaited_update_end_statement(void)
{
	running.estate = NULL;
}

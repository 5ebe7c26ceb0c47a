/*-------------------------------------------------------------------------
 * call_statement.c
 *	  CALL of a procedure that a storage node may execute.
 *
 * The procedure's arguments must have no side effects: they are computed again if
 * the call runs here.
 *
 * Memory: what a call needs lives in a context of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/facts/parameters.h"
#include "executor/router/call.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_proof.h"
#include "tablets/shuttle_tablets.h"

/* CALL schema.name($1::type, NULL::type, ...): the last are of OUT arguments. */
static char *
make_text(const FuncExpr *procedure)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(procedure->funcid));
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			nargs;
	int			nvalues = 0;
	StringInfoData text;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", procedure->funcid);
	nargs = get_func_arg_info(tuple, &types, &names, &modes);
	ReleaseSysCache(tuple);
	initStringInfo(&text);
	appendStringInfo(&text, "CALL %s(", shuttle_call_name(procedure->funcid));
	for (int i = 0; i < nargs; i++)
	{
		bool		is_out = modes != NULL && modes[i] == FUNC_PARAM_OUT;

		appendStringInfo(&text, "%s%s::%s", i > 0 ? ", " : "",
						 is_out ? "NULL" : psprintf("$%d", ++nvalues),
						 shuttle_call_type_name(types[i], -1));
	}
	appendStringInfoChar(&text, ')');
	return text.data;
}

/* The arguments are what the text's parameters stand for. */
static void
prove_text(const char *text, const CallStmt *statement, List *arguments)
{
	Query	   *meant = makeNode(Query);
	CallStmt   *call = copyObject((CallStmt *) statement);

	call->funcexpr->args = arguments;
	meant->commandType = CMD_UTILITY;
	meant->utilityStmt = (Node *) call;
	shuttle_proof_check_statement(text, meant, arguments);
}

static void
send_rows(const ShuttleCall *call, DestReceiver *dest)
{
	TupOutputState *output = begin_tup_output_tupdesc(dest, call->desc, &TTSOpsMinimalTuple);

	while (tuplestore_gettupleslot(call->rows, true, false, output->slot))
		output->dest->receiveSlot(output->slot, output->dest);
	end_tup_output(output);
}

static bool
ship(CallStmt *statement, int key, ParamListInfo params, bool outermost, DestReceiver *dest)
{
	EState	   *estate = CreateExecutorState();
	FuncExpr   *procedure = statement->funcexpr;
	ShuttleRoutedPlan plan = {0};
	ShuttleParameters *parameters;
	ShuttleCall call = {.routine = procedure->funcid,.plan = &plan,.outermost = outermost,
	.is_transaction = shuttle_write_behind_commit_follows()};
	bool		shipped;
	ListCell   *cell;

	foreach(cell, procedure->args)
		plan.values = lappend(plan.values, expression_planner(lfirst(cell)));
	plan.keys = list_make1(list_nth(plan.values, key - 1));
	estate->es_param_list_info = params;
	call.econtext = GetPerTupleExprContext(estate);
	call.keys = list_make1(ExecPrepareExpr(linitial(plan.keys), estate));
	call.arguments = ExecPrepareExprList(plan.values, estate);
	parameters = shuttle_parameters_create(plan.values, NULL);
	call.values = shuttle_parameters_evaluate(parameters, call.econtext);
	call.nparams = shuttle_parameters_count(parameters);
	call.sql = make_text(procedure);
	if (shuttle_settings.debug_prove_texts)
		prove_text(call.sql, statement, plan.values);
	if (procedure->funcresulttype == RECORDOID)
	{
		call.desc = CallStmtResultDesc(statement);
		call.rows = tuplestore_begin_heap(false, false, work_mem);
	}
	shipped = shuttle_call_ship(&call);
	if (shipped && call.rows != NULL)
		send_rows(&call, dest);
	if (call.rows != NULL)
		tuplestore_end(call.rows);
	FreeExecutorState(estate);
	return shipped;
}

/* The number of the argument with the key; 0: the call runs here. */
static int
find_key(const CallStmt *statement)
{
	int			key;

	if (!shuttle_settings.enable_shipped_calls || contain_volatile_functions((Node *) statement->funcexpr->args))
		return 0;
	key = shuttle_routine_key(statement->funcexpr->funcid);
	return key > 0 && key <= list_length(statement->funcexpr->args) ? key : 0;
}

static bool
try_to_ship(SHUTTLE_UTILITY_PARAMETERS)
{
	CallStmt   *statement = castNode(CallStmt, pstmt->utilityStmt);
	int			key = find_key(statement);
	MemoryContext cxt;
	MemoryContext old_cxt;
	bool		shipped;

	if (key == 0)
		return false;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "shipped CALL", ALLOCSET_SMALL_SIZES);
	old_cxt = MemoryContextSwitchTo(cxt);
	PushActiveSnapshot(GetTransactionSnapshot());
	shipped = ship(copyObject(statement), key, params,
				   context == PROCESS_UTILITY_TOPLEVEL && !IsTransactionBlock(), dest);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);
	return shipped;
}

void
shuttle_call_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	if (!IsA(pstmt->utilityStmt, CallStmt) || !try_to_ship(SHUTTLE_UTILITY_ARGUMENTS))
		run(SHUTTLE_UTILITY_ARGUMENTS);
}

/*-------------------------------------------------------------------------
 * call_plpgsql.c
 *	  The queries of a PL/pgSQL function, and statements that nodes must not run.
 *
 * PL/pgSQL analyzes an expression when it is executed first. We do it for all of
 * them, with its own parser hooks, which look up variables in the function's
 * current state: we give it a state of our own. A variable of type record takes
 * the columns of the query that is assigned to it, in the order of the text.
 *
 * Three kinds of statements are refused: those that act on the transaction or the
 * session, those whose text is only known when they run, and those that show names or
 * texts of the node. COMMIT or ROLLBACK in a handler that no other block encloses
 * fails on a node, so the call then runs here.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "utils/expandedrecord.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "plpgsql.h"

#include "base/shuttle_compat.h"
#include "executor/router/call.h"
#include "executor/router/call_cursors.h"
#include "executor/router/call_keys.h"
#include "executor/router/call_texts.h"

typedef PLpgSQL_function *(*CompileFunction) (FunctionCallInfo fcinfo, bool forValidator);
typedef void (*ParserSetup) (struct ParseState *pstate, PLpgSQL_expr *expr);

typedef struct Walk
{
	ShuttleCallBody *body;
	PLpgSQL_function *function;
	PLpgSQL_execstate estate;
	int			nblocks;		/* with EXCEPTION, around the statement */
	bool		in_handler;		/* of the outermost of them */
	List	   *messages;		/* ints: variables with SQLERRM */
	int		   *assigned;		/* for each variable: the first step that does
								 * so; 0: none */
	int			loop_step;		/* of the outermost loop around the statement;
								 * 0: none */
	TupleDesc  *rows;			/* for each cursor: of its query */
	ShuttleCallCursors cursors; /* that are open */
	bool		nested;			/* called by another routine */
} Walk;

static ParserSetup parser_setup = NULL;
static CompileFunction compile = NULL;

static void check_list(Walk *walk, List *statements);

/* ---- expressions */

static bool
reads_message(Node *node, void *arg)
{
	const Walk *walk = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		list_member_int(walk->messages, ((Param *) node)->paramid - 1))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_message, arg, 0);
	return expression_tree_walker(node, reads_message, arg);
}

static Query *
analyze(Walk *walk, PLpgSQL_expr *expression)
{
	RawStmt    *raw = linitial_node(RawStmt, raw_parser(expression->query, expression->parseMode));

	expression->func = walk->function;
	return parse_analyze_withcb(raw, expression->query, (ParserSetupHook) parser_setup, expression, NULL);
}

/* Returns the columns of the query's rows; NULL: there are none. */
static TupleDesc
check_query(Walk *walk, Query *query)
{
	if (reads_message((Node *) query, walk))
		shuttle_call_refuse(walk->body, "it reads SQLERRM");
	shuttle_call_check_query(walk->body, query);
	if (query->commandType == CMD_UTILITY)
		return NULL;
	return ExecCleanTypeFromTL(query->commandType == CMD_SELECT ? query->targetList :
							   query->returningList);
}

static TupleDesc
check_expression(Walk *walk, PLpgSQL_expr *expression)
{
	if (expression == NULL || walk->body->refusal != NULL)
		return NULL;
	return check_query(walk, analyze(walk, expression));
}

/* A query that is executed as a text. using: expressions of its parameters. */
static TupleDesc
check_text(Walk *walk, PLpgSQL_expr *text, List *using)
{
	List	   *values = NIL;
	Query	   *query;
	ListCell   *cell;

	if (walk->body->refusal != NULL)
		return NULL;
	foreach(cell, using)
		values = lappend(values, analyze(walk, lfirst(cell)));
	query = shuttle_call_known_text(analyze(walk, text), values);
	if (query != NULL)
		return check_query(walk, query);
	shuttle_call_refuse(walk->body, "it executes a text that is not a constant");
	return NULL;
}

/* variable: returned without an expression; negative: there is none. */
static void
check_returned(Walk *walk, PLpgSQL_expr *expression, int variable)
{
	if (list_member_int(walk->messages, variable))
		shuttle_call_refuse(walk->body, "it reads SQLERRM");
	(void) check_expression(walk, expression);
}

static void
check_expressions(Walk *walk, List *expressions)
{
	ListCell   *cell;

	foreach(cell, expressions)
		(void) check_expression(walk, lfirst(cell));
}

static bool
is_cursor(const PLpgSQL_datum *datum)
{
	return datum->dtype == PLPGSQL_DTYPE_VAR && ((const PLpgSQL_var *) datum)->datatype->typoid == REFCURSOROID;
}

/* What a loop assigns may be read by it afterwards. */
static void
note_assigned(Walk *walk, int number)
{
	const PLpgSQL_datum *datum = walk->function->datums[number];

	if (datum->dtype == PLPGSQL_DTYPE_ROW)
	{
		const PLpgSQL_row *row = (const PLpgSQL_row *) datum;

		for (int i = 0; i < row->nfields; i++)
			note_assigned(walk, row->varnos[i]);
	}
	else if (is_cursor(datum))
		shuttle_call_refuse(walk->body, "it gives a cursor a name");
	else if (walk->assigned[number] == 0)
		walk->assigned[number] = walk->loop_step > 0 ? walk->loop_step - 1 : walk->body->keys.step;
}

/* A record has the columns that were assigned to it last. */
static void
assign(Walk *walk, const PLpgSQL_variable *target, TupleDesc columns)
{
	PLpgSQL_rec *record;

	if (target != NULL)
		note_assigned(walk, target->dno);
	if (target == NULL || columns == NULL || target->dtype != PLPGSQL_DTYPE_REC)
		return;
	record = (PLpgSQL_rec *) walk->estate.datums[target->dno];
	if (record->rectypeid == RECORDOID)
		record->erh = make_expanded_record_from_tupdesc(columns, CurrentMemoryContext);
}

/* The columns of a cursor that is bound to a query. */
static TupleDesc
check_cursor(Walk *walk, int number, PLpgSQL_expr *arguments)
{
	const PLpgSQL_var *cursor = (const PLpgSQL_var *) walk->function->datums[number];

	(void) check_expression(walk, arguments);
	if (cursor->cursor_explicit_expr == NULL)
	{
		shuttle_call_refuse(walk->body, "it has a cursor without a query of its own");
		return NULL;
	}
	return check_expression(walk, cursor->cursor_explicit_expr);
}

/* ---- cursors that are opened */

/* Before 16 a cursor with a query of its own has the variable's name. */
static void
note_name(Walk *walk, const PLpgSQL_var *cursor)
{
	if (cursor->default_val == NULL)
		return;
	if (cursor->cursor_explicit_expr == NULL)
		shuttle_call_refuse(walk->body, "it gives a cursor a name");
	walk->body->cursors = lappend(walk->body->cursors, pstrdup(cursor->refname));
}

static void
check_open(Walk *walk, const PLpgSQL_stmt_open *statement)
{
	TupleDesc	rows;

	if (statement->dynquery != NULL)
		rows = check_text(walk, statement->dynquery, statement->params);
	else if (statement->query != NULL)
		rows = check_expression(walk, statement->query);
	else
		rows = check_cursor(walk, statement->curvar, statement->argquery);
	walk->rows[statement->curvar] = rows;
	shuttle_call_cursors_open(&walk->cursors, statement->curvar);
}

/* Only a cursor that says so can surely go backwards, here and on a node. */
static void
check_fetch(Walk *walk, const PLpgSQL_stmt_fetch *statement)
{
	const PLpgSQL_var *cursor = (const PLpgSQL_var *) walk->function->datums[statement->curvar];

	if ((statement->direction != FETCH_FORWARD || statement->expr != NULL) &&
		(cursor->cursor_options & CURSOR_OPT_SCROLL) == 0)
		shuttle_call_refuse(walk->body, "it may move a cursor backwards");
	(void) check_expression(walk, statement->expr);
	assign(walk, statement->target, walk->rows[statement->curvar]);
}

/* ---- statements */

/* True if a handler of the condition catches the error. OTHERS does not catch what is asked for here. */
static bool
is_or_has(const PLpgSQL_condition *condition, int sqlstate)
{
	return condition->sqlerrstate == sqlstate || condition->sqlerrstate == ERRCODE_TO_CATEGORY(sqlstate);
}

/* A cancel, and statement_timeout, hit the session here, which ends the call: a handler on the node
 * would be too late. */
static void
check_handlers(Walk *walk, const PLpgSQL_exception_block *exceptions)
{
	ListCell   *cell;
	const PLpgSQL_condition *condition;

	walk->messages = lappend_int(walk->messages, exceptions->sqlerrm_varno);
	walk->in_handler = walk->nblocks == 0;
	foreach(cell, exceptions->exc_list)
	{
		const PLpgSQL_exception *handler = lfirst(cell);

		for (condition = handler->conditions; condition != NULL; condition = condition->next)
		{
			if (is_or_has(condition, ERRCODE_ASSERT_FAILURE))
				shuttle_call_refuse(walk->body, "it catches ASSERT_FAILURE");
			if (is_or_has(condition, ERRCODE_QUERY_CANCELED))
				shuttle_call_refuse(walk->body, "it catches QUERY_CANCELED");
		}
		check_list(walk, handler->action);
	}
	walk->in_handler = false;
}

static void
check_block(Walk *walk, const PLpgSQL_stmt_block *block)
{
	for (int i = 0; i < block->n_initvars; i++)
	{
		const PLpgSQL_datum *datum = walk->function->datums[block->initvarnos[i]];

		if (is_cursor(datum))
			note_name(walk, (const PLpgSQL_var *) datum);
		if (datum->dtype == PLPGSQL_DTYPE_VAR || datum->dtype == PLPGSQL_DTYPE_REC)
			(void) check_expression(walk, ((const PLpgSQL_variable *) datum)->default_val);
	}
	walk->nblocks += block->exceptions != NULL;
	check_list(walk, block->body);
	walk->nblocks -= block->exceptions != NULL;
	if (block->exceptions != NULL)
		check_handlers(walk, block->exceptions);
}

static void
check_if(Walk *walk, const PLpgSQL_stmt_if *statement)
{
	ListCell   *cell;

	(void) check_expression(walk, statement->cond);
	check_list(walk, statement->then_body);
	foreach(cell, statement->elsif_list)
	{
		const PLpgSQL_if_elsif *part = lfirst(cell);

		(void) check_expression(walk, part->cond);
		check_list(walk, part->stmts);
	}
	check_list(walk, statement->else_body);
}

static void
check_case(Walk *walk, const PLpgSQL_stmt_case *statement)
{
	TupleDesc	value = check_expression(walk, statement->t_expr);
	ListCell   *cell;

	if (value != NULL && value->natts == 1)
	{
		/* conditions compare a variable that has this type */
		PLpgSQL_var *variable = (PLpgSQL_var *) walk->estate.datums[statement->t_varno];
		PLpgSQL_type *type = palloc0_object(PLpgSQL_type);

		type->typoid = TupleDescAttr(value, 0)->atttypid;
		type->atttypmod = TupleDescAttr(value, 0)->atttypmod;
		type->collation = TupleDescAttr(value, 0)->attcollation;
		variable->datatype = type;
	}
	foreach(cell, statement->case_when_list)
	{
		const PLpgSQL_case_when *part = lfirst(cell);

		(void) check_expression(walk, part->expr);
		check_list(walk, part->stmts);
	}
	check_list(walk, statement->else_stmts);
}

static void
check_diagnostics(Walk *walk, const PLpgSQL_stmt_getdiag *statement)
{
	ListCell   *cell;

	foreach(cell, statement->diag_items)
	{
		const PLpgSQL_diag_item *item = lfirst(cell);

		note_assigned(walk, item->target);
		if (item->kind != PLPGSQL_GETDIAG_ROW_COUNT && item->kind != PLPGSQL_GETDIAG_RETURNED_SQLSTATE)
			shuttle_call_refuse(walk->body, "it has GET DIAGNOSTICS of other items than ROW_COUNT and RETURNED_SQLSTATE");
	}
}

static void
check_raise(Walk *walk, const PLpgSQL_stmt_raise *statement)
{
	ListCell   *cell;

	if (statement->elog_level < INFO)
		shuttle_call_refuse(walk->body, "it has RAISE LOG or DEBUG");
	check_expressions(walk, statement->params);
	foreach(cell, statement->options)
		(void) check_expression(walk, ((const PLpgSQL_raise_option *) lfirst(cell))->expr);
}

static void
check_number_loop(Walk *walk, const PLpgSQL_stmt_fori *loop)
{
	(void) check_expression(walk, loop->lower);
	(void) check_expression(walk, loop->upper);
	(void) check_expression(walk, loop->step);
	note_assigned(walk, loop->var->dno);
	check_list(walk, loop->body);
}

static void
check_loop(Walk *walk, PLpgSQL_stmt *statement)
{
	switch (statement->cmd_type)
	{
		case PLPGSQL_STMT_LOOP:
			check_list(walk, ((PLpgSQL_stmt_loop *) statement)->body);
			break;
		case PLPGSQL_STMT_WHILE:
			(void) check_expression(walk, ((PLpgSQL_stmt_while *) statement)->cond);
			check_list(walk, ((PLpgSQL_stmt_while *) statement)->body);
			break;
		case PLPGSQL_STMT_FORI:
			check_number_loop(walk, (PLpgSQL_stmt_fori *) statement);
			break;
		case PLPGSQL_STMT_FORS:
			assign(walk, ((PLpgSQL_stmt_fors *) statement)->var,
				   check_expression(walk, ((PLpgSQL_stmt_fors *) statement)->query));
			check_list(walk, ((PLpgSQL_stmt_fors *) statement)->body);
			break;
		case PLPGSQL_STMT_FORC:
			assign(walk, ((PLpgSQL_stmt_forc *) statement)->var,
				   check_cursor(walk, ((PLpgSQL_stmt_forc *) statement)->curvar,
								((PLpgSQL_stmt_forc *) statement)->argquery));
			check_list(walk, ((PLpgSQL_stmt_forc *) statement)->body);
			break;
		case PLPGSQL_STMT_FOREACH_A:
			(void) check_expression(walk, ((PLpgSQL_stmt_foreach_a *) statement)->expr);
			note_assigned(walk, ((PLpgSQL_stmt_foreach_a *) statement)->varno);
			check_list(walk, ((PLpgSQL_stmt_foreach_a *) statement)->body);
			break;
		case PLPGSQL_STMT_DYNFORS:
			assign(walk, ((PLpgSQL_stmt_dynfors *) statement)->var,
				   check_text(walk, ((PLpgSQL_stmt_dynfors *) statement)->query,
							  ((PLpgSQL_stmt_dynfors *) statement)->params));
			check_list(walk, ((PLpgSQL_stmt_dynfors *) statement)->body);
			break;
		default:
			shuttle_call_refuse(walk->body, "it has a statement that is not known");
	}
}

static void
enter_loop(Walk *walk, PLpgSQL_stmt *statement)
{
	int			outer_loop = walk->loop_step;
	int			outer_nopen = walk->cursors.nopen_outside;

	if (outer_loop == 0)
		walk->loop_step = walk->body->keys.step;
	walk->cursors.nopen_outside = walk->cursors.nopen;
	check_loop(walk, statement);
	walk->loop_step = outer_loop;
	walk->cursors.nopen_outside = outer_nopen;
}

static void
check_statement(Walk *walk, PLpgSQL_stmt *statement)
{
	walk->body->keys.step++;
	switch (statement->cmd_type)
	{
		case PLPGSQL_STMT_BLOCK:
			check_block(walk, (PLpgSQL_stmt_block *) statement);
			break;
		case PLPGSQL_STMT_ASSIGN:
			(void) check_expression(walk, ((PLpgSQL_stmt_assign *) statement)->expr);
			note_assigned(walk, ((PLpgSQL_stmt_assign *) statement)->varno);
			break;
		case PLPGSQL_STMT_IF:
			check_if(walk, (PLpgSQL_stmt_if *) statement);
			break;
		case PLPGSQL_STMT_CASE:
			check_case(walk, (PLpgSQL_stmt_case *) statement);
			break;
		case PLPGSQL_STMT_EXIT:
			(void) check_expression(walk, ((PLpgSQL_stmt_exit *) statement)->cond);
			shuttle_call_cursors_leave(&walk->cursors, ((PLpgSQL_stmt_exit *) statement)->label == NULL);
			break;
		case PLPGSQL_STMT_RETURN:
			shuttle_call_cursors_leave(&walk->cursors, false);
			check_returned(walk, ((PLpgSQL_stmt_return *) statement)->expr,
						   ((PLpgSQL_stmt_return *) statement)->retvarno);
			break;
		case PLPGSQL_STMT_RETURN_NEXT:
			check_returned(walk, ((PLpgSQL_stmt_return_next *) statement)->expr,
						   ((PLpgSQL_stmt_return_next *) statement)->retvarno);
			break;
		case PLPGSQL_STMT_RETURN_QUERY:
			if (((PLpgSQL_stmt_return_query *) statement)->dynquery != NULL)
				(void) check_text(walk, ((PLpgSQL_stmt_return_query *) statement)->dynquery,
								  ((PLpgSQL_stmt_return_query *) statement)->params);
			(void) check_expression(walk, ((PLpgSQL_stmt_return_query *) statement)->query);
			break;
		case PLPGSQL_STMT_RAISE:
			check_raise(walk, (PLpgSQL_stmt_raise *) statement);
			break;
		case PLPGSQL_STMT_ASSERT:
			(void) check_expression(walk, ((PLpgSQL_stmt_assert *) statement)->cond);
			(void) check_expression(walk, ((PLpgSQL_stmt_assert *) statement)->message);
			break;
		case PLPGSQL_STMT_EXECSQL:
			assign(walk, ((PLpgSQL_stmt_execsql *) statement)->target,
				   check_expression(walk, ((PLpgSQL_stmt_execsql *) statement)->sqlstmt));
			break;
		case PLPGSQL_STMT_DYNEXECUTE:
			assign(walk, ((PLpgSQL_stmt_dynexecute *) statement)->target,
				   check_text(walk, ((PLpgSQL_stmt_dynexecute *) statement)->query,
							  ((PLpgSQL_stmt_dynexecute *) statement)->params));
			break;
		case PLPGSQL_STMT_PERFORM:
			(void) check_expression(walk, ((PLpgSQL_stmt_perform *) statement)->expr);
			break;
		case PLPGSQL_STMT_GETDIAG:
			check_diagnostics(walk, (PLpgSQL_stmt_getdiag *) statement);
			break;
		case PLPGSQL_STMT_OPEN:
			check_open(walk, (PLpgSQL_stmt_open *) statement);
			break;
		case PLPGSQL_STMT_FETCH:
			check_fetch(walk, (PLpgSQL_stmt_fetch *) statement);
			break;
		case PLPGSQL_STMT_CLOSE:
			shuttle_call_cursors_close(&walk->cursors, ((PLpgSQL_stmt_close *) statement)->curvar);
			break;
		case PLPGSQL_STMT_ROLLBACK:
		case PLPGSQL_STMT_COMMIT:
			if (!walk->in_handler || walk->nested)
				shuttle_call_refuse(walk->body, "it has COMMIT or ROLLBACK");
			break;
		case PLPGSQL_STMT_CALL:
			shuttle_call_refuse(walk->body, "it has CALL or DO");
			break;
		default:
			enter_loop(walk, statement);
	}
}

static void
check_list(Walk *walk, List *statements)
{
	ShuttleCallCursors outer = shuttle_call_cursors_begin_list(&walk->cursors);
	ListCell   *cell;

	foreach(cell, statements)
	{
		if (walk->body->refusal == NULL)
			check_statement(walk, lfirst(cell));
	}
	shuttle_call_cursors_end_list(&walk->cursors, outer);
}

/* ---- functions */

static PLpgSQL_function *
compile_function(Oid routine, const FormData_pg_proc *form)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	FmgrInfo	flinfo = {.fn_oid = routine,.fn_nargs = form->pronargs,.fn_mcxt = CurrentMemoryContext};

	if (compile == NULL)
	{
		parser_setup = (ParserSetup) load_external_function("$libdir/plpgsql", "plpgsql_parser_setup", true, NULL);
		compile = (CompileFunction) load_external_function("$libdir/plpgsql", "plpgsql_compile", true, NULL);
	}
	MemSet(fcinfo, 0, SizeForFunctionCallInfo(0));
	fcinfo->flinfo = &flinfo;
	fcinfo->nargs = form->pronargs;
	return compile(fcinfo, false);
}

/* The number of each parameter's argument; 0: it is another variable. A parameter's
 * number is its variable's, and one. */
static int *
find_arguments(const PLpgSQL_function *function)
{
	int		   *arguments = palloc0_array(int, function->ndatums);

	for (int i = 0; i < function->fn_nargs; i++)
		arguments[function->fn_argvarnos[i]] = i + 1;
	return arguments;
}

/* Variables whose types are found out are copied, as for an execution. */
static PLpgSQL_datum **
copy_variables(const PLpgSQL_function *function)
{
	PLpgSQL_datum **copies = palloc_array(PLpgSQL_datum *, function->ndatums);

	for (int i = 0; i < function->ndatums; i++)
	{
		PLpgSQL_datum *datum = function->datums[i];
		Size		size = datum->dtype == PLPGSQL_DTYPE_VAR ? sizeof(PLpgSQL_var) :
			datum->dtype == PLPGSQL_DTYPE_REC ? sizeof(PLpgSQL_rec) : 0;

		copies[i] = size > 0 ? memcpy(palloc(size), datum, size) : datum;
	}
	return copies;
}

void
shuttle_call_check_plpgsql(ShuttleCallBody *body, HeapTuple routine)
{
	const FormData_pg_proc *form = (const FormData_pg_proc *) GETSTRUCT(routine);
	PLpgSQL_function *function = compile_function(form->oid, form);
	PLpgSQL_execstate *outer = function->cur_estate;
	Walk		walk = {.body = body,.function = function,.nested = form->oid != body->routine};

	walk.estate.func = function;
	walk.estate.ndatums = function->ndatums;
	walk.estate.datums = copy_variables(function);
	walk.estate.datum_context = CurrentMemoryContext;
	walk.assigned = palloc0_array(int, function->ndatums);
	walk.rows = palloc0_array(TupleDesc, function->ndatums);
	function->cur_estate = &walk.estate;
	PG_TRY();
	{
		check_statement(&walk, (PLpgSQL_stmt *) function->action);
	}
	PG_FINALLY();
	{
		function->cur_estate = outer;
	}
	PG_END_TRY();
	body->leaves_cursors |= walk.cursors.may_stay;
	if (!walk.nested)
		shuttle_call_keys_resolve(body, find_arguments(function), walk.assigned, function->ndatums);
}

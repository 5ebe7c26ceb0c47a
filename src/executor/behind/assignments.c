/*-------------------------------------------------------------------------
 * assignments.c
 *	  Statements of PL/pgSQL that assign what can be read behind their block.
 *
 * A block that is rolled back does not roll back variables. What it has assigned
 * can be read behind it, unless nothing reads it there:
 * - the variable is declared in the block,
 * - the block's errors end the function, so all its variables are gone,
 * - it is the function's outermost block, and the variable is not returned.
 * The position of a cursor that was opened outside of the block can be read in each
 * of these cases, by callers too.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/behind/assignments.h"

/* Variables by their numbers in the function. */
typedef struct Scope
{
	const PLpgSQL_function *function;
	Bitmapset  *locals;			/* declared inside the block */
	Bitmapset  *dead;			/* nothing reads them behind the block */
} Scope;

static bool list_assigns(const Scope *scope, List *statements);

static bool
outlives(const Scope *scope, const PLpgSQL_datum *datum)
{
	if (datum->dtype == PLPGSQL_DTYPE_RECFIELD)
		return !bms_is_member(((const PLpgSQL_recfield *) datum)->recparentno, scope->dead);
	if (datum->dtype == PLPGSQL_DTYPE_ROW)
	{
		const PLpgSQL_row *row = (const PLpgSQL_row *) datum;

		for (int i = 0; i < row->nfields; i++)
		{
			if (outlives(scope, scope->function->datums[row->varnos[i]]))
				return true;
		}
		return false;
	}
	return !bms_is_member(datum->dno, scope->dead);
}

static bool
number_outlives(const Scope *scope, int number)
{
	return outlives(scope, scope->function->datums[number]);
}

static bool
target_outlives(const Scope *scope, const PLpgSQL_variable *target)
{
	return target != NULL && outlives(scope, (const PLpgSQL_datum *) target);
}

/* Adds the variables that a block declares. */
static void
declare(Scope *scope, const PLpgSQL_stmt_block *block)
{
	for (int i = 0; i < block->n_initvars; i++)
	{
		scope->locals = bms_add_member(scope->locals, block->initvarnos[i]);
		scope->dead = bms_add_member(scope->dead, block->initvarnos[i]);
	}
}

static bool
block_assigns(const Scope *outer, const PLpgSQL_stmt_block *block)
{
	Scope		scope = {.function = outer->function,.locals = bms_copy(outer->locals),.dead = bms_copy(outer->dead)};
	ListCell   *cell;

	declare(&scope, block);
	if (list_assigns(&scope, block->body))
		return true;
	if (block->exceptions == NULL)
		return false;
	foreach(cell, block->exceptions->exc_list)
	{
		if (list_assigns(&scope, ((PLpgSQL_exception *) lfirst(cell))->action))
			return true;
	}
	return false;
}

static bool
if_assigns(const Scope *scope, const PLpgSQL_stmt_if *statement)
{
	ListCell   *cell;

	foreach(cell, statement->elsif_list)
	{
		if (list_assigns(scope, ((PLpgSQL_if_elsif *) lfirst(cell))->stmts))
			return true;
	}
	return list_assigns(scope, statement->then_body) ||
		list_assigns(scope, statement->else_body);
}

static bool
case_assigns(const Scope *scope, const PLpgSQL_stmt_case *statement)
{
	ListCell   *cell;

	foreach(cell, statement->case_when_list)
	{
		if (list_assigns(scope, ((PLpgSQL_case_when *) lfirst(cell))->stmts))
			return true;
	}
	return list_assigns(scope, statement->else_stmts);
}

/* A loop over a query, whose variable may be any. */
static bool
query_loop_assigns(const Scope *scope, const PLpgSQL_stmt_forq *loop)
{
	return target_outlives(scope, loop->var) || list_assigns(scope, loop->body);
}

/* True if it may be a cursor that was opened outside of the block. */
static bool
cursor_outlives(const Scope *scope, int number)
{
	return !bms_is_member(number, scope->locals);
}

/* A cursor's position is not rolled back, either. */
static bool
cursor_assigns(const Scope *scope, const PLpgSQL_stmt *statement)
{
	switch (statement->cmd_type)
	{
		case PLPGSQL_STMT_OPEN:
			return cursor_outlives(scope, ((const PLpgSQL_stmt_open *) statement)->curvar);
		case PLPGSQL_STMT_CLOSE:
			return cursor_outlives(scope, ((const PLpgSQL_stmt_close *) statement)->curvar);
		case PLPGSQL_STMT_FORC:
			return cursor_outlives(scope, ((const PLpgSQL_stmt_forc *) statement)->curvar) ||
				query_loop_assigns(scope, (const PLpgSQL_stmt_forq *) statement);
		default:
			return cursor_outlives(scope, ((const PLpgSQL_stmt_fetch *) statement)->curvar) ||
				target_outlives(scope, ((const PLpgSQL_stmt_fetch *) statement)->target);
	}
}

/* True if the statement, or one within it, assigns a variable that outlives the
 * scope, or returns a row. */
static bool
assigns(const Scope *scope, const PLpgSQL_stmt *statement)
{
	switch (statement->cmd_type)
	{
		case PLPGSQL_STMT_BLOCK:
			return block_assigns(scope, (const PLpgSQL_stmt_block *) statement);
		case PLPGSQL_STMT_IF:
			return if_assigns(scope, (const PLpgSQL_stmt_if *) statement);
		case PLPGSQL_STMT_CASE:
			return case_assigns(scope, (const PLpgSQL_stmt_case *) statement);
		case PLPGSQL_STMT_LOOP:
			return list_assigns(scope, ((const PLpgSQL_stmt_loop *) statement)->body);
		case PLPGSQL_STMT_WHILE:
			return list_assigns(scope, ((const PLpgSQL_stmt_while *) statement)->body);
		case PLPGSQL_STMT_FORI:
			return list_assigns(scope, ((const PLpgSQL_stmt_fori *) statement)->body);
		case PLPGSQL_STMT_FOREACH_A:
			return number_outlives(scope, ((const PLpgSQL_stmt_foreach_a *) statement)->varno) ||
				list_assigns(scope, ((const PLpgSQL_stmt_foreach_a *) statement)->body);
		case PLPGSQL_STMT_FORS:
		case PLPGSQL_STMT_DYNFORS:
			return query_loop_assigns(scope, (const PLpgSQL_stmt_forq *) statement);
		case PLPGSQL_STMT_ASSIGN:
			return number_outlives(scope, ((const PLpgSQL_stmt_assign *) statement)->varno);
		case PLPGSQL_STMT_EXECSQL:
			return target_outlives(scope, ((const PLpgSQL_stmt_execsql *) statement)->target);
		case PLPGSQL_STMT_DYNEXECUTE:
			return target_outlives(scope, ((const PLpgSQL_stmt_dynexecute *) statement)->target);
		case PLPGSQL_STMT_CALL:
			return target_outlives(scope, ((const PLpgSQL_stmt_call *) statement)->target);
		case PLPGSQL_STMT_OPEN:
		case PLPGSQL_STMT_CLOSE:
		case PLPGSQL_STMT_FETCH:
		case PLPGSQL_STMT_FORC:
			return cursor_assigns(scope, statement);
		case PLPGSQL_STMT_PERFORM:
		case PLPGSQL_STMT_RETURN:
		case PLPGSQL_STMT_RAISE:
		case PLPGSQL_STMT_ASSERT:
		case PLPGSQL_STMT_EXIT:
		case PLPGSQL_STMT_COMMIT:
		case PLPGSQL_STMT_ROLLBACK:
			return false;
		default:
			return true;
	}
}

static bool
list_assigns(const Scope *scope, List *statements)
{
	ListCell   *cell;

	foreach(cell, statements)
	{
		if (assigns(scope, lfirst(cell)))
			return true;
	}
	return false;
}

/* PL/pgSQL gives a statement its ID when it has parsed it, so behind the statements
 * within it; but a FOR loop gets its ID before them. */
static unsigned int
last_id(const PLpgSQL_stmt *statement)
{
	List	   *body = NIL;

	if (statement->cmd_type == PLPGSQL_STMT_FORI)
		body = ((const PLpgSQL_stmt_fori *) statement)->body;
	else if (statement->cmd_type == PLPGSQL_STMT_FORS ||
			 statement->cmd_type == PLPGSQL_STMT_FORC ||
			 statement->cmd_type == PLPGSQL_STMT_DYNFORS)
		body = ((const PLpgSQL_stmt_forq *) statement)->body;
	return body == NIL ? statement->stmtid : Max(statement->stmtid, last_id(llast(body)));
}

/* Adds the variables that are not returned: behind the function's outermost block
 * nothing reads them. */
static void
add_not_returned(Scope *scope)
{
	const PLpgSQL_function *function = scope->function;
	Bitmapset  *returned = NULL;

	if (function->out_param_varno >= 0)
	{
		const PLpgSQL_datum *out = function->datums[function->out_param_varno];

		returned = bms_make_singleton(out->dno);
		if (out->dtype == PLPGSQL_DTYPE_ROW)
		{
			const PLpgSQL_row *row = (const PLpgSQL_row *) out;

			for (int i = 0; i < row->nfields; i++)
				returned = bms_add_member(returned, row->varnos[i]);
		}
	}
	for (int i = 0; i < function->ndatums; i++)
	{
		if (!bms_is_member(i, returned))
			scope->dead = bms_add_member(scope->dead, i);
	}
	bms_free(returned);
}

unsigned int
shuttle_assignment_find_last(const PLpgSQL_function *function, const PLpgSQL_stmt_block *block,
							 bool errors_end_function)
{
	Scope		scope = {.function = function};
	unsigned int last = 0;
	ListCell   *cell;

	declare(&scope, block);
	if (errors_end_function)
		scope.dead = bms_add_range(scope.dead, 0, function->ndatums - 1);
	else if (block == function->action)
		add_not_returned(&scope);
	foreach(cell, block->body)
	{
		const PLpgSQL_stmt *statement = lfirst(cell);

		if (assigns(&scope, statement))
			last = last_id(statement);
	}
	bms_free(scope.locals);
	bms_free(scope.dead);
	return last;
}

/*-------------------------------------------------------------------------
 * exception_blocks.c
 *	  Blocks with EXCEPTION in which INSERTs need not be waited for.
 *
 * If the error of an INSERT comes late, statements after it have run. The block
 * rolls back what they did to tables, but not what they assigned to variables.
 * So in a block each INSERT is waited for before the next statement, unless
 * nobody can tell the difference:
 * - no statement of the block after it assigns a variable that can be read behind
 *	 the block, or returns a row (assignments.c),
 * - the function uses neither FOUND nor GET DIAGNOSTICS, which each statement
 *	 sets,
 * - all handlers do the same: nothing, ROLLBACK, or RAISE without values; those
 *	 of blocks around it, too.
 *
 * Another statement may fail before the error of the INSERT is known, and a handler
 * may catch that error though it would not catch the INSERT's. So, before a block is rolled
 * back, the INSERT's answer is read. If it is an error that the block does not
 * catch, or raises again, it is raised before the handler's first
 * statement, or behind the block.
 *
 * Memory: one entry in TopMemoryContext for each block that has been entered.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_session.h"
#include "executor/behind/assignments.h"
#include "executor/behind/exception_blocks.h"
#include "storage/shuttle_unawaited.h"

typedef struct ExceptionBlock
{
	PLpgSQL_execstate *estate;
	const PLpgSQL_stmt_block *block;
	int			nest_level;		/* of its statements */
	unsigned int statement;		/* ID of the one that runs; 0: none yet */
	bool		is_checked;		/* the next three are known */
	bool		is_uniform;		/* all handlers do the same */
	bool		hides_nothing;	/* but for handlers and assignments */
	unsigned int last_assignment;	/* ID of the last statement of its body
									 * that assigns what outlives it; 0: none */
} ExceptionBlock;

/* A function without them reads neither FOUND nor ROW_COUNT. */
static const char *const found_words[] = {"found", "diagnostics", NULL};

static ExceptionBlock *blocks = NULL;	/* the innermost is the last */
static int	nblocks = 0;
static int	max_blocks = 0;

/* An error, or a missing answer, that a rollback has hidden. */
typedef struct HiddenError
{
	const PLpgSQL_execstate *estate;	/* its function; NULL: nothing is
										 * hidden */
	int			nest_level;		/* of the block that was rolled back */
	ShuttleNode *node;
	ShuttleNodeError *error;	/* NULL: the answer is missing */
} HiddenError;

static HiddenError hidden;

/* ---- what handlers do */

static bool
same_text(const char *one, const char *other)
{
	return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* True if both are ROLLBACK, or the same RAISE without values. */
static bool
do_the_same(const PLpgSQL_stmt *one, const PLpgSQL_stmt *other)
{
	const PLpgSQL_stmt_raise *raise = (const PLpgSQL_stmt_raise *) one;
	const PLpgSQL_stmt_raise *other_raise = (const PLpgSQL_stmt_raise *) other;

	if (one->cmd_type != other->cmd_type)
		return false;
	if (one->cmd_type == PLPGSQL_STMT_ROLLBACK)
		return true;
	return one->cmd_type == PLPGSQL_STMT_RAISE &&
		raise->params == NIL && raise->options == NIL &&
		other_raise->params == NIL && other_raise->options == NIL &&
		raise->elog_level == other_raise->elog_level &&
		same_text(raise->condname, other_raise->condname) &&
		same_text(raise->message, other_raise->message);
}

static bool
handlers_do_the_same(const PLpgSQL_stmt_block *block)
{
	const List *handlers = block->exceptions->exc_list;
	const List *first = ((const PLpgSQL_exception *) linitial(handlers))->action;
	ListCell   *cell;

	foreach(cell, handlers)
	{
		const List *action = ((const PLpgSQL_exception *) lfirst(cell))->action;
		ListCell   *one;
		ListCell   *other;

		if (list_length(action) != list_length(first))
			return false;
		forboth(one, first, other, action)
		{
			if (!do_the_same(lfirst(one), lfirst(other)))
				return false;
		}
	}
	return true;
}

/* True if each handler raises an error. They all do the same. */
static bool
handlers_raise(const PLpgSQL_stmt_block *block)
{
	ListCell   *cell;

	foreach(cell, ((const PLpgSQL_exception *) linitial(block->exceptions->exc_list))->action)
	{
		const PLpgSQL_stmt_raise *raise = lfirst(cell);

		if (raise->cmd_type == PLPGSQL_STMT_RAISE && raise->elog_level >= ERROR)
			return true;
	}
	return false;
}

/* True if the error that was caught is raised again. */
static bool
raises_again(const PLpgSQL_stmt_block *block)
{
	ListCell   *cell;

	foreach(cell, ((const PLpgSQL_exception *) linitial(block->exceptions->exc_list))->action)
	{
		const PLpgSQL_stmt_raise *raise = lfirst(cell);

		if (raise->cmd_type == PLPGSQL_STMT_RAISE &&
			raise->condname == NULL && raise->message == NULL)
			return true;
	}
	return false;
}

/* As PL/pgSQL's exception_matches_conditions(). */
static bool
catches(const PLpgSQL_condition *condition, int sqlstate)
{
	for (; condition != NULL; condition = condition->next)
	{
		int			wanted = condition->sqlerrstate;

		if (wanted == PLPGSQL_OTHERS)
		{
			if (sqlstate != ERRCODE_QUERY_CANCELED && sqlstate != ERRCODE_ASSERT_FAILURE)
				return true;
		}
		else if (sqlstate == wanted ||
				 (ERRCODE_IS_CATEGORY(wanted) && ERRCODE_TO_CATEGORY(sqlstate) == wanted))
			return true;
	}
	return false;
}

static bool
block_catches(const PLpgSQL_stmt_block *block, int sqlstate)
{
	ListCell   *cell;

	foreach(cell, block->exceptions->exc_list)
	{
		if (catches(((const PLpgSQL_exception *) lfirst(cell))->conditions, sqlstate))
			return true;
	}
	return false;
}

/* ---- what a function's source says */

static bool
is_word_character(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' || IS_HIGHBIT_SET(c);
}

static bool
is_one_of(const char *word, size_t length, const char *const *words)
{
	for (; *words != NULL; words++)
	{
		if (strlen(*words) == length && pg_strncasecmp(word, *words, length) == 0)
			return true;
	}
	return false;
}

static bool
has_word_of(const char *text, const char *const *words)
{
	for (const char *at = text; *at != '\0';)
	{
		const char *end = at;

		while (is_word_character(*end))
			end++;
		if (is_one_of(at, end - at, words))
			return true;
		at = end > at ? end : at + 1;
	}
	return false;
}

bool
shuttle_exception_function_lacks_words(Oid function, const char *const *words)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		is_null;
	char	   *source;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	source = TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null));
	ReleaseSysCache(tuple);
	result = !has_word_of(source, words);
	pfree(source);
	return result;
}

/* ---- blocks */

static void
push(PLpgSQL_execstate *estate, const PLpgSQL_stmt_block *block)
{
	if (nblocks == max_blocks)
	{
		max_blocks = Max(8, max_blocks * 2);
		blocks = blocks == NULL ?
			MemoryContextAlloc(TopMemoryContext, max_blocks * sizeof(ExceptionBlock)) :
			repalloc(blocks, max_blocks * sizeof(ExceptionBlock));
	}
	blocks[nblocks++] = (ExceptionBlock)
	{
		.estate = estate,
			.block = block,
			.nest_level = GetCurrentTransactionNestLevel() + 1,
	};
}

static ExceptionBlock *
innermost(void)
{
	return nblocks > 0 ? &blocks[nblocks - 1] : NULL;
}

void
shuttle_exception_blocks_statement(PLpgSQL_execstate *estate,
								   const PLpgSQL_stmt *statement)
{
	ExceptionBlock *block = innermost();
	const PLpgSQL_stmt_block *begun = (const PLpgSQL_stmt_block *) statement;

	if (block != NULL && block->estate == estate)
		block->statement = statement->stmtid;
	if (statement->cmd_type == PLPGSQL_STMT_BLOCK && begun->exceptions != NULL)
		push(estate, begun);
}

/* True if each error that ends it ends the call of its function: then nothing reads
 * the function's variables. */
static bool
errors_end_function(const ExceptionBlock *block)
{
	bool		is_outermost = block == blocks || block[-1].estate != block->estate;

	return is_outermost && block->is_uniform && handlers_raise(block->block);
}

static void
check(ExceptionBlock *block)
{
	const PLpgSQL_function *function = block->estate->func;

	if (block->is_checked)
		return;
	block->is_uniform = handlers_do_the_same(block->block);
	block->hides_nothing = shuttle_exception_function_lacks_words(function->fn_oid, found_words);
	block->last_assignment = shuttle_assignment_find_last(function, block->block,
														  errors_end_function(block));
	block->is_checked = true;
}

bool
shuttle_exception_block_hides_nothing(int level)
{
	ExceptionBlock *block = innermost();

	if (block == NULL || block->nest_level != level || block->statement == 0)
		return false;
	for (int i = 0; i < nblocks; i++)
	{
		check(&blocks[i]);
		if (!blocks[i].is_uniform)
			return false;
	}
	return block->hides_nothing && block->statement > block->last_assignment;
}

void
shuttle_exception_blocks_end(int level)
{
	while (nblocks > 0 && blocks[nblocks - 1].nest_level >= level)
		nblocks--;
}

/* ---- errors that a rollback hides */

/* The block that a callback of its level rolls back; NULL: none. */
static const ExceptionBlock *
rolled_back(void)
{
	const ExceptionBlock *block = innermost();

	return block != NULL && block->nest_level == GetCurrentTransactionNestLevel() ? block : NULL;
}

/* True if it makes no difference that another error was caught. */
static bool
is_caught(const ExceptionBlock *block, const ShuttleNodeError *error)
{
	return error != NULL && !raises_again(block->block) &&
		block_catches(block->block, shuttle_node_error_sqlstate(error));
}

bool
shuttle_exception_block_take_back(ShuttleNode *node, ShuttleRequest *request)
{
	const ExceptionBlock *block = rolled_back();
	ShuttleNodeError *error;

	if (block == NULL || shuttle_transaction_unawaited_is_written(request, &error))
		return true;
	if (is_caught(block, error))
		shuttle_node_error_release_unawaited(&error);
	else
	{
		hidden.estate = block->estate;
		hidden.nest_level = block->nest_level;
		hidden.node = node;
		hidden.error = error;
	}
	return false;
}

void
shuttle_exception_blocks_raise(const PLpgSQL_execstate *estate)
{
	ShuttleNodeError *error = hidden.error;

	if (hidden.estate == NULL || hidden.estate != estate)
		return;
	hidden.estate = NULL;
	hidden.error = NULL;
	shuttle_node_error_raise_unawaited(hidden.node, error);
}

void
shuttle_exception_blocks_roll_back(int level)
{
	const ExceptionBlock *block = rolled_back();

	if (hidden.estate == NULL || hidden.nest_level <= level)
		return;
	if (level > 1 && block != NULL && !is_caught(block, hidden.error))
	{
		hidden.estate = block->estate;
		hidden.nest_level = block->nest_level;

		return;
	}
	hidden.estate = NULL;

	shuttle_node_error_release_unawaited(&hidden.error);
}

/*-------------------------------------------------------------------------
 * caught_error.c
 *	  Runs work whose errors are not raised yet.
 *
 * Values for later rows are computed ahead of time. An error is raised only
 * when the join reaches that row and computes them again; never if it does
 * not.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/primnodes.h"

#include "base/shuttle_compat_session.h"
#include "base/shuttle_subtransaction.h"
#include "executor/facts/safe_values.h"

static bool is_reading_ahead = false;

/* The command ID that the last statement that writes or locks used, and its
 * transaction. Core's own flag (currentCommandIdUsed) is static. */
static struct
{
	LocalTransactionId transaction;
	CommandId	number;
} used_command;

bool
shuttle_computes_value(Node *expression)
{
	while (IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return !IsA(expression, Param) && !IsA(expression, Const);
}

/* A cancel or a shutdown is not an error of the work. */
static bool
must_be_raised(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_OPERATOR_INTERVENTION;
}

/* Notes command IDs under the conditions of standard_ExecutorStart(). */
void
shuttle_caught_error_start(const QueryDesc *queryDesc)
{
	const PlannedStmt *statement = queryDesc->plannedstmt;

	if (statement->commandType == CMD_SELECT && statement->rowMarks == NIL &&
		!statement->hasModifyingCTE)
		return;
	used_command.transaction = shuttle_my_lxid();
	used_command.number = GetCurrentCommandId(false);
}

static bool
command_is_used(void)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		(used_command.transaction == shuttle_my_lxid() &&
		 used_command.number == GetCurrentCommandId(false));
}

/* The end of a subtransaction starts a new command, which is refused in
 * parallel mode if the current command ID was used. */
bool
shuttle_caught_error_is_possible(void)
{
	return !IsInParallelMode() ||
		(SHUTTLE_SUBTRANSACTIONS_BESIDE_WORKERS && !command_is_used());
}

ErrorData *
shuttle_caught_error_run(void (*work) (void *arg), void *arg)
{
	ErrorData  *error = shuttle_subtransaction_run(work, arg);

	if (error != NULL && must_be_raised(error))
		ReThrowError(error);
	return error;
}

bool
shuttle_caught_error_try(void (*work) (void *arg), void *arg)
{
	ErrorData  *error;

	if (!shuttle_caught_error_is_possible())
		return false;
	error = shuttle_caught_error_run(work, arg);
	if (error == NULL)
		return true;
	FreeErrorData(error);
	return false;
}

/* ---- reading ahead */

bool
shuttle_caught_error_reads_ahead(void)
{
	return is_reading_ahead;
}

bool
shuttle_caught_error_set_reads_ahead(bool reads)
{
	bool		before = is_reading_ahead;

	is_reading_ahead = reads;
	return before;
}

void
shuttle_caught_error_pause(void)
{
	Assert(is_reading_ahead);
	ereport(ERROR,
			(errcode(SHUTTLE_ERRCODE_PAUSE),
			 errmsg_internal("outer side is read no further ahead")));
}

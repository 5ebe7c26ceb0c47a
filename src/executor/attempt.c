/*-------------------------------------------------------------------------
 * attempt.c
 *	  Does something whose error is not an error of the statement yet.
 *
 * Values for rows to come are computed ahead of time; an error there is
 * raised when the join comes to that row and computes them again, and never
 * if it does not come there.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/primnodes.h"
#include "utils/resowner.h"

#include "base/shuttle_compat.h"
#include "executor/look_ahead_internal.h"

bool
shuttle_computes_value(Node *expression)
{
	while (IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return !IsA(expression, Param) && !IsA(expression, Const);
}

/* A cancel, or the end of the server, says nothing about what was done. */
static bool
must_be_raised(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_OPERATOR_INTERVENTION;
}

ErrorData *
shuttle_attempt_error(void (*work) (void *arg), void *arg)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);

	/* only a subtransaction's abort frees what was held when it failed */
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	if (error != NULL && must_be_raised(error))
		ReThrowError(error);
	return error;
}

bool
shuttle_attempt(void (*work) (void *arg), void *arg)
{
	ErrorData  *error;

	if (!shuttle_can_begin_subtransaction())
		return false;
	error = shuttle_attempt_error(work, arg);
	if (error == NULL)
		return true;
	FreeErrorData(error);
	return false;
}

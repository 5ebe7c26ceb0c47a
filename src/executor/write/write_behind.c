/*-------------------------------------------------------------------------
 * write_behind.c
 *	  INSERTs that were sent and are not waited for.
 *
 * An INSERT within a statement of the client, by a function say, whose count is
 * known goes on when its rows are sent: the table is a plain one by the node's
 * word, and nothing is to be done with its rows here.  Another count, or an error,
 * is found later, at the latest when
 * - the client's statement ends: its plan, or its CALL or DO,
 * - a procedure commits or rolls back,
 * - PL/pgSQL raises an error, or enters a block with EXCEPTION
 *	 (plpgsql_statements.c),
 * - more than shuttle.write_buffer_size is under way.
 * Whatever the node is asked behind them is answered behind them: a read sees the
 * rows, or meets the error.
 *
 * Within a savepoint that began in the client's statement, as that of a block with
 * EXCEPTION, each INSERT is waited for: whoever catches its error may look at
 * variables, which nobody sets back, and must not find in them what the statements
 * behind the INSERT have done.  So what goes on can only end with all of the
 * client's statement.  With shuttle.strict_savepoints off, errors may come behind
 * their savepoint.
 *
 * Rule: the oldest is always the first to be finished, so that the error that is
 * raised is the one that waiting for each would have met.
 *
 * Memory: each has a context below that of the (sub)transaction it was sent in; a
 * reset callback takes it out of the list.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"

/* What an INSERT counts at least, so that there are at most about a thousand. */
#define LEAST_BYTES 4096

typedef struct LeftWrite
{
	dlist_node	link;			/* in left_writes, oldest first */
	bool		linked;
	MemoryContext cxt;
	ShuttleNode *node;
	ShuttleRequest *request;
	Oid			relid;
	char	   *table;
	char	   *origin;			/* context of its errors; NULL: none */
	int			nrows;
	int64		nbytes;
	int			level;			/* transaction nest level that it belongs to */
} LeftWrite;

static dlist_head left_writes = DLIST_STATIC_INIT(left_writes);
static int64 left_bytes = 0;
static int	ncalls = 0;			/* CALL and DO that have not returned */
static int	client_level = 0;	/* nest level that the client's statement
								 * began at */
static bool blocks_are_seen = false;	/* by us, since it began */

/* Blocks with EXCEPTION that are being entered, of the lowest nest level. */
static int	nentering = 0;
static int	entering_level;

static void unlink_at_reset(void *arg);
static void make_room(int64 nbytes);
static bool finish(LeftWrite *left, bool wait);
static void judge_count(LeftWrite *left, uint64 nwritten);

/* ---- leaving */

bool
shuttle_write_behind_is_on(int nest_level)
{
	int			level = GetCurrentTransactionNestLevel();

	if (!shuttle_settings.enable_write_behind)
		return false;
	shuttle_plpgsql_statements_see();
	return (ncalls > 0 || shuttle_snapshot_run_depth() > 1) &&
		nest_level == level && nentering == 0 &&
		(level == client_level || !shuttle_settings.strict_savepoints);
}

bool
shuttle_write_behind_is_safe(void)
{
	return blocks_are_seen && shuttle_plpgsql_statements_are_seen();
}

void
shuttle_write_behind_enter_block(void)
{
	if (!shuttle_settings.strict_savepoints)
		return;
	shuttle_write_behind_finish(1);

	/*
	 * Values of its variables may come from functions that write, or enter
	 * other blocks.
	 */
	if (nentering == 0)
		entering_level = GetCurrentTransactionNestLevel();
	if (entering_level == GetCurrentTransactionNestLevel())
		nentering++;
}

static void
add_to_list(LeftWrite *left, bool is_oldest)
{
	if (is_oldest)
		dlist_push_head(&left_writes, &left->link);
	else
		dlist_push_tail(&left_writes, &left->link);
	left->linked = true;
	left_bytes += left->nbytes;
}

static void
take_from_list(LeftWrite *left)
{
	if (!left->linked)
		return;
	dlist_delete(&left->link);
	left->linked = false;
	left_bytes -= left->nbytes;
}

static void
unlink_at_reset(void *arg)
{
	take_from_list(arg);
}

void
shuttle_write_behind_leave(ShuttleWrite *write, ShuttleRequest *request,
						   int nrows, int64 nbytes)
{
	MemoryContext cxt = AllocSetContextCreate(CurTransactionContext,
											  "shuttle write behind",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	LeftWrite  *left = palloc0_object(LeftWrite);
	MemoryContextCallback *callback = palloc_object(MemoryContextCallback);

	left->cxt = cxt;
	left->node = write->storage_node;
	left->request = request;
	left->relid = RelationGetRelid(write->rel);
	left->table = pstrdup(RelationGetRelationName(write->rel));
	left->origin = GetErrorContextStack();
	left->nrows = nrows;
	left->nbytes = Max(nbytes, LEAST_BYTES);
	left->level = GetCurrentTransactionNestLevel();
	callback->func = unlink_at_reset;
	callback->arg = left;
	MemoryContextRegisterResetCallback(cxt, callback);
	shuttle_request_leave(request, cxt, left->origin);
	MemoryContextSwitchTo(old_cxt);

	/* not that one: whether it is answered already is chance */
	make_room(left->nbytes);
	add_to_list(left, false);
}

/* Frees what was answered meanwhile, and waits for what would be too much. */
static void
make_room(int64 nbytes)
{
	int64		most_bytes = shuttle_settings.write_buffer_size_kb * (int64) 1024;

	while (!dlist_is_empty(&left_writes))
	{
		LeftWrite  *oldest = dlist_head_element(LeftWrite, link, &left_writes);
		bool		wait = left_bytes + nbytes > most_bytes;

		if ((!wait && oldest->level < GetCurrentTransactionNestLevel()) ||
			!finish(oldest, wait))
			break;
	}
}

/* ---- finishing */

static bool
is_answered(LeftWrite *left)
{
	ShuttleRow	row;

	return shuttle_request_fetch(left->request, false, &row) != SHUTTLE_PENDING;
}

/*
 * Looks for the answer of one, and frees it if it is here, waited for where that
 * is wanted.  Returns false where it is not here.
 *
 * It is not in the list meanwhile: while the node is waited for, statements of ours
 * may end.  An error puts it back, for its level may be one around this one; so no
 * callback would do.
 */
static bool
finish(LeftWrite *left, bool wait)
{
	volatile bool answered = wait;

	take_from_list(left);
	PG_TRY();
	{
		if (!answered)
			answered = is_answered(left);
		if (answered)
			judge_count(left, shuttle_request_finish(left->request));
	}
	PG_CATCH();
	{
		/* The node's table may have been changed. */
		shuttle_remote_table_forget(left->relid, left->node);
		add_to_list(left, true);
		PG_RE_THROW();
	}
	PG_END_TRY();

	if (answered)
		MemoryContextDelete(left->cxt);
	else
		add_to_list(left, true);
	return answered;
}

/* Its statement has counted all of its rows. */
static void
judge_count(LeftWrite *left, uint64 nwritten)
{
	if (nwritten == left->nrows)
		return;

	/* What is executed now has nothing to do with it. */
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not write all rows of foreign table \"%s\" due to concurrent changes",
					left->table),
			 errdetail("Storage node \"%s\" wrote " UINT64_FORMAT " of %d rows.",
					   shuttle_node_name(left->node), nwritten, left->nrows),
			 errhint("Repeat the transaction."),
			 left->origin != NULL ? errcontext("%s", left->origin) : 0));
}

void
shuttle_write_behind_finish(int level)
{
	for (;;)
	{
		LeftWrite  *oldest = NULL;
		dlist_iter	iter;

		dlist_foreach(iter, &left_writes)
		{
			LeftWrite  *left = dlist_container(LeftWrite, link, iter.cur);

			if (left->level >= level)
			{
				oldest = left;
				break;
			}
		}
		if (oldest == NULL)
			return;
		(void) finish(oldest, true);
	}
}

/* ---- when */

/* True for a plan's run, and a CALL or DO, that is no part of another one. */
static bool
is_outermost(int depth)
{
	return ncalls == 0 && shuttle_snapshot_run_depth() == depth;
}

/* A block that nobody told us of may be being entered where it was not so yet. */
static void
begin_client_statement(void)
{
	client_level = GetCurrentTransactionNestLevel();
	blocks_are_seen = shuttle_plpgsql_statements_are_seen();
}

void
shuttle_write_behind_enter(void)
{
	if (is_outermost(1))
		begin_client_statement();
}

void
shuttle_write_behind_exit(void)
{
	if (is_outermost(1))
		shuttle_write_behind_finish(1);
}

void
shuttle_write_behind_call(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	if (is_outermost(0))
		begin_client_statement();

	/* No memory context goes with each call. */
	ncalls++;
	PG_TRY();
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		ncalls--;
	}
	PG_END_TRY();
	if (is_outermost(0))
		shuttle_write_behind_finish(1);
}

/* ---- transactions */

/* What was sent at a level, or deeper, is void. */
static void
forget_level(int level)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &left_writes)
	{
		LeftWrite  *left = dlist_container(LeftWrite, link, iter.cur);

		if (left->level >= level)
			take_from_list(left);
	}
	if (entering_level >= level)
		nentering = 0;
}

void
shuttle_write_behind_end_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT)
		shuttle_write_behind_finish(1);
	else if (event == XACT_EVENT_ABORT)
		forget_level(1);
}

void
shuttle_write_behind_end_savepoint(SubXactEvent event, SubTransactionId self,
								   SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	dlist_iter	iter;

	switch (event)
	{
		case SUBXACT_EVENT_START_SUB:
			if (nentering > 0 && entering_level == level - 1)
				nentering--;
			break;

		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			if (shuttle_settings.strict_savepoints)
				shuttle_write_behind_finish(level);
			break;

		case SUBXACT_EVENT_COMMIT_SUB:
			dlist_foreach(iter, &left_writes)
			{
				LeftWrite  *left = dlist_container(LeftWrite, link, iter.cur);

				left->level = Min(left->level, level - 1);
			}
			break;

		case SUBXACT_EVENT_ABORT_SUB:
			forget_level(level);
			break;
	}
}

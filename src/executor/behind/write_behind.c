/*-------------------------------------------------------------------------
 * write_behind.c
 *	  INSERTs that were sent and are not waited for.
 *
 * An INSERT within a client's statement, in a function say, need not wait for
 * its answer if its count is known: the node says that the table is plain
 * (remote_table.c), and nothing is to be done with its rows here. Another
 * count, or an error, is found later, at the latest when
 * - the client's statement ends: its plan, or its CALL or DO,
 * - a procedure commits or rolls back,
 * - PL/pgSQL raises an error, or enters a block with EXCEPTION
 *	 (plpgsql_statements.c),
 * - more than shuttle.write_buffer_size is under way.
 * A node answers in order: a later read sees the rows, or meets the error.
 *
 * If the transaction ends with the client's statement (it is not in a
 * transaction block), INSERTs into tablets are not waited for at its end: COMMIT
 * or PREPARE TRANSACTION goes behind them, and all is answered in one round
 * trip. A node's transaction with a failed INSERT does not commit. Only tablets:
 * a node's table that is not ours may get a trigger that keeps rows out, and its
 * count would come too late. Then the client's own INSERT need not be waited
 * for, either.
 *
 * Rows that RETURNING gives for a tablet are those that were sent.
 *
 * In a savepoint that began in the client's statement, such as a block with
 * EXCEPTION, each INSERT is waited for: the handler of its error may look at
 * variables, which no rollback resets, and must not see what statements after
 * the INSERT have done. Not so in a block where nobody can tell the difference
 * (exception_blocks.c): there its end waits. With shuttle.strict_savepoints
 * off, errors may come after their savepoint.
 *
 * Rule: the oldest is always finished first, so that the error raised is the
 * one that waiting for each INSERT would have raised.
 *
 * Memory: each has a context below that of the (sub)transaction it was sent
 * in. outbox.c has their list.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/behind/exception_blocks.h"
#include "executor/behind/unawaited_update.h"
#include "executor/executor_types.h"
#include "executor/outbox.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"
#include "storage/shuttle_unawaited.h"
#include "tablets/shuttle_tablets.h"

/* The least size of an INSERT, so that at most about a thousand are listed. */
#define LEAST_BYTES 4096

#define ANY_NUMBER (-1)			/* of rows */

typedef struct LeftWrite
{
	ShuttleOutboxItem item;		/* must be first */
	ShuttleRequest *request;
	Oid			relid;			/* of an INSERT */
	char	   *table;
	char	   *origin;			/* error context of its statement; NULL: none */
	int			nrows;			/* that its statement has reported */
} LeftWrite;

static bool commit_follows = false; /* the transaction ends with the client's
									 * statement */
static bool all_can_commit = false; /* COMMIT may go behind all that is listed */

static int	ncalls = 0;			/* CALL and DO commands under way */
static int	client_level = 0;	/* nest level at which the client's statement
								 * began */
static bool blocks_are_seen = false;	/* our plugin was active when it began */

/* Blocks with EXCEPTION being entered at the lowest nest level. */
static int	nentering = 0;
static int	entering_level;

static bool is_outermost(int depth);
static void make_room(int64 nbytes);
static bool finish(LeftWrite *left, bool wait);
static void judge_count(LeftWrite *left, uint64 nwritten);

/* ---- leaving */

bool
shuttle_write_behind_is_on(int nest_level)
{
	return shuttle_write_behind_is_on_within(nest_level) &&
		(commit_follows || ncalls > 0 || shuttle_snapshot_run_depth() > 1);
}

bool
shuttle_write_behind_is_on_within(int nest_level)
{
	int			level = GetCurrentTransactionNestLevel();

	if (!shuttle_settings.enable_write_behind)
		return false;
	shuttle_plpgsql_statements_see();
	return nest_level == level && nentering == 0 &&
		(level == client_level || !shuttle_settings.strict_savepoints ||
		 shuttle_exception_block_hides_nothing(level));
}

bool
shuttle_write_behind_is_safe(void)
{
	return is_outermost(1) || (blocks_are_seen && shuttle_plpgsql_statements_are_seen());
}

void
shuttle_write_behind_enter_block(void)
{
	if (!shuttle_settings.strict_savepoints)
		return;
	shuttle_write_behind_finish(1);

	/*
	 * Initial values of its variables may call functions that write or enter
	 * other blocks.
	 */
	if (nentering == 0)
		entering_level = GetCurrentTransactionNestLevel();
	if (entering_level == GetCurrentTransactionNestLevel())
		nentering++;
}

/* rel: an INSERT's table; NULL: the write is routed. */
static void
leave(ShuttleNode *node, ShuttleRequest *request, Relation rel, int nrows, int64 nbytes)
{
	MemoryContext cxt = AllocSetContextCreate(CurTransactionContext,
											  "shuttle write behind",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	LeftWrite  *left = palloc0_object(LeftWrite);

	left->item.node = node;
	left->item.nbytes = Max(nbytes, LEAST_BYTES);
	left->request = request;
	left->origin = GetErrorContextStack();
	left->nrows = nrows;
	if (rel != NULL)
	{
		left->relid = RelationGetRelid(rel);
		left->table = pstrdup(RelationGetRelationName(rel));
	}
	if (!shuttle_request_leave(request, cxt, left->origin) ||
		(rel != NULL && shuttle_table_kind(left->relid) != SHUTTLE_TABLE_TABLET))
		all_can_commit = false;
	MemoryContextSwitchTo(old_cxt);

	/* without the new one: it might or might not be answered yet */
	make_room(left->item.nbytes);
	shuttle_outbox_add(SHUTTLE_UNANSWERED_WRITES, &left->item, cxt);
}

void
shuttle_write_behind_leave(ShuttleWrite *write, ShuttleRequest *request,
						   int nrows, int64 nbytes)
{
	leave(write->storage_node, request, write->rel, nrows, nbytes);
}

void
shuttle_write_behind_leave_routed(ShuttleNode *node, ShuttleRequest *request)
{
	leave(node, request, NULL, ANY_NUMBER, 0);
}

/* Frees answered requests; waits for the oldest while there is too much. */
static void
make_room(int64 nbytes)
{
	int64		most_bytes = shuttle_settings.write_buffer_size_kb * (int64) 1024;
	LeftWrite  *oldest;

	while ((oldest = (LeftWrite *) shuttle_outbox_oldest(1)) != NULL)
	{
		bool		wait = shuttle_outbox_bytes() + nbytes > most_bytes;

		if ((!wait && oldest->item.nest_level < GetCurrentTransactionNestLevel()) ||
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
 * Reads the answer, if it is here or wait is set, and frees the request.
 * Returns false if it is not here.
 *
 * Meanwhile it is not in the list: statements of ours may end while we wait for
 * the node. An error puts it back, as its nest level may be an outer one; so a
 * callback would not do.
 */
static bool
finish(LeftWrite *left, bool wait)
{
	volatile bool answered = wait;

	shuttle_outbox_remove(&left->item);
	PG_TRY();
	{
		if (!answered)
			answered = is_answered(left);
		if (answered)
			judge_count(left, shuttle_request_finish(left->request));
	}
	PG_CATCH();
	{
		/* The node's table may have changed. */
		if (OidIsValid(left->relid))
			shuttle_remote_table_forget(left->relid, left->item.node);
		shuttle_outbox_put_back(&left->item);
		PG_RE_THROW();
	}
	PG_END_TRY();

	if (answered)
		MemoryContextDelete(left->item.cxt);
	else
		shuttle_outbox_put_back(&left->item);
	return answered;
}

/* Its statement has already reported nrows. */
static void
judge_count(LeftWrite *left, uint64 nwritten)
{
	if (left->nrows == ANY_NUMBER || nwritten == left->nrows)
		return;

	/* The current statement's context has nothing to do with it. */
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not write all rows of foreign table \"%s\" due to concurrent changes",
					left->table),
			 errdetail("Storage node \"%s\" wrote " UINT64_FORMAT " of %d rows.",
					   shuttle_node_name(left->item.node), nwritten, left->nrows),
			 errhint("Repeat the transaction."),
			 left->origin != NULL ? errcontext("%s", left->origin) : 0));
}

void
shuttle_write_behind_finish(int level)
{
	ShuttleOutboxItem *oldest;

	while ((oldest = shuttle_outbox_oldest(level)) != NULL)
		(void) finish((LeftWrite *) oldest, true);
}

/* Called when the nodes have answered COMMIT or PREPARE TRANSACTION. */
static void
check_committed(void)
{
	shuttle_write_behind_finish(1);
}

/* ---- when */

/* True for the client's own ExecutorRun (depth 1), CALL or DO (depth 0). */
static bool
is_outermost(int depth)
{
	return ncalls == 0 && shuttle_snapshot_run_depth() == depth;
}

bool
shuttle_write_behind_commit_follows(void)
{
	return shuttle_settings.enable_write_behind && commit_follows &&
		ncalls + shuttle_snapshot_run_depth() == 1 && shuttle_outbox_oldest(1) == NULL;
}

/* Until then a block unknown to us may have been entered. */
static void
begin_client_statement(void)
{
	client_level = GetCurrentTransactionNestLevel();
	blocks_are_seen = shuttle_plpgsql_statements_are_seen();
}

/* True if the rows of a statement are kept in its portal, and sent when it has ended: those of a
 * procedure, and those of RETURNING. They must not be sent before the node has committed. */
static bool
keeps_rows(const PlannedStmt *statement)
{
	return ActivePortal->strategy == PORTAL_UTIL_SELECT ||
		(ActivePortal->strategy == PORTAL_ONE_RETURNING && shuttle_node_is_routed_statement_plan(statement->planTree));
}

/* Of the simple protocol, whose portals are not visible and have no name: that of EXECUTE, which
 * may be a statement of the other protocol, has one. */
static bool
is_simple_query(const PlannedStmt *statement, CommandDest dest)
{
	return dest == DestRemote ||
		(dest == DestTuplestore && ActivePortal != NULL && !ActivePortal->visible && ActivePortal->name[0] == '\0' &&
		 keeps_rows(statement));
}

/* False if other actions of a rule come behind it, or if it is one of those that run for a
 * utility statement, as in triggers of COPY: its portal is not theirs. Its plan may have
 * been replaced. */
static bool
is_last_of_portal(const PlannedStmt *statement, CommandDest dest)
{
	const PlannedStmt *last;

	if (ActivePortal == NULL || dest == DestSPI)
		return false;
	last = llast_node(PlannedStmt, ActivePortal->stmts);
	return last == statement ||
		(list_length(ActivePortal->stmts) == 1 && last->utilityStmt == NULL);
}

/* In the extended protocol the client's Sync commits: it must be next. */
static bool
ends_transaction(const PlannedStmt *statement, CommandDest dest)
{
	return whereToSendOutput == DestRemote && !IsTransactionBlock() &&
		GetCurrentTransactionNestLevel() == 1 && is_last_of_portal(statement, dest) &&
		(is_simple_query(statement, dest) || shuttle_next_message() == 'S');
}

void
shuttle_write_behind_run(const QueryDesc *query)
{
	if (!is_outermost(1))
		return;
	shuttle_write_behind_finish(1); /* another statement of the transaction */
	commit_follows = query->instrument_options == 0 &&
		ends_transaction(query->plannedstmt, query->dest->mydest);
	all_can_commit = true;
	begin_client_statement();
	shuttle_unawaited_update_client(query->plannedstmt);
}

void
shuttle_write_behind_enter(void)
{
	if (is_outermost(1))
	{
		begin_client_statement();
		shuttle_unawaited_update_client(NULL);
	}
}

/* Waits, unless what ends the transaction does. */
static void
finish_statement(void)
{
	if (!commit_follows || !all_can_commit || shuttle_unawaited_update_may_be_late())
		shuttle_write_behind_finish(1);
}

void
shuttle_write_behind_exit(void)
{
	if (is_outermost(1))
		finish_statement();
}

static Oid
called_procedure(const Node *statement)
{
	return IsA(statement, CallStmt) ? ((const CallStmt *) statement)->funcexpr->funcid : InvalidOid;
}

void
shuttle_write_behind_call(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	if (is_outermost(0))
	{
		shuttle_write_behind_finish(1);
		commit_follows = context == PROCESS_UTILITY_TOPLEVEL && ends_transaction(pstmt, dest->mydest);
		all_can_commit = true;
		begin_client_statement();
		shuttle_unawaited_update_call(called_procedure(pstmt->utilityStmt));
	}

	/* A callback will not do: no memory context is freed with each call. */
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
		finish_statement();
}

/* ---- transactions */

/* Looks for an error behind the one that has ended a block. */
static void
take_back(int level)
{
	LeftWrite  *oldest;

	while ((oldest = (LeftWrite *) shuttle_outbox_oldest(level)) != NULL)
	{
		shuttle_outbox_remove(&oldest->item);
		if (!shuttle_exception_block_take_back(oldest->item.node, oldest->request))
			return;
	}
}

static void
end_block(SubXactEvent event, int level)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		shuttle_unawaited_update_end_statement();
		shuttle_exception_blocks_end(level + 1);	/* those that did not
													 * begin */
		shuttle_exception_blocks_roll_back(level);
		if (shuttle_settings.strict_savepoints)
			take_back(level);
	}
	if (event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB)
		shuttle_exception_blocks_end(level);
}

void
shuttle_write_behind_savepoint(SubXactEvent event)
{
	int			level = GetCurrentTransactionNestLevel();

	end_block(event, level);
	if (event == SUBXACT_EVENT_START_SUB && nentering > 0 && entering_level == level - 1)
		nentering--;
	else if (event == SUBXACT_EVENT_PRE_COMMIT_SUB && shuttle_settings.strict_savepoints)
		shuttle_write_behind_finish(level);
	else if (event == SUBXACT_EVENT_ABORT_SUB && entering_level >= level)
		nentering = 0;
}

void
shuttle_write_behind_end_transaction(XactEvent event)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		finish_statement();
	else if (event == XACT_EVENT_ABORT)
	{
		nentering = 0;
		shuttle_unawaited_update_end_statement();
		shuttle_exception_blocks_roll_back(1);
		shuttle_exception_blocks_end(1);
	}
	if (event != XACT_EVENT_PRE_COMMIT)
		commit_follows = false;
}

void
shuttle_write_behind_init(void)
{
	shuttle_storage_calls.check_commit = check_committed;
}

/*-------------------------------------------------------------------------
 * move.c
 *	  Moves tables to another node while they are used; CALL shuttle.move_tablet().
 *
 * All tablets of one number of a group move together, and may be split in two on their way;
 * an ordinary foreign table moves alone:
 *
 * 1. The new node gets the tables, empty; commit.
 * 2. Logical replication copies the rows, and then follows the writes (move_nodes.c).
 * 3. One transaction takes AccessExclusiveLock on the tables here and on
 *	  the old node. If readers hold it up, it gives up and tries again, so that writers
 *	  do not wait behind it. It waits until the new node has all rows, has it follow no
 *	  more, drops the old tables, and changes the server of the foreign tables in place;
 *	  two-phase commit.
 * 4. Publication, slot and subscription are removed.
 *
 * A lock of the session keeps DDL on the tables away from the beginning to the end, and
 * says that the move is not left over. An error before the end of 3 removes what was made;
 * one in 4 is raised when 4 is done.
 *
 * The lock on the old node waits for prepared transactions and for writers of other
 * query nodes: what they wrote is in the log before its end is read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_points.h"
#include "base/shuttle_subtransaction.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/places.h"
#include "tablets/common/progress.h"
#include "tablets/common/tablet_names.h"
#include "tablets/distribute/distribute.h"
#include "tablets/move/move.h"
#include "tablets/rights/reach.h"
#include "tablets/shuttle_tablets.h"

#define NEAR_BYTES (256 * 1024) /* of log that the new node may lack when
								 * locks are taken */
#define LOOK_MS 100
#define LOOK_LOCKED_MS 10
#define LOCKED_MS 900			/* at most */
#define LOCK_TIMEOUT "300ms"
#define PAUSE_MS 500			/* between attempts */
#define DEADLOCK_LOOKS 10		/* looks at nodes for each look for a deadlock */
#define MOST_WAIT_S 10			/* of a session that may give up by itself */

SHUTTLE_SQL_FUNCTION(shuttle_move_tablet);

typedef void (*Step) (ShuttleMove *move);

static void
pause_ms(long ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* ---- locks of the session */

List *
shuttle_move_lock(const List *relids)
{
	List	   *locked = NIL;
	const ListCell *cell;

	foreach(cell, relids)
	{
		Relation	rel = try_table_open(lfirst_oid(cell), ShareUpdateExclusiveLock);
		LockRelId	id;

		if (rel == NULL)
			continue;
		id = rel->rd_lockInfo.lockRelId;
		LockRelationIdForSession(&id, ShareUpdateExclusiveLock);
		table_close(rel, NoLock);
		locked = lappend_oid(locked, lfirst_oid(cell));
	}
	return locked;
}

void
shuttle_move_unlock(const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		LockRelId	id = {.relId = lfirst_oid(cell),.dbId = MyDatabaseId};

		UnlockRelationIdForSession(&id, ShareUpdateExclusiveLock);
	}
}

/* ---- steps, each in a subtransaction */

typedef struct StepCall
{
	ShuttleMove *move;
	Step		step;
} StepCall;

static void
call_step(void *arg)
{
	const StepCall *call = arg;

	call->step(call->move);
}

/* Returns the error, or NULL. */
static ErrorData *
try_step(ShuttleMove *move, Step step)
{
	StepCall	call = {move, step};

	return shuttle_subtransaction_run(call_step, &call);
}

/* What waits for a lock gives up after a while: the session has locks that others may wait for. */
static void
with_lock_timeout(ShuttleMove *move, Step step)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	step(move);
	AtEOXact_GUC(true, level);
}

static void
make_tables(ShuttleMove *move)
{
	move->kind->make(move);
}

static void
make_once(ShuttleMove *move)
{
	with_lock_timeout(move, make_tables);
}

/* Sessions that wait for this one, or for a session that does: writers behind DDL, too; since when. */
static const char *const deadlock_query =
"WITH RECURSIVE waits AS MATERIALIZED (SELECT pid, pg_blocking_pids(pid) AS blockers FROM (SELECT DISTINCT pid FROM pg_locks WHERE NOT granted) AS w),"
" behind (pid) AS (SELECT pg_backend_pid() UNION SELECT w.pid FROM waits AS w JOIN behind AS b ON b.pid = ANY (w.blockers))"
" SELECT pid::text FROM pg_locks AS l WHERE granted AND (locktype = 'relation' AND relation IN (%s)"
" OR locktype = 'object' AND classid = 'pg_foreign_server'::regclass AND objid = %u)"
" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
" AND pid <> pg_backend_pid() AND pid IN (SELECT b.pid FROM behind AS b) AND $1 = 0"
" AND EXISTS (SELECT FROM pg_locks AS w WHERE w.pid = l.pid AND NOT granted AND extract(epoch FROM clock_timestamp() - waitstart) >= %d) LIMIT 1";

/* A session that uses the tables or has the new node locked (reach.c), and waits for this one, would wait for ever: core looks for
 * deadlocks only once, when most likely this session does not wait. What was made is removed when that session has ended. */
static void
find_deadlock(ShuttleMove *move, int least_wait_s)
{
	StringInfoData relids;
	ListCell   *cell;
	char	   *pid;

	initStringInfo(&relids);
	foreach(cell, move->relids)
		appendStringInfo(&relids, "%s%u", relids.len == 0 ? "" : ", ", lfirst_oid(cell));
	pid = shuttle_local_text(psprintf(deadlock_query, relids.data, move->target, least_wait_s), InvalidOid);
	if (pid != NULL && move->is_undone && !move->is_unlocked)
	{
		shuttle_move_unlock(move->relids);
		move->is_unlocked = true;
	}
	else if (pid != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_DEADLOCK_DETECTED),
				 errmsg("tables cannot be moved because of session %s, which has locks that it needs, and waits for it", pid),
				 errhint("Repeat the call when that transaction has ended.")));
}

/* A copy can be long, so a session that waits for this one gets time to give up. */
void
shuttle_move_find_deadlock(ShuttleMove *move)
{
	find_deadlock(move, MOST_WAIT_S);
}

/* A step that locks tables gives up after a while, so that writers do not wait behind it
 * and no deadlock is looked for, and is tried again. */
static void
repeat_step(ShuttleMove *move, Step step)
{
	for (;;)
	{
		ErrorData  *error = try_step(move, step);

		if (error == NULL)
			return;
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			ThrowErrorData(error);
		ereport(DEBUG1,
				(errmsg_internal("tables are moved later: %s", error->message)));
		find_deadlock(move, 0);
		pause_ms(PAUSE_MS);
	}
}

static void
undo(ShuttleMove *move)
{
	shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_CLEAN);
	move->is_undone = true;
	repeat_step(move, shuttle_move_undo);
}

void
shuttle_move_commit(void)
{
	SPI_commit();
	EnsurePortalSnapshotExists();
}

/* Returns the error, after which the transaction is a new one, or NULL. */
static ErrorData *
try_commit(void)
{
	MemoryContext cxt = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		shuttle_move_commit();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		EnsurePortalSnapshotExists();
	}
	PG_END_TRY();
	return error;
}

/* After an error of step, or of its commit, clean runs. The half copied tablets are dropped in the
 * transaction that the error ends, so it is committed first. */
static void
run_step(ShuttleMove *move, Step step, bool commits, Step clean)
{
	ErrorData  *error = try_step(move, step);
	ErrorData  *another;

	if (error == NULL && commits)
		error = try_commit();
	if (error == NULL)
		return;
	another = try_step(move, clean);
	if (another == NULL)
		another = try_commit();
	if (another != NULL)
		ereport(WARNING,
				(errmsg("could not remove what is left of the move: %s", another->message),
				 errhint("Run SELECT * FROM shuttle.check(repair => true).")));
	ThrowErrorData(error);
}

static void
make(ShuttleMove *move)
{
	shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_TABLES);
	repeat_step(move, make_once);
}

/* The nodes wait for transactions there to end, also for those of sessions that wait for this one. */
static void
pause_for_nodes(ShuttleMove *move)
{
	pause_ms(LOOK_MS);
	if (++move->nlooks % DEADLOCK_LOOKS == 0)
		shuttle_move_find_deadlock(move);
}

static void
copy(ShuttleMove *move)
{
	move->progress.estimated_bytes = shuttle_move_bytes(move, move->source, shuttle_move_names(move, true));
	shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_ROWS);
	if (shuttle_split_is(move))
		shuttle_split_check_files(move);
	repeat_step(move, shuttle_move_publish);
	shuttle_move_copy(move);
	SHUTTLE_POINT("move-subscribed");
	while (!shuttle_move_is_copied(move))
	{
		move->progress.bytes = shuttle_move_bytes(move, move->target, shuttle_move_new_names(move, true));
		shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_ROWS);
		pause_for_nodes(move);
	}
	move->progress.bytes = shuttle_move_bytes(move, move->target, shuttle_move_new_names(move, true));
	shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_FOLLOW);
	shuttle_move_analyze(move);
	while (!shuttle_move_has_all(move, shuttle_move_log_end(move), NEAR_BYTES))
	{
		(void) shuttle_move_is_copied(move);
		pause_for_nodes(move);
	}
	SHUTTLE_POINT("move-copied");
}

void
shuttle_move_lock_table(Oid relid)
{
	List	   *ancestors = get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL;

	for (int i = list_length(ancestors) - 1; i >= 0; i--)
		LockRelationOid(list_nth_oid(ancestors, i), AccessExclusiveLock);
	LockRelationOid(relid, AccessExclusiveLock);
}

/*
 * A writer that has used one table may wait for another one that is locked here, while the
 * first one is waited for. If writers use the tables in this order again and again, no
 * attempt would ever get all locks. So the next attempt begins with the table that this
 * one could not lock: it then waits for those writers, and they for nothing.
 */
static void
lock_tables(ShuttleMove *move)
{
	int			first = move->first_locked;
	int			ntables = list_length(move->relids);

	for (int i = 0; i < ntables; i++)
	{
		move->first_locked = (first + i) % ntables;
		shuttle_move_lock_table(list_nth_oid(move->relids, move->first_locked));
	}
	move->first_locked = first;
}

/* Meanwhile code of others, or their tables, can have come to the new node. */
static void
check_reach(ShuttleMove *move)
{
	if (move->kind == &shuttle_move_tablets)
		shuttle_refusal_raise(shuttle_reach_refuse_tables(move->relids, list_make1_oid(move->target)));
}

static void
change(ShuttleMove *move)
{
	char	   *log_end;

	with_lock_timeout(move, check_reach);
	shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_CHANGE);
	if (move->has_stopped)		/* by an attempt before */
		shuttle_move_follow(move, true);
	move->has_stopped = false;
	(void) shuttle_move_is_copied(move);
	with_lock_timeout(move, lock_tables);
	shuttle_move_lock_source(move);
	if (shuttle_split_is(move))
		shuttle_split_check_files(move);
	SHUTTLE_POINT("move-locked");
	log_end = shuttle_move_log_end(move);
	for (int waited_ms = 0; !shuttle_move_has_all(move, log_end, 0); waited_ms += LOOK_LOCKED_MS)
	{
		if (waited_ms >= LOCKED_MS)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("storage node \"%s\" did not get the last rows in time",
							GetForeignServer(move->target)->servername)));
		pause_ms(LOOK_LOCKED_MS);
	}
	move->has_stopped = true;
	shuttle_move_follow(move, false);
	move->kind->change(move);
	SHUTTLE_POINT("move-changed");
}

static void
change_places(ShuttleMove *move)
{
	repeat_step(move, change);
}

static void
end(ShuttleMove *move)
{
	shuttle_progress_move(&move->progress, SHUTTLE_PROGRESS_CLEAN);
	move->is_undone = true;
	repeat_step(move, shuttle_move_end_copy);
}

/* ---- the procedure */

/* Returns false if the tablet is not of the table any more. */
static bool
find_number(ShuttleMove *move, Oid relid, Oid tablet, bool split)
{
	ShuttleTablet *found = NULL;

	for (int i = 0; i < move->layout->ntablets && found == NULL; i++)
	{
		if (shuttle_tablet_find(relid, move->layout->tablets[i].number) == tablet)
			found = &move->layout->tablets[i];
	}
	if (found == NULL)
		return false;
	move->number = found->number;
	move->source = found->serverid;
	move->parts = shuttle_split_parts(found, move->target);
	if (!split)
	{
		move->parts->ntablets = 1;
		move->parts->tablets[0].modulus = found->modulus;
	}
	move->name = shuttle_move_name(move->layout->group, move->number);
	return true;
}

/* Locks the tablet's group, whose tables may be dropped or brought back while it waits.
 * Returns its number, 0 if the tablet has gone. */
static int
lock_group(ShuttleMove *move, Oid tablet)
{
	int			group = 0;

	if (shuttle_table_kind(tablet) == SHUTTLE_TABLE_TABLET)
		group = shuttle_layout_group(get_partition_parent(tablet, true));
	if (group == 0)
		return 0;
	shuttle_layout_lock_places(group);
	for (;;)
	{
		List	   *found = shuttle_move_members(group);

		move->relids = shuttle_move_lock(found);
		if (equal(move->relids, shuttle_move_members(group)))
			return group;
		shuttle_move_unlock(move->relids);
	}
}

static bool
is_still(ShuttleMove *move, Oid tablet, Oid source, bool split)
{
	Oid			relid;
	ListCell   *cell;

	if (shuttle_table_kind(tablet) != SHUTTLE_TABLE_TABLET)
		return false;
	relid = get_partition_parent(tablet, false);
	if (!list_member_oid(move->relids, relid))
		return false;
	move->layout = shuttle_layout_of(relid);
	if (!find_number(move, relid, tablet, split))
		return false;
	foreach(cell, move->relids)
		move->names = lappend(move->names, shuttle_tablet_qualified_name(lfirst_oid(cell), move->number));
	return !OidIsValid(source) || source == move->source;
}

void
shuttle_move_check_call(FunctionCallInfo fcinfo, const char *name)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("shuttle.%s() cannot run inside a transaction block", name),
				 errhint("It commits several times: call it alone.")));
}

void
shuttle_move_steps(ShuttleMove *move)
{
	run_step(move, make, true, undo);
	SHUTTLE_POINT("move-made");
	run_step(move, copy, false, undo);
	run_step(move, change_places, true, undo);
	SHUTTLE_POINT("move-done");
	run_step(move, end, false, end);
	shuttle_progress_end();
}

bool
shuttle_move_run(Oid tablet, Oid source, Oid target, bool split, int number, int nmoves)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "pg_shuttle move", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleMove move = {
		.kind = &shuttle_move_tablets,
		.target = target,
		.source_side = shuttle_outside_side_create(),
		.target_side = shuttle_outside_side_create(),
		.progress = {.tablet = tablet,.number = number,.nmoves = nmoves},
	};
	int			group = lock_group(&move, tablet);
	bool		is_there;

	is_there = group != 0 && is_still(&move, tablet, source, split);
	if (is_there && (split || move.source != move.target))
	{
		if (split)
			shuttle_split_check(&move);
		shuttle_places_check(shuttle_places_of_group(group), linitial_oid(move.relids), move.target);
		shuttle_move_check_tables(move.relids, move.source);
		shuttle_move_check_nodes(move.source, move.target);
		shuttle_move_steps(&move);
		if (split)
			shuttle_split_analyze(&move);
	}
	if (group != 0)
	{
		shuttle_move_unlock(move.is_unlocked ? NIL : move.relids);
		shuttle_layout_unlock_places(group);
	}
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);	/* closes the connections */
	return is_there;
}

/* A tablet, by what its node calls it, with the schema or without, or by its name here. */
static Oid
find_named(const char *text)
{
	RangeVar   *name = makeRangeVarFromNameList(shuttle_qualified_names(text));
	Oid			tablet = shuttle_tablet_named(name->schemaname, name->relname);

	return OidIsValid(tablet) ? tablet : RangeVarGetRelid(name, NoLock, false);
}

void
shuttle_move_call(FunctionCallInfo fcinfo, const char *name, bool split)
{
	Oid			tablet;

	shuttle_move_check_call(fcinfo, name);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("tablet and server must not be null")));
	tablet = get_fn_expr_argtype(fcinfo->flinfo, 0) == REGCLASSOID ? PG_GETARG_OID(0) :
		find_named(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (shuttle_table_kind(tablet) != SHUTTLE_TABLE_TABLET)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a tablet of a distributed table", get_rel_name(tablet)),
				 errhint("The view shuttle.tablets has all tablets.")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	(void) shuttle_move_run(tablet, InvalidOid, shuttle_node_find(NameStr(*PG_GETARG_NAME(1))), split, 1, 1);
	SPI_finish();
}

/* CALL shuttle.move_tablet(tablet, server) */
Datum
shuttle_move_tablet(PG_FUNCTION_ARGS)
{
	shuttle_move_call(fcinfo, "move_tablet", false);
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 * move.c
 *	  CALL shuttle.move_tablet(): moves tablets to another node while they are used.
 *
 * All tablets of one number of a group move together:
 *
 * 1. The new node gets the tables and empty tablets; commit.
 * 2. Logical replication copies the rows, and then follows the writes (move_nodes.c).
 * 3. One transaction takes AccessExclusiveLock on the tables here and on the tablets on
 *	  the old node. If readers hold it up, it gives up and tries again, so that writers
 *	  do not wait behind it. It waits until the new node has all rows, has it follow no
 *	  more, drops the old tablets, and changes the server of the foreign tables in place;
 *	  two-phase commit.
 * 4. Publication, slot and subscription are removed.
 *
 * A lock of the session keeps DDL on the tables away from the beginning to the end, and
 * says that the move is not left over. An error before the end of 3 removes what was made.
 *
 * The lock on the old node waits for prepared transactions and for writers of other
 * query nodes: what they wrote is in the log before its end is read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "tablets/move/move.h"

#define NEAR_BYTES (256 * 1024) /* of log that the new node may lack when
								 * locks are taken */
#define LOOK_MS 100
#define LOOK_LOCKED_MS 10
#define LOCKED_MS 900			/* at most */
#define LOCK_TIMEOUT "300ms"
#define PAUSE_MS 500			/* between attempts */

SHUTTLE_SQL_FUNCTION(shuttle_move_tablet);

typedef void (*Step) (ShuttleMove *move);

static void
pause_ms(long ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* ---- steps, each in a subtransaction */

/* Returns the error, or NULL. Only a subtransaction's abort gives back what is held
 * here and on the nodes. */
static ErrorData *
try_step(ShuttleMove *move, Step step)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	PG_TRY();
	{
		step(move);
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
	return error;
}

static void
make_once(ShuttleMove *move)
{
	shuttle_move_make(move);
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
				(errmsg_internal("tablets are moved later: %s", error->message)));
		pause_ms(PAUSE_MS);
	}
}

static void
undo(ShuttleMove *move)
{
	repeat_step(move, shuttle_move_undo);
}

/* The half copied tablets are dropped in the transaction that the error ends, so it
 * is committed first. */
static void
run_step(ShuttleMove *move, Step step)
{
	ErrorData  *error = try_step(move, step);
	ErrorData  *another;

	if (error == NULL)
		return;
	another = try_step(move, undo);
	if (another == NULL)
		SPI_commit();
	else
		ereport(WARNING,
				(errmsg("could not remove what is left of the move: %s", another->message),
				 errhint("Run SELECT * FROM shuttle.check(repair => true).")));
	ThrowErrorData(error);
}

static void
commit(void)
{
	SPI_commit();
	EnsurePortalSnapshotExists();
}

static void
make(ShuttleMove *move)
{
	repeat_step(move, make_once);
}

static void
copy(ShuttleMove *move)
{
	shuttle_move_copy(move);
	SHUTTLE_POINT("move-subscribed");
	while (!shuttle_move_is_copied(move))
		pause_ms(LOOK_MS);
	while (!shuttle_move_has_all(move, shuttle_move_log_end(move), NEAR_BYTES))
		pause_ms(LOOK_MS);
	SHUTTLE_POINT("move-copied");
}

static void
lock_tables(ShuttleMove *move)
{
	int			level = NewGUCNestLevel();
	ListCell   *cell;

	(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	foreach(cell, move->relids)
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
	AtEOXact_GUC(true, level);
}

/* The OIDs of the tablets here. */
static List *
tablets_here(const ShuttleMove *move)
{
	List	   *tablets = NIL;
	ListCell   *cell;

	foreach(cell, move->relids)
		tablets = lappend_oid(tablets, get_relname_relid(shuttle_tablet_name(lfirst_oid(cell), move->number),
														 get_rel_namespace(lfirst_oid(cell))));
	return tablets;
}

static void
change(ShuttleMove *move)
{
	char	   *log_end;
	ListCell   *cell;

	if (move->has_stopped)		/* by an attempt before */
		shuttle_move_follow(move, true);
	move->has_stopped = false;
	lock_tables(move);
	shuttle_move_lock_source(move);
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
	shuttle_move_change_nodes(move);
	foreach(cell, tablets_here(move))
		shuttle_surgery_move(lfirst_oid(cell), move->target);
	foreach(cell, move->relids)
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
	SHUTTLE_POINT("move-changed");
}

static void
change_places(ShuttleMove *move)
{
	repeat_step(move, change);
}

/* ---- the procedure */

static void
find_number(ShuttleMove *move, Oid relid, Oid tablet)
{
	for (move->number = 0; move->number < move->layout->ntablets; move->number++)
	{
		if (get_relname_relid(shuttle_tablet_name(relid, move->number), get_rel_namespace(relid)) == tablet)
			break;
	}
	if (move->number == move->layout->ntablets)
		elog(ERROR, "tablet \"%s\" has no number", get_rel_name(tablet));
	move->source = move->layout->servers[move->number];
	move->name = shuttle_move_name(move->layout->group, move->number);
}

static void
lock_for_session(const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		Relation	rel = table_open(lfirst_oid(cell), ShareUpdateExclusiveLock);
		LockRelId	id = rel->rd_lockInfo.lockRelId;

		LockRelationIdForSession(&id, ShareUpdateExclusiveLock);
		table_close(rel, NoLock);
	}
}

static void
unlock_for_session(const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		LockRelId	id = {.relId = lfirst_oid(cell),.dbId = MyDatabaseId};

		UnlockRelationIdForSession(&id, ShareUpdateExclusiveLock);
	}
}

static void
check_call(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("shuttle.move_tablet() cannot run inside a transaction block"),
				 errhint("It commits several times: call it alone.")));
}

/* CALL shuttle.move_tablet(tablet, server) */
Datum
shuttle_move_tablet(PG_FUNCTION_ARGS)
{
	ShuttleMove move = {0};
	Oid			tablet;
	Oid			relid;

	check_call(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("tablet and server must not be null")));
	tablet = PG_GETARG_OID(0);
	if (shuttle_table_kind(tablet) != SHUTTLE_TABLE_TABLET)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a tablet of a distributed table", get_rel_name(tablet)),
				 errhint("The view shuttle.tablets has all tablets.")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	move.target = shuttle_node_find(NameStr(*PG_GETARG_NAME(1)));
	relid = get_partition_parent(tablet, false);
	move.relids = shuttle_move_members(relid);
	lock_for_session(move.relids);
	move.layout = shuttle_layout_of(relid);
	find_number(&move, relid, tablet);
	if (move.source != move.target)
	{
		shuttle_move_check_nodes(&move);
		run_step(&move, make);
		commit();
		SHUTTLE_POINT("move-made");
		run_step(&move, copy);
		run_step(&move, change_places);
		commit();
		SHUTTLE_POINT("move-done");
		shuttle_move_end_copy(&move);
	}
	unlock_for_session(move.relids);
	SPI_finish();
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 * standby_commit.c
 *	  The primary server's part in commits of standbys over several nodes: functions that a standby's
 *	  session calls (primary.c).
 *
 * It is the part that a session here has in its own commits: an xid, the record, and the window by which
 * readers here know what belongs together. Of the commit itself only the decision is here. So the
 * window has to last longer than the transaction, and a second lock on the xid, by which recovery leaves the nodes'
 * parts alone: until the standby tells that nodes have committed, or its connection ends. Then recovery goes on.
 *
 * Memory: the parts, in TopMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "cluster/commit/commit.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_cut.h"

SHUTTLE_SQL_FUNCTION(shuttle_commit_begin);
SHUTTLE_SQL_FUNCTION(shuttle_commit_decide);
SHUTTLE_SQL_FUNCTION(shuttle_commit_is_safe);
SHUTTLE_SQL_FUNCTION(shuttle_commit_end);

/* The commit that has begun and not ended; its xid, 0: there is none. */
static uint64 begun_fxid = 0;
static ShuttlePreparedPart *decided = NULL; /* NULL: not decided */
static int	ndecided = 0;

/* Locks of the session have been released. */
static void
wake_recovery(int code, Datum arg)
{
	if (begun_fxid != 0)
		shuttle_worker_wake(true);
}

static void
check_here(void)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("commits of standbys are decided on the primary server")));
	if (!IsTransactionBlock() || !shuttle_windows_are_there())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a commit of a standby needs a transaction block, and pg_shuttle in shared_preload_libraries")));
}

/* It is of the kind that a session has, whether a transaction fails or not, and that goes with it. */
static LOCKTAG
session_lock(TransactionId xid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_TRANSACTION(tag, xid);
	tag.locktag_lockmethodid = USER_LOCKMETHOD;
	return tag;
}

bool
shuttle_standby_commit_is_open(TransactionId xid)
{
	LOCKTAG		tag = session_lock(xid);

	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return false;
}

static void
forget(void)
{
	if (decided != NULL)
		pfree(decided);
	decided = NULL;
	ndecided = 0;
	begun_fxid = 0;
}

/* shuttle.commit_begin(): the name of the transaction */
Datum
shuttle_commit_begin(PG_FUNCTION_ARGS)
{
	static bool registered = false;

	check_here();
	if (decided != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a commit of a standby has not ended")));
	if (!registered)
		on_shmem_exit(wake_recovery, (Datum) 0);
	registered = true;

	/* a restore point is waited for before nodes have prepared */
	LockRelationOid(shuttle_extension_table(SHUTTLE_TABLE_COMMIT_RECORDS), RowExclusiveLock);
	begun_fxid = U64FromFullTransactionId(GetTopFullTransactionId());
	PG_RETURN_TEXT_P(cstring_to_text(shuttle_commit_name()));
}

/* The elements of an array; all arrays have as many. */
static Datum *
elements_of(ArrayType *array, Oid type, int *n)
{
	Datum	   *elements;
	int			nelements;

	deconstruct_array(array, type, type == OIDOID ? sizeof(Oid) : sizeof(int64), type == OIDOID || FLOAT8PASSBYVAL,
					  type == OIDOID ? TYPALIGN_INT : TYPALIGN_DOUBLE, &elements, NULL, &nelements);
	if (*n >= 0 && nelements != *n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must have the same length")));
	*n = nelements;
	return elements;
}

/* Keeps the parts. Returns their servers. */
static List *
keep_parts(ArrayType *servers, ArrayType *systems, ArrayType *xids)
{
	int			n = -1;
	Datum	   *serverids = elements_of(servers, OIDOID, &n);
	Datum	   *system_ids = elements_of(systems, INT8OID, &n);
	Datum	   *xid_values = elements_of(xids, INT8OID, &n);
	List	   *list = NIL;

	decided = MemoryContextAllocZero(TopMemoryContext, Max(1, n) * sizeof(ShuttlePreparedPart));
	ndecided = n;
	for (int i = 0; i < n; i++)
	{
		decided[i].serverid = DatumGetObjectId(serverids[i]);
		decided[i].system = (uint64) DatumGetInt64(system_ids[i]);
		decided[i].xid = (uint64) DatumGetInt64(xid_values[i]);
		list = list_append_unique_oid(list, decided[i].serverid);
	}
	return list;
}

/* The standby that waits for this commit may be one of those to replay it, and may not get there while its
 * session has locks. To have it on disk is enough for a decision. */
static void
do_not_await_replay(void)
{
	if (synchronous_commit > SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
		(void) set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_LOCAL, true, 0, false);
}

/* shuttle.commit_decide(name, servers, systems, xids): the transaction's COMMIT follows */
Datum
shuttle_commit_decide(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *servers;
	LOCKTAG		tag;

	check_here();
	if (begun_fxid == 0 || decided != NULL || strcmp(name, shuttle_commit_name()) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no commit of a standby has begun by that name")));
	servers = keep_parts(PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(2), PG_GETARG_ARRAYTYPE_P(3));
	shuttle_commit_add_record(name, servers);
	shuttle_two_phase_make_safe();
	do_not_await_replay();
	tag = session_lock(begun_fxid);
	(void) LockAcquire(&tag, ExclusiveLock, true, false);
	shuttle_windows_open_standby(begun_fxid, decided, ndecided);
	SHUTTLE_POINT("decision-recorded");
	PG_RETURN_VOID();
}

/* shuttle.commit_is_safe(): whether synchronous standbys have this session's last commit */
Datum
shuttle_commit_is_safe(PG_FUNCTION_ARGS)
{
	SHUTTLE_POINT("decision-committed");
	PG_RETURN_BOOL(shuttle_synchronous_standbys_have(XactLastCommitEnd));
}

/* shuttle.commit_end(all_over): nodes have committed, as far as they will now */
Datum
shuttle_commit_end(PG_FUNCTION_ARGS)
{
	bool		all_over = PG_GETARG_BOOL(0);
	LOCKTAG		tag = session_lock(begun_fxid);

	if (decided == NULL)
		PG_RETURN_VOID();
	for (int i = 0; i < ndecided; i++)
		decided[i].over = all_over;
	shuttle_windows_close_prepared(decided, ndecided);
	(void) LockRelease(&tag, ExclusiveLock, true);
	forget();
	shuttle_commit_note_end(!all_over);
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 * lease.c
 *	  Whether a standby may write to storage nodes: it holds a lease of the
 *	  primary server while it follows.
 *
 * Nobody may write by older definitions than those of the primary server, or a row would lack
 * a new default, or a new trigger would not fire. So a statement that changes definitions
 * first raises a barrier (barrier.c): it takes an AccessExclusiveLock on the table of leases,
 * and waits until standbys have replayed that. A standby writes only
 *
 * 1. with an AccessShareLock on that table, to the end of its transaction: replay of the
 *    barrier waits for the transaction, and who comes later waits for the change;
 * 2. if its own row is in the table; and
 * 3. if the last transaction that it has replayed is younger than the lease.
 *
 * The primary server commits an empty transaction every two seconds (worker.c), so 3 holds while
 * a standby follows. If a standby has not replayed a barrier, all that it has replayed is older
 * than the barrier. So when the lease has passed since the barrier was written, this
 * standby writes nothing, whether it is cut off, stands still or lags. Each write and each COMMIT
 * looks again.
 *
 * 3 compares clocks of two servers. One that is behind would have the lease for too long: by the
 * times at which the last message was sent and received it is known how far it is behind at
 * least, and barriers wait a second longer.
 *
 * A statement may have been analyzed or planned before its transaction has the lock of 1. So each barrier
 * invalidates the table of leases: that message is there when the barrier's lock has gone. A
 * transaction that has seen it before it locks the table writes nothing: any of its plans may be old. Those of
 * earlier transactions, or of its first statement, are none: each transaction begins with the messages
 * that have come, and a kept plan is looked at again in each.
 *
 * The same message tells sessions of the primary server that there are query nodes, which makes statements
 * cheap if there are none.
 *
 * The standby must use the physical replication slot with its name, which only one can use at a
 * time. So no two standbys have one name.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "replication/walreceiver.h"
#include "storage/lmgr.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_settings.h"
#include "cluster/common/lease.h"
#include "cluster/shuttle_cluster.h"

/* How long to wait for a change of tables. It may wait on a node for what this transaction has locked there. */
#define CHANGE_WAIT_MS 1000
#define LOOK_EVERY_MS 10

/* Columns of shuttle.query_node_leases. */
enum
{
	COLUMN_NAME = 1,
	COLUMN_SECONDS
};

/* What the process that receives WAL knows. */
typedef struct Receiver
{
	bool		is_streaming;
	char		slot[NAMEDATALEN];
	char		host[NI_MAXHOST];
	int			port;
	int64		behind_ms;		/* so far at least this server's clock is
								 * behind */
} Receiver;

/* The table, as it was found last; whether it was empty then, and has not been invalidated since. */
static Oid	table = InvalidOid;
static bool is_empty = false;

/* The transaction that has seen its last invalidation. */
static LocalTransactionId changed_lxid = InvalidLocalTransactionId;

/* Any table may be meant if it has not been looked for. */
static void
note_change(Datum argument, Oid relid)
{
	if (OidIsValid(relid) && OidIsValid(table) && relid != table)
		return;
	is_empty = false;
	if (IsTransactionState())
		changed_lxid = shuttle_my_lxid();
}

void
shuttle_lease_init(void)
{
	CacheRegisterRelcacheCallback(note_change, (Datum) 0);
}

static Oid
find_table(void)
{
	Oid			found = shuttle_extension_table(SHUTTLE_TABLE_QUERY_NODE_LEASES);

	if (found != table)
		is_empty = false;
	table = found;
	return found;
}

List *
shuttle_lease_list(void)
{
	Oid			relid = find_table();
	List	   *leases = NIL;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(relid) || is_empty)
		return NIL;
	rel = table_open(relid, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		ShuttleLease *lease = palloc_object(ShuttleLease);
		bool		is_null;

		lease->name = pstrdup(NameStr(*DatumGetName(heap_getattr(tuple, COLUMN_NAME, RelationGetDescr(rel), &is_null))));
		lease->seconds = DatumGetInt32(heap_getattr(tuple, COLUMN_SECONDS, RelationGetDescr(rel), &is_null));
		leases = lappend(leases, lease);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	is_empty = leases == NIL;
	return leases;
}

static Receiver
read_receiver(void)
{
	Receiver	receiver;
	TimestampTz sent;
	TimestampTz received;

	SpinLockAcquire(&WalRcv->mutex);
	receiver.is_streaming = WalRcv->walRcvState == WALRCV_STREAMING && WalRcv->ready_to_display;
	strlcpy(receiver.slot, WalRcv->slotname, sizeof(receiver.slot));
	strlcpy(receiver.host, WalRcv->sender_host, sizeof(receiver.host));
	receiver.port = WalRcv->sender_port;
	sent = WalRcv->lastMsgSendTime;
	received = WalRcv->lastMsgReceiptTime;
	SpinLockRelease(&WalRcv->mutex);
	receiver.behind_ms = Max(0, (sent - received) / 1000);
	return receiver;
}

char *
shuttle_lease_primary(void)
{
	Receiver	receiver = read_receiver();

	if (!receiver.is_streaming || receiver.host[0] == '\0')
		return pstrdup("Use the primary server.");
	return psprintf("Use the primary server: host %s, port %d.", receiver.host, receiver.port);
}

static void
refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_CANNOT_CONNECT_NOW),
			 errmsg("query node \"%s\" cannot write now", shuttle_settings.query_node_name),
			 errdetail_internal("%s", detail),
			 errhint("%s", shuttle_lease_primary())));
}

/* Locks the table of leases to the end of the transaction. Errors: ERRCODE_T_R_SERIALIZATION_FAILURE if
 * tables are being changed, or have been since the transaction began. */
static void
lock_leases(Oid relid)
{
	int			waited_ms = 0;

	while (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		if (waited_ms >= CHANGE_WAIT_MS)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("tables are being changed on the primary server"),
					 errhint("Repeat the transaction.")));
		CHECK_FOR_INTERRUPTS();
		pg_usleep(LOOK_EVERY_MS * 1000L);
		waited_ms += LOOK_EVERY_MS;
	}
	if (changed_lxid == shuttle_my_lxid())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("tables have been changed on the primary server"),
				 errdetail("The transaction began before the change was known here, and had not written."),
				 errhint("Repeat the transaction.")));
}

static const ShuttleLease *
find_lease(void)
{
	ListCell   *cell;

	foreach(cell, shuttle_lease_list())
	{
		const ShuttleLease *lease = lfirst(cell);

		if (strcmp(lease->name, shuttle_settings.query_node_name) == 0)
			return lease;
	}
	return NULL;
}

void
shuttle_lease_check(void)
{
	Oid			relid;
	const ShuttleLease *lease;
	Receiver	receiver;
	int64		age_ms;

	/* promoted: nobody else changes tables */
	if (!RecoveryInProgress())
		return;
	relid = find_table();
	if (OidIsValid(relid))
		lock_leases(relid);
	lease = find_lease();
	if (lease == NULL)
		refuse("It is not registered: shuttle.register_query_node() does that on the primary server.");
	receiver = read_receiver();
	if (!receiver.is_streaming)
		refuse("It receives no WAL from the primary server.");
	if (strcmp(receiver.slot, lease->name) != 0)
		refuse(psprintf("It has to use the replication slot with its name: set primary_slot_name to \"%s\".", lease->name));
	age_ms = (GetCurrentTimestamp() - GetLatestXTime()) / 1000 + receiver.behind_ms;
	if (age_ms > lease->seconds * INT64CONST(1000))
		refuse(GetLatestXTime() == 0 ? pstrdup("It has replayed no transaction yet.") :
			   psprintf("The last transaction of the primary server that it has replayed is " INT64_FORMAT " s old. Its lease is %d s.",
						age_ms / 1000, lease->seconds));
}

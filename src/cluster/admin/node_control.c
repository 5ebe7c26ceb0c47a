/*-------------------------------------------------------------------------
 * node_control.c
 *	  Functions by which an administrator tells sessions how to use a node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_wait_events.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_node_control.h"
#include "storage/shuttle_storage.h"

#define MOST_PAUSE_MS (24 * 3600 * INT64CONST(1000))
#define COUNT_MS 10

SHUTTLE_SQL_FUNCTION(shuttle_forget_epoch);
SHUTTLE_SQL_FUNCTION(shuttle_pause_node);
SHUTTLE_SQL_FUNCTION(shuttle_resume_node);
SHUTTLE_SQL_FUNCTION(shuttle_node_pause_end);

static int64
interval_ms(const Interval *interval, const char *argument, int64 least_ms)
{
	int64		ms = interval->time / 1000 + interval->day * INT64CONST(1000) * SECS_PER_DAY;

	if (interval->month != 0 || ms < least_ms || ms > MOST_PAUSE_MS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be between " INT64_FORMAT " ms and 1 day", argument, least_ms)));
	return ms;
}

/* Waits until no other session has a transaction on the node. Returns how many
 * have when the time is over. */
static int
await_users(Oid serverid, TimestampTz deadline)
{
	int			nusers;

	while ((nusers = shuttle_pause_count_users(serverid)) > 0 &&
		   GetCurrentTimestamp() < deadline)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, COUNT_MS,
						 shuttle_wait_event(SHUTTLE_WAIT_PAUSE));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return nusers;
}

/* shuttle.pause_node(server, timeout, drain) */
Datum
shuttle_pause_node(PG_FUNCTION_ARGS)
{
	Oid			serverid = shuttle_server_find(NameStr(*PG_GETARG_NAME(0)));
	int64		pause_ms = interval_ms(PG_GETARG_INTERVAL_P(1), "timeout", 1);
	int64		drain_ms = interval_ms(PG_GETARG_INTERVAL_P(2), "drain", 0);
	TimestampTz now = GetCurrentTimestamp();
	volatile int nusers = 0;

	if (shuttle_node_in_use(serverid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot pause storage node \"%s\" because this transaction uses it",
						GetForeignServer(serverid)->servername),
				 errhint("End the transaction first.")));
	shuttle_pause_begin(serverid, TimestampTzPlusMilliseconds(now, pause_ms));

	/* A caller that gets an error, or is cancelled, has paused nothing. */
	PG_TRY();
	{
		nusers = await_users(serverid,
							 TimestampTzPlusMilliseconds(now, Min(pause_ms, drain_ms)));
	}
	PG_CATCH();
	{
		(void) shuttle_pause_end(serverid);
		PG_RE_THROW();
	}
	PG_END_TRY();
	PG_RETURN_INT32(nusers);
}

/* shuttle.resume_node(server) */
Datum
shuttle_resume_node(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(shuttle_pause_end(shuttle_server_find(NameStr(*PG_GETARG_NAME(0)))));
}

/* shuttle.node_paused_until(serverid) */
Datum
shuttle_node_pause_end(PG_FUNCTION_ARGS)
{
	TimestampTz until = shuttle_pause_ends_at(PG_GETARG_OID(0));

	if (until == 0)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(until);
}

/* shuttle.forget_epoch(server) */
Datum
shuttle_forget_epoch(PG_FUNCTION_ARGS)
{
	shuttle_epoch_forget(shuttle_server_find(NameStr(*PG_GETARG_NAME(0))));
	PG_RETURN_VOID();
}

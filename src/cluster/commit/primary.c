/*-------------------------------------------------------------------------
 * primary.c
 *	  A standby's part in commits over several nodes: what it asks the primary server.
 *
 * A standby can write no record. So the primary server gives the name of the transaction, which has an
 * xid of its own, and writes the record (standby_commit.c):
 *
 * 1. BEGIN there, and the name. The xid is locked from here on, so that recovery leaves alone
 *	  what has that name.
 * 2. Nodes prepare by that name (two_phase.c).
 * 3. The record and COMMIT in one packet: that is the decision.
 * 4. Nodes commit, and the primary server is told so.
 *
 * Until 3 is sent the transaction can be rolled back: the connection is closed, and with it goes
 * the transaction there. Behind that only the primary server knows whether it is committed. If its answer
 * is lost nothing is rolled back here: parts stay prepared, and recovery of the primary server ends
 * them. It waits for the sessions that prepared them, so these are closed.
 *
 * A server that this one does not follow any more must not decide. So the timeline in the name has to be
 * that of the WAL that arrives here.
 *
 * Memory: the caller's context, short-lived.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "replication/walreceiver.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "base/shuttle_settings.h"
#include "cluster/commit/commit.h"
#include "cluster/common/identity.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_primary_link.h"

typedef enum PrimaryState
{
	PRIMARY_IDLE,
	PRIMARY_BEGUN,				/* a transaction may be open there */
	PRIMARY_SENT,				/* it was told to commit */
	PRIMARY_UNKNOWN,			/* and has not answered, which an error says */
	PRIMARY_DECIDED				/* it has */
} PrimaryState;

static PrimaryState state = PRIMARY_IDLE;
static bool is_safe = false;

/* ---- 1. the name */

pg_noreturn static void
refuse(const char *detail)
{
	char	   *reason = pstrdup(detail);
	int			length = strlen(reason);

	while (length > 0 && reason[length - 1] == '\n')
		reason[--length] = '\0';
	shuttle_primary_link_close();
	state = PRIMARY_IDLE;
	ereport(ERROR,
			(errcode(ERRCODE_CANNOT_CONNECT_NOW),
			 errmsg("query node \"%s\" cannot commit on several storage nodes now", shuttle_settings.query_node_name),
			 errdetail("The primary server has to decide: %s.", reason),
			 errhint("Nothing was committed. Repeat the transaction when the primary server is there, or let it write on one storage node.")));
}

static TimeLineID
followed_timeline(void)
{
	TimeLineID	timeline = 0;

	(void) GetWalRcvFlushRecPtr(NULL, &timeline);
	return timeline;
}

/* A server that this one does not follow has no say. */
static void
check_name(const char *name)
{
	char	   *prefix = psprintf("%s%s_%u_", SHUTTLE_PREPARED_PREFIX, shuttle_identity(), MyDatabaseId);
	unsigned long long fxid;
	unsigned long long number;
	int			length;

	if (strncmp(name, prefix, strlen(prefix)) != 0 || strlen(name) >= SHUTTLE_MOST_NAME ||
		sscanf(name + strlen(prefix), "%llu_%16llx%n", &fxid, &number, &length) != 2 || name[strlen(prefix) + length] != '\0')
		refuse("primary_conninfo leads to a server of another cluster");
	if ((number >> SHUTTLE_RANDOM_BITS) != followed_timeline())
		refuse("primary_conninfo leads to a server of another timeline than that which this one follows");
}

char *
shuttle_primary_begin(void)
{
	char	   *error = NULL;
	char	   *name;

	Assert(state == PRIMARY_IDLE);
	state = PRIMARY_BEGUN;		/* so that a cancel closes the connection */
	name = shuttle_primary_link_ask("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; SELECT shuttle.commit_begin()", &error);
	if (name == NULL)
		refuse(error != NULL ? error : "it gave no name");
	check_name(name);
	return name;
}

/* ---- 3. the decision */

pg_noreturn static void
raise_unknown(const char *detail)
{
	state = PRIMARY_UNKNOWN;
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("the transaction may have been committed"),
			 errdetail("The primary server was told to commit it, and %s.", detail),
			 errhint("Recovery of the primary server commits it on storage nodes or rolls it back. Look whether it is there before you repeat it.")));
}

/* The primary server has answered that it has not committed. */
pg_noreturn static void
raise_failure(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_ROLLBACK),
			 errmsg("the primary server could not commit the transaction"),
			 errdetail_internal("%s", message),
			 errhint("Repeat the transaction.")));
}

static void
add_array(StringInfo sql, const ShuttlePreparedPart *parts, int nparts, int column)
{
	appendStringInfoString(sql, ", '{");
	for (int i = 0; i < nparts; i++)
	{
		const char *comma = i > 0 ? "," : "";

		if (column == 0)
			appendStringInfo(sql, "%s%u", comma, parts[i].serverid);
		else
			appendStringInfo(sql, "%s" INT64_FORMAT, comma, (int64) (column == 1 ? parts[i].system : parts[i].xid));
	}
	appendStringInfoString(sql, "}'");
}

void
shuttle_primary_decide(const char *name, const ShuttlePreparedPart *parts, int nparts)
{
	StringInfoData sql;
	ShuttlePrimaryDecision decision;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT shuttle.commit_decide('%s'", name);
	for (int column = 0; column < 3; column++)
		add_array(&sql, parts, nparts, column);
	appendStringInfoString(&sql, "); COMMIT; SELECT shuttle.commit_is_safe()");

	/* nodes have locks of what was written: nobody changes it */
	if (!RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("this server was promoted while the transaction was committed"),
				 errhint("Repeat the transaction.")));
	shuttle_lease_check();

	/* then its transaction has ended */
	if (shuttle_primary_link_is_lost())
		raise_failure("The connection is lost, and it was not told to commit.");
	is_safe = false;
	state = PRIMARY_SENT;
	decision = shuttle_primary_link_decide(sql.data);
	if (decision.outcome == SHUTTLE_PRIMARY_UNKNOWN)
		raise_unknown(decision.reason);
	if (decision.outcome == SHUTTLE_PRIMARY_FAILED)
	{
		state = PRIMARY_BEGUN;
		raise_failure(decision.reason);
	}
	state = PRIMARY_DECIDED;
	is_safe = decision.is_safe;
	SHUTTLE_POINT("decided");
}

/* ---- 4. the end */

bool
shuttle_primary_is_safe(void)
{
	return is_safe;
}

void
shuttle_primary_end(bool all_over)
{
	state = PRIMARY_IDLE;
	shuttle_primary_link_tell(all_over ? "SELECT shuttle.commit_end(true)" : "SELECT shuttle.commit_end(false)");
}

bool
shuttle_primary_fail(void)
{
	bool		may_have_committed = state == PRIMARY_SENT || state == PRIMARY_UNKNOWN || state == PRIMARY_DECIDED;

	if (state == PRIMARY_DECIDED)
		ereport(WARNING,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("the transaction has been committed on storage nodes"),
				 errdetail("The primary server had decided it before the error.")));
	else if (state == PRIMARY_SENT)
		ereport(WARNING,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("the transaction may have been committed"),
				 errdetail("The primary server had been told to commit it before the error.")));
	if (state != PRIMARY_IDLE)
		shuttle_primary_link_close();
	state = PRIMARY_IDLE;
	return may_have_committed;
}

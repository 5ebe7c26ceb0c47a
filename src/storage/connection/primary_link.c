/*-------------------------------------------------------------------------
 * primary_link.c
 *	  A standby's session and its connection to the primary server.
 *
 * The connection is that of primary_conninfo, to this database, and is kept. Whoever asks knows what its
 * answers mean (cluster/commit/primary.c).
 *
 * Memory: libpq's, and a copy of primary_conninfo in TopMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogrecovery.h"
#include "commands/dbcommands.h"
#include "libpq-fe.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_points.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/shuttle_primary_link.h"

#define CONNECT_MS 10000
#define ASK_MS 30000			/* a restore point may be in the way */
#define DECIDE_MS 30000			/* synchronous standbys of the primary server
								 * may be */
#define CANCELLED_MS 1000
#define MOST_OVERRIDES 10

static PGconn *link_conn = NULL;
static char *link_conninfo = NULL;

/* ---- the connection */

void
shuttle_primary_link_close(void)
{
	if (link_conn != NULL)
	{
		PQfinish(link_conn);
		ReleaseExternalFD();
	}
	link_conn = NULL;
}

/* Waits for the socket, or a signal; false: no longer. */
static bool
await_socket(int events, TimestampTz deadline, bool *is_ready)
{
	long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
	int			ready;

	if (ms <= 0)
		return false;
	ready = WaitLatchOrSocket(MyLatch, events | WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							  PQsocket(link_conn), ms, shuttle_wait_event(SHUTTLE_WAIT_COMMIT));
	if ((ready & WL_LATCH_SET) != 0)
		ResetLatch(MyLatch);
	*is_ready = (ready & events) != 0;
	return true;
}

/* Returns an error, or NULL. Before the socket is ready, libpq would wait by itself. */
static char *
poll_connection(void)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CONNECT_MS);
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	while (status == PGRES_POLLING_WRITING || status == PGRES_POLLING_READING)
	{
		bool		is_ready;

		if (!await_socket(status == PGRES_POLLING_WRITING ? WL_SOCKET_WRITEABLE : WL_SOCKET_READABLE, deadline, &is_ready))
			return pstrdup("it does not answer");
		CHECK_FOR_INTERRUPTS();
		if (is_ready)
			status = PQconnectPoll(link_conn);
	}
	return status == PGRES_POLLING_OK ? NULL : pstrdup(PQerrorMessage(link_conn));
}

/* What holds whatever primary_conninfo and the role's settings there say. */
static int
override(const char **keywords, const char **values, int n)
{
	const char *const pairs[][2] = {
		{"dbname", get_database_name(MyDatabaseId)},
		{"application_name", psprintf("pg_shuttle query node %s", shuttle_settings.query_node_name)},
		{"target_session_attrs", "read-write"},
		{"keepalives_idle", "5"}, {"keepalives_interval", "2"}, {"keepalives_count", "3"},
		{"tcp_user_timeout", "10000"},
		{"options", SHUTTLE_NO_TIME_LIMITS
		" -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000"},
	};

	StaticAssertStmt(lengthof(pairs) < MOST_OVERRIDES, "there is room");
	for (int i = 0; i < lengthof(pairs); i++)
	{
		keywords[n] = pairs[i][0];
		values[n++] = pairs[i][1];
	}
	keywords[n] = values[n] = NULL;
	return n;
}

/* Returns an error, or NULL. A cancel leaves the connection to whoever closes it. */
static char *
open_link(void)
{
	PQconninfoOption *options = PQconninfoParse(PrimaryConnInfo, NULL);
	const char **keywords;
	const char **values;
	int			n = 0;
	char	   *error;

	if (options == NULL)
		return pstrdup("primary_conninfo is not valid");
	while (options[n].keyword != NULL)
		n++;
	keywords = palloc0_array(const char *, n + MOST_OVERRIDES);
	values = palloc0_array(const char *, n + MOST_OVERRIDES);
	n = 0;
	for (int i = 0; options[i].keyword != NULL; i++)
	{
		if (options[i].val == NULL || options[i].val[0] == '\0')
			continue;
		keywords[n] = options[i].keyword;
		values[n++] = pstrdup(options[i].val);
	}
	PQconninfoFree(options);
	(void) override(keywords, values, n);
	if (!AcquireExternalFD())
		return pstrdup("this server has no file descriptor left");
	link_conn = PQconnectStartParams(keywords, values, false);
	if (link_conn == NULL)
	{
		ReleaseExternalFD();
		return pstrdup("out of memory");
	}
	if (PQstatus(link_conn) == CONNECTION_BAD)
		return pstrdup(PQerrorMessage(link_conn));
	error = poll_connection();
	if (error != NULL)
		return error;
	if (link_conninfo != NULL)
		pfree(link_conninfo);
	link_conninfo = MemoryContextStrdup(TopMemoryContext, PrimaryConnInfo);
	return NULL;
}

/* ---- answers */

/* Waits for the next result; false: no longer. A lost connection has one, too. */
static bool
await_result(TimestampTz deadline, bool to_cancel)
{
	bool		hurries = to_cancel;
	bool		is_ready;

	while (PQisBusy(link_conn))
	{
		if (to_cancel)
			CHECK_FOR_INTERRUPTS();
		else if ((QueryCancelPending || ProcDiePending) && !hurries)
		{
			hurries = true;
			deadline = Min(deadline, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CANCELLED_MS));
		}
		if (!await_socket(WL_SOCKET_READABLE, deadline, &is_ready))
			return false;
		if (PQconsumeInput(link_conn) == 0)
			break;
	}
	return true;
}

/* The answer to what an earlier commit sent last, which did not wait for it; false: it is not there, or the
 * connection is lost. */
static bool
drain(TimestampTz deadline)
{
	PGresult   *result;

	for (;;)
	{
		if (!await_result(deadline, true))
			return false;
		result = PQgetResult(link_conn);
		if (result == NULL)
			return PQstatus(link_conn) == CONNECTION_OK;
		PQclear(result);
	}
}

/* Runs statements; returns the value that they give. NULL: they have failed, error is set. */
static char *
run(const char *sql, char **error)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ASK_MS);
	char	   *value = NULL;

	*error = NULL;
	if (!drain(deadline) ||
		PQsendQuery(link_conn, sql) == 0)
	{
		*error = pstrdup(PQerrorMessage(link_conn)[0] != '\0' ? PQerrorMessage(link_conn) : "it does not answer");
		return NULL;
	}
	for (;;)
	{
		PGresult   *result;

		if (!await_result(deadline, true))
		{
			*error = pstrdup("it does not answer");
			return NULL;
		}
		result = PQgetResult(link_conn);
		if (result == NULL)
			break;
		if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1)
			value = pstrdup(PQgetvalue(result, 0, 0));
		else if (PQresultStatus(result) != PGRES_COMMAND_OK)
			*error = pstrdup(PQresultErrorMessage(result));
		PQclear(result);
	}
	return *error == NULL ? value : NULL;
}

char *
shuttle_primary_link_ask(const char *sql, char **error)
{
	bool		is_kept = link_conn != NULL && strcmp(link_conninfo, PrimaryConnInfo) == 0;
	char	   *value;

	if (!is_kept)
	{
		shuttle_primary_link_close();
		*error = open_link();
		if (*error != NULL)
			return NULL;
	}
	value = run(sql, error);
	if (value != NULL || !is_kept || PQstatus(link_conn) == CONNECTION_OK)
		return value;

	/* it was lost since, so nothing has begun */
	shuttle_primary_link_close();
	*error = open_link();
	return *error == NULL ? run(sql, error) : NULL;
}

bool
shuttle_primary_link_is_lost(void)
{
	return PQconsumeInput(link_conn) == 0 || PQstatus(link_conn) != CONNECTION_OK;
}

/* ---- a decision */

/* An error behind which the session there goes on: its transaction has failed. */
static bool
is_plain_error(const PGresult *result)
{
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

	return severity != NULL && strcmp(severity, "ERROR") == 0;
}

/* What one answer says of the transaction. */
static void
take_answer(const PGresult *result, ShuttlePrimaryDecision *decision)
{
	bool		is_open = decision->outcome == SHUTTLE_PRIMARY_UNKNOWN;

	switch (PQresultStatus(result))
	{
		case PGRES_COMMAND_OK:
			if (strcmp(PQcmdStatus(unconstify(PGresult *, result)), "COMMIT") == 0)
				decision->outcome = SHUTTLE_PRIMARY_COMMITTED;
			else if (is_open)
			{
				decision->outcome = SHUTTLE_PRIMARY_FAILED;
				decision->reason = pstrdup("It has rolled back.");
			}
			break;
		case PGRES_TUPLES_OK:
			decision->is_safe = decision->outcome == SHUTTLE_PRIMARY_COMMITTED && PQntuples(result) == 1 &&
				strcmp(PQgetvalue(result, 0, 0), "t") == 0;
			break;
		default:
			if (is_open && is_plain_error(result))
			{
				decision->outcome = SHUTTLE_PRIMARY_FAILED;
				decision->reason = pstrdup(PQresultErrorMessage(result));
			}
			break;
	}
}

ShuttlePrimaryDecision
shuttle_primary_link_decide(const char *sql)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), DECIDE_MS);
	ShuttlePrimaryDecision decision = {.outcome = SHUTTLE_PRIMARY_UNKNOWN,.reason = "may not have been reached"};
	PGresult   *result;

	if (PQsendQuery(link_conn, sql) == 0)
		return decision;
	SHUTTLE_POINT("decision-sent");
	while (await_result(deadline, false) && (result = PQgetResult(link_conn)) != NULL)
	{
		take_answer(result, &decision);
		PQclear(result);
	}
	if (decision.outcome == SHUTTLE_PRIMARY_UNKNOWN)
		decision.reason = PQstatus(link_conn) == CONNECTION_OK ? "has not answered in time" : "has not answered: the connection is lost";
	return decision;
}

void
shuttle_primary_link_tell(const char *sql)
{
	if (link_conn == NULL || PQisBusy(link_conn) || PQtransactionStatus(link_conn) != PQTRANS_IDLE ||
		PQsendQuery(link_conn, sql) == 0)
		shuttle_primary_link_close();
}

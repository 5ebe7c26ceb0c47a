/*-------------------------------------------------------------------------
 * host_race.c
 *	  Connects to the first of a server's hosts that can be had.
 *
 * libpq tries hosts one after the other, so one that hangs holds up the next.
 * Here each host has a connection and a deadline (connect_timeout) of its own:
 *
 *   waiting --> running --> ended --> running, as long as others run, or
 *                                               the time to wait is not over
 *
 * A host starts when one before it has failed, or after a head start that is
 * long enough for most connections. The first connection wins. libpq checks
 * target_session_attrs for each host alone. A host that has failed is asked
 * again while others run: it may be promoted meanwhile. prefer-standby takes
 * two rounds, one for standbys and one for any server. The first round does not
 * wait for hosts that were late before.
 *
 * While a standby is promoted no host can be had. Unless all have refused this
 * user, they are asked again for shuttle.failover_wait.
 *
 * Memory: a context of the race, below the node's or the caller's. A running
 * host has a PGconn and one of the server's external file descriptors.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <poll.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "storage/connection/host_race.h"
#include "storage/request/pipeline.h"

#define LEAST_HEAD_START_MS 100
#define MOST_HEAD_START_MS 1000

/* TCP, TLS, and a password exchange, with some time to spare */
#define TRIPS_TO_CONNECT 8

/* When to ask a host again that has failed while others still run. */
#define AGAIN_MS 1000

/* The same if none runs: the first time, and at most. */
#define LEAST_PAUSE_MS 100
#define MOST_PAUSE_MS 500

/* A host that fails after this time is late, too. */
#define LATE_MS 1000

typedef enum TryState
{
	TRY_WAITING,
	TRY_RUNNING,
	TRY_ENDED
} TryState;

typedef struct HostTry
{
	TryState	state;
	ConnectHost host;
	bool		late;			/* did not answer in time, lately */
	bool		timed_out;		/* in this race */
	bool		passes;			/* the failure may pass */
	int			nfailures;
	PGconn	   *conn;			/* of a running try */
	PostgresPollingStatusType polling;
	TimestampTz started_at;
	TimestampTz deadline;
	bool		extended;		/* the deadline */
	TimestampTz ended_at;
	char		reason[512];
} HostTry;

struct HostRace
{
	MemoryContext cxt;
	ShuttleNode *node;
	const char **keywords;		/* for libpq; the last four are set for each
								 * host */
	const char **values;
	int			noptions;		/* without these four */
	int			timeout_s;		/* 0: none */
	TimestampTz wait_until;		/* hosts are tried again until then; 0: never */
	int			head_start_ms;
	bool		by_role;		/* target_session_attrs chooses the host */
	bool		for_standby;	/* first round of prefer-standby */
	bool		prefers_standby;
	TimestampTz next_start;		/* for the next host that waits */
	PGconn	   *winner;
	uint32		host;			/* the winner's */
	bool		moved;			/* another host was taken before */
	int			ntries;
	HostTry    *tries;			/* in the order in which they start */
};

static void set_hosts(HostRace *race, const ConnectOptions *options);
static bool start_try(HostRace *race, HostTry *try, TimestampTz now);
static bool advance_try(HostRace *race, HostTry *try, TimestampTz now);
static void fail_try(HostRace *race, HostTry *try, const char *reason);
static bool start_due(HostRace *race, TimestampTz now);
static TimestampTz end_of_round(const HostRace *race);
static void begin_second_round(HostRace *race, TimestampTz now);
static void note_winner(HostRace *race, HostTry *winner, TimestampTz now);

HostRace *
shuttle_host_race_start(ShuttleNode *node, const ConnectOptions *options, int wait_ms)
{
	MemoryContext cxt;
	MemoryContext old_cxt;
	HostRace   *race;
	int			room = options->noptions + 5;

	if (!AcquireExternalFD())
		return NULL;
	ReleaseExternalFD();
	cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle host race",
								ALLOCSET_SMALL_SIZES);
	old_cxt = MemoryContextSwitchTo(cxt);
	race = palloc0_object(HostRace);
	race->cxt = cxt;
	race->node = node;
	race->timeout_s = options->connect_timeout_s;
	race->head_start_ms = Max(LEAST_HEAD_START_MS,
							  Min(MOST_HEAD_START_MS,
								  TRIPS_TO_CONNECT * shuttle_round_trip_ms(node->key.serverid)));
	race->noptions = options->noptions;
	race->keywords = palloc0_array(const char *, room);
	race->values = palloc0_array(const char *, room);
	for (int i = 0; i < options->noptions; i++)
	{
		race->keywords[i] = pstrdup(options->keywords[i]);
		race->values[i] = pstrdup(options->values[i]);
	}
	if (options->nhosts > 1 && wait_ms > 0)
		race->wait_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), wait_ms);
	set_hosts(race, options);
	MemoryContextSwitchTo(old_cxt);
	if (node->cxt != NULL)
		MemoryContextSetParent(cxt, node->cxt);
	(void) start_due(race, GetCurrentTimestamp());
	return race;
}

/* Without a list of hosts, or with a wrong one, libpq gets the options alone. */
static void
set_hosts(HostRace *race, const ConnectOptions *options)
{
	int			nhosts = Max(1, options->nhosts);
	const char *role = options->role;
	uint32		hashes[SHUTTLE_MOST_HOSTS] = {0};
	int			order[SHUTTLE_MOST_HOSTS] = {0};
	bool		late[SHUTTLE_MOST_HOSTS] = {0};

	race->ntries = nhosts;
	race->tries = palloc0_array(HostTry, nhosts);
	race->prefers_standby = nhosts > 1 && role != NULL && strcmp(role, "prefer-standby") == 0;
	race->for_standby = race->prefers_standby;
	race->by_role = role != NULL && strcmp(role, "any") != 0 && !options->shuffle;
	for (int i = 0; i < options->nhosts; i++)
	{
		int			other = options->shuffle ? pg_prng_uint64_range(&pg_global_prng_state, 0, i) : i;

		hashes[i] = options->hosts[i].hash;
		order[i] = order[other];
		order[other] = i;
	}
	if (nhosts > 1)
		shuttle_host_order(race->node->key.serverid, hashes, nhosts, race->by_role, order, late);
	for (int i = 0; i < options->nhosts; i++)
	{
		const ConnectHost *host = &options->hosts[order[i]];
		HostTry    *try = &race->tries[i];

		try->host.host = pstrdup(host->host);
		try->host.hostaddr = pstrdup(host->hostaddr);
		try->host.port = pstrdup(host->port);
		try->host.hash = host->hash;
		try->host.unknown = host->unknown;
		try->late = late[order[i]];
	}
}

static void
set_deadline(const HostRace *race, HostTry *try, TimestampTz now)
{
	try->deadline = race->timeout_s == 0 ? DT_NOEND :
		TimestampTzPlusMilliseconds(now, (int64) race->timeout_s * 1000);
}

/* Returns false if there are too many open files. */
static bool
start_try(HostRace *race, HostTry *try, TimestampTz now)
{
	const char *keywords[] = {"host", "hostaddr", "port", "target_session_attrs"};
	const char *values[] = {try->host.host, try->host.hostaddr, try->host.port,
	race->for_standby ? "standby" : race->prefers_standby ? "any" : NULL};

	for (int i = 0; i < lengthof(keywords); i++)
	{
		race->keywords[race->noptions + i] = keywords[i];
		race->values[race->noptions + i] = values[i];
	}
	try->started_at = now;
	set_deadline(race, try, now);
	try->extended = false;
	if (try->host.unknown)
	{
		fail_try(race, try, "could not translate host name to address");
		return true;
	}
	if (!AcquireExternalFD())
		return false;
	try->state = TRY_RUNNING;
	try->polling = PGRES_POLLING_WRITING;
	try->conn = PQconnectStartParams(race->keywords, race->values, false);
	if (try->conn == NULL)
		fail_try(race, try, "out of memory");
	else if (PQstatus(try->conn) == CONNECTION_BAD)
		fail_try(race, try, PQerrorMessage(try->conn));
	else
	{
		PQsetNoticeReceiver(try->conn, shuttle_notice_receive, race->node);

		/* for host_failure.c */
		(void) PQsetErrorVerbosity(try->conn, PQERRORS_VERBOSE);
	}
	return true;
}

static void
close_try(HostTry *try)
{
	if (try->state != TRY_RUNNING)
		return;
	PQfinish(try->conn);
	try->conn = NULL;
	ReleaseExternalFD();
	try->state = TRY_ENDED;
}

static void
fail_try(HostRace *race, HostTry *try, const char *reason)
{
	int			length;

	try->passes = try->conn != NULL && shuttle_host_failure_passes(try->conn, reason);
	try->nfailures++;
	strlcpy(try->reason, reason, sizeof(try->reason));
	shuttle_host_failure_text(try->reason);
	for (length = strlen(try->reason);
		 length > 0 && try->reason[length - 1] == '\n'; length--)
		try->reason[length - 1] = '\0';
	close_try(try);
	try->state = TRY_ENDED;
	try->ended_at = GetCurrentTimestamp();
	race->next_start = try->ended_at;
	if (race->ntries > 1)
		shuttle_host_order_note_late(race->node->key.serverid, try->host.hash,
									 TimestampDifferenceExceeds(try->started_at, try->ended_at,
																LATE_MS));
}

static int
count_running(const HostRace *race)
{
	int			nrunning = 0;

	for (int i = 0; i < race->ntries; i++)
		nrunning += race->tries[i].state == TRY_RUNNING ? 1 : 0;
	return nrunning;
}

/* True while hosts that have all ended are tried again. */
static bool
waits_for_failover(const HostRace *race)
{
	if (race->wait_until == 0 || GetCurrentTimestamp() >= race->wait_until)
		return false;
	for (int i = 0; i < race->ntries; i++)
	{
		if (race->tries[i].state != TRY_ENDED || race->tries[i].passes)
			return true;
	}
	return false;
}

/* When a host that has ended is started again. */
static TimestampTz
start_again(const HostRace *race, const HostTry *try, bool others_run)
{
	int			pause_ms = Min(LEAST_PAUSE_MS << Min(try->nfailures - 1, 4), MOST_PAUSE_MS);

	if (try->passes && waits_for_failover(race))
		return TimestampTzPlusMilliseconds(try->ended_at, pause_ms);
	return others_run && !try->timed_out ?
		TimestampTzPlusMilliseconds(try->ended_at, AGAIN_MS) : DT_NOEND;
}

/* When a host that does not run is started; DT_NOEND: not by itself. */
static TimestampTz
start_of(const HostRace *race, const HostTry *try)
{
	bool		others_run = count_running(race) > 0;

	switch (try->state)
	{
		case TRY_WAITING:
			return others_run ? race->next_start : 0;
		case TRY_ENDED:
			return start_again(race, try, others_run);
		case TRY_RUNNING:
			break;
	}
	return DT_NOEND;
}

static bool
is_ready(const HostTry *try)
{
	struct pollfd event = {
		.fd = PQsocket(try->conn),
		.events = try->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT,
	};

	return poll(&event, 1, 0) > 0;
}

/*
 * Returns true if something changed. A host whose answer is found behind the
 * deadline, since the session was busy, gets its time once more.
 */
static bool
advance_try(HostRace *race, HostTry *try, TimestampTz now)
{
	if (is_ready(try))
	{
		if (now >= try->deadline && !try->extended)
		{
			try->extended = true;
			set_deadline(race, try, now);
		}
		try->polling = PQconnectPoll(try->conn);
		if (try->polling == PGRES_POLLING_FAILED)
			fail_try(race, try, PQerrorMessage(try->conn));
		return true;
	}
	if (now < try->deadline)
		return false;
	try->timed_out = true;
	fail_try(race, try, "timeout expired");
	return true;
}

RaceState
shuttle_host_race_advance(HostRace *race, bool *changed)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		any = false;

	for (int i = 0; i < race->ntries && race->winner == NULL; i++)
	{
		HostTry    *try = &race->tries[i];

		if (try->state != TRY_RUNNING)
			continue;
		any |= advance_try(race, try, now);
		if (try->state == TRY_RUNNING && try->polling == PGRES_POLLING_OK)
			note_winner(race, try, now);
	}
	if (race->winner == NULL)
		any |= start_due(race, now);
	if (any && changed != NULL)
		*changed = true;
	if (race->winner != NULL)
		return RACE_WON;
	if (!shuttle_host_race_is_lost(race))
		return RACE_RUNNING;
	shuttle_host_names_forget();
	return RACE_LOST;
}

bool
shuttle_host_race_is_lost(const HostRace *race)
{
	for (int i = 0; i < race->ntries; i++)
	{
		if (race->tries[i].state != TRY_ENDED)
			return false;
	}
	return !waits_for_failover(race);
}

/* Starts the hosts whose time has come. Returns true if something changed. */
static bool
start_due(HostRace *race, TimestampTz now)
{
	bool		any = false;

	if (race->for_standby && now >= end_of_round(race))
	{
		begin_second_round(race, now);
		any = true;
	}
	for (int i = 0; i < race->ntries; i++)
	{
		HostTry    *try = &race->tries[i];

		if (now < start_of(race, try))
			continue;
		race->next_start = TimestampTzPlusMilliseconds(now, race->head_start_ms);
		if (start_try(race, try, now))
			any = true;
		else if (count_running(race) == 0)
			fail_try(race, try, "too many open files on the local server");
		else
			try->ended_at = now;
	}
	return any;
}

/* The first round of prefer-standby: when it is over. */
static TimestampTz
end_of_round(const HostRace *race)
{
	TimestampTz end = 0;

	for (int i = 0; i < race->ntries; i++)
	{
		const HostTry *try = &race->tries[i];

		if (try->state == TRY_ENDED)
			continue;
		if (!try->late || try->state == TRY_WAITING)
			return DT_NOEND;
		end = Max(end, TimestampTzPlusMilliseconds(try->started_at, race->head_start_ms));
	}
	return end;
}

/* Hosts that did not answer in the first round are left out. */
static void
begin_second_round(HostRace *race, TimestampTz now)
{
	race->for_standby = false;
	race->next_start = now;
	for (int i = 0; i < race->ntries; i++)
	{
		HostTry    *try = &race->tries[i];

		close_try(try);
		if (!try->timed_out)
			try->state = TRY_WAITING;
	}
}

/* Closes all other connections. A host that was overtaken is late. */
static void
note_winner(HostRace *race, HostTry *winner, TimestampTz now)
{
	Oid			serverid = race->node->key.serverid;

	race->winner = winner->conn;
	race->host = winner->host.hash;
	(void) PQsetErrorVerbosity(winner->conn, PQERRORS_DEFAULT);
	winner->conn = NULL;
	winner->state = TRY_ENDED;
	if (race->ntries == 1)
		return;
	race->moved = shuttle_host_order_note_good(serverid, winner->host.hash) && race->by_role;
	shuttle_host_order_note_late(serverid, winner->host.hash, false);
	for (int i = 0; i < race->ntries; i++)
	{
		HostTry    *try = &race->tries[i];

		if (try->state == TRY_RUNNING &&
			TimestampDifferenceExceeds(try->started_at, now, race->head_start_ms))
			shuttle_host_order_note_late(serverid, try->host.hash, true);
		close_try(try);
	}
}

int
shuttle_host_race_nhosts(const HostRace *race)
{
	return race->ntries;
}

void
shuttle_host_race_add_to_set(const HostRace *race, WaitEventSet *set, void *user_data)
{
	for (int i = 0; i < race->ntries; i++)
	{
		const HostTry *try = &race->tries[i];

		if (try->state == TRY_RUNNING && PQsocket(try->conn) >= 0)
			AddWaitEventToSet(set,
							  try->polling == PGRES_POLLING_READING ?
							  WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE,
							  PQsocket(try->conn), NULL, user_data);
	}
}

TimestampTz
shuttle_host_race_wake_at(const HostRace *race)
{
	TimestampTz wake_at = race->for_standby ? end_of_round(race) : DT_NOEND;

	if (waits_for_failover(race))
		wake_at = Min(wake_at, race->wait_until);
	for (int i = 0; i < race->ntries; i++)
	{
		const HostTry *try = &race->tries[i];

		wake_at = Min(wake_at, try->state == TRY_RUNNING ?
					  try->deadline : start_of(race, try));
	}
	return wake_at == DT_NOEND ? 0 : wake_at;
}

PGconn *
shuttle_host_race_take(HostRace *race, uint32 *host, bool *moved)
{
	PGconn	   *conn = race->winner;

	*host = race->host;
	*moved = race->moved;
	race->winner = NULL;
	shuttle_host_race_end(race);
	return conn;
}

/* libpq's messages name the host, ours do not. */
static void
write_reason(const HostTry *try, char *to, int room)
{
	const char *address = try->host.hostaddr[0] != '\0' ? try->host.hostaddr : try->host.host;

	if (strstr(try->reason, "connection to server") != NULL)
		strlcpy(to, try->reason, room);
	else
		snprintf(to, room, "connection to server at \"%s\" (%s), port %s failed: %s",
				 try->host.host, address,
				 try->host.port[0] != '\0' ? try->host.port : DEF_PGPORT_STR, try->reason);
}

bool
shuttle_host_race_reasons(const HostRace *race, char *to, int room)
{
	int			nlate = 0;

	to[0] = '\0';
	if (race->ntries == 1)
		strlcpy(to, race->tries[0].reason, room);
	for (int i = 0; i < race->ntries; i++)
	{
		const HostTry *try = &race->tries[i];
		int			used = strlen(to);

		nlate += try->timed_out ? 1 : 0;
		if (race->ntries == 1)
			continue;
		if (i > 0)
			to[used++] = '\n';
		write_reason(try, to + used, Min(room - used, room / race->ntries - 1));
	}
	return nlate == race->ntries;
}

void
shuttle_host_race_end(HostRace *race)
{
	if (race == NULL)
		return;
	for (int i = 0; i < race->ntries; i++)
		close_try(&race->tries[i]);
	if (race->winner != NULL)
	{
		PQfinish(race->winner);
		ReleaseExternalFD();
	}
	MemoryContextDelete(race->cxt);
}

/*-------------------------------------------------------------------------
 * commit.c
 *	  What a commit over several nodes needs from this server: whether the
 *	  transaction wrote here, its name, and the commit record.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"

#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_settings.h"
#include "cluster/commit/commit.h"
#include "cluster/common/identity.h"
#include "cluster/common/lease.h"
#include "cluster/common/servers.h"
#include "cluster/deadlock/deadlock.h"
#include "cluster/shuttle_cluster.h"

static bool wrote_here(void);
static void check_standby(bool not_atomic);
static void warn(void);
static char *make_name(void);
static char *make_prefix(void);
static void add_record(const char *name, List *servers, bool client_decides);
static bool decide(const char *name, const ShuttlePreparedPart *parts, int nparts);
static bool is_safe(void);
static void note_in_doubt(bool in_doubt);
static bool may_have_committed(void);
static bool recover_now(Oid serverid, Oid userid);
static bool has_peers(void);

static const ShuttleCommitMethods methods = {
	.wrote_here = wrote_here,
	.check_standby = check_standby,
	.warn = warn,
	.name = make_name,
	.record = add_record,
	.decide = decide,
	.is_safe = is_safe,
	.in_doubt = note_in_doubt,
	.may_have_committed = may_have_committed,
	.prefix = make_prefix,
	.recover = shuttle_commit_recover_on,
	.recover_now = recover_now,
	.servers = shuttle_server_list,
	.has_peers = has_peers,
	.look_for_deadlock = shuttle_deadlock_look,
};

/* Names of the transaction being committed, and of the last one if all nodes
 * have finished it. */
static char current[SHUTTLE_MOST_NAME];
static char finished[SHUTTLE_MOST_NAME];
static bool current_lasts;		/* recovery removes its record */

/* The transaction is a standby's, and the primary server decides. */
static bool on_primary = false;

/* The stock postgres_fdw server written to last, and the transaction. */
static Oid	other_server = InvalidOid;
static LocalTransactionId other_lxid = InvalidLocalTransactionId;

void
shuttle_commit_init(void)
{
	shuttle_cluster_set_methods(&methods);
}

/* False for temporary tables and tables dropped in the same transaction, which
 * wrote to the catalogs. */
static bool
lasts(Oid table)
{
	return get_rel_relkind(table) != '\0' &&
		get_rel_persistence(table) != RELPERSISTENCE_TEMP;
}

/*
 * True if the transaction wrote rows here. An xid alone does not tell:
 * nextval() and row locks take one, too. Rows written to permanent tables,
 * catalogs included, are in the transaction's pending statistics.
 */
static bool
wrote_here(void)
{
	PgStat_SubXactStatus *status;

	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return false;
	if (!pgstat_track_counts)
		return true;
	status = pgstat_get_xact_stack_level(GetCurrentTransactionNestLevel());
	for (PgStat_TableXactStatus *table = status->first; table != NULL; table = table->next)
	{
		if ((table->tuples_inserted > 0 || table->tuples_updated > 0 ||
			 table->tuples_deleted > 0 || table->truncdropped) &&
			lasts(shuttle_counted_table(table->parent)))
			return true;
	}
	return false;
}

void
shuttle_commit_note_other_server(Oid serverid)
{
	other_server = serverid;
	other_lxid = shuttle_my_lxid();
}

static void
check_standby(bool not_atomic)
{
	if (!RecoveryInProgress() || shuttle_settings.query_node_name[0] == '\0')
		return;
	if (not_atomic)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write on several storage nodes in one transaction of a standby"),
				 errdetail("One of them has shuttle_two_phase 'off'."),
				 errhint("%s", shuttle_lease_primary())));
	shuttle_lease_check();
}

/* Warns once per session. */
static void
warn(void)
{
	static bool warned = false;
	ForeignServer *server;

	if (warned || !OidIsValid(other_server) || other_lxid != shuttle_my_lxid())
		return;
	server = GetForeignServerExtended(other_server, FSV_MISSING_OK);
	if (server == NULL)
		return;
	warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("the commit on server \"%s\" is not atomic with that on storage nodes",
					server->servername),
			 errdetail("The server belongs to postgres_fdw, which commits by itself."),
			 errhint("shuttle.adopt_server() moves it to the wrapper \"%s\".", "shuttle")));
}

/*
 * After a crash another session may get the same xid, so the name has a random
 * number per session. A primary that was replaced knows by the timeline that a name is
 * not of its own.
 */
static uint64
session_number(void)
{
	static uint64 number = 0;
	uint64		random = (UINT64CONST(1) << SHUTTLE_RANDOM_BITS) - 1;

	if (number == 0 && !pg_strong_random(&number, sizeof(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	return ((uint64) GetWALInsertionTimeLine() << SHUTTLE_RANDOM_BITS) | (number & random);
}

char *
shuttle_commit_name(void)
{
	return psprintf("%s%s_%u_" UINT64_FORMAT "_%016llx", SHUTTLE_PREPARED_PREFIX,
					shuttle_identity(), MyDatabaseId,
					U64FromFullTransactionId(GetTopFullTransactionId()),
					(unsigned long long) session_number());
}

/* A standby has no xid. */
static char *
make_name(void)
{
	on_primary = RecoveryInProgress();
	return on_primary ? shuttle_primary_begin() : shuttle_commit_name();
}

/* A finished commit leaves its record to the session's next one to remove; a
 * session's last record is left to recovery. */
void
shuttle_commit_add_record(const char *name, List *servers)
{
	shuttle_commit_record_add(name, servers, finished[0] != '\0' ? finished : NULL);
	strlcpy(current, name, sizeof(current));
	current_lasts = shuttle_commit_record_lasts(servers);
}

/* The primary server writes that of a standby, when nodes have prepared. */
static void
add_record(const char *name, List *servers, bool client_decides)
{
	if (client_decides)
		shuttle_commit_record_prepare(name, servers);
	else if (!on_primary)
		shuttle_commit_add_record(name, servers);
}

static bool
decide(const char *name, const ShuttlePreparedPart *parts, int nparts)
{
	if (on_primary)
		shuttle_primary_decide(name, parts, nparts);
	return on_primary;
}

static bool
is_safe(void)
{
	return on_primary ? shuttle_primary_is_safe() : shuttle_synchronous_standbys_have(XactLastCommitEnd);
}

void
shuttle_commit_note_end(bool in_doubt)
{
	if (in_doubt || current_lasts)
		finished[0] = '\0';
	else
		strlcpy(finished, current, sizeof(finished));
	shuttle_worker_wake(in_doubt);
}

static void
note_in_doubt(bool in_doubt)
{
	if (on_primary)
		shuttle_primary_end(!in_doubt);
	else
		shuttle_commit_note_end(in_doubt);
}

static bool
may_have_committed(void)
{
	return shuttle_primary_fail();
}

static char *
make_prefix(void)
{
	char	   *cluster;

	/* a standby finishes nothing; parallel workers leave it to the leader */
	if (RecoveryInProgress() || IsParallelWorker())
		return NULL;
	cluster = shuttle_identity_if_any();
	if (cluster == NULL)
		return NULL;
	return psprintf("%s%s_%u_", SHUTTLE_PREPARED_PREFIX, cluster, MyDatabaseId);
}

static bool
has_peers(void)
{
	List	   *peers = shuttle_query_node_list();
	bool		has_some = peers != NIL || shuttle_lease_list() != NIL;

	list_free(peers);
	return has_some;
}

/* What is live has a window, or no record and will never be visible. */
static bool
is_harmless(const PreparedTransaction *prepared)
{
	return prepared->finished || prepared->fate == FATE_LIVE ||
		prepared->fate == FATE_CLIENT || prepared->fate == FATE_OTHER;
}

static bool
recover_now(Oid serverid, Oid userid)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle recovery",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	RecoveryNode *node = shuttle_recovery_node(serverid, userid);
	List	   *nodes = list_make1(node);
	bool		is_recovered;
	ListCell   *cell;

	shuttle_recovery_look(nodes, SHUTTLE_RECOVERY_WAIT_MS);
	shuttle_recovery_finish(nodes, SHUTTLE_RECOVERY_WAIT_MS);
	is_recovered = node->answered;
	foreach(cell, node->prepared)
		is_recovered = is_recovered && is_harmless(lfirst(cell));
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);
	if (!is_recovered)
		shuttle_worker_wake(true);
	return is_recovered;
}

void
shuttle_commit_recover_on(Oid serverid, Oid userid)
{
	MemoryContext cxt;
	MemoryContext old_cxt;
	List	   *nodes;

	/* a standby may not have received the record yet */
	if (RecoveryInProgress() || IsParallelWorker())
		return;
	if (shuttle_worker_is_running())
	{
		shuttle_worker_wake(true);
		return;
	}
	cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle recovery",
								ALLOCSET_DEFAULT_SIZES);
	old_cxt = MemoryContextSwitchTo(cxt);
	nodes = list_make1(shuttle_recovery_node(serverid, userid));
	shuttle_recovery_look(nodes, SHUTTLE_RECOVERY_WAIT_MS);
	shuttle_recovery_finish(nodes, SHUTTLE_RECOVERY_WAIT_MS);
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);
}

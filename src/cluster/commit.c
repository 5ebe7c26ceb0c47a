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
#include "cluster/cluster_internal.h"
#include "cluster/commit_internal.h"
#include "cluster/deadlock_internal.h"

static bool wrote_here(void);
static void warn(void);
static char *make_name(void);
static char *make_prefix(void);
static void add_record(const char *name, List *servers);
static bool is_safe(void);
static void note_in_doubt(bool in_doubt);

static const ShuttleCommitMethods methods = {
	.wrote_here = wrote_here,
	.warn = warn,
	.name = make_name,
	.record = add_record,
	.is_safe = is_safe,
	.in_doubt = note_in_doubt,
	.prefix = make_prefix,
	.recover = shuttle_commit_recover_on,
	.look_for_deadlock = shuttle_deadlock_look,
};

/* Names of the transaction being committed, and of the last one if all nodes
 * have finished it. */
static char current[SHUTTLE_MOST_NAME];
static char finished[SHUTTLE_MOST_NAME];
static bool current_lasts;		/* recovery removes its record */

/* The stock postgres_fdw server written to last, and the transaction. */
static Oid	other_server = InvalidOid;
static LocalTransactionId other_lxid = InvalidLocalTransactionId;

void
shuttle_commit_init(void)
{
	shuttle_commit_set_methods(&methods);
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

static char *
make_name(void)
{
	return psprintf("%s%s_%u_" UINT64_FORMAT "_%016llx", SHUTTLE_PREPARED_PREFIX,
					shuttle_identity(), MyDatabaseId,
					U64FromFullTransactionId(GetTopFullTransactionId()),
					(unsigned long long) session_number());
}

/* A finished commit leaves its record to the session's next one to remove; a
 * session's last record is left to recovery. */
static void
add_record(const char *name, List *servers)
{
	shuttle_commit_record_add(name, servers, finished[0] != '\0' ? finished : NULL);
	strlcpy(current, name, sizeof(current));
	current_lasts = shuttle_commit_record_lasts(servers);
}

static bool
is_safe(void)
{
	return shuttle_is_replicated(XactLastCommitEnd);
}

static void
note_in_doubt(bool in_doubt)
{
	if (in_doubt || current_lasts)
		finished[0] = '\0';
	else
		strlcpy(finished, current, sizeof(finished));
	shuttle_recovery_wanted(in_doubt);
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

void
shuttle_commit_recover_on(Oid serverid, Oid userid)
{
	MemoryContext cxt;
	MemoryContext old_cxt;
	List	   *nodes;

	/* a standby may not have received the record yet */
	if (RecoveryInProgress() || IsParallelWorker())
		return;
	if (shuttle_recovery_has_worker())
	{
		shuttle_recovery_wanted(true);
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

/*-------------------------------------------------------------------------
 * prepared.c
 *	  COMMIT PREPARED and ROLLBACK PREPARED of transactions that have written on
 *	  nodes.
 *
 * PREPARE TRANSACTION has prepared the nodes' parts, and then the local transaction with
 * its commit record in it (two_phase.c of storage). No session has it since. What a crash
 * leaves, of this server or of a session here, recovery finishes by the record.
 *
 * 1. Nodes are asked what they hold of it, and by which transaction identifiers.
 * 2. COMMIT PREPARED: the window opens, by which readers know what belongs together.
 * 3. Core ends the local transaction: that is the decision.
 * 4. The nodes that have answered end theirs. An error or a cancel now is a warning,
 *	  and recovery's work.
 *
 * A restore point falls before 1 or behind 4: the commit records are locked meanwhile.
 *
 * Memory: the context of the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_subtransaction.h"
#include "cluster/commit/commit.h"
#include "cluster/common/servers.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_cut.h"

/* Without an answer it is not known what to end. */
#define LEAST_LOOK_MS 1000

typedef struct ClientTransaction
{
	bool		commit;
	uint64		fxid;			/* here */
	CommitRecord *record;		/* NULL: it is here alone */
	List	   *nodes;			/* of RecoveryNode: all mappings */
	ShuttlePreparedPart *parts;
	char	  **gids;			/* of the parts; NULL: the node did not answer */
	int			nparts;
} ClientTransaction;

/* The transaction that the client has prepared by this name here, and may end. */
static TransactionId
find_here(const char *gid)
{
	Datum		values[] = {CStringGetTextDatum(gid), ObjectIdGetDatum(MyDatabaseId),
	ObjectIdGetDatum(GetUserId()), BoolGetDatum(superuser())};
	Oid			types[] = {TEXTOID, OIDOID, OIDOID, BOOLOID};
	TransactionId xid = InvalidTransactionId;
	Oid			userid;
	int			flags;
	bool		isnull;

	/* core needs no right to look for it */
	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	if (SPI_execute_with_args("SELECT p.transaction FROM pg_catalog.pg_prepared_xact() AS p"
							  " WHERE p.gid OPERATOR(pg_catalog.=) $1 AND p.dbid OPERATOR(pg_catalog.=) $2"
							  " AND (p.ownerid OPERATOR(pg_catalog.=) $3 OR $4)",
							  lengthof(types), types, values, NULL, false, 1) == SPI_OK_SELECT &&
		SPI_processed == 1)
		xid = DatumGetTransactionId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	SetUserIdAndSecContext(userid, flags);
	return xid;
}

static List *
nodes_of(const List *servers)
{
	List	   *nodes = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_recovery_nodes())
	{
		if (list_member_oid(servers, ((RecoveryNode *) lfirst(cell))->serverid))
			nodes = lappend(nodes, lfirst(cell));
	}
	return nodes;
}

/* That of a transaction which has not ended. */
static uint64
full_xid(TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	return next - (TransactionId) ((TransactionId) next - xid);
}

/* NULL: there is none that the user may end, so core is to raise its error. */
static ClientTransaction *
find(const TransactionStmt *statement)
{
	ClientTransaction *transaction;
	TransactionId xid;

	if (statement->kind != TRANS_STMT_COMMIT_PREPARED && statement->kind != TRANS_STMT_ROLLBACK_PREPARED)
		return NULL;
	if (IsTransactionBlock() || RecoveryInProgress() ||
		!OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_COMMIT_RECORDS)))
		return NULL;
	xid = find_here(statement->gid);
	if (!TransactionIdIsValid(xid))
		return NULL;
	transaction = palloc0_object(ClientTransaction);
	transaction->commit = statement->kind == TRANS_STMT_COMMIT_PREPARED;
	transaction->fxid = full_xid(xid);
	transaction->record = shuttle_commit_record_of(xid);
	if (transaction->record != NULL)
		transaction->nodes = nodes_of(transaction->record->servers);
	return transaction;
}

/* ---- what nodes hold */

static void
add_part(ClientTransaction *transaction, Oid serverid, uint64 xid, char *gid)
{
	int			size = transaction->nparts + 1;

	transaction->parts = transaction->parts == NULL ? palloc_array(ShuttlePreparedPart, size) :
		repalloc_array(transaction->parts, ShuttlePreparedPart, size);
	transaction->gids = transaction->gids == NULL ? palloc_array(char *, size) :
		repalloc_array(transaction->gids, char *, size);
	transaction->parts[size - 1].serverid = serverid;
	transaction->parts[size - 1].system = 0;
	transaction->parts[size - 1].xid = xid;
	transaction->parts[size - 1].over = false;
	transaction->gids[size - 1] = gid;
	transaction->nparts = size;
}

static bool
has_part(const ClientTransaction *transaction, const char *gid)
{
	for (int i = 0; i < transaction->nparts; i++)
	{
		if (transaction->gids[i] != NULL && strcmp(transaction->gids[i], gid) == 0)
			return true;
	}
	return false;
}

/* Takes the parts of the transaction from what a node holds; others are not ours to end. */
static void
take_parts(ClientTransaction *transaction, RecoveryNode *node)
{
	ListCell   *cell;

	foreach(cell, node->prepared)
	{
		const PreparedTransaction *prepared = lfirst(cell);

		if (prepared->name == NULL || strcmp(prepared->name, transaction->record->name) != 0)
			node->prepared = foreach_delete_current(node->prepared, cell);
		else if (!has_part(transaction, prepared->gid))
			add_part(transaction, prepared->serverid, prepared->xid, prepared->gid);
	}
}

static void
look(ClientTransaction *transaction)
{
	ListCell   *cell;

	shuttle_recovery_ask(transaction->nodes, Max(shuttle_settings.commit_wait_ms, LEAST_LOOK_MS));
	foreach(cell, transaction->nodes)
		take_parts(transaction, lfirst(cell));
	foreach(cell, transaction->record->servers)
	{
		if (!shuttle_recovery_has_answered(lfirst_oid(cell), transaction->nodes))
			add_part(transaction, lfirst_oid(cell), 0, NULL);
	}
}

/* ---- behind the decision */

static void
finish(void *arg)
{
	ClientTransaction *transaction = arg;

	shuttle_recovery_finish_listed(transaction->nodes, Max(shuttle_settings.commit_wait_ms, 1));
	if (transaction->commit && shuttle_commit_record_lasts(transaction->record->servers))
		shuttle_commit_record_renew(transaction->record);
}

static void
warn_of_unfinished(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("storage node \"%s\" has not rolled back yet", node_name),
			 errdetail("The transaction is rolled back here, and is prepared on the node."),
			 errhint("Recovery finishes it; see shuttle.transactions.")));
}

static const char *
server_name(Oid serverid)
{
	ForeignServer *server = GetForeignServerExtended(serverid, FSV_MISSING_OK);

	return server != NULL ? server->servername : "";
}

static bool
has_part_on(const ClientTransaction *transaction, Oid serverid)
{
	for (int i = 0; i < transaction->nparts; i++)
	{
		if (transaction->parts[i].serverid == serverid)
			return true;
	}
	return false;
}

/* Returns true if all parts have ended. */
static bool
tell(const ClientTransaction *transaction)
{
	bool		all_over = true;
	ListCell   *cell;

	foreach(cell, transaction->record->servers)
	{
		if (transaction->commit && !has_part_on(transaction, lfirst_oid(cell)))
			shuttle_two_phase_warn_missing(server_name(lfirst_oid(cell)));
	}
	for (int i = 0; i < transaction->nparts; i++)
	{
		const char *name = server_name(transaction->parts[i].serverid);

		if (transaction->parts[i].over)
			continue;
		all_over = false;
		if (transaction->commit)
			shuttle_two_phase_warn_unfinished(name);
		else
			warn_of_unfinished(name);
	}
	return all_over;
}

/* Behind the decision on one that has written on nodes. */
static void
end_on_nodes(ClientTransaction *transaction)
{
	(void) shuttle_subtransaction_run(finish, transaction);
	for (int i = 0; i < transaction->nparts; i++)
		transaction->parts[i].over = transaction->gids[i] != NULL &&
			shuttle_recovery_is_finished(transaction->gids[i], transaction->nodes);
}

void
shuttle_prepared_end(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	ClientTransaction *transaction = find(castNode(TransactionStmt, pstmt->utilityStmt));

	if (transaction == NULL)
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		return;
	}
	if (transaction->record != NULL)
		look(transaction);
	SHUTTLE_POINT("client-prepared-listed");
	if (transaction->commit)
		shuttle_windows_open_prepared(transaction->fxid, transaction->parts, transaction->nparts);
	run(SHUTTLE_UTILITY_ARGUMENTS);
	if (transaction->commit)
		shuttle_windows_committed();
	SHUTTLE_POINT("client-decided");
	if (transaction->record != NULL)
		end_on_nodes(transaction);
	shuttle_windows_close_prepared(transaction->parts, transaction->nparts);
	if (transaction->record != NULL)
		shuttle_worker_wake(!tell(transaction));
}

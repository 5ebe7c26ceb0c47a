/*-------------------------------------------------------------------------
 * statistics_worker.c
 *	  Background worker that copies statistics which nodes have renewed.
 *
 * The launcher (cluster/commit/statistics_launch.c) starts it in one database at a
 * time. It lists the tables, asks all nodes at once, copies the statistics of
 * each stale table as ANALYZE does, brings their parents up to date, and ends.
 *
 * Each step is a transaction with a time limit. No step waits for locks: a table
 * that somebody holds is left for the next turn. While it waits for nodes it
 * holds no lock that DDL waits for, but AccessShareLock on the one table it
 * copies or samples.
 *
 * DROP DATABASE waits for lock holders first, and then only five seconds for
 * sessions to end. So each step holds a lock on the database, and the worker
 * ends if it cannot have it at once.
 *
 * A parent's own statistics come from a sample of its rows, taken when as many
 * rows as it has are in tables that were copied since the last sample: about
 * once each time its nodes analyze all of it. Its number of rows is set each
 * time.
 *
 * Memory: "pg_shuttle statistics" lives as long as the process.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

#define ASK_LIMIT_MS 3000		/* less than DROP DATABASE waits for sessions */
#define STEP_LIMIT_MS 10000

/* A partitioned table with tables that were copied. */
typedef struct FollowedParent
{
	Oid			relid;
	double		rows;			/* of its partitions */
	double		copied_rows;	/* in partitions copied since its sample */
	bool		has_statistics;
} FollowedParent;

typedef struct StatisticsTurn
{
	MemoryContext cxt;
	List	   *tables;			/* of ShuttleFollowedTable */
	ShuttleFollowedTable *table;	/* the current one */
	List	   *copied;			/* OIDs */
	List	   *silent;			/* OIDs of servers that do not answer */
	List	   *parents;		/* of FollowedParent */
	FollowedParent *parent;		/* the current one */
	bool		no_samples;		/* taking one failed */
	const char *error;			/* of the current table, to be recorded */
} StatisticsTurn;

typedef enum StepEnd
{
	STEP_DONE,
	STEP_FAILED,				/* the node is to blame: try again next turn */
	STEP_REFUSED,				/* error of the table, to be recorded */
	STEP_LAST					/* the worker must end */
} StepEnd;

extern PGDLLEXPORT void shuttle_statistics_worker_main(Datum databaseid);

static StepEnd run_step(void (*step) (StatisticsTurn *turn), StatisticsTurn *turn);
static StepEnd end_failed_step(StatisticsTurn *turn);
static bool may_go_on(void);
static void list_tables(StatisticsTurn *turn);
static void ask_nodes(StatisticsTurn *turn);
static bool copy_tables(StatisticsTurn *turn);
static void copy_table(StatisticsTurn *turn);
static void record_failure(StatisticsTurn *turn);
static void record(Oid relid, TimestampTz analyzed_at, double changes, const char *error);
static void list_parents(StatisticsTurn *turn);
static void renew_parents(StatisticsTurn *turn);
static void renew_parent(StatisticsTurn *turn);
static bool lock_children(Oid relid, List *silent);
static void execute(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls);

void
shuttle_statistics_worker_main(Datum databaseid)
{
	StatisticsTurn turn = {0};

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(databaseid), InvalidOid, 0);
	shuttle_worker_keep_settings_out();
	pgstat_report_activity(STATE_RUNNING, "copying statistics of storage nodes");
	turn.cxt = AllocSetContextCreate(TopMemoryContext, "pg_shuttle statistics",
									 ALLOCSET_DEFAULT_SIZES);
	if (run_step(list_tables, &turn) != STEP_DONE || turn.tables == NIL ||
		run_step(ask_nodes, &turn) != STEP_DONE || !copy_tables(&turn) ||
		run_step(list_parents, &turn) != STEP_DONE)
		return;
	renew_parents(&turn);
}

/* ---- steps */

/*
 * PG_TRY: the worker goes on with other tables after an error, as autovacuum
 * does, so the transaction has to be aborted here.
 */
static StepEnd
run_step(void (*step) (StatisticsTurn *turn), StatisticsTurn *turn)
{
	volatile StepEnd end = STEP_LAST;

	SetCurrentStatementStartTimestamp();
	PG_TRY();
	{
		StartTransactionCommand();
		if (may_go_on())
		{
			enable_timeout_after(STATEMENT_TIMEOUT, STEP_LIMIT_MS);
			PushActiveSnapshot(GetTransactionSnapshot());
			step(turn);
			PopActiveSnapshot();
			disable_timeout(STATEMENT_TIMEOUT, false);
			end = STEP_DONE;
		}
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		end = end_failed_step(turn);
	}
	PG_END_TRY();
	pgstat_report_stat(true);
	return end;
}

static StepEnd
end_failed_step(StatisticsTurn *turn)
{
	ErrorData  *error;
	int			category;

	HOLD_INTERRUPTS();
	disable_timeout(STATEMENT_TIMEOUT, false);
	QueryCancelPending = false;
	MemoryContextSwitchTo(turn->cxt);
	error = CopyErrorData();
	category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
	AbortOutOfAnyTransaction();
	FlushErrorState();
	RESUME_INTERRUPTS();
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 errmsg("could not copy statistics of a storage node: %s", error->message)));
	turn->error = error->message;
	return category == ERRCODE_CONNECTION_EXCEPTION ||
		category == ERRCODE_INSUFFICIENT_RESOURCES ||
		category == ERRCODE_OPERATOR_INTERVENTION ? STEP_FAILED : STEP_REFUSED;
}

/* False if somebody drops, copies or renames the database, or the extension is
 * not there. */
static bool
may_go_on(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_COPIED_STATISTICS)))
		return true;
	shuttle_statistics_not_wanted();
	return false;
}

static void
list_tables(StatisticsTurn *turn)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(turn->cxt);

	turn->tables = shuttle_followed_tables();
	MemoryContextSwitchTo(old_cxt);
}

static void
ask_nodes(StatisticsTurn *turn)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(turn->cxt);

	turn->silent = shuttle_followed_ask(turn->tables, ASK_LIMIT_MS);
	MemoryContextSwitchTo(old_cxt);
}

/* ---- tables */

/* False if the worker must end. */
static bool
copy_tables(StatisticsTurn *turn)
{
	ListCell   *cell;

	foreach(cell, turn->tables)
	{
		StepEnd		end;

		turn->table = lfirst(cell);
		if (!shuttle_followed_is_stale(turn->table) ||
			list_member_oid(turn->silent, turn->table->serverid))
			continue;
		end = run_step(copy_table, turn);
		if (end == STEP_REFUSED)
			end = run_step(record_failure, turn);
		if (end == STEP_LAST)
			return false;
		if (end == STEP_FAILED)
		{
			MemoryContext old_cxt = MemoryContextSwitchTo(turn->cxt);

			turn->silent = lappend_oid(turn->silent, turn->table->serverid);
			MemoryContextSwitchTo(old_cxt);
		}
	}
	return true;
}

/* The node is asked before the lock of ANALYZE is taken. */
static void
copy_table(StatisticsTurn *turn)
{
	const ShuttleFollowedTable *table = turn->table;
	MemoryContext old_cxt;
	Relation	rel;

	if (!ConditionalLockRelationOid(table->relid, AccessShareLock))
		return;
	rel = try_relation_open(table->relid, NoLock);
	if (rel == NULL)
		return;
	shuttle_foreign_analyze_prefetch(rel);
	relation_close(rel, NoLock);
	if (!ConditionalLockRelationOid(table->relid, ShareUpdateExclusiveLock))
		return;
	shuttle_analyze_table(table->relid);
	CommandCounterIncrement();
	record(table->relid, table->analyzed_at, table->changes, NULL);
	old_cxt = MemoryContextSwitchTo(turn->cxt);
	turn->copied = lappend_oid(turn->copied, table->relid);
	MemoryContextSwitchTo(old_cxt);
}

/* It is not tried again before the node analyzes the table again. */
static void
record_failure(StatisticsTurn *turn)
{
	record(turn->table->relid, turn->table->analyzed_at, turn->table->changes, turn->error);
}

/* analyzed_at: 0 for a parent, whose changes are rows of tables copied since. */
static void
record(Oid relid, TimestampTz analyzed_at, double changes, const char *error)
{
	Oid			types[] = {REGCLASSOID, TIMESTAMPTZOID, FLOAT8OID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(relid), TimestampTzGetDatum(analyzed_at), Float8GetDatum(changes),
		error == NULL ? (Datum) 0 : CStringGetTextDatum(error)
	};
	char		nulls[] = {' ', analyzed_at == 0 ? 'n' : ' ', ' ', error == NULL ? 'n' : ' '};

	execute("INSERT INTO shuttle.copied_statistics (relation, copied_at, analyzed_at, changes, error)"
			" VALUES ($1, pg_catalog.now(), $2, $3, $4)"
			" ON CONFLICT (relation) DO UPDATE SET copied_at = excluded.copied_at,"
			" analyzed_at = excluded.analyzed_at, changes = excluded.changes, error = excluded.error",
			4, types, values, nulls);
	SPI_finish();
}

/* ---- parents */

/* Also removes what was recorded of dropped tables. */
static void
list_parents(StatisticsTurn *turn)
{
	static const char *const sql =
		"WITH RECURSIVE up (leaf, id) AS ("
		"SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i"
		" WHERE i.inhrelid OPERATOR(pg_catalog.=) ANY ($1)"
		" UNION SELECT up.leaf, i.inhparent FROM up"
		" JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) up.id),"
		" copied AS (SELECT up.id, pg_catalog.sum(GREATEST(c.reltuples, 0)::pg_catalog.float8) AS rows"
		" FROM up JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) up.leaf GROUP BY up.id)"
		" SELECT p.oid, total.rows, COALESCE(k.changes, 0) OPERATOR(pg_catalog.+) COALESCE(copied.rows, 0),"
		" EXISTS (SELECT FROM pg_catalog.pg_statistic s"
		" WHERE s.starelid OPERATOR(pg_catalog.=) p.oid AND s.stainherit)"
		" FROM pg_catalog.pg_class p"
		" LEFT JOIN copied ON copied.id OPERATOR(pg_catalog.=) p.oid"
		" LEFT JOIN shuttle.copied_statistics k ON k.relation OPERATOR(pg_catalog.=) p.oid,"
		" LATERAL (WITH RECURSIVE down (id) AS (SELECT p.oid UNION SELECT i.inhrelid FROM down"
		" JOIN pg_catalog.pg_inherits i ON i.inhparent OPERATOR(pg_catalog.=) down.id)"
		" SELECT pg_catalog.sum(GREATEST(c.reltuples, 0)::pg_catalog.float8) AS rows"
		" FROM down JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) down.id"
		" WHERE c.relkind OPERATOR(pg_catalog.<>) 'p') AS total"
		" WHERE p.relkind OPERATOR(pg_catalog.=) 'p' AND"
		" (copied.id IS NOT NULL OR k.changes OPERATOR(pg_catalog.>=) total.rows)";
	Datum	   *copied = palloc_array(Datum, Max(1, list_length(turn->copied)));
	Oid			types[] = {OIDARRAYOID};
	Datum		values[1];
	ListCell   *cell;

	foreach(cell, turn->copied)
		copied[foreach_current_index(cell)] = ObjectIdGetDatum(lfirst_oid(cell));
	values[0] = PointerGetDatum(construct_array(copied, list_length(turn->copied), OIDOID,
												sizeof(Oid), true, TYPALIGN_INT));
	execute("DELETE FROM shuttle.copied_statistics AS k WHERE NOT EXISTS (SELECT FROM"
			" pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) k.relation)",
			0, NULL, NULL, NULL);
	SPI_finish();
	execute(sql, 1, types, values, NULL);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		FollowedParent *parent = MemoryContextAllocZero(turn->cxt, sizeof(FollowedParent));
		MemoryContext old_cxt = MemoryContextSwitchTo(turn->cxt);
		bool		is_null;

		parent->relid = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &is_null));
		parent->rows = DatumGetFloat8(SPI_getbinval(tuple, desc, 2, &is_null));
		parent->copied_rows = DatumGetFloat8(SPI_getbinval(tuple, desc, 3, &is_null));
		parent->has_statistics = DatumGetBool(SPI_getbinval(tuple, desc, 4, &is_null));
		turn->parents = lappend(turn->parents, parent);
		MemoryContextSwitchTo(old_cxt);
	}
	SPI_finish();
}

static void
renew_parents(StatisticsTurn *turn)
{
	ListCell   *cell;

	foreach(cell, turn->parents)
	{
		StepEnd		end;

		turn->parent = lfirst(cell);
		end = run_step(renew_parent, turn);
		if (end == STEP_LAST)
			return;
		if (end != STEP_DONE)
			turn->no_samples = true;
	}
}

static void
renew_parent(StatisticsTurn *turn)
{
	const FollowedParent *parent = turn->parent;
	bool		is_due = parent->rows > 0 &&
		(parent->copied_rows >= parent->rows || !parent->has_statistics);
	Relation	rel;

	if (is_due && !turn->no_samples && lock_children(parent->relid, turn->silent))
	{
		shuttle_analyze_table(parent->relid);
		CommandCounterIncrement();
		record(parent->relid, 0, 0, NULL);
		return;
	}
	record(parent->relid, 0, parent->copied_rows, NULL);
	if (!ConditionalLockRelationOid(parent->relid, ShareUpdateExclusiveLock))
		return;
	rel = try_relation_open(parent->relid, NoLock);
	if (rel == NULL)
		return;
	shuttle_set_row_count(rel, parent->rows);
	relation_close(rel, NoLock);
}

/* Takes the locks of ANALYZE, if they are free, and no child is on a server that
 * does not answer. */
static bool
lock_children(Oid relid, List *silent)
{
	ListCell   *cell;

	if (!ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
		return false;
	foreach(cell, find_all_inheritors(relid, NoLock, NULL))
	{
		Oid			child = lfirst_oid(cell);

		if (!ConditionalLockRelationOid(child, AccessShareLock) ||
			(get_rel_relkind(child) == RELKIND_FOREIGN_TABLE &&
			 list_member_oid(silent, GetForeignServerIdByRelId(child))))
			return false;
	}
	return true;
}

/* Connects to SPI, which the caller ends. */
static void
execute(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	if (SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0) < 0)
		elog(ERROR, "could not read or write what was copied");
}

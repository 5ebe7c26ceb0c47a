/*-------------------------------------------------------------------------
 * late_locks.c
 *	  Locks rows of tablets that were read without a lock.
 *
 * Core's LockRows asks for a row when it returns it; a Lock Ahead (lock_ahead.c) asks for
 * several at once before. A row is found by its ctid. One that was changed since it was
 * read has another ctid: SKIP LOCKED leaves it out, as if it had come while the row was
 * being changed. Otherwise the node is asked for the row's last version, which core then
 * tests again (EvalPlanQual).
 *
 * Memory: what is known of a table's locks is in the query's context; rows live until the
 * next ones of the table are locked.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/scan/late_locks.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_late_locks.h"
#include "storage/shuttle_storage.h"

/* A row that was asked for. */
typedef struct LockedRow
{
	ItemPointerData tid;		/* by which it was read */
	HeapTuple	tuple;			/* NULL: it is gone, or locked by another */
	bool		changed;		/* since it was read */
	bool		is_taken;		/* if it is read again, it is asked for again */
} LockedRow;

/* What is known of a table's locks (ExecRowMark.ermExtra). */
typedef struct LateLock
{
	const EState *estate;
	ShuttleNode *node;
	char	   *table;			/* as the node names it */
	char	   *sql;			/* NULL: no row was to be locked yet */
	ShuttleCounters *counters;	/* or NULL */
	ShuttleDecoder *decoder;
	MemoryContext cxt;			/* of the rows */
	LockedRow  *rows;
	int			nrows;
	ShuttleRequest *request;	/* not answered yet */
} LateLock;

/* ---- for the planner */

bool
shuttle_late_locks_are_possible(const ForeignScan *scan)
{
	const char *sql = scan->operation == CMD_SELECT ? shuttle_postgres_fdw_scan_sql(scan) : NULL;

	return sql != NULL && shuttle_remote_sql_limit(sql) < 0;
}

void
shuttle_late_locks_unlock(ForeignScan *scan)
{
	const char *sql = shuttle_remote_sql_without_locks(shuttle_postgres_fdw_scan_sql(scan));

	*scan = *shuttle_postgres_fdw_replace_scan_sql(scan, sql);
}

/* ---- what is known of a table's locks */

/* Rows are locked in the order in which they are asked for. */
static char *
make_sql(const ExecRowMark *mark, const char *table, List **attributes)
{
	const char *policy = shuttle_foreign_lock_policy(mark->waitPolicy);
	Relation	rel = mark->relation;
	StringInfoData sql;

	*attributes = NIL;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT k.n");
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		if (TupleDescAttr(RelationGetDescr(rel), i)->attisdropped)
			continue;
		appendStringInfoString(&sql, ", t.");
		shuttle_remote_append_column(&sql, rel, i + 1);
		*attributes = lappend_int(*attributes, i + 1);
	}
	*attributes = lappend_int(*attributes, SelfItemPointerAttributeNumber);
	appendStringInfo(&sql, ", t.ctid FROM ROWS FROM (pg_catalog.unnest((SELECT $1::pg_catalog.tid[]))) WITH ORDINALITY AS k(c, n), %s AS t"
					 " WHERE t.ctid OPERATOR(pg_catalog.=) k.c ORDER BY k.n FOR %s OF t %s",
					 table, shuttle_foreign_lock_strength(mark->strength), policy == NULL ? "" : policy);
	return sql.data;
}

void
shuttle_late_lock_begin(ForeignScanState *scan)
{
	EState	   *estate = scan->ss.ps.state;
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;
	int			rtindex = -1;

	while ((rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
	{
		LateLock   *lock;

		if (!shuttle_scan_locks_late(estate, rtindex))
			continue;
		lock = MemoryContextAllocZero(estate->es_query_cxt, sizeof(LateLock));
		lock->estate = estate;
		lock->node = shuttle_scan_node(scan);
		estate->es_rowmarks[rtindex - 1]->ermExtra = lock;
	}
}

/* Of many tablets, few have rows that are locked. */
static void
get_ready(LateLock *lock, const ExecRowMark *mark)
{
	MemoryContext cxt = lock->estate->es_query_cxt;
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	StringInfoData table;
	List	   *attributes;

	initStringInfo(&table);
	shuttle_remote_append_table(&table, mark->relation);
	lock->table = table.data;
	lock->sql = make_sql(mark, table.data, &attributes);
	lock->decoder = shuttle_row_decoder_create(RelationGetDescr(mark->relation), attributes, 1,
											   mark->relation, lock->node, cxt);
	lock->cxt = AllocSetContextCreate(cxt, "shuttle late locks", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_late_lock_count(ExecRowMark *mark, ShuttleCounters *counters)
{
	if (mark->ermExtra != NULL)
		((LateLock *) mark->ermExtra)->counters = counters;
}

/* ---- asking */

static char *
array_of(const LockedRow *rows, int nrows)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < nrows; i++)
		appendStringInfo(&text, "%s\"(%u,%u)\"", i == 0 ? "{" : ",",
						 ItemPointerGetBlockNumber(&rows[i].tid), ItemPointerGetOffsetNumber(&rows[i].tid));
	appendStringInfoChar(&text, '}');
	return text.data;
}

void
shuttle_late_lock_send(ExecRowMark *mark, const ItemPointerData *tids, int ntids)
{
	LateLock   *lock = mark->ermExtra;
	ShuttleStatement statement = {
		.nparams = 1,
		.effect = SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = ntids,
		.whole = true,
		.snapshot = shuttle_scan_snapshot((EState *) lock->estate),
		.counters = lock->counters,
	};
	MemoryContext old_cxt;
	const char *tid_array;

	if (lock->sql == NULL)
		get_ready(lock, mark);
	statement.sql = lock->sql;
	statement.decoder = lock->decoder;
	lock->request = NULL;
	MemoryContextReset(lock->cxt);
	old_cxt = MemoryContextSwitchTo(lock->cxt);
	lock->rows = palloc0_array(LockedRow, ntids);
	lock->nrows = ntids;
	for (int i = 0; i < ntids; i++)
		lock->rows[i].tid = tids[i];
	tid_array = array_of(lock->rows, ntids);
	statement.values = &tid_array;
	lock->request = shuttle_request_send(lock->node, &statement, lock->cxt);
	MemoryContextSwitchTo(old_cxt);
}

static void
take_tid(void *arg, const ShuttleRow *row)
{
	ItemPointer tid = arg;

	if (row->values[0] != NULL)
		*tid = *(ItemPointer) DatumGetPointer(DirectFunctionCall1(tidin, CStringGetDatum(row->values[0])));
}

/* Where the last version of a row is; the same ctid if the row is gone. */
static ItemPointerData
last_version(const LateLock *lock, ItemPointerData tid)
{
	ItemPointerData last = tid;

	shuttle_query(lock->node, psprintf("SELECT pg_catalog.currtid2(%s, '(%u,%u)'::pg_catalog.tid)", quote_literal_cstr(lock->table),
									   ItemPointerGetBlockNumber(&tid), ItemPointerGetOffsetNumber(&tid)),
				  SHUTTLE_LOCKS, 1, take_tid, &last);
	return last;
}

static void
take_answer(LateLock *lock)
{
	ShuttleRequest *request = lock->request;
	MemoryContext old_cxt = MemoryContextSwitchTo(lock->cxt);
	ShuttleRow	row;

	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
	{
		int64		number = shuttle_row_int64(&row, 0);
		LockedRow  *locked;

		if (number < 1 || number > lock->nrows)
			elog(ERROR, "unexpected row " INT64_FORMAT " of %d to be locked", number, lock->nrows);
		locked = &lock->rows[number - 1];
		locked->tuple = shuttle_row_decoder_tuple(lock->decoder, &row);
		locked->changed = !ItemPointerEquals(&locked->tuple->t_self, &locked->tid);
	}
	lock->request = NULL;
	shuttle_request_close(request);
	MemoryContextSwitchTo(old_cxt);
}

static LockedRow *
find_row(const LateLock *lock, ItemPointer tid)
{
	for (int i = 0; i < lock->nrows; i++)
	{
		if (!lock->rows[i].is_taken && ItemPointerEquals(&lock->rows[i].tid, tid))
			return &lock->rows[i];
	}
	return NULL;
}

/* Locks one row, and follows its versions until one is locked or none is left. */
static LockedRow *
lock_one(ExecRowMark *mark, ItemPointerData tid)
{
	LateLock   *lock = mark->ermExtra;
	ItemPointerData last = tid;

	for (;;)
	{
		ItemPointerData tried = last;

		shuttle_late_lock_send(mark, &tried, 1);
		take_answer(lock);
		if (lock->rows[0].tuple != NULL || mark->waitPolicy == LockWaitSkip)
			break;
		last = last_version(lock, tried);
		if (ItemPointerEquals(&last, &tried))
			break;
	}
	lock->rows[0].changed |= !ItemPointerEquals(&last, &tid);
	return &lock->rows[0];
}

/* Core's callback. */
static void
refetch_row(EState *estate, ExecRowMark *mark, Datum rowid, TupleTableSlot *slot, bool *updated)
{
	LateLock   *lock = mark->ermExtra;
	ItemPointer tid = (ItemPointer) DatumGetPointer(rowid);
	LockedRow  *row;

	if (lock->request != NULL)
		take_answer(lock);
	row = find_row(lock, tid);
	if (row == NULL || (row->tuple == NULL && mark->waitPolicy != LockWaitSkip))
		row = lock_one(mark, *tid);
	ExecClearTuple(slot);
	*updated = row->changed;
	row->is_taken = true;
	if (row->tuple == NULL)
		return;
	row->tuple->t_tableOid = mark->relid;
	ExecForceStoreHeapTuple(row->tuple, slot, false);
}

void
shuttle_late_locks_fill(FdwRoutine *routine)
{
	routine->RefetchForeignRow = refetch_row;
}

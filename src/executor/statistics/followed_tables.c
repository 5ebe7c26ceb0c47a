/*-------------------------------------------------------------------------
 * followed_tables.c
 *	  Finds tables whose node has analyzed them since their statistics were
 *	  copied.
 *
 * The extension's table copied_statistics has the node's state at the last
 * copy. States are only compared with states of the same node: clocks differ,
 * and a node that lost its counters has no time of an ANALYZE, which says
 * nothing. A table that its node has never analyzed is left to the node's
 * autovacuum.
 *
 * One request a node asks for the state of all its tables.
 *
 * Memory: the caller's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/fdw/fdw.h"
#include "executor/statistics/statistics.h"
#include "tablets/shuttle_tablets.h"

/* As autovacuum's defaults. */
#define CHANGED_ROWS 50
#define CHANGED_SHARE 0.1

/* Columns of a node's answer. */
enum
{
	ANSWER_ORDINAL,
	ANSWER_ANALYZED_AT,			/* in us since 1970 */
	ANSWER_CHANGES,
	NANSWER_COLUMNS
};

/* A node and its tables, by the mapping of their owner. */
typedef struct AskedTables
{
	Oid			serverid;
	Oid			owner;
	List	   *tables;			/* of ShuttleFollowedTable */
} AskedTables;

static ShuttleFollowedTable *read_listed(HeapTuple tuple, TupleDesc desc);
static bool find_remote_name(ShuttleFollowedTable *table);
static List *group_by_node(List *tables);
static char *state_sql(const AskedTables *asked);
static void take_state(void *arg, const ShuttleRow *row);

List *
shuttle_followed_tables(void)
{
	static const char *const sql =
		"SELECT t.ftrelid, t.ftserver, c.relowner, c.reltuples::pg_catalog.float8,"
		" k.relation IS NOT NULL, k.error IS NOT NULL, k.analyzed_at, k.changes"
		" FROM " SHUTTLE_OUR_TABLES_SQL
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.ftrelid"
		" LEFT JOIN shuttle.copied_statistics k ON k.relation OPERATOR(pg_catalog.=) t.ftrelid";
	MemoryContext cxt = CurrentMemoryContext;
	List	   *tables = NIL;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	if (SPI_execute(sql, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list foreign tables");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
		ShuttleFollowedTable *table = read_listed(SPI_tuptable->vals[i],
												  SPI_tuptable->tupdesc);

		if ((shuttle_settings.statistics_tables == SHUTTLE_STATISTICS_OF_ALL ||
			 shuttle_table_kind(table->relid) == SHUTTLE_TABLE_TABLET) &&
			find_remote_name(table))
			tables = lappend(tables, table);
		MemoryContextSwitchTo(old_cxt);
	}
	SPI_finish();
	return tables;
}

static ShuttleFollowedTable *
read_listed(HeapTuple tuple, TupleDesc desc)
{
	ShuttleFollowedTable *table = palloc0_object(ShuttleFollowedTable);
	bool		is_null;
	Datum		value;

	table->relid = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &is_null));
	table->serverid = DatumGetObjectId(SPI_getbinval(tuple, desc, 2, &is_null));
	table->owner = DatumGetObjectId(SPI_getbinval(tuple, desc, 3, &is_null));
	table->rows = DatumGetFloat8(SPI_getbinval(tuple, desc, 4, &is_null));
	table->is_copied = DatumGetBool(SPI_getbinval(tuple, desc, 5, &is_null));
	table->has_failed = DatumGetBool(SPI_getbinval(tuple, desc, 6, &is_null));
	value = SPI_getbinval(tuple, desc, 7, &is_null);
	if (!is_null)
		table->copied_analyzed_at = DatumGetTimestampTz(value);
	value = SPI_getbinval(tuple, desc, 8, &is_null);
	if (!is_null)
		table->copied_changes = DatumGetFloat8(value);
	return table;
}

/* False if the table was dropped or is locked: nobody waits for DDL, and the lock
 * is not kept. */
static bool
find_remote_name(ShuttleFollowedTable *table)
{
	Relation	rel;

	if (!ConditionalLockRelationOid(table->relid, AccessShareLock))
		return false;
	rel = try_relation_open(table->relid, NoLock);
	if (rel != NULL)
	{
		shuttle_remote_table_name(rel, &table->schema, &table->name);
		relation_close(rel, NoLock);
	}
	UnlockRelationOid(table->relid, AccessShareLock);
	return rel != NULL;
}

List *
shuttle_followed_ask(List *tables, int limit_ms)
{
	List	   *nodes = group_by_node(tables);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, Max(1, list_length(nodes)));
	List	   *silent = NIL;
	ListCell   *cell;

	foreach(cell, nodes)
	{
		AskedTables *asked = lfirst(cell);
		ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		run->serverid = asked->serverid;
		run->name = GetForeignServer(asked->serverid)->servername;
		run->userid = asked->owner;
		run->side = shuttle_outside_side_create();
		run->sql = state_sql(asked);
		run->row = take_state;
		run->row_arg = asked;
		run->ncolumns = NANSWER_COLUMNS;
		run->ok = true;
		run->nrows = -1;
	}
	if (nodes != NIL)
		shuttle_outside_run(NULL, GetUserId(), runs, list_length(nodes), limit_ms);
	for (int i = 0; i < list_length(nodes); i++)
	{
		if (runs[i].ok)
			continue;
		silent = lappend_oid(silent, runs[i].serverid);
		ereport(DEBUG1,
				(errmsg_internal("storage node \"%s\" did not say what it has analyzed: %s",
								 runs[i].name, runs[i].error)));
	}
	return silent;
}

static List *
group_by_node(List *tables)
{
	List	   *nodes = NIL;
	ListCell   *cell;

	foreach(cell, tables)
	{
		ShuttleFollowedTable *table = lfirst(cell);
		AskedTables *asked = NULL;
		ListCell   *inner;

		foreach(inner, nodes)
		{
			AskedTables *candidate = lfirst(inner);

			if (candidate->serverid == table->serverid && candidate->owner == table->owner)
				asked = candidate;
		}
		if (asked == NULL)
		{
			asked = palloc0_object(AskedTables);
			asked->serverid = table->serverid;
			asked->owner = table->owner;
			nodes = lappend(nodes, asked);
		}
		asked->tables = lappend(asked->tables, table);
	}
	return nodes;
}

static char *
state_sql(const AskedTables *asked)
{
	List	   *schemas = NIL;
	List	   *names = NIL;
	StringInfoData sql;
	ListCell   *cell;

	foreach(cell, asked->tables)
	{
		const ShuttleFollowedTable *table = lfirst(cell);

		schemas = lappend(schemas, table->schema);
		names = lappend(names, table->name);
	}
	initStringInfo(&sql);
	appendStringInfoString(&sql,
						   SHUTTLE_RUN_AT_ONCE "SELECT asked.ord,"
						   " (EXTRACT(EPOCH FROM GREATEST(pg_catalog.pg_stat_get_last_analyze_time(rel.oid),"
						   " pg_catalog.pg_stat_get_last_autoanalyze_time(rel.oid)))"
						   " OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8,"
						   " pg_catalog.pg_stat_get_mod_since_analyze(rel.oid)"
						   " FROM ROWS FROM (pg_catalog.unnest(");
	shuttle_analyze_append_names(&sql, schemas);
	appendStringInfoString(&sql, "), pg_catalog.unnest(");
	shuttle_analyze_append_names(&sql, names);
	appendStringInfoString(&sql,
						   ")) WITH ORDINALITY AS asked (schema, name, ord)"
						   " JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) asked.schema"
						   " JOIN pg_catalog.pg_class rel ON rel.relnamespace OPERATOR(pg_catalog.=) n.oid"
						   " AND rel.relname OPERATOR(pg_catalog.=) asked.name");
	return sql.data;
}

/* A missing value is an empty text. */
static void
take_state(void *arg, const ShuttleRow *row)
{
	const AskedTables *asked = arg;
	int64		ordinal = strtoll(row->values[ANSWER_ORDINAL], NULL, 10);
	ShuttleFollowedTable *table;

	if (ordinal < 1 || ordinal > list_length(asked->tables))
		return;
	table = list_nth(asked->tables, ordinal - 1);
	table->is_answered = true;
	if (row->values[ANSWER_ANALYZED_AT][0] != '\0')
		table->analyzed_at = strtoll(row->values[ANSWER_ANALYZED_AT], NULL, 10) -
			(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	table->changes = strtod(row->values[ANSWER_CHANGES], NULL);
}

bool
shuttle_followed_is_stale(const ShuttleFollowedTable *table)
{
	if (!table->is_answered || table->analyzed_at == 0)
		return false;

	/* pg_upgrade keeps what was copied, but not the statistics */
	return !table->is_copied || table->analyzed_at != table->copied_analyzed_at ||
		(table->rows < 0 && !table->has_failed) ||
		table->changes >= table->copied_changes + CHANGED_ROWS +
		CHANGED_SHARE * Max(table->rows, 0);
}

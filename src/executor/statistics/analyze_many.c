/*-------------------------------------------------------------------------
 * analyze_many.c
 *	  shuttle.analyze(): ANALYZE of all foreign tables of our servers.
 *
 * Tables are taken in groups. All nodes of a group are asked at once for their
 * statistics; then core analyzes each table, in a subtransaction of its own,
 * and our callback finds the answer here. A node that cannot be reached is
 * tried once; its tables are reported as failed.
 *
 * Then come parents of foreign tables, for which rows are sampled as in any
 * ANALYZE.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "executor/facts/safe_values.h"
#include "executor/fdw/fdw.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

#define GROUP_TABLES 100
#define NOTICE_SECONDS 5.0
#define NCOLUMNS 6

/* A table of the list. */
typedef struct Listed
{
	Oid			relid;
	Oid			serverid;		/* InvalidOid: not a foreign table itself */
	Oid			owner;
	bool		permitted;		/* the caller may analyze it */
	ErrorData  *error;			/* its node failed already */
} Listed;

/* A node and the group's tables on it. */
typedef struct AskedNode
{
	Oid			serverid;
	Oid			owner;			/* owner of the tables, whose mapping is used */
	ShuttleNode *node;
	List	   *schemas;
	List	   *names;
	List	   *tables;			/* of Listed */
	ShuttleRequest *request;
	bool		done;
} AskedNode;

/* A group of tables. */
typedef struct TableGroup
{
	Listed	   *tables;
	int			ntables;
	List	   *asked;			/* of AskedNode */
	AskedNode  *current;		/* the one being worked on */
	MemoryContext cxt;			/* holds all of this */
	MemoryContext round_cxt;	/* requests of one round */
} TableGroup;

SHUTTLE_SQL_FUNCTION(shuttle_analyze);

static Listed *list_tables(const char *schema, int *ntables);
static bool may_analyze(Oid relid);
static void ask_group(TableGroup *group);
static void add_table(TableGroup *group, Listed *table);
static AskedNode *find_asked(TableGroup *group, const Listed *table);
static void ask_nodes(void *arg);
static void send_request(TableGroup *group, AskedNode *asked);
static void read_answer(TableGroup *group, AskedNode *asked);
static void keep_known(TableGroup *group, AskedNode *asked, ShuttleNodeTable *tables);
static void blame_node(AskedNode *asked, ErrorData *error);
static void analyze_listed(Listed *table, ReturnSetInfo *result);
static void analyze_one(void *arg);
static void put_table(ReturnSetInfo *result, const Listed *table,
					  const char *how, double seconds, const ErrorData *error);
static double rows_of(Oid relid);
static double seconds_since(instr_time start);

/* shuttle.analyze(schema) */
Datum
shuttle_analyze(PG_FUNCTION_ARGS)
{
	const char *schema = PG_ARGISNULL(0) ? NULL : NameStr(*PG_GETARG_NAME(0));
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Listed	   *tables;
	int			ntables;
	instr_time	noticed;

	PreventCommandDuringRecovery("shuttle.analyze()");
	if (schema != NULL)
		(void) get_namespace_oid(schema, false);
	InitMaterializedSRF(fcinfo, 0);
	tables = list_tables(schema, &ntables);
	INSTR_TIME_SET_CURRENT(noticed);

	for (int first = 0; first < ntables; first += GROUP_TABLES)
	{
		TableGroup	group = {
			.tables = tables + first,
			.ntables = Min(GROUP_TABLES, ntables - first),
			.cxt = AllocSetContextCreate(CurrentMemoryContext, "pg_shuttle analyze",
										 ALLOCSET_DEFAULT_SIZES),
		};
		MemoryContext old_cxt = MemoryContextSwitchTo(group.cxt);

		ask_group(&group);
		for (int i = 0; i < group.ntables; i++)
		{
			if (seconds_since(noticed) >= NOTICE_SECONDS)
			{
				ereport(NOTICE,
						(errmsg("analyzed %d of %d tables", first + i, ntables)));
				INSTR_TIME_SET_CURRENT(noticed);
			}
			CHECK_FOR_INTERRUPTS();
			analyze_listed(&group.tables[i], result);
		}
		MemoryContextSwitchTo(old_cxt);
		MemoryContextDelete(group.cxt);
	}
	return (Datum) 0;
}

/* Our foreign tables, then their parents, lowest level first. Tablets count as tables of their table's
 * schema. */
static Listed *
list_tables(const char *schema, int *ntables)
{
	static const char *const sql =
		"WITH RECURSIVE tree (id, level) AS (SELECT t.ftrelid, 0"
		" FROM " SHUTTLE_OUR_TABLES_SQL
		" UNION SELECT i.inhparent, tree.level OPERATOR(pg_catalog.+) 1"
		" FROM tree JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) tree.id)"
		" SELECT c.oid, f.ftserver, c.relowner FROM tree"
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) tree.id"
		" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
		" LEFT JOIN pg_catalog.pg_foreign_table f ON f.ftrelid OPERATOR(pg_catalog.=) c.oid"
		" WHERE n.nspname OPERATOR(pg_catalog.=) COALESCE($1, n.nspname)"
		" OR (n.nspname OPERATOR(pg_catalog.=) '" SHUTTLE_TABLETS_SCHEMA "' AND EXISTS (SELECT FROM pg_catalog.pg_class r"
		" JOIN pg_catalog.pg_namespace rn ON rn.oid OPERATOR(pg_catalog.=) r.relnamespace"
		" WHERE r.oid OPERATOR(pg_catalog.=) pg_catalog.pg_partition_root(c.oid) AND rn.nspname OPERATOR(pg_catalog.=) $1))"
		" GROUP BY c.oid, f.ftserver, c.relowner, n.nspname, c.relname"
		" ORDER BY pg_catalog.max(level), n.nspname, c.relname";
	MemoryContext cxt = CurrentMemoryContext;
	Oid			types[] = {NAMEOID};
	Datum		values[] = {CStringGetDatum(schema)};
	char		nulls[] = {schema == NULL ? 'n' : ' '};
	Listed	   *tables;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	if (SPI_execute_with_args(sql, 1, types, values, nulls, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list foreign tables");
	*ntables = SPI_processed;
	tables = MemoryContextAllocZero(cxt, Max(1, *ntables) * sizeof(Listed));
	for (int i = 0; i < *ntables; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		is_null;

		tables[i].relid = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &is_null));
		tables[i].serverid = DatumGetObjectId(SPI_getbinval(tuple, desc, 2, &is_null));
		tables[i].owner = DatumGetObjectId(SPI_getbinval(tuple, desc, 3, &is_null));
	}
	SPI_finish();
	return tables;
}

/* Asks all nodes of the group at once. If one fails, another round asks again
 * without it. */
static void
ask_group(TableGroup *group)
{
	ErrorData  *error;

	for (int i = 0; i < group->ntables; i++)
	{
		group->tables[i].permitted = may_analyze(group->tables[i].relid);
		if (group->tables[i].permitted && OidIsValid(group->tables[i].serverid))
			add_table(group, &group->tables[i]);
	}
	do
	{
		group->round_cxt = AllocSetContextCreate(group->cxt, "pg_shuttle analyze round",
												 ALLOCSET_SMALL_SIZES);
		error = shuttle_caught_error_run(ask_nodes, group);

		/* free unread requests, which the node's next request would resume */
		MemoryContextDelete(group->round_cxt);
		if (error != NULL && group->current == NULL)
			ReThrowError(error);
		if (error != NULL)
			blame_node(group->current, error);
	} while (error != NULL);
}

/* As core's ANALYZE checks it, with its warning. */
static bool
may_analyze(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		permitted;

	if (!HeapTupleIsValid(tuple))
		return false;			/* dropped meanwhile */
	permitted = vacuum_is_permitted_for_relation(relid,
												 (Form_pg_class) GETSTRUCT(tuple),
												 VACOPT_ANALYZE);
	ReleaseSysCache(tuple);
	return permitted;
}

static void
add_table(TableGroup *group, Listed *table)
{
	Relation	rel = try_relation_open(table->relid, AccessShareLock);
	AskedNode  *asked;
	char	   *schema;
	char	   *name;

	if (rel == NULL)
		return;
	shuttle_remote_table_name(rel, &schema, &name);
	asked = find_asked(group, table);
	asked->tables = lappend(asked->tables, table);
	asked->schemas = lappend(asked->schemas, pstrdup(schema));
	asked->names = lappend(asked->names, pstrdup(name));
	relation_close(rel, AccessShareLock);
}

static AskedNode *
find_asked(TableGroup *group, const Listed *table)
{
	AskedNode  *asked;
	ListCell   *cell;

	foreach(cell, group->asked)
	{
		asked = lfirst(cell);
		if (asked->serverid == table->serverid && asked->owner == table->owner)
			return asked;
	}
	asked = palloc0(sizeof(AskedNode));
	asked->serverid = table->serverid;
	asked->owner = table->owner;
	group->asked = lappend(group->asked, asked);
	return asked;
}

static void
ask_nodes(void *arg)
{
	TableGroup *group = arg;
	ListCell   *cell;

	foreach(cell, group->asked)
	{
		group->current = lfirst(cell);
		if (!group->current->done)
			send_request(group, group->current);
	}
	foreach(cell, group->asked)
	{
		group->current = lfirst(cell);
		if (!group->current->done)
			read_answer(group, group->current);
	}
	group->current = NULL;
}

static void
send_request(TableGroup *group, AskedNode *asked)
{
	ShuttleStatement statement = {
		.sql = shuttle_analyze_node_tables_sql(asked->schemas, asked->names),
		.effect = SHUTTLE_READS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.speculative = true,
	};

	asked->request = shuttle_request_send(shuttle_connection_get(asked->serverid, asked->owner),
										  &statement, group->round_cxt);
}

/*
 * If the node raises an error, each table is asked for again, which reports it.
 */
static void
read_answer(TableGroup *group, AskedNode *asked)
{
	ShuttleNodeTable *tables = palloc0_array(ShuttleNodeTable, list_length(asked->names));
	ShuttleStatus status;
	ShuttleRow	row;

	while ((status = shuttle_request_fetch(asked->request, true, &row)) == SHUTTLE_ROW)
		shuttle_analyze_node_tables_take(tables, list_length(asked->names), &row);
	shuttle_request_close(asked->request);
	if (status == SHUTTLE_END)
		keep_known(group, asked, tables);
	asked->done = true;
}

static void
keep_known(TableGroup *group, AskedNode *asked, ShuttleNodeTable *tables)
{
	ListCell   *cell;

	foreach(cell, asked->tables)
	{
		ShuttleNodeTable *table = &tables[foreach_current_index(cell)];
		ShuttleKnownTable *known;

		if (table->kind == '\0')
			continue;
		known = shuttle_analyze_known_create(((Listed *) lfirst(cell))->relid);
		known->prefetched = true;
		known->table = *table;
	}
}

/* Fails all tables of a node that cannot be reached. */
static void
blame_node(AskedNode *asked, ErrorData *error)
{
	ListCell   *cell;

	asked->done = true;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_CONNECTION_EXCEPTION)
		return;
	foreach(cell, asked->tables)
		((Listed *) lfirst(cell))->error = error;
}

static void
analyze_listed(Listed *table, ReturnSetInfo *result)
{
	instr_time	start;
	ErrorData  *error = table->error;

	INSTR_TIME_SET_CURRENT(start);
	shuttle_foreign_analyze_outcome = SHUTTLE_NOT_ANALYZED;
	if (table->permitted && error == NULL)
		error = shuttle_caught_error_run(analyze_one, table);
	put_table(result, table,
			  error != NULL ? "failed" :
			  shuttle_foreign_analyze_outcome == SHUTTLE_COPIED ? "copied" :
			  shuttle_foreign_analyze_outcome == SHUTTLE_SAMPLED ? "sampled" : "skipped",
			  seconds_since(start), error);
}

static void
analyze_one(void *arg)
{
	shuttle_analyze_table(((Listed *) arg)->relid);
	CommandCounterIncrement();
}

static void
put_table(ReturnSetInfo *result, const Listed *table, const char *how,
		  double seconds, const ErrorData *error)
{
	NameData	server;
	Datum		values[NCOLUMNS] = {0};
	bool		nulls[NCOLUMNS] = {false};

	values[0] = ObjectIdGetDatum(table->relid);
	nulls[1] = !OidIsValid(table->serverid);
	if (!nulls[1])
	{
		namestrcpy(&server, GetForeignServer(table->serverid)->servername);
		values[1] = NameGetDatum(&server);
	}
	values[2] = CStringGetTextDatum(how);
	values[3] = Float8GetDatum(rows_of(table->relid));
	nulls[3] = DatumGetFloat8(values[3]) < 0;
	values[4] = Float8GetDatum(seconds);
	nulls[5] = error == NULL;
	if (!nulls[5])
		values[5] = CStringGetTextDatum(error->message);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* reltuples of a table; negative: unknown. */
static double
rows_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		rows = -1;

	if (HeapTupleIsValid(tuple))
	{
		rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return rows;
}

static double
seconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now);
}

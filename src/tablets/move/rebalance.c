/*-------------------------------------------------------------------------
 * rebalance.c
 *	  shuttle.rebalance_plan(), shuttle.rebalance() and shuttle.drain_node().
 *
 * The moves of a plan are made one after the other, each as shuttle.move_tablet() does:
 * an error or a cancel leaves those that are done. Tablets that were dropped or moved
 * since the plan was made are skipped. One session at a time rebalances or drains: two
 * plans made independently could move tablets back and forth.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/places.h"
#include "tablets/distribute/distribute.h"
#include "tablets/move/balance.h"
#include "tablets/move/move.h"
#include "tablets/move/settle.h"

#define PLAN_NCOLUMNS 7

SHUTTLE_SQL_FUNCTION(shuttle_rebalance_plan);
SHUTTLE_SQL_FUNCTION(shuttle_rebalance);
SHUTTLE_SQL_FUNCTION(shuttle_drain_node);

static const char *const by_names[] = {
	[SHUTTLE_BALANCE_BYTES] = "bytes",
	[SHUTTLE_BALANCE_ROWS] = "rows",
	[SHUTTLE_BALANCE_TABLETS] = "tablets",
};

/* Tables made by hand: there is no telling which rows they have. */
static const char *const others_query =
"SELECT ftrelid::regclass::text FROM pg_foreign_table JOIN pg_class AS c ON c.oid = ftrelid"
" WHERE ftserver = $1 AND relnamespace IS DISTINCT FROM to_regnamespace('pg_shuttle_copies')"
" AND NOT EXISTS (SELECT FROM pg_inherits JOIN shuttle.tables ON relation = inhparent WHERE inhrelid = ftrelid) ORDER BY 1 LIMIT 1";

/* ---- arguments */

pg_noreturn static void
refuse_value(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errhint("%s", hint)));
}

static ShuttleBalanceBy
find_by(const char *name)
{
	for (int i = 0; i < lengthof(by_names); i++)
	{
		if (strcmp(by_names[i], name) == 0)
			return (ShuttleBalanceBy) i;
	}
	refuse_value(psprintf("tablets cannot be balanced by \"%s\"", name),
				 "Balance them by \"bytes\", \"rows\" or \"tablets\".");
}

static void
set_weight(ShuttleBalance *balance, const char *server, const char *type, const char *value)
{
	Oid			serverid = shuttle_node_find(server);
	double		weight = strcmp(type, "number") == 0 ?
		DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(value))) : -1;

	if (weight < 0)
		refuse_value(psprintf("weight of storage node \"%s\" is not a number from 0 on", server),
					 "A node has weight 1 if none is given; one of weight 0 is emptied.");
	for (int i = 0; i < balance->nnodes; i++)
	{
		if (balance->servers[i] == serverid)
			balance->weights[i] = weight;
	}
}

static void
set_weights(ShuttleBalance *balance, Datum weights)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(jsonb_out, weights));
	char	   *query;
	ListCell   *cell;

	if (!JB_ROOT_IS_OBJECT(DatumGetJsonbP(weights)))
		refuse_value("weights of storage nodes are not a JSON object",
					 "Give them as '{\"node1\": 2, \"node2\": 1}'.");
	query = psprintf("SELECT key, jsonb_typeof(value), value #>> '{}' FROM jsonb_each(%s) WHERE $1 IS NOT NULL",
					 quote_literal_cstr(text));
	foreach(cell, shuttle_local_rows(query, InvalidOid))
	{
		char	  **row = lfirst(cell);

		set_weight(balance, row[0], row[1], row[2]);
	}
}

/* Arguments are those of both functions: by, weights, threshold, colocated_with. */
static ShuttleBalance *
make_plan(FunctionCallInfo fcinfo)
{
	ShuttleBalance *balance;
	ShuttleBalanceBy by;
	double		threshold;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("what is balanced and the threshold must not be null")));
	by = find_by(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	threshold = PG_GETARG_FLOAT8(2);
	if (!(threshold >= 0 && threshold <= 1))
		refuse_value("threshold is not between 0 and 1",
					 "With 0.1 a node may hold 10 % more or less than its share.");
	balance = shuttle_balance_read(by, PG_ARGISNULL(3) ? InvalidOid : PG_GETARG_OID(3));
	if (!PG_ARGISNULL(1))
		set_weights(balance, PG_GETARG_DATUM(1));
	shuttle_balance_empty(balance, true);
	shuttle_balance_spread(balance, threshold);
	shuttle_balance_follow(balance);
	return balance;
}

/* ---- the plan */

static void
put_move(ReturnSetInfo *result, const ShuttleBalance *balance, const ShuttleBalanceUnit *unit)
{
	bool		nulls[PLAN_NCOLUMNS] = {false};
	NameData	source;
	NameData	target;
	Datum		values[PLAN_NCOLUMNS] = {
		ObjectIdGetDatum(get_partition_parent(unit->tablet, false)), ObjectIdGetDatum(unit->tablet),
		Int32GetDatum(list_length(balance->members[unit->group])),
		NameGetDatum(&source), NameGetDatum(&target),
		Int64GetDatum(unit->rows), Int64GetDatum(unit->bytes),
	};

	namestrcpy(&source, GetForeignServer(balance->servers[unit->source])->servername);
	namestrcpy(&target, GetForeignServer(balance->servers[unit->target])->servername);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* shuttle.rebalance_plan(by, weights, threshold, colocated_with) */
Datum
shuttle_rebalance_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ShuttleBalance *balance;

	InitMaterializedSRF(fcinfo, 0);
	balance = make_plan(fcinfo);
	for (int i = 0; i < balance->nunits; i++)
	{
		if (balance->units[i].source != balance->units[i].target)
			put_move(result, balance, &balance->units[i]);
	}
	return (Datum) 0;
}

/* ---- moves */

/* One object of the database, which nobody else locks. */
static LOCKTAG
balance_lock(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, shuttle_extension_table(SHUTTLE_TABLE_TABLES), InvalidOid, 0);
	return tag;
}

void
shuttle_rebalance_begin(void)
{
	LOCKTAG		tag = balance_lock();

	if (LockAcquire(&tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another session is rebalancing tablets or draining a node"),
				 errhint("The view shuttle.progress shows it. Repeat the call when it is done.")));
}

void
shuttle_rebalance_end(void)
{
	LOCKTAG		tag = balance_lock();

	(void) LockRelease(&tag, ExclusiveLock, true);
}

/* One move of a list, for messages. */
typedef struct ListedMove
{
	const char *tablet;
	const char *target;
	int			number;			/* from 1 on */
	int			nmoves;
} ListedMove;

static void
tell_move(void *arg)
{
	const ListedMove *move = arg;

	errcontext("moving tablet \"%s\" to storage node \"%s\", %d of %d; those before it have moved",
			   move->tablet, move->target, move->number, move->nmoves);
}

static void
move_listed(const ShuttleBalance *balance, const ShuttleBalanceUnit *unit, int number, int nmoves)
{
	Oid			target = balance->servers[unit->target];
	char	   *tablet = get_rel_name(unit->tablet);
	ListedMove	move = {.tablet = tablet,.number = number,.nmoves = nmoves};
	ErrorContextCallback callback = {.callback = tell_move,.arg = &move,.previous = error_context_stack};

	if (tablet == NULL)			/* dropped since */
		return;
	move.target = GetForeignServer(target)->servername;
	error_context_stack = &callback;
	if (shuttle_move_run(unit->tablet, balance->servers[unit->source], target, false, number, nmoves))
		ereport(NOTICE,
				(errmsg("tablet \"%s\" is on storage node \"%s\", %d of %d", tablet, move.target, number, nmoves),
				 errhidecontext(true)));
	error_context_stack = callback.previous;
}

/* What cannot move, and what nodes lack, is said before anything moves. */
static void
check_moves(const ShuttleBalance *balance)
{
	bool	   *tables = palloc0_array(bool, balance->ngroups * balance->nnodes + 1);
	bool	   *nodes = palloc0_array(bool, balance->nnodes * balance->nnodes);

	for (int i = 0; i < balance->nunits; i++)
	{
		const ShuttleBalanceUnit *unit = &balance->units[i];
		bool	   *group = &tables[unit->group * balance->nnodes + unit->source];
		bool	   *pair = &nodes[unit->source * balance->nnodes + unit->target];

		if (unit->source == unit->target)
			continue;
		if (!*group)
			shuttle_move_check_tables(balance->members[unit->group], balance->servers[unit->source]);
		if (!*pair)
			shuttle_move_check_nodes(balance->servers[unit->source], balance->servers[unit->target]);
		*group = *pair = true;
	}
}

static int
count_moves(const ShuttleBalance *balance)
{
	int			nmoves = 0;

	for (int i = 0; i < balance->nunits; i++)
		nmoves += balance->units[i].source != balance->units[i].target;
	return nmoves;
}

/* Returns the number of moves. */
static int
run_moves(const ShuttleBalance *balance)
{
	int			nmoves = count_moves(balance);
	int			number = 0;

	check_moves(balance);
	for (int i = 0; i < balance->nunits; i++)
	{
		if (balance->units[i].source == balance->units[i].target)
			continue;
		shuttle_move_commit();	/* gives back what the plan has locked */
		SHUTTLE_POINT("rebalance-next");
		move_listed(balance, &balance->units[i], ++number, nmoves);
	}
	return nmoves;
}

int
shuttle_rebalance_keep_rules(void)
{
	ShuttleBalance *balance = shuttle_balance_read(SHUTTLE_BALANCE_BYTES, InvalidOid);
	int			nmoves;

	shuttle_balance_empty(balance, true);
	shuttle_balance_follow(balance);
	nmoves = run_moves(balance);
	shuttle_move_commit();
	shuttle_settle_join_all();
	return nmoves;
}

/* CALL shuttle.rebalance(by, weights, threshold, colocated_with) */
Datum
shuttle_rebalance(PG_FUNCTION_ARGS)
{
	shuttle_move_check_call(fcinfo, "rebalance");
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	shuttle_rebalance_begin();
	if (run_moves(make_plan(fcinfo)) == 0)
		ereport(NOTICE,
				(errmsg("tablets are balanced: there is nothing to move")));
	shuttle_move_commit();
	shuttle_settle_join_all();
	shuttle_rebalance_end();
	SPI_finish();
	PG_RETURN_VOID();
}

static void
check_others(Oid serverid)
{
	char	   *table = shuttle_local_text(others_query, serverid);

	if (table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drain storage node \"%s\" because of foreign table \"%s\"",
						GetForeignServer(serverid)->servername, table),
				 errdetail("Only tablets of distributed tables are moved by a drain."),
				 errhint("Move it with CALL shuttle.move_table() first, or drop it.")));
}

/* Sets targets of what one node has. Returns false if it has nothing. */
static bool
plan_drain(ShuttleBalance *balance, Oid serverid)
{
	bool		has_tablets = false;

	for (int i = 0; i < balance->nnodes; i++)
	{
		if (balance->servers[i] == serverid)
			balance->weights[i] = 0;
	}
	for (int i = 0; i < balance->nunits; i++)
		has_tablets |= balance->servers[balance->units[i].source] == serverid;
	if (has_tablets)
	{
		shuttle_balance_empty(balance, false);
		shuttle_balance_follow(balance);
	}
	return has_tablets;
}

/* CALL shuttle.drain_node(server): tables can be distributed meanwhile, so it looks again */
Datum
shuttle_drain_node(PG_FUNCTION_ARGS)
{
	Oid			serverid;

	shuttle_move_check_call(fcinfo, "drain_node");
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name of a server must not be null")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	serverid = shuttle_node_find(NameStr(*PG_GETARG_NAME(0)));
	shuttle_rebalance_begin();
	check_others(serverid);
	for (;;)
	{
		ShuttleBalance *balance = shuttle_balance_read(SHUTTLE_BALANCE_BYTES, InvalidOid);

		if (!plan_drain(balance, serverid))
			break;
		run_moves(balance);
		shuttle_move_commit();
	}
	shuttle_rebalance_end();
	SPI_finish();
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 * routed_keys.c
 *	  The node of a routed statement.
 *
 * It follows from the values of the keys, the tables' partitions and their
 * servers, and is looked up each time the statement is executed. No tablet can
 * be moved meanwhile, because the statement has locked its tables.
 *
 * If the keys lie on several nodes, copies of reference tables must not be read, or the
 * node's server is too old for a MERGE, core plans the query again when the executor
 * starts, and that plan is executed. The comment of copied_joins.c explains its locks
 * and memory.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "executor/router/routed.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_node_session.h"
#include "tablets/shuttle_tablets.h"

static bool is_off = false;		/* while a routed statement is planned again */

bool
shuttle_routed_is_switched_off(void)
{
	return is_off;
}

/* ---- a key's server */

bool
shuttle_routed_key_fits(Oid relid, Oid type)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	bool		fits = key->strategy == PARTITION_STRATEGY_HASH &&
		(OidIsValid(shuttle_table_hash_function(key, type)) ||
		 IsBinaryCoercible(type, key->partopcintype[0]));

	table_close(rel, NoLock);
	return fits;
}

/* The server of the tablet that has the rows of a key, and the tablet's number, which is
 * its remainder (NULL: not asked for). No row has a NULL, so any tablet will do. */
static Oid
find_server(Oid relid, Oid type, Datum value, bool is_null, int *tablet)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	Oid			function = shuttle_table_hash_function(key, type);
	bool		is_other = OidIsValid(function) && function != key->partsupfunc[0].fn_oid;
	FmgrInfo	other;
	Oid			server;
	int			part;

	if (is_other)
		fmgr_info(function, &other);
	part = shuttle_partition_of(key, parts->boundinfo, is_other ? &other : key->partsupfunc,
								&value, &is_null);
	if (part < 0)
		elog(ERROR, "table \"%s\" has no partition for a key", RelationGetRelationName(rel));
	if (tablet != NULL)
		*tablet = shuttle_tablet_number(parts, part);
	server = GetForeignTable(parts->oids[part])->serverid;
	table_close(rel, NoLock);
	return server;
}

Oid
shuttle_routed_server_of(Oid relid, Oid type, Datum value, int *tablet)
{
	return find_server(relid, type, value, false, tablet);
}

char *
shuttle_routed_lock_text(const List *tablets)
{
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, tablets)
		appendStringInfo(&text, "%s%s", text.len == 0 ? "LOCK TABLE " : ", ",
						 shuttle_tablet_text(lfirst_oid(cell)));
	appendStringInfoString(&text, " IN ACCESS SHARE MODE");
	return text.data;
}

ShuttleRequest *
shuttle_routed_lock_send(ShuttleNode *node, const char *sql, ShuttleEffect effect, uint64 snapshot,
						 MemoryContext cxt)
{
	ShuttleStatement statement = {
		.sql = sql,
		.effect = effect,
		.size = SHUTTLE_SIZE_CERTAIN,
		.snapshot = snapshot,
		.custom_plan = true,
		.tag_only = true,
		.packet_goes_on = true,
	};

	return shuttle_request_send(node, &statement, cxt);
}

/* A table's tablets on one server. */
static List *
tablets_on(Oid relid, Oid server)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	List	   *tablets = NIL;

	for (int i = 0; i < parts->nparts; i++)
	{
		if (GetForeignTable(parts->oids[i])->serverid == server)
			tablets = lappend_oid(tablets, parts->oids[i]);
	}
	table_close(rel, NoLock);
	return tablets;
}

List *
shuttle_routed_tablets(const ShuttleRoutedPlan *plan, List *states, ExprContext *econtext, Oid server)
{
	List	   *tablets = NIL;
	ListCell   *relid;
	ListCell   *key;
	ListCell   *state;

	forthree(relid, plan->relids, key, plan->keys, state, states)
	{
		bool		is_null;
		Datum		value;
		int			number;

		if (shuttle_routed_is_any_key(lfirst(key)))
		{
			tablets = list_concat_unique_oid(tablets, tablets_on(lfirst_oid(relid), server));
			continue;
		}
		value = ExecEvalExprSwitchContext(lfirst(state), econtext, &is_null);
		(void) find_server(lfirst_oid(relid), exprType(lfirst(key)), value, is_null, &number);
		tablets = list_append_unique_oid(tablets, shuttle_tablet_find(lfirst_oid(relid), number));
	}
	return tablets;
}

Oid
shuttle_routed_server(const ShuttleRoutedPlan *plan, List *states, ExprContext *econtext, int *tablet)
{
	Oid			server = InvalidOid;
	ListCell   *relid;
	ListCell   *key;
	ListCell   *state;

	forthree(relid, plan->relids, key, plan->keys, state, states)
	{
		bool		is_null;
		Datum		value;
		Oid			found;

		/* all keys lead to one node: the first one is enough */
		if (plan->one_node && OidIsValid(server))
			break;
		value = ExecEvalExprSwitchContext(lfirst(state), econtext, &is_null);
		found = find_server(lfirst_oid(relid), exprType(lfirst(key)), value, is_null,
							OidIsValid(server) ? NULL : tablet);
		if (OidIsValid(server) && server != found)
			return InvalidOid;
		server = found;
	}
	return server;
}

bool
shuttle_routed_keys_meet(const List *relids, const List *keys)
{
	Oid			server = InvalidOid;
	ListCell   *relid;
	ListCell   *key;

	forboth(relid, relids, key, keys)
	{
		const Const *value = lfirst(key);
		Oid			found;

		if (!IsA(value, Const))
			return true;
		found = find_server(lfirst_oid(relid), value->consttype, value->constvalue,
							value->constisnull, NULL);
		if (OidIsValid(server) && server != found)
			return false;
		server = found;
	}
	return true;
}

/* ---- statements that one node cannot execute */

static Oid
find_node(const ShuttleRoutedPlan *plan, ParamListInfo params)
{
	EState	   *estate = CreateExecutorState();
	List	   *states = NIL;
	Oid			server;
	ListCell   *lc;

	estate->es_param_list_info = params;
	foreach(lc, plan->keys)
		states = lappend(states, ExecPrepareExpr(lfirst(lc), estate));
	server = shuttle_routed_server(plan, states, GetPerTupleExprContext(estate), NULL);
	FreeExecutorState(estate);
	return server;
}

static void
drop_row(void *arg, const ShuttleRow *row)
{
}

/* Only a server that is not older surely knows all that a MERGE has. The version is known
 * when the node is connected to. */
static bool
is_older(Oid serverid, Oid userid)
{
	ShuttleNode *node = shuttle_connection_get(serverid, OidIsValid(userid) ? userid : GetUserId());

	if (shuttle_connection_version(node) == 0)
		shuttle_query(node, "SELECT 1", SHUTTLE_READS, 1, drop_row, NULL);
	return shuttle_connection_version(node) / 10000 < SHUTTLE_MAJOR_VERSION;
}

static bool
must_plan_again(const ShuttleRoutedPlan *plan, const QueryDesc *query, int eflags)
{
	bool		asks = plan->command == CMD_MERGE && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0;
	Oid			server;

	if (plan->reads_copies && !shuttle_copied_joins_are_allowed())
		return true;
	if (plan->one_node && !asks)
		return false;
	server = find_node(plan, query->params);
	return !OidIsValid(server) || (asks && is_older(server, plan->userid));
}

/* Has core plan the query. PG_FINALLY: is_off belongs to the session. */
static PlannedStmt *
plan_by_core(const ShuttleRoutedPlan *plan, const QueryDesc *query)
{
	bool		was_off = is_off;
	PlannedStmt *statement;

	is_off = true;
	PG_TRY();
	{
		statement = pg_plan_query(copyObject(plan->query), query->sourceText,
								  CURSOR_OPT_PARALLEL_OK, query->params);
	}
	PG_FINALLY();
	{
		is_off = was_off;
	}
	PG_END_TRY();
	return statement;
}

void
shuttle_routed_start(QueryDesc *query, int eflags)
{
	CustomScan *scan = (CustomScan *) query->plannedstmt->planTree;
	ShuttleRoutedPlan plan;
	MemoryContext old_cxt;

	if (!shuttle_node_is_routed_statement_plan(&scan->scan.plan) ||
		shuttle_routed_query(scan) == NULL || shuttle_explains_generic(eflags))
		return;
	shuttle_routed_statement_unpack(scan, &plan);
	old_cxt = MemoryContextSwitchTo(GetMemoryChunkContext(query));
	PushActiveSnapshot(query->snapshot);
	if (must_plan_again(&plan, query, eflags))
		query->plannedstmt = plan_by_core(&plan, query);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old_cxt);
}

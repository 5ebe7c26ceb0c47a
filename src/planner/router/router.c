/*-------------------------------------------------------------------------
 * router.c
 *	  Sends a statement to the node that has all rows it can touch.
 *
 * If each distributed table of a statement, on every level, has its key equal
 * to the same constant or parameter, then one node has all its rows: tablets with
 * equal keys of one group are on one node, and reference tables on every node.
 * The statement's text goes there. Which node that is, is known when the
 * statement is executed, so one plan serves all keys, and core's planner, which
 * would plan each tablet, is not called.
 *
 * A table whose tablets are all on one node needs no key: any key leads there.
 *
 * If keys differ, or tables are of several groups, the rows may be on several
 * nodes. Then the plan keeps the query. If the rows turn out to be on several
 * nodes, core plans that query.
 *
 * Memory: what is found lives in the caller's context; the plan copies nothing
 * of the query, like core's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_expressions.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/router/router.h"
#include "planner/scan/scan.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

/* Rows of an answer whose number is not known, and the cost of asking for it;
 * only other plans of the same statement are compared with it. */
#define USUAL_ROWS 100
#define ROUTED_COST 100

typedef struct ShownColumn
{
	const ShuttleRoute *route;
	bool		has_name;
} ShownColumn;

/* ---- on which nodes */

static List *
servers_of(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	List	   *servers = NIL;

	for (int i = 0; i < parts->nparts; i++)
		servers = lappend_oid(servers, GetForeignTable(parts->oids[i])->serverid);
	table_close(rel, NoLock);
	return servers;
}

/* The server that has all of a table; InvalidOid: there are several. */
static Oid
only_server_of(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	Oid			server = InvalidOid;

	for (int i = 0; i < parts->nparts; i++)
	{
		Oid			found = GetForeignTable(parts->oids[i])->serverid;

		if (i > 0 && found != server)
		{
			server = InvalidOid;
			break;
		}
		server = found;
	}
	table_close(rel, NoLock);
	return server;
}

bool
shuttle_router_needs_key(Oid relid)
{
	return !OidIsValid(only_server_of(relid));
}

/* True if rows of both tables with equal keys are in tablets of the same number, on one server. */
static bool
is_spread_alike(Oid relid, Oid another)
{
	Relation	rel = table_open(relid, NoLock);
	Relation	other = table_open(another, NoLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	bool		alike = key->partopfamily[0] == RelationGetPartitionKey(other)->partopfamily[0] &&
		partition_bounds_equal(key->partnatts, key->parttyplen, key->parttypbyval,
							   RelationGetPartitionDesc(rel, true)->boundinfo,
							   RelationGetPartitionDesc(other, true)->boundinfo) &&
		equal(servers_of(relid), servers_of(another));

	table_close(other, NoLock);
	table_close(rel, NoLock);
	return alike;
}

/* ---- keys */

AttrNumber
shuttle_router_key_column(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	const		PartitionKeyData *key = RelationGetPartitionKey(rel);
	AttrNumber	column = key->partnatts == 1 ? key->partattrs[0] : 0;

	table_close(rel, NoLock);
	return column;
}

/* Any value of a table's key. */
static Node *
any_key(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	const		PartitionKeyData *key = RelationGetPartitionKey(rel);
	Node	   *any = (Node *) makeNullConst(key->parttypid[0], key->parttypmod[0],
											 key->parttypcoll[0]);

	table_close(rel, NoLock);
	return any;
}

void
shuttle_router_add_key(ShuttleRoute *route, Oid relid, Node *value)
{
	List	   *values = value != NULL && IsA(value, List) ? (List *) value : list_make1(value);
	ListCell   *lc;

	if (value == NULL && !shuttle_router_needs_key(relid))
		values = list_make1(any_key(relid));
	else if (value == NULL)
		shuttle_router_refuse(route, "a distributed table has no fixed key");
	foreach(lc, values)
	{
		route->relids = lappend_oid(route->relids, relid);
		route->keys = lappend(route->keys, lfirst(lc));
	}
}

/* True if one server has all of each table. */
static bool
is_one_server(const ShuttleRoute *route)
{
	Oid			server = only_server_of(linitial_oid(route->relids));
	ListCell   *lc;

	if (!OidIsValid(server))
		return false;
	foreach(lc, route->relids)
	{
		if (only_server_of(lfirst_oid(lc)) != server)
			return false;
	}
	return true;
}

/* True if all keys are the same expression, and equal keys are in tablets of one number
 * on one node. */
static bool
is_one_key(const ShuttleRoute *route)
{
	ListCell   *relid;
	ListCell   *key;

	forboth(relid, route->relids, key, route->keys)
	{
		if (!equal(lfirst(key), linitial(route->keys)))
			return false;
		if (lfirst_oid(relid) != linitial_oid(route->relids) &&
			!is_spread_alike(linitial_oid(route->relids), lfirst_oid(relid)))
			return false;
	}
	return true;
}

/* Folds constants and drops what is there twice. */
static void
tidy_keys(ShuttleRoute *route)
{
	List	   *relids = NIL;
	List	   *keys = NIL;
	ListCell   *relid;
	ListCell   *key;

	forboth(relid, route->relids, key, route->keys)
	{
		Node	   *value = eval_const_expressions(NULL, copyObject(lfirst(key)));
		bool		known = false;
		ListCell   *r;
		ListCell   *k;

		forboth(r, relids, k, keys)
			known |= lfirst_oid(r) == lfirst_oid(relid) && equal(lfirst(k), value);
		if (known)
			continue;
		relids = lappend_oid(relids, lfirst_oid(relid));
		keys = lappend(keys, value);
		if (!shuttle_routed_key_fits(lfirst_oid(relid), exprType(value)))
			shuttle_router_refuse(route, "a key is compared with a value of another kind");
	}
	route->relids = relids;
	route->keys = keys;
}

/* True if the statement needs the tablets of one number only. */
static bool
names_tablets(const ShuttleRoute *route)
{
	return route->one_node && is_one_key(route) &&
		(!route->one_server || !shuttle_routed_is_any_key(linitial(route->keys)));
}

/* True if the nodes sort as this server does. */
static bool
sorts_alike(const ShuttleRoute *route)
{
	Oid			userid = OidIsValid(route->userid) ? route->userid : GetUserId();
	List	   *servers = NIL;
	ListCell   *lc;

	foreach(lc, route->orders)
	{
		Node	   *value = lfirst(lc);

		if (servers == NIL)
			servers = servers_of(linitial_oid(route->relids));
		if (!shuttle_text_order_servers_are_alike(servers, userid, exprType(value), exprCollation(value)))
			return false;
	}
	return true;
}

/* ---- the plan */

/* What EXPLAIN (VERBOSE) shows for a column of the answer: the expression, if it
 * only has columns of the statement's own tables. */
static Node *
name_mutator(Node *node, void *arg)
{
	ShownColumn *shown = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if (var->varlevelsup == 0)
			var->varno = list_nth_int(shown->route->places, var->varno - 1);
		shown->has_name &= var->varlevelsup == 0 && var->varno > 0;
		return (Node *) var;
	}

	/*
	 * EXPLAIN looks for a window function's window in a WindowAgg, from
	 * version 18 on
	 */
	if (IsA(node, SubLink) || IsA(node, WindowFunc) || shuttle_is_merge_action(node))
	{
		shown->has_name = false;
		return node;
	}
	return expression_tree_mutator(node, name_mutator, arg);
}

static Expr *
shown_column(const ShuttleRoute *route, Node *value)
{
	ShownColumn shown = {route, true};
	Node	   *named = name_mutator(value, &shown);

	return shown.has_name ? (Expr *) named :
		(Expr *) makeNullConst(exprType(value), exprTypmod(value), exprCollation(value));
}

/* Columns of the answer: for the node's slot, and as Vars of it. */
static void
take_columns(const ShuttleRoute *route, CustomScan *scan, const List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Node	   *value = (Node *) entry->expr;
		int			number = list_length(scan->custom_scan_tlist) + 1;
		TargetEntry *column;

		if (entry->resjunk)
			continue;
		column = makeTargetEntry(shown_column(route, value), number, entry->resname, false);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, column);
		column = flatCopyTargetEntry(column);
		column->resorigtbl = entry->resorigtbl;
		column->resorigcol = entry->resorigcol;
		column->expr = (Expr *) makeVar(INDEX_VAR, number, exprType(value), exprTypmod(value),
										exprCollation(value), 0);
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist, column);
	}
}

/* The most rows that are certain, or a guess. */
static double
count_rows(const Query *query, bool *certain)
{
	const Const *limit = (const Const *) query->limitCount;

	*certain = true;
	if (query->groupingSets == NIL && shuttle_declared_keys_fix_row(query))
		return 1;
	if (query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		!query->hasTargetSRFs && query->setOperations == NULL)
		return 1;
	if (limit != NULL && IsA(limit, Const) && !limit->constisnull)
		return Max(DatumGetInt64(limit->constvalue), 1);
	*certain = false;
	return USUAL_ROWS;
}

static PlannedStmt *
make_plan(const ShuttleRoute *route, Query *query, ShuttleRoutedPlan *routed)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	CustomScan *scan;
	ListCell   *lc;

	routed->expected_rows = count_rows(query, &routed->certain);
	scan = shuttle_routed_statement_make(routed);
	take_columns(route, scan, query->commandType == CMD_SELECT ? query->targetList :
				 query->returningList);
	scan->custom_relids = bms_add_range(NULL, 1, list_length(route->entries));
	scan->scan.plan.plan_rows = routed->expected_rows;
	scan->scan.plan.total_cost = ROUTED_COST;
	fix_opfuncids((Node *) scan->custom_exprs);

	statement->commandType = query->commandType;
	statement->queryId = query->queryId;
	statement->hasReturning = query->returningList != NIL;
	statement->hasModifyingCTE = query->hasModifyingCTE;
	statement->canSetTag = query->canSetTag;
	statement->dependsOnRole = route->depends_on_role;
	statement->planTree = (Plan *) scan;
	statement->stmt_location = query->stmt_location;
	statement->stmt_len = query->stmt_len;
	shuttle_plan_set_tables(statement, route->entries, route->permissions);
	foreach(lc, statement->rtable)
		statement->relationOids = lappend_oid(statement->relationOids,
											  lfirst_node(RangeTblEntry, lc)->relid);
	return statement;
}

/* ---- the decision */

static ShuttleEffect
effect_of(const ShuttleRoute *route)
{
	if (route->writes)
		return SHUTTLE_WRITES;
	return route->locks ? SHUTTLE_LOCKS : SHUTTLE_READS;
}

/* Copies can be read by a statement that runs to its end before another one of
 * its session, so by no cursor (colocated.c), but on a standby, where no other one writes. */
static bool
may_read_copies(ShuttlePlanCall call)
{
	return shuttle_settings.enable_reference_copies &&
		((call.cursor_options & CURSOR_OPT_PARALLEL_OK) != 0 || RecoveryInProgress()) &&
		shuttle_copied_joins_are_allowed();
}

/* False of an INSERT of rows of here alone, which needs one request by the write
 * buffers, too, and does not wait for it. */
static bool
gains(const ShuttleRoute *route)
{
	return list_length(route->relids) > route->nplain || route->ninserts > 1;
}

static void
find_route(ShuttleRoute *route, Query *query, ShuttlePlanCall call)
{
	if ((call.cursor_options & CURSOR_OPT_SCROLL) != 0)
		shuttle_router_refuse(route, "a cursor is scrollable");
	else
		shuttle_router_find_keys(route, query);
	if (route->refusal == NULL && route->relids == NIL)
		shuttle_router_refuse(route, "it has no distributed table");
	if (route->refusal == NULL && !gains(route))
		shuttle_router_refuse(route, "it inserts rows that are not of a distributed table");
	if (route->refusal == NULL && route->reads_copies && !may_read_copies(call))
		shuttle_router_refuse(route, "copies of reference tables cannot be read now");
	if (route->refusal == NULL)
		tidy_keys(route);
	if (route->refusal != NULL)
		return;
	route->one_server = is_one_server(route);
	route->one_node = route->one_server || is_one_key(route);
	if (!route->one_node && !shuttle_routed_keys_meet(route->relids, route->keys))
		shuttle_router_refuse(route, "its rows are on several nodes");
}

/* NULL: it is to be planned by core. The query is not changed. original: as the user wrote
 * it, with partitioned tables in the place of their partitions. */
static PlannedStmt *
route_statement(Query *query, Query *original, ShuttlePlanCall call)
{
	ShuttleRoute route = {.statement = query};
	ShuttleRoutedPlan routed = {0};
	Query	   *changed = NULL;

	find_route(&route, query, call);
	if (route.refusal == NULL)
		changed = shuttle_router_take_values(&route, query, &routed.values);
	if (route.refusal == NULL)
		shuttle_router_check_query(&route, changed);
	if (route.refusal == NULL)
	{
		routed.one_node = route.one_node;
		if (!sorts_alike(&route))
			shuttle_router_refuse(&route, "a node sorts text otherwise");
		else if (names_tablets(&route))
			routed.tablet_sql = shuttle_router_tablet_text(changed);
		/* rows that come through a partitioned table may have no xmax */
		if (route.reads_xmax && routed.tablet_sql == NIL)
			shuttle_router_refuse(&route, "it reads a system column of rows that may be in several tablets");
	}
	if (route.refusal != NULL)
	{
		ereport(DEBUG1, (errmsg_internal("statement is not routed: %s", route.refusal)));
		return NULL;
	}
	routed.sql = shuttle_router_text(changed);
	routed.relids = route.relids;
	routed.keys = route.keys;
	routed.userid = route.userid;
	routed.effect = effect_of(&route);
	routed.command = query->commandType;
	routed.set_processed = query->canSetTag;
	routed.reads_copies = route.reads_copies;
	if (!routed.one_node || route.reads_copies || query->commandType == CMD_MERGE)
		routed.query = copyObject(original);
	if (shuttle_settings.debug_prove_texts)
		shuttle_router_prove(query, &routed);
	return make_plan(&route, query, &routed);
}

static bool
has_distributed_table(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, has_distributed_table, context);
	foreach(lc, ((Query *) node)->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE &&
			(shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED ||
			 shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_PARTITIONED))
			return true;
	}
	return shuttle_walk_queries_below((Query *) node, has_distributed_table, context);
}

PlannedStmt *
shuttle_router_plan(Query *query, ShuttlePlanCall call)
{
	PlannedStmt *statement = NULL;
	List	   *partitions;
	Query	   *named;

	if (shuttle_settings.enable_router && has_distributed_table((Node *) query, NULL) &&
		!shuttle_routed_is_switched_off())
	{
		named = shuttle_router_name_partitions(query, call, &partitions);
		if (named != NULL)
			statement = route_statement(named, query, call);
		if (statement != NULL)
			shuttle_router_name_partitioned(statement, partitions);
	}
	return statement != NULL ? statement : shuttle_plan_rest(query, call);
}

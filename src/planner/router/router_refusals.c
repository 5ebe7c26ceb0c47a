/*-------------------------------------------------------------------------
 * router_refusals.c
 *	  What keeps a statement from being sent to a node as a whole.
 *
 * A node has the rows, keys and checks of distributed tables, and copies of
 * reference tables. It has none of what belongs to the query node: rights,
 * policies, triggers, views, the user's functions, other tables. And its sessions
 * have other settings than ours, so it may compute only what is immutable and
 * built in.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_expressions.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/shuttle_executor.h"
#include "planner/router/router.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

/* ---- tables */

static bool
is_locked(const Query *query, int rtindex)
{
	ListCell   *lc;

	foreach(lc, query->rowMarks)
	{
		if (lfirst_node(RowMarkClause, lc)->rti == rtindex)
			return true;
	}
	return false;
}

static void
check_distributed(ShuttleRoute *route, const Query *query, const RangeTblEntry *rte, int rtindex)
{
	bool		is_read = query->commandType != CMD_INSERT || rtindex != query->resultRelation;

	if ((is_read && !rte->inh) || rte->tablesample != NULL)
		shuttle_router_refuse(route, "a table is sampled or read by ONLY");
	if (rtindex == query->resultRelation && shuttle_partitions_may_be_left(query, rte->relid))
		shuttle_router_refuse(route, "rows of a partition may belong to another one");
	if (rtindex == query->resultRelation && shuttle_own_triggers_fire(query, rte->relid))
		shuttle_router_refuse(route, shuttle_global_indexes_exist(rte->relid) ?
							  "a table has a trigger, or a unique index without the distribution column, for the change" :
							  "a table has a trigger for the change");
}

static void
check_reference(ShuttleRoute *route, const Query *query, const RangeTblEntry *rte, int rtindex)
{
	route->reads_copies = true;
	if (rtindex == query->resultRelation || is_locked(query, rtindex))
		shuttle_router_refuse(route, "it changes or locks a reference table");
	if (rte->tablesample != NULL)
		shuttle_router_refuse(route, "a table is sampled or read by ONLY");
}

/* Notes with whose rights a table is read; 0: the current user's. If a view's owner
 * is the current user, too, the plan is only good for him. */
static void
add_user(ShuttleRoute *route, Oid userid)
{
	if (route->has_user && userid != route->userid)
	{
		route->depends_on_role = true;
		if (!OidIsValid(userid))
			userid = GetUserId();
		if (!OidIsValid(route->userid))
			route->userid = GetUserId();
		if (userid != route->userid)
			shuttle_router_refuse(route, "tables are read with the rights of several users");
	}
	route->has_user = true;
	route->userid = userid;
}

static void
check_relation(ShuttleRoute *route, const Query *query, RangeTblEntry *rte, int rtindex)
{
	if (rte->relkind == RELKIND_VIEW)
	{
		/* until 15 an entry that has the view's permissions */
		if (rtindex == query->resultRelation)
			shuttle_router_refuse(route, "it changes a view");
		return;
	}
	switch (shuttle_table_kind(rte->relid))
	{
		case SHUTTLE_TABLE_DISTRIBUTED:
			check_distributed(route, query, rte, rtindex);
			break;
		case SHUTTLE_TABLE_REFERENCE:
			check_reference(route, query, rte, rtindex);
			break;
		default:
			shuttle_router_refuse(route, "a table is not on nodes");
			return;
	}
	add_user(route, shuttle_entry_user(query, rte));
}

/* Finds the column of a subquery that sets several columns; 0: it is none. */
static bool
find_part(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_MULTIEXPR)
		*(int *) arg = ((Param *) node)->paramid;
	return expression_tree_walker(node, find_part, arg);
}

/* True of what an UPDATE sets if core's deparser prints it wrongly once it is
 * rewritten: it sets nothing, as its columns are generated, or it sets columns from a
 * subquery in another order than the table's. */
static bool
prints_wrongly(const List *targetlist)
{
	bool		sets = false;
	int			before = 0;		/* column of a subquery, of the entry before */
	int			last = 0;		/* the last one */
	ListCell   *lc;

	foreach(lc, shuttle_router_split_parts(targetlist))
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);
		int			part = 0;

		if (entry->resjunk)
			continue;
		(void) find_part((Node *) entry->expr, &part);
		if (part != 0 && (part < last || ((part & 0xFFFF) != 1 && part != before + 1)))
			return true;
		before = part;
		last = Max(last, part);
		sets = true;
	}
	return !sets;
}

static bool
sets_wrongly(const Query *query)
{
	ListCell   *lc;

	if (query->commandType == CMD_UPDATE)
		return prints_wrongly(query->targetList);
	if (query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE)
		return prints_wrongly(query->onConflict->onConflictSet);
	foreach(lc, query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, lc);

		if (action->commandType == CMD_UPDATE && prints_wrongly(action->targetList))
			return true;
	}
	return false;
}

/* True if a rule made the query: core's deparser leaves out tables of its FROM that
 * were the target of the statement that the rule is for. */
static bool
is_of_rule(const Query *query)
{
	Relids		read = shuttle_tables_below((Node *) query->jointree);
	int			rtindex = -1;

	while ((rtindex = bms_next_member(read, rtindex)) >= 0)
	{
		if (rtindex != query->resultRelation && !shuttle_router_is_source(query, rtindex) &&
			!rt_fetch(rtindex, query->rtable)->inFromCl)
			return true;
	}
	return false;
}

static void
check_query_level(ShuttleRoute *route, const Query *query)
{
	if (is_of_rule(query) || query->commandType == CMD_UTILITY)
		shuttle_router_refuse(route, "it comes from a rule");
	if (query->hasRowSecurity || query->withCheckOptions != NIL)
		shuttle_router_refuse(route, "a table has policies, or a view a check option");
	if (sets_wrongly(query))
		shuttle_router_refuse(route, "its columns are not set in the table's order");
	if (query->limitOption == LIMIT_OPTION_WITH_TIES)
		shuttle_router_refuse(route, "it has WITH TIES");
	route->locks |= query->rowMarks != NIL;
	route->writes |= query->commandType != CMD_SELECT;
}

void
shuttle_router_check_table(ShuttleRoute *route, const Query *query, RangeTblEntry *rte,
						   int rtindex)
{
	bool		is_excluded = shuttle_entry_is_excluded(rte);

	if (rtindex == 1)
		check_query_level(route, query);
	if (rte->securityQuals != NIL || rte->security_barrier)
		shuttle_router_refuse(route, "a table has policies, or a view is a security barrier");
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			if (!is_excluded)
				check_relation(route, query, rte, rtindex);
			break;
		case RTE_TABLEFUNC:
		case RTE_NAMEDTUPLESTORE:
			shuttle_router_refuse(route, "it reads a transition table or XML");
			break;
		case RTE_SUBQUERY:
		case RTE_JOIN:
		case RTE_FUNCTION:
		case RTE_VALUES:
		case RTE_CTE:
		case RTE_RESULT:
			break;
		default:
			if (shuttle_group_columns(rte) == NIL)
				shuttle_router_refuse(route, "it reads something of a kind that is not known");
			break;
	}

	/*
	 * an expanded view keeps its relation, and EXCLUDED its table, whose
	 * columns have to be readable
	 */
	if (rte->rtekind == RTE_RELATION || (rte->rtekind == RTE_SUBQUERY && OidIsValid(rte->relid)))
		shuttle_take_entry(&route->entries, &route->permissions, query, rte);
	if (query == route->statement)
		route->places = lappend_int(route->places, rte->rtekind != RTE_RELATION || is_excluded ? 0 :
									list_length(route->entries));
}

/* ---- expressions */

static bool
is_built_in(Oid oid)
{
	return oid < FirstGenbkiObjectId;
}

static bool
is_users_function(Oid function, void *arg)
{
	return !is_built_in(function);
}

static bool
query_sorts_by_users_operator(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, lc);

		if (shuttle_meaning_sorts_by_users_operator(window->partitionClause) ||
			shuttle_meaning_sorts_by_users_operator(window->orderClause))
			return true;
	}
	return shuttle_meaning_sorts_by_users_operator(query->sortClause) ||
		shuttle_meaning_sorts_by_users_operator(query->groupClause) ||
		shuttle_meaning_sorts_by_users_operator(query->distinctClause);
}

/* Types whose values are names or numbers of objects, or unknown rows. */
static bool
is_local_type(Oid type)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGCOLLATIONOID:
			return true;
		default:
			return !is_built_in(type);
	}
}

static void
check_column(ShuttleRoute *route, Var *var)
{
	if (var->varattno == MaxTransactionIdAttributeNumber && route->may_read_xmax)
		route->reads_xmax = true;
	else if (var->varattno <= 0)
		shuttle_router_refuse(route, "it reads a system column or a whole row");
	if (shuttle_expression_has_old_or_new(var))
		shuttle_router_refuse(route, "RETURNING asks for old or new rows");
}

/* Notes what an aggregate compares. */
static void
check_aggregate(ShuttleRoute *route, const Aggref *aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	bool		sorts = HeapTupleIsValid(tuple) &&
		OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
	ListCell   *lc;

	if (shuttle_meaning_sorts_by_users_operator(aggregate->aggorder) ||
		shuttle_meaning_sorts_by_users_operator(aggregate->aggdistinct))
		shuttle_router_refuse(route, "it sorts by an operator of a user");
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	if (sorts)
		route->orders = lappend(route->orders,
								linitial_node(TargetEntry, aggregate->args)->expr);
	foreach(lc, aggregate->aggorder)
		route->orders = lappend(route->orders,
								get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
														 aggregate->args));
}

static void
check_order(ShuttleRoute *route, const Query *query)
{
	ListCell   *lc;
	ListCell   *part;

	foreach(lc, query->sortClause)
		route->orders = lappend(route->orders,
								get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
														 query->targetList));
	foreach(lc, query->windowClause)
	{
		foreach(part, lfirst_node(WindowClause, lc)->orderClause)
			route->orders = lappend(route->orders,
									get_sortgroupclause_expr(lfirst_node(SortGroupClause, part),
															 query->targetList));
	}
}

/* What is known to mean on a node what it means here; other kinds keep the statement here,
 * those of later versions of PostgreSQL among them. */
static void
check_kind(ShuttleRoute *route, Node *node)
{
	switch (nodeTag(node))
	{
		case T_Aggref:
			check_aggregate(route, (Aggref *) node);
			break;
		case T_CollateExpr:
			if (!is_built_in(((CollateExpr *) node)->collOid))
				shuttle_router_refuse(route, "a node may have other collations");
			break;
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CoerceToDomain:
		case T_ArrayExpr:
		case T_CaseExpr:
			if (is_local_type(exprType(node)))
				shuttle_router_refuse(route, "it computes values of a type that nodes may not know");
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_RowCompareExpr:
			if (shuttle_meaning_is_users_operator(node))
				shuttle_router_refuse(route, "it has an operator of a user");
			break;
		case T_List:
		case T_TargetEntry:
		case T_RangeTblRef:
		case T_JoinExpr:
		case T_FromExpr:
		case T_SetOperationStmt:
		case T_SortGroupClause:
		case T_CommonTableExpr:
		case T_RangeTblFunction:
		case T_OnConflictExpr:
		case T_MergeAction:
		case T_InferenceElem:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubscriptingRef:
		case T_FuncExpr:
		case T_NamedArgExpr:
		case T_BoolExpr:
		case T_SubLink:
		case T_FieldSelect:
		case T_FieldStore:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_RowExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_SQLValueFunction:
		case T_NullTest:
		case T_BooleanTest:
		case T_SetToDefault:
			break;
		case T_CurrentOfExpr:
			shuttle_router_refuse(route, "it has WHERE CURRENT OF");
			break;
		case T_XmlExpr:
			shuttle_router_refuse(route, "it has XML");
			break;
		default:
			if (!shuttle_is_merge_action(node))
				shuttle_router_refuse(route, "it has an expression of a kind that a node may not know");
			break;
	}
}

static bool
check_walker(Node *node, void *arg)
{
	ShuttleRoute *route = arg;

	if (node == NULL || route->refusal != NULL)
		return false;
	if (IsA(node, Query))
	{
		check_order(route, (Query *) node);
		if (query_sorts_by_users_operator((Query *) node))
			shuttle_router_refuse(route, "it sorts by an operator of a user");
		return query_tree_walker((Query *) node, check_walker, arg, QTW_IGNORE_JOINALIASES);
	}
	if (IsA(node, Var))
	{
		check_column(route, (Var *) node);
		return false;
	}
	check_kind(route, node);
	if (shuttle_meaning_is_users_cast(node))
		shuttle_router_refuse(route, "it has a cast of a user");
	if (shuttle_meaning_depends_on_zone(node))
		shuttle_router_refuse(route, "it depends on the session's time zones");
	if (check_functions_in_node(node, is_users_function, NULL))
		shuttle_router_refuse(route, "it calls a function of a user");
	if (check_functions_in_node(node, shuttle_meaning_writes_as_set, NULL))
		shuttle_router_refuse(route, "it writes values as settings say");
	return expression_tree_walker(node, check_walker, arg);
}

/* Columns of rows without a name cannot be read. */
static void
check_answer(ShuttleRoute *route, const List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Oid			type = exprType((Node *) entry->expr);

		if (!entry->resjunk && get_typtype(type) == TYPTYPE_PSEUDO)
			shuttle_router_refuse(route, "it returns rows without a type");
	}
}

/* RETURNING xmax tells rows that ON CONFLICT has inserted from those that it updated. */
static void
check_returning(ShuttleRoute *route, Query *query)
{
	route->may_read_xmax = query->onConflict != NULL && !query->hasSubLinks;
	(void) check_walker((Node *) query->returningList, route);
	route->may_read_xmax = false;
}

void
shuttle_router_check_query(ShuttleRoute *route, Query *query)
{
	Query		rest = *query;

	rest.returningList = NIL;
	check_answer(route, query->commandType == CMD_SELECT ? query->targetList : query->returningList);
	if (route->refusal == NULL)
		(void) check_walker((Node *) &rest, route);
	if (route->refusal == NULL)
		check_returning(route, query);
	if (route->refusal == NULL && contain_mutable_functions((Node *) query))
		shuttle_router_refuse(route, "it calls a function whose value may differ on a node");
}

/*-------------------------------------------------------------------------
 * call_queries.c
 *	  Whether a query of a routine's body means the same on a node.
 *
 * The node gets the body's text, so it analyzes the query itself: by the same
 * names, it must find the same tables and functions, and none of what only this
 * server has: views, triggers, policies, defaults, privileges.
 *
 * Rows of other nodes are missing there, which must never go unnoticed. A node has
 * empty partitions for them, the traps. If the node's planner finds that one has
 * to be read, it evaluates the partition's check, which raises an error. It only
 * does so if the table has a condition of its own. So each distributed table
 * needs a condition "key = value" or "key = ANY (values)" where the planner
 * is sure to apply it to the table itself, also by way of an equality with another
 * column.
 *
 * Source: relation_excluded_by_constraints() in plancat.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/router/call.h"
#include "executor/router/call_keys.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

/* A column that has a known value, or a value of a known array, in all rows that the
 * query needs. */
typedef struct FixedColumn
{
	int			rtindex;
	AttrNumber	column;
	bool		is_one;			/* value, which columns that are equal by this
								 * operator and collation have, too */
	Oid			equality;
	Oid			collation;
	int			parameter;		/* which the value, or the array, is; 0: it is
								 * another one */
	Oid			type;			/* of the parameter */
} FixedColumn;

/* ---- keys */

static AttrNumber
key_of(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	AttrNumber	key = RelationGetPartitionKey(rel)->partattrs[0];

	table_close(rel, NoLock);
	return key;
}

static const Var *
as_column(Node *node)
{
	node = shuttle_meaning_without_relabels(node);
	return node != NULL && IsA(node, Var) && ((Var *) node)->varlevelsup == 0 ? (Var *) node : NULL;
}

static bool
is_value(Node *node)
{
	return !shuttle_expression_has(node, SHUTTLE_HAS_COLUMN | SHUTTLE_HAS_SUBLINK) && !contain_volatile_functions(node);
}

static FixedColumn *
find_fixed(const List *fixed, const Var *column, const OpExpr *by)
{
	ListCell   *cell;

	foreach(cell, fixed)
	{
		FixedColumn *known = lfirst(cell);

		if (known->rtindex == column->varno && known->column == column->varattno &&
			(by == NULL || (known->is_one && known->equality == by->opno && known->collation == by->inputcollid)))
			return known;
	}
	return NULL;
}

static bool
is_fixed(const List *fixed, const Var *column, const OpExpr *by)
{
	return find_fixed(fixed, column, by) != NULL;
}

/* condition: what fixes the column, by a value or another column. */
static List *
add_fixed(List *fixed, const Var *column, Node *condition)
{
	FixedColumn *known = palloc0_object(FixedColumn);
	const OpExpr *by = (const OpExpr *) condition;
	const List *args = IsA(condition, OpExpr) ? by->args : ((ScalarArrayOpExpr *) condition)->args;
	Node	   *other = as_column(linitial(args)) == column ? lsecond(args) : linitial(args);
	const FixedColumn *source = NULL;

	known->rtindex = column->varno;
	known->column = column->varattno;
	known->is_one = IsA(condition, OpExpr);
	known->equality = known->is_one ? by->opno : ((ScalarArrayOpExpr *) condition)->opno;
	known->collation = known->is_one ? by->inputcollid : ((ScalarArrayOpExpr *) condition)->inputcollid;
	if (known->is_one && as_column(other) != NULL)
		source = find_fixed(fixed, as_column(other), by);
	known->parameter = source != NULL ? source->parameter : shuttle_call_key_parameter(other);
	known->type = source != NULL ? source->type : exprType(shuttle_meaning_without_relabels(other));
	return lappend(fixed, known);
}

/* The column that an equality fixes, if the other side is a value or fixed. */
static const Var *
fixed_by(const List *fixed, Node *condition)
{
	const List *args;
	const Var  *left;
	const Var  *right;

	if (IsA(condition, ScalarArrayOpExpr))
	{
		const ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) condition;

		left = as_column(linitial(any->args));
		return any->useOr && left != NULL && op_mergejoinable(any->opno, left->vartype) &&
			is_value(lsecond(any->args)) ? left : NULL;
	}
	if (!IsA(condition, OpExpr) || list_length(((OpExpr *) condition)->args) != 2)
		return NULL;
	args = ((OpExpr *) condition)->args;
	if (!op_mergejoinable(((OpExpr *) condition)->opno, exprType(linitial(args))))
		return NULL;
	left = as_column(linitial(args));
	right = as_column(lsecond(args));
	if (left != NULL && is_value(lsecond(args)))
		return left;
	if (right != NULL && is_value(linitial(args)))
		return right;

	/* as in an equivalence class: one operator and collation, and no casts */
	if (!IsA(linitial(args), Var) || !IsA(lsecond(args), Var) || left == NULL || right == NULL)
		return NULL;
	if (is_fixed(fixed, right, (OpExpr *) condition))
		return left;
	return is_fixed(fixed, left, (OpExpr *) condition) ? right : NULL;
}

/* All columns that conditions fix, to a fixpoint. */
static List *
fixed_columns(const List *conditions)
{
	List	   *fixed = NIL;
	bool		found = true;

	while (found)
	{
		ListCell   *cell;

		found = false;
		foreach(cell, conditions)
		{
			const Var  *column = fixed_by(fixed, lfirst(cell));
			const OpExpr *by = IsA(lfirst(cell), OpExpr) ? lfirst(cell) : NULL;

			if (column != NULL && !is_fixed(fixed, column, by))
			{
				fixed = add_fixed(fixed, column, lfirst(cell));
				found = true;
			}
		}
	}
	return fixed;
}

static List *
add_conditions(List *conditions, Node *node)
{
	ListCell   *cell;

	if (node == NULL)
		return conditions;
	if (!is_andclause(node))
		return lappend(list_copy(conditions), node);
	foreach(cell, ((BoolExpr *) node)->args)
		conditions = add_conditions(conditions, lfirst(cell));
	return conditions;
}

/* Conditions of an outer join that fix a column by themselves: others do not go
 * to a table of its nullable side alone. */
static List *
own_conditions(Node *quals)
{
	List	   *own = NIL;
	ListCell   *cell;

	foreach(cell, add_conditions(NIL, quals))
	{
		if (fixed_by(NIL, lfirst(cell)) != NULL)
			own = lappend(own, lfirst(cell));
	}
	return own;
}

/* Any parameter that the key is equal to will do. */
static void
note_fixed(ShuttleCallBody *body, Oid relid, const List *fixed, const Var *key)
{
	const FixedColumn *best = find_fixed(fixed, key, NULL);
	Bitmapset  *columns = NULL;
	ListCell   *cell;

	foreach(cell, fixed)
	{
		const FixedColumn *known = lfirst(cell);

		if (known->rtindex != key->varno)
			continue;
		if (known->is_one)
			columns = bms_add_member(columns, known->column);
		if (known->column == key->varattno && best->parameter == 0)
			best = known;
	}
	shuttle_call_note_key(body, relid, best->parameter, best->type, best->equality, best->collation);
	body->keys.nsets += !shuttle_call_is_one_row(relid, columns);
}

/* conditions: those that all rows of the item meet, applied to its tables. */
static void
check_keys(ShuttleCallBody *body, const Query *query, Node *item, List *conditions)
{
	if (IsA(item, RangeTblRef))
	{
		int			rtindex = ((RangeTblRef *) item)->rtindex;
		const RangeTblEntry *rte = rt_fetch(rtindex, query->rtable);

		if (rte->rtekind == RTE_RELATION && shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED)
		{
			Var			key = {.varno = rtindex,.varattno = key_of(rte->relid)};
			List	   *fixed = fixed_columns(conditions);

			if (is_fixed(fixed, &key, NULL))
				note_fixed(body, rte->relid, fixed, &key);
			else
				shuttle_call_refuse(body, psprintf("a query does not fix the key of table \"%s\"",
												   get_rel_name(rte->relid)));
		}
	}
	else if (IsA(item, FromExpr))
	{
		ListCell   *cell;

		conditions = add_conditions(conditions, ((FromExpr *) item)->quals);
		foreach(cell, ((FromExpr *) item)->fromlist)
			check_keys(body, query, lfirst(cell), conditions);
	}
	else
	{
		const JoinExpr *join = castNode(JoinExpr, item);
		List	   *own = own_conditions(join->quals);
		List	   *all = join->jointype == JOIN_INNER ? add_conditions(conditions, join->quals) : NIL;

		check_keys(body, query, join->larg, join->jointype == JOIN_INNER ? all :
				   join->jointype == JOIN_LEFT ? conditions :
				   join->jointype == JOIN_RIGHT ? own : NIL);
		check_keys(body, query, join->rarg, join->jointype == JOIN_INNER ? all :
				   join->jointype == JOIN_RIGHT ? conditions :
				   join->jointype == JOIN_LEFT ? own : NIL);
	}
}

/* True if an INSERT leaves a column to its default, which nodes do not have. */
static bool
needs_default(const Query *query, Relation rel)
{
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(rel), i);
		bool		is_given = false;
		ListCell   *cell;

		if (attribute->attisdropped || attribute->attgenerated != '\0' ||
			(!attribute->atthasdef && attribute->attidentity == '\0' &&
			 get_typdefault(attribute->atttypid) == NULL))
			continue;
		foreach(cell, query->targetList)
			is_given |= lfirst_node(TargetEntry, cell)->resno == attribute->attnum;
		if (!is_given)
			return true;
	}
	return false;
}

static void
check_target(ShuttleCallBody *body, const Query *query, Relation rel)
{
	body->writes = true;
	if (shuttle_own_triggers_fire(query, RelationGetRelid(rel)))
		shuttle_call_refuse(body, psprintf(shuttle_global_indexes_exist(RelationGetRelid(rel)) ?
										   "table \"%s\" has triggers, or a unique index without the distribution column" :
										   "table \"%s\" has triggers", RelationGetRelationName(rel)));
	if (query->commandType == CMD_INSERT && needs_default(query, rel))
		shuttle_call_refuse(body, psprintf("an INSERT into table \"%s\" leaves columns to their defaults",
										   RelationGetRelationName(rel)));
}

static void
check_relation(ShuttleCallBody *body, const Query *query, const RangeTblEntry *rte, int rtindex)
{
	ShuttleTableKind kind = shuttle_table_kind(rte->relid);
	bool		is_target = rtindex == query->resultRelation;
	Relation	rel;

	if (kind != SHUTTLE_TABLE_DISTRIBUTED && kind != SHUTTLE_TABLE_REFERENCE)
	{
		shuttle_call_refuse(body, psprintf("\"%s\" is not on nodes", get_rel_name(rte->relid)));
		return;
	}
	body->relids = list_append_unique_oid(body->relids, rte->relid);
	rel = table_open(rte->relid, NoLock);
	if (rel->rd_rel->relrowsecurity)
		shuttle_call_refuse(body, psprintf("table \"%s\" has policies", get_rel_name(rte->relid)));
	if (rte->tablesample != NULL || (!rte->inh && !(is_target && query->commandType == CMD_INSERT)))
		shuttle_call_refuse(body, "a table is sampled, or has ONLY in front of it");
	if (kind == SHUTTLE_TABLE_REFERENCE)
	{
		body->reads_copies = true;
		if (is_target || query->rowMarks != NIL)
			shuttle_call_refuse(body, psprintf("it changes or locks reference table \"%s\"",
											   get_rel_name(rte->relid)));
	}
	else if (shuttle_table_has_traps(rte->relid))
		body->distributed = rte->relid;
	else
		shuttle_call_refuse(body, psprintf("table \"%s\" is not of the function's group",
										   get_rel_name(rte->relid)));
	if (is_target)
	{
		if (shuttle_partitions_may_be_left(query, rte->relid))
			shuttle_call_refuse(body, psprintf("rows of partition \"%s\" may belong to another one", get_rel_name(rte->relid)));
		check_target(body, query, rel);
		if (kind == SHUTTLE_TABLE_DISTRIBUTED)
			shuttle_call_note_target(body, query, rel);
	}
	table_close(rel, NoLock);
}

static void
check_entry(ShuttleCallBody *body, const Query *query, const RangeTblEntry *rte, int rtindex)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			check_relation(body, query, rte, rtindex);
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
				shuttle_call_refuse(body, "it reads something of a kind that is not known");
			break;
	}
}

/* ---- expressions */

static bool
is_refused_function(Oid function, void *arg)
{
	ShuttleCallBody *body = arg;

	if (shuttle_routine_key(function) >= 0)
		shuttle_call_check_routine(body, function);
	else if (!shuttle_call_function_is_alike(function, &body->uses_clock))
		shuttle_call_refuse(body, psprintf("it calls %s(), which nodes do not have, or which depends on the session",
										   get_func_name(function)));
	return body->refusal != NULL;
}

static void
check_type(ShuttleCallBody *body, Node *node)
{
	Oid			type = exprType(node);

	/* the name of a cursor of its own, which PL/pgSQL assigns before 16 */
	if (IsA(node, Const) && type == REFCURSOROID)
		return;
	if (type >= FirstGenbkiObjectId && get_typtype(type) != TYPTYPE_COMPOSITE)
		body->types = list_append_unique_oid(body->types, type);
	else if (!shuttle_call_type_is_alike(type))
		shuttle_call_refuse(body, psprintf("it has values of type %s", format_type_be(type)));
}

static void
check_session_value(ShuttleCallBody *body, const SQLValueFunction *value)
{
	switch (value->op)
	{
		case SVFOP_CURRENT_ROLE:
		case SVFOP_CURRENT_USER:
		case SVFOP_USER:
		case SVFOP_SESSION_USER:
		case SVFOP_CURRENT_CATALOG:
		case SVFOP_CURRENT_SCHEMA:
			shuttle_call_refuse(body, "it asks for the user, schema or database");
			break;
		default:
			body->uses_clock = true;
	}
}

static void
add_collation(ShuttleCallBody *body, Oid collation)
{
	if (OidIsValid(collation))
		body->collations = list_append_unique_oid(body->collations, collation);
}

static void
add_order(ShuttleCallBody *body, List *order, List *targets)
{
	ListCell   *cell;

	foreach(cell, order)
		add_collation(body, exprCollation(get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell),
																   targets)));
}

static void
check_level(ShuttleCallBody *body, Query *query)
{
	int			rtindex = 0;
	ListCell   *cell;

	if (query->commandType != CMD_SELECT && query->commandType != CMD_INSERT &&
		query->commandType != CMD_UPDATE && query->commandType != CMD_DELETE)
	{
		shuttle_call_refuse(body, query->commandType == CMD_UTILITY ?
							"it has a statement other than queries and writes" : "it has MERGE");
		return;
	}
	body->locks |= query->rowMarks != NIL;
	foreach(cell, query->rtable)
		check_entry(body, query, lfirst_node(RangeTblEntry, cell), ++rtindex);
	add_order(body, query->sortClause, query->targetList);
	foreach(cell, query->windowClause)
		add_order(body, lfirst_node(WindowClause, cell)->orderClause, query->targetList);
	if (body->refusal == NULL && query->jointree != NULL)
	{
		body->keys.nsets = 0;
		check_keys(body, query, (Node *) query->jointree, NIL);
		shuttle_call_note_query(body, query, body->keys.nsets);
	}
}

static bool
check_walker(Node *node, void *arg)
{
	ShuttleCallBody *body = arg;

	if (node == NULL)
		return false;
	if (body->refusal != NULL)
		return true;
	switch (nodeTag(node))
	{
		case T_Query:
			check_level(body, (Query *) node);
			return query_tree_walker((Query *) node, check_walker, arg, 0);
		case T_Var:
			if (((Var *) node)->varattno <= 0)
				shuttle_call_refuse(body, "it reads a system column or a whole row");
			break;
		case T_SetToDefault:
			shuttle_call_refuse(body, "it has DEFAULT");
			break;
		case T_NextValueExpr:
		case T_XmlExpr:
			shuttle_call_refuse(body, "it has sequences or XML");
			break;
		case T_SQLValueFunction:
			check_session_value(body, (SQLValueFunction *) node);
			break;
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CoerceToDomain:
		case T_FuncExpr:
		case T_RowExpr:
			check_type(body, node);
			break;
		default:
			break;
	}
	if (shuttle_meaning_is_users_operator(node) || shuttle_meaning_is_users_cast(node))
		shuttle_call_refuse(body, "it has an operator or a cast of a user");
	add_collation(body, exprInputCollation(node));
	if (IsA(node, Aggref))
		add_order(body, ((Aggref *) node)->aggorder, ((Aggref *) node)->args);
	return check_functions_in_node(node, is_refused_function, body) ||
		expression_tree_walker(node, check_walker, arg);
}

void
shuttle_call_check_query(ShuttleCallBody *body, Query *query)
{
	(void) check_walker((Node *) query, body);
}

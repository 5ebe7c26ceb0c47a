/*-------------------------------------------------------------------------
 * call_keys.c
 *	  Whether a call's arguments alone tell which nodes its body needs.
 *
 * They do if each query has "key = argument" or "key = ANY (argument)" for each
 * distributed table, each INSERT takes its key from an argument, no UPDATE changes
 * one, and no argument that is such a key was assigned before. If the node has all
 * these keys, no row of another node can matter, so that traps are not needed, and
 * the node may keep plans that do not depend on the arguments.
 *
 * A plan that serves all arguments is about as good as one for these if they are only
 * compared for equality, and if a query reads several rows of one distributed table
 * at most: the planner would otherwise count the rows of all the node's tablets.
 *
 * The place of a statement in the body's text is its step. An argument can be a key in
 * the step that assigns it first: the statement reads before it assigns. What a loop
 * assigns, counts as assigned before the loop.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/router/call.h"
#include "executor/router/call_keys.h"
#include "executor/router/routed.h"
#include "executor/shuttle_executor.h"
#include "tablets/shuttle_tablets.h"

/* A parameter that is a key of a table, and the step in which it is. */
typedef struct KeyUse
{
	Oid			relid;
	int			parameter;
	int			step;
} KeyUse;

/* ---- what the body says */

void
shuttle_call_keys_are_unknown(ShuttleCallBody *body)
{
	body->keys.are_unknown = true;
}

/* Returns the parameter that an expression is, or NULL. */
static const Param *
as_parameter(Node *node)
{
	node = shuttle_meaning_without_relabels(node);
	return node != NULL && IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN ?
		(Param *) node : NULL;
}

int
shuttle_call_key_parameter(Node *node)
{
	const Param *parameter = as_parameter(node);

	return parameter == NULL ? 0 : parameter->paramid;
}

static bool
type_fits(Oid relid, Oid type)
{
	return shuttle_routed_key_fits(relid, OidIsValid(get_element_type(type)) ? get_element_type(type) : type);
}

static void
note_use(ShuttleCallBody *body, Oid relid, int parameter)
{
	KeyUse	   *use = palloc_object(KeyUse);

	use->relid = relid;
	use->parameter = parameter;
	use->step = body->keys.step;
	body->keys.uses = lappend(body->keys.uses, use);
	if (body->keys.is_nested)
		body->keys.are_unknown = true;
}

/* True if rows that are equal by this operator are in one tablet. */
static bool
is_of_key(Oid relid, Oid equality, Oid collation)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	bool		is_of = op_in_opfamily(equality, key->partopfamily[0]) &&
		collation == key->partcollation[0];

	table_close(rel, NoLock);
	return is_of;
}

void
shuttle_call_note_key(ShuttleCallBody *body, Oid relid, int parameter, Oid type, Oid equality, Oid collation)
{
	if (parameter > 0 && type_fits(relid, type) && is_of_key(relid, equality, collation))
		note_use(body, relid, parameter);
	else
		body->keys.are_unknown = true;
}

/* The parameter that a column of an INSERT is in all rows; NULL: it is none, or several. */
static const Param *
inserted_parameter(const Query *query, Node *node)
{
	const Var  *column = (Var *) node;
	const RangeTblEntry *rte;
	const TargetEntry *entry;

	if (node == NULL || !IsA(node, Var))
		return as_parameter(node);
	if (column->varlevelsup > 0 || list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return NULL;
	rte = rt_fetch(column->varno, query->rtable);
	if (rte->rtekind != RTE_SUBQUERY || rte->subquery->setOperations != NULL)
		return NULL;
	entry = get_tle_by_resno(rte->subquery->targetList, column->varattno);
	return entry == NULL ? NULL : as_parameter((Node *) entry->expr);
}

static const TargetEntry *
find_target(List *targets, AttrNumber column)
{
	ListCell   *cell;

	foreach(cell, targets)
	{
		if (lfirst_node(TargetEntry, cell)->resno == column)
			return lfirst(cell);
	}
	return NULL;
}

void
shuttle_call_note_target(ShuttleCallBody *body, const Query *query, Relation rel)
{
	AttrNumber	column = RelationGetPartitionKey(rel)->partattrs[0];
	const TargetEntry *entry = find_target(query->targetList, column);
	const Param *parameter;

	if (query->commandType == CMD_UPDATE && entry != NULL)
		body->keys.are_unknown = true;
	if (query->onConflict != NULL && find_target(query->onConflict->onConflictSet, column) != NULL)
		body->keys.are_unknown = true;
	if (query->commandType != CMD_INSERT)
		return;
	parameter = entry == NULL ? NULL : inserted_parameter(query, (Node *) entry->expr);
	if (parameter != NULL && !OidIsValid(get_element_type(parameter->paramtype)) &&
		type_fits(RelationGetRelid(rel), parameter->paramtype))
		note_use(body, RelationGetRelid(rel), parameter->paramid);
	else
		body->keys.are_unknown = true;
}

/* ---- which plans suit */

/* True if a condition compares a value of the call otherwise than by equality. */
static bool
compares_value(Node *node, void *arg)
{
	Oid			operator = InvalidOid;
	List	   *args = NIL;

	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, OpExpr))
	{
		operator = ((OpExpr *) node)->opno;
		args = ((OpExpr *) node)->args;
	}
	else if (IsA(node, ScalarArrayOpExpr))
	{
		operator = ((ScalarArrayOpExpr *) node)->opno;
		args = ((ScalarArrayOpExpr *) node)->args;
	}
	if (OidIsValid(operator) && (list_length(args) != 2 || !op_mergejoinable(operator, exprType(linitial(args)))) &&
		shuttle_expression_has(args, SHUTTLE_HAS_STATEMENT_PARAM))
		return true;
	return expression_tree_walker(node, compares_value, arg);
}

void
shuttle_call_note_query(ShuttleCallBody *body, const Query *query, int nsets)
{
	if (nsets > 1 || compares_value((Node *) query->jointree, NULL) ||
		shuttle_expression_has(query->limitCount, SHUTTLE_HAS_STATEMENT_PARAM) ||
		shuttle_expression_has(query->limitOffset, SHUTTLE_HAS_STATEMENT_PARAM))
		body->keys.wants_values = true;
}

bool
shuttle_call_is_one_row(Oid relid, const Bitmapset *columns)
{
	Relation	rel = table_open(relid, NoLock);
	bool		found = false;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		bool		all = index->rd_index->indisunique && RelationGetIndexPredicate(index) == NIL &&
			RelationGetIndexExpressions(index) == NIL;

		for (int i = 0; i < index->rd_index->indnkeyatts; i++)
			all &= bms_is_member(index->rd_index->indkey.values[i], columns);
		index_close(index, AccessShareLock);
		found |= all;
	}
	table_close(rel, NoLock);
	return found;
}

/* ---- from parameters to arguments */

/* The same argument can be the key of tables of several groups. */
static void
add_argument(ShuttleCallKeys *keys, int argument, Oid relid)
{
	ListCell   *known;
	ListCell   *table;

	forboth(known, keys->arguments, table, keys->relids)
	{
		if (lfirst_int(known) == argument && lfirst_oid(table) == relid)
			return;
	}
	keys->arguments = lappend_int(keys->arguments, argument);
	keys->relids = lappend_oid(keys->relids, relid);
}

/* assigned: for each parameter, the first step in which it is; 0: never. */
void
shuttle_call_keys_resolve(ShuttleCallBody *body, const int *arguments, const int *assigned, int nparameters)
{
	ListCell   *cell;

	foreach(cell, body->keys.uses)
	{
		const KeyUse *use = lfirst(cell);
		int			argument = use->parameter > nparameters ? 0 :
			arguments == NULL ? use->parameter : arguments[use->parameter - 1];

		if (argument == 0 || (assigned != NULL && assigned[use->parameter - 1] != 0 &&
							  use->step > assigned[use->parameter - 1]))
			body->keys.are_unknown = true;
		else
			add_argument(&body->keys, argument, use->relid);
	}
	body->keys.uses = NIL;
}

/* ---- the call's values */

static ShuttleCallPlace
place_of_value(Oid relid, Oid type, Datum value, Oid server, List **tablets)
{
	int			number;

	if (shuttle_routed_server_of(relid, type, value, &number) != server)
		return SHUTTLE_KEYS_ELSEWHERE;
	if (tablets != NULL)
		*tablets = list_append_unique_oid(*tablets, shuttle_tablet_find(relid, number));
	return SHUTTLE_KEYS_THERE;
}

static ShuttleCallPlace
place_of_array(Oid relid, ArrayType *array, Oid server, List **tablets)
{
	Oid			type = ARR_ELEMTYPE(array);
	int16		length;
	bool		by_value;
	char		alignment;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;
	ShuttleCallPlace place = SHUTTLE_KEYS_THERE;

	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	deconstruct_array(array, type, length, by_value, alignment, &values, &nulls, &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			return SHUTTLE_KEYS_UNKNOWN;
		place = Max(place, place_of_value(relid, type, values[i], server, tablets));
	}
	return place;
}

ShuttleCallPlace
shuttle_call_place(const ShuttleCall *call, Oid server, List **tablets)
{
	const ShuttleCallBody *body = shuttle_call_body(call->routine);
	ShuttleCallPlace place = SHUTTLE_KEYS_THERE;
	ListCell   *cell;
	ListCell   *table;

	if (body->keys.are_unknown)
		return SHUTTLE_KEYS_UNKNOWN;
	forboth(cell, body->keys.arguments, table, body->keys.relids)
	{
		int			argument = lfirst_int(cell) - 1;
		bool		is_null;
		Oid			type;
		Datum		value;
		ShuttleCallPlace found;

		if (argument >= list_length(call->arguments))
			return SHUTTLE_KEYS_UNKNOWN;
		type = exprType(list_nth(call->plan->values, argument));
		value = ExecEvalExprSwitchContext(list_nth(call->arguments, argument), call->econtext, &is_null);
		if (is_null)
			return SHUTTLE_KEYS_UNKNOWN;
		found = OidIsValid(get_element_type(type)) ?
			place_of_array(lfirst_oid(table), DatumGetArrayTypeP(value), server, tablets) :
			place_of_value(lfirst_oid(table), type, value, server, tablets);
		if (found == SHUTTLE_KEYS_UNKNOWN)
			return SHUTTLE_KEYS_UNKNOWN;
		place = Max(place, found);
	}
	return place;
}

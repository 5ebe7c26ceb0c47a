/*-------------------------------------------------------------------------
 * literal_shape.c
 *	  Replaces literals of a statement by parameters.
 *
 * A literal becomes a parameter if no plan depends on it and the node treats a
 * parameter of its type the same: values that are written, expressions of such
 * values and columns, and "column = literal" among the quals. Other literals
 * stay and are part of the shape.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "planner/router/literals.h"

static void
add_to_hash(ShuttleShape *shape, uint32 value)
{
	shape->hash = hash_combine(shape->hash, murmurhash32(value));
}

static bool
look_at_left(Node *node, void *context)
{
	ShuttleShape *shape = context;

	if (node == NULL)
		return false;
	add_to_hash(shape, nodeTag(node));
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		shape->has_parameters = true;
	if (IsA(node, Var))
		add_to_hash(shape, ((Var *) node)->varattno);
	if (IsA(node, Const) && !((Const *) node)->constisnull)
	{
		const Const *literal = (const Const *) node;

		shape->left_bytes += datumGetSize(literal->constvalue, literal->constbyval,
										  literal->constlen);
		add_to_hash(shape, datum_image_hash(literal->constvalue, literal->constbyval,
											literal->constlen));
	}
	return expression_tree_walker(node, look_at_left, context);
}

/* Leaves an expression as it is; its literals become part of the shape. */
static Node *
leave(Node *node, ShuttleShape *shape)
{
	(void) look_at_left(node, shape);
	return node;
}

static Node *
replace_literal(Const *literal, ShuttleShape *shape)
{
	Param	   *param;

	if (literal->constisnull || literal->consttype == BOOLOID ||
		get_typtype(literal->consttype) == TYPTYPE_PSEUDO)
		return leave((Node *) literal, shape);
	shape->literals = lappend(shape->literals, literal);
	param = makeNode(Param);
	param->paramkind = PARAM_EXTERN;
	param->paramid = list_length(shape->literals);
	param->paramtype = literal->consttype;
	param->paramtypmod = literal->consttypmod;
	param->paramcollid = literal->constcollid;
	param->location = -1;
	add_to_hash(shape, param->paramtype);
	return (Node *) param;
}

static bool
is_users_function(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

static bool
is_more_than_literals(Node *node, void *context)
{
	switch (nodeTag(node))
	{
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_List:
			return check_functions_in_node(node, is_users_function, NULL) ||
				expression_tree_walker(node, is_more_than_literals, context);
		default:
			return true;
	}
}

/*
 * Evaluates an expression of literals, such as a cast, to one literal; else the
 * node would raise the error that the planner raises here. Functions of users
 * are left alone: they may have side effects, and the planner evaluates them.
 */
static Node *
fold(Node *node)
{
	Node	   *folded;

	if (is_more_than_literals(node, NULL))
		return node;
	folded = eval_const_expressions(NULL, node);
	return IsA(folded, Const) ? folded : node;
}

/*
 * Next to a column postgres_fdw deparses some literals without a type, so that
 * the node takes the type of its column; a parameter has the type it has here.
 * True for literals whose type is clear.
 */
static bool
has_type_by_itself(const Const *literal)
{
	if (literal->constisnull)
		return false;
	switch (literal->consttype)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return true;
		case NUMERICOID:
			return strchr(DatumGetCString(DirectFunctionCall1(numeric_out,
															  literal->constvalue)),
						  '.') != NULL;
		default:
			return false;
	}
}

static Node *replace_in_arguments(Node *node, void *context);
static Node *replace_in_folded(Node *node, ShuttleShape *shape);

/* Only the first argument of a cast is a value; the others are its typmod. */
static Node *
replace_in_cast(const FuncExpr *cast, ShuttleShape *shape)
{
	FuncExpr   *copy = palloc_object(FuncExpr);

	add_to_hash(shape, cast->funcid);
	*copy = *cast;
	copy->args = list_copy(cast->args);
	linitial(copy->args) = replace_in_arguments(linitial(copy->args), shape);
	return (Node *) copy;
}

/* Replaces literals in an operator's arguments. */
static Node *
replace_in_arguments(Node *node, void *context)
{
	check_stack_depth();
	if (IsA(node, FuncExpr) || IsA(node, OpExpr))
		node = fold(node);
	return replace_in_folded(node, context);
}

/* The same for a folded expression. Node types not listed, and calls of users'
 * functions, which the planner may evaluate, are left as they are. */
static Node *
replace_in_folded(Node *node, ShuttleShape *shape)
{
	if (check_functions_in_node(node, is_users_function, NULL))
		return leave(node, shape);
	switch (nodeTag(node))
	{
		case T_Const:
			if (!has_type_by_itself((Const *) node))
				break;
			return replace_literal((Const *) node, shape);
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CALL ||
				((FuncExpr *) node)->args == NIL)
				break;
			return replace_in_cast((FuncExpr *) node, shape);
		case T_OpExpr:
			add_to_hash(shape, ((OpExpr *) node)->opno);
			return expression_tree_mutator(node, replace_in_arguments, shape);
		case T_List:
			return expression_tree_mutator(node, replace_in_arguments, shape);
		default:
			break;
	}
	return leave(node, shape);
}

/* Replaces literals in a value that is written. */
static Node *
replace_in_value(Node *node, ShuttleShape *shape)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
			node = fold(node);
			break;
		case T_CoerceToDomain:
			{
				CoerceToDomain *copy = palloc_object(CoerceToDomain);

				*copy = *(CoerceToDomain *) node;
				copy->arg = (Expr *) replace_in_value((Node *) copy->arg, shape);
				return (Node *) copy;
			}
		default:
			break;
	}
	if (IsA(node, Const))
		return replace_literal((Const *) node, shape);
	return replace_in_folded(node, shape);
}

static bool
is_column(const Node *node)
{
	if (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return IsA(node, Var);
}

/* True for "column = x", whose selectivity depends on the column more than on
 * x. */
static bool
is_equality_with_column(const OpExpr *operator)
{
	return list_length(operator->args) == 2 &&
		(is_column(linitial(operator->args)) || is_column(lsecond(operator->args))) &&
		get_oprrest(operator->opno) == F_EQSEL;
}

static Node *
replace_beside_column(Node *node, void *context)
{
	if (IsA(node, List))
		return expression_tree_mutator(node, replace_beside_column, context);
	if (IsA(node, Const) && has_type_by_itself((Const *) node))
		return replace_literal((Const *) node, context);
	return leave(node, context);
}

/* Replaces literals in quals. Nothing is folded: an earlier qual may protect
 * from an error. */
static Node *
replace_in_conditions(Node *node, void *context)
{
	check_stack_depth();
	if (node == NULL)
		return NULL;
	if (IsA(node, List) || is_andclause(node))
		return expression_tree_mutator(node, replace_in_conditions, context);
	if (IsA(node, OpExpr) && is_equality_with_column((OpExpr *) node))
	{
		add_to_hash(context, ((OpExpr *) node)->opno);
		return expression_tree_mutator(node, replace_beside_column, context);
	}
	return leave(node, context);
}

ShuttleShape
shuttle_literal_shape_take(Query *query)
{
	ShuttleShape shape = {.hash = query->commandType};
	List	   *targets = NIL;
	ListCell   *lc;

	add_to_hash(&shape, linitial_node(RangeTblEntry, query->rtable)->relid);
	foreach(lc, query->targetList)
	{
		TargetEntry *copy = palloc_object(TargetEntry);

		*copy = *lfirst_node(TargetEntry, lc);
		add_to_hash(&shape, copy->resno);
		copy->expr = (Expr *) (query->commandType == CMD_SELECT ?
							   leave((Node *) copy->expr, &shape) :
							   replace_in_value((Node *) copy->expr, &shape));
		targets = lappend(targets, copy);
	}
	leave((Node *) query->returningList, &shape);
	leave(query->limitOffset, &shape);
	leave(query->limitCount, &shape);

	shape.query = palloc_object(Query);
	*shape.query = *query;
	shape.query->targetList = targets;
	shape.query->jointree = makeFromExpr(query->jointree->fromlist,
										 replace_in_conditions(query->jointree->quals,
															   &shape));

	/* a shared plan has no query text */
	shape.query->queryId = 0;
	shape.query->stmt_location = -1;
	shape.query->stmt_len = 0;
	return shape;
}

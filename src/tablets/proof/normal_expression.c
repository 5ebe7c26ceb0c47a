/*-------------------------------------------------------------------------
 * normal_expression.c
 *	  Expressions in the form in which those that mean the same are equal.
 *
 * Columns of joins and of grouping steps are what they stand for. AND and OR have no
 * other AND or OR below them. Casts that change nothing are left out: the parser adds
 * and drops them as it knows types of parameters or not. Names that only serve to
 * refer to something are left out, and so is what is derived from the rest.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_planner.h"
#include "tablets/proof/proof_internal.h"
#include "tablets/shuttle_proof.h"

/* ---- columns and parameters */

/* What a column of a join or grouping step stands for; NULL: it is a table's. */
static Node *
stands_for(const RangeTblEntry *rte, const Var *var)
{
	const List *columns = rte->rtekind == RTE_JOIN ? rte->joinaliasvars : shuttle_group_columns(rte);
	Node	   *value;

	if (columns == NIL || var->varattno <= 0)
		return NULL;
	value = copyObject(list_nth(columns, var->varattno - 1));
	if (var->varlevelsup > 0)
		IncrementVarSublevelsUp(value, var->varlevelsup, 0);
	return value;
}

static Node *
normal_column(const Var *var, ShuttleNormalLevel *level)
{
	ShuttleNormalLevel *own = level;
	Node	   *value;
	Var		   *column;

	for (int i = 0; own != NULL && i < var->varlevelsup; i++)
		own = own->up;
	if (own == NULL)
		return copyObject((Node *) var);
	value = own->query == NULL ? NULL : stands_for(rt_fetch(var->varno, own->query->rtable), var);
	if (value != NULL)
		return shuttle_normal_expression(value, level);
	column = copyObject((Var *) var);
	column->varno = column->varnosyn = shuttle_normal_number(own, var->varno);
	column->varattnosyn = column->varattno;
	SET_NULLED_BY(column, 0);
	return (Node *) column;
}

/* The value that a parameter stands for. The node must know its type. */
static Node *
normal_parameter(const Param *param, const ShuttleNormalLevel *level)
{
	ShuttleNormal meant = {0};
	ShuttleNormalLevel none = {.all = &meant};
	Node	   *value;

	if (param->paramkind != PARAM_EXTERN || !level->all->is_text)
		return copyObject((Node *) param);
	if (param->paramid < 1 || param->paramid > list_length(level->all->values))
	{
		level->all->wrong = psprintf("It has no parameter $%d.", param->paramid);
		return copyObject((Node *) param);
	}
	value = list_nth(level->all->values, param->paramid - 1);
	if (exprType(value) != param->paramtype)
		level->all->wrong = psprintf("Its parameter $%d has another type.", param->paramid);
	return shuttle_normal_expression(value, &none);
}

/* ---- what is tidied behind the expressions below */

static Node *
normal_boolean(BoolExpr *expression)
{
	List	   *flat = NIL;
	ListCell   *lc;

	foreach(lc, expression->args)
	{
		BoolExpr   *below = lfirst(lc);

		if (IsA(below, BoolExpr) && expression->boolop != NOT_EXPR && below->boolop == expression->boolop)
			flat = list_concat(flat, below->args);
		else
			flat = lappend(flat, below);
	}
	expression->args = flat;
	return (Node *) expression;
}

static Node *
normal_relabel(RelabelType *relabel)
{
	Node	   *below = (Node *) relabel->arg;

	return exprType(below) == relabel->resulttype && exprTypmod(below) == relabel->resulttypmod &&
		exprCollation(below) == relabel->resultcollid ? below : (Node *) relabel;
}

/* A cast to a length that the value has already. */
static Node *
normal_function(FuncExpr *function)
{
	int32		typmod;
	Node	   *below = linitial(function->args);

	return exprIsLengthCoercion((Node *) function, &typmod) && exprType(below) == function->funcresulttype &&
		exprTypmod(below) == typmod ? below : (Node *) function;
}

/* The parser casts the elements of ARRAY[..]::type[] one by one. */
static Node *
cast_element(Node *node, void *element)
{
	if (node == NULL)
		return NULL;
	return IsA(node, CaseTestExpr) ? copyObject((Node *) element) :
		expression_tree_mutator(node, cast_element, element);
}

static Node *
normal_array_cast(ArrayCoerceExpr *cast)
{
	ArrayExpr  *array = (ArrayExpr *) cast->arg;
	ListCell   *lc;

	if (!IsA(array, ArrayExpr) || array->multidims)
		return (Node *) cast;
	array->array_typeid = cast->resulttype;
	array->array_collid = cast->resultcollid;
	array->element_typeid = get_element_type(cast->resulttype);
	foreach(lc, array->elements)
		lfirst(lc) = cast_element((Node *) cast->elemexpr, lfirst(lc));
	return (Node *) array;
}

/* A literal that nothing has given a type is of type text where it is read again. */
static Node *
normal_literal(Const *literal)
{
	if (literal->consttype != UNKNOWNOID)
		return (Node *) literal;
	return (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, literal->constisnull ? (Datum) 0 :
							  CStringGetTextDatum(DatumGetCString(literal->constvalue)),
							  literal->constisnull, false);
}

static Node *
tidy(Node *node, ShuttleNormalLevel *level)
{
	switch (nodeTag(node))
	{
		case T_BoolExpr:
			return normal_boolean((BoolExpr *) node);
		case T_RelabelType:
			return normal_relabel((RelabelType *) node);
		case T_FuncExpr:
			return ((FuncExpr *) node)->args == NIL ? node : normal_function((FuncExpr *) node);
		case T_ArrayCoerceExpr:
			return normal_array_cast((ArrayCoerceExpr *) node);
		case T_Const:
			return normal_literal((Const *) node);
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			((OpExpr *) node)->opfuncid = InvalidOid;
			break;
		case T_ScalarArrayOpExpr:
			((ScalarArrayOpExpr *) node)->opfuncid = InvalidOid;
			break;
		case T_Aggref:
			((Aggref *) node)->aggtranstype = InvalidOid;
			((Aggref *) node)->aggno = ((Aggref *) node)->aggtransno = -1;
			break;
		case T_TargetEntry:
			((TargetEntry *) node)->resname = NULL;
			((TargetEntry *) node)->resorigtbl = InvalidOid;
			((TargetEntry *) node)->resorigcol = 0;
			break;
		case T_SubLink:
			((SubLink *) node)->operName = NIL;
			break;
		case T_GroupingFunc:
			((GroupingFunc *) node)->refs = NIL;
			break;
		case T_RangeTblFunction:
			((RangeTblFunction *) node)->funccolnames = NIL;
			break;
		case T_CommonTableExpr:
			((CommonTableExpr *) node)->aliascolnames = NIL;
			((CommonTableExpr *) node)->ctecolnames = NIL;
			((CommonTableExpr *) node)->cterefcount = 0;
			break;
		case T_OnConflictExpr:
			((OnConflictExpr *) node)->exclRelIndex =
				shuttle_normal_number(level, ((OnConflictExpr *) node)->exclRelIndex);
			((OnConflictExpr *) node)->exclRelTlist = NIL;
			break;
		case T_MergeAction:
			((MergeAction *) node)->override = OVERRIDING_NOT_SET;
			break;
		case T_JoinExpr:
			((JoinExpr *) node)->rtindex = shuttle_normal_number(level, ((JoinExpr *) node)->rtindex);
			((JoinExpr *) node)->alias = NULL;
			((JoinExpr *) node)->join_using_alias = NULL;
			((JoinExpr *) node)->usingClause = NIL;
			((JoinExpr *) node)->isNatural = false;
			break;
		default:
			break;
	}
	return node;
}

Node *
shuttle_normal_expression(Node *node, void *arg)
{
	ShuttleNormalLevel *level = arg;

	if (node == NULL)
		return NULL;
	switch (nodeTag(node))
	{
		case T_Query:
			return (Node *) shuttle_normal_subquery((Query *) node, level, level->all);
		case T_Var:
			return normal_column((Var *) node, level);
		case T_Param:
			return normal_parameter((Param *) node, level);
		case T_RangeTblRef:
			{
				RangeTblRef *table = makeNode(RangeTblRef);

				table->rtindex = shuttle_normal_number(level, ((RangeTblRef *) node)->rtindex);
				return (Node *) table;
			}
		default:
			node = expression_tree_mutator(node, shuttle_normal_expression, arg);

			/* lists are no nodes to tidy */
			return IsA(node, List) ? node : tidy(node, level);
	}
}

/* ---- planned expressions */

Node *
shuttle_normal_uncast(Node *node)
{
	while (node != NULL)
	{
		const FuncExpr *call = (const FuncExpr *) node;

		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, FuncExpr) && call->funcformat == COERCE_IMPLICIT_CAST && list_length(call->args) == 1)
			node = linitial(call->args);
		else
			break;
	}
	return node;
}

/* The same rows are equal in all deterministic collations. */
static void
forget_collation(Oid operator, const List *args, Oid *collation)
{
	Oid			negator = get_negator(operator);
	Oid			type = exprType(linitial(args));

	if (OidIsValid(*collation) && get_collation_isdeterministic(*collation) &&
		(op_hashjoinable(operator, type) || (OidIsValid(negator) && op_hashjoinable(negator, type))))
		*collation = InvalidOid;
}

/* True of a cast to a length that the value has: the parser makes none. */
static bool
has_length(const Node *node)
{
	int32		length;

	return exprIsLengthCoercion(node, &length) && IsA(node, FuncExpr) &&
		exprType(linitial(((const FuncExpr *) node)->args)) == exprType(node) &&
		exprTypmod(linitial(((const FuncExpr *) node)->args)) == length;
}

/* Forgets what planning changes, and what the text of a value does not tell. */
static Node *
forget_planned(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	node = expression_tree_mutator(node, forget_planned, context);
	switch (nodeTag(node))
	{
		case T_RelabelType:
			{
				RelabelType *relabel = (RelabelType *) node;
				Node	   *below = (Node *) relabel->arg;

				return exprType(below) == relabel->resulttype &&
					(relabel->resulttypmod == -1 || exprTypmod(below) == relabel->resulttypmod) ? below : node;
			}
		case T_NullTest:
			((NullTest *) node)->arg = (Expr *) shuttle_normal_uncast((Node *) ((NullTest *) node)->arg);
			return node;
		case T_Const:
			((Const *) node)->constcollid = get_typcollation(((Const *) node)->consttype);
			((Const *) node)->consttypmod = -1;
			return node;
		case T_FuncExpr:
			if (has_length(node))
				return linitial(((FuncExpr *) node)->args);
			if (((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CAST ||
				((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST)
				((FuncExpr *) node)->funccollid = ((FuncExpr *) node)->inputcollid = InvalidOid;
			return node;
		case T_OpExpr:
		case T_DistinctExpr:
			forget_collation(((OpExpr *) node)->opno, ((OpExpr *) node)->args, &((OpExpr *) node)->inputcollid);
			return node;
		case T_ScalarArrayOpExpr:
			forget_collation(((ScalarArrayOpExpr *) node)->opno, ((ScalarArrayOpExpr *) node)->args,
							 &((ScalarArrayOpExpr *) node)->inputcollid);
			return node;
		default:
			return node;
	}
}

Node *
shuttle_normal_planned(Node *expression, bool is_text, const List *values, char **wrong)
{
	ShuttleNormal all = {.is_text = is_text,.values = values};
	ShuttleNormal folded = {0};
	ShuttleNormalLevel level = {.all = &all};
	Node	   *normal = shuttle_normal_expression(expression, &level);

	if (all.wrong != NULL)
		*wrong = all.wrong;
	level.all = &folded;
	return forget_planned(shuttle_normal_expression(eval_const_expressions(NULL, normal), &level), NULL);
}

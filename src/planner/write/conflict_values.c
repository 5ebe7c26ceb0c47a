/*-------------------------------------------------------------------------
 * conflict_values.c
 *	  Which values of ON CONFLICT a node computes, and which are computed here.
 *
 * Expressions of parameters and constants only are evaluated here, once per
 * statement, when its first rows are sent. A node computes what means the same
 * there: built-in types, enums of a distributed table's columns, and built-in
 * immutable functions. What else depends on
 * EXCLUDED, but not on the stored row, is evaluated here for each row
 * (conflict_rows.c). Such an expression is taken as large as possible, so
 * that a CASE or COALESCE in it still protects its parts.
 *
 * Not converted: what depends on the stored row and means something else on the node, and
 * volatile functions, which core calls only for rows that conflict: conflict_here.c has all
 * computed here. Refused, there too: users' STABLE functions of EXCLUDED, which could see rows
 * that the statement wrote.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "planner/write/conflict_values.h"
#include "tablets/shuttle_tablets.h"

static const char *const use_source = "Call it in the INSERT's source, and refer to its value by EXCLUDED.";

static Node *ship(Node *node, void *arg);

static void
refuse_value(ShuttleConflictValues *values, const char *reason, const char *hint)
{
	values->reason = reason;
	values->hint = hint;
}

/* ---- functions */

/* A function of an expression, and what it must be. */
typedef struct FoundFunction
{
	bool		(*is_wanted) (Oid function);
	Oid			function;		/* InvalidOid: none found */
} FoundFunction;

static bool
is_volatile(Oid function)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE;
}

/* PostgreSQL's own functions do not read tables that users write. */
static bool
is_stable_of_users(Oid function)
{
	return function >= FirstNormalObjectId &&
		func_volatile(function) == PROVOLATILE_STABLE;
}

static bool
differs_there(Oid function)
{
	return function >= FirstGenbkiObjectId ||
		func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

static bool
check_function(Oid function, void *context)
{
	FoundFunction *found = context;

	if (!found->is_wanted(function))
		return false;
	found->function = function;
	return true;
}

static bool
find_walker(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, check_function, context) ||
		 expression_tree_walker(node, find_walker, context));
}

/* The first such function of an expression, or InvalidOid. */
static Oid
find_function(Node *node, bool (*is_wanted) (Oid function))
{
	FoundFunction found = {.is_wanted = is_wanted};

	(void) find_walker(node, &found);
	return found.function;
}

static const char *
volatility(Oid function)
{
	switch (func_volatile(function))
	{
		case PROVOLATILE_VOLATILE:
			return "volatile";
		case PROVOLATILE_STABLE:
			return "stable";
		default:
			return "immutable";
	}
}

/* ---- what an expression depends on */

/* True if an expression depends on a row, or on a CASE around it. */
static bool
depends_on_row(const Node *node)
{
	return shuttle_expression_has(node, SHUTTLE_HAS_COLUMN | SHUTTLE_HAS_CASE_VALUE);
}

/* What an expression depends on. */
typedef struct Dependence
{
	const ShuttleConflictValues *values;
	int			ncases;			/* enclosing nodes that have a CaseTestExpr */
	bool		on_excluded;
	bool		on_other;		/* the stored row, or a CASE around all */
} Dependence;

static bool
find_dependence(Node *node, void *context)
{
	Dependence *dependence = context;
	Node	   *tested = NULL;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varno == dependence->values->excluded && var->varlevelsup == 0)
			dependence->on_excluded = true;
		else
			dependence->on_other = true;
		return false;
	}
	if (IsA(node, CaseTestExpr) && dependence->ncases == 0)
		dependence->on_other = true;
	if (IsA(node, CaseExpr))
		tested = (Node *) ((CaseExpr *) node)->arg;
	else if (IsA(node, ArrayCoerceExpr))
		tested = (Node *) ((ArrayCoerceExpr *) node)->arg;
	if (tested == NULL)
		return expression_tree_walker(node, find_dependence, context);

	/* what is tested is outside of the node's own CaseTestExprs */
	(void) find_dependence(tested, context);
	dependence->ncases++;
	(void) expression_tree_walker(node, find_dependence, context);
	dependence->ncases--;
	return false;
}

/* True if it depends on EXCLUDED, and on no other row. */
static bool
is_of_excluded(Node *node, const ShuttleConflictValues *values)
{
	Dependence	dependence = {.values = values};

	(void) find_dependence(node, &dependence);
	return dependence.on_excluded && !dependence.on_other;
}

/* ---- parameters */

static Param *
make_param(Node *node, int id)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = id;
	param->paramtype = exprType(node);
	param->paramtypmod = exprTypmod(node);
	param->paramcollid = exprCollation(node);
	param->location = -1;
	return param;
}

/* Replaces an expression by a parameter of the statement. */
static Param *
make_parameter(Node *node, ShuttleConflictValues *values)
{
	values->parameters = lappend(values->parameters, node);
	return make_param(node, list_length(values->parameters));
}

/* The same for a parameter of each row, whose number is negative until all
 * parameters of the statement are known. */
static Param *
make_row_value(Node *node, ShuttleConflictValues *values)
{
	values->row_values = lappend(values->row_values, node);
	return make_param(node, -list_length(values->row_values));
}

static Node *
number_row_values(Node *node, void *context)
{
	const ShuttleConflictValues *values = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramid < 0)
	{
		Param	   *param = copyObject((Param *) node);

		param->paramid = list_length(values->parameters) - param->paramid;
		return (Node *) param;
	}
	return expression_tree_mutator(node, number_row_values, context);
}

/* A cast that tells the node the type of a parameter. */
static Node *
tell_type(Param *param)
{
	return (Node *) makeRelabelType((Expr *) param, param->paramtype, -1,
									param->paramcollid, COERCE_EXPLICIT_CAST);
}

/* ---- what nodes compute */

static bool
is_built_in(Oid object)
{
	return object < FirstGenbkiObjectId;
}

/* Kinds of expressions that ruleutils deparses reliably. */
static bool
is_known_kind(Node *node)
{
	switch (nodeTag(node))
	{
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CollateExpr:
		case T_CaseExpr:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_NullTest:
		case T_BooleanTest:
			return true;
		case T_SubscriptingRef:
			return castNode(SubscriptingRef, node)->refassgnexpr == NULL;
		default:
			return false;
	}
}

static void
check_column(const Var *var, ShuttleConflictValues *values)
{
	Form_pg_attribute attribute;

	if (var->varlevelsup != 0 ||
		(var->varno != values->target && var->varno != values->excluded))
		values->reason = "It refers to another table.";
	else if (var->varattno <= 0)
		values->reason = "It refers to a whole row or to a system column.";
	else
	{
		attribute = TupleDescAttr(RelationGetDescr(values->rel), var->varattno - 1);
		if (attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
			values->reason = "It refers to a column that is computed when it is read.";
	}
}

static char *
unknown_type_reason(Node *node)
{
	return psprintf("It has a value of type %s, which is not built in.",
					format_type_be(exprType(node)));
}

/* Nodes have the enums of a distributed table's columns, with the same labels in the
 * same order. */
static bool
is_enum_there(Oid type, const ShuttleConflictValues *values)
{
	TupleDesc	desc = RelationGetDescr(values->rel);

	if (OidIsValid(get_element_type(type)))
		type = get_element_type(type);
	if (!type_is_enum(type) ||
		shuttle_table_kind(RelationGetRelid(values->rel)) != SHUTTLE_TABLE_DISTRIBUTED)
		return false;
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->atttypid == type)
			return true;
	}
	return false;
}

/* Sets the reason why a node, without its children, cannot be shipped. */
static void
check_kind(Node *node, ShuttleConflictValues *values)
{
	FoundFunction found = {.is_wanted = differs_there};

	if (!is_known_kind(node))
		values->reason = "It has an expression of a kind that nodes are not sent.";
	else if (!is_built_in(exprType(node)) && !is_enum_there(exprType(node), values))
		values->reason = unknown_type_reason(node);
	else if (IsA(node, CollateExpr) && !is_built_in(((CollateExpr *) node)->collOid))
		values->reason = "It names a collation that is not built in.";
	else if (shuttle_meaning_is_users_operator(node))
		values->reason = "It uses the stored row in an operator that is not built in.";
	else if (shuttle_meaning_is_users_cast(node))
		values->reason = "It uses the stored row in a cast that is not built in.";
	else if (shuttle_meaning_depends_on_zone(node))
		values->reason = "It uses the stored row in a function that depends on time zones of the session.";
	else if (check_functions_in_node(node, shuttle_meaning_writes_as_set, NULL))
		values->reason = "It writes a value of the stored row as text, which depends on settings of the session.";
	else if (check_functions_in_node(node, check_function, &found))
		values->reason = psprintf("It uses the stored row in function %s, which is %s%s.",
								  format_procedure(found.function),
								  volatility(found.function),
								  is_built_in(found.function) ? "" : " and not built in");
}

/* ---- what is computed here for each row */

static bool
check_excluded(Node *node, void *context)
{
	ShuttleConflictValues *values = context;

	if (node == NULL)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, check_excluded, context);
	if (((Var *) node)->varattno <= 0)
		values->reason = "It refers to a system column.";
	else if (TupleDescAttr(RelationGetDescr(values->rel),
						   ((Var *) node)->varattno - 1)->attgenerated)
		values->reason = "It refers to a generated column, which the node computes.";
	return values->reason != NULL;
}

/* Sets the reason why an expression of EXCLUDED cannot be computed here. */
static void
check_computable(Node *node, ShuttleConflictValues *values)
{
	Oid			function = find_function(node, is_stable_of_users);

	(void) check_excluded(node, values);
	if (values->reason == NULL && OidIsValid(function))
		refuse_value(values, psprintf("Function %s is stable and not built in.",
									  format_procedure(function)), use_source);
}

/* ---- converting */

/* Converts an expression of EXCLUDED: as a whole for the node, or as a value
 * that is computed here. */
static Node *
ship_excluded(Node *node, ShuttleConflictValues *values)
{
	int			nparameters = list_length(values->parameters);
	const char *hint = values->hint;
	Node	   *shipped;

	values->whole = true;
	shipped = ship(node, values);
	values->whole = false;
	if (values->reason == NULL)
		return shipped;
	values->parameters = list_truncate(values->parameters, nparameters);
	values->reason = NULL;
	values->hint = hint;
	if (!is_built_in(exprType(node)))
		values->reason = unknown_type_reason(node);
	else
		check_computable(node, values);
	return values->reason != NULL ? node : tell_type(make_row_value(node, values));
}

static Node *
ship(Node *node, void *arg)
{
	ShuttleConflictValues *values = arg;

	if (node == NULL || values->reason != NULL)
		return node;
	if (IsA(node, List) || IsA(node, CaseWhen))
		return expression_tree_mutator(node, ship, arg);
	if (IsA(node, Var))
	{
		check_column((Var *) node, values);
		return node;
	}
	if (!IsA(node, Const) && !depends_on_row(node))
	{
		if (is_built_in(exprType(node)))
			return tell_type(make_parameter(node, values));
		values->reason = unknown_type_reason(node);
		return node;
	}
	if (!values->whole && is_of_excluded(node, values))
		return ship_excluded(node, values);
	check_kind(node, values);
	return values->reason != NULL ? node : expression_tree_mutator(node, ship, arg);
}

Node *
shuttle_conflict_values_ship(ShuttleConflictValues *values, Node *node)
{
	return ship(node, values);
}

static void
check_contents(Node *node, ShuttleConflictValues *values)
{
	Oid			function = find_function(node, is_volatile);

	if (OidIsValid(function))
		refuse_value(values, psprintf("Function %s is volatile.", format_procedure(function)),
					 function < FirstNormalObjectId ? use_source :
					 psprintf("%s Or declare the function as STABLE or IMMUTABLE, if it is.", use_source));
	else if (contain_volatile_functions(node))
		values->reason = "It has a volatile function.";
	else if (checkExprHasSubLink(node))
		values->reason = "It has a subquery.";
}

/* Replaces EXCLUDED as a whole row by its columns. */
static Node *
expand_excluded(Node *node, void *context)
{
	const ShuttleConflictValues *values = context;
	RowExpr    *row;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var) || ((Var *) node)->varattno != 0 ||
		((Var *) node)->varlevelsup != 0 || ((Var *) node)->varno != values->excluded)
		return expression_tree_mutator(node, expand_excluded, context);
	row = makeNode(RowExpr);
	for (int i = 0; i < RelationGetDescr(values->rel)->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(values->rel), i);

		row->args = lappend(row->args, attribute->attisdropped ?
							(void *) makeNullConst(INT4OID, -1, InvalidOid) :
							(void *) makeVar(values->excluded, i + 1, attribute->atttypid,
											 attribute->atttypmod, attribute->attcollation, 0));
	}
	row->row_typeid = ((Var *) node)->vartype;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = -1;
	return (Node *) row;
}

static bool
is_of_users(Oid function)
{
	return function >= FirstNormalObjectId;
}

static Node *
hide_columns(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return (Node *) make_param(node, 1);
	return expression_tree_mutator(node, hide_columns, context);
}

/*
 * Notes the functions that are inlined into an expression. Core finds them for
 * expressions without Vars only: since 19 it looks these up in a query.
 */
static void
note_functions(Node *node, ShuttleConflictValues *values)
{
	List	   *relations = NIL;
	List	   *functions = NIL;

	if (!OidIsValid(find_function(node, is_of_users)))
		return;
	(void) expression_planner_with_deps((Expr *) hide_columns(node, NULL),
										&relations, &functions);
	values->invalid_by = list_concat(values->invalid_by, functions);
}

/* What core's planner does with an expression; or NULL, with the reason. */
static Node *
prepare(Node *node, ShuttleConflictValues *values)
{
	check_contents(node, values);
	if (values->reason != NULL)
		return NULL;
	node = expand_excluded(node, values);
	note_functions(node, values);
	return (Node *) expression_planner((Expr *) node);
}

/* Converts a new value for a column. A value computed here has the column's
 * type, so needs no cast. */
static Node *
ship_new_value(Node *node, ShuttleConflictValues *values)
{
	node = prepare(node, values);
	if (values->reason != NULL)
		return NULL;
	if (!depends_on_row(node))
		return (Node *) make_parameter(node, values);
	if (is_built_in(exprType(node)) || IsA(node, Var) || !is_of_excluded(node, values))
		return ship(node, values);
	check_computable(node, values);
	return values->reason != NULL ? NULL : (Node *) make_row_value(node, values);
}

void
shuttle_conflict_values_ship_update(ShuttleConflictValues *values, OnConflictExpr *clause)
{
	ListCell   *cell;

	foreach(cell, clause->onConflictSet)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		entry->expr = (Expr *) ship_new_value((Node *) entry->expr, values);
		if (values->reason != NULL)
			return;
	}
	if (clause->onConflictWhere != NULL)
		clause->onConflictWhere = ship(prepare(clause->onConflictWhere, values), values);
	if (values->row_values == NIL || values->reason != NULL)
		return;
	foreach(cell, clause->onConflictSet)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		entry->expr = (Expr *) number_row_values((Node *) entry->expr, values);
	}
	clause->onConflictWhere = number_row_values(clause->onConflictWhere, values);
}

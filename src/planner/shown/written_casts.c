/*-------------------------------------------------------------------------
 * written_casts.c
 *	  Makes implicit casts explicit where their absence would be another statement.
 *
 * postgres_fdw leaves implicit casts out, and the node adds them again when it resolves
 * operators and functions. It finds others if both sides of an operator have one. Core
 * makes such conditions: from n = x.a AND n = x.b, where n is a float8 and a and b are
 * bigints, it derives a::float8 = b::float8; and it puts an SQL function's arguments, which
 * were cast to its types, into its expression. So casts are marked before core builds
 * equivalence classes, in all that a node may get.
 *
 * equal() does not look at how a cast is written.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/plancat.h"
#include "parser/parse_coerce.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_expressions.h"
#include "planner/facts/planning_memo.h"
#include "planner/shown/shown.h"

/* Our kind in planning_memo.c. */
#define CASTS_KEY (-13)

/* ---- casts */

/* How a cast is written; NULL: the node is none. */
static CoercionForm *
cast_form(Node *node, Node **argument)
{
	switch (nodeTag(node))
	{
		case T_RelabelType:
			*argument = (Node *) ((RelabelType *) node)->arg;
			return &((RelabelType *) node)->relabelformat;
		case T_CoerceViaIO:
			*argument = (Node *) ((CoerceViaIO *) node)->arg;
			return &((CoerceViaIO *) node)->coerceformat;
		case T_ArrayCoerceExpr:
			*argument = (Node *) ((ArrayCoerceExpr *) node)->arg;
			return &((ArrayCoerceExpr *) node)->coerceformat;
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcformat != COERCE_IMPLICIT_CAST &&
				((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CAST)
				return NULL;
			*argument = linitial(((FuncExpr *) node)->args);
			return &((FuncExpr *) node)->funcformat;
		default:
			return NULL;
	}
}

Node *
shuttle_written_cast_implicit(Node *node)
{
	Node	   *argument;
	CoercionForm *form = cast_form(node, &argument);

	return form != NULL && *form == COERCE_IMPLICIT_CAST ? argument : NULL;
}

/* What is written of an expression. */
static Node *
written(Node *node)
{
	Node	   *argument;

	while ((argument = shuttle_written_cast_implicit(node)) != NULL)
		node = argument;
	return node;
}

/* A cast to a length, as an assignment has it, raises an error for longer values. Written, it would cut them. */
static bool
can_be_written(const Node *cast)
{
	return !IsA(cast, FuncExpr) || list_length(((const FuncExpr *) cast)->args) == 1;
}

void
shuttle_written_cast_write(Node *node)
{
	Node	   *argument;
	CoercionForm *form;

	while ((form = cast_form(node, &argument)) != NULL && *form == COERCE_IMPLICIT_CAST)
	{
		if (can_be_written(node))
			*form = COERCE_EXPLICIT_CAST;
		node = argument;
	}
}

static void
write_casts_of(const List *expressions)
{
	ListCell   *lc;

	foreach(lc, expressions)
		shuttle_written_cast_write(lfirst(lc));
}

/* ---- operators */

/* True if the parser resolves an operator's name between two types to that operator. */
static bool
operator_is_found(Oid operator, Oid left, Oid right)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;
	List	   *name;
	HeapTuple	found;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_operator) GETSTRUCT(tuple);
	name = list_make2(makeString(get_namespace_name(form->oprnamespace)),
					  makeString(pstrdup(NameStr(form->oprname))));
	ReleaseSysCache(tuple);
	found = OidIsValid(left) ? oper(NULL, name, left, right, true, -1) :
		left_oper(NULL, name, right, true, -1);
	result = HeapTupleIsValid(found) && oprid(found) == operator;
	if (HeapTupleIsValid(found))
		ReleaseSysCache(found);
	return result;
}

bool
shuttle_written_cast_operator_is_meant(const OpExpr *operator, Oid type)
{
	return operator_is_found(operator->opno, type, type);
}

/*
 * True if the cast of a side would be added again. The other side may become one of the same type, in
 * conditions that core derives, and for constants, which have no type beside a relabeled column.
 */
static bool
side_is_meant(Node *side, Oid operator, Oid declared, bool is_binary)
{
	Oid			from = exprType(written(side));

	if (shuttle_written_cast_implicit(side) == NULL)
		return true;
	if (IsPolymorphicType(declared))
		return false;
	return !is_binary || (!IsA(side, RelabelType) && !op_mergejoinable(operator, declared)) ||
		operator_is_found(operator, from, from);
}

/* True if the casts of an operator's sides need not be written. */
static bool
operator_is_meant(Oid operator, const List *args, bool has_array)
{
	bool		is_binary = list_length(args) == 2;
	Node	   *left = is_binary ? linitial(args) : NULL;
	Node	   *right = llast(args);
	Oid			left_type = is_binary ? exprType(written(left)) : InvalidOid;
	Oid			right_type = exprType(written(right));
	Oid			declared_left;
	Oid			declared_right;

	if (has_array)
		right_type = get_base_element_type(right_type);
	op_input_types(operator, &declared_left, &declared_right);
	return operator_is_found(operator, left_type, right_type) &&
		(!is_binary || side_is_meant(left, operator, declared_left, true)) &&
		(has_array || side_is_meant(right, operator, declared_right, is_binary));
}

static bool
has_implicit_cast(const List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		if (shuttle_written_cast_implicit(lfirst(lc)) != NULL)
			return true;
	}
	return false;
}

/* ---- functions */

/* True if the casts of arguments need not be written. */
static bool
function_is_meant(Oid function, const List *args, bool expands_variadic)
{
	List	   *name = list_make2(makeString(get_namespace_name(get_func_namespace(function))),
								  makeString(get_func_name(function)));
	List	   *all = NIL;
	Oid			types[FUNC_MAX_ARGS];
	Oid		   *declared;
	ListCell   *lc;

	foreach(lc, args)
	{
		types[foreach_current_index(lc)] = exprType(written(lfirst(lc)));
		all = lappend(all, written(lfirst(lc)));
	}
	if (shuttle_find_function(name, all, types, expands_variadic, &declared) != function)
		return false;
	foreach(lc, args)
	{
		Oid			type = declared[foreach_current_index(lc)];

		if (shuttle_written_cast_implicit(lfirst(lc)) != NULL && (IsPolymorphicType(type) || type == ANYOID))
			return false;
	}
	return true;
}

/* ---- values of several expressions */

static void
write_alternatives(List *args, Oid type)
{
	List	   *all = NIL;
	ListCell   *lc;

	if (!has_implicit_cast(args))
		return;
	foreach(lc, args)
		all = lappend(all, written(lfirst(lc)));
	if (select_common_type(NULL, all, NULL, NULL) != type)
		write_casts_of(args);
}

/* Nodes get it as a CASE (shown_expressions.c), of which the parser takes ELSE first. */
static void
write_coalesce(const CoalesceExpr *expression)
{
	List	   *results = list_copy(expression->args);

	results = list_delete_last(lcons(llast(results), results));
	write_alternatives(results, expression->coalescetype);
}

static void
write_case(const CaseExpr *expression)
{
	List	   *results = list_make1(expression->defresult);
	ListCell   *lc;

	foreach(lc, expression->args)
		results = lappend(results, lfirst_node(CaseWhen, lc)->result);
	write_alternatives(results, expression->casetype);
	if (expression->arg != NULL)
		shuttle_written_cast_write((Node *) expression->arg);
}

/* Sorted and grouped expressions, if the order of what is cast is another one. */
static void
write_sorted(const List *targets)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		Node	   *expression = (Node *) target->expr;

		if (target->ressortgroupref != 0 && shuttle_written_cast_implicit(expression) != NULL &&
			lookup_type_cache(exprType(expression), TYPECACHE_LT_OPR)->lt_opr !=
			lookup_type_cache(exprType(written(expression)), TYPECACHE_LT_OPR)->lt_opr)
			shuttle_written_cast_write(expression);
	}
}

static void
write_aggregate(const Aggref *aggregate)
{
	List	   *args = list_copy(aggregate->aggdirectargs);
	ListCell   *lc;

	foreach(lc, aggregate->args)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			args = lappend(args, lfirst_node(TargetEntry, lc)->expr);
	}
	/* hypothetical arguments have a type in common with those that are sorted */
	if (has_implicit_cast(args) && (aggregate->aggkind == AGGKIND_HYPOTHETICAL ||
									!function_is_meant(aggregate->aggfnoid, args, !aggregate->aggvariadic)))
		write_casts_of(args);
	if (aggregate->aggkind == AGGKIND_NORMAL)
		write_sorted(aggregate->args);
}

/* Columns of a subquery are written, since aggregates of the query around it may go into its scan. */
static void
write_targets(const PlannerInfo *root)
{
	ListCell   *lc;

	write_sorted(root->processed_tlist);
	if (root->parent_root == NULL || root->parse->commandType != CMD_SELECT)
		return;
	foreach(lc, root->processed_tlist)
		shuttle_written_cast_write((Node *) lfirst_node(TargetEntry, lc)->expr);
}

/* Expressions that branches of UNION ALL have as columns: the query above sees only a column, of the type that the cast makes. */
static void
write_branches(const List *branches)
{
	ListCell   *lc;

	foreach(lc, branches)
	{
		ListCell   *column;

		/* a dropped one is NULL */
		foreach(column, lfirst_node(AppendRelInfo, lc)->translated_vars)
		{
			if (lfirst(column) != NULL)
				shuttle_written_cast_write(lfirst(column));
		}
	}
}

/* ---- all */

static void
write_inside(Node *node)
{
	Node	   *argument;

	/*
	 * A cast of a cast. Those to a type and to its length are one cast in the
	 * query, so the one below them is meant.
	 */
	if (cast_form(node, &argument) != NULL)
	{
		if (exprType(argument) == exprType(node))
			(void) cast_form(argument, &argument);
		shuttle_written_cast_write(argument);
		return;
	}
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			{
				const OpExpr *operator = (OpExpr *) node;

				if (has_implicit_cast(operator->args) && !operator_is_meant(operator->opno, operator->args, false))
					write_casts_of(operator->args);
				if (IsA(node, NullIfExpr))	/* which returns it */
					shuttle_written_cast_write(linitial(operator->args));
				break;
			}
		case T_ScalarArrayOpExpr:
			{
				const ScalarArrayOpExpr *operator = (ScalarArrayOpExpr *) node;

				if (has_implicit_cast(operator->args) && !operator_is_meant(operator->opno, operator->args, true))
					write_casts_of(operator->args);
				break;
			}
		case T_FuncExpr:
			{
				const FuncExpr *call = (FuncExpr *) node;

				if (has_implicit_cast(call->args) && !function_is_meant(call->funcid, call->args, !call->funcvariadic))
					write_casts_of(call->args);
				break;
			}
		case T_Aggref:
			write_aggregate((Aggref *) node);
			break;
		case T_CaseExpr:
			write_case((CaseExpr *) node);
			break;
		case T_CoalesceExpr:
			write_coalesce((CoalesceExpr *) node);
			break;
		case T_MinMaxExpr:
			write_alternatives(((MinMaxExpr *) node)->args, ((MinMaxExpr *) node)->minmaxtype);
			break;
		case T_ArrayExpr:
			write_alternatives(((ArrayExpr *) node)->elements, ((ArrayExpr *) node)->multidims ?
							   ((ArrayExpr *) node)->array_typeid : ((ArrayExpr *) node)->element_typeid);
			break;
		case T_SubscriptingRef:
			shuttle_written_cast_write((Node *) ((SubscriptingRef *) node)->refexpr);
			break;
		default:
			break;
	}
}

static bool
write_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	write_inside(node);
	return expression_tree_walker(node, write_walker, context);
}

static void
write_conditions(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
		(void) write_walker((Node *) lfirst_node(RestrictInfo, lc)->clause, NULL);
}

/*
 * Called for each table; the first call that finds one with parts on nodes does all. If there is none but in branches of a UNION ALL,
 * core has put the conditions at relations by then.
 */
void
shuttle_written_casts_write(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	ListCell   *lc;

	if (rte->rtekind != RTE_RELATION || (!rte->inh && rte->relkind != RELKIND_FOREIGN_TABLE) ||
		shuttle_planning_memo_find_set(root, NULL, CASTS_KEY, NULL) != NULL)
		return;
	shuttle_planning_memo_add_set(root, NULL, CASTS_KEY, NULL, root);
	write_targets(root);
	(void) write_walker((Node *) root->processed_tlist, NULL);
	(void) write_walker((Node *) root->parse->jointree, NULL);
	(void) write_walker(root->parse->havingQual, NULL);
	write_branches(root->append_rel_list);
	(void) write_walker((Node *) root->append_rel_list, NULL);
	foreach(lc, root->parse->rtable)
		(void) write_walker((Node *) lfirst_node(RangeTblEntry, lc)->securityQuals, NULL);
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rel_array[i] == NULL)
			continue;
		write_conditions(root->simple_rel_array[i]->baserestrictinfo);
		write_conditions(root->simple_rel_array[i]->joininfo);
	}
}

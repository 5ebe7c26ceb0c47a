/*-------------------------------------------------------------------------
 * outer_values.c
 *	  Expressions of the outer side that are computed here and sent as keys.
 *
 * postgres_fdw ships a join clause whole or not at all: "f.k = local_fn(o.x)"
 * would make no key if only this server has local_fn. But local_fn(o.x) is one
 * value per outer row. While postgres_fdw plans the scan, a stand-in, a Param
 * with a negative number, replaces the expression; postgres_fdw knows how to
 * send it. In the finished scan's fdw_exprs the expression is put back, and
 * core provides the outer columns.
 *
 * Also replaced is what postgres_fdw deparses wrongly: a subscript of an outer
 * array ($1::integer[][1] is an array, not its element), and implicit casts,
 * which it leaves out: "character::text = varchar::text" would become
 * "character = $1::varchar", which ignores trailing blanks.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_expressions.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_system_columns.h"
#include "planner/facts/partition_sample.h"
#include "planner/facts/written_tables.h"
#include "planner/shown/shown.h"
#include "planner/shown/window_plan.h"

typedef struct ValuesContext
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* the scanned relation */
	List	   *values;			/* stand-in number i is -1 - i */
} ValuesContext;

/* ---- which expressions */

static bool
has_inner_value(const Node *node)
{
	return shuttle_expression_has(node, SHUTTLE_HAS_CASE_VALUE | SHUTTLE_HAS_DOMAIN_VALUE);
}

bool
shuttle_outer_value_refers_inside(Node *node)
{
	return !IsA(node, List) && !IsA(node, TargetEntry) &&
		has_inner_value(node);
}

static bool
is_expression_to_compute(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_SortGroupClause:
		case T_Var:
		case T_Const:
		case T_Param:
		case T_CaseWhen:
		case T_CaseTestExpr:
			return false;
		default:
			return true;
	}
}

bool
shuttle_outer_value_is_replaceable(Node *node)
{
	return is_expression_to_compute(node) && !contain_subplans(node) &&
		!contain_volatile_functions(node) && !has_inner_value(node) &&
		get_typtype(exprType(node)) != TYPTYPE_PSEUDO;
}

Param *
shuttle_outer_value_make_stand_in(Node *node, int number)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXEC;
	param->paramid = number;
	param->paramtype = exprType(node);
	param->paramtypmod = exprTypmod(node);
	param->paramcollid = exprCollation(node);
	param->location = -1;
	return param;
}

/* True of an expression over outer columns only. */
static bool
is_outer_value(Node *node, const ValuesContext *context)
{
	Relids		used;

	if (!shuttle_outer_value_is_replaceable(node))
		return false;

	/* stock postgres_fdw evaluates parameters under its own settings */
	if (contain_mutable_functions(node) &&
		!shuttle_server_routine_is_ours(context->rel->fdwroutine))
		return false;
	used = pull_varnos(context->root, node);
	return !bms_is_empty(used) && !bms_overlap(used, context->rel->relids);
}

/* Replaces the largest such expressions by stand-ins. */
static Node *
stand_in_mutator(Node *node, ValuesContext *context)
{
	int			i = 0;
	ListCell   *lc;

	if (node == NULL || shuttle_is_json_part(node))
		return node;
	if (!is_outer_value(node, context))
	{
		if (shuttle_outer_value_refers_inside(node))
			return node;
		return expression_tree_mutator(node, stand_in_mutator, context);
	}
	foreach(lc, context->values)
	{
		if (equal(lfirst(lc), node))
			break;
		i++;
	}
	if (lc == NULL)
		context->values = lappend(context->values, node);
	return (Node *) shuttle_outer_value_make_stand_in(node, -1 - i);
}

/* Replaces stand-ins by their expressions. */
static Node *
value_mutator(Node *node, ValuesContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC &&
		((Param *) node)->paramid < 0 &&
		-1 - ((Param *) node)->paramid < list_length(context->values))
		return copyObject(list_nth(context->values, -1 - ((Param *) node)->paramid));
	return expression_tree_mutator(node, value_mutator, context);
}

/* The same for a list; also for stable values (stable_values.c). */
static List *
put_back(List *expressions, ValuesContext *context)
{
	Node	   *result = (Node *) expressions;

	if (context->values != NIL)
		result = value_mutator(result, context);
	return (List *) shuttle_stable_put_back(context->root, result);
}

/* ---- which clauses */

/*
 * True if both sides of an operator have the same implicit relabel, and the
 * node would add it again: yes for varchar = varchar, no for bpchar = bpchar
 * compared as text, where the node finds bpchar's operator.
 */
static bool
relabels_alike(const OpExpr *operator)
{
	RelabelType *left;
	RelabelType *right;
	Oid			type;

	if (list_length(operator->args) != 2)
		return false;
	left = linitial(operator->args);
	right = lsecond(operator->args);
	if (!IsA(left, RelabelType) || !IsA(right, RelabelType) ||
		left->relabelformat != right->relabelformat)
		return false;
	type = exprType((Node *) left->arg);
	return type == exprType((Node *) right->arg) && shuttle_written_cast_operator_is_meant(operator, type);
}

/* True if postgres_fdw would deparse an outer value wrongly. */
static bool
written_wrongly_walker(Node *node, void *context)
{
	const ValuesContext *values = context;
	Node	   *outer;

	if (node == NULL)
		return false;
	if (IsA(node, SubscriptingRef))
	{
		outer = (Node *) ((SubscriptingRef *) node)->refexpr;
		if (IsA(outer, Var) &&
			!bms_is_member(((Var *) outer)->varno, values->rel->relids))
			return true;
	}
	if (IsA(node, OpExpr) && relabels_alike((OpExpr *) node))
	{
		List	   *sides = ((OpExpr *) node)->args;

		return written_wrongly_walker((Node *) ((RelabelType *) linitial(sides))->arg,
									  context) ||
			written_wrongly_walker((Node *) ((RelabelType *) lsecond(sides))->arg,
								   context);
	}
	outer = shuttle_written_cast_implicit(node);
	if (outer != NULL &&
		!bms_is_subset(pull_varnos(values->root, outer), values->rel->relids))
		return true;
	return expression_tree_walker(node, written_wrongly_walker, context);
}

/* The clauses, with stand-ins in those of replaced. */
static List *
replace_clauses(const List *clauses, const List *replaced, ValuesContext *context)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (list_member_ptr(replaced, clause))
		{
			RestrictInfo *copy = makeNode(RestrictInfo);

			*copy = *clause;
			copy->clause = (Expr *) stand_in_mutator((Node *) clause->clause,
													 context);
			if (shuttle_expression_has(copy->clause, SHUTTLE_HAS_KNOWN_HERE_ONLY))
				copy->clause = (Expr *) shuttle_shown_expression((Node *) copy->clause, false);
			clause = copy;
		}
		result = lappend(result, clause);
	}
	return result;
}

/* Join clauses that postgres_fdw would not ship, or would deparse wrongly, or that a node
 * would compute otherwise.
 * left: the quals that its plan leaves to us; NIL if there is no plan yet. */
static List *
clauses_to_replace(const ValuesContext *context, const ParamPathInfo *info,
				   const List *left)
{
	RelOptInfo *rel = context->rel;
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, info->ppi_clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (restriction_is_securely_promotable(clause, rel) &&
			(list_member_ptr(left, clause->clause) ||
			 written_wrongly_walker((Node *) clause->clause, (void *) context) ||
			 shuttle_expression_has(clause->clause, SHUTTLE_HAS_KNOWN_HERE_ONLY)))
			found = lappend(found, clause);
	}
	return found;
}

/* postgres_fdw's plan, with the expressions put back. */
static ForeignScan *
plan_with_values(RelOptInfo *rel, Oid relid, ForeignPath *path,
				 List *targetlist, List *clauses, Plan *outer,
				 ValuesContext *context)
{
	ForeignScan *scan;

	scan = shuttle_postgres_fdw_get_routine()->GetForeignPlan(context->root, rel, relid,
															  path, targetlist, clauses,
															  outer);
	shuttle_scan_proof_check(context->root, rel, path, scan);
	scan->fdw_exprs = put_back(scan->fdw_exprs, context);
	scan->fdw_recheck_quals = put_back(scan->fdw_recheck_quals, context);
	scan->scan.plan.qual = put_back(scan->scan.plan.qual, context);
	return scan;
}

static ForeignScan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path,
		  List *targetlist, List *clauses, Plan *outer)
{
	ValuesContext first = {.root = root,.rel = rel};
	ValuesContext second = {.root = root,.rel = rel};
	const ParamPathInfo *info = path->path.param_info;
	List	   *replaced;
	ForeignScan *scan;

	if (!IS_SIMPLE_REL(rel) || info == NULL)
		return plan_with_values(rel, relid, path, targetlist, clauses, outer,
								&first);
	replaced = replace_clauses(clauses, clauses_to_replace(&first, info, NIL), &first);
	scan = plan_with_values(rel, relid, path, targetlist, replaced, outer, &first);
	if (scan->scan.plan.qual == NIL)
		return scan;

	/* quals are left: with stand-ins more of them may be shipped */
	replaced = clauses_to_replace(&second, info, scan->scan.plan.qual);
	replaced = replace_clauses(clauses, replaced, &second);
	if (list_length(second.values) == list_length(first.values))
		return scan;
	return plan_with_values(rel, relid, path, targetlist, replaced, outer, &second);
}

ForeignScan *
shuttle_outer_values_plan_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
							   ForeignPath *path, List *targetlist, List *clauses,
							   Plan *outer)
{
	ForeignScan *scan;
	List	   *kept;

	if (shuttle_partial_plan_is_for(path))
		return shuttle_partial_plan_make(root, rel, relid, path, targetlist,
										 clauses, outer);
	if (shuttle_window_plan_is_for(path))
		return shuttle_window_plan_make(root, rel, relid, path, targetlist, clauses, outer);
	scan = shuttle_sibling_scan(root, rel, relid, path, targetlist, clauses);
	if (scan != NULL)
		return scan;
	kept = shuttle_written_kept_clauses(root, rel, path, clauses);
	scan = plan_scan(root, rel, relid, path, targetlist, list_difference_ptr(clauses, kept),
					 outer);
	kept = (List *) shuttle_stable_put_back(root, (Node *) get_actual_clauses(kept));
	scan->scan.plan.qual = list_concat(scan->scan.plan.qual, kept);
	if (IS_UPPER_REL(rel))
	{
		scan->fdw_scan_tlist = (List *)
			shuttle_stable_put_back(root, (Node *) scan->fdw_scan_tlist);
		scan->fdw_scan_tlist = (List *)
			shuttle_shown_expression_as_written((Node *) scan->fdw_scan_tlist);
	}
	scan->scan.plan.qual = (List *)
		shuttle_shown_expression_as_written((Node *) scan->scan.plan.qual);
	if (shuttle_server_routine_is_ours(rel->fdwroutine))
		shuttle_system_columns_add_to_scan(scan, rel->reltarget->exprs);
	shuttle_sibling_remember(root, rel, relid, path, clauses, scan);
	if (shuttle_server_routine_is_ours(rel->fdwroutine))
	{
		shuttle_partition_sample_add(root, rel, scan);
		shuttle_scan_key_note(root, rel, scan);
	}
	return scan;
}

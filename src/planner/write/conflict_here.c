/*-------------------------------------------------------------------------
 * conflict_here.c
 *	  ON CONFLICT DO UPDATE whose new values are computed here.
 *
 * If a table has UPDATE triggers, AFTER ROW triggers or policies, if a view checks what is
 * written to it, or if RETURNING has OLD, this server must know which rows are updated, and
 * their old and new values. If nodes would compute the new values otherwise, or not at all,
 * it must know the old ones. Then nodes only insert, with DO NOTHING, and the executor changes
 * the rows that had a conflict (executor/write/conflict/upsert.c). SET and WHERE stay in the statement that core plans, without
 * arbiters, for which core would look here. So core plans their subqueries and makes their states, also
 * for partitions with other columns, fires statement triggers of UPDATE, and shows the clause in EXPLAIN.
 *
 * Expressions are evaluated here only for rows that conflict, as in core. Users' STABLE functions
 * must not see rows that the statement has written. Calls of them that depend on no row become
 * subqueries, which the executor evaluates before the first row is written. Others are possible if
 * nothing is written before: in an INSERT of one row, without triggers and functions that may write. Subqueries
 * see no such rows: what they read of written tables is asked for before
 * the first row is written (planner/facts/written_tables.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_upsert_triggers.h"
#include "planner/write/conflict_here.h"

static const char *const use_source = "Call it in the INSERT's source, and refer to its value by EXCLUDED, or insert one row with each statement.";
static const char *const name_plain_columns = "Name columns only, without COLLATE and operator classes.";

/* ---- triggers */

static bool
needs_rows(const TriggerDesc *triggers)
{
	return triggers != NULL &&
		(triggers->trig_insert_after_row ||
		 triggers->trig_update_before_row || triggers->trig_update_after_row);
}

/* Statement triggers are those of the table that the statement names. */
static bool
fires_for_statement(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;

	if (triggers == NULL)
		return false;
	if (triggers->trig_insert_new_table ||
		triggers->trig_update_old_table || triggers->trig_update_new_table)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT DO UPDATE is not supported on \"%s\" with its triggers",
						RelationGetRelationName(rel)),
				 errdetail("A trigger has transition tables."),
				 errhint("Insert and update in two statements.")));
	return triggers->trig_update_before_statement || triggers->trig_update_after_statement;
}

/* Opening all tablets would be dear. */
static bool
may_have_triggers(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		found;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	found = ((Form_pg_class) GETSTRUCT(tuple))->relhastriggers;
	ReleaseSysCache(tuple);
	return found;
}

bool
shuttle_conflict_here_is_needed(Oid relid, const List *relids)
{
	bool		needed = false;
	ListCell   *cell;

	foreach(cell, relids)
	{
		Relation	rel;

		if (!may_have_triggers(lfirst_oid(cell)))
			continue;
		rel = table_open(lfirst_oid(cell), NoLock);
		if (needs_rows(rel->trigdesc) ||
			(RelationGetRelid(rel) == relid && fires_for_statement(rel)))
			needed = true;
		table_close(rel, NoLock);
	}
	return needed;
}

/* ---- users' functions that are STABLE */

/* True if triggers of a table may write before a row of DO UPDATE is computed. */
static bool
may_write_by_triggers(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;

	return triggers != NULL &&
		(triggers->trig_insert_before_statement || triggers->trig_update_before_statement ||
		 !shuttle_upsert_triggers_are_quiet(triggers, rel, NIL));
}

bool
shuttle_conflict_here_writes_before(const Query *query, const List *relids)
{
	bool		writes = query->jointree->fromlist != NIL || query->hasTargetSRFs || shuttle_expression_may_write(query);
	ListCell   *cell;

	foreach(cell, relids)
	{
		Relation	rel;

		if (writes || !may_have_triggers(lfirst_oid(cell)))
			continue;
		rel = table_open(lfirst_oid(cell), NoLock);
		writes = may_write_by_triggers(rel);
		table_close(rel, NoLock);
	}
	return writes;
}

/* True if an expression has one value for all rows. Only kinds that can stand wherever a subquery can. */
static bool
is_same_for_all(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_CoalesceExpr:
		case T_CaseExpr:
		case T_CoerceViaIO:
			return !shuttle_expression_has(node, SHUTTLE_HAS_COLUMN | SHUTTLE_HAS_CASE_VALUE | SHUTTLE_HAS_VOLATILE_FUNCTION |
										   SHUTTLE_HAS_SUBLINK | SHUTTLE_HAS_SUBLINK_PARAM | SHUTTLE_HAS_MULTIEXPR_PARAM);
		default:
			return false;
	}
}

static Node *
make_subquery(Node *value)
{
	Query	   *query = makeNode(Query);
	SubLink    *sublink = makeNode(SubLink);

	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	query->targetList = list_make1(makeTargetEntry((Expr *) value, 1, "value", false));
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	return (Node *) sublink;
}

/* Makes subqueries of what calls users' STABLE functions and is the same for all rows. CASE and COALESCE protect
 * their parts. */
static Node *
evaluate_first(Node *node, void *context)
{
	bool	   *has_subqueries = context;

	if (node == NULL || !shuttle_expression_has(node, SHUTTLE_HAS_USERS_STABLE_FUNCTION))
		return node;
	if (is_same_for_all(node))
	{
		*has_subqueries = true;
		return make_subquery(copyObject(node));
	}
	if (IsA(node, CaseExpr) || IsA(node, CoalesceExpr))
		return node;
	return expression_tree_mutator(node, evaluate_first, context);
}

void
shuttle_conflict_here_evaluate_first(Query *query, OnConflictExpr *clause)
{
	clause->onConflictSet = (List *) evaluate_first((Node *) clause->onConflictSet, &query->hasSubLinks);
	clause->onConflictWhere = evaluate_first(clause->onConflictWhere, &query->hasSubLinks);
}

/* ---- what the clause may contain */

static bool
is_stable_of_users(Oid function, void *context)
{
	Oid		   *found = context;

	if (function < FirstNormalObjectId || func_volatile(function) != PROVOLATILE_STABLE)
		return false;
	*found = function;
	return true;
}

/* True of a subquery that core evaluates once. */
static bool
is_alone(const SubLink *sublink)
{
	return (sublink->subLinkType == EXPR_SUBLINK || sublink->subLinkType == EXISTS_SUBLINK ||
			sublink->subLinkType == ARRAY_SUBLINK || sublink->subLinkType == MULTIEXPR_SUBLINK) &&
		!contain_vars_of_level(sublink->subselect, 1);
}

/* What of an expression is evaluated for a row. */
typedef struct RowValue
{
	ShuttleConflictValues *values;
	int			nlevels;		/* of subqueries around it */
} RowValue;

static bool
check_expression(Node *node, void *context)
{
	RowValue   *row_value = context;
	ShuttleConflictValues *values = row_value->values;
	Oid			function = InvalidOid;

	if (node == NULL || values->reason != NULL)
		return false;
	if (IsA(node, SubLink) && row_value->nlevels == 0 && is_alone((SubLink *) node))
		return false;
	if (IsA(node, Query))
	{
		row_value->nlevels++;
		(void) query_tree_walker((Query *) node, check_expression, context, 0);
		row_value->nlevels--;
		return values->reason != NULL;
	}
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == row_value->nlevels && ((Var *) node)->varattno < 0)
		values->reason = "It refers to a system column.";
	else if (values->writes_before && check_functions_in_node(node, is_stable_of_users, &function))
	{
		values->reason = psprintf("Function %s is stable and not built in.",
								  format_procedure(function));
		values->hint = use_source;
	}
	if (values->reason != NULL)
		return true;
	return expression_tree_walker(node, check_expression, context);
}

void
shuttle_conflict_here_check(ShuttleConflictValues *values, const OnConflictExpr *clause)
{
	RowValue	row_value = {.values = values};
	ListCell   *cell;

	(void) check_expression((Node *) clause->onConflictSet, &row_value);
	(void) check_expression(clause->onConflictWhere, &row_value);
	foreach(cell, clause->arbiterElems)
	{
		const InferenceElem *element = lfirst_node(InferenceElem, cell);

		if (values->reason != NULL ||
			(IsA(element->expr, Var) && !OidIsValid(element->infercollid) &&
			 !OidIsValid(element->inferopclass)))
			continue;
		values->reason = "Rows are updated by this server, and what is to be unique is not just columns.";
		values->hint = name_plain_columns;
	}
}

/* ---- the clause that core plans */

/* Core has removed all columns from SET if these are generated columns =
 * DEFAULT: a column set to itself stands for them. */
static List *
set_nothing(const OnConflictExpr *clause)
{
	const InferenceElem *element = linitial_node(InferenceElem, clause->arbiterElems);
	const Var  *var = castNode(Var, element->expr);

	return list_make1(makeTargetEntry((Expr *) copyObject(var), var->varattno, NULL, false));
}

OnConflictExpr *
shuttle_conflict_here_keep(const OnConflictExpr *clause, List *excluded_columns)
{
	OnConflictExpr *kept = copyObject(unconstify(OnConflictExpr *, clause));

	if (kept->onConflictSet == NIL)
		kept->onConflictSet = set_nothing(clause);
	kept->arbiterElems = NIL;
	kept->arbiterWhere = NULL;
	kept->exclRelTlist = copyObject(excluded_columns);
	return kept;
}

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
 * Expressions are evaluated here only for rows that conflict, as in core: all
 * functions may be used, except users' STABLE ones, which could see rows that
 * the statement wrote. Subqueries cannot: what they read of written tables is asked for before the first
 * row is written (planner/facts/written_tables.c). Those that depend on no row may call users' STABLE
 * functions: the executor evaluates them before that.
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
#include "planner/write/conflict_here.h"

static const char *const use_source = "Call it in the INSERT's source, and refer to its value by EXCLUDED.";
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
	else if (check_functions_in_node(node, is_stable_of_users, &function))
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

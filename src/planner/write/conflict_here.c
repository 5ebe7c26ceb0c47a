/*-------------------------------------------------------------------------
 * conflict_here.c
 *	  ON CONFLICT DO UPDATE whose new values are computed here.
 *
 * If a table has UPDATE triggers, or AFTER ROW triggers, this server must know
 * which rows are updated, and their old and new values. If nodes would compute
 * the new values otherwise, or not at all, it must know the old ones. Then nodes only insert,
 * with DO NOTHING, and the executor changes the rows that had a conflict
 * (executor/write/conflict/upsert.c). SET and WHERE go into the plan's ModifyTable
 * as core's planner would put them there. So core makes their states, also for
 * partitions with other columns, fires statement triggers of UPDATE, and shows
 * the clause in EXPLAIN.
 *
 * Expressions are evaluated here only for rows that conflict, as in core: all
 * functions may be used, except users' STABLE ones, which could see rows that
 * the statement wrote. So could subqueries: those that depend on no row become columns
 * of the INSERT's source, and are evaluated once, before the first row is written, also if none
 * conflicts.
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
#include "optimizer/prep.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "planner/finished_plan/finished_plan.h"
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

/* A row of a node has no virtual columns. */
static bool
is_virtual(Relation rel, AttrNumber number)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		if ((number == 0 || number == i + 1) &&
			TupleDescAttr(desc, i)->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
			return true;
	}
	return false;
}

static bool
check_expression(Node *node, void *context)
{
	ShuttleConflictValues *values = context;
	Oid			function = InvalidOid;

	if (node == NULL || values->reason != NULL)
		return false;
	if (IsA(node, SubLink) || IsA(node, Query))
		values->reason = "It has a subquery.";
	else if (IsA(node, Var) && ((Var *) node)->varattno < 0)
		values->reason = "It refers to a system column.";
	else if (IsA(node, Var) && is_virtual(values->rel, ((Var *) node)->varattno))
		values->reason = "It refers to a column that is computed when it is read.";
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
	ListCell   *cell;

	(void) check_expression((Node *) clause->onConflictSet, values);
	(void) check_expression(clause->onConflictWhere, values);
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

/* ---- subqueries */

/* True of a subquery whose value core computes once. A volatile one could tell when, and would have the
 * source's stable functions see what the statement writes. */
static bool
is_alone(SubLink *sublink)
{
	return (sublink->subLinkType == EXPR_SUBLINK || sublink->subLinkType == EXISTS_SUBLINK ||
			sublink->subLinkType == ARRAY_SUBLINK) &&
		!contain_vars_of_level((Node *) sublink, 0) && !contain_volatile_functions((Node *) sublink);
}

/* Puts a parameter in the place of each subquery: its number below 0. */
static Node *
take_subquery(Node *node, void *context)
{
	List	  **taken = context;

	if (node == NULL)
		return NULL;
	if (!IsA(node, SubLink) || !is_alone((SubLink *) node))
		return expression_tree_mutator(node, take_subquery, context);
	*taken = lappend(*taken, node);
	return (Node *) shuttle_conflict_values_param(node, -list_length(*taken));
}

List *
shuttle_conflict_here_take_subqueries(OnConflictExpr *clause)
{
	List	   *taken = NIL;

	clause->onConflictSet = (List *) take_subquery((Node *) clause->onConflictSet, &taken);
	clause->onConflictWhere = take_subquery(clause->onConflictWhere, &taken);
	return taken;
}

void
shuttle_conflict_here_add_subqueries(Query *query, List *subqueries)
{
	ListCell   *cell;

	foreach(cell, subqueries)
		query->targetList = lappend(query->targetList,
									makeTargetEntry(lfirst(cell), MaxHeapAttributeNumber + foreach_current_index(cell) + 1, NULL, true));
	query->hasSubLinks |= subqueries != NIL;
}

/* The expression of a plan's column where it is computed. */
static Node *
find_source(const Plan *plan, Node *expr)
{
	while (IsA(expr, Var) && ((Var *) expr)->varno == OUTER_VAR)
	{
		plan = IsA(plan, Append) ? linitial(((const Append *) plan)->appendplans) : outerPlan(plan);
		if (plan == NULL)
			return NULL;
		expr = (Node *) list_nth_node(TargetEntry, plan->targetlist, ((Var *) expr)->varattno - 1)->expr;
	}
	return expr;
}

static Node *
give_subquery(Node *node, void *context)
{
	const List *values = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN && ((Param *) node)->paramid < 0)
		return list_nth(values, -((Param *) node)->paramid - 1);
	return expression_tree_mutator(node, give_subquery, context);
}

/* A plan's first columns: core evaluates the expressions of a source that has others as if they were
 * those of the ModifyTable. */
static Plan *
take_columns(Plan *source, int ncolumns)
{
	Result	   *result = makeNode(Result);

	result->plan.targetlist = shuttle_plan_pass_columns(source, ncolumns);
	result->plan.startup_cost = source->startup_cost;
	result->plan.total_cost = source->total_cost;
	result->plan.plan_rows = source->plan_rows;
	result->plan.plan_width = source->plan_width;
	result->plan.extParam = bms_copy(source->extParam);
	result->plan.allParam = bms_copy(source->allParam);
	result->plan.lefttree = source;
	return &result->plan;
}

bool
shuttle_conflict_here_give_subqueries(ModifyTable *plan, OnConflictExpr *clause, int nsubqueries)
{
	Plan	   *source = outerPlan(plan);
	int			ncolumns = list_length(source->targetlist) - nsubqueries;
	List	   *values = NIL;

	for (int i = ncolumns; i < list_length(source->targetlist); i++)
	{
		const TargetEntry *entry = list_nth_node(TargetEntry, source->targetlist, i);
		Node	   *value = find_source(source, (Node *) entry->expr);

		if (!entry->resjunk || value == NULL || !(IsA(value, Param) || IsA(value, Const)))
			return false;
		values = lappend(values, value);
	}
	clause->onConflictSet = (List *) give_subquery((Node *) clause->onConflictSet, values);
	clause->onConflictWhere = give_subquery(clause->onConflictWhere, values);
	if (nsubqueries == 0)
		return true;
	if (IsA(source, Material))	/* the executor looks for it there */
	{
		outerPlan(source) = take_columns(outerPlan(source), ncolumns);
		source->targetlist = shuttle_plan_pass_columns(outerPlan(source), ncolumns);
	}
	else
		outerPlan(plan) = take_columns(source, ncolumns);
	return true;
}

/* ---- the clause in the plan */

typedef struct PlanIndexes
{
	Index		target;			/* in the query */
	Index		excluded;
	Index		planned;		/* of target, in the plan */
} PlanIndexes;

/* Numbers Vars as set_plan_references() does. */
static Node *
number_vars(Node *node, void *context)
{
	const PlanIndexes *indexes = context;
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, number_vars, context);
	var = copyObject((Var *) node);
	var->varno = var->varno == indexes->excluded ? INNER_VAR : indexes->planned;
	return (Node *) var;
}

/* Preprocesses an expression, and notes what the plan depends on. */
static Node *
prepare(Node *node, PlannedStmt *statement, PlanIndexes *indexes)
{
	List	   *relids = NIL;
	List	   *invalid_by = NIL;

	if (node == NULL)
		return NULL;
	node = (Node *) expression_planner_with_deps((Expr *) copyObject(node), &relids, &invalid_by);
	statement->relationOids = list_concat_unique_oid(statement->relationOids, relids);
	statement->invalItems = list_concat(statement->invalItems, invalid_by);
	return number_vars(node, indexes);
}

/* Core has removed all columns from SET if these are generated columns =
 * DEFAULT: a column set to itself stands for them. */
static List *
set_nothing(const OnConflictExpr *clause)
{
	const InferenceElem *element = linitial_node(InferenceElem, clause->arbiterElems);
	const Var  *var = castNode(Var, element->expr);

	return list_make1(makeTargetEntry((Expr *) copyObject(var), var->varattno, NULL, false));
}

void
shuttle_conflict_here_attach(ModifyTable *plan, PlannedStmt *statement,
							 const OnConflictExpr *clause, Index target)
{
	PlanIndexes indexes = {
		.target = target,
		.excluded = clause->exclRelIndex,
		.planned = linitial_int(plan->resultRelations),
	};
	List	   *set = clause->onConflictSet == NIL ? set_nothing(clause) : clause->onConflictSet;
	List	   *columns = copyObject(clause->exclRelTlist);

	plan->onConflictAction = ONCONFLICT_UPDATE;
	plan->onConflictSet = (List *) prepare((Node *) set, statement, &indexes);
	plan->onConflictCols = extract_update_targetlist_colnos(plan->onConflictSet);
	plan->onConflictWhere = (Node *)
		make_ands_implicit((Expr *) prepare(clause->onConflictWhere, statement, &indexes));
	OffsetVarNodes((Node *) columns, indexes.planned - target, 0);
	plan->exclRelRTI = clause->exclRelIndex + indexes.planned - target;
	plan->exclRelTlist = columns;
}

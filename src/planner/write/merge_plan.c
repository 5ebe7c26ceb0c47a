/*-------------------------------------------------------------------------
 * merge_plan.c
 *	  Plans a MERGE into a partitioned table with foreign partitions as the
 *	  statements of merge_rewrite.c, and combines their plans.
 *
 * The plan has one node on top of the plan of the main query and a ModifyTable
 * per action. Core plans an UPDATE or DELETE as a join of the rows with the
 * target. That join is not run: the rows already have all that ModifyTable
 * reads (new values, row identity, old row), so their CteScan replaces the
 * join.
 *
 * Rule: if no foreign partition would be read, core's own MERGE is planned.
 * What these statements cannot do is left to core, too, which refuses it
 * (merge_refusal.c): triggers, views, row security, RETURNING, NOT MATCHED BY
 * SOURCE, WITH that writes, and foreign partitions that are not ours.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/written_tables.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/shown/shown.h"
#include "planner/write/write.h"
#include "tablets/shuttle_own_triggers.h"

/* ---- which ones */

/* Triggers would see whole actions done instead of single rows. NULL: nothing is in the way. */
static const char *
refuse_table(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE &&
		!shuttle_server_routine_is_ours(GetFdwRoutineForRelation(rel, false)))
		return "A partition is a foreign table of another wrapper.";
	if (!shuttle_own_triggers_are_all(rel->trigdesc))
		return "The table has triggers, or checks that depend on the session.";
	if (rel->rd_rel->relhasrules)
		return "The table has rules.";
	for (int i = 0; i < desc->natts; i++)
	{
		char		generated = TupleDescAttr(desc, i)->attgenerated;

		if (generated != '\0' && generated != ATTRIBUTE_GENERATED_STORED)
			return "The table has virtual generated columns.";
	}
	return NULL;
}

/* Lists a table's partitions, and the foreign ones. Returns what is in the way. */
static const char *
find_partitions(Oid relid, List **partitions, List **foreign)
{
	const char *reason = NULL;
	ListCell   *cell;

	*foreign = NIL;
	*partitions = find_all_inheritors(relid, AccessShareLock, NULL);
	foreach(cell, *partitions)
	{
		Relation	rel = table_open(lfirst_oid(cell), NoLock);

		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
			*foreign = lappend_oid(*foreign, RelationGetRelid(rel));
		if (reason == NULL)
			reason = refuse_table(rel);
		table_close(rel, NoLock);
	}
	return reason;
}

static const char *
refuse_actions(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, cell);

		if (MERGE_IS_OF_17(query, action))
			return "It says WHEN NOT MATCHED BY SOURCE.";
		if (shuttle_expression_has(action->targetList, SHUTTLE_HAS_MULTIEXPR_PARAM))
			return "It sets several columns by one subquery.";
	}
	return NULL;
}

/* resultRelation is 1 unless core has expanded a view. */
static const char *
refuse_query(const Query *query)
{
	if (query->resultRelation != 1)
		return "It writes to a view.";
	if (query->returningList != NIL)
		return "It has RETURNING.";
	if (rt_fetch(query->resultRelation, query->rtable)->securityQuals != NIL || query->withCheckOptions != NIL)
		return "The table has policies.";
	if (query->hasModifyingCTE)
		return "It has a WITH clause that writes.";
	if (list_length(query->jointree->fromlist) != 1 || !shuttle_written_merge_names_are_free(query))
		return "Its source has names that are taken.";
	return refuse_actions(query);
}

/* Lists the partitions of the target. Returns why the statement is not rewritten: NULL if it
 * is, or if core can do it. */
static const char *
refuse_rewriting(const Query *query, List **partitions, List **foreign)
{
	const RangeTblEntry *target = rt_fetch(query->resultRelation, query->rtable);
	const char *reason;

	*foreign = NIL;
	if (target->rtekind != RTE_RELATION || target->relkind != RELKIND_PARTITIONED_TABLE || !target->inh)
		return NULL;
	reason = refuse_query(query);
	return reason != NULL ? reason : find_partitions(target->relid, partitions, foreign);
}

const char *
shuttle_merge_refusal(const Query *query)
{
	List	   *partitions;
	List	   *foreign;

	return refuse_rewriting(query, &partitions, &foreign);
}

/* ---- plans */

static CteScan *
find_cte_scan(Plan *plan)
{
	CteScan    *scan = NULL;
	Plan	  **child;

	if (plan == NULL || IsA(plan, CteScan))
		return (CteScan *) plan;
	for (int i = 0; scan == NULL && (child = shuttle_plan_child(plan, i)) != NULL; i++)
		scan = find_cte_scan(*child);
	return scan;
}

static Expr *
column_of_rows(const CteScan *scan, const RangeTblEntry *rows, AttrNumber number)
{
	return (Expr *) makeVar(scan->scan.scanrelid, number,
							list_nth_oid(rows->coltypes, number - 1),
							list_nth_int(rows->coltypmods, number - 1),
							list_nth_oid(rows->colcollations, number - 1), 0);
}

static AttrNumber
find_column(const RangeTblEntry *rows, const char *name)
{
	ListCell   *cell;

	foreach(cell, rows->eref->colnames)
	{
		if (strcmp(strVal(lfirst(cell)), name) == 0)
			return foreach_current_index(cell) + 1;
	}
	elog(ERROR, "could not find column \"%s\" of a MERGE", name);
}

/* True if two tables have the same columns at the same attribute numbers. */
static bool
lie_alike(Oid one, Oid other)
{
	Relation	rels[] = {table_open(one, NoLock), table_open(other, NoLock)};
	TupleDesc	descs[] = {RelationGetDescr(rels[0]), RelationGetDescr(rels[1])};
	bool		alike = descs[0]->natts == descs[1]->natts;

	for (int i = 0; alike && i < descs[0]->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(descs[0], i);
		Form_pg_attribute b = TupleDescAttr(descs[1], i);

		alike = a->attisdropped == b->attisdropped && a->atttypid == b->atttypid &&
			(a->attisdropped || strcmp(NameStr(a->attname), NameStr(b->attname)) == 0);
	}
	table_close(rels[0], NoLock);
	table_close(rels[1], NoLock);
	return alike;
}

static CaseWhen *
convert_row_of(Oid relid, Expr *tableoid, Expr *row)
{
	const TypeCacheEntry *oid = lookup_type_cache(OIDOID, TYPECACHE_EQ_OPR);
	ConvertRowtypeExpr *convert = makeNode(ConvertRowtypeExpr);
	Expr	   *constant = (Expr *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
											  ObjectIdGetDatum(relid), false, true);
	Expr	   *is_of_it;

	convert->arg = row;
	convert->resulttype = get_rel_type_id(relid);
	convert->convertformat = COERCE_IMPLICIT_CAST;
	convert->location = -1;
	is_of_it = shuttle_merge_equals(oid->eq_opr, tableoid, constant);
	set_opfuncid((OpExpr *) is_of_it);
	return shuttle_merge_when(is_of_it, (Expr *) convert);
}

/* The old row, converted to the foreign table's row type if columns differ. */
static Expr *
old_row(Expr *row, Expr *tableoid, Oid relid, const List *foreign)
{
	CaseExpr   *choice = makeNode(CaseExpr);
	ListCell   *cell;

	foreach(cell, foreign)
	{
		if (!lie_alike(relid, lfirst_oid(cell)))
			choice->args = lappend(choice->args,
								   convert_row_of(lfirst_oid(cell), tableoid, row));
	}
	if (choice->args == NIL)
		return row;
	choice->casetype = RECORDOID;
	choice->defresult = row;
	choice->location = -1;
	return (Expr *) choice;
}

/* Maps ModifyTable's junk columns to columns of rows. "wholerow<n>" is a row
 * mark's whole row of the source, for EvalPlanQual. */
static Expr *
junk_column(const CteScan *scan, const RangeTblEntry *rows, const char *name, Oid relid,
			const List *foreign)
{
	if (strcmp(name, "wholerow") == 0)
		return old_row(column_of_rows(scan, rows, find_column(rows, "row")),
					   column_of_rows(scan, rows, find_column(rows, "tableoid")),
					   relid, foreign);
	if (strncmp(name, "wholerow", strlen("wholerow")) == 0)
		return (Expr *) makeVar(scan->scan.scanrelid, InvalidAttrNumber, RECORDOID, -1,
								InvalidOid, 0);
	return column_of_rows(scan, rows, find_column(rows, name));
}

/* The columns of rows that hold an action's new values. */
static List *
value_columns(const Query *action)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, action->targetList)
		columns = lappend_int(columns,
							  castNode(Var, lfirst_node(TargetEntry, cell)->expr)->varattno);
	return columns;
}

/* Replaces the join below an UPDATE or DELETE by the CteScan of rows; action:
 * its query. */
static void
read_rows(ModifyTable *plan, const RangeTblEntry *rows, const Query *action,
		  const List *foreign)
{
	Oid			relid = rt_fetch(action->resultRelation, action->rtable)->relid;
	List	   *values = value_columns(action);
	Plan	   *join = outerPlan(plan);
	CteScan    *scan = copyObject(find_cte_scan(join));
	List	   *targetlist = NIL;
	int			nvalues = 0;
	ListCell   *cell;

	if (scan == NULL || !bms_is_empty(plan->fdwDirectModifyPlans) || scan->scan.plan.qual == NIL)
		elog(ERROR, "unexpected plan of an action of MERGE");
	foreach(cell, join->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, cell));

		entry->expr = entry->resjunk ?
			junk_column(scan, rows, entry->resname, relid, foreign) :
			column_of_rows(scan, rows, list_nth_int(values, nvalues++));
		targetlist = lappend(targetlist, entry);
	}
	scan->scan.plan.targetlist = targetlist;
	outerPlan(plan) = &scan->scan.plan;
}

/* Removes the actions' plans from the statement's subplans. */
static List *
take_actions(PlannedStmt *statement, Query *rewritten, const List *foreign)
{
	const RangeTblEntry *rows = linitial(rewritten->rtable);
	List	   *actions = list_delete_first(shuttle_writing_queries(rewritten));
	List	   *plans = NIL;
	List	   *init_plans = NIL;
	ListCell   *cell;

	foreach(cell, statement->planTree->initPlan)
	{
		SubPlan    *init = lfirst_node(SubPlan, cell);
		ListCell   *place = list_nth_cell(statement->subplans, init->plan_id - 1);
		ModifyTable *plan = lfirst(place);

		if (!IsA(plan, ModifyTable))
		{
			init_plans = lappend(init_plans, init);
			continue;
		}
		if (plan->operation != CMD_INSERT)
			read_rows(plan, rows, list_nth(actions, list_length(plans)), foreign);
		plans = lappend(plans, plan);
		lfirst(place) = NULL;
	}
	if (list_length(plans) != list_length(actions))
		elog(ERROR, "unexpected plan of a MERGE");
	statement->planTree->initPlan = init_plans;
	return plans;
}

/*
 * DELETEs first, then UPDATEs, then INSERTs, to avoid false unique violations.
 */
static List *
sort_actions(const List *plans)
{
	static const CmdType order[] = {CMD_DELETE, CMD_UPDATE, CMD_INSERT};
	List	   *sorted = NIL;
	ListCell   *cell;

	for (int i = 0; i < lengthof(order); i++)
	{
		foreach(cell, plans)
		{
			if (((ModifyTable *) lfirst(cell))->operation == order[i])
				sorted = lappend(sorted, lfirst(cell));
		}
	}
	return sorted;
}

static void
put_together(PlannedStmt *statement, Query *rewritten, const List *foreign)
{
	Plan	   *first = statement->planTree;
	List	   *plans = sort_actions(take_actions(statement, rewritten, foreign));
	ShuttleFinishedPlan context = {
		.statement = statement,
		.next_id = shuttle_plan_next_id(statement),
	};
	CustomScan *merge;
	Plan	   *plan;
	ListCell   *cell;

	foreach(cell, plans)
		context.next_id = Max(context.next_id, shuttle_plan_largest_id(lfirst(cell)) + 1);
	merge = shuttle_merge_make(lcons(first, plans));
	plan = shuttle_plan_finish_node(merge, first, &context);
	plan->plan_rows = plan->plan_width = 0;
	plan->initPlan = first->initPlan;
	first->initPlan = NIL;
	foreach(cell, plans)
		plan->total_cost += ((Plan *) lfirst(cell))->total_cost;
	statement->planTree = plan;
	statement->commandType = CMD_MERGE;
	statement->hasModifyingCTE = false;
}

/* The relations that a node scans. */
static Bitmapset *
scanned_relations(const Plan *plan)
{
	if (IsA(plan, ForeignScan))
		return bms_copy(((const ForeignScan *) plan)->fs_base_relids);
	if (shuttle_plan_scans_local_table(plan))
		return bms_make_singleton(((const Scan *) plan)->scanrelid);
	return NULL;
}

static Bitmapset *
relations_below(Plan *plan)
{
	Bitmapset  *relations;
	Plan	  **child;

	if (plan == NULL)
		return NULL;
	relations = scanned_relations(plan);
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		relations = bms_join(relations, relations_below(*child));
	return relations;
}

/* The tables that a statement's subplans read, the source's included. */
static List *
tables_read(const PlannedStmt *statement)
{
	Bitmapset  *relations = NULL;
	List	   *relids = NIL;
	int			rtindex = -1;
	ListCell   *cell;

	foreach(cell, statement->subplans)
		relations = bms_join(relations, relations_below(lfirst(cell)));
	while ((rtindex = bms_next_member(relations, rtindex)) >= 0)
		relids = lappend_oid(relids, rt_fetch(rtindex, statement->rtable)->relid);
	return relids;
}

/* True if the statement reads partitions, but no foreign one. */
static bool
is_for_core(const PlannedStmt *statement, const List *partitions, const List *foreign)
{
	bool		reads = false;
	ListCell   *cell;

	foreach(cell, tables_read(statement))
	{
		if (list_member_oid(foreign, lfirst_oid(cell)))
			return false;
		reads = reads || list_member_oid(partitions, lfirst_oid(cell));
	}
	return reads;
}

static PlannedStmt *
plan_rewritten(Query *rewritten, const List *foreign, ShuttlePlanCall call)
{
	Query	   *kept = copyObject(rewritten);
	bool		before = shuttle_written_set_merge_planned(true);
	PlannedStmt *statement = NULL;

	/* PG_TRY since it must be reset as soon as the planner returns */
	PG_TRY();
	{
		statement = shuttle_plan_rest(rewritten, call);
	}
	PG_FINALLY();
	{
		shuttle_written_set_merge_planned(before);
	}
	PG_END_TRY();
	put_together(statement, kept, foreign);
	return statement;
}

PlannedStmt *
shuttle_merge_plan(Query *query, ShuttlePlanCall call)
{
	List	   *partitions;
	List	   *foreign;
	PlannedStmt *statement;

	if (query->commandType != CMD_MERGE || refuse_rewriting(query, &partitions, &foreign) != NULL || foreign == NIL)
		return shuttle_plan_rest(query, call);
	statement = plan_rewritten(shuttle_merge_rewrite(copyObject(query)), foreign, call);
	if (is_for_core(statement, partitions, foreign))
		return shuttle_plan_rest(query, call);
	return statement;
}

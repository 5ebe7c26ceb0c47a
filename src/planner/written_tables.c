/*-------------------------------------------------------------------------
 * written_tables.c
 *	  Which tables a statement reads that another part of it writes.
 *
 * A data-modifying CTE and the main query see the state before the statement, and
 * so do subqueries in RETURNING.  A scan of its own keeps to that: it is asked for
 * before anything is written.  The keys of a batched join may come later, even from
 * the CTE itself, and so may a write that the node does by itself, and a value that
 * a scan waits for.  So where a table is written beside a scan, what is compared
 * with such values is not left to the node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/planner_internal.h"

/* A table, and what belongs to it, as far as these are foreign. */
static List *
foreign_tables_of(Oid relid)
{
	List	   *tables = NIL;
	ListCell   *lc;

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE)
			tables = lappend_oid(tables, lfirst_oid(lc));
	}
	return tables;
}

/* The foreign tables that a query writes to. */
static List *
find_targets(const Query *query)
{
	if (query->commandType == CMD_SELECT || query->resultRelation == 0)
		return NIL;
	return foreign_tables_of(rt_fetch(query->resultRelation, query->rtable)->relid);
}

/* True where one of the tables is that of a relation, on its node. */
static bool
is_among(Oid relid, const List *targets)
{
	ListCell   *lc;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return false;
	foreach(lc, targets)
	{
		if (shuttle_is_same_remote_table(relid, lfirst_oid(lc)))
			return true;
	}
	return false;
}

Query *
shuttle_find_statement(const PlannerInfo *root)
{
	while (root->parent_root != NULL)
		root = root->parent_root;
	return root->parse;
}

static int
count_writers(Query *statement, Oid relid)
{
	int			nwriters = 0;
	ListCell   *lc;

	foreach(lc, shuttle_writing_queries(statement))
	{
		if (is_among(relid, find_targets(lfirst_node(Query, lc))))
			nwriters++;
	}
	return nwriters;
}

bool
shuttle_is_written_twice(PlannerInfo *root, Oid relid)
{
	Query	   *statement = shuttle_find_statement(root);

	return statement->hasModifyingCTE && count_writers(statement, relid) > 1;
}

/* True where a query evaluates subqueries between the rows that it writes. */
static bool
asks_among_writes(const Query *query)
{
	return contain_subplans((Node *) query->returningList) ||
		contain_subplans((Node *) query->mergeActionList);
}

/* The same for one table. */
static bool
is_written_beside(PlannerInfo *root, const RelOptInfo *rel)
{
	Query	   *statement = shuttle_find_statement(root);
	Oid			relid = planner_rt_fetch(rel->relid, root)->relid;
	int			nwriters = count_writers(statement, relid);
	PlannerInfo *writer = root;

	if (nwriters != 1)
		return nwriters > 1;

	/* What writes reads its source before its first row. */
	while (writer != NULL && !is_among(relid, find_targets(writer->parse)))
		writer = writer->parent_root;
	return writer == NULL || (writer != root && asks_among_writes(writer->parse));
}

static bool
is_writing(const PlannerInfo *root)
{
	const Query *statement = shuttle_find_statement(root);

	return statement->commandType != CMD_SELECT || statement->hasModifyingCTE;
}

bool
shuttle_is_written_beside(PlannerInfo *root, const List *relations)
{
	ListCell   *lc;

	if (!is_writing(root))
		return false;
	foreach(lc, relations)
	{
		if (is_written_beside(root, lfirst(lc)))
			return true;
	}
	return false;
}

/* Relations above joins may not name theirs; they stand over all of them. */
static List *
tables_among(PlannerInfo *root, Relids relids)
{
	List	   *relations = NIL;
	int			relid = -1;

	if (relids == NULL)
		relids = root->all_baserels;
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		RelOptInfo *rel = root->simple_rel_array[relid];

		if (rel != NULL && rel->rtekind == RTE_RELATION)
			relations = lappend(relations, rel);
	}
	return relations;
}

/* ---- values that come late */

/* Stand-ins, with their negative numbers, are known when a scan is asked for. */
static bool
has_late_value(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC && ((Param *) node)->paramid >= 0;
	if (IsA(node, RestrictInfo))
		return has_late_value((Node *) ((RestrictInfo *) node)->clause, context);
	return expression_tree_walker(node, has_late_value, context);
}

bool
shuttle_waits_beside_write(PlannerInfo *root, Relids relids, const List *conditions)
{
	const Query *query = root->parse;
	List	   *tables;
	bool		waits;
	ListCell   *lc;

	if (!is_writing(root))
		return false;
	waits = has_late_value((Node *) conditions, NULL) ||
		has_late_value((Node *) query->targetList, NULL) ||
		has_late_value(query->havingQual, NULL) ||
		has_late_value(query->limitCount, NULL) ||
		has_late_value(query->limitOffset, NULL);
	tables = tables_among(root, relids);
	foreach(lc, tables)
		waits = waits || has_late_value((Node *) ((RelOptInfo *) lfirst(lc))->baserestrictinfo, NULL);
	return waits && shuttle_is_written_beside(root, tables);
}

List *
shuttle_hide_late_conditions(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *hidden = NIL;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		QualCost	cost;

		if (!has_late_value((Node *) clause, NULL) ||
			!shuttle_is_written_beside(root, list_make1(rel)))
			continue;

		/* what core keeps with the clause is of the clause as it is */
		(void) clause_selectivity(root, (Node *) clause, 0, JOIN_INNER, NULL);
		cost_qual_eval_node(&cost, (Node *) clause, root);
		hidden = lappend(hidden, list_make2(clause, clause->clause));
		clause->clause = (Expr *) make_and_qual((Node *) clause->clause,
												(Node *) makeNode(NextValueExpr));
	}
	return hidden;
}

void
shuttle_show_late_conditions(List *hidden)
{
	ListCell   *lc;

	foreach(lc, hidden)
	{
		List	   *pair = lfirst_node(List, lc);

		linitial_node(RestrictInfo, pair)->clause = lsecond(pair);
	}
}

List *
shuttle_late_join_clauses(PlannerInfo *root, RelOptInfo *rel, const ForeignPath *path)
{
	const ParamPathInfo *info = path->path.param_info;

	if (info == NULL || !IS_SIMPLE_REL(rel) ||
		!shuttle_is_written_beside(root, list_make1(rel)))
		return NIL;
	return info->ppi_clauses;
}

/* ---- what the source of a write asks for, by values of other rows */

/* True where a scan reads a target, and not the rows to be changed. */
static bool
reads_target(const ForeignScan *scan, const ModifyTable *writer,
			 const PlannedStmt *statement)
{
	List	   *targets = NIL;
	bool		found = false;
	int			rtindex = -1;
	ListCell   *lc;

	foreach(lc, writer->resultRelations)
	{
		if (bms_is_member(lfirst_int(lc), scan->fs_base_relids))
			return false;
	}
	foreach(lc, writer->resultRelations)
	{
		Oid			relid = rt_fetch(lfirst_int(lc), statement->rtable)->relid;

		targets = list_concat_unique_oid(targets, foreign_tables_of(relid));
	}
	while (!found && (rtindex = bms_next_member(scan->fs_base_relids, rtindex)) >= 0)
	{
		const RangeTblEntry *rte = rt_fetch(rtindex, statement->rtable);

		found = rte->rtekind == RTE_RELATION && is_among(rte->relid, targets);
	}
	return found;
}

static bool
asks_for_target(Plan *plan, const ModifyTable *writer, const PlannedStmt *statement)
{
	List	   *children;
	ListCell   *lc;

	/* a subplan that was not chosen is not there any more */
	if (plan == NULL)
		return false;
	if (IsA(plan, ForeignScan) && ((ForeignScan *) plan)->operation == CMD_SELECT &&
		has_late_value((Node *) ((ForeignScan *) plan)->fdw_exprs, NULL) &&
		reads_target((ForeignScan *) plan, writer, statement))
		return true;
	children = list_concat(list_make2(plan->lefttree, plan->righttree),
						   shuttle_other_children(plan));
	foreach(lc, children)
	{
		if (asks_for_target(lfirst(lc), writer, statement))
			return true;
	}
	return false;
}

bool
shuttle_asks_for_target(const ModifyTable *writer, const PlannedStmt *statement)
{
	ListCell   *lc;

	if (asks_for_target(outerPlan(writer), writer, statement))
		return true;
	foreach(lc, statement->subplans)
	{
		if (asks_for_target(lfirst(lc), writer, statement))
			return true;
	}
	return false;
}

/*-------------------------------------------------------------------------
 * written_tables.c
 *	  Tables that one part of a statement reads and another part writes.
 *
 * A data-modifying CTE, the main query and subqueries in RETURNING must all
 * see the state before the statement. A plain scan does: it is sent before
 * anything is written. But keys of a batched join, values that a scan waits
 * for, and writes done by the node itself may come later. So if a table is
 * written by another part of the statement, quals with such values are not
 * shipped. Nor are those that could see rows which a policy or a security barrier
 * hides: what is kept here is kept by the same functions.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/written_tables.h"
#include "planner/write/write.h"
#include "tablets/shuttle_tablets.h"

static bool plans_merge = false;

/* True if a query writes a table, also through a parent. */
static bool
writes_to(const Query *query, Oid relid)
{
	return query->commandType != CMD_SELECT && query->resultRelation != 0 &&
		shuttle_remote_write_reaches(rt_fetch(query->resultRelation, query->rtable)->relid, relid);
}

Query *
shuttle_written_find_statement(const PlannerInfo *root)
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
		if (writes_to(lfirst_node(Query, lc), relid))
			nwriters++;
	}
	return nwriters;
}

bool
shuttle_written_merge_names_are_free(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->cteList)
	{
		const char *name = lfirst_node(CommonTableExpr, cell)->ctename;

		if (strcmp(name, SHUTTLE_MERGE_SOURCE) == 0 || strcmp(name, SHUTTLE_MERGE_ROWS) == 0)
			return false;
	}
	return true;
}

bool
shuttle_written_merge_is_planned(const Query *statement)
{
	return plans_merge && !shuttle_written_merge_names_are_free(statement);
}

bool
shuttle_written_set_merge_planned(bool is_planned)
{
	bool		before = plans_merge;

	plans_merge = is_planned;
	return before;
}

bool
shuttle_written_is_twice(PlannerInfo *root, Oid relid)
{
	Query	   *statement = shuttle_written_find_statement(root);

	return shuttle_written_merge_is_planned(statement) ||
		(statement->hasModifyingCTE && count_writers(statement, relid) > 1);
}

bool
shuttle_written_brings_copies(PlannerInfo *root)
{
	Query	   *statement = shuttle_written_find_statement(root);
	ListCell   *cell;

	if (!statement->hasModifyingCTE)
		return false;
	foreach(cell, shuttle_writing_queries(statement))
	{
		const Query *query = lfirst_node(Query, cell);

		if ((query->commandType == CMD_INSERT || query->commandType == CMD_MERGE) &&
			shuttle_table_kind(rt_fetch(query->resultRelation, query->rtable)->relid) == SHUTTLE_TABLE_REFERENCE)
			return true;
	}
	return false;
}

/* True if a query evaluates subqueries between its writes. */
static bool
asks_among_writes(const Query *query)
{
	return contain_subplans((Node *) query->returningList) ||
		contain_subplans((Node *) query->withCheckOptions) ||
		contain_subplans((Node *) query->mergeActionList) ||
		(query->onConflict != NULL &&
		 (contain_subplans((Node *) query->onConflict->onConflictSet) || contain_subplans(query->onConflict->onConflictWhere)));
}

/* shuttle_written_is_beside() for one table. */
static bool
is_written_beside(PlannerInfo *root, const RelOptInfo *rel)
{
	Query	   *statement = shuttle_written_find_statement(root);
	Oid			relid = planner_rt_fetch(rel->relid, root)->relid;
	int			nwriters = count_writers(statement, relid);
	PlannerInfo *writer = root;

	if (nwriters != 1)
		return nwriters > 1;

	/* a writing query reads its own source before it writes the first row */
	while (writer != NULL && !writes_to(writer->parse, relid))
		writer = writer->parent_root;
	return writer == NULL || (writer != root && asks_among_writes(writer->parse));
}

/* A MERGE reads everything before it writes. */
static bool
is_writing(const PlannerInfo *root)
{
	const Query *statement = shuttle_written_find_statement(root);

	if (shuttle_written_merge_is_planned(statement))
		return false;
	return statement->commandType != CMD_SELECT || statement->hasModifyingCTE;
}

bool
shuttle_written_is_beside(PlannerInfo *root, const List *relations)
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

/* The tables of relids. Upper relations may have no relids; they cover all
 * tables. */
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

/* True if an expression uses a Param that is set at run time. Stand-ins are computed when
 * the scan is sent. */
static bool
has_late_value(const void *expression)
{
	return shuttle_expression_has(expression, SHUTTLE_HAS_PLAN_PARAM);
}

bool
shuttle_written_waits_beside(PlannerInfo *root, Relids relids, const List *conditions)
{
	const Query *query = root->parse;
	List	   *tables;
	bool		waits;
	ListCell   *lc;

	if (!is_writing(root))
		return false;
	waits = has_late_value(conditions) ||
		has_late_value(query->targetList) ||
		has_late_value(query->havingQual) ||
		has_late_value(query->limitCount) ||
		has_late_value(query->limitOffset);
	tables = tables_among(root, relids);
	foreach(lc, tables)
		waits = waits || has_late_value(((RelOptInfo *) lfirst(lc))->baserestrictinfo);
	return waits && shuttle_written_is_beside(root, tables);
}

/* True if a node could evaluate a clause for rows that a condition of a lower security
 * level hides: it does not know of levels, and tests the cheapest condition first. */
static bool
sees_hidden_rows(PlannerInfo *root, RestrictInfo *clause)
{
	int			relid = -1;

	if (root->qual_security_level == 0)
		return false;
	while ((relid = bms_next_member(clause->clause_relids, relid)) >= 0)
	{
		RelOptInfo *rel = root->simple_rel_array[relid];

		/* none: an outer join */
		if (rel != NULL && !restriction_is_securely_promotable(clause, rel))
			return true;
	}
	return false;
}

List *
shuttle_written_hide_conditions(PlannerInfo *root, const List *conditions, RelOptInfo *rel,
								JoinType type, SpecialJoinInfo *join)
{
	List	   *hidden = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		QualCost	cost;

		if (!sees_hidden_rows(root, clause) && !shuttle_expression_has(clause, SHUTTLE_HAS_KNOWN_HERE_ONLY) &&
			(rel == NULL || !has_late_value(clause) ||
			 !shuttle_written_is_beside(root, list_make1(rel))))
			continue;

		/* cache selectivity and cost of the original clause */
		(void) clause_selectivity(root, (Node *) clause, 0, type, join);
		cost_qual_eval_node(&cost, (Node *) clause, root);
		hidden = lappend(hidden, list_make2(clause, clause->clause));
		clause->clause = (Expr *) make_and_qual((Node *) clause->clause,
												(Node *) makeNode(NextValueExpr));
	}
	return hidden;
}

void
shuttle_written_show_conditions(List *hidden)
{
	ListCell   *lc;

	foreach(lc, hidden)
	{
		List	   *pair = lfirst_node(List, lc);

		linitial_node(RestrictInfo, pair)->clause = lsecond(pair);
	}
}

List *
shuttle_written_kept_clauses(PlannerInfo *root, RelOptInfo *rel, const ForeignPath *path,
							 const List *clauses)
{
	const ParamPathInfo *info = path->path.param_info;
	List	   *kept = NIL;
	ListCell   *lc;

	if (!IS_SIMPLE_REL(rel))
		return NIL;
	if (info != NULL && shuttle_written_is_beside(root, list_make1(rel)))
		kept = list_copy(info->ppi_clauses);
	foreach(lc, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (!clause->pseudoconstant && !restriction_is_securely_promotable(clause, rel))
			kept = list_append_unique_ptr(kept, clause);
	}
	return kept;
}

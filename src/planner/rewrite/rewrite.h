/*-------------------------------------------------------------------------
 * rewrite.h
 *	  Queries made into others before core plans them.
 *
 * Files: ignored_only.c takes away ONLY; subquery_joins.c and subquery_errors.c make joins of
 * correlated subqueries; union_joins.c and union_columns.c move joins into branches of a UNION
 * ALL, whose types union_types.c makes equal and whose statistics union_statistics.c finds;
 * two_steps.c and step_aggregates.c group twice; named_columns.c notes what an INSERT names;
 * standby_copies.c has a standby read copies of reference tables; index_lookups.c finds rows by global
 * indexes.
 *
 * In: a Query. Out: the Query that core plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_REWRITE_REWRITE_H
#define SHUTTLE_PLANNER_REWRITE_REWRITE_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/selfuncs.h"

#include "planner/hooks.h"

/* ---- the word ONLY (ignored_only.c) */

/* Takes ONLY from the distributed tables of a query and of all below it. The query is changed. */
extern void shuttle_ignored_only_remove(Query *query);

/* Errors: ERRCODE_FEATURE_NOT_SUPPORTED if a distributed table still has it. */
extern void shuttle_ignored_only_check(PlannerInfo *root, const RelOptInfo *rel);

/* ---- subqueries and branches that become joins (subquery_joins.c, union_joins.c) */

/* Part of the planner hook: correlated scalar subqueries with an aggregate become
 * joins with groups. */
extern PlannedStmt *shuttle_subquery_joins_plan(Query *query, ShuttlePlanCall call);

/* Has branches of a UNION ALL join reference tables, in a statement that may read their
 * copies. */
extern void shuttle_union_joins_move(Query *query);

/* ---- statistics (union_statistics.c) */

/* get_relation_stats_hook: has a column of a UNION ALL use the statistics of the reference
 * table whose column all branches return; false: there is none. */
extern bool shuttle_union_statistics(RangeTblEntry *rte, AttrNumber attnum,
									 VariableStatData *variable);

/* ---- groups by a key that nodes do not have (grouped_keys.c) */

/* Adds columns that depend on a global primary key to those that are grouped by. */
extern void shuttle_grouped_keys_complete(Query *query);

/* ---- rows that are found by global indexes (index_lookups.c) */

/* Part of the planner hook: has entries of global unique indexes say on which node rows are, if
 * that is cheaper than asking all. */
extern PlannedStmt *shuttle_index_lookups_plan(Query *query, ShuttlePlanCall call);

/* ---- columns that an INSERT names (named_columns.c) */

/* Part of the planner hook: notes in INSERT plans which columns have values. */
extern PlannedStmt *shuttle_named_columns_plan(Query *query, ShuttlePlanCall call);

/* ---- branches that differ in type, and aggregates in two steps (union_types.c, two_steps.c) */

/* Part of the planner hook: casts branches that differ in type, so that core makes
 * them children of one relation (union_types.c). */
extern PlannedStmt *shuttle_union_types_plan(Query *query, ShuttlePlanCall call);

/* Part of the planner hook: nodes group by all columns of grouping sets, and by values of
 * DISTINCT aggregates beside others, if that is cheaper (two_steps.c). */
extern PlannedStmt *shuttle_two_steps_plan(Query *query, ShuttlePlanCall call);

/* ---- copies of reference tables on a standby (standby_copies.c) */

/* On a standby: puts the functions into the query that core would inline while it plans.
 * What the plan depends on because of them is added to *dependencies. */
extern void shuttle_standby_inline_functions(Query *query, PlannerGlobal *dependencies);

/* On a standby: has the query read copies of reference tables. beside_tablets: the query
 * reads distributed tables. Errors: ERRCODE_FEATURE_NOT_SUPPORTED. */
extern void shuttle_standby_read_copies(Query *query, bool beside_tablets);

#endif							/* SHUTTLE_PLANNER_REWRITE_REWRITE_H */

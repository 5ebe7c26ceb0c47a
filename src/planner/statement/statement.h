/*-------------------------------------------------------------------------
 * statement.h
 *	  What is done with a statement as a whole, before and after core's
 *	  planner.
 *
 * Files: planning_settings.c copies the settings while core plans;
 * planning_memo.c remembers results during one planning; literal_plans.c and
 * literal_shape.c share one plan between statements that differ in literals;
 * colocated.c tries the router, then has core join tablets on their nodes; called_routines.c finds
 * statements that only call a function that nodes have; subquery_joins.c and
 * subquery_errors.c make joins of correlated subqueries; union_joins.c and union_columns.c
 * move joins into branches of a UNION ALL, whose statistics union_statistics.c finds;
 * node_reads.c says which queries read nodes; ignored_only.c, stable_values.c, written_casts.c,
 * partition_sample.c and named_columns.c change the query tree; written_tables.c and
 * writing_statements.c tell which tables a statement writes.
 *
 * In: a Query. Out: the Query that core plans, or a kept plan.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_STATEMENT_STATEMENT_H
#define SHUTTLE_PLANNER_STATEMENT_STATEMENT_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/selfuncs.h"

#include "base/shuttle_settings.h"
#include "planner/hooks.h"

/* Overhead bytes of a row in memory and on the wire, in estimates. */
#define SHUTTLE_ROW_OVERHEAD_BYTES 64

/* ---- the word ONLY (ignored_only.c) */

/* Takes ONLY from the distributed tables of a query and of all below it. The query is changed. */
extern void shuttle_only_ignore(Query *query);

/* Errors: ERRCODE_FEATURE_NOT_SUPPORTED if a distributed table still has it. */
extern void shuttle_only_check(PlannerInfo *root, const RelOptInfo *rel);

/* ---- joins of distributed tables (colocated.c) */

/* Part of the planner hook: considers partitionwise joins for statements with two
 * distributed tables or more, or with reference tables. */
extern PlannedStmt *shuttle_colocated_plan(Query *query, ShuttlePlanCall call);

/* Part of the planner hook: a statement that only calls a distributed function may
 * be executed by a node. (called_routines.c) */
extern PlannedStmt *shuttle_called_routines_plan(Query *query, ShuttlePlanCall call);

/* Part of the planner hook: correlated scalar subqueries with an aggregate become
 * joins with groups. (subquery_joins.c) */
extern PlannedStmt *shuttle_subquery_joins_plan(Query *query, ShuttlePlanCall call);

/* True if the statement that is being planned may read copies of reference tables
 * on nodes. */
extern bool shuttle_plans_with_copies(void);

/* Has branches of a UNION ALL join reference tables, in a statement that may read their
 * copies. (union_joins.c) */
extern void shuttle_union_joins_move(Query *query);

/* ---- stable values (stable_values.c) */

/* Replaces stable expressions without columns that cannot raise errors by
 * stand-ins. Returns node itself if there are none. */
extern Node *shuttle_stable_stand_in(PlannerInfo *root, Node *node);

/* Replaces stand-ins by their expressions. */
extern Node *shuttle_stable_put_back(PlannerInfo *root, Node *node);

/* Puts stand-ins into the quals of a base relation. */
extern void shuttle_stable_in_conditions(PlannerInfo *root, RelOptInfo *rel);

/* ---- what else the statement writes (written_tables.c) */

/* True if another part of the statement writes a table that one of these base
 * relations reads, so that the table must be read before. */
extern bool shuttle_is_written_beside(PlannerInfo *root, const List *relations);

/* The same for the tables of relids, if quals of the join, or the query above
 * it, use a Param that is set only when the plan runs. */
extern bool shuttle_waits_beside_write(PlannerInfo *root, Relids relids,
									   const List *conditions);

/*
 * Makes postgres_fdw check conditions of a base relation or a join (rel is NULL) here,
 * while it plans: those of a base relation that use such a Param; and those that are not
 * leakproof and come after a security barrier or a policy, since a node does not keep
 * that order. Returns what shuttle_show_conditions() needs to undo that.
 */
extern List *shuttle_hide_conditions(PlannerInfo *root, const List *conditions,
									 RelOptInfo *rel, JoinType type, SpecialJoinInfo *join);
extern void shuttle_show_conditions(List *hidden);

/* The clauses of a path that must not be shipped for one of these reasons. Core may have
 * copied them for the partitions of an outer side, so postgres_fdw would look anew. */
extern List *shuttle_kept_clauses(PlannerInfo *root, RelOptInfo *rel, const ForeignPath *path,
								  const List *clauses);

/* The top-level query that root belongs to. */
extern Query *shuttle_find_statement(const PlannerInfo *root);

/* True if several parts of the statement (main query, CTEs) write a table; each
 * sees it as it was before the statement. */
extern bool shuttle_is_written_twice(PlannerInfo *root, Oid relid);

/* ---- what queries read (node_reads.c) */

/* True if a query or one of its subqueries reads a foreign or distributed table. */
extern bool shuttle_reads_node(Node *query);

/* True of tables that are on nodes, and of their partitioned parents. */
extern bool shuttle_is_on_nodes(const RangeTblEntry *rte);

/* get_relation_stats_hook: has a column of a UNION ALL use the statistics of the reference
 * table whose column all branches return; false: there is none. (union_statistics.c) */
extern bool shuttle_union_statistics(RangeTblEntry *rte, AttrNumber attnum,
									 VariableStatData *variable);

/* ---- samples (partition_sample.c) */

/* Puts TABLESAMPLE into the SELECT of our scan. Errors: samples that nodes
 * cannot take. */
extern void shuttle_sample_add(PlannerInfo *root, const RelOptInfo *rel,
							   ForeignScan *scan);

/* True if a table has TABLESAMPLE. */
extern bool shuttle_is_sampled(PlannerInfo *root, const RelOptInfo *rel);

/* ---- statements that write (writing_statements.c) */

/* True if the statement or a CTE of it writes. */
static inline bool
shuttle_query_writes(const Query *query)
{
	return query->commandType != CMD_SELECT || query->hasModifyingCTE;
}

/* The statement, then its data-modifying CTEs: Queries. */
extern List *shuttle_writing_queries(Query *query);

/* Their plans, in the same order. The first is always the statement's own. */
extern List *shuttle_writing_plans(const PlannedStmt *statement);

/* ---- what was found out during a planning (planning_memo.c) */

/* The value remembered for a relation (or NULL) and a key; NULL: none. */
extern void *shuttle_memo_find(PlannerInfo *root, const void *of, List *key);

/*
 * Remembers a value. It must live in root->planner_cxt, like the key's members.
 */
extern void shuttle_memo_add(PlannerInfo *root, const void *of, List *key,
							 void *value);

/* The same with a set of relations, or NULL, as the key, which costs less. GEQO frees and
 * rebuilds joinrels, so their relids tell which one is meant. kind: not 0; what is
 * remembered. */
extern void *shuttle_memo_find_set(PlannerInfo *root, const void *of, int kind, Relids relids);
extern void shuttle_memo_add_set(PlannerInfo *root, const void *of, int kind, Relids relids,
								 void *value);

/* ---- columns that an INSERT names (named_columns.c) */

/* Part of the planner hook: notes in INSERT plans which columns have values. */
extern PlannedStmt *shuttle_named_columns_plan(Query *query, ShuttlePlanCall call);

/* ---- casts that a query does not write (written_casts.c) */

/* Part of build_simple_rel_hook: makes postgres_fdw deparse implicit casts that a
 * node would not add itself. */
extern void shuttle_written_casts_write(PlannerInfo *root, const RelOptInfo *rel);

/* True if the parser resolves the operator's name between two values of a type
 * to this operator. */
extern bool shuttle_is_meant_between(const OpExpr *operator, Oid type);

/* ---- settings while planning (planning_settings.c) */

/* Part of create_upper_paths_hook: copies the settings. */
extern void shuttle_planning_settings_note(PlannerInfo *root, UpperRelationKind stage,
										   RelOptInfo *input, RelOptInfo *output, void *extra);

/* Before a statement is planned. */
extern void shuttle_planning_settings_begin(void);

/* The settings in force while the last statement was planned. */
extern const ShuttleSettings *shuttle_planning_settings(void);

/* The batch size for a server by these settings, or by its option. */
extern int	shuttle_planning_batch_size(Oid serverid);

#endif							/* SHUTTLE_PLANNER_STATEMENT_STATEMENT_H */

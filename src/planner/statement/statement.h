/*-------------------------------------------------------------------------
 * statement.h
 *	  What is done with a statement as a whole, before and behind core's planner.
 *
 * Files: planning_settings.c keeps settings in force while core plans;
 * planning_memo.c remembers what was found out; literal_plans.c and
 * literal_shape.c share one plan between statements that differ in literals;
 * stable_values.c, written_casts.c, partition_sample.c and named_columns.c
 * change the tree; written_tables.c and writing_statements.c say who writes.
 *
 * In: a Query. Out: the Query that core plans, or a kept plan.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_STATEMENT_STATEMENT_H
#define SHUTTLE_PLANNER_STATEMENT_STATEMENT_H

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"

/* ---- stable values (stable_values.c) */

/* An expression with stand-ins in the place of stable values that have no columns
 * and raise nothing; itself where there are none. */
extern Node *shuttle_stable_stand_in(PlannerInfo *root, Node *node);

/* The expression with the values. */
extern Node *shuttle_stable_put_back(PlannerInfo *root, Node *node);

/* Puts stand-ins into the conditions of a base relation. */
extern void shuttle_stable_in_conditions(PlannerInfo *root, RelOptInfo *rel);

/* ---- what else the statement writes (written_tables.c) */

/* True where another part of the statement writes a table that one of these base
 * relations reads, so that it must be read before. */
extern bool shuttle_is_written_beside(PlannerInfo *root, const List *relations);

/*
 * The same for the tables among these, where a join with the conditions, or what the
 * query makes of its joins, takes a value that is known only when the plan runs.
 */
extern bool shuttle_waits_beside_write(PlannerInfo *root, Relids relids,
									   const List *conditions);

/*
 * Makes postgres_fdw keep conditions of a base relation here that wait for such a
 * value, while it looks at them.  Returns what shows them again.
 */
extern List *shuttle_hide_late_conditions(PlannerInfo *root, RelOptInfo *rel);
extern void shuttle_show_late_conditions(List *hidden);

/* The join clauses of a path that the scan must not take along for that reason. */
extern List *shuttle_late_join_clauses(PlannerInfo *root, RelOptInfo *rel,
									   const ForeignPath *path);

/* The query that a query being planned is part of, or that one itself. */
extern Query *shuttle_find_statement(const PlannerInfo *root);

/* True where several parts of the statement, the main query or CTEs, write a
 * table.  None of them changes what another one has written. */
extern bool shuttle_is_written_twice(PlannerInfo *root, Oid relid);

/* ---- samples (partition_sample.c) */

/* Puts TABLESAMPLE into the SELECT of a scan of ours.  Errors: samples that
 * nodes cannot take. */
extern void shuttle_sample_add(PlannerInfo *root, const RelOptInfo *rel,
							   ForeignScan *scan);

/* True where a statement wants a sample of a table. */
extern bool shuttle_is_sampled(PlannerInfo *root, const RelOptInfo *rel);

/* ---- statements that write (writing_statements.c) */

/* Says if the statement, or one of its WITH, writes; of most there is no more to do. */
static inline bool
shuttle_query_writes(const Query *query)
{
	return query->commandType != CMD_SELECT || query->hasModifyingCTE;
}

/* The statement, and then those of its WITH that write: Queries. */
extern List *shuttle_writing_queries(Query *query);

/* Their plans, in the same order; the first is that of the statement, whatever it
 * is. */
extern List *shuttle_writing_plans(const PlannedStmt *statement);

/* ---- what was found out during a planning (planning_memo.c) */

/* The value remembered for a relation (or NULL) and a list, or NULL. */
extern void *shuttle_memo_find(PlannerInfo *root, RelOptInfo *rel, List *key);

/* A key for a join: GEQO frees relations of joins and makes them anew, so they go
 * by members. */
extern List *shuttle_memo_members(Relids relids);

/* Remembers a value, which lives in root->planner_cxt, as the key's members. */
extern void shuttle_memo_add(PlannerInfo *root, RelOptInfo *rel, List *key,
							 void *value);

/* ---- joins (join_path.c), finished plans (place_look_ahead.c) */

/* Installs the hook that tells plans of INSERTs which columns have values; called
 * once (named_columns.c). */
extern void shuttle_named_columns_init(void);

/* ---- casts that a query does not write (written_casts.c) */

/* Has postgres_fdw write those that a node would not make again. */
extern void shuttle_written_casts_init(void);

/* True where the operator's name, between two values of a type, means this operator. */
extern bool shuttle_is_meant_between(const OpExpr *operator, Oid type);

/* ---- settings while planning (planning_settings.c) */
extern void shuttle_planning_settings_init(void);

/* Before a statement is planned. */
extern void shuttle_planning_settings_begin(void);

/* What the settings were while the last statement was planned. */
extern const ShuttleSettings *shuttle_planning_settings(void);

/* Outer rows of a batch that asks a server, as they say or its option does. */
extern int	shuttle_planning_batch_size(Oid serverid);

#endif							/* SHUTTLE_PLANNER_STATEMENT_STATEMENT_H */

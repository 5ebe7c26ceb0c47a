/*-------------------------------------------------------------------------
 * write.h
 *	  Statements that write to foreign tables, and what core cannot plan of
 *	  them.
 *
 * Files: foreign_writes.c says which UPDATE and DELETE run wholly on a node;
 * keyed_writes.c joins local rows with a node's table; on_conflict.c takes ON
 * CONFLICT out of the statement and hands it to the executor, conflict_values.c
 * says who computes its values, conflict_here.c plans what triggers must see;
 * merge_*.c rewrite a MERGE into UPDATE, DELETE and INSERT statements.
 *
 * In: a Query or core's ModifyTable. Out: plans for executor/write.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_WRITE_H
#define SHUTTLE_PLANNER_WRITE_WRITE_H

#include "foreign/fdwapi.h"

#include "planner/hooks.h"

/* ---- writes (foreign_writes.c) */
extern void shuttle_foreign_writes_fill(FdwRoutine *routine);

/* True if no row of the table can leave its partition. */
extern bool shuttle_foreign_writes_keep_partition(PlannerInfo *root, const ModifyTable *plan,
												  Index rtindex);

/* ---- UPDATE and DELETE joined with local rows (keyed_writes.c) */

/*
 * Replaces the join below a ModifyTable by a node that lets storage nodes do
 * the join, if all target tables allow it. Called for each target table in
 * turn, with its index. Returns false if rows must be changed one by one.
 */
extern bool shuttle_keyed_write_plan(PlannerInfo *root, ModifyTable *plan, int index);

/* ---- ON CONFLICT (on_conflict.c) */

/* Part of the planner hook: hides the clause from core. */
extern PlannedStmt *shuttle_on_conflict_plan(Query *query, ShuttlePlanCall call);

/* Part of the planner hook: rows are inserted one by one, if a global unique index decides
 * about conflicts (conflict_by_row.c). */
extern PlannedStmt *shuttle_conflict_by_row_plan(Query *query, ShuttlePlanCall call);

/* The columns of a constraint, as a clause would name them; NIL: it is neither a primary
 * key nor unique. target: the table's range table index. */
extern List *shuttle_on_conflict_key_columns(Oid constraint, Index target);

/* True of a key WITHOUT OVERLAPS and the like: no columns name its index. */
extern bool shuttle_on_conflict_is_exclusion(Oid constraint);

/* ---- MERGE (merge_rewrite.c, merge_plan.c, merge_refusal.c) */

/*
 * Rewrites a MERGE as a statement with WITH. Its main query reads everything,
 * and returns target rows that several source rows match; one CTE per action
 * writes, in their order. Shares parts of query.
 */
extern Query *shuttle_merge_rewrite(Query *query);

/* Parts of the planner hook: plan a MERGE into foreign partitions as such a
 * statement, and say what to write instead of one that is refused. */
extern PlannedStmt *shuttle_merge_plan(Query *query, ShuttlePlanCall call);

/* Why a MERGE into foreign partitions is left to core; NULL: it is not, or core can do it. */
extern const char *shuttle_merge_refusal(const Query *query);
extern PlannedStmt *shuttle_merge_refusal_plan(Query *query, ShuttlePlanCall call);

#endif							/* SHUTTLE_PLANNER_WRITE_WRITE_H */

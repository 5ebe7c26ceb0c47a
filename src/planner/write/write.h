/*-------------------------------------------------------------------------
 * write.h
 *	  Statements that write to foreign tables, and what core cannot plan of them.
 *
 * Files: foreign_writes.c says which UPDATE and DELETE run wholly on a node;
 * keyed_writes.c joins rows that are here with a node's table; on_conflict.c
 * takes ON CONFLICT out of the statement and hands it to the executor;
 * merge_*.c make UPDATE, DELETE and INSERT statements of a MERGE.
 *
 * In: a Query or core's ModifyTable path. Out: plans for executor/write.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_WRITE_H
#define SHUTTLE_PLANNER_WRITE_WRITE_H

#include "foreign/fdwapi.h"

/* ---- writes (foreign_writes.c) */
extern void shuttle_foreign_writes_fill(FdwRoutine *routine);

/* True where no row of the table can leave its partition. */
extern bool shuttle_rows_keep_partition(PlannerInfo *root, const ModifyTable *plan,
										Index rtindex);

/* ---- UPDATE and DELETE joined with rows of here (keyed_writes.c) */

/*
 * Replaces the join below a ModifyTable by a node that has the storage nodes
 * join, where all tables that are changed allow that.  Called for each of them
 * in turn; index: which of them it is.  Returns false where it must be changed
 * row by row.
 */
extern bool shuttle_plan_keyed_write(PlannerInfo *root, ModifyTable *plan, int index);

/* ---- joins (join_path.c), finished plans (place_look_ahead.c) */
extern void shuttle_on_conflict_init(void);

/* ---- MERGE (merge_rewrite.c, merge_plan.c, merge_refusal.c) */

/* The statements that a MERGE consists of, as one with WITH: its main query reads
 * everything, and returns target rows that several source rows act upon; a query for
 * each action writes, in their order.  Refers to parts of query. */
extern Query *shuttle_merge_rewrite(Query *query);

/* True where none of the MERGE's own WITH has a name that it gives. */
extern bool shuttle_merge_names_are_free(const Query *query);

/* True of such a statement, while it is planned. */
extern bool shuttle_merge_is_planned(const Query *statement);

/* Install the hooks that plan those of foreign partitions so, and that say what to
 * write instead of others. */
extern void shuttle_merge_plan_init(void);
extern void shuttle_merge_refusal_init(void);

#endif							/* SHUTTLE_PLANNER_WRITE_WRITE_H */

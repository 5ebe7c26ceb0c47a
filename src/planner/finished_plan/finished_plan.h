/*-------------------------------------------------------------------------
 * finished_plan.h
 *	  Puts Look Ahead nodes into a finished plan.
 *
 * finished_plan.c	calls the other files in order
 * look_ahead_in_loops.c	Look Ahead under nested loops that core planned itself
 * look_ahead_in_subplans.c	at nodes with correlated subqueries
 * late_filters.c	moves conditions with subqueries to loops and above Appends, before
 * look_ahead_in_index_loops.c	under loops over local index scans, to prefetch
 * plan_nodes.c		what new nodes need: target lists, numbers, Material
 * hash_of_cte.c	a cost by which core reads the other side of a join first
 * join_pruning.c	run-time pruning of joins and groups of partitions
 * late_locks.c		has rows under a LIMIT locked when they are returned
 * one_partition.c	an Append for a Merge Append that a key prunes to one child
 *
 * In: a PlannedStmt. Out: the same statement with Look Aheads in its plan.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FINISHED_PLAN_FINISHED_PLAN_H
#define SHUTTLE_PLANNER_FINISHED_PLAN_FINISHED_PLAN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "planner/hooks.h"

struct ShuttleLookAheadPlan;	/* executor/shuttle_executor.h */

typedef struct ShuttleFinishedPlan
{
	PlannedStmt *statement;
	int			next_id;		/* plan_node_id of the next new node; 0: not
								 * computed yet */
	Bitmapset  *loop_params;	/* of the loop that late_filters.c looks at */
	List	   *positioned;		/* plan nodes between a cursor's top node and
								 * the scan that WHERE CURRENT OF uses */
} ShuttleFinishedPlan;

/* ---- new nodes (plan_nodes.c) */

/* The first foreign scan at or below a node, initplans included, that uses one
 * of the parameters and can be asked for batches of keys; or NULL. */
extern const ForeignScan *shuttle_plan_find_batch_scan(Plan *plan,
													   const Bitmapset *params,
													   const PlannedStmt *statement);

/* True if there is a foreign scan at or below a node. */
extern bool shuttle_plan_reads_node(Plan *plan);

/*
 * Makes the target lists of a custom scan that passes its child's columns on.
 */
extern void shuttle_plan_make_targetlists(Plan *child, List **targetlist,
										  List **scan_targetlist);

/* Gives a new node the costs, parameters and number that setrefs.c would give
 * it. */
extern Plan *shuttle_plan_finish_node(CustomScan *node, Plan *child,
									  ShuttleFinishedPlan *context);

/* Makes a Look Ahead above a plan, which returns the plan's columns. */
extern CustomScan *shuttle_plan_look_ahead_above(Plan *child,
												 const struct ShuttleLookAheadPlan *plan,
												 ShuttleFinishedPlan *context);

/* Moves a node's initplans to a new node above it. */
extern void shuttle_plan_move_initplans(Plan *from, Plan *to);

/* Puts a routed append over an Append or MergeAppend. */
extern Plan *shuttle_plan_place_routed_append(Plan *append, ShuttleFinishedPlan *context);

/* Puts a routed append over each Append at or below a plan, or in its initplans, that
 * prunes foreign scans at run time. Returns the plan or what replaces it. */
extern Plan *shuttle_plan_route_appends(Plan *plan, ShuttleFinishedPlan *context);

/* The same for the plan of a subquery. */
extern void shuttle_plan_route_subplan(int plan_id, ShuttleFinishedPlan *context);

/* Adds a Material, for a parent that needs backward scan or mark and restore. */
extern Plan *shuttle_plan_materialize(Plan *child, ShuttleFinishedPlan *context);

/* Adds a Result that computes columns from the child's. */
extern Plan *shuttle_plan_project(Plan *child, List *targetlist, ShuttleFinishedPlan *context);

/* Puts what a function returns for each child of a node in the child's place. */
extern void shuttle_plan_replace_children(Plan *plan,
										  Plan *(*replace) (Plan *child, ShuttleFinishedPlan *context),
										  ShuttleFinishedPlan *context);

/* The largest plan_node_id of a plan. */
extern int	shuttle_plan_largest_id(Plan *plan);

/* An unused plan_node_id. */
extern int	shuttle_plan_next_id(const PlannedStmt *statement);

/* True if an expression uses one of these PARAM_EXEC parameters. */
extern bool shuttle_plan_uses_params(Node *expression, const Bitmapset *params);

/* ---- conditions with subqueries (late_filters.c) */

/* Moves those of the inner sides of nested loops to the loops, and those of
 * Appends' children above the Appends, at and below a plan. Returns the plan or
 * what replaces it. */
extern Plan *shuttle_late_filters_move(Plan *plan, ShuttleFinishedPlan *context);

/*
 * The conditions of a scan or a join that may as well be tested by a node above
 * it; NULL if its type is another one.
 */
extern List **shuttle_late_conditions(Plan *plan);

/* ---- the source of a statement that writes (source_first.c) */

/* Has the source be read to its end before the first row is written, if it is read in batches. */
extern void shuttle_plan_read_source_first(ModifyTable *plan, ShuttleFinishedPlan *context);

/* ---- Look Aheads (look_ahead_in_loops.c, look_ahead_in_subplans.c, look_ahead_in_index_loops.c) */

/* Places nodes at and below a plan. Returns the plan or what replaces it. */
extern Plan *shuttle_look_ahead_place_in_loops(Plan *plan, ShuttleFinishedPlan *context);

/* Puts a Look Ahead at a node with correlated subqueries. Returns the plan or
 * what replaces it. */
extern Plan *shuttle_look_ahead_place_in_subplans(Plan *plan, ShuttleFinishedPlan *context);

/* Puts a Look Ahead above a plan that returns the plan's first ncolumns columns,
 * of the rows that pass conditions over columns of INDEX_VAR. */
extern Plan *shuttle_look_ahead_place_filter(Plan *plan, int ncolumns, List *conditions,
											 ShuttleFinishedPlan *context);

/* Puts a Look Ahead under loops over local index scans where it may pay
 * (look_ahead_in_index_loops.c). */
extern void shuttle_look_ahead_place_in_index_loops(PlannedStmt *statement);

/* Adds what CTEs cost to the hash sides that read them, so that an empty outer side
 * is noticed before a CTE is computed (hash_of_cte.c). */
extern void shuttle_hash_of_cte_price(PlannedStmt *statement);

/* ---- row locks under a LIMIT (late_locks.c) */

/* Has rows of tablets locked when they are returned, at and below a plan. */
extern void shuttle_late_locks_place(Plan *plan, ShuttleFinishedPlan *context);

/* ---- pruning of joins (join_pruning.c) */

/* Has Appends of partitions' joins and groups prune at run time, as those of
 * partitions do. */
extern void shuttle_join_pruning_add(PlannedStmt *statement);

/* ---- Merge Appends of one partition (one_partition.c) */

/* Returns an Append if a plan is a Merge Append of which run-time pruning leaves one child
 * at most; else the plan. */
extern Plan *shuttle_one_partition_append(Plan *plan, const PlannedStmt *statement);

/* ---- the planner hook (finished_plan.c) */

/* Part of the planner hook: puts Look Aheads into the finished plan. */
extern PlannedStmt *shuttle_finished_plan_plan(Query *query, ShuttlePlanCall call);

/*
 * Raises a NOTICE, once per session, if a correlated subquery gets no Look
 * Ahead because the library was loaded while the statement was being planned.
 */
extern void shuttle_planner_report_late_load(const PlannerInfo *root);

/* False while a statement is planned that began before our planner hook was
 * installed: its finished plan gets no Look Aheads. */
extern bool shuttle_planner_is_active(void);

/* True while our planner hook runs core's planner. */
extern bool shuttle_planner_is_planning(void);

#endif							/* SHUTTLE_PLANNER_FINISHED_PLAN_FINISHED_PLAN_H */

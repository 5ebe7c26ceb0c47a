/*-------------------------------------------------------------------------
 * place.h
 *	  Look Ahead placed on a finished plan.
 *
 * Files: place_look_ahead.c puts it under nested loops that core chose by
 * itself; place_subplans.c at nodes with correlated subqueries; place_local.c
 * over local index scans, where it only prefetches.
 *
 * In: a PlannedStmt. Out: the same plan with Look Aheads in it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_PLACE_PLACE_H
#define SHUTTLE_PLANNER_PLACE_PLACE_H

#include "base/shuttle_compat.h"

/* ---- finished plans (place_look_ahead.c, place_subplans.c) */

typedef struct ShuttlePlaceContext
{
	PlannedStmt *statement;
	int			next_id;		/* plan_node_id of the next node; 0: find out */
	List	   *positioned;		/* plans of a cursor that WHERE CURRENT OF
								 * looks for the row fetched last in */
} ShuttlePlaceContext;

/* Children of a node that are not its outer and inner plan. */
extern List *shuttle_other_children(Plan *plan);

/* The first foreign scan at or below a node that takes one of the parameters
 * and can be asked for batches of keys, also in initplans; or NULL. */
extern const ForeignScan *shuttle_find_batch_scan(Plan *plan,
												  const Bitmapset *params,
												  const PlannedStmt *statement);

/* Target lists of a node of ours over a finished plan: the child's columns. */
extern void shuttle_make_targetlists(Plan *child, List **targetlist,
									 List **scan_targetlist);

/* Gives a node of ours over a finished plan the plan's costs and parameters. */
extern Plan *shuttle_finish_node(CustomScan *node, Plan *child,
								 ShuttlePlaceContext *context);

/* Puts a routed append over each Append at or below a plan that prunes foreign
 * scans at run time; returns what stands in the plan's place. */
extern Plan *shuttle_route_appends(Plan *plan, ShuttlePlaceContext *context);

/* Looks ahead for the correlated subqueries of a node; returns what stands in
 * its place. */
extern Plan *shuttle_place_for_subplans(Plan *plan, ShuttlePlaceContext *context);

/* True of a node that reads a table of this server. */
extern bool shuttle_scans_table_here(const Plan *plan);

/* The largest number of a node of a plan. */
extern int	shuttle_largest_plan_id(Plan *plan);

/* A number that no node of the statement has. */
extern int	shuttle_next_plan_id(const PlannedStmt *statement);

/* True where an expression uses one of these PARAM_EXEC parameters. */
extern bool shuttle_uses_params(Node *expression, const Bitmapset *params);

/* Puts a Look Ahead under loops over local index scans (place_local.c), where
 * that may pay. */
extern void shuttle_place_local(PlannedStmt *statement);

/* ---- joins (join_path.c), finished plans (place_look_ahead.c) */
extern void shuttle_place_init(void);

/* ---- settings while planning (planning_settings.c) */

/* Tells, once, of a correlated subquery in a statement whose planning began
 * before the library was loaded: no Look Ahead is placed for it. */
extern void shuttle_place_report_late_load(const PlannerInfo *root);

/* False in a session's first statement, where the library was loaded during
 * its planning: nodes are not put in on its finished plan. */
extern bool shuttle_place_is_active(void);

/* True while a statement is planned on whose finished plan nodes are put in. */
extern bool shuttle_place_is_planning(void);

#endif							/* SHUTTLE_PLANNER_PLACE_PLACE_H */

/*-------------------------------------------------------------------------
 * scan.h
 *	  Paths of single foreign tables: prices, order and text of a scan.
 *
 * Files: scan_price.c adds the round trips that postgres_fdw leaves out;
 * declared_keys.c says what is unique; remote_paths.c and
 * upper_paths.c have the node's planner price them;
 * uncounted_tables.c finds sizes of tables without statistics;
 * subplan_choice.c chooses the plan of an EXISTS, subplan_price.c prices it in paths;
 * window_limits.c has nodes return the first rows of windows; text_order.c, unfolded_orders.c and locked_order.c say which order a node's rows have.
 *
 * In: paths of postgres_fdw. Out: the same with prices that compare.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SCAN_SCAN_H
#define SHUTTLE_PLANNER_SCAN_SCAN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/selfuncs.h"

/* ---- prices and paths (scan_price.c, remote_paths.c) */

/* Part of set_rel_pathlist_hook: reprices the scans of joins. */
extern void shuttle_scan_price_consider(PlannerInfo *root, RelOptInfo *rel, Index relid,
										RangeTblEntry *rte);

/* GetForeignJoinPaths of our wrapper. */
extern void shuttle_remote_join_paths(PlannerInfo *root, RelOptInfo *rel,
									  RelOptInfo *outer, RelOptInfo *inner,
									  JoinType type, JoinPathExtraData *extra);

/* ---- tables without statistics (uncounted_tables.c) */

/* Before postgres_fdw estimates a relation's size: sets its tuples and pages by its
 * node's count, if it has no statistics. Errors: cancel and timeouts. */
extern void shuttle_uncounted_table_size(PlannerInfo *root, RelOptInfo *rel, Oid relid);

/* Part of get_relation_stats_hook: distinct values by the nodes, of columns without
 * statistics. False if core has to go on, also if the column is marked as unique. */
extern bool shuttle_uncounted_column(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attribute,
									 VariableStatData *variable);

/* ---- plans of subqueries in conditions (subplan_choice.c) */

/* Part of create_upper_paths_hook: prices the calls of an EXISTS over nodes. */
extern void shuttle_subplan_choice_consider(PlannerInfo *root, UpperRelationKind stage,
											const RelOptInfo *output);

/* ---- prices of subqueries in paths (subplan_price.c) */

/* Sets the price that core gives to a subquery's plan. */
extern void shuttle_subplan_core_price(PlannerInfo *root, SubPlan *subplan);

/* Part of the hooks of scans and of the join search: prices each EXISTS over nodes in the
 * target list and HAVING, if rel is all that the query reads. */
extern void shuttle_subplan_price_target(PlannerInfo *root, const RelOptInfo *rel);

/* Those in a foreign table's own conditions, once its tuples are known. */
extern void shuttle_subplan_price_conditions(PlannerInfo *root, RelOptInfo *rel);

/* Those in conditions of joins, before joins are planned. */
extern void shuttle_subplan_price_join_conditions(PlannerInfo *root);

/* A relation's relids; for a partition those of its topmost parent. */
static inline Relids
shuttle_top_relids(const RelOptInfo *rel)
{
	return rel->top_parent_relids ? rel->top_parent_relids : rel->relids;
}

/* ---- keys of distributed tables (declared_keys.c) */

/* Part of build_simple_rel_hook: adds the unique indexes of a distributed table, or
 * of the table that a tablet belongs to, as hypothetical ones. */
extern void shuttle_declared_keys_add(PlannerInfo *root, RelOptInfo *rel);

/* True if a statement that has not been planned is about one table, and conditions fix all
 * columns of a unique key of it. */
extern bool shuttle_declared_keys_fix_row(const Query *query);

/* ---- first rows of windows (window_limits.c) */

/* Adds a path by which the node returns only the first rows of each of the window's
 * partitions, for the hooks of scans and joins. Errors: cancel and timeouts. */
extern void shuttle_window_limits_consider(PlannerInfo *root, RelOptInfo *rel);

/* ---- the order of text (text_order.c) */

/*
 * True if the node of a relation sorts values of a type and collation as this
 * server does. If not known yet, the node is asked on a connection of its own.
 * Errors: cancel and timeouts; if a node cannot be asked, false.
 */
extern bool shuttle_text_order_type_is_alike(PlannerInfo *root, const RelOptInfo *rel,
											 Oid type, Oid collation);

/* The same for all of these servers. */
extern bool shuttle_text_order_servers_are_alike(const List *servers, Oid userid, Oid type, Oid collation);

/* The same for an equivalence class. */
extern bool shuttle_text_order_class_is_alike(PlannerInfo *root, const RelOptInfo *rel,
											  const EquivalenceClass *class);

/* The same for the pathkeys that concern the relation; false if one of them unfolds its rows. */
extern bool shuttle_text_order_pathkeys_are_alike(PlannerInfo *root, const RelOptInfo *rel,
												  const List *pathkeys);

/* The same for aggregates over a relation that compare values. */
extern bool shuttle_text_order_aggregates_are_alike(PlannerInfo *root,
													const RelOptInfo *input,
													const RelOptInfo *grouped,
													const GroupPathExtraData *extra);

/* ---- unfolded_orders.c */

/* True if rows are unfolded to find the values of the class. */
extern bool shuttle_unfolded_orders_have_class(const EquivalenceClass *class);

/* Takes orders by such classes from a relation's foreign paths; part of set_rel_pathlist_hook
 * and set_join_pathlist_hook. */
extern void shuttle_unfolded_orders_forget(const PlannerInfo *root, RelOptInfo *rel);

/* ---- order of rows that nodes lock (locked_order.c) */

/* Part of set_join_pathlist_hook: makes merge joins of them sort here. */
extern void shuttle_locked_order_consider(PlannerInfo *root, RelOptInfo *joinrel,
										  RelOptInfo *outer, RelOptInfo *inner,
										  JoinType type, JoinPathExtraData *extra);

#endif							/* SHUTTLE_PLANNER_SCAN_SCAN_H */

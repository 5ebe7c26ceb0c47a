/*-------------------------------------------------------------------------
 * scan.h
 *	  Paths of single foreign tables: prices, order and text of a scan.
 *
 * Files: scan_price.c adds the round trips that postgres_fdw leaves out;
 * declared_keys.c says what is unique; remote_paths.c,
 * upper_paths.c and remote_estimate.c ask the node's planner;
 * uncounted_tables.c finds sizes of tables without statistics;
 * subplan_choice.c chooses the plan of an EXISTS, subplan_price.c prices it in paths;
 * window_limits.c and window_plan.c have nodes return the first rows of windows;
 * sibling_scans.c plans partitions that are alike once; shown_expressions.c has COALESCE and
 * others shipped; text_order.c, unfolded_orders.c and locked_order.c say which order a node's rows have.
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

/* ---- expressions as postgres_fdw is shown them (shown_expressions.c) */

/* Makes postgres_fdw ship COALESCE, NULLIF, date_trunc() and extract(): returns node, or a
 * copy with other expressions of the same value in their place. as_cases: false leaves
 * COALESCE and NULLIF as they are. */
extern Node *shuttle_shown_expression(Node *node, bool as_cases);

/* A walker: true of expressions with a CASE. */
extern bool shuttle_has_case(Node *node, void *context);

/* Returns what was shown as it was written. */
extern Node *shuttle_written_expression(Node *node);

/* ---- first rows of windows (window_limits.c) */

/* Adds a path by which the node returns only the first rows of each of the window's
 * partitions, for the hooks of scans and joins. Errors: cancel and timeouts. */
extern void shuttle_window_limits_consider(PlannerInfo *root, RelOptInfo *rel);

/* ---- scans of tables that are alike (sibling_scans.c) */

/* The plan of a child's scan, made from a sibling's; NULL if none differs in
 * the table only. */
extern ForeignScan *shuttle_sibling_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
										 const ForeignPath *path, List *targetlist,
										 const List *clauses);

/*
 * Remembers the plan of a child's scan for its siblings; copies what it keeps.
 */
extern void shuttle_sibling_remember(PlannerInfo *root, RelOptInfo *rel, Oid relid,
									 const ForeignPath *path, const List *clauses,
									 const ForeignScan *scan);

/* ---- estimates by a node (remote_estimate.c) */

/* The node's estimate for a path, without the transfer of rows. */
typedef struct ShuttleEstimate
{
	bool		found;
	double		retrieved_rows; /* before local quals */
	double		rows;
	int			width;			/* bytes */
	Cost		startup_cost;
	Cost		total_cost;
} ShuttleEstimate;

/*
 * postgres_fdw's plan for a path, only to look at. It changes nothing but the
 * relation's fdw_private, which the real run overwrites. more_clauses: quals
 * beside the relation's own.
 */
extern ForeignScan *shuttle_dry_run(PlannerInfo *root, ForeignPath *path,
									List *more_clauses);

/* The node's estimate for a path; NULL if there is none. */
extern const ShuttleEstimate *shuttle_estimate_path(PlannerInfo *root,
													ForeignPath *path);

/* The same for a path without pathkeys, and with no parameters but lateral
 * references; remembered per relation. */
extern const ShuttleEstimate *shuttle_estimate_rel(PlannerInfo *root,
												   ForeignPath *path);

/* Sets a path's rows and costs to the estimate plus the transfer. */
extern void shuttle_estimate_apply(PlannerInfo *root, ForeignPath *path,
								   const ShuttleEstimate *estimate);

/* ---- the order of text (text_order.c) */

/*
 * True if the node of a relation sorts values of a type and collation as this
 * server does. If not known yet, the node is asked on a connection of its own.
 * Errors: cancel and timeouts; if a node cannot be asked, false.
 */
extern bool shuttle_sorts_alike(PlannerInfo *root, const RelOptInfo *rel,
								Oid type, Oid collation);

/* The same for all of these servers. */
extern bool shuttle_servers_sort_alike(const List *servers, Oid userid, Oid type, Oid collation);

/* The same for an equivalence class. */
extern bool shuttle_class_sorts_alike(PlannerInfo *root, const RelOptInfo *rel,
									  const EquivalenceClass *class);

/* The same for the pathkeys that concern the relation; false if one of them unfolds its rows. */
extern bool shuttle_order_is_alike(PlannerInfo *root, const RelOptInfo *rel,
								   const List *pathkeys);

/* The same for aggregates over a relation that compare values. */
extern bool shuttle_aggregates_are_alike(PlannerInfo *root,
										 const RelOptInfo *input,
										 const RelOptInfo *grouped,
										 const GroupPathExtraData *extra);

/* ---- unfolded_orders.c */

/* True if rows are unfolded to find the values of the class. */
extern bool shuttle_class_is_unfolded(const EquivalenceClass *class);

/* Takes orders by such classes from a relation's foreign paths; part of set_rel_pathlist_hook
 * and set_join_pathlist_hook. */
extern void shuttle_unfolded_orders_forget(const PlannerInfo *root, RelOptInfo *rel);

/* ---- order of rows that nodes lock (locked_order.c) */

/* Part of set_join_pathlist_hook: makes merge joins of them sort here. */
extern void shuttle_locked_order_consider(PlannerInfo *root, RelOptInfo *joinrel,
										  RelOptInfo *outer, RelOptInfo *inner,
										  JoinType type, JoinPathExtraData *extra);

#endif							/* SHUTTLE_PLANNER_SCAN_SCAN_H */

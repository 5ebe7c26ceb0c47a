/*-------------------------------------------------------------------------
 * shown.h
 *	  What postgres_fdw is shown instead of a query's own expressions, and plans
 *	  that are made of its answers.
 *
 * Files: shown_expressions.c, written_casts.c and stable_values.c show other expressions of the
 * same value; outer_values.c and scan_keys.c have keys computed here; remote_estimate.c asks the
 * node's planner; sibling_scans.c plans partitions that are alike once; partial_plan.c and
 * window_plan.c make scans of partial aggregates and of a window's first rows; one_group.c drops
 * wrong paths of postgres_fdw; merge_nodes.c makes the nodes of a rewritten MERGE.
 *
 * In: conditions and paths of core. Out: those that postgres_fdw deparses and prices, and
 * ForeignScans made of its own.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SHOWN_SHOWN_H
#define SHUTTLE_PLANNER_SHOWN_SHOWN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* ---- stable values (stable_values.c) */

/* Replaces stable expressions without columns that cannot raise errors by
 * stand-ins. Returns node itself if there are none. */
extern Node *shuttle_stable_stand_in(PlannerInfo *root, Node *node);

/* Replaces stand-ins by their expressions. */
extern Node *shuttle_stable_put_back(PlannerInfo *root, Node *node);

/* Puts stand-ins into the quals of a base relation. */
extern void shuttle_stable_in_conditions(PlannerInfo *root, RelOptInfo *rel);

/* ---- casts that a query does not write (written_casts.c) */

/* Part of build_simple_rel_hook: makes postgres_fdw deparse implicit casts that a
 * node would not add itself, or would add elsewhere. */
extern void shuttle_written_casts_write(PlannerInfo *root, const RelOptInfo *rel);

/* The argument of an implicit cast; NULL: the node is none. */
extern Node *shuttle_written_cast_implicit(Node *node);

/* Makes the implicit casts at the top of an expression explicit, in place. */
extern void shuttle_written_cast_write(Node *node);

/* True if the parser resolves the operator's name between two values of a type
 * to this operator. */
extern bool shuttle_written_cast_operator_is_meant(const OpExpr *operator, Oid type);

/* ---- plans with partial aggregates (partial_plan.c) */

/* True if a foreign path's rows are to become aggregate states; and
 * GetForeignPlan of such paths. */
extern bool shuttle_partial_plan_is_for(const ForeignPath *path);
extern ForeignScan *shuttle_partial_plan_make(PlannerInfo *root, RelOptInfo *rel,
											  Oid relid, ForeignPath *path,
											  List *targetlist, List *clauses,
											  Plan *outer);

/* ---- aggregates that nobody looks at (one_group.c) */

/* Part of create_upper_paths_hook: replaces postgres_fdw's paths for them, which
 * return the wrong number of rows. */
extern void shuttle_one_group_mend(PlannerInfo *root, UpperRelationKind stage,
								   RelOptInfo *input, RelOptInfo *output, void *extra);

/*
 * True if a query has one group for all rows, but the SELECT for a node would
 * not show that: its targets and HAVING (may be NULL) have no aggregate left.
 */
extern bool shuttle_one_group_is_lost(PlannerInfo *root, const RelOptInfo *grouped,
									  Node *having);

/* ---- values that are computed here (outer_values.c) */

/*
 * GetForeignPlan of all foreign tables that can be asked for keys:
 * postgres_fdw's, but outer expressions that it would not ship are computed
 * here and sent as keys.
 */
extern ForeignScan *shuttle_outer_values_plan_scan(PlannerInfo *root, RelOptInfo *rel,
												   Oid relid, ForeignPath *path,
												   List *targetlist, List *clauses,
												   Plan *outer);

/* True if a Param may replace an expression while postgres_fdw plans. */
extern bool shuttle_outer_value_is_replaceable(Node *node);

/* True if an expression refers to the value of a CASE or domain check around
 * it, and so cannot be moved out. */
extern bool shuttle_outer_value_refers_inside(Node *node);

/* A Param that stands for an expression; its paramid is negative. */
extern Param *shuttle_outer_value_make_stand_in(Node *node, int number);

/* ---- keys of partitioned relations (scan_keys.c) */

/* Notes in the plan of a child's join or groups which key all its rows have. */
extern void shuttle_scan_key_note(PlannerInfo *root, const RelOptInfo *rel, ForeignScan *scan);

/* ---- expressions as postgres_fdw is shown them (shown_expressions.c) */

/* Makes postgres_fdw ship COALESCE, NULLIF, date_trunc() and extract(): returns node, or a
 * copy with other expressions of the same value in their place. as_cases: false leaves
 * COALESCE and NULLIF as they are. */
extern Node *shuttle_shown_expression(Node *node, bool as_cases);

/* Returns what was shown as it was written. */
extern Node *shuttle_shown_expression_as_written(Node *node);

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
extern ForeignScan *shuttle_remote_estimate_dry_run(PlannerInfo *root, ForeignPath *path,
													List *more_clauses);

/* True while such a plan is made and texts are proved. */
extern bool shuttle_remote_estimate_is_dry_run(void);

/* The node's estimate for a path; NULL if there is none. */
extern const ShuttleEstimate *shuttle_remote_estimate_of_path(PlannerInfo *root,
															  ForeignPath *path);

/* The same for a path without pathkeys, and with no parameters but lateral
 * references; remembered per relation. */
extern const ShuttleEstimate *shuttle_remote_estimate_of_rel(PlannerInfo *root,
															 ForeignPath *path);

/* Sets a path's rows and costs to the estimate plus the transfer. */
extern void shuttle_remote_estimate_apply(PlannerInfo *root, ForeignPath *path,
										  const ShuttleEstimate *estimate);

/* ---- proofs of texts (scan_proof.c, scan_proof_text.c, scan_proof_meant.c) */

/* Raises ERRCODE_INTERNAL_ERROR if the text that postgres_fdw made for a path means something
 * else than what it was shown. If shuttle.debug_prove_texts is off, nothing is done. */
extern void shuttle_scan_proof_check(PlannerInfo *root, const RelOptInfo *rel, const ForeignPath *path,
									 const ForeignScan *scan);

/* The same for its direct UPDATE or DELETE of a table, which is below plan. */
extern void shuttle_scan_proof_check_write(PlannerInfo *root, Plan *plan, Index target);

/* Note what postgres_fdw was asked to join, and to group. */
extern void shuttle_scan_proof_note_join(PlannerInfo *root, const RelOptInfo *rel, const RelOptInfo *outer,
										 const RelOptInfo *inner, JoinType type, const List *clauses);
extern void shuttle_scan_proof_note_groups(PlannerInfo *root, const RelOptInfo *rel,
										   const RelOptInfo *input, Node *having);

typedef struct ShuttleMerge
{
	Query	   *query;
	bool		inserts;		/* some action inserts */
	bool		changes;		/* some action updates or deletes */
	List	   *source_vars;	/* columns of the source that the MERGE uses */
	List	   *target_vars;	/* and of the target */
	CommonTableExpr *source;
	CommonTableExpr *rows;
	List	   *actions;		/* CommonTableExprs */
} ShuttleMerge;

/* ---- nodes of parse trees, made from their arguments without copying (merge_nodes.c) */

extern Expr *shuttle_merge_int(int value);
extern Expr *shuttle_merge_equals(Oid operator, Expr *left, Expr *right);
extern CaseWhen *shuttle_merge_when(Expr *condition, Expr *result);
extern Expr *shuttle_merge_case(List *whens, Expr *otherwise);

extern Query *shuttle_merge_select(const ShuttleMerge *merge, List *rtable, List *from, Node *quals);
extern void shuttle_merge_add_column(Query *query, Expr *value, const char *name);
extern void shuttle_merge_add_columns(Query *query, List *values, const char *name);
extern CommonTableExpr *shuttle_merge_cte(const char *name, Query *query);
extern Node *shuttle_merge_range_ref(Index relation);
extern RangeTblEntry *shuttle_merge_subquery_entry(Query *query, const char *name);

/* The Var for a query's column with a number, as the range table entry of that
 * index has it. */
extern Expr *shuttle_merge_column(const Query *query, Index relation, int number);

/* A range table entry for a CTE; depth: query level that scans it. */
extern RangeTblEntry *shuttle_merge_cte_entry(CommonTableExpr *cte, int depth);

#endif							/* SHUTTLE_PLANNER_SHOWN_SHOWN_H */

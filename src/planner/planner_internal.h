/*-------------------------------------------------------------------------
 * planner_internal.h
 *	  What the files of the planner room share.
 *-------------------------------------------------------------------------
 */
#ifndef PLANNER_INTERNAL_H
#define PLANNER_INTERNAL_H

#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "nodes/pathnodes.h"
#include "optimizer/paths.h"

/* A forced path costs this share of what it would, so as to win. */
#define SHUTTLE_FORCED_COST 0.0001

/* ---- costs (batch_cost.c, asking.c) */

/* What the planner knows of a server's way to answer. */
typedef struct ShuttleServerCost
{
	bool		guest;			/* of stock postgres_fdw */
	Cost		reach;			/* of a scan, before its first row */
	Cost		round_trip;		/* one that nothing hides */
	Cost		request;		/* beside round trips, keys and rows */
	Cost		row;			/* of one fetched row */
	Cost		peer_row;		/* the same in paths of postgres_fdw */
	int			batch_size;		/* outer rows */
	int			request_limit;	/* keys */
	int			in_flight;		/* batches */
} ShuttleServerCost;

/* What a batched join of two relations asks for. */
typedef struct ShuttleAsking
{
	ShuttleServerCost server;
	double		outer_rows;
	bool		outer_waits;	/* outer rows come from nodes themselves */
	bool		answers_kept;	/* for the keys of later batches */
	bool		may_fail;		/* what nodes compute for a key */
	double		keys_per_row;	/* asked for, for each outer row */
	double		rows_per_row;	/* that come, for each outer row */
	bool		by_ordered_column;	/* that the inner rows lie in order of */
	int			nscans;			/* that a batch may ask */
	int			inner_width;	/* bytes of a row */
} ShuttleAsking;

/* The answer is remembered for the planning. */
extern ShuttleServerCost shuttle_server_cost(PlannerInfo *root, Oid serverid);

/* What a join asks for with the clauses of info. */
extern ShuttleAsking shuttle_asking(PlannerInfo *root, RelOptInfo *outer,
									RelOptInfo *inner, const ParamPathInfo *info,
									Oid serverid);

/* The same where each row of an outer path has a key of its own. */
extern void shuttle_asking_once(ShuttleAsking *asking, const Path *outer);

/* Cost of the round trips that nothing hides, and of what is done here, for the
 * rows of a path. */
extern void shuttle_batches_cost(const ShuttleAsking *asking, const Path *outer,
								 Cost *startup, Cost *total);

/* Rows of a relation that one key is expected to find. */
extern double shuttle_rows_per_key(const RelOptInfo *inner,
								   const ParamPathInfo *info);

/* True where a query, or any within it, reads a foreign table. */
extern bool shuttle_reads_node(Node *query);

/* Cost of one key, and with its rows, where nkeys are asked for in all. */
extern void shuttle_key_cost(PlannerInfo *root, RelOptInfo *inner,
							 const ShuttleServerCost *server, double rows,
							 double nkeys, Cost *startup, Cost *total);

/* The same where a node makes a path's groups of so many rows for each key, which
 * it finds in each of the tables. */
extern void shuttle_groups_key_cost(PlannerInfo *root, const Path *path,
									const List *tables,
									const ShuttleServerCost *server, double rows,
									double nkeys, Cost *startup, Cost *total);

/* True where a clause asks for a column that rows lie in the order of. */
extern bool shuttle_asks_for_ordered_column(PlannerInfo *root, const RelOptInfo *inner,
											const List *clauses);

/* For each outer row, what it may cost that the node has no index. */
extern Cost shuttle_doubt_cost(const RelOptInfo *inner, const ShuttleAsking *asking);

/* Adds to a scan's cost what postgres_fdw leaves out.  nsiblings: partitions
 * that are read together. */
extern void shuttle_reprice_scan(const ShuttleServerCost *server, Path *path,
								 double page_rows, int nsiblings);

/* Has the scans of joins repriced (scan_price.c). */
extern void shuttle_scan_price_init(void);

/* GetForeignJoinPaths of our wrapper (remote_paths.c). */
extern void shuttle_remote_join_paths(PlannerInfo *root, RelOptInfo *rel,
									  RelOptInfo *outer, RelOptInfo *inner,
									  JoinType type, JoinPathExtraData *extra);

/* Has semi joins with this foreign table shipped only where a node can run
 * them (semi_joins.c). */
extern void shuttle_keep_back_semi_joins(RelOptInfo *rel);

/* ---- parameterised scans (inner_path.c) */

/*
 * What core knows of a base relation's scans with these parameters.  It is
 * made where the relation lives: core's genetic search throws away whatever
 * else is made while it tries a join.  NULL without parameters.
 */
extern ParamPathInfo *shuttle_param_info(PlannerInfo *root, RelOptInfo *rel,
										 Relids required_outer);

/* What a dry run tells of a scan with parameters. */
typedef struct ShuttleVerdict
{
	bool		can_batch;
	bool		may_fail;
} ShuttleVerdict;

/* The child whose clauses were made last; zeroes before the first one. */
typedef struct ShuttleSibling
{
	RelOptInfo *rel;			/* NULL: its clauses are of no use to others */
	const ParamPathInfo *info;
	Bitmapset  *columns;		/* of the parent, that they use */
	const ShuttleVerdict *verdict;	/* of the child after it, too, unless NULL */
} ShuttleSibling;

/*
 * The same for a child, with the clauses that its parent's scans with these
 * parameters have, and so many rows.
 */
extern ParamPathInfo *shuttle_child_param_info(PlannerInfo *root, RelOptInfo *child,
											   RelOptInfo *parent,
											   const ParamPathInfo *info,
											   double rows, ShuttleSibling *sibling);

/*
 * A scan of the foreign table that takes its parameters from the relations of
 * info, a key at a time.  It is never put into the relation's list of paths, so
 * that no other join can use its price.  NULL where none of the join clauses
 * can be shipped.  Sets *may_fail where what is shipped may.  sibling: as
 * shuttle_child_param_info() left it, or zeroes.
 */
extern Path *shuttle_inner_path(PlannerInfo *root, RelOptInfo *inner,
								const ParamPathInfo *info, Cost startup, Cost total,
								ShuttleSibling *sibling, bool *may_fail);

/* ---- the inner side of a batched join (inner_append.c) */

typedef struct ShuttleGroups ShuttleGroups;

typedef struct ShuttleInner
{
	RelOptInfo *rel;
	List	   *leaves;			/* that have its rows: itself, or its children */
	bool		partitioned;	/* some are partitions */
	ShuttleGroups *groups;		/* or NULL: then it has leaves */
	const ParamPathInfo *info;	/* what it takes of the outer side */
	double		rows_per_key;
	double		share;			/* of the leaves, that a key visits */
	Path		price;			/* of a scan for one outer row, and nothing
								 * else of it */
} ShuttleInner;

/* The price of an inner side, but for its costs. */
extern void shuttle_inner_begin_price(ShuttleInner *inner);

/* Fills in the price, with rows_per_key and share, and what each batch asks;
 * false where a leaf cannot be asked by key. */
extern bool shuttle_inner_price(PlannerInfo *root, ShuttleInner *inner,
								ShuttleAsking *asking);

/*
 * A scan with that price, which finds out if what it asks may fail: of a table with foreign partitions or heirs, and of a
 * UNION ALL of foreign tables, it is an Append, routed where it has partitions.
 * NULL where a leaf has no clause that can be shipped.
 */
extern Path *shuttle_inner_make(PlannerInfo *root, const ShuttleInner *inner,
								ShuttleAsking *asking);

/* The relations that have the rows of a base relation, or of a join that is made
 * partition by partition: itself, or its children and theirs.  Sets *partitioned
 * where some are partitions. */
extern List *shuttle_append_leaves(PlannerInfo *root, RelOptInfo *rel,
								   bool *partitioned);

/* The server of the first foreign table among relations, or InvalidOid. */
extern Oid	shuttle_leaves_server(const List *leaves);

/* The share of a partitioned table's children that a key visits where these are
 * its conditions. */
extern double shuttle_visited_share(const RelOptInfo *rel, const List *clauses,
									int nchildren);

/* True where clauses with values of the outer side may be part of a scan's
 * SELECT: no security barrier, no volatile function. */
extern bool shuttle_clauses_can_be_asked(const List *clauses, RelOptInfo *inner);

/* ---- scans of a subquery (subquery_scans.c) */

typedef struct ShuttleSubqueryScan
{
	PlannerInfo *root;			/* query level */
	Path	   *path;
	double		share;			/* of keys, that visit it */
	bool		is_alike;		/* as the one before: another partition */
} ShuttleSubqueryScan;

/* The scans below a path of a subquery; NIL where they are below a join that is
 * made here, or below other nodes that cost more for a key than they seem to. */
extern List *shuttle_subquery_scans(PlannerInfo *subroot, Path *path);

/* The tables that such a scan reads: RelOptInfos. */
extern List *shuttle_scanned_tables(const ShuttleSubqueryScan *scan);

/* ---- groups of the keys alone (inner_groups.c, grouped_subquery.c) */

/* True of a subquery with GROUP BY or DISTINCT and no more than can be planned a
 * second time. */
extern bool shuttle_has_plain_groups(const RangeTblEntry *rte);

/* The server of the first foreign table that such a subquery reads, else
 * InvalidOid. */
extern Oid	shuttle_groups_server(PlannerInfo *root, RelOptInfo *rel);

/* Those of join clauses that can be tested before the grouping. */
extern List *shuttle_clauses_on_groups(PlannerInfo *root, RelOptInfo *rel,
									   const List *clauses);

/* A copy of a relation's subquery that tests these clauses, beside the conditions
 * that core has given its own copy. */
extern Query *shuttle_subquery_with_clauses(PlannerInfo *root, const RelOptInfo *rel,
											const List *clauses);

/* True where the conditions of a planned copy are those of core's, and so many. */
extern bool shuttle_checks_the_same(const Query *planned, const Query *by_core,
									int nclauses);

/* The subquery planned for the keys of these clauses; remembered for the planning.
 * NULL where its nodes cannot be asked by key. */
extern ShuttleGroups *shuttle_groups_plan(PlannerInfo *root, RelOptInfo *rel,
										  const List *clauses);

/* Fills in what a key costs, and what each batch asks. */
extern void shuttle_groups_price(const ShuttleGroups *groups, Path *price,
								 ShuttleAsking *asking);

/* A scan of the groups with that price and its parameters. */
extern Path *shuttle_groups_make(PlannerInfo *root, const ShuttleGroups *groups,
								 const Path *price);

/* Has core make the relation's plan of these groups. */
extern void shuttle_groups_adopt(const ShuttleGroups *groups);

/* ---- values that are computed here (outer_values.c) */

/* GetForeignPlan of all foreign tables that are asked for keys: postgres_fdw's,
 * with values of the outer side that it would not ship computed here. */
extern ForeignScan *shuttle_plan_foreign_scan(PlannerInfo *root, RelOptInfo *rel,
											  Oid relid, ForeignPath *path,
											  List *targetlist, List *clauses,
											  Plan *outer);

/* True where postgres_fdw may be shown a parameter in the place of an expression. */
extern bool shuttle_may_stand_in(Node *node);

/* True of a part of a CASE or a coercion of elements, or of the whole: what it
 * refers to is known inside it only. */
extern bool shuttle_refers_inside(Node *node);

/* The parameter; its number is negative. */
extern Param *shuttle_make_stand_in(Node *node, int number);

/* ---- functions that ignore collations (ignored_collations.c) */

/* An expression as postgres_fdw may be shown it, and as it was before. */
extern Node *shuttle_without_ignored_collations(Node *node);
extern Node *shuttle_with_ignored_collations(Node *node);

/* ---- scans of tables that are alike (sibling_scans.c) */

/* The plan of a child's scan, made of a sibling's; NULL where none is known that
 * differs in the table alone. */
extern ForeignScan *shuttle_sibling_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
										 const ForeignPath *path, List *targetlist,
										 const List *clauses);

/* Remembers the plan of a child's scan for its siblings; all that is needed of it
 * is copied. */
extern void shuttle_sibling_remember(PlannerInfo *root, RelOptInfo *rel, Oid relid,
									 const ForeignPath *path, const List *clauses,
									 const ForeignScan *scan);

/* ---- stable values (stable_values.c) */

/* An expression with stand-ins in the place of stable values that have no columns
 * and raise nothing; itself where there are none. */
extern Node *shuttle_stable_stand_in(PlannerInfo *root, Node *node);

/* The expression with the values. */
extern Node *shuttle_stable_put_back(PlannerInfo *root, Node *node);

/* Puts stand-ins into the conditions of a base relation. */
extern void shuttle_stable_in_conditions(PlannerInfo *root, RelOptInfo *rel);

/* ---- partial aggregates (partial_aggregates.c, aggregate_states.c) */

/* How core's partial aggregate is had from a node. */
typedef struct ShuttleAggregateState
{
	ShuttleStateKind kind;
	Aggref	   *partial;		/* as core combines it */
	List	   *sources;		/* of Aggref: over complete groups */
} ShuttleAggregateState;

/* Of an aggregate over input, in the current context; NULL where ordinary
 * aggregates cannot tell the state of this one. */
extern ShuttleAggregateState *shuttle_aggregate_state(const RelOptInfo *input,
													  Aggref *aggregate);

/* True of an aggregate that nodes collect values for, and its state's kind
 * (collected_aggregates.c). */
extern bool shuttle_collects(const Aggref *aggregate, ShuttleStateKind *kind);

/* What nodes are asked for in its place. */
extern Aggref *shuttle_collecting_source(const Aggref *aggregate);

/* Has a finished plan combine what nodes collected by aggregates of ours. */
extern void shuttle_place_collected(PlannedStmt *statement);

/* True where the rows of a group all come from one partition (whole_groups.c).
 * groups: the expressions that are grouped by. */
extern bool shuttle_groups_are_whole(PlannerInfo *root, RelOptInfo *rel, List *groups);

/* True where nodes may be asked for the first groups in the order of the query
 * (ordered_groups.c). */
extern bool shuttle_wants_ordered_groups(const PlannerInfo *root);

/* True where core sorts a child's groups by the columns that it sorts all by.
 * target: what comes out of the groups of input. */
extern bool shuttle_can_merge_groups(const PlannerInfo *root, const RelOptInfo *input,
									 const PathTarget *target, const Path *child);

/* A child's groups, sorted by its node; NULL where that may sort otherwise.  groups:
 * their relation, which has a path without an order. */
extern ForeignPath *shuttle_ordered_groups_path(PlannerInfo *root, RelOptInfo *input,
												RelOptInfo *child, RelOptInfo *groups,
												const PathTarget *target);

/* ---- branches of a UNION ALL that are subqueries (union_branches.c) */

/* True of a query level that may be a branch of one that is grouped. */
extern bool shuttle_is_below_union(const PlannerInfo *root);

/* What a branch selects from, at its own query level, where each row of that is one
 * of the branch; else NULL. */
extern RelOptInfo *shuttle_branch_input(const RelOptInfo *branch);

/* An expression over the branch's columns, over what they are selected from. */
extern void *shuttle_translate_to_branch(RelOptInfo *branch, Node *node);

/* A scan of the branch that has the columns of a path of its query level. */
extern Path *shuttle_branch_path(PlannerInfo *root, RelOptInfo *branch, Path *groups);

/* What a query level knows of its aggregates. */
typedef struct ShuttleAggregates
{
	bool		any;
	List	   *infos;
	List	   *transitions;
} ShuttleAggregates;

extern ShuttleAggregates shuttle_get_aggregates(const PlannerInfo *root);

/* Lends a query level those of another one; returns its own. */
extern ShuttleAggregates shuttle_set_aggregates(PlannerInfo *root,
												ShuttleAggregates aggregates);

/* Has branches that differ in type be children of one relation; called once
 * (union_types.c). */
extern void shuttle_union_types_init(void);

/* Installs the hook that adds paths with partial aggregates. */
extern void shuttle_partial_aggregates_init(void);

/* True where a foreign path's answers are to be made states of aggregates, and
 * GetForeignPlan of such paths (partial_plan.c). */
extern bool shuttle_is_partial_aggregate(const ForeignPath *path);
extern ForeignScan *shuttle_plan_partial_aggregate(PlannerInfo *root, RelOptInfo *rel,
												   Oid relid, ForeignPath *path,
												   List *targetlist, List *clauses,
												   Plan *outer);

/* ---- writes (foreign_writes.c) */

extern void shuttle_foreign_writes_fill(FdwRoutine *routine);

/* True where no row of the table can leave its partition. */
extern bool shuttle_rows_stay(PlannerInfo *root, const ModifyTable *plan,
							  Index rtindex);

/* ---- UPDATE and DELETE joined with rows of here (keyed_writes.c) */

/*
 * Replaces the join below a ModifyTable by a node that has the storage nodes
 * join, where all tables that are changed allow that.  Called for each of them
 * in turn; index: which of them it is.  Returns false where it must be changed
 * row by row.
 */
extern bool shuttle_plan_keyed_write(PlannerInfo *root, ModifyTable *plan, int index);

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

/* ---- samples (sample.c) */

/* Puts TABLESAMPLE into the SELECT of a scan of ours.  Errors: samples that
 * nodes cannot take. */
extern void shuttle_sample_add(PlannerInfo *root, const RelOptInfo *rel,
							   ForeignScan *scan);

/* True where a statement wants a sample of a table. */
extern bool shuttle_is_sampled(PlannerInfo *root, const RelOptInfo *rel);

/* ---- estimates by a node (remote_estimate.c, remote_paths.c) */

/* A path as the node sees it, without what the transfer of rows costs. */
typedef struct ShuttleEstimate
{
	bool		found;
	double		retrieved_rows; /* before local conditions */
	double		rows;
	int			width;			/* bytes */
	Cost		startup_cost;
	Cost		total_cost;
} ShuttleEstimate;

/*
 * The plan that postgres_fdw makes of a path, for a look at it.  The run's
 * only trace is in the relation's private data, and the real run overwrites it.
 * more_clauses: conditions of a scan, beside its relation's.
 */
extern ForeignScan *shuttle_dry_run(PlannerInfo *root, ForeignPath *path,
									List *more_clauses);

/* What the node says of a path; NULL where it said nothing that we know. */
extern const ShuttleEstimate *shuttle_estimate_path(PlannerInfo *root,
													ForeignPath *path);

/* The same for a path without order, and without parameters but for lateral
 * references: asked once a relation. */
extern const ShuttleEstimate *shuttle_estimate_rel(PlannerInfo *root,
												   ForeignPath *path);

/* Gives a path the estimate's rows and costs, with those of the transfer. */
extern void shuttle_estimate_apply(PlannerInfo *root, ForeignPath *path,
								   const ShuttleEstimate *estimate);

/* ---- joins on nodes (node_joins.c) */

/* True of joins that are priced so: of partitions, with reference tables, in
 * branches of a UNION ALL, and of all tables of an UPDATE or DELETE. */
extern bool shuttle_is_node_join(PlannerInfo *root, const RelOptInfo *rel);

/* Prices the paths that postgres_fdw made of such a join, which must not be in the
 * relation's list yet. */
extern void shuttle_price_node_join(PlannerInfo *root, RelOptInfo *rel,
									RelOptInfo *outer, RelOptInfo *inner,
									const List *clauses, List *paths);

/* What postgres_fdw charges too much for groups of such a join; else 0. */
extern Cost shuttle_saved_by_node_join(PlannerInfo *root, const RelOptInfo *rel);

/* ---- partition keys with one value (fixed_keys.c) */

/* Has core join partitions whose keys are equal to the same value. */
extern void shuttle_fixed_keys_init(void);

/* ---- tables with a copy on several nodes (reference_tables.c) */

/* Has nodes join their tables and partitions with their copies. */
extern void shuttle_reference_tables_init(void);

/* True where one of a relation's tables has copies. */
extern bool shuttle_has_reference(PlannerInfo *root, const RelOptInfo *rel);

/* True where rows of a table are locked, on its own node. */
extern bool shuttle_is_locked(PlannerInfo *root, const RelOptInfo *rel);

/* ---- the order of text (text_order.c) */

/*
 * True where the node of a relation sorts values of a type, by a collation if they
 * have one, as this server does.  It is asked on a connection of its own where the
 * session does not know.
 * Errors: cancel and timeouts; a node that cannot be asked sorts otherwise.
 */
extern bool shuttle_sorts_alike(PlannerInfo *root, const RelOptInfo *rel,
								Oid type, Oid collation);

/* The same of what is equal to some column of the relation. */
extern bool shuttle_class_sorts_alike(PlannerInfo *root, const RelOptInfo *rel,
									  const EquivalenceClass *class);

/* The same of an order that the relation's rows might come in. */
extern bool shuttle_order_is_alike(PlannerInfo *root, const RelOptInfo *rel,
								   const List *pathkeys);

/* The same of aggregates over a relation that depend on the order of text. */
extern bool shuttle_aggregates_are_alike(PlannerInfo *root,
										 const RelOptInfo *input,
										 const RelOptInfo *grouped,
										 const GroupPathExtraData *extra);

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

/* ---- what was found out during a planning (memo.c) */

/* The value remembered for a relation (or NULL) and a list, or NULL. */
extern void *shuttle_memo_find(PlannerInfo *root, RelOptInfo *rel, List *key);

/* A key for a join: GEQO frees relations of joins and makes them anew, so they go
 * by members. */
extern List *shuttle_memo_members(Relids relids);

/* Remembers a value, which lives in root->planner_cxt, as the key's members. */
extern void shuttle_memo_add(PlannerInfo *root, RelOptInfo *rel, List *key,
							 void *value);

/* ---- Look Ahead as a path (look_ahead_path.c) */

/* A Look Ahead over a path, with the cost of its batches.  groups: that it is to be
 * joined with, or NULL. */
extern Path *shuttle_look_ahead_path(PlannerInfo *root, Path *outer,
									 const ShuttleAsking *asking,
									 ShuttleGroups *groups);

/* True where no node of ours can stand above a path before the plan is
 * finished: its rows are named by variables of several result tables. */
extern bool shuttle_names_child_rows(const Path *path);

/* A routed append over an Append's path, at its cost; Append itself where it
 * names rows of its children. */
extern Path *shuttle_routed_append_path(Path *append);

/* ---- finished plans (place.c, place_subplans.c) */

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

/* ---- order of rows that nodes lock (locked_order.c) */

/* Has merge joins of them sort here. */
extern void shuttle_locked_order_init(void);

/* ---- statements that differ in literals (literal_plans.c, literal_shape.c) */

/* A statement with parameters in place of its literals. */
typedef struct ShuttleShape
{
	Query	   *query;			/* refers to parts of the statement */
	List	   *literals;		/* Const of each parameter */
	Size		left_bytes;		/* of literals that were left */
	uint32		hash;
	bool		has_parameters; /* of its own */
} ShuttleShape;

/* The shape of a statement about one table, which stays as it is. */
extern ShuttleShape shuttle_take_shape(Query *query);

/* Has them share a plan. */
extern void shuttle_literal_plans_init(void);

/* ---- joins (join_path.c), finished plans (place.c) */
extern void shuttle_join_path_init(void);
extern void shuttle_place_init(void);
extern void shuttle_conflict_init(void);

/* Installs the hook that tells plans of INSERTs which columns have values; called
 * once (named_columns.c). */
extern void shuttle_named_columns_init(void);

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

/* ---- aggregates that nobody looks at (one_group.c) */

/* Takes postgres_fdw's paths for them away, which answer the wrong number of rows. */
extern void shuttle_one_group_init(void);

/*
 * True where a query has one group for all rows, and a node would not see that:
 * no aggregate is left in what is wanted of it, nor in HAVING (may be NULL).
 */
extern bool shuttle_one_group_is_lost(PlannerInfo *root, const RelOptInfo *grouped,
									  Node *having);

/* ---- casts that a query does not write (written_casts.c) */

/* Has postgres_fdw write those that a node would not make again. */
extern void shuttle_written_casts_init(void);

/* True where the operator's name, between two values of a type, means this operator. */
extern bool shuttle_is_meant_between(const OpExpr *operator, Oid type);

/* ---- settings while planning (hints.c) */

extern void shuttle_hints_init(void);

/* Before a statement is planned. */
extern void shuttle_hints_begin(void);

/* What the settings were while the last statement was planned. */
extern const ShuttleSettings *shuttle_hinted_settings(void);

/* Outer rows of a batch that asks a server, as they say or its option does. */
extern int	shuttle_hinted_batch_size(Oid serverid);

/* Tells, once, of a correlated subquery in a statement whose planning began
 * before the library was loaded: no Look Ahead is placed for it. */
extern void shuttle_place_tell_late(const PlannerInfo *root);

/* False in a session's first statement, where the library was loaded during
 * its planning: nodes are not put in on its finished plan. */
extern bool shuttle_place_is_active(void);

/* True while a statement is planned on whose finished plan nodes are put in. */
extern bool shuttle_place_is_planning(void);

#endif							/* PLANNER_INTERNAL_H */

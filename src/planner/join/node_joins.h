/*-------------------------------------------------------------------------
 * node_joins.h
 *	  Joins that a node does: of partitions with one key, with reference tables,
 *	  and what they cost.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_NODE_JOINS_H
#define SHUTTLE_PLANNER_JOIN_NODE_JOINS_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/paths.h"

/* ---- semi joins that a node could not run (broken_semi_joins.c) */

/* Drops postgres_fdw's paths for such joins with this table. */
extern void shuttle_broken_semi_joins_drop(RelOptInfo *rel);

/* ---- joins on nodes (node_joins.c) */

/*
 * True of joins with our price for joins on a node: joins of partitions, with
 * reference tables, in branches of a UNION ALL, and of all tables of an UPDATE
 * or DELETE.
 */
extern bool shuttle_node_join_is_priced(PlannerInfo *root, const RelOptInfo *rel);

/*
 * Prices the paths that postgres_fdw made for such a join, before add_path().
 */
extern void shuttle_node_join_price(PlannerInfo *root, RelOptInfo *rel,
									RelOptInfo *outer, RelOptInfo *inner,
									JoinType type, const List *clauses, List *paths);

/* Another order of such a join, for which postgres_fdw makes no paths again: if it is
 * cheaper, adds the paths of before at its price. Returns false if it is not. */
extern bool shuttle_node_join_reprice(PlannerInfo *root, RelOptInfo *rel,
									  RelOptInfo *outer, RelOptInfo *inner,
									  JoinType type, const List *clauses);

/* How much postgres_fdw overcharges for groups over such a join; else 0. */
extern Cost shuttle_node_join_saved_cost(PlannerInfo *root, const RelOptInfo *rel);

/* True if a clause is an equality that a hash or merge join can use. */
extern bool shuttle_node_join_has_equality(const List *clauses);

/* ---- lookups by unique indexes (node_lookups.c) */

/* The cost of looking up rows of a table on its node by join clauses that name a
 * value for each column of a unique index; false: there is no such index. */
extern bool shuttle_node_lookup_cost(PlannerInfo *root, const RelOptInfo *rel,
									 const List *clauses, double nlookups, Cost *cost);

/* ---- children that are joined on a node (partition_pairs.c) */

typedef struct ShuttlePair
{
	RelOptInfo *outer;
	RelOptInfo *inner;
	int			nappinfos;
	AppendRelInfo **appinfos;	/* that lead to both */
	List	   *clauses;		/* of the join */
} ShuttlePair;

/* Fills in a pair, with the clauses of its parents' join. */
extern void shuttle_partition_pair_make(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
										const List *clauses, ShuttlePair *pair);

/* Makes the relation of a pair's join, a child of joinrel. special: translated. */
extern RelOptInfo *shuttle_partition_pair_join(PlannerInfo *root, const ShuttlePair *pair,
											   RelOptInfo *joinrel, SpecialJoinInfo *special);

/* ---- orders of joins of partitions (partition_orders.c) */

/* True if a join is done by a node, in one of its paths. */
extern bool shuttle_partition_join_is_on_node(const RelOptInfo *rel);

/* Part of set_join_pathlist_hook: has core plan no joins of partitions that nodes join,
 * but for the first order. */
extern void shuttle_partition_orders_consider(PlannerInfo *root, RelOptInfo *joinrel,
											  RelOptInfo *outer, RelOptInfo *inner,
											  JoinType type, JoinPathExtraData *extra);

/* A relation whose partitions are hidden from core; rel is NULL: none. */
typedef struct ShuttleHiddenPartitions
{
	bool		may_hide;
	RelOptInfo *rel;
	RelOptInfo **part_rels;
} ShuttleHiddenPartitions;

/* Gives the relation back its partitions. */
extern void shuttle_partition_orders_show(void);

/* Around a search of joins, which may begin within another one. may_hide: relations live
 * until it ends. */
extern ShuttleHiddenPartitions shuttle_partition_orders_begin(bool may_hide);
extern void shuttle_partition_orders_end(ShuttleHiddenPartitions outer);

/* ---- joins of whole tables (whole_table_joins.c) */

/* join_search_hook: has core keep a topmost join of whole tables that is cheaper than
 * the join of their partitions. previous: the hook before ours, or NULL. */
extern RelOptInfo *shuttle_whole_table_joins_search(PlannerInfo *root, int levels, List *rels,
													join_search_hook_type previous);

/* ---- partition keys with one value (fixed_keys.c) */

/* Part of set_join_pathlist_hook: lets core join partitions whose keys are equal to
 * the same value. */
extern void shuttle_fixed_keys_consider(PlannerInfo *root, RelOptInfo *joinrel,
										RelOptInfo *outer, RelOptInfo *inner,
										JoinType type, JoinPathExtraData *extra);

/* ---- tables with a copy on several nodes (reference_tables.c, reference_copies.c) */

/* Part of set_join_pathlist_hook: lets nodes join their tables and partitions with
 * their copies of a reference table. */
extern void shuttle_reference_tables_consider(PlannerInfo *root, RelOptInfo *joinrel,
											  RelOptInfo *outer, RelOptInfo *inner,
											  JoinType type, JoinPathExtraData *extra);

/* True if one of a relation's tables is a reference table. */
extern bool shuttle_reference_table_is_in(PlannerInfo *root, const RelOptInfo *rel);

#endif							/* SHUTTLE_PLANNER_JOIN_NODE_JOINS_H */

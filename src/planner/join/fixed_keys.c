/*-------------------------------------------------------------------------
 * fixed_keys.c
 *	  Partitionwise joins of tables whose partition keys are fixed to one
 *	  value.
 *
 * Core joins partitions with each other if a join clause makes their keys
 * equal. From "a.k = b.k AND a.k = 7" it derives "a.k = 7 AND b.k = 7", and
 * drops the join clause (until 17, and in outer joins in all versions). Keys
 * that equal the same value are as good: we mark the joinrel as partitioned
 * like its sides before core checks.
 *
 * Only quals of the base relations count. If an outer join keeps the other
 * side's rows, they match only rows with that value.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/key_equality.h"
#include "planner/join/inner_side.h"
#include "planner/join/node_joins.h"

/* The Const or Param that a qual fixes a key column to; or NULL. */
static Node *
value_by(const RelOptInfo *rel, int column, const RestrictInfo *condition)
{
	Node	   *value = shuttle_key_value(rel, column, condition);

	return value != NULL && (IsA(value, Const) || IsA(value, Param)) ? value : NULL;
}

/* The value that a key column has in all rows, or NULL. */
static Node *
find_value(PlannerInfo *root, const RelOptInfo *rel, int column)
{
	int			relid = -1;
	ListCell   *lc;

	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		/* 16 and later number outer joins as well */
		if (root->simple_rel_array[relid] == NULL)
			continue;
		foreach(lc, root->simple_rel_array[relid]->baserestrictinfo)
		{
			Node	   *value = value_by(rel, column, lfirst_node(RestrictInfo, lc));

			if (value != NULL)
				return value;
		}
	}
	return NULL;
}

/* True if a join clause makes this key column equal on both sides. */
static bool
has_clause(const RelOptInfo *joinrel, const RelOptInfo *outer,
		   const RelOptInfo *inner, int column, JoinType type, const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		Node	   *other;

		if (IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(clause, joinrel->relids))
			continue;
		other = shuttle_key_value(outer, column, clause);
		if (other != NULL && shuttle_key_is_of_relation(inner, column, other))
			return true;
	}
	return false;
}

/*
 * True if the keys are equal and core, which looks at clauses only, misses it.
 */
static bool
keys_are_equal(PlannerInfo *root, const RelOptInfo *joinrel, const RelOptInfo *outer,
			   const RelOptInfo *inner, JoinType type, const List *clauses)
{
	bool		any_fixed = false;

	for (int column = 0; column < outer->part_scheme->partnatts; column++)
	{
		Node	   *value;

		if (has_clause(joinrel, outer, inner, column, type, clauses))
			continue;
		value = find_value(root, outer, column);
		if (value == NULL || !equal(value, find_value(root, inner, column)))
			return false;
		any_fixed = true;
	}
	return any_fixed;
}

/* True if some partition is a foreign table of our wrapper. */
static bool
is_on_nodes(PlannerInfo *root, RelOptInfo *rel)
{
	bool		partitioned = false;
	ListCell   *lc;

	foreach(lc, shuttle_inner_append_leaves(root, rel, &partitioned))
	{
		const RelOptInfo *leaf = lfirst_node(RelOptInfo, lc);

		if (leaf->fdwroutine != NULL && shuttle_server_routine_is_ours(leaf->fdwroutine))
			return true;
	}
	return false;
}

static bool
has_partitions(const RelOptInfo *rel)
{
	return rel->consider_partitionwise_join && rel->part_scheme != NULL &&
		rel->boundinfo != NULL && rel->nparts > 0 && rel->part_rels != NULL &&
		rel->partexprs != NULL && rel->nullable_partexprs != NULL;
}

/* True if child joins exist already, made for another join order and given up
 * midway (reference_tables.c): core would create them twice. */
static bool
has_children(PlannerInfo *root, const RelOptInfo *joinrel)
{
	ListCell   *lc;

	if (joinrel->reloptkind != RELOPT_JOINREL)
		return false;
	foreach(lc, root->join_rel_list)
	{
		if (bms_equal(lfirst_node(RelOptInfo, lc)->top_parent_relids, joinrel->relids))
			return true;
	}
	return false;
}

/* Core computes bounds and partitions itself. */
static void
set_scheme(RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner,
		   JoinType type)
{
	PartitionScheme scheme = outer->part_scheme;

	joinrel->partexprs = palloc0_array(List *, scheme->partnatts);
	joinrel->nullable_partexprs = palloc0_array(List *, scheme->partnatts);
	for (int i = 0; i < scheme->partnatts; i++)
	{
		List	   *keys = list_copy(outer->partexprs[i]);
		List	   *nullable = list_copy(outer->nullable_partexprs[i]);

		if (type == JOIN_INNER)
			keys = list_concat(keys, inner->partexprs[i]);
		else if (type == JOIN_LEFT)
			nullable = list_concat(nullable, inner->partexprs[i]);
		if (type != JOIN_SEMI)
			nullable = list_concat(nullable, inner->nullable_partexprs[i]);
		joinrel->partexprs[i] = keys;
		joinrel->nullable_partexprs[i] = nullable;
	}
	joinrel->part_scheme = scheme;
	joinrel->consider_partitionwise_join = true;
}

void
shuttle_fixed_keys_consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
							RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (enable_partitionwise_join && joinrel->part_scheme == NULL &&
		joinrel->nparts == -1 &&
		(type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI) &&
		has_partitions(outer) && has_partitions(inner) &&
		outer->part_scheme == inner->part_scheme &&
		keys_are_equal(root, joinrel, outer, inner, type, extra->restrictlist) &&
		is_on_nodes(root, outer) && is_on_nodes(root, inner) &&
		!has_children(root, joinrel))
		set_scheme(joinrel, outer, inner, type);
}

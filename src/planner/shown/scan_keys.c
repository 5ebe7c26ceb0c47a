/*-------------------------------------------------------------------------
 * scan_keys.c
 *	  The key that all rows of a partition's join or groups have.
 *
 * Core prunes an Append at run time only if its children are scans of
 * partitions. A partitionwise join and its groups are not, so in a plan for all
 * keys, or with a key from an outer row, each node was asked. The finished plan
 * of such a child does not tell its conditions, which are part of the node's
 * SELECT. So the key is noted while the child is planned, and
 * finished_plan/join_pruning.c prunes the Append by it.
 *
 * A condition of one table holds for all rows of a join, unless an outer join
 * may set that table's columns to NULL or looks for rows that it lacks.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "base/shuttle_expressions.h"
#include "executor/shuttle_scan_key.h"
#include "planner/facts/key_equality.h"
#include "planner/shown/shown.h"

#define UNKNOWN_PARAM \
	(SHUTTLE_HAS_PARAM & ~(SHUTTLE_HAS_STATEMENT_PARAM | SHUTTLE_HAS_PLAN_PARAM))

/* True if each row of a join with this partition has a row of it. Outer joins name
 * the table that the statement names. */
static bool
is_in_all_rows(const PlannerInfo *root, const RelOptInfo *part)
{
	Relids		named = part->top_parent_relids;
	ListCell   *lc;

	foreach(lc, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(lc);

		if (join->jointype == JOIN_INNER || join->jointype == JOIN_SEMI)
			continue;
		if (bms_overlap(named, join->syn_righthand) ||
			(join->jointype == JOIN_FULL && bms_overlap(named, join->syn_lefthand)))
			return false;
	}
	return true;
}

/* True of a value that is known when the plan runs, and was not while it was
 * planned. */
static bool
is_known_later(Node *value)
{
	return !IsA(value, Const) && !contain_var_clause(value) &&
		!contain_subplans(value) && !contain_volatile_functions(value) &&
		!expression_returns_set(value) && !shuttle_expression_has(value, UNKNOWN_PARAM);
}

/* The value of a partitioned table's only key column; NULL: none is known. */
static Node *
find_key(PlannerInfo *root, const RelOptInfo *table)
{
	ListCell   *lc;

	foreach(lc, table->baserestrictinfo)
	{
		const RestrictInfo *condition = lfirst_node(RestrictInfo, lc);
		Node	   *value = shuttle_key_value(table, 0, condition);

		if (value == NULL)
			continue;
		value = shuttle_stable_put_back(root, value);
		if (is_known_later(value))
			return value;
	}
	return NULL;
}

void
shuttle_scan_key_note(PlannerInfo *root, const RelOptInfo *rel, ForeignScan *scan)
{
	int			rtindex = -1;

	if (!IS_JOIN_REL(rel) && !IS_UPPER_REL(rel))
		return;
	while ((rtindex = bms_next_member(rel->relids, rtindex)) >= 0)
	{
		const RelOptInfo *part = root->simple_rel_array[rtindex];
		const RelOptInfo *table;
		Node	   *key;

		/* 16 and later number outer joins as well */
		if (part == NULL || part->reloptkind != RELOPT_OTHER_MEMBER_REL)
			continue;
		table = root->simple_rel_array[root->append_rel_array[rtindex]->parent_relid];
		if (table->part_scheme == NULL || table->part_scheme->partnatts != 1 ||
			table->partexprs == NULL || !is_in_all_rows(root, part))
			continue;
		key = find_key(root, table);
		if (key == NULL)
			continue;
		shuttle_postgres_fdw_add_scan_key(scan, planner_rt_fetch(rtindex, root)->relid, copyObject(key));
		return;
	}
}

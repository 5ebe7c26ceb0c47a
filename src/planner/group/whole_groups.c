/*-------------------------------------------------------------------------
 * whole_groups.c
 *	  Whether all rows of each group are in one partition.
 *
 * They are if GROUP BY contains the partition key, at each level of
 * partitions. Then partitions compute any aggregate and HAVING by themselves,
 * and their groups are only appended.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat_planner.h"
#include "planner/group/group.h"

/* True if a grouping expression is the partition key with the same collation;
 * another collation might treat more values as equal. */
static bool
groups_by(const List *groups, const Node *key, Oid collation)
{
	ListCell   *lc;

	foreach(lc, groups)
	{
		Node	   *group = lfirst(lc);
		Oid			group_collation = exprCollation(group);

		if (IsA(group, RelabelType))
			group = (Node *) ((RelabelType *) group)->arg;
		if (equal(group, key) &&
			(!OidIsValid(collation) || group_collation == collation))
			return true;
	}
	return false;
}

/* Checks one level. In a join a key column may have several expressions. */
static bool
groups_by_whole_key(const RelOptInfo *rel, const List *groups)
{
	for (int i = 0; i < rel->part_scheme->partnatts; i++)
	{
		bool		found = false;
		ListCell   *lc;

		foreach(lc, rel->partexprs[i])
			found |= groups_by(groups, lfirst(lc), rel->part_scheme->partcollation[i]);
		if (!found)
			return false;
	}
	return true;
}

bool
shuttle_whole_groups_are_certain(PlannerInfo *root, RelOptInfo *rel, List *groups)
{
	int			i = -1;

	if (rel->part_scheme == NULL || rel->part_rels == NULL ||
		!groups_by_whole_key(rel, groups))
		return false;
	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		RelOptInfo *part = rel->part_rels[i];
		List	   *translated;

		if (part == NULL || part->part_rels == NULL)
			continue;
		translated = (List *)
			shuttle_translate_to_child(root, (Node *) groups, part, rel);
		if (!shuttle_whole_groups_are_certain(root, part, translated))
			return false;
	}
	return true;
}

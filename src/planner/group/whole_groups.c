/*-------------------------------------------------------------------------
 * whole_groups.c
 *	  Whether each group of a grouping lies within one partition.
 *
 * It does where the partition key is among what is grouped by, at each level of
 * partitions.  Then partitions aggregate for themselves, with any aggregate and
 * HAVING, and their groups only have to be appended.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat.h"
#include "planner/group/group.h"

/* Values are grouped by what tells partitions apart: the same expression, and
 * the same collation, as another one might hold more values equal. */
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

/* One level; a column of the key may have several names in a join. */
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
shuttle_groups_are_whole(PlannerInfo *root, RelOptInfo *rel, List *groups)
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
		if (!shuttle_groups_are_whole(root, part, translated))
			return false;
	}
	return true;
}

/*-------------------------------------------------------------------------
 * relation_facts.h
 *	  Small questions about relations and their paths.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_RELATION_FACTS_H
#define SHUTTLE_PLANNER_FACTS_RELATION_FACTS_H

#include "nodes/pathnodes.h"
#include "optimizer/prep.h"

/* A copy of the path alone, not of what it points to. */
static inline ForeignPath *
shuttle_foreign_path_copy(const ForeignPath *path)
{
	ForeignPath *copy = makeNode(ForeignPath);

	memcpy(copy, path, sizeof(ForeignPath));
	return copy;
}

/* True if the query locks rows of a table, as by FOR UPDATE. */
static inline bool
shuttle_is_locked(PlannerInfo *root, const RelOptInfo *rel)
{
	const PlanRowMark *mark = get_plan_rowmark(root->rowMarks, rel->relid);

	return mark != NULL && mark->strength != LCS_NONE;
}

#endif							/* SHUTTLE_PLANNER_FACTS_RELATION_FACTS_H */

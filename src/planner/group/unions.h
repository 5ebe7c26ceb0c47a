/*-------------------------------------------------------------------------
 * unions.h
 *	  Aggregates that collect values, for groupings on nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_GROUP_UNIONS_H
#define SHUTTLE_PLANNER_GROUP_UNIONS_H

#include "executor/shuttle_executor.h"
#include "planner/hooks.h"

/* ---- aggregates that collect values (collected_aggregates.c) */

/* True of array_agg() and the like, which collect values; sets the state's
 * kind. */
extern bool shuttle_collected_has_kind(const Aggref *aggregate, ShuttleStateKind *kind);

/* The aggregate that nodes are asked for instead. */
extern Aggref *shuttle_collected_source(const Aggref *aggregate);

/* Replaces core's aggregates by ours in a finished plan that combines what
 * nodes collected. */
extern void shuttle_collected_aggregates_finish(PlannedStmt *statement);

/* ---- target lists (grouping_targets.c) */

/* A ressortgroupref that neither list uses, of TargetEntry and of SortGroupClause
 * (grouping_targets.c). */
extern Index shuttle_grouping_next_reference(const List *targetlist, const List *clauses);

#endif							/* SHUTTLE_PLANNER_GROUP_UNIONS_H */

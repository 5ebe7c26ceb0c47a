/*-------------------------------------------------------------------------
 * remote_paths.h
 *	  Paths of postgres_fdw's at our prices (remote_paths.c, upper_paths.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SCAN_REMOTE_PATHS_H
#define SHUTTLE_PLANNER_SCAN_REMOTE_PATHS_H

#include "nodes/pathnodes.h"

/* True if one of a relation's tables has remote estimates. Upper relations may
 * have no relids; they cover all tables. */
extern bool shuttle_has_remote_estimate(PlannerInfo *root, RelOptInfo *rel);

extern ForeignPath *shuttle_foreign_path_copy(const ForeignPath *path);

/* Prices a path by its node and adds it; add_path() may free it. Returns its
 * rows. */
extern double shuttle_add_priced_path(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path);

/* GetForeignUpperPaths of our wrapper. */
extern void shuttle_remote_upper_paths(PlannerInfo *root, UpperRelationKind stage,
									   RelOptInfo *input, RelOptInfo *rel, void *extra);

#endif							/* SHUTTLE_PLANNER_SCAN_REMOTE_PATHS_H */

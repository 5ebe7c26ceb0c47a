/*-------------------------------------------------------------------------
 * remote_paths.h
 *	  Paths of postgres_fdw's at our prices (remote_paths.c, upper_paths.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SCAN_REMOTE_PATHS_H
#define SHUTTLE_PLANNER_SCAN_REMOTE_PATHS_H

#include "foreign/fdwapi.h"
#include "nodes/pathnodes.h"

/* True if one of a relation's tables has remote estimates. Upper relations may
 * have no relids; they cover all tables. */
extern bool shuttle_remote_paths_have_estimate(PlannerInfo *root, RelOptInfo *rel);

/* Prices a path by its node and adds it; add_path() may free it. Returns its
 * rows. */
extern double shuttle_remote_path_add_priced(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path);

/* GetForeignUpperPaths of our wrapper. */
extern void shuttle_upper_paths_add(PlannerInfo *root, UpperRelationKind stage,
									RelOptInfo *input, RelOptInfo *rel, void *extra);

/* The callbacks that make paths and plans of scans and joins. */
extern void shuttle_remote_paths_fill(FdwRoutine *routine);

#endif							/* SHUTTLE_PLANNER_SCAN_REMOTE_PATHS_H */

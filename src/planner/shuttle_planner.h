/*-------------------------------------------------------------------------
 * shuttle_planner.h
 *	  Door of the planner room: where to look ahead, and at what cost.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_H
#define SHUTTLE_PLANNER_H

#include "foreign/fdwapi.h"

/* Replaces planning callbacks that differ from postgres_fdw's by ours. */
extern void shuttle_planner_fill_routine(FdwRoutine *routine);

/* Registers paths and installs the planner's hooks; called by _PG_init. */
extern void shuttle_planner_init(void);

#endif							/* SHUTTLE_PLANNER_H */

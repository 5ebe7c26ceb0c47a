/*-------------------------------------------------------------------------
 * shuttle_planner.h
 *	  Door of the planner room: where to look ahead, and at what cost.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_H
#define SHUTTLE_PLANNER_H

#include "foreign/fdwapi.h"

/* Lays what we estimate otherwise than postgres_fdw over its routine. */
extern void shuttle_planner_fill_routine(FdwRoutine *routine);

/* Registers paths and installs the planner's hooks; called by _PG_init. */
extern void shuttle_planner_init(void);

#endif							/* SHUTTLE_PLANNER_H */

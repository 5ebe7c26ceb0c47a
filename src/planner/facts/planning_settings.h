/*-------------------------------------------------------------------------
 * planning_settings.h
 *	  The settings as core saw them while it planned (planning_settings.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_PLANNING_SETTINGS_H
#define SHUTTLE_PLANNER_FACTS_PLANNING_SETTINGS_H

#include "nodes/pathnodes.h"

#include "base/shuttle_settings.h"

/* Part of create_upper_paths_hook: copies the settings. */
extern void shuttle_planning_settings_note(PlannerInfo *root, UpperRelationKind stage,
										   RelOptInfo *input, RelOptInfo *output, void *extra);

/* Before a statement is planned. */
extern void shuttle_planning_settings_begin(void);

/* The settings in force while the last statement was planned. */
extern const ShuttleSettings *shuttle_planning_settings(void);

/* True if the innermost statement that is being planned may read copies of reference
 * tables on nodes; whoever sets it sets it back, after errors too. */
extern bool shuttle_planning_copies(void);
extern void shuttle_planning_set_copies(bool may_read);

/* The batch size for a server by these settings, or by its option. */
extern int	shuttle_planning_batch_size(Oid serverid);

#endif							/* SHUTTLE_PLANNER_FACTS_PLANNING_SETTINGS_H */

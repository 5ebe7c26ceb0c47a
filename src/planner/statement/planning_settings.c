/*-------------------------------------------------------------------------
 * planning_settings.c
 *	  Settings that hold while a statement is being planned, and no longer.
 *
 * pg_hint_plan's Set() changes settings around core's planner.  Where its
 * planner hook is called inside of ours, they are changed back when we look at
 * the finished plan.  So they are noted at the last moment at which core tells
 * of its planning: when the paths of a query's result are made.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/planner.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "planner/statement/statement.h"

static ShuttleSettings noted;

static create_upper_paths_hook_type previous_upper_paths = NULL;

static void
note_settings(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
			  RelOptInfo *output, void *extra)
{
	if (previous_upper_paths != NULL)
		previous_upper_paths(root, stage, input, output, extra);

	/*
	 * That of the statement itself comes last, also behind such of functions
	 * that are evaluated while it is planned.
	 */
	if (stage == UPPERREL_FINAL)
		noted = shuttle_settings;
}

void
shuttle_planning_settings_begin(void)
{
	noted = shuttle_settings;
}

const ShuttleSettings *
shuttle_planning_settings(void)
{
	return &noted;
}

int
shuttle_planning_batch_size(Oid serverid)
{
	return shuttle_cluster_option_int(serverid, InvalidOid,
									  "shuttle_batch_size", noted.batch_size);
}

void
shuttle_planning_settings_init(void)
{
	previous_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = note_settings;
}

/*-------------------------------------------------------------------------
 * planning_settings.c
 *	  Settings that hold only while a statement is being planned.
 *
 * pg_hint_plan's Set() changes settings around core's planner. If its planner
 * hook is called inside of ours, they are reset by the time we look at the
 * finished plan. So we copy them when core last calls a hook during planning:
 * when it has made the paths of the query's result.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/planner.h"

#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "planner/facts/planning_settings.h"

static ShuttleSettings noted;
static bool may_read_copies = false;

void
shuttle_planning_settings_note(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
							   RelOptInfo *output, void *extra)
{
	/*
	 * The top-level query's call comes last, after those of subqueries and of
	 * SQL functions evaluated during planning.
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

bool
shuttle_planning_copies(void)
{
	return may_read_copies;
}

void
shuttle_planning_set_copies(bool may_read)
{
	may_read_copies = may_read;
}

int
shuttle_planning_batch_size(Oid serverid)
{
	return shuttle_option_get_int(serverid, InvalidOid,
								  "shuttle_batch_size", noted.batch_size);
}

/*-------------------------------------------------------------------------
 * shuttle.c
 *	  Loading of the library: settings, methods and hooks of each room.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"
#include "planner/shuttle_planner.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

PG_MODULE_MAGIC_EXT(
					.name = "pg_shuttle",
					.version = SHUTTLE_VERSION
);

void
_PG_init(void)
{
	shuttle_settings_define();
	shuttle_storage_init();
	shuttle_cluster_init();
	shuttle_tablets_init();
	shuttle_executor_init();
	shuttle_planner_init();
	shuttle_explain_init();		/* its hooks go around early starts */
	shuttle_storage_init_outermost();	/* and these around all */
}

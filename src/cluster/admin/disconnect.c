/*-------------------------------------------------------------------------
 * disconnect.c
 *	  shuttle.disconnect(), and DISCARD on nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "base/shuttle_compat.h"
#include "cluster/admin/admin.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"

SHUTTLE_SQL_FUNCTION(shuttle_disconnect);

/* shuttle.disconnect(server) */
Datum
shuttle_disconnect(PG_FUNCTION_ARGS)
{
	Oid			serverid = InvalidOid;

	if (!PG_ARGISNULL(0))
		serverid = shuttle_server_find(NameStr(*PG_GETARG_NAME(0)));
	PG_RETURN_BOOL(shuttle_connection_end_idle(serverid) > 0);
}

void
shuttle_disconnect_repeat_discard(const DiscardStmt *stmt)
{
	switch (stmt->target)
	{
		case DISCARD_ALL:
			shuttle_discard_all();
			break;
		case DISCARD_PLANS:
			shuttle_discard_part("DISCARD PLANS");
			break;
		case DISCARD_SEQUENCES:
			shuttle_discard_part("DISCARD SEQUENCES");
			break;
		case DISCARD_TEMP:
			shuttle_discard_part("DISCARD TEMP");
			break;
	}
}

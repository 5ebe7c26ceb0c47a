/*-------------------------------------------------------------------------
 * owner_rights.c
 *	  Maintenance of a table as its owner.
 *
 * Checks, generated columns, indexes and types of a table may call any function of its
 * owner. If somebody else loads the table, brings it back or compares it with nodes,
 * such a function must not get his rights. In a security-restricted operation it
 * cannot take them back either (RESET ROLE, set_config('role', ...)), nor leave
 * anything behind that runs later (deferred triggers, temporary objects, cursors).
 *
 * Rows are read without policies: FORCE ROW LEVEL SECURITY does not hold, and row_security
 * is off, so that other policies raise an error, and functions keep no plan made so.
 *
 * Source: REINDEX, CLUSTER, ANALYZE and REFRESH MATERIALIZED VIEW of core.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/tablet_names.h"
#include "tablets/rights/owner_rights.h"

ShuttleRights
shuttle_owner_rights_keep(void)
{
	ShuttleRights caller = {0};

	GetUserIdAndSecContext(&caller.userid, &caller.flags);
	return caller;
}

ShuttleRights
shuttle_owner_rights_take(Oid relid)
{
	ShuttleRights caller = shuttle_owner_rights_keep();

	caller.level = NewGUCNestLevel();
	SetUserIdAndSecContext(shuttle_local_owner(relid), caller.flags | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	return caller;
}

int
shuttle_owner_rights_all_rows(void)
{
	int			level = NewGUCNestLevel();
	ShuttleRights caller = shuttle_owner_rights_keep();

	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	SetUserIdAndSecContext(caller.userid, caller.flags | SECURITY_NOFORCE_RLS);
	return level;
}

void
shuttle_owner_rights_end(ShuttleRights caller)
{
	if (caller.level > 0)
		AtEOXact_GUC(false, caller.level);
	SetUserIdAndSecContext(caller.userid, caller.flags);
}

IndexInfo *
shuttle_owner_index_info(Relation index)
{
	ShuttleRights caller = shuttle_owner_rights_take(index->rd_index->indrelid);
	IndexInfo  *info = BuildIndexInfo(index);

	shuttle_owner_rights_end(caller);
	return info;
}

void
shuttle_owner_attach(Oid relid, const char *name, const ShuttleTablet *tablet)
{
	ShuttleRights caller = shuttle_owner_rights_take(relid);

	(void) shuttle_local_run(psprintf("ALTER TABLE %s ATTACH PARTITION %s %s", shuttle_local_name(relid),
									  name, shuttle_tablet_text_bound(tablet)));
	shuttle_owner_rights_end(caller);
}

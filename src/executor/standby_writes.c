/*-------------------------------------------------------------------------
 * standby_writes.c
 *	  Writes from a standby that is a query node.
 *
 * Core checks when it starts a plan that the transaction is not read-only, as each is in
 * recovery. If all that the plan writes or locks are rows of distributed tables, which are on nodes, the
 * transaction counts as one that writes, just for that check (read_only.c). Whether the standby
 * follows the primary server is looked at when a write is sent (lease.c).
 *
 * What is checked on other nodes than a row's own is refused: the writes of one transaction have to be
 * on one node, as the record of a commit over several would be written here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_points.h"
#include "cluster/shuttle_cluster.h"
#include "executor/standby_writes.h"
#include "storage/shuttle_read_only.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

static void
refuse(Oid relid, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
			 errmsg("cannot write to table \"%s\" on a standby", get_rel_name(relid)),
			 errdetail_internal("%s", detail),
			 errhint("%s", shuttle_lease_primary())));
}

/* Raises an error if rows of a table can only be written on the primary server. */
static void
check_table(Oid relid)
{
	Relation	rel;
	bool		checks_nothing;

	switch (shuttle_table_kind(relid))
	{
		case SHUTTLE_TABLE_DISTRIBUTED:
			break;
		case SHUTTLE_TABLE_REFERENCE:
			refuse(relid, "It is a reference table.");
			break;
		case SHUTTLE_TABLE_PARTITIONED:
			refuse(relid, "It is a partitioned table: name its partition.");
			break;
		case SHUTTLE_TABLE_TABLET:
			refuse(relid, "It is a tablet: name its table.");
			break;
		case SHUTTLE_TABLE_OTHER:
			refuse(relid, get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE ?
				   "It is a foreign table that belongs to no distributed table." : "It is a table of the primary server.");
	}
	rel = table_open(relid, NoLock);
	checks_nothing = !shuttle_own_triggers_exist(rel->trigdesc);
	table_close(rel, NoLock);
	if (!checks_nothing)
		refuse(relid, "It has unique indexes or foreign keys that other nodes have to check.");
}

/* True if a plan writes or locks rows. Errors: it does so in a table of another kind. */
static bool
writes(const PlannedStmt *plan)
{
	bool		found = false;
	ListCell   *cell;

	foreach(cell, shuttle_plan_permissions(plan))
	{
		const RTEPermissionInfo *permission = lfirst(cell);

		/* a view's tables have their own */
		if ((permission->requiredPerms & ~ACL_SELECT) == 0 || !OidIsValid(permission->relid) ||
			get_rel_relkind(permission->relid) == RELKIND_VIEW)
			continue;
		check_table(permission->relid);
		found = true;
	}
	return found;
}

bool
shuttle_standby_writes_check(const QueryDesc *query, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || !shuttle_read_only_is_lifted() || !writes(query->plannedstmt))
		return false;
	SHUTTLE_POINT("standby-planned");

	/* the plan's start copies triggers, for example, from catalogs */
	shuttle_lease_check();
	return true;
}

void
shuttle_standby_writes_start(ExecutorStart_hook_type start, QueryDesc *query, int eflags)
{
	XactReadOnly = false;
	PG_TRY();					/* whatever is caught, this server is not
								 * written to */
	{
		start(query, eflags);
	}
	PG_FINALLY();
	{
		XactReadOnly = true;
	}
	PG_END_TRY();
}

/* Core's refusals of statements say nothing of the primary server. */
void
shuttle_standby_writes_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	MemoryContext cxt = CurrentMemoryContext;

	if (!shuttle_read_only_is_lifted())
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		return;
	}
	PG_TRY();					/* to add a hint */
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_READ_ONLY_SQL_TRANSACTION || error->hint != NULL)
			PG_RE_THROW();
		FlushErrorState();
		error->hint = shuttle_lease_primary();
		ReThrowError(error);
	}
	PG_END_TRY();
}

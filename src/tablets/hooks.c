/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks that the tablets room uses, and the order of its parts.
 *
 * Not here: the callback of the relcache that table_facts.c registers with its cache.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "commands/extension.h"
#include "nodes/parsenodes.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_utility.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/tablet_names.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_barrier.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/distribute/distribute.h"
#include "tablets/follow/follow.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/error_details.h"
#include "tablets/rights/hidden_tables.h"
#include "tablets/shuttle_tablets.h"

static ProcessUtility_hook_type previous_utility = standard_ProcessUtility;
static object_access_hook_type previous_access = NULL;
static ExecutorCheckPerms_hook_type previous_permissions = NULL;

/* With shuttle.enable_ddl off nothing is followed. */
static void
follow_objects(SHUTTLE_UTILITY_PARAMETERS)
{
	if (shuttle_settings.enable_ddl && !creating_extension)
		shuttle_follow_run(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
	else
		previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
}

/* What tablets are called on nodes follows the schema in any case, as their names here did. */
static void
rename_schemas(SHUTTLE_UTILITY_PARAMETERS)
{
	const RenameStmt *statement = (const RenameStmt *) pstmt->utilityStmt;

	follow_objects(SHUTTLE_UTILITY_ARGUMENTS);
	if (!IsA(statement, RenameStmt) || statement->renameType != OBJECT_SCHEMA ||
		!OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
		return;
	CommandCounterIncrement();
	shuttle_tablet_follow_schema(statement->newname);
}

static void
run_truncate(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_copy_truncate_run(rename_schemas, SHUTTLE_UTILITY_ARGUMENTS);
}

/* A dump makes tablets, and so does pg_upgrade, which has shuttle.enable_ddl on. */
static void
restore_tablets(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_hidden_tables_restore(run_truncate, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
restore_indexes(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_ddl_global_restore(restore_tablets, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
create_tables(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_ddl_create_run(restore_tablets, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
change_tables(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_ddl_run(create_tables, SHUTTLE_UTILITY_ARGUMENTS);
}

/* Parts of statements are followed with their statement; what the extension runs
 * itself tells nodes itself. */
static void
run_utility(SHUTTLE_UTILITY_PARAMETERS)
{
	if (context == PROCESS_UTILITY_SUBCOMMAND || shuttle_local_is_running())
	{
		previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
		return;
	}
	shuttle_ddl_barrier(pstmt->utilityStmt);
	shuttle_hidden_tables_check_lock(pstmt->utilityStmt);
	if (!shuttle_settings.enable_ddl && !creating_extension && shuttle_ddl_restore_keys(pstmt->utilityStmt))
		return;
	if (!shuttle_settings.enable_ddl || creating_extension)
		shuttle_ddl_drop_run(restore_indexes, SHUTTLE_UTILITY_ARGUMENTS);
	else
		shuttle_ddl_drop_run(change_tables, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
note_access(ObjectAccessType access, Oid classid, Oid objectid, int subid, void *arg)
{
	if (previous_access != NULL)
		previous_access(access, classid, objectid, subid, arg);
	shuttle_ddl_create_note(access, classid, objectid, subid, arg);
	shuttle_ddl_drop_note(access, classid, objectid, subid, arg);
}

/* What foreign keys do has entries, and is written to copies. */
static void
end_transaction(XactEvent event, void *arg)
{
	shuttle_foreign_key_queue_end_transaction(event);
	shuttle_global_rows_end_transaction(event);
	shuttle_copy_changes_end_transaction(event);
}

static void
begin_or_end_savepoint(SubXactEvent event, SubTransactionId self, SubTransactionId parent, void *arg)
{
	shuttle_foreign_key_queue_end_savepoint(event);
	shuttle_global_rows_end_savepoint(event);
	shuttle_copy_changes_end_savepoint(event);
}

static bool
check_permissions(SHUTTLE_PERMISSIONS_PARAMETERS)
{
	return (previous_permissions == NULL || previous_permissions(SHUTTLE_PERMISSIONS_ARGUMENTS)) &&
		shuttle_hidden_tables_check(permissions, raise);
}

void
shuttle_tablets_init(void)
{
	if (ProcessUtility_hook != NULL)
		previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
	previous_access = object_access_hook;
	object_access_hook = note_access;
	previous_permissions = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check_permissions;
	RegisterXactCallback(end_transaction, NULL);
	RegisterSubXactCallback(begin_or_end_savepoint, NULL);
	shuttle_ddl_run_partitioned = shuttle_ddl_partitioned_run;
	shuttle_distribute_done = shuttle_global_entries_follow;
	shuttle_storage_calls.name_objects = shuttle_error_details_translate;
	shuttle_storage_calls.runs_own_statement = shuttle_local_is_own;
	shuttle_storage_calls.acting_user = shuttle_global_send_user;
}

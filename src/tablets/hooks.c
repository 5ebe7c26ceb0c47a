/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks that the tablets room uses, and the order of its parts.
 *
 * Not here: callbacks for transactions (copy_changes.c), and of the relcache that facts.c
 * registers with its cache.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "commands/extension.h"

#include "base/shuttle_settings.h"
#include "base/shuttle_utility.h"
#include "tablets/reference/copies.h"
#include "tablets/ddl/ddl.h"
#include "tablets/follow/follow.h"
#include "tablets/shuttle_tablets.h"

static ProcessUtility_hook_type previous_utility = standard_ProcessUtility;
static object_access_hook_type previous_access = NULL;

/* With shuttle.enable_ddl off nothing is followed. */
static void
follow_objects(SHUTTLE_UTILITY_PARAMETERS)
{
	if (shuttle_settings.enable_ddl && !creating_extension)
		shuttle_follow_run(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
	else
		previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
}

static void
run_truncate(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_copy_truncate_run(follow_objects, SHUTTLE_UTILITY_ARGUMENTS);
}

static void
create_tables(SHUTTLE_UTILITY_PARAMETERS)
{
	shuttle_ddl_create_run(run_truncate, SHUTTLE_UTILITY_ARGUMENTS);
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
		previous_utility(SHUTTLE_UTILITY_ARGUMENTS);
	else if (!shuttle_settings.enable_ddl || creating_extension)
		shuttle_ddl_drop_run(run_truncate, SHUTTLE_UTILITY_ARGUMENTS);
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

void
shuttle_tablets_init(void)
{
	if (ProcessUtility_hook != NULL)
		previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
	previous_access = object_access_hook;
	object_access_hook = note_access;
	shuttle_copy_changes_init();
	shuttle_storage_calls.name_objects = shuttle_tablet_name_objects;
}

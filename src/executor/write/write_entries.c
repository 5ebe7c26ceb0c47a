/*-------------------------------------------------------------------------
 * write_entries.c
 *	  Rows whose AFTER ROW triggers only note them, for global indexes and foreign keys.
 *
 * Memory: that of the query.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_trigger.h"
#include "executor/executor.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

/* True if rows are only inserted, and their AFTER ROW triggers only note them: that can be done when
 * they are sent. A COPY has its triggers fired by core. */
static bool
notes_rows(const ShuttleWrite *write)
{
	return write->operation == CMD_INSERT && write->node->operation == CMD_INSERT &&
		write->node->ps.plan != NULL &&
		((ModifyTable *) write->node->ps.plan)->onConflictAction == ONCONFLICT_NONE &&
		!shuttle_upsert_is_in((ModifyTable *) write->node->ps.plan) &&
		!shuttle_on_conflict_is_in((ModifyTable *) write->node->ps.plan) &&
		write->target->ri_returningList == NIL && write->target->ri_projectReturning == NULL &&
		write->target->ri_WithCheckOptions == NIL && shuttle_settings.enable_write_buffer &&
		write->node->mt_transition_capture == NULL &&
		shuttle_own_triggers_note_rows(write->target->ri_TrigDesc, TRIGGER_TYPE_INSERT);
}

/* If triggers need no rows from nodes, they need not return any. front: what RETURNING follows. */
static void
leave_returning_out(ShuttleWrite *write, const char *front)
{
	const char *returning = psprintf("%s RETURNING ", front);
	const char *end = NULL;

	for (const char *found = strstr(write->postgres_fdw.sql, returning); found != NULL; found = strstr(found + 1, returning))
		end = found + strlen(front);
	if (end == NULL || !write->postgres_fdw.has_returning)
		return;
	write->postgres_fdw.sql = pnstrdup(write->postgres_fdw.sql, end - write->postgres_fdw.sql);
	write->postgres_fdw.has_returning = false;
	write->postgres_fdw.attributes = NIL;
}

void
shuttle_write_begin_entries(ShuttleWrite *write)
{
	write->notes_rows = notes_rows(write);
	if (write->notes_rows)
	{
		if (shuttle_own_triggers_keep_entries(write->target->ri_TrigDesc))
			write->entries = shuttle_global_rows_begin(write->rel, write->estate->es_query_cxt);
		leave_returning_out(write, ")");
	}
	if (write->operation == CMD_DELETE && write->node->operation == CMD_UPDATE)
		leave_returning_out(write, "$1");
}

void
shuttle_write_note_row(ShuttleWrite *write, TupleTableSlot *slot)
{
	if (write->entries != NULL)
		shuttle_global_rows_insert(write->entries, slot, write->estate->es_auxmodifytables == NIL);
	if (write->notes_rows)
		shuttle_foreign_key_note_insert(write->rel, slot);
}

/*-------------------------------------------------------------------------
 * own_triggers.c
 *	  Which triggers of a table the extension has made, or fires instead of core.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "nodes/parsenodes.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

/* Tablets do not have core's trigger of a deferrable key: nodes check it. */
static bool
is_ours(const Trigger *trigger)
{
	return shuttle_global_trigger_has_name(trigger->tgname) ||
		(trigger->tgisinternal && (trigger->tgfoid == F_UNIQUE_KEY_RECHECK || shuttle_foreign_key_has_trigger(trigger->tgfoid)));
}

bool
shuttle_own_triggers_exist(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (is_ours(&triggers->triggers[i]))
			return true;
	}
	return false;
}

bool
shuttle_own_triggers_are_all(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!is_ours(&triggers->triggers[i]))
			return false;
	}
	return true;
}

bool
shuttle_own_triggers_note_rows(const TriggerDesc *triggers, int16 event)
{
	bool		notes = false;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW, TRIGGER_TYPE_AFTER, event))
			continue;
		if (!is_ours(trigger))
			return false;
		notes = true;
	}
	return notes;
}

/* True if the triggers for an UPDATE of these columns are all ours, and have nothing to do. */
static bool
do_nothing(Relation rel, const List *targets)
{
	const TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (TRIGGER_FOR_UPDATE(triggers->triggers[i].tgtype) && !is_ours(&triggers->triggers[i]))
			return false;
	}
	return shuttle_global_index_is_untouched(RelationGetRelid(rel), targets) &&
		!shuttle_foreign_key_is_updated(rel, targets);
}

static bool
has_trigger(const TriggerDesc *triggers, CmdType change)
{
	switch (change)
	{
		case CMD_INSERT:
			return triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
				triggers->trig_insert_before_statement || triggers->trig_insert_after_statement;
		case CMD_UPDATE:
			return triggers->trig_update_before_row || triggers->trig_update_after_row ||
				triggers->trig_update_before_statement || triggers->trig_update_after_statement;
		case CMD_DELETE:
			return triggers->trig_delete_before_row || triggers->trig_delete_after_row ||
				triggers->trig_delete_before_statement || triggers->trig_delete_after_statement;
		default:
			return false;
	}
}

bool
shuttle_own_triggers_fire(const Query *query, Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	const TriggerDesc *triggers = rel->trigdesc;
	bool		fires = false;
	const ListCell *cell;

	if (triggers != NULL && !(query->commandType == CMD_UPDATE && do_nothing(rel, query->targetList)))
	{
		fires = has_trigger(triggers, query->commandType);
		if (query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE)
			fires |= has_trigger(triggers, CMD_UPDATE);
		foreach(cell, query->mergeActionList)
			fires |= has_trigger(triggers, lfirst_node(MergeAction, cell)->commandType);
	}
	table_close(rel, NoLock);
	return fires;
}

bool
shuttle_own_triggers_keep_entries(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_ROW(trigger->tgtype) && shuttle_global_trigger_has_name(trigger->tgname))
			return true;
	}
	return false;
}

/*-------------------------------------------------------------------------
 * shuttle_own_triggers.h
 *	  Triggers that the extension makes: those of global unique indexes and of foreign keys.
 *
 * They only note rows, so whoever writes rows may note them itself, if a table has no others.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_OWN_TRIGGERS_H
#define SHUTTLE_TABLETS_OWN_TRIGGERS_H

#include "nodes/parsenodes.h"
#include "utils/reltrigger.h"

/* True if a table has one. */
extern bool shuttle_own_triggers_exist(const TriggerDesc *triggers);

/* True if a table has no triggers but ours. */
extern bool shuttle_own_triggers_are_all(const TriggerDesc *triggers);

/* True if the AFTER ROW triggers for an event (TRIGGER_TYPE_INSERT or TRIGGER_TYPE_DELETE) are all
 * ours, and there is one. */
extern bool shuttle_own_triggers_note_rows(const TriggerDesc *triggers, int16 event);

/* True if triggers of a statement's target, ours or others, have something to do for it. */
extern bool shuttle_own_triggers_fire(const Query *query, Oid relid);

/* True if one of them notes rows for global indexes. */
extern bool shuttle_own_triggers_keep_entries(const TriggerDesc *triggers);

#endif							/* SHUTTLE_TABLETS_OWN_TRIGGERS_H */

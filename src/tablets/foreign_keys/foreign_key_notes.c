/*-------------------------------------------------------------------------
 * foreign_key_notes.c
 *	  Rows that statements write, as keys to be checked.
 *
 * A trigger for rows notes keys: of rows of the child what they refer to, of rows of
 * the parent what they were. A trigger for the end of the statement has them checked
 * (foreign_key_queue.c). The executor notes rows itself if no other trigger has to see them.
 *
 * Memory: noted keys are copied into their queue.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "tablets/foreign_keys/foreign_key_queue.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_foreign_key_change);

/* ---- rows */

/* The attributes of the relation whose rows come; tablets may have other numbers. */
static void
find_attributes(ShuttleKeyQueue *queue, Relation rel)
{
	const AttrNumber *columns = queue->of_parent ? queue->key->parent_columns : queue->key->child_columns;
	Oid			relid = RelationGetRelid(rel);

	if (queue->rows_relid == relid)
		return;
	for (int i = 0; i < queue->key->ncolumns; i++)
		queue->attributes[i] = relid == queue->relid ? columns[i] :
			get_attnum(relid, get_attname(queue->relid, columns[i], false));
	queue->rows_relid = relid;
}

/* Reads a row's key. Returns the number of its NULLs. */
static int
read_key(const ShuttleKeyQueue *queue, TupleTableSlot *slot, Datum *values, bool *nulls)
{
	int			nnulls = 0;

	for (int i = 0; i < queue->key->ncolumns; i++)
	{
		values[i] = slot_getattr(slot, queue->attributes[i], &nulls[i]);
		nnulls += nulls[i];
	}
	return nnulls;
}

static bool
keys_are_equal(const ShuttleKeyQueue *queue, const Datum *one, const bool *one_nulls, const Datum *other, const bool *other_nulls)
{
	for (int i = 0; i < queue->key->ncolumns; i++)
	{
		if (one_nulls[i] != other_nulls[i])
			return false;
		if (!one_nulls[i] && !datum_image_eq(one[i], other[i], queue->by_value[i], queue->length[i]))
			return false;
	}
	return true;
}

/* True if an UPDATE left a child's key as it was: it was checked before, or is noted. */
static bool
has_equal_keys(const ShuttleKeyQueue *queue, TupleTableSlot *old_slot, TupleTableSlot *new_slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	Datum		new_values[INDEX_MAX_KEYS];
	bool		new_nulls[INDEX_MAX_KEYS];

	(void) read_key(queue, old_slot, values, nulls);
	(void) read_key(queue, new_slot, new_values, new_nulls);
	return keys_are_equal(queue, values, nulls, new_values, new_nulls);
}

static void
note_child(ShuttleKeyQueue *queue, TupleTableSlot *slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	int			nnulls = read_key(queue, slot, values, nulls);

	if (nnulls == 0)
		shuttle_foreign_key_queue_add(queue, values, NULL, NULL);
	else if (queue->key->match == FKCONSTR_MATCH_FULL && nnulls < queue->key->ncolumns)
		shuttle_foreign_key_queue_add(queue, values, NULL, nulls);
}

static void
note_parent(ShuttleKeyQueue *queue, TupleTableSlot *old_slot, TupleTableSlot *new_slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	Datum		new_values[INDEX_MAX_KEYS];
	bool		new_nulls[INDEX_MAX_KEYS];

	if (read_key(queue, old_slot, values, nulls) > 0)
		return;
	if (new_slot == NULL)
	{
		shuttle_foreign_key_queue_add(queue, values, NULL, NULL);
		return;
	}
	(void) read_key(queue, new_slot, new_values, new_nulls);
	if (!keys_are_equal(queue, values, nulls, new_values, new_nulls))
		shuttle_foreign_key_queue_add(queue, values, new_values, new_nulls);
}

/* ALTER TABLE ... DISABLE TRIGGER ALL of a distributed table reaches the trigger of
 * statements, which is the table's own. A command cannot change that for its own rows. */
static bool
is_switched_off(ShuttleKeyQueue *queue)
{
	Relation	rel;
	const TriggerDesc *triggers;

	if (queue->rows_relid == queue->relid)
		return false;
	if (queue->looked_at == GetCurrentCommandId(false))
		return queue->is_off;
	queue->looked_at = GetCurrentCommandId(false);
	queue->is_off = false;
	rel = table_open(queue->relid, AccessShareLock);
	triggers = rel->trigdesc;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (trigger->tgconstraint == queue->key->oid &&
			(TRIGGER_FOR_DELETE(trigger->tgtype) != 0) == queue->of_parent)
			queue->is_off |= trigger->tgenabled == TRIGGER_DISABLED;
	}
	table_close(rel, NoLock);
	return queue->is_off;
}

static void
note_row(TriggerData *trigger, bool of_parent)
{
	ShuttleKeyQueue *queue = shuttle_foreign_key_queue_find(trigger->tg_trigger->tgconstraint, of_parent);
	bool		is_update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);

	if (queue == NULL)
		queue = shuttle_foreign_key_queue_make(trigger->tg_trigger->tgconstraint, of_parent);
	find_attributes(queue, trigger->tg_relation);
	if (is_switched_off(queue))
		return;
	if (of_parent)
		note_parent(queue, trigger->tg_trigslot, is_update ? trigger->tg_newslot : NULL);
	else if (!is_update)
		note_child(queue, trigger->tg_trigslot);
	else if (!has_equal_keys(queue, trigger->tg_trigslot, trigger->tg_newslot))
		note_child(queue, trigger->tg_newslot);
}

/* ---- rows that core fires no triggers for */

static bool
is_ours(const Trigger *trigger)
{
	return trigger->tgisinternal && OidIsValid(trigger->tgconstraint) && trigger->tgenabled != TRIGGER_DISABLED &&
		TRIGGER_FOR_ROW(trigger->tgtype) && shuttle_foreign_key_has_trigger(trigger->tgfoid);
}

/* Core fires none of these triggers in a session that replicates. */
static ShuttleKeyQueue *
queue_of_row(Relation tablet, const Trigger *trigger, bool of_parent)
{
	ShuttleKeyQueue *queue;

	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA || !is_ours(trigger) ||
		(TRIGGER_FOR_DELETE(trigger->tgtype) != 0) != of_parent)
		return NULL;
	queue = shuttle_foreign_key_queue_find(trigger->tgconstraint, of_parent);
	if (queue == NULL)
		queue = shuttle_foreign_key_queue_make(trigger->tgconstraint, of_parent);
	find_attributes(queue, tablet);
	return is_switched_off(queue) ? NULL : queue;
}

void
shuttle_foreign_key_note_insert(Relation tablet, TupleTableSlot *row)
{
	const TriggerDesc *triggers = tablet->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		ShuttleKeyQueue *queue = queue_of_row(tablet, &triggers->triggers[i], false);

		if (queue != NULL)
			note_child(queue, row);
	}
}

/* True if the row had the key before an UPDATE. */
static bool
had_key(const ShuttleKeyQueue *queue, TupleDesc desc, HeapTuple old_row, const Datum *values, const bool *nulls)
{
	Datum		old_values[INDEX_MAX_KEYS];
	bool		old_nulls[INDEX_MAX_KEYS];

	for (int i = 0; i < queue->key->ncolumns; i++)
		old_values[i] = heap_getattr(old_row, queue->attributes[i], desc, &old_nulls[i]);
	return keys_are_equal(queue, old_values, old_nulls, values, nulls);
}

void
shuttle_foreign_key_expect(Relation tablet, HeapTuple old_row, TupleTableSlot *row)
{
	const TriggerDesc *triggers = tablet->trigdesc;
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		ShuttleKeyQueue *queue = queue_of_row(tablet, &triggers->triggers[i], false);

		if (queue != NULL && read_key(queue, row, values, nulls) == 0 &&
			!(old_row != NULL && had_key(queue, RelationGetDescr(tablet), old_row, values, nulls)))
			shuttle_foreign_key_queue_expect(queue, values);
	}
}

void
shuttle_foreign_key_note_move(Relation tablet, HeapTuple old_row, TupleTableSlot *new_row)
{
	const TriggerDesc *triggers = tablet->trigdesc;
	TupleTableSlot *old_slot = MakeSingleTupleTableSlot(RelationGetDescr(tablet), &TTSOpsHeapTuple);

	ExecStoreHeapTuple(old_row, old_slot, false);
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		ShuttleKeyQueue *queue = queue_of_row(tablet, &triggers->triggers[i], true);

		if (queue != NULL)
			note_parent(queue, old_slot, new_row);
	}
	ExecDropSingleTupleTableSlot(old_slot);
}

/* shuttle.foreign_key_change(): trigger of both tables of a foreign key */
Datum
shuttle_foreign_key_change(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	ShuttleKeyQueue *queue;
	bool		of_parent;

	/* anybody may make a constraint trigger; its constraint is no key */
	if (!CALLED_AS_TRIGGER(fcinfo) || !OidIsValid(trigger->tg_trigger->tgconstraint) || !trigger->tg_trigger->tgisinternal)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by a trigger of a foreign key")));
	of_parent = TRIGGER_FOR_DELETE(trigger->tg_trigger->tgtype) != 0;
	if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		note_row(trigger, of_parent);
	else if ((queue = shuttle_foreign_key_queue_find(trigger->tg_trigger->tgconstraint, of_parent)) != NULL)
		shuttle_foreign_key_queue_end_statement(queue);
	return PointerGetDatum(NULL);
}

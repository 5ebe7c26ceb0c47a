/*-------------------------------------------------------------------------
 * foreign_key_queue.c
 *	  Keys that statements wrote, until they are checked.
 *
 * The end of the statement has all keys checked that were noted (foreign_key_notes.c), or the key's actions done, by one request a node; for a deferred constraint
 * that happens at SET CONSTRAINTS or before the commit. A check looks at what there is
 * then, not at the rows that were noted: a child's row that is gone again is no error.
 *
 * Statements of ours for actions fire their triggers when core is done with the outer
 * statement's, as core's own do, so that a check comes behind all cascades.
 *
 * A statement within another one, as of a function or trigger, checks its own keys: those of the outer one wait
 * for the outer one's end.
 *
 * Savepoints: keys belong to the nest level of their statement. Those of an outer level
 * are not checked inside of another one, or a rollback would give up the locks.
 *
 * Memory: queues live in TopTransactionContext, each in a context of its own.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "tablets/foreign_keys/foreign_key_queue.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

/* What SET CONSTRAINTS said. */
typedef struct Setting
{
	Oid			constraint;		/* InvalidOid: all */
	bool		deferred;
	int			level;
} Setting;

/* From here on a child's keys are looked up before the statement ends, and those that have
 * parents are forgotten. Those that are left are looked up when they have doubled. */
#define MOST_KEYS 50000

static List *queues = NIL;		/* of ShuttleKeyQueue */
static List *settings = NIL;	/* of Setting, the last one counts */
static uint64 nnoted = 0;		/* keys of this session */

/* ---- queues */

ShuttleKeyQueue *
shuttle_foreign_key_queue_make(Oid constraint, bool of_parent)
{
	MemoryContext cxt = AllocSetContextCreate(TopTransactionContext, "shuttle foreign key", ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleKeyQueue *queue = palloc0_object(ShuttleKeyQueue);

	queue->cxt = cxt;
	queue->key = shuttle_foreign_key_load(constraint);
	queue->of_parent = of_parent;
	queue->relid = of_parent ? queue->key->parent : queue->key->child;
	for (int i = 0; i < queue->key->ncolumns; i++)
		get_typlenbyval(get_atttype(queue->relid, (of_parent ? queue->key->parent_columns : queue->key->child_columns)[i]),
						&queue->length[i], &queue->by_value[i]);
	queue->looked_at = InvalidCommandId;
	queue->most_keys = MOST_KEYS;
	if (!of_parent)
		queue->known = shuttle_foreign_key_list_hash(cxt, false);
	MemoryContextSwitchTo(TopTransactionContext);
	queues = lappend(queues, queue);
	MemoryContextSwitchTo(old_cxt);
	return queue;
}

ShuttleKeyQueue *
shuttle_foreign_key_queue_find(Oid constraint, bool of_parent)
{
	ListCell   *cell;

	foreach(cell, queues)
	{
		ShuttleKeyQueue *queue = lfirst(cell);

		if (queue->key->oid == constraint && queue->of_parent == of_parent)
			return queue;
	}
	return NULL;
}

static List *
take_ended(ShuttleKeyQueue *queue)
{
	return shuttle_foreign_key_list_take(queue, &queue->ended, 0);
}

static void
put_back(ShuttleKeyQueue *queue, const List *keys)
{
	shuttle_foreign_key_list_give(queue, &queue->ended, keys);
}

static void
drop_if_empty(ShuttleKeyQueue *queue)
{
	if (queue->ended != NIL || queue->running != NIL || queue->nusers > 0)
		return;
	queues = list_delete_ptr(queues, queue);
	MemoryContextDelete(queue->cxt);
}

/* ---- keys that are asked for while their rows are written */

/* More keys are worth a round trip of their own. */
#define MOST_EXPECTED 1000

static void
forget_expected(ShuttleKeyQueue *queue)
{
	queue->expected = queue->asked_keys = NIL;
	queue->asked = NULL;
	queue->found = NULL;
}

/* Without the keys that the answer settles: those whose parents were found, as these are locked, and those
 * parents' keys that had no children. The others are looked for again, as the node may have been asked before it
 * had the parents, or before an action took the children away. A parent's key that was noted behind the
 * question is not settled, as the parent may have come again, and have got children. */
static List *
leave_out_settled(ShuttleKeyQueue *queue, List *keys)
{
	List	   *rest = NIL;
	HTAB	   *settled;
	ListCell   *cell;

	if (queue->asked == NULL)
		return keys;
	if (queue->found == NULL)
	{
		queue->found = MemoryContextAllocZero(queue->cxt, list_length(queue->asked_keys) * sizeof(bool));
		shuttle_foreign_key_search_read(queue->asked, queue->found);
	}
	settled = shuttle_foreign_key_list_hash(CurrentMemoryContext, true);
	foreach(cell, queue->asked_keys)
	{
		if (queue->of_parent)
			((ShuttleKeyValues *) lfirst(cell))->settled = !queue->found[foreach_current_index(cell)];
		else if (queue->found[foreach_current_index(cell)])
			(void) shuttle_foreign_key_list_search(queue, settled, lfirst(cell), HASH_ENTER);
	}
	foreach(cell, keys)
	{
		if (!((ShuttleKeyValues *) lfirst(cell))->settled &&
			!shuttle_foreign_key_list_search(queue, settled, lfirst(cell), HASH_FIND))
			rest = lappend(rest, lfirst(cell));
	}
	return rest;
}

/* Asks for what some keys of a queue need, and does not wait. */
static void
ask(ShuttleKeyQueue *queue, List *keys, bool flushes)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(queue->cxt);

	queue->asked_keys = list_copy(keys);
	queue->expected = NIL;
	queue->asked_level = GetCurrentTransactionNestLevel();
	queue->asked = shuttle_foreign_key_ask_other(queue->key, queue->of_parent, queue->asked_keys, flushes);
	MemoryContextSwitchTo(old_cxt);
}

/* ---- when keys are checked */

static bool
is_deferred(const ShuttleForeignKey *key)
{
	if (!key->deferrable)
		return false;
	for (int i = list_length(settings) - 1; i >= 0; i--)
	{
		const Setting *setting = list_nth(settings, i);

		if (!OidIsValid(setting->constraint) || setting->constraint == key->oid)
			return setting->deferred;
	}
	return key->deferred;
}

static bool
only_checks(char action)
{
	return action == FKCONSTR_ACTION_NOACTION;
}

/* Keys of the parent's rows that were deleted, or those that were updated. */
static List *
of_kind(const List *keys, bool deleted)
{
	List	   *found = NIL;
	const ListCell *cell;

	foreach(cell, keys)
	{
		if ((((ShuttleKeyValues *) lfirst(cell))->new_values == NULL) == deleted)
			found = lappend(found, lfirst(cell));
	}
	return found;
}

/* True if nothing is done with the key but to look for children. */
static bool
only_looks(const ShuttleForeignKey *key, const ShuttleKeyValues *values)
{
	char		action = values->new_values == NULL ? key->on_delete : key->on_update;

	return action == FKCONSTR_ACTION_NOACTION || action == FKCONSTR_ACTION_RESTRICT;
}

/* Those keys of the list's tail that a question settles. */
static List *
keys_to_ask(const ShuttleKeyQueue *queue, const List *keys, int depth)
{
	List	   *chosen = NIL;

	for (int i = shuttle_foreign_key_list_tail(keys, depth); i < list_length(keys); i++)
	{
		ShuttleKeyValues *values = list_nth(keys, i);

		if (queue->of_parent ? only_looks(queue->key, values) : values->nulls == NULL)
			chosen = lappend(chosen, values);
	}
	return chosen;
}

/* Keys are noted by now if the executor notes rows itself, or rows move (write_move.c). */
void
shuttle_foreign_key_ask(void)
{
	ListCell   *cell;

	foreach(cell, queues)
	{
		ShuttleKeyQueue *queue = lfirst(cell);
		List	   *keys = queue->expected;

		if (queue->asked != NULL || is_deferred(queue->key))
			continue;
		if (keys == NIL)
			keys = list_truncate(keys_to_ask(queue, queue->running, shuttle_statement_depth()), MOST_EXPECTED);
		if (keys != NIL)
			ask(queue, keys, false);
	}
}

/* Asks at once for what all checks of a table (InvalidOid: of all) need that are due, so that they
 * take one round trip. */
static void
ask_together(Oid relid, bool at_end)
{
	ListCell   *cell;

	foreach(cell, queues)
	{
		ShuttleKeyQueue *queue = lfirst(cell);
		List	   *keys;

		if (queue->asked != NULL || (OidIsValid(relid) && queue->relid != relid) ||
			(!at_end && is_deferred(queue->key)) ||
			!SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(queue->key->oid)))
			continue;
		keys = keys_to_ask(queue, queue->ended, 0);
		if (keys != NIL)
			ask(queue, keys, true);
	}
}

/* Only NO ACTION can be deferred. Returns the keys that wait. */
static List *
act_on_parents(ShuttleKeyQueue *queue, List *keys, bool checks)
{
	const ShuttleForeignKey *key = queue->key;
	List	   *waiting = NIL;

	for (int deleted = 1; deleted >= 0; deleted--)
	{
		List	   *part = of_kind(keys, deleted != 0);

		if (part == NIL)
			continue;
		if (!checks && only_checks(deleted != 0 ? key->on_delete : key->on_update))
			waiting = list_concat(waiting, part);
		else
			shuttle_foreign_key_act(key, part, deleted != 0);
	}
	return waiting;
}

/* ---- RESTRICT beside actions on the same table */

/* A parent's key that is due. */
typedef struct Act
{
	ShuttleKeyQueue *queue;
	ShuttleKeyValues *values;
} Act;

static bool
has_kind(const ShuttleKeyQueue *queue, const List *keys, bool restricts)
{
	const ListCell *cell;

	foreach(cell, keys)
	{
		const ShuttleKeyValues *values = lfirst(cell);
		char		action = values->new_values == NULL ? queue->key->on_delete : queue->key->on_update;

		if (restricts ? action == FKCONSTR_ACTION_RESTRICT : !only_looks(queue->key, values))
			return true;
	}
	return false;
}

/* True if another key's action is due that deletes or changes rows of the same child. */
static bool
has_action_beside(const ShuttleKeyQueue *restricting)
{
	ListCell   *cell;

	foreach(cell, queues)
	{
		const ShuttleKeyQueue *acting = lfirst(cell);

		if (acting->of_parent && acting->relid == restricting->relid &&
			acting->key->child == restricting->key->child && has_kind(acting, acting->ended, false))
			return true;
	}
	return false;
}

/*
 * True if several rows were written, and RESTRICT of one key may find a row of the child that an action of
 * another key deletes or changes: what comes first decides then. Waits for what RESTRICT has asked for, if such
 * an action is due.
 */
static bool
order_matters(const ShuttleKeyQueue *queue)
{
	ListCell   *cell;

	foreach(cell, list_length(queue->ended) > 1 ? queues : NIL)
	{
		ShuttleKeyQueue *restricting = lfirst(cell);

		if (restricting->of_parent && restricting->relid == queue->relid &&
			has_kind(restricting, restricting->ended, true) && has_action_beside(restricting) &&
			has_kind(restricting, leave_out_settled(restricting, restricting->ended), true))
			return true;
	}
	return false;
}

static int
compare_numbers(const ListCell *one, const ListCell *other)
{
	uint64		a = ((Act *) lfirst(one))->values->number;
	uint64		b = ((Act *) lfirst(other))->values->number;

	return a < b ? -1 : a > b;
}

/* Takes what is to be done with a parent's keys off its queue; those that are only checked stay. */
static List *
take_acts(ShuttleKeyQueue *queue)
{
	List	   *acts = NIL;
	List	   *rest = NIL;
	ListCell   *cell;

	foreach(cell, leave_out_settled(queue, take_ended(queue)))
	{
		ShuttleKeyValues *values = lfirst(cell);
		Act		   *act;

		if (only_checks(values->new_values == NULL ? queue->key->on_delete : queue->key->on_update))
		{
			rest = lappend(rest, values);
			continue;
		}
		act = palloc_object(Act);
		act->queue = queue;
		act->values = values;
		acts = lappend(acts, act);
	}
	put_back(queue, rest);
	return acts;
}

/* Acts on all keys of a parent as PostgreSQL does: row by row, on the keys of a row in their order. */
static void
act_by_row(Oid relid)
{
	List	   *users = NIL;
	List	   *acts = NIL;
	ListCell   *cell;

	foreach(cell, queues)
	{
		ShuttleKeyQueue *queue = lfirst(cell);

		if (!queue->of_parent || queue->relid != relid ||
			!SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(queue->key->oid)))
			continue;
		queue->nusers++;
		users = lappend(users, queue);
		acts = list_concat(acts, take_acts(queue));
	}
	list_sort(acts, compare_numbers);
	foreach(cell, acts)
	{
		const Act  *act = lfirst(cell);

		shuttle_foreign_key_act(act->queue->key, list_make1(act->values), act->values->new_values == NULL);
	}
	foreach(cell, users)
	{
		ShuttleKeyQueue *queue = lfirst(cell);

		queue->nusers--;
		drop_if_empty(queue);
	}
}

static void
check_keys(ShuttleKeyQueue *queue, bool checks)
{
	if (!SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(queue->key->oid)))
		list_free(take_ended(queue));	/* dropped meanwhile */
	else if (queue->of_parent)
	{
		List	   *keys = take_ended(queue);

		put_back(queue, act_on_parents(queue, leave_out_settled(queue, keys), checks));
	}
	else if (checks)
	{
		List	   *keys = leave_out_settled(queue, take_ended(queue));

		shuttle_foreign_key_check_missing(queue->key, shuttle_foreign_key_missing(queue->key, keys));
	}
}

/* Keys whose parents are there are locked, and forgotten; a parent that comes later is none yet. */
static void
look_up_early(ShuttleKeyQueue *queue, List **keys, int depth)
{
	MemoryContext work_cxt;
	MemoryContext old_cxt;
	List	   *taken;

	if (queue->of_parent || list_length(*keys) < queue->most_keys)
		return;
	work_cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle foreign key check", ALLOCSET_DEFAULT_SIZES);
	old_cxt = MemoryContextSwitchTo(work_cxt);
	taken = shuttle_foreign_key_list_take(queue, keys, depth);
	shuttle_foreign_key_list_give(queue, keys, shuttle_foreign_key_missing(queue->key, taken));
	queue->most_keys = Max(MOST_KEYS, 2 * list_length(*keys));
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(work_cxt);
}

/* What actions fire may come here again. */
static void
check_queue(ShuttleKeyQueue *queue, bool at_end)
{
	MemoryContext work_cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle foreign key check",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(work_cxt);

	queue->nusers++;
	ask_together(at_end ? InvalidOid : queue->relid, at_end);
	if (queue->of_parent && order_matters(queue))
		act_by_row(queue->relid);
	check_keys(queue, at_end || !is_deferred(queue->key));
	queue->nusers--;
	forget_expected(queue);
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(work_cxt);
	drop_if_empty(queue);
}

/* All queues of the table, as they ask together, and their keys may have to be acted on row by row. */
void
shuttle_foreign_key_queue_end_statement(ShuttleKeyQueue *queue)
{
	ListCell   *cell;

	foreach(cell, queues)
	{
		ShuttleKeyQueue *other = lfirst(cell);

		if (other->relid == queue->relid)
			shuttle_foreign_key_list_end(other, shuttle_statement_depth());
	}
	look_up_early(queue, &queue->ended, 0);
	check_queue(queue, false);
}

/* Keys of levels around a savepoint are checked, and stay: it may be rolled back with their parents. */
static void
check_outer_keys(ShuttleKeyQueue *queue)
{
	const ShuttleForeignKey *key = queue->key;
	int			level = GetCurrentTransactionNestLevel();
	List	   *outer = NIL;
	ListCell   *cell;

	if (!key->deferrable || !SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(key->oid)))
		return;
	foreach(cell, queue->ended)
	{
		ShuttleKeyValues *values = lfirst(cell);

		if (values->level < level &&
			(!queue->of_parent || only_checks(values->new_values == NULL ? key->on_delete : key->on_update)))
			outer = lappend(outer, values);
	}
	if (queue->of_parent)
		shuttle_foreign_key_check_left(key, outer, false);
	else
		shuttle_foreign_key_check_missing(key, shuttle_foreign_key_missing(key, outer));
}

void
shuttle_foreign_key_set(Oid constraint, bool deferred)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(TopTransactionContext);
	Setting    *setting = palloc0_object(Setting);
	List	   *all;
	ListCell   *cell;

	setting->constraint = constraint;
	setting->deferred = deferred;
	setting->level = GetCurrentTransactionNestLevel();
	settings = lappend(settings, setting);
	MemoryContextSwitchTo(old_cxt);
	all = list_copy(queues);
	foreach(cell, deferred ? NIL : all)
	{
		ShuttleKeyQueue *queue = lfirst(cell);

		if (OidIsValid(constraint) && queue->key->oid != constraint)
			continue;
		if (!OidIsValid(constraint))
			ask_together(InvalidOid, false);
		check_outer_keys(queue);
		check_queue(queue, false);
	}
}

void
shuttle_foreign_key_refuse_pending(Oid relid, const char *command)
{
	ListCell   *cell;

	foreach(cell, queues)
	{
		const ShuttleKeyQueue *queue = lfirst(cell);

		if (queue->relid == relid && (queue->ended != NIL || queue->running != NIL))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot %s \"%s\" because it has pending trigger events", command, get_rel_name(relid))));
	}
}

/* ---- keys that are noted */

static Datum *
copy_values(const ShuttleKeyQueue *queue, const Datum *values, const bool *nulls)
{
	Datum	   *copy = palloc0_array(Datum, queue->key->ncolumns);

	for (int i = 0; i < queue->key->ncolumns; i++)
	{
		if (nulls == NULL || !nulls[i])
			copy[i] = datumCopy(values[i], queue->by_value[i], queue->length[i]);
	}
	return copy;
}

void
shuttle_foreign_key_queue_add(ShuttleKeyQueue *queue, const Datum *values, const Datum *new_values, const bool *nulls)
{
	ShuttleKeyValues probe = {
		.level = GetCurrentTransactionNestLevel(),
		.depth = shuttle_statement_depth(),
		.userid = GetUserId(),
		.values = unconstify(Datum *, values),
		.nulls = unconstify(bool *, nulls),
	};
	ShuttleKeyValues *found;
	MemoryContext old_cxt;

	if (queue->known != NULL && shuttle_foreign_key_list_search(queue, queue->known, &probe, HASH_FIND))
		return;
	old_cxt = MemoryContextSwitchTo(queue->cxt);
	found = palloc0_object(ShuttleKeyValues);
	found->level = probe.level;
	found->depth = probe.depth;
	found->userid = probe.userid;
	found->number = ++nnoted;
	found->values = copy_values(queue, values, queue->of_parent ? NULL : nulls);
	if (new_values != NULL)
		found->new_values = copy_values(queue, new_values, nulls);
	if (nulls != NULL)
	{
		found->nulls = palloc0_array(bool, queue->key->ncolumns);
		memcpy(found->nulls, nulls, sizeof(bool) * queue->key->ncolumns);
	}
	queue->running = lappend(queue->running, found);
	if (queue->known != NULL)
		(void) shuttle_foreign_key_list_search(queue, queue->known, found, HASH_ENTER);
	MemoryContextSwitchTo(old_cxt);
	look_up_early(queue, &queue->running, probe.depth);
}

void
shuttle_foreign_key_queue_expect(ShuttleKeyQueue *queue, const Datum *values)
{
	MemoryContext old_cxt;
	ShuttleKeyValues *expected;

	if (queue->asked != NULL || list_length(queue->expected) >= MOST_EXPECTED || is_deferred(queue->key))
		return;
	old_cxt = MemoryContextSwitchTo(queue->cxt);
	expected = palloc0_object(ShuttleKeyValues);
	expected->userid = GetUserId();
	expected->values = copy_values(queue, values, NULL);
	queue->expected = lappend(queue->expected, expected);
	MemoryContextSwitchTo(old_cxt);
}

/* ---- the end of transactions and savepoints */

/* What is deferred, and keys of statements that named a tablet. */
static void
check_rest(void)
{
	if (queues == NIL)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	while (queues != NIL)
	{
		ShuttleKeyQueue *queue = linitial(queues);

		queue->nusers = 0;		/* a check that failed in a savepoint */
		AfterTriggerBeginQuery();	/* for triggers of what actions write */
		shuttle_foreign_key_list_end(queue, 0);
		check_queue(queue, true);
		AfterTriggerEndQuery(NULL);
	}
	PopActiveSnapshot();

	/* actions may have written tables with deferred triggers of core */
	AfterTriggerFireDeferred();
}

void
shuttle_foreign_key_queue_end_transaction(XactEvent event)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
	{
		check_rest();
		return;
	}
	queues = NIL;
	settings = NIL;
}

void
shuttle_foreign_key_queue_end_savepoint(SubXactEvent event)
{
	int			level = GetCurrentTransactionNestLevel();
	bool		is_abort = event == SUBXACT_EVENT_ABORT_SUB;
	ListCell   *cell;

	if (!is_abort && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	foreach(cell, queues)
	{
		ShuttleKeyQueue *queue = lfirst(cell);

		if (!is_abort)
		{
			shuttle_foreign_key_list_raise(queue->running, level - 1);
			shuttle_foreign_key_list_raise(queue->ended, level - 1);
			continue;
		}
		list_free(shuttle_foreign_key_list_take(queue, &queue->running, 0));
		list_free(take_ended(queue));
		if (queue->asked_level >= level)
			forget_expected(queue);
	}
	foreach(cell, settings)
	{
		Setting    *setting = lfirst(cell);

		if (setting->level < level)
			continue;
		if (is_abort)
			settings = foreach_delete_current(settings, cell);
		else
			setting->level = level - 1;
	}
}

/*-------------------------------------------------------------------------
 * upsert_rows.c
 *	  Rows of one table that an INSERT with ON CONFLICT DO UPDATE has not
 *	  inserted, and the stored rows that they conflict with.
 *
 * The node's INSERT says DO NOTHING, and returns the rows that it inserted, in
 * the order in which they were sent: so their keys tell which they are. For the
 * others the stored rows are locked and read in one request, in that order, too.
 *
 * Rule: nothing on the node may change or skip rows, or their keys could not be
 * recognized: then the statement is refused.
 * Memory: kept rows are in rows_cxt, reset when they are done with; all else is
 * in the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/facts/scan_facts.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_upsert_triggers.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/conflict_rows.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "tablets/shuttle_tablets.h"

/* Columns of the request's answer before those of the stored row. */
enum LockColumn
{
	LOCK_ORDINAL,
	LOCK_CTID,
	LOCK_TABLEOID,
	LOCK_IS_OWN,
	LOCK_COMMAND,
	LOCK_COLUMNS
};

bool
shuttle_upsert_is_in(const ModifyTable *plan)
{
	return plan != NULL && plan->onConflictAction == ONCONFLICT_UPDATE &&
		shuttle_on_conflict_is_in(plan);
}

/* ---- creating */

/* The columns that a node stores. written: without those that it computes. */
static List *
stored_attributes(Relation rel, bool written)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *numbers = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped &&
			attribute->attgenerated != ATTRIBUTE_GENERATED_VIRTUAL &&
			!(written && attribute->attgenerated))
			numbers = lappend_int(numbers, i + 1);
	}
	return numbers;
}

/* Another write of the INSERT's table. */
static ShuttleWrite *
create_beside(ShuttleWrite *insert, CmdType operation, List *targets, List *returned)
{
	ShuttleWrite *write = palloc0_object(ShuttleWrite);

	write->node = insert->node;
	write->target = insert->target;
	write->rel = insert->rel;
	write->estate = insert->estate;
	write->operation = operation;
	write->storage_node = insert->storage_node;
	write->update = insert;
	write->postgres_fdw.target_attributes = targets;
	write->postgres_fdw.attributes = returned;
	write->batch_size = 1;
	write->decided = true;
	shuttle_write_collect_values(write);
	write->work_cxt = AllocSetContextCreate(insert->estate->es_query_cxt,
											"shuttle conflicting row", ALLOCSET_SMALL_SIZES);
	return write;
}

/* Refuses a clause that uses columns of EXCLUDED that are left to the node. */
static void
check_excluded(const ShuttleWrite *insert)
{
	const ModifyTable *plan = castNode(ModifyTable, insert->node->ps.plan);
	Relation	root = insert->node->rootResultRelInfo->ri_RelationDesc;
	Bitmapset  *used = NULL;
	int			member = -1;

	pull_varattnos((Node *) plan->onConflictSet, INNER_VAR, &used);
	pull_varattnos(plan->onConflictWhere, INNER_VAR, &used);
	while ((member = bms_next_member(used, member)) >= 0)
	{
		AttrNumber	number = member + FirstLowInvalidHeapAttributeNumber;
		List	   *needed = number == 0 ? stored_attributes(insert->rel, true) : NIL;
		ListCell   *cell;

		if (number > 0)
			needed = list_make1_int(get_attnum(RelationGetRelid(insert->rel),
											   get_attname(RelationGetRelid(root), number, false)));
		foreach(cell, needed)
		{
			if (!TupleDescAttr(RelationGetDescr(insert->rel), lfirst_int(cell) - 1)->attgenerated &&
				!list_member_int(insert->postgres_fdw.target_attributes, lfirst_int(cell)))
				shuttle_conflict_rows_refuse_default(insert, lfirst_int(cell));
		}
	}
}

/* True if SET may give a row another key, which a later row may have: that must
 * not be inserted before. */
static bool
sets_key(const ShuttleWrite *insert, const ModifyTable *plan)
{
	Relation	root = insert->node->rootResultRelInfo->ri_RelationDesc;
	ListCell   *column;
	ListCell   *value;

	forboth(column, plan->onConflictCols, value, plan->onConflictSet)
	{
		const Var  *var = (const Var *) lfirst_node(TargetEntry, value)->expr;
		const char *name = get_attname(RelationGetRelid(root), lfirst_int(column), false);

		if (list_member_int(shuttle_on_conflict_arbiters(insert),
							get_attnum(RelationGetRelid(insert->rel), name)) &&
			!(IsA(var, Var) && var->varattno == lfirst_int(column)))
			return true;
	}
	return false;
}

static bool
goes_by_row(const ShuttleWrite *insert)
{
	const ModifyTable *plan = castNode(ModifyTable, insert->node->ps.plan);

	return !shuttle_settings.enable_write_buffer || sets_key(insert, plan) ||
		!shuttle_upsert_triggers_are_quiet(insert->target->ri_TrigDesc, insert->rel,
										   shuttle_on_conflict_arbiters(insert)) ||
		contain_subplans((Node *) insert->target->ri_WithCheckOptions) ||
		contain_volatile_functions((Node *) plan->onConflictSet) ||
		contain_volatile_functions(plan->onConflictWhere);
}

/* What the UPDATE returns: AFTER triggers see whole rows. */
static List *
returned_attributes(const ShuttleWrite *insert)
{
	const TriggerDesc *triggers = insert->target->ri_TrigDesc;

	if (triggers == NULL || !triggers->trig_update_after_row)
		return insert->postgres_fdw.attributes;
	return list_union_int(insert->postgres_fdw.attributes, stored_attributes(insert->rel, false));
}

void
shuttle_upsert_create(ShuttleWrite *insert)
{
	MemoryContext cxt = insert->estate->es_query_cxt;
	ShuttleUpsert *upsert = palloc0_object(ShuttleUpsert);

	check_excluded(insert);
	upsert->insert = insert;
	upsert->changes = create_beside(insert, CMD_UPDATE, stored_attributes(insert->rel, true),
									returned_attributes(insert));
	upsert->changes->upsert = upsert;
	upsert->keys = create_beside(insert, CMD_INSERT, shuttle_on_conflict_arbiters(insert), NIL);
	upsert->attributes = stored_attributes(insert->rel, false);
	upsert->decoder = shuttle_row_decoder_create(RelationGetDescr(insert->rel), upsert->attributes,
												 LOCK_COLUMNS, insert->rel, insert->storage_node, cxt);
	upsert->by_row = goes_by_row(insert);
	upsert->is_first = !shuttle_node_wrote(insert->storage_node);
	upsert->excluded = ExecInitExtraTupleSlot(insert->estate, RelationGetDescr(insert->rel),
											  &TTSOpsMinimalTuple);
	upsert->rows_cxt = AllocSetContextCreate(cxt, "shuttle conflicting rows",
											 ALLOCSET_DEFAULT_SIZES);
	insert->upsert = upsert;
}

/* ---- rows that were not inserted */

static bool
has_key(const ShuttleUpsert *upsert, HeapTuple row)
{
	TupleDesc	desc = RelationGetDescr(upsert->insert->rel);

	for (int i = 0; i < upsert->keys->nattributes; i++)
	{
		AttrNumber	number = upsert->keys->attributes[i];
		Form_pg_attribute attribute = TupleDescAttr(desc, number - 1);
		bool		is_null;
		bool		sent_null;
		Datum		value = heap_getattr(row, number, desc, &is_null);
		Datum		sent = slot_getattr(upsert->excluded, number, &sent_null);

		if (is_null != sent_null ||
			(!is_null && !datum_image_eq(value, sent, attribute->attbyval, attribute->attlen)))
			return false;
	}
	return true;
}

pg_noreturn static void
refuse_changes(const ShuttleUpsert *upsert, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("ON CONFLICT DO UPDATE is not supported on \"%s\" with its triggers",
					RelationGetRelationName(upsert->insert->rel)),
			 errdetail(detail, shuttle_node_name(upsert->insert->storage_node)),
			 errhint("Insert and update in two statements.")));
}

int
shuttle_upsert_find_place(const ShuttleUpsert *upsert, HeapTuple returned,
						  const MinimalTuple *sent, int from, int nsent)
{
	for (; from < nsent; from++)
	{
		ExecStoreMinimalTuple(sent[from], upsert->excluded, false);
		if (has_key(upsert, returned))
			break;
	}
	ExecClearTuple(upsert->excluded);
	if (from == nsent)
		refuse_changes(upsert, "Storage node \"%s\" stores other keys than it is sent.");
	return from;
}

void
shuttle_upsert_keep(ShuttleUpsert *upsert, uint64 number, MinimalTuple excluded)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(upsert->rows_cxt);
	ShuttleConflictingRow *row;

	if (upsert->nrows == upsert->size)
	{
		upsert->size = Max(64, upsert->size * 2);
		upsert->rows = upsert->rows == NULL ?
			MemoryContextAllocHuge(upsert->rows_cxt, sizeof(ShuttleConflictingRow) * upsert->size) :
			repalloc_huge(upsert->rows, sizeof(ShuttleConflictingRow) * upsert->size);
	}
	row = &upsert->rows[upsert->nrows++];
	memset(row, 0, sizeof(*row));
	row->number = number;
	row->excluded = shuttle_copy_minimal_tuple(excluded);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_upsert_reset(ShuttleUpsert *upsert)
{
	ExecClearTuple(upsert->excluded);
	MemoryContextReset(upsert->rows_cxt);
	upsert->rows = NULL;
	upsert->nrows = upsert->size = 0;
}

/* ---- the stored rows */

/* Buffers the kept rows' keys; returns true if one has a NULL. */
static bool
buffer_keys(ShuttleUpsert *upsert)
{
	bool		has_null = false;

	if (upsert->keys->buffer == NULL)
		shuttle_write_buffer_create(upsert->keys);
	for (int i = 0; i < upsert->nrows; i++)
	{
		ExecStoreMinimalTuple(upsert->rows[i].excluded, upsert->excluded, false);
		for (int k = 0; k < upsert->keys->nattributes; k++)
			has_null |= slot_attisnull(upsert->excluded, upsert->keys->attributes[k]);
		(void) shuttle_write_buffer_add(upsert->keys, upsert->excluded, NULL, i);
	}
	ExecClearTuple(upsert->excluded);
	return has_null;
}

/* The node's description of the table. */
static ShuttleRemoteTable *
read_table(const ShuttleUpsert *upsert)
{
	const ShuttleWrite *insert = upsert->insert;
	ShuttleRemoteTable *table = shuttle_remote_table_read(insert->rel, insert->storage_node,
														  shuttle_scan_snapshot(insert->estate));

	if (!table->plain)
		refuse_changes(upsert, "The table on storage node \"%s\" has triggers, rules or policies, too.");
	return table;
}

/* True if SET may change what foreign keys refer to, which the node may not know. */
static bool
changes_keys(const ShuttleWrite *insert)
{
	ResultRelInfo *root = insert->node->rootResultRelInfo;
	Relation	table = root->ri_RelationDesc;

	return shuttle_table_kind(RelationGetRelid(table)) == SHUTTLE_TABLE_DISTRIBUTED &&
		shuttle_foreign_key_needs_lock(table, ExecGetUpdatedCols(root, insert->estate));
}

void
shuttle_upsert_ask(ShuttleUpsert *upsert, int nest_level)
{
	ShuttleWrite *insert = upsert->insert;
	ShuttleWriteBuffer *buffer;
	ShuttleRemoteTable *table = read_table(upsert);
	bool		has_null = buffer_keys(upsert);
	MemoryContext old_cxt = MemoryContextSwitchTo(upsert->keys->work_cxt);
	ShuttleStatement statement = {
		.nparams = upsert->keys->nattributes,
		.effect = SHUTTLE_WRITES,
		.types_hash = upsert->keys->types_hash,
		.looks = true,
		.snapshot = shuttle_scan_snapshot(insert->estate),
		.nest_level = nest_level,
		.counters = &insert->counters,
	};
	ShuttleWaitingRows rows = {.nrows = upsert->nrows};

	buffer = upsert->keys->buffer;
	rows.rows = buffer->rows;
	rows.slot = buffer->values_slot;
	statement.sql = shuttle_write_lock_sql(upsert->keys, table, upsert->attributes,
										   shuttle_on_conflict_arbiter_condition(insert), has_null, changes_keys(insert));
	statement.values = shuttle_write_print_arrays(upsert->keys, &rows, table,
												  palloc_array(int, statement.nparams));
	shuttle_explain_remote_note(&insert->asked, &statement, insert->estate);
	upsert->request = shuttle_request_send(insert->storage_node, &statement, upsert->rows_cxt);
	MemoryContextSwitchTo(old_cxt);
	MemoryContextReset(upsert->keys->work_cxt);
	shuttle_write_buffer_clear(upsert->keys);
}

/* Notes the stored row of a row. */
static void
take_stored(ShuttleUpsert *upsert, const ShuttleRow *answer)
{
	int64		ordinal = shuttle_row_int64(answer, LOCK_ORDINAL);
	ShuttleConflictingRow *row;

	if (ordinal < 1 || ordinal > upsert->nrows || upsert->rows[ordinal - 1].stored != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node \"%s\" returned a row that was not asked for",
						shuttle_node_name(upsert->insert->storage_node))));
	row = &upsert->rows[ordinal - 1];
	row->stored = shuttle_row_decoder_tuple(upsert->decoder, answer);
	row->stored->t_tableOid = RelationGetRelid(upsert->insert->rel);
	row->ctid = *(ItemPointer) DatumGetPointer(DirectFunctionCall1(tidin,
																   CStringGetDatum(shuttle_row_text(answer, LOCK_CTID))));
	row->tableoid = (Oid) shuttle_row_int64(answer, LOCK_TABLEOID);
	row->is_own = shuttle_row_int64(answer, LOCK_IS_OWN) != 0;
	row->command = (uint64) shuttle_row_int64(answer, LOCK_COMMAND);
}

void
shuttle_upsert_read(ShuttleUpsert *upsert)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(upsert->rows_cxt);
	ShuttleRow	answer;

	/* What is known of the table may be what made the request fail. */
	PG_TRY();
	{
		(void) shuttle_request_finish(upsert->request);
	}
	PG_CATCH();
	{
		shuttle_remote_table_forget(RelationGetRelid(upsert->insert->rel),
									upsert->insert->storage_node);
		PG_RE_THROW();
	}
	PG_END_TRY();
	while (shuttle_request_fetch(upsert->request, true, &answer) == SHUTTLE_ROW)
		take_stored(upsert, &answer);
	shuttle_request_close(upsert->request);
	upsert->request = NULL;
	MemoryContextSwitchTo(old_cxt);
}

/*-------------------------------------------------------------------------
 * foreign_modify.c
 *	  INSERT, UPDATE and DELETE of rows of foreign tables, COPY into them,
 *	  and rows that are routed to them.
 *
 * Rows are buffered (write_buffer.c) if what core does with them afterwards
 * can be done for all of them together. Else each row, or each batch of a
 * COPY, is one request whose answer is waited for, so that counts and errors
 * belong to the row.
 *
 * Rule: UPDATE and DELETE identify a row by ctid and tableoid, since each
 * partition of a remote table may have a row with that ctid (trap 22,
 * target_rows.c). If the scan could not read tableoid, a statement that
 * changes more than one row is refused. If no row was changed, ModifyTable
 * treats it as usual: as the scan locked the row, only a trigger there can
 * have kept it.
 *
 * Memory: the state lives in the query's context; work_cxt holds the values
 * and the request of the current row, and is reset before each.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_trigger.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "replication/logicalworker.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/executor_types.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/outbox.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_system_columns.h"
#include "executor/shuttle_view_checks.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/modify_table.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_own_triggers.h"

static int	is_foreign_rel_updatable(Relation rel);
static void begin_foreign_modify(ModifyTableState *mtstate,
								 ResultRelInfo *target, List *fdw_private,
								 int subplan_index, int eflags);
static void begin_foreign_insert(ModifyTableState *mtstate,
								 ResultRelInfo *target);
static TupleTableSlot *exec_foreign_insert(EState *estate,
										   ResultRelInfo *target,
										   TupleTableSlot *slot,
										   TupleTableSlot *plan_slot);
static TupleTableSlot **exec_foreign_batch_insert(EState *estate,
												  ResultRelInfo *target,
												  TupleTableSlot **slots,
												  TupleTableSlot **plan_slots,
												  int *nslots);
static TupleTableSlot *exec_foreign_change(EState *estate,
										   ResultRelInfo *target,
										   TupleTableSlot *slot,
										   TupleTableSlot *plan_slot);
static int	get_batch_size(ResultRelInfo *target);
static void end_foreign_modify(EState *estate, ResultRelInfo *target);
static ShuttleWrite *create_write(ModifyTableState *node, ResultRelInfo *target,
								  CmdType operation, List *fdw_private);
static bool may_buffer(const ShuttleWrite *write);
static List *plan_other(ModifyTableState *mtstate, ResultRelInfo *target,
						CmdType operation);
static void check_policies(const ShuttleWrite *write, TupleTableSlot *slot);
static TupleTableSlot *write_row(ShuttleWrite *write, TupleTableSlot *slot,
								 TupleTableSlot *plan_slot);
static int	send_rows(ShuttleWrite *write, TupleTableSlot **slots,
					  TupleTableSlot *plan_slot, int nslots);
static Oid	print_values(ShuttleWrite *write, TupleTableSlot **slots,
						 TupleTableSlot *plan_slot, int nslots);
static void store_returned_row(ShuttleWrite *write, ShuttleRequest *request,
							   TupleTableSlot *slot);

void
shuttle_foreign_modify_fill(FdwRoutine *routine)
{
	routine->BeginForeignModify = begin_foreign_modify;
	routine->ExecForeignInsert = exec_foreign_insert;
	routine->ExecForeignBatchInsert = exec_foreign_batch_insert;
	routine->GetForeignModifyBatchSize = get_batch_size;
	routine->ExecForeignUpdate = exec_foreign_change;
	routine->ExecForeignDelete = exec_foreign_change;
	routine->EndForeignModify = end_foreign_modify;
	routine->BeginForeignInsert = begin_foreign_insert;
	routine->EndForeignInsert = end_foreign_modify;
	routine->ExplainForeignModify = shuttle_explain_foreign_modify;
	routine->IsForeignRelUpdatable = is_foreign_rel_updatable;
}

/* The commands that the option "updatable" allows: INSERT, UPDATE and DELETE,
 * or none. */
static int
is_foreign_rel_updatable(Relation rel)
{
	if (!shuttle_remote_option_bool(shuttle_remote_options(RelationGetRelid(rel)),
									"updatable", true))
		return 0;
	return 1 << CMD_INSERT | 1 << CMD_UPDATE | 1 << CMD_DELETE;
}

static void
begin_foreign_modify(ModifyTableState *mtstate, ResultRelInfo *target,
					 List *fdw_private, int subplan_index, int eflags)
{
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	target->ri_FdwState = create_write(mtstate, target, mtstate->operation,
									   fdw_private);
}

/* A worker of a subscription inserts without a plan, and without other state that our inserts need.
 * Rows that triggers write in such a worker come from plans. */
static void
refuse_subscription(const ModifyTableState *mtstate, const ResultRelInfo *target)
{
	if (mtstate->ps.plan == NULL && IsLogicalWorker())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("logical replication cannot write into foreign table \"%s\"",
						RelationGetRelationName(target->ri_RelationDesc)),
				 errhint("Leave the table, or the table that it is a tablet or partition of, out of the subscription's publications.")));
}

/* For COPY, and for rows routed to a partition, which an UPDATE may also
 * change. */
static void
begin_foreign_insert(ModifyTableState *mtstate, ResultRelInfo *target)
{
	ShuttleWrite *update = target->ri_FdwState;
	ShuttleWrite *insert;
	MemoryContext old_cxt;

	shuttle_reference_write_refuse(RelationGetRelid(target->ri_RelationDesc));
	refuse_subscription(mtstate, target);

	old_cxt = MemoryContextSwitchTo(mtstate->ps.state->es_query_cxt);
	insert = shuttle_foreign_modify_create_write(mtstate, target, CMD_INSERT);
	MemoryContextSwitchTo(old_cxt);
	if (update == NULL)
		target->ri_FdwState = insert;
	else
	{
		insert->update = update;
		update->arriving = insert;
	}
}

ShuttleWrite *
shuttle_foreign_modify_create_write(ModifyTableState *node, ResultRelInfo *target, CmdType operation)
{
	List	   *fdw_private = plan_other(node, target, operation);

	if (operation == CMD_INSERT && node->operation == CMD_INSERT)
		fdw_private = shuttle_remote_default_omit_routed(fdw_private, node, target);
	return create_write(node, target, operation, fdw_private);
}

/*
 * Makes postgres_fdw deparse an INSERT or DELETE that the plan does not have.
 * It needs a ModifyTable and a range table: it gets what it looks at of both.
 */
static List *
plan_other(ModifyTableState *mtstate, ResultRelInfo *target, CmdType operation)
{
	ModifyTable *plan = castNode(ModifyTable, mtstate->ps.plan);
	EState	   *estate = mtstate->ps.state;
	ModifyTable *other = makeNode(ModifyTable);
	PlannerInfo *root = makeNode(PlannerInfo);
	Index		rtindex = target->ri_RangeTableIndex;
	RangeTblEntry *rte;

	if (rtindex != 0)
		rte = exec_rt_fetch(rtindex, estate);
	else
	{
		/*
		 * A partition that is not in the range table: use its parent's entry.
		 */
		ResultRelInfo *parent = target->ri_RootResultRelInfo;

		rtindex = parent->ri_RangeTableIndex;
		rte = copyObject(exec_rt_fetch(rtindex, estate));
		rte->relid = RelationGetRelid(target->ri_RelationDesc);
		rte->relkind = RELKIND_FOREIGN_TABLE;

		/*
		 * The Vars of UPDATE's RETURNING are those of the plan's first table.
		 */
		if (plan != NULL && plan->operation == CMD_UPDATE &&
			rtindex == plan->rootRelation)
			rtindex = linitial_int(plan->resultRelations);
	}

	other->operation = operation;
	other->onConflictAction = plan == NULL || shuttle_on_conflict_is_in(plan) ?
		ONCONFLICT_NONE : plan->onConflictAction;
	other->withCheckOptionLists = list_make1(shuttle_view_checks_columns(target->ri_WithCheckOptions, rtindex));
	if (operation == CMD_INSERT)
		other->returningLists = list_make1(target->ri_returningList);

	root->simple_rel_array_size = rtindex + 1;
	root->simple_rte_array = palloc0_array(RangeTblEntry *, rtindex + 1);
	root->simple_rte_array[rtindex] = rte;
	return shuttle_system_columns_add_to_modify(shuttle_postgres_fdw_routine->PlanForeignModify(root, other, rtindex, 0),
												operation,
												operation == CMD_INSERT ? target->ri_returningList : NIL,
												rtindex);
}

/* Called in the query's context. */
static ShuttleWrite *
create_write(ModifyTableState *node, ResultRelInfo *target, CmdType operation,
			 List *fdw_private)
{
	EState	   *estate = node->ps.state;
	ShuttleWrite *write = palloc0_object(ShuttleWrite);
	Relation	rel = target->ri_RelationDesc;
	Oid			relid = RelationGetRelid(rel);

	write->node = node;
	write->target = target;
	write->rel = rel;
	write->estate = estate;
	write->operation = operation;
	if (!shuttle_postgres_fdw_read_modify(fdw_private, &write->postgres_fdw))
		elog(ERROR, "unexpected plan of a modification");
	/* functions of triggers are told the declared table */
	if (target->ri_TrigDesc != NULL)
		shuttle_plpgsql_statements_see();
	shuttle_write_begin_entries(write);
	if (operation == CMD_INSERT && node->operation == CMD_INSERT)
		write->conflict = shuttle_on_conflict_create(write);
	write->storage_node = shuttle_connection_get(GetForeignServerIdByRelId(relid),
												 ExecGetResultRelCheckAsUser(target, estate));
	if (write->postgres_fdw.has_returning)
		write->decoder = shuttle_row_decoder_create(RelationGetDescr(rel),
													write->postgres_fdw.attributes, 0, rel,
													write->storage_node, estate->es_query_cxt);
	if (operation == CMD_INSERT)
	{
		write->row_limit = shuttle_remote_option_int(shuttle_remote_options(relid),
													 "batch_size", 0);
		write->batch_size = Max(1, write->row_limit);
	}
	else
	{
		write->batch_size = 1;
		write->ctid_column = ExecFindJunkAttributeInTlist(outerPlanState(node)->plan->targetlist,
														  "ctid");
		if (!AttributeNumberIsValid(write->ctid_column))
			elog(ERROR, "could not find junk ctid column");
		write->rows = shuttle_target_rows_of_merge(estate, relid, RelationGetRelationName(rel));
		if (write->rows == NULL)
			write->rows = shuttle_target_rows_create(RelationGetRelationName(rel),
													 estate->es_query_cxt);
	}
	shuttle_write_collect_values(write);
	if (operation != CMD_INSERT)
		write->sql_by_table = shuttle_remote_sql_compare_tableoid(write->postgres_fdw.sql,
																  write->nvalues + 1);
	write->work_cxt = AllocSetContextCreate(estate->es_query_cxt,
											"shuttle written row",
											ALLOCSET_SMALL_SIZES);
	if (operation == CMD_INSERT && shuttle_upsert_is_in((ModifyTable *) node->ps.plan))
		shuttle_upsert_create(write);
	return write;
}

bool
shuttle_foreign_modify_is_buffered(ShuttleWrite *write)
{
	ShuttleModify *modify;

	if (write->decided)
		return write->buffer != NULL;
	write->decided = true;
	if (!may_buffer(write))
	{
		/* Without columns there is nothing to find a conflicting row by. */
		if (shuttle_on_conflict_updates(write) || write->upsert != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("ON CONFLICT DO UPDATE is not supported on foreign table \"%s\"",
							RelationGetRelationName(write->rel)),
					 errhint("Insert and update in two statements.")));
		return false;
	}
	if (write->node->ps.plan == NULL)
	{
		/* COPY counts what it sends, so the node must not skip a row. */
		if (!shuttle_write_is_plain(write))
			return false;
		shuttle_modify_begin_copy(write->node);
	}
	modify = shuttle_modify_find(&write->node->ps);
	if (modify == NULL)
		return false;
	write->core_follows_up = modify->waits_for_copies && shuttle_write_core_can_follow_up(write);
	modify->waits_for_copies = write->core_follows_up;
	shuttle_write_buffer_create(write);
	return true;
}

static bool
has_row_triggers(const TriggerDesc *triggers)
{
	return triggers != NULL &&
		(triggers->trig_insert_after_row || triggers->trig_update_after_row ||
		 triggers->trig_delete_after_row);
}

/*
 * Core does a COPY's checks and AFTER ROW triggers row by row; ours need no row of the
 * node. Checks with subqueries could see what was written. For a row that an UPDATE moves here
 * only core knows the old values and the checks; for a row that MERGE inserts
 * and returns, the action.
 */
static bool
may_buffer(const ShuttleWrite *write)
{
	const ResultRelInfo *target = write->target;
	const ModifyTable *plan = (const ModifyTable *) write->node->ps.plan;
	bool		follows_up = target->ri_WithCheckOptions != NIL ||
		(!write->notes_rows && has_row_triggers(target->ri_TrigDesc) &&
		 (write->node->ps.plan != NULL || !shuttle_own_triggers_note_rows(target->ri_TrigDesc, TRIGGER_TYPE_INSERT)));

	return (shuttle_settings.enable_write_buffer || write->upsert != NULL ||
			shuttle_on_conflict_updates(write)) &&
		write->node->mt_transition_capture == NULL &&
		write->nattributes + (write->operation == CMD_DELETE) > 0 &&
		(write->operation == write->node->operation ||
		 (target->ri_WithCheckOptions == NIL &&
		  !shuttle_expression_has_old_or_new(plan->returningLists) &&
		  !(plan->operation == CMD_MERGE && plan->returningLists != NIL))) &&
		(!follows_up || write->upsert != NULL ||
		 (write->node->ps.plan != NULL &&
		  !contain_subplans((Node *) target->ri_WithCheckOptions)));
}

static int
get_batch_size(ResultRelInfo *target)
{
	ShuttleWrite *write = target->ri_FdwState;
	TriggerDesc *triggers = target->ri_TrigDesc;
	const List *options;

	/* Buffered writes do not use core's batches. */
	if (write != NULL && (write->node->ps.plan == NULL ? shuttle_foreign_modify_is_buffered(write) :
						  may_buffer(write)))
		return 1;

	/*
	 * RETURNING, checks and AFTER triggers need rows one by one; a BEFORE
	 * trigger may look for the rows inserted before its own.
	 */
	if (target->ri_projectReturning != NULL ||
		target->ri_WithCheckOptions != NIL ||
		(triggers != NULL &&
		 (triggers->trig_insert_before_row || triggers->trig_insert_after_row)))
		return 1;

	/* Rows without columns can't be several in one VALUES. */
	if (write != NULL)
		return write->postgres_fdw.target_attributes == NIL ? 1 : write->batch_size;

	/* EXPLAIN without ANALYZE */
	options = shuttle_remote_options(RelationGetRelid(target->ri_RelationDesc));
	return Max(1, shuttle_remote_option_int(options, "batch_size", 1));
}

static TupleTableSlot *
exec_foreign_insert(EState *estate, ResultRelInfo *target,
					TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	ShuttleWrite *write = target->ri_FdwState;

	if (write->operation != CMD_INSERT)
		write = write->arriving;

	/* The UPDATE would reach the row later and change it again. */
	if ((write->update != NULL || target->ri_usesFdwDirectModify) &&
		!shuttle_foreign_modify_is_buffered(write))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot route tuples into foreign table to be updated \"%s\"",
						RelationGetRelationName(target->ri_RelationDesc))));
	check_policies(write, slot);
	return write_row(write, slot, plan_slot);
}

static TupleTableSlot **
exec_foreign_batch_insert(EState *estate, ResultRelInfo *target,
						  TupleTableSlot **slots, TupleTableSlot **plan_slots,
						  int *nslots)
{
	*nslots = send_rows(target->ri_FdwState, slots, NULL, *nslots);
	return *nslots > 0 ? slots : NULL;
}

/*
 * UPDATE or DELETE of one row. A row whose new values belong to another
 * partition must not stay in this one, where nobody would look for it; the node
 * may not know the partitions.
 */
static TupleTableSlot *
exec_foreign_change(EState *estate, ResultRelInfo *target,
					TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	ShuttleWrite *write = target->ri_FdwState;

	if (write->operation == CMD_UPDATE && write->rel->rd_rel->relispartition &&
		!ExecPartitionCheck(target, slot, estate, false))
	{
		const ResultRelInfo *root = target->ri_RootResultRelInfo;

		/* The statement names the partition itself, which may have children. */
		if (root == NULL ||
			root->ri_RelationDesc->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			ExecPartitionCheckEmitError(target, slot, estate);
		shuttle_write_move(write, slot, plan_slot);
		return NULL;
	}
	if (write->operation == CMD_UPDATE)
		check_policies(write, slot);
	return write_row(write, slot, plan_slot);
}

/* A partitioned table may have row security; core checks its policies only for
 * rows of local tables. */
static void
check_policies(const ShuttleWrite *write, TupleTableSlot *slot)
{
	if (write->target->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(write->node->operation == CMD_UPDATE ?
							 WCO_RLS_UPDATE_CHECK : WCO_RLS_INSERT_CHECK,
							 write->target, slot, write->estate);
}

/* Returns the slot if core counts the row and does the rest; COPY only counts it. */
static TupleTableSlot *
buffer_row(ShuttleWrite *write, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	ShuttleModify *modify = shuttle_modify_find(&write->node->ps);
	bool		taken;

	shuttle_write_note_row(write, slot);
	taken = shuttle_modify_add(modify, write, slot, plan_slot);
	if (write->node->ps.plan == NULL)
		return slot;
	if (!taken || !write->core_follows_up)
		return NULL;
	modify->nflushed++;			/* its RETURNING row is not waited for */
	if (!write->notes_rows)
		return slot;
	if (write->node->canSetTag)
		write->estate->es_processed++;
	return NULL;
}

/* Returns NULL if core need do nothing more with the row. */
static TupleTableSlot *
write_row(ShuttleWrite *write, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	if (shuttle_foreign_modify_is_buffered(write))
		return buffer_row(write, slot, plan_slot);
	return send_rows(write, &slot, plan_slot, 1) > 0 ? slot : NULL;
}

/* Sends rows and waits for the answer; a returned row is stored in the first
 * slot. Returns how many rows the node has written. */
static int
send_rows(ShuttleWrite *write, TupleTableSlot **slots, TupleTableSlot *plan_slot,
		  int nslots)
{
	ShuttleStatement statement = {0};
	ShuttleRequest *request;
	Oid			tableoid;
	uint64		nrows;

	shuttle_outbox_before_write(write->storage_node, write->estate);

	MemoryContextReset(write->work_cxt);
	tableoid = print_values(write, slots, plan_slot, nslots);
	statement.sql = shuttle_write_values_sql(write, nslots);
	statement.nparams = write->nvalues * nslots;
	statement.values = write->values;
	if (OidIsValid(tableoid) && write->sql_by_table != NULL)
	{
		statement.sql = write->sql_by_table;
		statement.nparams++;
	}
	statement.effect = SHUTTLE_WRITES;
	statement.types_hash = write->types_hash;
	statement.looks = shuttle_write_looks(write);
	statement.snapshot = shuttle_scan_snapshot(write->estate);
	statement.counters = &write->counters;
	shuttle_explain_remote_note(&write->asked, &statement, write->estate);
	request = shuttle_request_send(write->storage_node, &statement, write->work_cxt);
	shuttle_count(&write->counters, SHUTTLE_WRITE_REQUESTS, nslots);

	nrows = shuttle_request_finish(request);
	if (write->operation != CMD_INSERT && nrows > 1)
		shuttle_target_rows_refuse_several(write, nrows);
	if (write->decoder != NULL && nrows > 0)
		store_returned_row(write, request, slots[0]);
	shuttle_request_close(request);
	return (int) nrows;
}

/* Prints the values, followed by the tableoid on the node of the row to be
 * changed, and returns that; InvalidOid if it is unknown. */
static Oid
print_values(ShuttleWrite *write, TupleTableSlot **slots,
			 TupleTableSlot *plan_slot, int nslots)
{
	Oid			tableoid = InvalidOid;
	MemoryContext old_cxt = MemoryContextSwitchTo(write->work_cxt);
	int			nestlevel = shuttle_row_transmission_begin(write->need);
	const char **value = write->values;

	if (write->operation != CMD_INSERT)
	{
		bool		is_null;
		Datum		ctid = ExecGetJunkAttribute(plan_slot, write->ctid_column,
												&is_null);

		ItemPointerData row;

		if (is_null)
			elog(ERROR, "ctid is NULL");
		row = *(ItemPointer) DatumGetPointer(ctid);
		tableoid = shuttle_target_rows_decode(write->rows, &row);
		*value++ = DatumGetCString(DirectFunctionCall1(tidout, PointerGetDatum(&row)));
	}
	for (int row = 0; row < nslots; row++)
	{
		for (int i = 0; i < write->nattributes; i++)
		{
			bool		is_null;
			Datum		datum = slot_getattr(slots[row], write->attributes[i],
											 &is_null);

			*value++ = is_null ? NULL : OutputFunctionCall(&write->output[i], datum);
		}
	}
	if (OidIsValid(tableoid))
		*value = psprintf("%u", tableoid);
	shuttle_row_transmission_end(nestlevel);
	MemoryContextSwitchTo(old_cxt);
	return tableoid;
}

/* Stores the returned row; the slot frees it. */
static void
store_returned_row(ShuttleWrite *write, ShuttleRequest *request,
				   TupleTableSlot *slot)
{
	ShuttleRow	row;

	if (shuttle_request_fetch(request, true, &row) != SHUTTLE_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node \"%s\" returned no row",
						shuttle_node_name(write->storage_node))));

	/* The slot's type may not store heap tuples. */
	ExecForceStoreHeapTuple(shuttle_row_decoder_tuple(write->decoder, &row), slot, true);
}

static void
end_foreign_modify(EState *estate, ResultRelInfo *target)
{
	ShuttleWrite *write = target->ri_FdwState;

	if (write == NULL)
		return;
	shuttle_modify_end(write->node);
	MemoryContextReset(write->work_cxt);
}

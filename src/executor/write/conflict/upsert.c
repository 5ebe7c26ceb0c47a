/*-------------------------------------------------------------------------
 * upsert.c
 *	  DO UPDATE of an INSERT with ON CONFLICT, executed here.
 *
 * When buffered rows are flushed, nodes insert those that do not conflict. For
 * the others, in rounds until none is left:
 * 1. Each table's stored rows are locked and read, by one request.
 * 2. In the order of the source: policies, WHERE, SET, BEFORE ROW UPDATE triggers, policies for the new row.
 * 3. The new rows are written by ctid, one request for each table. Rows whose
 *	  stored row is gone meanwhile are inserted again; they may conflict anew.
 * AFTER ROW triggers, check options and RETURNING follow in the order of the source, as for all
 * buffered rows (modify_send.c). So a flush takes three round trips.
 *
 * If somebody could tell that BEFORE triggers of later rows fire before these of
 * earlier ones, each row is flushed before the next (upsert_triggers.c).
 *
 * Rule: no row is changed twice. A stored row was written by this statement, or
 * by what it triggered, if our transaction wrote it by the command that first
 * wrote for this statement (the mark, on_conflict.c) or by a later one.
 * Memory: the tables' rows_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/outbox.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/modify_table.h"
#include "executor/write/write_buffer.h"

/* A stored row may vanish again and again, each time by another transaction. */
#define MOST_ROUNDS 100

/* A row that was changed in this round. */
typedef struct ChangedRow
{
	const ShuttleUpsert *upsert;
	Oid			tableoid;
	ItemPointerData ctid;
} ChangedRow;

typedef struct FoundRow
{
	ShuttleUpsert *upsert;
	ShuttleConflictingRow *row;
} FoundRow;

/* ---- rows changed twice */

static void write_rows(ShuttleModify *modify);

/* Rows before this one may be refused by a node: then that is the error. */
pg_noreturn static void
refuse_second_time(ShuttleModify *modify)
{
	write_rows(modify);
	ereport(ERROR,
			(errcode(ERRCODE_CARDINALITY_VIOLATION),
			 errmsg("ON CONFLICT DO UPDATE command cannot affect row a second time"),
			 errhint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")));
}

void
shuttle_upserts_note_write(ShuttleModify *modify)
{
	ResultRelInfo *root = modify->node->rootResultRelInfo;
	Oid			userid = ExecGetResultRelCheckAsUser(root, modify->node->ps.state);
	List	   *relids = find_all_inheritors(RelationGetRelid(root->ri_RelationDesc), NoLock, NULL);
	MemoryContext old_cxt = MemoryContextSwitchTo(modify->node->ps.state->es_query_cxt);
	ListCell   *cell;

	modify->is_written_beside = true;
	foreach(cell, relids)
	{
		Oid			serverid;

		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_FOREIGN_TABLE)
			continue;
		serverid = GetForeignServerIdByRelId(lfirst_oid(cell));
		if (!shuttle_node_in_use(serverid) ||
			!shuttle_node_wrote(shuttle_connection_get(serverid, userid)))
			modify->unwritten_servers = list_append_unique_oid(modify->unwritten_servers, serverid);
	}
	MemoryContextSwitchTo(old_cxt);
}

/* Finds what is known of a node's commands: the first that wrote for this
 * statement; is_first: all others of the transaction came later. */
static bool
find_mark(const ShuttleModify *modify, const ShuttleNode *node, uint64 *command, bool *is_first)
{
	bool		found = false;
	ListCell   *cell;

	*is_first = false;
	foreach(cell, modify->writes)
	{
		const ShuttleWrite *write = lfirst(cell);
		Oid			serverid = GetForeignServerIdByRelId(RelationGetRelid(write->rel));
		uint64		mark;

		if (write->operation != CMD_INSERT || write->storage_node != node)
			continue;
		*is_first |= write->upsert->is_first ||
			list_member_oid(modify->unwritten_servers, serverid);
		if (shuttle_on_conflict_mark(write, &mark) && (!found || mark < *command))
		{
			*command = mark;
			found = true;
		}
	}
	return found;
}

/* Raises an error if the statement wrote the stored row, or something that it
 * triggered. */
static void
check_first_time(ShuttleModify *modify, const ShuttleUpsert *upsert,
				 const ShuttleConflictingRow *row)
{
	uint64		command;
	bool		is_first;

	if (!row->is_own)
		return;
	if (find_mark(modify, upsert->insert->storage_node, &command, &is_first) &&
		row->command >= command)
		refuse_second_time(modify);
	if (!modify->is_written_beside)
		return;
	if (is_first)
		refuse_second_time(modify);

	/* The node does not tell which command was the statement's first. */
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot tell if a row of \"%s\" was changed by this command or before it",
					RelationGetRelationName(upsert->insert->rel)),
			 errdetail("The transaction had written on storage node \"%s\" before, and triggers or other parts of the command write to the same table.",
					   shuttle_node_name(upsert->insert->storage_node)),
			 errhint("Insert and update in two statements.")));
}

static ChangedRow
identify_row(const ShuttleUpsert *upsert, const ShuttleConflictingRow *row)
{
	ChangedRow	key;

	memset(&key, 0, sizeof(key));	/* it is compared byte by byte */
	key.upsert = upsert;
	key.tableoid = row->tableoid;
	key.ctid = row->ctid;
	return key;
}

/* ---- changing rows */

/* As core: such a row cannot move to another partition. */
static void
check_partition(const ShuttleWrite *insert, TupleTableSlot *slot)
{
	ResultRelInfo *target = insert->target;

	if (!insert->rel->rd_rel->relispartition ||
		ExecPartitionCheck(target, slot, insert->estate, false))
		return;
	if (target->ri_RootResultRelInfo == NULL)
		ExecPartitionCheckEmitError(target, slot, insert->estate);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("invalid ON UPDATE specification"),
			 errdetail("The result tuple would appear in a different partition than the original tuple.")));
}

/* What policies and views say of rows that are updated, and of what they become. */
static void
check_row(const ShuttleWrite *insert, WCOKind kind, TupleTableSlot *slot)
{
	if (insert->target->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(kind, insert->target, slot, insert->estate);
}

/* Policies are applied to the new row, with the columns that the node will compute. */
static void
check_new_row(const ShuttleWrite *insert, TupleTableSlot *slot)
{
	const TupleConstr *constraints = RelationGetDescr(insert->rel)->constr;

	if (insert->target->ri_WithCheckOptions == NIL)
		return;
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(insert->target, insert->estate, slot, CMD_UPDATE);
	check_row(insert, WCO_RLS_UPDATE_CHECK, slot);
}

/* Evaluates WHERE and SET, for a row that the role may update: WHERE must not tell of others.
 * Returns the new row, or NULL: it stays as it is. */
static TupleTableSlot *
make_new_row(ShuttleUpsert *upsert, const ShuttleConflictingRow *row)
{
	ModifyTableState *node = upsert->insert->node;
	ShuttleOnConflictState *set = upsert->insert->target->ri_onConflict;
	ExprContext *econtext = node->ps.ps_ExprContext;

	ExecForceStoreHeapTuple(row->stored, set->oc_Existing, false);
	set->oc_Existing->tts_tableOid = RelationGetRelid(upsert->insert->rel);
	ExecStoreMinimalTuple(row->excluded, upsert->excluded, false);
	upsert->excluded->tts_tableOid = RelationGetRelid(upsert->insert->rel);
	check_row(upsert->insert, WCO_RLS_CONFLICT_CHECK, set->oc_Existing);
	check_row(upsert->insert, SHUTTLE_WCO_VIEW_CONFLICT_CHECK, set->oc_Existing);
	econtext->ecxt_scantuple = set->oc_Existing;
	econtext->ecxt_innertuple = upsert->excluded;
	econtext->ecxt_outertuple = NULL;
	if (!ExecQual(set->oc_WhereClause, econtext))
	{
		InstrCountFiltered1(&node->ps, 1);
		return NULL;
	}
	(void) ExecProject(set->oc_ProjInfo);
	set->oc_ProjSlot->tts_tableOid = RelationGetRelid(upsert->insert->rel);
	return set->oc_ProjSlot;
}

static void
change_row(ShuttleModify *modify, const FoundRow *found, HTAB *changed)
{
	ShuttleUpsert *upsert = found->upsert;
	ShuttleConflictingRow *row = found->row;
	ResultRelInfo *target = upsert->insert->target;
	const TriggerDesc *triggers = target->ri_TrigDesc;
	ChangedRow	key = identify_row(upsert, row);
	TupleTableSlot *slot;

	InstrCountTuples2(&modify->node->ps, 1);
	check_first_time(modify, upsert, row);
	if (hash_search(changed, &key, HASH_FIND, NULL) != NULL)
		refuse_second_time(modify);
	slot = make_new_row(upsert, row);
	if (slot == NULL)
		return;
	if (triggers != NULL && triggers->trig_update_before_row &&
		!shuttle_fire_before_update(modify->node, target, row->stored, slot))
		return;
	check_partition(upsert->insert, slot);
	check_new_row(upsert->insert, slot);
	(void) hash_search(changed, &key, HASH_ENTER, NULL);
	if (upsert->changes->buffer == NULL)
		shuttle_write_buffer_create(upsert->changes);
	if (!list_member_ptr(modify->writes, upsert->changes))
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(modify->node->ps.state->es_query_cxt);

		modify->writes = lappend(modify->writes, upsert->changes);
		MemoryContextSwitchTo(old_cxt);
	}
	shuttle_write_buffer_add_found(upsert->changes, slot, row->stored, &row->ctid,
								   row->tableoid, row->number);
}

/* ---- rounds */

/* The next table with rows that were not inserted, from *at on. */
static ShuttleUpsert *
next_upsert(const ShuttleModify *modify, int *at)
{
	while (*at < list_length(modify->writes))
	{
		const ShuttleWrite *write = list_nth(modify->writes, (*at)++);

		if (write->operation == CMD_INSERT && write->upsert != NULL &&
			write->upsert->nrows > 0)
			return write->upsert;
	}
	return NULL;
}

/* Locks and reads the stored rows. Returns how many rows there are. */
static int
find_stored(ShuttleModify *modify)
{
	ShuttleUpsert *upsert;
	int			nrows = 0;

	for (int at = 0; (upsert = next_upsert(modify, &at)) != NULL;)
	{
		shuttle_outbox_before_rows(&modify->unsent, upsert->insert->storage_node, false);
		shuttle_upsert_ask(upsert, modify->unsent.item.nest_level);
		nrows += upsert->nrows;
	}
	for (int at = 0; (upsert = next_upsert(modify, &at)) != NULL;)
		shuttle_upsert_read(upsert);
	return nrows;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64		one = ((const FoundRow *) a)->row->number;
	uint64		other = ((const FoundRow *) b)->row->number;

	return one < other ? -1 : one > other;
}

/* All rows of all tables, in the order of the source. */
static FoundRow *
sort_rows(const ShuttleModify *modify, int nrows)
{
	FoundRow   *rows = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(FoundRow) * nrows);
	ShuttleUpsert *upsert;
	int			n = 0;

	for (int at = 0; (upsert = next_upsert(modify, &at)) != NULL;)
	{
		for (int i = 0; i < upsert->nrows; i++)
			rows[n++] = (FoundRow)
		{
			upsert, &upsert->rows[i]
		};
	}
	qsort(rows, n, sizeof(FoundRow), compare_numbers);
	return rows;
}

static void
change_rows(ShuttleModify *modify, int nrows, bool in_turn)
{
	EState	   *estate = modify->node->ps.state;
	FoundRow   *rows = sort_rows(modify, nrows);
	HASHCTL		control = {
		.keysize = sizeof(ChangedRow),
		.entrysize = sizeof(ChangedRow),
		.hcxt = CurrentMemoryContext,
	};
	HTAB	   *changed = hash_create("shuttle rows changed", 64, &control,
									  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (rows[i].row->stored != NULL)
			change_row(modify, &rows[i], changed);
		if (!in_turn)
			continue;
		ResetPerTupleExprContext(estate);
		ResetExprContext(modify->node->ps.ps_ExprContext);
	}
	hash_destroy(changed);
	pfree(rows);
}

/* Buffers the rows anew whose stored row is gone, and forgets all. */
static void
insert_again(ShuttleModify *modify)
{
	ShuttleUpsert *upsert;

	for (int at = 0; (upsert = next_upsert(modify, &at)) != NULL;)
	{
		for (int i = 0; i < upsert->nrows; i++)
		{
			ShuttleConflictingRow *row = &upsert->rows[i];

			if (row->stored != NULL)
				continue;
			ExecStoreMinimalTuple(row->excluded, upsert->excluded, false);
			(void) shuttle_write_buffer_add(upsert->insert, upsert->excluded, NULL, row->number);
		}
		ExecClearTuple(upsert->insert->target->ri_onConflict->oc_Existing);
		ExecClearTuple(upsert->insert->target->ri_onConflict->oc_ProjSlot);
		shuttle_upsert_reset(upsert);
	}
}

/* Writes what is buffered on all nodes, and counts it. */
static void
write_rows(ShuttleModify *modify)
{
	ListCell   *cell;

	foreach(cell, modify->writes)
	{
		ShuttleWrite *write = lfirst(cell);

		if (!shuttle_write_buffer_has_rows(write))
			continue;
		shuttle_outbox_before_rows(&modify->unsent, write->storage_node, false);
		shuttle_write_buffer_send(write, modify->unsent.item.nest_level, !modify->ended);
	}
	foreach(cell, modify->writes)
	{
		uint64		nwritten = shuttle_write_buffer_finish(lfirst(cell));

		if (modify->node->canSetTag)
			modify->node->ps.state->es_processed += nwritten;
	}
}

void
shuttle_upserts_run(ShuttleModify *modify, bool in_turn)
{
	int			at = 0;

	/* A trigger may read what is buffered. */
	if (modify->in_upsert || next_upsert(modify, &at) == NULL)
		return;
	modify->in_upsert = true;
	for (int round = 0; (at = 0, next_upsert(modify, &at)) != NULL; round++)
	{
		if (round == MOST_ROUNDS)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not find the rows that conflict due to concurrent changes"),
					 errhint("Repeat the transaction.")));
		change_rows(modify, find_stored(modify), in_turn);
		insert_again(modify);
		write_rows(modify);
	}
	modify->in_upsert = false;
}

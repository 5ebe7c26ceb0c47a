/*-------------------------------------------------------------------------
 * conflict_by_row.c
 *	  Plan node that inserts rows one by one, and looks at the errors of unique indexes
 *	  (planner/write/conflict_by_row.c).
 *
 * All rows of the source are read first. Several are written together as far as that has the same outcome
 * (conflict_batches.c). For each of the others:
 * 1. It is inserted in a subtransaction. Without an error it is done with.
 * 2. The error is that of a unique index of the table. Without an arbiter, DO NOTHING is done with it.
 * 3. DO UPDATE updates the row with the arbiter's values. If it is there, this row is done with. So it is with DO NOTHING.
 * 4. It is not there. If the error was that of another index which is not alike, it is raised. Else the row is gone, or
 *	  another session has committed it and a node does not show it yet: all is done again, a little later.
 *
 * Entries of global indexes are written by the INSERT, and waited for, so equal rows of several sessions wait for each
 * other in step 1.
 *
 * Rule: no row is changed twice. The arbiter's values of rows that were inserted or updated are kept. A statement of
 * several rows whose SET gives them other values goes row by row, and keeps the values that rows have from then on.
 *
 * Memory: rows to be returned are in a tuplestore of the query's context; all else of a row in a context of its own.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_subtransaction.h"
#include "executor/behind/behind.h"
#include "executor/shuttle_by_row.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/conflict_by_row.h"
#include "explain/shuttle_explain.h"

/* How often a row that is not there is looked for, and how long one waits before. */
#define MOST_ROUNDS 100
#define MOST_WAIT_MS 100

/* Fields of custom_private. */
enum ByRowPrivate
{
	BY_ROW_OIDS,
	BY_ROW_NUMBERS,
	BY_ROW_INSERT,
	BY_ROW_UPDATE,
	BY_ROW_SELECT,
	BY_ROW_INSERT_ROWS,
	BY_ROW_UPDATE_ROWS,
	BY_ROW_FIND_ROWS,
	BY_ROW_UPDATE_NEW
};

static Node *create_state(CustomScan *plan);
static void begin_by_row(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_by_row(CustomScanState *node);
static void end_by_row(CustomScanState *node);
static void rescan_by_row(CustomScanState *node);
static void explain_by_row(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomScanMethods by_row_methods = {
	.CustomName = "Insert by Row",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods by_row_exec_methods = {
	.CustomName = "Insert by Row",
	.BeginCustomScan = begin_by_row,
	.ExecCustomScan = exec_by_row,
	.EndCustomScan = end_by_row,
	.ReScanCustomScan = rescan_by_row,
	.ExplainCustomScan = explain_by_row,
};

void
shuttle_conflict_by_row_register(void)
{
	RegisterCustomScanMethods(&by_row_methods);
}

/* ---- the plan */

/* Columns of RETURNING; the second list is for EXPLAIN. */
static void
take_columns(CustomScan *scan, const List *returning)
{
	const ListCell *cell;

	foreach(cell, returning)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		Node	   *value = (Node *) entry->expr;
		int			number = list_length(scan->custom_scan_tlist) + 1;
		TargetEntry *column;

		if (entry->resjunk)
			continue;
		column = makeTargetEntry(copyObject(entry->expr), number, entry->resname, false);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, column);
		column = flatCopyTargetEntry(entry);
		column->resno = number;
		column->expr = (Expr *) makeVar(INDEX_VAR, number, exprType(value), exprTypmod(value), exprCollation(value), 0);
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist, column);
	}
}

Plan *
shuttle_conflict_by_row_make(Plan *child, const ShuttleByRowPlan *plan, const List *returning)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &by_row_methods;
	scan->custom_private = list_make5(list_concat(list_make2_oid(plan->relid, plan->arbiter), plan->twins),
									  list_make3_int(plan->nparams, plan->sets_arbiter, plan->can_set_tag),
									  plan->insert, plan->update, plan->select);
	scan->custom_private = list_concat(scan->custom_private, list_make4(plan->insert_rows, plan->update_rows, plan->find_rows, plan->update_new));
	take_columns(scan, returning);
	scan->scan.plan.lefttree = child;
	scan->scan.plan.startup_cost = scan->scan.plan.total_cost = child->total_cost;
	scan->scan.plan.plan_rows = returning == NIL ? 0 : child->plan_rows;
	scan->scan.plan.extParam = bms_copy(child->extParam);
	scan->scan.plan.allParam = bms_copy(child->allParam);
	return &scan->scan.plan;
}

static void
unpack(const CustomScan *scan, ShuttleByRowPlan *plan)
{
	const List *oids = list_nth(scan->custom_private, BY_ROW_OIDS);
	const List *numbers = list_nth(scan->custom_private, BY_ROW_NUMBERS);

	plan->relid = linitial_oid(oids);
	plan->arbiter = lsecond_oid(oids);
	plan->twins = list_copy_tail(oids, 2);
	plan->nparams = linitial_int(numbers);
	plan->sets_arbiter = lsecond_int(numbers);
	plan->can_set_tag = lthird_int(numbers);
	plan->insert = list_nth(scan->custom_private, BY_ROW_INSERT);
	plan->update = list_nth(scan->custom_private, BY_ROW_UPDATE);
	plan->select = list_nth(scan->custom_private, BY_ROW_SELECT);
	plan->insert_rows = list_nth(scan->custom_private, BY_ROW_INSERT_ROWS);
	plan->update_rows = list_nth(scan->custom_private, BY_ROW_UPDATE_ROWS);
	plan->find_rows = list_nth(scan->custom_private, BY_ROW_FIND_ROWS);
	plan->update_new = list_nth(scan->custom_private, BY_ROW_UPDATE_NEW);
}

/* ---- beginning */

static Node *
create_state(CustomScan *plan)
{
	ShuttleByRowState *state = palloc0_object(ShuttleByRowState);

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &by_row_exec_methods;
	return (Node *) state;
}

static void
begin_by_row(CustomScanState *node, EState *estate, int eflags)
{
	ShuttleByRowState *state = (ShuttleByRowState *) node;

	unpack((CustomScan *) node->ss.ps.plan, &state->plan);
	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT of a unique index without the distribution column is not possible in a transaction with one snapshot"),
				 errhint("Use READ COMMITTED, or insert in a block with EXCEPTION WHEN unique_violation.")));
	state->row = MakeSingleTupleTableSlot(ExecGetResultType(outerPlanState(node)), &TTSOpsMinimalTuple);
	state->row_cxt = AllocSetContextCreate(estate->es_query_cxt, "shuttle row in conflict", ALLOCSET_DEFAULT_SIZES);
	state->returned = tuplestore_begin_heap(false, false, work_mem);
	state->returned_row = MakeSingleTupleTableSlot(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	if (OidIsValid(state->plan.arbiter))
	{
		Relation	rel = table_open(state->plan.relid, AccessShareLock);

		state->arbiter = index_open(state->plan.arbiter, AccessShareLock);
		state->index = BuildIndexInfo(state->arbiter);
		state->table_row = MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(rel)), &TTSOpsVirtual);
		table_close(rel, NoLock);
	}
}

static PlannedStmt *
plan_statement(const ShuttleByRowState *state, Query *query)
{
	return query == NULL ? NULL :
		pg_plan_query(copyObject(query), state->css.ss.ps.state->es_sourceText, 0, NULL);
}

/* The client's parameters, with room for those of a row. */
static ParamListInfo
make_params(const ShuttleByRowState *state)
{
	ParamListInfo given = state->css.ss.ps.state->es_param_list_info;
	int			nparams = state->plan.nparams;
	ParamListInfo params = makeParamList(nparams + state->row->tts_tupleDescriptor->natts);

	for (int i = 0; i < nparams; i++)
	{
		ParamExternData workspace;
		const ParamExternData *param = &given->params[i];

		if (given->paramFetch != NULL)
			param = given->paramFetch(given, i + 1, false, &workspace);
		params->params[i] = *param;
	}
	return params;
}

/* Statements for rows one by one, and for several. */
static void
plan_statements(ShuttleByRowState *state)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	state->insert = plan_statement(state, state->plan.insert);
	state->update = plan_statement(state, state->plan.update);
	state->select = plan_statement(state, state->plan.select);
	if (state->nproposed > 1)
	{
		state->insert_rows = plan_statement(state, state->plan.insert_rows);
		state->update_rows = plan_statement(state, state->plan.update_rows);
		state->find_rows = plan_statement(state, state->plan.find_rows);
		state->update_new = plan_statement(state, state->plan.update_new);
	}
	PopActiveSnapshot();
}

static void
prepare(ShuttleByRowState *state)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	state->params = make_params(state);
	state->proposed = tuplestore_begin_heap(false, false, work_mem);
	for (;;)
	{
		TupleTableSlot *row = ExecProcNode(outerPlanState(&state->css));

		if (TupIsNull(row))
			break;
		tuplestore_puttupleslot(state->proposed, row);
		state->nproposed++;
	}
	plan_statements(state);
	if (state->update_new != NULL)
		state->new_values = MakeSingleTupleTableSlot(ExecCleanTypeFromTL(state->plan.update_new->returningList), &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old_cxt);
}

/* ---- the statements of a row */

/* Runs a statement, and waits until nodes have written all of it. */
static void
run_statement(void *arg)
{
	ShuttleByRowState *state = arg;
	DestReceiver *dest = CreateTuplestoreDestReceiver();
	QueryDesc  *query;

	SetTuplestoreDestReceiverParams(dest, state->answer, CurrentMemoryContext, false, NULL, NULL);
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	query = CreateQueryDesc(state->running, state->css.ss.ps.state->es_sourceText, GetActiveSnapshot(), InvalidSnapshot,
							dest, state->params, state->environment, 0);
	ExecutorStart(query, 0);
	shuttle_executor_run_all(query);
	state->nrows = query->estate->es_processed;
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
	shuttle_write_behind_finish(GetCurrentTransactionNestLevel());
	CommandCounterIncrement();
}

ErrorData *
shuttle_conflict_run(ShuttleByRowState *state, PlannedStmt *statement, bool may_fail)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->row_cxt);
	ErrorData  *error = NULL;

	state->running = statement;
	state->answer = tuplestore_begin_heap(false, false, work_mem);
	if (may_fail)
		error = shuttle_subtransaction_run(run_statement, state);
	else
		run_statement(state);
	MemoryContextSwitchTo(old_cxt);
	return error;
}

void
shuttle_conflict_take_answer(ShuttleByRowState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old_cxt = MemoryContextSwitchTo(estate->es_query_cxt);

	while (state->plan.insert->returningList != NIL &&
		   tuplestore_gettupleslot(state->answer, true, false, state->returned_row))
		tuplestore_puttupleslot(state->returned, state->returned_row);
	if (state->plan.can_set_tag)
		estate->es_processed += state->nrows;
	MemoryContextSwitchTo(old_cxt);
}

/* As core, once there is a row. */
static void
refuse_deferrable(const ShuttleByRowState *state)
{
	Relation	rel = table_open(state->plan.relid, NoLock);
	ListCell   *cell;

	foreach(cell, state->arbiter != NULL ? list_make1_oid(state->plan.arbiter) : RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisunique && !index->rd_index->indimmediate)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters"),
					 errtableconstraint(rel, RelationGetRelationName(index))));
		index_close(index, NoLock);
	}
	table_close(rel, NoLock);
}

/* ---- rows changed twice */

/* NULL if it can be in conflict with no row. Behind the values, which ones are NULL, as bits. */
static Datum *
copy_values(const ShuttleByRowState *state, const Datum *values, const bool *nulls)
{
	Datum	   *copy = palloc0_array(Datum, INDEX_MAX_KEYS + 1);
	uint64		null_bits = 0;

	for (int i = 0; i < state->index->ii_NumIndexKeyAttrs; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(state->arbiter), i);

		if (nulls[i] && !state->index->ii_NullsNotDistinct)
			return NULL;
		if (nulls[i])
			null_bits |= UINT64CONST(1) << i;
		else
			copy[i] = datumCopy(values[i], column->attbyval, column->attlen);
	}
	copy[INDEX_MAX_KEYS] = UInt64GetDatum(null_bits);
	return copy;
}

/* The arbiter's values of the proposed row, in the current context, and behind them which ones are NULL, as bits. Returns
 * NULL if it can be in conflict with no row. */
Datum *
shuttle_conflict_values(ShuttleByRowState *state)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;
	EState	   *estate = state->css.ss.ps.state;
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	ListCell   *cell;

	ExecClearTuple(state->table_row);
	memset(state->table_row->tts_isnull, true, state->table_row->tts_tupleDescriptor->natts);
	slot_getallattrs(state->row);
	foreach(cell, state->plan.insert->targetList)
	{
		int			number = lfirst_node(TargetEntry, cell)->resno - 1;

		state->table_row->tts_values[number] = state->row->tts_values[foreach_current_index(cell)];
		state->table_row->tts_isnull[number] = state->row->tts_isnull[foreach_current_index(cell)];
	}
	ExecStoreVirtualTuple(state->table_row);
	context->ecxt_scantuple = state->table_row;
	if (state->index->ii_Predicate != NIL && state->index->ii_PredicateState == NULL)
		state->index->ii_PredicateState = ExecPrepareQual(state->index->ii_Predicate, estate);
	if (!ExecQual(state->index->ii_PredicateState, context))
		return NULL;
	GetPerTupleExprContext(estate)->ecxt_scantuple = state->table_row;
	FormIndexDatum(state->index, state->table_row, estate, values, nulls);
	return copy_values(state, values, nulls);
}

bool
shuttle_conflict_values_are_equal(const ShuttleByRowState *state, const Datum *one, const Datum *other)
{
	uint64		null_bits = DatumGetUInt64(one[INDEX_MAX_KEYS]);

	if (null_bits != DatumGetUInt64(other[INDEX_MAX_KEYS]))
		return false;
	for (int i = 0; i < state->index->ii_NumIndexKeyAttrs; i++)
	{
		FmgrInfo   *compare = index_getprocinfo(state->arbiter, i + 1, BTORDER_PROC);

		if ((null_bits & (UINT64CONST(1) << i)) == 0 &&
			DatumGetInt32(FunctionCall2Coll(compare, state->arbiter->rd_indcollation[i], one[i], other[i])) != 0)
			return false;
	}
	return true;
}

bool
shuttle_conflict_is_written(const ShuttleByRowState *state, const Datum *values)
{
	ListCell   *cell;

	foreach(cell, state->written)
	{
		if (values != NULL && shuttle_conflict_values_are_equal(state, lfirst(cell), values))
			return true;
	}
	return false;
}

void
shuttle_conflict_note_written(ShuttleByRowState *state, Datum *values)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	if (values != NULL)
		state->written = lappend(state->written, values);
	MemoryContextSwitchTo(old_cxt);
}

/* ---- rows */

bool
shuttle_conflict_is_one(const ShuttleByRowState *state, const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION && error->table_name != NULL && error->constraint_name != NULL &&
		strcmp(error->table_name, get_rel_name(state->plan.relid)) == 0 &&
		(error->schema_name == NULL ||
		 strcmp(error->schema_name, get_namespace_name(get_rel_namespace(state->plan.relid))) == 0);
}

/* True if the error is the arbiter's, or that of an index with the same conflicts. */
static bool
is_of_arbiter(const ShuttleByRowState *state, const ErrorData *error)
{
	ListCell   *cell;

	if (strcmp(error->constraint_name, RelationGetRelationName(state->arbiter)) == 0)
		return true;
	foreach(cell, state->plan.twins)
	{
		const char *name = get_rel_name(lfirst_oid(cell));

		if (name != NULL && strcmp(error->constraint_name, name) == 0)
			return true;
	}
	return false;
}

/* The arbiter's values of the row that update_new has updated, in the query's context; NULL: as above. */
static Datum *
new_values(ShuttleByRowState *state)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	int			nkeys = state->index->ii_NumIndexKeyAttrs;
	TupleTableSlot *slot = state->new_values;
	Datum	   *values = NULL;

	if (!tuplestore_gettupleslot(state->answer, true, false, slot))
		elog(ERROR, "a row that was updated has not come back");
	slot_getallattrs(slot);
	if (!slot->tts_isnull[nkeys] && DatumGetBool(slot->tts_values[nkeys]))
		values = copy_values(state, slot->tts_values, slot->tts_isnull);
	ExecClearTuple(slot);
	MemoryContextSwitchTo(old_cxt);
	return values;
}

/* Does what is to be done about the row in conflict. Returns false if it is not there. */
static bool
change_conflicting(ShuttleByRowState *state, Datum *values)
{
	if (state->plan.update != NULL)
	{
		if (shuttle_conflict_is_written(state, values))
			ereport(ERROR,
					(errcode(ERRCODE_CARDINALITY_VIOLATION),
					 errmsg("ON CONFLICT DO UPDATE command cannot affect row a second time"),
					 errhint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")));
		(void) shuttle_conflict_run(state, state->update_new != NULL ? state->update_new : state->update, false);
		if (state->nrows > 0)
		{
			shuttle_conflict_take_answer(state);
			shuttle_conflict_note_written(state, state->update_new != NULL ? new_values(state) : values);
			return true;
		}
	}
	(void) shuttle_conflict_run(state, state->select, false);
	return state->nrows > 0;
}

static void
wait_for_others(int round)
{
	if (round == MOST_ROUNDS)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not find the rows that conflict due to concurrent changes"),
				 errhint("Repeat the transaction.")));
	CHECK_FOR_INTERRUPTS();
	pg_usleep(Min(round + 1, MOST_WAIT_MS) * 1000L);
}

/* The row as parameters of statements. */
static void
set_params(ShuttleByRowState *state)
{
	slot_getallattrs(state->row);
	for (int i = 0; i < state->row->tts_tupleDescriptor->natts; i++)
	{
		ParamExternData *param = &state->params->params[state->plan.nparams + i];

		param->value = state->row->tts_values[i];
		param->isnull = state->row->tts_isnull[i];
		param->pflags = 0;
		param->ptype = TupleDescAttr(state->row->tts_tupleDescriptor, i)->atttypid;
	}
}

bool
shuttle_conflict_write_row(ShuttleByRowState *state, bool is_known)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	Datum	   *values = state->update == NULL ? NULL : shuttle_conflict_values(state);

	MemoryContextSwitchTo(old_cxt);
	set_params(state);
	if (is_known && (state->update == NULL || change_conflicting(state, values)))
		return false;
	for (int round = 0;; round++)
	{
		ErrorData  *error = shuttle_conflict_run(state, state->insert, true);

		if (error == NULL)
		{
			shuttle_conflict_take_answer(state);
			shuttle_conflict_note_written(state, values);
			return true;
		}
		if (!shuttle_conflict_is_one(state, error))
			ReThrowError(error);
		if (state->arbiter == NULL || change_conflicting(state, values))
			return false;
		if (!is_of_arbiter(state, error))
			ReThrowError(error);
		wait_for_others(round);
	}
}

static void
write_rows(ShuttleByRowState *state)
{
	if (state->nproposed > 0)
		refuse_deferrable(state);
	if (state->nproposed > 1 && state->plan.sets_arbiter && state->update_new == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT DO UPDATE of several rows cannot set columns of unique index \"%s\" without the distribution column",
						RelationGetRelationName(state->arbiter)),
				 errdetail("The statement has RETURNING, or a foreign key refers to the table."),
				 errhint("Insert each row by a statement of its own.")));
	if (state->nproposed > 1 && state->update_new == NULL)
	{
		shuttle_conflict_write_batches(state);
		return;
	}
	while (tuplestore_gettupleslot(state->proposed, true, true, state->row))
	{
		CHECK_FOR_INTERRUPTS();
		(void) shuttle_conflict_write_row(state, false);
		MemoryContextReset(state->row_cxt);
		ResetPerTupleExprContext(state->css.ss.ps.state);
	}
}

static TupleTableSlot *
exec_by_row(CustomScanState *node)
{
	ShuttleByRowState *state = (ShuttleByRowState *) node;

	if (!state->is_done)
	{
		prepare(state);
		write_rows(state);
		state->is_done = true;
	}
	if (state->plan.insert->returningList == NIL ||
		!tuplestore_gettupleslot(state->returned, true, false, state->returned_row))
		return NULL;
	return ExecCopySlot(node->ss.ss_ScanTupleSlot, state->returned_row);
}

static void
end_by_row(CustomScanState *node)
{
	ShuttleByRowState *state = (ShuttleByRowState *) node;

	ExecEndNode(outerPlanState(node));
	if (state->row != NULL)
	{
		ExecDropSingleTupleTableSlot(state->row);
		ExecDropSingleTupleTableSlot(state->returned_row);
	}
	if (state->table_row != NULL)
		ExecDropSingleTupleTableSlot(state->table_row);
	if (state->new_values != NULL)
		ExecDropSingleTupleTableSlot(state->new_values);
	if (state->arbiter != NULL)
		index_close(state->arbiter, NoLock);
}

static void
rescan_by_row(CustomScanState *node)
{
	elog(ERROR, "rows of a statement that writes cannot be read again");
}

static void
explain_by_row(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const ShuttleByRowState *state = (ShuttleByRowState *) node;

	shuttle_explain_text(es, "Conflict Resolution", state->plan.update == NULL ? "NOTHING" : "UPDATE");
	if (OidIsValid(state->plan.arbiter))
		shuttle_explain_text(es, "Conflict Arbiter Index", get_rel_name(state->plan.arbiter));
}

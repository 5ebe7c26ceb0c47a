/*-------------------------------------------------------------------------
 * row_checks.c
 *	  Check constraints that are computed here, before rows leave.
 *
 * Nodes do not get checks that their sessions may decide otherwise (session_checks.c).
 * A distributed table that has such checks has a BEFORE ROW trigger, the last one by its
 * name, which holds each new row against the table's constraints as core does it. So all
 * that must know of row triggers (the router, shipped calls, writes that would be whole on
 * a node) knows of these checks. It fires in a session that replicates as well. Rows that
 * exist already are read when such a check is added or validated, or a type is changed.
 *
 * Memory: what a statement's checks are computed with lives as long as the trigger's
 * FmgrInfo, that is, as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "catalog/partition.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/constraints/constraints.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/shuttle_tablets.h"

#define TRIGGER_NAME "zz_shuttle_check"

/* How many rows are held in memory while a table's rows are read. */
#define ROWS_AT_ONCE 1000

/* What the rows of one tablet are checked with. */
typedef struct RowChecks
{
	Oid			table;			/* the distributed table */
	EState	   *estate;
	ResultRelInfo *target;		/* of that table; its relation is open during
								 * a check only */
	TupleConversionMap *map;	/* from the tablet's rows to the table's;
								 * NULL: they are alike */
	TupleTableSlot *slot;		/* a row of the table */
} RowChecks;

SHUTTLE_SQL_FUNCTION(shuttle_check_row);

static RowChecks *
create_checks(Relation table, TupleDesc row, MemoryContext cxt)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	RowChecks  *checks = palloc0_object(RowChecks);

	checks->table = RelationGetRelid(table);
	checks->estate = CreateExecutorState();
	checks->target = makeNode(ResultRelInfo);
	InitResultRelInfo(checks->target, table, 0, NULL, 0);
	checks->map = convert_tuples_by_name(row, RelationGetDescr(table));
	checks->slot = MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(table)), &TTSOpsVirtual);
	MemoryContextSwitchTo(old_cxt);
	return checks;
}

/* Errors: those of core for the constraints of the table. */
static void
check_row(RowChecks *checks, Relation table, TupleTableSlot *row)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	TupleTableSlot *slot = checks->slot;

	if (constraints == NULL)
		return;
	if (checks->map != NULL)
		slot = execute_attr_map_slot(checks->map->attrMap, row, slot);
	else
		slot = ExecCopySlot(slot, row);
	checks->target->ri_RelationDesc = table;
	if (constraints->has_generated_stored)
		ExecComputeStoredGenerated(checks->target, checks->estate, slot, CMD_INSERT);
	ExecConstraints(checks->target, slot, checks->estate);
	ResetPerTupleExprContext(checks->estate);
	ExecClearTuple(slot);
}

/* shuttle.check_row() */
Datum
shuttle_check_row(PG_FUNCTION_ARGS)
{
	const TriggerData *data = (const TriggerData *) fcinfo->context;
	RowChecks  *checks = fcinfo->flinfo->fn_extra;
	bool		is_update;
	Relation	table;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event) || TRIGGER_FIRED_BY_DELETE(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("shuttle.check_row() is for BEFORE ROW triggers of INSERT and UPDATE")));
	is_update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);
	if (data->tg_relation->rd_rel->relispartition)
	{
		if (checks != NULL)
			table = table_open(checks->table, NoLock);	/* locked for the first
														 * row */
		else
		{
			table = table_open(get_partition_parent(RelationGetRelid(data->tg_relation), false), AccessShareLock);
			fcinfo->flinfo->fn_extra = checks = create_checks(table, RelationGetDescr(data->tg_relation), fcinfo->flinfo->fn_mcxt);
		}
		check_row(checks, table, is_update ? data->tg_newslot : data->tg_trigslot);
		table_close(table, NoLock);
	}
	return PointerGetDatum(is_update ? data->tg_newtuple : data->tg_trigtuple);
}

/* ---- the trigger */

bool
shuttle_row_check_trigger_has_name(const char *name)
{
	return strcmp(name, TRIGGER_NAME) == 0;
}

static void
refuse(Oid relid, const char *what, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not possible beside check constraints of table \"%s\" that depend on the session",
					what, get_rel_name(relid)),
			 errhint("%s", hint)));
}

/* Nodes do what foreign keys say, and fire no triggers. */
static void
refuse_foreign_keys(Oid relid)
{
	static const char *const query =
		"SELECT conname FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype = 'f' AND (confdeltype = 'n' OR confupdtype IN ('c', 'n'))";

	ShuttleNode *node = shuttle_connection_get(linitial_oid(shuttle_table_servers(relid)), GetUserId());

	if (shuttle_node_rows(node, query, 1, relid) != NIL)
		refuse(relid, "a foreign key that changes rows", "Use NO ACTION, or immutable functions in the checks.");
}

/* A row that a later trigger changes has been checked already. */
static void
refuse_later_trigger(Oid relid)
{
	static const char *const query =
		"SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal AND tgtype & 3 = 3 AND tgtype & 20 <> 0"
		" AND tgname > '" TRIGGER_NAME "' LIMIT 1";
	char	   *name = shuttle_local_text(query, relid);

	if (name != NULL)
		refuse(relid, psprintf("trigger \"%s\"", name), "BEFORE triggers fire by their names: give it one that comes before " TRIGGER_NAME ".");
}

void
shuttle_row_checks_follow(Oid relid)
{
	static const char *const query =
		"SELECT CASE WHEN tgfoid = 'shuttle.check_row'::regproc THEN 'ours' ELSE '' END FROM pg_trigger WHERE tgrelid = $1 AND tgname = '" TRIGGER_NAME "'";
	const char *name = shuttle_local_name(relid);
	char	   *found = shuttle_local_text(query, relid);
	bool		exists = found != NULL && *found != '\0';
	bool		is_needed = shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED &&
		shuttle_session_checks_stay_here(relid);

	if (!is_needed)
	{
		if (exists)
			(void) shuttle_local_run_as_superuser(psprintf("DROP TRIGGER " TRIGGER_NAME " ON %s", name));
		return;
	}
	if (found != NULL && !exists)
		refuse(relid, "trigger \"" TRIGGER_NAME "\"", "Give it another name.");
	refuse_later_trigger(relid);
	if (!exists)
	{
		refuse_foreign_keys(relid);
		(void) shuttle_local_run_as_superuser(psprintf("CREATE TRIGGER " TRIGGER_NAME " BEFORE INSERT OR UPDATE ON %s"
													   " FOR EACH ROW EXECUTE FUNCTION shuttle.check_row()", name));
	}
	(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER " TRIGGER_NAME, name));
}

/* ---- rows that exist */

/* name: quoted; becomes the constraint's own. */
static ExprState *
prepare_check(Relation table, const char **name, EState *estate)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;

	for (int i = 0; i < constraints->num_check; i++)
	{
		Expr	   *condition;

		if (strcmp(quote_identifier(constraints->check[i].ccname), *name) != 0)
			continue;
		*name = pstrdup(constraints->check[i].ccname);
		condition = (Expr *) shuttle_expand_generated(stringToNode(constraints->check[i].ccbin), table);
		return ExecPrepareCheck(list_make1(condition), estate);
	}
	elog(ERROR, "could not find check constraint %s", *name);
}

static void
check_rows(Relation table, const char *name, Portal portal, ExprState *check, ExprContext *context)
{
	TupleTableSlot *slot = context->ecxt_scantuple;

	for (;;)
	{
		SPI_cursor_fetch(portal, true, ROWS_AT_ONCE);
		if (SPI_processed == 0)
			return;
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			bool		is_null;
			HeapTupleHeader row = DatumGetHeapTupleHeader(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null));
			HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};

			ExecForceStoreHeapTuple(&tuple, slot, false);
			if (!ExecCheck(check, context))
				ereport(ERROR,
						(errcode(ERRCODE_CHECK_VIOLATION),
						 errmsg("check constraint \"%s\" of relation \"%s\" is violated by some row",
								name, RelationGetRelationName(table)),
						 errtableconstraint(table, name)));
			ResetExprContext(context);
		}
		SPI_freetuptable(SPI_tuptable);
		CHECK_FOR_INTERRUPTS();
	}
}

void
shuttle_row_checks_verify(Oid relid, const char *name)
{
	Relation	table = table_open(relid, AccessShareLock);
	EState	   *estate = CreateExecutorState();
	ExprContext *context = GetPerTupleExprContext(estate);
	ExprState  *check = prepare_check(table, &name, estate);
	ShuttleRights caller = shuttle_owner_rights_keep();
	int			level = shuttle_owner_rights_all_rows();
	Portal		portal;

	shuttle_refusal_raise_if_snapshot_is_old();
	context->ecxt_scantuple = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	portal = SPI_cursor_open_with_args(NULL, psprintf("SELECT (t.*)::%s FROM %s AS t", shuttle_local_name(relid), shuttle_local_name(relid)),
									   0, NULL, NULL, NULL, false, 0);
	check_rows(table, name, portal, check, context);
	SPI_cursor_close(portal);
	SPI_finish();
	AtEOXact_GUC(true, level);
	shuttle_owner_rights_end(caller);
	ExecDropSingleTupleTableSlot(context->ecxt_scantuple);
	FreeExecutorState(estate);
	table_close(table, NoLock);
}

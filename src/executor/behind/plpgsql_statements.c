/*-------------------------------------------------------------------------
 * plpgsql_statements.c
 *	  Waits for INSERTs before those statements of PL/pgSQL that their
 *	  errors must not follow.
 *
 * A block with EXCEPTION begins a subtransaction, before its PG_TRY. An error
 * of the outer level cannot be raised from there: nobody could clean up a
 * subtransaction that has half begun. Before the statement, it can. After
 * ROLLBACK the error would be lost, and RAISE would raise another one.
 *
 * PL/pgSQL calls one plugin for each statement: ours, which calls the plugin
 * that was there before. If another library replaces our plugin later, and may
 * not call it, we cannot be sure.
 *
 * The plugin also has TG_RELID, TG_TABLE_NAME and TG_TABLE_SCHEMA of a tablet's row triggers
 * be those of the distributed table, which is the one that has the trigger for its user.
 *
 * Memory: what stands for a trigger's table lives as long as the function's variables.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "plpgsql.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "executor/behind/behind.h"
#include "executor/behind/exception_blocks.h"
#include "executor/behind/unawaited_update.h"
#include "tablets/shuttle_tablets.h"

static PLpgSQL_plugin **place = NULL;
static PLpgSQL_plugin *previous = NULL; /* NULL: there was none */

static void begin_statement(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt);
static void set_up_function(PLpgSQL_execstate *estate, PLpgSQL_function *func);
static void begin_function(PLpgSQL_execstate *estate, PLpgSQL_function *func);
static void end_function(PLpgSQL_execstate *estate, PLpgSQL_function *func);
static void end_statement(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt);

static PLpgSQL_plugin plugin = {
	.func_setup = set_up_function,
	.func_beg = begin_function,
	.func_end = end_function,
	.stmt_beg = begin_statement,
	.stmt_end = end_statement,
};

void
shuttle_plpgsql_statements_see(void)
{
	if (place != NULL)
		return;
	place = (PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");
	previous = *place;
	*place = &plugin;
}

bool
shuttle_plpgsql_statements_are_seen(void)
{
	return place != NULL && *place == &plugin;
}

static void
begin_statement(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	shuttle_exception_blocks_raise(estate);
	shuttle_unawaited_update_begin_statement(estate, stmt);
	shuttle_exception_blocks_statement(estate, stmt);
	switch (stmt->cmd_type)
	{
		case PLPGSQL_STMT_BLOCK:
			if (((PLpgSQL_stmt_block *) stmt)->exceptions != NULL)
				shuttle_write_behind_enter_block();
			break;
		case PLPGSQL_STMT_RAISE:
			if (((PLpgSQL_stmt_raise *) stmt)->elog_level >= ERROR)
				shuttle_write_behind_finish(1);
			break;
		case PLPGSQL_STMT_COMMIT:
		case PLPGSQL_STMT_ROLLBACK:
			shuttle_write_behind_finish(1);
			break;
		default:
			break;
	}
	if (previous != NULL && previous->stmt_beg != NULL)
		previous->stmt_beg(estate, stmt);
}

/* PL/pgSQL has just set the pointers to functions that plugins may call. */
static void
set_up_function(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	if (previous == NULL)
		return;
	previous->error_callback = plugin.error_callback;
	previous->assign_expr = plugin.assign_expr;
	previous->assign_value = plugin.assign_value;
	previous->eval_datum = plugin.eval_datum;
	previous->cast_value = plugin.cast_value;
	if (previous->func_setup != NULL)
		previous->func_setup(estate, func);
}

/* A tablet with the OID, name and schema of its table. PL/pgSQL reads nothing else of the
 * relation from here on. */
static Relation
declared_table(Relation tablet)
{
	Relation	declared = palloc(sizeof(RelationData));
	HeapTuple	tuple;

	memcpy(declared, tablet, sizeof(RelationData));
	declared->rd_id = get_partition_parent(RelationGetRelid(tablet), false);
	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(declared->rd_id));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", declared->rd_id);
	declared->rd_rel = (Form_pg_class) GETSTRUCT(tuple);
	return declared;
}

static void
name_declared_table(PLpgSQL_execstate *estate)
{
	Relation	table = estate->trigdata->tg_relation;
	TriggerData *declared;
	MemoryContext old_cxt;

	if (table->rd_rel->relkind != RELKIND_FOREIGN_TABLE ||
		shuttle_table_kind(RelationGetRelid(table)) != SHUTTLE_TABLE_TABLET)
		return;
	old_cxt = MemoryContextSwitchTo(estate->datum_context);
	declared = palloc(sizeof(TriggerData));
	*declared = *estate->trigdata;
	declared->tg_relation = declared_table(table);
	estate->trigdata = declared;
	MemoryContextSwitchTo(old_cxt);
}

static void
begin_function(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	if (estate->trigdata != NULL)
		name_declared_table(estate);
	shuttle_unawaited_update_begin_function(estate);
	if (previous != NULL && previous->func_beg != NULL)
		previous->func_beg(estate, func);
}

static void
end_function(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	shuttle_unawaited_update_end_function(estate);
	if (previous != NULL && previous->func_end != NULL)
		previous->func_end(estate, func);
}

static void
end_statement(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	shuttle_exception_blocks_raise(estate);
	shuttle_unawaited_update_end_statement();
	if (previous != NULL && previous->stmt_end != NULL)
		previous->stmt_end(estate, stmt);
}

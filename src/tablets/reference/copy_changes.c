/*-------------------------------------------------------------------------
 * copy_changes.c
 *	  Triggers that repeat changes of a reference table on its copies.
 *
 * An AFTER ROW trigger, the last one by its name, buffers the rows that a
 * statement has changed; an AFTER STATEMENT trigger sends them in the order of
 * the changes. Transition tables would not do: there is one for each kind of
 * change, so the order of an INSERT and a DELETE of one key is lost; and a
 * statement inside of another one's triggers would send its rows first.
 *
 * That happens here, too: a user's AFTER ROW trigger changes a row that the
 * outer statement changed as well, and core fires us for the outer change later.
 * So each change knows its command. One older than what was sent is not
 * repeated; copies get the row as it is here now.
 *
 * A row that got another key is changed by UPDATE, so that foreign keys on nodes
 * do what they would do here.
 *
 * Savepoints: a change belongs to the nest level of its statement. Changes of an
 * outer level wait in front of those of a level inside of it, and are not sent
 * with them, or a rollback would take them back.
 *
 * Memory: changes live in TopTransactionContext until they are sent. A table's
 * record stays until the transaction ends.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/reference/copies.h"
#include "tablets/shuttle_tablets.h"

/* A row's change. */
typedef struct Change
{
	int			level;			/* transaction nest level */
	CommandId	command;
	HeapTuple	old_row;		/* NULL: inserted */
	HeapTuple	new_row;		/* NULL: deleted */
} Change;

/* A table whose copies the transaction changes. */
typedef struct ChangedTable
{
	Oid			relid;
	List	   *changes;		/* not sent yet, levels ascending */
	Size		bytes;			/* of them */
	CommandId	last_command;	/* of what was sent */
} ChangedTable;

/* What the changes of one run do to copies. */
typedef enum ChangeKind
{
	CHANGE_NONE,
	CHANGE_PUT,
	CHANGE_DELETE,
	CHANGE_MOVE,
	CHANGE_REPEAT				/* as the row is here now */
} ChangeKind;

static List *changed_tables = NIL;	/* of ChangedTable */
static List *truncated = NIL;	/* tables; sent after the statement */
static int	utility_depth = 0;	/* of our ProcessUtility hook */

SHUTTLE_SQL_FUNCTION(shuttle_copy_change);

/* ---- making and dropping the triggers */

static const char *const trigger_names[] = {"zz_shuttle_copy", "zz_shuttle_send"};

bool
shuttle_copy_trigger_has_name(const char *name)
{
	return strcmp(name, trigger_names[0]) == 0 || strcmp(name, trigger_names[1]) == 0;
}

/* The last one by its name. They fire in a session that replicates as well. */
void
shuttle_copy_triggers_create(Oid relid)
{
	const char *name = shuttle_local_name(relid);

	(void) shuttle_local_run_as_superuser(psprintf("CREATE TRIGGER zz_shuttle_copy AFTER INSERT OR UPDATE OR DELETE ON %s"
												   " FOR EACH ROW EXECUTE FUNCTION shuttle.copy_change()", name));
	(void) shuttle_local_run_as_superuser(psprintf("CREATE TRIGGER zz_shuttle_send AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s"
												   " FOR EACH STATEMENT EXECUTE FUNCTION shuttle.copy_change()", name));
	shuttle_copy_triggers_enable(relid);
}

/* While a dump is restored, there is only one of them for a moment. */
void
shuttle_copy_triggers_enable(Oid relid)
{
	for (int i = 0; i < lengthof(trigger_names); i++)
	{
		if (OidIsValid(get_trigger_oid(relid, trigger_names[i], true)))
			(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s",
														   shuttle_local_name(relid), trigger_names[i]));
	}
}

void
shuttle_copy_triggers_drop(Oid relid)
{
	const char *name = shuttle_local_name(relid);

	(void) shuttle_local_run_as_superuser(psprintf("DROP TRIGGER zz_shuttle_copy ON %s", name));
	(void) shuttle_local_run_as_superuser(psprintf("DROP TRIGGER zz_shuttle_send ON %s", name));
}

/* ---- sending */

static ChangeKind
kind_of(ShuttleCopies *copies, const ChangedTable *table, const Change *change)
{
	if (change->command < table->last_command)
		return CHANGE_REPEAT;
	if (change->new_row == NULL)
		return CHANGE_DELETE;
	if (change->old_row == NULL ||
		shuttle_copies_same_key(copies, change->old_row, change->new_row))
		return CHANGE_PUT;
	return CHANGE_MOVE;
}

static void
send_run(ShuttleCopies *copies, ChangeKind kind, const List *rows)
{
	switch (kind)
	{
		case CHANGE_PUT:
			shuttle_copies_put(copies, rows);
			break;
		case CHANGE_DELETE:
			shuttle_copies_delete(copies, rows);
			break;
		case CHANGE_REPEAT:
			shuttle_copies_repeat(copies, rows);
			break;
		case CHANGE_MOVE:
			shuttle_copies_move(copies, linitial(rows), lsecond(rows));
			break;
		case CHANGE_NONE:
			break;
	}
}

/* One command changes a row once, so a run of its changes has each key once. */
static void
send_changes(ShuttleCopies *copies, ChangedTable *table, List *changes)
{
	ChangeKind	run_kind = CHANGE_NONE;
	CommandId	run_command = 0;
	List	   *rows = NIL;
	ListCell   *cell;

	foreach(cell, changes)
	{
		Change	   *change = lfirst(cell);
		ChangeKind	kind = kind_of(copies, table, change);

		if (kind != run_kind || kind == CHANGE_MOVE || change->command != run_command)
		{
			send_run(copies, run_kind, rows);
			rows = NIL;
		}
		if (change->old_row != NULL && kind != CHANGE_PUT)
			rows = lappend(rows, change->old_row);
		if (change->new_row != NULL)
			rows = lappend(rows, change->new_row);
		run_kind = kind;
		run_command = change->command;
		table->last_command = Max(table->last_command, change->command);
	}
	send_run(copies, run_kind, rows);
}

/* The number of changes that belong to levels outside of this one. They are in
 * front of the others. */
static int
count_outer(const ChangedTable *table, int level)
{
	int			n = list_length(table->changes);

	while (n > 0 && ((Change *) list_nth(table->changes, n - 1))->level >= level)
		n--;
	return n;
}

/* Takes the changes of the current level off a table's list. */
static List *
take_changes(ChangedTable *table)
{
	int			nouter = count_outer(table, GetCurrentTransactionNestLevel());
	List	   *taken = list_copy_tail(table->changes, nouter);

	table->changes = list_truncate(table->changes, nouter);
	table->bytes = 0;
	return taken;
}

static void
free_changes(List *changes)
{
	ListCell   *cell;

	foreach(cell, changes)
	{
		Change	   *change = lfirst(cell);

		if (change->old_row != NULL)
			heap_freetuple(change->old_row);
		if (change->new_row != NULL)
			heap_freetuple(change->new_row);
		pfree(change);
	}
}

static void
send_table(ChangedTable *table, Relation rel)
{
	MemoryContext work_cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle copy",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(work_cxt);
	List	   *changes = take_changes(table);

	if (changes != NIL)
	{
		ShuttleCopies *copies = shuttle_copies_open(rel, shuttle_layout_nodes());

		send_changes(copies, table, changes);
		shuttle_copies_finish(copies);
		free_changes(changes);
	}
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(work_cxt);
}

static ChangedTable *
find_table(Oid relid)
{
	MemoryContext old_cxt;
	ChangedTable *table;
	ListCell   *cell;

	foreach(cell, changed_tables)
	{
		table = lfirst(cell);
		if (table->relid == relid)
			return table;
	}
	old_cxt = MemoryContextSwitchTo(TopTransactionContext);
	table = palloc0_object(ChangedTable);
	table->relid = relid;
	changed_tables = lappend(changed_tables, table);
	MemoryContextSwitchTo(old_cxt);
	return table;
}

/* ---- TRUNCATE: of several tables at once, as foreign keys among them ask for */

/* Distributed tables that the statement names and the node has. Their rows are gone
 * already; but a node refuses to truncate a copy without tables that refer to it. */
static List *
find_distributed(const TruncateStmt *statement, Oid serverid)
{
	List	   *relids = NIL;
	ListCell   *cell;

	foreach(cell, statement->relations)
	{
		Oid			relid = RangeVarGetRelid(lfirst_node(RangeVar, cell), NoLock, false);

		if (shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED &&
			list_member_oid(shuttle_table_servers(relid), serverid))
			relids = lappend_oid(relids, relid);
	}
	return relids;
}

/* statement: NULL if none is known. */
static void
send_truncate(const TruncateStmt *statement)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *tables = truncated;
	ListCell   *node;

	truncated = NIL;
	foreach(node, shuttle_layout_nodes())
	{
		List	   *all = list_copy(tables);
		StringInfoData sql;
		ListCell   *cell;

		if (statement != NULL)
			all = list_concat(all, find_distributed(statement, lfirst_oid(node)));
		initStringInfo(&sql);
		foreach(cell, all)
			appendStringInfo(&sql, "%s%s", foreach_current_index(cell) == 0 ? "TRUNCATE " : ", ",
							 shuttle_local_name(lfirst_oid(cell)));
		shuttle_node_statements_add(statements, lfirst_oid(node), sql.data);
	}
	shuttle_node_statements_run(statements);
}

static void
note_truncate(Oid relid)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(TopTransactionContext);

	truncated = list_append_unique_oid(truncated, relid);
	MemoryContextSwitchTo(old_cxt);
	if (utility_depth == 0)		/* a worker that replicates */
		send_truncate(NULL);
}

void
shuttle_copy_truncate_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	List	   *outer_truncated = truncated;

	if (!IsA(pstmt->utilityStmt, TruncateStmt))
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		return;
	}
	utility_depth++;
	truncated = NIL;
	PG_TRY();					/* depth and list outlive the statement */
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		if (truncated != NIL)
			send_truncate(castNode(TruncateStmt, pstmt->utilityStmt));
	}
	PG_FINALLY();
	{
		utility_depth--;
		truncated = outer_truncated;
	}
	PG_END_TRY();
}

bool
shuttle_copies_are_current(void)
{
	ListCell   *cell;

	foreach(cell, changed_tables)
	{
		if (((ChangedTable *) lfirst(cell))->changes != NIL)
			return false;
	}
	return truncated == NIL;
}

/* ---- the trigger */

/* The command that made the new row, or deleted the old one. A row that COPY
 * FREEZE wrote has no command for HeapTupleHeaderGetCmin(). */
static CommandId
command_of(const Change *change)
{
	HeapTupleHeader header = (change->new_row != NULL ? change->new_row : change->old_row)->t_data;

	if ((header->t_infomask & HEAP_COMBOCID) == 0)
		return HeapTupleHeaderGetRawCommandId(header);
	return change->new_row != NULL ? HeapTupleHeaderGetCmin(header) : HeapTupleHeaderGetCmax(header);
}

static void
note_row(TriggerData *trigger)
{
	ChangedTable *table = find_table(RelationGetRelid(trigger->tg_relation));
	MemoryContext old_cxt = MemoryContextSwitchTo(TopTransactionContext);
	Change	   *change = palloc0_object(Change);
	bool		deleted = TRIGGER_FIRED_BY_DELETE(trigger->tg_event);

	change->level = GetCurrentTransactionNestLevel();
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		change->old_row = heap_copytuple(trigger->tg_trigtuple);
	if (!deleted)
		change->new_row = heap_copytuple(TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ?
										 trigger->tg_trigtuple : trigger->tg_newtuple);
	change->command = command_of(change);
	table->changes = lappend(table->changes, change);
	table->bytes += (deleted ? change->old_row : change->new_row)->t_len;
	MemoryContextSwitchTo(old_cxt);
	if (table->bytes > shuttle_settings.write_buffer_size_kb * (Size) 1024)
		send_table(table, trigger->tg_relation);
}

/* shuttle.copy_change(): trigger of reference tables */
Datum
shuttle_copy_change(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Oid			relid;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by a trigger")));
	relid = RelationGetRelid(trigger->tg_relation);
	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_REFERENCE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not a reference table", RelationGetRelationName(trigger->tg_relation)),
				 errhint("Drop trigger \"%s\".", trigger->tg_trigger->tgname)));

	/*
	 * who has TRIGGER on the table can make one more of this function: each
	 * change would be noted twice
	 */
	if (!shuttle_copy_trigger_has_name(trigger->tg_trigger->tgname))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by a trigger of shuttle.reference_table()"),
				 errhint("Drop trigger \"%s\".", trigger->tg_trigger->tgname)));
	if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		note_row(trigger);
	else if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		note_truncate(relid);
	else
		send_table(find_table(relid), trigger->tg_relation);
	return PointerGetDatum(NULL);
}

/* ---- the end of transactions */

/* A worker that replicates fires no triggers of statements. */
static void
send_rest(void)
{
	ListCell   *cell;

	foreach(cell, changed_tables)
	{
		ChangedTable *table = lfirst(cell);
		Relation	rel;

		if (table->changes == NIL)
			continue;
		PushActiveSnapshot(GetTransactionSnapshot());
		rel = table_open(table->relid, AccessShareLock);
		send_table(table, rel);
		table_close(rel, NoLock);
		PopActiveSnapshot();
	}
}

void
shuttle_copy_changes_end_transaction(XactEvent event)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
	{
		send_rest();
		return;
	}
	changed_tables = NIL;
	truncated = NIL;
}

/* Forgets changes that are rolled back. */
void
shuttle_copy_changes_end_savepoint(SubXactEvent event)
{
	ListCell   *cell;

	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	foreach(cell, changed_tables)
	{
		ChangedTable *table = lfirst(cell);

		table->changes = list_truncate(table->changes,
									   count_outer(table, GetCurrentTransactionNestLevel()));
	}
}

/*-------------------------------------------------------------------------
 * ddl_changes.c
 *	  What a statement has changed of distributed tables, as statements for
 *	  their nodes.
 *
 * What nodes have of a table (columns, checks, keys, indexes) is read from the
 * catalogs before core runs the statement, and again after it. Each difference
 * becomes one statement. So it does not matter how the user wrote it, under
 * which search_path, and what core has changed besides.
 *
 * Things are the same if they have one OID, or, as ALTER TYPE makes constraints
 * and indexes anew, one name and definition.
 *
 * Memory: what was noted lives as long as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "pgtime.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/reference/copies.h"
#include "tablets/ddl/ddl.h"
#include "tablets/distribute.h"

/* A table as it was before the statement. */
typedef struct NotedTable
{
	Oid			relid;
	char	   *name;			/* with its schema, quoted */
	char	   *short_name;
	Oid			owner;
	List	   *columns;		/* of ShuttleNodeColumn */
	List	   *parts;			/* of ShuttleNodePart */
	List	   *conversions;	/* of Conversion */
} NotedTable;

/* How nodes convert a column to its new type. */
typedef struct Conversion
{
	AttrNumber	number;
	char	   *expression;
} Conversion;

/* One table's changes, as they are put together. */
typedef struct Changes
{
	const NotedTable *before;
	NotedTable	now;
	bool		are_copies;		/* nodes have copies of a reference table */
	List	   *servers;
	ShuttleNodeStatements *statements;
	const char *cascade;		/* " CASCADE" or "" */
	List	   *filled;			/* new columns with a value for each row */
} Changes;

static ShuttleDdlChanges *noted = NULL; /* of the innermost statement */

void
shuttle_ddl_changes_enter(ShuttleDdlChanges *changes)
{
	changes->cxt = CurrentMemoryContext;
	changes->tables = NIL;
	changes->outer = noted;
	noted = changes;
}

void
shuttle_ddl_changes_leave(void)
{
	noted = noted->outer;
}

static void
read_table(NotedTable *table, Oid relid)
{
	table->relid = relid;
	table->name = shuttle_local_name(relid);
	table->short_name = get_rel_name(relid);
	table->owner = shuttle_local_owner(relid);
	table->columns = shuttle_table_text_columns(relid);
	table->parts = shuttle_table_text_parts(relid);
}

static NotedTable *
find_noted(Oid relid)
{
	ListCell   *cell;

	foreach(cell, noted->tables)
	{
		if (((NotedTable *) lfirst(cell))->relid == relid)
			return lfirst(cell);
	}
	return NULL;
}

void
shuttle_ddl_changes_note(Oid relid)
{
	NotedTable *table;
	MemoryContext old_cxt;

	if (noted == NULL || find_noted(relid) != NULL)
		return;
	old_cxt = MemoryContextSwitchTo(noted->cxt);
	table = palloc0_object(NotedTable);
	read_table(table, relid);
	noted->tables = lappend(noted->tables, table);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_ddl_changes_convert(Oid relid, const char *column, const char *expression)
{
	Conversion *conversion;
	NotedTable *table;
	MemoryContext old_cxt;

	shuttle_ddl_changes_note(relid);
	if (noted == NULL || expression == NULL)
		return;
	table = find_noted(relid);
	old_cxt = MemoryContextSwitchTo(noted->cxt);
	conversion = palloc_object(Conversion);
	conversion->number = get_attnum(relid, column);
	conversion->expression = pstrdup(expression);
	table->conversions = lappend(table->conversions, conversion);
	MemoryContextSwitchTo(old_cxt);
}

/* Adds a statement for all nodes of the table. */
static void
add(Changes *changes, char *sql)
{
	shuttle_node_statements_add_all(changes->statements, changes->servers, sql);
}

/* Adds an ALTER TABLE. */
static void
add_alter(Changes *changes, char *action)
{
	add(changes, psprintf("ALTER TABLE %s %s", changes->now.name, action));
}

static ShuttleNodeColumn *
find_column(const NotedTable *table, AttrNumber number)
{
	ListCell   *cell;

	foreach(cell, table->columns)
	{
		ShuttleNodeColumn *column = lfirst(cell);

		if (column->number == number)
			return column;
	}
	return NULL;
}

/* An unchecked constraint that has become a checked one stays the same. */
static bool
is_same_definition(const ShuttleNodePart *a, const ShuttleNodePart *b)
{
	size_t		length = strlen(b->definition);

	return strncmp(a->definition, b->definition, length) == 0 &&
		(a->definition[length] == '\0' ||
		 strcmp(a->definition + length, " NOT VALID") == 0);
}

/* The part that was the same, or is. */
static ShuttleNodePart *
find_part(const NotedTable *table, const ShuttleNodePart *other, bool is_before)
{
	ListCell   *cell;

	foreach(cell, table->parts)
	{
		ShuttleNodePart *part = lfirst(cell);
		const ShuttleNodePart *before = is_before ? part : other;
		const ShuttleNodePart *now = is_before ? other : part;

		if (part->kind != other->kind)
			continue;
		if (part->oid == other->oid)
			return part;
		if (strcmp(part->name, other->name) == 0 && is_same_definition(before, now))
			return part;
	}
	return NULL;
}

static char *
index_name(Oid relid, const ShuttleNodePart *index)
{
	return psprintf("%s.%s", quote_identifier(get_namespace_name(get_rel_namespace(relid))),
					index->name);
}

/* Tablets are named after their table, here and on nodes. */
static void
rename_tablets(Changes *changes)
{
	Relation	rel = table_open(changes->now.relid, NoLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	ShuttleLayout *layout = shuttle_layout_of(changes->now.relid);

	for (int i = 0; i < partitions->nparts; i++)
	{
		const ShuttleTablet *tablet = &layout->tablets[i];
		const char *old = shuttle_local_name(partitions->oids[i]);
		const char *new = quote_identifier(shuttle_tablet_name(changes->now.relid, tablet->number));

		shuttle_node_statements_add(changes->statements, tablet->serverid,
									psprintf("ALTER TABLE %s RENAME TO %s", old, new));
		(void) shuttle_local_run(psprintf("ALTER FOREIGN TABLE %s RENAME TO %s", old, new));
	}
	table_close(rel, NoLock);
	if (layout->traps)
		add(changes, shuttle_trap_text_names(changes->now.relid, layout));
}

static void
give_tablets(Changes *changes)
{
	Relation	rel = table_open(changes->now.relid, NoLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);

	for (int i = 0; i < partitions->nparts; i++)
		(void) shuttle_local_run(psprintf("ALTER FOREIGN TABLE %s OWNER TO %s",
										  shuttle_local_name(partitions->oids[i]),
										  quote_identifier(GetUserNameFromId(changes->now.owner, false))));
	table_close(rel, NoLock);
}

static void
change_table(Changes *changes)
{
	if (strcmp(changes->before->short_name, changes->now.short_name) != 0)
	{
		add(changes, psprintf("ALTER TABLE %s RENAME TO %s", changes->before->name,
							  quote_identifier(changes->now.short_name)));
		if (!changes->are_copies)
			rename_tablets(changes);
	}
	if (changes->before->owner != changes->now.owner && !changes->are_copies)
		give_tablets(changes);
}

static void
drop_parts(Changes *changes)
{
	ListCell   *cell;

	foreach(cell, changes->before->parts)
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (find_part(&changes->now, part, false) != NULL)
			continue;
		if (part->kind == SHUTTLE_PART_INDEX)
			add(changes, psprintf("DROP INDEX %s%s", index_name(changes->now.relid, part),
								  changes->cascade));
		else
			add_alter(changes, psprintf("DROP CONSTRAINT %s%s", part->name, changes->cascade));
	}
}

/* Generated columns first: with CASCADE they would go with the columns that they need. */
static void
drop_columns(Changes *changes, bool are_generated)
{
	ListCell   *cell;

	foreach(cell, changes->before->columns)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if ((*column->generated != '\0') == are_generated &&
			find_column(&changes->now, column->number) == NULL)
			add_alter(changes, psprintf("DROP COLUMN %s%s", column->name, changes->cascade));
	}
}

/* Adds a statement that sets what conversions of values depend on. */
static void
add_settings(Changes *changes, const char *zone, const char *dates, const char *intervals,
			 const char *bytes, const char *digits)
{
	add(changes, psprintf("SELECT pg_catalog.set_config('TimeZone', %s, true), pg_catalog.set_config('DateStyle', %s, true),"
						  " pg_catalog.set_config('IntervalStyle', %s, true), pg_catalog.set_config('bytea_output', %s, true),"
						  " pg_catalog.set_config('extra_float_digits', %s, true)",
						  quote_literal_cstr(zone), quote_literal_cstr(dates), quote_literal_cstr(intervals),
						  quote_literal_cstr(bytes), quote_literal_cstr(digits)));
}

/* " USING" the expression of the statement, or "". */
static char *
using_of(const Changes *changes, const ShuttleNodeColumn *now)
{
	ListCell   *cell;

	foreach(cell, changes->before->conversions)
	{
		const Conversion *conversion = lfirst(cell);

		if (conversion->number == now->number)
			return psprintf(" USING (%s)", conversion->expression);
	}
	return "";
}

/* Nodes convert values as this session would. */
static void
change_type(Changes *changes, const ShuttleNodeColumn *now)
{
	add_settings(changes, pg_get_timezone_name(session_timezone), GetConfigOption("DateStyle", false, false),
				 GetConfigOption("IntervalStyle", false, false), GetConfigOption("bytea_output", false, false),
				 GetConfigOption("extra_float_digits", false, false));
	add_alter(changes, psprintf("ALTER COLUMN %s TYPE %s%s", now->name, now->type, using_of(changes, now)));
	add_settings(changes, "GMT", "ISO, MDY", "postgres", "hex", "3");
}

static void
change_column(Changes *changes, const ShuttleNodeColumn *before, const ShuttleNodeColumn *now)
{
	if (strcmp(before->name, now->name) != 0)
		add_alter(changes, psprintf("RENAME COLUMN %s TO %s", before->name, now->name));
	if (strcmp(before->type, now->type) != 0)
		change_type(changes, now);
	if (*before->generated != '\0' && *now->generated == '\0')
		add_alter(changes, psprintf("ALTER COLUMN %s DROP EXPRESSION", now->name));
	if (strcmp(before->not_null, now->not_null) != 0)
		add_alter(changes, psprintf("ALTER COLUMN %s %s NOT NULL", now->name,
									*now->not_null == '\0' ? "DROP" : "SET"));
}

/* The value that rows get which exist already, as a literal; NULL: none. */
static char *
value_of_default(Relation rel, AttrNumber number, Node *expression)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), number - 1);
	char	   *text = NULL;
	EState	   *estate;
	Datum		value;
	bool		is_null;

	estate = CreateExecutorState();
	value = ExecEvalExprSwitchContext(ExecPrepareExpr((Expr *) expression, estate),
									  GetPerTupleExprContext(estate), &is_null);
	if (!is_null)
	{
		int			level = shuttle_transmission_begin(SHUTTLE_PRINT_ALL);
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(attribute->atttypid, &output, &is_varlena);
		text = quote_literal_cstr(OidOutputFunctionCall(output, value));

		shuttle_transmission_end(level);
	}
	FreeExecutorState(estate);
	return text;
}

/* A volatile default gives each row its own value, when nodes have the column. */
static void
add_column(Changes *changes, const ShuttleNodeColumn *column)
{
	Relation	rel = table_open(changes->now.relid, NoLock);
	Node	   *expression = *column->generated != '\0' ? NULL : build_column_default(rel, column->number);
	bool		is_filled = contain_volatile_functions(expression);
	char	   *value = expression == NULL || is_filled ? NULL :
		value_of_default(rel, column->number, expression);

	table_close(rel, NoLock);
	add_alter(changes, psprintf("ADD COLUMN %s %s%s%s%s%s", column->name, column->type,
								column->generated, value == NULL ? "" : " DEFAULT ",
								value == NULL ? "" : value, is_filled ? "" : column->not_null));
	if (value != NULL)
		add_alter(changes, psprintf("ALTER COLUMN %s DROP DEFAULT", column->name));
	if (is_filled)
		changes->filled = lappend(changes->filled, (void *) column);
}

/* Rows of a reference table have their values here already. */
static void
fill_copies(const Changes *changes)
{
	Relation	rel = table_open(changes->now.relid, NoLock);

	(void) shuttle_copies_put_all(shuttle_copies_open(rel, changes->servers));
	table_close(rel, NoLock);
}

static void
fill_tablets(const Changes *changes)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, changes->filled)
		appendStringInfo(&text, "%s%s = DEFAULT", text.len == 0 ? "" : ", ",
						 ((ShuttleNodeColumn *) lfirst(cell))->name);
	(void) shuttle_load_fill(changes->now.relid, psprintf("UPDATE %s SET %s", changes->now.name, text.data));
}

/* Gives existing rows the values of new columns. */
static void
fill_columns(Changes *changes)
{
	ListCell   *cell;

	shuttle_node_statements_run(changes->statements);
	if (changes->are_copies)
		fill_copies(changes);
	else
		fill_tablets(changes);
	foreach(cell, changes->filled)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if (*column->not_null != '\0')
			add_alter(changes, psprintf("ALTER COLUMN %s SET NOT NULL", column->name));
	}
}

/* Types and functions of new columns and parts. */
static void
add_needed(Changes *changes)
{
	bool		is_new = false;
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = find_column(changes->before, now->number);

		is_new |= before == NULL || strcmp(before->type, now->type) != 0;
	}
	foreach(cell, changes->now.parts)
		is_new |= find_part(changes->before, lfirst(cell), true) == NULL;
	if (is_new)
	{
		foreach(cell, shuttle_table_text_needed(changes->now.relid))
			add(changes, lfirst(cell));
	}
}

static void
change_columns(Changes *changes)
{
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = find_column(changes->before, now->number);

		if (before == NULL)
			add_column(changes, now);
		else
			change_column(changes, before, now);
	}
}

static void
change_part(Changes *changes, const ShuttleNodePart *before, const ShuttleNodePart *now)
{
	if (strcmp(before->name, now->name) != 0)
	{
		if (now->kind == SHUTTLE_PART_INDEX)
			add(changes, psprintf("ALTER INDEX %s RENAME TO %s",
								  index_name(changes->now.relid, before), now->name));
		else
			add_alter(changes, psprintf("RENAME CONSTRAINT %s TO %s", before->name, now->name));
	}
	if (now->kind == SHUTTLE_PART_CHECK && strlen(before->definition) > strlen(now->definition) &&
		is_same_definition(before, now))
		add_alter(changes, psprintf("VALIDATE CONSTRAINT %s", now->name));
}

/* The tablets' unique indexes are named after the table's. */
static void
name_indexes(Changes *changes)
{
	char	   *text = shuttle_tablet_text_name_indexes(changes->now.relid, shuttle_layout_of(changes->now.relid));

	if (text !=NULL)
		add(changes, text);
}

/* A new check constraint must mean the same in the sessions of nodes. */
static void
refuse_session_check(const Changes *changes, const ShuttleNodePart *part)
{
	Relation	rel = table_open(changes->now.relid, NoLock);

	shuttle_refusal_raise(shuttle_refuse_session_checks(rel, part->name));
	table_close(rel, NoLock);
}

static void
change_parts(Changes *changes)
{
	bool		is_named_anew = false;
	ListCell   *cell;

	foreach(cell, changes->now.parts)
	{
		const ShuttleNodePart *now = lfirst(cell);
		const ShuttleNodePart *before = find_part(changes->before, now, true);

		if (now->kind != SHUTTLE_PART_CHECK &&
			(before == NULL || strcmp(before->name, now->name) != 0))
			is_named_anew = true;
		if (before == NULL && now->kind == SHUTTLE_PART_CHECK)
			refuse_session_check(changes, now);
		if (before == NULL)
			add(changes, shuttle_table_text_add_part(changes->now.relid, now));
		else
			change_part(changes, before, now);
	}
	if (is_named_anew && !changes->are_copies)
		name_indexes(changes);
}

static void
send_table(const NotedTable *before, const char *cascade)
{
	Changes		changes = {
		.before = before,
		.are_copies = shuttle_table_kind(before->relid) == SHUTTLE_TABLE_REFERENCE,
		.statements = shuttle_node_definitions_create(),
		.cascade = cascade,
	};

	changes.servers = changes.are_copies ? shuttle_nodes_all() : shuttle_table_servers(before->relid);
	read_table(&changes.now, before->relid);
	change_table(&changes);
	drop_parts(&changes);
	drop_columns(&changes, true);
	drop_columns(&changes, false);
	add_needed(&changes);
	change_columns(&changes);
	if (changes.filled != NIL)
		fill_columns(&changes);
	change_parts(&changes);
	shuttle_node_statements_run(changes.statements);
	if (changes.are_copies)
		shuttle_copy_table_make(before->relid, changes.servers);
}

void
shuttle_ddl_changes_send(bool cascade)
{
	ListCell   *cell;

	if (noted->tables != NIL)
		CommandCounterIncrement();
	foreach(cell, noted->tables)
	{
		const NotedTable *table = lfirst(cell);

		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table->relid)))
			send_table(table, cascade ? " CASCADE" : "");
	}
	noted->tables = NIL;
}

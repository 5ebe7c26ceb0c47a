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
#include "catalog/pg_type.h"
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
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/constraints/constraints.h"
#include "tablets/ddl/ddl.h"
#include "tablets/distribute/distribute.h"
#include "tablets/indexes/global.h"
#include "tablets/needs/needs.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/reach.h"
#include "tablets/shuttle_tablets.h"

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
	bool		are_converted;	/* values of a column */
	List	   *verified;		/* names of checks that rows are held against
								 * here */
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

/* True of a column that gets another type, or other values by USING. */
static bool
is_converted(const Changes *changes, const ShuttleNodeColumn *before, const ShuttleNodeColumn *now)
{
	ListCell   *cell;

	foreach(cell, changes->before->conversions)
	{
		if (((Conversion *) lfirst(cell))->number == now->number)
			return true;
	}
	return strcmp(before->type, now->type) != 0;
}

/* True if nodes write the rows anew. Then a reader that waits there for the statement has a
 * snapshot that is older than all of them. Those of a domain may be written anew, too. */
static bool
is_rewritten(const Changes *changes)
{
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = find_column(changes->before, now->number);

		if (before != NULL ? is_converted(changes, before, now) :
			*now->generated != '\0' ||
			get_typtype(get_atttype(changes->now.relid, now->number)) == TYPTYPE_DOMAIN)
			return true;
	}
	return false;
}

static void
give_tablets(Changes *changes)
{
	Relation	rel = table_open(changes->now.relid, NoLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);

	for (int i = 0; i < partitions->nparts; i++)
		(void) shuttle_local_run_as_superuser(psprintf("ALTER FOREIGN TABLE %s OWNER TO %s",
													   shuttle_local_name(partitions->oids[i]),
													   quote_identifier(GetUserNameFromId(changes->now.owner, false))));
	table_close(rel, NoLock);
}

static void
change_table(Changes *changes)
{
	bool		is_renamed = strcmp(changes->before->short_name, changes->now.short_name) != 0;

	if (is_renamed)
		add(changes, psprintf("ALTER TABLE %s RENAME TO %s", changes->before->name,
							  quote_identifier(changes->now.short_name)));
	if (!changes->are_copies && (is_renamed || is_rewritten(changes)))
		shuttle_tablet_names_give(changes->now.relid, changes->statements);
	if (changes->before->owner != changes->now.owner)
		shuttle_refusal_raise(shuttle_reach_refuse_table(changes->now.relid, changes->servers));
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

		if (part->kind == SHUTTLE_PART_CHECK_HERE || find_part(&changes->now, part, false) != NULL)
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
	changes->are_converted = true;
}

static void
change_column(Changes *changes, const ShuttleNodeColumn *before, const ShuttleNodeColumn *now)
{
	if (strcmp(before->name, now->name) != 0)
		add_alter(changes, psprintf("RENAME COLUMN %s TO %s", before->name, now->name));
	if (is_converted(changes, before, now))
		change_type(changes, now);
	if (*before->generated != '\0' && *now->generated == '\0')
		add_alter(changes, psprintf("ALTER COLUMN %s DROP EXPRESSION", now->name));
	if (strcmp(before->not_null, now->not_null) != 0)
		add_alter(changes, shuttle_table_text_not_null(now));
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
		int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(attribute->atttypid, &output, &is_varlena);
		text = quote_literal_cstr(OidOutputFunctionCall(output, value));

		shuttle_row_transmission_end(level);
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
	const char *not_null = is_filled ? "" : shuttle_table_text_column_not_null(column);
	char	   *value = expression == NULL || is_filled ? NULL :
		value_of_default(rel, column->number, expression);

	table_close(rel, NoLock);
	add_alter(changes, psprintf("ADD COLUMN %s %s%s%s%s%s", column->name, column->type,
								column->generated, value == NULL ? "" : " DEFAULT ",
								value == NULL ? "" : value, not_null));
	if (value != NULL)
		add_alter(changes, psprintf("ALTER COLUMN %s DROP DEFAULT", column->name));
	if (is_filled)
		changes->filled = lappend(changes->filled, (void *) column);
	else if (*column->not_null != '\0' && *not_null == '\0')
		add_alter(changes, shuttle_table_text_not_null(column));
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

/* Takes what old rows need not meet from the nodes' tables, or gives it to them again.
 * An UPDATE would hold rows against it, unlike ALTER TABLE on one server. */
static void
set_unchecked(Changes *changes, bool off)
{
	ListCell   *cell;

	foreach(cell, changes->before->parts)
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind != SHUTTLE_PART_CHECK || !shuttle_table_part_is_unchecked(part) ||
			find_part(&changes->now, part, false) == NULL)
			continue;
		add(changes, off ? psprintf("ALTER TABLE %s DROP CONSTRAINT %s", changes->now.name, part->name) :
			shuttle_table_text_add_part(changes->now.relid, part));
	}
	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if (*column->not_null != '\0' && *shuttle_table_text_column_not_null(column) == '\0' &&
			find_column(changes->before, column->number) != NULL)
			add_alter(changes, off ? psprintf("ALTER COLUMN %s DROP NOT NULL", column->name) :
					  shuttle_table_text_not_null(column));
	}
}

/* Gives existing rows the values of new columns. */
static void
fill_columns(Changes *changes)
{
	ListCell   *cell;

	set_unchecked(changes, true);
	shuttle_node_statements_run(changes->statements);
	if (changes->are_copies)
		fill_copies(changes);
	else
		fill_tablets(changes);
	set_unchecked(changes, false);
	foreach(cell, changes->filled)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if (*column->not_null != '\0')
			add_alter(changes, shuttle_table_text_not_null(column));
	}
}

/* Numbers of columns that are new, or have another type or generation expression. */
static List *
new_columns(const Changes *changes)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = find_column(changes->before, now->number);

		if (before == NULL || strcmp(before->type, now->type) != 0 || strcmp(before->generated, now->generated) != 0)
			columns = lappend_int(columns, now->number);
	}
	return columns;
}

/* Types and functions of new columns and parts. */
static void
add_needed(Changes *changes)
{
	bool		is_new = new_columns(changes) != NIL;
	ListCell   *cell;

	foreach(cell, changes->now.parts)
		is_new |= find_part(changes->before, lfirst(cell), true) == NULL;
	if (is_new)
	{
		foreach(cell, shuttle_needed_objects_texts(changes->now.relid, changes->servers))
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

/* Old columns may have what was allowed when they were made. */
static void
refuse_columns(const Changes *changes)
{
	List	   *columns = new_columns(changes);
	Relation	rel;

	if (columns == NIL)
		return;
	rel = table_open(changes->now.relid, AccessShareLock);
	shuttle_refusal_raise(shuttle_session_checks_refuse_generated(rel, columns));
	shuttle_refusal_raise(shuttle_session_checks_refuse_domains(rel, columns));
	table_close(rel, NoLock);
}

static void
refuse_check(const Changes *changes, const ShuttleNodePart *part)
{
	Relation	rel = table_open(changes->now.relid, AccessShareLock);

	shuttle_refusal_raise(shuttle_session_checks_refuse(rel, part->name));
	table_close(rel, NoLock);
}

/* Core does not look at rows of foreign partitions. */
static void
change_check_here(Changes *changes, const ShuttleNodePart *before, const ShuttleNodePart *now)
{
	if (!shuttle_table_part_is_unchecked(now) &&
		(before == NULL || shuttle_table_part_is_unchecked(before) || changes->are_converted))
		changes->verified = lappend(changes->verified, now->name);
}

/* Reference tables have their rows here. */
static void
check_rows(const Changes *changes)
{
	ListCell   *cell;

	if (changes->are_copies)
		return;
	foreach(cell, changes->verified)
		shuttle_row_checks_verify(changes->now.relid, lfirst(cell));
	shuttle_row_checks_follow(changes->now.relid);
	shuttle_global_entries_follow(changes->now.relid);
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

		if (before == NULL && (now->kind == SHUTTLE_PART_CHECK || now->kind == SHUTTLE_PART_CHECK_HERE))
			refuse_check(changes, now);
		if (now->kind == SHUTTLE_PART_CHECK_HERE)
		{
			change_check_here(changes, before, now);
			continue;
		}
		if (now->kind != SHUTTLE_PART_CHECK &&
			(before == NULL || strcmp(before->name, now->name) != 0))
			is_named_anew = true;
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

	changes.servers = changes.are_copies ? shuttle_layout_nodes() : shuttle_table_servers(before->relid);
	read_table(&changes.now, before->relid);
	change_table(&changes);
	drop_parts(&changes);
	drop_columns(&changes, true);
	drop_columns(&changes, false);
	add_needed(&changes);
	refuse_columns(&changes);
	change_columns(&changes);
	if (changes.filled != NIL)
		fill_columns(&changes);
	change_parts(&changes);
	shuttle_node_statements_run(changes.statements);
	check_rows(&changes);
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

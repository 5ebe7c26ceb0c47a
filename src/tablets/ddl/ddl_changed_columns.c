/*-------------------------------------------------------------------------
 * ddl_changed_columns.c
 *	  What a statement has changed of a table's columns, as statements for its nodes.
 *
 * All changes of columns are one ALTER TABLE, as they were here: a node computes
 * each USING from rows as they were before any of them. New columns whose value each
 * row has to be given are filled behind it.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"
#include "tablets/constraints/constraints.h"
#include "tablets/ddl/ddl_changes_internal.h"
#include "tablets/distribute/distribute.h"
#include "tablets/reference/copies.h"

/* Adds to the ALTER TABLE of all columns. */
static void
act(ShuttleTableChanges *changes, char *action)
{
	changes->actions = lappend(changes->actions, action);
}

static void
act_later(ShuttleTableChanges *changes, char *action)
{
	changes->later_actions = lappend(changes->later_actions, action);
}

/* True of a column that gets another type, or other values by USING. */
static bool
is_converted(const ShuttleTableChanges *changes, const ShuttleNodeColumn *before, const ShuttleNodeColumn *now)
{
	return shuttle_ddl_value_of(changes->before->conversions, now->number) != NULL || strcmp(before->type, now->type) != 0;
}

bool
shuttle_ddl_columns_are_rewritten(const ShuttleTableChanges *changes)
{
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = shuttle_ddl_changes_column(changes->before, now->number);

		if (before != NULL ? is_converted(changes, before, now) :
			*now->generated != '\0' ||
			get_typtype(get_atttype(changes->now.relid, now->number)) == TYPTYPE_DOMAIN)
			return true;
	}
	return false;
}

void
shuttle_ddl_columns_rename(ShuttleTableChanges *changes)
{
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = shuttle_ddl_changes_column(changes->before, now->number);

		if (before != NULL && strcmp(before->name, now->name) != 0)
			shuttle_ddl_changes_add_alter(changes, psprintf("RENAME COLUMN %s TO %s", before->name, now->name));
	}
}

List *
shuttle_ddl_columns_new(const ShuttleTableChanges *changes)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = shuttle_ddl_changes_column(changes->before, now->number);

		if (before == NULL || strcmp(before->type, now->type) != 0 || strcmp(before->generated, now->generated) != 0)
			columns = lappend_int(columns, now->number);
	}
	return columns;
}

void
shuttle_ddl_columns_refuse(const ShuttleTableChanges *changes)
{
	List	   *columns = shuttle_ddl_columns_new(changes);
	Relation	rel;

	if (columns == NIL)
		return;
	rel = table_open(changes->now.relid, AccessShareLock);
	if (!changes->are_copies)
		shuttle_refusal_raise(shuttle_refusal_of_types(rel, columns));
	shuttle_refusal_raise(shuttle_session_checks_refuse_generated(rel, columns));
	shuttle_refusal_raise(shuttle_session_checks_refuse_domains(rel, columns));
	table_close(rel, NoLock);
}

/* Generated columns first: with CASCADE they would go with the columns that they need. */
static void
drop_columns(ShuttleTableChanges *changes, bool are_generated)
{
	ListCell   *cell;

	foreach(cell, changes->before->columns)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if ((*column->generated != '\0') == are_generated &&
			shuttle_ddl_changes_column(&changes->now, column->number) == NULL)
			act(changes, psprintf("DROP COLUMN %s%s", column->name, changes->cascade));
	}
}

/* By itself, as partitions would have it behind the drop of a column that the expression needs. */
static void
drop_expressions(ShuttleTableChanges *changes)
{
	ListCell   *cell;

	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = shuttle_ddl_changes_column(changes->before, now->number);

		if (before != NULL && *before->generated != '\0' && *now->generated == '\0')
			shuttle_ddl_changes_add_alter(changes, psprintf("ALTER COLUMN %s DROP EXPRESSION", now->name));
	}
}

static void
change_column(ShuttleTableChanges *changes, const ShuttleNodeColumn *before, const ShuttleNodeColumn *now)
{
	if (is_converted(changes, before, now))
	{
		const char *expression = shuttle_ddl_value_of(changes->before->conversions, now->number);

		act(changes, psprintf("ALTER COLUMN %s TYPE %s%s", now->name, now->type,
							  expression == NULL ? "" : psprintf(" USING (%s)", expression)));
		changes->are_converted = true;
	}
	if (strcmp(before->not_null, now->not_null) != 0)
		act(changes, shuttle_table_text_not_null(now));
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
add_column(ShuttleTableChanges *changes, const ShuttleNodeColumn *column)
{
	Relation	rel = table_open(changes->now.relid, NoLock);
	Node	   *expression = *column->generated != '\0' ? NULL : build_column_default(rel, column->number);
	bool		is_filled = contain_volatile_functions(expression) || shuttle_ddl_value_of(changes->before->fills, column->number) != NULL;
	const char *not_null = is_filled ? "" : shuttle_table_text_column_not_null(column);
	char	   *value = expression == NULL || is_filled ? NULL :
		value_of_default(rel, column->number, expression);

	table_close(rel, NoLock);
	act(changes, psprintf("ADD COLUMN %s %s%s%s%s%s", column->name, column->type,
						  column->generated, value == NULL ? "" : " DEFAULT ",
						  value == NULL ? "" : value, not_null));
	if (value != NULL)
		act_later(changes, psprintf("ALTER COLUMN %s DROP DEFAULT", column->name));
	if (is_filled)
		changes->filled = lappend(changes->filled, (void *) column);
	else if (*column->not_null != '\0' && *not_null == '\0')
		act_later(changes, shuttle_table_text_not_null(column));
}

/* Adds a statement that sets what conversions of values depend on. */
static void
add_settings(ShuttleTableChanges *changes, const char *zone, const char *dates, const char *intervals,
			 const char *bytes, const char *digits)
{
	shuttle_ddl_changes_add(changes, psprintf("SELECT pg_catalog.set_config('TimeZone', %s, true), pg_catalog.set_config('DateStyle', %s, true),"
											  " pg_catalog.set_config('IntervalStyle', %s, true), pg_catalog.set_config('bytea_output', %s, true),"
											  " pg_catalog.set_config('extra_float_digits', %s, true)",
											  quote_literal_cstr(zone), quote_literal_cstr(dates), quote_literal_cstr(intervals),
											  quote_literal_cstr(bytes), quote_literal_cstr(digits)));
}

static void
add_actions(ShuttleTableChanges *changes, const List *actions)
{
	StringInfoData text;
	const ListCell *cell;

	if (actions == NIL)
		return;
	initStringInfo(&text);
	foreach(cell, actions)
		appendStringInfo(&text, "%s%s", text.len == 0 ? "" : ", ", (char *) lfirst(cell));
	shuttle_ddl_changes_add_alter(changes, text.data);
}

/* Rows of a reference table have their values here already. */
static void
fill_copies(const ShuttleTableChanges *changes)
{
	Relation	rel = table_open(changes->now.relid, NoLock);

	(void) shuttle_copies_put_all(shuttle_copies_open(rel, changes->servers));
	table_close(rel, NoLock);
}

static void
fill_tablets(const ShuttleTableChanges *changes)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, changes->filled)
	{
		const ShuttleNodeColumn *column = lfirst(cell);
		const char *expression = shuttle_ddl_value_of(changes->before->fills, column->number);

		appendStringInfo(&text, "%s%s = %s", text.len == 0 ? "" : ", ", column->name,
						 expression == NULL ? "DEFAULT" : psprintf("(%s)", expression));
	}
	(void) shuttle_load_fill(changes->now.relid, psprintf("UPDATE %s SET %s", changes->now.name, text.data));
}

/* Takes what old rows need not meet from the nodes' tables, or gives it to them again.
 * An UPDATE would hold rows against it, unlike ALTER TABLE on one server. */
static void
set_unchecked(ShuttleTableChanges *changes, bool off)
{
	ListCell   *cell;

	foreach(cell, changes->before->parts)
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind != SHUTTLE_PART_CHECK || !shuttle_table_part_is_unchecked(part) ||
			shuttle_ddl_changes_part(&changes->now, part, false) == NULL)
			continue;
		shuttle_ddl_changes_add(changes, off ? psprintf("ALTER TABLE %s DROP CONSTRAINT %s", changes->now.name, part->name) :
								shuttle_table_text_add_part(changes->now.relid, part));
	}
	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if (*column->not_null != '\0' && *shuttle_table_text_column_not_null(column) == '\0' &&
			shuttle_ddl_changes_column(changes->before, column->number) != NULL)
			shuttle_ddl_changes_add_alter(changes, off ? psprintf("ALTER COLUMN %s DROP NOT NULL", column->name) :
										  shuttle_table_text_not_null(column));
	}
}

/* Gives existing rows the values of new columns. */
static void
fill_columns(ShuttleTableChanges *changes)
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
			shuttle_ddl_changes_add_alter(changes, shuttle_table_text_not_null(column));
	}
}

void
shuttle_ddl_columns_change(ShuttleTableChanges *changes)
{
	ListCell   *cell;

	drop_expressions(changes);
	drop_columns(changes, true);
	drop_columns(changes, false);
	foreach(cell, changes->now.columns)
	{
		const ShuttleNodeColumn *now = lfirst(cell);
		const ShuttleNodeColumn *before = shuttle_ddl_changes_column(changes->before, now->number);

		if (before == NULL)
			add_column(changes, now);
		else
			change_column(changes, before, now);
	}
	if (changes->are_converted)
		add_settings(changes, pg_get_timezone_name(session_timezone), GetConfigOption("DateStyle", false, false),
					 GetConfigOption("IntervalStyle", false, false), GetConfigOption("bytea_output", false, false),
					 GetConfigOption("extra_float_digits", false, false));
	add_actions(changes, changes->actions);
	if (changes->are_converted)
		add_settings(changes, "GMT", "ISO, MDY", "postgres", "hex", "3");
	add_actions(changes, changes->later_actions);
	if (changes->filled != NIL)
		fill_columns(changes);
}

/*-------------------------------------------------------------------------
 * ddl_using.c
 *	  ALTER COLUMN ... TYPE ... USING of distributed and reference tables.
 *
 * Nodes have the rows, so they compute the expression. It is sent as this server
 * understands it, with qualified names, if nodes are sure to compute the same:
 * from columns, constants, casts and functions that they have, in settings that
 * they are sent. Anything else is computed here, from all rows in one pass, into
 * columns which nodes take the values from, and which the statement drops.
 *
 * Core takes no USING for tables with foreign partitions. Where it would not
 * convert the column by itself, the tablets are detached meanwhile; they have no
 * rows here, so their columns just get the new type.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_meanings.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/table/ddl_table.h"
#include "tablets/distribute/distribute.h"

/* Stable functions that depend on settings which nodes are sent, and on names of days
 * and months. */
static const char *const functions_of_settings[] =
{"to_char", "to_date", "to_timestamp", "timezone", "date_trunc", "date_part", "extract"};

static bool
is_of_settings(Oid function)
{
	char	   *name = get_func_name(function);

	for (int i = 0; i < lengthof(functions_of_settings); i++)
	{
		if (strcmp(name, functions_of_settings[i]) == 0)
			return true;
	}
	return false;
}

/* Nodes may have another function of that name, or none. */
static bool
is_unknown_there(Oid function, void *arg)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE ||
		(function >= FirstNormalObjectId && !OidIsValid(getExtensionOfObject(ProcedureRelationId, function)));
}

/* True if a setting that nodes are not sent is not what they have. */
static bool
differs_in_settings(void)
{
	static const char *const settings[][2] = {
		{"array_nulls", "on"}, {"timezone_abbreviations", "Default"}, {"xmlbinary", "base64"}, {"xmloption", "content"}
	};

	for (int i = 0; i < lengthof(settings); i++)
	{
		if (strcmp(GetConfigOption(settings[i][0], false, false), settings[i][1]) != 0)
			return true;
	}
	return false;
}

/* True of a value that stands for an object of this server. */
static bool
is_of_names(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
			return shuttle_table_type_is_of_names(exprType(node));
		default:
			return false;
	}
}

/* A function whose value depends on what nodes are not sent. */
static bool
is_of_session(const FuncExpr *call)
{
	return call->funcformat == COERCE_EXPLICIT_CALL && func_volatile(call->funcid) == PROVOLATILE_STABLE &&
		!is_of_settings(call->funcid);
}

/* True if nodes might compute another value, or lack what the expression needs. */
static bool
differs_on_nodes(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_SQLValueFunction:
		case T_NextValueExpr:
			return true;
		case T_Var:
			if (castNode(Var, node)->varattno <= 0)
				return true;
			break;
		case T_FuncExpr:
			if (is_of_session(castNode(FuncExpr, node)))
				return true;
			break;
		default:
			break;
	}
	return is_of_names(node) || shuttle_meaning_is_users_cast(node) || shuttle_meaning_is_users_operator(node) ||
		check_functions_in_node(node, is_unknown_there, context) ||
		expression_tree_walker(node, differs_on_nodes, context);
}

/* Constants are printed as they are read again: under the settings of the session, and here with its
 * meaning of backslashes, which nodes are not sent. */
static char *
expression_text(Oid relid, Node *expression, bool for_nodes)
{
	int			level = shuttle_local_qualify_names();
	char	   *text;

	if (for_nodes)
		(void) set_config_option("standard_conforming_strings", "on", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("extra_float_digits", "3", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	text = deparse_expression(expression, deparse_context_for(get_rel_name(relid), relid), false, false);

	AtEOXact_GUC(true, level);
	return text;
}

/* raw: what the parser made. NULL if its type does not fit. type, typmod: of the column. */
static Node *
using_of(Oid relid, const ColumnDef *column, const Node *raw, const char *query, Oid *type, int32 *typmod)
{
	Relation	rel = table_open(relid, NoLock);
	ParseState *pstate = make_parsestate(NULL);
	Node	   *expression;

	pstate->p_sourcetext = query;
	addNSItemToQuery(pstate, addRangeTableEntryForRelation(pstate, rel, AccessShareLock, NULL, false, true),
					 false, true, true);
	typenameTypeIdAndMod(pstate, column->typeName, type, typmod);
	expression = transformExpr(pstate, (Node *) copyObject(raw), EXPR_KIND_ALTER_COL_TRANSFORM);
	expression = coerce_to_target_type(pstate, expression, exprType(expression), *type, *typmod,
									   COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
	if (expression != NULL)
		assign_expr_collations(pstate, expression);
	free_parsestate(pstate);
	table_close(rel, NoLock);
	return expression;
}

char *
shuttle_ddl_using_text(Oid relid, const ColumnDef *column, const char *query)
{
	Oid			type;
	int32		typmod;
	Node	   *expression = using_of(relid, column, column->raw_default, query, &type, &typmod);

	return expression == NULL ? NULL : expression_text(relid, expression, true);
}

/* ---- what is computed here */

Node *
shuttle_ddl_null(void)
{
	A_Const    *null = makeNode(A_Const);

	null->isnull = true;
	null->location = -1;
	return (Node *) null;
}

/* True of an expression of system columns, or of whole rows, which have one column more meanwhile. */
static bool
is_of_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && castNode(Var, node)->varattno <= 0)
		return true;
	return expression_tree_walker(node, is_of_rows, context);
}

/* A value that is computed here. */
typedef struct ComputedColumn
{
	char	   *name;			/* of the column that has it meanwhile */
	char	   *type;			/* no domain, whose checks come with the
								 * user's column */
	char	   *text;
} ComputedColumn;

static char *
free_name(Oid relid, int number)
{
	char	   *name = psprintf("shuttle_using_%d", number);

	while (get_attnum(relid, name) != InvalidAttrNumber)
		name = psprintf("%s_", name);
	return name;
}

static Node *
column_reference(char *name)
{
	ColumnRef  *reference = makeNode(ColumnRef);

	reference->fields = list_make1(makeString(name));
	reference->location = -1;
	return (Node *) reference;
}

/* True of an expression that is just the column. */
static bool
is_column(const Node *expression, AttrNumber number)
{
	return IsA(expression, Var) && ((const Var *) expression)->varattno == number;
}

/* NULL: nodes compute the same. Without USING, the column is converted by a cast. */
static ComputedColumn *
take_computed(const ShuttleDdl *ddl, const AlterTableCmd *command, bool are_copies, int number)
{
	ColumnDef  *column = castNode(ColumnDef, command->def);
	AttrNumber	attnum = get_attnum(ddl->relid, command->name);
	ComputedColumn *computed;
	Node	   *expression;
	Oid			type;
	int32		typmod;

	if (column->raw_default == NULL && (attnum <= 0 || get_attgenerated(ddl->relid, attnum) != '\0'))
		return NULL;
	expression = using_of(ddl->relid, column, column->raw_default == NULL ? column_reference(command->name) : column->raw_default,
						  ddl->query, &type, &typmod);
	if (expression == NULL || is_column(expression, attnum) ||
		(!differs_on_nodes(expression, NULL) && !differs_in_settings()))
		return NULL;
	if (is_of_rows(expression, NULL))
		shuttle_ddl_refuse(ddl->relid, "ALTER COLUMN ... TYPE ... USING an expression of whole rows or system columns",
						   "Name the columns that it needs.");
	if (!are_copies)
		shuttle_refusal_raise(shuttle_refusal_of_type(ddl->relid, command->name, type));
	computed = palloc_object(ComputedColumn);
	computed->name = free_name(ddl->relid, number);
	type = getBaseTypeAndTypmod(type, &typmod);
	computed->type = format_type_extended(type, typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
	computed->text = expression_text(ddl->relid, expression, false);
	column->raw_default = column_reference(computed->name);
	return computed;
}

/* Runs here ALTER TABLE with a subcommand for each column. format: with its name, type and
 * expression */
static void
alter_computed(const ShuttleDdl *ddl, const List *columns, const char *format)
{
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, columns)
	{
		const ComputedColumn *column = lfirst(cell);

		appendStringInfoString(&text, text.len == 0 ? "" : ", ");
		appendStringInfo(&text, format, column->name, column->type, column->text);
	}
	shuttle_ddl_run_here(ddl, linitial_node(RawStmt, raw_parser(psprintf("ALTER TABLE %s %s", shuttle_local_name(ddl->relid), text.data),
																RAW_PARSE_DEFAULT))->stmt);
	CommandCounterIncrement();
}

/* Rows of a reference table are here. */
static void
compute(const ShuttleDdl *ddl, const List *columns, bool are_copies)
{
	const ListCell *cell;

	shuttle_ddl_changes_note(ddl->relid);
	alter_computed(ddl, columns, "ADD COLUMN %1$s %2$s");
	if (are_copies)
		alter_computed(ddl, columns, "ALTER COLUMN %1$s TYPE %2$s USING (%3$s)");
	foreach(cell, columns)
	{
		const ComputedColumn *column = lfirst(cell);

		shuttle_ddl_changes_fill(ddl->relid, column->name, column->text);
	}
	shuttle_ddl_changes_send(false);
}

void
shuttle_ddl_using_compute(const ShuttleDdl *ddl, AlterTableStmt *statement, bool are_copies)
{
	List	   *columns = NIL;
	ListCell   *cell;

	if (get_rel_relispartition(ddl->relid)) /* core refuses that its columns
											 * change alone */
		return;
	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		ComputedColumn *column;

		if (command->subtype != AT_AlterColumnType)
			continue;
		column = take_computed(ddl, command, are_copies, list_length(columns) + 1);
		if (column != NULL)
			columns = lappend(columns, column);
	}
	if (columns != NIL)
		compute(ddl, columns, are_copies);
	foreach(cell, columns)
	{
		AlterTableCmd *command = makeNode(AlterTableCmd);

		command->subtype = AT_DropColumn;
		command->name = ((ComputedColumn *) lfirst(cell))->name;
		statement->cmds = lappend(statement->cmds, command);
	}
}

/* ---- while the table has no tablets */

/* Gives columns of tablets the types that those of the table have. */
static void
change_tablets(Oid relid, const List *tablets, const List *commands)
{
	const ListCell *cell;
	const ListCell *tablet;
	const ListCell *command;

	foreach(cell, shuttle_table_text_columns(relid))
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		foreach(command, commands)
		{
			if (get_attnum(relid, lfirst_node(AlterTableCmd, command)->name) != column->number)
				continue;
			foreach(tablet, tablets)
				(void) shuttle_local_run(psprintf("ALTER FOREIGN TABLE %s ALTER COLUMN %s TYPE %s",
												  shuttle_local_name(lfirst_oid(tablet)),
												  column->name, column->type));
		}
	}
}

void
shuttle_ddl_using_run(Oid relid, List *commands, void (*run) (void *arg, List *commands), void *arg)
{
	ShuttleLayout *layout = shuttle_layout_of(relid);
	List	   *tablets = shuttle_bring_back_detach(relid);

	run(arg, commands);
	change_tablets(relid, tablets, commands);
	shuttle_distribute_attach_tablets(relid, layout, tablets);
}

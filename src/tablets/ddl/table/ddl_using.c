/*-------------------------------------------------------------------------
 * ddl_using.c
 *	  ALTER COLUMN ... TYPE ... USING of distributed and reference tables.
 *
 * Nodes have the rows, so they compute the expression. It is sent as this server
 * understands it, with qualified names, if nodes are sure to compute the same:
 * from columns, constants, casts and functions that they have, in settings that
 * they are sent.
 *
 * Core takes no USING for tables with foreign partitions. Where it would not
 * convert the column by itself, the tablets are detached meanwhile; they have no
 * rows here, so their columns just get the new type.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_text.h"
#include "tablets/ddl/ddl.h"
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

/* Values of regclass and its like are numbers of objects here. */
static bool
is_of_objects(Oid type)
{
	return type < FirstGenbkiObjectId && strncmp(format_type_be(type), "reg", 3) == 0;
}

/* True if nodes might compute another value. */
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
			if (is_of_objects(exprType(node)) ||
				(castNode(FuncExpr, node)->funcformat == COERCE_EXPLICIT_CALL &&
				 func_volatile(castNode(FuncExpr, node)->funcid) == PROVOLATILE_STABLE &&
				 !is_of_settings(castNode(FuncExpr, node)->funcid)))
				return true;
			break;
		case T_Const:
		case T_RelabelType:
		case T_CoerceViaIO:
			if (is_of_objects(exprType(node)))
				return true;
			break;
		default:
			break;
	}
	return check_functions_in_node(node, is_unknown_there, context) ||
		expression_tree_walker(node, differs_on_nodes, context);
}

/* Constants are printed as they are read again, under the settings of the session. */
static char *
expression_text(Oid relid, Node *expression)
{
	int			level = shuttle_local_qualify_names();
	char	   *text;

	(void) set_config_option("extra_float_digits", "3", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	text = deparse_expression(expression, deparse_context_for(get_rel_name(relid), relid), false, false);

	AtEOXact_GUC(true, level);
	return text;
}

char *
shuttle_ddl_using_text(Oid relid, const ColumnDef *column, const char *query, bool *differs)
{
	Relation	rel = table_open(relid, NoLock);
	ParseState *pstate = make_parsestate(NULL);
	Node	   *expression;
	Oid			type;
	int32		typmod;
	char	   *text = NULL;

	*differs = false;
	pstate->p_sourcetext = query;
	addNSItemToQuery(pstate, addRangeTableEntryForRelation(pstate, rel, AccessShareLock, NULL, false, true),
					 false, true, true);
	typenameTypeIdAndMod(pstate, column->typeName, &type, &typmod);
	expression = transformExpr(pstate, copyObject(column->raw_default), EXPR_KIND_ALTER_COL_TRANSFORM);
	expression = coerce_to_target_type(pstate, expression, exprType(expression), type, typmod,
									   COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
	if (expression != NULL)		/* else core raises an error */
	{
		assign_expr_collations(pstate, expression);
		*differs = differs_on_nodes(expression, NULL);
		text = expression_text(relid, expression);
	}
	free_parsestate(pstate);
	table_close(rel, NoLock);
	return text;
}

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

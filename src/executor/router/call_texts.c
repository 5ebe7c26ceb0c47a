/*-------------------------------------------------------------------------
 * call_texts.c
 *	  Queries that a PL/pgSQL function executes as texts that are known before.
 *
 * A text is known if it is a constant. Values that follow it by USING take the
 * place of its parameters, so that its keys are those of the same query without
 * EXECUTE.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "executor/router/call_texts.h"

/* The only column of an expression's query. */
static Expr *
value_of(const Query *expression)
{
	return list_length(expression->targetList) == 1 ?
		linitial_node(TargetEntry, expression->targetList)->expr : NULL;
}

static char *
constant_text(const Query *expression)
{
	Node	   *value = eval_const_expressions(NULL, (Node *) value_of(expression));
	const Const *constant = (const Const *) value;

	if (value == NULL || !IsA(value, Const) || constant->constisnull || constant->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

/* values: expressions, one for each parameter. */
static Node *
replace_parameters(Node *node, List *values)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return copyObject(list_nth(values, ((Param *) node)->paramid - 1));
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, replace_parameters, values, 0);
	return expression_tree_mutator(node, replace_parameters, values);
}

Query *
shuttle_call_known_text(const Query *text, List *using)
{
	char	   *sql = constant_text(text);
	int			nvalues = list_length(using);
	Oid		   *types = palloc_array(Oid, Max(1, nvalues));
	List	   *values = NIL;
	List	   *parsed;
	ListCell   *cell;

	if (sql == NULL)
		return NULL;
	foreach(cell, using)
	{
		Expr	   *value = value_of(lfirst_node(Query, cell));

		if (value == NULL)
			return NULL;
		types[list_length(values)] = exprType((Node *) value);
		values = lappend(values, value);
	}
	parsed = raw_parser(sql, RAW_PARSE_DEFAULT);
	if (list_length(parsed) != 1)
		return NULL;
	return (Query *) replace_parameters((Node *) parse_analyze_fixedparams(linitial_node(RawStmt, parsed), sql,
																		   types, nvalues, NULL), values);
}

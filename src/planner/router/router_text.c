/*-------------------------------------------------------------------------
 * router_text.c
 *	  The text of a statement for a node.
 *
 * Core's deparser prints the query. The statement's parameters get numbers of
 * their own, from 1 without gaps, and a cast, as a node could not tell the type
 * of each. Stable expressions without columns, now() for one, have one value for
 * the statement, which is computed here and sent like a parameter. Equal ones
 * share a number, so that an expression in GROUP BY equals that in the SELECT
 * list on the node, too.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/ruleutils.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/router/router.h"
#include "storage/shuttle_storage.h"

#define HAS_NO_VALUE \
	(SHUTTLE_HAS_COLUMN | SHUTTLE_HAS_AGGREGATE | SHUTTLE_HAS_WINDOW_FUNCTION | SHUTTLE_HAS_SUBLINK | \
	 SHUTTLE_HAS_CASE_VALUE | SHUTTLE_HAS_DOMAIN_VALUE | SHUTTLE_HAS_DEFAULT | SHUTTLE_HAS_CURRENT_OF | \
	 SHUTTLE_HAS_MERGE_ACTION | (SHUTTLE_HAS_PARAM & ~SHUTTLE_HAS_STATEMENT_PARAM))
#define MOST_VALUES 65535		/* of a statement with parameters */

typedef struct ValuesContext
{
	ShuttleRoute *route;
	bool		has_mutable;	/* the statement calls mutable functions */
	List	   *here;			/* nodes of an INSERT's rows, the first values */
	List	   *values;
} ValuesContext;

/* ---- what has one value */

bool
shuttle_router_is_value(Node *node)
{
	return !shuttle_expression_has(node, HAS_NO_VALUE) && !expression_returns_set(node);
}

/* True of an expression that a node would compute otherwise, and we can. */
static bool
is_stable_value(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_SubscriptingRef:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CaseExpr:
		case T_ArrayExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_SQLValueFunction:
		case T_NullTest:
		case T_BooleanTest:
			return contain_mutable_functions(node) && !contain_volatile_functions(node) &&
				shuttle_router_is_value(node);
		default:
			return false;
	}
}

/* ---- parameters */

static Node *
make_reference(const Node *node, int number)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = number;
	param->paramtype = exprType(node);
	param->paramtypmod = -1;
	param->paramcollid = exprCollation(node);
	param->location = -1;
	return (Node *) makeRelabelType((Expr *) param, param->paramtype, -1,
									param->paramcollid, COERCE_EXPLICIT_CAST);
}

static Node *
make_parameter(ValuesContext *context, Node *node)
{
	int			number = 0;
	ListCell   *lc;

	foreach(lc, context->values)
	{
		if (equal(lfirst(lc), node))
			number = foreach_current_index(lc) + 1;
	}
	if (number == 0)
	{
		context->values = lappend(context->values, node);
		number = list_length(context->values);
	}
	return make_reference(node, number);
}

/* ---- rows that are inserted */

/* Values of the statement's own rows that nodes cannot compute are computed here once,
 * each of them by itself: two calls of nextval() have two values. */
static void
take_rows(ValuesContext *context, const List *computed)
{
	ListCell   *lc;

	foreach(lc, computed)
	{
		Node	   *value = lfirst(lc);

		if (shuttle_router_is_value(value) &&
			(contain_mutable_functions(value) || shuttle_expression_has(value, SHUTTLE_HAS_ADDED_FUNCTION)))
			context->here = lappend(context->here, value);
	}
	context->values = copyObject(context->here);
}

static Node *
find_here(const ValuesContext *context, const Node *node)
{
	ListCell   *lc;

	foreach(lc, context->here)
	{
		if (lfirst(lc) == node)
			return make_reference(node, foreach_current_index(lc) + 1);
	}
	return NULL;
}

/* ---- the statement without its values */

static Node *value_mutator(Node *node, void *arg);

/* A changed table that stands for a view has been in that view's FROM, and the
 * deparser would print it there. */
static Query *
copy_query(Query *query, ValuesContext *context)
{
	List	   *computed = NIL;
	bool		is_statement = query == context->route->statement;

	if (query->commandType == CMD_INSERT)
		query = shuttle_router_spread_rows(query, &computed);
	if (is_statement && query->cteList == NIL)
		take_rows(context, computed);
	query = query_tree_mutator(query, value_mutator, context, 0);
	if (query->resultRelation > 0)
		rt_fetch(query->resultRelation, query->rtable)->inFromCl = false;
	shuttle_router_write_parts(query);
	if (query->commandType == CMD_INSERT || query->commandType == CMD_MERGE)
		shuttle_router_prepare_insert(query);
	return query;
}

static Node *
value_mutator(Node *node, void *arg)
{
	ValuesContext *context = arg;
	Node	   *here = find_here(context, node);

	if (node == NULL || here != NULL)
		return here;
	if (IsA(node, Query))
		return (Node *) copy_query((Query *) node, context);
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return make_parameter(context, copyObject(node));
	if (IsA(node, RangeTblFunction))
	{
		/* a value has no place in FROM */
		RangeTblFunction *function = copyObject((RangeTblFunction *) node);

		function->funcexpr = expression_tree_mutator(function->funcexpr, value_mutator, arg);
		return (Node *) function;
	}
	if (context->has_mutable && is_stable_value(node))
	{
		if (!shuttle_safe_value_is_safe(node))
			shuttle_router_refuse(context->route, "a value that it needs may raise an error");
		return make_parameter(context, copyObject(node));
	}
	return expression_tree_mutator(node, value_mutator, arg);
}

Query *
shuttle_router_take_values(ShuttleRoute *route, Query *query, List **values)
{
	ValuesContext context = {
		.route = route,
		.has_mutable = contain_mutable_functions((Node *) query),
	};
	Query	   *copy = (Query *) value_mutator((Node *) query, &context);

	if (list_length(context.values) > MOST_VALUES)
		shuttle_router_refuse(route, "it has too many values");
	*values = context.values;
	return copy;
}

/* ---- text */

/* Replaces line breaks and indentation outside of quotes by single spaces. */
static char *
in_one_line(const char *text)
{
	char	   *line = palloc(strlen(text) + 1);
	char	   *to = line;
	char		quote = '\0';

	for (const char *from = text; *from != '\0'; from++)
	{
		bool		is_space = quote == '\0' && (*from == ' ' || *from == '\n');

		if (*from == quote)
			quote = '\0';
		else if (quote == '\0' && (*from == '\'' || *from == '"'))
			quote = *from;
		if (!is_space)
			*to++ = *from;
		else if (to > line && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
	return line;
}

char *
shuttle_router_text(Query *query)
{
	int			nestlevel = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
	char	   *text = pg_get_querydef(query, false);

	shuttle_row_transmission_end(nestlevel);
	return in_one_line(text);
}

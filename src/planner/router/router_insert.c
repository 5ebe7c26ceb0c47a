/*-------------------------------------------------------------------------
 * router_insert.c
 *	  INSERT ... SELECT that a node executes as a whole.
 *
 * The rows are the node's own, so that they need not come here and go back. An
 * INSERT of values, or of rows of this server, is left to core and our write
 * buffers.
 *
 * Core's deparser prints the columns of an INSERT, and behind them its subquery as
 * it was written. Since then the rewriter has added columns with defaults, and
 * values are cast to the columns' types. So the text gets a subquery around that
 * one, whose columns are the INSERT's expressions in their order.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "planner/router/router.h"

/* The range table index of the subquery that an INSERT reads; 0: it has none. */
static int
find_source(const Query *query)
{
	const Node *source;

	if (list_length(query->jointree->fromlist) != 1 || query->jointree->quals != NULL)
		return 0;
	source = linitial(query->jointree->fromlist);
	if (!IsA(source, RangeTblRef) ||
		rt_fetch(((const RangeTblRef *) source)->rtindex, query->rtable)->rtekind != RTE_SUBQUERY)
		return 0;
	return ((const RangeTblRef *) source)->rtindex;
}

/* True of an assignment to a part of a column. */
static bool
sets_part(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FieldStore) ||
		(IsA(node, SubscriptingRef) && ((SubscriptingRef *) node)->refassgnexpr != NULL))
		return true;
	return expression_tree_walker(node, sets_part, context);
}

const char *
shuttle_route_refuse_insert(const Query *query)
{
	if (query->onConflict != NULL)
		return "it has ON CONFLICT";
	if (query->override != OVERRIDING_NOT_SET)
		return "it has OVERRIDING";
	if (find_source(query) == 0)
		return "it inserts rows that are not a subquery's";
	if (query->targetList == NIL || sets_part((Node *) query->targetList, NULL))
		return "it sets parts of columns";
	return NULL;
}

bool
shuttle_route_is_source(const Query *query, int rtindex)
{
	return query->commandType == CMD_INSERT && rtindex == find_source(query);
}

Node *
shuttle_route_inserted(const Query *query, AttrNumber column)
{
	const TargetEntry *entry = get_tle_by_resno(query->targetList, column);

	return entry != NULL ? (Node *) entry->expr : NULL;
}

/* A SELECT of the INSERT's expressions from its subquery. */
static Query *
select_values(Query *insert, RangeTblEntry *source, int rtindex)
{
	Query	   *select = makeNode(Query);
	RangeTblRef *from = makeNode(RangeTblRef);
	ListCell   *lc;

	source = copyObject(source);
	source->inFromCl = true;
	IncrementVarSublevelsUp((Node *) source->subquery, 1, 1);
	from->rtindex = 1;
	select->commandType = CMD_SELECT;
	select->querySource = QSRC_ORIGINAL;
	select->canSetTag = true;
	select->rtable = list_make1(source);
	select->jointree = makeFromExpr(list_make1(from), NULL);
	select->hasSubLinks = insert->hasSubLinks;
	foreach(lc, insert->targetList)
	{
		TargetEntry *entry = copyObject(lfirst_node(TargetEntry, lc));

		ChangeVarNodes((Node *) entry->expr, rtindex, 1, 0);
		entry->resno = foreach_current_index(lc) + 1;
		select->targetList = lappend(select->targetList, entry);
	}
	return select;
}

void
shuttle_route_name_values(Query *insert)
{
	int			rtindex = find_source(insert);
	RangeTblEntry *source = rt_fetch(rtindex, insert->rtable);
	RangeTblEntry *values = makeNode(RangeTblEntry);
	List	   *columns = NIL;
	ListCell   *lc;

	values->rtekind = RTE_SUBQUERY;
	values->subquery = select_values(insert, source, rtindex);
	foreach(lc, insert->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Node	   *value = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(rtindex, foreach_current_index(lc) + 1, exprType(value),
									   exprTypmod(value), exprCollation(value), 0);
		columns = lappend(columns, makeString(pstrdup(entry->resname)));
	}
	values->eref = makeAlias("values", columns);
	lfirst(list_nth_cell(insert->rtable, rtindex - 1)) = values;
}

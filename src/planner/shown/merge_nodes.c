/*-------------------------------------------------------------------------
 * merge_nodes.c
 *	  Makes the parse tree nodes that a MERGE is rewritten into.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "planner/shown/shown.h"

Query *
shuttle_merge_select(const ShuttleMerge *merge, List *rtable, List *from, Node *quals)
{
	Query	   *query = makeNode(Query);

	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = false;
	query->rtable = rtable;
	query->jointree = makeFromExpr(from, quals);
	query->hasSubLinks = merge->query->hasSubLinks;
	return query;
}

void
shuttle_merge_add_column(Query *query, Expr *value, const char *name)
{
	query->targetList = lappend(query->targetList,
								makeTargetEntry(value,
												list_length(query->targetList) + 1,
												pstrdup(name), false));
}

void
shuttle_merge_add_columns(Query *query, List *values, const char *name)
{
	ListCell   *cell;

	foreach(cell, values)
		shuttle_merge_add_column(query, lfirst(cell), name);
}

Expr *
shuttle_merge_column(const Query *query, Index relation, int number)
{
	return (Expr *) makeVarFromTargetEntry(relation, list_nth(query->targetList, number - 1));
}

static List *
column_names(const Query *query)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, query->targetList)
		names = lappend(names, makeString(lfirst_node(TargetEntry, cell)->resname));
	return names;
}

Node *
shuttle_merge_range_ref(Index relation)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = relation;
	return (Node *) ref;
}

RangeTblEntry *
shuttle_merge_subquery_entry(Query *query, const char *name)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = query;
	rte->eref = makeAlias(name, column_names(query));
	rte->inFromCl = true;
	return rte;
}

CommonTableExpr *
shuttle_merge_cte(const char *name, Query *query)
{
	CommonTableExpr *cte = makeNode(CommonTableExpr);
	ListCell   *cell;

	cte->ctename = pstrdup(name);
	cte->ctematerialized = CTEMaterializeAlways;
	cte->ctequery = (Node *) query;
	cte->location = -1;
	if (query->commandType != CMD_SELECT)
		return cte;
	cte->ctecolnames = column_names(query);
	foreach(cell, query->targetList)
	{
		Node	   *value = (Node *) lfirst_node(TargetEntry, cell)->expr;

		cte->ctecoltypes = lappend_oid(cte->ctecoltypes, exprType(value));
		cte->ctecoltypmods = lappend_int(cte->ctecoltypmods, exprTypmod(value));
		cte->ctecolcollations = lappend_oid(cte->ctecolcollations, exprCollation(value));
	}
	return cte;
}

RangeTblEntry *
shuttle_merge_cte_entry(CommonTableExpr *cte, int depth)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	cte->cterefcount++;
	rte->rtekind = RTE_CTE;
	rte->ctename = cte->ctename;
	rte->ctelevelsup = depth;
	rte->coltypes = cte->ctecoltypes;
	rte->coltypmods = cte->ctecoltypmods;
	rte->colcollations = cte->ctecolcollations;
	rte->eref = makeAlias(cte->ctename, copyObject(cte->ctecolnames));
	rte->inFromCl = true;
	return rte;
}

Expr *
shuttle_merge_int(int value)
{
	return (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(value), false, true);
}

Expr *
shuttle_merge_equals(Oid operator, Expr *left, Expr *right)
{
	return make_opclause(operator, BOOLOID, false, left, right, InvalidOid, InvalidOid);
}

CaseWhen *
shuttle_merge_when(Expr *condition, Expr *result)
{
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = condition;
	when->result = result;
	when->location = -1;
	return when;
}

Expr *
shuttle_merge_case(List *whens, Expr *otherwise)
{
	CaseExpr   *choice;

	if (whens == NIL)
		return otherwise;
	choice = makeNode(CaseExpr);
	choice->casetype = exprType((Node *) otherwise);
	choice->casecollid = exprCollation((Node *) otherwise);
	choice->args = whens;
	choice->defresult = otherwise;
	choice->location = -1;
	return (Expr *) choice;
}

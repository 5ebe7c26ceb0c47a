/*-------------------------------------------------------------------------
 * union_columns.c
 *	  A UNION ALL's branches, and the columns of reference tables that are added to
 *	  them (union_joins.c).
 *
 * A branch becomes a subquery of a query that reads the reference tables, too. Core
 * pulls it up again if it can.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "planner/rewrite/union_joins.h"

/* What is added to the branches of a UNION ALL. */
typedef struct Widening
{
	Query	   *query;			/* that has it in FROM */
	Relids		references;		/* the query's entries of the reference tables */
	List	   *columns;		/* of these */
} Widening;

/* ---- which subqueries */

/* True of a subquery whose rows have no order or number of their own. */
static bool
is_bare(const Query *query)
{
	return query->commandType == CMD_SELECT && query->sortClause == NIL &&
		query->limitOffset == NULL && query->limitCount == NULL &&
		query->rowMarks == NIL && query->cteList == NIL;
}

/* The entry of the only thing that a plain subquery selects from; NULL: it is another
 * query. */
static RangeTblEntry *
only_source(Query *query, Index *rtindex)
{
	RangeTblRef *reference;

	if (!is_bare(query) || query->setOperations != NULL || query->hasAggs ||
		query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != NULL ||
		query->distinctClause != NIL || query->hasWindowFuncs || query->hasTargetSRFs ||
		query->hasSubLinks || list_length(query->jointree->fromlist) != 1)
		return NULL;
	reference = linitial(query->jointree->fromlist);
	if (!IsA(reference, RangeTblRef))
		return NULL;
	*rtindex = reference->rtindex;
	return rt_fetch(reference->rtindex, query->rtable);
}

bool
shuttle_union_subquery_is_open(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_SUBQUERY && !rte->lateral && !rte->security_barrier &&
		rte->securityQuals == NIL;
}

/* Core makes children of one relation of branches that agree in types. Others get casts
 * before (union_types.c), but for a UNION ALL of its own in place of a branch. */
static bool
is_union_all(Node *node, Query *query, List *types)
{
	SetOperationStmt *operation = (SetOperationStmt *) node;
	Query	   *branch;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
	{
		branch = rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable)->subquery;
		return tlist_same_datatypes(branch->targetList, types, true) ||
			(shuttle_settings.enable_storage_aggregate && !shuttle_union_is_movable(branch));
	}
	return operation->op == SETOP_UNION && operation->all &&
		is_union_all(operation->larg, query, types) &&
		is_union_all(operation->rarg, query, types);
}

bool
shuttle_union_is_movable(Query *query)
{
	RangeTblEntry *source;
	Index		rtindex;

	if (query->setOperations != NULL)
		return is_bare(query) &&
			is_union_all(query->setOperations, query,
						 castNode(SetOperationStmt, query->setOperations)->colTypes);
	source = only_source(query, &rtindex);
	return source != NULL && shuttle_union_subquery_is_open(source) && shuttle_union_is_movable(source->subquery);
}

/* ---- branches */

static TargetEntry *
make_column(Index rtindex, AttrNumber number, const TargetEntry *of, AttrNumber as)
{
	Node	   *value = (Node *) of->expr;

	return makeTargetEntry((Expr *) makeVar(rtindex, number, exprType(value), exprTypmod(value),
											exprCollation(value), 0),
						   as, of->resname, false);
}

static RangeTblRef *
make_reference(Index rtindex)
{
	RangeTblRef *reference = makeNode(RangeTblRef);

	reference->rtindex = rtindex;
	return reference;
}

static Alias *
name_columns(const List *targetlist)
{
	Alias	   *names = makeAlias("branch", NIL);
	ListCell   *cell;

	foreach(cell, targetlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (!entry->resjunk)
			names->colnames = lappend(names->colnames, makeString(pstrdup(entry->resname)));
	}
	return names;
}

/* The entry that a branch becomes in the query around it. */
static RangeTblEntry *
make_branch_entry(Query *branch)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	IncrementVarSublevelsUp((Node *) branch, 1, 1);
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = branch;
	rte->alias = makeAlias("branch", NIL);
	rte->eref = name_columns(branch->targetList);
	rte->inFromCl = true;
	return rte;
}

static const char *
column_name(const Widening *widening, const Var *column)
{
	return get_rte_attribute_name(rt_fetch(column->varno, widening->query->rtable), column->varattno);
}

/* SELECT branch.*, the columns of the reference tables FROM branch, the reference tables */
static Query *
wrap_branch(const Widening *widening, Query *branch)
{
	Query	   *query = makeNode(Query);
	Index	   *places = palloc0((list_length(widening->query->rtable) + 1) * sizeof(Index));
	AttrNumber	number = 0;
	int			relid = -1;
	ListCell   *cell;

	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->jointree = makeFromExpr(list_make1(make_reference(1)), NULL);
	foreach(cell, branch->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->resjunk)
			continue;
		number++;
		query->targetList = lappend(query->targetList,
									make_column(1, entry->resno, entry, number));
	}
	query->rtable = list_make1(make_branch_entry(branch));
	while ((relid = bms_next_member(widening->references, relid)) >= 0)
	{
		RangeTblEntry *rte = copyObject(rt_fetch(relid, widening->query->rtable));

		(void) COPY_PERMISSION(query, rte, widening->query);
		query->rtable = lappend(query->rtable, rte);
		places[relid] = list_length(query->rtable);
		query->jointree->fromlist = lappend(query->jointree->fromlist,
											make_reference(places[relid]));
	}
	foreach(cell, widening->columns)
	{
		Var		   *column = copyObject(lfirst_node(Var, cell));
		char	   *name = pstrdup(column_name(widening, column));

		column->varno = column->varnosyn = places[column->varno];
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) column, ++number, name, false));
	}
	return query;
}

static void widen(const Widening *widening, RangeTblEntry *rte);

/* Adds the columns to what the branches of a set operation return. */
static void
widen_operation(const Widening *widening, Query *query, Node *node)
{
	SetOperationStmt *operation = (SetOperationStmt *) node;
	ListCell   *cell;

	if (IsA(node, RangeTblRef))
	{
		widen(widening, rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable));
		return;
	}
	widen_operation(widening, query, operation->larg);
	widen_operation(widening, query, operation->rarg);
	foreach(cell, widening->columns)
	{
		const Var  *column = lfirst_node(Var, cell);

		operation->colTypes = lappend_oid(operation->colTypes, column->vartype);
		operation->colTypmods = lappend_int(operation->colTypmods, column->vartypmod);
		operation->colCollations = lappend_oid(operation->colCollations, column->varcollid);
	}
}

/* The entry of the first branch, after which the UNION ALL's columns are named. */
static Index
first_branch(const Query *query)
{
	Node	   *node = query->setOperations;

	while (!IsA(node, RangeTblRef))
		node = castNode(SetOperationStmt, node)->larg;
	return ((RangeTblRef *) node)->rtindex;
}

/* Adds the columns to the subquery of an entry. */
static void
widen(const Widening *widening, RangeTblEntry *rte)
{
	Query	   *query = rte->subquery;
	Index		source;
	AttrNumber	number;
	ListCell   *cell;

	foreach(cell, widening->columns)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(pstrdup(column_name(widening, lfirst(cell)))));
	if (!shuttle_union_is_movable(query))
	{
		rte->subquery = wrap_branch(widening, query);
		return;
	}
	if (query->setOperations != NULL)
	{
		source = first_branch(query);
		widen_operation(widening, query, query->setOperations);
	}
	else
		widen(widening, only_source(query, &source));
	number = list_length(rt_fetch(source, query->rtable)->eref->colnames) -
		list_length(widening->columns);
	foreach(cell, widening->columns)
	{
		TargetEntry column = {.expr = lfirst(cell),.resname = pstrdup(column_name(widening, lfirst(cell)))};

		query->targetList = lappend(query->targetList,
									make_column(source, ++number, &column,
												list_length(query->targetList) + 1));
	}
}

void
shuttle_union_add_columns(Query *query, RangeTblEntry *rte, Relids references, List *columns)
{
	Widening	widening = {
		.query = query,
		.references = references,
		.columns = columns,
	};

	widen(&widening, rte);
}

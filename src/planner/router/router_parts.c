/*-------------------------------------------------------------------------
 * router_parts.c
 *	  Assignments to parts of columns, as a statement is written.
 *
 * The rewriter makes one expression of all assignments to parts of one column:
 * the column is the innermost argument, and the first assignment is around it.
 * Core's deparser knows only what is written, one assignment each, and prints the
 * outermost one alone. See process_matched_tle() of rewriteHandler.c, which this
 * undoes.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/primnodes.h"

#include "planner/router/router.h"

/* What an assignment to a part changes; NULL: the node is none. */
static Expr *
assigned_to(const Expr *node)
{
	if (node != NULL && IsA(node, FieldStore))
		return ((const FieldStore *) node)->arg;
	if (node != NULL && IsA(node, SubscriptingRef) && ((const SubscriptingRef *) node)->refassgnexpr != NULL)
		return ((const SubscriptingRef *) node)->refexpr;
	return NULL;
}

/* The assignments of one node to the column itself, one for each field. */
static List *
single_assignments(const Expr *node, Expr *column)
{
	const FieldStore *store = (const FieldStore *) node;
	List	   *singles = NIL;
	ListCell   *value;
	ListCell   *number;

	if (IsA(node, SubscriptingRef))
	{
		SubscriptingRef *single = makeNode(SubscriptingRef);

		*single = *(const SubscriptingRef *) node;
		single->refexpr = column;
		return list_make1(single);
	}
	forboth(value, store->newvals, number, store->fieldnums)
	{
		FieldStore *single = makeNode(FieldStore);

		*single = *store;
		single->arg = column;
		single->newvals = list_make1(lfirst(value));
		single->fieldnums = list_make1_int(lfirst_int(number));
		singles = lappend(singles, single);
	}
	return singles;
}

/* The check of a domain comes last, as it is around each assignment that is written. */
static Expr *
check_domain(const CoerceToDomain *domain, Expr *assignment)
{
	CoerceToDomain *check;

	if (domain == NULL)
		return assignment;
	check = makeNode(CoerceToDomain);
	*check = *domain;
	check->arg = assignment;
	return (Expr *) check;
}

static List *
split_entry(TargetEntry *entry)
{
	const CoerceToDomain *domain = IsA(entry->expr, CoerceToDomain) ? (CoerceToDomain *) entry->expr : NULL;
	const Expr *top = domain == NULL ? entry->expr : domain->arg;
	Expr	   *column = (Expr *) top;
	List	   *assignments = NIL;
	List	   *entries = NIL;
	ListCell   *lc;

	while (assigned_to(column) != NULL)
		column = assigned_to(column);
	for (const Expr *node = top; node != column; node = assigned_to(node))
		assignments = list_concat(single_assignments(node, column), assignments);
	if (list_length(assignments) < 2)
		return list_make1(entry);
	foreach(lc, assignments)
	{
		TargetEntry *single = flatCopyTargetEntry(entry);

		single->expr = check_domain(domain, lfirst(lc));
		entries = lappend(entries, single);
	}
	return entries;
}

List *
shuttle_router_split_parts(const List *targetlist)
{
	List	   *entries = NIL;
	ListCell   *lc;

	foreach(lc, targetlist)
		entries = list_concat(entries, split_entry(lfirst_node(TargetEntry, lc)));
	return entries;
}

void
shuttle_router_write_parts(Query *query)
{
	ListCell   *lc;

	if (query->commandType == CMD_UPDATE)
		query->targetList = shuttle_router_split_parts(query->targetList);
	if (query->onConflict != NULL)
		query->onConflict->onConflictSet = shuttle_router_split_parts(query->onConflict->onConflictSet);
	foreach(lc, query->mergeActionList)
	{
		MergeAction *action = lfirst_node(MergeAction, lc);

		if (action->commandType == CMD_UPDATE)
			action->targetList = shuttle_router_split_parts(action->targetList);
	}
}

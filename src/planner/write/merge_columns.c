/*-------------------------------------------------------------------------
 * merge_columns.c
 *	  The columns of source and target that a MERGE uses, and where they are
 *	  found in the queries that replace it (merge_rewrite.c).
 *
 * Memory: everything is made in the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat_planner.h"
#include "planner/shown/shown.h"
#include "planner/write/merge.h"

typedef struct Columns
{
	ShuttleMerge *merge;
	int			level;
} Columns;

static bool
collect_walker(Node *node, Columns *columns)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == columns->level)
	{
		ShuttleMerge *merge = columns->merge;
		Var		   *var = copyObject((Var *) node);
		List	  **list = var->varno == merge->query->resultRelation ?
			&merge->target_vars : &merge->source_vars;

		var->varlevelsup = 0;
		if (!list_member(*list, var))
			*list = lappend(*list, var);
		return false;
	}
	if (IsA(node, Query))
	{
		columns->level++;
		(void) query_tree_walker((Query *) node, collect_walker, columns, 0);
		columns->level--;
		return false;
	}
	return expression_tree_walker(node, collect_walker, columns);
}

void
shuttle_merge_collect_columns(ShuttleMerge *merge)
{
	Columns		columns = {.merge = merge};
	ListCell   *cell;

	(void) collect_walker(MERGE_CONDITION(merge->query), &columns);
	foreach(cell, merge->query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, cell);

		(void) collect_walker(action->qual, &columns);
		(void) collect_walker((Node *) action->targetList, &columns);
	}
}

static int
position_of(const List *vars, const Var *var)
{
	Var			plain = *var;
	ListCell   *cell;

	plain.varlevelsup = 0;
	foreach(cell, vars)
	{
		if (equal(lfirst(cell), &plain))
			return foreach_current_index(cell) + 1;
	}
	elog(ERROR, "column of a MERGE is not known");
}

static Node *
place_var(const Var *var, const ShuttleMergeColumnMap *places)
{
	const ShuttleMerge *merge = places->merge;
	bool		of_target = var->varno == merge->query->resultRelation;
	Var		   *moved = (Var *) copyObject((Var *) var);

	if (of_target && places->target == 0)
		return (Node *) moved;
	moved->varno = of_target ? places->target : places->source;
	moved->varattno = of_target ?
		places->target_before + position_of(merge->target_vars, var) :
		places->source_before + position_of(merge->source_vars, var);
	moved->varnosyn = moved->varno;
	moved->varattnosyn = moved->varattno;
	SET_NULLED_BY(moved, of_target ? places->nulled_by : 0);
	return (Node *) moved;
}

static Node *place_mutator(Node *node, ShuttleMergeColumnMap *places);

/* References to the MERGE's WITH go to the top level. */
static Query *
place_query(Query *query, ShuttleMergeColumnMap *places)
{
	Query	   *moved = query_tree_mutator(query, place_mutator, places, 0);
	ListCell   *cell;

	foreach(cell, moved->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_CTE && (int) rte->ctelevelsup >= places->level)
			rte->ctelevelsup += places->depth;
	}
	return moved;
}

static Node *
place_mutator(Node *node, ShuttleMergeColumnMap *places)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && places->merge != NULL &&
		((Var *) node)->varlevelsup == places->level)
		return place_var((Var *) node, places);
	if (IsA(node, Query))
	{
		Query	   *query;

		places->level++;
		query = place_query((Query *) node, places);
		places->level--;
		return (Node *) query;
	}
	return expression_tree_mutator(node, place_mutator, places);
}

Node *
shuttle_merge_move_expression(Node *expression, ShuttleMergeColumnMap places)
{
	return place_mutator(expression, &places);
}

Query *
shuttle_merge_move_query(Query *query, int depth)
{
	ShuttleMergeColumnMap places = {.depth = depth};

	return place_query(query, &places);
}

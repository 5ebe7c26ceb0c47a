/*-------------------------------------------------------------------------
 * partition_pairs.c
 *	  Pairs of child relations that a node joins, with the clauses of their parents' join.
 *
 * Core translates a join's clauses anew for each join of children. A long OR costs more than
 * all else of a join that has been planned before, and so do its selectivities. Here a
 * clause is translated once for the children that it compares, and is the same clause in
 * all their joins, as it is in the joins of their parents.
 *
 * Memory: pairs in the current context, clauses in root->planner_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/appendinfo.h"
#include "utils/memutils.h"

#include "planner/join/node_joins.h"
#include "planner/statement/statement.h"

/* First member of our keys in planning_memo.c. */
#define CLAUSE_KEY (-6)

/* The children that a clause compares tell how it is translated. */
static RestrictInfo *
translate_clause(PlannerInfo *root, const ShuttlePair *pair, RestrictInfo *clause)
{
	Relids		children = adjust_child_relids(clause->required_relids, pair->nappinfos,
											   pair->appinfos);
	List	   *key = lcons_int(CLAUSE_KEY, shuttle_memo_members(children));
	RestrictInfo *translated = shuttle_memo_find(root, clause, key);
	MemoryContext before;

	if (translated != NULL)
		return translated;
	before = MemoryContextSwitchTo(root->planner_cxt);
	translated = (RestrictInfo *)
		adjust_appendrel_attrs(root, (Node *) clause, pair->nappinfos, pair->appinfos);
	MemoryContextSwitchTo(before);
	shuttle_memo_add(root, clause, key, translated);
	return translated;
}

void
shuttle_pair_make(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
				  const List *clauses, ShuttlePair *pair)
{
	ListCell   *cell;

	pair->outer = outer;
	pair->inner = inner;
	pair->appinfos = find_appinfos_by_relids(root, bms_union(outer->relids, inner->relids),
											 &pair->nappinfos);
	pair->clauses = NIL;
	foreach(cell, clauses)
		pair->clauses = lappend(pair->clauses,
								translate_clause(root, pair, lfirst_node(RestrictInfo, cell)));
}

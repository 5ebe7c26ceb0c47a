/*-------------------------------------------------------------------------
 * partition_pairs.c
 *	  Pairs of child relations that a node joins, with the clauses of their parents' join.
 *
 * Core translates a join's clauses anew for each join of children. A long OR costs more than
 * all else of a join that has been planned before, and so do its selectivities. Here a
 * clause is translated once for the children that it compares, and is the same clause in
 * all their joins, as it is in the joins of their parents. So are the clauses that wait for
 * other tables, which core translates for each join of children, too.
 *
 * Memory: pairs in the current context, clauses in root->planner_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "utils/memutils.h"

#include "base/shuttle_compat_planner.h"
#include "planner/facts/planning_memo.h"
#include "planner/join/node_joins.h"

/* Our kind in planning_memo.c. */
#define CLAUSE_KEY (-6)

/* The children that a clause names tell how it is translated. */
static RestrictInfo *
translate_clause(PlannerInfo *root, const ShuttlePair *pair, RestrictInfo *clause)
{
	Relids		named = clause->outer_relids == NULL ? clause->required_relids :
		bms_union(clause->required_relids, clause->outer_relids);
	Relids		children = adjust_child_relids(named, pair->nappinfos, pair->appinfos);
	RestrictInfo *translated = shuttle_planning_memo_find_set(root, clause, CLAUSE_KEY, children);
	MemoryContext before;

	if (translated != NULL)
		return translated;
	before = MemoryContextSwitchTo(root->planner_cxt);
	translated = (RestrictInfo *)
		adjust_appendrel_attrs(root, (Node *) clause, pair->nappinfos, pair->appinfos);
	MemoryContextSwitchTo(before);
	shuttle_planning_memo_add_set(root, clause, CLAUSE_KEY, children, translated);
	return translated;
}

static List *
translate_clauses(PlannerInfo *root, const ShuttlePair *pair, const List *clauses)
{
	List	   *translated = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
		translated = lappend(translated,
							 translate_clause(root, pair, lfirst_node(RestrictInfo, cell)));
	return translated;
}

void
shuttle_partition_pair_make(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
							const List *clauses, ShuttlePair *pair)
{
	pair->outer = outer;
	pair->inner = inner;
	pair->appinfos = find_appinfos_by_relids(root, bms_union(outer->relids, inner->relids),
											 &pair->nappinfos);
	pair->clauses = translate_clauses(root, pair, clauses);
}

RelOptInfo *
shuttle_partition_pair_join(PlannerInfo *root, const ShuttlePair *pair, RelOptInfo *joinrel,
							SpecialJoinInfo *special)
{
	List	   *joininfo = joinrel->joininfo;
	RelOptInfo *child;

	/* core translates what is there, and looks whether there is anything */
	if (joininfo != NIL)
		joinrel->joininfo = list_make1(makeBoolConst(true, false));
	child = shuttle_build_child_join_rel(root, pair->outer, pair->inner, joinrel, pair->clauses,
										 special, pair->nappinfos, pair->appinfos);
	joinrel->joininfo = joininfo;
	child->joininfo = translate_clauses(root, pair, joininfo);
	return child;
}

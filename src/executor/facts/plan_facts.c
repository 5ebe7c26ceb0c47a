/*-------------------------------------------------------------------------
 * plan_facts.c
 *	  What PostgreSQL's plan nodes do with their input, where their
 *	  children are, and walks over running plans.
 *
 * Several nodes may scan one CTE. A walk that followed each scan would visit
 * the first in a chain of k CTEs 2^k times, so walks note their visits.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat.h"
#include "executor/facts/plan_facts.h"
#include "executor/shuttle_executor.h"

/* ---- facts */

/* By node tag. shuttle_plan_facts() adds what depends on a node's options. */
static const uint8 facts[] = {
	[T_SeqScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_SCANS_TABLE,
	[T_SampleScan] = SHUTTLE_SCANS_TABLE,
	[T_IndexScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_SCANS_TABLE,
	[T_IndexOnlyScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_SCANS_TABLE,
	[T_BitmapIndexScan] = SHUTTLE_ONLY_COMPUTES,
	[T_BitmapHeapScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_SCANS_TABLE,
	[T_BitmapAnd] = SHUTTLE_ONLY_COMPUTES,
	[T_BitmapOr] = SHUTTLE_ONLY_COMPUTES,
	[T_TidScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_SCANS_TABLE,
	[T_TidRangeScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_SCANS_TABLE,
	[T_SubqueryScan] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_HANDS_ON,
	[T_CteScan] = SHUTTLE_ONLY_COMPUTES,
	[T_NamedTuplestoreScan] = SHUTTLE_ONLY_COMPUTES,
	[T_WorkTableScan] = SHUTTLE_ONLY_COMPUTES,
	[T_RecursiveUnion] = SHUTTLE_ONLY_COMPUTES,
	[T_ProjectSet] = SHUTTLE_ONLY_COMPUTES,
	[T_Append] = SHUTTLE_ONLY_COMPUTES,
	[T_MergeAppend] = SHUTTLE_ONLY_COMPUTES,
	[T_SetOp] = SHUTTLE_ONLY_COMPUTES,
	[T_Gather] = SHUTTLE_ONLY_COMPUTES,
	[T_GatherMerge] = SHUTTLE_ONLY_COMPUTES,
	[T_Hash] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_READS_ALL,
	[T_Sort] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_READS_ALL | SHUTTLE_RUNS_OUTER,
	[T_ModifyTable] = SHUTTLE_READS_ALL,
	[T_NestLoop] = SHUTTLE_RUNS_OUTER,
	[T_Result] = SHUTTLE_HANDS_ON,
	[T_LockRows] = SHUTTLE_HANDS_ON | SHUTTLE_RUNS_OUTER,
	[T_Material] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_HANDS_ON | SHUTTLE_RUNS_OUTER,

	/*
	 * runs its input although it keeps rows: it forgets them when a parameter
	 * changes that is not in its key, as that of an initplan below does
	 */
	[T_Memoize] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_RUNS_OUTER,
	[T_Unique] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_HANDS_ON | SHUTTLE_READS_GROUPS |
	SHUTTLE_RUNS_OUTER,
	[T_Group] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_HANDS_ON | SHUTTLE_READS_GROUPS |
	SHUTTLE_RUNS_OUTER,
	[T_IncrementalSort] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_READS_GROUPS | SHUTTLE_RUNS_OUTER,
	[T_WindowAgg] = SHUTTLE_READS_GROUPS | SHUTTLE_RUNS_OUTER,
	[T_Agg] = SHUTTLE_ONLY_COMPUTES | SHUTTLE_RUNS_OUTER,
};

int
shuttle_plan_facts(const Plan *plan)
{
	int			found = (int) nodeTag(plan) < lengthof(facts) ? facts[nodeTag(plan)] : 0;

	if (IsA(plan, Agg))
		found |= ((const Agg *) plan)->aggstrategy == AGG_SORTED ?
			SHUTTLE_READS_GROUPS : SHUTTLE_READS_ALL;
	if (IsA(plan, Result) && ((const Result *) plan)->resconstantqual == NULL)
		found |= SHUTTLE_RUNS_OUTER;
	return found;
}

bool
shuttle_plan_scans_local_table(const Plan *plan)
{
	return (shuttle_plan_facts(plan) & SHUTTLE_SCANS_TABLE) != 0;
}

/* ---- children */

static Plan **
child_in(List *children, int n)
{
	return n < list_length(children) ? (Plan **) &lfirst(list_nth_cell(children, n)) : NULL;
}

Plan	  **
shuttle_plan_child(Plan *plan, int n)
{
	if (n < 2)
		return n == 0 ? &outerPlan(plan) : &innerPlan(plan);
	n -= 2;
	switch (nodeTag(plan))
	{
		case T_Append:
			return child_in(((Append *) plan)->appendplans, n);
		case T_MergeAppend:
			return child_in(((MergeAppend *) plan)->mergeplans, n);
		case T_BitmapAnd:
			return child_in(((BitmapAnd *) plan)->bitmapplans, n);
		case T_BitmapOr:
			return child_in(((BitmapOr *) plan)->bitmapplans, n);
		case T_SubqueryScan:
			return n == 0 ? &((SubqueryScan *) plan)->subplan : NULL;
		case T_CustomScan:
			return child_in(((CustomScan *) plan)->custom_plans, n);
		default:
			return NULL;
	}
}

static bool
is_fixed(const Node *expression)
{
	return expression == NULL || IsA(expression, Const);
}

bool
shuttle_plan_rescan_computes(const PlanState *node)
{
	const Limit *limit = (const Limit *) node->plan;

	switch (nodeTag(node))
	{
		case T_IndexScanState:
		case T_IndexOnlyScanState:
		case T_BitmapIndexScanState:
		case T_BitmapHeapScanState:
			return true;
		case T_LimitState:
			return !is_fixed(limit->limitCount) || !is_fixed(limit->limitOffset);
		default:
			return false;
	}
}

static PlanState *
child_of(PlanState **children, int nchildren, int n)
{
	return n < nchildren ? children[n] : NULL;
}

PlanState *
shuttle_plan_other_child(const PlanState *node, int n)
{
	switch (nodeTag(node))
	{
		case T_AppendState:
			return child_of(((const AppendState *) node)->appendplans,
							((const AppendState *) node)->as_nplans, n);
		case T_MergeAppendState:
			return child_of(((const MergeAppendState *) node)->mergeplans,
							((const MergeAppendState *) node)->ms_nplans, n);
		case T_BitmapAndState:
			return child_of(((const BitmapAndState *) node)->bitmapplans,
							((const BitmapAndState *) node)->nplans, n);
		case T_BitmapOrState:
			return child_of(((const BitmapOrState *) node)->bitmapplans,
							((const BitmapOrState *) node)->nplans, n);
		case T_SubqueryScanState:
			return n == 0 ? ((const SubqueryScanState *) node)->subplan : NULL;
		case T_CustomScanState:
			return n < list_length(((const CustomScanState *) node)->custom_ps) ?
				list_nth(((const CustomScanState *) node)->custom_ps, n) : NULL;
		default:
			return NULL;
	}
}

/* ---- walks */

/* The state of shuttle_plan_any_node(). */
typedef struct Search
{
	bool		(*matches) (PlanState *node);
	ShuttleVisits visits;
} Search;

int *
shuttle_plan_visit_note(ShuttleVisits *visits, const PlanState *plan)
{
	ListCell   *seen;
	ListCell   *note;

	CHECK_FOR_INTERRUPTS();
	forboth(seen, visits->plans, note, visits->notes)
	{
		if (lfirst(seen) == plan)
			return lfirst(note);
	}
	visits->plans = lappend(visits->plans, unconstify(PlanState *, plan));
	visits->notes = lappend(visits->notes, palloc0_object(int));
	return llast(visits->notes);
}

static bool
search_walker(PlanState *node, Search *search)
{
	if (search->matches(node))
		return true;
	if (IsA(node, CteScanState))
	{
		PlanState  *cte = ((CteScanState *) node)->cteplanstate;
		int		   *visited = shuttle_plan_visit_note(&search->visits, cte);

		if ((*visited)++ == 0 && search_walker(cte, search))
			return true;
	}
	return planstate_tree_walker(node, search_walker, search);
}

bool
shuttle_plan_any_node(PlanState *root, bool (*matches) (PlanState *node))
{
	Search		search = {.matches = matches};
	bool		found = search_walker(root, &search);

	list_free_deep(search.visits.notes);
	list_free(search.visits.plans);
	return found;
}

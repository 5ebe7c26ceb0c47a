/*-------------------------------------------------------------------------
 * subplan_price.c
 *	  The price of an EXISTS over nodes in paths: that of the plan that will run.
 *
 * Of its two plans (subplan_choice.c) core prices paths by the one that runs for each
 * row, whichever runs in the end. Over nodes it costs a request a row: a path's total
 * may be a thousand times what its joins cost, which then are a part of it that
 * add_path() takes for equal.
 *
 * So while paths are made, a call costs no more than the hashed plan's share for the
 * calls that are expected. Core reads the first plan's price only, until it chooses by
 * the difference of both; the second one's is changed by as much, so that every copy
 * of the two is chosen from as before, for whatever number of calls.
 *
 * If too few calls are expected, the price is nearer to core's. Too many do no harm where
 * all paths have the same calls, which is so in target lists and mostly in conditions.
 *
 * Source: cost_qual_eval_walker() in src/backend/optimizer/path/costsize.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "base/shuttle_compat_paths.h"
#include "base/shuttle_expressions.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"

typedef struct Pricing
{
	PlannerInfo *root;
	double		ncalls;
	Bitmapset  *plan_ids;		/* of the first plans that were priced */
	bool		copies;			/* price only those */
} Pricing;

/* ---- the price of a call */

static Plan *
plan_of(const PlannerInfo *root, const SubPlan *subplan)
{
	return list_nth(root->glob->subplans, subplan->plan_id - 1);
}

void
shuttle_subplan_core_price(PlannerInfo *root, SubPlan *subplan)
{
	cost_subplan(root, subplan, plan_of(root, subplan));
}

static void
price_alternatives(const AlternativeSubPlan *alternatives, Pricing *pricing)
{
	PlannerInfo *root = pricing->root;
	SubPlan    *by_row = linitial_node(SubPlan, alternatives->subplans);
	SubPlan    *hashed = llast_node(SubPlan, alternatives->subplans);
	Cost		per_call;

	if (by_row->useHashTable || !hashed->useHashTable ||
		!shuttle_plan_reads_node(plan_of(root, by_row)) ||
		(pricing->copies && !bms_is_member(by_row->plan_id, pricing->plan_ids)))
		return;
	pricing->plan_ids = bms_add_member(pricing->plan_ids, by_row->plan_id);

	/* it may have been priced before */
	shuttle_subplan_core_price(root, by_row);
	shuttle_subplan_core_price(root, hashed);
	per_call = hashed->startup_cost / Max(pricing->ncalls, 1) + hashed->per_call_cost;
	if (per_call >= by_row->per_call_cost)
		return;
	hashed->per_call_cost -= by_row->per_call_cost - per_call;
	by_row->per_call_cost = per_call;
}

static bool
price_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
	{
		RestrictInfo *condition = (RestrictInfo *) node;

		/* core remembers what it cost before */
		condition->eval_cost.startup = -1;
		return price_walker((Node *) condition->clause, context) ||
			price_walker((Node *) condition->orclause, context);
	}
	if (IsA(node, AlternativeSubPlan))
	{
		price_alternatives((AlternativeSubPlan *) node, context);
		return false;
	}
	/* computed below, where it has no price */
	if (IsA(node, PlaceHolderVar))
		return false;
	return expression_tree_walker(node, price_walker, context);
}

/* ---- target lists */

/* Members of classes are compared with the target list, so they cost the same. */
static void
price_members(Pricing *pricing)
{
	ListCell   *class;
	ListCell   *member;

	pricing->copies = true;
	foreach(class, pricing->root->eq_classes)
	{
		foreach(member, shuttle_all_members(lfirst(class)))
			(void) price_walker((Node *) ((EquivalenceMember *) lfirst(member))->em_expr,
								pricing);
	}
}

void
shuttle_subplan_price_target(PlannerInfo *root, const RelOptInfo *rel)
{
	Pricing		pricing = {.root = root,.ncalls = rel->rows};

	if (!root->hasAlternativeSubPlans || !bms_is_subset(root->all_baserels, rel->relids))
		return;
	(void) price_walker((Node *) root->processed_tlist, &pricing);
	(void) price_walker((Node *) root->parse->targetList, &pricing);
	(void) price_walker(root->parse->havingQual, &pricing);
	if (pricing.plan_ids != NULL)
		price_members(&pricing);
}

/* ---- conditions */

/* Rows of a table before conditions; of a partition: of all partitions. */
static double
rows_of_table(const PlannerInfo *root, const RelOptInfo *rel)
{
	Relids		table = shuttle_top_relids(rel);
	double		rows = 0;

	if (bms_equal(table, rel->relids))
		return rel->tuples;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *other = root->simple_rel_array[i];

		if (other != NULL && other->reloptkind == RELOPT_OTHER_MEMBER_REL &&
			bms_equal(shuttle_top_relids(other), table))
			rows += Max(other->tuples, 0);
	}
	return rows;
}

void
shuttle_subplan_price_conditions(PlannerInfo *root, RelOptInfo *rel)
{
	Pricing		pricing = {.root = root};
	List	   *priced = NIL;
	List	   *others = NIL;
	ListCell   *lc;

	if (!root->hasAlternativeSubPlans)
		return;
	foreach(lc, rel->baserestrictinfo)
	{
		if (shuttle_expression_has(lfirst(lc), SHUTTLE_HAS_ALTERNATIVES))
			priced = lappend(priced, lfirst(lc));
		else
			others = lappend(others, lfirst(lc));
	}
	if (priced == NIL)
		return;

	/* postgres_fdw prices all rows of the table if it does not ask the node */
	pricing.ncalls = rows_of_table(root, rel);
	if (shuttle_remote_paths_have_estimate(root, rel))
		pricing.ncalls *= clauselist_selectivity(root, others, 0, JOIN_INNER, NULL);
	foreach(lc, priced)
		(void) price_walker(lfirst(lc), &pricing);
	cost_qual_eval(&rel->baserestrictcost, rel->baserestrictinfo, root);
}

/* The rows of the largest table that a join's condition reads. */
static double
rows_of_largest(const PlannerInfo *root, const RestrictInfo *condition)
{
	double		rows = 1;
	int			relid = -1;

	while ((relid = bms_next_member(condition->required_relids, relid)) >= 0)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];

		/* outer joins have numbers, too */
		if (rel != NULL)
			rel = root->simple_rel_array[bms_singleton_member(shuttle_top_relids(rel))];
		if (rel != NULL)
			rows = Max(rows, rel->rows);
	}
	return rows;
}

void
shuttle_subplan_price_join_conditions(PlannerInfo *root)
{
	ListCell   *lc;

	if (!root->hasAlternativeSubPlans)
		return;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rel_array[i] == NULL)
			continue;
		foreach(lc, root->simple_rel_array[i]->joininfo)
		{
			Pricing		pricing = {.root = root,.ncalls = rows_of_largest(root, lfirst(lc))};

			(void) price_walker(lfirst(lc), &pricing);
		}
	}
}

/*-------------------------------------------------------------------------
 * key_estimate.c
 *	  Estimates for a batched join: how many keys it sends, how many rows
 *	  each finds, and whether the outer side waits for nodes itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "base/shuttle_settings.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/node_reads.h"
#include "planner/join/inner_side.h"
#include "planner/join/join.h"

/* Overhead of a cached key and of a cached row, in bytes. */
#define KEPT_KEY_BYTES 100
#define KEPT_ROW_BYTES 64

/* A column with a larger correlation counts as physically ordered. */
#define IN_ORDER 0.9

/* ---- keys */

/* The outer side's expressions in a clause. */
static List *
outer_expressions(const RestrictInfo *clause, const RelOptInfo *inner)
{
	List	   *vars = NIL;
	ListCell   *lc;

	if (is_opclause(clause->clause) && clause->left_relids != NULL &&
		clause->right_relids != NULL)
	{
		if (!bms_overlap(clause->left_relids, inner->relids))
			return list_make1(get_leftop(clause->clause));
		if (!bms_overlap(clause->right_relids, inner->relids))
			return list_make1(get_rightop(clause->clause));
	}
	foreach(lc, pull_var_clause((Node *) clause->clause,
								PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
								PVC_RECURSE_PLACEHOLDERS))
	{
		if (!bms_is_member(lfirst_node(Var, lc)->varno, inner->relids))
			vars = lappend(vars, lfirst(lc));
	}
	return vars;
}

/* True if the answers for ndistinct keys fit in the key cache. */
static bool
can_keep_answers(const PlannerInfo *root, const RelOptInfo *inner,
				 double ndistinct, double rows_per_key)
{
	double		bytes = KEPT_KEY_BYTES +
		rows_per_key * (inner->reltarget->width + KEPT_ROW_BYTES);

	return shuttle_settings.enable_key_cache &&
		root->parse->commandType == CMD_SELECT && root->parse->rowMarks == NIL &&
		ndistinct * bytes <= get_hash_memory_limit();
}

/*
 * Keys sent per outer row. Each distinct key is sent once if its answer is
 * cached, else once in each batch that contains it. Sets *kept if keys repeat
 * and answers are cached.
 */
static double
estimate_keys_per_row(PlannerInfo *root, const RelOptInfo *outer,
					  const RelOptInfo *inner, const List *clauses,
					  double batch_size, double rows_per_key, bool *kept)
{
	double		rows = Max(outer->rows, 1);
	double		batch_rows = Min(rows, batch_size);
	List	   *expressions = NIL;
	EstimationInfo known;
	double		ndistinct;
	ListCell   *lc;

	foreach(lc, clauses)
		expressions = list_concat(expressions,
								  outer_expressions(lfirst_node(RestrictInfo, lc),
													inner));
	if (expressions == NIL)
		return 1;
	ndistinct = estimate_num_groups(root, expressions, rows, NULL, &known);
	ndistinct = Max(1, Min(ndistinct, rows));

	/* as Memoize does: without statistics we expect no repeats */
	if ((known.flags & SELFLAG_USED_DEFAULT) != 0)
		return 1;
	*kept = can_keep_answers(root, inner, ndistinct, rows_per_key);
	if (*kept)
		return ndistinct / rows;

	/*
	 * assumes that all keys are equally frequent and a batch is a random
	 * sample
	 */
	return ndistinct * (1 - pow(1 - batch_rows / rows, rows / ndistinct)) /
		batch_rows;
}

/* True if a column is correlated with the physical order. */
static bool
is_in_order(PlannerInfo *root, Node *column)
{
	VariableStatData statistics;
	AttStatsSlot slot;
	bool		in_order = false;

	examine_variable(root, column, 0, &statistics);
	if (HeapTupleIsValid(statistics.statsTuple) &&
		get_attstatsslot(&slot, statistics.statsTuple, STATISTIC_KIND_CORRELATION,
						 InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		in_order = slot.nnumbers == 1 && fabs(slot.numbers[0]) > IN_ORDER;
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(statistics);
	return in_order;
}

bool
shuttle_key_estimate_asks_ordered_column(PlannerInfo *root, const RelOptInfo *inner,
										 const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (!is_opclause(clause->clause) ||
			list_length(((OpExpr *) clause->clause)->args) != 2)
			continue;
		if ((bms_is_subset(clause->left_relids, inner->relids) &&
			 is_in_order(root, get_leftop(clause->clause))) ||
			(bms_is_subset(clause->right_relids, inner->relids) &&
			 is_in_order(root, get_rightop(clause->clause))))
			return true;
	}
	return false;
}

/* ---- rows of a key */

/* F_SCALARLTSEL or F_SCALARGTSEL if a clause bounds an inner expression
 * (*bounded) from above or below; else 0. */
static RegProcedure
bound_of(const RestrictInfo *clause, const RelOptInfo *inner, Node **bounded)
{
	const OpExpr *op = (const OpExpr *) clause->clause;
	Oid			operator;
	RegProcedure estimator;

	if (!is_opclause(op) || list_length(op->args) != 2)
		return 0;
	operator = op->opno;
	*bounded = linitial(op->args);
	if (bms_is_subset(clause->right_relids, inner->relids))
	{
		operator = get_commutator(operator);
		*bounded = lsecond(op->args);
	}
	estimator = OidIsValid(operator) ? get_oprrest(operator) : 0;
	switch (estimator)
	{
		case F_SCALARLTSEL:
		case F_SCALARLESEL:
			return F_SCALARLTSEL;
		case F_SCALARGTSEL:
		case F_SCALARGESEL:
			return F_SCALARGTSEL;
		default:
			return 0;
	}
}

/*
 * For "a.x BETWEEN b.lo AND b.hi" core takes both bounds as independent, a
 * third of the rows each. With unknown constants it expects a narrow range, and
 * so do we.
 */
double
shuttle_key_estimate_rows_per_key(const RelOptInfo *inner, const ParamPathInfo *info)
{
	double		rows = info->ppi_rows;
	ListCell   *lc;
	ListCell   *other;

	foreach(lc, info->ppi_clauses)
	{
		Node	   *bounded;

		if (bound_of(lfirst_node(RestrictInfo, lc), inner, &bounded) != F_SCALARLTSEL)
			continue;
		foreach(other, info->ppi_clauses)
		{
			Node	   *also;

			if (bound_of(lfirst_node(RestrictInfo, other), inner,
						 &also) != F_SCALARGTSEL || !equal(bounded, also))
				continue;
			rows *= DEFAULT_RANGE_INEQ_SEL / (DEFAULT_INEQ_SEL * DEFAULT_INEQ_SEL);
			break;
		}
	}
	return rows;
}

/* ---- waiting */

/* The query of a WITH clause, or NULL. */
static Node *
find_cte(PlannerInfo *root, const RangeTblEntry *rte)
{
	ListCell   *lc;

	for (Index level = rte->ctelevelsup; level > 0 && root != NULL; level--)
		root = root->parent_root;
	if (root == NULL)
		return NULL;
	foreach(lc, root->parse->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			return cte->ctequery;
	}
	return NULL;
}

/* True if a relation's rows come from nodes, or from a subquery that reads
 * nodes. */
static bool
waits_for_node(PlannerInfo *root, const RelOptInfo *rel)
{
	int			relid = -1;

	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		RelOptInfo *base = root->simple_rel_array[relid];
		RangeTblEntry *rte = root->simple_rte_array[relid];
		Node	   *query = NULL;
		bool		partitioned;

		if (base == NULL)
			continue;			/* an outer join */
		if (rte->rtekind == RTE_RELATION &&
			OidIsValid(shuttle_inner_append_server(shuttle_inner_append_leaves(root, base,
																			   &partitioned))))
			return true;
		if (rte->rtekind == RTE_SUBQUERY)
			query = (Node *) rte->subquery;
		else if (rte->rtekind == RTE_CTE)
			query = find_cte(root, rte);
		if (query != NULL && shuttle_node_is_read_by(query))
			return true;
	}
	return false;
}

ShuttleKeyEstimate
shuttle_key_estimate_make(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
						  const ParamPathInfo *info, Oid serverid)
{
	double		rows_per_key = shuttle_key_estimate_rows_per_key(inner, info);
	ShuttleKeyEstimate estimate = {
		.server = shuttle_batch_cost_of_server(root, serverid),
		.outer_rows = Max(outer->rows, 1),
		.outer_waits = waits_for_node(root, outer),
		.by_ordered_column = shuttle_key_estimate_asks_ordered_column(root, inner,
																	  info->ppi_clauses),
		.nscans = 1,
		.inner_width = inner->reltarget->width,
	};

	estimate.keys_per_row = estimate_keys_per_row(root, outer, inner,
												  info->ppi_clauses,
												  estimate.server.batch_size,
												  rows_per_key,
												  &estimate.answers_kept);
	estimate.rows_per_row = rows_per_key * estimate.keys_per_row;
	return estimate;
}

void
shuttle_key_estimate_set_once(ShuttleKeyEstimate *estimate, const Path *outer)
{
	if (estimate->keys_per_row > 0)
		estimate->rows_per_row /= estimate->keys_per_row;
	estimate->keys_per_row = 1;
	estimate->answers_kept = false;
	estimate->outer_rows = Max(outer->rows, 1);
}

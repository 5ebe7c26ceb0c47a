/*-------------------------------------------------------------------------
 * union_branches.c
 *	  Branches of a UNION ALL that core keeps as subqueries, for partial
 *	  aggregates of their rows.
 *
 * A branch that only selects from a table becomes a child of the UNION ALL.
 * With a WHERE or a join it stays a subquery with its own query level. Groups
 * of its rows are groups of its input, a scan or a join at that level, by the
 * expressions that it selects; postgres_fdw can be asked for them as for
 * groups of a table.
 *
 * 	Append
 * 	  Subquery Scan on the branch, which setrefs.c removes
 * 		Foreign Scan at the branch's query level: g, count(x), sum(x)
 *
 * The subquery then has other columns. Core reads their names from
 * processed_tlist when it creates the plan, so partial_plan.c changes them
 * then.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat_paths.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "planner/facts/union_branches.h"

bool
shuttle_union_is_around(const PlannerInfo *root)
{
	const PlannerInfo *above = root->parent_root;
	ListCell   *lc;

	if (above == NULL || !shuttle_settings.enable_storage_aggregate ||
		(!above->parse->hasAggs && above->parse->groupClause == NIL &&
		 above->parse->distinctClause == NIL))
		return false;
	foreach(lc, above->append_rel_list)
	{
		if (!OidIsValid(lfirst_node(AppendRelInfo, lc)->parent_reloid))
			return true;
	}
	return false;
}

/* True if the branch has one row for each row of its input. */
static bool
selects_each_row(const Query *query)
{
	return query->commandType == CMD_SELECT && query->setOperations == NULL &&
		query->cteList == NIL && query->rowMarks == NIL &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		!query->hasAggs && query->havingQual == NULL &&
		query->distinctClause == NIL && query->sortClause == NIL &&
		query->limitCount == NULL && query->limitOffset == NULL &&
		!query->hasWindowFuncs && !query->hasTargetSRFs;
}

/* True if core did not push all quals into the branch. Pseudoconstant quals do
 * not count: core checks them above any plan of it. */
static bool
is_filtered(const RelOptInfo *branch)
{
	ListCell   *lc;

	foreach(lc, branch->baserestrictinfo)
	{
		if (!lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return true;
	}
	return false;
}

RelOptInfo *
shuttle_union_branch_input(const RelOptInfo *branch)
{
	PlannerInfo *root = branch->subroot;
	Relids		relids;
	int			relid;

	if (branch->rtekind != RTE_SUBQUERY || root == NULL || is_filtered(branch) ||
		!bms_is_empty(branch->lateral_relids) || !selects_each_row(root->parse) ||
		contain_volatile_functions((Node *) root->processed_tlist))
		return NULL;
	relids = shuttle_all_relids(root);
	if (bms_get_singleton_member(relids, &relid))
		return find_base_rel(root, relid);
	return find_join_rel(root, relids);
}

static Node *
translate_mutator(Node *node, RelOptInfo *branch)
{
	const Var  *var = (const Var *) node;
	const TargetEntry *entry;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var) || var->varno != branch->relid || var->varlevelsup != 0)
		return expression_tree_mutator(node, translate_mutator, branch);
	entry = get_tle_by_resno(branch->subroot->processed_tlist, var->varattno);
	if (entry == NULL)
		elog(ERROR, "a branch of a UNION ALL has no column %d", var->varattno);
	return copyObject((Node *) entry->expr);
}

void *
shuttle_union_translate_to_branch(RelOptInfo *branch, Node *node)
{
	return translate_mutator(node, branch);
}

Path *
shuttle_union_branch_path(PlannerInfo *root, RelOptInfo *branch, Path *groups)
{
	Path	   *path = shuttle_create_subqueryscan_path(root, branch, groups, NULL);
	int			resno = 1;
	ListCell   *lc;

	path->pathtarget = create_empty_pathtarget();
	foreach(lc, groups->pathtarget->exprs)
	{
		Node	   *column = lfirst(lc);

		add_column_to_pathtarget(path->pathtarget, (Expr *)
								 makeVar(branch->relid, resno, exprType(column),
										 exprTypmod(column), exprCollation(column), 0),
								 get_pathtarget_sortgroupref(groups->pathtarget,
															 resno - 1));
		resno++;
	}
	path->pathtarget->width = groups->pathtarget->width;

	/* the Subquery Scan will be removed */
	path->rows = groups->rows;
	path->startup_cost = groups->startup_cost;
	path->total_cost = groups->total_cost;
	return path;
}

ShuttleAggregates
shuttle_union_get_aggregates(const PlannerInfo *root)
{
	ShuttleAggregates aggregates = {
		.any = root->parse->hasAggs,
		.infos = root->agginfos,
		.transitions = root->aggtransinfos,
	};

	return aggregates;
}

ShuttleAggregates
shuttle_union_set_aggregates(PlannerInfo *root, ShuttleAggregates aggregates)
{
	ShuttleAggregates before = shuttle_union_get_aggregates(root);

	root->parse->hasAggs = aggregates.any;
	root->agginfos = aggregates.infos;
	root->aggtransinfos = aggregates.transitions;
	return before;
}

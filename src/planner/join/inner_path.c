/*-------------------------------------------------------------------------
 * inner_path.c
 *	  The inner side of a batched join: a parameterized foreign scan.
 *
 * postgres_fdw makes such paths only with remote estimates. Whether a join
 * clause can be shipped is found by a dry run of its GetForeignPlan, once for
 * each relation and set of clauses.
 *
 * Memory: verdicts live in root->planner_cxt; planning_memo.c forgets them
 * with it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "rewrite/rewriteManip.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_paths.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_memo.h"
#include "planner/join/inner_side.h"
#include "planner/shown/shown.h"

/* Our kind in planning_memo.c. */
#define SERVERS_KEY (-8)

/* Servers that may be shipped different conditions. */
typedef struct DifferentServers
{
	List	   *servers;		/* Oids */
} DifferentServers;

/* State of making a clause of a partition one of any partition. */
typedef struct Generalizing
{
	const RelOptInfo *inner;
	bool		fails;			/* the verdict may differ between partitions */
} Generalizing;

/* State of translating a clause from one child to another. */
typedef struct Moving
{
	const RelOptInfo *from;
	const RelOptInfo *to;
	Relids		known;			/* the last set that was translated */
	Relids		moved;			/* its translation */
} Moving;

/* A clause must not be tested before security barrier quals of lower level:
 * then its value cannot be a parameter of the scan. */
static bool
all_promotable(const List *clauses, RelOptInfo *inner)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (!restriction_is_securely_promotable(lfirst_node(RestrictInfo, lc),
												inner))
			return false;
	}
	return true;
}

/* True if a clause has a volatile function. */
static bool
any_volatile(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (contain_volatile_functions((Node *) clause->clause))
			return true;
	}
	return false;
}

/* IS DISTINCT FROM is deparsed without its operator. The node would use the
 * default "=" of the type, which for an extension's type may be another. */
static bool
hides_operator_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		node = (Node *) ((RestrictInfo *) node)->clause;
	if (IsA(node, DistinctExpr) && ((DistinctExpr *) node)->opno >= FirstGenbkiObjectId)
		return true;
	return expression_tree_walker(node, hides_operator_walker, context);
}

bool
shuttle_inner_clauses_can_be_asked(const List *clauses, RelOptInfo *inner)
{
	return all_promotable(clauses, inner) && !any_volatile(clauses) &&
		!hides_operator_walker((Node *) clauses, NULL);
}

bool
shuttle_inner_clauses_have_placeholders(const List *clauses, Relids relids)
{
	const ListCell *lc;

	foreach(lc, clauses)
	{
		List	   *vars = pull_var_clause((Node *) lfirst_node(RestrictInfo, lc)->clause, PVC_RECURSE_AGGREGATES |
										   PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
		ListCell   *var;

		foreach(var, vars)
		{
			if (IsA(lfirst(var), PlaceHolderVar) &&
				bms_overlap(((PlaceHolderVar *) lfirst(var))->phrels, relids))
				return true;
		}
	}
	return false;
}

/* True if postgres_fdw ships the same to two servers. */
static bool
ships_alike(Oid one, Oid other)
{
	const char *extensions;
	const char *other_extensions;

	if (one == other)
		return true;
	if (!shuttle_server_is_ours(one) || !shuttle_server_is_ours(other))
		return false;
	extensions = shuttle_option_get_text(one, InvalidOid, "extensions");
	other_extensions = shuttle_option_get_text(other, InvalidOid, "extensions");
	return extensions == NULL || other_extensions == NULL ? extensions == other_extensions :
		strcmp(extensions, other_extensions) == 0;
}

/* The first server that was asked about and that is shipped the same. */
static Oid
first_alike(PlannerInfo *root, Oid serverid)
{
	DifferentServers *different = shuttle_planning_memo_find_set(root, NULL, SERVERS_KEY, NULL);
	MemoryContext old;
	ListCell   *lc;

	if (different == NULL)
	{
		different = MemoryContextAllocZero(root->planner_cxt, sizeof(DifferentServers));
		shuttle_planning_memo_add_set(root, NULL, SERVERS_KEY, NULL, different);
	}
	foreach(lc, different->servers)
	{
		if (ships_alike(lfirst_oid(lc), serverid))
			return lfirst_oid(lc);
	}
	old = MemoryContextSwitchTo(root->planner_cxt);
	different->servers = lappend_oid(different->servers, serverid);
	MemoryContextSwitchTo(old);
	return serverid;
}

/*
 * A key for the verdict on clauses that compare an inner column with an outer
 * one: equal lists mean equal verdicts, for all partitions of a table. NIL if a
 * clause has another form.
 */
static List *
make_signature(PlannerInfo *root, RelOptInfo *inner, const List *clauses)
{
	List	   *signature = list_make1_oid(first_alike(root, inner->serverid));
	ListCell   *lc;

	foreach(lc, clauses)
	{
		OpExpr	   *clause = (OpExpr *) lfirst_node(RestrictInfo, lc)->clause;
		ListCell   *arg;

		if (!IsA(clause, OpExpr))
			return NIL;
		signature = lappend_oid(signature, clause->opno);
		signature = lappend_oid(signature, clause->inputcollid);
		foreach(arg, clause->args)
		{
			Var		   *var = (Var *) lfirst(arg);

			if (!IsA(var, Var) || var->varattno <= 0)
				return NIL;
			signature = lappend_oid(signature, var->vartype);
			signature = lappend_oid(signature, var->varcollid);
			signature = lappend_oid(signature, var->varno == inner->relid);
		}
	}
	return signature;
}

/* Replaces inner columns by a Var that depends on the type only. */
static Node *
generalize(Node *node, Generalizing *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
		context->fails = true;
	else if (IsA(node, Var) && ((Var *) node)->varno == context->inner->relid)
	{
		Var		   *var = copyObject((Var *) node);

		if (var->varattno <= 0)
			context->fails = true;
		var->varno = 0;
		var->varattno = 0;
		return (Node *) var;
	}
	return expression_tree_mutator(node, generalize, context);
}

/* Like make_signature(), for clauses of any form; NIL if the verdict may differ
 * between partitions. */
static List *
generalize_clauses(PlannerInfo *root, RelOptInfo *inner, const List *clauses)
{
	Generalizing context = {.inner = inner};
	Oid			serverid = first_alike(root, inner->serverid);
	List	   *general = list_make1(makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
											   ObjectIdGetDatum(serverid),
											   false, true));
	ListCell   *lc;

	foreach(lc, clauses)
		general = lappend(general,
						  generalize((Node *) lfirst_node(RestrictInfo, lc)->clause,
									 &context));
	return context.fails ? NIL : general;
}

/*
 * The relation for which a verdict is remembered: the topmost partitioned table
 * above a partition. Children of other parents may have quals of their own, so
 * each keeps its own verdict.
 */
static RelOptInfo *
verdict_owner(PlannerInfo *root, RelOptInfo *inner)
{
	RelOptInfo *owner = inner;

	while (root->append_rel_array != NULL &&
		   root->append_rel_array[owner->relid] != NULL)
	{
		Index		relid = root->append_rel_array[owner->relid]->parent_relid;
		RelOptInfo *parent = find_base_rel(root, relid);

		if (parent->part_rels == NULL)
			break;
		owner = parent;
	}
	return owner;
}

static ShuttleVerdict *
find_verdict(PlannerInfo *root, RelOptInfo *inner, ForeignPath *path)
{
	ShuttleVerdict *verdict = MemoryContextAllocZero(root->planner_cxt,
													 sizeof(ShuttleVerdict));
	const List *clauses = path->path.param_info->ppi_clauses;
	const ForeignScan *scan;

	if (!shuttle_inner_clauses_can_be_asked(clauses, inner))
		return verdict;
	scan = shuttle_remote_estimate_dry_run(root, path, NIL);
	verdict->can_batch = shuttle_look_ahead_scan_can_batch(scan);

	/* only stock postgres_fdw needs a savepoint then */
	verdict->may_fail = verdict->can_batch &&
		!shuttle_server_is_ours(inner->serverid) && shuttle_look_ahead_scan_may_fail(scan);
	return verdict;
}

static const ShuttleVerdict *
judge(PlannerInfo *root, RelOptInfo *inner, ForeignPath *path)
{
	List	   *clauses = path->path.param_info->ppi_clauses;
	List	   *key = make_signature(root, inner, clauses);
	RelOptInfo *owner;
	ShuttleVerdict *verdict;

	if (key == NIL)
		key = generalize_clauses(root, inner, clauses);
	owner = key == NIL ? inner : verdict_owner(root, inner);
	if (key == NIL)
		key = clauses;
	verdict = shuttle_planning_memo_find(root, owner, key);
	if (verdict == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);

		if (key != clauses)
			key = copyObject(key);
		MemoryContextSwitchTo(old);
		verdict = find_verdict(root, inner, path);
		shuttle_planning_memo_add(root, owner, key, verdict);
	}
	return verdict;
}

ParamPathInfo *
shuttle_inner_param_info(PlannerInfo *root, RelOptInfo *rel, Relids required_outer)
{
	ParamPathInfo *info = find_param_path_info(rel, required_outer);
	MemoryContext old;

	if (info != NULL)
		return info;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
	info = get_baserel_parampathinfo(root, rel, bms_copy(required_outer));
	MemoryContextSwitchTo(old);
	return info;
}

/* Columns of a table in clauses, as pull_varattnos() numbers them. */
static Bitmapset *
columns_in(const List *clauses, Index relid)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, clauses)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, relid, &columns);
	return columns;
}

static bool
is_direct_child(PlannerInfo *root, const RelOptInfo *child, const RelOptInfo *parent)
{
	return root->append_rel_array[child->relid]->parent_relid == parent->relid;
}

/* True if two children have these parent columns at the same attribute numbers,
 * with the same types. */
static bool
columns_agree(const AppendRelInfo *child, const AppendRelInfo *other,
			  const Bitmapset *columns)
{
	int			i = -1;

	while ((i = bms_next_member(columns, i)) >= 0)
	{
		AttrNumber	column = i + FirstLowInvalidHeapAttributeNumber;
		const Var  *var;
		const Var  *other_var;

		if (column <= 0)
			return false;
		var = list_nth(child->translated_vars, column - 1);
		other_var = list_nth(other->translated_vars, column - 1);
		if (var == NULL || other_var == NULL || !IsA(var, Var) ||
			!IsA(other_var, Var) || var->varattno != other_var->varattno ||
			var->vartype != other_var->vartype ||
			var->vartypmod != other_var->vartypmod ||
			var->varcollid != other_var->varcollid)
			return false;
	}
	return true;
}

/*
 * Translates a set of relations; remembers the last one, which clauses share.
 */
static Relids
move_relids(Relids relids, Moving *moving)
{
	if (bms_equal(relids, moving->from->relids))
		return moving->to->relids;
	if (!bms_is_member(moving->from->relid, relids))
		return relids;
	if (moving->known == NULL || !bms_equal(relids, moving->known))
	{
		moving->known = relids;
		moving->moved = bms_del_member(bms_copy(relids), moving->from->relid);
		moving->moved = bms_add_member(moving->moved, moving->to->relid);
	}
	return moving->moved;
}

/* Translates Vars; subexpressions without the child's Vars are shared. */
static Node *
move_vars(Node *node, Moving *moving)
{
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
	{
		node = copyObject(node);
		ChangeVarNodes(node, moving->from->relid, moving->to->relid, 0);
		return node;
	}
	if (!IsA(node, Var))
		return expression_tree_mutator(node, move_vars, moving);
	if (((Var *) node)->varno != moving->from->relid)
		return node;
	var = palloc_object(Var);
	*var = *(Var *) node;
	var->varno = moving->to->relid;
	if (var->varnosyn == moving->from->relid)
		var->varnosyn = moving->to->relid;
	return (Node *) var;
}

/* Translates a clause to another child with the same attribute numbers. */
static RestrictInfo *
move_clause(const RestrictInfo *clause, Moving *moving)
{
	RestrictInfo *moved = makeNode(RestrictInfo);

	*moved = *clause;
	moved->clause = (Expr *) move_vars((Node *) clause->clause, moving);
	moved->clause_relids = move_relids(clause->clause_relids, moving);
	moved->required_relids = move_relids(clause->required_relids, moving);
	moved->outer_relids = move_relids(clause->outer_relids, moving);
	moved->left_relids = move_relids(clause->left_relids, moving);
	moved->right_relids = move_relids(clause->right_relids, moving);
	shuttle_move_nullable_relids(moved, moving->from->relid, moving->to->relid);

	/* selectivities differ between children; eval_cost does not */
	moved->norm_selec = -1;
	moved->outer_selec = -1;
	moved->scansel_cache = NIL;
	return moved;
}

/* The last child's clauses, translated to this child; NIL if that is
 * impossible. */
static List *
clauses_of_sibling(PlannerInfo *root, RelOptInfo *child, RelOptInfo *parent,
				   const ShuttleSibling *sibling)
{
	Moving		moving = {.from = sibling->rel,.to = child};
	List	   *clauses = NIL;
	ListCell   *lc;

	if (sibling->rel == NULL || !is_direct_child(root, child, parent) ||
		!columns_agree(root->append_rel_array[child->relid],
					   root->append_rel_array[sibling->rel->relid],
					   sibling->columns))
		return NIL;
	foreach(lc, sibling->info->ppi_clauses)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (clause->orclause != NULL)
			return NIL;
		clauses = lappend(clauses, move_clause(clause, &moving));
	}
	return clauses;
}

/*
 * A verdict holds for the next child with the same clauses if both are partitions
 * and postgres_fdw ships the same to their servers. Children of other parents may have
 * quals of their own.
 */
static bool
shares_verdict(const RelOptInfo *child, const RelOptInfo *parent,
			   const ShuttleSibling *sibling)
{
	return ships_alike(child->serverid, sibling->rel->serverid) &&
		(parent->part_rels != NULL ||
		 (child->baserestrictinfo == NIL && sibling->rel->baserestrictinfo == NIL));
}

/*
 * Core would derive the clauses of each child anew, which takes as long as the
 * rest of planning. Translating a sibling's clauses is faster than translating
 * the parent's.
 */
ParamPathInfo *
shuttle_inner_child_param_info(PlannerInfo *root, RelOptInfo *child, RelOptInfo *parent,
							   const ParamPathInfo *info, double rows,
							   ShuttleSibling *sibling)
{
	ParamPathInfo *known = find_param_path_info(child, info->ppi_req_outer);
	MemoryContext old;
	List	   *clauses;
	QualCost	cost;

	if (known != NULL)
	{
		sibling->rel = NULL;
		sibling->verdict = NULL;
		return known;
	}
	old = MemoryContextSwitchTo(GetMemoryChunkContext(child));
	known = makeNode(ParamPathInfo);
	*known = *info;
	known->ppi_rows = clamp_row_est(rows);
	clauses = clauses_of_sibling(root, child, parent, sibling);
	if (clauses == NIL)
	{
		clauses = (List *) shuttle_translate_to_child(root, (Node *) info->ppi_clauses,
													  child, parent);
		cost_qual_eval(&cost, clauses, root);	/* caches eval_cost in the
												 * clauses */
		sibling->columns = columns_in(info->ppi_clauses, parent->relid);
		sibling->verdict = NULL;
	}
	else if (!shares_verdict(child, parent, sibling))
		sibling->verdict = NULL;
	known->ppi_clauses = clauses;
	sibling->rel = is_direct_child(root, child, parent) ? child : NULL;
	sibling->info = known;
	child->ppilist = lappend(child->ppilist, known);
	MemoryContextSwitchTo(old);
	return known;
}

Path *
shuttle_inner_path(PlannerInfo *root, RelOptInfo *inner, const ParamPathInfo *info,
				   Cost startup, Cost total, ShuttleSibling *sibling,
				   bool *may_fail)
{
	ForeignPath *path;

	path = shuttle_create_foreignscan_path(root, inner, info->ppi_rows, startup,
										   total, info->ppi_req_outer);

	/* each RelOptInfo has its own copy of the FdwRoutine */
	inner->fdwroutine->GetForeignPlan = shuttle_outer_values_plan_scan;
	if (sibling->verdict == NULL)
		sibling->verdict = judge(root, inner, path);
	*may_fail = *may_fail || sibling->verdict->may_fail;
	return sibling->verdict->can_batch ? &path->path : NULL;
}

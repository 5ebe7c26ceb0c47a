/*-------------------------------------------------------------------------
 * look_ahead_links.c
 *	  Connects each Look Ahead with the scans that it looks ahead for.
 *
 * This is done on the plan state right after core has built it, so that the
 * planner need not know the links, and EvalPlanQual's plans stay plain. A scan
 * belongs to the nested loop that sets the last of its parameters. A scan is
 * not linked if a node between the loop and the scan sets one of them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/parallel.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/executor_types.h"
#include "executor/facts/look_ahead_params.h"
#include "executor/facts/node_names.h"
#include "executor/facts/outer_side.h"
#include "executor/facts/parameters.h"
#include "executor/facts/plan_facts.h"
#include "executor/facts/row_need.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/join/served_scan.h"
#include "executor/join/transport.h"
#include "executor/prefetch/prefetch.h"
#include "executor/shuttle_executor.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

static bool link_walker(PlanState *node, void *context);

/* ---- transports */

/* True for a type whose values can be sent in an array, at least as text[]. */
static bool
can_travel(Oid type)
{
	return get_typtype(type) != TYPTYPE_PSEUDO;
}

bool
shuttle_look_ahead_scan_can_batch(const ForeignScan *scan)
{
	ListCell   *lc;

	if (scan->operation != CMD_SELECT || scan->fdw_exprs == NIL ||
		shuttle_postgres_fdw_scan_sql(scan) == NULL ||
		shuttle_parameters_are_aggregated((Node *) scan->fdw_scan_tlist))
		return false;
	foreach(lc, scan->fdw_exprs)
	{
		if (!can_travel(exprType((Node *) lfirst(lc))))
			return false;
	}
	return true;
}

bool
shuttle_look_ahead_scan_may_fail(const ForeignScan *scan)
{
	return shuttle_remote_sql_may_fail(shuttle_postgres_fdw_scan_sql(scan));
}

/* NULL: the server is not asked for batches of keys. */
static const ShuttleTransport *
transport_for(Oid serverid)
{
	switch (shuttle_server_kind(serverid))
	{
		case SHUTTLE_SERVER_ENGINE:
			return &shuttle_transport_engine;
		case SHUTTLE_SERVER_GUEST:
			return &shuttle_transport_guest;
		default:
			return NULL;
	}
}

/* ---- linking */

/* What find_scans() is looking for. */
typedef struct LinkContext
{
	LookAheadState *look;
	PlanState  *root;			/* of the inner side or SubPlan; NULL: in an
								 * initplan of it */
	PlanState  *direct;			/* root of the inner side, or the only node
								 * that returns its rows */
	bool		by_position;	/* there, Look Ahead's position tells the key */
	bool		one_row;		/* there, one row a key is enough */
	bool		conditional;	/* the inner side may not be executed for each
								 * row */
	bool		reached;		/* this node surely is executed for each row */
	bool		may_share;		/* several nodes may execute it in turn */
	bool		foreign;		/* look for foreign scans */
	bool		local;			/* look for local index scans */
} LinkContext;

static void find_scans(PlanState *node, const LinkContext *context,
					   Bitmapset *bound_between);

/*
 * True if a request may be sent ahead of need. Never for a view with effects.
 * If rows are locked, or errors of requests cannot be ignored, only if stock
 * PostgreSQL would execute the scan as well.
 */
static bool
may_ask_ahead(ForeignScanState *node, const LinkContext *context)
{
	const ForeignScan *plan = (const ForeignScan *) node->ss.ps.plan;
	const ShuttleTransport *transport = transport_for(plan->fs_server);

	if (transport == NULL ||
		(transport->is_engine &&
		 shuttle_scan_effect(node) == SHUTTLE_MAY_WRITE))
		return false;
	if (shuttle_remote_sql_locks(shuttle_postgres_fdw_scan_sql(plan)) &&
		(context->conditional || !context->reached))
		return false;

	/* stock postgres_fdw cannot ignore the error of an unneeded request */
	return !context->conditional || transport->is_engine;
}

/*
 * True if the Look Ahead sets the last of a scan's parameters and may ask for
 * its keys. A SubPlan that several nodes evaluate, such as children of an
 * Append, has one scan, which they take in turn.
 */
static bool
can_claim(ForeignScanState *node, const LinkContext *context,
		  const Bitmapset *bound_between)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Bitmapset  *params = shuttle_expression_params(plan->fdw_exprs);

	/* a SubPlan would run while keys are being evaluated */
	if (!shuttle_look_ahead_scan_can_batch(plan) || bms_overlap(params, bound_between) ||
		!shuttle_look_ahead_binds(context->look, (Node *) plan->fdw_exprs) ||
		contain_subplans((Node *) plan->fdw_exprs))
		return false;
	if (shuttle_served_scan_is_served(node) &&
		(!context->may_share ||
		 !shuttle_served_scan_can_share(node, context->look)))
		return false;
	return may_ask_ahead(node, context);
}

/* Makes a scan a served scan, or shares it. */
static ShuttleServedScan *
claim_scan(ForeignScanState *node, const LinkContext *context, bool one_row)
{
	LookAheadState *look = context->look;
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	ShuttleServedScan *scan;

	if (shuttle_served_scan_is_served(node))
		scan = shuttle_served_scan_share(node, look);
	else
		scan = shuttle_served_scan_create(node, look,
										  transport_for(plan->fs_server),
										  one_row);
	if (look->nscans == 0)
		look->scans = palloc(sizeof(ShuttleServedScan *));
	else
		look->scans = repalloc(look->scans, sizeof(ShuttleServedScan *) *
							   (look->nscans + 1));
	look->scans[look->nscans++] = scan;
	scan->conditional = scan->conditional || !context->reached;
	return scan;
}

static void
consider_scan(ForeignScanState *node, const LinkContext *context,
			  const Bitmapset *bound_between)
{
	bool		direct = context->direct == &node->ss.ps;
	ShuttleServedScan *scan;

	if (!can_claim(node, context, bound_between))
		return;
	scan = claim_scan(node, context,
					  direct && context->one_row && node->ss.ps.qual == NULL);
	scan->by_position = direct && context->by_position;
}

/* True if a child of a routed append can be claimed. */
static bool
can_claim_child(const ShuttleRoutedAppend *node, int child,
				const LinkContext *context)
{
	PlanState  *scan = node->append->appendplans[child];

	return IsA(scan, ForeignScanState) &&
		can_claim((ForeignScanState *) scan, context, NULL);
}

/* A routed append of another Look Ahead is shared with all its served scans, or
 * not at all. */
static bool
can_link_append(const ShuttleRoutedAppend *node, const LinkContext *context)
{
	if (node->look == NULL)
		return true;
	for (int i = 0; i < node->append->as_nplans; i++)
	{
		if (node->served[i] && !can_claim_child(node, i, context))
			return false;
	}
	return context->may_share;
}

/* Claims a routed append and its children. */
static void
consider_append(ShuttleRoutedAppend *node, const LinkContext *context)
{
	LookAheadState *look = context->look;
	LinkContext below = *context;
	bool		direct = context->direct == &node->css.ss.ps;
	bool		is_first = node->look == NULL;

	if (!can_link_append(node, context) ||
		!shuttle_routed_append_link(node, look, direct && context->by_position))
		return;
	below.reached = false;
	for (int i = 0; i < node->append->as_nplans; i++)
	{
		ShuttleServedScan *scan;

		if (is_first)
			node->served[i] = can_claim_child(node, i, context);
		if (!node->served[i])
			continue;
		scan = claim_scan((ForeignScanState *) node->append->appendplans[i],
						  &below, false);
		scan->append = node;
		scan->by_position = node->by_position;
	}
}

/* Finds scans in children other than the outer and inner plan. */
static void
find_scans_in_children(PlanState *node, const LinkContext *context,
					   Bitmapset *bound_between)
{
	LinkContext below = *context;
	PlanState  *child;

	/* only some children are visited for a row: do not prefetch for all */
	if (IsA(node, AppendState) && shuttle_append_prunes((Append *) node->plan))
		below.local = below.reached = false;
	if (!IsA(node, AppendState) && !IsA(node, SubqueryScanState))
		below.reached = false;
	for (int i = 0; (child = shuttle_plan_other_child(node, i)) != NULL; i++)
	{
		find_scans(child, &below, bound_between);
		below.reached = false;
	}
}

/* True if an initplan is executed whenever its node is, as that of MIN or MAX
 * is by the Result that core makes for it. */
static bool
is_certain_initplan(const Plan *plan, const SubPlan *initplan)
{
	List	   *quals;

	if (!IsA(plan, Result) || plan->lefttree != NULL)
		return false;
	quals = (List *) ((const Result *) plan)->resconstantqual;
	return shuttle_needed_param_is_read(quals != NIL ? linitial(quals) : (Node *) plan->targetlist,
										linitial_int(initplan->setParam));
}

/* Finds the scans of a node's initplans that run again for each outer row. */
static void
find_scans_in_initplans(PlanState *node, const LinkContext *context,
						Bitmapset *bound_between)
{
	ListCell   *lc;

	foreach(lc, node->initPlan)
	{
		SubPlanState *state = (SubPlanState *) lfirst(lc);
		LinkContext below = *context;
		bool		certain = is_certain_initplan(node->plan, state->subplan);

		below.root = NULL;
		below.direct = state->planstate;
		below.by_position = false;
		below.one_row = state->subplan->subLinkType == EXISTS_SUBLINK;
		below.conditional = context->conditional || !certain;
		below.reached = context->reached && certain;
		find_scans(state->planstate, &below, bound_between);
	}
}

/* True if a Limit takes at least one row of its child. */
static bool
takes_any_row(const Limit *limit)
{
	const Const *count = (const Const *) limit->limitCount;

	return count == NULL ||
		(IsA(count, Const) && !count->constisnull &&
		 DatumGetInt64(count->constvalue) > 0);
}

/* True if executing a node always executes its outer child. */
static bool
executes_outer(const PlanState *node)
{
	return (shuttle_plan_facts(node->plan) & SHUTTLE_RUNS_OUTER) != 0 ||
		(IsA(node, LimitState) && takes_any_row((const Limit *) node->plan)) ||
		shuttle_node_is_look_ahead(node);
}

/* True if an initplan's value may differ between rows of the Look Ahead. */
static bool
varies_with_row(const SubPlanState *initplan, const LinkContext *context,
				const Bitmapset *bound_between)
{
	const Bitmapset *params = initplan->planstate->plan->extParam;
	int			id = -1;

	if (bms_overlap(params, bound_between))
		return true;
	while ((id = bms_next_member(params, id)) >= 0)
	{
		if (shuttle_look_ahead_binding(context->look, id) != NULL)
			return true;
	}
	return false;
}

/* Finds the scans to look ahead for at and below a node. bound_between:
 * parameters that nodes between the Look Ahead's owner and this node set. */
static void
find_scans(PlanState *node, const LinkContext *context, Bitmapset *bound_between)
{
	LinkContext below = *context;
	ListCell   *lc;

	if (node == NULL || IsA(node, GatherState) || IsA(node, GatherMergeState))
		return;
	bound_between = bms_copy(bound_between);
	foreach(lc, node->initPlan)
	{
		SubPlanState *initplan = (SubPlanState *) lfirst(lc);
		ListCell   *param;

		if (!varies_with_row(initplan, context, bound_between) &&
			(bms_is_empty(initplan->planstate->plan->extParam) ||
			 shuttle_correlated_add(context->look, context->root)))
			continue;
		foreach(param, initplan->subplan->setParam)
			bound_between = bms_add_member(bound_between, lfirst_int(param));
	}
	if (context->foreign && IsA(node, ForeignScanState))
		consider_scan((ForeignScanState *) node, context, bound_between);
	if (context->local && (IsA(node, IndexScanState) || IsA(node, IndexOnlyScanState)))
		shuttle_local_claim(context->look, node, bound_between,
							context->direct == node && context->one_row &&
							node->qual == NULL);
	if (context->foreign && shuttle_node_is_routed_append(node) &&
		!bms_overlap(node->plan->allParam, bound_between))
		consider_append((ShuttleRoutedAppend *) node, context);
	find_scans_in_initplans(node, context, bound_between);
	if (IsA(node, LimitState) && shuttle_row_need_limit_takes_one(node))
	{
		below.direct = outerPlanState(node);
		below.by_position = false;
		below.one_row = true;
	}
	below.reached = context->reached && executes_outer(node);
	find_scans(outerPlanState(node), &below, bound_between);
	below = *context;
	below.reached = false;
	if (IsA(node, NestLoopState))
	{
		foreach(lc, ((NestLoop *) node->plan)->nestParams)
			bound_between = bms_add_member(bound_between,
										   lfirst_node(NestLoopParam, lc)->paramno);
	}
	find_scans(innerPlanState(node), &below, bound_between);
	find_scans_in_children(node, context, bound_between);
}

/* How many batches may be in flight: as the servers' options allow; with batch
 * size 1 only one. */
static int
most_in_flight(const LookAheadState *look)
{
	int			most = INT_MAX;

	if (look->batch_size == 1)
		return 1;
	for (int i = 0; i < look->nscans; i++)
	{
		ForeignScan *plan = (ForeignScan *) look->scans[i]->node->ss.ps.plan;

		most = Min(most, shuttle_option_get_int(plan->fs_server, InvalidOid,
												"shuttle_batches_in_flight",
												shuttle_settings.batches_in_flight));
	}
	return most;
}

/* True if a batch may grow: its scans are on servers of stock postgres_fdw, where
 * each request is waited for, and lock no rows. */
static bool
may_stretch(const LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
	{
		if (look->scans[i]->transport->is_engine || look->scans[i]->locks)
			return false;
	}
	return look->nscans > 0 && look->batch_size > 1;
}

/* Reads the planner's decisions; false if outer rows must not be read ahead. */
static bool
begin_link(LookAheadState *look, ShuttleLookAheadPlan *plan)
{
	if (look->linked || shuttle_outer_shows_effects(outerPlanState(look)))
		return false;
	shuttle_look_ahead_unpack(((CustomScan *) look->css.ss.ps.plan)->custom_private,
							  plan);
	look->batch_size = plan->batch_size;
	return true;
}

static void
end_link(LookAheadState *look)
{
	if (look->nscans == 0 && look->nlocals == 0)
		return;
	if (look->nscans == 0)
		look->nappends = 0;
	look->most_in_flight = look->nscans > 0 ? most_in_flight(look) : 1;
	look->may_stretch = may_stretch(look);
	shuttle_look_ahead_start(look);
}

void
shuttle_look_ahead_unlink(LookAheadState *look)
{
	Assert(dlist_is_empty(&look->batches));
	for (int i = 0; i < look->nscans; i++)
		shuttle_served_scan_remove(look->scans[i]);
	for (int i = 0; i < look->nappends; i++)
		look->appends[i]->look = NULL;
	look->nscans = look->nappends = 0;
	look->linked = false;
}

/* Links the Look Ahead below a nested loop. One row a key is enough if the loop
 * takes one and the node checks all conditions. */
static void
link_loop(NestLoopState *loop)
{
	LinkContext context = {
		.look = (LookAheadState *) outerPlanState(loop),
		.root = innerPlanState(loop),
		.direct = innerPlanState(loop),
		.by_position = !shuttle_settings.debug_find_by_key,
		.one_row = loop->js.joinqual == NULL && shuttle_join_takes_one(&loop->js),
		.reached = true,
		.foreign = shuttle_settings.enable_batched_join,
	};
	ShuttleLookAheadPlan plan;
	ListCell   *lc;

	/* parameters come from columns as the node returns them */
	if (context.look->projects || !begin_link(context.look, &plan))
		return;
	context.foreign = context.foreign && plan.local != SHUTTLE_LOCAL_ONLY;
	context.local = shuttle_settings.enable_local_look_ahead &&
		plan.local != SHUTTLE_LOCAL_NOT;
	foreach(lc, ((NestLoop *) loop->js.ps.plan)->nestParams)
	{
		NestLoopParam *param = lfirst_node(NestLoopParam, lc);

		Assert(IsA(param->paramval, Var) && param->paramval->varno == OUTER_VAR);
		shuttle_look_ahead_bind(context.look, param->paramno, param->paramval);
	}
	find_scans(context.direct, &context, NULL);
	end_link(context.look);
}

/* Links one SubPlan of its owner. Its scans find their rows by key, not by
 * position: a SubPlan that occurs twice is executed by two owners in turn. */
static void
link_subplan(LookAheadState *look, SubPlanState *state, bool conditional)
{
	LinkContext context = {
		.look = look,
		.root = state->planstate,
		.direct = state->planstate,
		.one_row = state->subplan->subLinkType == EXISTS_SUBLINK,
		.conditional = conditional,
		.reached = !conditional,
		.may_share = true,
		.foreign = shuttle_settings.enable_batched_join,
	};
	ListCell   *param;
	ListCell   *arg;

	foreach(arg, state->subplan->args)
	{
		if (!IsA(lfirst(arg), Var))
			return;
	}
	forboth(param, state->subplan->parParam, arg, state->subplan->args)
		shuttle_look_ahead_bind(look, lfirst_int(param), lfirst_node(Var, arg));
	find_scans(context.direct, &context, NULL);
}

/* Links a Look Ahead with its owner's correlated SubPlans. */
static void
link_owner(LookAheadState *look, List *subplans)
{
	ShuttleLookAheadPlan plan;
	ListCell   *lc;

	if (subplans == NIL || !begin_link(look, &plan))
		return;
	foreach(lc, subplans)
	{
		SubPlanState *state = (SubPlanState *) lfirst(lc);
		bool		certain = list_member_int(plan.certain,
											  state->subplan->plan_id);

		if (certain || list_member_int(plan.conditional, state->subplan->plan_id))
			link_subplan(look, state, !certain);
	}
	end_link(look);
}

static bool
link_walker(PlanState *node, void *context)
{
	shuttle_look_ahead_siblings_link(node);
	if (shuttle_node_is_look_ahead(node))
		link_owner((LookAheadState *) node, node->subPlan);
	else if (shuttle_node_is_look_ahead(outerPlanState(node)))
	{
		if (IsA(node, NestLoopState))
			link_loop((NestLoopState *) node);
		else
			link_owner((LookAheadState *) outerPlanState(node), node->subPlan);
	}
	return planstate_tree_walker(node, link_walker, context);
}

/* Calls a walker for the plan and for each of its subplans. */
static void
walk_query(QueryDesc *query, bool (*walker) (PlanState *node, void *context))
{
	ListCell   *lc;

	(void) walker(query->planstate, NULL);
	foreach(lc, query->estate->es_subplanstates)
	{
		if (lfirst(lc) != NULL)
			(void) walker((PlanState *) lfirst(lc), NULL);
	}
}

void
shuttle_look_aheads_link(QueryDesc *query, int eflags, uint64 begun)
{
	MemoryContext old;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || IsParallelWorker())
		return;
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	if (begun != shuttle_look_aheads_begun())
		walk_query(query, link_walker);
	if (shuttle_reads_foreign_table(query->plannedstmt))
		walk_query(query, shuttle_guest_trip_walker);
	MemoryContextSwitchTo(old);
}

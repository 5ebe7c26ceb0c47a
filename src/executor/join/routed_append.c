/*-------------------------------------------------------------------------
 * routed_append.c
 *	  An Append that visits only the children that a key is routed to.
 *
 * Core's Append rescans every child for every outer row and prunes again; with
 * 200 tablets that costs more than the rest of a batched join. Here core's
 * run-time pruning runs once for each distinct key of a batch, and the
 * children that the current row is routed to are read one after another. The
 * Append stays as our child: if nothing is linked (EvalPlanQual, pruning by
 * other parameters) it runs as it is. Memory: routes live in their batch's
 * context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/look_ahead_params.h"
#include "executor/facts/node_names.h"
#include "executor/facts/safe_values.h"
#include "executor/join/join.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/shuttle_executor.h"

/* The route of a key for which pruning raised an error. */
static const Bitmapset no_route;

static Node *create_state(CustomScan *plan);
static void begin_routed_append(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_routed_append(CustomScanState *node);
static void end_routed_append(CustomScanState *node);
static void rescan_routed_append(CustomScanState *node);

static const CustomScanMethods routed_append_methods = {
	.CustomName = shuttle_node_routed_append_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods routed_append_exec_methods = {
	.CustomName = shuttle_node_routed_append_name,
	.BeginCustomScan = begin_routed_append,
	.ExecCustomScan = exec_routed_append,
	.EndCustomScan = end_routed_append,
	.ReScanCustomScan = rescan_routed_append,
};

void
shuttle_routed_append_register(void)
{
	RegisterCustomScanMethods(&routed_append_methods);
}

CustomScan *
shuttle_routed_append_make(Plan *append, List *targetlist, List *scan_targetlist)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &routed_append_methods;
	scan->scan.plan.lefttree = append;
	scan->custom_scan_tlist = scan_targetlist;
	scan->scan.plan.targetlist = targetlist;
	return scan;
}

static Node *
create_state(CustomScan *plan)
{
	ShuttleRoutedAppend *node = palloc0(sizeof(ShuttleRoutedAppend));

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &routed_append_exec_methods;
	return (Node *) node;
}

static void
begin_routed_append(CustomScanState *node, EState *estate, int eflags)
{
	ShuttleRoutedAppend *routed = (ShuttleRoutedAppend *) node;
	PlanState  *child;

	/*
	 * The child is the plan's lefttree, for EXPLAIN; but not the state's, or
	 * core would pass changed parameters to it at each rescan. Core leaves
	 * out an Append with only one child.
	 */
	shuttle_recheck_pruning_init(estate);
	child = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);
	node->custom_ps = list_make1(child);
	if (IsA(child, AppendState))
		routed->append = (AppendState *) child;

	/* rows come in the slots of different children, as with Append */
	node->ss.ps.resultops = &TTSOpsVirtual;
	node->ss.ps.resultopsfixed = false;
	node->ss.ps.resultopsset = true;
}

/* True if test() is true of an expression by which one level is pruned. */
static bool
level_prunes_by(const PartitionedRelPruningData *pruned, bool (*test) (Node *expr))
{
	int			nvalues = list_length(pruned->exec_pruning_steps) *
		pruned->exec_context.partnatts;

	for (int i = 0; i < nvalues; i++)
	{
		const ExprState *state = pruned->exec_context.exprstates[i];

		if (state != NULL && test((Node *) state->expr))
			return true;
	}
	return false;
}

static bool
prunes_by(const PartitionPruneState *prune, bool (*test) (Node *expr))
{
	for (int i = 0; i < prune->num_partprunedata; i++)
	{
		const PartitionPruningData *data = prune->partprunedata[i];

		for (int j = 0; j < data->num_partrelprunedata; j++)
		{
			if (level_prunes_by(&data->partrelprunedata[j], test))
				return true;
		}
	}
	return false;
}

/* Makes a parameter that pruning depends on column i of the key. */
static void
describe_param(ShuttleRoutedAppend *node, int i, int id,
			   const ShuttleBinding *binding)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXEC;
	param->paramid = id;
	param->paramtype = binding->type;
	param->paramtypmod = -1;
	param->location = -1;
	shuttle_key_shape_describe(&node->shape, i, (Expr *) param,
							   &node->css.ss.ps);
}

/* Fills in the shape of a routed append's keys; false if pruning depends on
 * parameters that the Look Ahead does not set. */
static bool
describe_keys(ShuttleRoutedAppend *node, const LookAheadState *look)
{
	const Bitmapset *params = node->append->as_prune_state->execparamids;
	int			id = -1;
	int			i = 0;

	shuttle_key_shape_init(&node->shape, bms_num_members(params),
						   node->css.ss.ps.state);
	while ((id = bms_next_member(params, id)) >= 0)
	{
		const ShuttleBinding *binding = shuttle_look_ahead_binding(look, id);

		if (binding == NULL)
			return false;
		describe_param(node, i++, id, binding);
	}
	return i > 0;
}

/* True if a Look Ahead sets all parameters of a routed append's keys. */
static bool
binds_keys(const ShuttleRoutedAppend *node, const LookAheadState *look)
{
	const Bitmapset *params = node->append->as_prune_state->execparamids;
	int			id = -1;

	while ((id = bms_next_member(params, id)) >= 0)
	{
		if (shuttle_look_ahead_binding(look, id) == NULL)
			return false;
	}
	return true;
}

static void
add_append(LookAheadState *look, ShuttleRoutedAppend *node)
{
	if (look->appends == NULL)
		look->appends = palloc(sizeof(ShuttleRoutedAppend *));
	else
		look->appends = repalloc(look->appends, sizeof(ShuttleRoutedAppend *) *
								 (look->nappends + 1));
	look->appends[look->nappends++] = node;
}

bool
shuttle_routed_append_link(ShuttleRoutedAppend *node, LookAheadState *look,
						   bool by_position)
{
	AppendState *append = node->append;

	if (node->look != NULL)
	{
		if (node->look == look || !binds_keys(node, look))
			return false;
		node->look->shares = look->shares = true;
		look->may_fail = look->may_fail || node->look->may_fail;
		add_append(look, node);
		return true;
	}
	if (append == NULL || append->as_prune_state == NULL ||
		!append->as_prune_state->do_exec_prune || append->as_nasyncplans > 0 ||
		prunes_by(append->as_prune_state, contain_subplans) ||
		!describe_keys(node, look))
		return false;
	node->served = palloc0(sizeof(bool) * append->as_nplans);
	node->by_position = by_position;
	node->through_append = !shuttle_settings.enable_routed_append;
	node->index = look->nappends;
	node->look = look;
	look->may_fail = look->may_fail ||
		prunes_by(append->as_prune_state, shuttle_computes_value);
	add_append(look, node);
	return true;
}

void
shuttle_routed_append_take(ShuttleRoutedAppend *node, LookAheadState *look,
						   int index)
{
	if (node->look == look)
		return;
	node->look = look;
	node->index = index;
	node->started = false;
	node->route = NULL;
}

ShuttleRoutes *
shuttle_routed_append_make_routes(ShuttleRoutedAppend *node, int expected, MemoryContext cxt)
{
	ShuttleRoutes *routes = MemoryContextAllocZero(cxt, sizeof(ShuttleRoutes));

	routes->set = shuttle_key_set_create(&node->shape, expected, cxt);
	routes->size = routes->set->size;
	routes->children = MemoryContextAllocZero(cxt, sizeof(Bitmapset *) *
											  routes->size);
	return routes;
}

int
shuttle_routed_append_find_route(ShuttleRoutedAppend *node, ShuttleRoutes *routes)
{
	int			nkeys = routes->set->nkeys;
	int			key = shuttle_key_set_find(routes->set, true);
	MemoryContext old;

	if (key < nkeys)
		return routes->children[key] != &no_route ? key : SHUTTLE_KEY_UNKNOWN;
	old = MemoryContextSwitchTo(routes->set->cxt);
	if (key == routes->size)
	{
		routes->size *= 2;
		routes->children = repalloc(routes->children,
									sizeof(Bitmapset *) * routes->size);
	}
	routes->children[key] = &no_route;
	routes->children[key] =
		shuttle_find_matching_subplans(node->append->as_prune_state);
	MemoryContextSwitchTo(old);
	return key;
}

/* The children that may have rows for the current outer row. */
static const Bitmapset *
find_route(ShuttleRoutedAppend *node)
{
	LookAheadState *look = node->look;
	ShuttleBatch *batch = shuttle_look_ahead_current(look);
	int			row = look->position - 1;
	int			key = SHUTTLE_KEY_UNKNOWN;

	if (batch != NULL && node->by_position &&
		!shuttle_settings.debug_spoil_look_ahead)
		key = batch->route_keys[row * look->nappends + node->index];
	else if (batch != NULL)
		key = shuttle_key_set_find(batch->routes[node->index]->set, false);
	if (key >= 0 && batch->routes[node->index]->children[key] != &no_route)
		return batch->routes[node->index]->children[key];
	bms_free(node->own_route);
	node->own_route =
		shuttle_find_matching_subplans(node->append->as_prune_state);
	return node->own_route;
}

/* Goes to the next child of the route and rescans it. */
static bool
next_child(ShuttleRoutedAppend *node)
{
	PlanState  *child;

	node->child = bms_next_member(node->route, node->child);
	if (node->child < 0)
		return false;
	child = node->append->appendplans[node->child];

	/* a child that missed earlier rescans is told all changed parameters */
	if (!node->served[node->child] && node->changed != NULL)
		UpdateChangedParamSet(child, node->changed);
	if (child->chgParam == NULL)
		ExecReScan(child);
	return true;
}

static TupleTableSlot *
exec_routed_append(CustomScanState *node)
{
	ShuttleRoutedAppend *routed = (ShuttleRoutedAppend *) node;

	if (routed->look == NULL || routed->through_append)
		return ExecProcNode((PlanState *) linitial(node->custom_ps));
	if (!routed->started)
	{
		MemoryContext old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

		routed->started = true;
		routed->route = find_route(routed);
		MemoryContextSwitchTo(old);
		routed->child = -1;
		if (!next_child(routed))
			routed->route = NULL;
	}
	while (routed->route != NULL)
	{
		TupleTableSlot *row = ExecProcNode(routed->append->appendplans[routed->child]);

		if (!TupIsNull(row))
			return row;
		if (!next_child(routed))
			routed->route = NULL;
	}
	return NULL;
}

static void
rescan_routed_append(CustomScanState *node)
{
	ShuttleRoutedAppend *routed = (ShuttleRoutedAppend *) node;
	PlanState  *child = (PlanState *) linitial(node->custom_ps);

	if (routed->look != NULL && !routed->through_append)
	{
		MemoryContext old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

		routed->started = false;
		if (!bms_is_subset(node->ss.ps.chgParam, routed->changed))
			routed->changed = bms_add_members(routed->changed,
											  node->ss.ps.chgParam);
		MemoryContextSwitchTo(old);
		return;
	}
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
end_routed_append(CustomScanState *node)
{
	ExecEndNode((PlanState *) linitial(node->custom_ps));
}

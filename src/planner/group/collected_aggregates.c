/*-------------------------------------------------------------------------
 * collected_aggregates.c
 *	  array_agg, json_agg, jsonb_agg and string_agg over several nodes.
 *
 * Core can combine some of them from 16 on, others never. So in a finished
 * plan that combines what nodes collected, our aggregates
 * (executor/scan/collected.c, schema shuttle) replace core's, also in partial
 * aggregates over local children. During planning they keep core's function
 * OIDs, by which nodes above match their columns.
 *
 * Nodes are asked for arrays instead of JSON: postgres_fdw does not ship JSON
 * aggregates, whose output depends on settings.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "executor/shuttle_executor.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/group/unions.h"

typedef struct CollectedAggregate
{
	Oid			function;		/* core's */
	const char *name;			/* of ours, in schema shuttle */
	int			narguments;
	Oid			arguments[2];
	bool		is_json;
	ShuttleStateKind kind;
} CollectedAggregate;

static const CollectedAggregate aggregates[] = {
	{
		.function = F_ARRAY_AGG_ANYNONARRAY,
		.name = "collected_array",
		.narguments = 1,
		.arguments = {ANYELEMENTOID},
		.kind = SHUTTLE_STATE_ARRAY,
	},
	{
		.function = F_ARRAY_AGG_ANYARRAY,
		.name = "collected_array",
		.narguments = 1,
		.arguments = {ANYELEMENTOID},
		.kind = SHUTTLE_STATE_ARRAY,
	},
	{
		.function = F_JSON_AGG,
		.name = "collected_json",
		.narguments = 1,
		.arguments = {ANYELEMENTOID},
		.is_json = true,
		.kind = SHUTTLE_STATE_ARRAY,
	},
	{
		.function = F_JSONB_AGG,
		.name = "collected_jsonb",
		.narguments = 1,
		.arguments = {ANYELEMENTOID},
		.is_json = true,
		.kind = SHUTTLE_STATE_ARRAY,
	},
	{
		.function = F_STRING_AGG_TEXT_TEXT,
		.name = "collected_text",
		.narguments = 2,
		.arguments = {TEXTOID, TEXTOID},
		.kind = SHUTTLE_STATE_TEXT,
	},
	{
		.function = F_STRING_AGG_BYTEA_BYTEA,
		.name = "collected_text",
		.narguments = 2,
		.arguments = {BYTEAOID, BYTEAOID},
		.kind = SHUTTLE_STATE_TEXT,
	},
};

static const CollectedAggregate *
find_aggregate(Oid function)
{
	for (int i = 0; i < lengthof(aggregates); i++)
	{
		if (aggregates[i].function == function)
			return &aggregates[i];
	}
	return NULL;
}

/* InvalidOid if an older version of the extension is installed. */
static Oid
find_ours(const CollectedAggregate *aggregate)
{
	Oid			schema = get_namespace_oid("shuttle", true);
	oidvector  *types = buildoidvector(aggregate->arguments, aggregate->narguments);

	if (!OidIsValid(schema))
		return InvalidOid;
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(aggregate->name), PointerGetDatum(types),
						   ObjectIdGetDatum(schema));
}

/* True if values can be array elements; arrays cannot, since array_agg() of
 * arrays makes one array of more dimensions. */
static bool
can_be_elements(Oid type)
{
	return OidIsValid(get_array_type(type)) &&
		!OidIsValid(get_element_type(getBaseType(type)));
}

static Expr *
nth_argument(const Aggref *aggregate, int n)
{
	return list_nth_node(TargetEntry, aggregate->args, n)->expr;
}

bool
shuttle_collected_has_kind(const Aggref *aggregate, ShuttleStateKind *kind)
{
	const CollectedAggregate *known = find_aggregate(aggregate->aggfnoid);

	if (known == NULL || list_length(aggregate->args) != known->narguments ||
		!shuttle_planner_is_planning())
		return false;
	if (known->is_json && !can_be_elements(exprType((Node *) nth_argument(aggregate, 0))))
		return false;
	if (known->kind == SHUTTLE_STATE_TEXT && !IsA(nth_argument(aggregate, 1), Const))
		return false;
	if (!OidIsValid(find_ours(known)))
		return false;
	*kind = known->kind;
	return true;
}

Aggref *
shuttle_collected_source(const Aggref *aggregate)
{
	Aggref	   *source = copyObject((Aggref *) aggregate);
	Node	   *argument = (Node *) nth_argument(aggregate, 0);

	if (find_aggregate(aggregate->aggfnoid)->is_json)
	{
		source->aggfnoid = F_ARRAY_AGG_ANYNONARRAY;
		source->aggtype = get_array_type(exprType(argument));
		source->aggcollid = exprCollation(argument);
	}
	return source;
}

/* ---- the finished plan */

static bool
collects_anywhere(Plan *plan)
{
	Plan	  **child;

	if (plan == NULL)
		return false;
	if (IsA(plan, ForeignScan))
		return shuttle_foreign_aggregate_collects((ForeignScan *) plan);
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (collects_anywhere(*child))
			return true;
	}
	return false;
}

/* Replaces partial aggregates; an aggregate over all rows stays core's. */
static bool
replace_in(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;
		const CollectedAggregate *known = find_aggregate(aggregate->aggfnoid);

		if (known != NULL && aggregate->aggsplit != AGGSPLIT_SIMPLE)
			aggregate->aggfnoid = find_ours(known);
	}
	return expression_tree_walker(node, replace_in, context);
}

static void
replace_below(Plan *plan)
{
	Plan	  **child;

	if (plan == NULL)
		return;
	if (IsA(plan, Agg))
	{
		(void) replace_in((Node *) plan->targetlist, NULL);
		(void) replace_in((Node *) plan->qual, NULL);
	}
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		replace_below(*child);
}

void
shuttle_collected_aggregates_finish(PlannedStmt *statement)
{
	List	   *plans = lcons(statement->planTree, list_copy(statement->subplans));
	ListCell   *lc;

	foreach(lc, plans)
	{
		if (collects_anywhere(lfirst(lc)))
			break;
	}
	if (lc == NULL)
		return;
	foreach(lc, plans)
		replace_below(lfirst(lc));
}

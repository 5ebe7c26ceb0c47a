/*-------------------------------------------------------------------------
 * literal_plans.c
 *	  Shared plans for statements that differ only in their literals.
 *
 * Planning "UPDATE t SET n = n + 3 WHERE id = 7" costs more than everything else
 * that this server does for it, and the plan never depends on the literals: the
 * node runs the statement. So it is planned like a prepared statement, with
 * parameters instead of literals, and kept by core's plan cache, which handles
 * invalidation. A statement gets a copy with its literals in place of the
 * parameters; the node gets them as $1, $2, ...
 *
 * This is done for statements on one foreign table of our wrapper, and for those
 * on one distributed table that are routed (planner/router); literal_shape.c says
 * which literals become parameters. EXPLAIN always plans anew.
 *
 * The shapes of recent statements are kept in order of use. A plan is made
 * when a shape comes for the second time.
 *
 * Memory: shapes live in CacheMemoryContext, their plans where the plan cache
 * keeps saved plans.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "lib/ilist.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"
#include "planner/router/literals.h"
#include "tablets/shuttle_tablets.h"

#define MOST_SHAPES 100
#define MOST_LITERALS 2000		/* more than a table can have columns */
#define MOST_LEFT_BYTES 8192

typedef struct KnownShape
{
	dlist_node	link;
	uint32		hash;
	CachedPlanSource *source;	/* NULL: seen only once */
	bool		unusable;		/* its plan has nodes that we cannot put
								 * literals into */
	ShuttleSettings settings;	/* in force when its plan was made */
} KnownShape;

static dlist_head shapes = DLIST_STATIC_INIT(shapes);
static int	nshapes = 0;

/* A plan is being made: statements planned meanwhile must not drop it. */
static bool is_making = false;

/* ---- which statements */

/* True if a statement on a distributed table may be routed. */
static bool
is_routed_by_key(const Query *query, const RangeTblEntry *rte)
{
	return shuttle_settings.enable_router && !shuttle_routed_is_switched_off() &&
		query->commandType != CMD_INSERT && query->jointree->quals != NULL &&
		shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED;
}

static bool
is_about_one_table(const Query *query)
{
	const RangeTblEntry *rte;

	if (query->commandType == CMD_UTILITY || query->commandType == CMD_UNKNOWN ||
		list_length(query->rtable) != 1 ||
		query->hasSubLinks || query->cteList != NIL || query->hasAggs ||
		query->hasWindowFuncs || query->hasTargetSRFs || query->groupClause != NIL ||
		query->distinctClause != NIL || query->onConflict != NULL ||
		query->withCheckOptions != NIL)
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);

	if (rte->rtekind != RTE_RELATION || rte->securityQuals != NIL || rte->tablesample != NULL)
		return false;
	if (rte->relkind == RELKIND_PARTITIONED_TABLE)
		return is_routed_by_key(query, rte);

	/* a literal may decide whether the row leaves its partition */
	if (query->commandType == CMD_UPDATE && get_rel_relispartition(rte->relid))
		return false;
	return rte->relkind == RELKIND_FOREIGN_TABLE &&
		shuttle_server_is_ours(GetForeignServerIdByRelId(rte->relid));
}

/* Hints of pg_hint_plan apply to one statement. With constraint_exclusion = on,
 * CHECK constraints are tested against literals. */
static bool
may_share_plan(const Query *query, ShuttlePlanCall call)
{
	return shuttle_settings.enable_plan_reuse && !is_making &&
		plan_cache_mode != PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN &&
		constraint_exclusion != CONSTRAINT_EXCLUSION_ON &&
		call.params == NULL && (call.cursor_options & ~CURSOR_OPT_PARALLEL_OK) == 0 &&
		is_about_one_table(query) && !shuttle_dist_explain_is_open() &&
		(call.query_string == NULL || strstr(call.query_string, "/*+") == NULL);
}

/* ---- shapes that are known */

static void
forget_plan(KnownShape *known)
{
	if (known->source != NULL)
		DropCachedPlan(known->source);
	known->source = NULL;
	known->unusable = false;
}

/* Adds a shape, replacing the least recently used one if there are too many. */
static KnownShape *
add_shape(uint32 hash)
{
	KnownShape *known;

	if (nshapes < MOST_SHAPES)
	{
		known = MemoryContextAllocZero(CacheMemoryContext, sizeof(KnownShape));
		nshapes++;
	}
	else
	{
		known = dlist_tail_element(KnownShape, link, &shapes);
		forget_plan(known);
		dlist_delete(&known->link);
	}
	known->hash = hash;
	dlist_push_head(&shapes, &known->link);
	return known;
}

/* True if known is this shape. An invalid plan source may have lost its query,
 * so only the hash is compared then. */
static bool
has_shape(const KnownShape *known, const ShuttleShape *shape)
{
	return known->hash == shape->hash &&
		(known->source == NULL || !CachedPlanIsValid(known->source) ||
		 equal(linitial(known->source->query_list), shape->query));
}

/* Bounds the cost of making and keeping a plan. */
static bool
is_worth_keeping(const ShuttleShape *shape)
{
	return shape->literals != NIL && list_length(shape->literals) <= MOST_LITERALS &&
		shape->left_bytes <= MOST_LEFT_BYTES && !shape->has_parameters;
}

static KnownShape *
find_shape(const ShuttleShape *shape)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shapes)
	{
		KnownShape *known = dlist_container(KnownShape, link, iter.cur);

		if (!has_shape(known, shape))
			continue;
		dlist_move_head(&shapes, &known->link);
		return known;
	}
	return NULL;
}

/* For an invalid plan the plan cache analyzes its raw statement again. We give
 * it one that reads no table, so that copy_plan() notices. */
static RawStmt *
empty_statement(void)
{
	RawStmt    *statement = makeNode(RawStmt);

	statement->stmt = (Node *) makeNode(SelectStmt);
	return statement;
}

static void
begin_plan(KnownShape *known, const ShuttleShape *shape)
{
	int			n = list_length(shape->literals);
	Oid		   *types = palloc_array(Oid, n);
	CachedPlanSource *source;
	ListCell   *lc;

	foreach(lc, shape->literals)
		types[foreach_current_index(lc)] = lfirst_node(Const, lc)->consttype;
	source = CreateCachedPlan(empty_statement(), "", CMDTAG_SELECT);
	CompleteCachedPlan(source, list_make1(shape->query), NULL, types, n, NULL, NULL,
					   CURSOR_OPT_PARALLEL_OK | CURSOR_OPT_GENERIC_PLAN, false);
	SaveCachedPlan(source);
	known->source = source;
	known->settings = shuttle_settings;
}

static bool
is_current(const KnownShape *known)
{
	return CachedPlanIsValid(known->source) &&
		memcmp(&known->settings, &shuttle_settings, sizeof(ShuttleSettings)) == 0;
}

/* ---- plans with literals */

/* True if the plan has only node types that put_into_plan() handles. A routed
 * statement that may have to be planned again keeps a query with parameters. */
static bool
can_put_literals(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return shuttle_node_is_routed_statement_plan(plan) &&
				shuttle_routed_query((const CustomScan *) plan) == NULL;
		case T_ModifyTable:
		case T_LockRows:
			return can_put_literals(outerPlan(plan));
		case T_ForeignScan:
			return ((const ForeignScan *) plan)->scan.scanrelid > 0;
		case T_Result:
			return outerPlan(plan) == NULL;
		default:
			return false;
	}
}

static Node *
put_literals(Node *node, void *literals)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return copyObject(list_nth(literals, ((Param *) node)->paramid - 1));
	return expression_tree_mutator(node, put_literals, literals);
}

static List *
put_into_list(List *expressions, List *literals)
{
	return (List *) put_literals((Node *) expressions, literals);
}

static Plan *
copy_node(const Plan *plan, Size size)
{
	return memcpy(palloc(size), plan, size);
}

/* Core looks for the junk column "wholerow" in the target list of an UPDATE's
 * source. */
static List *
no_row(void)
{
	return list_make1(makeTargetEntry((Expr *) makeNullConst(RECORDOID, -1, InvalidOid),
									  1, "wholerow", true));
}

/*
 * Copies a plan with literals instead of parameters. Parts without expressions
 * are shared with the kept plan.
 *
 * computes: the parent reads the node's rows. A direct modify without RETURNING
 * returns none, so its target list is not copied.
 */
static Plan *
put_into_plan(const Plan *plan, bool computes, List *literals)
{
	Plan	   *copy;

	if (IsA(plan, CustomScan))
	{
		CustomScan *scan = (CustomScan *) copy_node(plan, sizeof(CustomScan));

		scan->custom_exprs = put_into_list(scan->custom_exprs, literals);
		return &scan->scan.plan;
	}
	if (IsA(plan, ForeignScan))
	{
		ForeignScan *scan = (ForeignScan *) copy_node(plan, sizeof(ForeignScan));

		scan->fdw_exprs = put_into_list(scan->fdw_exprs, literals);
		if (scan->operation != CMD_SELECT && !computes)
		{
			scan->fdw_recheck_quals = NIL;
			scan->scan.plan.qual = NIL;
			scan->scan.plan.targetlist = no_row();
			return &scan->scan.plan;
		}
		scan->fdw_recheck_quals = put_into_list(scan->fdw_recheck_quals, literals);
		copy = &scan->scan.plan;
	}
	else if (IsA(plan, Result))
	{
		Result	   *result = (Result *) copy_node(plan, sizeof(Result));

		result->resconstantqual = put_literals(result->resconstantqual, literals);
		copy = &result->plan;
	}
	else
	{
		copy = copy_node(plan, IsA(plan, ModifyTable) ? sizeof(ModifyTable) :
						 sizeof(LockRows));
		computes = !IsA(plan, ModifyTable) ||
			((const ModifyTable *) plan)->returningLists != NIL;
		copy->lefttree = put_into_plan(plan->lefttree, computes, literals);
	}
	copy->targetlist = put_into_list(copy->targetlist, literals);
	copy->qual = put_into_list(copy->qual, literals);
	return copy;
}

static CachedPlan *
get_plan(KnownShape *known)
{
	CachedPlan *plan;

	is_making = true;
	PG_TRY();
	{
		plan = GetCachedPlan(known->source, NULL, NULL, NULL);
	}
	PG_FINALLY();
	{
		is_making = false;
	}
	PG_END_TRY();
	return plan;
}

static void
release_plan(void *plan)
{
	ReleaseCachedPlan(plan, NULL);
}

/* Keeps the plan as long as the memory of the statement's own plan. */
static void
release_later(CachedPlan *plan)
{
	MemoryContextCallback *callback = palloc_object(MemoryContextCallback);

	callback->func = release_plan;
	callback->arg = plan;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

/* NULL if the shape's plan is invalid or unusable. */
static PlannedStmt *
copy_plan(KnownShape *known, const Query *query, List *literals)
{
	CachedPlan *plan = get_plan(known);
	const PlannedStmt *statement = linitial_node(PlannedStmt, plan->stmt_list);
	const RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);
	PlannedStmt *copy;

	release_later(plan);
	if (!list_member_oid(statement->relationOids, rte->relid))
	{
		forget_plan(known);		/* it was invalidated just now */
		return NULL;
	}
	if (statement->subplans != NIL || !can_put_literals(statement->planTree) ||
		(rte->relkind == RELKIND_PARTITIONED_TABLE && !IsA(statement->planTree, CustomScan)))
	{
		known->unusable = true;
		return NULL;
	}
	copy = palloc_object(PlannedStmt);
	*copy = *statement;
	copy->planTree = put_into_plan(statement->planTree, true, literals);
	copy->queryId = query->queryId;
	copy->stmt_location = query->stmt_location;
	copy->stmt_len = query->stmt_len;
	return copy;
}

static PlannedStmt *
plan_by_shape(Query *query)
{
	ShuttleShape shape = shuttle_literal_shape_take(query);
	KnownShape *known;

	if (!is_worth_keeping(&shape))
		return NULL;
	known = find_shape(&shape);
	if (known == NULL)
	{
		known = add_shape(shape.hash);
		if (!shuttle_settings.debug_force_plan_reuse)
			return NULL;
	}
	if (known->source != NULL && !is_current(known))
		forget_plan(known);
	if (known->unusable)
		return NULL;
	if (known->source == NULL)
		begin_plan(known, &shape);
	return copy_plan(known, query, shape.literals);
}

PlannedStmt *
shuttle_literal_plans_plan(Query *query, ShuttlePlanCall call)
{
	PlannedStmt *statement = NULL;

	if (may_share_plan(query, call))
		statement = plan_by_shape(query);
	if (statement == NULL)
		statement = shuttle_plan_rest(query, call);
	return statement;
}

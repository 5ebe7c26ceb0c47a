/*-------------------------------------------------------------------------
 * literal_plans.c
 *	  Plans of statements that differ in their literals only.
 *
 * To plan "UPDATE t SET n = n + 3 WHERE id = 7" costs more than all else that this
 * server does for it.  There is one plan, whatever the literals: to have the node do
 * it.  So it is made as for a prepared statement, with parameters in place of the
 * literals, and kept by core's plan cache, which knows when it is out of date; a
 * statement gets a copy with its own literals in the parameters' places, and the node
 * gets them as $1, $2, ...
 *
 * That is done for statements about one foreign table of the engine; literal_shape.c
 * says which literals get parameters.  EXPLAIN plans each statement by itself, so that it
 * shows it.
 *
 * The shapes of the last statements are kept in the order of their use.  A plan is
 * made when a shape comes for the second time.
 *
 * Memory: shapes live below CacheMemoryContext, their plans where the plan cache keeps
 * saved ones.
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
#include "planner/statement/literals.h"

#define MOST_SHAPES 100
#define MOST_LITERALS 2000		/* columns there are at most, and some */
#define MOST_LEFT_BYTES 8192

typedef struct KnownShape
{
	dlist_node	link;
	uint32		hash;
	CachedPlanSource *source;	/* NULL: was seen once */
	bool		unusable;		/* its plan is more than what literals can be
								 * put into */
	ShuttleSettings settings;	/* that its plan was made under */
} KnownShape;

static dlist_head shapes = DLIST_STATIC_INIT(shapes);
static int	nshapes = 0;

/* A plan is being made; what is planned within must not take it away. */
static bool is_making = false;

static planner_hook_type previous_planner = NULL;

/* ---- which statements */

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

	/* whether the row stays in a partition, literals tell */
	if (query->commandType == CMD_UPDATE && get_rel_relispartition(rte->relid))
		return false;
	return rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE &&
		rte->securityQuals == NIL && rte->tablesample == NULL &&
		shuttle_server_is_ours(GetForeignServerIdByRelId(rte->relid));
}

/*
 * Hints of pg_hint_plan are for one statement, and a setting of core's is for all.
 * Where that says so, CHECK constraints refute literals.
 */
static bool
may_share_plan(const Query *query, const char *query_string, int cursor_options,
			   ParamListInfo params)
{
	return shuttle_settings.enable_plan_reuse && !is_making &&
		plan_cache_mode != PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN &&
		constraint_exclusion != CONSTRAINT_EXCLUSION_ON &&
		params == NULL && (cursor_options & ~CURSOR_OPT_PARALLEL_OK) == 0 &&
		is_about_one_table(query) && !shuttle_explain_is_open() &&
		strstr(query_string, "/*+") == NULL;
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

/* A new one takes the place of that which was not used for the longest time. */
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

/* A plan that is out of date may have lost its statement. */
static bool
has_shape(const KnownShape *known, const ShuttleShape *shape)
{
	return known->hash == shape->hash &&
		(known->source == NULL || !CachedPlanIsValid(known->source) ||
		 equal(linitial(known->source->query_list), shape->query));
}

/* What it takes to make, and to keep, has bounds. */
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

/*
 * The plan cache analyses the statement of a plan that is out of date again.  It is
 * given one that reads nothing, by which that is noticed.
 */
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

/* Known are the nodes of a plan that has the table's node do all there is to do. */
static bool
can_put_literals(const Plan *plan)
{
	switch (nodeTag(plan))
	{
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

/* In the list of an UPDATE's source, core looks for the old row by its name. */
static List *
no_row(void)
{
	return list_make1(makeTargetEntry((Expr *) makeNullConst(RECORDOID, -1, InvalidOid),
									  1, "wholerow", true));
}

/*
 * What has no literals in it is shared with the plan that is kept.
 *
 * computes: somebody gets rows of it.  A write that the node does whole gives none
 * unless something is returned, and what its scan would compute of them is left out.
 */
static Plan *
put_into_plan(const Plan *plan, bool computes, List *literals)
{
	Plan	   *copy;

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

/* The plan lives as long as what the planner makes for the statement. */
static void
release_later(CachedPlan *plan)
{
	MemoryContextCallback *callback = palloc_object(MemoryContextCallback);

	callback->func = release_plan;
	callback->arg = plan;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

/* NULL where the shape has no plan, for now or at all. */
static PlannedStmt *
copy_plan(KnownShape *known, const Query *query, List *literals)
{
	CachedPlan *plan = get_plan(known);
	const PlannedStmt *statement = linitial_node(PlannedStmt, plan->stmt_list);
	Oid			relid = linitial_node(RangeTblEntry, query->rtable)->relid;
	PlannedStmt *copy;

	release_later(plan);
	if (!list_member_oid(statement->relationOids, relid))
	{
		forget_plan(known);		/* it was invalidated just now */
		return NULL;
	}
	if (statement->subplans != NIL || !can_put_literals(statement->planTree))
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
	ShuttleShape shape = shuttle_take_shape(query);
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

static PlannedStmt *
plan_statement(Query *query, const char *query_string, int cursor_options,
			   ParamListInfo params)
{
	PlannedStmt *statement = NULL;

	if (may_share_plan(query, query_string, cursor_options, params))
		statement = plan_by_shape(query);
	if (statement == NULL)
		statement = previous_planner(query, query_string, cursor_options, params);
	return statement;
}

void
shuttle_literal_plans_init(void)
{
	previous_planner = planner_hook != NULL ? planner_hook : standard_planner;
	planner_hook = plan_statement;
}

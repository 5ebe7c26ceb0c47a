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
 * That is done for statements about one foreign table of the engine.  Literals that
 * plans could depend on stay what they are: of the conditions, only "column = literal"
 * has a parameter.  EXPLAIN plans each statement by itself, so that it shows it.
 *
 * The shapes of the last statements are kept in the order of their use.  A plan is
 * made when a shape comes for the second time.
 *
 * Memory: shapes live below CacheMemoryContext, their plans where the plan cache keeps
 * saved ones.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"
#include "planner/planner_internal.h"

#define MOST_SHAPES 100
#define MOST_LITERALS 2000		/* columns there are at most, and some */
#define MOST_LEFT_BYTES 8192

/* A statement with parameters in place of its literals. */
typedef struct Shape
{
	Query	   *query;
	List	   *literals;		/* Const of each parameter */
	Size		left_bytes;		/* of literals that were left */
	uint32		hash;
	bool		has_parameters; /* of its own */
} Shape;

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

/* ---- its shape */

static void
add_to_hash(Shape *shape, uint32 value)
{
	shape->hash = hash_combine(shape->hash, murmurhash32(value));
}

static bool
look_at_left(Node *node, void *context)
{
	Shape	   *shape = context;

	if (node == NULL)
		return false;
	add_to_hash(shape, nodeTag(node));
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		shape->has_parameters = true;
	if (IsA(node, Var))
		add_to_hash(shape, ((Var *) node)->varattno);
	if (IsA(node, Const) && !((Const *) node)->constisnull)
	{
		const Const *literal = (const Const *) node;

		shape->left_bytes += datumGetSize(literal->constvalue, literal->constbyval,
										  literal->constlen);
		add_to_hash(shape, datum_image_hash(literal->constvalue, literal->constbyval,
											literal->constlen));
	}
	return expression_tree_walker(node, look_at_left, context);
}

/* Literals in it make the shape another one. */
static Node *
leave(Node *node, Shape *shape)
{
	(void) look_at_left(node, shape);
	return node;
}

static Node *
replace_literal(Const *literal, Shape *shape)
{
	Param	   *param;

	if (literal->constisnull || literal->consttype == BOOLOID ||
		get_typtype(literal->consttype) == TYPTYPE_PSEUDO)
		return leave((Node *) literal, shape);
	shape->literals = lappend(shape->literals, literal);
	param = makeNode(Param);
	param->paramkind = PARAM_EXTERN;
	param->paramid = list_length(shape->literals);
	param->paramtype = literal->consttype;
	param->paramtypmod = literal->consttypmod;
	param->paramcollid = literal->constcollid;
	param->location = -1;
	add_to_hash(shape, param->paramtype);
	return (Node *) param;
}

static bool
is_users_function(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

static bool
is_more_than_literals(Node *node, void *context)
{
	switch (nodeTag(node))
	{
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_List:
			return check_functions_in_node(node, is_users_function, NULL) ||
				expression_tree_walker(node, is_more_than_literals, context);
		default:
			return true;
	}
}

/*
 * What is computed of literals, by a cast for one, is another literal; else the node
 * would raise what the planner does.  Functions of users might have effects: the planner
 * calls them again.
 */
static Node *
fold(Node *node)
{
	Node	   *folded;

	if (is_more_than_literals(node, NULL))
		return node;
	folded = eval_const_expressions(NULL, node);
	return IsA(folded, Const) ? folded : node;
}

/*
 * Beside a column, postgres_fdw writes a literal without its type, and the node finds
 * out, by the type of its own column.  A parameter is of the type that it is here.
 */
static bool
has_type_by_itself(const Const *literal)
{
	if (literal->constisnull)
		return false;
	switch (literal->consttype)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return true;
		case NUMERICOID:
			return strchr(DatumGetCString(DirectFunctionCall1(numeric_out,
															  literal->constvalue)),
						  '.') != NULL;
		default:
			return false;
	}
}

static Node *replace_in_arguments(Node *node, void *context);

/* The other arguments of a cast say what to cast to. */
static Node *
replace_in_cast(const FuncExpr *cast, Shape *shape)
{
	FuncExpr   *copy = palloc_object(FuncExpr);

	add_to_hash(shape, cast->funcid);
	*copy = *cast;
	copy->args = list_copy(cast->args);
	linitial(copy->args) = replace_in_arguments(linitial(copy->args), shape);
	return (Node *) copy;
}

/*
 * Within an operator's arguments.  What is not looked into is left as it is, and so is
 * what users' functions, which the planner may call, are given.
 */
static Node *
replace_in_arguments(Node *node, void *context)
{
	Shape	   *shape = context;

	check_stack_depth();
	if (check_functions_in_node(node, is_users_function, NULL))
		return leave(node, shape);
	if (IsA(node, FuncExpr) || IsA(node, OpExpr))
		node = fold(node);
	switch (nodeTag(node))
	{
		case T_Const:
			if (!has_type_by_itself((Const *) node))
				break;
			return replace_literal((Const *) node, shape);
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CALL ||
				((FuncExpr *) node)->args == NIL)
				break;
			return replace_in_cast((FuncExpr *) node, shape);
		case T_OpExpr:
			add_to_hash(shape, ((OpExpr *) node)->opno);
			return expression_tree_mutator(node, replace_in_arguments, shape);
		case T_List:
			return expression_tree_mutator(node, replace_in_arguments, shape);
		default:
			break;
	}
	return leave(node, shape);
}

/* Of a value that is written. */
static Node *
replace_in_value(Node *node, Shape *shape)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
			node = fold(node);
			break;
		case T_CoerceToDomain:
			{
				CoerceToDomain *copy = palloc_object(CoerceToDomain);

				*copy = *(CoerceToDomain *) node;
				copy->arg = (Expr *) replace_in_value((Node *) copy->arg, shape);
				return (Node *) copy;
			}
		default:
			break;
	}
	if (IsA(node, Const))
		return replace_literal((Const *) node, shape);
	return replace_in_arguments(node, shape);
}

static bool
is_column(const Node *node)
{
	if (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return IsA(node, Var);
}

/* Statistics of the column make such a condition, and not the value. */
static bool
is_equality_with_column(const OpExpr *operator)
{
	return list_length(operator->args) == 2 &&
		(is_column(linitial(operator->args)) || is_column(lsecond(operator->args))) &&
		get_oprrest(operator->opno) == F_EQSEL;
}

static Node *
replace_beside_column(Node *node, void *context)
{
	if (IsA(node, List))
		return expression_tree_mutator(node, replace_beside_column, context);
	if (IsA(node, Const) && has_type_by_itself((Const *) node))
		return replace_literal((Const *) node, context);
	return leave(node, context);
}

/* Nothing is computed here, which a condition before it may forbid. */
static Node *
replace_in_conditions(Node *node, void *context)
{
	check_stack_depth();
	if (node == NULL)
		return NULL;
	if (IsA(node, List) || is_andclause(node))
		return expression_tree_mutator(node, replace_in_conditions, context);
	if (IsA(node, OpExpr) && is_equality_with_column((OpExpr *) node))
	{
		add_to_hash(context, ((OpExpr *) node)->opno);
		return expression_tree_mutator(node, replace_beside_column, context);
	}
	return leave(node, context);
}

/* The statement itself stays as it is; the shape refers to parts of it. */
static Shape
take_shape(Query *query)
{
	Shape		shape = {.hash = query->commandType};
	List	   *targets = NIL;
	ListCell   *lc;

	add_to_hash(&shape, linitial_node(RangeTblEntry, query->rtable)->relid);
	foreach(lc, query->targetList)
	{
		TargetEntry *copy = palloc_object(TargetEntry);

		*copy = *lfirst_node(TargetEntry, lc);
		add_to_hash(&shape, copy->resno);
		copy->expr = (Expr *) (query->commandType == CMD_SELECT ?
							   leave((Node *) copy->expr, &shape) :
							   replace_in_value((Node *) copy->expr, &shape));
		targets = lappend(targets, copy);
	}
	leave((Node *) query->returningList, &shape);
	leave(query->limitOffset, &shape);
	leave(query->limitCount, &shape);

	shape.query = palloc_object(Query);
	*shape.query = *query;
	shape.query->targetList = targets;
	shape.query->jointree = makeFromExpr(query->jointree->fromlist,
										 replace_in_conditions(query->jointree->quals,
															   &shape));

	/* not of a plan for many */
	shape.query->queryId = 0;
	shape.query->stmt_location = -1;
	shape.query->stmt_len = 0;
	return shape;
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
has_shape(const KnownShape *known, const Shape *shape)
{
	return known->hash == shape->hash &&
		(known->source == NULL || !CachedPlanIsValid(known->source) ||
		 equal(linitial(known->source->query_list), shape->query));
}

/* What it takes to make, and to keep, has bounds. */
static bool
is_worth_keeping(const Shape *shape)
{
	return shape->literals != NIL && list_length(shape->literals) <= MOST_LITERALS &&
		shape->left_bytes <= MOST_LEFT_BYTES && !shape->has_parameters;
}

static KnownShape *
find_shape(const Shape *shape)
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
begin_plan(KnownShape *known, const Shape *shape)
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

static void
put_into_plan(Plan *plan, List *literals)
{
	plan->targetlist = put_into_list(plan->targetlist, literals);
	plan->qual = put_into_list(plan->qual, literals);
	if (IsA(plan, ForeignScan))
	{
		ForeignScan *scan = (ForeignScan *) plan;

		scan->fdw_exprs = put_into_list(scan->fdw_exprs, literals);
		scan->fdw_recheck_quals = put_into_list(scan->fdw_recheck_quals, literals);
	}
	else if (IsA(plan, Result))
	{
		Result	   *result = (Result *) plan;

		result->resconstantqual = put_literals(result->resconstantqual, literals);
	}
	if (outerPlan(plan) != NULL)
		put_into_plan(outerPlan(plan), literals);
}

static CachedPlan *
get_plan(KnownShape *known)
{
	CachedPlan *plan;

	is_making = true;
	PG_TRY();
	{
		plan = GetCachedPlan(known->source, NULL, CurrentResourceOwner, NULL);
	}
	PG_FINALLY();
	{
		is_making = false;
	}
	PG_END_TRY();
	return plan;
}

/* NULL where the shape has no plan, for now or at all. */
static PlannedStmt *
copy_plan(KnownShape *known, const Query *query)
{
	CachedPlan *plan = get_plan(known);
	PlannedStmt *statement = linitial_node(PlannedStmt, plan->stmt_list);
	Oid			relid = linitial_node(RangeTblEntry, query->rtable)->relid;
	PlannedStmt *copy = NULL;

	if (!list_member_oid(statement->relationOids, relid))
		forget_plan(known);		/* it was invalidated just now */
	else if (statement->subplans != NIL || !can_put_literals(statement->planTree))
		known->unusable = true;
	else
		copy = copyObject(statement);
	ReleaseCachedPlan(plan, CurrentResourceOwner);
	return copy;
}

static PlannedStmt *
plan_by_shape(Query *query)
{
	Shape		shape = take_shape(query);
	KnownShape *known;
	PlannedStmt *statement;

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
	statement = copy_plan(known, query);
	if (statement == NULL)
		return NULL;
	put_into_plan(statement->planTree, shape.literals);
	statement->queryId = query->queryId;
	statement->stmt_location = query->stmt_location;
	statement->stmt_len = query->stmt_len;
	return statement;
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

/*-------------------------------------------------------------------------
 * union_joins.c
 *	  Joins of a UNION ALL with reference tables, as joins in its branches.
 *
 * In
 *		SELECT .. FROM (SELECT a, d FROM t UNION ALL SELECT b, e FROM u) s
 *		JOIN r ON r.d = s.d WHERE r.y = 2001
 * core joins what all branches have returned. The same rows has
 *		SELECT .. FROM (SELECT b.*, r.* FROM (SELECT a, d FROM t) b, r UNION ALL
 *		SELECT b.*, r.* FROM (SELECT b, e FROM u) b, r) s
 *		WHERE s.r_d = s.d AND s.r_y = 2001
 * Core pushes the conditions down into the branches, where nodes join their rows with
 * their copies of r (join/reference_tables.c), and compute their groups
 * (facts/union_branches.c).
 *
 * This is done if FROM has nothing but one UNION ALL and reference tables, inner joined by
 * equalities. Core's choice of an order of joins is the same then, in each branch: a
 * further table could have been joined before, by its keys. Statements that may read
 * copies call no volatile functions and lock no rows, so a table may be named more
 * than once.
 *
 * The UNION ALL may be below plain subqueries, or WITH queries that core would inline; not
 * with grouping sets: core then has placeholders for what it pulls up of a subquery, and
 * pushes no condition of these into branches, whose joins would be cross products.
 * Its branches: union_columns.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "planner/facts/node_reads.h"
#include "planner/rewrite/rewrite.h"
#include "planner/rewrite/union_joins.h"
#include "tablets/shuttle_tablets.h"

/* A query with a UNION ALL in FROM, and what is moved into its branches. */
typedef struct Move
{
	Query	   *query;
	Index		whole;			/* the UNION ALL's entry */
	Relids		references;		/* entries of the reference tables */
	List	   *columns;		/* of the reference tables: Vars */
	AttrNumber	first;			/* number of the first as a column of whole */
	Index		depth;			/* of the walkers below the query */
} Move;

/* A query and those around it. */
typedef struct Levels
{
	const struct Levels *above;
	Query	   *query;
} Levels;

/* ---- queries of WITH */

static CommonTableExpr *
find_with(const Levels *levels, const RangeTblEntry *rte)
{
	ListCell   *cell;

	for (Index up = rte->ctelevelsup; up > 0 && levels != NULL; up--)
		levels = levels->above;
	if (levels == NULL)
		return NULL;
	foreach(cell, levels->query->cteList)
	{
		CommonTableExpr *with = lfirst_node(CommonTableExpr, cell);

		if (strcmp(with->ctename, rte->ctename) == 0)
			return with;
	}
	return NULL;
}

/* The query of WITH that an entry reads, if core would inline it there only; or NULL. */
static CommonTableExpr *
inlined_with(const Levels *levels, const RangeTblEntry *rte)
{
	CommonTableExpr *with;

	if (rte->rtekind != RTE_CTE || rte->self_reference)
		return NULL;
	with = find_with(levels, rte);
	return with != NULL && with->cterefcount == 1 && !with->cterecursive &&
		with->ctematerialized != CTEMaterializeAlways ? with : NULL;
}

/* As core's inline_cte(). */
static void
inline_with(RangeTblEntry *rte, CommonTableExpr *with)
{
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = castNode(Query, copyObject(with->ctequery));
	if (rte->ctelevelsup > 0)
		IncrementVarSublevelsUp((Node *) rte->subquery, rte->ctelevelsup, 1);
	rte->ctename = NULL;
	rte->ctelevelsup = 0;
	rte->coltypes = rte->coltypmods = rte->colcollations = NIL;
	with->cterefcount = 0;
}

/* ---- what FROM has */

static bool
is_reference(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_RELATION &&
		rte->tablesample == NULL && rte->securityQuals == NIL &&
		shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_REFERENCE;
}

/* Finds out what an item of FROM is. Returns false if it prevents the move. */
static bool
add_item(Move *move, const Levels *levels, Index rtindex)
{
	RangeTblEntry *rte = rt_fetch(rtindex, move->query->rtable);
	CommonTableExpr *with = inlined_with(levels, rte);
	Query	   *subquery = with != NULL ? castNode(Query, with->ctequery) : rte->subquery;

	if (is_reference(rte))
	{
		move->references = bms_add_member(move->references, rtindex);
		return true;
	}
	if (move->whole != 0 || (with == NULL && !shuttle_union_subquery_is_open(rte)) ||
		!shuttle_union_is_movable(subquery) || !shuttle_node_is_read_by((Node *) subquery))
		return false;
	if (move->query->groupingSets != NIL && subquery->setOperations == NULL)
		return false;
	move->whole = rtindex;
	return true;
}

static bool
add_items(Move *move, const Levels *levels, Node *node)
{
	const JoinExpr *join = (const JoinExpr *) node;

	if (IsA(node, RangeTblRef))
		return add_item(move, levels, ((RangeTblRef *) node)->rtindex);
	return IsA(node, JoinExpr) && join->jointype == JOIN_INNER &&
		add_items(move, levels, join->larg) && add_items(move, levels, join->rarg);
}

static bool
add_all_items(Move *move, const Levels *levels)
{
	ListCell   *cell;

	foreach(cell, move->query->jointree->fromlist)
	{
		if (!add_items(move, levels, lfirst(cell)))
			return false;
	}
	return move->whole != 0 && !bms_is_empty(move->references);
}

static List *
add_conditions(List *conditions, Node *node)
{
	const JoinExpr *join = (const JoinExpr *) node;
	ListCell   *cell;

	if (IsA(node, RangeTblRef))
		return conditions;
	if (IsA(node, JoinExpr))
	{
		conditions = add_conditions(add_conditions(conditions, join->larg), join->rarg);
		return list_concat(conditions, make_ands_implicit((Expr *) join->quals));
	}
	foreach(cell, castNode(FromExpr, node)->fromlist)
		conditions = add_conditions(conditions, lfirst(cell));
	return list_concat(conditions,
					   make_ands_implicit((Expr *) castNode(FromExpr, node)->quals));
}

/* The table that both sides of an equality name one of, if the other one is in joined;
 * or 0. */
static int
find_joined_by(const OpExpr *condition, Relids joined)
{
	int			sides[2];
	int			i = 0;
	ListCell   *cell;

	if (!IsA(condition, OpExpr) || list_length(condition->args) != 2)
		return 0;
	if (!op_mergejoinable(condition->opno, exprType(linitial(condition->args))) &&
		!op_hashjoinable(condition->opno, exprType(linitial(condition->args))))
		return 0;
	foreach(cell, condition->args)
	{
		if (!bms_get_singleton_member(pull_varnos(NULL, lfirst(cell)), &sides[i++]))
			return 0;
	}
	if (bms_is_member(sides[0], joined) == bms_is_member(sides[1], joined))
		return 0;
	return bms_is_member(sides[0], joined) ? sides[1] : sides[0];
}

/* True if equalities join the UNION ALL with all the reference tables, directly or by
 * way of each other. */
static bool
are_joined(const Move *move)
{
	List	   *conditions = add_conditions(NIL, (Node *) move->query->jointree);
	Relids		joined = bms_make_singleton(move->whole);
	bool		found = true;
	ListCell   *cell;

	while (found)
	{
		found = false;
		foreach(cell, conditions)
		{
			int			next = find_joined_by(lfirst(cell), joined);

			if (next == 0)
				continue;
			joined = bms_add_member(joined, next);
			found = true;
		}
	}
	return bms_is_subset(move->references, joined);
}

/* ---- columns */

/* Collects the columns of the reference tables. Returns true if the query names a whole
 * row, or a system column, of these or of the UNION ALL. */
static bool
collect_columns(Node *node, void *context)
{
	Move	   *move = context;
	Var		   *var = (Var *) node;
	bool		stopped;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		move->depth++;
		stopped = query_tree_walker((Query *) node, collect_columns, context, 0);
		move->depth--;
		return stopped;
	}
	if (!IsA(node, Var))
		return expression_tree_walker(node, collect_columns, context);
	if (var->varlevelsup != move->depth ||
		(var->varno != move->whole && !bms_is_member(var->varno, move->references)))
		return false;
	if (var->varattno <= 0)
		return true;
	if (var->varno != move->whole)
	{
		var = makeVar(var->varno, var->varattno, var->vartype, var->vartypmod, var->varcollid, 0);
		move->columns = list_append_unique(move->columns, var);
	}
	return false;
}

/* A column's place in a list of such; -1: it is not there. */
static int
find_column(const List *columns, const Var *var)
{
	ListCell   *cell;

	foreach(cell, columns)
	{
		const Var  *column = lfirst(cell);

		if (column->varno == var->varno && column->varattno == var->varattno)
			return foreach_current_index(cell);
	}
	return -1;
}

/* Replaces the columns of the reference tables by new columns of the UNION ALL. */
static Node *
replace_columns(Node *node, void *context)
{
	Move	   *move = context;
	const Var  *var = (const Var *) node;
	Var		   *moved;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		move->depth++;
		node = (Node *) query_tree_mutator((Query *) node, replace_columns, context, 0);
		move->depth--;
		return node;
	}
	if (!IsA(node, Var))
		return expression_tree_mutator(node, replace_columns, context);
	moved = copyObject((Var *) var);
	if (var->varlevelsup == move->depth && bms_is_member(var->varno, move->references))
	{
		moved->varno = moved->varnosyn = move->whole;
		moved->varattno = moved->varattnosyn = move->first + find_column(move->columns, var);
	}
	return (Node *) moved;
}

/* Takes the reference tables out of an item of FROM; NULL: nothing is left. *freed gets
 * the conditions of joins that are none any more. */
static Node *
without_references(const Move *move, Node *node, List **freed)
{
	JoinExpr   *join = (JoinExpr *) node;

	if (IsA(node, RangeTblRef))
		return bms_is_member(((RangeTblRef *) node)->rtindex, move->references) ? NULL : node;
	join->larg = without_references(move, join->larg, freed);
	join->rarg = without_references(move, join->rarg, freed);
	if (join->larg != NULL && join->rarg != NULL)
		return node;
	*freed = list_concat(*freed, make_ands_implicit((Expr *) join->quals));
	return join->larg != NULL ? join->larg : join->rarg;
}

static void
take_out_references(const Move *move, FromExpr *from)
{
	List	   *kept = NIL;
	List	   *conditions = make_ands_implicit((Expr *) from->quals);
	ListCell   *cell;

	foreach(cell, from->fromlist)
	{
		Node	   *item = without_references(move, lfirst(cell), &conditions);

		if (item != NULL)
			kept = lappend(kept, item);
	}
	from->fromlist = kept;
	from->quals = (Node *) make_ands_explicit(conditions);
}

/* ---- the move */

static void
move_references(Move *move, const Levels *levels)
{
	Query	   *query = move->query;
	RangeTblEntry *rte = rt_fetch(move->whole, query->rtable);
	CommonTableExpr *with = inlined_with(levels, rte);

	if (with != NULL)
		inline_with(rte, with);
	move->first = list_length(rte->subquery->targetList) + 1;
	(void) query_tree_mutator(query, replace_columns, move, QTW_DONT_COPY_QUERY);
	take_out_references(move, query->jointree);
	shuttle_union_add_columns(query, rt_fetch(move->whole, query->rtable), move->references,
							  move->columns);
	ereport(DEBUG1,
			(errmsg_internal("a UNION ALL is joined with reference tables in its branches")));
}

static void
consider(const Levels *levels)
{
	Query	   *query = levels->query;
	Move		move = {.query = query};

	if (query->jointree == NULL || list_length(query->rtable) < 2 ||
		!add_all_items(&move, levels) ||
		(query->hasSubLinks && checkExprHasSubLink((Node *) query->jointree)) ||
		!are_joined(&move) || query_tree_walker(query, collect_columns, &move, 0))
		return;
	move_references(&move, levels);
}

static bool
consider_levels(Node *node, void *context)
{
	Levels		levels = {.above = context,.query = (Query *) node};

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, consider_levels, context);
	check_stack_depth();
	consider(&levels);
	return shuttle_walk_queries_below(levels.query, consider_levels, &levels);
}

void
shuttle_union_joins_move(Query *query)
{
	(void) consider_levels((Node *) query, NULL);
}

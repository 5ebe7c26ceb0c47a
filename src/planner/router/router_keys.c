/*-------------------------------------------------------------------------
 * router_keys.c
 *	  The key of each distributed table of a statement.
 *
 * Each level of the statement has a set of columns with a known value. They come from
 * conditions "column = value" (router_conditions.c), and are solved to a fixpoint:
 * through equalities of columns, aliases of joins, columns of subqueries and CTEs, and
 * columns of outer levels. A known value may be a list of constants, of which the column
 * has one: then the statement has the keys of all.
 *
 * Where rows are read, only those with the value matter. Where they are written, all do:
 * there a value does not count that an outer join may make NULL.
 *
 * A value does not go into a subquery with LIMIT, windows, DISTINCT ON, row locks or set
 * operations, nor into one with aggregates, unless it groups by that column: there, rows
 * with other keys count, too.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "planner/router/router.h"
#include "tablets/shuttle_tablets.h"

typedef struct QueryLevel QueryLevel;

/* A query, a subquery or a CTE of the statement. */
struct QueryLevel
{
	QueryLevel *outer;			/* NULL: the statement itself */
	Query	   *query;
	QueryLevel **below;			/* by range table index: of subqueries */
	List	   *ctes;			/* QueryLevel of each CTE */
	List	   *known;			/* KnownColumn */
	List	   *equalities;		/* ShuttleEquality */
	Relids		nullable;		/* range table indexes, by outer joins */
};

/* What an expression is in all rows that matter. */
typedef struct KnownValue
{
	Node	   *node;			/* a List: one of these constants; NULL: not
								 * known */
	bool		may_be_null;	/* in some of the rows */
} KnownValue;

/* A column that has one value, or one of a few, in all rows that matter. */
typedef struct KnownColumn
{
	int			rtindex;
	AttrNumber	column;
	KnownValue	value;
} KnownColumn;

/* A column of a level's table or subquery. */
typedef struct Place
{
	QueryLevel *level;
	int			rtindex;
	AttrNumber	column;
} Place;

static QueryLevel *make_level(QueryLevel *outer, Query *query);

/* ---- columns and their values */

/* The expression below casts that change nothing. A cast of char(n) to text changes
 * its meaning: char(n) ignores spaces at the end when it compares, text does not. */
static Node *
without_relabel(Node *node)
{
	while (node != NULL && IsA(node, RelabelType) &&
		   (exprType(node) != BPCHAROID ||
			exprType((Node *) ((RelabelType *) node)->arg) == BPCHAROID))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/* What a column of a join or of a grouping step stands for, in the same level;
 * NULL: it is neither. */
static List *
aliased_columns(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_JOIN ? rte->joinaliasvars : shuttle_group_columns(rte);
}

/* Finds the table's or subquery's column that an expression is, through aliases;
 * false: it is none. */
static bool
find_place(QueryLevel *level, Node *node, Place *place)
{
	for (;;)
	{
		const Var  *var = (Var *) without_relabel(node);
		List	   *columns;

		if (var == NULL || !IsA(var, Var) || var->varattno <= 0)
			return false;
		for (Index i = 0; i < var->varlevelsup && level != NULL; i++)
			level = level->outer;
		if (level == NULL)
			return false;
		columns = aliased_columns(rt_fetch(var->varno, level->query->rtable));
		if (columns == NIL)
		{
			*place = (Place)
			{
				level, var->varno, var->varattno
			};
			return true;
		}
		if (var->varattno > list_length(columns))
			return false;
		node = list_nth(columns, var->varattno - 1);
	}
}

static KnownColumn *
find_known(const QueryLevel *level, int rtindex, AttrNumber column)
{
	ListCell   *lc;

	foreach(lc, level->known)
	{
		KnownColumn *known = lfirst(lc);

		if (known->rtindex == rtindex && known->column == column)
			return known;
	}
	return NULL;
}

static KnownValue
make_value(Node *node, bool may_be_null)
{
	KnownValue	value = {.node = node,.may_be_null = may_be_null};

	return value;
}

static KnownValue
find_column_value(const QueryLevel *level, int rtindex, AttrNumber column)
{
	const KnownColumn *known = find_known(level, rtindex, column);

	return known == NULL ? make_value(NULL, false) : known->value;
}

/* The value of an expression, where rows are read. */
static KnownValue
find_value(QueryLevel *level, Node *node)
{
	Place		place;

	if (!IsA(node, List))
		node = without_relabel(node);
	if (node != NULL && find_place(level, node, &place))
		return find_column_value(place.level, place.rtindex, place.column);
	if (node != NULL && !IsA(node, List) &&
		(!shuttle_router_is_value(node) || contain_volatile_functions(node) ||
		 (IsA(node, Const) && ((Const *) node)->constisnull)))
		node = NULL;
	return make_value(node, false);
}

/* The value of an expression that is written; NULL: unknown. */
static Node *
find_written(QueryLevel *level, Node *node)
{
	KnownValue	value = find_value(level, node);

	return value.may_be_null ? NULL : value.node;
}

/* True of a column that the level's UPDATE sets: it has one value in WHERE, and
 * another one in RETURNING. */
static bool
is_set(const Query *query, int rtindex, AttrNumber column)
{
	const TargetEntry *entry;

	if (query->commandType != CMD_UPDATE || rtindex != query->resultRelation)
		return false;
	entry = get_tle_by_resno(query->targetList, column);
	return entry != NULL && !entry->resjunk;
}

/* True if a value says more than what is known. */
static bool
says_more(KnownValue value, KnownValue known)
{
	return value.node != NULL &&
		(known.node == NULL || (IsA(known.node, List) && !IsA(value.node, List)) ||
		 (known.may_be_null && !value.may_be_null));
}

/* Notes a column's value; true if it was not known. */
static bool
add_known(QueryLevel *level, int rtindex, AttrNumber column, KnownValue value)
{
	KnownColumn *known = find_known(level, rtindex, column);

	if (!says_more(value, find_column_value(level, rtindex, column)) || is_set(level->query, rtindex, column))
		return false;
	if (known == NULL)
	{
		known = palloc_object(KnownColumn);
		level->known = lappend(level->known, known);
	}
	else
	{
		value.may_be_null &= known->value.may_be_null;
		if (IsA(value.node, List))
			value.node = known->value.node;
	}
	*known = (KnownColumn)
	{
		rtindex, column, value
	};
	return true;
}

/* Notes the value of a level's own column; true if it was not known. */
static bool
learn(QueryLevel *level, Node *node, KnownValue value, Relids restricts)
{
	Place		place;

	if (!find_place(level, node, &place) || place.level != level ||
		(restricts != NULL && !bms_is_member(place.rtindex, restricts)))
		return false;
	return add_known(level, place.rtindex, place.column, value);
}

/* Both sides have the value of one in all rows, or in those that a nullable side has. */
static bool
learn_equality(QueryLevel *level, const ShuttleEquality *equality, Node *side)
{
	KnownValue	value = find_value(level, side);
	bool		learned;

	value.may_be_null = equality->restricts != NULL;
	learned = learn(level, equality->left, value, equality->restricts);
	return learn(level, equality->right, value, equality->restricts) || learned;
}

static void
solve(QueryLevel *level)
{
	bool		learned;

	do
	{
		ListCell   *lc;

		learned = false;
		foreach(lc, level->equalities)
		{
			learned |= learn_equality(level, lfirst(lc), ((ShuttleEquality *) lfirst(lc))->left);
			learned |= learn_equality(level, lfirst(lc), ((ShuttleEquality *) lfirst(lc))->right);
		}
	} while (learned);
}

/* ---- what an INSERT puts into columns */

/* The value of a column in all rows; NULL: unknown, or there are several. */
static Node *
find_inserted(QueryLevel *level, AttrNumber column)
{
	List	   *inserted = shuttle_router_inserted(level->query, column);
	ListCell   *lc;

	foreach(lc, inserted)
	{
		if (!equal(lfirst(lc), linitial(inserted)))
			return NULL;
	}
	return inserted == NIL ? NULL : find_written(level, linitial(inserted));
}

/* Learns the key of the rows that are inserted, and of those that conflict with them. */
static void
learn_inserted(QueryLevel *level)
{
	const Query *query = level->query;
	const RangeTblEntry *rte;
	AttrNumber	column;
	KnownValue	value;

	if (query->commandType != CMD_INSERT)
		return;
	rte = rt_fetch(query->resultRelation, query->rtable);
	column = rte->relkind == RELKIND_PARTITIONED_TABLE ? shuttle_router_key_column(rte->relid) : 0;
	value = make_value(column == 0 ? NULL : find_inserted(level, column), false);
	(void) add_known(level, query->resultRelation, column, value);
	if (query->onConflict != NULL)
		(void) add_known(level, query->onConflict->exclRelIndex, column, value);
}

/* ---- levels, from below */

/* The level of the CTE that a range table entry reads; NULL: its columns are not
 * known. */
static QueryLevel *
find_cte(QueryLevel *level, const RangeTblEntry *rte)
{
	ListCell   *cte;
	ListCell   *made;

	for (Index i = 0; i < rte->ctelevelsup && level != NULL; i++)
		level = level->outer;
	if (level == NULL || rte->self_reference)
		return NULL;
	forboth(cte, level->query->cteList, made, level->ctes)
	{
		const CommonTableExpr *table = lfirst(cte);

		if (strcmp(table->ctename, rte->ctename) == 0)
			return table->cterecursive ? NULL : lfirst(made);
	}
	return NULL;
}

/* Notes the value that a column has in all rows of its subquery or VALUES. */
static void
add_output(QueryLevel *level, int rtindex, AttrNumber column, KnownValue value)
{
	value.may_be_null |= bms_is_member(rtindex, level->nullable);
	(void) add_known(level, rtindex, column, value);
}

/* Learns the columns of a subquery or CTE that have a value in all its rows. */
static void
learn_output(QueryLevel *level, int rtindex, QueryLevel *below)
{
	const Query *query = below->query;
	ListCell   *lc;

	if (query->setOperations != NULL || query->groupingSets != NIL)
		return;
	foreach(lc, query->commandType == CMD_SELECT ? query->targetList : query->returningList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (!entry->resjunk)
			add_output(level, rtindex, entry->resno, find_value(below, (Node *) entry->expr));
	}
}

/* Learns the columns of VALUES that have the same value in all rows. */
static void
learn_rows(QueryLevel *level, int rtindex, const RangeTblEntry *rte)
{
	ListCell   *lc;
	ListCell   *row;

	foreach(lc, (List *) linitial(rte->values_lists))
	{
		int			column = foreach_current_index(lc);
		bool		same = true;

		foreach(row, rte->values_lists)
			same = same && equal(list_nth(lfirst(row), column), lfirst(lc));
		if (same)
			add_output(level, rtindex, column + 1, find_value(level, lfirst(lc)));
	}
}

static void
learn_from_table(QueryLevel *level, int rtindex)
{
	RangeTblEntry *rte = rt_fetch(rtindex, level->query->rtable);
	QueryLevel *cte;

	switch (rte->rtekind)
	{
		case RTE_SUBQUERY:
			level->below[rtindex] = make_level(level, rte->subquery);
			learn_output(level, rtindex, level->below[rtindex]);
			break;
		case RTE_CTE:
			cte = find_cte(level, rte);
			if (cte != NULL)
				learn_output(level, rtindex, cte);
			break;
		case RTE_VALUES:
			learn_rows(level, rtindex, rte);
			break;
		default:
			break;
	}
}

/* Makes a level and those below it, but for sublinks. Each CTE is visited once,
 * before those that read it. */
static QueryLevel *
make_level(QueryLevel *outer, Query *query)
{
	QueryLevel *level = palloc0_object(QueryLevel);
	int			ntables = list_length(query->rtable);
	ListCell   *lc;

	check_stack_depth();
	level->outer = outer;
	level->query = query;
	level->below = palloc0_array(QueryLevel *, ntables + 1);
	foreach(lc, query->cteList)
		level->ctes = lappend(level->ctes,
							  make_level(level, castNode(Query, lfirst_node(CommonTableExpr, lc)->ctequery)));
	level->equalities = shuttle_router_equalities(query);
	level->nullable = shuttle_router_nullable(query);
	for (int i = 1; i <= ntables; i++)
		learn_from_table(level, i);
	solve(level);
	learn_inserted(level);
	return level;
}

/* ---- levels, from above */

typedef struct CheckContext
{
	ShuttleRoute *route;
	QueryLevel *level;
} CheckContext;

static void check_level(ShuttleRoute *route, QueryLevel *level);

/* True if a condition on a subquery's output column could be put into it. */
static bool
takes_condition(const Query *query, const TargetEntry *entry)
{
	if (query->commandType != CMD_SELECT || query->limitCount != NULL ||
		query->limitOffset != NULL || query->hasWindowFuncs || query->hasDistinctOn ||
		query->setOperations != NULL || query->hasTargetSRFs || query->groupingSets != NIL ||
		query->rowMarks != NIL)
		return false;

	/* groups are made of rows with equal keys */
	if (query->groupClause != NIL)
		return get_sortgroupref_clause_noerr(entry->ressortgroupref, query->groupClause) != NULL;
	return !query->hasAggs;
}

/* Tells a subquery the values of its columns that its reader knows. */
static void
hand_down(QueryLevel *level, int rtindex)
{
	QueryLevel *below = level->below[rtindex];
	ListCell   *lc;

	foreach(lc, level->known)
	{
		const KnownColumn *known = lfirst(lc);
		const TargetEntry *entry;

		if (known->rtindex != rtindex)
			continue;
		entry = get_tle_by_resno(below->query->targetList, known->column);
		if (entry != NULL && takes_condition(below->query, entry))
			(void) learn(below, (Node *) entry->expr, make_value(known->value.node, true), NULL);
	}
}

/* The keys of the rows that an INSERT has. If they are not all the same expression, they
 * have to be constants, so that one plan does not have to be made again and again. */
static void
add_inserted_keys(ShuttleRoute *route, QueryLevel *level, Oid relid, AttrNumber column)
{
	List	   *inserted = shuttle_router_inserted(level->query, column);
	Node	   *first = inserted == NIL ? NULL : find_written(level, linitial(inserted));
	int			nbefore = list_length(route->keys);
	ListCell   *lc;

	route->ninserts++;
	shuttle_router_add_key(route, relid, first);
	foreach(lc, inserted)
	{
		Node	   *value = find_written(level, lfirst(lc));

		if (equal(value, first))
			continue;
		if (value == NULL || first == NULL || !IsA(value, Const) || !IsA(first, Const))
			shuttle_router_refuse(route, "it inserts rows with several keys");
		shuttle_router_add_key(route, relid, value);
		first = value;
	}
	if (level->query->onConflict == NULL)
		route->nplain += list_length(route->keys) - nbefore;
}

/* The rows that a MERGE inserts must have the key of those that match. */
static void
add_merged_key(ShuttleRoute *route, QueryLevel *level, Oid relid, AttrNumber column)
{
	Node	   *key = find_column_value(level, level->query->resultRelation, column).node;
	ListCell   *lc;

	shuttle_router_add_key(route, relid, key);
	foreach(lc, level->query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, lc);
		const TargetEntry *entry = get_tle_by_resno(action->targetList, column);

		if (action->commandType == CMD_INSERT &&
			(entry == NULL || !equal(find_written(level, (Node *) entry->expr), key)))
			shuttle_router_refuse(route, "it inserts rows with another key");
	}
}

/* Core does not compute what is in a CTE that nobody reads, or in a subquery beside a
 * condition that is false. */
static void
add_level_key(ShuttleRoute *route, const QueryLevel *level, Oid relid, Node *key)
{
	if (key != NULL && level->outer != NULL && shuttle_router_may_fail(key))
		shuttle_router_refuse(route, "a key of a subquery may raise an error");
	else
		shuttle_router_add_key(route, relid, key);
}

static void
need_key(ShuttleRoute *route, QueryLevel *level, const RangeTblEntry *rte, int rtindex)
{
	Query	   *query = level->query;
	AttrNumber	column = shuttle_router_key_column(rte->relid);
	bool		is_target = rtindex == query->resultRelation;
	const char *refusal = NULL;

	if (is_target && query->commandType == CMD_INSERT)
		refusal = shuttle_router_refuse_insert(query, column);
	else if (is_target && query->commandType == CMD_MERGE)
		refusal = shuttle_router_refuse_merge(query, column);
	if (column == 0)
		shuttle_router_refuse(route, "a table's key is not one column");
	else if (refusal != NULL)
		shuttle_router_refuse(route, refusal);
	else if (is_target && query->commandType == CMD_INSERT)
		add_inserted_keys(route, level, rte->relid, column);
	else if (is_target && query->commandType == CMD_MERGE)
		add_merged_key(route, level, rte->relid, column);
	else if (is_set(query, rtindex, column))
		shuttle_router_refuse(route, "it changes the key");
	else
		add_level_key(route, level, rte->relid, find_column_value(level, rtindex, column).node);
}

/* Checks subqueries in expressions, which see the level's columns. */
static bool
check_sublinks(Node *node, void *arg)
{
	const CheckContext *context = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		check_level(context->route, make_level(context->level, (Query *) node));
		return false;
	}
	return expression_tree_walker(node, check_sublinks, arg);
}

static void
check_level(ShuttleRoute *route, QueryLevel *level)
{
	CheckContext context = {route, level};
	Query	   *query = level->query;
	ListCell   *lc;

	solve(level);
	for (int i = 1; i <= list_length(query->rtable) && route->refusal == NULL; i++)
	{
		RangeTblEntry *rte = rt_fetch(i, query->rtable);

		shuttle_router_check_table(route, query, rte, i);
		if (rte->rtekind == RTE_SUBQUERY)
		{
			hand_down(level, i);
			check_level(route, level->below[i]);
		}
		else if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE &&
				 route->refusal == NULL)
			need_key(route, level, rte, i);
	}
	foreach(lc, level->ctes)
		check_level(route, lfirst(lc));
	if (route->refusal == NULL)
		(void) query_tree_walker(query, check_sublinks, &context,
								 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
}

void
shuttle_router_find_keys(ShuttleRoute *route, Query *query)
{
	check_level(route, make_level(NULL, query));
}

/*-------------------------------------------------------------------------
 * normal_query.c
 *	  Queries in the form in which those that mean the same are equal.
 *
 * Tables have numbers in the order in which the join tree names them; those that nothing
 * reads are left out, and so are names, locks and permissions. Rows of an INSERT have
 * all its columns, and a subquery that only passes rows on to it is left out
 * (router_insert.c). What is sorted, grouped and made distinct by has numbers in that
 * order, and stands in the target list at the first place where it is.
 *
 * Memory: the current context. Nodes below a query may be shared with the original, and
 * are copied before they are changed.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "tablets/proof/proof_internal.h"

/* ---- tables */

int
shuttle_normal_number(ShuttleNormalLevel *level, int rtindex)
{
	if (rtindex <= 0 || level->query == NULL)
		return rtindex;
	if (level->numbers[rtindex - 1] == 0)
	{
		level->order = lappend_int(level->order, rtindex);
		level->numbers[rtindex - 1] = list_length(level->order);
	}
	return level->numbers[rtindex - 1];
}

/* Numbers tables in the order of a join tree, or of a tree of set operations. */
static bool
number_tables(Node *node, void *level)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblRef))
		(void) shuttle_normal_number(level, ((RangeTblRef *) node)->rtindex);
	if (IsA(node, RangeTblRef) || IsA(node, FromExpr) || IsA(node, JoinExpr) ||
		IsA(node, SetOperationStmt) || IsA(node, List))
		return expression_tree_walker(node, number_tables, level);
	return false;
}

static List *
normal_entries(ShuttleNormalLevel *level)
{
	List	   *entries = NIL;

	/* more may come meanwhile */
	for (int i = 0; i < list_length(level->order); i++)
	{
		RangeTblEntry *entry = rt_fetch(list_nth_int(level->order, i), level->query->rtable);

		entry = linitial(range_table_mutator(list_make1(entry), shuttle_normal_expression, level,
											 QTW_IGNORE_JOINALIASES));
		if (entry->rtekind != RTE_RELATION)
		{
			entry->relid = InvalidOid;
			entry->inh = false;
		}
		entry->relkind = '\0';
		entry->rellockmode = 0;
		entry->alias = entry->eref = entry->join_using_alias = NULL;
		entry->joinaliasvars = entry->joinleftcols = entry->joinrightcols = NIL;
		entry->joinmergedcols = 0;
		entry->lateral = entry->inFromCl = false;
		shuttle_forget_permissions(entry);
		entries = lappend(entries, entry);
	}
	return entries;
}

static List *
normal_locks(const List *locks, ShuttleNormalLevel *level)
{
	List	   *normal = NIL;
	ListCell   *lc;

	foreach(lc, locks)
	{
		RowMarkClause *lock = copyObject(lfirst_node(RowMarkClause, lc));

		lock->rti = shuttle_normal_number(level, lock->rti);
		lock->pushedDown = false;
		normal = lappend(normal, lock);
	}
	return normal;
}

/* ---- sorting and grouping */

typedef struct Sorting
{
	List	   *targets;
	int		   *numbers;		/* new, for each target; 0: none yet */
	int			last;
} Sorting;

static Index
sort_number(Sorting *sorting, Index old)
{
	const TargetEntry *sorted = get_sortgroupref_tle(old, sorting->targets);
	ListCell   *lc;

	foreach(lc, sorting->targets)
	{
		int			i = foreach_current_index(lc);

		if (!equal(lfirst_node(TargetEntry, lc)->expr, sorted->expr))
			continue;
		if (sorting->numbers[i] == 0)
			sorting->numbers[i] = ++sorting->last;
		return sorting->numbers[i];
	}
	return 0;
}

static bool
has_sort_number(const List *clauses, Index number)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (lfirst_node(SortGroupClause, lc)->tleSortGroupRef == number)
			return true;
	}
	return false;
}

/* Of two columns that are equal, only the first one is sorted by where a text is read. */
static List *
sort_clauses(Sorting *sorting, const List *clauses)
{
	List	   *normal = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));

		clause->tleSortGroupRef = sort_number(sorting, clause->tleSortGroupRef);
		if (!has_sort_number(normal, clause->tleSortGroupRef))
			normal = lappend(normal, clause);
	}
	return normal;
}

static void
sort_sets(Sorting *sorting, List *sets)
{
	ListCell   *lc;
	ListCell   *column;

	foreach(lc, sets)
	{
		GroupingSet *set = lfirst_node(GroupingSet, lc);

		if (set->kind != GROUPING_SET_SIMPLE)
			sort_sets(sorting, set->content);
		else
			foreach(column, set->content)
				lfirst_int(column) = sort_number(sorting, lfirst_int(column));
	}
}

static int
compare_targets(const ListCell *a, const ListCell *b)
{
	const TargetEntry *one = lfirst(a);
	const TargetEntry *other = lfirst(b);

	if (one->resjunk != other->resjunk)
		return one->resjunk ? 1 : -1;
	if (one->resjunk)
		return (int) one->ressortgroupref - (int) other->ressortgroupref;
	return one->resno - other->resno;
}

/* Columns that are only sorted by, in the order of their numbers behind the others. */
static void
tidy_sorting(Query *query)
{
	Sorting		sorting = {.targets = query->targetList};
	List	   *targets = NIL;
	ListCell   *lc;

	sorting.numbers = palloc0_array(int, list_length(query->targetList) + 1);
	query->groupClause = sort_clauses(&sorting, query->groupClause);
	query->groupingSets = copyObject(query->groupingSets);
	sort_sets(&sorting, query->groupingSets);
	query->distinctClause = sort_clauses(&sorting, query->distinctClause);
	query->sortClause = sort_clauses(&sorting, query->sortClause);
	foreach(lc, query->windowClause)
	{
		WindowClause *window = copyObject(lfirst_node(WindowClause, lc));

		window->partitionClause = sort_clauses(&sorting, window->partitionClause);
		window->orderClause = sort_clauses(&sorting, window->orderClause);
		window->name = window->refname = NULL;
		window->copiedOrder = false;
		lfirst(lc) = window;
	}
	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		target->ressortgroupref = sorting.numbers[foreach_current_index(lc)];
		if (!target->resjunk || target->ressortgroupref > 0)
			targets = lappend(targets, target);
	}
	list_sort(targets, compare_targets);
	foreach(lc, targets)
	{
		if (lfirst_node(TargetEntry, lc)->resjunk)
			lfirst_node(TargetEntry, lc)->resno = foreach_current_index(lc) + 1;
	}
	query->targetList = targets;
}

/* ---- the rows of an INSERT */

/* The table that an INSERT reads, or a subquery that only reads a table; NULL: there is
 * more. */
static RangeTblEntry *
only_table(const Query *query, int *rtindex)
{
	const RangeTblRef *table = list_length(query->jointree->fromlist) == 1 ?
		linitial(query->jointree->fromlist) : NULL;

	if (table == NULL || !IsA(table, RangeTblRef) || query->jointree->quals != NULL)
		return NULL;
	*rtindex = table->rtindex;
	return rt_fetch(*rtindex, query->rtable);
}

static bool
passes_on(const Query *query)
{
	return query->commandType == CMD_SELECT && query->cteList == NIL && !query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL && query->distinctClause == NIL &&
		query->sortClause == NIL && query->limitOffset == NULL && query->limitCount == NULL &&
		query->rowMarks == NIL && query->setOperations == NULL;
}

typedef struct Source
{
	int			rtindex;
	const List *targets;
} Source;

static Node *
replace_columns(Node *node, void *arg)
{
	const Source *source = arg;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varno == source->rtindex && var->varlevelsup == 0)
		return copyObject((Node *) get_tle_by_resno((List *) source->targets, var->varattno)->expr);
	return expression_tree_mutator(node, replace_columns, arg);
}

/* Leaves out a subquery that only passes rows on; false: there is none. */
static bool
pull_source(Query *insert)
{
	Source		source;
	RangeTblEntry *entry = only_table(insert, &source.rtindex);
	RangeTblEntry *inner;
	int			inner_index;

	if (entry == NULL || entry->rtekind != RTE_SUBQUERY || !passes_on(entry->subquery))
		return false;
	inner = only_table(entry->subquery, &inner_index);
	if (inner == NULL || list_length(entry->subquery->rtable) != 1)
		return false;
	IncrementVarSublevelsUp((Node *) entry->subquery->targetList, -1, 1);
	ChangeVarNodes((Node *) entry->subquery->targetList, inner_index, source.rtindex, 0);
	source.targets = entry->subquery->targetList;
	insert->targetList = (List *) replace_columns((Node *) insert->targetList, &source);
	IncrementVarSublevelsUp_rtable(list_make1(inner), -1, 1);
	lfirst(list_nth_cell(insert->rtable, source.rtindex - 1)) = inner;
	return true;
}

/* Gives each row of VALUES all columns. */
static void
spread_rows(Query *insert)
{
	Source		source;
	RangeTblEntry *entry = only_table(insert, &source.rtindex);
	ListCell   *lc;

	if (entry == NULL || entry->rtekind != RTE_VALUES)
		return;
	entry->coltypes = entry->coltypmods = entry->colcollations = NIL;
	foreach(lc, entry->values_lists)
	{
		List	   *columns = NIL;
		ListCell   *value;

		foreach(value, lfirst(lc))
			columns = lappend(columns, makeTargetEntry(lfirst(value), list_length(columns) + 1,
													   NULL, false));
		source.targets = columns;
		lfirst(lc) = replace_columns((Node *) insert->targetList, &source);
	}
	foreach(lc, insert->targetList)
		lfirst_node(TargetEntry, lc)->expr = NULL;
}

/* ---- all */

/* Of CALL only the call is compared. */
static void
tidy_call(Query *query, ShuttleNormalLevel *level)
{
	Node	   *call = (Node *) castNode(CallStmt, query->utilityStmt)->funcexpr;

	query->utilityStmt = NULL;
	query->targetList = list_make1(shuttle_normal_expression(call, level));
}

static void
forget_derived(Query *query)
{
	query->querySource = QSRC_ORIGINAL;
	query->queryId = 0;
	query->canSetTag = true;
	query->hasSubLinks = query->hasModifyingCTE = query->hasForUpdate = query->isReturn = false;
	query->override = OVERRIDING_NOT_SET;
	query->constraintDeps = NIL;
	query->stmt_location = query->stmt_len = 0;
	shuttle_forget_query_details(query);
}

Query *
shuttle_normal_subquery(const Query *query, ShuttleNormalLevel *up, ShuttleNormal *all)
{
	ShuttleNormalLevel level = {.up = up,.all = all,.query = query};
	Query	   *normal = makeNode(Query);

	level.numbers = palloc0_array(int, list_length(query->rtable) + 1);
	*normal = *query;
	normal->rtable = NIL;
	normal->resultRelation = shuttle_normal_number(&level, query->resultRelation);
	*shuttle_merge_target(normal) = shuttle_normal_number(&level, *shuttle_merge_target((Query *) query));
	(void) number_tables((Node *) query->jointree, &level);
	(void) number_tables(query->setOperations, &level);
	normal = query_tree_mutator(normal, shuttle_normal_expression, &level, QTW_DONT_COPY_QUERY);
	normal->rowMarks = normal_locks(query->rowMarks, &level);
	normal->rtable = normal_entries(&level);
	forget_derived(normal);
	if (query->commandType == CMD_UTILITY)
		tidy_call(normal, &level);
	if (query->commandType == CMD_SELECT)
		tidy_sorting(normal);
	if (query->commandType == CMD_INSERT)
	{
		while (pull_source(normal))
			 /* more may be below */ ;
		spread_rows(normal);
	}
	return normal;
}

Query *
shuttle_normal_query(const Query *query, ShuttleNormal *all)
{
	return shuttle_normal_subquery(query, NULL, all);
}

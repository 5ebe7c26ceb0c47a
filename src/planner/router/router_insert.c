/*-------------------------------------------------------------------------
 * router_insert.c
 *	  INSERT and MERGE that a node executes as a whole.
 *
 * The rows are the node's own, so that they need not come here and go back, or
 * values that are known here. Values alone are left to core and our write buffers,
 * which can wait for more rows; ON CONFLICT cannot (find_route() of router.c).
 *
 * Core's deparser prints the columns of an INSERT, and behind them its subquery, or
 * its VALUES of several rows, as they were written. Since then the rewriter has added
 * columns with defaults, and values are cast to the columns' types. So the text gets
 * a subquery around that one, whose columns are the INSERT's expressions in their
 * order; and each row of VALUES gets all columns.
 *
 * An INSERT of values that is the whole statement needs each of its values once, so
 * those that a node could compute otherwise are computed here, volatile ones too: in
 * core's order, which is that of the columns for one row, and for several rows first
 * what is written, then the defaults.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "planner/router/router.h"
#include "planner/write/write.h"

/* More rows are left to our write buffers, which send them in pieces. */
#define MOST_ROWS 100

/* ---- where the rows come from */

/* The range table index of the subquery or VALUES that an INSERT reads; 0: it has
 * neither. */
static int
find_source(const Query *query)
{
	const RangeTblRef *source;
	RTEKind		kind;

	if (list_length(query->jointree->fromlist) != 1 || query->jointree->quals != NULL)
		return 0;
	source = linitial(query->jointree->fromlist);
	if (!IsA(source, RangeTblRef))
		return 0;
	kind = rt_fetch(source->rtindex, query->rtable)->rtekind;
	return kind == RTE_SUBQUERY || kind == RTE_VALUES ? source->rtindex : 0;
}

/* The rows that an INSERT of values is written with; NIL: it has one row, or reads a
 * subquery. */
static List *
find_rows(const Query *query)
{
	int			rtindex = find_source(query);

	return rtindex == 0 ? NIL : rt_fetch(rtindex, query->rtable)->values_lists;
}

static bool
is_of_values(const Query *query)
{
	return query->jointree->fromlist == NIL || find_rows(query) != NIL;
}

bool
shuttle_router_is_source(const Query *query, int rtindex)
{
	return query->commandType == CMD_INSERT && rtindex == find_source(query);
}

List *
shuttle_router_inserted(const Query *query, AttrNumber column)
{
	const TargetEntry *entry = get_tle_by_resno(query->targetList, column);
	List	   *values = NIL;
	ListCell   *row;

	if (entry == NULL)
		return NIL;
	if (!IsA(entry->expr, Var) || find_rows(query) == NIL)
		return list_make1(entry->expr);
	foreach(row, find_rows(query))
		values = lappend(values, list_nth(lfirst(row), ((Var *) entry->expr)->varattno - 1));
	return values;
}

/* ---- what cannot be routed */

/* True if a column's value is more than that of VALUES, or a default. */
static bool
changes_rows(const Query *query)
{
	ListCell   *lc;

	foreach(lc, find_rows(query) == NIL ? NIL : query->targetList)
	{
		Node	   *value = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(value, Var) && contain_var_clause(value))
			return true;
	}
	return false;
}

/* The columns and expressions that ON CONFLICT names. A constraint of a tablet has
 * another name than the table's. */
static List *
find_arbiters(const Query *query)
{
	const OnConflictExpr *clause = query->onConflict;

	return OidIsValid(clause->constraint) ?
		shuttle_on_conflict_key_columns(clause->constraint, query->resultRelation) : clause->arbiterElems;
}

/* A tablet can only tell what is unique in it, so the key must be among the columns;
 * and what else core would look for here. */
static const char *
refuse_arbiters(const Query *query, AttrNumber key)
{
	const char *refusal = "ON CONFLICT does not name the key";
	ListCell   *lc;

	foreach(lc, find_arbiters(query))
	{
		const InferenceElem *element = lfirst_node(InferenceElem, lc);

		if (element->infercollid >= FirstGenbkiObjectId || element->inferopclass >= FirstGenbkiObjectId)
			return "ON CONFLICT names a collation or operator class of a user";
		if (IsA(element->expr, Var) && ((Var *) element->expr)->varattno == key)
			refusal = NULL;
	}
	return refusal;
}

static bool
sets_key(const OnConflictExpr *clause, AttrNumber key)
{
	const TargetEntry *entry = get_tle_by_resno(clause->onConflictSet, key);
	const Var  *value = entry == NULL ? NULL : (const Var *) entry->expr;

	return value != NULL &&
		!(IsA(value, Var) && value->varno == clause->exclRelIndex && value->varattno == key);
}

static const char *
refuse_conflict(const Query *query, AttrNumber key)
{
	const OnConflictExpr *clause = query->onConflict;
	bool		names_columns = clause->arbiterElems != NIL || OidIsValid(clause->constraint);

	if (clause->action != ONCONFLICT_NOTHING && clause->action != ONCONFLICT_UPDATE)
		return "ON CONFLICT selects rows";
	if (shuttle_expression_has(clause->arbiterElems, SHUTTLE_HAS_PARAM) || shuttle_expression_has(clause->arbiterWhere, SHUTTLE_HAS_PARAM))
		return "what is to be unique depends on parameters";
	if (clause->action == ONCONFLICT_UPDATE && sets_key(clause, key))
		return "it changes the key";
	if (OidIsValid(clause->constraint) && shuttle_on_conflict_is_exclusion(clause->constraint))
		return "ON CONFLICT names a constraint that no columns stand for";
	return names_columns ? refuse_arbiters(query, key) : NULL;
}

const char *
shuttle_router_refuse_insert(const Query *query, AttrNumber key)
{
	if (!is_of_values(query) && find_source(query) == 0)
		return "it inserts rows that are not a subquery's";
	if (query->jointree->quals != NULL || list_length(find_rows(query)) > MOST_ROWS)
		return "it comes from a rule, or inserts many rows";
	if (query->targetList == NIL || shuttle_expression_has(query->targetList, SHUTTLE_HAS_ASSIGNED_PART) || changes_rows(query))
		return "it sets parts of columns";
	return query->onConflict == NULL ? NULL : refuse_conflict(query, key);
}

const char *
shuttle_router_refuse_merge(const Query *query, AttrNumber key)
{
	ListCell   *lc;

	if (!shuttle_can_print_merge())
		return "this server cannot print MERGE";
	foreach(lc, query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, lc);

		if (MERGE_IS_OF_17(query, action))
			return "it merges into a view, or changes rows that have no match";
		if (action->commandType == CMD_UPDATE && get_tle_by_resno(action->targetList, key) != NULL)
			return "it changes the key";
		if (action->commandType == CMD_INSERT && shuttle_expression_has(action->targetList, SHUTTLE_HAS_ASSIGNED_PART))
			return "it sets parts of columns";
	}
	return NULL;
}

/* ---- the statement for the text */

/* One row of VALUES with all columns of the INSERT. */
static List *
whole_row(const Query *insert, List *row)
{
	List	   *whole = NIL;
	ListCell   *lc;

	foreach(lc, insert->targetList)
	{
		Node	   *value = (Node *) lfirst_node(TargetEntry, lc)->expr;

		whole = lappend(whole, IsA(value, Var) ? list_nth(row, ((Var *) value)->varattno - 1) :
						copyObject(value));
	}
	return whole;
}

/* The same INSERT with its whole rows. */
static Query *
with_whole_rows(const Query *insert, List **computed)
{
	int			rtindex = find_source(insert);
	Query	   *copy = makeNode(Query);
	RangeTblEntry *values = makeNode(RangeTblEntry);
	ListCell   *lc;

	*copy = *insert;
	*values = *rt_fetch(rtindex, insert->rtable);
	values->values_lists = NIL;
	copy->rtable = list_copy(insert->rtable);
	lfirst(list_nth_cell(copy->rtable, rtindex - 1)) = values;
	foreach(lc, find_rows(insert))
	{
		List	   *whole = whole_row(insert, lfirst(lc));

		values->values_lists = lappend(values->values_lists, whole);
		*computed = list_concat(*computed, lfirst(lc));
		*computed = list_concat_unique_ptr(*computed, whole);
	}
	copy->targetList = NIL;
	foreach(lc, insert->targetList)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));
		Node	   *value = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(rtindex, foreach_current_index(lc) + 1, exprType(value),
									   exprTypmod(value), exprCollation(value), 0);
		copy->targetList = lappend(copy->targetList, entry);
	}
	return copy;
}

Query *
shuttle_router_spread_rows(Query *insert, List **computed)
{
	ListCell   *lc;

	*computed = NIL;
	if (find_rows(insert) != NIL)
		return with_whole_rows(insert, computed);
	if (is_of_values(insert))
	{
		foreach(lc, insert->targetList)
			* computed = lappend(*computed, lfirst_node(TargetEntry, lc)->expr);
	}
	return insert;
}

/*
 * A SELECT of the INSERT's expressions from its subquery. The node casts them to the
 * columns' types, as an assignment: in the SELECT list these casts would be printed, and
 * one that is written cuts what is too long.
 */
static Query *
select_values(Query *insert, RangeTblEntry *source, int rtindex)
{
	Query	   *select = makeNode(Query);
	RangeTblRef *from = makeNode(RangeTblRef);
	ListCell   *lc;

	source = copyObject(source);
	source->inFromCl = true;
	IncrementVarSublevelsUp((Node *) source->subquery, 1, 1);
	from->rtindex = 1;
	select->commandType = CMD_SELECT;
	select->querySource = QSRC_ORIGINAL;
	select->canSetTag = true;
	select->rtable = list_make1(source);
	select->jointree = makeFromExpr(list_make1(from), NULL);
	select->hasSubLinks = insert->hasSubLinks;
	foreach(lc, insert->targetList)
	{
		TargetEntry *entry = copyObject(lfirst_node(TargetEntry, lc));

		entry->expr = (Expr *) strip_implicit_coercions((Node *) entry->expr);
		ChangeVarNodes((Node *) entry->expr, rtindex, 1, 0);
		entry->resno = foreach_current_index(lc) + 1;
		select->targetList = lappend(select->targetList, entry);
	}
	return select;
}

static void
name_values(Query *insert, int rtindex)
{
	RangeTblEntry *source = rt_fetch(rtindex, insert->rtable);
	RangeTblEntry *values = makeNode(RangeTblEntry);
	List	   *columns = NIL;
	ListCell   *lc;

	values->rtekind = RTE_SUBQUERY;
	values->subquery = select_values(insert, source, rtindex);
	foreach(lc, insert->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Node	   *value = strip_implicit_coercions((Node *) entry->expr);

		entry->expr = (Expr *) makeVar(rtindex, foreach_current_index(lc) + 1, exprType(value),
									   exprTypmod(value), exprCollation(value), 0);
		columns = lappend(columns, makeString(pstrdup(entry->resname)));
	}
	values->eref = makeAlias("values", columns);
	lfirst(list_nth_cell(insert->rtable, rtindex - 1)) = values;
}

/* Core's deparser calls EXCLUDED so if nothing else has the name. Behind that of a view,
 * which nothing reads any more, there is that of the view's table. */
static void
name_excluded(const Query *insert)
{
	ListCell   *lc;

	foreach(lc, insert->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (shuttle_entry_is_excluded(rte) &&
			foreach_current_index(lc) + 1 != insert->onConflict->exclRelIndex)
			rte->alias = makeAlias("shuttle_unused", NIL);
	}
}

void
shuttle_router_prepare_insert(Query *insert)
{
	ListCell   *lc;

	/* defaults, and so identity columns, are ours */
	insert->override = OVERRIDING_NOT_SET;
	foreach(lc, insert->mergeActionList)
		lfirst_node(MergeAction, lc)->override = OVERRIDING_NOT_SET;
	if (insert->commandType == CMD_MERGE)
		return;
	if (!is_of_values(insert))
		name_values(insert, find_source(insert));
	if (insert->onConflict != NULL)
	{
		insert->onConflict->arbiterElems = find_arbiters(insert);
		insert->onConflict->constraint = InvalidOid;
		insert->onConflict->exclRelTlist = NIL;
		name_excluded(insert);
	}
}

/*-------------------------------------------------------------------------
 * merge_rewrite.c
 *	  Rewrites a MERGE as statements that storage nodes can run.
 *
 * Core has no MERGE for foreign tables. We use queries that read, and one
 * UPDATE, DELETE or INSERT per action:
 *
 * 	source	what MERGE reads, with a row number; read once
 * 	matched	source JOIN target ON ... FOR [NO KEY] UPDATE OF target
 * 	joined	source LEFT JOIN matched, and the action for each row
 * 	rows	joined, and the new values of that action
 * 	action	UPDATE, DELETE or INSERT of its rows
 *
 * All of rows is read before anything is written: the main query, which finds
 * target rows matched by several source rows, reads it first (merge_run.c). If
 * another session has changed a row, the locked version counts, and if it no
 * longer matches it belongs to no source row, as in core's MERGE.
 *
 * An UPDATE or DELETE reads its rows from rows and not from the target, which
 * it names only so that core can plan it (merge_plan.c).
 *
 * Memory: everything is made in the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_planner.h"
#include "planner/facts/written_tables.h"
#include "planner/shown/shown.h"
#include "planner/write/merge.h"
#include "planner/write/write.h"
#include "tablets/shuttle_tablets.h"


/* Query levels between the top level and the expressions of each query. */
#define SOURCE_DEPTH 1
#define ROWS_DEPTH 1
#define JOINED_DEPTH 2
#define MATCHED_DEPTH 3

/* Range table indexes in the queries. */
#define TARGET 1				/* of matched, and of each action */
#define SOURCE 1				/* in joined, if it has both sides */
#define SECOND 2				/* the other relation */
#define JOIN 3					/* the join in joined */

/* ---- what is read */

/* The source's rows, numbered. */
static Query *
make_source(ShuttleMerge *merge)
{
	Query	   *query = shuttle_merge_select(merge, merge->query->rtable,
											 merge->query->jointree->fromlist, NULL);
	WindowFunc *number = makeNode(WindowFunc);
	WindowClause *window = makeNode(WindowClause);

	window->winref = number->winref = 1;
	window->frameOptions = FRAMEOPTION_DEFAULTS;
	number->winfnoid = F_ROW_NUMBER;
	number->wintype = INT8OID;
	number->location = -1;
	query->windowClause = list_make1(window);
	query->hasWindowFuncs = true;
	COPY_PERMISSIONS(query, merge->query);
	shuttle_merge_add_column(query, (Expr *) number, "number");
	shuttle_merge_add_columns(query, merge->source_vars, "source");
	return shuttle_merge_move_query(query, SOURCE_DEPTH);
}

/* Columns of matched, and of joined (with the action first). */
typedef enum MatchedColumn
{
	MATCHED_NUMBER = 1,
	MATCHED_CTID,
	MATCHED_TABLEOID,
	MATCHED_ROW,
	MATCHED_FIXED = MATCHED_ROW
} MatchedColumn;

/* The strongest lock that an action needs. */
static LockClauseStrength
target_strength(const ShuttleMerge *merge, Oid relid)
{
	bool		is_weak = shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED;
	Bitmapset  *changed = NULL;
	Relation	rel;
	ListCell   *cell;
	ListCell   *target;

	foreach(cell, merge->query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, cell);

		is_weak &= action->commandType != CMD_DELETE;
		foreach(target, action->commandType == CMD_UPDATE ? action->targetList : NIL)
			changed = bms_add_member(changed, lfirst_node(TargetEntry, target)->resno - FirstLowInvalidHeapAttributeNumber);
	}
	if (!is_weak)
		return LCS_FORUPDATE;
	rel = table_open(relid, NoLock);
	is_weak = !shuttle_foreign_key_needs_lock(rel, changed);
	table_close(rel, NoLock);
	return is_weak ? LCS_FORNOKEYUPDATE : LCS_FORUPDATE;
}

static void
lock_target(Query *query, LockClauseStrength strength)
{
	RowMarkClause *mark = makeNode(RowMarkClause);

	mark->rti = TARGET;
	mark->strength = strength;
	mark->waitPolicy = LockWaitBlock;
	query->rowMarks = list_make1(mark);
	query->hasForUpdate = true;
}

/* The pairs of matching rows. */
static Query *
make_matched(ShuttleMerge *merge)
{
	RangeTblEntry *target = copyObject(rt_fetch(merge->query->resultRelation,
												merge->query->rtable));
	ShuttleMergeColumnMap places = {
		.merge = merge,
		.source = SECOND,
		.source_before = 1,
		.depth = MATCHED_DEPTH,
	};
	RangeTblEntry *source = shuttle_merge_cte_entry(merge->source, MATCHED_DEPTH);
	Query	   *query = shuttle_merge_select(merge, list_make2(target, source),
											 list_make2(shuttle_merge_range_ref(SECOND), shuttle_merge_range_ref(TARGET)),
											 shuttle_merge_move_expression(MERGE_CONDITION(merge->query), places));
	Query	   *read = (Query *) merge->source->ctequery;

	(void) COPY_PERMISSION(query, target, merge->query);
	shuttle_merge_add_column(query, shuttle_merge_column(read, SECOND, 1), "number");
	if (merge->changes)
	{
		shuttle_merge_add_column(query, (Expr *) makeVar(TARGET, SelfItemPointerAttributeNumber, TIDOID,
														 -1, InvalidOid, 0), "ctid");
		shuttle_merge_add_column(query, (Expr *) makeVar(TARGET, TableOidAttributeNumber, OIDOID,
														 -1, InvalidOid, 0), "tableoid");
		shuttle_merge_add_column(query, (Expr *) makeWholeRowVar(target, TARGET, 0, false), "row");
		lock_target(query, target_strength(merge, target->relid));
	}
	for (int i = 2; i <= list_length(read->targetList); i++)
		shuttle_merge_add_column(query, shuttle_merge_column(read, SECOND, i), "source");
	shuttle_merge_add_columns(query, copyObject(merge->target_vars), "target");
	return query;
}

/* True if an action is for matching (or for unmatched) rows. */
static bool
is_for(const MergeAction *action, bool matched)
{
	return MERGE_IS_MATCHED(action) == matched;
}

/* The number of a row's action: the first one whose condition holds. 0: none;
 * negative: an INSERT. */
static Expr *
choose_action(const ShuttleMerge *merge, bool matched, ShuttleMergeColumnMap places)
{
	List	   *whens = NIL;
	ListCell   *cell;

	foreach(cell, merge->query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, cell);
		int			number = foreach_current_index(cell) + 1;
		Expr	   *result;

		if (!is_for(action, matched))
			continue;
		result = shuttle_merge_int(action->commandType == CMD_NOTHING ? 0 :
								   matched ? number : -number);
		if (action->qual == NULL)
			return shuttle_merge_case(whens, result);
		whens = lappend(whens,
						shuttle_merge_when((Expr *) shuttle_merge_move_expression(action->qual, places), result));
	}
	return shuttle_merge_case(whens, shuttle_merge_int(0));
}

static RangeTblEntry *
join_entry(void)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_JOIN;
	rte->jointype = JOIN_LEFT;
	rte->eref = makeAlias("*MERGE*", NIL);
	rte->inFromCl = true;
	return rte;
}

static Node *
join_matched(Query *source, Query *matched)
{
	const TypeCacheEntry *int8 = lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR);
	JoinExpr   *join = makeNode(JoinExpr);

	join->jointype = JOIN_LEFT;
	join->larg = shuttle_merge_range_ref(SOURCE);
	join->rarg = shuttle_merge_range_ref(SECOND);
	join->quals = (Node *) shuttle_merge_equals(int8->eq_opr, shuttle_merge_column(source, SOURCE, 1),
												shuttle_merge_column(matched, SECOND, MATCHED_NUMBER));
	join->rtindex = JOIN;
	return (Node *) join;
}

static Expr *
matched_column(const Query *matched, Index relation, int number, bool nulled)
{
	Var		   *var = (Var *) shuttle_merge_column(matched, relation, number);

	if (nulled)
		SET_NULLED_BY(var, JOIN);
	return (Expr *) var;
}

/* Each row and its action. Without INSERTs only matched is needed; else the
 * source is the first relation. */
static Query *
make_joined(ShuttleMerge *merge)
{
	Query	   *source = (Query *) merge->source->ctequery;
	Query	   *matched = make_matched(merge);
	Index		relation = merge->inserts ? SECOND : 1;
	int			nfixed = merge->changes ? MATCHED_FIXED : 1;
	int			nsource = list_length(merge->source_vars);
	ShuttleMergeColumnMap places = {
		.merge = merge,
		.source = 1,
		.source_before = merge->inserts ? 1 : nfixed,
		.target = relation,
		.target_before = nfixed + nsource,
		.nulled_by = merge->inserts ? JOIN : 0,
		.depth = JOINED_DEPTH,
	};
	RangeTblEntry *entry = shuttle_merge_subquery_entry(matched, "matched");
	Expr	   *action = choose_action(merge, true, places);
	Query	   *query;
	ListCell   *cell;

	if (merge->inserts)
	{
		NullTest   *unmatched = makeNode(NullTest);

		query = shuttle_merge_select(merge,
									 list_make3(shuttle_merge_cte_entry(merge->source, JOINED_DEPTH), entry,
												join_entry()),
									 list_make1(join_matched(source, matched)), NULL);
		unmatched->arg = matched_column(matched, SECOND, MATCHED_NUMBER, true);
		unmatched->nulltesttype = IS_NULL;
		unmatched->location = -1;
		action = shuttle_merge_case(list_make1(shuttle_merge_when((Expr *) unmatched,
																  choose_action(merge, false, places))),
									action);
	}
	else
		query = shuttle_merge_select(merge, list_make1(entry), list_make1(shuttle_merge_range_ref(1)), NULL);
	shuttle_merge_add_column(query, action, "action");
	for (int i = 2; i <= nfixed; i++)
		shuttle_merge_add_column(query, matched_column(matched, relation, i, merge->inserts),
								 ((TargetEntry *) list_nth(matched->targetList, i - 1))->resname);
	foreach(cell, merge->source_vars)
		shuttle_merge_add_column(query, (Expr *) shuttle_merge_move_expression(lfirst(cell), places), "source");
	foreach(cell, merge->target_vars)
		shuttle_merge_add_column(query, (Expr *) shuttle_merge_move_expression(lfirst(cell), places), "target");

	/* OFFSET 0 keeps core from inlining the action's expression */
	query->limitOffset = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
											Int64GetDatum(0), false, FLOAT8PASSBYVAL);
	return query;
}

/* A new value, computed only for rows of its action. */
static Expr *
value_for(Expr *value, Expr *action, int number)
{
	Node	   *node = (Node *) value;

	if (IsA(node, Var) || IsA(node, Const))
		return value;
	return shuttle_merge_case(list_make1(shuttle_merge_when(shuttle_merge_equals(Int4EqualOperator, action,
																				 shuttle_merge_int(number)), value)),
							  (Expr *) makeNullConst(exprType(node), exprTypmod(node),
													 exprCollation(node)));
}

/* An action's number in rows. */
static int
number_of(const ShuttleMerge *merge, int index)
{
	const MergeAction *action = list_nth_node(MergeAction, merge->query->mergeActionList,
											  index);

	return MERGE_IS_MATCHED(action) ? index + 1 : -(index + 1);
}

/* All columns that the actions need. */
static Query *
make_rows(ShuttleMerge *merge)
{
	Query	   *joined = make_joined(merge);
	int			nfixed = merge->changes ? MATCHED_FIXED : 1;
	ShuttleMergeColumnMap places = {
		.merge = merge,
		.source = 1,
		.source_before = nfixed,
		.target = 1,
		.target_before = nfixed + list_length(merge->source_vars),
		.depth = ROWS_DEPTH,
	};
	Query	   *query = shuttle_merge_select(merge, list_make1(shuttle_merge_subquery_entry(joined, "joined")),
											 list_make1(shuttle_merge_range_ref(1)), NULL);
	ListCell   *cell;
	ListCell   *lc;

	for (int i = 1; i <= nfixed; i++)
		shuttle_merge_add_column(query, shuttle_merge_column(joined, 1, i),
								 ((TargetEntry *) list_nth(joined->targetList, i - 1))->resname);
	foreach(cell, merge->query->mergeActionList)
	{
		int			index = foreach_current_index(cell);

		foreach(lc, lfirst_node(MergeAction, cell)->targetList)
		{
			TargetEntry *entry = lfirst_node(TargetEntry, lc);

			shuttle_merge_add_column(query, value_for((Expr *) shuttle_merge_move_expression((Node *) entry->expr, places),
													  shuttle_merge_column(joined, 1, 1), number_of(merge, index)),
									 entry->resname == NULL ? "value" : entry->resname);
		}
	}
	return query;
}

/* ---- what is written */

/* The privileges that an action needs in MERGE; SELECT is checked where the
 * target is read. */
static void
set_permissions(Query *query, RangeTblEntry *target, const ShuttleMerge *merge)
{
	RTEPermissionInfo *permission = COPY_PERMISSION(query, target, merge->query);
	Bitmapset  *columns = NULL;
	ListCell   *cell;

	foreach(cell, query->targetList)
		columns = bms_add_member(columns, lfirst_node(TargetEntry, cell)->resno -
								 FirstLowInvalidHeapAttributeNumber);
	permission->requiredPerms = query->commandType == CMD_UPDATE ? ACL_UPDATE :
		query->commandType == CMD_DELETE ? ACL_DELETE : ACL_INSERT;
	permission->selectedCols = NULL;
	permission->insertedCols = query->commandType == CMD_INSERT ? columns : NULL;
	permission->updatedCols = query->commandType == CMD_UPDATE ? columns : NULL;
}

/* The statement of an action; its new values follow nbefore columns of rows. */
static Query *
make_action(const ShuttleMerge *merge, int index, int nbefore)
{
	const MergeAction *action = list_nth_node(MergeAction, merge->query->mergeActionList,
											  index);
	RangeTblEntry *target = copyObject(rt_fetch(merge->query->resultRelation,
												merge->query->rtable));
	const Query *rows = (Query *) merge->rows->ctequery;
	RangeTblEntry *source = shuttle_merge_cte_entry(merge->rows, 1);
	Expr	   *is_for_it = shuttle_merge_equals(Int4EqualOperator, shuttle_merge_column(rows, SECOND, 1),
												 shuttle_merge_int(number_of(merge, index)));
	Query	   *query = shuttle_merge_select(merge, list_make2(target, source),
											 list_make1(shuttle_merge_range_ref(SECOND)), (Node *) is_for_it);
	ListCell   *cell;

	query->commandType = action->commandType;
	query->resultRelation = TARGET;
	query->override = action->override;
	query->hasSubLinks = false;
	if (action->commandType != CMD_INSERT)
		query->jointree->fromlist = lcons(shuttle_merge_range_ref(TARGET), query->jointree->fromlist);
	target->inFromCl = action->commandType != CMD_INSERT;
	foreach(cell, action->targetList)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, cell));

		entry->expr = shuttle_merge_column(rows, SECOND, ++nbefore);
		query->targetList = lappend(query->targetList, entry);
	}
	set_permissions(query, target, merge);
	return query;
}

static void
make_actions(ShuttleMerge *merge)
{
	int			nbefore = merge->changes ? MATCHED_FIXED : 1;
	ListCell   *cell;

	foreach(cell, merge->query->mergeActionList)
	{
		const MergeAction *action = lfirst_node(MergeAction, cell);
		int			index = foreach_current_index(cell);

		if (action->commandType != CMD_NOTHING)
			merge->actions = lappend(merge->actions,
									 shuttle_merge_cte(psprintf("action %d of MERGE", index + 1),
													   make_action(merge, index, nbefore)));
		nbefore += list_length(action->targetList);
	}
}

/* ---- the main query */

static void
group_by(Query *query, Expr *column, const char *name)
{
	SortGroupClause *group = makeNode(SortGroupClause);

	shuttle_merge_add_column(query, column, name);
	group->tleSortGroupRef = list_length(query->targetList);
	llast_node(TargetEntry, query->targetList)->ressortgroupref = group->tleSortGroupRef;
	get_sort_group_operators(exprType((Node *) column), false, true, false, &group->sortop,
							 &group->eqop, NULL, &group->hashable);
	query->groupClause = lappend(query->groupClause, group);
}

static Expr *
count_rows(void)
{
	Aggref	   *count = makeNode(Aggref);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = count->aggtransno = -1;
	count->location = -1;
	return (Expr *) count;
}

/*
 * Reads all of rows, and returns target rows that are changed more than once.
 */
static Query *
make_main(ShuttleMerge *merge)
{
	const Query *rows = (Query *) merge->rows->ctequery;
	Expr	   *changes = make_opclause(Int4LessOperator, BOOLOID, false, shuttle_merge_int(0),
										shuttle_merge_column(rows, 1, 1), InvalidOid, InvalidOid);
	Query	   *query = shuttle_merge_select(merge, list_make1(shuttle_merge_cte_entry(merge->rows, 0)),
											 list_make1(shuttle_merge_range_ref(1)), (Node *) changes);

	query->hasSubLinks = false;
	query->hasAggs = true;
	if (merge->changes)
	{
		group_by(query, shuttle_merge_column(rows, 1, MATCHED_TABLEOID), "tableoid");
		group_by(query, shuttle_merge_column(rows, 1, MATCHED_CTID), "ctid");
	}
	else
		group_by(query, shuttle_merge_column(rows, 1, 1), "action");
	query->havingQual = (Node *)
		make_opclause(Int8LessOperator, BOOLOID, false,
					  (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										 Int64GetDatum(1), false, FLOAT8PASSBYVAL),
					  count_rows(), InvalidOid, InvalidOid);
	return query;
}

Query *
shuttle_merge_rewrite(Query *query)
{
	ShuttleMerge merge = {.query = query};
	Query	   *statement;
	ListCell   *cell;

	foreach(cell, query->mergeActionList)
	{
		CmdType		command = lfirst_node(MergeAction, cell)->commandType;

		merge.inserts |= command == CMD_INSERT;
		merge.changes |= command == CMD_UPDATE || command == CMD_DELETE;
	}
	shuttle_merge_collect_columns(&merge);
	merge.source = shuttle_merge_cte(SHUTTLE_MERGE_SOURCE, make_source(&merge));
	merge.rows = shuttle_merge_cte(SHUTTLE_MERGE_ROWS, make_rows(&merge));
	make_actions(&merge);
	statement = make_main(&merge);
	statement->querySource = query->querySource;
	statement->queryId = query->queryId;
	statement->canSetTag = query->canSetTag;
	statement->stmt_location = query->stmt_location;
	statement->stmt_len = query->stmt_len;
	statement->hasModifyingCTE = true;
	statement->cteList = list_concat(list_copy(query->cteList),
									 lcons(merge.source, lcons(merge.rows, merge.actions)));
	return statement;
}

/*-------------------------------------------------------------------------
 * conflict_by_row.c
 *	  INSERT ... ON CONFLICT that a global unique index decides, row by row.
 *
 * Such an index is on no node, so no node can say which rows are in conflict. The plan of the INSERT's source gets
 * a node above it (executor/write/conflict/conflict_by_row.c), which inserts each row by a statement of its own, and
 * knows a conflict by the error. What these statements are is decided here: an INSERT of parameters; for DO UPDATE an
 * UPDATE of the row with the arbiter's values; and a SELECT that tells whether there is such a row.
 *
 * For several rows there are the same statements with a relation of these rows in the place of parameters
 * (executor/write/conflict/conflict_batches.c).
 *
 * What this cannot do is left to on_conflict.c, which refuses it: INSERTs in WITH, triggers, policies, view checks,
 * subqueries in RETURNING or SET, and several indexes that could be the arbiter and are not alike.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_by_row.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/write/write.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_own_triggers.h"
#include "tablets/shuttle_tablets.h"

/* As many rows the planner expects to be written together. */
#define ROWS_TOGETHER 100

/* A statement that is executed row by row. */
typedef struct ByRow
{
	Query	   *query;
	Relation	rel;			/* its target */
	Relation	arbiter;		/* NULL: all unique indexes are */
	List	   *twins;			/* OIDs of others that are alike */
	int			nparams;		/* of the client; those of a row follow */
	bool		failed;			/* something of it is not possible */
} ByRow;

/* ---- arbiters */

/* The columns that the clause names; a failure if it also names collations or operator classes. */
static Bitmapset *
named_columns(ByRow *by_row, List **expressions)
{
	Bitmapset  *columns = NULL;
	ListCell   *cell;

	foreach(cell, by_row->query->onConflict->arbiterElems)
	{
		const InferenceElem *element = lfirst_node(InferenceElem, cell);

		by_row->failed |= OidIsValid(element->infercollid) || OidIsValid(element->inferopclass);
		if (IsA(element->expr, Var))
			columns = bms_add_member(columns, ((const Var *) element->expr)->varattno);
		else
			*expressions = lappend(*expressions, element->expr);
	}
	return columns;
}

static List *
of_target(const ByRow *by_row, List *expressions)
{
	expressions = copyObject(expressions);
	ChangeVarNodes((Node *) expressions, 1, by_row->query->resultRelation, 0);
	return expressions;
}

/* As infer_arbiter_indexes() of core. */
static bool
is_inferred(const ByRow *by_row, Relation index, const Bitmapset *columns, List *expressions)
{
	const OnConflictExpr *clause = by_row->query->onConflict;
	List	   *indexed = of_target(by_row, RelationGetIndexExpressions(index));
	List	   *predicate = of_target(by_row, RelationGetIndexPredicate(index));
	Bitmapset  *own = NULL;

	if (OidIsValid(clause->constraint))
		return get_constraint_index(clause->constraint) == RelationGetRelid(index);
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		if (index->rd_index->indkey.values[i] != 0)
			own = bms_add_member(own, index->rd_index->indkey.values[i]);
	}
	return bms_equal(own, columns) && list_difference(expressions, indexed) == NIL && list_difference(indexed, expressions) == NIL &&
		predicate_implied_by(predicate, (List *) clause->arbiterWhere, false);
}

/* True if rows without NULLs are in conflict by both or by none. */
static bool
are_alike(Relation one, Relation other)
{
	int			nkeys = one->rd_index->indnkeyatts;

	if (nkeys != other->rd_index->indnkeyatts || one->rd_index->indimmediate != other->rd_index->indimmediate ||
		!equal(RelationGetIndexExpressions(one), RelationGetIndexExpressions(other)) ||
		!equal(RelationGetIndexPredicate(one), RelationGetIndexPredicate(other)))
		return false;
	for (int i = 0; i < nkeys; i++)
	{
		if (one->rd_index->indkey.values[i] != other->rd_index->indkey.values[i] ||
			one->rd_opfamily[i] != other->rd_opfamily[i] || one->rd_opcintype[i] != other->rd_opcintype[i] ||
			one->rd_indcollation[i] != other->rd_indcollation[i])
			return false;
	}
	return true;
}

/* Of several that are alike, one with NULLS NOT DISTINCT finds the conflicts of all. */
static void
add_arbiter(ByRow *by_row, Relation index)
{
	Relation	twin = index;

	if (by_row->arbiter == NULL)
	{
		by_row->arbiter = index;	/* stays open */
		return;
	}
	by_row->failed |= !are_alike(by_row->arbiter, index);
	if (index->rd_index->indnullsnotdistinct && !by_row->arbiter->rd_index->indnullsnotdistinct)
	{
		twin = by_row->arbiter;
		by_row->arbiter = index;
	}
	by_row->twins = lappend_oid(by_row->twins, RelationGetRelid(twin));
	index_close(twin, NoLock);
}

/* Returns true if a global index is an arbiter. */
static bool
find_arbiter(ByRow *by_row)
{
	const OnConflictExpr *clause = by_row->query->onConflict;
	List	   *expressions = NIL;
	Bitmapset  *columns = named_columns(by_row, &expressions);
	bool		names_any = clause->arbiterElems == NIL && !OidIsValid(clause->constraint);
	bool		is_global = false;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(by_row->rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisunique && (names_any || is_inferred(by_row, index, columns, expressions)))
		{
			is_global |= shuttle_global_index_is(index, InvalidAttrNumber);
			if (!names_any)
			{
				add_arbiter(by_row, index);
				continue;
			}
		}
		index_close(index, NoLock);
	}
	if (!names_any && by_row->arbiter == NULL && !by_row->failed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("there is no unique or exclusion constraint matching the ON CONFLICT specification")));
	return is_global;
}

/* ---- parameters */

static bool
find_largest_param(Node *node, void *arg)
{
	int		   *largest = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		*largest = Max(*largest, ((Param *) node)->paramid);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_largest_param, arg, 0);
	return expression_tree_walker(node, find_largest_param, arg);
}

static Node *
make_param(int number, Node *value)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = number;
	param->paramtype = exprType(value);
	param->paramtypmod = exprTypmod(value);
	param->paramcollid = exprCollation(value);
	param->location = -1;
	return (Node *) param;
}

/* The value that a proposed row has in a column. */
static Node *
proposed_value(ByRow *by_row, const Var *var)
{
	ListCell   *cell;
	int			number = by_row->nparams;

	if (var->varattno <= 0 || TupleDescAttr(RelationGetDescr(by_row->rel), var->varattno - 1)->attgenerated != '\0')
		by_row->failed = true;
	foreach(cell, by_row->query->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		number++;
		if (entry->resno == var->varattno)
			return make_param(number, (Node *) entry->expr);
	}
	return (Node *) makeNullConst(var->vartype, var->vartypmod, var->varcollid);
}

/* Replaces columns of one entry by values of the proposed row. */
typedef struct Replaced
{
	ByRow	   *by_row;
	int			rtindex;
} Replaced;

static Node *
replace_proposed(Node *node, void *arg)
{
	Replaced   *replaced = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == replaced->rtindex)
		return proposed_value(replaced->by_row, (Var *) node);
	return expression_tree_mutator(node, replace_proposed, arg);
}

static Node *
with_proposed(ByRow *by_row, Node *node, int rtindex)
{
	Replaced	replaced = {by_row, rtindex};

	return replace_proposed(node, &replaced);
}

/* ---- the statements */

/* An entry that nothing refers to. */
static RangeTblEntry *
make_unused_entry(void)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RESULT;
	rte->eref = makeAlias("unused", NIL);
	return rte;
}

/* The INSERT without its source and its clause. */
static Query *
bare_statement(const ByRow *by_row, CmdType command)
{
	Query	   *query = copyObject(by_row->query);
	RangeTblRef *reference = makeNode(RangeTblRef);
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		if (foreach_current_index(cell) + 1 != query->resultRelation)
			lfirst(cell) = make_unused_entry();
	}
	reference->rtindex = query->resultRelation;
	query->commandType = command;
	query->canSetTag = true;
	query->onConflict = NULL;
	query->cteList = NIL;
	query->hasSubLinks = query->hasTargetSRFs = query->hasAggs = query->hasWindowFuncs = false;
	query->groupClause = query->sortClause = query->distinctClause = NIL;
	query->limitCount = query->limitOffset = NULL;
	query->targetList = NIL;
	query->jointree = makeFromExpr(command == CMD_INSERT ? NIL : list_make1(reference), NULL);
	if (command == CMD_INSERT)
		return query;
	rt_fetch(query->resultRelation, query->rtable)->inh = true;
	rt_fetch(query->resultRelation, query->rtable)->inFromCl = true;
	return query;
}

static Query *
make_insert(const ByRow *by_row)
{
	Query	   *query = bare_statement(by_row, CMD_INSERT);
	int			number = by_row->nparams;
	ListCell   *cell;

	foreach(cell, by_row->query->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		query->targetList = lappend(query->targetList, makeTargetEntry((Expr *) make_param(++number, (Node *) entry->expr),
																	   entry->resno, entry->resname, false));
	}
	return query;
}

/* left = right, or both are NULL: in this form nodes can use an index. */
static Node *
or_both_null(Expr *equal)
{
	List	   *nulls = NIL;

	for (int i = 0; i < 2; i++)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = (Expr *) copyObject(list_nth(((OpExpr *) equal)->args, i));
		test->nulltesttype = IS_NULL;
		test->location = -1;
		nulls = lappend(nulls, test);
	}
	return (Node *) makeBoolExpr(OR_EXPR, list_make2(equal, makeBoolExpr(AND_EXPR, nulls, -1)), -1);
}

static Var *
column_of_target(const ByRow *by_row, AttrNumber number)
{
	const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(by_row->rel), number - 1);

	return makeVar(by_row->query->resultRelation, number, column->atttypid, column->atttypmod, column->attcollation, 0);
}

/* The row that has the arbiter's values of the proposed one, if both meet its condition. */
static List *
same_values(ByRow *by_row)
{
	Form_pg_index form = by_row->arbiter->rd_index;
	List	   *expressions = of_target(by_row, RelationGetIndexExpressions(by_row->arbiter));
	List	   *conditions = of_target(by_row, RelationGetIndexPredicate(by_row->arbiter));
	int			nexpressions = 0;

	conditions = list_concat(conditions, (List *) with_proposed(by_row, (Node *) copyObject(conditions), by_row->query->resultRelation));
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		AttrNumber	number = form->indkey.values[i];
		Oid			opfamily = by_row->arbiter->rd_opfamily[i];
		Oid			input = by_row->arbiter->rd_opcintype[i];
		Node	   *left;
		Expr	   *same;

		by_row->failed |= IsPolymorphicType(input);
		if (number == 0)
			left = list_nth(expressions, nexpressions++);
		else
			left = (Node *) column_of_target(by_row, number);
		if (getBaseType(exprType(left)) != input)
			left = (Node *) makeRelabelType((Expr *) left, input, -1, exprCollation(left), COERCE_IMPLICIT_CAST);
		same = make_opclause(get_opfamily_member(opfamily, input, input, BTEqualStrategyNumber), BOOLOID, false,
							 (Expr *) left, (Expr *) with_proposed(by_row, copyObject(left), by_row->query->resultRelation),
							 InvalidOid, by_row->arbiter->rd_indcollation[i]);
		conditions = lappend(conditions, form->indnullsnotdistinct ? or_both_null(same) : (Node *) same);
	}
	return conditions;
}

static Query *
make_update(ByRow *by_row)
{
	Query	   *query = bare_statement(by_row, CMD_UPDATE);
	const OnConflictExpr *clause = by_row->query->onConflict;
	List	   *conditions = same_values(by_row);

	if (clause->onConflictWhere != NULL)
		conditions = lappend(conditions, with_proposed(by_row, copyObject(clause->onConflictWhere), clause->exclRelIndex));
	query->targetList = (List *) with_proposed(by_row, (Node *) copyObject(clause->onConflictSet), clause->exclRelIndex);
	query->jointree->quals = (Node *) make_ands_explicit(conditions);
	return query;
}

static Query *
make_select(ByRow *by_row)
{
	Query	   *query = bare_statement(by_row, CMD_SELECT);
	Const	   *one = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true);

	query->targetList = list_make1(makeTargetEntry((Expr *) one, 1, "found", false));
	query->returningList = NIL;
	query->resultRelation = 0;
	query->jointree->quals = (Node *) make_ands_explicit(same_values(by_row));
	return query;
}

/* ---- for rows together */

/* The relation of proposed rows. */
static RangeTblEntry *
make_rows_entry(const ByRow *by_row)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, by_row->query->targetList)
	{
		Node	   *value = (Node *) lfirst_node(TargetEntry, cell)->expr;

		names = lappend(names, makeString(psprintf("c%d", foreach_current_index(cell) + 1)));
		rte->coltypes = lappend_oid(rte->coltypes, exprType(value));
		rte->coltypmods = lappend_int(rte->coltypmods, exprTypmod(value));
		rte->colcollations = lappend_oid(rte->colcollations, exprCollation(value));
	}
	rte->rtekind = RTE_NAMEDTUPLESTORE;
	rte->enrname = pstrdup(SHUTTLE_BY_ROW_RELATION);
	rte->enrtuples = ROWS_TOGETHER;
	rte->coltypes = lappend_oid(rte->coltypes, INT4OID);
	rte->coltypmods = lappend_int(rte->coltypmods, -1);
	rte->colcollations = lappend_oid(rte->colcollations, InvalidOid);
	rte->eref = makeAlias(SHUTTLE_BY_ROW_RELATION, lappend(names, makeString(pstrdup("number"))));
	rte->inFromCl = true;
	return rte;
}

/* Replaces parameters of a row by columns of the relation. */
static Node *
replace_row_params(Node *node, void *arg)
{
	Replaced   *replaced = arg;
	const Param *param = (const Param *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && param->paramkind == PARAM_EXTERN && param->paramid > replaced->by_row->nparams)
		return (Node *) makeVar(replaced->rtindex, param->paramid - replaced->by_row->nparams, param->paramtype,
								param->paramtypmod, param->paramcollid, 0);
	return expression_tree_mutator(node, replace_row_params, arg);
}

/* The same statement for all rows of the relation. Those that do not insert return numbers of rows. */
static Query *
for_rows(ByRow *by_row, Query *statement)
{
	Query	   *query = copyObject(statement);
	Replaced	replaced = {by_row, list_length(query->rtable) + 1};
	RangeTblRef *reference = makeNode(RangeTblRef);
	Var		   *number = makeVar(replaced.rtindex, list_length(by_row->query->targetList) + 1, INT4OID, -1, InvalidOid, 0);
	List	   *numbers = list_make1(makeTargetEntry((Expr *) number, 1, pstrdup("number"), false));

	reference->rtindex = replaced.rtindex;
	query->rtable = lappend(query->rtable, make_rows_entry(by_row));
	query->jointree->fromlist = lappend(query->jointree->fromlist, reference);
	query->jointree->quals = replace_row_params(query->jointree->quals, &replaced);
	query->targetList = (List *) replace_row_params((Node *) query->targetList, &replaced);
	if (query->commandType == CMD_SELECT)
		query->targetList = numbers;
	if (query->commandType == CMD_UPDATE)
		query->returningList = numbers;
	return query;
}

/*
 * A row that is written twice, or that another unique index refuses, goes by itself after all. Rows that are returned
 * keep their order, so those that are updated go by themselves, too.
 */
static void
make_statements_for_rows(ByRow *by_row, ShuttleByRowPlan *plan)
{
	plan->insert_rows = for_rows(by_row, plan->insert);
	if (plan->select == NULL || by_row->arbiter->rd_index->indnullsnotdistinct)
		return;
	plan->find_rows = for_rows(by_row, plan->select);
	if (plan->update != NULL && plan->update->returningList == NIL)
		plan->update_rows = for_rows(by_row, plan->update);
}

/* The UPDATE returns the values that the arbiter has of the row from then on, and behind them if it has any. */
static Query *
with_new_values(const ByRow *by_row, Query *update)
{
	Query	   *query = copyObject(update);
	Form_pg_index form = by_row->arbiter->rd_index;
	List	   *expressions = of_target(by_row, RelationGetIndexExpressions(by_row->arbiter));
	List	   *predicate = of_target(by_row, RelationGetIndexPredicate(by_row->arbiter));
	int			nexpressions = 0;

	for (int i = 0; i < form->indnkeyatts; i++)
	{
		Expr	   *value = form->indkey.values[i] == 0 ? list_nth(expressions, nexpressions++) :
			(Expr *) column_of_target(by_row, form->indkey.values[i]);

		query->returningList = lappend(query->returningList, makeTargetEntry(value, i + 1, psprintf("v%d", i + 1), false));
	}
	query->returningList = lappend(query->returningList, makeTargetEntry(make_ands_explicit(predicate), form->indnkeyatts + 1,
																		 pstrdup("has_values"), false));
	return query;
}

/* What is inserted, as a SELECT. */
static Query *
make_source(const ByRow *by_row)
{
	Query	   *query = copyObject(by_row->query);
	ListCell   *cell;

	query->commandType = CMD_SELECT;
	query->onConflict = NULL;
	query->returningList = NIL;
	query->resultRelation = 0;
	foreach(cell, query->targetList)
		lfirst_node(TargetEntry, cell)->resno = foreach_current_index(cell) + 1;
	return query;
}

/* ---- which ones */

/* True if SET gives a column of the arbiter another value than the proposed row has. */
static bool
sets_arbiter(const ByRow *by_row)
{
	const OnConflictExpr *clause = by_row->query->onConflict;
	Bitmapset  *columns = NULL;
	Bitmapset  *set = NULL;
	ListCell   *cell;

	if (by_row->arbiter == NULL)
		return false;
	for (int i = 0; i < by_row->arbiter->rd_index->indnkeyatts; i++)
		columns = bms_add_member(columns, by_row->arbiter->rd_index->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) RelationGetIndexExpressions(by_row->arbiter), 1, &columns);
	pull_varattnos((Node *) RelationGetIndexPredicate(by_row->arbiter), 1, &columns);
	foreach(cell, clause->onConflictSet)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const Var  *value = (const Var *) entry->expr;

		if (!IsA(value, Var) || value->varno != clause->exclRelIndex || value->varattno != entry->resno)
			set = bms_add_member(set, entry->resno - FirstLowInvalidHeapAttributeNumber);
	}
	return bms_overlap(columns, set);
}

/* True if foreign keys lead to the table: what they do would come behind each row, not behind all. */
static bool
is_referred_to(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (OidIsValid(triggers->triggers[i].tgconstraint) && TRIGGER_FOR_DELETE(triggers->triggers[i].tgtype))
			return true;
	}
	return false;
}

static bool
has_junk(const List *targets)
{
	ListCell   *cell;

	foreach(cell, targets)
	{
		if (lfirst_node(TargetEntry, cell)->resjunk)
			return true;
	}
	return false;
}

/* True of a statement that may be executed row by row, if a global index decides. */
static bool
may_go_by_row(const Query *query)
{
	const OnConflictExpr *clause = query->onConflict;
	const RangeTblEntry *rte;

	if (query->commandType != CMD_INSERT || clause == NULL || query->hasModifyingCTE || query->withCheckOptions != NIL ||
		query->hasRowSecurity || (clause->action != ONCONFLICT_NOTHING && clause->action != ONCONFLICT_UPDATE))
		return false;
	rte = rt_fetch(query->resultRelation, query->rtable);
	return rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE &&
		shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED && shuttle_global_indexes_exist(rte->relid) &&
		!has_junk(query->targetList) && !has_junk(clause->onConflictSet) &&
		!checkExprHasSubLink((Node *) clause) && !checkExprHasSubLink((Node *) query->returningList) &&
		!shuttle_expression_has_old_or_new(query->returningList);
}

/* The statements, as far as they are needed; false: they are not possible. */
static bool
make_statements(ByRow *by_row, ShuttleByRowPlan *plan)
{
	const Query *query = by_row->query;

	if (!find_arbiter(by_row) || by_row->failed ||
		!shuttle_own_triggers_are_all(by_row->rel->trigdesc))
		return false;
	(void) find_largest_param((Node *) query, &by_row->nparams);
	plan->nparams = by_row->nparams;
	plan->relid = RelationGetRelid(by_row->rel);
	plan->arbiter = by_row->arbiter == NULL ? InvalidOid : RelationGetRelid(by_row->arbiter);
	plan->twins = by_row->twins;
	plan->sets_arbiter = sets_arbiter(by_row);
	plan->can_set_tag = query->canSetTag;
	plan->insert = make_insert(by_row);
	if (query->onConflict->action == ONCONFLICT_UPDATE)
		plan->update = make_update(by_row);
	if (by_row->arbiter != NULL)
		plan->select = make_select(by_row);
	if (by_row->failed)
		return false;
	if (!plan->sets_arbiter)
		make_statements_for_rows(by_row, plan);
	else if (plan->update != NULL && query->returningList == NIL && !is_referred_to(by_row->rel))
		plan->update_new = with_new_values(by_row, plan->update);
	return !by_row->failed;
}

static PlannedStmt *
plan_source(const ByRow *by_row, const ShuttleByRowPlan *plan, ShuttlePlanCall call)
{
	const Query *query = by_row->query;
	PlannedStmt *statement;
	Plan	   *top;

	call.cursor_options &= ~CURSOR_OPT_PARALLEL_OK; /* it runs while rows are
													 * written */
	statement = shuttle_plan_rest(make_source(by_row), call);
	top = shuttle_conflict_by_row_make(statement->planTree, plan, query->returningList);
	top->plan_node_id = shuttle_plan_next_id(statement);
	statement->planTree = top;
	statement->commandType = CMD_INSERT;
	statement->hasReturning = query->returningList != NIL;
	statement->canSetTag = query->canSetTag;
	return statement;
}

PlannedStmt *
shuttle_conflict_by_row_plan(Query *query, ShuttlePlanCall call)
{
	ByRow		by_row = {.query = query};
	ShuttleByRowPlan plan = {0};
	bool		is_possible;

	if (!may_go_by_row(query))
		return shuttle_plan_rest(query, call);
	by_row.rel = table_open(rt_fetch(query->resultRelation, query->rtable)->relid, NoLock);
	is_possible = make_statements(&by_row, &plan);
	if (by_row.arbiter != NULL)
		index_close(by_row.arbiter, NoLock);
	table_close(by_row.rel, NoLock);
	return is_possible ? plan_source(&by_row, &plan, call) : shuttle_plan_rest(query, call);
}

/*-------------------------------------------------------------------------
 * index_lookups.c
 *	  Rows that are found by a global unique index.
 *
 * A condition such as email = $1 does not say on which node the row is, but the entries of a global index on
 * email do. So the distribution column is compared with what they say:
 *		email = $1 AND customer = (SELECT row_key FROM entries WHERE k1 = $1)
 * Core makes an initplan of the subquery, which has at most one row, and prunes partitions by its value when
 * the statement is executed. So two nodes are asked, one after the other, instead of all at once; what costs less is
 * decided here, before anything else is planned.
 *
 * What is added follows from the condition beside it, as long as each row with the value has an entry. That is
 * not so for rows whose distribution column is NULL, nor while a statement around this one writes to such a table, nor
 * after a foreign key's cascade: then the plan is made again (executor/join/copied_joins.c). The node checks the whole
 * condition, so an entry whose row is gone finds nothing.
 *
 * Lists of values are another matter (index_lists.c).
 *
 * Entries are read with the rights, and over the connections, that they are written with. Who may read the table is
 * checked as before.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "foreign/foreign.h"
#include "nodes/bitmapset.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteManip.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/shuttle_copied_entries.h"
#include "planner/facts/batch_cost.h"
#include "planner/rewrite/index_lookups.h"
#include "planner/rewrite/rewrite.h"
#include "tablets/shuttle_global.h"

/* A statement to which conditions are added. */
typedef struct Adding
{
	Query	   *whole;
	Query	   *kept;			/* as it was before; NULL: nothing was added */
} Adding;

/* ---- conditions */

bool
shuttle_index_value_is_known(Node *node)
{
	const FuncExpr *call;

	node = shuttle_meaning_without_relabels(node);
	call = (const FuncExpr *) node;
	if (IsA(node, FuncExpr) && (call->funcid == F_LOWER_TEXT || call->funcid == F_UPPER_TEXT))
		return shuttle_index_value_is_known(linitial(call->args));
	return IsA(node, Const) || (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN);
}

bool
shuttle_index_is_column(Node *node, int rtindex, AttrNumber number)
{
	const Var  *var = (const Var *) shuttle_meaning_without_relabels(node);

	return var != NULL && IsA(var, Var) && var->varno == rtindex && var->varlevelsup == 0 && var->varattno == number;
}

/* The side of an equality of a family that is known; NULL: it is none. *operator: with that side on the right. */
static Node *
known_side(Node *clause, Oid opfamily, Oid collation, Node **other)
{
	const OpExpr *op = (const OpExpr *) clause;
	bool		is_right;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 ||
		shuttle_meaning_is_users_operator(clause) ||
		(OidIsValid(collation) && op->inputcollid != collation) ||
		get_op_opfamily_strategy(op->opno, opfamily) != BTEqualStrategyNumber)
		return NULL;
	is_right = shuttle_index_value_is_known(lsecond(op->args));
	if (!is_right && !shuttle_index_value_is_known(linitial(op->args)))
		return NULL;
	*other = is_right ? linitial(op->args) : lsecond(op->args);
	return is_right ? lsecond(op->args) : linitial(op->args);
}

Node *
shuttle_index_replace_node(Node *node, void *arg)
{
	Node	  **nodes = arg;

	if (node == nodes[0])
		return nodes[1];
	return expression_tree_mutator(node, shuttle_index_replace_node, arg);
}

/* What an index's column is computed from, in the table's entry. */
static Node *
expression_of(const ShuttleLookedUp *table, Relation index, int column)
{
	List	   *expressions = RelationGetIndexExpressions(index);
	Node	   *expression;
	int			nbefore = 0;

	for (int i = 0; i < column; i++)
		nbefore += index->rd_index->indkey.values[i] == 0;
	expression = copyObject(list_nth(expressions, nbefore));
	ChangeVarNodes(expression, 1, table->rtindex, 0);
	return expression;
}

/* The condition on the index's entries that one on its column is; NULL: there is none. */
static Node *
find_condition(const ShuttleLookedUp *table, Relation index, int column, Relation entries)
{
	AttrNumber	number = index->rd_index->indkey.values[column];
	Node	   *expression = number == 0 ? expression_of(table, index, column) : NULL;
	const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(entries), column);
	ListCell   *cell;

	foreach(cell, table->clauses)
	{
		Node	   *other;
		Node	   *nodes[2];

		if (known_side(lfirst(cell), index->rd_opfamily[column], index->rd_indcollation[column], &other) == NULL)
			continue;
		nodes[0] = number != 0 ? shuttle_meaning_without_relabels(other) : other;
		if (number != 0 ? !shuttle_index_is_column(other, table->rtindex, number) : !equal(other, expression))
			continue;
		nodes[1] = (Node *) makeVar(1, column + 1, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
		return shuttle_index_replace_node(lfirst(cell), nodes);
	}
	return NULL;
}

static List *
find_conditions(const ShuttleLookedUp *table, Relation index, Relation entries)
{
	List	   *predicate = copyObject(RelationGetIndexPredicate(index));
	List	   *conditions = NIL;

	ChangeVarNodes((Node *) predicate, 1, table->rtindex, 0);
	if (predicate != NIL && !predicate_implied_by(predicate, table->clauses, false))
		return NIL;
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		Node	   *condition = find_condition(table, index, i, entries);

		if (condition == NULL)
			return NIL;
		conditions = lappend(conditions, condition);
	}
	return conditions;
}

/* ---- the subquery */

RangeTblEntry *
shuttle_index_make_entry(Query *query, Relation entries)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RTEPermissionInfo *permission;
	List	   *names = NIL;

	for (int i = 0; i < RelationGetNumberOfAttributes(entries); i++)
		names = lappend(names, makeString(pstrdup(NameStr(TupleDescAttr(RelationGetDescr(entries), i)->attname))));
	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(entries);
	rte->relkind = entries->rd_rel->relkind;
	rte->rellockmode = AccessShareLock;
	rte->inh = rte->inFromCl = true;
	rte->eref = makeAlias(RelationGetRelationName(entries), names);
	permission = shuttle_add_permission(query, rte);
	permission->requiredPerms = ACL_SELECT;
	permission->checkAsUser = BOOTSTRAP_SUPERUSERID;
	return rte;
}

/* SELECT row_key FROM entries WHERE conditions */
static SubLink *
make_subquery(Relation entries, List *conditions)
{
	int			nentries = RelationGetNumberOfAttributes(entries);
	const FormData_pg_attribute *key = TupleDescAttr(RelationGetDescr(entries), nentries - 1);
	Query	   *query = makeNode(Query);
	SubLink    *sublink = makeNode(SubLink);
	RangeTblRef *reference = makeNode(RangeTblRef);
	Var		   *column = makeVar(1, nentries, key->atttypid, key->atttypmod, key->attcollation, 0);

	reference->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(shuttle_index_make_entry(query, entries));
	query->jointree = makeFromExpr(list_make1(reference), (Node *) make_ands_explicit(conditions));
	query->targetList = list_make1(makeTargetEntry((Expr *) column, 1, pstrdup(NameStr(key->attname)), false));
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	return sublink;
}

Expr *
shuttle_index_relabelled(Node *node, Oid type)
{
	return exprType(node) == type ? (Expr *) node :
		(Expr *) makeRelabelType((Expr *) node, type, -1, exprCollation(node), COERCE_IMPLICIT_CAST);
}

/* column = (subquery); NULL: partitions are not compared like that. */
static Expr *
compare_key(const ShuttleLookedUp *table, SubLink *sublink)
{
	const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(table->rel), table->key - 1);
	Oid			operator = lookup_type_cache(attribute->atttypid, TYPECACHE_EQ_OPR)->eq_opr;
	Var		   *column = makeVar(table->rtindex, table->key, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
	Oid			left;
	Oid			right;

	op_input_types(operator, &left, &right);
	if ((attribute->atttypid != left && !IsBinaryCoercible(attribute->atttypid, left)) || left != right ||
		get_op_opfamily_strategy(operator, RelationGetPartitionKey(table->rel)->partopfamily[0]) != HTEqualStrategyNumber)
		return NULL;
	return make_opclause(operator, BOOLOID, false, shuttle_index_relabelled((Node *) column, left), shuttle_index_relabelled((Node *) sublink, right),
						 InvalidOid, attribute->attcollation);
}

/* ---- tables */

/* True if the conditions say where the rows are, or nothing else needs to. */
static bool
has_place(const ShuttleLookedUp *table)
{
	const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(table->rel), table->key - 1);
	ListCell   *cell;

	if (!shuttle_column_is_not_null(RelationGetDescr(table->rel), table->key - 1) || getBaseType(attribute->atttypid) != attribute->atttypid)
		return true;
	foreach(cell, table->clauses)
	{
		const Node *clause = lfirst(cell);
		const List *args = IsA(clause, OpExpr) ? ((const OpExpr *) clause)->args :
			IsA(clause, ScalarArrayOpExpr) ? ((const ScalarArrayOpExpr *) clause)->args : NIL;

		if (list_length(args) == 2 && (shuttle_index_is_column(linitial(args), table->rtindex, table->key) ||
									   shuttle_index_is_column(lsecond(args), table->rtindex, table->key)))
			return true;
	}
	return false;
}

/* Values are spread at random. */
bool
shuttle_index_is_cheap(Relation rel, double nvalues)
{
	PartitionDesc parts = RelationGetPartitionDesc(rel, false);
	double		nasked;

	if (parts->nparts == 0 || get_rel_relkind(parts->oids[0]) != RELKIND_FOREIGN_TABLE)
		return false;
	nasked = parts->nparts * (1 - pow(1 - 1.0 / parts->nparts, nvalues));
	return shuttle_batch_cost_prefers_places(GetForeignTable(parts->oids[0])->serverid, parts->nparts, 2 * nasked);
}

/* The condition that an index adds; NULL: none. */
static Expr *
look_up(const ShuttleLookedUp *table, Oid indexid, Oid entriesid)
{
	Relation	index = index_open(indexid, AccessShareLock);
	Relation	entries = table_open(entriesid, AccessShareLock);

	/* of a deferrable one, entries may be doubled for a while */
	List	   *conditions = index->rd_index->indimmediate ? find_conditions(table, index, entries) : NIL;
	Expr	   *added = conditions == NIL ? NULL : compare_key(table, make_subquery(entries, conditions));

	table_close(entries, NoLock);
	index_close(index, NoLock);
	return added;
}

Relation
shuttle_index_open_table(const Query *query, int rtindex, List *clauses, ShuttleLookedUp *table)
{
	const RangeTblEntry *rte = rt_fetch(rtindex, query->rtable);

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_PARTITIONED_TABLE || !rte->inh ||
		rte->securityQuals != NIL || rte->tablesample != NULL || !shuttle_global_indexes_exist(rte->relid))
		return NULL;
	table->rtindex = rtindex;
	table->clauses = clauses;
	table->rel = table_open(rte->relid, AccessShareLock);
	table->key = RelationGetPartitionKey(table->rel)->partattrs[0];
	if (!has_place(table))
		return table->rel;
	table_close(table->rel, NoLock);
	return NULL;
}

/* What the global indexes of a table add to conditions that are met together; NULL: nothing. */
static Expr *
find_added(const Query *query, int rtindex, List *clauses)
{
	ShuttleLookedUp table;
	List	   *entries;
	Expr	   *added = NULL;

	if (shuttle_index_open_table(query, rtindex, clauses, &table) == NULL)
		return NULL;
	entries = shuttle_index_is_cheap(table.rel, 1) ? shuttle_global_index_entries(RelationGetRelid(table.rel)) : NIL;
	for (int i = 0; added == NULL && i < list_length(entries); i += 2)
	{
		/* entries that a dump has restored wait for their index */
		if (list_member_oid(RelationGetIndexList(table.rel), list_nth_oid(entries, i)))
			added = look_up(&table, list_nth_oid(entries, i), list_nth_oid(entries, i + 1));
	}
	table_close(table.rel, NoLock);
	return added;
}

/* ---- queries */

List *
shuttle_index_simplified(Node *quals)
{
	return make_ands_implicit((Expr *) canonicalize_qual((Expr *) eval_const_expressions(NULL, copyObject(quals)), false));
}

static void
keep_query(void *arg)
{
	Adding	   *adding = arg;

	if (adding->kept == NULL)
		adding->kept = copyObject(adding->whole);
}

/*
 * tables: those from whose rows the conditions take away. What is added is true of no row of NULLs, so of a table that
 * is nullable, an outer join can have made NULL, the conditions themselves must not be, either.
 */
static void
add_to_quals(Adding *adding, Query *query, Node **quals, Relids tables, Relids nullable)
{
	List	   *clauses;
	int			rtindex = -1;

	if (*quals == NULL)
		return;
	clauses = shuttle_index_simplified(*quals);
	nullable = bms_difference(nullable, find_nonnullable_rels((Node *) clauses));
	tables = bms_difference(tables, nullable);
	while ((rtindex = bms_next_member(tables, rtindex)) >= 0)
	{
		Expr	   *added = find_added(query, rtindex, clauses);

		if (added == NULL)
			continue;
		keep_query(adding);
		*quals = (Node *) makeBoolExpr(AND_EXPR, list_make2(*quals, added), -1);
		query->hasSubLinks = true;
	}
}

static Relids add_to_jointree(Adding *adding, Query *query, Node *node, Relids *nullable);

/* The condition of an outer join takes away from one side only. */
static Relids
add_to_join(Adding *adding, Query *query, JoinExpr *join, Relids *nullable)
{
	Relids		left = add_to_jointree(adding, query, join->larg, nullable);
	Relids		right = add_to_jointree(adding, query, join->rarg, nullable);
	Relids		tables = bms_union(left, right);

	switch (join->jointype)
	{
		case JOIN_INNER:
			add_to_quals(adding, query, &join->quals, tables, *nullable);
			break;
		case JOIN_LEFT:
			add_to_quals(adding, query, &join->quals, right, *nullable);
			*nullable = bms_add_members(*nullable, right);
			break;
		case JOIN_RIGHT:
			add_to_quals(adding, query, &join->quals, left, *nullable);
			*nullable = bms_add_members(*nullable, left);
			break;
		default:
			*nullable = bms_add_members(*nullable, tables);
			break;
	}
	return tables;
}

static void
add_lists(Adding *adding, Query *query, FromExpr *from, Relids tables)
{
	int			rtindex = -1;

	while (from->quals != NULL && (rtindex = bms_next_member(tables, rtindex)) >= 0)
		(void) shuttle_index_lists_join(query, from, rtindex, keep_query, adding);
}

/* Returns the tables; *nullable: those that an outer join can make NULL are added. */
static Relids
add_to_jointree(Adding *adding, Query *query, Node *node, Relids *nullable)
{
	Relids		tables = NULL;
	FromExpr   *from = (FromExpr *) node;
	ListCell   *cell;

	if (IsA(node, RangeTblRef))
		return bms_make_singleton(((RangeTblRef *) node)->rtindex);
	if (IsA(node, JoinExpr))
		return add_to_join(adding, query, (JoinExpr *) node, nullable);
	foreach(cell, from->fromlist)
		tables = bms_add_members(tables, add_to_jointree(adding, query, lfirst(cell), nullable));
	add_to_quals(adding, query, &from->quals, tables, *nullable);
	add_lists(adding, query, from, bms_difference(tables, *nullable));
	return tables;
}

/* Returns false, so that all queries are walked. arg: Adding. */
static bool
add_to_queries(Node *node, void *arg)
{
	Query	   *query = (Query *) node;
	Relids		nullable = NULL;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, add_to_queries, arg);
	(void) shuttle_walk_queries_below(query, add_to_queries, arg);
	if (query->commandType != CMD_MERGE && query->commandType != CMD_UTILITY)
		(void) add_to_jointree(arg, query, (Node *) query->jointree, &nullable);
	return false;
}

/* True of a query in which add_to_queries() has something to look at. */
static bool
reads_indexed_table(Node *node, void *arg)
{
	ListCell   *cell;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, reads_indexed_table, arg);
	foreach(cell, ((Query *) node)->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE && shuttle_global_indexes_exist(rte->relid))
			return true;
	}
	return shuttle_walk_queries_below((Query *) node, reads_indexed_table, arg);
}

/*
 * Entries say where rows are as long as nothing moves these before they are read. So no entries are read by a cursor or
 * a loop, which lets others write between its rows; only what runs to its end at once may run in parallel. A statement
 * that writes in WITH would read entries after it has changed them.
 */
static bool
runs_unchanged(Query *query, ShuttlePlanCall call)
{
	return (call.cursor_options & CURSOR_OPT_PARALLEL_OK) != 0 && !query->hasModifyingCTE &&
		shuttle_copied_entries_are_allowed() && !shuttle_expression_may_write(query);
}

PlannedStmt *
shuttle_index_lookups_plan(Query *query, ShuttlePlanCall call)
{
	Adding		adding = {.whole = query};
	PlannedStmt *statement;

	if (query->commandType == CMD_UTILITY || !enable_partition_pruning ||
		!reads_indexed_table((Node *) query, NULL) || !runs_unchanged(query, call))
		return shuttle_plan_rest(query, call);
	(void) add_to_queries((Node *) query, &adding);
	statement = shuttle_plan_rest(query, call);
	if (adding.kept != NULL)
		shuttle_copied_entries_keep_query(statement, adding.kept);
	return statement;
}

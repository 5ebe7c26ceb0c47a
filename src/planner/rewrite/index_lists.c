/*-------------------------------------------------------------------------
 * index_lists.c
 *	  Rows that are found by lists of values of a global unique index.
 *
 * Of a condition such as email = ANY ($1), entries of an index on email say where the rows are. So they are joined:
 *		FROM person JOIN entries ON person.customer = entries.row_key AND person.email = entries.k1
 *		WHERE entries.k1 = ANY ($1)
 * Each value has one entry and one row at most, so the join has the rows that the condition had. A batched join asks
 * for all entries at once, and then the tablets that have rows, each for all of its own.
 *
 * The condition itself is left out: it follows from that on entries, and without it no plan reads all tablets first. When
 * entries may not be read, the plan is made again from the query as it was (index_lookups.c).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_meanings.h"
#include "planner/rewrite/index_lookups.h"
#include "tablets/shuttle_global.h"

/* As many values a parameter is taken to have. */
#define VALUES_OF_PARAM 10

/* What joins a table with the entries of one index. */
typedef struct ListJoin
{
	const ShuttleLookedUp *table;
	int			entries;		/* number in the range table */
	List	   *used;			/* conditions that follow from those below */
	List	   *conditions;		/* on entries, and on both */
	double		nkeys;			/* values that are asked for, or so; 0: one by
								 * one, without lists */
} ListJoin;

/* ---- conditions */

/* How many values an array has, or so; -1: that cannot be computed at any time. */
static double
count_values(Node *array)
{
	const ArrayExpr *list = (const ArrayExpr *) array;
	ListCell   *cell;

	if (IsA(array, Const))
		return ((Const *) array)->constisnull ? 0 :
			ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(((Const *) array)->constvalue)),
						   ARR_DIMS(DatumGetArrayTypeP(((Const *) array)->constvalue)));
	if (!IsA(array, ArrayExpr))
		return shuttle_index_value_is_known(array) ? VALUES_OF_PARAM : -1;
	foreach(cell, list->elements)
	{
		if (!shuttle_index_value_is_known(lfirst(cell)))
			return -1;
	}
	return list->multidims ? -1 : list_length(list->elements);
}

/* True of column = value or column = ANY (values) by an operator of a family. */
static bool
is_equality(const ListJoin *join, Node *clause, AttrNumber number, Oid opfamily, Oid collation, double *nvalues)
{
	const ScalarArrayOpExpr *any = (const ScalarArrayOpExpr *) clause;
	const OpExpr *op = (const OpExpr *) clause;
	bool		is_list = IsA(clause, ScalarArrayOpExpr) && any->useOr;
	const List *args = is_list ? any->args : IsA(clause, OpExpr) ? op->args : NIL;

	if (list_length(args) != 2 || !shuttle_index_is_column(linitial(args), join->table->rtindex, number) ||
		shuttle_meaning_is_users_operator(clause) ||
		(OidIsValid(collation) && (is_list ? any->inputcollid : op->inputcollid) != collation) ||
		get_op_opfamily_strategy(is_list ? any->opno : op->opno, opfamily) != BTEqualStrategyNumber)
		return false;
	if (is_list)
		*nvalues = count_values(lsecond(args));
	else
		*nvalues = shuttle_index_value_is_known(lsecond(args)) ? 0 : -1;
	return *nvalues >= 0;
}

static Expr *
equal_columns(const ListJoin *join, AttrNumber number, const FormData_pg_attribute *entry, Oid operator, Oid input, Oid collation)
{
	const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(join->table->rel), number - 1);
	Var		   *column = makeVar(join->table->rtindex, number, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
	Var		   *value = makeVar(join->entries, entry->attnum, entry->atttypid, entry->atttypmod, entry->attcollation, 0);

	return make_opclause(operator, BOOLOID, false, shuttle_index_relabelled((Node *) column, input),
						 shuttle_index_relabelled((Node *) value, input), InvalidOid, collation);
}

/* Adds what says which values a column of the index has; false: nothing does. */
static bool
add_column(ListJoin *join, Relation index, int column, Relation entries)
{
	AttrNumber	number = index->rd_index->indkey.values[column];
	Oid			input = index->rd_opcintype[column];
	Oid			operator = get_opfamily_member(index->rd_opfamily[column], input, input, BTEqualStrategyNumber);
	const FormData_pg_attribute *entry = TupleDescAttr(RelationGetDescr(entries), column);
	ListCell   *cell;

	foreach(cell, number == 0 || !OidIsValid(operator) || IsPolymorphicType(input) ? NIL : join->table->clauses)
	{
		Node	   *clause = lfirst(cell);
		Node	   *nodes[2];
		double		nvalues;

		if (!is_equality(join, clause, number, index->rd_opfamily[column], index->rd_indcollation[column], &nvalues))
			continue;
		nodes[0] = shuttle_meaning_without_relabels(linitial(IsA(clause, OpExpr) ? ((OpExpr *) clause)->args :
															 ((ScalarArrayOpExpr *) clause)->args));
		nodes[1] = (Node *) makeVar(join->entries, column + 1, entry->atttypid, entry->atttypmod, entry->attcollation, 0);
		join->used = lappend(join->used, clause);
		join->nkeys = nvalues == 0 ? join->nkeys : Max(join->nkeys, 1) * nvalues;
		join->conditions = lappend(join->conditions, shuttle_index_replace_node(clause, nodes));
		join->conditions = lappend(join->conditions,
								   equal_columns(join, number, entry, operator, input, index->rd_indcollation[column]));
		return true;
	}
	return false;
}

static bool
add_key(ListJoin *join, Relation entries)
{
	const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(join->table->rel), join->table->key - 1);
	Oid			operator = lookup_type_cache(attribute->atttypid, TYPECACHE_EQ_OPR)->eq_opr;
	Oid			left;
	Oid			right;

	op_input_types(operator, &left, &right);
	if (left != right || IsPolymorphicType(left))
		return false;
	join->conditions = lappend(join->conditions,
							   equal_columns(join, join->table->key,
											 TupleDescAttr(RelationGetDescr(entries), RelationGetNumberOfAttributes(entries) - 1),
											 operator, left, attribute->attcollation));
	return true;
}

/* ---- indexes */

static bool
uses_index(ListJoin *join, Relation index, Relation entries)
{
	if (!index->rd_index->indimmediate || RelationGetIndexPredicate(index) != NIL)
		return false;
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		if (!add_column(join, index, i, entries))
			return false;
	}
	return join->nkeys > 0 && shuttle_index_is_cheap(join->table->rel, join->nkeys) && add_key(join, entries);
}

/* Conditions without those that follow from others. */
static Node *
without(Node *quals, const List *used)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, make_ands_implicit((Expr *) quals))
	{
		List	   *parts = shuttle_index_simplified(lfirst(cell));

		if (list_length(parts) != 1 || !list_member(used, linitial(parts)))
			kept = lappend(kept, lfirst(cell));
	}
	return (Node *) make_ands_explicit(kept);
}

static void
join_entries(Query *query, FromExpr *from, const ListJoin *join, Relation entries)
{
	RangeTblRef *reference = makeNode(RangeTblRef);

	reference->rtindex = join->entries;
	query->rtable = lappend(query->rtable, shuttle_index_make_entry(query, entries));
	from->fromlist = lappend(from->fromlist, reference);
	from->quals = without(from->quals, join->used);
	from->quals = (Node *) makeBoolExpr(AND_EXPR, lcons(from->quals, join->conditions), -1);
}

/* True of a query whose rows may be those of a join. */
static bool
is_plain(const Query *query)
{
	return query->commandType == CMD_SELECT && query->rowMarks == NIL;
}

bool
shuttle_index_lists_join(Query *query, FromExpr *from, int rtindex, void (*keep) (void *arg), void *arg)
{
	ShuttleLookedUp table;
	List	   *indexes = NIL;
	bool		joined = false;

	if (!is_plain(query) || shuttle_index_open_table(query, rtindex, shuttle_index_simplified(from->quals), &table) == NULL)
		return false;
	indexes = shuttle_global_index_entries(RelationGetRelid(table.rel));
	for (int i = 0; !joined && i < list_length(indexes); i += 2)
	{
		ListJoin	join = {.table = &table,.entries = list_length(query->rtable) + 1};
		Relation	index;
		Relation	entries;

		if (!list_member_oid(RelationGetIndexList(table.rel), list_nth_oid(indexes, i)))
			continue;
		index = index_open(list_nth_oid(indexes, i), AccessShareLock);
		entries = table_open(list_nth_oid(indexes, i + 1), AccessShareLock);
		joined = uses_index(&join, index, entries);
		if (joined)
		{
			keep(arg);
			join_entries(query, from, &join, entries);
		}
		table_close(entries, NoLock);
		index_close(index, NoLock);
	}
	table_close(table.rel, NoLock);
	return joined;
}

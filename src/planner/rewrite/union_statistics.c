/*-------------------------------------------------------------------------
 * union_statistics.c
 *	  Statistics of reference tables whose columns all branches of a UNION ALL
 *	  return.
 *
 * A UNION ALL has no statistics. If each branch returns the same column of the same
 * reference table, as with joins that have been moved into branches (union_joins.c), those
 * of the table tell how many values there are.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/syscache.h"

#include "planner/rewrite/rewrite.h"
#include "tablets/shuttle_tablets.h"

/* A column of a reference table; relid: InvalidOid until it is known. */
typedef struct Source
{
	Oid			relid;
	AttrNumber	column;
} Source;

static bool find_in_query(Query *query, AttrNumber number, Source *source);

/* Finds the column behind a column of a query's entry. Returns false if there is
 * none, or another one than before. */
static bool
find_in_entry(const RangeTblEntry *rte, AttrNumber number, Source *source)
{
	if (rte->security_barrier || rte->securityQuals != NIL)
		return false;
	if (rte->rtekind == RTE_SUBQUERY)
		return find_in_query(rte->subquery, number, source);
	if (rte->rtekind != RTE_RELATION || number <= 0 ||
		shuttle_table_kind(rte->relid) != SHUTTLE_TABLE_REFERENCE)
		return false;
	if (!OidIsValid(source->relid))
	{
		source->relid = rte->relid;
		source->column = number;
	}
	return source->relid == rte->relid && source->column == number;
}

static bool
find_in_operation(const Query *query, Node *node, AttrNumber number, Source *source)
{
	const SetOperationStmt *operation = (const SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return find_in_entry(rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable), number,
							 source);
	return find_in_operation(query, operation->larg, number, source) &&
		find_in_operation(query, operation->rarg, number, source);
}

static bool
find_in_query(Query *query, AttrNumber number, Source *source)
{
	const TargetEntry *entry;
	const Var  *column;

	if (query->setOperations != NULL)
		return find_in_operation(query, query->setOperations, number, source);
	entry = get_tle_by_resno(query->targetList, number);
	if (entry == NULL || !IsA(entry->expr, Var) || query->groupClause != NIL ||
		query->groupingSets != NIL || query->distinctClause != NIL)
		return false;
	column = (const Var *) entry->expr;
	return column->varlevelsup == 0 &&
		find_in_entry(rt_fetch(column->varno, query->rtable), column->varattno, source);
}

/* The table's statistics, with a number of values instead of their part of its rows. */
static HeapTuple
copy_statistics(const Source *source)
{
	HeapTuple	found = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(source->relid),
										Int16GetDatum(source->column), BoolGetDatum(false));
	HeapTuple	class;
	HeapTuple	copy;
	Form_pg_statistic form;

	if (!HeapTupleIsValid(found))
		return NULL;
	copy = heap_copytuple(found);
	ReleaseSysCache(found);
	form = (Form_pg_statistic) GETSTRUCT(copy);
	class = SearchSysCache1(RELOID, ObjectIdGetDatum(source->relid));
	if (HeapTupleIsValid(class))
	{
		if (form->stadistinct < 0)
			form->stadistinct *= -((Form_pg_class) GETSTRUCT(class))->reltuples;
		ReleaseSysCache(class);
	}
	return copy;
}

bool
shuttle_union_statistics(RangeTblEntry *rte, AttrNumber attnum, VariableStatData *variable)
{
	Source		source = {0};

	if (rte->rtekind != RTE_SUBQUERY || !rte->inh || attnum <= 0 ||
		rte->subquery->setOperations == NULL ||
		!find_in_query(rte->subquery, attnum, &source))
		return false;
	variable->statsTuple = copy_statistics(&source);
	if (variable->statsTuple == NULL)
		return false;
	variable->freefunc = heap_freetuple;
	variable->acl_ok = pg_class_aclcheck(source.relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(source.relid, source.column, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
	return true;
}

/*-------------------------------------------------------------------------
 * uncounted_tables.c
 *	  Sizes of foreign tables that have no statistics here.
 *
 * postgres_fdw takes ten pages for a table that was never analyzed. That may be wrong by
 * any factor, so a plan could read a large table again for each row of another one. The
 * first such table that is planned has the nodes of all of them in the statement asked.
 *
 * A statement that reads one table, without groups, has nothing to choose by its size,
 * and asks nothing.
 *
 * In a query level whose tables core knows already, only partitions that are not pruned
 * count; of other levels all.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_row_counts.h"
#include "planner/facts/written_tables.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"

typedef struct Collected
{
	List	   *tables;			/* of ShuttleUncounted */
	List	   *levels;			/* range tables that are not walked */
} Collected;

/* By pg_class: never analyzed, or when it was empty. */
static bool
lacks_statistics(double rows, double pages)
{
	return rows < 0 || (rows == 0 && pages == 0);
}

static bool
is_choice(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return root->parent_root != NULL || query->hasSubLinks || query->cteList != NIL ||
		query->hasAggs || query->groupClause != NIL || query->distinctClause != NIL ||
		bms_membership(root->all_baserels) == BMS_MULTIPLE;
}

/* ---- which tables */

static void
add_table(Collected *all, Oid relid, Oid serverid, Oid userid)
{
	const ShuttleTableOptions *options = shuttle_option_cache_parsed(serverid, relid);
	ShuttleUncounted *table;
	const char *schema = options->schema_name;
	const char *name = options->table_name;

	if (!OidIsValid(userid))
		userid = GetUserId();
	if (options->remote_estimate || !shuttle_row_count_is_missing(relid, serverid, userid))
		return;
	if (schema == NULL)
		schema = get_namespace_name(get_rel_namespace(relid));
	if (name == NULL)
		name = get_rel_name(relid);
	if (schema == NULL || name == NULL)
		return;
	table = palloc0_object(ShuttleUncounted);
	table->relid = relid;
	table->serverid = serverid;
	table->userid = userid;
	table->schema = pstrdup(schema);
	table->name = pstrdup(name);
	all->tables = lappend(all->tables, table);
}

/* A table that core does not know yet, and that may not be locked. */
static void
add_unplanned(Collected *all, Oid relid, Oid userid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	HeapTuple	foreign;
	bool		wanted;
	Oid			serverid;

	if (!HeapTupleIsValid(tuple))
		return;
	wanted = ((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_FOREIGN_TABLE &&
		lacks_statistics(((Form_pg_class) GETSTRUCT(tuple))->reltuples,
						 ((Form_pg_class) GETSTRUCT(tuple))->relpages);
	ReleaseSysCache(tuple);
	foreign = wanted ? SearchSysCache1(FOREIGNTABLEREL, ObjectIdGetDatum(relid)) : NULL;
	if (!HeapTupleIsValid(foreign))
		return;
	serverid = ((Form_pg_foreign_table) GETSTRUCT(foreign))->ftserver;
	ReleaseSysCache(foreign);
	if (shuttle_server_is_ours(serverid))
		add_table(all, relid, serverid, userid);
}

static bool
add_query(Node *node, Collected *all)
{
	Query	   *query = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, add_query, all);
	foreach(lc, list_member_ptr(all->levels, query) ? NIL : query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		ListCell   *child;

		if (rte->rtekind != RTE_RELATION || !shuttle_entry_has_user(rte))
			continue;
		if (rte->relkind == RELKIND_FOREIGN_TABLE)
			add_unplanned(all, rte->relid, shuttle_entry_user(query, rte));
		if (rte->inh && rte->relkind != RELKIND_FOREIGN_TABLE)
		{
			foreach(child, find_all_inheritors(rte->relid, NoLock, NULL))
				add_unplanned(all, lfirst_oid(child), shuttle_entry_user(query, rte));
		}
	}
	return query_tree_walker(query, add_query, all, 0);
}

/* The tables of a level that core knows. */
static void
add_level(Collected *all, const PlannerInfo *root)
{
	all->levels = lappend(all->levels, root->parse);
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL || rel->rtekind != RTE_RELATION || rel->fdwroutine == NULL ||
			!shuttle_server_routine_is_ours(rel->fdwroutine) || IS_DUMMY_REL(rel) ||
			!lacks_statistics(rel->tuples, rel->pages))
			continue;
		add_table(all, root->simple_rte_array[i]->relid, rel->serverid, rel->userid);
	}
}

/* ---- sizes */

static void
ask_for_statement(PlannerInfo *root)
{
	Collected	all = {NIL, NIL};

	for (const PlannerInfo *level = root; level != NULL; level = level->parent_root)
	{
		if (level->simple_rel_array != NULL)
			add_level(&all, level);
	}
	(void) add_query((Node *) shuttle_written_find_statement(root), &all);
	shuttle_row_counts_ask(all.tables);
}

void
shuttle_uncounted_table_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	Oid			userid = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	double		rows;
	double		pages;

	if (!lacks_statistics(rel->tuples, rel->pages) || !shuttle_settings.enable_row_counts ||
		!is_choice(root) || shuttle_remote_paths_have_estimate(root, rel))
		return;
	if (!IsParallelWorker() && shuttle_row_count_is_missing(relid, rel->serverid, userid))
		ask_for_statement(root);
	if (!shuttle_row_count_find(relid, &rows, &pages))
		return;
	rel->tuples = rows;
	rel->pages = (BlockNumber) Min(pages, MaxBlockNumber);
}

/* ---- distinct values of columns */

/* The statistics of a table's column, with nothing but a count. */
static HeapTuple
make_statistics(Oid relid, AttrNumber attribute, bool inherited, const ShuttleColumnCount *column)
{
	Datum		values[Natts_pg_statistic] = {0};
	bool		nulls[Natts_pg_statistic] = {false};
	Relation	catalog = table_open(StatisticRelationId, AccessShareLock);
	HeapTuple	tuple;

	values[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(relid);
	values[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(attribute);
	values[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(inherited);
	values[Anum_pg_statistic_stanullfrac - 1] = Float4GetDatum(column->null_fraction);
	values[Anum_pg_statistic_stadistinct - 1] = Float4GetDatum(column->distinct_values);
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		nulls[Anum_pg_statistic_stanumbers1 - 1 + i] = true;
		nulls[Anum_pg_statistic_stavalues1 - 1 + i] = true;
	}
	tuple = heap_form_tuple(RelationGetDescr(catalog), values, nulls);
	table_close(catalog, AccessShareLock);
	return tuple;
}

static bool
			find_column(PlannerInfo *root, Index relid, AttrNumber attribute, ShuttleColumnCount *column);

/*
 * A parent's column by those of its children: fractions of rows stay what they are, and
 * values are taken to be the same in all children.
 */
static bool
find_parent_column(PlannerInfo *root, Index relid, AttrNumber attribute,
				   ShuttleColumnCount *column)
{
	int			nchildren = 0;
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		ShuttleColumnCount child;
		const Var  *var;

		if (info->parent_relid != relid)
			continue;
		var = list_nth(info->translated_vars, attribute - 1);
		if (var == NULL || !IsA(var, Var) ||
			!find_column(root, info->child_relid, var->varattno, &child))
			return false;
		if (nchildren++ == 0)
			*column = child;
		else if (column->distinct_values > 0 && child.distinct_values > 0)
			column->distinct_values = Max(column->distinct_values, child.distinct_values);
		else
			column->distinct_values = Min(column->distinct_values, child.distinct_values);
	}
	return nchildren > 0;
}

static bool
find_column(PlannerInfo *root, Index relid, AttrNumber attribute, ShuttleColumnCount *column)
{
	const RangeTblEntry *rte = planner_rt_fetch(relid, root);

	if (rte->rtekind != RTE_RELATION)
		return false;
	return rte->relkind == RELKIND_FOREIGN_TABLE ?
		shuttle_row_counts_find_column(rte->relid, attribute, column) :
		rte->inh && find_parent_column(root, relid, attribute, column);
}

typedef struct RangeContext
{
	Index		relid;
	AttrNumber	attribute;
} RangeContext;

static bool
find_range(Node *node, RangeContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, OpExpr))
	{
		RegProcedure estimator = get_oprrest(((OpExpr *) node)->opno);
		Bitmapset  *columns = NULL;

		if (estimator == F_SCALARLTSEL || estimator == F_SCALARLESEL ||
			estimator == F_SCALARGTSEL || estimator == F_SCALARGESEL)
			pull_varattnos(node, context->relid, &columns);
		if (bms_is_member(context->attribute - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	}
	return expression_tree_walker(node, find_range, context);
}

/* Core has no default for ranges of a column that has statistics but no histogram. */
static bool
has_range(const RelOptInfo *rel, AttrNumber attribute)
{
	RangeContext context = {.relid = rel->relid,.attribute = attribute};

	return find_range((Node *) extract_actual_clauses(rel->baserestrictinfo, false), &context);
}

bool
shuttle_uncounted_column(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attribute,
						 VariableStatData *variable)
{
	ShuttleColumnCount column;

	if (!shuttle_row_counts_are_known() || !shuttle_settings.enable_row_counts ||
		attribute <= 0 || root->simple_rte_array == NULL ||
		(rte->relkind != RELKIND_FOREIGN_TABLE && rte->relkind != RELKIND_PARTITIONED_TABLE) ||
		SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
							  Int16GetDatum(attribute), BoolGetDatum(rte->inh)))
		return false;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rte_array[i] != rte || root->simple_rel_array[i] == NULL ||
			!find_column(root, i, attribute, &column))
			continue;
		if (column.distinct_values == -1)
			variable->isunique = true;
		if (column.distinct_values == -1 || has_range(root->simple_rel_array[i], attribute))
			return false;
		variable->statsTuple = make_statistics(rte->relid, attribute, rte->inh, &column);
		variable->freefunc = heap_freetuple;
		return true;
	}
	return false;
}

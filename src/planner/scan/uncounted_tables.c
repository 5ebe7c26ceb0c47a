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
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"
#include "planner/statement/statement.h"

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
	const ShuttleTableOptions *options = shuttle_cluster_table_options(serverid, relid);
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
			!shuttle_foreign_is_ours(rel->fdwroutine) || IS_DUMMY_REL(rel) ||
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
	(void) add_query((Node *) shuttle_find_statement(root), &all);
	shuttle_row_counts_ask(all.tables);
}

void
shuttle_uncounted_table_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	Oid			userid = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	double		rows;
	double		pages;

	if (!lacks_statistics(rel->tuples, rel->pages) || !shuttle_settings.enable_row_counts ||
		!is_choice(root) || shuttle_has_remote_estimate(root, rel))
		return;
	if (!IsParallelWorker() && shuttle_row_count_is_missing(relid, rel->serverid, userid))
		ask_for_statement(root);
	if (!shuttle_row_count_find(relid, &rows, &pages))
		return;
	rel->tuples = rows;
	rel->pages = (BlockNumber) Min(pages, MaxBlockNumber);
}

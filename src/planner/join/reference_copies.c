/*-------------------------------------------------------------------------
 * reference_copies.c
 *	  Which servers have copies of a reference table, and a relation for the
 *	  copy on each of them.
 *
 * These relations are children of the table's, so that core can translate clauses
 * for them. They have the statistics of the table here.
 *
 * Memory: children live in root->planner_cxt, also under GEQO, which frees
 * joinrels.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "base/shuttle_compat_planner.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_memo.h"
#include "planner/facts/planning_settings.h"
#include "planner/join/node_joins.h"
#include "planner/join/reference_copies.h"
#include "planner/router/router.h"
#include "tablets/shuttle_tablets.h"

/* Our kind, and the first member of our keys, in planning_memo.c. */
#define COPIES_KEY (-2)
#define CHILD_KEY (-3)

/* The servers that a reference table is on. */
typedef struct Copies
{
	Oid			table;			/* the foreign table */
	List	   *servers;		/* Oids; NIL: not a reference table */
} Copies;

/* ---- where the copies are */

static bool
same_text(const char *one, const char *other)
{
	return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* True if what postgres_fdw ships to the table's own server can be shipped to
 * serverid. */
static bool
is_copy_server(Oid home, Oid serverid)
{
	return shuttle_server_is_ours(serverid) &&
		same_text(shuttle_option_get_text(home, InvalidOid, "extensions"),
				  shuttle_option_get_text(serverid, InvalidOid, "extensions"));
}

static List *
read_servers(Oid home, const char *option)
{
	List	   *names = NIL;
	List	   *servers = list_make1_oid(home);
	ListCell   *lc;

	if (!SplitIdentifierString(pstrdup(option), ',', &names))
		return servers;
	foreach(lc, names)
	{
		Oid			serverid = get_foreign_server_oid(lfirst(lc), true);

		if (OidIsValid(serverid) && is_copy_server(home, serverid))
			servers = list_append_unique_oid(servers, serverid);
	}
	return servers;
}

/* True if expressions have only columns of the relation that users declare. */
static bool
has_only_columns(const RelOptInfo *rel, List *expressions)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) expressions, rel->relid, &columns);
	return bms_is_empty(columns) ||
		bms_next_member(columns, -1) > InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber;
}

/* System columns and whole rows differ between a table and its copies. */
static bool
uses_only_columns(const RelOptInfo *rel)
{
	for (int i = rel->min_attr; i <= InvalidAttrNumber; i++)
	{
		if (!bms_is_empty(rel->attr_needed[i - rel->min_attr]))
			return false;
	}
	return has_only_columns(rel, rel->reltarget->exprs) &&
		has_only_columns(rel, extract_actual_clauses(rel->baserestrictinfo, false)) &&
		has_only_columns(rel, extract_actual_clauses(rel->joininfo, false));
}

/* The foreign table for copies of a table here, or InvalidOid. Policies and
 * security barriers are for the table here. */
static Oid
find_copy_table(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	if (!shuttle_planning_copies() || rel->reloptkind != RELOPT_BASEREL ||
		rte->relkind != RELKIND_RELATION || rte->inh || rte->tablesample != NULL ||
		root->qual_security_level > 0 || !uses_only_columns(rel))
		return InvalidOid;
	return shuttle_copy_table_find(rte->relid);
}

static Copies *
find_copies(PlannerInfo *root, const RelOptInfo *rel)
{
	MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);
	Copies	   *copies = palloc0(sizeof(Copies));

	copies->table = rel->fdwroutine == NULL ? find_copy_table(root, rel) :
		planner_rt_fetch(rel->relid, root)->relid;
	if (OidIsValid(copies->table))
	{
		Oid			home = GetForeignServerIdByRelId(copies->table);
		const char *option = shuttle_option_get_text(home, copies->table,
													 "shuttle_replicated_on");

		if (option != NULL)
			copies->servers = read_servers(home, option);
	}
	MemoryContextSwitchTo(old);
	return copies;
}

/* Where a base relation's rows are; NULL if it is no reference table. */
static const Copies *
get_copies(PlannerInfo *root, RelOptInfo *rel)
{
	Copies	   *copies;

	if (rel->rtekind != RTE_RELATION ||
		(rel->fdwroutine != NULL && !shuttle_server_routine_is_ours(rel->fdwroutine)))
		return NULL;
	copies = shuttle_planning_memo_find_set(root, rel, COPIES_KEY, NULL);
	if (copies == NULL)
	{
		copies = find_copies(root, rel);
		shuttle_planning_memo_add_set(root, rel, COPIES_KEY, NULL, copies);
	}
	return copies->servers == NIL ? NULL : copies;
}

List *
shuttle_reference_copies_of(PlannerInfo *root, RelOptInfo *rel)
{
	const Copies *copies = get_copies(root, rel);

	return copies == NULL ? NIL : copies->servers;
}

/* The next base or child relation of a set, or NULL. */
static RelOptInfo *
next_table(PlannerInfo *root, Relids relids, int *relid)
{
	while ((*relid = bms_next_member(relids, *relid)) >= 0)
	{
		if (*relid < root->simple_rel_array_size &&
			root->simple_rel_array[*relid] != NULL)
			return root->simple_rel_array[*relid];
	}
	return NULL;
}

bool
shuttle_reference_table_is_in(PlannerInfo *root, const RelOptInfo *rel)
{
	RelOptInfo *table;
	int			relid = -1;

	while ((table = next_table(root, rel->relids, &relid)) != NULL)
	{
		if (shuttle_reference_copies_of(root, table) != NIL)
			return true;
	}
	return false;
}

Oid
shuttle_reference_copy_neighbour(PlannerInfo *root, const RelOptInfo *rel, Oid serverid)
{
	RelOptInfo *table;
	int			relid = -1;

	while ((table = next_table(root, rel->relids, &relid)) != NULL)
	{
		Oid			found = planner_rt_fetch(table->relid, root)->relid;

		if (table->fdwroutine != NULL && GetForeignServerIdByRelId(found) == serverid)
			return found;
	}
	return InvalidOid;
}

void
shuttle_reference_copy_size(PlannerInfo *root, RelOptInfo *rel, Oid serverid, Oid neighbour)
{
	rel->serverid = serverid;
	rel->fdwroutine->GetForeignRelSize(root, rel, neighbour);
}

/* ---- children of reference tables */

/* Adds a range table entry for the foreign table, without permission checks. */
static Index
add_child_entry(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = shuttle_child_entry(planner_rt_fetch(rel->relid, root));
	Index		relid;

	rte->relid = get_copies(root, rel)->table;
	rte->relkind = RELKIND_FOREIGN_TABLE;
	root->parse->rtable = lappend(root->parse->rtable, rte);
	relid = list_length(root->parse->rtable);
	if (relid >= root->simple_rel_array_size)
		expand_planner_arrays(root, relid + 1 - root->simple_rel_array_size);
	root->simple_rte_array[relid] = rte;
	return relid;
}

static AppendRelInfo *
add_translation(PlannerInfo *root, const RelOptInfo *rel, Index relid)
{
	Relation	table = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
	Relation	copy = table_open(planner_rt_fetch(relid, root)->relid, NoLock);
	AppendRelInfo *translation = make_append_rel_info(table, copy, rel->relid, relid);

	table_close(copy, NoLock);
	table_close(table, NoLock);
	root->append_rel_list = lappend(root->append_rel_list, translation);
	root->append_rel_array[relid] = translation;
	return translation;
}

/* As core does for a child in set_append_rel_size() and _pathlist(). */
static void
plan_child(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *child,
		   AppendRelInfo *translation, Oid neighbour)
{
	RangeTblEntry *rte = planner_rt_fetch(child->relid, root);

	child->joininfo = (List *)
		adjust_appendrel_attrs(root, (Node *) rel->joininfo, 1, &translation);
	child->reltarget->exprs = (List *)
		adjust_appendrel_attrs(root, (Node *) rel->reltarget->exprs, 1, &translation);
	child->reltarget->cost = rel->reltarget->cost;
	if (rel->has_eclass_joins || has_useful_pathkeys(root, rel))
		add_child_rel_equivalences(root, translation, rel, child);
	child->has_eclass_joins = rel->has_eclass_joins;
	child->consider_parallel = rel->consider_parallel;

	set_foreign_size_estimates(root, child);
	shuttle_reference_copy_size(root, child, child->serverid, neighbour);
	child->rows = clamp_row_est(child->rows);
	child->tuples = Max(child->tuples, child->rows);
	child->fdwroutine->GetForeignPaths(root, child, rte->relid);
	if (set_rel_pathlist_hook != NULL)
		set_rel_pathlist_hook(root, child, child->relid, rte);
	set_cheapest(child);
}

static RelOptInfo *
make_child(PlannerInfo *root, RelOptInfo *rel, Oid serverid, Oid neighbour)
{
	MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);
	Index		relid = add_child_entry(root, rel);
	AppendRelInfo *translation = add_translation(root, rel, relid);
	RelOptInfo *child = build_simple_rel(root, relid, rel);

	child->serverid = serverid;
	child->pages = rel->pages;
	child->tuples = rel->tuples;
	plan_child(root, rel, child, translation, neighbour);
	MemoryContextSwitchTo(old);
	return child;
}

RelOptInfo *
shuttle_reference_copy_child(PlannerInfo *root, RelOptInfo *rel, const RelOptInfo *partition)
{
	Oid			serverid = rel->serverid;
	Oid			neighbour = planner_rt_fetch(rel->relid, root)->relid;
	List	   *key;
	RelOptInfo *child;

	if (partition != NULL &&
		list_member_oid(shuttle_reference_copies_of(root, rel), partition->serverid))
	{
		serverid = partition->serverid;
		neighbour = planner_rt_fetch(partition->relid, root)->relid;
	}
	if (!OidIsValid(serverid))
		return NULL;
	key = list_make2_oid(CHILD_KEY, serverid);
	child = shuttle_planning_memo_find(root, rel, key);
	if (child == NULL)
	{
		child = make_child(root, rel, serverid, neighbour);
		shuttle_planning_memo_add(root, rel, key, child);
	}
	return child;
}

/* ---- statistics */

/* The index of a range table entry; 0: it is not of this query level. guess: looked at
 * first, or NULL. */
static Index
index_of(PlannerInfo *root, const RangeTblEntry *rte, const RelOptInfo *guess)
{
	if (guess != NULL && guess->relid < root->simple_rel_array_size &&
		root->simple_rte_array[guess->relid] == rte)
		return guess->relid;
	for (Index relid = 1; relid < root->simple_rel_array_size; relid++)
	{
		if (root->simple_rte_array[relid] == rte)
			return relid;
	}
	return 0;
}

/* The translation that made this entry a child of a table here; NULL: it is none. */
static const AppendRelInfo *
find_translation(PlannerInfo *root, Index relid)
{
	const AppendRelInfo *translation;
	const RangeTblEntry *parent;

	if (relid == 0 || root->append_rel_array == NULL)
		return NULL;
	translation = root->append_rel_array[relid];
	if (translation == NULL)
		return NULL;
	parent = root->simple_rte_array[translation->parent_relid];
	return parent->relkind == RELKIND_RELATION && !parent->inh ? translation : NULL;
}

bool
shuttle_reference_copy_statistics(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum,
								  VariableStatData *variable)
{
	const AppendRelInfo *translation;
	Oid			table;
	AttrNumber	column;

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_FOREIGN_TABLE)
		return false;
	translation = find_translation(root, index_of(root, rte, variable->rel));
	if (translation == NULL || attnum <= 0 || attnum > translation->num_child_cols)
		return false;
	table = root->simple_rte_array[translation->parent_relid]->relid;
	column = translation->parent_colnos[attnum - 1];
	if (column == 0)
		return false;
	variable->statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table),
										   Int16GetDatum(column), BoolGetDatum(false));
	variable->freefunc = ReleaseSysCache;
	variable->acl_ok = pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(table, column, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
	return true;
}

/*-------------------------------------------------------------------------
 * reference_tables.c
 *	  Joins with reference tables (option shuttle_replicated_on), which
 *	  several nodes have a copy of, done on the other side's node.
 *
 * Table of one node: core lets postgres_fdw join tables of one server. The
 * reference table is given the other side's server if it has a copy there;
 * copies have the same name on all nodes.
 *
 * Partitioned table: each partition is joined with the copy on its node, as in
 * a partitionwise join. For that a reference table gets child relations, one
 * for each server, so that core can translate clauses to them.
 *
 * 	Append
 * 	  Foreign Scan on n1: partition 1 joined with the copy on n1
 * 	  Foreign Scan on n2: partition 2 joined with the copy on n2
 *
 * The joinrel is then partitioned like the table, so core and
 * partial_aggregates.c go on from there. Core then drops the topmost joinrel's
 * other paths, so we do it only if every node does its part.
 *
 * A table that shuttle.reference_table() made is an ordinary table here. Its
 * copies are those of a foreign table that nobody names (copy_tables.c), which the
 * children belong to. Only partitioned tables are joined with them.
 *
 * Which copy a partition is joined with depends only on the partition scheme
 * and the partition's number: another join order must find the same child
 * joins.
 *
 * Memory: children of reference tables live in root->planner_cxt, also under
 * GEQO, which frees joinrels.
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
#include "partitioning/partbounds.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "base/shuttle_compat_planner.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/join/node_joins.h"
#include "planner/statement/statement.h"
#include "tablets/shuttle_tablets.h"

/* First member of our keys in planning_memo.c. */
#define COPIES_KEY (-2)
#define CHILD_KEY (-3)

/* The servers that a reference table is on. */
typedef struct Copies
{
	Oid			table;			/* the foreign table */
	List	   *servers;		/* Oids; NIL: not a reference table */
} Copies;

/* A join of a partitioned relation with a reference table. */
typedef struct PartitionJoin
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	RelOptInfo *whole;			/* the partitioned side */
	RelOptInfo *reference;
	bool		is_outer;		/* whole is the outer side */
	JoinType	type;
	JoinPathExtraData *extra;
} PartitionJoin;

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
		same_text(shuttle_cluster_option_text(home, InvalidOid, "extensions"),
				  shuttle_cluster_option_text(serverid, InvalidOid, "extensions"));
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

	if (!shuttle_plans_with_copies() || rel->reloptkind != RELOPT_BASEREL ||
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
		const char *option = shuttle_cluster_option_text(home, copies->table,
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
	List	   *key;
	Copies	   *copies;

	if (rel->rtekind != RTE_RELATION ||
		(rel->fdwroutine != NULL && !shuttle_foreign_is_ours(rel->fdwroutine)))
		return NULL;
	key = list_make1_int(COPIES_KEY);
	copies = shuttle_memo_find(root, rel, key);
	if (copies == NULL)
	{
		copies = find_copies(root, rel);
		shuttle_memo_add(root, rel, key, copies);
	}
	return copies->servers == NIL ? NULL : copies;
}

/* The servers that have a base relation's rows; NIL if it is no reference table. */
static List *
copies_of(PlannerInfo *root, RelOptInfo *rel)
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
shuttle_is_locked(PlannerInfo *root, const RelOptInfo *rel)
{
	const PlanRowMark *mark = get_plan_rowmark(root->rowMarks, rel->relid);

	return mark != NULL && mark->strength != LCS_NONE;
}

bool
shuttle_has_reference(PlannerInfo *root, const RelOptInfo *rel)
{
	RelOptInfo *table;
	int			relid = -1;

	while ((table = next_table(root, rel->relids, &relid)) != NULL)
	{
		if (copies_of(root, table) != NIL)
			return true;
	}
	return false;
}

/* A foreign table of a relation that lies on serverid, or InvalidOid. */
static Oid
find_neighbour(PlannerInfo *root, const RelOptInfo *rel, Oid serverid)
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

/* postgres_fdw takes server and options from a foreign table's OID. For a copy
 * we pass a neighbour, another foreign table on that server. */
static void
get_size_on(PlannerInfo *root, RelOptInfo *rel, Oid serverid, Oid neighbour)
{
	rel->serverid = serverid;
	rel->fdwroutine->GetForeignRelSize(root, rel, neighbour);
}

/* ---- beside tables of one node */

/* The side as read on serverid: itself, or a copy of its RelOptInfo; NULL if it
 * is not there. */
static RelOptInfo *
side_on(PlannerInfo *root, RelOptInfo *side, const RelOptInfo *other, Oid serverid)
{
	Oid			neighbour;
	RelOptInfo *copy;

	if (side->serverid == serverid)
		return side;
	if (side->reloptkind != RELOPT_BASEREL || shuttle_is_locked(root, side) ||
		!list_member_oid(copies_of(root, side), serverid))
		return NULL;
	neighbour = find_neighbour(root, other, serverid);
	if (!OidIsValid(neighbour))
		return NULL;
	copy = makeNode(RelOptInfo);
	*copy = *side;
	copy->fdw_private = NULL;
	get_size_on(root, copy, serverid, neighbour);
	return copy;
}

/* Sets the user as core does for a join on one server; false if they differ. */
static bool
set_user(RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner)
{
	if (outer->userid == inner->userid)
	{
		joinrel->userid = outer->userid;
		joinrel->useridiscurrent = outer->useridiscurrent || inner->useridiscurrent;
		return true;
	}
	if ((OidIsValid(outer->userid) && OidIsValid(inner->userid)) ||
		Max(outer->userid, inner->userid) != GetUserId())
		return false;
	joinrel->userid = GetUserId();
	joinrel->useridiscurrent = true;
	return true;
}

/* Makes the paths for the join on one side's server. */
static bool
join_on(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
		Oid serverid, JoinType type, JoinPathExtraData *extra)
{
	RelOptInfo *outer_there;
	RelOptInfo *inner_there;

	if (!OidIsValid(serverid))
		return false;
	outer_there = side_on(root, outer, inner, serverid);
	inner_there = side_on(root, inner, outer, serverid);
	if (outer_there == NULL || inner_there == NULL || !set_user(joinrel, outer, inner))
		return false;
	joinrel->serverid = serverid;
	joinrel->fdwroutine = outer->fdwroutine;
	joinrel->fdwroutine->GetForeignJoinPaths(root, joinrel, outer_there, inner_there,
											 type, extra);
	return true;
}

static void
consider_on_copy(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
				 RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (joinrel->reloptkind != RELOPT_JOINREL || OidIsValid(joinrel->serverid) ||
		outer->fdwroutine == NULL || inner->fdwroutine == NULL ||
		!shuttle_has_reference(root, joinrel))
		return;
	if (!join_on(root, joinrel, outer, inner, outer->serverid, type, extra))
		(void) join_on(root, joinrel, outer, inner, inner->serverid, type, extra);
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
	get_size_on(root, child, child->serverid, neighbour);
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

/* The reference table's child on a partition's server, or on its own server if
 * there is no copy. NULL: there is none, and the table is here. */
static RelOptInfo *
find_child(PlannerInfo *root, RelOptInfo *rel, const RelOptInfo *partition)
{
	Oid			serverid = rel->serverid;
	Oid			neighbour = planner_rt_fetch(rel->relid, root)->relid;
	List	   *key;
	RelOptInfo *child;

	if (partition != NULL &&
		list_member_oid(copies_of(root, rel), partition->serverid))
	{
		serverid = partition->serverid;
		neighbour = planner_rt_fetch(partition->relid, root)->relid;
	}
	if (!OidIsValid(serverid))
		return NULL;
	key = list_make2_oid(CHILD_KEY, serverid);
	child = shuttle_memo_find(root, rel, key);
	if (child == NULL)
	{
		child = make_child(root, rel, serverid, neighbour);
		shuttle_memo_add(root, rel, key, child);
	}
	return child;
}

/* ---- beside partitioned tables */

/* True if a row of the partitioned side is joined in its own partition only,
 * matched or not. */
static bool
keeps_side(JoinType type, bool is_outer)
{
	if (type == JOIN_INNER)
		return true;
	if (is_outer)
		return type == JOIN_LEFT || type == JOIN_SEMI || type == JOIN_ANTI;
	return type == JOIN_RIGHT || shuttle_is_right_semi_or_anti(type);
}

static bool
has_partitions(const RelOptInfo *rel)
{
	return rel->part_scheme != NULL && rel->boundinfo != NULL && rel->nparts > 0 &&
		rel->part_rels != NULL && rel->partexprs != NULL && !rel->partbounds_merged;
}

/* Sub-partitioned tables are left to core, and whole-row references, which
 * postgres_fdw does not ship. */
static bool
can_be_joined(PlannerInfo *root, const RelOptInfo *rel)
{
	int			i = -1;

	if (rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_JOINREL)
		return false;
	if (rel->reloptkind == RELOPT_BASEREL &&
		!bms_is_empty(rel->attr_needed[InvalidAttrNumber - rel->min_attr]))
		return false;
	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		if (rel->part_rels[i] != NULL && has_partitions(rel->part_rels[i]))
			return false;
	}
	return true;
}

/* The partition that decides the server for a partition number: of the first
 * table with this scheme that has a foreign one there; or NULL. */
static RelOptInfo *
find_partition(PlannerInfo *root, PartitionScheme scheme, int number)
{
	for (int relid = 1; relid < root->simple_rel_array_size; relid++)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];
		RelOptInfo *partition;

		if (rel == NULL || rel->reloptkind != RELOPT_BASEREL ||
			rel->part_scheme != scheme || !has_partitions(rel) ||
			number >= rel->nparts)
			continue;
		partition = rel->part_rels[number];
		if (partition != NULL && partition->fdwroutine != NULL)
			return partition;
	}
	return NULL;
}

/* True if all tables of this scheme have the same bounds, so that core joins
 * partitions of equal numbers only. */
static bool
bounds_agree(PlannerInfo *root, const RelOptInfo *whole)
{
	PartitionScheme scheme = whole->part_scheme;

	for (int relid = 1; relid < root->simple_rel_array_size; relid++)
	{
		const RelOptInfo *rel = root->simple_rel_array[relid];

		if (rel == NULL || rel->reloptkind != RELOPT_BASEREL ||
			rel->part_scheme != scheme || rel->boundinfo == whole->boundinfo ||
			!rel->consider_partitionwise_join || !has_partitions(rel))
			continue;
		if (rel->nparts != whole->nparts ||
			!partition_bounds_equal(scheme->partnatts, scheme->parttyplen,
									scheme->parttypbyval, rel->boundinfo,
									whole->boundinfo))
			return false;
	}
	return true;
}

/* The SpecialJoinInfo for a child join. */
static SpecialJoinInfo *
translate_special(const PartitionJoin *join, int nappinfos, AppendRelInfo **appinfos)
{
	SpecialJoinInfo *special = makeNode(SpecialJoinInfo);

	*special = *join->extra->sjinfo;
	special->min_lefthand = adjust_child_relids(special->min_lefthand, nappinfos,
												appinfos);
	special->min_righthand = adjust_child_relids(special->min_righthand, nappinfos,
												 appinfos);
	special->syn_lefthand = adjust_child_relids(special->syn_lefthand, nappinfos,
												appinfos);
	special->syn_righthand = adjust_child_relids(special->syn_righthand, nappinfos,
												 appinfos);
	special->semi_rhs_exprs = (List *)
		adjust_appendrel_attrs(join->root, (Node *) special->semi_rhs_exprs,
							   nappinfos, appinfos);
	return special;
}

/* Joins a partition with the copy on its node, as a child joinrel; NULL: there is
 * no copy. */
static RelOptInfo *
join_partition(const PartitionJoin *join, int number)
{
	PlannerInfo *root = join->root;
	RelOptInfo *partition = join->whole->part_rels[number];
	RelOptInfo *copy = find_child(root, join->reference,
								  find_partition(root, join->whole->part_scheme,
												 number));
	RelOptInfo *outer = join->is_outer ? partition : copy;
	RelOptInfo *inner = join->is_outer ? copy : partition;
	Relids		relids;
	int			nappinfos;
	AppendRelInfo **appinfos;
	SpecialJoinInfo *special;
	List	   *clauses;
	RelOptInfo *child;

	if (copy == NULL)
		return NULL;
	relids = bms_union(outer->relids, inner->relids);
	appinfos = find_appinfos_by_relids(root, relids, &nappinfos);
	special = translate_special(join, nappinfos, appinfos);
	clauses = (List *)
		adjust_appendrel_attrs(root, (Node *) join->extra->restrictlist, nappinfos,
							   appinfos);
	relids = adjust_child_relids(join->joinrel->relids, nappinfos, appinfos);
	child = find_join_rel(root, relids);
	if (child == NULL)
		child = shuttle_build_child_join_rel(root, outer, inner, join->joinrel,
											 clauses, special, nappinfos, appinfos);
	add_paths_to_joinrel(root, child, outer, inner, join->type, special, clauses);
	return child;
}

/* True if a child joinrel has a foreign path. */
static bool
is_on_node(const RelOptInfo *child)
{
	ListCell   *lc;

	if (!OidIsValid(child->serverid))
		return false;
	foreach(lc, child->pathlist)
	{
		if (IsA(lfirst(lc), ForeignPath))
			return true;
	}
	return false;
}

/* True until the first join order has set the partitioning. */
static bool
is_undecided(const RelOptInfo *joinrel)
{
	return joinrel->part_scheme == NULL && joinrel->nparts == -1;
}

/* Partitions the joinrel like its partitioned side. */
static void
set_partitions(RelOptInfo *joinrel, const RelOptInfo *whole, RelOptInfo **children)
{
	joinrel->part_scheme = whole->part_scheme;
	joinrel->boundinfo = whole->boundinfo;
	joinrel->nparts = whole->nparts;
	joinrel->partexprs = whole->partexprs;
	joinrel->nullable_partexprs = whole->nullable_partexprs;
	joinrel->part_rels = children;
	for (int i = 0; i < whole->nparts; i++)
	{
		if (children[i] == NULL)
			continue;
		joinrel->live_parts = bms_add_member(joinrel->live_parts, i);
		joinrel->all_partrels = bms_add_members(joinrel->all_partrels,
												children[i]->relids);
	}
}

static bool
is_live(const RelOptInfo *partition)
{
	return partition != NULL && !IS_DUMMY_REL((RelOptInfo *) partition);
}

/* Joins all partitions; gives up at the first that its node cannot join. */
static void
join_partitions(const PartitionJoin *join)
{
	RelOptInfo *joinrel = join->joinrel;
	RelOptInfo *whole = join->whole;
	RelOptInfo **children = MemoryContextAllocZero(GetMemoryChunkContext(joinrel),
												   whole->nparts * sizeof(RelOptInfo *));
	bool		found = false;

	/* core asserts this for parents of child joinrels */
	joinrel->consider_partitionwise_join = true;
	for (int i = 0; i < whole->nparts; i++)
	{
		RelOptInfo *partition = whole->part_rels[i];

		if (!is_live(partition))
			continue;
		children[i] = join_partition(join, i);
		if (children[i] == NULL ||
			(OidIsValid(partition->serverid) && !is_on_node(children[i])))
			return;
		found = true;
	}
	if (found)
		set_partitions(joinrel, whole, children);
}

/* Another join order: adds paths to the child joins. */
static void
add_to_partitions(const PartitionJoin *join)
{
	RelOptInfo *joinrel = join->joinrel;
	RelOptInfo *whole = join->whole;

	if (joinrel->part_scheme != whole->part_scheme ||
		joinrel->nparts != whole->nparts || joinrel->partbounds_merged)
		return;
	for (int i = 0; i < whole->nparts; i++)
	{
		if (joinrel->part_rels[i] != NULL && is_live(whole->part_rels[i]))
			(void) join_partition(join, i);
	}
}

static bool
any_on_copy(PlannerInfo *root, const RelOptInfo *whole, RelOptInfo *reference)
{
	int			i = -1;

	while ((i = bms_next_member(whole->live_parts, i)) >= 0)
	{
		const RelOptInfo *partition = whole->part_rels[i];

		if (is_live(partition) && partition->fdwroutine != NULL &&
			shuttle_foreign_is_ours(partition->fdwroutine) &&
			list_member_oid(copies_of(root, reference), partition->serverid))
			return true;
	}
	return false;
}

static void
consider_partitions(PartitionJoin *join)
{
	PlannerInfo *root = join->root;
	RelOptInfo *reference = join->reference;

	if (!keeps_side(join->type, join->is_outer) || !has_partitions(join->whole) ||
		reference->reloptkind != RELOPT_BASEREL || copies_of(root, reference) == NIL ||
		!can_be_joined(root, join->whole) || !can_be_joined(root, reference) ||
		!bms_is_empty(join->joinrel->lateral_relids) ||
		!bounds_agree(root, join->whole) || !any_on_copy(root, join->whole, reference))
		return;
	if (is_undecided(join->joinrel))
		join_partitions(join);
	else if (has_partitions(join->joinrel))
		add_to_partitions(join);
}

/* ---- the hook */

/* EvalPlanQual finds rows by the range table index of their table, which a
 * child lacks. */
static bool
only_reads(const PlannerInfo *root)
{
	return root->rowMarks == NIL &&
		(root->parse->commandType == CMD_SELECT ||
		 root->parse->commandType == CMD_INSERT);
}

void
shuttle_reference_tables_consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
								  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	PartitionJoin join = {
		.root = root,
		.joinrel = joinrel,
		.whole = outer,
		.reference = inner,
		.is_outer = true,
		.type = type,
		.extra = extra,
	};

	consider_on_copy(root, joinrel, outer, inner, type, extra);
	if (joinrel->reloptkind != RELOPT_JOINREL || !only_reads(root))
		return;
	consider_partitions(&join);
	join.whole = inner;
	join.reference = outer;
	join.is_outer = false;
	consider_partitions(&join);
}

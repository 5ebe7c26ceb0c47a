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
 * Where copies are, and their children: reference_copies.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "partitioning/partbounds.h"
#include "utils/memutils.h"

#include "base/shuttle_compat_planner.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/relation_facts.h"
#include "planner/join/node_joins.h"
#include "planner/join/reference_copies.h"

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
		!list_member_oid(shuttle_reference_copies_of(root, side), serverid))
		return NULL;
	neighbour = shuttle_reference_copy_neighbour(root, other, serverid);
	if (!OidIsValid(neighbour))
		return NULL;
	copy = makeNode(RelOptInfo);
	*copy = *side;
	copy->fdw_private = NULL;
	shuttle_reference_copy_size(root, copy, serverid, neighbour);
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
		!shuttle_reference_table_is_in(root, joinrel))
		return;
	if (!join_on(root, joinrel, outer, inner, outer->serverid, type, extra))
		(void) join_on(root, joinrel, outer, inner, inner->serverid, type, extra);
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

/* Has the node of a partition join it. Core's own joins of a child are left out: the
 * whole tables are joined here, too, and to price them takes long. */
static void
join_on_node(const PartitionJoin *join, RelOptInfo *child, RelOptInfo *outer, RelOptInfo *inner,
			 SpecialJoinInfo *special, List *clauses)
{
	JoinPathExtraData extra = {
		.restrictlist = clauses,
		.inner_unique = join->extra->inner_unique,
		.sjinfo = special,
	};

	if (child->fdwroutine != NULL && child->fdwroutine->GetForeignJoinPaths != NULL)
		child->fdwroutine->GetForeignJoinPaths(join->root, child, outer, inner, join->type, &extra);
}

/* Finds a partition and the copy on its node. Returns false if there is no copy. */
static bool
find_pair(const PartitionJoin *join, int number, ShuttlePair *pair)
{
	PlannerInfo *root = join->root;
	RelOptInfo *partition = join->whole->part_rels[number];
	RelOptInfo *copy = shuttle_reference_copy_child(root, join->reference,
													find_partition(root, join->whole->part_scheme,
																   number));

	if (copy == NULL)
		return false;
	if (join->is_outer)
		shuttle_partition_pair_make(root, partition, copy, join->extra->restrictlist, pair);
	else
		shuttle_partition_pair_make(root, copy, partition, join->extra->restrictlist, pair);
	return true;
}

/* Joins a partition with the copy on its node, as a child joinrel; NULL: there is
 * no copy. */
static RelOptInfo *
join_partition(const PartitionJoin *join, int number)
{
	PlannerInfo *root = join->root;
	ShuttlePair pair;
	SpecialJoinInfo *special;
	RelOptInfo *child;

	if (!find_pair(join, number, &pair))
		return NULL;
	special = translate_special(join, pair.nappinfos, pair.appinfos);
	child = find_join_rel(root, adjust_child_relids(join->joinrel->relids, pair.nappinfos,
													pair.appinfos));
	if (child == NULL)
		child = shuttle_partition_pair_join(root, &pair, join->joinrel, special);
	if (OidIsValid(join->whole->part_rels[number]->serverid))
		join_on_node(join, child, pair.outer, pair.inner, special, pair.clauses);
	else
		add_paths_to_joinrel(root, child, pair.outer, pair.inner, join->type, special,
							 pair.clauses);
	return child;
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
			(OidIsValid(partition->serverid) && !shuttle_partition_join_is_on_node(children[i])))
			return;
		found = true;
	}
	if (found)
		set_partitions(joinrel, whole, children);
}

/* Another order of a join that a node does. Returns false if it is not cheaper. */
static bool
reprice_partition(const PartitionJoin *join, int number)
{
	ShuttlePair pair;

	return find_pair(join, number, &pair) &&
		shuttle_node_join_reprice(join->root, join->joinrel->part_rels[number], pair.outer,
								  pair.inner, join->type, pair.clauses);
}

/*
 * Another join order: adds paths to the child joins. Partitions differ in little but
 * the number of their rows: if an order is not cheaper for one, it is tried for no
 * other.
 */
static void
add_to_partitions(const PartitionJoin *join)
{
	RelOptInfo *joinrel = join->joinrel;
	RelOptInfo *whole = join->whole;
	bool		is_cheaper = true;

	if (joinrel->part_scheme != whole->part_scheme ||
		joinrel->nparts != whole->nparts || joinrel->partbounds_merged)
		return;
	for (int i = 0; i < whole->nparts; i++)
	{
		if (joinrel->part_rels[i] == NULL || !is_live(whole->part_rels[i]))
			continue;
		if (!shuttle_partition_join_is_on_node(joinrel->part_rels[i]))
			(void) join_partition(join, i);
		else if (is_cheaper)
			is_cheaper = reprice_partition(join, i);
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
			shuttle_server_routine_is_ours(partition->fdwroutine) &&
			list_member_oid(shuttle_reference_copies_of(root, reference), partition->serverid))
			return true;
	}
	return false;
}

/*
 * True if no equality joins the two sides here, but one will join the reference table with
 * a table of neither side. An OR over three tables has core join any two of them, which
 * gives many joins with many rows; all of them have another order.
 */
static bool
waits_for_equality(const PartitionJoin *join)
{
	PlannerInfo *root = join->root;
	int			relid = 0;

	if (shuttle_node_join_has_equality(join->extra->restrictlist))
		return false;
	while ((relid = bms_next_member(root->all_baserels, relid)) > 0)
	{
		if (bms_is_member(relid, join->joinrel->relids) ||
			!have_relevant_eclass_joinclause(root, join->reference, find_base_rel(root, relid)))
			continue;
		ereport(DEBUG1,
				(errmsg_internal("partitions are joined with no copy before there is an equality")));
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
		reference->reloptkind != RELOPT_BASEREL || shuttle_reference_copies_of(root, reference) == NIL ||
		!can_be_joined(root, join->whole) || !can_be_joined(root, reference) ||
		!bms_is_empty(join->joinrel->lateral_relids) ||
		!bounds_agree(root, join->whole) || !any_on_copy(root, join->whole, reference) ||
		waits_for_equality(join))
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

/*-------------------------------------------------------------------------
 * scan_proof_meant.c
 *	  What was to be joined and grouped by a node, for proofs of scans.
 *
 * postgres_fdw keeps that to itself, so it is noted when postgres_fdw is asked. Each
 * joinrel has the conditions of the first join that postgres_fdw is asked for; GEQO
 * frees and rebuilds joinrels, so copies are kept by their relids.
 *
 * Memory: notes live in root->planner_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/clauses.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "planner/facts/planning_memo.h"
#include "planner/shown/scan_proof.h"
#include "planner/shown/shown.h"

#define JOIN_KEY (-11)
#define GROUPS_KEY (-12)

typedef struct Note
{
	JoinType	type;
	Relids		outer;
	Relids		inner;
	const RelOptInfo *input;	/* of groups */
	List	   *conditions;
	List	   *once;
} Note;

/* ---- notes */

/* Conditions that are decided once for all rows, or all others. */
static List *
find_conditions(const List *clauses, bool once)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (clause->pseudoconstant == once)
			found = lappend(found, copyObject(clause->clause));
	}
	return found;
}

static Note *
make_note(PlannerInfo *root, const void *of, int kind, Relids relids)
{
	Note	   *note = shuttle_planning_memo_find_set(root, of, kind, relids);

	if (note == NULL)
	{
		note = MemoryContextAllocZero(root->planner_cxt, sizeof(Note));
		shuttle_planning_memo_add_set(root, of, kind, relids, note);
	}
	return note;
}

void
shuttle_scan_proof_note_join(PlannerInfo *root, const RelOptInfo *rel, const RelOptInfo *outer,
							 const RelOptInfo *inner, JoinType type, const List *clauses)
{
	MemoryContext old_cxt;
	Note	   *note;

	if (!shuttle_settings.debug_prove_texts)
		return;
	old_cxt = MemoryContextSwitchTo(root->planner_cxt);
	note = make_note(root, NULL, JOIN_KEY, rel->relids);
	note->type = type;
	note->outer = bms_copy(outer->relids);
	note->inner = bms_copy(inner->relids);
	note->conditions = find_conditions(clauses, false);
	note->once = find_conditions(clauses, true);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_scan_proof_note_groups(PlannerInfo *root, const RelOptInfo *rel, const RelOptInfo *input,
							   Node *having)
{
	MemoryContext old_cxt;
	Note	   *note;

	if (!shuttle_settings.debug_prove_texts)
		return;
	old_cxt = MemoryContextSwitchTo(root->planner_cxt);
	note = make_note(root, rel, GROUPS_KEY, NULL);
	note->input = input;
	note->conditions = copyObject((List *) having);
	MemoryContextSwitchTo(old_cxt);
}

/* ---- what they say */

void
shuttle_scan_proof_add_join(ShuttleScanMeaning *meaning, JoinType type, Relids left, Relids right)
{
	ShuttleProvedJoin *join = palloc_object(ShuttleProvedJoin);

	join->type = type == JOIN_RIGHT ? JOIN_LEFT : type;
	join->left = type == JOIN_RIGHT ? right : left;
	join->right = type == JOIN_RIGHT ? left : right;
	meaning->joins = lappend(meaning->joins, join);
}

static int
base_relation(const PlannerInfo *root, Relids relids)
{
	int			member;

	return bms_get_singleton_member(relids, &member) && member < root->simple_rel_array_size &&
		root->simple_rel_array[member] != NULL ? member : 0;
}

/* The tables below a join; NULL: not known. */
static Relids
mean_join(PlannerInfo *root, Relids relids, ShuttleScanMeaning *meaning)
{
	const Note *note;
	Relids		outer;
	Relids		inner;

	if (base_relation(root, relids) > 0)
	{
		const RelOptInfo *base = root->simple_rel_array[base_relation(root, relids)];

		meaning->conditions = list_concat(meaning->conditions, find_conditions(base->baserestrictinfo, false));
		meaning->once = list_concat(meaning->once, find_conditions(base->baserestrictinfo, true));
		return bms_copy(relids);
	}
	note = shuttle_planning_memo_find_set(root, NULL, JOIN_KEY, relids);
	if (note == NULL)
		return NULL;
	meaning->conditions = list_concat(meaning->conditions, list_copy(note->conditions));
	meaning->once = list_concat(meaning->once, list_copy(note->once));
	outer = mean_join(root, note->outer, meaning);
	inner = mean_join(root, note->inner, meaning);
	if (outer == NULL || inner == NULL)
		return NULL;
	if (note->type != JOIN_INNER)
		shuttle_scan_proof_add_join(meaning, note->type, note->type == JOIN_SEMI ? NULL : outer, inner);
	return bms_union(outer, inner);
}

Relids
shuttle_scan_proof_mean(PlannerInfo *root, const RelOptInfo *rel, ShuttleScanMeaning *meaning)
{
	const Note *note;

	if (!IS_UPPER_REL(rel))
		return mean_join(root, rel->relids, meaning);
	note = shuttle_planning_memo_find_set(root, rel, GROUPS_KEY, NULL);
	if (note == NULL)
		return NULL;
	meaning->conditions = list_concat(meaning->conditions, list_copy(note->conditions));
	return shuttle_scan_proof_mean(root, note->input, meaning);
}

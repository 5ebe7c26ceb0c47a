/*-------------------------------------------------------------------------
 * ordered_groups.c
 *	  Whole groups in the query's order, sorted by their nodes.
 *
 * With ORDER BY sum(x) LIMIT n each node then returns its own first n groups:
 * a LIMIT over a merge of sorted scans is shipped when the plan starts
 * (executor/early/row_goal.c).
 *
 * postgres_fdw sorts groups by expressions that it finds both in their
 * relation's target and in the query's pathkeys. A child's target has the
 * child's columns, which the query's pathkeys lack. So postgres_fdw is shown
 * copies of the pathkeys whose only members are the child's expressions. The
 * path above has the query's pathkeys.
 *
 * Core sorts and merges children by columns at the same position of each
 * target; if it would not find them there, nodes do not sort.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "base/shuttle_compat_planner.h"
#include "planner/group/group.h"

/*
 * The member of a class that is the first matching column of a target, and its
 * position; NULL: none. clauses: SortGroupClauses of the columns to look at;
 * NIL: all.
 */
static const EquivalenceMember *
find_member(EquivalenceClass *class, const PathTarget *target, Relids relids,
			List *clauses, int *place)
{
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		const EquivalenceMember *member;
		Index		reference;

		*place = foreach_current_index(lc);
		reference = get_pathtarget_sortgroupref(target, *place);
		if (clauses != NIL && (reference == 0 ||
							   get_sortgroupref_clause_noerr(reference, clauses) == NULL))
			continue;
		member = find_ec_member_matching_expr(class, lfirst(lc), relids);
		if (member != NULL)
			return member;
	}
	return NULL;
}

/* True if core finds the sort columns at the same positions in both targets. */
static bool
has_same_columns(const List *pathkeys, const PathTarget *of_parent, Relids parent,
				 const PathTarget *of_child, Relids child)
{
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		EquivalenceClass *class = lfirst_node(PathKey, lc)->pk_eclass;
		int			place;

		if (class->ec_has_volatile ||
			find_member(class, of_parent, parent, NIL, &place) == NULL ||
			find_ec_member_matching_expr(class, list_nth(of_child->exprs, place),
										 child) == NULL)
			return false;
	}
	return true;
}

bool
shuttle_ordered_groups_are_wanted(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return query->limitCount != NULL && root->sort_pathkeys != NIL &&
		query->distinctClause == NIL && !query->hasWindowFuncs &&
		!query->hasTargetSRFs;
}

bool
shuttle_ordered_groups_can_merge(const PlannerInfo *root, const RelOptInfo *input,
								 const PathTarget *target, const Path *child)
{
	return has_same_columns(root->sort_pathkeys, target, input->relids,
							child->pathtarget, child->parent->relids);
}

/* A copy of a pathkey for a child's expression. */
static PathKey *
make_child_pathkey(const PathKey *pathkey, const EquivalenceMember *member,
				   Expr *of_child, Relids child)
{
	EquivalenceClass *class = makeNode(EquivalenceClass);
	EquivalenceMember *only = makeNode(EquivalenceMember);
	PathKey    *made = makeNode(PathKey);

	*only = *member;
	only->em_expr = of_child;
	only->em_relids = child;
	class->ec_opfamilies = pathkey->pk_eclass->ec_opfamilies;
	class->ec_collation = pathkey->pk_eclass->ec_collation;
	class->ec_members = list_make1(only);
	class->ec_relids = child;
	*made = *pathkey;
	made->pk_eclass = class;
	return made;
}

/* The query's pathkeys for a child, made from the ORDER BY expressions, which
 * may differ from the target's in collation. NIL if some are missing. */
static List *
make_child_pathkeys(PlannerInfo *root, RelOptInfo *input, RelOptInfo *child,
					const PathTarget *target)
{
	List	   *made = NIL;
	ListCell   *lc;

	foreach(lc, root->sort_pathkeys)
	{
		const PathKey *pathkey = lfirst_node(PathKey, lc);
		int			place;
		const EquivalenceMember *member = find_member(pathkey->pk_eclass, target, NULL,
													  root->parse->sortClause, &place);
		Expr	   *of_child;

		if (member == NULL)
			return NIL;
		of_child = child == input ? member->em_expr :
			shuttle_translate_to_child(root, (Node *) member->em_expr, child, input);
		made = lappend(made, make_child_pathkey(pathkey, member, of_child,
												child->relids));
	}
	return made;
}

ForeignPath *
shuttle_ordered_groups_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *child,
							RelOptInfo *groups, const PathTarget *target)
{
	RelOptInfo *ordered = makeNode(RelOptInfo);
	List	   *wanted = root->sort_pathkeys;
	PathTarget *wanted_target = root->upper_targets[UPPERREL_ORDERED];
	RelOptKind	kind = groups->reloptkind;
	List	   *pathkeys = make_child_pathkeys(root, input, child, target);

	if (pathkeys == NIL)
		return NULL;
	ordered->reloptkind = RELOPT_UPPER_REL;
	ordered->reltarget = groups->reltarget;
	ordered->consider_startup = true;
	ordered->serverid = groups->serverid;
	ordered->userid = groups->userid;
	ordered->useridiscurrent = groups->useridiscurrent;
	ordered->fdwroutine = groups->fdwroutine;

	/* pretend that they are the groups of a whole query */
	groups->reloptkind = RELOPT_UPPER_REL;
	root->sort_pathkeys = pathkeys;
	root->upper_targets[UPPERREL_ORDERED] = groups->reltarget;
	child->fdwroutine->GetForeignUpperPaths(root, UPPERREL_ORDERED, groups, ordered,
											NULL);
	root->upper_targets[UPPERREL_ORDERED] = wanted_target;
	root->sort_pathkeys = wanted;
	groups->reloptkind = kind;
	return ordered->pathlist == NIL ? NULL :
		linitial_node(ForeignPath, ordered->pathlist);
}

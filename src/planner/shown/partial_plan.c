/*-------------------------------------------------------------------------
 * partial_plan.c
 *	  GetForeignPlan for a child's groups and aggregate states
 *	  (partial_aggregates.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/tlist.h"

#include "base/shuttle_compat_planner.h"
#include "executor/shuttle_executor.h"
#include "planner/shown/shown.h"

/* Adds a column for each state after the node's columns. Errors: a source of a
 * state is not among these. */
static void
add_state_columns(ForeignScan *scan, const List *states)
{
	List	   *answers = scan->fdw_scan_tlist;
	List	   *columns = NIL;
	ListCell   *lc;

	/* postgres_fdw may use its list again for another plan of the path */
	scan->fdw_scan_tlist = list_copy(answers);
	foreach(lc, states)
	{
		const List *state = lfirst_node(List, lc);
		List	   *column;
		ListCell   *source;
		TargetEntry *entry;

		entry = makeTargetEntry(copyObject(lsecond(state)),
								list_length(scan->fdw_scan_tlist) + 1, NULL, false);
		scan->fdw_scan_tlist = lappend(scan->fdw_scan_tlist, entry);
		column = list_make2_int(intVal(linitial(state)), entry->resno);
		foreach(source, lthird(state))
		{
			TargetEntry *answer = tlist_member(lfirst(source), answers);

			if (answer == NULL)
				elog(ERROR, "a source of a partial aggregate is not asked for");
			column = lappend_int(column, answer->resno);
		}
		columns = lappend(columns, column);
	}
	if (!shuttle_postgres_fdw_add_scan_states(scan, columns))
		elog(ERROR, "unexpected plan of a partial aggregate");
}

ForeignScan *
shuttle_partial_plan_make(PlannerInfo *root, RelOptInfo *rel, Oid relid,
						  ForeignPath *path, List *targetlist, List *clauses,
						  Plan *outer)
{
	bool		groups_otherwise = intVal(linitial(path->fdw_private)) != 0;
	List	   *states = lsecond(path->fdw_private);
	int			depth = intVal(list_nth(path->fdw_private, 4));
	ForeignPath plain = *path;
	ShuttleGroupClause saved;
	ForeignScan *scan;

	plain.fdw_private = NIL;
	if (groups_otherwise)
		saved = shuttle_set_group_clause(root, lthird(path->fdw_private),
										 lthird(path->fdw_private));
	scan = shuttle_outer_values_plan_scan(root, rel, relid, &plain, targetlist, clauses,
										  outer);
	if (groups_otherwise)
		(void) shuttle_set_group_clause(root, saved.whole, saved.processed);
	if (states != NIL)
		add_state_columns(scan, states);

	/* core labels the columns of a branch's plan by processed_tlist */
	for (; depth > 0; depth--)
	{
		root->processed_tlist = lfourth(path->fdw_private);
		root = root->parent_root;
	}
	return scan;
}

bool
shuttle_partial_plan_is_for(const ForeignPath *path)
{
	return path->fdw_private != NIL && IsA(linitial(path->fdw_private), Integer);
}

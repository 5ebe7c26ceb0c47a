/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks that the planner room uses, and the order of its parts.
 *
 * Not here: text_order.c registers its syscache callback when its cache is made.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "base/shuttle_compat_planner.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_settings.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/group/group.h"
#include "planner/hooks.h"
#include "planner/join/join.h"
#include "planner/join/node_joins.h"
#include "planner/join/reference_copies.h"
#include "planner/rewrite/rewrite.h"
#include "planner/router/literals.h"
#include "planner/router/router.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"
#include "planner/shown/shown.h"
#include "planner/shuttle_planner.h"
#include "planner/write/write.h"
#include "storage/shuttle_commit_behind.h"
#include "tablets/shuttle_tablets.h"

static post_parse_analyze_hook_type previous_analyze = NULL;
static planner_hook_type previous_planner = NULL;
static build_simple_rel_hook_type previous_relation = NULL;
static set_rel_pathlist_hook_type previous_scan = NULL;
static set_join_pathlist_hook_type previous_join = NULL;
static join_search_hook_type previous_search = NULL;
static create_upper_paths_hook_type previous_upper = NULL;
static get_relation_stats_hook_type previous_statistics = NULL;

static PlannedStmt *plan_by_core(Query *query, ShuttlePlanCall call);

/* Each part runs around those below it. */
static const ShuttlePlanPart parts[] =
{
	shuttle_literal_plans_plan, /* first: a kept plan saves all the others */
	shuttle_called_routines_plan,	/* looks for functions that nodes can
									 * execute */
	shuttle_router_plan,		/* whole statements for one node */
	shuttle_index_lookups_plan, /* compares keys with entries of global
								 * indexes */
	shuttle_colocated_plan,		/* has core join on nodes */
	shuttle_two_steps_plan,		/* plans some aggregates in another way, too */
	shuttle_subquery_joins_plan,	/* joins instead of subqueries by row */
	shuttle_union_types_plan,	/* changes the query before others look at it */
	shuttle_conflict_by_row_plan,	/* an INSERT whose conflicts no node can
									 * see */
	shuttle_merge_refusal_plan, /* catches errors of what plans a MERGE */
	shuttle_merge_plan,			/* makes of a MERGE what those below can plan */
	shuttle_named_columns_plan, /* marks the plan's writes */
	shuttle_on_conflict_plan,	/* takes the clause away, and gives it back */
	shuttle_finished_plan_plan, /* innermost: sees core's plan unchanged */
	plan_by_core,
};

/* Those that most statements need, since each costs a few dozen instructions. */
static const ShuttlePlanPart parts_without_tables[] =
{
	shuttle_called_routines_plan,
	plan_by_core,
};
static const ShuttlePlanPart parts_of_plain_reads[] =
{
	shuttle_literal_plans_plan,
	shuttle_router_plan,
	shuttle_index_lookups_plan,
	shuttle_colocated_plan,
	shuttle_two_steps_plan,
	shuttle_finished_plan_plan,
	plan_by_core,
};

/* All parts, unless the query is a SELECT whose FROM has nothing but tables and joins,
 * and which has no other query in it. */
static const ShuttlePlanPart *
choose_parts(const Query *query)
{
	ListCell   *lc;

	if (query->commandType != CMD_SELECT || query->hasSubLinks || query->cteList != NIL)
		return parts;
	if (query->rtable == NIL)
		return parts_without_tables;
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind != RTE_RELATION && rte->rtekind != RTE_JOIN &&
			!shuttle_is_grouping(rte))
			return parts;
	}
	return parts_of_plain_reads;
}

static PlannedStmt *
plan_by_core(Query *query, ShuttlePlanCall call)
{
	planner_hook_type plan = previous_planner != NULL ? previous_planner : standard_planner;

	return plan(SHUTTLE_PLANNER_ARGUMENTS(query, call));
}

static PlannedStmt *
plan_statement(SHUTTLE_PLANNER_PARAMETERS)
{
	ShuttlePlanCall call = {
		query_string, cursor_options, params, SHUTTLE_PLANNER_EXPLAIN, choose_parts(query)
	};

	shuttle_ignored_only_remove(query);
	shuttle_grouped_keys_complete(query);
	if ((cursor_options & CURSOR_OPT_HOLD) != 0)
		shuttle_node_commit_note_held_cursor();
	return shuttle_plan_rest(query, call);
}

/* Functions that core inlines are analyzed while it plans. */
static void
note_analyzed(ParseState *state, Query *query, ShuttleJumble * jumble)
{
	if (previous_analyze != NULL)
		previous_analyze(state, query, jumble);
	shuttle_ignored_only_remove(query);
}

/* The planner executes operators of users on statistics of what is named. */
static void
check_right_to_name(PlannerInfo *root, const RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	const RTEPermissionInfo *permission = rte->rtekind == RTE_RELATION ? shuttle_entry_permission(root->parse, rte) : NULL;

	if (permission != NULL && permission->requiredPerms != 0)
		shuttle_hidden_table_check(rte->relid, permission->checkAsUser);
}

static void
note_relation(SHUTTLE_RELATION_HOOK_PARAMETERS)
{
	if (previous_relation != NULL)
		previous_relation(SHUTTLE_RELATION_HOOK_ARGUMENTS);
	check_right_to_name(root, rel);
	shuttle_ignored_only_check(root, rel);
	shuttle_written_casts_write(root, rel);
	shuttle_declared_keys_add(root, rel);
}

static void
consider_scan(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *rte)
{
	if (previous_scan != NULL)
		previous_scan(root, rel, relid, rte);
	shuttle_unfolded_orders_forget(root, rel);
	shuttle_scan_price_consider(root, rel, relid, rte);
	shuttle_subplan_price_target(root, rel);

	/* after all that price the scan: rows that stay on the node cost less */
	shuttle_window_limits_consider(root, rel);
}

static void
consider_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
			  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	/* first: it gives back what was hidden when the join before was planned */
	shuttle_partition_orders_show();
	if (previous_join != NULL)
		previous_join(root, joinrel, outer, inner, type, extra);
	shuttle_unfolded_orders_forget(root, joinrel);

	/* what is added below reads the inner relation, not its groups */
	if (shuttle_is_grouped_early(inner))
		return;
	shuttle_join_path_consider(root, joinrel, outer, inner, type, extra);
	if (shuttle_is_grouped_early(outer))
		return;
	shuttle_reference_tables_consider(root, joinrel, outer, inner, type, extra);
	shuttle_fixed_keys_consider(root, joinrel, outer, inner, type, extra);

	/* after all that adds joins: it changes merge joins, whoever added them */
	shuttle_locked_order_consider(root, joinrel, outer, inner, type, extra);

	shuttle_window_limits_consider(root, joinrel);

	/* last: it hides partitions from core */
	shuttle_partition_orders_consider(root, joinrel, outer, inner, type, extra);
}

static RelOptInfo *
search_joins(PlannerInfo *root, int levels, List *rels)
{
	RelOptInfo *joinrel;

	shuttle_subplan_price_join_conditions(root);
	joinrel = shuttle_whole_table_joins_search(root, levels, rels, previous_search);
	if (joinrel != NULL)
		shuttle_subplan_price_target(root, joinrel);
	return joinrel;
}

static void
consider_upper(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
			   RelOptInfo *output, void *extra)
{
	if (previous_upper != NULL)
		previous_upper(root, stage, input, output, extra);
	shuttle_planning_settings_note(root, stage, input, output, extra);

	/* it drops all paths, so other paths are added after it */
	shuttle_one_group_mend(root, stage, input, output, extra);
	shuttle_partial_aggregates_consider(root, stage, input, output, extra);

	/* last: it looks at the final paths */
	shuttle_subplan_choice_consider(root, stage, output);
}

static bool
find_statistics(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum,
				VariableStatData *variable)
{
	if (previous_statistics != NULL && previous_statistics(root, rte, attnum, variable))
		return true;
	return shuttle_reference_copy_statistics(root, rte, attnum, variable) ||
		shuttle_union_statistics(rte, attnum, variable) ||
		shuttle_uncounted_column(root, rte, attnum, variable);
}

void
shuttle_planner_fill_routine(FdwRoutine *routine)
{
	shuttle_remote_paths_fill(routine);
	shuttle_foreign_writes_fill(routine);
}

void
shuttle_planner_init(void)
{
	previous_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = note_analyzed;
	previous_planner = planner_hook;
	planner_hook = plan_statement;
	previous_relation = build_simple_rel_hook;
	build_simple_rel_hook = note_relation;
	previous_scan = set_rel_pathlist_hook;
	set_rel_pathlist_hook = consider_scan;
	previous_join = set_join_pathlist_hook;
	set_join_pathlist_hook = consider_join;
	previous_search = join_search_hook;
	join_search_hook = search_joins;
	previous_upper = create_upper_paths_hook;
	create_upper_paths_hook = consider_upper;
	previous_statistics = get_relation_stats_hook;
	get_relation_stats_hook = find_statistics;
	shuttle_nodes_sort_alike = shuttle_text_order_servers_are_alike;

	/* a cursor may have been declared before */
	if (IsTransactionState())
		shuttle_node_commit_note_held_cursor();
}

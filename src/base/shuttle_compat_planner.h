/*-------------------------------------------------------------------------
 * shuttle_compat_planner.h
 *	  Version differences: parse trees, clauses, joins and the planner's structs.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_PLANNER_H
#define SHUTTLE_COMPAT_PLANNER_H

#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "parser/analyze.h"
#include "parser/parse_relation.h"
#include "storage/lockdefs.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

/* ---- the query */

/* Arguments of a planner_hook; 19 added EXPLAIN's state. */
#if PG_VERSION_NUM >= 190000
#define SHUTTLE_PLANNER_PARAMETERS \
	Query *query, const char *query_string, int cursor_options, \
	ParamListInfo params, ExplainState *explain
#define SHUTTLE_PLANNER_EXPLAIN explain
#define SHUTTLE_PLANNER_ARGUMENTS(query, call) \
	query, (call).query_string, (call).cursor_options, (call).params, (call).explain
#else
#define SHUTTLE_PLANNER_PARAMETERS \
	Query *query, const char *query_string, int cursor_options, ParamListInfo params
#define SHUTTLE_PLANNER_EXPLAIN NULL
#define SHUTTLE_PLANNER_ARGUMENTS(query, call) \
	query, (call).query_string, (call).cursor_options, (call).params
#endif

/* 19 added EXPLAIN's state here, too. */
#if PG_VERSION_NUM >= 190000
#define pg_plan_query(query, query_string, cursor_options, params) \
	pg_plan_query(query, query_string, cursor_options, params, NULL)
#endif

/* True if another library looks at finished plans inside of core's planner, which 19 allows. */
#if PG_VERSION_NUM >= 190000
#define shuttle_plans_are_walked() (planner_shutdown_hook != NULL)
#else
#define shuttle_plans_are_walked() false
#endif

/* The hook that sees a base relation when the planner has looked it up; 19
 * replaced one for tables by one for everything in FROM. */
#if PG_VERSION_NUM >= 190000
#define SHUTTLE_RELATION_HOOK_PARAMETERS \
	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define SHUTTLE_RELATION_HOOK_ARGUMENTS root, rel, rte
#else
#define build_simple_rel_hook_type get_relation_info_hook_type
#define build_simple_rel_hook get_relation_info_hook
#define SHUTTLE_RELATION_HOOK_PARAMETERS \
	PlannerInfo *root, Oid relid, bool has_heirs, RelOptInfo *rel
#define SHUTTLE_RELATION_HOOK_ARGUMENTS root, relid, has_heirs, rel
#endif

/* What post_parse_analyze_hook gets. */
#if PG_VERSION_NUM >= 190000
typedef const JumbleState ShuttleJumble;
#else
typedef JumbleState ShuttleJumble;
#endif

/* Functions that read the name of a time zone, new in 16. */
#if PG_VERSION_NUM < 160000
#define F_DATE_ADD_TIMESTAMPTZ_INTERVAL_TEXT 6222
#define F_DATE_SUBTRACT_TIMESTAMPTZ_INTERVAL_TEXT 6273
#define F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_TEXT 6274
#endif

/* Since 16 postgres_fdw looks what a constant of regconfig or regdictionary stands for. */
#define SHUTTLE_NAMES_ARE_LOOKED_AT (PG_VERSION_NUM >= 160000)

/* 17 moved MERGE's join condition out of jointree, and added NOT MATCHED BY
 * SOURCE and views. */
#if PG_VERSION_NUM < 170000
#define MERGE_CONDITION(query) ((query)->jointree->quals)
#define MERGE_IS_MATCHED(action) ((action)->matched)
#define MERGE_IS_OF_17(query, action) false
#else
#define MERGE_CONDITION(query) ((query)->mergeJoinCondition)
#define MERGE_IS_MATCHED(action) ((action)->matchKind == MERGE_WHEN_MATCHED)
#define MERGE_IS_OF_17(query, action) \
	((query)->mergeTargetRelation != (query)->resultRelation || \
	 (action)->matchKind == MERGE_WHEN_NOT_MATCHED_BY_SOURCE)
#endif

/* 19 lets support functions replace other functions, too. */
#if PG_VERSION_NUM < 190000
#define inline_function_in_from(root, rte) inline_set_returning_function(root, rte)
#endif

/* New in 16: RTEPermissionInfo and varnullingrels. */
#if PG_VERSION_NUM < 160000
typedef RangeTblEntry RTEPermissionInfo;
#define COPY_PERMISSIONS(query, from) ((void) 0)
#define COPY_PERMISSION(query, rte, from) (rte)
#define SET_NULLED_BY(var, join) ((void) 0)
#else
#define COPY_PERMISSIONS(query, from) ((query)->rteperminfos = copyObject((from)->rteperminfos))
#define COPY_PERMISSION(query, rte, from) \
	((query)->rteperminfos = lappend((query)->rteperminfos, \
									 copyObject(getRTEPermissionInfo((from)->rteperminfos, rte))), \
	 (rte)->perminfoindex = list_length((query)->rteperminfos), \
	 getRTEPermissionInfo((query)->rteperminfos, rte))
#define SET_NULLED_BY(var, join) \
	((var)->varnullingrels = (join) == 0 ? NULL : bms_make_singleton(join))
#endif

/* A range table entry for a child that is the same table; permissions are
 * checked with the parent's. */
static inline RangeTblEntry *
shuttle_child_entry(const RangeTblEntry *parent)
{
	RangeTblEntry *child = makeNode(RangeTblEntry);

	*child = *parent;
	child->securityQuals = NIL;
#if PG_VERSION_NUM >= 160000
	child->perminfoindex = 0;
#else
	child->requiredPerms = 0;
#endif
	return child;
}

static inline void
shuttle_forget_permissions(RangeTblEntry *entry)
{
#if PG_VERSION_NUM >= 160000
	entry->perminfoindex = 0;
#else
	entry->requiredPerms = 0;
	entry->checkAsUser = InvalidOid;
	entry->selectedCols = entry->insertedCols = entry->updatedCols = NULL;
	entry->extraUpdatedCols = NULL;
#endif
}

/* Forgets what a query has only for checks of permissions, for printing, and for its
 * planning. */
static inline void
shuttle_forget_query_details(Query *query)
{
#if PG_VERSION_NUM >= 160000
	query->rteperminfos = NIL;
#endif
#if PG_VERSION_NUM < 170000
	query->mergeUseOuterJoin = false;
#endif
#if PG_VERSION_NUM >= 180000
	query->hasGroupRTE = false;
	query->returningOldAlias = query->returningNewAlias = NULL;
#endif
}

/* MERGE's table, which may be another one than resultRelation since 17. */
static inline int *
shuttle_merge_target(Query *query)
{
#if PG_VERSION_NUM >= 170000
	return &query->mergeTargetRelation;
#else
	return &query->resultRelation;
#endif
}

/* ---- clauses and groups */

/* Iterates over a class's members; 18 keeps those of child relations
 * separately. */
#if PG_VERSION_NUM < 180000
typedef struct EquivalenceMemberIterator
{
	List	   *members;
	int			next;
} EquivalenceMemberIterator;

static inline void
setup_eclass_member_iterator(EquivalenceMemberIterator *it, EquivalenceClass *ec,
							 Relids child_relids)
{
	it->members = ec->ec_members;
	it->next = 0;
}

static inline EquivalenceMember *
eclass_member_iterator_next(EquivalenceMemberIterator *it)
{
	if (it->next >= list_length(it->members))
		return NULL;
	return list_nth_node(EquivalenceMember, it->members, it->next++);
}

/* 18 has CompareType beside btree strategies, and more than btree in the lookup of
 * what an operator compares. */
#define COMPARE_LT BTLessStrategyNumber
#define get_op_index_interpretation get_op_btree_interpretation
#endif

/* The btree strategy by which a pathkey sorts. */
static inline StrategyNumber
shuttle_pathkey_strategy(const PathKey *key)
{
#if PG_VERSION_NUM >= 180000
	return key->pk_cmptype == COMPARE_LT ? BTLessStrategyNumber : BTGreaterStrategyNumber;
#else
	return key->pk_strategy;
#endif
}

/* Range table indexes below a node of a join tree, but for joins' own. */
static inline Relids
shuttle_tables_below(Node *node)
{
#if PG_VERSION_NUM >= 160000
	return get_relids_in_jointree(node, false, false);
#else
	return get_relids_in_jointree(node, false);
#endif
}

/* True of the range table entry that a grouping step has since 18. */
static inline bool
shuttle_is_grouping(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 180000
	return rte->rtekind == RTE_GROUP;
#else
	return false;
#endif
}

/* The expressions behind its columns; NIL: the entry is another one. */
static inline List *
shuttle_group_columns(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 180000
	return shuttle_is_grouping(rte) ? rte->groupexprs : NIL;
#else
	return NIL;
#endif
}

/* Of a query that has none of these entries any more. */
static inline void
shuttle_forget_grouping(Query *query)
{
#if PG_VERSION_NUM >= 180000
	query->hasGroupRTE = false;
#endif
}

/* True if core's deparser knows MERGE, since 15.3. */
static inline bool
shuttle_can_print_merge(void)
{
	return PG_VERSION_NUM >= 160000 ||
		atoi(GetConfigOption("server_version_num", false, false)) >= 150003;
}

/* Copies an entry of a query's range table to a plan's, with its permissions,
 * which are apart since 16. */
static inline void
shuttle_take_entry(List **entries, List **permissions, const Query *query,
				   RangeTblEntry *rte)
{
	RangeTblEntry *copy = makeNode(RangeTblEntry);

	*copy = *rte;
	copy->subquery = NULL;
	copy->securityQuals = NIL;
	copy->joinaliasvars = NIL;
#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex > 0)
	{
		*permissions = lappend(*permissions,
							   copyObject(getRTEPermissionInfo(query->rteperminfos, rte)));
		copy->perminfoindex = list_length(*permissions);
	}
#endif
	*entries = lappend(*entries, copy);
}

/* What is checked of a new entry, which is filled in afterwards. */
static inline RTEPermissionInfo *
shuttle_add_permission(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return addRTEPermissionInfo(&query->rteperminfos, rte);
#else
	return rte;
#endif
}

/* What is checked of an entry of a query's range table that was named; NULL: nothing. */
static inline RTEPermissionInfo *
shuttle_entry_permission(const Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return rte->perminfoindex == 0 ? NULL : getRTEPermissionInfo(query->rteperminfos, rte);
#else
	return rte->requiredPerms == 0 ? NULL : rte;
#endif
}

/* True of EXCLUDED. Core gives it the kind of a composite type; a stored query gets the table's kind
 * when it is read. */
static inline bool
shuttle_entry_is_excluded(const RangeTblEntry *rte)
{
	if (rte->rtekind != RTE_RELATION)
		return false;
	if (rte->relkind == RELKIND_COMPOSITE_TYPE)
		return true;
	return rte->rellockmode == RowExclusiveLock && !rte->inFromCl && !rte->inh && rte->alias != NULL &&
		strcmp(rte->alias->aliasname, "excluded") == 0;
}

/* The user whose rights an entry of a query's range table is read with; 0: the
 * current user. */
static inline Oid
shuttle_entry_user(const Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return getRTEPermissionInfo(query->rteperminfos, rte)->checkAsUser;
#else
	return rte->checkAsUser;
#endif
}

/* Gives an entry another table, whose rights are checked then. */
static inline void
shuttle_entry_set_table(Query *query, RangeTblEntry *rte, Oid relid)
{
#if PG_VERSION_NUM >= 160000
	getRTEPermissionInfo(query->rteperminfos, rte)->relid = relid;
#endif
	rte->relid = relid;
}

/* The same for one of a plan. */
static inline void
shuttle_plan_entry_set_table(PlannedStmt *statement, RangeTblEntry *rte, Oid relid)
{
#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex > 0)
		getRTEPermissionInfo(statement->permInfos, rte)->relid = relid;
#endif
	rte->relid = relid;
}

/* The columns that an entry's query reads, as pull_varattnos() numbers them. */
static inline const Bitmapset *
shuttle_entry_columns(const Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return getRTEPermissionInfo(query->rteperminfos, rte)->selectedCols;
#else
	return rte->selectedCols;
#endif
}

/* False for an entry that core has added for a child table: since 16 it has no user. */
static inline bool
shuttle_entry_has_user(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return rte->perminfoindex > 0;
#endif
	return true;
}

/* All tables of a plan's entries are locked when it is executed. */
static inline void
shuttle_plan_lock_all(PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 180000
	statement->unprunableRelids = bms_add_range(NULL, 1, list_length(statement->rtable));
#endif
}

/* What core checks when it starts a plan. */
static inline List *
shuttle_plan_permissions(const PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 160000
	return statement->permInfos;
#else
	return statement->rtable;
#endif
}

/* Finishes a plan that was not made by core. */
static inline void
shuttle_plan_set_tables(PlannedStmt *statement, List *entries, List *permissions)
{
	statement->rtable = entries;
#if PG_VERSION_NUM >= 160000
	statement->permInfos = permissions;
#endif
	shuttle_plan_lock_all(statement);
}

/* Takes entries of tables that nobody's rights are checked for out of a plan's list, which
 * has no such ones; only 16 and later have the list. */
static inline void
shuttle_plan_forget_unchecked(PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 160000
	List	   *checked = NIL;
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		RTEPermissionInfo *permission = rte->perminfoindex == 0 ? NULL :
			list_nth_node(RTEPermissionInfo, statement->permInfos, rte->perminfoindex - 1);

		rte->perminfoindex = 0;
		if (permission == NULL || permission->requiredPerms == 0)
			continue;
		checked = lappend(checked, permission);
		rte->perminfoindex = list_length(checked);
	}
	statement->permInfos = checked;
#endif
}

/* True of a column that is NOT NULL; unknown before 17. */
static inline bool
shuttle_is_never_null(const RelOptInfo *rel, AttrNumber attribute)
{
#if PG_VERSION_NUM >= 170000
	return attribute > 0 && bms_is_member(attribute, rel->notnullattnums);
#else
	return false;
#endif
}

/* The GROUP BY clause; since 16 without redundant columns. */
static inline List *
shuttle_processed_group_clause(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_groupClause;
#else
	return root->parse->groupClause;
#endif
}

static inline List *
shuttle_processed_distinct_clause(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_distinctClause;
#else
	return root->parse->distinctClause;
#endif
}

/* Sets a query's GROUP BY; returns the previous one. */
typedef struct ShuttleGroupClause
{
	List	   *whole;
	List	   *processed;
} ShuttleGroupClause;

static inline ShuttleGroupClause
shuttle_set_group_clause(PlannerInfo *root, List *whole, List *processed)
{
	ShuttleGroupClause before;

	before.whole = root->parse->groupClause;
	before.processed = shuttle_processed_group_clause(root);
	root->parse->groupClause = whole;
#if PG_VERSION_NUM >= 160000
	root->processed_groupClause = processed;
#endif
	return before;
}

/* Translates an expression to a child at any level. */
static inline void *
shuttle_translate_to_child(PlannerInfo *root, Node *node, RelOptInfo *child,
						   RelOptInfo *parent)
{
#if PG_VERSION_NUM >= 160000
	return adjust_appendrel_attrs_multilevel(root, node, child, parent);
#else
	return adjust_appendrel_attrs_multilevel(root, node, child->relids,
											 parent->relids);
#endif
}

/* nullable_relids existed until 15. */
static inline void
shuttle_move_nullable_relids(RestrictInfo *clause, Index from, Index to)
{
#if PG_VERSION_NUM < 160000
	if (bms_is_member(from, clause->nullable_relids))
		clause->nullable_relids =
			bms_add_member(bms_del_member(bms_copy(clause->nullable_relids), from), to);
#endif
}

/* ---- joins */

/* All relations of a query level; since 16 including outer joins. */
static inline Relids
shuttle_all_relids(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->all_query_rels;
#else
	return root->all_baserels;
#endif
}

/* 18 added the AppendRelInfos. */
static inline RelOptInfo *
shuttle_build_child_join_rel(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
							 RelOptInfo *parent, List *clauses,
							 SpecialJoinInfo *special, int nappinfos,
							 AppendRelInfo **appinfos)
{
#if PG_VERSION_NUM >= 180000
	return build_child_join_rel(root, outer, inner, parent, clauses, special,
								nappinfos, appinfos);
#elif PG_VERSION_NUM >= 160000
	return build_child_join_rel(root, outer, inner, parent, clauses, special);
#else
	return build_child_join_rel(root, outer, inner, parent, clauses, special,
								special->jointype);
#endif
}

/* JOIN_RIGHT_ANTI is new in 16, JOIN_RIGHT_SEMI in 18. */
static inline bool
shuttle_is_right_semi_or_anti(JoinType type)
{
#if PG_VERSION_NUM >= 180000
	return type == JOIN_RIGHT_SEMI || type == JOIN_RIGHT_ANTI;
#elif PG_VERSION_NUM >= 160000
	return type == JOIN_RIGHT_ANTI;
#else
	return false;
#endif
}

/* JOIN_RIGHT_SEMI is new in 18. */
static inline bool
shuttle_is_right_semi(JoinType type)
{
#if PG_VERSION_NUM >= 180000
	return type == JOIN_RIGHT_SEMI;
#else
	return false;
#endif
}

/* Since 16 outer joins have relids; a path must not be parameterized by the
 * join being made. */
static inline bool
shuttle_uses_own_outer_join(const SpecialJoinInfo *join, const Path *outer,
							const Path *inner)
{
#if PG_VERSION_NUM >= 160000
	return join->ojrelid != 0 &&
		(bms_is_member(join->ojrelid, PATH_REQ_OUTER(inner)) ||
		 bms_is_member(join->ojrelid, PATH_REQ_OUTER(outer)));
#else
	return false;
#endif
}

/*
 * Makes a path parameterized by a child's parent usable in a nested loop over
 * the child; NULL if impossible. Since 17 the change is done at plan creation.
 */
static inline Path *
shuttle_path_for_child(PlannerInfo *root, Path *path, RelOptInfo *child)
{
	if (!bms_overlap(PATH_REQ_OUTER(path), child->top_parent_relids))
		return path;
#if PG_VERSION_NUM >= 170000
	return path_is_reparameterizable_by_child(path, child) ? path : NULL;
#else
	return reparameterize_path_by_child(root, path, child);
#endif
}

/* True of a relation whose rows are aggregated before a join, new in 19. It is a
 * copy of the relation, with the same relids. */
static inline bool
shuttle_is_grouped_early(const RelOptInfo *rel)
{
#if PG_VERSION_NUM >= 190000
	return IS_GROUPED_REL(rel);
#else
	return false;
#endif
}

/* Costs a nested loop; 19 asks which settings allow it. */
static inline void
shuttle_initial_cost_nestloop(PlannerInfo *root, JoinCostWorkspace *workspace,
							  JoinType type, Path *outer, Path *inner,
							  JoinPathExtraData *extra)
{
#if PG_VERSION_NUM >= 190000
	initial_cost_nestloop(root, workspace, type,
						  PGS_NESTLOOP_PLAIN | PGS_CONSIDER_NONPARTIAL, outer, inner,
						  extra);
#else
	initial_cost_nestloop(root, workspace, type, outer, inner, extra);
#endif
}

/* The cheapest path of a semi join's inner side made unique, or NULL; since 19
 * the side of a JOIN_UNIQUE_OUTER is so already. */
static inline Path *
shuttle_unique_path(PlannerInfo *root, RelOptInfo *rel, SpecialJoinInfo *semi)
{
#if PG_VERSION_NUM >= 190000
	return rel->cheapest_total_path;
#else
	return (Path *) create_unique_path(root, rel, rel->cheapest_total_path, semi);
#endif
}

/* 18 added disabled_nodes. */
static inline bool
shuttle_add_path_precheck(RelOptInfo *rel, const JoinCostWorkspace *workspace,
						  List *pathkeys, Relids required_outer)
{
#if PG_VERSION_NUM >= 180000
	return add_path_precheck(rel, workspace->disabled_nodes, workspace->startup_cost,
							 workspace->total_cost, pathkeys, required_outer);
#else
	return add_path_precheck(rel, workspace->startup_cost, workspace->total_cost,
							 pathkeys, required_outer);
#endif
}

#endif							/* SHUTTLE_COMPAT_PLANNER_H */

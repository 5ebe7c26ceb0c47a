/*-------------------------------------------------------------------------
 * written_tables.h
 *	  Which tables a statement writes, and what must wait for that
 *	  (written_tables.c, writing_statements.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_WRITTEN_TABLES_H
#define SHUTTLE_PLANNER_FACTS_WRITTEN_TABLES_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* True if another part of the statement writes a table that one of these base
 * relations reads, so that the table must be read before. */
extern bool shuttle_written_is_beside(PlannerInfo *root, const List *relations);

/* The same for the tables of relids, if quals of the join, or the query above
 * it, use a Param that is set only when the plan runs. */
extern bool shuttle_written_waits_beside(PlannerInfo *root, Relids relids,
										 const List *conditions);

/*
 * Makes postgres_fdw check conditions of a base relation or a join (rel is NULL) here,
 * while it plans: those of a base relation that use such a Param; and those that are not
 * leakproof and come after a security barrier or a policy, since a node does not keep
 * that order. Returns what shuttle_written_show_conditions() needs to undo that.
 */
extern List *shuttle_written_hide_conditions(PlannerInfo *root, const List *conditions,
											 RelOptInfo *rel, JoinType type, SpecialJoinInfo *join);
extern void shuttle_written_show_conditions(List *hidden);

/* The clauses of a path that must not be shipped for one of these reasons. Core may have
 * copied them for the partitions of an outer side, so postgres_fdw would look anew. */
extern List *shuttle_written_kept_clauses(PlannerInfo *root, RelOptInfo *rel, const ForeignPath *path,
										  const List *clauses);

/* ---- a MERGE that was rewritten into several statements */

/* The names of its CTEs. */
#define SHUTTLE_MERGE_SOURCE "source of MERGE"
#define SHUTTLE_MERGE_ROWS "rows of MERGE"

/* False if a statement has a CTE of such a name. */
extern bool shuttle_written_merge_names_are_free(const Query *query);

/* True if a statement is a rewritten MERGE that is being planned. */
extern bool shuttle_written_merge_is_planned(const Query *statement);

/* Notes that one is being planned, or not any more; returns what was noted before. */
extern bool shuttle_written_set_merge_planned(bool is_planned);

/* ---- which tables are written */

/* The top-level query that root belongs to. */
extern Query *shuttle_written_find_statement(const PlannerInfo *root);

/* True if several parts of the statement (main query, CTEs) write a table; each
 * sees it as it was before the statement. */
extern bool shuttle_written_is_twice(PlannerInfo *root, Oid relid);

/* True if a part of the statement inserts into a reference table: rows that may refer to it are sent later. */
extern bool shuttle_written_brings_copies(PlannerInfo *root);

/* True if the statement or a CTE of it writes. */
static inline bool
shuttle_query_writes(const Query *query)
{
	return query->commandType != CMD_SELECT || query->hasModifyingCTE;
}

/* The statement, then its data-modifying CTEs: Queries. */
extern List *shuttle_writing_queries(Query *query);

/* Their plans, in the same order. The first is always the statement's own. */
extern List *shuttle_writing_plans(const PlannedStmt *statement);

#endif							/* SHUTTLE_PLANNER_FACTS_WRITTEN_TABLES_H */

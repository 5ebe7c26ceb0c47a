/*-------------------------------------------------------------------------
 * union_joins.h
 *	  The parts of joins of a UNION ALL with reference tables in its branches.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_REWRITE_UNION_JOINS_H
#define SHUTTLE_PLANNER_REWRITE_UNION_JOINS_H

#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

/* True of a subquery that conditions of the query around it may be pushed into, whatever
 * they call. */
extern bool shuttle_union_subquery_is_open(const RangeTblEntry *rte);

/* True of a UNION ALL that core makes children of one relation of, and of plain
 * subqueries over one. */
extern bool shuttle_union_is_movable(Query *query);

/* Adds columns, Vars of the query's reference tables, to what the branches of an entry's
 * UNION ALL return; each branch reads these tables then. */
extern void shuttle_union_add_columns(Query *query, RangeTblEntry *rte, Relids references,
									  List *columns);

#endif							/* SHUTTLE_PLANNER_REWRITE_UNION_JOINS_H */

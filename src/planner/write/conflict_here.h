/*-------------------------------------------------------------------------
 * conflict_here.h
 *	  ON CONFLICT DO UPDATE whose new values are computed here.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_CONFLICT_HERE_H
#define SHUTTLE_PLANNER_WRITE_CONFLICT_HERE_H

#include "nodes/plannodes.h"

#include "planner/write/conflict_values.h"

/*
 * True if one of the tables has triggers that a node's DO UPDATE would not fire:
 * relid is the statement's, relids are those of all its tables. Errors: it has
 * transition tables.
 */
extern bool shuttle_conflict_here_is_needed(Oid relid, const List *relids);

/* Sets the reason why the clause cannot be executed here, if there is one. Its
 * arbiters are converted. */
extern void shuttle_conflict_here_check(ShuttleConflictValues *values,
										const OnConflictExpr *clause);

/* Puts placeholders in the place of subqueries that depend on no row, and returns these. */
extern List *shuttle_conflict_here_take_subqueries(OnConflictExpr *clause);

/* Has the INSERT's source compute them, and puts what they are in the finished plan in the place of the
 * placeholders. False: the plan computes them otherwise. */
extern void shuttle_conflict_here_add_subqueries(Query *query, List *subqueries);
extern bool shuttle_conflict_here_give_subqueries(ModifyTable *plan, OnConflictExpr *clause, int nsubqueries);

/*
 * Puts SET and WHERE of the clause into the finished plan of an INSERT, as core
 * does. target: its table's index in the query.
 */
extern void shuttle_conflict_here_attach(ModifyTable *plan, PlannedStmt *statement,
										 const OnConflictExpr *clause, Index target);

#endif							/* SHUTTLE_PLANNER_WRITE_CONFLICT_HERE_H */

/*-------------------------------------------------------------------------
 * conflict_here.h
 *	  ON CONFLICT DO UPDATE whose new values are computed here, for triggers.
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

/*
 * Puts SET and WHERE of the clause into the finished plan of an INSERT, as core
 * does. target: its table's index in the query.
 */
extern void shuttle_conflict_here_attach(ModifyTable *plan, PlannedStmt *statement,
										 const OnConflictExpr *clause, Index target);

#endif							/* SHUTTLE_PLANNER_WRITE_CONFLICT_HERE_H */

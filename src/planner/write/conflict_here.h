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

/* True if an INSERT may have written when a row that conflicts is computed: rows before it, by triggers
 * or by functions. relids are those of all its tables. */
extern bool shuttle_conflict_here_writes_before(const Query *query, const List *relids);

/* Makes subqueries, which are evaluated before the first row is written, of what calls users' STABLE
 * functions in the clause and is the same for all rows. */
extern void shuttle_conflict_here_evaluate_first(Query *query, OnConflictExpr *clause);

/* Sets the reason why the clause cannot be executed here, if there is one. Its
 * arbiters are converted. */
extern void shuttle_conflict_here_check(ShuttleConflictValues *values,
										const OnConflictExpr *clause);

/*
 * Returns the clause as core is to plan it: what DO UPDATE does, without arbiters. excluded_columns: its
 * exclRelTlist.
 */
extern OnConflictExpr *shuttle_conflict_here_keep(const OnConflictExpr *clause, List *excluded_columns);

#endif							/* SHUTTLE_PLANNER_WRITE_CONFLICT_HERE_H */

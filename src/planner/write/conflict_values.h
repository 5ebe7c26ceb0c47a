/*-------------------------------------------------------------------------
 * conflict_values.h
 *	  Which values of ON CONFLICT a node computes, and which are computed here.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_CONFLICT_VALUES_H
#define SHUTTLE_PLANNER_WRITE_CONFLICT_VALUES_H

#include "nodes/primnodes.h"
#include "utils/relcache.h"

/* The values of one clause. The caller sets the first four fields. */
typedef struct ShuttleConflictValues
{
	Index		target;			/* range table index of the stored row */
	Index		excluded;		/* and of EXCLUDED */
	Relation	rel;			/* the INSERT's table */
	bool		writes_before;	/* the statement may have written when a value
								 * is computed here */

	List	   *parameters;		/* expressions evaluated once a statement */
	List	   *row_values;		/* expressions evaluated for each row */
	List	   *invalid_by;		/* PlanInvalItems of functions */
	const char *reason;			/* why they cannot be converted; or NULL */
	const char *hint;			/* what to do instead; the caller's is kept if
								 * there is none for the reason */
	bool		whole;			/* converting what depends on EXCLUDED alone */
} ShuttleConflictValues;

/*
 * Converts an expression for nodes: what depends on no row becomes a parameter.
 * Sets the reason if that is not possible.
 */
extern Node *shuttle_conflict_values_ship(ShuttleConflictValues *values, Node *node);

/*
 * Converts SET and WHERE of DO UPDATE in place. What depends on EXCLUDED alone
 * and cannot be left to nodes becomes a parameter of each row; these follow the
 * other parameters.
 */
extern void shuttle_conflict_values_ship_update(ShuttleConflictValues *values,
												OnConflictExpr *clause);

#endif							/* SHUTTLE_PLANNER_WRITE_CONFLICT_VALUES_H */

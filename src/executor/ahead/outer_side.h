/*-------------------------------------------------------------------------
 * outer_side.h
 *	  What reading the outer side of a join ahead of its turn may show or raise.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_OUTER_SIDE_H
#define SHUTTLE_EXECUTOR_AHEAD_OUTER_SIDE_H

#include "executor/ahead/plan_facts.h"
#include "executor/join/join.h"

/* ---- what may be read ahead (outer_effects.c) */

/* True where reading a row of an outer side ahead of its turn does something
 * that shows: a volatile function is called, a row is locked or written. */
extern bool shuttle_outer_shows_effects(PlanState *outer);

/* ---- errors of outer rows (outer_errors.c, read_ahead.c) */

/* What an outer side may raise after its first row, which it has returned.
 * once: it is not run again when something was raised. */
extern ShuttleOuterErrors shuttle_outer_errors(PlanState *outer, bool once);

/* How a node is looked at. */
typedef struct ShuttleErrorsQuestion
{
	bool		once;			/* it is not started again after an error */
	bool		later;			/* its first row is there */
	ShuttleVisits *visits;		/* to CTEs and SubPlans */
} ShuttleErrorsQuestion;

/*
 * What a whole run of a node may raise, whether or not its first row is there.  A
 * plan that may be asked about several times, as CTEs and SubPlans are, is walked once.
 */
extern ShuttleOuterErrors shuttle_run_errors(PlanState *node,
											 ShuttleErrorsQuestion question);

/*
 * What the value of an expression may raise; a SubPlan has its plan's errors.
 * Every function that is not known to hold nothing while it is under way may
 * raise anything.
 */
extern ShuttleOuterErrors shuttle_expression_errors(Node *expression,
													PlanState *node,
													ShuttleErrorsQuestion question);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_OUTER_SIDE_H */

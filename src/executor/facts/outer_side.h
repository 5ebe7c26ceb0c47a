/*-------------------------------------------------------------------------
 * outer_side.h
 *	  What reading the outer side of a join ahead of its turn may show
 *	  (outer_effects.c) or raise (outer_errors.c, expression_errors.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_OUTER_SIDE_H
#define SHUTTLE_EXECUTOR_FACTS_OUTER_SIDE_H

#include "executor/facts/plan_facts.h"
#include "executor/join/join.h"

/* ---- what may be read ahead (outer_effects.c) */

/* True if reading outer rows ahead of time has effects that show: volatile
 * functions are called, rows are locked or written. */
extern bool shuttle_outer_shows_effects(PlanState *outer);

/* ---- errors of outer rows (outer_errors.c, expression_errors.c) */

/* What an outer side may raise after it has returned its first row. once: it is
 * not run again after an error. */
extern ShuttleOuterErrors shuttle_outer_errors(PlanState *outer, bool once);

/* What errors_of() is to find out about a node. */
typedef struct ShuttleErrorsQuestion
{
	bool		once;			/* the node is not run again after an error */
	bool		later;			/* the node has returned its first row */
	ShuttleVisits *visits;		/* plans of CTEs and SubPlans visited so far */
} ShuttleErrorsQuestion;

/*
 * What a whole run of a node may raise, its first row included. The answer is
 * remembered in question.visits, as CTEs and SubPlans are asked about several
 * times.
 */
extern ShuttleOuterErrors shuttle_outer_errors_of_plan(PlanState *node,
													   ShuttleErrorsQuestion question);

/* What evaluating an expression may raise, including its SubPlans. A function
 * may raise anything unless it is known to hold no resources while it runs. */
extern ShuttleOuterErrors shuttle_expression_errors(Node *expression,
													PlanState *node,
													ShuttleErrorsQuestion question);

#endif							/* SHUTTLE_EXECUTOR_FACTS_OUTER_SIDE_H */

/*-------------------------------------------------------------------------
 * two_steps.h
 *	  The parts of aggregates in two steps.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_REWRITE_TWO_STEPS_H
#define SHUTTLE_PLANNER_REWRITE_TWO_STEPS_H

#include "nodes/parsenodes.h"

/* A query with aggregates, and its first step. */
typedef struct ShuttleSteps
{
	Query	   *query;
	Index		grouping;		/* entry of the groups' columns, since 18; or
								 * 0 */
	List	   *groups;			/* expressions that the first step groups by */
	List	   *clauses;		/* their SortGroupClauses */
	int			ngroups;		/* of these that the query groups by; values
								 * of DISTINCT aggregates follow */
	List	   *partials;		/* Aggrefs that it computes */
	Index		first;			/* its entry in the query */
	bool		failed;			/* something cannot be computed in two steps */
} ShuttleSteps;

/* The column of one of the first n groups; NULL: it is none of them. */
extern Var *shuttle_step_group(const ShuttleSteps *steps, int n, Node *group);

/* Adds the values of DISTINCT aggregates of an expression to the groups of a ShuttleSteps. */
extern bool shuttle_step_add_distinct(Node *node, void *context);

/* Replaces groups and aggregates by what is made of the first step's columns; for a
 * ShuttleSteps. */
extern Node *shuttle_step_replace(Node *node, void *context);

#endif							/* SHUTTLE_PLANNER_REWRITE_TWO_STEPS_H */

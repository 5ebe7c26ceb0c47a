/*-------------------------------------------------------------------------
 * literals.h
 *	  Statements that differ in their literals only, and their shared plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_ROUTER_LITERALS_H
#define SHUTTLE_PLANNER_ROUTER_LITERALS_H

#include "nodes/parsenodes.h"

#include "planner/hooks.h"

/* ---- statements that differ in literals (literal_plans.c, literal_shape.c) */

/* A statement with parameters in place of its literals. */
typedef struct ShuttleShape
{
	Query	   *query;			/* refers to parts of the statement */
	List	   *literals;		/* Const of each parameter */
	Size		left_bytes;		/* bytes of literals that stay in the query */
	uint32		hash;
	bool		has_parameters; /* it has PARAM_EXTERN of its own */
} ShuttleShape;

/* The shape of a statement on one table. The statement is not changed. */
extern ShuttleShape shuttle_literal_shape_take(Query *query);

/* Part of the planner hook: shares plans. */
extern PlannedStmt *shuttle_literal_plans_plan(Query *query, ShuttlePlanCall call);

#endif							/* SHUTTLE_PLANNER_ROUTER_LITERALS_H */

/*-------------------------------------------------------------------------
 * literals.h
 *	  Statements that differ in their literals only, and their shared plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_STATEMENT_LITERALS_H
#define SHUTTLE_PLANNER_STATEMENT_LITERALS_H

#include "base/shuttle_compat.h"

/* ---- statements that differ in literals (literal_plans.c, literal_shape.c) */

/* A statement with parameters in place of its literals. */
typedef struct ShuttleShape
{
	Query	   *query;			/* refers to parts of the statement */
	List	   *literals;		/* Const of each parameter */
	Size		left_bytes;		/* of literals that were left */
	uint32		hash;
	bool		has_parameters; /* of its own */
} ShuttleShape;

/* The shape of a statement about one table, which stays as it is. */
extern ShuttleShape shuttle_take_shape(Query *query);

/* Has them share a plan. */
extern void shuttle_literal_plans_init(void);

#endif							/* SHUTTLE_PLANNER_STATEMENT_LITERALS_H */

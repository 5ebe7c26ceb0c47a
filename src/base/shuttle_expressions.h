/*-------------------------------------------------------------------------
 * shuttle_expressions.h
 *	  What an expression has in it (expression_facts.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_BASE_EXPRESSIONS_H
#define SHUTTLE_BASE_EXPRESSIONS_H

#include "nodes/bitmapset.h"
#include "nodes/nodes.h"

typedef enum ShuttleExpressionFact
{
	/* columns, of any level */
	SHUTTLE_HAS_COLUMN = 1 << 0,
	SHUTTLE_HAS_XMIN_TO_CMAX = 1 << 1,	/* xmin, xmax, cmin or cmax */
	SHUTTLE_HAS_XMAX = 1 << 2,
	SHUTTLE_HAS_TABLEOID = 1 << 3,

	/* parameters */
	SHUTTLE_HAS_STATEMENT_PARAM = 1 << 4,	/* $1 */
	SHUTTLE_HAS_PLAN_PARAM = 1 << 5,	/* set by a node of the plan */
	SHUTTLE_HAS_STAND_IN_PARAM = 1 << 6,	/* one of ours, below 0 */
	SHUTTLE_HAS_MULTIEXPR_PARAM = 1 << 7,	/* of SET (a, b) = (SELECT ..) */
	SHUTTLE_HAS_SUBLINK_PARAM = 1 << 8,
	SHUTTLE_HAS_PARAM = SHUTTLE_HAS_STATEMENT_PARAM | SHUTTLE_HAS_PLAN_PARAM |
		SHUTTLE_HAS_STAND_IN_PARAM | SHUTTLE_HAS_MULTIEXPR_PARAM | SHUTTLE_HAS_SUBLINK_PARAM,

	/* other parts */
	SHUTTLE_HAS_SUBLINK = 1 << 9,	/* a subquery before planning, or a Query */
	SHUTTLE_HAS_ALTERNATIVES = 1 << 10, /* AlternativeSubPlan */
	SHUTTLE_HAS_AGGREGATE = 1 << 11,	/* also GROUPING() */
	SHUTTLE_HAS_WINDOW_FUNCTION = 1 << 12,
	SHUTTLE_HAS_CASE = 1 << 13,
	SHUTTLE_HAS_CASE_VALUE = 1 << 14,	/* what CASE tests, inside its WHEN */
	SHUTTLE_HAS_DOMAIN_VALUE = 1 << 15, /* VALUE in a domain's check */
	SHUTTLE_HAS_DEFAULT = 1 << 16,
	SHUTTLE_HAS_CURRENT_OF = 1 << 17,
	SHUTTLE_HAS_ASSIGNED_PART = 1 << 18,	/* SET a.b = .. or a[1] = .. */
	SHUTTLE_HAS_MERGE_ACTION = 1 << 19,

	/* functions, also those of operators, aggregates and casts */
	SHUTTLE_HAS_ADDED_FUNCTION = 1 << 20,	/* none of PostgreSQL's own */
	SHUTTLE_HAS_VOLATILE_FUNCTION = 1 << 21,
	SHUTTLE_HAS_USERS_STABLE_FUNCTION = 1 << 22,
	SHUTTLE_HAS_USERS_CODE = 1 << 23,	/* not in C */

	/* what a node would compute otherwise (shuttle_meanings.h) */
	SHUTTLE_HAS_KNOWN_HERE_ONLY = 1 << 24,
	SHUTTLE_HAS_COMPUTED_OTHERWISE = 1 << 25,
} ShuttleExpressionFact;

/*
 * True if an expression, or a list of some, has one of the facts in it: each of the names
 * above is one or several bits. Looks into RestrictInfos, not into subqueries. NULL has none.
 * An expression that PostgreSQL has and this file does not know has all of them, and
 * is an error where assertions are checked.
 */
extern bool shuttle_expression_has(const void *expression, int facts);

/*
 * True if an expression, a list of some, or a query may write by what users have made: a volatile function,
 * an aggregate with one, a domain whose checks call one. Looks into subqueries.
 */
extern bool shuttle_expression_may_write(const void *expression);

/* An aggregate itself is never declared volatile: true if one of its functions is. */
extern bool shuttle_expression_aggregate_is_volatile(Oid aggregate);

/* True if RETURNING uses OLD or NEW, also within subqueries; ctid of OLD. New in 18. */
extern bool shuttle_expression_has_old_or_new(const void *expression);
extern bool shuttle_expression_has_old_ctid(const void *expression);

/* The numbers of the parameters in an expression that nodes of the plan set. */
extern Bitmapset *shuttle_expression_params(const void *expression);

#endif							/* SHUTTLE_BASE_EXPRESSIONS_H */

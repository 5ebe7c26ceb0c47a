/*-------------------------------------------------------------------------
 * subqueries.h
 *	  Which subqueries can be computed for more rows than asked for.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_REWRITE_SUBQUERIES_H
#define SHUTTLE_PLANNER_REWRITE_SUBQUERIES_H

#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"

static inline bool
shuttle_is_deterministic(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/* True of a value that is NULL if no row is aggregated, that does not depend on the
 * order of rows, and cannot raise an error. */
extern bool shuttle_subquery_is_null_for_no_rows(TargetEntry *entry);

/* True if a subquery of query may raise an error for some rows of its tables. */
extern bool shuttle_subquery_may_fail(const Query *query, const Query *subquery);

#endif							/* SHUTTLE_PLANNER_REWRITE_SUBQUERIES_H */

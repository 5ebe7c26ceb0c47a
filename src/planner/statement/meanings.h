/*-------------------------------------------------------------------------
 * meanings.h
 *	  Expressions that are marked immutable, and mean something else on a node.
 *
 * In: a function, or a node of an expression. Out: whether a node's value may
 * differ, or a node does not know it (meanings.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_STATEMENT_MEANINGS_H
#define SHUTTLE_PLANNER_STATEMENT_MEANINGS_H

#include "nodes/primnodes.h"

/* True of functions whose texts depend on settings, which nodes' sessions have otherwise. */
extern bool shuttle_writes_as_set(Oid function, void *context);

/* True of an operator of a user, also over a built-in function. Not its children. */
extern bool shuttle_is_users_operator(const Node *node);

/* True of clauses (SortGroupClause) that sort or group by such an operator. */
extern bool shuttle_sorts_by_users_operator(const List *clauses);

#endif							/* SHUTTLE_PLANNER_STATEMENT_MEANINGS_H */

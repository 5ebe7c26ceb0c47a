/*-------------------------------------------------------------------------
 * shuttle_meanings.h
 *	  Expressions that are marked immutable, and mean something else on a node.
 *
 * In: a function, or a node of an expression. Out: whether a node's value may
 * differ, or a node does not know it (meanings.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_BASE_MEANINGS_H
#define SHUTTLE_BASE_MEANINGS_H

#include "nodes/primnodes.h"

/* What a node of an expression relabels: the same value under another type's name. NULL stays NULL. */
static inline Node *
shuttle_meaning_without_relabels(const Node *node)
{
	while (node != NULL && nodeTag(node) == T_RelabelType)
		node = (const Node *) ((const RelabelType *) node)->arg;
	return unconstify(Node *, node);
}

/* True if a list has the name: for functions with several signatures, and those that not
 * every version has. */
extern bool shuttle_meaning_is_named(const char *name, const char *const *names, int nnames);

/* True of functions whose texts depend on settings, which nodes' sessions have otherwise. */
extern bool shuttle_meaning_writes_as_set(Oid function, void *context);

/* True of an operator of a user, also over a built-in function. Not its children. */
extern bool shuttle_meaning_is_users_operator(const Node *node);

/* True of a call whose value depends on the session's time zone, or on its abbreviations
 * of zones. Not its children. */
extern bool shuttle_meaning_depends_on_zone(const Node *node);

/* True of a cast that a user made between built-in types. Not its children. */
extern bool shuttle_meaning_is_users_cast(const Node *node);

/* True of an expression that a node's session may compute otherwise, though it is marked
 * immutable. Not its children. */
extern bool shuttle_meaning_is_computed_otherwise(const Node *node);

/* True of what postgres_fdw would ship, though a node would compute something else. */
extern bool shuttle_meaning_is_known_here_only(const Node *node);

/* True of clauses (SortGroupClause) that sort or group by such an operator. */
extern bool shuttle_meaning_sorts_by_users_operator(const List *clauses);

#endif							/* SHUTTLE_BASE_MEANINGS_H */

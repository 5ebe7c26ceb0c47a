/*-------------------------------------------------------------------------
 * key_equality.h
 *	  Conditions that give partition keys a value (key_equality.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_KEY_EQUALITY_H
#define SHUTTLE_PLANNER_FACTS_KEY_EQUALITY_H

#include "nodes/pathnodes.h"

/* True of an expression for a relation's key column that no outer join makes NULL. */
extern bool shuttle_key_is_of_relation(const RelOptInfo *rel, int column, Node *node);

/* True of an equality of a partitioning's operator family: PARTITION_STRATEGY_HASH or
 * another strategy. */
extern bool shuttle_key_equality_is_of_family(const OpExpr *op, char partitioning, Oid opfamily, Oid collation);

/* What a condition says that column is equal to; or NULL. */
extern Node *shuttle_key_value(const RelOptInfo *rel, int column, const RestrictInfo *condition);

#endif							/* SHUTTLE_PLANNER_FACTS_KEY_EQUALITY_H */

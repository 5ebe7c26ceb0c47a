/*-------------------------------------------------------------------------
 * index_lookups.h
 *	  What finds rows by global indexes needs to know: conditions on a table, and entries.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_REWRITE_INDEX_LOOKUPS_H
#define SHUTTLE_PLANNER_REWRITE_INDEX_LOOKUPS_H

#include "access/attnum.h"
#include "nodes/parsenodes.h"
#include "utils/relcache.h"

/* A table of a query, and conditions that its rows meet. */
typedef struct ShuttleLookedUp
{
	int			rtindex;
	Relation	rel;
	AttrNumber	key;			/* the distribution column */
	List	   *clauses;		/* simplified, as core's planner would */
} ShuttleLookedUp;

/* True of an expression that can be computed at any time, since that does not fail. */
extern bool shuttle_index_value_is_known(Node *node);

/* True of a column of the table, whatever its type is relabelled to. */
extern bool shuttle_index_is_column(Node *node, int rtindex, AttrNumber number);

/* Expressions with one node replaced: nodes are the old one and the new one. */
extern Node *shuttle_index_replace_node(Node *node, void *nodes);

/* node, relabelled unless it has that type. */
extern Expr *shuttle_index_relabelled(Node *node, Oid type);

/* Conditions as core's planner simplifies them, as a list. */
extern List *shuttle_index_simplified(Node *quals);

/* The entry for entries in a range table, with the rights that they are written with. */
extern RangeTblEntry *shuttle_index_make_entry(Query *query, Relation entries);

/* Opens the table for look-ups; NULL: there can be none. */
extern Relation shuttle_index_open_table(const Query *query, int rtindex, List *clauses, ShuttleLookedUp *table);

/* True if asking for entries of so many values, and then for their rows, costs less than asking all partitions. */
extern bool shuttle_index_is_cheap(Relation rel, double nvalues);

/* ---- index_lists.c */

/*
 * Lets a SELECT with email = ANY (array) among conditions that are met together read entries first, as a join: these
 * have all rows that the table has with these values. Returns true if it did. keep is called before.
 */
extern bool shuttle_index_lists_join(Query *query, FromExpr *from, int rtindex, void (*keep) (void *arg), void *arg);

#endif							/* SHUTTLE_PLANNER_REWRITE_INDEX_LOOKUPS_H */

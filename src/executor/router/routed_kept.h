/*-------------------------------------------------------------------------
 * routed_kept.h
 *	  What executions of one routed plan have in common (routed_kept.c).
 *
 * In: a plan over tablets of one number, and a key's value. Out: the tablet's server and
 * the statement's text, and what prints and reads values.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTER_ROUTED_KEPT_H
#define SHUTTLE_EXECUTOR_ROUTER_ROUTED_KEPT_H

#include "access/tupdesc.h"

#include "executor/executor_types.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

typedef struct ShuttleRoutedKept ShuttleRoutedKept;

/* The tablet of a key. */
typedef struct ShuttleRoutedPlace
{
	Oid			serverid;
	int			tablet;			/* its number */
	char	   *sql;			/* the plan's text over tablets of that number */
	Oid			userid;			/* for whom the node is */
	ShuttleNode *node;			/* NULL: not asked for yet */
} ShuttleRoutedPlace;

/*
 * What earlier executions have left; NULL: nothing, or another one uses it now. desc: of the
 * plan's rows. It is used until the context user is reset. The tables are locked.
 */
extern ShuttleRoutedKept *shuttle_routed_kept_use(const ShuttleRoutedPlan *plan, TupleDesc desc,
												  MemoryContext user);

/* The place of the first key's value; lives as long as kept is used. */
extern ShuttleRoutedPlace *shuttle_routed_kept_place(ShuttleRoutedKept *kept, const ShuttleRoutedPlan *plan,
													 Datum value, bool is_null);

/* The place's node for a user, as shuttle_connection_get() returns it. */
extern ShuttleNode *shuttle_routed_kept_node(ShuttleRoutedPlace *place, Oid userid);

extern ShuttleParameters *shuttle_routed_kept_parameters(const ShuttleRoutedKept *kept);

extern ShuttleDecoder *shuttle_routed_kept_decoder(const ShuttleRoutedKept *kept);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_ROUTED_KEPT_H */

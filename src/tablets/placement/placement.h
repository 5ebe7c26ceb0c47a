/*-------------------------------------------------------------------------
 * placement.h
 *	  Tables get placement rules (see places.h), and tablets go where these allow them.
 *
 * place.c		shuttle.place() and shuttle.set_labels()
 * at_once.c	tablets of empty tables change places in the transaction
 * tend.c		shuttle.tend(): partitions that are old enough for another rule
 *
 * In: a table and a rule. Out: a group that has the rule, on nodes that it allows; or the
 * number of tablets that shuttle.rebalance() has to move.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_PLACEMENT_PLACEMENT_H
#define SHUTTLE_TABLETS_PLACEMENT_PLACEMENT_H

#include "tablets/common/places.h"

/* ---- at_once.c */

/* Moves tablets of a group that are where its rules, or its leader, do not have them, if all its
 * tables are empty. Returns the number of tablets that are elsewhere afterwards. */
extern int	shuttle_at_once_place(int group);

/* ---- place.c */

/* Gives a table a rule, or takes it (NULL). by_age: a partition gets it from a table above. */
extern void shuttle_place_set(Oid relid, const ShuttleRule *rule, bool by_age, bool alone);

#endif							/* SHUTTLE_TABLETS_PLACEMENT_PLACEMENT_H */

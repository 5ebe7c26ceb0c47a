/*-------------------------------------------------------------------------
 * call_keys.h
 *	  Whether a call's arguments alone tell which nodes its body needs.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTER_CALL_KEYS_H
#define SHUTTLE_EXECUTOR_ROUTER_CALL_KEYS_H

#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "utils/relcache.h"

#include "executor/router/call.h"

/* While a body is checked: something in it has a key that no argument tells. */
extern void shuttle_call_keys_are_unknown(ShuttleCallBody *body);

/* The number of the parameter that an expression is; 0: it is another one. */
extern int	shuttle_call_key_parameter(Node *node);

/*
 * Notes that a table's rows that a query needs have a parameter, or one of its
 * elements, as their key. parameter: 0: another value. type: the parameter's.
 * equality, collation: of the condition.
 */
extern void shuttle_call_note_key(ShuttleCallBody *body, Oid relid, int parameter, Oid type,
								  Oid equality, Oid collation);

/* Notes the key that a query gives to rows of its target. */
extern void shuttle_call_note_target(ShuttleCallBody *body, const Query *query, Relation rel);

/* Notes if a level of a query wants plans for its values. nsets: distributed tables of
 * which it reads more than a row. */
extern void shuttle_call_note_query(ShuttleCallBody *body, const Query *query, int nsets);

/* True if a row of the table has other values in these columns than all others. */
extern bool shuttle_call_is_one_row(Oid relid, const Bitmapset *columns);

/*
 * Ends the check of the body. arguments: the number of each parameter's argument, or
 * NULL if they are the same. assigned: the step before which each parameter is
 * certainly an argument; 0: always; NULL: all are.
 */
extern void shuttle_call_keys_resolve(ShuttleCallBody *body, const int *arguments, const int *assigned,
									  int nparameters);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_CALL_KEYS_H */

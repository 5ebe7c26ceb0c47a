/*-------------------------------------------------------------------------
 * call.h
 *	  Calls of functions and procedures that one node executes (shipped calls).
 *
 * call.c			whether a call can be shipped now; sends it, or says that it
 *					must run here
 * call_node.c		plan node of SELECT f(..) and SELECT .. FROM f(..)
 * call_statement.c	CALL
 * call_body.c		whether a routine's body means the same on a node
 * call_plpgsql.c	its statements in PL/pgSQL
 * call_cursors.c	whether it closes its cursors
 * call_texts.c		its queries that are executed as texts
 * call_queries.c	its queries
 * call_functions.c	built-in functions that mean the same on a node
 * call_keys.c		whether its arguments tell which nodes it needs
 * call_history.c	calls that came back lately
 *
 * In: a routine that shuttle.distribute_function() has copied to all nodes, and
 * its arguments. Out: its rows, or false.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTER_CALL_H
#define SHUTTLE_EXECUTOR_ROUTER_CALL_H

#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

#include "base/shuttle_counters.h"
#include "base/shuttle_utility.h"
#include "executor/shuttle_executor.h"

/* ---- call_body.c */

/* Which keys it needs (call_keys.c). */
typedef struct ShuttleCallKeys
{
	bool		are_unknown;	/* not arguments, at least one of them */
	bool		wants_values;	/* its queries want plans for their values */
	List	   *arguments;		/* ints, from 1: those that are keys, */
	List	   *relids;			/* and for each a table that it is a key of */

	/* while the body is checked */
	int			step;
	bool		is_nested;		/* in a routine that it calls */
	int			nsets;			/* tables of this query that give many rows */
	List	   *uses;			/* of parameters as keys */
} ShuttleCallKeys;

/* What a routine's body needs. Kept until one of the objects changes. */
typedef struct ShuttleCallBody
{
	Oid			routine;
	const char *refusal;		/* why it cannot run on a node; NULL: it can */
	List	   *relids;			/* distributed and reference tables */
	Oid			distributed;	/* one of the former */
	List	   *routines;		/* it, and those that it calls */
	bool		writes;
	bool		locks;			/* rows */
	bool		reads_copies;	/* of reference tables */
	bool		uses_clock;		/* now() and the like */
	bool		leaves_cursors; /* open, perhaps */
	List	   *cursors;		/* names that they have */
	ShuttleCallKeys keys;
	List	   *collations;		/* that it compares and sorts by */
	List	   *types;			/* of users */
	const char *path;			/* search_path for the node */
} ShuttleCallBody;

/*
 * The body of a routine. All tables that it needs are locked as for reading, so
 * that they stay where they are. Errors: cancel, out of memory.
 */
extern const ShuttleCallBody *shuttle_call_body(Oid routine);

/* Notes why a body cannot run on a node; the first reason counts. */
extern void shuttle_call_refuse(ShuttleCallBody *body, const char *refusal);

/* Checks a routine that the body calls, too. */
extern void shuttle_call_check_routine(ShuttleCallBody *body, Oid routine);

/* ---- call_plpgsql.c, call_queries.c, call_functions.c */

extern void shuttle_call_check_plpgsql(ShuttleCallBody *body, HeapTuple routine);

/* query: as it was analyzed, not rewritten. */
extern void shuttle_call_check_query(ShuttleCallBody *body, Query *query);

/* True if a built-in function gives the same value on a node; sets uses_clock. */
extern bool shuttle_call_function_is_alike(Oid function, bool *uses_clock);

/* ---- call.c */

typedef struct ShuttleCall
{
	Oid			routine;
	const char *sql;			/* parameters are $1, $2, ... */
	int			nparams;
	const char *const *values;
	const ShuttleRoutedPlan *plan;	/* has the key, */
	List	   *keys;			/* its expression state, */
	List	   *arguments;		/* those of all arguments, */
	ExprContext *econtext;		/* and where to evaluate them */
	EState	   *estate;			/* NULL: CALL */
	bool		outermost;		/* a statement of its own, in no block, */
	bool		is_transaction; /* and the transaction ends with it */
	TupleDesc	desc;			/* of its rows; NULL: none come */
	Tuplestorestate *rows;		/* gets them */
	ShuttleCounters *counters;	/* NULL: nobody asks */
} ShuttleCall;

/* Where a call would go; InvalidOid: it runs here, and *reason says why. */
extern Oid	shuttle_call_server(const ShuttleCall *call, const char **reason);

/*
 * Has a node execute the call. Returns false if it has to run here; nothing has
 * happened then. Errors: cancel, and those of connections.
 */
extern bool shuttle_call_ship(const ShuttleCall *call);

/* ---- call_keys.c */

/* Where the keys are that the call needs. */
typedef enum ShuttleCallPlace
{
	SHUTTLE_KEYS_UNKNOWN,		/* not arguments, at least one of them: needs
								 * traps */
	SHUTTLE_KEYS_THERE,			/* all are arguments, and on the server */
	SHUTTLE_KEYS_ELSEWHERE		/* all are arguments, one is on another server */
} ShuttleCallPlace;				/* in this order */

/* tablets: gets the tablets of the keys, if all are there; NULL: not asked for. */
extern ShuttleCallPlace shuttle_call_place(const ShuttleCall *call, Oid server, List **tablets);

/* ---- call_node.c, call_statement.c */

extern void shuttle_call_register(void);

/* Executes a CALL. */
extern void shuttle_call_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_CALL_H */

/*-------------------------------------------------------------------------
 * keyed_write.h
 *	  What the files share that have nodes join rows of here with tables that
 *	  they change.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_KEYED_WRITE_H
#define SHUTTLE_EXECUTOR_WRITE_KEYED_WRITE_H

#include "executor/executor_types.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

/* Called once (keyed_write.c). */
extern void shuttle_keyed_write_register(void);

/* ---- statements (keyed_sql.c) */

/* One value that travels with each row of the source, or with all of them. */
typedef struct ShuttleKeyedValue
{
	ExprState  *expr;
	Oid			type;
	bool		varies;			/* it is taken from the source's row */
	bool		as_text;		/* cannot be unnested: travels as text[] */
	char		delimiter;		/* between the elements of an array */
	FmgrInfo	output;
	Datum		datum;			/* of the row in hand */
	bool		is_null;
} ShuttleKeyedValue;

extern void shuttle_keyed_value_describe(ShuttleKeyedValue *value, Expr *expr,
										 PlanState *parent);

/*
 * postgres_fdw's UPDATE or DELETE, joined with its parameters as arrays;
 * values: those of $1, $2, ...
 * returns: the key's ordinal stands in front of the columns that postgres_fdw asks
 * for; else nothing is added to these.
 * guarded: leaves rows alone that the node's transaction has changed.
 * counted: the node's planner may know how many keys there are.
 */
extern char *shuttle_keyed_sql(const char *sql, ShuttleKeyedValue *const *values,
							   int nvalues, bool returns, bool guarded, bool counted);

/* ---- partitions (keyed_routes.c) */

typedef struct ShuttleKeyedRoutes ShuttleKeyedRoutes;

/*
 * routes: of ShuttleKeyedPlan, in which the numbers of relations are too small
 * by relation_offset.  relids: of the tables that are changed.
 * In the query's context.
 */
extern ShuttleKeyedRoutes *shuttle_keyed_routes_create(EState *estate, List *routes,
													   int relation_offset,
													   const Oid *relids, int ntables);

/* The table, from 0, that has the rows of the values in hand; negative: none. */
extern int	shuttle_keyed_routes_find(const ShuttleKeyedRoutes *routes,
									  const ShuttleKeyedValue *values);

/* ---- the plan node (keyed_write.c, keyed_piece.c) */

/* One table that is changed. */
typedef struct ShuttleKeyedTarget
{
	ResultRelInfo *target;
	ShuttleNode *node;
	int			ntuples;		/* by estimate; 0: not known */
	ShuttlePostgresFdwDirect postgres_fdw;
	int			nvalues;
	ShuttleKeyedValue **values; /* of $1, $2, ... */
	ShuttleDecoder *decoder;	/* NULL: no column is returned */
	ShuttleAsked *asked_statements; /* for EXPLAIN; NULL: nothing */
	ShuttleCounters counters;
	bool		asked;			/* a piece went there */

	/* the piece */
	int			nkeys;
	int			keys_size;
	int		   *rows;			/* of the source, for each key */
	ShuttleRequest *request;	/* NULL: nothing to be waited for */
} ShuttleKeyedTarget;

typedef struct ShuttleKeyedWriteState
{
	CustomScanState css;		/* must be first */
	ShuttleKeyedPlan plan;
	int			relation_offset;	/* see shuttle_keyed_write_make() */
	int			nvalues;
	ShuttleKeyedValue *values;
	int			ntargets;
	ShuttleKeyedTarget *targets;
	ShuttleKeyedRoutes *routes; /* NULL: all keys go to all tables */
	bool		returns;
	TupleTableSlot *source_slot;	/* of rows that are kept */

	bool		source_ended;
	Tuplestorestate *waiting;	/* rows of the source for later pieces */
	bool		sent;			/* there is a piece whose answers are not read */
	bool		more;			/* and others follow */
	int			next_target;	/* whose answer is read */
	MemoryContext piece_cxt;
	int64		piece_bytes;
	bool		evaluated;		/* the values that are the same for all rows */
	int			nrows;			/* of the source, that are kept */
	int			rows_size;
	MinimalTuple *rows;
	MemoryContext row_cxt;		/* of the row in hand */
} ShuttleKeyedWriteState;

/* Shows a row of the source, and the table that is changed, to expressions. */
extern void shuttle_keyed_show_row(ShuttleKeyedWriteState *state, TupleTableSlot *row,
								   Oid relid);

/* Reads as many rows as fit; sends them without waiting. */
extern void shuttle_keyed_fill_piece(ShuttleKeyedWriteState *state);
extern void shuttle_keyed_send_piece(ShuttleKeyedWriteState *state);

#endif							/* SHUTTLE_EXECUTOR_WRITE_KEYED_WRITE_H */

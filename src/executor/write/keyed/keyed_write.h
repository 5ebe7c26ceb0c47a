/*-------------------------------------------------------------------------
 * keyed_write.h
 *	  UPDATE and DELETE joined with local rows: nodes join rows that are sent
 *	  to them with the tables that they change.
 *
 * keyed_write.c	the plan node, its source and EXPLAIN
 * keyed_routes.c	which nodes get a row
 * keyed_sql.c		texts of statements, and the values sent with rows
 * keyed_piece.c	rows of one node: buffered, sent, answered
 *
 * In: rows of a source. Out: one request for each node, counts and RETURNING rows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_KEYED_KEYED_WRITE_H
#define SHUTTLE_EXECUTOR_WRITE_KEYED_KEYED_WRITE_H

#include "executor/executor_types.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

/* Called once per session (keyed_write.c). */
extern void shuttle_keyed_write_register(void);

/* ---- statements (keyed_sql.c) */

/* A value sent with each source row, or once for all rows. */
typedef struct ShuttleKeyedValue
{
	ExprState  *expr;
	Oid			type;
	bool		varies;			/* computed from each source row */
	bool		as_text;		/* cannot be unnested: sent as text[] */
	char		delimiter;		/* between the elements of an array */
	FmgrInfo	output;
	Datum		datum;			/* of the current row */
	bool		is_null;
} ShuttleKeyedValue;

extern void shuttle_keyed_value_describe(ShuttleKeyedValue *value, Expr *expr,
										 PlanState *parent);

/*
 * postgres_fdw's UPDATE or DELETE, joined with its parameters as arrays.
 * values: those of $1, $2, ... returns: RETURNING starts with the key's
 * ordinal; else nothing is added to it. guarded: excludes rows that the node's
 * transaction has changed. counted: the node's planner may see the number of
 * keys.
 */
extern char *shuttle_keyed_sql(const char *sql, ShuttleKeyedValue *const *values,
							   int nvalues, bool returns, bool guarded, bool counted);

/* ---- partitions (keyed_routes.c) */

typedef struct ShuttleKeyedRoutes ShuttleKeyedRoutes;

/*
 * routes: from ShuttleKeyedPlan, whose range table indexes are too small by
 * relation_offset. relids: of the tables that are changed. In the query's
 * context.
 */
extern ShuttleKeyedRoutes *shuttle_keyed_routes_create(EState *estate, List *routes,
													   int relation_offset,
													   const Oid *relids, int ntables);

/*
 * The table, from 0, that may have rows for the current values; negative: none.
 */
extern int	shuttle_keyed_routes_find(const ShuttleKeyedRoutes *routes,
									  const ShuttleKeyedValue *values);

/* ---- the plan node (keyed_write.c, keyed_piece.c) */

/* A table that is changed. */
typedef struct ShuttleKeyedTarget
{
	ResultRelInfo *target;
	ShuttleNode *node;
	int			ntuples;		/* estimate; 0: unknown */
	ShuttlePostgresFdwDirect postgres_fdw;
	int			nvalues;
	ShuttleKeyedValue **values; /* of $1, $2, ... */
	ShuttleDecoder *decoder;	/* NULL: no column is returned */
	ShuttleAsked *asked_statements; /* for EXPLAIN; NULL: nothing */
	ShuttleCounters counters;
	bool		asked;			/* a piece was sent there */

	/* the current piece */
	int			nkeys;
	int			keys_size;
	int		   *rows;			/* the source row of each key */
	ShuttleRequest *request;	/* NULL: no answer is awaited */
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
	TupleTableSlot *source_slot;	/* for rows that were kept */

	bool		source_ended;
	Tuplestorestate *waiting;	/* source rows for later pieces */
	bool		sent;			/* a piece was sent whose answers are not all
								 * read */
	bool		more;			/* more pieces follow */
	int			next_target;	/* whose answer is being read */
	MemoryContext piece_cxt;
	int64		piece_bytes;
	bool		evaluated;		/* values that are the same for all rows are
								 * evaluated */
	int			nrows;			/* source rows kept */
	int			rows_size;
	MinimalTuple *rows;
	MemoryContext row_cxt;		/* of the current row */
} ShuttleKeyedWriteState;

/* Makes a source row, and the changed table's oid, the input of expressions. */
extern void shuttle_keyed_show_row(ShuttleKeyedWriteState *state, TupleTableSlot *row,
								   Oid relid);

/* Fill: reads as many rows as fit. Send: sends them without waiting. */
extern void shuttle_keyed_fill_piece(ShuttleKeyedWriteState *state);
extern void shuttle_keyed_send_piece(ShuttleKeyedWriteState *state);

#endif							/* SHUTTLE_EXECUTOR_WRITE_KEYED_KEYED_WRITE_H */

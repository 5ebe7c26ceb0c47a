/*-------------------------------------------------------------------------
 * conflict_clause.h
 *	  The SQL text of an ON CONFLICT clause.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_CLAUSE_H
#define SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_CLAUSE_H

#include "nodes/primnodes.h"
#include "utils/relcache.h"

typedef struct ShuttleConflictClause
{
	char	   *sql;			/* up to the end of SET; parameters from $1 on */
	char	   *condition;		/* of the UPDATE; NULL: there is none */
	char	   *arbiter_condition;	/* of a partial index; NULL: there is none */
} ShuttleConflictClause;

/* Prints the clause of an INSERT into table. Its Vars are those of root, the
 * statement's table, whose index is target, and of EXCLUDED. */
extern void shuttle_conflict_clause_print(ShuttleConflictClause *printed,
										  const OnConflictExpr *clause, Index target,
										  Relation root, Relation table);

/*
 * Raises ERRCODE_INTERNAL_ERROR if a clause that was printed for a tablet means something else
 * than the plan's. parameters: the expressions of its parameters (conflict_proof.c).
 */
extern void shuttle_conflict_prove(const ShuttleConflictClause *printed, const OnConflictExpr *clause,
								   Index target, Relation root, Relation table,
								   const List *parameters);

#endif							/* SHUTTLE_EXECUTOR_WRITE_CONFLICT_CONFLICT_CLAUSE_H */

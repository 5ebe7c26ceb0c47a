/*-------------------------------------------------------------------------
 * proof_internal.h
 *	  What the files of proofs know of each other.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_PROOF_PROOF_INTERNAL_H
#define SHUTTLE_TABLETS_PROOF_PROOF_INTERNAL_H

#include "nodes/parsenodes.h"

/* One side of a comparison. */
typedef struct ShuttleNormal
{
	bool		is_text;		/* what was read of a text */
	const List *values;			/* what its parameters stand for */
	char	   *wrong;			/* gets what cannot be right; NULL: nothing */
} ShuttleNormal;

/* A level of a query that is brought to its normal form. */
typedef struct ShuttleNormalLevel
{
	struct ShuttleNormalLevel *up;
	ShuttleNormal *all;
	const Query *query;			/* as it was */
	int		   *numbers;		/* new range table indexes; 0: none yet */
	List	   *order;			/* ints: old ones in the new order */
} ShuttleNormalLevel;

/* A query in the form in which those that mean the same are equal (normal_query.c). */
extern Query *shuttle_normal_query(const Query *query, ShuttleNormal *all);

extern Query *shuttle_normal_subquery(const Query *query, ShuttleNormalLevel *up, ShuttleNormal *all);

/* The new range table index. */
extern int	shuttle_normal_number(ShuttleNormalLevel *level, int rtindex);

/* The normal form of an expression; a mutator (normal_expression.c). */
extern Node *shuttle_normal_expression(Node *node, void *level);

#endif							/* SHUTTLE_TABLETS_PROOF_PROOF_INTERNAL_H */

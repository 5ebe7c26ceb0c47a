/*-------------------------------------------------------------------------
 * scan_proof.h
 *	  What the files of proofs of scans know of each other.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SHOWN_SCAN_PROOF_H
#define SHUTTLE_PLANNER_SHOWN_SCAN_PROOF_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* An outer or semi join, of tables by their numbers in the planner's query. */
typedef struct ShuttleProvedJoin
{
	JoinType	type;			/* never JOIN_RIGHT */
	Relids		left;			/* NULL in a semi join */
	Relids		right;
} ShuttleProvedJoin;

/* What a scan of a node does, as the planner means it or a text says it. All expressions
 * have the planner's columns. */
typedef struct ShuttleScanMeaning
{
	List	   *conditions;		/* all that rows must meet, in any clause */
	List	   *once;			/* those that are decided here once, too; only
								 * meant */
	List	   *joins;			/* ShuttleProvedJoins */
} ShuttleScanMeaning;

/* ---- what a text says (scan_proof_text.c) */

/* A query of a text; up: the one around it. */
typedef struct ShuttleTextLevel
{
	const struct ShuttleTextLevel *up;
	const Query *query;
} ShuttleTextLevel;

/* Reads the text of a scan of some tables. NULL: two columns of one have the same name on
 * the node. Errors: it reads others. */
extern Query *shuttle_scan_proof_read(PlannerInfo *root, Relids tables, const char *text);

/* An expression with the planner's columns; a mutator. */
extern Node *shuttle_scan_proof_columns(Node *node, void *level);

extern void shuttle_scan_proof_say(const Query *query, ShuttleScanMeaning *meaning);

/* The planner's number of a table of a text. */
extern int	shuttle_scan_proof_number(const Query *query, int rtindex);

/* ---- what is meant (scan_proof_meant.c) */

/* All of a relation's conditions, with those that are left to us, and its joins. Returns its
 * tables; NULL: they are not known. */
extern Relids shuttle_scan_proof_mean(PlannerInfo *root, const RelOptInfo *rel,
									  ShuttleScanMeaning *meaning);

/* Adds a join of a text or of the planner; a right one becomes a left one. */
extern void shuttle_scan_proof_add_join(ShuttleScanMeaning *meaning, JoinType type,
										Relids left, Relids right);

#endif							/* SHUTTLE_PLANNER_SHOWN_SCAN_PROOF_H */

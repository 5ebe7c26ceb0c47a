/*-------------------------------------------------------------------------
 * merge.h
 *	  What the files share that rewrite a MERGE into other statements.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_MERGE_H
#define SHUTTLE_PLANNER_WRITE_MERGE_H

#include "nodes/parsenodes.h"

#include "planner/shown/shown.h"

/* Fills in source_vars and target_vars (merge_columns.c). */
extern void shuttle_merge_collect_columns(ShuttleMerge *merge);

/* Where the columns of both sides are found when an expression is moved to
 * another query. */
typedef struct ShuttleMergeColumnMap
{
	const ShuttleMerge *merge;
	Index		source;
	int			source_before;	/* columns before the source's */
	Index		target;			/* 0: the target's Vars stay */
	int			target_before;
	Index		nulled_by;		/* outer join above the target; 0: none */
	int			depth;			/* levels of queries to move down */
	int			level;			/* level of the current expression */
} ShuttleMergeColumnMap;

/* A copy of an expression of the MERGE, moved to another query. */
extern Node *shuttle_merge_move_expression(Node *expression, ShuttleMergeColumnMap places);

/* A copy of a query, moved depth levels below the statement with the WITH. */
extern Query *shuttle_merge_move_query(Query *query, int depth);

#endif							/* SHUTTLE_PLANNER_WRITE_MERGE_H */

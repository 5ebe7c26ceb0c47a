/*-------------------------------------------------------------------------
 * merge.h
 *	  What the files share that make statements of a MERGE.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_MERGE_H
#define SHUTTLE_PLANNER_WRITE_MERGE_H

#include "nodes/parsenodes.h"

typedef struct ShuttleMerge
{
	Query	   *query;
	bool		inserts;		/* some action does */
	bool		changes;		/* some action updates or deletes */
	List	   *source_vars;	/* columns of the source that are used */
	List	   *target_vars;	/* and of the target */
	CommonTableExpr *source;
	CommonTableExpr *rows;
	List	   *actions;		/* CommonTableExprs */
} ShuttleMerge;

/* Fills in the columns that are used (merge_columns.c). */
extern void shuttle_merge_collect_columns(ShuttleMerge *merge);

/* Where the columns of both sides are to be found, while expressions move. */
typedef struct ShuttleMergeColumnMap
{
	const ShuttleMerge *merge;
	Index		source;
	int			source_before;	/* columns in front of them */
	Index		target;			/* 0: they stay where they are */
	int			target_before;
	Index		nulled_by;		/* outer join that the target is below; 0:
								 * none */
	int			depth;			/* that they move to: levels of queries */
	int			level;			/* of the expression looked at */
} ShuttleMergeColumnMap;

/* A copy of an expression of the MERGE, for another place. */
extern Node *shuttle_merge_move_expression(Node *expression, ShuttleMergeColumnMap places);

/* A copy of a query that stands for the MERGE, so many levels of queries below the
 * statement that has its WITH. */
extern Query *shuttle_merge_move_query(Query *query, int depth);

/* Parts of expressions (merge_rewrite.c); of what they are given they are made. */
extern Expr *shuttle_merge_equals(Oid operator, Expr *left, Expr *right);
extern CaseWhen *shuttle_merge_when(Expr *condition, Expr *result);

#endif							/* SHUTTLE_PLANNER_WRITE_MERGE_H */

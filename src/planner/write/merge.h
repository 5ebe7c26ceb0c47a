/*-------------------------------------------------------------------------
 * merge.h
 *	  What the files share that rewrite a MERGE into other statements.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_WRITE_MERGE_H
#define SHUTTLE_PLANNER_WRITE_MERGE_H

#include "nodes/parsenodes.h"

typedef struct ShuttleMerge
{
	Query	   *query;
	bool		inserts;		/* some action inserts */
	bool		changes;		/* some action updates or deletes */
	List	   *source_vars;	/* columns of the source that the MERGE uses */
	List	   *target_vars;	/* and of the target */
	CommonTableExpr *source;
	CommonTableExpr *rows;
	List	   *actions;		/* CommonTableExprs */
} ShuttleMerge;

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

/* ---- nodes of parse trees, made from their arguments without copying (merge_nodes.c) */

extern Expr *shuttle_merge_int(int value);
extern Expr *shuttle_merge_equals(Oid operator, Expr *left, Expr *right);
extern CaseWhen *shuttle_make_when(Expr *condition, Expr *result);
extern Expr *shuttle_merge_case(List *whens, Expr *otherwise);

extern Query *shuttle_merge_select(const ShuttleMerge *merge, List *rtable, List *from, Node *quals);
extern void shuttle_merge_add_column(Query *query, Expr *value, const char *name);
extern void shuttle_merge_add_columns(Query *query, List *values, const char *name);
extern CommonTableExpr *shuttle_merge_cte(const char *name, Query *query);
extern Node *shuttle_merge_range_ref(Index relation);
extern RangeTblEntry *shuttle_merge_subquery_entry(Query *query, const char *name);

/* The Var for a query's column with a number, as the range table entry of that
 * index has it. */
extern Expr *shuttle_merge_column(const Query *query, Index relation, int number);

/* A range table entry for a CTE; depth: query level that scans it. */
extern RangeTblEntry *shuttle_merge_cte_entry(CommonTableExpr *cte, int depth);

#endif							/* SHUTTLE_PLANNER_WRITE_MERGE_H */

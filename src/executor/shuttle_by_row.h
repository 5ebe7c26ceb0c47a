/*-------------------------------------------------------------------------
 * shuttle_by_row.h
 *	  INSERT ... ON CONFLICT that a global unique index decides
 *	  (write/conflict/conflict_by_row.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_BY_ROW_H
#define SHUTTLE_EXECUTOR_BY_ROW_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* What the planner decides. Columns of a source row are parameters behind the client's nparams. */
typedef struct ShuttleByRowPlan
{
	Oid			relid;			/* the table */
	Oid			arbiter;		/* InvalidOid: all unique indexes */
	List	   *twins;			/* OIDs of indexes whose conflicts are all
								 * conflicts of the arbiter, too */
	int			nparams;
	bool		sets_arbiter;	/* SET changes columns of the arbiter */
	bool		can_set_tag;	/* the client is told the number of rows */
	Query	   *insert;
	Query	   *update;			/* of the row in conflict; NULL: DO NOTHING */
	Query	   *select;			/* that row; NULL: there is no arbiter */
	Query	   *update_new;		/* returns the arbiter's new values, if SET
								 * changes them; NULL: one row only */

	/*
	 * For rows that are a relation of the query environment, with a number as
	 * the last column; NULL: one by one.
	 */
	Query	   *insert_rows;
	Query	   *update_rows;	/* returns numbers */
	Query	   *find_rows;		/* numbers of rows that are in conflict */
} ShuttleByRowPlan;

/* The name of that relation. */
#define SHUTTLE_BY_ROW_RELATION "shuttle_proposed_rows"

/* Makes the node above the plan of a source. returning: the statement's list. */
extern Plan *shuttle_conflict_by_row_make(Plan *source, const ShuttleByRowPlan *plan, const List *returning);

#endif							/* SHUTTLE_EXECUTOR_BY_ROW_H */

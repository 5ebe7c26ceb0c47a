/*-------------------------------------------------------------------------
 * shuttle_copied_entries.h
 *	  Plans that read entries of global indexes (join/copied_joins.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_COPIED_ENTRIES_H
#define SHUTTLE_EXECUTOR_COPIED_ENTRIES_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* True if each row that can be seen has its entries now. */
extern bool shuttle_copied_entries_are_allowed(void);

/* Keeps the query in a plan that relies on that, for when it is not so. */
extern void shuttle_copied_entries_keep_query(PlannedStmt *statement, Query *query);

#endif							/* SHUTTLE_EXECUTOR_COPIED_ENTRIES_H */

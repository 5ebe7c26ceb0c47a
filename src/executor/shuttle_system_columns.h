/*-------------------------------------------------------------------------
 * shuttle_system_columns.h
 *	  xmin, xmax, cmin and cmax of rows on nodes (system_columns.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_SYSTEM_COLUMNS_H
#define SHUTTLE_SYSTEM_COLUMNS_H

#include "nodes/plannodes.h"

/* Has the scan of a table return those that its targets and its quals read. */
extern void shuttle_system_columns_add_to_scan(ForeignScan *scan, List *targets);

/* The same for what a PlanForeignModify of postgres_fdw's gave, and RETURNING. Errors:
 * ERRCODE_FEATURE_NOT_SUPPORTED if RETURNING says OLD or NEW. */
extern List *shuttle_system_columns_add_to_modify(List *fdw_private, CmdType operation,
												  List *returning, Index relid);

#endif							/* SHUTTLE_SYSTEM_COLUMNS_H */

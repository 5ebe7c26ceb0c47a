/*-------------------------------------------------------------------------
 * shuttle_system_columns.h
 *	  xmin, xmax, cmin and cmax of rows on nodes (system_columns.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_SYSTEM_COLUMNS_H
#define SHUTTLE_SYSTEM_COLUMNS_H

#include "nodes/plannodes.h"

/* True if an expression reads one of them; an expression walker. */
extern bool shuttle_reads_system_columns(Node *node, void *context);

/* Has the scan of a table return those that its targets and its quals read. */
extern void shuttle_scan_add_system_columns(ForeignScan *scan, List *targets);

/* The same for what a PlanForeignModify of postgres_fdw's gave, and RETURNING. Errors:
 * ERRCODE_FEATURE_NOT_SUPPORTED if RETURNING says OLD or NEW. */
extern List *shuttle_modify_add_system_columns(List *fdw_private, CmdType operation,
											   List *returning, Index relid);

#endif							/* SHUTTLE_SYSTEM_COLUMNS_H */

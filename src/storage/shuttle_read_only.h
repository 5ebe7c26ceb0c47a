/*-------------------------------------------------------------------------
 * shuttle_read_only.h
 *	  Transactions that are read-only on nodes (read_only.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_READ_ONLY_H
#define SHUTTLE_STORAGE_READ_ONLY_H

#include "nodes/plannodes.h"

/* True if the transaction is read-only for the client: to be asked in place of XactReadOnly, if it
 * concerns nodes. */
extern bool shuttle_read_only_applies(void);

/* True on a standby that is a query node, if the client has not asked for a read-only transaction:
 * then the transaction may write to nodes. */
extern bool shuttle_read_only_is_lifted(void);

/* Returns the statement, or a copy without READ WRITE, which core refuses on standbys. */
extern PlannedStmt *shuttle_read_only_take_wish(PlannedStmt *pstmt);

#endif							/* SHUTTLE_STORAGE_READ_ONLY_H */

/*-------------------------------------------------------------------------
 * ddl_barrier.h
 *	  Query nodes that are standbys, and changes of definitions (ddl_barrier.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_DDL_BARRIER_H
#define SHUTTLE_TABLETS_DDL_DDL_BARRIER_H

#include "nodes/nodes.h"

/* Has query nodes that are standbys wait for the statement, if they have to know of it.
 * Errors: as of shuttle_barrier_raise(). */
extern void shuttle_ddl_barrier(Node *statement);

#endif							/* SHUTTLE_TABLETS_DDL_DDL_BARRIER_H */

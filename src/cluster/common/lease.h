/*-------------------------------------------------------------------------
 * lease.h
 *	  Query nodes that are standbys: who they are, and whether this one may
 *	  write (lease.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_COMMON_LEASE_H
#define SHUTTLE_CLUSTER_COMMON_LEASE_H

#include "nodes/pg_list.h"

/* A registered query node. */
typedef struct ShuttleLease
{
	const char *name;
	int			seconds;
} ShuttleLease;

/* All of them, of this database. Costs nothing if there are none, and the session knows. */
extern List *shuttle_lease_list(void);

/* Has each session know of changes; called by _PG_init. */
extern void shuttle_lease_init(void);

#endif							/* SHUTTLE_CLUSTER_COMMON_LEASE_H */

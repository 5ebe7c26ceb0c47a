/*-------------------------------------------------------------------------
 * problems.h
 *	  Rows of the result of shuttle.check().
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_PROBLEMS_H
#define SHUTTLE_TABLETS_COMMON_PROBLEMS_H

#include "nodes/execnodes.h"

#include "storage/shuttle_storage.h"

/* One table on one node. */
typedef struct ShuttleCheck
{
	ReturnSetInfo *result;
	bool		repair;
	Oid			relid;
	Oid			serverid;
	ShuttleNode *node;
	const List *away;			/* servers that cannot be asked */
	List	   *foreign_keys;	/* name and definition; what any of its nodes
								 * has */
} ShuttleCheck;

/* Adds a row to the result. hint: what mends the problem; NULL: it was repaired. */
extern void shuttle_problem_put(const ShuttleCheck *check, const char *problem, const char *hint);

#endif							/* SHUTTLE_TABLETS_COMMON_PROBLEMS_H */

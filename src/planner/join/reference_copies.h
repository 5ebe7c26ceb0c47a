/*-------------------------------------------------------------------------
 * reference_copies.h
 *	  The copies of a reference table, and relations for them while planning.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_JOIN_REFERENCE_COPIES_H
#define SHUTTLE_PLANNER_JOIN_REFERENCE_COPIES_H

#include "nodes/pathnodes.h"
#include "utils/selfuncs.h"

/* The servers that have a base relation's rows; NIL if it is no reference table. */
extern List *shuttle_reference_copies_of(PlannerInfo *root, RelOptInfo *rel);

/* A foreign table of a relation that lies on serverid, or InvalidOid. */
extern Oid	shuttle_reference_copy_neighbour(PlannerInfo *root, const RelOptInfo *rel, Oid serverid);

/* Estimates a copy on serverid. postgres_fdw takes server and options from a
 * foreign table's OID; neighbour is another foreign table on that server. */
extern void shuttle_reference_copy_size(PlannerInfo *root, RelOptInfo *rel, Oid serverid, Oid neighbour);

/* The reference table's child on a partition's server, or on its own server if
 * there is no copy. NULL: there is none, and the table is here. */
extern RelOptInfo *shuttle_reference_copy_child(PlannerInfo *root, RelOptInfo *rel,
												const RelOptInfo *partition);

/* get_relation_stats_hook: has a copy of a table here use the table's statistics;
 * false: not a copy. */
extern bool shuttle_reference_copy_statistics(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum,
											  VariableStatData *variable);

#endif							/* SHUTTLE_PLANNER_JOIN_REFERENCE_COPIES_H */

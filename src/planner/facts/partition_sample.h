/*-------------------------------------------------------------------------
 * partition_sample.h
 *	  TABLESAMPLE on nodes (partition_sample.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_PARTITION_SAMPLE_H
#define SHUTTLE_PLANNER_FACTS_PARTITION_SAMPLE_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Puts TABLESAMPLE into the SELECT of our scan. Errors: samples that nodes
 * cannot take. */
extern void shuttle_partition_sample_add(PlannerInfo *root, const RelOptInfo *rel,
										 ForeignScan *scan);

/* True if a table has TABLESAMPLE. */
extern bool shuttle_partition_is_sampled(PlannerInfo *root, const RelOptInfo *rel);

#endif							/* SHUTTLE_PLANNER_FACTS_PARTITION_SAMPLE_H */

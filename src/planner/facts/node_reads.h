/*-------------------------------------------------------------------------
 * node_reads.h
 *	  Which queries read nodes (node_reads.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_NODE_READS_H
#define SHUTTLE_PLANNER_FACTS_NODE_READS_H

#include "nodes/parsenodes.h"

/* True if a query or one of its subqueries reads a foreign or distributed table. */
extern bool shuttle_node_is_read_by(Node *query);

/* True of tables that are on nodes, and of their partitioned parents. */
extern bool shuttle_node_has_table(const RangeTblEntry *rte);

#endif							/* SHUTTLE_PLANNER_FACTS_NODE_READS_H */

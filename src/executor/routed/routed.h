/*-------------------------------------------------------------------------
 * routed.h
 *	  Statements that one node executes as a whole.
 *
 * Files: routed_statement.c is the plan node; routed_keys.c finds the node by
 * the keys, and plans again if there is more than one; partition_of.c finds a
 * partition by its key, for others, too.
 *
 * In: a plan of planner/router. Out: the node's rows, or their number.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTED_ROUTED_H
#define SHUTTLE_EXECUTOR_ROUTED_ROUTED_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "partitioning/partdefs.h"

#include "executor/shuttle_executor.h"

extern void shuttle_routed_statement_register(void);

/* Reads what shuttle_routed_statement_make() packed. */
extern void shuttle_routed_statement_unpack(const CustomScan *scan, ShuttleRoutedPlan *plan);

/* The server that has all keys; InvalidOid if there are several. states: of the
 * plan's keys. *tablet: the number of the first one's tablet; NULL: not asked for. */
extern Oid	shuttle_routed_server(const ShuttleRoutedPlan *plan, List *states,
								  ExprContext *econtext, int *tablet);

/* The server that has the rows of a key, of a type that fits. */
extern Oid	shuttle_routed_server_of(Oid relid, Oid type, Datum value);

/* Part of ExecutorStart: plans a routed statement again if one node does not
 * have all it needs. */
extern void shuttle_routed_start(QueryDesc *query, int eflags);

/*
 * The partition for a key; negative: none. support: the functions of the key's
 * columns, the partition key's own or, for hashes, those of another type.
 */
extern int	shuttle_partition_of(PartitionKey key, PartitionBoundInfo bounds,
								 FmgrInfo *support, Datum *values, bool *nulls);

#endif							/* SHUTTLE_EXECUTOR_ROUTED_ROUTED_H */

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
#ifndef SHUTTLE_EXECUTOR_ROUTER_ROUTED_H
#define SHUTTLE_EXECUTOR_ROUTER_ROUTED_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "partitioning/partdefs.h"

#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

extern void shuttle_routed_statement_register(void);

/* Reads what shuttle_routed_statement_make() packed. */
extern void shuttle_routed_statement_unpack(const CustomScan *scan, ShuttleRoutedPlan *plan);

/* The server that has all keys; InvalidOid if there are several. states: of the
 * plan's keys. *tablet: the number of the first one's tablet; NULL: not asked for. */
extern Oid	shuttle_routed_server(const ShuttleRoutedPlan *plan, List *states,
								  ExprContext *econtext, int *tablet);

/* The tablets on the plan's server that have the rows of all keys. */
extern List *shuttle_routed_tablets(const ShuttleRoutedPlan *plan, List *states, ExprContext *econtext,
									Oid server);

/* The server that has the rows of a key, of a type that fits. *tablet: as above. */
extern Oid	shuttle_routed_server_of(Oid relid, Oid type, Datum value, int *tablet);

/* The statement that locks tablets on their node, so that they are there until the
 * transaction ends. Errors there: they have gone. */
extern char *shuttle_routed_lock_text(const List *tablets);

/* Sends it in the packet of the request that follows; the caller finishes and closes the
 * request, which lives in cxt. Not prepared: there are as many texts as sets of tablets. */
extern ShuttleRequest *shuttle_routed_lock_send(ShuttleNode *node, const char *sql, ShuttleEffect effect,
												uint64 snapshot, MemoryContext cxt);

/* Reads rows that have all columns of desc. */
extern ShuttleDecoder *shuttle_routed_decoder(TupleDesc desc, MemoryContext owner);

/* True if a row of the decoder (NULL: none) can be passed on when the node has committed: no
 * error is expected then. */
extern bool shuttle_routed_row_may_follow_commit(const ShuttleDecoder *decoder);

/* The node that the plan node reads; NULL: it does more than that. */
extern ShuttleNode *shuttle_routed_node(const PlanState *node);

/* Part of ExecutorStart: plans a routed statement again if one node does not
 * have all it needs. */
extern void shuttle_routed_start(QueryDesc *query, int eflags);

/*
 * The partition for a key; negative: none. support: the functions of the key's
 * columns, the partition key's own or, for hashes, those of another type.
 */
extern int	shuttle_partition_of(PartitionKey key, PartitionBoundInfo bounds,
								 FmgrInfo *support, Datum *values, bool *nulls);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_ROUTED_H */

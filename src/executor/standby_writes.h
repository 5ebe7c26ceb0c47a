/*-------------------------------------------------------------------------
 * standby_writes.h
 *	  Writes from a standby that is a query node (standby_writes.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_STANDBY_WRITES_H
#define SHUTTLE_EXECUTOR_STANDBY_WRITES_H

#include "executor/executor.h"

#include "base/shuttle_utility.h"

/* Before anything is sent for a plan. True if core has to be told that the transaction writes. Errors:
 * ERRCODE_READ_ONLY_SQL_TRANSACTION if the plan writes what only the primary server can. */
extern bool shuttle_standby_writes_check(const QueryDesc *query, int eflags);

/* Starts such a plan; runs a utility statement. */
extern void shuttle_standby_writes_start(ExecutorStart_hook_type start, QueryDesc *query, int eflags);
extern void shuttle_standby_writes_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

#endif							/* SHUTTLE_EXECUTOR_STANDBY_WRITES_H */

/*-------------------------------------------------------------------------
 * ahead.h
 *	  What is done before the executor asks for it, and whether it may be.
 *
 * early_start.c	sends scans that will surely be read before any answer arrives
 * unsent_scans.c	lists scans that were begun and not sent
 * outbox.c		what must be sent before a read or a write
 * row_goal.c, row_need.c	how many rows nodes will be asked for, and surely need
 * read_ahead.c	reads outer rows, keeps back their errors (row_need.h)
 * outer_effects.c, outer_errors.c, expression_errors.c	what reading ahead of
 *			time could show or raise (outer_side.h)
 * plan_facts.c	what each type of plan node does with its input
 * caught_error.c, sure_values.c	values computed before they are needed
 * recheck_pruning.c	run-time pruning in EvalPlanQual
 *
 * In: the state of a plan that starts. Out: requests that are under way.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_AHEAD_H
#define SHUTTLE_EXECUTOR_AHEAD_AHEAD_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "utils/resowner.h"

#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- scans that were not sent yet (unsent_scans.c) */

/* A scan without executor parameters, in the session's list. */
typedef struct ShuttleUnsentScan
{
	struct ShuttleUnsentScan *next;
	struct ShuttleUnsentScan *previous;
	ForeignScanState *scan;
	ShuttleNode *node;
	ResourceOwner owner;		/* current when the scan was listed */
	uint64		number;			/* serial number in the session */
	int			nest_level;		/* transaction nest level of the scan */
	bool		listed;
} ShuttleUnsentScan;

/* Adds a scan. It leaves the list when it is removed or when its resource owner
 * or its executor's memory is released. unsent is allocated in that memory. */
extern void shuttle_unsent_add(ShuttleUnsentScan *unsent,
							   ForeignScanState *scan, ShuttleNode *node);
extern void shuttle_unsent_remove(ShuttleUnsentScan *unsent);

/* The head of the list: the scan added last. */
extern ShuttleUnsentScan *shuttle_unsent_first(void);

/* The number of the scan added last, even if it has left the list. */
extern uint64 shuttle_unsent_number(void);

/*
 * Called before a write is sent (remote_scan.c): sends the node's unsent scans
 * that began before the write, so that they see the node as it was before the
 * statement. Scans that functions began since then see the write. begun:
 * shuttle_unsent_number() when the write began.
 */
extern void shuttle_unsent_send_older(ShuttleNode *node, uint64 begun);

/* Sends a statement's unsent scans that lock the rows it is to change
 * (remote_scan.c). */
extern void shuttle_unsent_send_targets(const EState *estate);

/* True if the statement writes a table that the scan reads, also through
 * another table (partition, parent). */
extern bool shuttle_reads_written_table(const ForeignScanState *scan);

/*
 * True if the scan reads a written table and may be read again after the write.
 */
extern bool shuttle_may_read_behind_write(const ForeignScanState *scan, int eflags);

/* ---- the order in which things go out (outbox.c) */

/*
 * Called before a read of a node, and before a write that is sent at once.
 * Writes the rows that statements other than estate's have buffered for the
 * node. The write also sends the node's unsent scans. estate: NULL if no plan
 * is running.
 */
extern void shuttle_outbox_before_read(ShuttleNode *node, const EState *estate);
extern void shuttle_outbox_before_write(ShuttleNode *node, const EState *estate);

/* ---- early start (early_start.c) */

/*
 * If shuttle.enable_early_start is on, sends the request for the first page of
 * every scan below root that will be read. count: rows that the run will take;
 * 0: all.
 */
extern void shuttle_early_start(PlanState *root, uint64 count);

/* Starts the nodes that waited for initplans that have run by now. */
extern void shuttle_early_start_later(ShuttleLaterStart *later);

/* Starts the initplans that compute params if several still have to run. */
extern void shuttle_early_start_params(EState *estate, const Bitmapset *params);

/* Before ExecutorRun: starts scans early. */
extern void shuttle_early_start_run(QueryDesc *queryDesc, ScanDirection direction,
									uint64 count);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_AHEAD_H */

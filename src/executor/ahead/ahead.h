/*-------------------------------------------------------------------------
 * ahead.h
 *	  What is done before the executor asks for it, and whether it may be.
 *
 * Files: early_start.c sends the scans of a plan that will surely be read before
 * it waits for any of them; unsent_scans.c lists scans that were begun and not
 * sent; outbox.c says what goes out before a read or a write; row_goal.c,
 * row_need.c and read_ahead.c say how many rows are wanted; outer_effects.c,
 * outer_errors.c and expression_errors.c say what reading rows ahead could show or
 * raise; plan_facts.c says what plan nodes do; caught_error.c and sure_values.c
 * compute values ahead whose errors are not the statement's yet.
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

/* A member of the session's list of scans without parameters of the plan. */
typedef struct ShuttleUnsentScan
{
	struct ShuttleUnsentScan *next;
	struct ShuttleUnsentScan *previous;
	ForeignScanState *scan;
	ShuttleNode *node;
	ResourceOwner owner;		/* of the snapshot that the scan runs under */
	uint64		number;			/* counts the scans that were listed */
	int			nest_level;		/* of the transaction that the scan belongs to */
	bool		listed;
} ShuttleUnsentScan;

/* Lists a scan; it leaves the list when it is removed, or when its executor
 * run's resources or memory go.  unsent lives in that memory. */
extern void shuttle_unsent_add(ShuttleUnsentScan *unsent,
							   ForeignScanState *scan, ShuttleNode *node);
extern void shuttle_unsent_remove(ShuttleUnsentScan *unsent);

/* The first of the list: the latest one. */
extern ShuttleUnsentScan *shuttle_unsent_first(void);

/* The number of the latest that was ever listed. */
extern uint64 shuttle_unsent_number(void);

/*
 * Called before a write is sent (remote_scan.c): sends what was begun on that node
 * before it and was not asked for yet, so that it sees the node as it was before
 * the statement.  What was begun since, by functions, sees the write.
 * begun: shuttle_unsent_number() when the write began.
 */
extern void shuttle_unsent_send_older(ShuttleNode *node, uint64 begun);

/* Sends those of a statement that lock the rows which it is to change
 * (remote_scan.c). */
extern void shuttle_unsent_send_targets(const EState *estate);

/* True where the statement writes a table that the scan reads, by any name. */
extern bool shuttle_reads_written_table(const ForeignScanState *scan);

/* True where it may have that read once more behind a write. */
extern bool shuttle_may_read_behind_write(const ForeignScanState *scan, int eflags);

/* ---- the order in which things go out (outbox.c) */

/*
 * Called before a read of a node, and before a write that is sent at once.
 * Rows that statements other than estate's have buffered for the node are
 * written; before a write, scans of the node that were begun are sent.
 * estate: NULL: that of no plan.
 */
extern void shuttle_outbox_before_read(ShuttleNode *node, const EState *estate);
extern void shuttle_outbox_before_write(ShuttleNode *node, const EState *estate);

/* ---- early start (early_start.c) */

/*
 * Sends the first page of every scan below that will be read, where
 * shuttle.enable_early_start is on.
 * count: rows that the run will take; 0: all.
 */
extern void shuttle_early_start(PlanState *root, uint64 count);

/* Starts what has waited for what has run now. */
extern void shuttle_early_start_later(ShuttleLaterStart *later);

/* Starts the subqueries that params are of, where several have to run. */
extern void shuttle_early_start_params(EState *estate, const Bitmapset *params);

/* Before ExecutorRun: starts scans early. */
extern void shuttle_early_start_run(QueryDesc *queryDesc, ScanDirection direction,
									uint64 count);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_AHEAD_H */

/*-------------------------------------------------------------------------
 * remote_scan.h
 *	  The state of a foreign scan, and the sending of its SELECT.
 *
 * In: a plan of postgres_fdw, and what the plan above says of its rows. Out: a
 * request that is under way.  Only scan/ looks into the state.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SCAN_REMOTE_SCAN_H
#define SHUTTLE_EXECUTOR_SCAN_REMOTE_SCAN_H

#include "base/shuttle_compat.h"
#include "base/shuttle_counters.h"
#include "executor/executor_types.h"
#include "executor/outbox.h"
#include "executor/scan/scan.h"
#include "storage/shuttle_storage.h"

typedef struct ShuttleRemoteScan
{
	ShuttleNode *node;			/* NULL in EvalPlanQual until needed */
	const char *sql;			/* NULL: not prepared */
	ShuttleEffect effect;
	ShuttleSize size;
	double		expected_rows;
	double		row_goal;		/* rows that the plan will read; 0: all */
	bool		may_stop;		/* the plan may stop before the last row */
	double		max_rows;		/* most rows it can read; 0: no limit */
	ShuttleRowNeed *need;		/* limits rows locked ahead; NULL: no limit,
								 * or no locks */
	bool		whole;			/* if one row is read, all will be */
	int			eflags;			/* the executor's flags */
	List	   *together;		/* scans that are read together with it */
	List	   *beside;			/* scans that are merged with it */
	ShuttleLaterStart *later;	/* starts others when it is sent */
	bool		params_come;	/* all parameters are set by initplans */
	ShuttlePageLimits limits;
	ShuttleParameters *parameters;
	Bitmapset  *exec_params;	/* PARAM_EXEC parameters of the SELECT */
	ShuttleDecoder *decoder;
	bool		is_virtual;		/* rows may be virtual tuples */
	ShuttleTargetScan *target;	/* for scans of target rows; else NULL */

	ShuttleRequest *request;	/* NULL: not sent */
	bool		ended;
	bool		returned_row;	/* a row was returned since it was sent */
	bool		awaited;		/* a row was asked for since it was sent */
	bool		no_wait;		/* while shuttle_foreign_scan_try() runs */
	bool		pending;		/* with no_wait: no row is here yet */
	bool		pauses;			/* pauses instead of waiting when read ahead */
	MemoryContext request_cxt;
	MemoryContext row_cxt;
	ShuttleUnsentScan unsent;
	ShuttleAsked *asked;		/* sent statements, for EXPLAIN; or NULL */
	ShuttleCounters counters;
} ShuttleRemoteScan;

/* True if the scan's state is a ShuttleRemoteScan, and no Look Ahead
 * serves it. */
extern bool shuttle_remote_scan_is_plain(const ForeignScanState *scan);

/* True if computing the SELECT's parameters cannot raise an error. */
extern bool shuttle_remote_scan_has_safe_values(const ForeignScan *plan);

/* Rows that may be locked at a time; 0: any number. */
extern double shuttle_remote_scan_lock_goal(const ShuttleRemoteScan *remote);

#endif							/* SHUTTLE_EXECUTOR_SCAN_REMOTE_SCAN_H */

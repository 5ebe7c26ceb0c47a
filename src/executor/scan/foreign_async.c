/*-------------------------------------------------------------------------
 * foreign_async.c
 *	  Scans below an asynchronous Append (option async_capable).
 *
 * All nodes work in parallel anyway, since storage/ drives all connections;
 * the Append gains that it goes on with another child while one is late.
 * postgres_fdw decides if a path is async capable.
 *
 * Append wants a wait event on a socket per child. Our scans share sockets,
 * which may need writing, too; so we add none, and when Append would sleep,
 * storage/ waits here until one of our scans has news. If other children added
 * events we do not wait: Append does.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execAsync.h"
#include "executor/instrument.h"
#include "nodes/execnodes.h"
#include "storage/latch.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

static void request_row(AsyncRequest *areq);
static void configure_wait(AsyncRequest *areq);
static bool complete_request(AsyncRequest *areq);
static bool may_sleep(const AppendState *append);
static void wait_for_any(const AppendState *append);

void
shuttle_foreign_async_fill(FdwRoutine *routine)
{
	routine->ForeignAsyncRequest = request_row;
	routine->ForeignAsyncConfigureWait = configure_wait;

	/* we add no events */
	routine->ForeignAsyncNotify = NULL;
}

static void
request_row(AsyncRequest *areq)
{
	bool		pending;
	TupleTableSlot *slot;

	slot = shuttle_foreign_scan_try((ForeignScanState *) areq->requestee, &pending);
	if (pending)
		ExecAsyncRequestPending(areq);
	else
		ExecAsyncRequestDone(areq, slot);
}

static void
configure_wait(AsyncRequest *areq)
{
	const AppendState *append = (const AppendState *) areq->requestor;

	if (complete_request(areq) || !may_sleep(append))
		return;
	wait_for_any(append);
	(void) complete_request(areq);
}

/* Delivers a row to Append asynchronously, if there is one. */
static bool
complete_request(AsyncRequest *areq)
{
	NodeInstrumentation *instrument = areq->requestee->instrument;

	areq->callback_pending = false;
	request_row(areq);
	ExecAsyncResponse(areq);
	if (!areq->request_complete)
		return false;
	if (instrument != NULL)
		InstrUpdateTupleCount(instrument, TupIsNull(areq->result) ? 0.0 : 1.0);
	return true;
}

/* True if Append has nothing else to do or to wait for. */
static bool
may_sleep(const AppendState *append)
{
	return append->as_syncdone && append->as_nasyncresults == 0 &&
		bms_is_empty(append->as_needrequest) &&
		GetNumRegisteredWaitEvents(append->as_eventset) == 1;
}

static void
wait_for_any(const AppendState *append)
{
	ShuttleRequest **requests = palloc_array(ShuttleRequest *, append->as_nasyncplans);
	int			nrequests = 0;
	int			i = -1;

	while ((i = bms_next_member(append->as_asyncplans, i)) >= 0)
	{
		AsyncRequest *areq = append->as_asyncrequests[i];
		ForeignScanState *scan = (ForeignScanState *) areq->requestee;

		if (areq->callback_pending && shuttle_server_routine_is_ours(scan->fdwroutine))
			requests[nrequests++] = shuttle_foreign_scan_request(scan);
	}
	shuttle_request_wait_any(requests, nrequests);
	pfree(requests);
}

/*-------------------------------------------------------------------------
 * counters.c
 *	  The session's totals.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_counters.h"

ShuttleCounters shuttle_counters_of_session;
ShuttleCounters shuttle_counters_own;
void		(*shuttle_counted) (void) = NULL;
bool		shuttle_counters_want_rows_scanned = false;

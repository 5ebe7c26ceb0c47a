/*-------------------------------------------------------------------------
 * counters.c
 *	  The session's totals.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_counters.h"

ShuttleCounters shuttle_session_counters;
ShuttleCounters shuttle_own_counters;
void		(*shuttle_counted) (void) = NULL;
bool		shuttle_count_rows_scanned = false;

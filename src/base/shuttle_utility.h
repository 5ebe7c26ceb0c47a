/*-------------------------------------------------------------------------
 * shuttle_utility.h
 *	  What the hooks of utility statements share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_UTILITY_H
#define SHUTTLE_UTILITY_H

#include "tcop/utility.h"

/* Runs a utility statement as without our hook: by the one that was there
 * before, or NULL, by core. */
extern void shuttle_utility_run(ProcessUtility_hook_type previous,
								PlannedStmt *pstmt, const char *queryString,
								bool readOnlyTree, ProcessUtilityContext context,
								ParamListInfo params, QueryEnvironment *queryEnv,
								DestReceiver *dest, QueryCompletion *qc);

#endif							/* SHUTTLE_UTILITY_H */

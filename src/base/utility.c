/*-------------------------------------------------------------------------
 * utility.c
 *	  What our ProcessUtility hooks share.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_utility.h"

void
shuttle_utility_run(ProcessUtility_hook_type previous, PlannedStmt *pstmt,
					const char *queryString, bool readOnlyTree,
					ProcessUtilityContext context, ParamListInfo params,
					QueryEnvironment *queryEnv, DestReceiver *dest,
					QueryCompletion *qc)
{
	if (previous != NULL)
		previous(pstmt, queryString, readOnlyTree, context, params, queryEnv,
				 dest, qc);
	else
		standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
								params, queryEnv, dest, qc);
}

/*-------------------------------------------------------------------------
 * shuttle_utility.h
 *	  What our ProcessUtility hooks share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_UTILITY_H
#define SHUTTLE_UTILITY_H

#include "tcop/utility.h"

/* Parameters and arguments of a ProcessUtility_hook. */
#define SHUTTLE_UTILITY_PARAMETERS \
	PlannedStmt *pstmt, const char *queryString, bool readOnlyTree, \
	ProcessUtilityContext context, ParamListInfo params, \
	QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc
#define SHUTTLE_UTILITY_ARGUMENTS \
	pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc

#endif							/* SHUTTLE_UTILITY_H */

/*-------------------------------------------------------------------------
 * shuttle_compat_queries.h
 *	  Differences between the server versions in what a statement is made of, for
 *	  files that make statements.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_QUERIES_H
#define SHUTTLE_COMPAT_QUERIES_H

#include "nodes/parsenodes.h"
#include "parser/parse_relation.h"

/* 17 gave MERGE's condition a place beside the source's, and knows other rows than those
 * that match and those that match nothing. */
#if PG_VERSION_NUM < 170000
#define MERGE_CONDITION(query) ((query)->jointree->quals)
#define MERGE_IS_MATCHED(action) ((action)->matched)
#define MERGE_IS_OF_17(query, action) false
#else
#define MERGE_CONDITION(query) ((query)->mergeJoinCondition)
#define MERGE_IS_MATCHED(action) ((action)->matchKind == MERGE_WHEN_MATCHED)
#define MERGE_IS_OF_17(query, action) \
	((query)->mergeTargetRelation != (query)->resultRelation || \
	 (action)->matchKind == MERGE_WHEN_NOT_MATCHED_BY_SOURCE)
#endif

/* 16 has lists of the privileges that are checked, and of joins that make NULLs. */
#if PG_VERSION_NUM < 160000
typedef RangeTblEntry RTEPermissionInfo;
#define COPY_PERMISSIONS(query, from) ((void) 0)
#define COPY_PERMISSION(query, rte, from) (rte)
#define SET_NULLED_BY(var, join) ((void) 0)
#else
#define COPY_PERMISSIONS(query, from) ((query)->rteperminfos = copyObject((from)->rteperminfos))
#define COPY_PERMISSION(query, rte, from) \
	((query)->rteperminfos = lappend((query)->rteperminfos, \
									 copyObject(getRTEPermissionInfo((from)->rteperminfos, rte))), \
	 (rte)->perminfoindex = list_length((query)->rteperminfos), \
	 getRTEPermissionInfo((query)->rteperminfos, rte))
#define SET_NULLED_BY(var, join) \
	((var)->varnullingrels = (join) == 0 ? NULL : bms_make_singleton(join))
#endif

#endif							/* SHUTTLE_COMPAT_QUERIES_H */

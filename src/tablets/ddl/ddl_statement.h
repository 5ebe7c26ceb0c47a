/*-------------------------------------------------------------------------
 * ddl_statement.h
 *	  A statement on a distributed table, and what all that run one need.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_DDL_STATEMENT_H
#define SHUTTLE_TABLETS_DDL_DDL_STATEMENT_H

#include "nodes/parsenodes.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_utility.h"
#include "tablets/shuttle_tablets.h"

/* A utility statement and how it is run here. */
typedef struct ShuttleDdl
{
	ProcessUtility_hook_type run;
	PlannedStmt *pstmt;
	const char *query;
	bool		is_read_only;	/* the tree may not be changed */
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *env;
	DestReceiver *dest;
	QueryCompletion *completion;
	const char *name;			/* of the statement, for messages */
	Oid			relid;			/* the distributed table */
	Oid			targetid;		/* the table, or one of its indexes */
} ShuttleDdl;

/* One of the statement that a ProcessUtility hook runs. */
#define SHUTTLE_DDL_STATEMENT \
	{ \
		.run = run, \
		.pstmt = pstmt, \
		.query = queryString, \
		.is_read_only = readOnlyTree, \
		.context = context, \
		.params = params, \
		.env = queryEnv, \
		.dest = dest, \
		.completion = qc, \
	}

/* Runs a changed copy of the statement here. */
extern void shuttle_ddl_run_here(const ShuttleDdl *ddl, Node *statement);

/* Raises 0A000 for a statement on a distributed table. what: as the user would
 * write it; instead: a hint. */
pg_noreturn extern void shuttle_ddl_refuse(Oid relid, const char *what, const char *instead);
extern void shuttle_ddl_refuse_tablet(Oid relid);

/* The distributed table or tablet of that name, or the one that the index of
 * that name belongs to; InvalidOid: none. */
extern Oid	shuttle_ddl_find(const RangeVar *name, ShuttleTableKind *kind);

/* Refuses what a distributed table that is a partition cannot get. */
extern void shuttle_ddl_refuse_of_partition(Oid relid, const char *what);

#endif							/* SHUTTLE_TABLETS_DDL_DDL_STATEMENT_H */

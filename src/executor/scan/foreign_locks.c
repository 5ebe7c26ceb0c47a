/*-------------------------------------------------------------------------
 * foreign_locks.c
 *	  Row locks of foreign scans.
 *
 * The SELECT that reads rows locks them on the node, but for tablets under a LIMIT
 * (late_locks.c). postgres_fdw only writes FOR UPDATE or FOR SHARE (trap 21); here we put
 * the exact strength and policy into its text: NO KEY, KEY, SKIP LOCKED and NOWAIT. Its FOR
 * UPDATE of rows to be updated becomes FOR NO KEY UPDATE as core's lock would.
 *
 * Memory: texts are made in the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/rel.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "cluster/shuttle_cluster.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "explain/shuttle_explain.h"
#include "tablets/shuttle_tablets.h"

/* The statement's locks for the tables of a scan. */
typedef struct WantedLocks
{
	int			ntables;		/* number of locked tables */
	LockClauseStrength strength;	/* LCS_NONE: they differ */
	LockWaitPolicy policy;
} WantedLocks;

static WantedLocks wanted_locks(ForeignScanState *scan);

const char *
shuttle_foreign_scan_sql(ForeignScanState *scan)
{
	const char *sql = shuttle_postgres_fdw_scan_sql((ForeignScan *) scan->ss.ps.plan);
	WantedLocks locks = wanted_locks(scan);
	int			nclauses;

	if (sql == NULL || locks.ntables == 0)
		return sql;

	/* a lock missing in the text would be silently skipped */
	nclauses = shuttle_remote_sql_count_locks(sql);
	if (nclauses < locks.ntables)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot lock rows of %d foreign tables by this request",
						locks.ntables),
				 errdetail("The request locks rows of %d tables.", nclauses),
				 errhint("Lock the rows by a statement of their own.")));
	return shuttle_remote_sql_change_locks(sql, nclauses == locks.ntables ?
										   shuttle_foreign_lock_strength(locks.strength) : NULL,
										   shuttle_foreign_lock_policy(locks.policy));
}

/* The lock of rows of a distributed table that are to be updated; LCS_NONE: postgres_fdw's.
 * A DELETE changes no columns. */
static LockClauseStrength
target_strength(EState *estate, ResultRelInfo *target)
{
	ResultRelInfo *root = target->ri_RootResultRelInfo;
	Bitmapset  *changed;

	if (root == NULL || shuttle_table_kind(RelationGetRelid(root->ri_RelationDesc)) != SHUTTLE_TABLE_DISTRIBUTED)
		return LCS_NONE;
	changed = ExecGetUpdatedCols(root, estate);
	return bms_is_empty(changed) || shuttle_foreign_key_needs_lock(root->ri_RelationDesc, changed) ?
		LCS_NONE : LCS_FORNOKEYUPDATE;
}

/* The lock of the rows of one table of a scan. */
static LockClauseStrength
wanted_lock(EState *estate, Index rtindex, LockWaitPolicy *policy)
{
	ExecRowMark *mark = estate->es_rowmarks == NULL ? NULL : estate->es_rowmarks[rtindex - 1];
	ResultRelInfo *target = estate->es_result_relations == NULL ? NULL : estate->es_result_relations[rtindex - 1];

	*policy = mark == NULL ? LockWaitBlock : mark->waitPolicy;
	if (shuttle_scan_locks_late(estate, rtindex))
		return LCS_NONE;
	if (mark != NULL)
		return mark->strength;
	return target == NULL ? LCS_NONE : target_strength(estate, target);
}

static WantedLocks
wanted_locks(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	WantedLocks locks = {0};
	int			rtindex = -1;

	while ((rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
	{
		LockWaitPolicy policy;
		LockClauseStrength strength = wanted_lock(scan->ss.ps.state, rtindex, &policy);

		if (strength == LCS_NONE)
			continue;
		if (locks.ntables++ == 0)
		{
			locks.strength = strength;
			locks.policy = policy;
		}
		if (policy != locks.policy)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot lock rows of joined foreign tables in different ways"),
					 errhint("Use SKIP LOCKED or NOWAIT for all of the tables or for none.")));

		/* postgres_fdw's locks are at least as strong */
		if (strength != locks.strength)
			locks.strength = LCS_NONE;
	}
	return locks;
}

const char *
shuttle_foreign_lock_strength(LockClauseStrength strength)
{
	switch (strength)
	{
		case LCS_FORKEYSHARE:
			return "KEY SHARE";
		case LCS_FORSHARE:
			return "SHARE";
		case LCS_FORNOKEYUPDATE:
			return "NO KEY UPDATE";
		case LCS_FORUPDATE:
			return "UPDATE";
		case LCS_NONE:
			break;
	}
	return NULL;
}

const char *
shuttle_foreign_lock_policy(LockWaitPolicy policy)
{
	switch (policy)
	{
		case LockWaitSkip:
			return "SKIP LOCKED";
		case LockWaitError:
			return "NOWAIT";
		case LockWaitBlock:
			break;
	}
	return NULL;
}

/* Measured figures differ from run to run, so few look at them. */
static void
explain_round_trip(Oid serverid, ExplainState *es)
{
	ShuttleTripPrice price;
	const char *text = NULL;

	if (!es->verbose || !es->costs || !shuttle_dist_is_wanted(es))
		return;
	price = shuttle_trip_price_used(serverid);
	switch (price.source)
	{
		case SHUTTLE_TRIP_MEASURED:
			text = psprintf("%.3f ms measured, cost %.2f", price.ms, price.cost);

			break;
		case SHUTTLE_TRIP_ASSUMED:
			text = psprintf("%.3f ms assumed, cost %.2f", price.ms, price.cost);

			break;
		case SHUTTLE_TRIP_BY_OPTION:
			text = psprintf("cost %.2f by option", price.cost);

			break;
	}
	shuttle_explain_text(es, "Storage Round Trip", text);
}

void
shuttle_foreign_scan_explain(ForeignScanState *scan, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	const char *sql = shuttle_postgres_fdw_scan_sql(plan);
	const char *sent = shuttle_foreign_scan_sql(scan);
	double		limit = shuttle_remote_scan_limit(scan);

	if (limit > 0)
		sent = psprintf("%s LIMIT %.0f", sent, limit);

	if (sql != NULL && strcmp(sql, sent) != 0)
		scan->ss.ps.plan = (Plan *) shuttle_postgres_fdw_replace_scan_sql(plan, sent);
	shuttle_postgres_fdw_routine->ExplainForeignScan(scan, es);
	scan->ss.ps.plan = (Plan *) plan;
	shuttle_explain_remote_filter(scan, es);
	explain_round_trip(plan->fs_server, es);
}

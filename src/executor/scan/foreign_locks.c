/*-------------------------------------------------------------------------
 * foreign_locks.c
 *	  Row locks of foreign scans.
 *
 * The SELECT that reads rows locks them on the node. postgres_fdw only writes
 * FOR UPDATE or FOR SHARE (trap 21); here we put the exact strength and policy
 * into its text: NO KEY, KEY, SKIP LOCKED and NOWAIT.
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
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "explain/shuttle_explain.h"

/* The statement's locks for the tables of a scan. */
typedef struct WantedLocks
{
	int			ntables;		/* number of locked tables */
	LockClauseStrength strength;	/* LCS_NONE: they differ */
	LockWaitPolicy policy;
} WantedLocks;

static WantedLocks wanted_locks(ForeignScanState *scan);
static const char *strength_words(LockClauseStrength strength);
static const char *policy_words(LockWaitPolicy policy);

const char *
shuttle_foreign_scan_sql(ForeignScanState *scan)
{
	const char *sql = shuttle_postgres_fdw_scan_sql((ForeignScan *) scan->ss.ps.plan);
	WantedLocks locks = wanted_locks(scan);
	int			nclauses;

	if (sql == NULL || locks.ntables == 0)
		return sql;

	/* a lock missing in the text would be silently skipped */
	nclauses = shuttle_sql_count_locks(sql);
	if (nclauses < locks.ntables)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot lock rows of %d foreign tables by this request",
						locks.ntables),
				 errdetail("The request locks rows of %d tables.", nclauses),
				 errhint("Lock the rows by a statement of their own.")));
	return shuttle_sql_change_locks(sql, nclauses == locks.ntables ?
									strength_words(locks.strength) : NULL,
									policy_words(locks.policy));
}

static WantedLocks
wanted_locks(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	WantedLocks locks = {0};
	int			rtindex = -1;

	while (estate->es_rowmarks != NULL &&
		   (rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
	{
		ExecRowMark *mark = estate->es_rowmarks[rtindex - 1];

		if (mark == NULL || mark->strength == LCS_NONE)
			continue;
		if (locks.ntables++ == 0)
		{
			locks.strength = mark->strength;
			locks.policy = mark->waitPolicy;
		}
		if (mark->waitPolicy != locks.policy)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot lock rows of joined foreign tables in different ways"),
					 errhint("Use SKIP LOCKED or NOWAIT for all of the tables or for none.")));

		/* postgres_fdw's locks are at least as strong */
		if (mark->strength != locks.strength)
			locks.strength = LCS_NONE;
	}
	return locks;
}

/* NULL: keep postgres_fdw's. */
static const char *
strength_words(LockClauseStrength strength)
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

static const char *
policy_words(LockWaitPolicy policy)
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

	if (!es->verbose || !es->costs || !shuttle_explain_dist(es))
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
	double		limit = shuttle_foreign_scan_limit(scan);

	if (limit > 0)
		sent = psprintf("%s LIMIT %.0f", sent, limit);

	if (sql != NULL && strcmp(sql, sent) != 0)
		scan->ss.ps.plan = (Plan *) shuttle_postgres_fdw_replace_scan_sql(plan, sent);
	shuttle_postgres_fdw_routine->ExplainForeignScan(scan, es);
	scan->ss.ps.plan = (Plan *) plan;
	shuttle_storage_filter_explain(scan, es);
	explain_round_trip(plan->fs_server, es);
}

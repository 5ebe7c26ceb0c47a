/*-------------------------------------------------------------------------
 * foreign_sample.c
 *	  Scans that take a sample on the storage node.
 *
 * A rescan within one statement must find the same sample, as in core, but
 * each request is a statement of its own to the node. So a TABLESAMPLE without
 * REPEATABLE gets one, with a random seed per scan.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "lib/stringinfo.h"

#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"

bool
shuttle_foreign_sample_add(ForeignScan *scan, int alias, const char *clause)
{
	const char *sql = shuttle_postgres_fdw_scan_sql(scan);
	char	   *sampled;

	sampled = sql == NULL ? NULL : shuttle_remote_sql_add_sample(sql, alias, clause);
	if (sampled == NULL)
		return false;
	scan->fdw_private = shuttle_postgres_fdw_replace_scan_sql(scan, sampled)->fdw_private;
	return true;
}

const char *
shuttle_foreign_sample_sql(const char *sql)
{
	if (!shuttle_remote_sql_samples(sql))
		return sql;
	return shuttle_remote_sql_add_seed(sql, pg_prng_double(&pg_global_prng_state));
}

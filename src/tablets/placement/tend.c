/*-------------------------------------------------------------------------
 * tend.c
 *	  shuttle.tend(): rules with an age are given to the partitions that have it.
 *
 * A partition's age is that of the upper bound of the range of dates or timestamps that
 * it, or a partition above it, has. One that has become old enough for a clause of the rule above gets this
 * clause as a rule, noted as by_age; of several clauses that of the highest age. Then
 * tablets are moved that are where their rules do not allow them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_subtransaction.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/partitions.h"
#include "tablets/move/balance.h"
#include "tablets/move/move.h"
#include "tablets/placement/placement.h"
#include "tablets/placement/tend.h"

SHUTTLE_SQL_FUNCTION(shuttle_tend);

static const char *const own_query =
"SELECT rule, by_age::text FROM shuttle.placement_rules WHERE relation = $1";

static const char *const partitions_query =
"SELECT relation::oid::text FROM shuttle.tables JOIN pg_inherits ON inhrelid = relation WHERE kind = 'distributed' AND $1 IS NOT NULL"
" ORDER BY relation::regclass::text";

static const char *const old_query =
"SELECT 't' FROM pg_class AS c JOIN pg_inherits ON inhrelid = c.oid JOIN pg_partitioned_table ON partrelid = inhparent"
" JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0] WHERE c.oid = $1 AND partstrat = 'r'"
" AND CASE WHEN atttypid IN ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype)"
" THEN substring(pg_get_expr(relpartbound, c.oid) FROM 'TO \\(''([^'']*)''')::timestamptz <= now() - %s::interval END";

static bool
is_older(Oid relid, const Interval *age)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(age)));

	while (get_rel_relispartition(relid))
	{
		if (shuttle_local_text(psprintf(old_query, quote_literal_cstr(text)), relid) != NULL)
			return true;
		relid = get_partition_parent(relid, true);
	}
	return false;
}

/* The clause that a partition has by its age; NULL: none. */
static ShuttleRuleClause *
clause_of_age(Oid relid)
{
	Oid			source = shuttle_places_source(get_partition_parent(relid, true));
	ShuttleRuleClause *found = NULL;
	List	   *rows;
	ListCell   *cell;

	if (!OidIsValid(source))
		return NULL;
	rows = shuttle_local_rows(own_query, source);
	if (rows == NIL)
		return NULL;
	foreach(cell, shuttle_rule_parse(((char **) linitial(rows))[0])->clauses)
	{
		ShuttleRuleClause *clause = lfirst(cell);

		if (clause->age != NULL && is_older(relid, clause->age))
			found = clause;
	}
	return found;
}

bool
shuttle_tend_find(Oid relid, ShuttleRule **rule)
{
	List	   *rows = shuttle_local_rows(own_query, relid);
	const char *own = rows == NIL ? NULL : ((char **) linitial(rows))[0];
	ShuttleRuleClause *clause;

	*rule = NULL;
	if (!OidIsValid(shuttle_partitions_parent(relid)) ||
		(rows != NIL && strcmp(((char **) linitial(rows))[1], "true") != 0))
		return false;
	clause = clause_of_age(relid);
	if (clause != NULL)
	{
		ShuttleRuleClause *aged = palloc_object(ShuttleRuleClause);

		*aged = *clause;
		aged->age = NULL;
		*rule = palloc0_object(ShuttleRule);
		(*rule)->clauses = list_make1(aged);
	}
	if (*rule == NULL || own == NULL)
		return *rule != NULL || own != NULL;
	return strcmp(shuttle_rule_text(*rule), own) != 0;
}

typedef struct Follower
{
	Oid			relid;
	ShuttleRule *rule;
} Follower;

static void
follow(void *arg)
{
	Follower   *follower = arg;

	shuttle_place_set(follower->relid, follower->rule, true, false);
	ereport(NOTICE,
			follower->rule == NULL ? errmsg("partition \"%s\" has the rule of its table again", get_rel_name(follower->relid)) :
			errmsg("partition \"%s\" has rule \"%s\" by its age", get_rel_name(follower->relid), shuttle_rule_text(follower->rule)));
}

/* Others can go on without it; but not without a node, or if somebody ends us. */
static void
warn_of(const Follower *follower, ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	if (category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_CONNECTION_EXCEPTION)
		ReThrowError(error);
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("partition \"%s\" cannot follow its age: %s", get_rel_name(follower->relid), error->message),
			 error->detail == NULL ? 0 : errdetail_internal("%s", error->detail),
			 error->hint == NULL ? 0 : errhint("%s", error->hint)));
}

/* Each in a transaction of its own: it keeps what it got, whatever becomes of the others. */
static void
follow_ages(void)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(partitions_query, InvalidOid))
	{
		Follower	follower = {.relid = atooid(lfirst(cell))};
		ErrorData  *error;

		if (get_rel_name(follower.relid) == NULL || !shuttle_tend_find(follower.relid, &follower.rule))
			continue;
		error = shuttle_subtransaction_run(follow, &follower);
		if (error != NULL)
			warn_of(&follower, error);
		shuttle_move_commit();
	}
}

/* CALL shuttle.tend() */
Datum
shuttle_tend(PG_FUNCTION_ARGS)
{
	shuttle_move_check_call(fcinfo, "tend");
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	shuttle_rebalance_begin();
	follow_ages();
	shuttle_rebalance_keep_rules();
	shuttle_rebalance_end();
	SPI_finish();
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 * check_entries.c
 *	  Compares entries of global indexes with the rows of their tables.
 *
 * Nobody writes to the table meanwhile. Values are unique among entries, so entries that rows
 * do not have are as many as there are more than rows that have theirs.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_subtransaction.h"
#include "tablets/check/check.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/problems.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

typedef struct Counts
{
	int64		nrows;			/* that should have an entry */
	int64		nmatching;		/* that have it */
} Counts;

static void
count_rows(ShuttleGlobalIndex *index, List *rows, void *arg)
{
	Counts	   *counts = arg;

	counts->nrows += list_length(rows);
	counts->nmatching += shuttle_global_send_match(index, rows);
}

static void
put(const ShuttleCheck *check, const char *problem)
{
	shuttle_problem_put(check, problem, check->repair ? NULL : "SELECT * FROM shuttle.check(repair => true) mends it.");
}

/* An index of a table that is checked. */
typedef struct CheckedIndex
{
	const ShuttleCheck *check;
	ShuttleGlobalIndex *index;
} CheckedIndex;

static void
check_index(void *arg)
{
	const ShuttleCheck *check = ((CheckedIndex *) arg)->check;
	ShuttleGlobalIndex *index = ((CheckedIndex *) arg)->index;
	const char *name = get_rel_name(index->indexid);
	Counts		counts = {0};
	int64		nentries;

	if (!OidIsValid(index->entries))
	{
		if (check->repair)
			shuttle_global_entries_follow(check->relid);
		put(check, psprintf("unique index \"%s\" has no entries", name));
		return;
	}
	shuttle_global_entries_read(check->relid, index, count_rows, &counts);
	nentries = pg_strtoint64(shuttle_local_text(psprintf("SELECT count(*)::text FROM %s WHERE $1 IS NOT NULL",
														 shuttle_local_name(index->entries)), index->entries));
	if (counts.nrows == counts.nmatching && nentries == counts.nmatching)
		return;
	if (check->repair)
	{
		(void) shuttle_local_run_as_superuser(psprintf("TRUNCATE %s", shuttle_local_name(index->entries)));
		shuttle_global_entries_fill(check->relid, index);
	}
	put(check, psprintf("unique index \"%s\" lacks entries of " INT64_FORMAT " rows, and has " INT64_FORMAT " of none",
						name, counts.nrows - counts.nmatching, nentries - counts.nmatching));
}

void
shuttle_check_entries(ShuttleCheck *check)
{
	ListCell   *cell;

	if (shuttle_table_kind(check->relid) != SHUTTLE_TABLE_DISTRIBUTED || !shuttle_global_indexes_exist(check->relid) ||
		check->away != NIL || XactReadOnly)
		return;
	LockRelationOid(check->relid, check->repair ? AccessExclusiveLock : ShareLock);
	foreach(cell, shuttle_global_indexes(check->relid))
	{
		CheckedIndex checked = {.check = check,.index = lfirst(cell)};
		ErrorData  *error = shuttle_subtransaction_run(check_index, &checked);

		if (error != NULL && error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ThrowErrorData(error);
		if (error != NULL)
			shuttle_problem_put(check, psprintf("entries of unique index \"%s\" cannot be compared: %s",
												get_rel_name(checked.index->indexid), error->message),
								"Mend what else is wrong first.");
	}
}

/*-------------------------------------------------------------------------
 * foreign_key_newer.c
 *	  Rows that a transaction of REPEATABLE READ does not see, though they refer to what it
 *	  deletes.
 *
 * Core's triggers look with a snapshot of now. A node's transaction has but one, so the
 * node is asked over another connection, for rows that are not visible in that snapshot:
 * their xmin is not. Our own rows are not visible there, and are found by the transaction.
 *
 * 1. The transaction has locked the parent's row on its node, so that no other one can
 *	  write a row that refers to it.
 * 2. Whoever did before has committed, and is not prepared any more (foreign_key_search.c).
 * 3. So a snapshot of now sees all such rows.
 *
 * Memory: the current context.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "base/shuttle_compat.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/foreign_keys/foreign_keys.h"

/* True of a row t whose xmin a snapshot does not see; xmin has no epoch. */
#define IS_NEWER \
"(SELECT NOT pg_catalog.pg_visible_in_snapshot((CASE WHEN x > m THEN x - 4294967296 ELSE x END)::text::xid8, s)" \
" FROM (SELECT s, m, (m / 4294967296) * 4294967296 + t.xmin::text::bigint AS x" \
" FROM (SELECT s, pg_catalog.pg_snapshot_xmax(s)::text::bigint + 2147483648 AS m FROM (SELECT %s::pg_snapshot AS s) AS a) AS b) AS c)"

typedef struct NewerKeys
{
	int			nkeys;
	bool	   *found;
} NewerKeys;

static void
take_number(void *arg, const ShuttleRow *row)
{
	NewerKeys  *newer = arg;
	int			n = atoi(row->values[0]);

	if (n >= 1 && n <= newer->nkeys)
		newer->found[n - 1] = true;
}

static char *
snapshot_of(Oid serverid)
{
	ShuttleNode *node = shuttle_connection_get(serverid, GetUserId());

	return shuttle_node_row(node, "SELECT pg_catalog.pg_current_snapshot()::text", 1, 1)[0];
}

static char *
newer_text(const ShuttleKeySearch *search, const List *keys, Oid serverid)
{
	int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
	const char *texts[INDEX_MAX_KEYS];
	char	   *condition = psprintf(IS_NEWER, quote_literal_cstr(snapshot_of(serverid)));

	for (int i = 0; i < search->ncolumns; i++)
		texts[i] = quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, shuttle_foreign_key_array(search->types[i], keys, i, false)));
	shuttle_row_transmission_end(level);
	return psprintf(SHUTTLE_RUN_AT_ONCE "%s", shuttle_foreign_key_search_text(search, texts, condition, false));
}

void
shuttle_foreign_key_newer(const ShuttleKeySearch *search, const List *keys, bool *found)
{
	List	   *servers = shuttle_table_servers(search->relid);
	int			n = list_length(servers);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, n);
	NewerKeys	newer = {.nkeys = list_length(keys),.found = found};
	ListCell   *cell;

	foreach(cell, servers)
	{
		ShuttleOutsideRun *run = &runs[foreach_current_index(cell)];

		run->serverid = lfirst_oid(cell);
		run->name = shuttle_node_name(shuttle_connection_get(lfirst_oid(cell), GetUserId()));
		run->ok = true;
		run->sql = newer_text(search, keys, lfirst_oid(cell));
		run->row = take_number;
		run->row_arg = &newer;
		run->ncolumns = 1;
	}
	shuttle_outside_run(NULL, GetUserId(), runs, n, 0);
	for (int i = 0; i < n; i++)
	{
		if (!runs[i].ok)
			ereport(ERROR,
					(errcode(shuttle_outside_sqlstate(&runs[i])),
					 errmsg("could not look for newer rows on storage node \"%s\": %s", runs[i].name, runs[i].error)));
	}
}

/*-------------------------------------------------------------------------
 * foreign_key_search.c
 *	  Finds and locks the rows of a table that have some keys.
 *
 * Rows of a distributed table are looked for on their nodes, all at once: on one if the
 * key has the distribution column, else on each. Rows of other tables are here. Found
 * rows are locked FOR KEY SHARE, as by core's triggers. This is the one place that knows
 * where the rows with a key are.
 *
 * A node that holds only such locks commits behind those that wrote (two_phase.c), so who
 * waits for a lock sees what its holder wrote, with one exception: while a transaction
 * over several nodes commits, the lock may be gone on one node before the rows are
 * visible on another one, where they are prepared. Who looks for children waits for these.
 *
 * Memory: the current context.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

/* The keys that one node is asked for. */
typedef struct NodeKeys
{
	Oid			serverid;
	Oid			userid;			/* the role that wrote them */
	List	   *numbers;		/* of keys in the search, from 0 */
	ShuttleRequest *request;
} NodeKeys;

struct ShuttleKeysAsked
{
	ShuttleKeySearch search;
	const List *keys;
	List	   *nodes;			/* of NodeKeys */
};

void		(*shuttle_foreign_key_before_read) (ShuttleNode *node) = NULL;

/* ---- the query */

static void
append_type(StringInfo text, Oid type)
{
	appendStringInfoString(text, format_type_extended(get_array_type(type), -1,
													  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
}

/*
 * Ordinals of the keys that are there. The inner SELECTs hide how many keys there are, so
 * that a node goes by an index; LIMIT locks one row of a key.
 */
char *
shuttle_foreign_key_search_text(const ShuttleKeySearch *search, const char *const *keys, const char *condition, bool locks)
{
	const char *only = get_rel_relkind(search->relid) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ";
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT k.n FROM ROWS FROM (");
	for (int i = 0; i < search->ncolumns; i++)
	{
		appendStringInfo(&text, "%spg_catalog.unnest((SELECT %s::", i == 0 ? "" : ", ", keys[i]);
		append_type(&text, search->types[i]);
		appendStringInfoString(&text, "))");
	}
	appendStringInfoString(&text, ") WITH ORDINALITY AS k (");
	for (int i = 0; i < search->ncolumns; i++)
		appendStringInfo(&text, "k%d, ", i + 1);
	appendStringInfo(&text, "n) CROSS JOIN LATERAL (SELECT FROM %s%s AS t WHERE ", only, shuttle_local_name(search->relid));
	for (int i = 0; i < search->ncolumns; i++)
	{
		char	   *key = psprintf("k.k%d", i + 1);
		char	   *column = psprintf("t.%s", quote_identifier(get_attname(search->relid, search->columns[i], false)));
		Oid			type = get_atttype(search->relid, search->columns[i]);

		if (i > 0)
			appendStringInfoString(&text, " AND ");
		if ((search->nulls & (1U << i)) != 0)
			appendStringInfo(&text, "%s IS NULL", column);
		else if (search->key_is_left)
			generate_operator_clause(&text, key, search->types[i], search->operators[i], column, type);
		else
			generate_operator_clause(&text, column, type, search->operators[i], key, search->types[i]);
	}
	if (condition != NULL)
		appendStringInfo(&text, " AND %s", condition);
	appendStringInfo(&text, " LIMIT 1%s) AS q", locks ? " FOR KEY SHARE" : "");
	return text.data;
}

static char *
search_text(const ShuttleKeySearch *search)
{
	const char *keys[INDEX_MAX_KEYS];

	for (int i = 0; i < search->ncolumns; i++)
		keys[i] = psprintf("$%d", i + 1);
	return shuttle_foreign_key_search_text(search, keys, NULL, true);
}

Datum
shuttle_foreign_key_array(Oid type, const List *keys, int column, bool of_new)
{
	int			n = list_length(keys);
	Datum	   *values = palloc_array(Datum, n);
	bool	   *nulls = palloc0_array(bool, n);
	int16		length;
	bool		by_value;
	char		alignment;
	int			lower = 1;
	const ListCell *cell;

	foreach(cell, keys)
	{
		const ShuttleKeyValues *key = lfirst(cell);

		values[foreach_current_index(cell)] = of_new ? key->new_values[column] : key->values[column];
		nulls[foreach_current_index(cell)] = key->nulls != NULL && of_new == (key->new_values != NULL) && key->nulls[column];
	}
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, type, length, by_value, alignment));
}

/* ---- on nodes */

/* The function that hashes keys of a type as the table's are hashed; false: there is none. */
static bool
find_hash(PartitionKey partitions, Oid type, FmgrInfo *function)
{
	Oid			other = shuttle_table_hash_function(partitions, type);

	*function = partitions->partsupfunc[0];
	if (OidIsValid(other) && other != function->fn_oid)
		fmgr_info(other, function);
	return OidIsValid(other) || IsBinaryCoercible(type, partitions->partopcintype[0]);
}

/* The number of the distribution column in the keys; -1: they lack it, or cannot be hashed. */
static int
find_distribution_column(const ShuttleKeySearch *search, PartitionKey partitions, FmgrInfo *function)
{
	for (int i = 0; i < search->ncolumns; i++)
	{
		if (search->columns[i] == partitions->partattrs[0])
			return find_hash(partitions, search->types[i], function) ? i : -1;
	}
	return -1;
}

static void
add_number(List **nodes, Oid serverid, Oid userid, int number)
{
	NodeKeys   *node;
	ListCell   *cell;

	foreach(cell, *nodes)
	{
		node = lfirst(cell);
		if (node->serverid == serverid && node->userid == userid)
		{
			node->numbers = lappend_int(node->numbers, number);
			return;
		}
	}
	node = palloc0_object(NodeKeys);
	node->serverid = serverid;
	node->userid = userid;
	node->numbers = list_make1_int(number);
	*nodes = lappend(*nodes, node);
}

/* Which node has rows with which keys. */
static List *
divide_keys(const ShuttleKeySearch *search, const List *keys)
{
	Relation	rel = table_open(search->relid, AccessShareLock);
	PartitionKey partitions = RelationGetPartitionKey(rel);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	FmgrInfo	function;
	int			column = find_distribution_column(search, partitions, &function);
	List	   *servers = shuttle_table_servers(search->relid);
	List	   *nodes = NIL;
	const ListCell *cell;
	ListCell   *server;

	foreach(cell, keys)
	{
		const ShuttleKeyValues *key = lfirst(cell);
		bool		is_null = column >= 0 && (search->nulls & (1U << column)) != 0;

		if (column >= 0)
		{
			uint64		hash = compute_partition_hash_value(1, &function, partitions->partcollation, &key->values[column], &is_null);
			int			part = parts->boundinfo->indexes[hash % parts->boundinfo->nindexes];

			add_number(&nodes, GetForeignServerIdByRelId(parts->oids[part]), key->userid, foreach_current_index(cell));
			continue;
		}
		foreach(server, servers)
			add_number(&nodes, lfirst_oid(server), key->userid, foreach_current_index(cell));
	}
	table_close(rel, NoLock);
	return nodes;
}

/* Waits on the node for the transactions that are prepared there and wrote the table. */
static const char *
wait_text(Oid relid)
{
	return psprintf("DO %s", quote_literal_cstr(psprintf(
														 "DECLARE t oid[]; x text[]; n int := 0; BEGIN"
														 " IF NOT EXISTS (SELECT FROM pg_catalog.pg_prepared_xacts) THEN RETURN; END IF;"
														 " t := ARRAY(SELECT relid::oid FROM pg_catalog.pg_partition_tree(%s::pg_catalog.regclass));"
														 " LOOP SELECT pg_catalog.array_agg(DISTINCT virtualtransaction) INTO x FROM pg_catalog.pg_locks"
														 " WHERE pid IS NULL AND locktype = 'relation' AND relation = ANY (t) AND mode = 'RowExclusiveLock'"
														 " AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"
														 " AND (n = 0 OR virtualtransaction = ANY (x));"
														 " EXIT WHEN x IS NULL; n := n + 1;"
														 " IF n > 5000 THEN RAISE lock_not_available USING MESSAGE = 'a prepared transaction that wrote referring rows has not ended',"
														 " HINT = 'See shuttle.transactions.'; END IF;"
														 " PERFORM pg_catalog.pg_sleep(0.002); END LOOP; END",
														 quote_literal_cstr(shuttle_local_name(relid)))));
}

/* goes_on: the node gets another request at once. */
static void
send_wait(Oid relid, ShuttleNode *node, bool goes_on)
{
	ShuttleStatement statement = {
		.sql = wait_text(relid),
		.effect = SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.tag_only = true,
		.packet_goes_on = goes_on,
	};

	(void) shuttle_request_send(node, &statement, CurrentMemoryContext);
}

void
shuttle_foreign_key_wait(Oid relid)
{
	ListCell   *cell;

	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return;
	foreach(cell, shuttle_table_servers(relid))
		send_wait(relid, shuttle_connection_get(lfirst_oid(cell), GetUserId()), false);
}

static List *
keys_with_numbers(const List *keys, const List *numbers)
{
	List	   *chosen = NIL;
	const ListCell *cell;

	foreach(cell, numbers)
		chosen = lappend(chosen, list_nth(keys, lfirst_int(cell)));
	return chosen;
}

static void
send_keys(const ShuttleKeySearch *search, const List *keys, NodeKeys *asked, bool flushes)
{
	ShuttleNode *node = shuttle_connection_get(asked->serverid, asked->userid);
	int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
	const char **values = palloc_array(const char *, search->ncolumns);
	const List *chosen = keys_with_numbers(keys, asked->numbers);
	ShuttleStatement statement = {
		.sql = search_text(search),
		.nparams = search->ncolumns,
		.values = values,
		.effect = search->holds ? SHUTTLE_WRITES : SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = list_length(asked->numbers),
		.ncolumns = 1,
	};

	for (int i = 0; i < search->ncolumns; i++)
		values[i] = OidOutputFunctionCall(F_ARRAY_OUT, shuttle_foreign_key_array(search->types[i], chosen, i, false));
	shuttle_row_transmission_end(level);
	if (flushes && shuttle_foreign_key_before_read != NULL)
		shuttle_foreign_key_before_read(node);
	if (search->waits)
		send_wait(search->relid, node, true);
	asked->request = shuttle_request_send(node, &statement, CurrentMemoryContext);
}

ShuttleKeysAsked *
shuttle_foreign_key_search_send(const ShuttleKeySearch *search, const List *keys, bool flushes)
{
	ShuttleKeysAsked *asked = palloc0_object(ShuttleKeysAsked);
	ListCell   *cell;

	asked->search = *search;
	asked->keys = keys;
	asked->nodes = divide_keys(search, keys);
	foreach(cell, asked->nodes)
		send_keys(search, keys, lfirst(cell), flushes);
	return asked;
}

void
shuttle_foreign_key_search_read(ShuttleKeysAsked *asked, bool *found)
{
	ListCell   *cell;
	ShuttleRow	row;

	foreach(cell, asked->nodes)
	{
		const NodeKeys *node = lfirst(cell);

		while (shuttle_request_fetch(node->request, true, &row) == SHUTTLE_ROW)
		{
			int64		n = shuttle_row_int64(&row, 0);

			if (n < 1 || n > list_length(node->numbers))
				elog(ERROR, "a node found key " INT64_FORMAT " of %d", n, list_length(node->numbers));
			found[list_nth_int(node->numbers, n - 1)] = true;
		}
		shuttle_request_close(node->request);
	}
	if (asked->search.waits && IsolationUsesXactSnapshot())
		shuttle_foreign_key_newer(&asked->search, asked->keys, found);
}

/* ---- here */

int
shuttle_foreign_key_execute(SPIPlanPtr plan, Datum *values, bool sees_newer)
{
	Snapshot	snapshot = InvalidSnapshot;
	Snapshot	crosscheck = InvalidSnapshot;

	if (sees_newer && IsolationUsesXactSnapshot())
	{
		CommandCounterIncrement();
		snapshot = GetLatestSnapshot();
		crosscheck = GetTransactionSnapshot();
	}
	return SPI_execute_snapshot(plan, values, NULL, snapshot, crosscheck, false, false, 0);
}

static void
search_here(const ShuttleKeySearch *search, const List *keys, bool *found)
{
	MemoryContext caller_cxt = CurrentMemoryContext;
	Oid			types[INDEX_MAX_KEYS];
	Datum		values[INDEX_MAX_KEYS];
	char	   *sql = search_text(search);
	Oid			userid;
	int			flags;
	SPIPlanPtr	plan;

	for (int i = 0; i < search->ncolumns; i++)
	{
		types[i] = get_array_type(search->types[i]);
		values[i] = shuttle_foreign_key_array(search->types[i], keys, i, false);
	}
	GetUserIdAndSecContext(&userid, &flags);
	SPI_connect();
	SetUserIdAndSecContext(shuttle_local_owner(search->relid),
						   flags | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	plan = SPI_prepare(sql, search->ncolumns, types);
	if (plan == NULL || shuttle_foreign_key_execute(plan, values, search->waits) != SPI_OK_SELECT)
		elog(ERROR, "could not look for keys: %s", sql);
	SetUserIdAndSecContext(userid, flags);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		is_null;
		Datum		n = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);

		found[DatumGetInt64(n) - 1] = true;
	}
	SPI_finish();
	MemoryContextSwitchTo(caller_cxt);
}

void
shuttle_foreign_key_search(const ShuttleKeySearch *search, const List *keys, bool *found)
{
	if (shuttle_table_kind(search->relid) == SHUTTLE_TABLE_DISTRIBUTED)
		shuttle_foreign_key_search_read(shuttle_foreign_key_search_send(search, keys, true), found);
	else
		search_here(search, keys, found);
}

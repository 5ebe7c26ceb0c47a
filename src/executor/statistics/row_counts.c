/*-------------------------------------------------------------------------
 * row_counts.c
 *	  Row counts of foreign tables without statistics, as their nodes estimate them.
 *
 * Nodes are asked while a statement is planned: all at once, one request each, on
 * connections outside of the transaction, which cannot harm it and does not wait for
 * its locks. A session that has no connection to a node yet keeps this one.
 *
 * A node's answer has the rows of what it has analyzed, by the density of its pages, and
 * the pages of what it has not; there the width of the columns here decides, as in core.
 * Rows alone would mislead: of a column without statistics core assumes 200 distinct
 * values, so that each key of a large table seemed to have many rows. So the answer has
 * also the number of distinct values of columns that are unique or analyzed.
 *
 * A node that could not be asked, also because the wait for it was cancelled, is not asked
 * again for a while. Nothing is asked of views
 * and of foreign tables there: their rows are unknown.
 *
 * Memory: counts live in "shuttle row counts" below CacheMemoryContext, silent nodes in
 * CacheMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/bufpage.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_row_counts.h"
#include "executor/statistics/statistics.h"
#include "storage/shuttle_storage.h"

/* Planning waits no longer. */
#define ASK_LIMIT_MS 2000

/* How long a count is used. */
#define KEEP_MS 60000

/* When to ask a node again that could not be asked: after this time, or after this
 * multiple of the time the attempt took, if longer. */
#define ASK_AGAIN_MS 10000
#define ASK_AGAIN_TIMES 30

/* Columns of the answer. */
enum
{
	ANSWER_ORDINAL,
	ANSWER_PAGES,
	ANSWER_ROWS,
	ANSWER_UNKNOWN_PAGES,
	ANSWER_IS_KNOWN,

	/* one row for each column that has them */
	ANSWER_COLUMN,
	ANSWER_DISTINCT,
	ANSWER_NULL_FRACTION,
	NANSWER_COLUMNS
};

/*
 * Tables with their partitions and children. The size of a table that somebody has
 * locked exclusively is the one at its last ANALYZE: to look at it would wait. As in
 * core, a table that was never analyzed has at least 10 pages.
 */
#define COUNTS_SQL_BEGIN \
	SHUTTLE_RUN_AT_ONCE " WITH RECURSIVE asked AS (SELECT names.*, rel.oid AS id," \
	" rel.relhassubclass OR rel.relkind = 'p' AS has_children," \
	" rel.relkind = 'p' OR NOT rel.relhassubclass AS are_unique" \
	" FROM ROWS FROM (pg_catalog.unnest("
#define COUNTS_SQL_BETWEEN \
	"), pg_catalog.unnest("
#define COUNTS_SQL_END \
	")) WITH ORDINALITY AS names (schema, name, ord)" \
	" JOIN pg_catalog.pg_namespace n ON n.nspname = names.schema" \
	" JOIN pg_catalog.pg_class rel ON rel.relnamespace = n.oid AND rel.relname = names.name)," \
	" tree (ord, id) AS (SELECT ord, id FROM asked" \
	" UNION SELECT tree.ord, i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.id)," \
	" locked AS MATERIALIZED (SELECT relation FROM pg_catalog.pg_locks" \
	" WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock'" \
	" AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()))," \
	" leaf AS (SELECT tree.ord, c.relkind IN ('r', 'm') AS is_table," \
	" c.relkind IN ('r', 'm', 'p') AS is_known, c.relpages, c.reltuples," \
	" CASE WHEN c.relkind NOT IN ('r', 'm') THEN 0" \
	" WHEN c.oid IN (SELECT relation FROM locked) THEN c.relpages" \
	" ELSE coalesce(pg_catalog.pg_relation_size(c.oid), 0)" \
	" / pg_catalog.current_setting('block_size')::pg_catalog.int8 END AS pages" \
	" FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.id)," \
	" size AS (SELECT ord, pg_catalog.sum(pages) AS pages," \
	" pg_catalog.sum(CASE WHEN relpages > 0 AND reltuples >= 0" \
	" THEN reltuples::pg_catalog.float8 / relpages * pages ELSE 0 END) AS rows," \
	" pg_catalog.sum(CASE WHEN is_table AND (relpages = 0 OR reltuples < 0)" \
	" THEN greatest(pages, 10) ELSE 0 END) AS unknown_pages," \
	" pg_catalog.bool_and(is_known) AS is_known" \
	" FROM leaf GROUP BY ord)" \
	" SELECT size.*, facts.* FROM size JOIN asked ON asked.ord = size.ord LEFT JOIN LATERAL (" \
	"SELECT a.attname, CASE WHEN one.indkey IS NOT NULL THEN -1 ELSE s.n_distinct END, s.null_frac" \
	" FROM pg_catalog.pg_attribute a" \
	" LEFT JOIN pg_catalog.pg_stats s ON s.schemaname = asked.schema AND s.tablename = asked.name" \
	" AND s.attname = a.attname AND s.inherited = asked.has_children" \
	" LEFT JOIN LATERAL (SELECT i.indkey FROM pg_catalog.pg_index i" \
	" WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1" \
	" AND i.indkey[0] = a.attnum AND i.indpred IS NULL AND asked.are_unique LIMIT 1) AS one ON true" \
	" WHERE a.attrelid = asked.id AND a.attnum > 0 AND NOT a.attisdropped" \
	" AND (one.indkey IS NOT NULL OR s.n_distinct <> 0)) AS facts ON true"

typedef struct CountedColumn
{
	NameData	name;			/* on the node */
	ShuttleColumnCount count;
} CountedColumn;

typedef struct KnownCount
{
	Oid			relid;			/* hash key */
	bool		is_known;
	double		pages;
	double		rows;			/* without those of unknown_pages */
	double		unknown_pages;	/* of tables that the node has not analyzed */
	int			ncolumns;
	CountedColumn *columns;		/* NULL: none */
	TimestampTz until;
} KnownCount;

typedef struct SilentKey
{
	Oid			serverid;
	Oid			userid;			/* whose mapping is used */
} SilentKey;

typedef struct SilentNode
{
	SilentKey	key;			/* hash key */
	TimestampTz until;			/* when to ask it again */
} SilentNode;

/* A node, and the tables that it is asked for. */
typedef struct AskedNode
{
	SilentKey	key;
	List	   *schemas;
	List	   *names;
	List	   *relids;
	KnownCount *counts;			/* in the order of the lists */
	StringInfoData *columns;	/* of CountedColumn, likewise */
} AskedNode;

static MemoryContext known_cxt = NULL;
static HTAB *known = NULL;
static HTAB *silent = NULL;
static bool tables_changed = true;
static bool servers_changed = true;

static List *group_by_node(const List *tables);
static AskedNode *find_asked(List **nodes, Oid serverid, Oid userid);
static char *counts_sql(const AskedNode *asked);
static void take_count(void *arg, const ShuttleRow *row);
static void keep_answer(const AskedNode *asked);
static void keep_silence(const AskedNode *asked, TimestampTz began);
static double rows_of_pages(Oid relid, double pages);

/* ---- the caches */

static void
forget_later(Datum argument, int cache, uint32 hash)
{
	tables_changed = true;
	if (cache != FOREIGNTABLEREL)
		servers_changed = true;
}

static HTAB *
make_cache(const char *name, Size keysize, Size entrysize, MemoryContext cxt)
{
	HASHCTL		control = {
		.keysize = keysize,
		.entrysize = entrysize,
		.hcxt = cxt,
	};

	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Empties what has changed; the callback only sets flags. */
static void
clear_caches(void)
{
	if (known_cxt == NULL)
	{
		known_cxt = AllocSetContextCreate(CacheMemoryContext, "shuttle row counts",
										  ALLOCSET_DEFAULT_SIZES);
		CacheRegisterSyscacheCallback(FOREIGNTABLEREL, forget_later, (Datum) 0);
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, forget_later, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, forget_later, (Datum) 0);
	}
	if (tables_changed)
	{
		known = NULL;
		MemoryContextReset(known_cxt);
		known = make_cache("shuttle row counts", sizeof(Oid), sizeof(KnownCount), known_cxt);
		tables_changed = false;
	}
	if (servers_changed)
	{
		if (silent != NULL)
			hash_destroy(silent);
		silent = NULL;
		silent = make_cache("shuttle silent nodes", sizeof(SilentKey), sizeof(SilentNode),
							CacheMemoryContext);
		servers_changed = false;
	}
}

static const KnownCount *
find_count(Oid relid)
{
	const KnownCount *count;

	clear_caches();
	count = hash_search(known, &relid, HASH_FIND, NULL);
	return count != NULL && count->until > GetCurrentTimestamp() ? count : NULL;
}

bool
shuttle_row_count_is_missing(Oid relid, Oid serverid, Oid userid)
{
	SilentKey	key = {.serverid = serverid,.userid = userid};
	const SilentNode *node;

	if (find_count(relid) != NULL)
		return false;
	node = hash_search(silent, &key, HASH_FIND, NULL);
	return node == NULL || node->until <= GetCurrentTimestamp();
}

bool
shuttle_row_count_find(Oid relid, double *rows, double *pages)
{
	const KnownCount *count = find_count(relid);
	double		unknown_pages;

	if (count == NULL || !count->is_known)
		return false;
	*rows = count->rows;
	*pages = Max(count->pages, count->unknown_pages);
	unknown_pages = count->unknown_pages;
	if (unknown_pages > 0)
		*rows += rows_of_pages(relid, unknown_pages);
	return true;
}

bool
shuttle_row_counts_are_known(void)
{
	return known != NULL && !tables_changed && hash_get_num_entries(known) > 0;
}

bool
shuttle_row_counts_find_column(Oid relid, AttrNumber attribute, ShuttleColumnCount *column)
{
	const KnownCount *count;
	const char *name;

	if (!shuttle_row_counts_are_known())
		return false;
	count = hash_search(known, &relid, HASH_FIND, NULL);
	if (count == NULL || count->columns == NULL)
		return false;
	name = shuttle_option_text(GetForeignColumnOptions(relid, attribute), "column_name");
	if (name == NULL)
		name = get_attname(relid, attribute, false);
	for (int i = 0; i < count->ncolumns; i++)
	{
		if (strcmp(NameStr(count->columns[i].name), name) == 0)
		{
			*column = count->columns[i].count;
			return true;
		}
	}
	return false;
}

/* As table_block_relation_estimate_size() of core does it. */
static double
rows_of_pages(Oid relid, double pages)
{
	int			width = get_relation_data_width(relid, NULL) +
		MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData);

	return rint((double) ((BLCKSZ - SizeOfPageHeaderData) / width) * pages);
}

/* ---- asking */

void
shuttle_row_counts_ask(const List *tables)
{
	List	   *nodes = group_by_node(tables);
	int			nnodes = list_length(nodes);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, Max(1, nnodes));
	TimestampTz began = GetCurrentTimestamp();

	for (int i = 0; i < nnodes; i++)
	{
		AskedNode  *asked = list_nth(nodes, i);

		asked->counts = palloc0_array(KnownCount, list_length(asked->names));
		asked->columns = palloc_array(StringInfoData, list_length(asked->names));
		for (int k = 0; k < list_length(asked->names); k++)
			initStringInfo(&asked->columns[k]);
		runs[i].serverid = asked->key.serverid;
		runs[i].name = GetForeignServer(asked->key.serverid)->servername;
		runs[i].userid = asked->key.userid;
		runs[i].ok = true;
		runs[i].sql = counts_sql(asked);
		runs[i].side = shuttle_outside_side_create();
		runs[i].lasts = true;
		runs[i].row = take_count;
		runs[i].row_arg = asked;
		runs[i].ncolumns = NANSWER_COLUMNS;
		ereport(DEBUG1,
				(errmsg_internal("storage node \"%s\" is asked for the rows of %d tables",
								 runs[i].name, list_length(asked->names))));
	}

	/*
	 * silent until they answer, so that a statement whose wait was cancelled
	 * is the last to wait
	 */
	for (int i = 0; i < nnodes; i++)
		keep_silence(list_nth(nodes, i), began);
	shuttle_outside_run(NULL, GetUserId(), runs, nnodes, ASK_LIMIT_MS);
	clear_caches();
	for (int i = 0; i < nnodes; i++)
	{
		const AskedNode *asked = list_nth(nodes, i);

		if (runs[i].ok)
		{
			(void) hash_search(silent, &asked->key, HASH_REMOVE, NULL);
			keep_answer(asked);
		}
		else
		{
			ereport(DEBUG1,
					(errmsg_internal("storage node \"%s\" did not say how many rows it has: %s",
									 runs[i].name, runs[i].error)));
			keep_silence(asked, began);
		}
		shuttle_outside_side_end(runs[i].side, asked->key.serverid, asked->key.userid);
	}
}

static List *
group_by_node(const List *tables)
{
	List	   *nodes = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		const ShuttleUncounted *table = lfirst(lc);
		AskedNode  *asked = find_asked(&nodes, table->serverid, table->userid);

		if (list_member_oid(asked->relids, table->relid))
			continue;
		asked->relids = lappend_oid(asked->relids, table->relid);
		asked->schemas = lappend(asked->schemas, table->schema);
		asked->names = lappend(asked->names, table->name);
	}
	return nodes;
}

static AskedNode *
find_asked(List **nodes, Oid serverid, Oid userid)
{
	AskedNode  *asked;
	ListCell   *lc;

	foreach(lc, *nodes)
	{
		asked = lfirst(lc);
		if (asked->key.serverid == serverid && asked->key.userid == userid)
			return asked;
	}
	asked = palloc0_object(AskedNode);
	asked->key.serverid = serverid;
	asked->key.userid = userid;
	*nodes = lappend(*nodes, asked);
	return asked;
}

static char *
counts_sql(const AskedNode *asked)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, COUNTS_SQL_BEGIN);
	shuttle_analyze_append_names(&sql, asked->schemas);
	appendStringInfoString(&sql, COUNTS_SQL_BETWEEN);
	shuttle_analyze_append_names(&sql, asked->names);
	appendStringInfoString(&sql, COUNTS_SQL_END);
	return sql.data;
}

/* A missing value is an empty text. */
static void
take_count(void *arg, const ShuttleRow *row)
{
	const AskedNode *asked = arg;
	int64		ordinal = strtoll(row->values[ANSWER_ORDINAL], NULL, 10);
	KnownCount *count;

	if (ordinal < 1 || ordinal > list_length(asked->names))
		return;
	count = &asked->counts[ordinal - 1];
	count->is_known = row->values[ANSWER_IS_KNOWN][0] == 't';
	count->pages = strtod(row->values[ANSWER_PAGES], NULL);
	count->rows = rint(strtod(row->values[ANSWER_ROWS], NULL));
	count->unknown_pages = strtod(row->values[ANSWER_UNKNOWN_PAGES], NULL);
	if (row->values[ANSWER_COLUMN][0] != '\0')
	{
		CountedColumn column;

		memset(&column, 0, sizeof(column));
		namestrcpy(&column.name, row->values[ANSWER_COLUMN]);
		column.count.distinct_values = strtod(row->values[ANSWER_DISTINCT], NULL);
		column.count.null_fraction = strtod(row->values[ANSWER_NULL_FRACTION], NULL);
		appendBinaryStringInfo(&asked->columns[ordinal - 1], (char *) &column, sizeof(column));
		count->ncolumns++;
	}
}

static void
keep_answer(const AskedNode *asked)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), KEEP_MS);

	for (int i = 0; i < list_length(asked->relids); i++)
	{
		Oid			relid = list_nth_oid(asked->relids, i);
		CountedColumn *columns = NULL;
		bool		found;
		KnownCount *count;

		if (asked->counts[i].ncolumns > 0)
		{
			columns = MemoryContextAlloc(known_cxt, asked->columns[i].len);
			memcpy(columns, asked->columns[i].data, asked->columns[i].len);
		}
		count = hash_search(known, &relid, HASH_ENTER, &found);
		if (found && count->columns != NULL)
			pfree(count->columns);
		*count = asked->counts[i];
		count->relid = relid;
		count->columns = columns;
		count->until = until;
	}
}

static void
keep_silence(const AskedNode *asked, TimestampTz began)
{
	TimestampTz now = GetCurrentTimestamp();
	SilentNode *node = hash_search(silent, &asked->key, HASH_ENTER, NULL);
	long		took_ms = TimestampDifferenceMilliseconds(began, now);

	node->until = TimestampTzPlusMilliseconds(now, Max(ASK_AGAIN_MS, ASK_AGAIN_TIMES * took_ms));
}

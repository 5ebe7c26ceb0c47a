/*-------------------------------------------------------------------------
 * batch_sql.c
 *	  Wraps the SELECT of a parameterized scan for a batch of keys.
 *
 * The parameters become columns of an unnest(), to which the SELECT is joined
 * as a lateral subquery. postgres_fdw made the text: parameters are $n outside
 * of quotes. A scanner that knows SQL's quoting finds them, never a plain
 * search.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "executor/executor_types.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_sql_tokens.h"

#define KEYS_ALIAS	"shuttle_keys"
#define ROWS_ALIAS	"shuttle_rows"


/* Writes what replaces parameter n. */
typedef void (*PutParameter) (StringInfo out, int n, const void *arg);

/* Argument of put_key(). */
typedef struct KeyNames
{
	const ShuttleServedScan *scan;
	const char *alias;			/* of the relation of keys */
} KeyNames;

/* Writes the parameter itself, or its column of the keys. */
static void
put_key(StringInfo out, int n, const void *arg)
{
	const KeyNames *names = arg;
	const ShuttleServedScan *scan = names->scan;

	if (n < 1 || n > scan->key.ncolumns)
		elog(ERROR, "parameter %d of a remote query is not among its %d expressions",
			 n, scan->key.ncolumns);
	if (scan->key.columns[n - 1].scalar)
		appendStringInfo(out, "$%d", n);
	else
		appendStringInfo(out, "%s.%s_p%d", names->alias, names->alias, n);
}

/* A value unknown to the planner; postgres_fdw wrote a cast after it. */
static void
put_unknown(StringInfo out, int n, const void *arg)
{
	appendStringInfoString(out, "(SELECT NULL)");
}

/* Copies sql and replaces its parameters. */
static void
append_replaced(StringInfo out, const char *sql, PutParameter put,
				const void *arg)
{
	const char *p = sql;

	while (*p != '\0')
	{
		const char *end = shuttle_sql_skip_token(p);

		if (*p == '$' && isdigit((unsigned char) p[1]))
			put(out, atoi(p + 1), arg);
		else
			appendBinaryStringInfo(out, p, end - p);
		p = end;
	}
}

char *
shuttle_batch_sql_without_values(const ForeignScan *scan)
{
	const char *sql = shuttle_postgres_fdw_scan_sql(scan);
	StringInfoData out;

	if (sql == NULL)
		return NULL;
	initStringInfo(&out);
	append_replaced(&out, sql, put_unknown, NULL);
	return out.data;
}

/*
 * A prefix that no name in the SELECT has: a relation of this name would hide
 * the keys, and a column that the node's table no longer has would be one of
 * theirs.
 */
static const char *
keys_alias(const char *sql)
{
	const char *alias = KEYS_ALIAS;

	for (int i = 1; strstr(sql, alias) != NULL; i++)
		alias = psprintf(KEYS_ALIAS "%d", i);
	return alias;
}

/*
 * The node's planner pulls the SELECT up into the join with the keys and may
 * check its conditions on rows that no key asks for. LIMIT or OFFSET prevents
 * this, so that conditions see only a key's rows, as if the SELECT ran alone.
 */
static const char *
fence(const ShuttleServedScan *scan, bool fenced)
{
	if (scan->most_rows > 0)
		return psprintf(" LIMIT %.0f", scan->most_rows);
	return fenced ? " OFFSET 0" : NULL;
}

/*
 * The array of a column's keys. A node with array_nulls off would read a NULL
 * in it, or in a key that is itself an array, as a word; our own connections
 * set it on.
 */
static void
append_array(StringInfo out, const ShuttleServedScan *scan, int i, bool few)
{
	const ShuttleKeyColumn *column = &scan->key.columns[i];
	const char *type = shuttle_key_column_type(column);

	if (scan->transport->is_engine && few)
		appendStringInfo(out, "pg_catalog.unnest($%d::%s)", i + 1, type);
	else if (scan->transport->is_engine || (column->null_is_empty && !column->as_text))
		appendStringInfo(out, "pg_catalog.unnest((SELECT $%d::%s))", i + 1, type);
	else
		appendStringInfo(out, "pg_catalog.unnest((SELECT $%d::pg_catalog.text::%s"
						 " FROM pg_catalog.set_config('array_nulls', 'on', true)))",
						 i + 1, type);
}

char *
shuttle_batch_sql(const ShuttleServedScan *scan, bool fenced, bool few)
{
	const char *behind = fence(scan, fenced);
	KeyNames	keys = {.scan = scan,.alias = keys_alias(scan->sql)};
	StringInfoData out;
	StringInfoData names;

	initStringInfo(&out);
	initStringInfo(&names);

	/*
	 * The node's planner must not see the number of many keys: for a thousand
	 * it would read a table of a hundred thousand rows as a whole, which
	 * takes eight times as long as looking them up, and it would plan each
	 * batch anew. It takes ten then; for three it may read a table as a whole
	 * for that reason.
	 *
	 * postgres_fdw writes SELECT NULL if it needs no column, and does not
	 * expect that column in the answer.
	 */
	appendStringInfo(&out, "SELECT %s.%s_ord%s FROM ROWS FROM (", keys.alias, keys.alias,
					 scan->attributes != NIL ? ", " ROWS_ALIAS ".*" : "");
	for (int i = 0; i < scan->key.ncolumns; i++)
	{
		if (scan->key.columns[i].scalar)
			continue;
		if (names.len > 0)
			appendStringInfoString(&out, ", ");
		append_array(&out, scan, i, few);
		appendStringInfo(&names, "%s_p%d, ", keys.alias, i + 1);
	}
	appendStringInfo(&out, ") WITH ORDINALITY AS %s(%s%s_ord) CROSS JOIN LATERAL (",
					 keys.alias, names.data, keys.alias);
	if (behind != NULL)
		appendStringInfoString(&out, "SELECT * FROM (");
	append_replaced(&out, scan->sql, put_key, &keys);
	if (behind != NULL)
		appendStringInfo(&out, ") AS shuttle_one%s", behind);
	appendStringInfoString(&out, ") AS " ROWS_ALIAS);
	pfree(names.data);
	return out.data;
}

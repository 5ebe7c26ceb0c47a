/*-------------------------------------------------------------------------
 * batch_sql.c
 *	  Wraps the SELECT of a parameterised scan for a batch of keys.
 *
 * The parameters become columns of an unnest, and the SELECT stands behind
 * it as a lateral subquery.  The text was made by postgres_fdw: parameters
 * are $n outside of quotes; they are found by a scanner that knows SQL's
 * quoting, never by plain search.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "executor/executor_types.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/shuttle_executor.h"

#define KEYS_ALIAS	"shuttle_keys"
#define ROWS_ALIAS	"shuttle_rows"


/* Writes what stands in the place of parameter n. */
typedef void (*PutParameter) (StringInfo out, int n, const void *arg);

/* What put_key() needs to know. */
typedef struct KeyNames
{
	const ShuttleServedScan *scan;
	const char *alias;			/* of the relation that holds the keys */
} KeyNames;

/* The parameter itself, or the column of the keys. */
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

/* A value that a planner knows nothing of; a cast follows. */
static void
put_unknown(StringInfo out, int n, const void *arg)
{
	appendStringInfoString(out, "(SELECT NULL)");
}

/* Copies sql with something else in the places of its parameters. */
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
shuttle_scan_sql_without_values(const ForeignScan *scan)
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
 * A name that nothing in the SELECT begins with: a relation would hide the keys,
 * and a column that the node's table has no longer would be one of theirs.
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
 * The node's planner pulls the SELECT up into the join with the keys, and may
 * check its conditions on rows that no key asks for.  A LIMIT keeps them
 * behind the key, as they are where the SELECT stands alone.
 */
static const char *
fence(const ShuttleServedScan *scan, bool fenced)
{
	if (scan->one_row)
		return " LIMIT 1";
	return fenced ? " OFFSET 0" : NULL;
}

/*
 * The array of a column's keys.  A node whose array_nulls is off would take a NULL
 * in it for a word, and one in a key that is an array itself; our own connections
 * have it on.
 */
static void
append_array(StringInfo out, const ShuttleServedScan *scan, int i)
{
	const ShuttleKeyColumn *column = &scan->key.columns[i];
	const char *type = shuttle_key_column_type(column);

	if (scan->transport->is_engine || (column->null_is_empty && !column->as_text))
		appendStringInfo(out, "pg_catalog.unnest((SELECT $%d::%s))", i + 1, type);
	else
		appendStringInfo(out, "pg_catalog.unnest((SELECT $%d::pg_catalog.text::%s"
						 " FROM pg_catalog.set_config('array_nulls', 'on', true)))",
						 i + 1, type);
}

char *
shuttle_batch_sql(const ShuttleServedScan *scan, bool fenced)
{
	const char *behind = fence(scan, fenced);
	KeyNames	keys = {.scan = scan,.alias = keys_alias(scan->sql)};
	StringInfoData out;
	StringInfoData names;

	initStringInfo(&out);
	initStringInfo(&names);

	/*
	 * The node's planner must not count the keys: for a thousand it would
	 * read a table of a hundred thousand rows as a whole, eight times as long
	 * as to look them up, and it would plan each batch anew.
	 *
	 * postgres_fdw writes SELECT NULL where it needs no column, and does not
	 * expect one in the answer.
	 */
	appendStringInfo(&out, "SELECT %s.%s_ord%s FROM ROWS FROM (", keys.alias, keys.alias,
					 scan->attributes != NIL ? ", " ROWS_ALIAS ".*" : "");
	for (int i = 0; i < scan->key.ncolumns; i++)
	{
		if (scan->key.columns[i].scalar)
			continue;
		if (names.len > 0)
			appendStringInfoString(&out, ", ");
		append_array(&out, scan, i);
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

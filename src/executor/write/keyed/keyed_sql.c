/*-------------------------------------------------------------------------
 * keyed_sql.c
 *	  Turns postgres_fdw's UPDATE or DELETE of one table, with parameters,
 *	  into one that is joined with arrays of them:
 *
 *	UPDATE t SET n = $2 WHERE (($1 = id)) RETURNING n
 *	UPDATE t SET n = k.p2 FROM ROWS FROM (unnest($1::int4[]), ...)
 *		WITH ORDINALITY AS k(p1, p2, ord)
 *		WHERE ((k.p1 = id)) RETURNING k.ord, n
 *
 * The table's columns are not qualified, so the arrays' columns need names
 * that no column of the table has.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "executor/join/key_set.h"
#include "executor/write/keyed/keyed_write.h"
#include "storage/shuttle_sql_tokens.h"

/* Alias of the arrays; with a number appended, of their columns. */
#define KEYS_NAME	"shuttle_key"

typedef struct KeyedText
{
	StringInfoData out;
	const char *name;
	ShuttleKeyedValue *const *values;
	int			nvalues;
	bool		guarded;
	bool		counted;
} KeyedText;

void
shuttle_keyed_value_describe(ShuttleKeyedValue *value, Expr *expr, PlanState *parent)
{
	Oid			function;
	bool		is_varlena;
	int16		length;
	bool		by_value;
	char		align;
	Oid			io_param;

	value->expr = ExecInitExpr(expr, parent);
	value->type = exprType((Node *) expr);
	value->varies = contain_var_clause((Node *) expr);

	/* unnest() would expand the elements of an array of rows */
	value->as_text = !OidIsValid(get_array_type(value->type)) ||
		type_is_rowtype(value->type);
	get_type_io_data(value->type, IOFunc_output, &length, &by_value, &align,
					 &value->delimiter, &io_param, &function);
	if (value->as_text)
		value->delimiter = ',';
	getTypeOutputInfo(value->type, &function, &is_varlena);
	fmgr_info(function, &value->output);
}

/* A prefix that no name in the statement has. */
static const char *
find_name(const char *sql)
{
	const char *name = KEYS_NAME;

	for (int i = 1; strstr(sql, name) != NULL; i++)
		name = psprintf(KEYS_NAME "_%d_", i);
	return name;
}

/*
 * ROWS FROM (...) WITH ORDINALITY: a column for each value that varies. If the
 * node's planner knew the number of keys, it would read a whole table for some
 * hundred keys, which find their rows faster by an index; a sub-SELECT hides
 * it.
 */
static void
append_keys(KeyedText *keyed)
{
	const char *separator = "";

	appendStringInfoString(&keyed->out, "ROWS FROM (");
	for (int i = 0; i < keyed->nvalues; i++)
	{
		ShuttleKeyColumn column = {
			.type = keyed->values[i]->type,
			.as_text = keyed->values[i]->as_text,
		};

		if (!keyed->values[i]->varies)
			continue;
		appendStringInfo(&keyed->out, keyed->counted ? "%spg_catalog.unnest($%d::%s)" :
						 "%spg_catalog.unnest((SELECT $%d::%s))", separator, i + 1,
						 shuttle_key_column_type(&column));
		separator = ", ";
	}
	appendStringInfo(&keyed->out, ") WITH ORDINALITY AS %s(", keyed->name);
	for (int i = 0; i < keyed->nvalues; i++)
	{
		if (keyed->values[i]->varies)
			appendStringInfo(&keyed->out, "%s%d, ", keyed->name, i + 1);
	}
	appendStringInfo(&keyed->out, "%s0)", keyed->name);
}

/* The first column of RETURNING. */
static void
append_ordinal(KeyedText *keyed)
{
	appendStringInfo(&keyed->out, "%s.%s0", keyed->name, keyed->name);
}

/*
 * Appends a condition that excludes rows changed by earlier pieces: the
 * transaction had written nothing before the statement, so these rows have its
 * ID, or a subtransaction's, as xmin. The IDs are found by the locks on them:
 * RETURNING could not give that of a row that moved to another partition of the
 * node's table, which has no system columns there.
 */
static void
append_guard(KeyedText *keyed)
{
	appendStringInfoString(&keyed->out, " NOT (xmin = ANY (ARRAY("
						   "SELECT l.transactionid FROM pg_catalog.pg_locks AS l"
						   " WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'"
						   " AND l.granted AND l.pid = pg_catalog.pg_backend_pid()))) AND");
}

static void
append_parameter(KeyedText *keyed, int n)
{
	if (n < 1 || n > keyed->nvalues)
		elog(ERROR, "parameter %d of a remote statement is not among its %d values",
			 n, keyed->nvalues);
	if (keyed->values[n - 1]->varies)
		appendStringInfo(&keyed->out, "%s.%s%d", keyed->name, keyed->name, n);
	else
		appendStringInfo(&keyed->out, "$%d", n);
}

static bool
token_is(const char *token, const char *end, const char *word)
{
	return end - token == strlen(word) && strncmp(token, word, end - token) == 0;
}

char *
shuttle_keyed_sql(const char *sql, ShuttleKeyedValue *const *values, int nvalues,
				  bool returns, bool guarded, bool counted)
{
	KeyedText	keyed = {
		.name = find_name(sql),
		.values = values,
		.nvalues = nvalues,
		.guarded = guarded,
		.counted = counted,
	};
	bool		joined = false;
	bool		returned = false;
	int			depth = 0;
	const char *end;

	initStringInfo(&keyed.out);
	for (const char *p = sql; *p != '\0'; p = end)
	{
		end = shuttle_sql_skip_token(p);
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (*p == '$' && isdigit((unsigned char) p[1]))
		{
			append_parameter(&keyed, atoi(p + 1));
			continue;
		}
		if (depth == 0 && !joined && token_is(p, end, "WHERE"))
		{
			joined = true;
			appendStringInfoString(&keyed.out,
								   strncmp(sql, "DELETE", strlen("DELETE")) == 0 ?
								   "USING " : "FROM ");
			append_keys(&keyed);
			appendStringInfoString(&keyed.out, " WHERE");
			if (guarded)
				append_guard(&keyed);
			continue;
		}
		appendBinaryStringInfo(&keyed.out, p, end - p);
		if (depth == 0 && joined && token_is(p, end, "RETURNING"))
		{
			returned = true;
			appendStringInfoChar(&keyed.out, ' ');
			append_ordinal(&keyed);
			appendStringInfoChar(&keyed.out, ',');
		}
	}
	if (!joined)
		elog(ERROR, "unexpected remote statement: %s", sql);
	if (returns && !returned)
	{
		appendStringInfoString(&keyed.out, " RETURNING ");
		append_ordinal(&keyed);
	}
	return keyed.out.data;
}

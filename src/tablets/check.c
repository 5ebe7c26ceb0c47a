/*-------------------------------------------------------------------------
 * check.c
 *	  shuttle.check(): compares what nodes have with what they should have.
 *
 * Of each table a node must have the same columns, and checks, keys and indexes of
 * the same names. Only names are compared: a node's text of a check can differ from
 * ours though both mean the same. Of a distributed table it must have its tablets, with rows that belong to
 * them; of a reference table the same rows: their number, and the sum of their
 * texts' hashes, do not depend on an order.
 *
 * A reference table is locked against writers, here and on the node: the lock
 * there waits until prepared transactions have ended.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_authid.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/copies.h"
#include "tablets/tablets_internal.h"

#define NCOLUMNS 4

/* One table on one node. */
typedef struct Check
{
	ReturnSetInfo *result;
	bool		repair;
	Oid			relid;
	Oid			serverid;
	ShuttleNode *node;
	List	   *foreign_keys;	/* names; what any of its nodes has */
} Check;

SHUTTLE_SQL_FUNCTION(shuttle_check);

static const char *const tables_query =
"SELECT relation::oid::text FROM shuttle.tables WHERE $1 IS NOT NULL ORDER BY relation::regclass::text";

/* Of a table given by its OID here, or by its name on a node. */
#define COLUMNS_QUERY(table) \
"SELECT pg_catalog.string_agg(pg_catalog.format('%%I %%s%%s', attname," \
" pg_catalog.format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN ' NOT NULL' END)," \
" ', ' ORDER BY attname) FROM pg_catalog.pg_attribute" \
" WHERE attrelid = " table " AND attnum > 0 AND NOT attisdropped"

#define CONSTRAINTS_QUERY(table) \
"SELECT pg_catalog.string_agg(pg_catalog.quote_ident(conname), ', ' ORDER BY conname)" \
" FROM pg_catalog.pg_constraint WHERE contype IN ('c', 'p', 'u') AND conrelid = " table

/* They exist on nodes only. */
static const char *const foreign_keys_query =
"SELECT pg_catalog.quote_ident(conname) FROM pg_catalog.pg_constraint"
" WHERE contype = 'f' AND conparentid = 0 AND conrelid = pg_catalog.to_regclass(%s) ORDER BY conname";

/* Those of constraints are compared as constraints. */
#define INDEXES_QUERY(table, condition) \
"SELECT pg_catalog.quote_ident(relname) FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = indexrelid" \
" WHERE indrelid = " table condition " AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint" \
" WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x')) ORDER BY relname"

/* The server's tablets, here, and those on the node. */
#define TABLETS_QUERY(table, condition) \
"SELECT pg_catalog.string_agg(pg_catalog.format('%%I %%s', c.relname, pg_catalog.pg_get_expr(c.relpartbound, c.oid))," \
" ', ' ORDER BY c.relname) FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid" \
" WHERE i.inhparent = " table condition

/* Not more than one row is needed to know. */
static const char *const strays_query =
"SELECT pg_catalog.format('SELECT %%L WHERE EXISTS (SELECT FROM ONLY %%s WHERE NOT (%%s))', c.relname, c.oid::pg_catalog.regclass,"
" pg_catalog.pg_get_partition_constraintdef(c.oid))"
" FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid"
" WHERE i.inhparent = pg_catalog.to_regclass(%s) ORDER BY c.relname";

static const char *const names_query =
"SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
" WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = ''";

/* The distribution column. */
static const char *const key_query =
"SELECT attname::text FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]"
" WHERE partrelid = $1";

static void
put_problem(const Check *check, const char *problem, bool repaired)
{
	NameData	node;
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};

	namestrcpy(&node, shuttle_node_name(check->node));
	values[0] = ObjectIdGetDatum(check->relid);
	values[1] = NameGetDatum(&node);
	values[2] = CStringGetTextDatum(problem);
	values[3] = BoolGetDatum(repaired);
	tuplestore_putvalues(check->result->setResult, check->result->setDesc, values, nulls);
}

static void
take_text(void *arg, const ShuttleRow *row)
{
	List	  **texts = arg;

	if (row->values[0] != NULL)
		*texts = lappend(*texts, pstrdup(row->values[0]));
}

/* The first column of a query's rows on the node, without NULLs. */
static List *
node_texts(const Check *check, const char *sql)
{
	List	   *texts = NIL;

	shuttle_query(check->node, sql, SHUTTLE_LOCKS, 1, take_text, &texts);
	return texts;
}

/* Waits for writers, also for prepared transactions. */
static void
lock_copy(const Check *check)
{
	ShuttleStatement statement = {
		.sql = psprintf("LOCK TABLE %s IN SHARE MODE", shuttle_local_name(check->relid)),
		.effect = SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.tag_only = true,
	};
	ShuttleRequest *request = shuttle_request_send(check->node, &statement, CurrentMemoryContext);

	(void) shuttle_request_finish(request);
	shuttle_request_close(request);
}

static const char *
node_text(const Check *check, const char *sql)
{
	List	   *texts = node_texts(check, sql);

	return texts == NIL ? "" : linitial(texts);
}

static const char *
local_text(const Check *check, const char *sql)
{
	char	   *text = shuttle_local_text(sql, check->relid);

	return text == NULL ? "" : text;
}

static char *
quoted_name(const Check *check)
{
	return quote_literal_cstr(shuttle_local_name(check->relid));
}

/* True if both queries have one answer; what: the noun for it. */
static bool
check_same(const Check *check, const char *what, const char *local_query, const char *node_query)
{
	const char *here = local_text(check, local_query);
	const char *there = node_text(check, node_query);

	if (strcmp(here, there) == 0)
		return true;
	put_problem(check, psprintf("has %s %s instead of %s", what, *there ? there : "none", here), false);
	return false;
}

static bool
has_text(const List *texts, const char *text)
{
	ListCell   *cell;

	foreach(cell, texts)
	{
		if (strcmp(lfirst(cell), text) == 0)
			return true;
	}
	return false;
}

/* Reports what is not among the names that the node's query returns. */
static void
check_lost(const Check *check, const char *what, const List *names, const char *node_query)
{
	List	   *there = node_texts(check, node_query);
	ListCell   *cell;

	foreach(cell, names)
	{
		if (!has_text(there, lfirst(cell)))
			put_problem(check, psprintf("has lost %s %s; make it again on the node",
										what, (char *) lfirst(cell)), false);
	}
}

/* True if the node's table has the columns of ours. */
static bool
check_definition(const Check *check)
{
	char	   *name = quoted_name(check);

	(void) check_same(check, "constraints", psprintf(CONSTRAINTS_QUERY("%s"), "$1"),
					  psprintf(CONSTRAINTS_QUERY("pg_catalog.to_regclass(%s)"), name));
	check_lost(check, "index", shuttle_local_texts(INDEXES_QUERY("$1", ""), check->relid),
			   psprintf(INDEXES_QUERY("pg_catalog.to_regclass(%s)", " AND indisvalid"), name));
	return check_same(check, "columns", psprintf(COLUMNS_QUERY("%s"), "$1"),
					  psprintf(COLUMNS_QUERY("pg_catalog.to_regclass(%s)"), name));
}

/* ---- reference tables */

static char *
rows_query(const Check *check)
{
	return psprintf("SELECT pg_catalog.format('%%s %%s', pg_catalog.count(*),"
					" pg_catalog.sum(pg_catalog.hashtextextended(ROW(%s)::text, 0)::numeric)) FROM ONLY %s",
					local_text(check, names_query), shuttle_local_name(check->relid));
}

/* Texts of values have to be those that the node makes. */
static const char *
local_rows(const Check *check)
{
	char	   *query = psprintf("%s WHERE $1 IS NOT NULL", rows_query(check));
	int			level = shuttle_transmission_begin(SHUTTLE_PRINT_ALL);
	const char *text;

	(void) set_config_option("TimeZone", "GMT", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	text = local_text(check, query);

	shuttle_transmission_end(level);
	return text;
}

static void
repair_rows(const Check *check, Relation rel)
{
	ShuttleCopies *copies = shuttle_copies_open(rel, list_make1_oid(check->serverid));

	shuttle_copies_delete_others(copies);
	(void) shuttle_copies_put_all(copies);
}

static bool
has_table(const Check *check)
{
	return node_texts(check, psprintf("SELECT 1 WHERE pg_catalog.to_regclass(%s) IS NOT NULL",
									  quoted_name(check))) != NIL;
}

static void
check_copy(const Check *check)
{
	Relation	rel = table_open(check->relid, ShareLock);

	if (!has_table(check))
	{
		if (check->repair)
			(void) shuttle_copies_make(rel, list_make1_oid(check->serverid));
		put_problem(check, "has no copy", check->repair);
	}
	else if (check_definition(check))
	{
		lock_copy(check);
		if (strcmp(local_rows(check), node_text(check, rows_query(check))) != 0)
		{
			if (check->repair)
				repair_rows(check, rel);
			put_problem(check, "has other rows", check->repair);
		}
	}
	table_close(rel, NoLock);
}

/* ---- distributed tables */

/* As after a dump was restored beside empty nodes. Foreign keys are in no dump. */
static void
make_tablets(const Check *check)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ShuttleLayout *layout = shuttle_layout_of(check->relid);
	List	   *texts = list_concat(shuttle_table_text_needed(check->relid),
									shuttle_table_text_parent(check->relid, local_text(check, key_query)));
	ListCell   *cell;

	for (int i = 0; i < layout->ntablets; i++)
	{
		if (layout->servers[i] == check->serverid)
			texts = lappend(texts, shuttle_table_text_tablet(check->relid, layout->ntablets, i));
	}
	foreach(cell, list_concat(texts, shuttle_table_text_indexes(check->relid)))
		shuttle_node_statements_add(statements, check->serverid, lfirst(cell));
	shuttle_node_statements_run(statements);
}

static void
check_tablets(const Check *check)
{
	Relation	rel = table_open(check->relid, AccessShareLock);
	char	   *here = psprintf(TABLETS_QUERY("%s", " AND EXISTS (SELECT FROM pg_foreign_table"
											  " WHERE ftrelid = c.oid AND ftserver = %u)"),
								"$1", check->serverid);
	char	   *there = psprintf(TABLETS_QUERY("pg_catalog.to_regclass(%s)", ""), quoted_name(check));
	ListCell   *cell;

	if (!has_table(check))
	{
		if (check->repair)
			make_tablets(check);
		put_problem(check, check->repair ? "has no table; an empty one was made" : "has no table",
					check->repair);
	}
	else
	{
		check_lost(check, "foreign key", check->foreign_keys,
				   psprintf(foreign_keys_query, quoted_name(check)));
		if (check_definition(check))
			(void) check_same(check, "tablets", here, there);
	}
	foreach(cell, node_texts(check, psprintf(strays_query, quoted_name(check))))
	{
		const char *tablet = node_text(check, lfirst(cell));

		if (*tablet != '\0')
			put_problem(check, psprintf("has rows in tablet \"%s\" that do not belong there", tablet), false);
	}
	table_close(rel, NoLock);
}

static void
find_foreign_keys(Check *check)
{
	ListCell   *cell;

	foreach(cell, shuttle_table_servers(check->relid))
	{
		ListCell   *inner;

		check->node = shuttle_node_get(lfirst_oid(cell), GetUserId());
		foreach(inner, node_texts(check, psprintf(foreign_keys_query, quoted_name(check))))
		{
			if (!has_text(check->foreign_keys, lfirst(inner)))
				check->foreign_keys = lappend(check->foreign_keys, lfirst(inner));
		}
	}
}

static void
check_all(ReturnSetInfo *result, bool repair)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(tables_query, InvalidOid))
	{
		Check		check = {.result = result,.repair = repair,.relid = atooid(lfirst(cell))};
		bool		is_copied = shuttle_table_kind(check.relid) == SHUTTLE_TABLE_REFERENCE;
		ListCell   *inner;

		if (is_copied && repair)
			shuttle_copy_table_make(check.relid, shuttle_nodes_all());
		if (!is_copied)
			find_foreign_keys(&check);

		foreach(inner, is_copied ? shuttle_nodes_all() : shuttle_table_servers(check.relid))
		{
			check.serverid = lfirst_oid(inner);
			check.node = shuttle_node_get(check.serverid, GetUserId());
			if (is_copied)
				check_copy(&check);
			else
				check_tablets(&check);
		}
	}
}

/* shuttle.check(repair): all rows count, also those that a policy hides */
Datum
shuttle_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			userid;
	int			flags;

	InitMaterializedSRF(fcinfo, 0);
	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE);
	check_all(result, PG_GETARG_BOOL(0));
	SetUserIdAndSecContext(userid, flags);
	return (Datum) 0;
}

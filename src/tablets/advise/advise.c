/*-------------------------------------------------------------------------
 * advise.c
 *	  shuttle.advise(): how each table could be spread over nodes.
 *
 * A link relates a column of one table to a column of another one: by a foreign
 * key, or by the names of both columns. A class is a column, the root, and the
 * tables that links lead to it, each with the column that would spread it. The
 * class with most of the rows, or with most tables, is advised first, then the
 * next one of the tables that are left.
 *
 * A table can be in a class (advise_classes.c) if distribute_table() refuses nothing
 * (distribute_checks.c) and its foreign keys relate it to tables of the class, or
 * lead to tables that can become reference tables. A small table that others have
 * links to becomes one, too. A large one is spread by its primary key. All else stays local.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "tablets/advise/advise.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"

#define NCOLUMNS 4

static const char *const kind_names[] = {
	[ADVISED_DISTRIBUTE] = "distribute",
	[ADVISED_REFERENCE] = "reference",
	[ADVISED_LOCAL] = "local",
};

SHUTTLE_SQL_FUNCTION(shuttle_advise);

#define CANDIDATES \
" candidate AS (SELECT c.oid, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace" \
" WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'" \
" AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND $1 IS NOT NULL" \
" AND NOT EXISTS (SELECT FROM shuttle.tables WHERE relation = c.oid)" \
" AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e'))"

static const char *const tables_query =
"WITH" CANDIDATES
" SELECT c.oid::text, COALESCE(pg_table_size(c.oid), 0)::text,"
" pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid) > pg_stat_get_tuples_inserted(c.oid) + 1000,"
" COALESCE(i.indkey[0], 0)::text"
" FROM candidate AS c LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary"
" ORDER BY c.oid::regclass::text COLLATE \"C\"";

static const char *const foreign_keys_query =
"WITH" CANDIDATES
" SELECT f.conrelid::text, f.confrelid::text, f.conkey[n]::text, f.confkey[n]::text,"
" a.atttypid = b.atttypid AND a.attcollation = b.attcollation, f.oid::text"
" FROM pg_constraint AS f JOIN candidate AS c ON c.oid = f.conrelid JOIN candidate AS p ON p.oid = f.confrelid,"
" generate_subscripts(f.conkey, 1) AS n, pg_attribute AS a, pg_attribute AS b"
" WHERE f.contype = 'f' AND a.attrelid = f.conrelid AND a.attnum = f.conkey[n]"
" AND b.attrelid = f.confrelid AND b.attnum = f.confkey[n]"
" ORDER BY f.conrelid::regclass::text COLLATE \"C\", f.conname, n";

/*
 * A column is linked to a primary key's column of the same name (tenant_id), and
 * to the only column of a primary key by the names customer_id and customer.id,
 * d_w_id and w_id, or l_orderkey and o_orderkey, unless other primary keys have
 * that name. Of many tables with tenant_id three stand for all. The shortest name
 * comes first.
 */
static const char *const names_query =
"WITH" CANDIDATES ","
" columns AS (SELECT c.oid, c.relname::text, a.attnum, a.attname::text AS name, a.atttypid, a.attcollation,"
" i.indnkeyatts AS nkeys, regexp_replace(a.attname, '^[a-z]{1,2}_', '') AS word"
" FROM candidate AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
" LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary"
" AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])),"
" keys AS (SELECT *, row_number() OVER (PARTITION BY name, atttypid ORDER BY relname, oid) AS number,"
" count(*) FILTER (WHERE nkeys = 1) OVER (PARTITION BY name, atttypid) AS nnames,"
" count(*) FILTER (WHERE nkeys = 1) OVER (PARTITION BY word, atttypid) AS nwords FROM columns WHERE nkeys IS NOT NULL),"
" forms AS (SELECT *, name AS form FROM columns"
" UNION ALL SELECT c.*, array_to_string(w[n:], '_') FROM columns AS c, string_to_array(name, '_') AS w,"
" generate_series(2, cardinality(w)) AS n),"
" found AS (SELECT c.*, p.oid AS parent, p.attnum AS parent_column FROM forms AS c JOIN keys AS p ON c.form = p.name"
" AND c.atttypid = p.atttypid AND c.attcollation = p.attcollation"
" WHERE p.name <> 'id' AND CASE WHEN p.nkeys = 1 THEN p.nnames = 1 AND (c.form <> c.name OR c.nkeys IS DISTINCT FROM 1)"
" ELSE c.form = c.name AND p.number <= 3 END"
" UNION SELECT c.*, p.oid, p.attnum FROM keys AS p CROSS JOIN LATERAL (VALUES (p.relname), (regexp_replace(p.relname, 's$', '')),"
" (regexp_replace(p.relname, 'es$', ''))) AS singular (table_name) JOIN forms AS c ON c.name = table_name || '_' || p.name"
" WHERE c.form = c.name AND c.atttypid = p.atttypid AND c.attcollation = p.attcollation AND p.nkeys = 1"
" UNION SELECT c.*, p.oid, p.attnum FROM forms AS c JOIN keys AS p ON c.word = p.word"
" AND c.atttypid = p.atttypid AND c.attcollation = p.attcollation"
" WHERE c.form = c.name AND p.nkeys = 1 AND p.nwords = 1 AND p.word NOT IN ('id', p.name) AND c.word <> c.name)"
" SELECT oid::text, parent::text, attnum::text, parent_column::text, 't', '0' FROM found"
" WHERE oid <> parent AND NOT EXISTS (SELECT FROM pg_constraint"
" WHERE contype = 'f' AND conrelid = found.oid AND found.attnum = ANY (conkey))"
" GROUP BY oid, relname, name, attnum, parent, parent_column"
" ORDER BY relname COLLATE \"C\", oid, length(name), name COLLATE \"C\", parent::regclass::text COLLATE \"C\", parent_column";

static int
find_table(const ShuttleAdvice *advice, Oid relid)
{
	for (int i = 0; i < advice->ntables; i++)
	{
		if (advice->tables[i].relid == relid)
			return i;
	}
	return -1;
}

static void
read_tables(ShuttleAdvice *advice)
{
	List	   *rows = shuttle_local_rows(tables_query, InvalidOid);
	ListCell   *cell;

	advice->tables = palloc0_array(ShuttleCandidate, list_length(rows));
	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		ShuttleCandidate *table = &advice->tables[advice->ntables++];

		table->relid = atooid(row[0]);
		table->bytes = pg_strtoint64(row[1]);
		table->changes_often = *row[2] == 't';
		table->first_key = pg_strtoint16(row[3]);
		advice->relids = lappend_oid(advice->relids, table->relid);
		advice->bytes += table->bytes;
	}
}

/* Foreign keys come first: they count more than names. */
static void
read_links(ShuttleAdvice *advice)
{
	List	   *rows = list_concat(shuttle_local_rows(foreign_keys_query, InvalidOid),
								   shuttle_local_rows(names_query, InvalidOid));
	ListCell   *cell;

	advice->links = palloc0_array(ShuttleLink, list_length(rows));
	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		ShuttleLink link = {
			.child = find_table(advice, atooid(row[0])),
			.parent = find_table(advice, atooid(row[1])),
			.child_column = pg_strtoint16(row[2]),
			.parent_column = pg_strtoint16(row[3]),
			.same_type = *row[4] == 't',
			.constraint = atooid(row[5]),
		};

		if (link.child < 0 || link.parent < 0)
			continue;
		advice->links[advice->nlinks++] = link;
		if (OidIsValid(link.constraint))
			advice->nforeign = advice->nlinks;
		advice->tables[link.parent].is_parent = true;
	}
}

static const char *
explain_member(const ShuttleAdvice *advice, const ShuttleKeyClass *class, int number)
{
	const ShuttleCandidate *table = &advice->tables[number];
	const ShuttleLink *link = class->links[number];
	const char *leads = table->first_key == class->keys[number] ? "leads its primary key, " : "";
	const char *parent;

	if (link == NULL)
		return class->ntables == 1 ? "leads its primary key" :
			psprintf("%skey of %d tables", leads, class->ntables);
	parent = get_rel_name(advice->tables[link->parent].relid);
	if (OidIsValid(link->constraint))
		return psprintf("%srefers to %s", leads, parent);
	return psprintf("%snamed like %s.%s", leads, parent,
					get_attname(advice->tables[link->parent].relid, link->parent_column, false));
}

/* Tables that foreign keys of the class lead to have to be reference tables. */
static void
advise_class(ShuttleAdvice *advice, const ShuttleKeyClass *class)
{
	for (int i = 0; i < advice->ntables; i++)
	{
		if (class->keys[i] == 0)
			continue;
		advice->tables[i].kind = ADVISED_DISTRIBUTE;
		advice->tables[i].key = class->keys[i];
		advice->tables[i].because = explain_member(advice, class, i);
	}
	for (int i = 0; i < advice->nlinks; i++)
	{
		const ShuttleLink *link = &advice->links[i];
		ShuttleCandidate *parent = &advice->tables[link->parent];

		if (!OidIsValid(link->constraint) || class->keys[link->child] == 0 ||
			parent->kind != ADVISED_NOTHING)
			continue;
		parent->kind = ADVISED_REFERENCE;
		parent->because = psprintf("%s refers to it, by another key",
								   get_rel_name(advice->tables[link->child].relid));
	}
}

/* ---- tables that are in no class */

/* A link of a table that nodes could have to this one. */
static const ShuttleLink *
find_link_from(const ShuttleAdvice *advice, int table)
{
	for (int i = 0; i < advice->nlinks; i++)
	{
		const ShuttleLink *link = &advice->links[i];

		if (link->parent == table && link->child != table &&
			(advice->tables[link->child].kind == ADVISED_DISTRIBUTE ||
			 shuttle_advise_can_copy(advice, link->child)))
			return link;
	}
	return NULL;
}

static const ShuttleLink *
find_link_to(const ShuttleAdvice *advice, int table)
{
	for (int i = 0; i < advice->nlinks; i++)
	{
		if (advice->links[i].child == table && advice->links[i].parent != table)
			return &advice->links[i];
	}
	return NULL;
}

/* What distribute_table() would say. */
static const char *
explain_refusal(ShuttleAdvice *advice, int number)
{
	const ShuttleLink *link = find_link_to(advice, number);
	List	   *group = NIL;
	AttrNumber	key = link != NULL ? link->child_column : advice->tables[number].first_key;
	ShuttleRefusal *refusal;
	const char *more;

	for (int i = 0; i < advice->ntables; i++)
	{
		if (advice->tables[i].kind == ADVISED_DISTRIBUTE)
			group = lappend_oid(group, advice->tables[i].relid);
	}
	refusal = shuttle_advise_refusal(advice, number, key, group);
	if (refusal == NULL)
		return NULL;
	more = refusal->hint != NULL ? refusal->hint : refusal->detail;
	return more == NULL ? refusal->message : psprintf("%s. %s", refusal->message, more);
}

/* Keys of the table, and to it, that nodes cannot check alone if its primary key spreads it. */
static const char *
count_global_keys(const ShuttleCandidate *table)
{
	return shuttle_local_text(psprintf("SELECT ((SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND $1 IN (conrelid, confrelid))"
									   " + (SELECT count(*) FROM pg_index WHERE indrelid = $1 AND indisunique"
									   " AND NOT %d = ANY ((indkey::int2[])[0:indnkeyatts - 1])))::text", table->first_key),
							  table->relid);
}

/* Any table can be spread so, but each write of its other keys costs a round trip. */
static bool
advise_primary_key(ShuttleAdvice *advice, int number)
{
	ShuttleCandidate *table = &advice->tables[number];

	if (shuttle_advise_is_small(table) || table->first_key == 0 ||
		shuttle_advise_refusal_of_column(table->relid, table->first_key) != NULL)
		return false;
	table->kind = ADVISED_DISTRIBUTE;
	table->key = table->first_key;
	table->because = psprintf("leads its primary key; %s other keys, of it or to it, are then checked over several nodes",
							  count_global_keys(table));
	return true;
}

static void
advise_rest(ShuttleAdvice *advice, int number, bool has_classes)
{
	ShuttleCandidate *table = &advice->tables[number];
	const ShuttleLink *link = find_link_from(advice, number);

	if (advise_primary_key(advice, number))
		return;
	table->kind = ADVISED_LOCAL;
	if (has_classes && link != NULL && shuttle_advise_is_small(table) && !table->changes_often &&
		shuttle_advise_can_copy(advice, number))
	{
		table->kind = ADVISED_REFERENCE;
		table->because = psprintf("small, and %s refers to it",
								  get_rel_name(advice->tables[link->child].relid));
	}
	else if (has_classes && link != NULL && shuttle_advise_is_small(table) && table->changes_often)
		table->because = "small, and changed often: each change of a reference table goes to all nodes";
	else
		table->because = explain_refusal(advice, number);
	if (table->because == NULL)
		table->because = shuttle_advise_is_small(table) ? "small, and no other table needs it on a node" :
			"no column relates it to other tables";
}

static void
advise_all(ShuttleAdvice *advice)
{
	ShuttleKeyClass *class;
	bool		has_classes = false;

	while ((class = shuttle_advise_best_class(advice)) != NULL)
	{
		advise_class(advice, class);
		has_classes = true;
	}
	for (int i = 0; i < advice->ntables; i++)
	{
		if (advice->tables[i].kind == ADVISED_NOTHING)
			advise_rest(advice, i, has_classes);
	}
}

/* shuttle.advise() */
Datum
shuttle_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ShuttleAdvice advice = {0};

	InitMaterializedSRF(fcinfo, 0);
	read_tables(&advice);
	read_links(&advice);
	advise_all(&advice);
	for (int i = 0; i < advice.ntables; i++)
	{
		const ShuttleCandidate *table = &advice.tables[i];
		bool		nulls[NCOLUMNS] = {false, false, table->key == 0, false};
		NameData	key = {{0}};
		Datum		values[NCOLUMNS] = {
			ObjectIdGetDatum(table->relid), CStringGetTextDatum(kind_names[table->kind]),
			NameGetDatum(&key), CStringGetTextDatum(table->because),
		};

		if (table->key != 0)
			namestrcpy(&key, get_attname(table->relid, table->key, false));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

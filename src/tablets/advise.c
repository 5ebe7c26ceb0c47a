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
 * A table can be in a class if distribute_table() refuses nothing
 * (distribute_checks.c) and its foreign keys relate it to tables of the class, or
 * lead to tables that can become reference tables. A small table that others have
 * links to becomes one, too. All else stays local.
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
#include "tablets/distribute.h"
#include "tablets/tablets_internal.h"

#define NCOLUMNS 4

/* A copy on each node costs little up to this size, in bytes; */
#define SMALL_BYTES (64 * 1024 * 1024)

/* and up to this part of the class that needs it. */
#define REFERENCE_PART 4

typedef enum AdvisedKind
{
	ADVISED_NOTHING,
	ADVISED_DISTRIBUTE,
	ADVISED_REFERENCE,
	ADVISED_LOCAL
} AdvisedKind;

static const char *const kind_names[] = {
	[ADVISED_DISTRIBUTE] = "distribute",
	[ADVISED_REFERENCE] = "reference",
	[ADVISED_LOCAL] = "local",
};

/* A table that advice is given for. */
typedef struct Candidate
{
	Oid			relid;
	int64		bytes;
	bool		is_parent;		/* of a link */
	bool		changes_often;	/* more rows were changed than inserted */
	AttrNumber	first_key;		/* first column of the primary key, or 0 */
	AdvisedKind kind;
	AttrNumber	key;
	const char *because;
	Bitmapset  *fits;			/* columns that could spread it, alone */
	Bitmapset  *unfit;
	Bitmapset  *tried;			/* as roots, since a class was found */
	bool		copies_known;
	bool		can_be_copied;	/* be a reference table */
} Candidate;

/* Tables are numbers in Advice.tables. */
typedef struct Link
{
	int			child;
	int			parent;
	AttrNumber	child_column;
	AttrNumber	parent_column;
	bool		same_type;
	Oid			constraint;		/* or InvalidOid: by names */
} Link;

/* A class that is tried: the key of each table, 0 if it does not belong to it. */
typedef struct KeyClass
{
	int			root;
	AttrNumber *keys;
	const Link **links;			/* by which a table came in */
	int			ntables;
	int64		bytes;
} KeyClass;

typedef struct Advice
{
	Candidate  *tables;
	int			ntables;
	Link	   *links;			/* foreign keys, then names */
	int			nlinks;
	int			nforeign;
	List	   *relids;
	int64		bytes;			/* of all tables */
} Advice;

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
find_table(const Advice *advice, Oid relid)
{
	for (int i = 0; i < advice->ntables; i++)
	{
		if (advice->tables[i].relid == relid)
			return i;
	}
	return -1;
}

static void
read_tables(Advice *advice)
{
	List	   *rows = shuttle_local_rows(tables_query, InvalidOid);
	ListCell   *cell;

	advice->tables = palloc0_array(Candidate, list_length(rows));
	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		Candidate  *table = &advice->tables[advice->ntables++];

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
read_links(Advice *advice)
{
	List	   *rows = list_concat(shuttle_local_rows(foreign_keys_query, InvalidOid),
								   shuttle_local_rows(names_query, InvalidOid));
	ListCell   *cell;

	advice->links = palloc0_array(Link, list_length(rows));
	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		Link		link = {
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

static ShuttleRefusal *
refuse_table(const Advice *advice, int table, AttrNumber key, const List *group)
{
	Oid			relid = advice->tables[table].relid;
	Relation	rel = try_table_open(relid, AccessShareLock);
	ShuttleRefusal *refusal;

	if (rel == NULL)
		return shuttle_refusal(ERRCODE_UNDEFINED_TABLE, "the table was dropped", NULL, NULL);
	refusal = shuttle_refuse_distribution(rel, key == 0 ? NULL : get_attname(relid, key, false),
										  group);
	table_close(rel, AccessShareLock);
	return refusal;
}

static bool
can_be_reference(const Advice *advice, int table)
{
	Candidate  *known = &advice->tables[table];
	Relation	rel;

	if (known->copies_known)
		return known->can_be_copied;
	known->copies_known = true;
	rel = try_table_open(known->relid, AccessShareLock);
	if (rel == NULL)
		return false;
	known->can_be_copied = shuttle_refuse_reference(rel) == NULL;
	table_close(rel, AccessShareLock);
	return known->can_be_copied;
}

/* True if the column could spread the table, if its foreign keys allow. */
static bool
fits(Advice *advice, int number, AttrNumber column)
{
	Candidate  *table = &advice->tables[number];

	if (table->kind != ADVISED_NOTHING || bms_is_member(column, table->unfit))
		return false;
	if (bms_is_member(column, table->fits))
		return true;
	if (refuse_table(advice, number, column, advice->relids) != NULL)
	{
		table->unfit = bms_add_member(table->unfit, column);
		return false;
	}
	table->fits = bms_add_member(table->fits, column);
	return true;
}

static bool
is_small(const Candidate *table)
{
	return table->bytes <= SMALL_BYTES;
}

/* True if a foreign key relates the keys of its tables. Its links are neighbours. */
static bool
relates_keys(const Advice *advice, const KeyClass *class, const Link *link)
{
	const Link *end = advice->links + advice->nlinks;
	const Link *first = link;

	while (first > advice->links && (first - 1)->constraint == link->constraint)
		first--;
	for (const Link *other = first; other < end && other->constraint == link->constraint; other++)
	{
		if (class->keys[other->child] == other->child_column &&
			class->keys[other->parent] == other->parent_column)
			return true;
	}
	return false;
}

/* The table that cannot be in the class because of a foreign key, or -1. */
static int
find_misfit(const Advice *advice, const KeyClass *class, const Link *link)
{
	const Candidate *parent = &advice->tables[link->parent];
	bool		has_child = class->keys[link->child] != 0;
	bool		has_parent = class->keys[link->parent] != 0;

	if (!has_child && !has_parent)
		return -1;
	if (!has_child)
		return link->parent;
	if (has_parent)
	{
		if (relates_keys(advice, class, link))
			return -1;
		return link->parent == class->root ? link->child : link->parent;
	}
	if (parent->kind == ADVISED_DISTRIBUTE || parent->kind == ADVISED_LOCAL ||
		!can_be_reference(advice, link->parent) ||
		(!is_small(parent) && parent->bytes > class->bytes / REFERENCE_PART))
		return link->child;
	return -1;
}

static void
take_out(const Advice *advice, KeyClass *class, int table)
{
	class->keys[table] = 0;
	class->ntables--;
	class->bytes -= advice->tables[table].bytes;
}

static void
take_in(const Advice *advice, KeyClass *class, int table, AttrNumber key, const Link *link)
{
	class->keys[table] = key;
	class->links[table] = link;
	class->ntables++;
	class->bytes += advice->tables[table].bytes;
}

/* Takes in the tables that links lead to. Returns false if there were none. */
static bool
follow_links(Advice *advice, KeyClass *class, int first, int end)
{
	bool		changed = false;

	for (int i = first; i < end; i++)
	{
		const Link *link = &advice->links[i];

		if (class->keys[link->parent] != link->parent_column || class->keys[link->child] != 0 ||
			!link->same_type || !fits(advice, link->child, link->child_column))
			continue;
		take_in(advice, class, link->child, link->child_column, link);
		changed = true;
	}
	return changed;
}

/* Takes out a table whose foreign keys do not allow it; others may depend on it.
 * Returns false if there was none. */
static bool
take_out_misfits(const Advice *advice, KeyClass *class)
{
	bool		changed = false;

	for (int i = 0; i < advice->nforeign; i++)
	{
		int			misfit = find_misfit(advice, class, &advice->links[i]);

		if (misfit < 0)
			continue;
		take_out(advice, class, misfit);
		changed = true;
	}
	return changed;
}

static KeyClass *
make_class(Advice *advice, int root, AttrNumber key)
{
	KeyClass   *class = palloc0_object(KeyClass);

	class->root = root;
	class->keys = palloc0_array(AttrNumber, advice->ntables);
	class->links = palloc0_array(const Link *, advice->ntables);
	take_in(advice, class, root, key, NULL);
	while (follow_links(advice, class, 0, advice->nforeign) ||
		   follow_links(advice, class, advice->nforeign, advice->nlinks))
		;
	while (take_out_misfits(advice, class))
		;
	return class;
}

/* A class of one small table gains nothing. */
static bool
is_worth_it(const Advice *advice, const KeyClass *class)
{
	return class->keys[class->root] != 0 &&
		(class->ntables > 1 || !is_small(&advice->tables[class->root]));
}

static bool
is_better(const Advice *advice, const KeyClass *class, const KeyClass *best)
{
	bool		has_most = class->bytes > advice->bytes / 2;
	bool		best_has_most = best != NULL && best->bytes > advice->bytes / 2;

	if (best == NULL)
		return true;
	if (has_most != best_has_most)
		return has_most;
	if (class->ntables != best->ntables)
		return class->ntables > best->ntables;
	return class->bytes > best->bytes;
}

static KeyClass *
try_root(Advice *advice, int root, AttrNumber key, KeyClass *best)
{
	Candidate  *table = &advice->tables[root];
	KeyClass   *class;

	CHECK_FOR_INTERRUPTS();
	if (key == 0 || (!table->is_parent && is_small(table)) ||
		bms_is_member(key, table->tried) || !fits(advice, root, key))
		return best;
	table->tried = bms_add_member(table->tried, key);
	class = make_class(advice, root, key);
	if (is_worth_it(advice, class) && is_better(advice, class, best))
		return class;
	pfree(class->keys);
	pfree(class->links);
	pfree(class);
	return best;
}

static KeyClass *
find_best_class(Advice *advice)
{
	KeyClass   *best = NULL;

	for (int i = 0; i < advice->ntables; i++)
		advice->tables[i].tried = NULL;
	for (int i = 0; i < advice->ntables; i++)
		best = try_root(advice, i, advice->tables[i].first_key, best);
	for (int i = 0; i < advice->nlinks; i++)
	{
		const Link *link = &advice->links[i];

		if (advice->tables[link->parent].first_key != link->parent_column)
			best = try_root(advice, link->parent, link->parent_column, best);
	}
	return best;
}

static const char *
explain_member(const Advice *advice, const KeyClass *class, int number)
{
	const Candidate *table = &advice->tables[number];
	const Link *link = class->links[number];
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
advise_class(Advice *advice, const KeyClass *class)
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
		const Link *link = &advice->links[i];
		Candidate  *parent = &advice->tables[link->parent];

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
static const Link *
find_link_from(const Advice *advice, int table)
{
	for (int i = 0; i < advice->nlinks; i++)
	{
		const Link *link = &advice->links[i];

		if (link->parent == table && link->child != table &&
			(advice->tables[link->child].kind == ADVISED_DISTRIBUTE ||
			 can_be_reference(advice, link->child)))
			return link;
	}
	return NULL;
}

static const Link *
find_link_to(const Advice *advice, int table)
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
explain_refusal(Advice *advice, int number)
{
	const Link *link = find_link_to(advice, number);
	List	   *group = NIL;
	AttrNumber	key = link != NULL ? link->child_column : advice->tables[number].first_key;
	ShuttleRefusal *refusal;
	const char *more;

	for (int i = 0; i < advice->ntables; i++)
	{
		if (advice->tables[i].kind == ADVISED_DISTRIBUTE)
			group = lappend_oid(group, advice->tables[i].relid);
	}
	refusal = refuse_table(advice, number, key, group);
	if (refusal == NULL)
		return NULL;
	more = refusal->hint != NULL ? refusal->hint : refusal->detail;
	return more == NULL ? refusal->message : psprintf("%s. %s", refusal->message, more);
}

static void
advise_rest(Advice *advice, int number, bool has_classes)
{
	Candidate  *table = &advice->tables[number];
	const Link *link = find_link_from(advice, number);

	table->kind = ADVISED_LOCAL;
	if (has_classes && link != NULL && is_small(table) && !table->changes_often &&
		can_be_reference(advice, number))
	{
		table->kind = ADVISED_REFERENCE;
		table->because = psprintf("small, and %s refers to it",
								  get_rel_name(advice->tables[link->child].relid));
	}
	else if (has_classes && link != NULL && is_small(table) && table->changes_often)
		table->because = "small, and changed often: each change of a reference table goes to all nodes";
	else
		table->because = explain_refusal(advice, number);
	if (table->because == NULL)
		table->because = is_small(table) ? "small, and no other table needs it on a node" :
			"no column relates it to other tables";
}

static void
advise_all(Advice *advice)
{
	KeyClass   *class;
	bool		has_classes = false;

	while ((class = find_best_class(advice)) != NULL)
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
	Advice		advice = {0};

	InitMaterializedSRF(fcinfo, 0);
	read_tables(&advice);
	read_links(&advice);
	advise_all(&advice);
	for (int i = 0; i < advice.ntables; i++)
	{
		const Candidate *table = &advice.tables[i];
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

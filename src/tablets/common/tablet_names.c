/*-------------------------------------------------------------------------
 * tablet_names.c
 *	  Names of tablets and of their indexes, and errors without them.
 *
 * A tablet is named after its table, and its unique indexes on the node after
 * the table's: t<n> is added. So a node's error, which names the tablet and its
 * index, can be raised with the names that the user gave, and programs find the
 * constraint that they look for.
 *
 * A name never comes back on a node with other contents: whoever reads by catalogs that
 * are old, as a standby of the query node, a restored dump or a plan, would miss rows
 * without an error. So shuttle.tablet_names counts, for each name of a table, how often
 * tablets were named after it: of a table that was made or distributed anew, renamed,
 * rewritten, or split. From the second time on the count is in the name: t<n>_<count>.
 * Names of tables in several schemas count together, as schemas can be renamed.
 *
 * On its node a tablet is in the schema of its table. Here it is in a schema of its own,
 * so that it does not look like a table of the application; options of the foreign table
 * say what the node calls it. Its name is the same, unless it is taken by the tablet of a
 * table in another schema. Older dumps have tablets in the schemas of their tables, without
 * options. Which tablets a table has is in core's catalogs, not in their names.
 *
 * Memory: that of the caller.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "port/pg_crc32c.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/tablet_names.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* Names that are too long are shortened as core does it for indexes, and get a
 * checksum, since tables may share their first bytes. */
static char *
labelled_name(const char *name, const char *label)
{
	pg_crc32c	crc;

	if (strlen(name) + 1 + strlen(label) < NAMEDATALEN)
		return makeObjectName(name, NULL, label);
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, name, strlen(name));
	FIN_CRC32C(crc);
	return makeObjectName(name, psprintf("%08x", crc), label);
}

static char *
numbered_name(const char *name, int number)
{
	return labelled_name(name, psprintf("t%d", number));
}

/* A name in the table's schema, qualified and quoted: so nodes call it. */
static char *
in_schema_of(Oid relid, const char *name)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name);
}

Oid
shuttle_tablet_find(Oid relid, int number)
{
	Relation	rel = table_open(relid, AccessShareLock);
	PartitionDesc parts = NULL;
	PartitionBoundInfo bounds = NULL;
	Oid			tablet = InvalidOid;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		parts = RelationGetPartitionDesc(rel, true);
	if (parts != NULL && parts->nparts > 0)
		bounds = parts->boundinfo;

	/* what a larger modulus leaves of that remainder is in the same tablet */
	if (bounds != NULL && number < bounds->nindexes && bounds->indexes[number] >= 0 &&
		shuttle_tablet_number(parts, bounds->indexes[number]) == number)
		tablet = parts->oids[bounds->indexes[number]];
	table_close(rel, NoLock);
	return tablet;
}

/* NULL if there is no such option. */
static char *
copy_option(const char *value)
{
	return value == NULL ? NULL : pstrdup(value);
}

char *
shuttle_tablet_remote_name(Oid tablet)
{
	char	   *name = copy_option(shuttle_option_cache_parsed(GetForeignServerIdByRelId(tablet), tablet)->table_name);

	return name != NULL ? name : get_rel_name(tablet);
}

char *
shuttle_tablet_text(Oid tablet)
{
	const ShuttleTableOptions *options = shuttle_option_cache_parsed(GetForeignServerIdByRelId(tablet), tablet);
	char	   *schema;
	char	   *name;

	if (options->qualified_name != NULL && !quote_all_identifiers)
		return pstrdup(options->qualified_name);

	/* the look-ups may reset the option cache */
	schema = copy_option(options->schema_name);
	name = copy_option(options->table_name);
	return quote_qualified_identifier(schema != NULL ? schema : get_namespace_name(get_rel_namespace(tablet)),
									  name != NULL ? name : get_rel_name(tablet));
}

/* Locks the count of a table's name until the transaction ends. The transaction finds the tablets that it
 * makes by names with this count, so no other one may raise it meanwhile. */
static void
lock_names(const char *name)
{
	uint32		hash = DatumGetUInt32(hash_any((const unsigned char *) name, strlen(name)));

	LockDatabaseObject(shuttle_extension_table(SHUTTLE_TABLE_TABLES), hash, 0, ExclusiveLock);
}

char *
shuttle_tablet_next_name(Oid relid, int number)
{
	const char *name = get_rel_name(relid);
	char	   *count;

	lock_names(name);
	count = shuttle_local_text(psprintf("SELECT count::text FROM shuttle.tablet_names WHERE name = %s AND $1 IS NOT NULL",
										quote_literal_cstr(name)), relid);
	return count == NULL ? numbered_name(name, number) :
		labelled_name(name, psprintf("t%d_%s", number, count));
}

void
shuttle_tablet_names_used(Oid relid)
{
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.tablet_names AS n VALUES (%s, 1)"
												   " ON CONFLICT (name) DO UPDATE SET count = n.count + 1",
												   quote_literal_cstr(get_rel_name(relid))));
}

char *
shuttle_tablet_name(Oid relid, int number)
{
	Oid			tablet = shuttle_tablet_find(relid, number);

	return OidIsValid(tablet) ? shuttle_tablet_remote_name(tablet) : shuttle_tablet_next_name(relid, number);
}

/* A name that is free in a schema. */
static const char *
free_name(Oid relid, const char *name, Oid schema)
{
	return !OidIsValid(get_relname_relid(name, schema)) ? name :
		ChooseRelationName(name, NULL, get_namespace_name(get_rel_namespace(relid)), schema, false);
}

const char *
shuttle_tablet_local_name(Oid relid, const char *name)
{
	return free_name(relid, name, get_namespace_oid(SHUTTLE_TABLETS_SCHEMA, false));
}

void
shuttle_tablet_rename(Oid relid, Oid tablet, const char *name)
{
	char	   *old = shuttle_local_name(tablet);
	const char *new = name;

	if (shuttle_option_cache_parsed(GetForeignServerIdByRelId(tablet), tablet)->table_name != NULL)
	{
		(void) shuttle_local_run_as_superuser(psprintf("ALTER FOREIGN TABLE %s OPTIONS (SET table_name %s)", old,
													   quote_literal_cstr(name)));
		new = free_name(relid, name, get_rel_namespace(tablet));
	}
	(void) shuttle_local_run_as_superuser(psprintf("ALTER FOREIGN TABLE %s RENAME TO %s", old, quote_identifier(new)));
}

void
shuttle_tablet_names_give(Oid relid, ShuttleNodeStatements *statements)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	const ShuttleLayout *layout = shuttle_layout_of(relid);

	for (int i = 0; i < partitions->nparts; i++)
	{
		const ShuttleTablet *tablet = &layout->tablets[i];
		const char *name = shuttle_tablet_next_name(relid, tablet->number);

		shuttle_node_statements_add(statements, tablet->serverid,
									psprintf("ALTER TABLE %s RENAME TO %s", shuttle_tablet_text(partitions->oids[i]),
											 quote_identifier(name)));
		shuttle_tablet_rename(relid, partitions->oids[i], name);
	}
	table_close(rel, NoLock);
	shuttle_tablet_names_used(relid);
	if (layout->traps)
		shuttle_node_statements_add_all(statements, shuttle_table_servers(relid),
										shuttle_tablet_trap_text_names(relid, layout));
}

void
shuttle_tablet_follow_schema(const char *schema)
{
	static const char *const query =
		"SELECT format('ALTER FOREIGN TABLE %s OPTIONS (%s schema_name %L)', ftrelid::regclass, CASE WHEN o.value IS NULL THEN 'ADD' ELSE 'SET' END, n.nspname)"
		" FROM shuttle.tables AS t"
		" JOIN pg_class AS c ON c.oid = t.relation JOIN pg_namespace AS n ON n.oid = c.relnamespace"
		" JOIN pg_inherits ON inhparent = c.oid JOIN pg_foreign_table ON ftrelid = inhrelid"
		" JOIN pg_class AS f ON f.oid = ftrelid JOIN pg_namespace AS s ON s.oid = f.relnamespace LEFT JOIN LATERAL"
		" (SELECT option_value AS value FROM pg_options_to_table(ftoptions) WHERE option_name = 'schema_name') AS o ON true"
		" WHERE n.oid = $1 AND kind = 'distributed' AND coalesce(o.value, s.nspname) <> n.nspname";
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(query, get_namespace_oid(schema, false)))
		(void) shuttle_local_run_as_superuser(lfirst(cell));
}

char *
shuttle_tablet_qualified_name(Oid relid, int number)
{
	return in_schema_of(relid, shuttle_tablet_name(relid, number));
}

char *
shuttle_tablet_half_name(Oid relid, int number)
{
	return in_schema_of(relid, labelled_name(get_rel_name(relid), psprintf("half%d", number)));
}

/* Whoever looks for a tablet where it is no longer must find nothing, not an empty table. */
static char *
trap_name(Oid relid, int number)
{
	return labelled_name(get_rel_name(relid), psprintf("trap%d", number));
}

char *
shuttle_tablet_trap_name(Oid relid, int number)
{
	return in_schema_of(relid, trap_name(relid, number));
}

/* The names of the table's unique indexes. */
static List *
unique_indexes(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = relation_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisunique)
			names = lappend(names, pstrdup(RelationGetRelationName(index)));
		relation_close(index, AccessShareLock);
	}
	relation_close(rel, AccessShareLock);
	return names;
}

char *
shuttle_tablet_text_bound(const ShuttleTablet *tablet)
{
	return psprintf("FOR VALUES WITH (MODULUS %d, REMAINDER %d)", tablet->modulus, tablet->number);
}

char *
shuttle_tablet_text_name_indexes(Oid relid, const ShuttleLayout *layout)
{
	StringInfoData text;
	const char *separator = "";
	List	   *indexes = unique_indexes(relid);
	ListCell   *cell;

	if (indexes == NIL)
		return NULL;
	initStringInfo(&text);
	appendStringInfoString(&text, "DECLARE r record; BEGIN FOR r IN"
						   " SELECT h.inhrelid::regclass AS index, w.name FROM (VALUES ");
	foreach(cell, indexes)
	{
		for (int i = 0; i < layout->ntablets; i++)
		{
			int			number = layout->tablets[i].number;

			appendStringInfo(&text, "%s(%s, %s, %s)", separator,
							 quote_literal_cstr(lfirst(cell)),
							 quote_literal_cstr(shuttle_tablet_name(relid, number)),
							 quote_literal_cstr(numbered_name(lfirst(cell), number)));
			separator = ", ";
		}
	}
	appendStringInfo(&text, ") AS w (parent, tablet, name)"
					 " JOIN pg_catalog.pg_class AS p ON p.relname = w.parent AND p.relnamespace = %s::regnamespace"
					 " JOIN pg_catalog.pg_inherits AS h ON h.inhparent = p.oid"
					 " JOIN pg_catalog.pg_index AS i ON i.indexrelid = h.inhrelid"
					 " JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid AND t.relname = w.tablet"
					 " JOIN pg_catalog.pg_class AS c ON c.oid = h.inhrelid AND c.relname <> w.name"
					 " LOOP EXECUTE pg_catalog.format('ALTER INDEX %%s RENAME TO %%I', r.index, r.name); END LOOP; END",
					 quote_literal_cstr(quote_identifier(get_namespace_name(get_rel_namespace(relid)))));
	return psprintf("DO %s", quote_literal_cstr(text.data));
}

/* Found by the parent and the check that each has, whatever its name was. */
char *
shuttle_tablet_trap_text_names(Oid relid, const ShuttleLayout *layout)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "DECLARE r record; BEGIN FOR r IN"
						   " SELECT c.oid::regclass AS trap, w.name FROM (VALUES ");
	for (int i = 0; i < layout->ntablets; i++)
	{
		const ShuttleTablet *tablet = &layout->tablets[i];

		appendStringInfo(&text, "%s(%s, %s)", i == 0 ? "" : ", ", quote_literal_cstr(shuttle_tablet_text_bound(tablet)),
						 quote_literal_cstr(trap_name(relid, tablet->number)));
	}
	appendStringInfo(&text, ") AS w (bound, name)"
					 " JOIN pg_catalog.pg_class AS c ON pg_catalog.lower(pg_catalog.pg_get_expr(c.relpartbound, c.oid)) = pg_catalog.lower(w.bound)"
					 " AND c.relname <> w.name"
					 " JOIN pg_catalog.pg_inherits AS h ON h.inhrelid = c.oid AND h.inhparent = pg_catalog.to_regclass(%s)"
					 " JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid AND k.conname = 'shuttle_trap'"
					 " AND pg_catalog.pg_get_constraintdef(k.oid) LIKE '%%false%%'"
					 " LOOP EXECUTE pg_catalog.format('ALTER TABLE %%s RENAME TO %%I', r.trap, r.name); END LOOP; END",
					 quote_literal_cstr(shuttle_local_name(relid)));
	return psprintf("DO %s", quote_literal_cstr(text.data));
}

/* Core makes a constraint for each tablet, of the table that refers and of the one that is referred to,
 * and errors name it. It does not follow when the key gets another name. */
char *
shuttle_tablet_text_name_keys(Oid relid)
{
	char	   *text = psprintf("DECLARE r record; BEGIN FOR r IN"
								" SELECT k.conrelid::regclass AS referring, k.conname AS old, w.name FROM pg_catalog.pg_constraint AS k"
								" JOIN pg_catalog.pg_constraint AS p ON p.oid = k.conparentid AND p.conparentid = 0"
								" JOIN pg_catalog.pg_class AS t ON t.oid = k.confrelid"
								" CROSS JOIN LATERAL (SELECT CASE WHEN k.conrelid <> p.conrelid THEN p.conname ELSE p.conname || '_t'"
								" || pg_catalog.substring(pg_catalog.lower(pg_catalog.pg_get_expr(t.relpartbound, t.oid)), 'remainder ([0-9]+)') END) AS w (name)"
								" WHERE k.contype = 'f' AND pg_catalog.to_regclass(%s) IN (p.conrelid, p.confrelid)"
								" AND k.conname <> w.name AND pg_catalog.octet_length(w.name) < 64"
								" LOOP EXECUTE pg_catalog.format('ALTER TABLE %%s RENAME CONSTRAINT %%I TO %%I', r.referring, r.old, r.name); END LOOP; END",
								quote_literal_cstr(shuttle_local_name(relid)));

	return psprintf("DO %s", quote_literal_cstr(text));
}

/* ---- errors */

/* The text with one quoted name in the place of another. */
static const char *
replace_name(const char *text, const char *old, const char *new)
{
	char	   *quoted = psprintf("\"%s\"", old);
	const char *found = text == NULL ? NULL : strstr(text, quoted);

	if (found == NULL)
		return text;

	return psprintf("%.*s\"%s\"%s", (int) (found - text), text, new, found + strlen(quoted));
}

/* The table's index that a tablet's one is named after; NULL: none. */
static const char *
find_index(Oid relid, const char *tablet, const char *name)
{
	const char *label = strrchr(tablet, 't');
	int			number = label == NULL ? -1 : atoi(label + 1);
	ListCell   *cell;

	foreach(cell, unique_indexes(relid))
	{
		if (strcmp(numbered_name(lfirst(cell), number), name) == 0)
			return lfirst(cell);
	}
	return NULL;
}

/* The distributed table of that schema, or of any, that has a tablet with that name here, or that has the
 * name of such a table. */
static Oid
find_table_of(const char *schema, const char *tablet)
{
	Oid			found = InvalidOid;
	NameData	name;
	CatCList   *list;

	namestrcpy(&name, tablet);
	list = SearchSysCacheList1(RELNAMENSP, NameGetDatum(&name));
	for (int i = 0; i < list->n_members && !OidIsValid(found); i++)
	{
		Oid			relid = ((Form_pg_class) GETSTRUCT(&list->members[i]->tuple))->oid;

		if (shuttle_table_kind(relid) != SHUTTLE_TABLE_TABLET)
			continue;
		found = get_partition_parent(relid, true);
		if (schema != NULL)
			found = get_relname_relid(get_rel_name(found), get_namespace_oid(schema, true));
		if (OidIsValid(found) && shuttle_table_kind(found) != SHUTTLE_TABLE_DISTRIBUTED)
			found = InvalidOid;
	}
	ReleaseSysCacheList(list);
	return found;
}

Oid
shuttle_tablet_table_named(const char *schema, const char *name)
{
	Oid			found = find_table_of(schema, name);

	return OidIsValid(found) || schema == NULL ? found :
		find_table_of(schema, makeObjectName(name, NULL, schema));
}

Oid
shuttle_tablet_named(const char *schema, const char *name)
{
	Oid			relid = shuttle_tablet_table_named(schema, name);
	ListCell   *cell;

	foreach(cell, OidIsValid(relid) ? find_inheritance_children(relid, NoLock) : NIL)
	{
		if (strcmp(shuttle_tablet_remote_name(lfirst_oid(cell)), name) == 0)
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* The text with the names of tables in the place of those of their tablets. */
static const char *
name_tables(const char *text)
{
	const char *start = text == NULL ? NULL : strchr(text, '"');

	while (start != NULL)
	{
		const char *end = strchr(start + 1, '"');
		size_t		length = end == NULL ? 0 : end - start - 1;
		char	   *name = length == 0 || length >= NAMEDATALEN ? NULL : pnstrdup(start + 1, length);
		Oid			relid = name == NULL ? InvalidOid : shuttle_tablet_table_named(NULL, name);

		if (end == NULL)
			break;
		if (OidIsValid(relid))
		{
			size_t		place = start - text;

			text = psprintf("%.*s\"%s\"%s", (int) place, text, get_rel_name(relid), end + 1);
			end = text +place + strlen(get_rel_name(relid)) + 1;
		}
		start = strchr(end + 1, '"');
	}
	return text;
}

/* The foreign key whose constraint for one tablet has that name; NULL: it is none. */
static const char *
find_key(const char *name, const char *message)
{
	const char *label = strrchr(name, '_');

	/* the message names the tablet that is referred to, if it is one */
	if (message == NULL || name_tables(message) == message || label == NULL || label == name || label[1] != 't' || label[2] == '\0' ||
		strspn(label + 2, "0123456789") < strlen(label + 2))
		return NULL;
	return pnstrdup(name, label - name);
}

/* The names of a global index in the place of those of its entries. */
static void
name_index(ShuttleErrorNames *names, Oid relid, Oid indexid)
{
	const char *index = get_rel_name(indexid);
	const char *values = names->detail == NULL ? NULL : strstr(names->detail, ")=(");
	const char *start = values == NULL ? NULL : memchr(names->detail, '(', values - names->detail);
	bool		is_made = shuttle_global_send_is_new() && names->sqlstate == ERRCODE_UNIQUE_VIOLATION;

	if (is_made)
		names->message = psprintf(_("could not create unique index \"%s\""), index);
	else if (names->constraint != NULL)
		names->message = replace_name(names->message, names->constraint, index);
	names->constraint = index;
	names->schema = get_namespace_name(get_rel_namespace(relid));
	names->table = get_rel_name(relid);
	if (start == NULL)
		return;
	if (is_made)
		names->detail = psprintf("Key (%s%.*s is duplicated.", pg_get_indexdef_columns(indexid, true),
								 (int) (strrchr(values, ')') + 1 - values), values);
	else
		names->detail = psprintf("%.*s(%s%s", (int) (start - names->detail), names->detail,
								 pg_get_indexdef_columns(indexid, true), values);
}

Oid
shuttle_tablet_name_objects(ShuttleErrorNames *names)
{
	Oid			schema;
	Oid			found;
	Oid			relid;
	Oid			entered;		/* relid, or the table that it has the entries
								 * of */
	Oid			indexid = InvalidOid;
	bool		is_tablet;
	const char *constraint;

	if (!IsTransactionState())
		return InvalidOid;
	if (names->schema == NULL || names->table == NULL)
	{
		if (ERRCODE_TO_CATEGORY(names->sqlstate) != ERRCODE_DATA_EXCEPTION)
			names->message = name_tables(names->message);
		return InvalidOid;
	}
	schema = get_namespace_oid(names->schema, true);
	found = OidIsValid(schema) ? get_relname_relid(names->table, schema) : InvalidOid;
	is_tablet = !OidIsValid(found) || shuttle_table_kind(found) != SHUTTLE_TABLE_DISTRIBUTED;
	relid = entered = is_tablet ? shuttle_tablet_table_named(names->schema, names->table) : found;
	if (!OidIsValid(relid))
		return InvalidOid;
	(void) shuttle_global_index_find(relid, &entered, &indexid);
	if (names->constraint == NULL)
		constraint = NULL;
	else if (is_tablet)
		constraint = find_index(relid, names->table, names->constraint);
	else
		constraint = names->sqlstate == ERRCODE_FOREIGN_KEY_VIOLATION ? find_key(names->constraint, names->message) : NULL;
	if (constraint != NULL)
	{
		names->message = replace_name(names->message, names->constraint, constraint);
		names->constraint = constraint;
	}
	names->message = name_tables(names->message);
	names->detail = name_tables(names->detail);
	names->table = get_rel_name(relid);
	if (entered != relid)
		name_index(names, entered, indexid);
	return entered;
}

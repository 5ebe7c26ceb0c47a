/*-------------------------------------------------------------------------
 * tablet_names.c
 *	  Names of tablets and of their indexes, and errors without them.
 *
 * A tablet is named after its table, and its unique indexes on the node after
 * the table's: t<n> is added. So a node's error, which names the tablet and its
 * index, can be raised with the names that the user gave, and programs find the
 * constraint that they look for.
 *
 * Memory: that of the caller.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "storage/shuttle_storage.h"
#include "tablets/tablets_internal.h"

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

char *
shuttle_tablet_name(Oid relid, int number)
{
	return numbered_name(get_rel_name(relid), number);
}

char *
shuttle_tablet_qualified_name(Oid relid, int number)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  shuttle_tablet_name(relid, number));
}

/* Whoever looks for a tablet where it is no longer must find nothing, not an empty table. */
static char *
trap_name(Oid relid, int number)
{
	return labelled_name(get_rel_name(relid), psprintf("trap%d", number));
}

char *
shuttle_trap_qualified_name(Oid relid, int number)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  trap_name(relid, number));
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
shuttle_trap_text_names(Oid relid, const ShuttleLayout *layout)
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

/* A node's detail has rows, and its role may see all; core shows columns that the user may
 * read, and none if policies apply to him. */
static bool
may_see_rows(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

void
shuttle_tablet_name_objects(ShuttleErrorNames *names)
{
	Oid			schema;
	Oid			found;
	Oid			relid;
	ShuttleTableKind kind;
	const char *constraint;

	if (!IsTransactionState() || names->schema == NULL)
		return;
	schema = get_namespace_oid(names->schema, true);
	found = OidIsValid(schema) ? get_relname_relid(names->table, schema) : InvalidOid;
	kind = OidIsValid(found) ? shuttle_table_kind(found) : SHUTTLE_TABLE_OTHER;
	if (kind != SHUTTLE_TABLE_TABLET && kind != SHUTTLE_TABLE_DISTRIBUTED)
		return;
	relid = kind == SHUTTLE_TABLE_TABLET ? get_partition_parent(found, true) : found;
	if (!may_see_rows(relid))
		names->detail = NULL;
	if (kind != SHUTTLE_TABLE_TABLET)
		return;
	constraint = names->constraint == NULL ? NULL :
		find_index(relid, names->table, names->constraint);
	if (constraint != NULL)
	{
		names->message = replace_name(names->message, names->constraint, constraint);
		names->constraint = constraint;
	}
	names->message = replace_name(names->message, names->table, get_rel_name(relid));
	names->table = get_rel_name(relid);
}

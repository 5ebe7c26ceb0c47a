/*-------------------------------------------------------------------------
 * table_text.c
 *	  The statements that make a table on a node, from the catalogs here.
 *
 * A node has the table's columns with type, collation, NOT NULL and generated
 * expressions, its checks, indexes and foreign keys. Defaults, policies,
 * privileges and triggers stay here: nodes get all columns of each row.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/shuttle_compat.h"
#include "tablets/tablets_internal.h"

/* NOT NULL constraints of 18 have names, which nodes choose for themselves. */
static const char *const columns_query =
"SELECT a.attnum::text, quote_ident(a.attname), y.name, y.name ||"
" CASE WHEN a.attcollation <> 0 AND a.attcollation <> t.typcollation"
" THEN (SELECT format(' COLLATE %I.%I', nspname, collname) FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = collnamespace"
" WHERE c.oid = a.attcollation) ELSE '' END,"
" CASE WHEN a.attgenerated <> '' THEN format(' GENERATED ALWAYS AS (%s)%s',"
" pg_get_expr(d.adbin, d.adrelid), CASE a.attgenerated WHEN 's' THEN ' STORED' ELSE ' VIRTUAL' END) ELSE '' END,"
" CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END"
" FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid"
" CROSS JOIN format_type(a.atttypid, a.atttypmod) AS y (name)"
" LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
" WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/* Checks, primary key, unique constraints. */
static const char *const constraints_query =
"SELECT oid::text, contype::text, quote_ident(conname), pg_get_constraintdef(oid)"
" FROM pg_constraint WHERE conrelid = $1 AND contype IN ('c', 'p', 'u') ORDER BY contype, conname";

static const char *const indexes_query =
"SELECT indexrelid::text, 'i', quote_ident(relname) FROM pg_index AS i JOIN pg_class AS c ON c.oid = indexrelid"
" WHERE indrelid = $1"
" AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))"
" ORDER BY relname";

static const char *const foreign_keys_query =
"SELECT text FROM pg_constraint, unnest(ARRAY[format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),"
" format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, conrelid::regclass, obj_description(oid, 'pg_constraint'))])"
" WITH ORDINALITY AS u (text, number)"
" WHERE conrelid = $1 AND contype = 'f' AND conparentid = 0 AND (number = 1 OR obj_description(oid, 'pg_constraint') IS NOT NULL)"
" ORDER BY conname, number";

static List *
columns_of_rows(const List *rows)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		ShuttleNodeColumn *column = palloc_object(ShuttleNodeColumn);

		column->number = pg_strtoint16(row[0]);
		column->name = row[1];
		column->bare_type = row[2];
		column->type = row[3];
		column->generated = row[4];
		column->not_null = row[5];
		columns = lappend(columns, column);
	}
	return columns;
}

List *
shuttle_table_text_columns(Oid relid)
{
	return columns_of_rows(shuttle_local_rows(columns_query, relid));
}

List *
shuttle_table_text_node_columns(Oid relid, ShuttleNode *node)
{
	return columns_of_rows(shuttle_node_rows(node, columns_query, 6, relid));
}

static ShuttleNodePart *
part_of_row(char **row)
{
	ShuttleNodePart *part = palloc_object(ShuttleNodePart);

	part->oid = atooid(row[0]);
	part->kind = row[1][0];
	part->name = row[2];
	return part;
}

/* pg_get_indexdef_string() never writes ONLY, also for partitioned indexes. */
List *
shuttle_table_text_parts(Oid relid)
{
	List	   *parts = NIL;
	ListCell   *cell;
	int			level = shuttle_transmission_begin(SHUTTLE_PRINT_ALL);

	foreach(cell, shuttle_local_rows(constraints_query, relid))
	{
		ShuttleNodePart *part = part_of_row(lfirst(cell));

		part->definition = ((char **) lfirst(cell))[3];
		parts = lappend(parts, part);
	}
	foreach(cell, shuttle_local_rows(indexes_query, relid))
	{
		ShuttleNodePart *part = part_of_row(lfirst(cell));

		part->definition = pg_get_indexdef_string(part->oid);
		parts = lappend(parts, part);
	}
	shuttle_transmission_end(level);
	return parts;
}

char *
shuttle_table_text_add_part(Oid relid, const ShuttleNodePart *part)
{
	if (part->kind == SHUTTLE_PART_INDEX)
		return part->definition;
	return psprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", shuttle_local_name(relid),
					part->name, part->definition);
}

List *
shuttle_table_text_parent(Oid relid, const char *key)
{
	static const char *const schema_query =
		"SELECT format('DO %L', format('BEGIN IF to_regnamespace(%L) IS NULL THEN CREATE SCHEMA %I; END IF; END',"
		" quote_ident(nspname), nspname)) FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid WHERE c.oid = $1";

	/* tablets take it over from the table */
	static const char *const storage_query =
		"SELECT format('ALTER TABLE %s ALTER COLUMN %I SET %s', attrelid::regclass, attname, text)"
		" FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = atttypid, unnest(ARRAY["
		" CASE WHEN attstorage <> typstorage THEN 'STORAGE ' || CASE attstorage WHEN 'p' THEN 'plain' WHEN 'e' THEN 'external'"
		" WHEN 'x' THEN 'extended' ELSE 'main' END END,"
		" CASE attcompression WHEN 'p' THEN 'COMPRESSION pglz' WHEN 'l' THEN 'COMPRESSION lz4' END]) AS text"
		" WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND text IS NOT NULL ORDER BY attnum, text";
	StringInfoData text;
	const char *separator = "";
	ListCell   *cell;

	initStringInfo(&text);
	appendStringInfo(&text, "CREATE TABLE %s (", shuttle_local_name(relid));
	foreach(cell, shuttle_table_text_columns(relid))
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		appendStringInfo(&text, "%s%s %s%s%s", separator, column->name, column->type,
						 column->generated, column->not_null);
		separator = ", ";
	}
	foreach(cell, shuttle_table_text_parts(relid))
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind == SHUTTLE_PART_CHECK)
			appendStringInfo(&text, ", CONSTRAINT %s %s", part->name, part->definition);
	}
	appendStringInfoChar(&text, ')');
	if (key != NULL)
		appendStringInfo(&text, " PARTITION BY HASH (%s)", quote_identifier(key));
	return lcons(shuttle_local_text(schema_query, relid),
				 lcons(text.data, shuttle_local_texts(storage_query, relid)));
}

char *
shuttle_table_text_tablet(Oid relid, const ShuttleTablet *tablet)
{
	char	   *options = shuttle_local_text(SHUTTLE_OPTIONS_QUERY, relid);

	return psprintf("CREATE TABLE %s PARTITION OF %s %s%s%s%s",
					shuttle_tablet_qualified_name(relid, tablet->number), shuttle_local_name(relid),
					shuttle_tablet_text_bound(tablet), options == NULL ? "" : " WITH (", options == NULL ? "" : options,
					options == NULL ? "" : ")");
}

List *
shuttle_table_text_indexes(Oid relid)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_table_text_parts(relid))
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind != SHUTTLE_PART_CHECK)
			texts = lappend(texts, shuttle_table_text_add_part(relid, part));
	}
	return texts;
}

List *
shuttle_table_text_foreign_keys(Oid relid)
{
	return shuttle_local_texts(foreign_keys_query, relid);
}

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
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/constraints/constraints.h"
#include "tablets/indexes/global.h"

/* NOT NULL constraints of 18 have names, which nodes choose for themselves. */
#define VALID_NOT_NULL " NOT NULL"
#define NOT_VALID " NOT VALID"

static const char *const columns_query =
"SELECT a.attnum::text, quote_ident(a.attname), y.name, y.name ||"
" CASE WHEN a.attcollation <> 0 AND a.attcollation <> t.typcollation"
" THEN (SELECT format(' COLLATE %I.%I', nspname, collname) FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = collnamespace"
" WHERE c.oid = a.attcollation) ELSE '' END,"
" CASE WHEN a.attgenerated <> '' THEN format(' GENERATED ALWAYS AS (%s)%s',"
" pg_get_expr(d.adbin, d.adrelid), CASE a.attgenerated WHEN 's' THEN ' STORED' ELSE ' VIRTUAL' END) ELSE '' END,"
" CASE WHEN NOT a.attnotnull THEN '' WHEN EXISTS (SELECT FROM pg_constraint WHERE conrelid = attrelid AND contype = 'n'"
" AND conkey = ARRAY[attnum] AND NOT convalidated) THEN '" VALID_NOT_NULL NOT_VALID "' ELSE '" VALID_NOT_NULL "' END"
" FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid"
" CROSS JOIN format_type(a.atttypid, a.atttypmod) AS y (name)"
" LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
" WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/* Checks, primary key, unique constraints; %s: the condition of global indexes. */
#define CONSTRAINTS_QUERY \
"SELECT oid::text, contype::text, quote_ident(conname), pg_get_constraintdef(oid)" \
" FROM pg_constraint WHERE conrelid = $1 AND contype IN ('c', 'p', 'u')" \
" AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indexrelid = conindid AND %s) ORDER BY contype, conname"

#define INDEXES_QUERY \
"SELECT indexrelid::text, 'i', quote_ident(relname) FROM pg_index AS i JOIN pg_class AS c ON c.oid = indexrelid" \
" WHERE indrelid = $1" \
" AND (%s OR NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x')))" \
" ORDER BY relname"

static const char *const foreign_key_query =
"SELECT text FROM pg_constraint, unnest(ARRAY[format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),"
" format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, conrelid::regclass, obj_description(oid, 'pg_constraint'))])"
" WITH ORDINALITY AS u (text, number)"
" WHERE oid = $1 AND (number = 1 OR obj_description(oid, 'pg_constraint') IS NOT NULL) ORDER BY number";

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

/* The condition of global indexes; key: the distribution column of a table that is not
 * distributed yet, or NULL. */
static const char *
global_condition(Oid relid, const char *key)
{
	if (key == NULL)
		return SHUTTLE_GLOBAL_CONDITION;
	return psprintf("i.indisunique AND NOT %d = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])", get_attnum(relid, key));
}

/* pg_get_indexdef_string() never writes ONLY, also for partitioned indexes. Nodes have global
 * indexes to find rows: they are not unique there. */
static char *
index_definition(Oid indexid, bool is_unique)
{
	static const char *const unique = "CREATE UNIQUE ";
	char	   *text = pg_get_indexdef_string(indexid);

	return is_unique || strncmp(text, unique, strlen(unique)) != 0 ? text :
				psprintf("CREATE %s", text +strlen(unique));
}

char *
shuttle_table_text_of_copies(char *definition)
{
	static const char *const deferrable = " DEFERRABLE";
	size_t		length = strlen(definition);

	if (strncmp(definition, "UNIQUE", strlen("UNIQUE")) != 0 || length < strlen(deferrable) ||
		strcmp(definition + length - strlen(deferrable), deferrable) != 0)
		return definition;
	return psprintf("%s INITIALLY DEFERRED", definition);
}

static List *
parts_of(Oid relid, const char *key)
{
	List	   *parts = NIL;
	ListCell   *cell;
	const char *global = global_condition(relid, key);
	bool		is_copied = key == NULL && shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED;
	List	   *globals = shuttle_local_texts(psprintf("SELECT indexrelid::text FROM pg_index AS i WHERE indrelid = $1 AND %s", global), relid);
	int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);

	foreach(cell, shuttle_local_rows(psprintf(CONSTRAINTS_QUERY, global), relid))
	{
		ShuttleNodePart *part = part_of_row(lfirst(cell));

		part->definition = ((char **) lfirst(cell))[3];
		if (is_copied)
			part->definition = shuttle_table_text_of_copies(part->definition);
		if (part->kind == SHUTTLE_PART_CHECK && shuttle_session_check_stays_here(relid, part->name))
			part->kind = SHUTTLE_PART_CHECK_HERE;
		parts = lappend(parts, part);
	}
	foreach(cell, shuttle_local_rows(psprintf(INDEXES_QUERY, global), relid))
	{
		ShuttleNodePart *part = part_of_row(lfirst(cell));
		bool		is_global = false;
		ListCell   *inner;

		foreach(inner, globals)
			is_global |= atooid(lfirst(inner)) == part->oid;
		part->definition = index_definition(part->oid, !is_global);
		parts = lappend(parts, part);
	}
	shuttle_row_transmission_end(level);
	return parts;
}

List *
shuttle_table_text_parts(Oid relid)
{
	return parts_of(relid, NULL);
}

char *
shuttle_table_text_add_part(Oid relid, const ShuttleNodePart *part)
{
	if (part->kind == SHUTTLE_PART_INDEX)
		return part->definition;
	return psprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", shuttle_local_name(relid),
					part->name, part->definition);
}

const char *
shuttle_table_text_column_not_null(const ShuttleNodeColumn *column)
{
	return strcmp(column->not_null, VALID_NOT_NULL) == 0 ? VALID_NOT_NULL : "";
}

char *
shuttle_table_text_not_null(const ShuttleNodeColumn *column)
{
	if (*column->not_null == '\0')
		return psprintf("ALTER COLUMN %s DROP NOT NULL", column->name);
	if (strcmp(column->not_null, VALID_NOT_NULL) == 0)
		return psprintf("ALTER COLUMN %s SET NOT NULL", column->name);
	return psprintf("ADD NOT NULL %s NOT VALID", column->name);
}

bool
shuttle_table_part_is_unchecked(const ShuttleNodePart *part)
{
	size_t		length = strlen(part->definition);

	return (part->kind == SHUTTLE_PART_CHECK || part->kind == SHUTTLE_PART_CHECK_HERE) && length > strlen(NOT_VALID) &&
		strcmp(part->definition + length - strlen(NOT_VALID), NOT_VALID) == 0;
}

char *
shuttle_table_text_schema(const char *schema)
{
	const char *name = quote_identifier(schema);

	return psprintf("DO %s", quote_literal_cstr(psprintf("BEGIN IF pg_catalog.to_regnamespace(%s) IS NULL THEN CREATE SCHEMA %s; END IF; END",
														 quote_literal_cstr(name), name)));
}

List *
shuttle_table_text_parent(Oid relid, const char *key)
{
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
						 column->generated, shuttle_table_text_column_not_null(column));
		separator = ", ";
	}
	foreach(cell, shuttle_table_text_parts(relid))
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind == SHUTTLE_PART_CHECK && !shuttle_table_part_is_unchecked(part))
			appendStringInfo(&text, ", CONSTRAINT %s %s", part->name, part->definition);
	}
	appendStringInfoChar(&text, ')');
	if (key != NULL)
		appendStringInfo(&text, " PARTITION BY HASH (%s)", quote_identifier(key));
	return lcons(text.data, shuttle_local_texts(storage_query, relid));
}

char *
shuttle_table_text_tablet(Oid relid, const ShuttleTablet *tablet, const char *name)
{
	char	   *options = shuttle_local_text(SHUTTLE_OPTIONS_QUERY, relid);

	return psprintf("CREATE TABLE %s PARTITION OF %s %s%s%s%s",
					name, shuttle_local_name(relid),
					shuttle_tablet_text_bound(tablet), options == NULL ? "" : " WITH (", options == NULL ? "" : options,
					options == NULL ? "" : ")");
}

List *
shuttle_table_text_unchecked(Oid relid)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_table_text_columns(relid))
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		if (*column->not_null != '\0' && *shuttle_table_text_column_not_null(column) == '\0')
			texts = lappend(texts, psprintf("ALTER TABLE %s %s", shuttle_local_name(relid), shuttle_table_text_not_null(column)));
	}
	foreach(cell, shuttle_table_text_parts(relid))
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind == SHUTTLE_PART_CHECK && shuttle_table_part_is_unchecked(part))
			texts = lappend(texts, shuttle_table_text_add_part(relid, part));
	}
	return texts;
}

List *
shuttle_table_text_indexes(Oid relid, const char *key)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, parts_of(relid, key))
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind != SHUTTLE_PART_CHECK_HERE && part->kind != SHUTTLE_PART_CHECK)
			texts = lappend(texts, shuttle_table_text_add_part(relid, part));
	}
	return texts;
}

List *
shuttle_table_text_foreign_key(Oid constraint)
{
	return shuttle_local_texts(foreign_key_query, constraint);
}

/*-------------------------------------------------------------------------
 * sibling_sql.c
 *	  Replaces the table's name in the SELECT of a scan.
 *
 * postgres_fdw names a scan's table once, after FROM; columns are not
 * qualified. Callers must know that all the rest is the same for the other
 * table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "cluster/shuttle_cluster.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/shuttle_executor.h"

/* The table's name as postgres_fdw deparses it. */
static const char *
write_table_name(Oid serverid, Oid relid)
{
	const ShuttleTableOptions *options = shuttle_option_cache_parsed(serverid, relid);
	const char *schema = options->schema_name;
	const char *name = options->table_name;

	if (options->qualified_name != NULL && !quote_all_identifiers)
		return options->qualified_name;

	/* the look-ups below may reset the option cache */
	if (schema != NULL && name != NULL)
		return quote_qualified_identifier(schema, name);
	schema = schema == NULL ? NULL : pstrdup(schema);
	name = name == NULL ? NULL : pstrdup(name);
	if (schema == NULL)
		schema = get_namespace_name(get_rel_namespace(relid));
	if (name == NULL)
		name = get_rel_name(relid);
	return quote_qualified_identifier(schema, name);
}

bool
shuttle_sibling_sql_split(const ForeignScan *scan, Oid serverid, Oid relid,
						  ShuttleScanText *parts)
{
	ShuttlePostgresFdwScan postgres_fdw;
	const char *begin;
	const char *name;

	if (!shuttle_postgres_fdw_read_scan(scan, &postgres_fdw) || scan->fdw_scan_tlist != NIL ||
		!shuttle_remote_sql_find_table(postgres_fdw.sql, &begin, &parts->behind))
		return false;
	name = write_table_name(serverid, relid);
	if (parts->behind - begin != strlen(name) ||
		strncmp(begin, name, strlen(name)) != 0)
		return false;
	parts->before = postgres_fdw.sql;
	parts->before_bytes = begin - postgres_fdw.sql;
	parts->behind_bytes = strlen(parts->behind);
	parts->attributes = postgres_fdw.attributes;
	parts->fetch_size = postgres_fdw.fetch_size;

	return true;
}

List *
shuttle_sibling_sql_of(const ShuttleScanText *parts, Oid serverid, Oid relid)
{
	const char *name = write_table_name(serverid, relid);
	int			name_bytes = strlen(name);
	char	   *sql = palloc(parts->before_bytes + name_bytes + parts->behind_bytes + 1);

	memcpy(sql, parts->before, parts->before_bytes);
	memcpy(sql + parts->before_bytes, name, name_bytes);
	memcpy(sql + parts->before_bytes + name_bytes, parts->behind,
		   parts->behind_bytes + 1);
	return shuttle_postgres_fdw_make_scan(sql, parts->attributes, parts->fetch_size);
}

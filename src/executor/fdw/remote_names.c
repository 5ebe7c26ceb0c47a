/*-------------------------------------------------------------------------
 * remote_names.c
 *	  Options of foreign tables, and remote names of tables and columns.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "cluster/shuttle_cluster.h"
#include "executor/fdw/fdw.h"
#include "executor/shuttle_executor.h"

const List *
shuttle_remote_options(Oid relid)
{
	return shuttle_option_cache_list(GetForeignServerIdByRelId(relid), relid);
}

bool
shuttle_remote_option_bool(const List *options, const char *name, bool otherwise)
{
	DefElem    *option = shuttle_option_find(options, name);

	return option == NULL ? otherwise : defGetBoolean(option);
}

int
shuttle_remote_option_int(const List *options, const char *name, int otherwise)
{
	const char *text = shuttle_option_text(options, name);
	int			value;

	/* the validator checked it; an invalid value counts as not set */
	return text !=NULL && parse_int(text, &value, 0, NULL) ? value : otherwise;
}

int
shuttle_remote_option_kb(const List *options, const char *name, int otherwise)
{
	const char *text = shuttle_option_text(options, name);
	int			value;

	return text !=NULL && parse_int(text, &value, GUC_UNIT_KB, NULL) ?
				value : otherwise;
}

static void
find_table_name(const ForeignTable *table, char **schema, char **name)
{
	*schema = unconstify(char *, shuttle_option_text(table->options, "schema_name"));
	*name = unconstify(char *, shuttle_option_text(table->options, "table_name"));
	if (*schema == NULL)
		*schema = get_namespace_name(get_rel_namespace(table->relid));
	if (*name == NULL)
		*name = get_rel_name(table->relid);
}

void
shuttle_remote_table_name(Relation rel, char **schema, char **name)
{
	find_table_name(GetForeignTable(RelationGetRelid(rel)), schema, name);
}

static bool
is_same_remote_table(Oid relid, Oid other_relid)
{
	ForeignTable *table = GetForeignTable(relid);
	ForeignTable *other = GetForeignTable(other_relid);
	char	   *schema;
	char	   *name;
	char	   *other_schema;
	char	   *other_name;

	if (table->serverid != other->serverid)
		return false;
	find_table_name(table, &schema, &name);
	find_table_name(other, &other_schema, &other_name);
	return strcmp(schema, other_schema) == 0 && strcmp(name, other_name) == 0;
}

bool
shuttle_remote_write_reaches(Oid target, Oid relid)
{
	ListCell   *lc;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return false;
	foreach(lc, find_all_inheritors(target, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE &&
			is_same_remote_table(lfirst_oid(lc), relid))
			return true;
	}
	return false;
}

char *
shuttle_remote_column_name(Relation rel, AttrNumber attribute)
{
	List	   *options = GetForeignColumnOptions(RelationGetRelid(rel), attribute);
	const char *name = shuttle_option_text(options, "column_name");

	if (name == NULL)
		name = NameStr(TupleDescAttr(RelationGetDescr(rel), attribute - 1)->attname);
	return unconstify(char *, name);
}

void
shuttle_remote_append_table(StringInfo sql, Relation rel)
{
	char	   *schema;
	char	   *name;

	shuttle_remote_table_name(rel, &schema, &name);
	appendStringInfo(sql, "%s.%s",
					 quote_identifier(schema), quote_identifier(name));
}

void
shuttle_remote_append_column(StringInfo sql, Relation rel, AttrNumber attribute)
{
	appendStringInfoString(sql, quote_identifier(shuttle_remote_column_name(rel, attribute)));
}

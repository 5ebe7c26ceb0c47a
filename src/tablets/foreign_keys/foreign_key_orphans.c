/*-------------------------------------------------------------------------
 * foreign_key_orphans.c
 *	  Looks for rows that refer to nothing, in all rows of a table.
 *
 * The query is an anti join, which is planned as any other. It runs as a superuser, so
 * that no policy hides a row; it names only our columns and the operators of their
 * indexes.
 */
#include "postgres.h"

#include "access/table.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/foreign_keys/foreign_keys.h"

/* "word t.a word t.b", for each column of the child. */
static void
append_columns(StringInfo text, const ShuttleForeignKey *key, const char *separator, const char *suffix)
{
	for (int i = 0; i < key->ncolumns; i++)
		appendStringInfo(text, "%sc.%s%s", i == 0 ? "" : separator,
						 quote_identifier(get_attname(key->child, key->child_columns[i], false)), suffix);
}

static Oid
column_collation(Oid table, AttrNumber column)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(table, column, &type, &typmod, &collation);
	return collation;
}

/* Two columns of different collations are compared by the parent's, as core does. */
static void
append_collation(StringInfo text, const ShuttleForeignKey *key, int i)
{
	Oid			parent = column_collation(key->parent, key->parent_columns[i]);
	Oid			child = column_collation(key->child, key->child_columns[i]);

	if (parent != child && OidIsValid(parent) && OidIsValid(child))
		appendStringInfo(text, " COLLATE %s", shuttle_local_collation(parent));
}

static char *
orphans_text(const ShuttleForeignKey *key)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT ");
	append_columns(&text, key, ", ", "");
	appendStringInfo(&text, " FROM %s%s AS c WHERE (",
					 get_rel_relkind(key->child) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ",
					 shuttle_local_name(key->child));
	append_columns(&text, key, " AND ", " IS NOT NULL");
	appendStringInfo(&text, " AND NOT EXISTS (SELECT FROM %s%s AS p WHERE ",
					 get_rel_relkind(key->parent) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ",
					 shuttle_local_name(key->parent));
	for (int i = 0; i < key->ncolumns; i++)
	{
		appendStringInfoString(&text, i == 0 ? "" : " AND ");
		generate_operator_clause(&text,
								 psprintf("p.%s", quote_identifier(get_attname(key->parent, key->parent_columns[i], false))),
								 get_atttype(key->parent, key->parent_columns[i]), key->parent_child[i],
								 psprintf("c.%s", quote_identifier(get_attname(key->child, key->child_columns[i], false))),
								 get_atttype(key->child, key->child_columns[i]));
		append_collation(&text, key, i);
	}
	appendStringInfoString(&text, "))");
	if (key->match == FKCONSTR_MATCH_FULL && key->ncolumns > 1)
	{
		appendStringInfoString(&text, " OR ((");
		append_columns(&text, key, " OR ", " IS NULL");
		appendStringInfoString(&text, ") AND (");
		append_columns(&text, key, " OR ", " IS NOT NULL");
		appendStringInfoString(&text, "))");
	}
	return text.data;
}

/* The values of the first row that the query finds, as "1, 2"; NULL: there is none. has_null:
 * for MATCH FULL. */
static char *
first_orphan(const ShuttleForeignKey *key, bool *has_null)
{
	char	  **row;
	StringInfoData text;

	*has_null = false;
	if (shuttle_local_read_as_owner(key->child, psprintf("%s LIMIT 1", orphans_text(key)), &row) == 0)
		return NULL;
	initStringInfo(&text);
	for (int i = 0; i < key->ncolumns; i++)
	{
		appendStringInfo(&text, "%s%s", i == 0 ? "" : ", ", row[i] == NULL ? "null" : row[i]);
		*has_null |= row[i] == NULL;
	}
	return text.data;
}

char *
shuttle_foreign_key_orphan(const ShuttleForeignKey *key)
{
	bool		has_null;

	return first_orphan(key, &has_null);
}

void
shuttle_foreign_key_validate(Oid constraint)
{
	const ShuttleForeignKey *key = shuttle_foreign_key_load(constraint);
	bool		has_null;
	char	   *values = first_orphan(key, &has_null);
	Relation	child = table_open(key->child, NoLock);
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < key->ncolumns; i++)
		appendStringInfo(&names, "%s%s", i == 0 ? "" : ", ", get_attname(key->child, key->child_columns[i], false));
	if (values != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"",
						RelationGetRelationName(child), key->name),
				 has_null ? errdetail("MATCH FULL does not allow mixing of null and nonnull key values.") :
				 errdetail("Key (%s)=(%s) is not present in table \"%s\".", names.data, values, get_rel_name(key->parent)),
				 errtableconstraint(child, key->name)));
	table_close(child, NoLock);
	shuttle_surgery_set_valid(constraint);
}

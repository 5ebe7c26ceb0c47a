/*-------------------------------------------------------------------------
 * ddl_types.c
 *	  Changes of types, functions and schemas that distributed tables use.
 *
 * Nodes have enums and domains of columns, functions of checks and indexes, and the
 * schemas of tables. Values of enums are added and renamed there too, functions are
 * replaced; what would make other differences is refused.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "tablets/ddl/ddl.h"

/* Distributed tables with columns of a type, its array, or a domain over it. */
static const char *const users_of_type =
"SELECT t.relation::oid::text FROM shuttle.tables AS t JOIN pg_attribute AS a ON a.attrelid = t.relation"
" JOIN pg_type AS y ON y.oid = a.atttypid LEFT JOIN pg_type AS e ON e.oid = y.typelem AND y.typlen = -1"
" WHERE t.kind = 'distributed' AND NOT a.attisdropped"
" AND $1 IN (y.oid, y.typbasetype, e.oid, e.typbasetype) ORDER BY t.relation::text";

static const char *const users_of_schema =
"SELECT t.relation::oid::text FROM shuttle.tables AS t JOIN pg_class AS c ON c.oid = t.relation"
" WHERE t.kind = 'distributed' AND c.relnamespace = $1 ORDER BY c.relname";

static Oid
find_type(Node *names)
{
	return LookupTypeNameOid(NULL, makeTypeNameFromNameList(castNode(List, names)), true);
}

/* The type that a statement changes in a way that nodes cannot follow. */
static Oid
changed_type(Node *statement, const char **what)
{
	switch (nodeTag(statement))
	{
		case T_RenameStmt:
			*what = "renaming the type or its constraints";
			switch (castNode(RenameStmt, statement)->renameType)
			{
				case OBJECT_TYPE:
				case OBJECT_DOMAIN:
				case OBJECT_DOMCONSTRAINT:
					return find_type(castNode(RenameStmt, statement)->object);
				default:
					return InvalidOid;
			}
		case T_AlterObjectSchemaStmt:
			*what = "moving the type to another schema";
			switch (castNode(AlterObjectSchemaStmt, statement)->objectType)
			{
				case OBJECT_TYPE:
				case OBJECT_DOMAIN:
					return find_type(castNode(AlterObjectSchemaStmt, statement)->object);
				default:
					return InvalidOid;
			}
		case T_AlterDomainStmt:
			/* defaults are only known here */
			*what = "ALTER DOMAIN";
			return castNode(AlterDomainStmt, statement)->subtype == 'T' ? InvalidOid :
				find_type((Node *) castNode(AlterDomainStmt, statement)->typeName);
		default:
			return InvalidOid;
	}
}

/* The name of a function that a statement moves or renames; NULL: it does not. */
static char *
moved_function(Node *statement)
{
	bool		is_rename = IsA(statement, RenameStmt);
	ObjectType	type;
	Node	   *object;

	if (!is_rename && !IsA(statement, AlterObjectSchemaStmt))
		return NULL;
	type = is_rename ? ((RenameStmt *) statement)->renameType :
		((AlterObjectSchemaStmt *) statement)->objectType;
	object = is_rename ? ((RenameStmt *) statement)->object :
		((AlterObjectSchemaStmt *) statement)->object;
	return type == OBJECT_FUNCTION || type == OBJECT_ROUTINE ?
		strVal(llast(castNode(ObjectWithArgs, object)->objname)) : NULL;
}

void
shuttle_ddl_types_check(Node *statement)
{
	const char *what = NULL;
	const char *instead = "Make a new type, add columns of it, and copy the values.";
	Oid			changed = changed_type(statement, &what);
	char	   *function = moved_function(statement);
	char	   *user = NULL;

	if (function != NULL)
	{
		List	   *users = shuttle_tables_with_function(function);

		what = "moving or renaming the function";
		instead = "Make a new function, and checks and indexes with it.";
		user = users == NIL ? NULL : psprintf("%u", linitial_oid(users));
	}
	else if (OidIsValid(changed))
		user = shuttle_local_text(users_of_type, changed);
	else if (IsA(statement, RenameStmt) &&
			 castNode(RenameStmt, statement)->renameType == OBJECT_SCHEMA)
	{
		what = "renaming the schema";
		instead = "Bring its tables back with shuttle.local_table() first.";
		changed = get_namespace_oid(castNode(RenameStmt, statement)->subname, true);
		if (OidIsValid(changed))
			user = shuttle_local_text(users_of_schema, changed);
	}
	if (user != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s is not possible while distributed table \"%s\" uses it",
						what, get_rel_name(atooid(user))),
				 errhint("%s", instead)));
}

/* ALTER TYPE ... ADD VALUE or RENAME VALUE, behind core's run. */
void
shuttle_ddl_types_enum(const AlterEnumStmt *statement)
{
	Oid			type = find_type((Node *) statement->typeName);
	char	   *name = format_type_be_qualified(type);
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *servers = NIL;
	StringInfoData text;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(users_of_type, type))
		servers = list_concat_unique_oid(servers, shuttle_table_servers(atooid(lfirst(cell))));
	initStringInfo(&text);
	if (statement->oldVal != NULL)
		appendStringInfo(&text, "ALTER TYPE %s RENAME VALUE %s TO %s", name,
						 quote_literal_cstr(statement->oldVal), quote_literal_cstr(statement->newVal));
	else
		appendStringInfo(&text, "ALTER TYPE %s ADD VALUE %s%s", name,
						 statement->skipIfNewValExists ? "IF NOT EXISTS " : "",
						 quote_literal_cstr(statement->newVal));
	if (statement->newValNeighbor != NULL)
		appendStringInfo(&text, " %s %s", statement->newValIsAfter ? "AFTER" : "BEFORE",
						 quote_literal_cstr(statement->newValNeighbor));
	shuttle_node_statements_add_all(statements, servers, text.data);
	shuttle_node_statements_run(statements);
}

/* Nodes skip what they have already. */
void
shuttle_ddl_types_function(const char *name)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ListCell   *cell;

	foreach(cell, shuttle_tables_with_function(name))
	{
		List	   *servers = shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_REFERENCE ?
			shuttle_nodes_all() : shuttle_table_servers(lfirst_oid(cell));
		ListCell   *inner;

		foreach(inner, shuttle_table_text_needed(lfirst_oid(cell)))
			shuttle_node_statements_add_all(statements, servers, lfirst(inner));
	}
	shuttle_node_statements_run(statements);
}

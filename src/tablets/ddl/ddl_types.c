/*-------------------------------------------------------------------------
 * ddl_types.c
 *	  Changes of types, functions and schemas that distributed tables use.
 *
 * Nodes have the types of columns, the functions of checks and indexes, and the
 * schemas of tables. A statement that changes one of them runs on the nodes of the
 * tables that need it, too: its text, under the names of the schemas that are
 * searched here. A domain's new check is sent as it is printed here, with all names: a node may find others under the same
 * search_path. Functions that are replaced are sent as they are here now.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "parser/parse_type.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/constraints/constraints.h"
#include "tablets/ddl/ddl.h"
#include "tablets/needs/needs.h"
#include "tablets/needs/routines.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/authors.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/reach.h"
#include "tablets/rights/user_code.h"
#include "tablets/shuttle_tablets.h"

/* A class and OID for shuttle_needed_objects_tables(). */
#define OBJECT_QUERY "SELECT %u::oid, %u::oid"

/* The functions and types of a schema. */
#define SCHEMA_QUERY \
"SELECT 'pg_proc'::regclass::oid, oid FROM pg_proc WHERE pronamespace = %1$u" \
" UNION ALL SELECT 'pg_type'::regclass::oid, oid FROM pg_type WHERE typnamespace = %1$u"

static const char *const tables_in_schema =
"SELECT t.relation::oid::text FROM shuttle.tables AS t JOIN pg_class AS c ON c.oid = t.relation WHERE c.relnamespace = $1";

static ObjectAddress
type_named(Node *names)
{
	ObjectAddress type;

	ObjectAddressSet(type, TypeRelationId,
					 LookupTypeNameOid(NULL, makeTypeNameFromNameList(castNode(List, names)), true));
	return type;
}

static ObjectAddress
composite_type(const RangeVar *name)
{
	Oid			relid = RangeVarGetRelid(name, NoLock, true);
	ObjectAddress type;

	ObjectAddressSet(type, TypeRelationId, OidIsValid(relid) ? get_rel_type_id(relid) : InvalidOid);
	return type;
}

static ObjectAddress
named_object(ObjectType kind, Node *object)
{
	ObjectAddress found = InvalidObjectAddress;

	switch (kind)
	{
		case OBJECT_TYPE:
		case OBJECT_DOMAIN:
		case OBJECT_DOMCONSTRAINT:
			return type_named(object);
		case OBJECT_FUNCTION:
		case OBJECT_PROCEDURE:
		case OBJECT_ROUTINE:
			ObjectAddressSet(found, ProcedureRelationId,
							 LookupFuncWithArgs(kind, castNode(ObjectWithArgs, object), true));
			return found;
		default:
			return found;
	}
}

/* What a statement changes. */
static ObjectAddress
changed_object(Node *statement)
{
	ObjectAddress found = InvalidObjectAddress;

	switch (nodeTag(statement))
	{
		case T_RenameStmt:
			switch (castNode(RenameStmt, statement)->renameType)
			{
				case OBJECT_ATTRIBUTE:
					return composite_type(castNode(RenameStmt, statement)->relation);
				case OBJECT_SCHEMA:
					ObjectAddressSet(found, NamespaceRelationId,
									 get_namespace_oid(castNode(RenameStmt, statement)->subname, true));
					return found;
				default:
					return named_object(castNode(RenameStmt, statement)->renameType,
										castNode(RenameStmt, statement)->object);
			}
		case T_AlterObjectSchemaStmt:
			return named_object(castNode(AlterObjectSchemaStmt, statement)->objectType,
								castNode(AlterObjectSchemaStmt, statement)->object);
		case T_AlterTableStmt:
			return castNode(AlterTableStmt, statement)->objtype != OBJECT_TYPE ? found :
				composite_type(castNode(AlterTableStmt, statement)->relation);
		case T_AlterEnumStmt:
			return type_named((Node *) castNode(AlterEnumStmt, statement)->typeName);
		case T_AlterDomainStmt:
			/* defaults are only known here */
			return castNode(AlterDomainStmt, statement)->subtype == 'T' ? found :
				type_named((Node *) castNode(AlterDomainStmt, statement)->typeName);
		default:
			return found;
	}
}

static void
lock_tables(const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
		LockRelationOid(lfirst_oid(cell), ShareUpdateExclusiveLock);
}

static List *
users_of(const ObjectAddress *object)
{
	List	   *users;
	ListCell   *cell;

	if (object->classId != NamespaceRelationId)
		return shuttle_needed_objects_tables(psprintf(OBJECT_QUERY, object->classId, object->objectId));
	users = shuttle_needed_objects_tables(psprintf(SCHEMA_QUERY, object->objectId));
	foreach(cell, shuttle_local_texts(tables_in_schema, object->objectId))
		users = list_append_unique_oid(users, atooid(lfirst(cell)));
	return users;
}

/* users_of(), locked as ALTER TABLE locks them: a move copies what a node needs only once. */
static List *
lock_users(const ObjectAddress *object)
{
	List	   *locked = NIL;
	List	   *users = users_of(object);

	while (list_difference_oid(users, locked) != NIL)
	{
		lock_tables(list_difference_oid(users, locked));
		locked = users;
		users = users_of(object);
	}
	return users;
}

static List *
servers_of(const List *relids)
{
	List	   *servers = NIL;
	const ListCell *cell;

	foreach(cell, relids)
	{
		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_REFERENCE)
			return shuttle_layout_nodes();
		servers = list_concat_unique_oid(servers, shuttle_table_servers(lfirst_oid(cell)));
	}
	return servers;
}

/* The names of the schemas that are searched. */
static List *
searched_schemas(void)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, fetch_search_path(false))
	{
		if (!isAnyTempNamespace(lfirst_oid(cell)))
			names = lappend(names, get_namespace_name(lfirst_oid(cell)));
	}
	return names;
}

/* These as a value of search_path. */
static char *
path_of(const List *schemas)
{
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, schemas)
		appendStringInfo(&text, "%s%s", text.len == 0 ? "" : ", ", quote_identifier(lfirst(cell)));
	return text.data;
}

/* All that is in them on nodes. */
static List *
objects_in(const List *schemas)
{
	List	   *objects = NIL;
	const ListCell *cell;

	foreach(cell, schemas)
		objects = lappend(objects, shuttle_node_owners_object("schema", lfirst(cell), quote_identifier(lfirst(cell))));
	return objects;
}

static char *
statement_text(const ShuttleDdl *ddl)
{
	const char *begin = ddl->query + Max(ddl->pstmt->stmt_location, 0);

	return ddl->pstmt->stmt_len > 0 ? pnstrdup(begin, ddl->pstmt->stmt_len) : pstrdup(begin);
}

/* Nodes' notices are turned off: this server has given the same ones. */
static char *
text_for_nodes(const char *statement, const char *schemas)
{
	char	   *body = psprintf("DECLARE old_path text := current_setting('search_path');"
								" old_messages text := current_setting('client_min_messages'); BEGIN"
								" PERFORM set_config('search_path', %s, true), set_config('client_min_messages', 'warning', true); EXECUTE %s;"
								" PERFORM pg_catalog.set_config('search_path', old_path, true), pg_catalog.set_config('client_min_messages', old_messages, true); END",
								quote_literal_cstr(schemas), quote_literal_cstr(statement));

	return psprintf("DO %s", quote_literal_cstr(body));
}

/* The checks of a domain, as statements that name all that they call with its schema. */
static List *
checks_of(const ObjectAddress *object)
{
	return object->classId != TypeRelationId ? NIL :
		shuttle_local_texts("SELECT format('ALTER DOMAIN %s ADD CONSTRAINT %I %s', contypid::regtype, conname, pg_get_constraintdef(oid))"
							" FROM pg_constraint WHERE contypid = $1 AND contype = 'c'", object->objectId);
}

/* The text among others that was not there before, or NULL. */
static char *
find_new(const List *texts, const List *before)
{
	const ListCell *cell;
	const ListCell *old;

	foreach(cell, texts)
	{
		bool		is_new = true;

		foreach(old, before)
			is_new &= strcmp(lfirst(old), lfirst(cell)) != 0;
		if (is_new)
			return lfirst(cell);
	}
	return NULL;
}

static bool
adds_check(const Node *statement)
{
	return IsA(statement, AlterDomainStmt) && ((const AlterDomainStmt *) statement)->subtype == 'C';
}

/* Plans find copies of reference tables on nodes by the schema's name. */
static void
make_copy_tables(const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_REFERENCE)
			shuttle_copy_table_make(lfirst_oid(cell), shuttle_layout_nodes());
	}
}

/* They are known by their names. */
static void
refuse_routines(const ObjectAddress *object)
{
	char	   *routine = shuttle_routine_in(object->classId, object->objectId);

	if (routine != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("moving or renaming distributed function %s is not possible", routine),
				 errhint("Take it from the nodes with shuttle.local_function() first.")));
}

/* All servers that code of users comes to; they are locked in one order. */
static void
lock_servers(const List *users)
{
	List	   *servers = NIL;
	const ListCell *cell;

	foreach(cell, users)
	{
		if (shuttle_authors_of_table(lfirst_oid(cell)) != NIL)
			servers = list_concat_unique_oid(servers, servers_of(list_make1_oid(lfirst_oid(cell))));
	}
	shuttle_reach_lock(servers, true);
}

/* True if the statement can name types and functions that nodes do not have. */
static bool
adds_needs(const Node *statement)
{
	return IsA(statement, AlterDomainStmt) || IsA(statement, AlterTableStmt);
}

/* What nodes lack of what tables need after a change of a type, or only what guards their code: the
 * statement may have changed that. */
static List *
needed_texts(const Node *statement, const ObjectAddress *object, Oid relid, const List *servers)
{
	return adds_needs(statement) ? shuttle_needed_objects_texts_but(relid, servers, object->objectId) :
		shuttle_user_code_guard(shuttle_authors_of_table(relid), servers, relid);
}

static void
add_needs(ShuttleNodeStatements *statements, const Node *statement, const ObjectAddress *object, const List *users)
{
	const ListCell *cell;

	lock_servers(users);
	foreach(cell, users)
	{
		List	   *servers = servers_of(list_make1_oid(lfirst_oid(cell)));

		shuttle_node_statements_add_texts(statements, servers, needed_texts(statement, object, lfirst_oid(cell), servers));
	}
}

/* What the statement has added must mean the same in the sessions of nodes. */
static void
refuse_types(const List *users)
{
	const ListCell *cell;

	foreach(cell, users)
	{
		Relation	rel = table_open(lfirst_oid(cell), AccessShareLock);

		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_DISTRIBUTED)
			shuttle_refusal_raise(shuttle_refusal_of_types(rel, NIL));
		shuttle_refusal_raise(shuttle_session_checks_refuse_domains(rel, NIL));
		table_close(rel, NoLock);
	}
}

static char *
owned_object(const ObjectAddress *object)
{
	bool		is_type = object->classId == TypeRelationId;

	return shuttle_node_owners_object(is_type ? "type" : "function", get_namespace_name(get_object_namespace(object)),
									  is_type ? format_type_be_qualified(object->objectId) : format_procedure_qualified(object->objectId));
}

/* schemas: where its text finds names. A type or function that it has moved is looked at afterwards. */
static void
add_statement(ShuttleNodeStatements *statements, const Node *statement, const ObjectAddress *object, const List *servers,
			  char *text, const List *schemas)
{
	if (IsA(statement, AlterTableStmt) && schemas != NIL)
		shuttle_node_statements_add_all(statements, servers, shuttle_node_owners_text(objects_in(schemas)));
	if (IsA(statement, AlterObjectSchemaStmt))
		shuttle_node_statements_add_texts(statements, servers,
										  shuttle_node_owners_schema_texts(get_namespace_oid(((const AlterObjectSchemaStmt *) statement)->newschema, false)));
	shuttle_node_statements_add_all(statements, servers, text);
	if (object->classId != NamespaceRelationId)
		shuttle_node_statements_add_all(statements, servers, shuttle_node_owners_text(list_make1(owned_object(object))));
}

void
shuttle_ddl_types_run(const ShuttleDdl *ddl)
{
	ObjectAddress object = changed_object(ddl->pstmt->utilityStmt);
	List	   *users = OidIsValid(object.objectId) ? lock_users(&object) : NIL;
	ShuttleNodeStatements *statements;
	List	   *schemas;
	List	   *checks;
	char	   *text = NULL;

	refuse_routines(&object);
	if (users == NIL)
	{
		shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
		return;
	}
	schemas = searched_schemas();
	checks = checks_of(&object);
	shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
	CommandCounterIncrement();
	if (adds_check(ddl->pstmt->utilityStmt))
		text = find_new(checks_of(&object), checks);

	refuse_types(users);

	/* what nodes would drop themselves they do not find afterwards */
	if (shuttle_ddl_is_cascade(ddl->pstmt->utilityStmt))
		shuttle_ddl_changes_send(true);
	statements = shuttle_node_definitions_create();
	add_needs(statements, ddl->pstmt->utilityStmt, &object, users);
	add_statement(statements, ddl->pstmt->utilityStmt, &object, servers_of(users),
				  text !=NULL ? text_for_nodes(text, "pg_catalog") : text_for_nodes(statement_text(ddl), path_of(schemas)), schemas);
	shuttle_node_statements_run(statements);
	if (object.classId == NamespaceRelationId)
		make_copy_tables(users);
}

const char *
shuttle_ddl_types_immutable(const char *name)
{
	return shuttle_local_text(psprintf("SELECT coalesce(array_agg(oid)::text, '{}') FROM pg_proc WHERE proname = %s AND provolatile = 'i'",
									   quote_literal_cstr(name)), InvalidOid);
}

/* Where a check is computed, and if a domain can be used at all, depends on that. */
static void
refuse_changed_functions(const char *name, const char *immutable)
{
	char	   *changed = psprintf("SELECT 'pg_proc'::regclass::oid, oid FROM pg_proc WHERE proname = %s"
								   " AND (provolatile = 'i') <> (oid = ANY (%s::oid[]))",
								   quote_literal_cstr(name), quote_literal_cstr(immutable));
	List	   *users = shuttle_needed_objects_tables(changed);

	if (users != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("changing whether function \"%s\" is immutable is not possible while table \"%s\" uses it",
						name, get_rel_name(linitial_oid(users))),
				 errdetail("Storage nodes compute with it only if it is immutable."),
				 errhint("Drop the constraint that uses it, change the function, and add the constraint again.")));
}

/* Nodes skip what they have already. */
void
shuttle_ddl_types_function(const char *name, const char *immutable)
{
	ShuttleNodeStatements *statements = shuttle_node_definitions_create();
	char	   *functions = psprintf("SELECT 'pg_proc'::regclass::oid, oid FROM pg_proc WHERE proname = %s"
									 " AND pg_has_role(proowner, 'USAGE')",
									 quote_literal_cstr(name));
	List	   *users = shuttle_needed_objects_tables(functions);
	ListCell   *cell;

	refuse_changed_functions(name, immutable);
	lock_tables(users);
	shuttle_routines_follow(name);
	foreach(cell, users)
	{
		List	   *servers = servers_of(list_make1_oid(lfirst_oid(cell)));

		shuttle_node_statements_add_texts(statements, servers, shuttle_needed_objects_texts(lfirst_oid(cell), servers));
	}
	shuttle_node_statements_run(statements);
}

/*-------------------------------------------------------------------------
 * ddl_constraints.c
 *	  SET CONSTRAINTS, and comments on constraints, that nodes alone have.
 *
 * These are foreign keys of distributed tables, and keys of entries of deferrable global
 * indexes. A node that joins the transaction later would not know what was set, so all nodes
 * are told at once.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_catalog.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/ddl/ddl.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"

/* ---- SET CONSTRAINTS */

/* The schemas in which a name is looked for, as an array of names, in that order. */
static char *
schemas_of(const RangeVar *name)
{
	List	   *names = NIL;
	List	   *path;
	ListCell   *cell;
	StringInfoData text;

	if (name->schemaname != NULL)
		names = list_make1(name->schemaname);
	else
	{
		path = fetch_search_path(true);
		foreach(cell, path)
			names = lappend(names, get_namespace_name(lfirst_oid(cell)));
	}
	initStringInfo(&text);
	appendStringInfoString(&text, "ARRAY[");
	foreach(cell, names)
		appendStringInfo(&text, "%s%s", foreach_current_index(cell) > 0 ? ", " : "",
						 quote_literal_cstr(lfirst(cell)));
	appendStringInfoString(&text, "]::name[]");
	return text.data;
}

/* The query for the first schema that has a constraint of that name. condition: on
 * pg_constraint AS c. */
static char *
find_query(const RangeVar *name, const char *condition)
{
	const char *schemas = schemas_of(name);

	return psprintf("SELECT n.nspname::text FROM pg_catalog.pg_constraint AS c"
					" JOIN pg_catalog.pg_namespace AS n ON n.oid = c.connamespace"
					" WHERE c.conname = %s AND n.nspname = ANY (%s) AND %s"
					" ORDER BY pg_catalog.array_position(%s, n.nspname) LIMIT 1",
					quote_literal_cstr(name->relname), schemas, condition, schemas);
}

/* Adds the statements for entries of global indexes whose constraints have that name, with its schema. Returns false if
 * there are none. */
static bool
set_entries(ShuttleNodeStatements *statements, const RangeVar *name, const char *mode)
{
	bool		found = false;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf("SELECT c.oid::text FROM pg_constraint AS c JOIN pg_namespace AS n ON n.oid = c.connamespace"
											   " WHERE conname = %s AND nspname = %s AND contype IN ('p', 'u')",
											   quote_literal_cstr(name->relname), quote_literal_cstr(name->schemaname)), InvalidOid))
	{
		Oid			entries;
		char	   *constraint = shuttle_global_entries_constraint(atooid(lfirst(cell)), &entries);

		if (constraint == NULL)
			continue;
		found = true;
		shuttle_node_statements_add_all(statements, shuttle_table_servers(entries),
										psprintf("SET CONSTRAINTS %s %s", constraint, mode));
	}
	return found;
}

/* Adds the statement for the nodes that have the constraint. Errors: 42704 if none has it. */
static void
set_on_nodes(ShuttleNodeStatements *statements, const RangeVar *name, const char *mode)
{
	const char *query = find_query(name, "true");
	bool		found = false;
	ListCell   *cell;

	foreach(cell, shuttle_layout_nodes())
	{
		Oid			serverid = lfirst_oid(cell);
		List	   *rows = shuttle_node_rows(shuttle_connection_get(serverid, GetUserId()), query, 1, InvalidOid);

		if (rows == NIL)
			continue;
		found = true;
		shuttle_node_statements_add(statements, serverid,
									psprintf("SET CONSTRAINTS %s %s",
											 quote_qualified_identifier(((char **) linitial(rows))[0], name->relname),
											 mode));
	}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("constraint \"%s\" does not exist", name->relname)));
}

/* Adds the statements for the keys of that name, with its schema, and for those of partitions, which are set with the
 * partitioned table's and have other names. Returns true if a distributed table has one. */
static bool
set_keys(ShuttleNodeStatements *statements, const RangeVar *name, const char *mode)
{
	bool		found = false;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf("WITH RECURSIVE k AS (SELECT c.oid FROM pg_constraint AS c JOIN pg_namespace AS n ON n.oid = c.connamespace"
											   " WHERE c.conname = %s AND n.nspname = %s AND c.contype <> 'f'"
											   " UNION SELECT c.oid FROM pg_constraint AS c JOIN k ON c.conparentid = k.oid)"
											   " SELECT format('%%I.%%I', n.nspname, c.conname) FROM k JOIN pg_constraint AS c ON c.oid = k.oid"
											   " JOIN pg_namespace AS n ON n.oid = c.connamespace"
											   " WHERE c.conrelid IN (SELECT relation FROM shuttle.tables WHERE kind = 'distributed')",
											   quote_literal_cstr(name->relname), quote_literal_cstr(name->schemaname)), InvalidOid))
	{
		set_on_nodes(statements, makeRangeVarFromNameList(shuttle_qualified_names(lfirst(cell))), mode);
		found = true;
	}
	return found;
}

/* Foreign keys that this server checks. */
static void
set_here(const RangeVar *name, bool deferred)
{
	char	   *schema = shuttle_local_text(find_query(name, "true"), InvalidOid);
	char	   *query;
	ListCell   *cell;

	if (schema == NULL)
		return;
	query = psprintf("SELECT c.oid::text FROM pg_constraint AS c JOIN pg_namespace AS n ON n.oid = c.connamespace"
					 " WHERE conname = %s AND nspname = %s AND contype = 'f'",
					 quote_literal_cstr(name->relname), quote_literal_cstr(schema));
	foreach(cell, shuttle_local_texts(query, InvalidOid))
		shuttle_foreign_key_set(atooid(lfirst(cell)), deferred);
}

/* Constraints of copies stay deferred: this server checks the rows. */
static void
defer_copies(ShuttleNodeStatements *statements)
{
	char	   *names = shuttle_local_text("SELECT pg_catalog.string_agg(pg_catalog.format('%I.%I', n.nspname, c.conname), ', ')"
										   " FROM pg_catalog.pg_constraint AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.connamespace"
										   " WHERE c.contype = 'u' AND c.condeferrable AND c.conrelid IN"
										   " (SELECT relation FROM shuttle.tables WHERE kind = 'reference')", InvalidOid);

	if (names != NULL)
		shuttle_node_statements_add_all(statements, shuttle_layout_nodes(),
										psprintf("SET CONSTRAINTS %s DEFERRED", names));
}

void
shuttle_ddl_set_constraints(const ShuttleDdl *ddl)
{
	ConstraintsSetStmt *statement = copyObject(castNode(ConstraintsSetStmt, ddl->pstmt->utilityStmt));
	const char *mode = statement->deferred ? "DEFERRED" : "IMMEDIATE";
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	bool		all = statement->constraints == NIL;
	bool		reaches_copies = all;
	ListCell   *cell;

	/*
	 * outside of a block core warns that it does nothing, and looks for the
	 * names
	 */
	if (all && !IsInTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL))
	{
		shuttle_ddl_run_here(ddl, (Node *) statement);
		return;
	}
	if (all)
		shuttle_node_statements_add_all(statements, shuttle_layout_nodes(),
										psprintf("SET CONSTRAINTS ALL %s", mode));
	foreach(cell, statement->constraints)
	{
		RangeVar   *name = lfirst_node(RangeVar, cell);
		RangeVar	here = *name;
		bool		is_here;

		/* of schemas in the path, only the first one that has the name counts */
		here.schemaname = shuttle_local_text(find_query(name, "true"), InvalidOid);
		is_here = here.schemaname != NULL;

		/* keys of distributed tables are here, too, and checked by nodes */
		if (!is_here)
		{
			set_on_nodes(statements, name, mode);
			reaches_copies = true;
		}
		else if (!set_entries(statements, &here, mode))
			reaches_copies |= set_keys(statements, &here, mode);
		if (!is_here)
			statement->constraints = foreach_delete_current(statement->constraints, cell);
	}
	if (all || statement->constraints != NIL)
		shuttle_ddl_run_here(ddl, (Node *) statement);
	else
		WarnNoTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL, "SET CONSTRAINTS");
	if (reaches_copies && !statement->deferred)
		defer_copies(statements);
	shuttle_node_statements_run(statements);
	if (all)
		shuttle_foreign_key_set(InvalidOid, statement->deferred);
	foreach(cell, statement->constraints)
		set_here(lfirst_node(RangeVar, cell), statement->deferred);
}

/* ---- comments */

void
shuttle_ddl_comment(const ShuttleDdl *ddl)
{
	const CommentStmt *statement = castNode(CommentStmt, ddl->pstmt->utilityStmt);
	const char *name = strVal(llast(castNode(List, statement->object)));

	if (shuttle_ddl_constraint_is_here(ddl->relid, name))
		shuttle_ddl_run_here(ddl, (Node *) statement);
	else
		shuttle_ddl_on_nodes(ddl->relid,
							 list_make1(psprintf("COMMENT ON CONSTRAINT %s ON %s IS %s",
												 quote_identifier(name), shuttle_local_name(ddl->relid),
												 statement->comment == NULL ? "NULL" :
												 quote_literal_cstr(statement->comment))));
}

/*-------------------------------------------------------------------------
 * ddl_schema.c
 *	  ALTER TABLE ... SET SCHEMA of distributed and reference tables.
 *
 * On nodes the tablets are in the schema of their table, so they move with it.
 * Here they stay where they are, and their options name the other schema.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/tablet_names.h"
#include "tablets/ddl/ddl.h"
#include "tablets/distribute/distribute.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/node_owners.h"

/* Moves a table, and the tablets that a node has of it, traps included. */
static char *
text_for_nodes(const char *table, const char *schema)
{
	const char *literal = quote_literal_cstr(quote_identifier(schema));
	char	   *body = psprintf("DECLARE t oid := %s::regclass; part regclass; BEGIN"
								" FOR part IN SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = t LOOP"
								" EXECUTE pg_catalog.format('ALTER TABLE %%s SET SCHEMA %%s', part, %s); END LOOP;"
								" EXECUTE pg_catalog.format('ALTER TABLE %%s SET SCHEMA %%s', t::regclass, %s); END",
								quote_literal_cstr(table), literal, literal);

	return psprintf("DO %s", quote_literal_cstr(body));
}

void
shuttle_ddl_set_schema(const ShuttleDdl *ddl)
{
	bool		are_copies = shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_REFERENCE;
	List	   *servers = are_copies ? shuttle_layout_nodes() : shuttle_table_servers(ddl->relid);
	char	   *before = shuttle_local_name(ddl->relid);
	Oid			old_schema = get_rel_namespace(ddl->relid);
	ShuttleNodeStatements *statements;
	char	   *schema;

	if (shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_PARTITIONED)
		shuttle_ddl_refuse(ddl->relid, ddl->name, "Bring the table back with shuttle.local_table() before.");
	shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
	CommandCounterIncrement();
	if (get_rel_namespace(ddl->relid) == old_schema)
		return;
	schema = get_namespace_name(get_rel_namespace(ddl->relid));
	statements = shuttle_node_definitions_create();
	shuttle_node_statements_add_texts(statements, servers, shuttle_node_owners_schema_texts(get_rel_namespace(ddl->relid)));
	shuttle_node_statements_add_all(statements, servers, text_for_nodes(before, schema));
	shuttle_node_statements_run(statements);
	if (are_copies)
		shuttle_copy_table_make(ddl->relid, servers);
	else
	{
		shuttle_tablet_follow_schema(schema);
		CommandCounterIncrement();

		/* tablets of another table may have had these names there */
		shuttle_tablet_names_give(ddl->relid, statements);
		shuttle_node_statements_run(statements);
		shuttle_publications_warn(ddl->relid);
	}
}

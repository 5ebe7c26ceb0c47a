/*-------------------------------------------------------------------------
 * ddl_grant.c
 *	  GRANT ON ALL TABLES IN SCHEMA, which gives no privileges on tablets.
 *
 * They would lead past the privileges and policies of the table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "utils/builtins.h"

#include "tablets/ddl/ddl.h"
#include "tablets/tablets_internal.h"

/* Tablets of a schema. */
static const char *const tablets_query =
"SELECT c.oid::text FROM shuttle.tables JOIN pg_inherits ON inhparent = relation JOIN pg_class AS c ON c.oid = inhrelid"
" WHERE c.relnamespace = $1";

void
shuttle_ddl_revoke_in_schemas(const GrantStmt *statement)
{
	ListCell   *cell;
	ListCell   *tablet;

	CommandCounterIncrement();
	foreach(cell, statement->objects)
	{
		foreach(tablet, shuttle_local_texts(tablets_query, get_namespace_oid(strVal(lfirst(cell)), false)))
			shuttle_local_revoke(atooid(lfirst(tablet)));
	}
}

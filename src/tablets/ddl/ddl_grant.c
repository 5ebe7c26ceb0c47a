/*-------------------------------------------------------------------------
 * ddl_grant.c
 *	  GRANT, which gives no privileges on tablets.
 *
 * They would lead past the privileges and policies of the table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "utils/builtins.h"

#include "cluster/shuttle_cluster.h"
#include "tablets/ddl/ddl.h"
#include "tablets/tablets_internal.h"

/* Tablets of a schema. */
static const char *const tablets_query =
"SELECT c.oid::text FROM shuttle.tables JOIN pg_inherits ON inhparent = relation JOIN pg_class AS c ON c.oid = inhrelid"
" WHERE c.relnamespace = $1";

static void
refuse_tablets(const GrantStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->objects)
	{
		ShuttleTableKind kind;
		Oid			relid = shuttle_ddl_find(lfirst_node(RangeVar, cell), &kind);

		if (kind == SHUTTLE_TABLE_TABLET)
			shuttle_ddl_refuse_tablet(relid);
	}
}

static void
revoke_in_schemas(const GrantStmt *statement)
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

void
shuttle_ddl_grant(const ShuttleDdl *ddl)
{
	const GrantStmt *statement = castNode(GrantStmt, ddl->pstmt->utilityStmt);
	bool		is_of_tables = statement->is_grant && statement->objtype == OBJECT_TABLE &&
		OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES));

	if (is_of_tables && statement->targtype == ACL_TARGET_OBJECT)
		refuse_tablets(statement);
	shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
	if (is_of_tables && statement->targtype == ACL_TARGET_ALL_IN_SCHEMA)
		revoke_in_schemas(statement);
}

/*-------------------------------------------------------------------------
 * ddl_truncate.c
 *	  TRUNCATE ... CASCADE of distributed and reference tables.
 *
 * Foreign keys of distributed tables are on nodes only, so core does not find the
 * tables that refer to a table. We ask the nodes, and add them to the statement:
 * core then checks privileges on them, and fires their triggers.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/ddl/ddl.h"
#include "tablets/shuttle_tablets.h"

/* $1 is the table; the keys of tablets are left out. */
static const char *const referring_query =
"WITH RECURSIVE t (relid) AS (SELECT $1::oid UNION SELECT k.conrelid FROM t JOIN pg_constraint AS k"
" ON k.confrelid = t.relid AND k.contype = 'f' JOIN pg_class AS c ON c.oid = k.conrelid AND NOT c.relispartition)"
" SELECT n.nspname, c.relname FROM t JOIN pg_class AS c ON c.oid = t.relid JOIN pg_namespace AS n ON n.oid = c.relnamespace"
" ORDER BY 1, 2";

/* Adds tables that refer to a table on one of its nodes, if they are ours. */
static void
add_referring(TruncateStmt *statement, List **relids, Oid relid, ShuttleNode *node)
{
	ListCell   *cell;

	foreach(cell, shuttle_node_rows(node, referring_query, 2, relid))
	{
		char	  **names = lfirst(cell);
		RangeVar   *name = makeRangeVar(names[0], names[1], -1);
		ShuttleTableKind kind;
		Oid			found = shuttle_ddl_find(name, &kind);

		if (kind != SHUTTLE_TABLE_DISTRIBUTED || list_member_oid(*relids, found))
			continue;
		ereport(NOTICE,
				(errmsg("truncate cascades to table \"%s\"", get_rel_name(found))));
		statement->relations = lappend(statement->relations, name);
		*relids = lappend_oid(*relids, found);
	}
}

/* Adds distributed tables that refer to one of the tables by keys that this server checks: core
 * would add the table without its tablets. */
static void
add_referring_here(TruncateStmt *statement, List *relids)
{
	static const char *const query =
		"SELECT DISTINCT conrelid::oid::text FROM pg_constraint WHERE contype = 'f' AND confrelid = $1 AND conparentid = 0";
	List	   *seen = list_copy(relids);
	ListCell   *cell;

	for (int i = 0; i < list_length(seen); i++)
	{
		foreach(cell, shuttle_local_texts(query, list_nth_oid(seen, i)))
		{
			Oid			relid = atooid(lfirst(cell));

			if (list_member_oid(seen, relid))
				continue;
			seen = lappend_oid(seen, relid);
			if (shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED)
				continue;
			ereport(NOTICE,
					(errmsg("truncate cascades to table \"%s\"", get_rel_name(relid))));
			statement->relations = lappend(statement->relations,
										   makeRangeVar(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), -1));
		}
	}
}

/* Core refuses what the user may not truncate, before nodes are asked. */
static bool
may_truncate(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_TRUNCATE) == ACLCHECK_OK;
}

void
shuttle_ddl_truncate(const ShuttleDdl *ddl)
{
	TruncateStmt *statement = copyObject(castNode(TruncateStmt, ddl->pstmt->utilityStmt));
	int			nnamed = list_length(statement->relations);
	List	   *relids = NIL;
	ListCell   *cell;

	foreach(cell, statement->relations)
	{
		RangeVar   *name = lfirst_node(RangeVar, cell);

		relids = lappend_oid(relids, RangeVarGetRelid(name, NoLock, true));
		if (OidIsValid(llast_oid(relids)) && shuttle_table_kind(llast_oid(relids)) == SHUTTLE_TABLE_DISTRIBUTED)
			name->inh = true;	/* ONLY leaves out nothing of the table */
	}
	for (int i = 0; statement->behavior == DROP_CASCADE && i < nnamed; i++)
	{
		Oid			relid = list_nth_oid(relids, i);
		ShuttleTableKind kind = OidIsValid(relid) ? shuttle_table_kind(relid) : SHUTTLE_TABLE_OTHER;

		if ((kind != SHUTTLE_TABLE_DISTRIBUTED && kind != SHUTTLE_TABLE_REFERENCE) || !may_truncate(relid))
			continue;
		foreach(cell, kind == SHUTTLE_TABLE_REFERENCE ? shuttle_layout_nodes() : shuttle_table_servers(relid))
			add_referring(statement, &relids, relid, shuttle_connection_get(lfirst_oid(cell), GetUserId()));
	}
	if (statement->behavior == DROP_CASCADE && !list_member_oid(relids, InvalidOid))
		add_referring_here(statement, relids);
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

/*-------------------------------------------------------------------------
 * foreign_table.c
 *	  TRUNCATE of foreign tables.
 *
 * It runs on the session's one connection to the node, so that it sees and
 * waits for nothing that the transaction did itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "executor/shuttle_executor.h"
#include "executor/write_internal.h"

static void exec_foreign_truncate(List *rels, DropBehavior behavior,
								  bool restart_seqs);

void
shuttle_foreign_table_fill(FdwRoutine *routine)
{
	routine->ExecForeignTruncate = exec_foreign_truncate;
}

/* All tables are of one server. */
static void
exec_foreign_truncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	StringInfoData sql;
	Oid			serverid = InvalidOid;
	ShuttleNode *node;
	ListCell   *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "TRUNCATE ");
	foreach(cell, rels)
	{
		Relation	rel = lfirst(cell);

		shuttle_refuse_reference_write(RelationGetRelid(rel));
		if (!shuttle_option_bool(shuttle_foreign_options(RelationGetRelid(rel)),
								 "truncatable", true))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("foreign table \"%s\" does not allow truncates",
							RelationGetRelationName(rel))));
		if (foreach_current_index(cell) > 0)
			appendStringInfoString(&sql, ", ");
		shuttle_append_remote_table(&sql, rel);
		serverid = GetForeignServerIdByRelId(RelationGetRelid(rel));
	}
	appendStringInfoString(&sql, restart_seqs ? " RESTART IDENTITY" : " CONTINUE IDENTITY");
	appendStringInfoString(&sql, behavior == DROP_CASCADE ? " CASCADE" : " RESTRICT");

	node = shuttle_node_get(serverid, GetUserId());
	shuttle_write_flush_others(node, NULL);
	shuttle_query(node, sql.data, SHUTTLE_WRITES, 0, NULL, NULL);
	pfree(sql.data);
}

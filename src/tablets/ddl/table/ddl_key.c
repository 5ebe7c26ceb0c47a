/*-------------------------------------------------------------------------
 * ddl_key.c
 *	  ALTER COLUMN TYPE and DROP COLUMN of the distribution column, and what else
 *	  core does for ordinary tables only.
 *
 * Values of another type have other hashes, and core does not change a partition key.
 * So, in one transaction, the table is brought back, changed as any ordinary one, and
 * distributed again: over as many tablets, and the same nodes. Without its distribution
 * column it is distributed by the first column of its next key; without such a key
 * it stays here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/ddl/ddl.h"
#include "tablets/distribute/distribute.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

static bool
adds_identity(Oid relid, const AlterTableCmd *command)
{
	const ListCell *cell;

	if (SHUTTLE_PARTITIONS_HAVE_IDENTITY || command->subtype != AT_AddColumn)
		return false;
	if (command->missing_ok && get_attnum(relid, castNode(ColumnDef, command->def)->colname) != InvalidAttrNumber)
		return false;
	foreach(cell, castNode(ColumnDef, command->def)->constraints)
	{
		if (lfirst_node(Constraint, cell)->contype == CONSTR_IDENTITY)
			return true;
	}
	return false;
}

/* drops: set if the column is dropped */
static bool
wants_no_tablets(Oid relid, const AlterTableStmt *statement, const char *column, bool *drops)
{
	bool		wants = false;
	const ListCell *cell;

	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (adds_identity(relid, command))
			wants = true;
		else if (command->subtype == AT_AlterColumnType && strcmp(command->name, column) == 0)
			wants = true;
		else if (command->subtype == AT_DropColumn && strcmp(command->name, column) == 0)
			wants = *drops = true;
	}
	return wants;
}

/* The first column of the primary key, or else of another unique one. */
static char *
next_key(Oid relid)
{
	return shuttle_local_text("SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
							  " WHERE i.indrelid = $1 AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indimmediate"
							  " ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1", relid);
}

/* What distributes the table now; NULL: nothing. */
static const char *
key_after_drop(Oid relid, const char *dropped)
{
	const char *key = next_key(relid);

	if (key == NULL)
		ereport(NOTICE,
				(errmsg("table \"%s\" is on the query node now, as it has lost its distribution column \"%s\" and has no other key",
						get_rel_name(relid), dropped),
				 errhint("shuttle.distribute_table() distributes it by another column.")));
	else
		ereport(NOTICE,
				(errmsg("table \"%s\" is distributed by column \"%s\" now, as it has lost column \"%s\"",
						get_rel_name(relid), key, dropped)));
	return key;
}

bool
shuttle_ddl_key_change(const ShuttleDdl *ddl)
{
	const AlterTableStmt *statement = castNode(AlterTableStmt, ddl->pstmt->utilityStmt);
	bool		drops = false;
	const char *key;
	List	   *servers;
	List	   *kept;
	int			ntablets;

	if (shuttle_table_kind(ddl->relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return false;
	key = shuttle_ddl_key(ddl->relid);
	if (!wants_no_tablets(ddl->relid, statement, key, &drops))
		return false;
	servers = shuttle_table_servers(ddl->relid);
	ntablets = shuttle_layout_of(ddl->relid)->ntablets;
	kept = drops ? NIL : shuttle_ddl_take_changed_keys(ddl->relid, statement);
	shuttle_bring_back_for_change(ddl->relid);
	ProcessUtility(ddl->pstmt, ddl->query, ddl->is_read_only, ddl->context, ddl->params, ddl->env,
				   ddl->dest, ddl->completion);
	CommandCounterIncrement();
	if (drops)
		key = key_after_drop(ddl->relid, key);
	if (key != NULL)
		shuttle_distribute_over(ddl->relid, key, ntablets, servers, InvalidOid);
	shuttle_foreign_key_kept_give(kept, true);
	return true;
}

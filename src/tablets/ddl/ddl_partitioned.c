/*-------------------------------------------------------------------------
 * ddl_partitioned.c
 *	  Statements on a partitioned table whose partitions are distributed tables.
 *
 * Core runs them here, for all partitions and their tablets. What has changed of the
 * distributed tables is compared and sent to nodes, as for statements on these
 * (ddl_changes.c). What is not listed is refused.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/partitions.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/distribute/partition.h"
#include "tablets/shuttle_tablets.h"

/* The subcommands of a statement, by how they are run. */
typedef struct Commands
{
	Oid			relid;
	List	   *normal;			/* of AlterTableCmd */
	List	   *keys;			/* of AlterTableCmd: those that add a unique
								 * index */
} Commands;

/* What core does to all partitions. */
static const AlterTableType normal_types[] = {
	AT_SetNotNull, AT_DropNotNull, AT_DropExpression, AT_DropConstraint, AT_ValidateConstraint,
	AT_ChangeOwner, AT_ColumnDefault, AT_AddIdentity, AT_SetIdentity, AT_DropIdentity,
	AT_SetStatistics, AT_SetOptions, AT_ResetOptions, AT_EnableTrig, AT_EnableAlwaysTrig,
	AT_EnableReplicaTrig, AT_DisableTrig, AT_EnableTrigAll, AT_DisableTrigAll, AT_EnableTrigUser,
	AT_DisableTrigUser, AT_EnableRowSecurity, AT_DisableRowSecurity, AT_ForceRowSecurity,
	AT_NoForceRowSecurity,
};

void
shuttle_ddl_note_partitions(Oid relid, LOCKMODE mode)
{
	ListCell   *cell;

	foreach(cell, shuttle_partitions_all(relid, mode))
	{
		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_DISTRIBUTED)
			shuttle_ddl_changes_note(lfirst_oid(cell));
	}
}

/* ---- unique indexes and others */

/* Runs a statement that makes indexes of the table alone; then partitions get them. */
static void
run_and_spread(const ShuttleDdl *ddl, Node *statement)
{
	List	   *before = shuttle_partition_index_list(ddl->relid);
	ListCell   *cell;

	shuttle_ddl_run_here(ddl, statement);
	CommandCounterIncrement();
	foreach(cell, list_difference_oid(shuttle_partition_index_list(ddl->relid), before))
		shuttle_partition_spread_index(lfirst_oid(cell));
}

/* columns: names or IndexElem */
static void
check_unique(Oid relid, const char *what, const List *columns)
{
	const char *key = shuttle_partitions_key(relid);
	const ListCell *cell;

	foreach(cell, columns)
	{
		const Node *column = lfirst(cell);
		const char *name = IsA(column, String) ? ((const String *) column)->sval : ((const IndexElem *) column)->name;

		if (name != NULL && strcmp(name, key) == 0)
			return;
	}
	shuttle_ddl_refuse(relid, psprintf("%s without the distribution column \"%s\"", what, key),
					   "Add the column to the key.");
}

static void
create_index(const ShuttleDdl *ddl)
{
	IndexStmt  *statement = copyObject(castNode(IndexStmt, ddl->pstmt->utilityStmt));

	if (statement->concurrent || !statement->relation->inh)
	{
		shuttle_ddl_run_here(ddl, (Node *) statement);	/* core refuses
														 * CONCURRENTLY */
		return;
	}
	if (statement->unique)
		check_unique(ddl->relid, "a unique index", statement->indexParams);
	shuttle_ddl_note_partitions(ddl->relid, ShareLock);
	statement->relation->inh = false;
	run_and_spread(ddl, (Node *) statement);
}

static void
alter_index(const ShuttleDdl *ddl, AlterTableStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		AlterTableType type = lfirst_node(AlterTableCmd, cell)->subtype;

		if (type != AT_SetStatistics && type != AT_AttachPartition)
			shuttle_ddl_refuse(ddl->relid, "ALTER INDEX", "Drop the index and create it as it should be.");
	}
	shuttle_ddl_run_here(ddl, (Node *) statement);
	CommandCounterIncrement();
	shuttle_partition_validate_indexes(ddl->relid);
}

/* ---- ALTER TABLE */

static void
sort_constraint(Commands *commands, AlterTableCmd *command)
{
	const Constraint *constraint = castNode(Constraint, command->def);

	if (constraint->indexname != NULL)
		shuttle_ddl_refuse(commands->relid, "ADD CONSTRAINT ... USING INDEX",
						   "Drop the index, and add the constraint with its columns.");
	switch (constraint->contype)
	{
		case CONSTR_PRIMARY:
			commands->normal = list_concat(commands->normal, shuttle_ddl_not_null(constraint->keys));
			commands->keys = lappend(commands->keys, command);
			break;
		case CONSTR_UNIQUE:
			commands->keys = lappend(commands->keys, command);
			break;
		case CONSTR_FOREIGN:
			shuttle_ddl_refuse(commands->relid, "a foreign key of or to partitions",
							   "Partitioned tables with foreign keys cannot be distributed yet.");
			break;
		case CONSTR_EXCLUSION:
			shuttle_ddl_refuse(commands->relid, "ADD CONSTRAINT ... EXCLUDE",
							   "Storage nodes check their own rows only; use a unique constraint with the distribution column.");
			break;
		default:
			commands->normal = lappend(commands->normal, command);
			return;
	}
	check_unique(commands->relid, "a unique constraint", constraint->keys);
}

static void
sort_new_column(Commands *commands, AlterTableCmd *command)
{
	const ColumnDef *column = castNode(ColumnDef, command->def);
	ListCell   *cell;

	foreach(cell, column->constraints)
	{
		switch (lfirst_node(Constraint, cell)->contype)
		{
			case CONSTR_PRIMARY:
			case CONSTR_UNIQUE:
			case CONSTR_FOREIGN:
				shuttle_ddl_refuse(commands->relid, "ADD COLUMN with a key",
								   "Add the column, and then a constraint with the distribution column.");
				break;
			case CONSTR_IDENTITY:
				if (!SHUTTLE_PARTITIONS_HAVE_IDENTITY)
					shuttle_ddl_refuse(commands->relid, "ADD COLUMN ... GENERATED AS IDENTITY",
									   "Add a column of type serial, bigserial or smallserial.");
				break;
			default:
				break;
		}
	}
	commands->normal = lappend(commands->normal, command);
}

/* Core would make unique indexes of the column again for tablets, too. */
static void
sort_type(Commands *commands, AlterTableCmd *command)
{
	static const char *const query =
		"SELECT '' FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
		" WHERE i.indrelid = $1 AND i.indisunique AND a.attname = %s LIMIT 1";
	ListCell   *cell;

	if (castNode(ColumnDef, command->def)->raw_default != NULL)
		shuttle_ddl_refuse(commands->relid, "ALTER COLUMN ... TYPE ... USING",
						   "Add a column of the new type, update it, drop the old one, and rename it.");
	foreach(cell, shuttle_partitions_all(commands->relid, NoLock))
	{
		if (shuttle_local_text(psprintf(query, quote_literal_cstr(command->name)), lfirst_oid(cell)) != NULL)
			shuttle_ddl_refuse(commands->relid, "ALTER COLUMN ... TYPE of a column of a unique index",
							   "Drop the key or index, and add it again behind the change.");
	}
	commands->normal = lappend(commands->normal, command);
}

static void
sort_command(Commands *commands, AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_AddColumn:
			sort_new_column(commands, command);
			return;
		case AT_DropColumn:
			if (strcmp(command->name, shuttle_partitions_key(commands->relid)) == 0)
				shuttle_ddl_refuse(commands->relid, "DROP COLUMN of the distribution column",
								   "Bring the table back with shuttle.local_table(), change it, and distribute it again.");
			commands->normal = lappend(commands->normal, command);
			return;
		case AT_AlterColumnType:
			sort_type(commands, command);
			return;
		case AT_AddConstraint:
			sort_constraint(commands, command);
			return;
		default:
			break;
	}
	for (int i = 0; i < lengthof(normal_types); i++)
	{
		if (normal_types[i] == command->subtype)
		{
			commands->normal = lappend(commands->normal, command);
			return;
		}
	}
	shuttle_ddl_refuse(commands->relid, "this form of ALTER TABLE",
					   "Name its partitions, or bring the table back with shuttle.local_table(), change it, and distribute it again.");
}

static void
run_commands(const ShuttleDdl *ddl, const Commands *commands)
{
	AlterTableStmt *statement = copyObject(castNode(AlterTableStmt, ddl->pstmt->utilityStmt));
	bool		is_only = !statement->relation->inh;
	ListCell   *cell;

	if (commands->normal != NIL)
	{
		statement->cmds = commands->normal;
		shuttle_ddl_run_here(ddl, copyObject((Node *) statement));
		CommandCounterIncrement();
	}
	statement->relation->inh = false;
	foreach(cell, commands->keys)
	{
		statement->cmds = list_make1(lfirst(cell));
		if (is_only)
			shuttle_ddl_run_here(ddl, copyObject((Node *) statement));
		else
			run_and_spread(ddl, copyObject((Node *) statement));
	}
}

static void
alter_table(const ShuttleDdl *ddl)
{
	AlterTableStmt *statement = copyObject(castNode(AlterTableStmt, ddl->pstmt->utilityStmt));
	Commands	commands = {.relid = ddl->relid};
	ListCell   *cell;

	if (ddl->targetid != ddl->relid)
	{
		alter_index(ddl, statement);
		return;
	}
	switch (linitial_node(AlterTableCmd, statement->cmds)->subtype)
	{
		case AT_AttachPartition:
			shuttle_ddl_attach(ddl);
			return;
		case AT_DetachPartition:
			shuttle_ddl_detach(ddl);
			return;
		default:
			break;
	}
	shuttle_ddl_note_partitions(ddl->relid, AccessExclusiveLock);
	foreach(cell, statement->cmds)
		sort_command(&commands, lfirst_node(AlterTableCmd, cell));
	run_commands(ddl, &commands);
}

static void
rename_part(const ShuttleDdl *ddl)
{
	RenameStmt *statement = copyObject(castNode(RenameStmt, ddl->pstmt->utilityStmt));
	bool		is_key = statement->renameType == OBJECT_COLUMN &&
		strcmp(statement->subname, shuttle_partitions_key(ddl->relid)) == 0;
	ListCell   *cell;

	shuttle_ddl_note_partitions(ddl->relid, AccessExclusiveLock);
	shuttle_ddl_run_here(ddl, (Node *) statement);
	CommandCounterIncrement();
	foreach(cell, is_key ? shuttle_partitions_all(ddl->relid, NoLock) : NIL)
	{
		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_PARTITIONED)
			shuttle_partitions_rename_key(lfirst_oid(cell), statement->newname);
	}
}

bool
shuttle_ddl_partitioned_run(const ShuttleDdl *ddl)
{
	switch (nodeTag(ddl->pstmt->utilityStmt))
	{
		case T_AlterTableStmt:
			alter_table(ddl);
			return true;
		case T_RenameStmt:
			rename_part(ddl);
			return true;
		case T_IndexStmt:
			create_index(ddl);
			return true;
		case T_ReindexStmt:
			shuttle_ddl_refuse(ddl->relid, "REINDEX", "Name its partitions.");
			return true;
		case T_CreateStmt:
		case T_CreateForeignTableStmt:	/* ddl_create.c distributes the
										 * partition */
		case T_CommentStmt:
			shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
			return true;
		default:
			return false;
	}
}

/*-------------------------------------------------------------------------
 * ddl_table.c
 *	  ALTER TABLE and ALTER ... RENAME of distributed tables.
 *
 * The subcommands of a statement are run in up to four parts:
 *
 * 1. Unique constraints and indexes of columns that change their type are
 *	  dropped here, as core would make them anew for partitions too.
 * 2. Core runs the statement without what follows. Types that it would not convert
 *	  to by itself are changed while the table has no tablets (ddl_using.c).
 * 3. Keys are added with ONLY, as core refuses them for foreign partitions.
 *	  They are not valid here, but are known and shown.
 * 4. Foreign keys exist on nodes only: nodes add, check and drop them.
 *
 * Then nodes are sent what has changed (ddl_changes.c), before part 4.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/ddl/ddl.h"
#include "tablets/key_partners.h"
#include "tablets/reference/copies.h"

typedef struct AlterTable
{
	const ShuttleDdl *ddl;
	Oid			relid;
	bool		are_copies;		/* it is a reference table, and ordinary here */
	bool		keeps_triggers; /* those that change its copies */
	List	   *normal;			/* of AlterTableCmd */
	List	   *explicit;		/* of AlterTableCmd: types that core takes
								 * without tablets only */
	List	   *keys;			/* of AlterTableCmd, to be run with ONLY */
	List	   *set_aside;		/* statements that make unique indexes again */
	List	   *foreign_keys;	/* of Constraint */
	List	   *on_nodes;		/* statements */
	List	   *for_tablets;	/* statements, run after all changes */
} AlterTable;

/* A subcommand. */
typedef struct CommandRule
{
	AlterTableType type;
	void		(*sort) (AlterTable *alter, AlterTableCmd *command);	/* NULL: core runs it */
	const char *refused;		/* as the user writes it; NULL: not refused */
	const char *instead;
} CommandRule;

static void sort_new_column(AlterTable *alter, AlterTableCmd *command);
static void sort_old_column(AlterTable *alter, AlterTableCmd *command);
static void sort_type(AlterTable *alter, AlterTableCmd *command);
static void sort_triggers(AlterTable *alter, AlterTableCmd *command);
static void sort_storage(AlterTable *alter, AlterTableCmd *command);
static void sort_options(AlterTable *alter, AlterTableCmd *command);
static void sort_new_constraint(AlterTable *alter, AlterTableCmd *command);
static void sort_old_constraint(AlterTable *alter, AlterTableCmd *command);

#define TAKES_ROWS "Bring rows to a new table: create it, distribute it, and use INSERT ... SELECT."
#define NO_PARTITIONS "It can have neither parents nor children: make another table, and copy the rows."

static const CommandRule rules[] =
{
	/* nodes follow */
	{.type = AT_AddColumn,.sort = sort_new_column},
	{.type = AT_DropColumn,.sort = sort_old_column},
	{.type = AT_SetNotNull},
	{.type = AT_DropNotNull},
	{.type = AT_DropExpression},
	{.type = AT_AlterColumnType,.sort = sort_type},
	{.type = AT_AddConstraint,.sort = sort_new_constraint},
	{.type = AT_DropConstraint,.sort = sort_old_constraint},
	{.type = AT_ValidateConstraint,.sort = sort_old_constraint},
	{.type = AT_ChangeOwner},
	{.type = AT_SetStorage,.sort = sort_storage},
	{.type = AT_SetCompression,.sort = sort_storage},
	{.type = AT_SetRelOptions,.sort = sort_options},
	{.type = AT_ResetRelOptions,.sort = sort_options},

	/* only known here */
	{.type = AT_ColumnDefault},
	{.type = AT_AddIdentity},
	{.type = AT_SetIdentity},
	{.type = AT_DropIdentity},
	{.type = AT_SetStatistics},
	{.type = AT_SetOptions},
	{.type = AT_ResetOptions},
	{.type = AT_EnableTrig,.sort = sort_triggers},
	{.type = AT_EnableAlwaysTrig,.sort = sort_triggers},
	{.type = AT_EnableReplicaTrig,.sort = sort_triggers},
	{.type = AT_DisableTrig,.sort = sort_triggers},
	{.type = AT_EnableTrigAll,.sort = sort_triggers},
	{.type = AT_DisableTrigAll,.sort = sort_triggers},
	{.type = AT_EnableTrigUser,.sort = sort_triggers},
	{.type = AT_DisableTrigUser,.sort = sort_triggers},
	{.type = AT_EnableRowSecurity},
	{.type = AT_DisableRowSecurity},
	{.type = AT_ForceRowSecurity},
	{.type = AT_NoForceRowSecurity},
	{.type = AT_DropOids},

	/* refused */
	{.type = AT_SetExpression,.refused = "ALTER COLUMN ... SET EXPRESSION",.instead = "Drop the column, and add it with the new expression."},
	{.type = AT_AttachPartition,.refused = "ATTACH PARTITION",.instead = NO_PARTITIONS},
	{.type = AT_DetachPartition,.refused = "DETACH PARTITION",.instead = NO_PARTITIONS},
	{.type = AT_DetachPartitionFinalize,.refused = "DETACH PARTITION",.instead = NO_PARTITIONS},
	{.type = AT_AddInherit,.refused = "INHERIT",.instead = NO_PARTITIONS},
	{.type = AT_DropInherit,.refused = "NO INHERIT",.instead = NO_PARTITIONS},
	{.type = AT_AddOf,.refused = "OF",.instead = "Add the columns of the type one by one."},
	{.type = AT_DropOf,.refused = "NOT OF",.instead = "The table has no type of its own."},
	{.type = AT_ClusterOn,.refused = "CLUSTER ON",.instead = "Cluster the tablets on their storage nodes with shuttle.run_on_nodes()."},
	{.type = AT_DropCluster,.refused = "SET WITHOUT CLUSTER",.instead = "Change the tablets on their storage nodes with shuttle.run_on_nodes()."},
	{.type = AT_SetTableSpace,.refused = "SET TABLESPACE",.instead = "Move the tablets on their storage nodes with shuttle.run_on_nodes()."},
	{.type = AT_SetAccessMethod,.refused = "SET ACCESS METHOD",.instead = TAKES_ROWS},
	{.type = AT_SetLogged,.refused = "SET LOGGED",.instead = "Tablets are always logged."},
	{.type = AT_SetUnLogged,.refused = "SET UNLOGGED",.instead = "Tablets are always logged."},
	{.type = AT_ReplicaIdentity,.refused = "REPLICA IDENTITY",.instead = "Set it for the tablets on their storage nodes with shuttle.run_on_nodes()."},
	{.type = AT_AlterConstraint,.refused = "ALTER CONSTRAINT",.instead = "Drop the constraint and add it again."},
};

static bool
is_foreign_key(const void *arg, Constraint *constraint)
{
	return constraint->contype == CONSTR_FOREIGN;
}

static void
refuse_change_of_key(const AlterTable *alter, const AlterTableCmd *command, const char *what)
{
	if (!alter->are_copies && strcmp(command->name, shuttle_ddl_key(alter->relid)) == 0)
		shuttle_ddl_refuse(alter->relid, psprintf("%s of the distribution column", what),
						   "Bring the table back with shuttle.local_table(), change it, and distribute it again.");
}

static bool
has_identity(const ColumnDef *column)
{
	ListCell   *cell;

	foreach(cell, column->constraints)
	{
		if (lfirst_node(Constraint, cell)->contype == CONSTR_IDENTITY)
			return true;
	}
	return false;
}

static void
sort_new_column(AlterTable *alter, AlterTableCmd *command)
{
	ColumnDef  *column = castNode(ColumnDef, command->def);
	bool		exists = command->missing_ok && get_attnum(alter->relid, column->colname) != InvalidAttrNumber;

	if (!SHUTTLE_PARTITIONS_HAVE_IDENTITY && !alter->are_copies && !exists && has_identity(column))
		shuttle_ddl_refuse(alter->relid, "ADD COLUMN ... GENERATED AS IDENTITY",
						   "Add a column of type serial, bigserial or smallserial.");
	if (!alter->are_copies)
	{
		List	   *keys;
		ListCell   *cell;

		foreach(cell, column->constraints)
		{
			if (!exists && lfirst_node(Constraint, cell)->contype == CONSTR_UNIQUE)
				shuttle_ddl_check_unique(alter->relid, "ADD COLUMN ... UNIQUE", NIL);
			if (!exists && lfirst_node(Constraint, cell)->contype == CONSTR_PRIMARY)
				shuttle_ddl_check_unique(alter->relid, "ADD COLUMN ... PRIMARY KEY", NIL);
		}
		keys = shuttle_ddl_take_column_keys(column, is_foreign_key, NULL);

		if (!exists)
			alter->foreign_keys = list_concat(alter->foreign_keys, keys);
	}
	alter->normal = lappend(alter->normal, command);
}

static void
sort_old_column(AlterTable *alter, AlterTableCmd *command)
{
	refuse_change_of_key(alter, command, "DROP COLUMN");
	alter->normal = lappend(alter->normal, command);
}

static void
sort_triggers(AlterTable *alter, AlterTableCmd *command)
{
	alter->keeps_triggers = alter->are_copies;
	alter->normal = lappend(alter->normal, command);
}

/* Adds a subcommand for all tablets on their nodes. */
static void
add_for_tablets(AlterTable *alter, const char *action)
{
	char	   *loop = psprintf("DECLARE t regclass; BEGIN FOR t IN SELECT inhrelid FROM pg_inherits WHERE inhparent = %s::regclass"
								" LOOP EXECUTE 'ALTER TABLE ' || t || %s; END LOOP; END",
								quote_literal_cstr(shuttle_local_name(alter->relid)), quote_literal_cstr(action));

	alter->for_tablets = lappend(alter->for_tablets, psprintf("DO %s", quote_literal_cstr(loop)));
}

/* Copies of reference tables keep their own. */
static void
sort_storage(AlterTable *alter, AlterTableCmd *command)
{
	alter->normal = lappend(alter->normal, command);
	if (!alter->are_copies)
		add_for_tablets(alter, psprintf(" ALTER COLUMN %s SET %s %s", quote_identifier(command->name),
										command->subtype == AT_SetStorage ? "STORAGE" : "COMPRESSION",
										strVal(command->def)));
}

/* Core allows none for partitioned tables. */
static void
sort_options(AlterTable *alter, AlterTableCmd *command)
{
	bool		is_set = command->subtype == AT_SetRelOptions;
	StringInfoData text;
	ListCell   *cell;

	if (alter->are_copies)
	{
		alter->normal = lappend(alter->normal, command);
		return;
	}
	initStringInfo(&text);
	foreach(cell, castNode(List, command->def))
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		appendStringInfo(&text, "%s%s%s%s", text.len == 0 ? "" : ", ",
						 option->defnamespace == NULL ? "" : quote_identifier(option->defnamespace),
						 option->defnamespace == NULL ? "" : ".", quote_identifier(option->defname));
		if (option->arg != NULL)
			appendStringInfo(&text, " = %s", quote_literal_cstr(defGetString(option)));
	}
	add_for_tablets(alter, psprintf(" %s (%s)", is_set ? "SET" : "RESET", text.data));
}

/* Core does not take USING for tables with foreign partitions. Without it, the new type
 * must be one that values can be assigned to. */
static bool
is_possible_here(const AlterTable *alter, const AlterTableCmd *command)
{
	AttrNumber	number = get_attnum(alter->relid, command->name);
	Oid			old_type = number == InvalidAttrNumber ? InvalidOid : get_atttype(alter->relid, number);
	Oid			new_type;
	int32		typmod;

	typenameTypeIdAndMod(NULL, castNode(ColumnDef, command->def)->typeName, &new_type, &typmod);
	return !OidIsValid(old_type) || can_coerce_type(1, &old_type, &new_type, COERCION_ASSIGNMENT);
}

/* Nodes, which have the rows, convert the column. */
static void
take_using(AlterTable *alter, AlterTableCmd *command)
{
	ColumnDef  *column = castNode(ColumnDef, command->def);
	bool		differs;
	char	   *text;

	alter->normal = lappend(alter->normal, command);
	if (column->raw_default == NULL)
		return;
	text = shuttle_ddl_using_text(alter->relid, column, alter->ddl->query, &differs);

	if (differs)
		shuttle_ddl_refuse(alter->relid, "ALTER COLUMN ... TYPE ... USING such an expression",
						   "Nodes might compute other values: use columns, constants, casts and immutable functions of PostgreSQL;"
						   " or add a column of the new type, update it, drop the old one, and rename it.");
	shuttle_ddl_changes_convert(alter->relid, command->name, text);
	if (alter->are_copies)
		return;
	if (is_possible_here(alter, command))
		column->raw_default = NULL;
	else
	{
		alter->normal = list_delete_last(alter->normal);
		alter->explicit = lappend(alter->explicit, command);
	}
}

/* Remembers and drops what core would make again without ONLY. */
static void
sort_type(AlterTable *alter, AlterTableCmd *command)
{
	static const char *const query =
		"SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %%s', i.indexrelid::regclass)"
		" ELSE format('ALTER TABLE %%s DROP CONSTRAINT %%I', i.indrelid::regclass, c.conname) END,"
		" CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid)"
		" ELSE format('ALTER TABLE ONLY %%s ADD CONSTRAINT %%I %%s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END"
		" FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
		" LEFT JOIN pg_constraint AS c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid AND c.contype IN ('p', 'u')"
		" WHERE i.indrelid = $1 AND i.indisunique AND a.attname = %s";
	ListCell   *cell;

	refuse_change_of_key(alter, command, "ALTER COLUMN ... TYPE");
	take_using(alter, command);
	if (alter->are_copies)
		return;
	foreach(cell, shuttle_local_rows(psprintf(query, quote_literal_cstr(command->name)), alter->relid))
	{
		char	  **row = lfirst(cell);

		(void) shuttle_local_run(row[0]);
		alter->set_aside = lappend(alter->set_aside, row[1]);
	}
}

/* Core wants columns of a primary key to be not null in all partitions first. */
static void
set_not_null(AlterTable *alter, List *columns)
{
	ListCell   *cell;

	foreach(cell, columns)
	{
		AlterTableCmd *command = makeNode(AlterTableCmd);

		command->subtype = AT_SetNotNull;
		command->name = strVal(lfirst(cell));
		alter->normal = lappend(alter->normal, command);
	}
}

static void
sort_new_constraint(AlterTable *alter, AlterTableCmd *command)
{
	Constraint *constraint = castNode(Constraint, command->def);

	if (alter->are_copies)		/* they have no foreign keys */
	{
		alter->normal = lappend(alter->normal, command);
		return;
	}
	if (constraint->indexname != NULL)
		shuttle_ddl_refuse(alter->relid, "ADD CONSTRAINT ... USING INDEX",
						   "Drop the index, and add the constraint with its columns.");
	switch (constraint->contype)
	{
		case CONSTR_CHECK:
			if (constraint->is_no_inherit)
				shuttle_ddl_refuse(alter->relid, "CHECK ... NO INHERIT", "Leave out NO INHERIT.");
			alter->normal = lappend(alter->normal, command);
			break;
		case CONSTR_PRIMARY:
			shuttle_ddl_check_unique(alter->relid, "PRIMARY KEY", constraint->keys);
			set_not_null(alter, constraint->keys);
			alter->keys = lappend(alter->keys, command);
			break;
		case CONSTR_UNIQUE:
			shuttle_ddl_check_unique(alter->relid, "UNIQUE", constraint->keys);
			alter->keys = lappend(alter->keys, command);
			break;
		case CONSTR_FOREIGN:
			alter->foreign_keys = lappend(alter->foreign_keys, constraint);
			break;
		case CONSTR_EXCLUSION:
			shuttle_ddl_refuse(alter->relid, "ADD CONSTRAINT ... EXCLUDE",
							   "Storage nodes check their own rows only; use a unique constraint with the distribution column.");
			break;
		default:
			alter->normal = lappend(alter->normal, command);
	}
}

/* DROP and VALIDATE CONSTRAINT; foreign keys are on nodes only. */
static void
sort_old_constraint(AlterTable *alter, AlterTableCmd *command)
{
	bool		is_drop = command->subtype == AT_DropConstraint;

	if (alter->are_copies || shuttle_ddl_constraint_is_here(alter->relid, command->name))
	{
		alter->normal = lappend(alter->normal, command);
		return;
	}
	if (is_drop)
		shuttle_key_partners_lock(list_make1(shuttle_local_name(alter->relid)),
								  linitial_oid(shuttle_table_servers(alter->relid)), command->name);
	alter->on_nodes = lappend(alter->on_nodes,
							  psprintf("ALTER TABLE %s %s CONSTRAINT %s%s%s",
									   shuttle_local_name(alter->relid),
									   is_drop ? "DROP" : "VALIDATE",
									   command->missing_ok ? "IF EXISTS " : "",
									   quote_identifier(command->name),
									   command->behavior == DROP_CASCADE ? " CASCADE" : ""));
}

static void
sort_command(AlterTable *alter, AlterTableCmd *command)
{
	for (int i = 0; i < lengthof(rules); i++)
	{
		const CommandRule *rule = &rules[i];

		if (rule->type != command->subtype)
			continue;
		if (rule->refused != NULL)
			shuttle_ddl_refuse(alter->relid, psprintf("ALTER TABLE ... %s", rule->refused), rule->instead);
		if (rule->sort != NULL)
			rule->sort(alter, command);
		else
			alter->normal = lappend(alter->normal, command);
		return;
	}
	shuttle_ddl_refuse(alter->relid, "this form of ALTER TABLE",
					   "Make a new table, distribute it, and copy the rows.");
}

static void
run_commands(const AlterTable *alter, List *commands, bool only)
{
	AlterTableStmt *statement;

	if (commands == NIL)
		return;
	statement = copyObject(castNode(AlterTableStmt, alter->ddl->pstmt->utilityStmt));
	statement->cmds = commands;
	statement->relation->inh = !only;
	shuttle_ddl_run_here(alter->ddl, (Node *) statement);
	CommandCounterIncrement();
}

/* True for what core runs before it changes types. */
static bool
is_drop(const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_DropColumn:
		case AT_DropConstraint:
		case AT_DropNotNull:
		case AT_DropExpression:
			return true;
		case AT_ColumnDefault:
			return command->def == NULL;
		default:
			return false;
	}
}

static void
run_explicit(void *arg, List *commands)
{
	run_commands(arg, commands, false);
}

static void
run_normal(const AlterTable *alter)
{
	List	   *drops = NIL;
	List	   *others = NIL;
	ListCell   *cell;

	if (alter->explicit == NIL)
	{
		run_commands(alter, alter->normal, false);
		return;
	}
	foreach(cell, alter->normal)
	{
		if (is_drop(lfirst(cell)))
			drops = lappend(drops, lfirst(cell));
		else
			others = lappend(others, lfirst(cell));
	}
	run_commands(alter, drops, false);
	shuttle_ddl_using_run(alter->relid, alter->explicit, run_explicit, (void *) alter);
	run_commands(alter, others, false);
}

static void
alter_parts(AlterTable *alter)
{
	ListCell   *cell;

	run_normal(alter);
	if (alter->keeps_triggers)
		shuttle_copy_triggers_enable(alter->relid);
	foreach(cell, alter->set_aside)
		(void) shuttle_local_run(lfirst(cell));
	run_commands(alter, alter->keys, true);
	shuttle_ddl_on_nodes(alter->relid, alter->on_nodes);
	if (alter->foreign_keys == NIL && alter->for_tablets == NIL)
		return;
	shuttle_ddl_changes_send(false);
	shuttle_ddl_on_nodes(alter->relid, alter->for_tablets);
	foreach(cell, alter->foreign_keys)
		shuttle_ddl_on_nodes(alter->relid,
							 list_make1(shuttle_ddl_foreign_key(alter->relid, lfirst(cell))));
}

static void
alter_index(const ShuttleDdl *ddl, AlterTableStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		if (lfirst_node(AlterTableCmd, cell)->subtype != AT_SetStatistics)
			shuttle_ddl_refuse(ddl->relid, "ALTER INDEX",
							   "Drop the index and create it as it should be.");
	}
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

void
shuttle_ddl_alter_table(const ShuttleDdl *ddl)
{
	AlterTableStmt *statement = copyObject(castNode(AlterTableStmt, ddl->pstmt->utilityStmt));
	AlterTable	alter = {.ddl = ddl,.relid = ddl->relid};
	ListCell   *cell;

	if (ddl->targetid != ddl->relid)
	{
		alter_index(ddl, statement);
		return;
	}
	alter.are_copies = shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_REFERENCE;
	(void) RangeVarGetRelid(statement->relation, AccessExclusiveLock, false);
	shuttle_ddl_changes_note(ddl->relid);
	foreach(cell, statement->cmds)
		sort_command(&alter, lfirst_node(AlterTableCmd, cell));
	alter_parts(&alter);
}

/* Renames of triggers and policies change nothing on nodes. */
void
shuttle_ddl_rename(const ShuttleDdl *ddl)
{
	RenameStmt *statement = copyObject(castNode(RenameStmt, ddl->pstmt->utilityStmt));

	if (statement->renameType == OBJECT_TABCONSTRAINT &&
		shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_DISTRIBUTED &&
		!shuttle_ddl_constraint_is_here(ddl->relid, statement->subname))
	{
		shuttle_ddl_on_nodes(ddl->relid,
							 list_make1(psprintf("ALTER TABLE %s RENAME CONSTRAINT %s TO %s",
												 shuttle_local_name(ddl->relid),
												 quote_identifier(statement->subname),
												 quote_identifier(statement->newname))));
		return;
	}
	shuttle_ddl_changes_note(ddl->relid);
	statement->relation->inh = true;
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

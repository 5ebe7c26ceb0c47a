/*-------------------------------------------------------------------------
 * ddl_table.c
 *	  ALTER TABLE and ALTER ... RENAME of distributed tables.
 *
 * The subcommands of a statement are run in up to four parts:
 *
 * 1. Core runs drops, if types change or columns are dropped. Then unique
 *	  constraints and indexes of columns that change their type are dropped here
 *	  (ddl_set_aside.c), and foreign keys between the table and others.
 * 2. Core runs the statement without what follows. Types that it would not convert
 *	  to by itself are changed while the table has no tablets (ddl_using.c).
 * 3. Keys are added with ONLY, as core refuses them for foreign partitions.
 *	  They are not valid here, but are known and shown.
 * 4. Foreign keys: nodes add, check and drop them, or we do.
 *
 * Then nodes are sent what has changed (ddl_changes.c), before part 4. Constraints are
 * validated last: the statement may add them.
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
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/tablet_names.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/ddl/table/ddl_table.h"
#include "tablets/distribute/key_partners.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/reference/copies.h"
#include "tablets/shuttle_tablets.h"

typedef struct AlterTable
{
	const ShuttleDdl *ddl;
	const AlterTableStmt *statement;	/* a copy */
	Oid			relid;
	bool		are_copies;		/* it is a reference table, and ordinary here */
	bool		keeps_triggers; /* those that change its copies */
	List	   *normal;			/* of AlterTableCmd */
	List	   *not_null;		/* of AlterTableCmd: columns of primary keys */
	List	   *explicit;		/* of AlterTableCmd: types that core takes
								 * without tablets only */
	List	   *keys;			/* of AlterTableCmd, to be run with ONLY */
	List	   *global_keys;	/* of Constraint, without the distribution
								 * column */
	List	   *changed_columns;	/* names of those that change their type */
	List	   *set_aside;		/* unique indexes that are made again */
	List	   *foreign_keys;	/* of Constraint */
	List	   *kept_keys;		/* foreign keys that are made again */
	List	   *validated;		/* of AlterTableCmd */
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
static void sort_all_triggers(AlterTable *alter, AlterTableCmd *command);
static void sort_storage(AlterTable *alter, AlterTableCmd *command);
static void sort_options(AlterTable *alter, AlterTableCmd *command);
static void sort_identity(AlterTable *alter, AlterTableCmd *command);
static void sort_cluster(AlterTable *alter, AlterTableCmd *command);
static void sort_place(AlterTable *alter, AlterTableCmd *command);
static void sort_new_constraint(AlterTable *alter, AlterTableCmd *command);
static void sort_old_constraint(AlterTable *alter, AlterTableCmd *command);
static void sort_validation(AlterTable *alter, AlterTableCmd *command);

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
	{.type = AT_ValidateConstraint,.sort = sort_validation},
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
	{.type = AT_EnableTrigAll,.sort = sort_all_triggers},
	{.type = AT_DisableTrigAll,.sort = sort_all_triggers},
	{.type = AT_EnableTrigUser,.sort = sort_triggers},
	{.type = AT_DisableTrigUser,.sort = sort_triggers},
	{.type = AT_EnableRowSecurity},
	{.type = AT_DisableRowSecurity},
	{.type = AT_ForceRowSecurity},
	{.type = AT_NoForceRowSecurity},
	{.type = AT_DropOids},
	{.type = AT_ReplicaIdentity,.sort = sort_identity},

	/* only known on nodes, or what tablets are already */
	{.type = AT_ClusterOn,.sort = sort_cluster},
	{.type = AT_DropCluster,.sort = sort_cluster},
	{.type = AT_SetTableSpace,.sort = sort_place},
	{.type = AT_SetAccessMethod,.sort = sort_place},
	{.type = AT_SetLogged,.sort = sort_place},

	/* refused */
	{.type = AT_SetExpression,.refused = "ALTER COLUMN ... SET EXPRESSION",.instead = "Drop the column, and add it with the new expression."},
	{.type = AT_AttachPartition,.refused = "ATTACH PARTITION",.instead = NO_PARTITIONS},
	{.type = AT_DetachPartition,.refused = "DETACH PARTITION",.instead = NO_PARTITIONS},
	{.type = AT_DetachPartitionFinalize,.refused = "DETACH PARTITION",.instead = NO_PARTITIONS},
	{.type = AT_AddInherit,.refused = "INHERIT",.instead = NO_PARTITIONS},
	{.type = AT_DropInherit,.refused = "NO INHERIT",.instead = NO_PARTITIONS},
	{.type = AT_AddOf,.refused = "OF",.instead = "Add the columns of the type one by one."},
	{.type = AT_DropOf,.refused = "NOT OF",.instead = "The table has no type of its own."},
	{.type = AT_SetUnLogged,.refused = "SET UNLOGGED",.instead = "Tablets are always logged."},
	{.type = AT_AlterConstraint,.refused = "ALTER CONSTRAINT",.instead = "Drop the constraint and add it again."},
};

static bool
is_foreign_key(const void *arg, Constraint *constraint)
{
	return constraint->contype == CONSTR_FOREIGN;
}

static bool
is_unique_key(const void *arg, Constraint *constraint)
{
	return constraint->contype == CONSTR_UNIQUE || constraint->contype == CONSTR_PRIMARY;
}

static bool
is_to_distributed(const void *arg, Constraint *constraint)
{
	return OidIsValid(shuttle_ddl_referred(constraint));
}

static void
refuse_drop_of_key(const AlterTable *alter, const AlterTableCmd *command)
{
	if (!alter->are_copies && strcmp(command->name, shuttle_ddl_key(alter->relid)) == 0)
		shuttle_ddl_refuse(alter->relid, "DROP COLUMN of the distribution column",
						   "Bring the table back with shuttle.local_table(), change it, and distribute it again.");
}

List *
shuttle_ddl_not_null(const List *columns)
{
	List	   *commands = NIL;
	const ListCell *cell;

	foreach(cell, columns)
	{
		AlterTableCmd *command = makeNode(AlterTableCmd);

		command->subtype = AT_SetNotNull;
		command->name = strVal(lfirst(cell));
		commands = lappend(commands, command);
	}
	return commands;
}

/* Those of a new column, which cannot be the distribution column. */
static void
add_column_keys(AlterTable *alter, List *keys)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		Constraint *key = lfirst_node(Constraint, cell);

		key->keys = key->fk_attrs;
		key->fk_attrs = NIL;
		if (key->contype == CONSTR_PRIMARY)
			alter->not_null = list_concat(alter->not_null, shuttle_ddl_not_null(key->keys));
		alter->global_keys = lappend(alter->global_keys, key);
	}
}

static void
sort_new_column(AlterTable *alter, AlterTableCmd *command)
{
	ColumnDef  *column = castNode(ColumnDef, command->def);
	bool		exists = command->missing_ok && get_attnum(alter->relid, column->colname) != InvalidAttrNumber;

	if (!alter->are_copies)
	{
		List	   *unique = shuttle_ddl_take_column_keys(column, is_unique_key, NULL);
		List	   *keys = shuttle_ddl_take_column_keys(column, is_foreign_key, NULL);

		if (!exists)
		{
			add_column_keys(alter, unique);
			alter->foreign_keys = list_concat(alter->foreign_keys, keys);
		}
	}
	else if (!exists)
		alter->foreign_keys = list_concat(alter->foreign_keys,
										  shuttle_ddl_take_column_keys(column, is_to_distributed, NULL));
	alter->normal = lappend(alter->normal, command);
}

static void
sort_old_column(AlterTable *alter, AlterTableCmd *command)
{
	refuse_drop_of_key(alter, command);
	alter->normal = lappend(alter->normal, command);
}

static void
sort_triggers(AlterTable *alter, AlterTableCmd *command)
{
	alter->keeps_triggers = alter->are_copies;
	alter->normal = lappend(alter->normal, command);
}

/* Core lets only superusers disable the triggers of foreign keys. Nodes have those of distributed
 * tables: a superuser here disables them there, if the remote user is one, too; anybody else gets
 * core's error, also if the remote user is one. */
static void
sort_all_triggers(AlterTable *alter, AlterTableCmd *command)
{
	const char *name = shuttle_local_name(alter->relid);
	const char *literal = quote_literal_cstr(name);
	char	   *body;

	sort_triggers(alter, command);
	if (alter->are_copies)
		return;
	if (superuser())
		body = psprintf("BEGIN ALTER TABLE %s %s TRIGGER ALL; EXCEPTION WHEN insufficient_privilege THEN"
						" RAISE WARNING 'foreign keys of %% are checked as before, since user \"%%\" is no superuser', %s, current_user; END",
						name, command->subtype == AT_EnableTrigAll ? "ENABLE" : "DISABLE", literal);
	else
		body = psprintf("BEGIN IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = %s::regclass) THEN RAISE insufficient_privilege"
						" USING MESSAGE = 'permission denied: foreign keys have system triggers'; END IF; END", literal);
	alter->on_nodes = lappend(alter->on_nodes, psprintf("DO %s", quote_literal_cstr(body)));
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

char *
shuttle_ddl_options_text(const AlterTableCmd *command)
{
	StringInfoData text;
	ListCell   *cell;

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
	return psprintf("%s (%s)", command->subtype == AT_SetRelOptions ? "SET" : "RESET", text.data);
}

/* Core allows none for partitioned tables. */
static void
sort_options(AlterTable *alter, AlterTableCmd *command)
{
	if (alter->are_copies)
		alter->normal = lappend(alter->normal, command);
	else
		add_for_tablets(alter, psprintf(" %s", shuttle_ddl_options_text(command)));
}

/* It is for changes that this server would publish; nodes choose their own for moves. */
static void
sort_identity(AlterTable *alter, AlterTableCmd *command)
{
	if (!alter->are_copies && castNode(ReplicaIdentityStmt, command->def)->identity_type == REPLICA_IDENTITY_INDEX)
		shuttle_ddl_refuse(alter->relid, "ALTER TABLE ... REPLICA IDENTITY USING INDEX",
						   "Set it for the tablets on their storage nodes with shuttle.run_on_nodes().");
	alter->normal = lappend(alter->normal, command);
}

static void
sort_cluster(AlterTable *alter, AlterTableCmd *command)
{
	if (alter->are_copies)
		alter->normal = lappend(alter->normal, command);
	else if (command->subtype == AT_ClusterOn)
		alter->for_tablets = lappend(alter->for_tablets, shuttle_ddl_cluster_on_text(alter->relid, command->name));
	else
		add_for_tablets(alter, " SET WITHOUT CLUSTER");
}

/* Tablets are logged, in heap, and in the tablespaces of their nodes' databases. */
static void
sort_place(AlterTable *alter, AlterTableCmd *command)
{
	if (alter->are_copies)
		alter->normal = lappend(alter->normal, command);
	else if (command->subtype == AT_SetTableSpace && !shuttle_ddl_is_default_tablespace(command->name))
		shuttle_ddl_refuse(alter->relid, "ALTER TABLE ... SET TABLESPACE",
						   "Move the tablets on their storage nodes with shuttle.run_on_nodes().");
	else if (command->subtype == AT_SetAccessMethod && (command->name == NULL || strcmp(command->name, "heap") != 0))
		shuttle_ddl_refuse(alter->relid, "ALTER TABLE ... SET ACCESS METHOD", TAKES_ROWS);
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

/* Nodes, which have the rows, convert the column. Here it has none, and the expression may be
 * of columns that are dropped before. */
static void
take_using(AlterTable *alter, AlterTableCmd *command)
{
	ColumnDef  *column = castNode(ColumnDef, command->def);
	AttrNumber	number = get_attnum(alter->relid, command->name);
	char	   *text = column->raw_default == NULL ? NULL :
		shuttle_ddl_using_text(alter->relid, column, alter->ddl->query);

	if (column->raw_default != NULL && number > 0 && get_attgenerated(alter->relid, number) != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_DEFINITION),
				 errmsg("cannot specify USING when altering type of generated column"),
				 errdetail("Column \"%s\" is a generated column.", command->name)));
	shuttle_ddl_changes_convert(alter->relid, command->name, text);
	if (text == NULL || alter->are_copies)
		alter->normal = lappend(alter->normal, command);
	else if (is_possible_here(alter, command))
	{
		column->raw_default = NULL;
		alter->normal = lappend(alter->normal, command);
	}
	else
	{
		column->raw_default = shuttle_ddl_null();
		alter->explicit = lappend(alter->explicit, command);
	}
}

static void
sort_type(AlterTable *alter, AlterTableCmd *command)
{
	take_using(alter, command);
	alter->changed_columns = lappend(alter->changed_columns, command->name);
}

static void
add_key(AlterTable *alter, AlterTableCmd *command, Constraint *constraint)
{
	if (shuttle_ddl_global_is(alter->relid, constraint->keys))
	{
		shuttle_ddl_refuse_of_partition(alter->relid, "a unique constraint without the distribution column");
		alter->global_keys = lappend(alter->global_keys, constraint);
	}
	else
		alter->keys = lappend(alter->keys, command);
}

static void
sort_new_constraint(AlterTable *alter, AlterTableCmd *command)
{
	Constraint *constraint = castNode(Constraint, command->def);

	if (alter->are_copies && !OidIsValid(shuttle_ddl_referred(constraint)))
	{
		alter->normal = lappend(alter->normal, command);
		return;
	}
	if (constraint->indexname != NULL)
		shuttle_ddl_using_index(alter->relid, constraint);
	switch (constraint->contype)
	{
		case CONSTR_CHECK:
			if (constraint->is_no_inherit)
				shuttle_ddl_refuse(alter->relid, "CHECK ... NO INHERIT", "Leave out NO INHERIT.");
			alter->normal = lappend(alter->normal, command);
			break;
		case CONSTR_PRIMARY:
			alter->not_null = list_concat(alter->not_null, shuttle_ddl_not_null(constraint->keys));
			add_key(alter, command, constraint);
			break;
		case CONSTR_UNIQUE:
			add_key(alter, command, constraint);
			break;
		case CONSTR_FOREIGN:
			shuttle_ddl_refuse_of_partition(alter->relid, "a foreign key");
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

/* Foreign keys that nodes check are there only. */
static void
sort_old_constraint(AlterTable *alter, AlterTableCmd *command)
{
	if (alter->are_copies || shuttle_ddl_constraint_is_here(alter->relid, command->name))
	{
		alter->normal = lappend(alter->normal, command);
		return;
	}
	shuttle_key_partners_lock(list_make1(shuttle_local_name(alter->relid)),
							  linitial_oid(shuttle_table_servers(alter->relid)), command->name);
	alter->on_nodes = lappend(alter->on_nodes,
							  psprintf("ALTER TABLE %s DROP CONSTRAINT %s%s%s", shuttle_local_name(alter->relid),
									   command->missing_ok ? "IF EXISTS " : "", quote_identifier(command->name),
									   command->behavior == DROP_CASCADE ? " CASCADE" : ""));
}

static void
sort_validation(AlterTable *alter, AlterTableCmd *command)
{
	alter->validated = lappend(alter->validated, command);
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
	shuttle_ddl_run_part(alter->ddl, statement);
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
		case AT_DropIdentity:
			return true;
		case AT_ColumnDefault:
			return command->def == NULL;
		default:
			return false;
	}
}

/* Has core validate what it knows, before nodes are sent what has changed; what is a foreign key is left. */
static void
validate_here(AlterTable *alter)
{
	ListCell   *cell;

	foreach(cell, alter->validated)
	{
		AlterTableCmd *command = lfirst(cell);
		Oid			constraint = get_relation_constraint_oid(alter->relid, command->name, true);

		if (!OidIsValid(constraint) || list_member_oid(shuttle_foreign_keys_of(alter->relid), constraint) ||
			!(alter->are_copies || shuttle_ddl_constraint_is_here(alter->relid, command->name)))
			continue;
		run_commands(alter, list_make1(command), false);
		alter->validated = foreach_delete_current(alter->validated, cell);
	}
}

/* We validate our own foreign keys, nodes theirs; copies have none, so that core has the error. */
static void
validate_foreign_keys(const AlterTable *alter)
{
	ListCell   *cell;

	foreach(cell, alter->validated)
	{
		AlterTableCmd *command = lfirst(cell);
		Oid			constraint = get_relation_constraint_oid(alter->relid, command->name, true);

		if (list_member_oid(shuttle_foreign_keys_of(alter->relid), constraint))
			shuttle_foreign_key_validate(constraint);
		else if (alter->are_copies)
			run_commands(alter, list_make1(command), false);
		else
			shuttle_ddl_on_nodes(alter->relid, list_make1(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s",
																   shuttle_local_name(alter->relid),
																   quote_identifier(command->name))));
	}
}

static void
run_explicit(void *arg, List *commands)
{
	run_commands(arg, commands, false);
}

static bool
drops_column(const List *commands)
{
	const ListCell *cell;

	foreach(cell, commands)
	{
		if (lfirst_node(AlterTableCmd, cell)->subtype == AT_DropColumn)
			return true;
	}
	return false;
}

/* Takes what core cannot make again, of what is left behind drops. */
static void
set_aside(AlterTable *alter)
{
	ListCell   *cell;

	alter->kept_keys = shuttle_ddl_take_changed_keys(alter->relid, alter->statement);
	if (alter->are_copies)
		return;
	foreach(cell, alter->changed_columns)
		alter->set_aside = list_concat(alter->set_aside, shuttle_ddl_set_aside(alter->relid, lfirst(cell)));
}

/* Core drops columns of tablets at once, and what else is to be dropped of them behind that of the
 * table. So each drop is a statement, before others. */
static List *
run_drops(AlterTable *alter)
{
	List	   *others = NIL;
	ListCell   *cell;

	if (alter->are_copies || (alter->changed_columns == NIL && !drops_column(alter->normal)))
		return alter->normal;
	foreach(cell, alter->normal)
	{
		if (is_drop(lfirst(cell)))
			run_commands(alter, list_make1(lfirst(cell)), false);
		else
			others = lappend(others, lfirst(cell));
	}
	return others;
}

static void
run_normal(AlterTable *alter)
{
	List	   *others = run_drops(alter);

	set_aside(alter);
	if (alter->explicit != NIL)
		shuttle_ddl_using_run(alter->relid, alter->explicit, run_explicit, (void *) alter);
	run_commands(alter, others, false);
}

static void
alter_parts(AlterTable *alter)
{
	ListCell   *cell;

	run_normal(alter);
	/* of new columns as well, which core looks for in tablets before 18 */
	run_commands(alter, alter->not_null, false);
	if (alter->keeps_triggers)
		shuttle_copy_triggers_enable(alter->relid);
	shuttle_ddl_set_aside_give(alter->ddl, alter->set_aside);
	run_commands(alter, alter->keys, true);
	foreach(cell, alter->global_keys)
		shuttle_ddl_global_constraint(alter->ddl, alter->relid, lfirst(cell));
	shuttle_ddl_on_nodes(alter->relid, alter->on_nodes);
	validate_here(alter);
	if (alter->foreign_keys == NIL && alter->for_tablets == NIL && alter->kept_keys == NIL && alter->validated == NIL)
		return;
	shuttle_ddl_changes_send(false);
	shuttle_ddl_on_nodes(alter->relid, alter->for_tablets);
	foreach(cell, alter->foreign_keys)
		shuttle_ddl_add_foreign_key(alter->relid, lfirst(cell));
	shuttle_foreign_key_kept_give(alter->kept_keys, true);
	validate_foreign_keys(alter);
}

void
shuttle_ddl_alter_table(const ShuttleDdl *ddl)
{
	AlterTableStmt *statement = copyObject(castNode(AlterTableStmt, ddl->pstmt->utilityStmt));
	AlterTable	alter = {.ddl = ddl,.statement = statement,.relid = ddl->relid};
	ListCell   *cell;

	if (ddl->targetid != ddl->relid)
	{
		shuttle_ddl_alter_index(ddl, statement);
		return;
	}
	alter.are_copies = shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_REFERENCE;
	(void) RangeVarGetRelid(statement->relation, AccessExclusiveLock, false);
	shuttle_foreign_key_refuse_pending(ddl->relid, "ALTER TABLE");
	if (shuttle_ddl_key_change(ddl))
		return;
	shuttle_ddl_using_compute(ddl, statement, alter.are_copies);
	shuttle_ddl_changes_note(ddl->relid);
	foreach(cell, statement->cmds)
		sort_command(&alter, lfirst_node(AlterTableCmd, cell));
	alter_parts(&alter);
}

/* Core renames in tablets first, and would name one of them. */
static void
refuse_taken_name(Oid relid, const RenameStmt *statement)
{
	if (statement->renameType == OBJECT_COLUMN && get_attnum(relid, statement->subname) != InvalidAttrNumber &&
		get_attnum(relid, statement->newname) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" already exists", statement->newname, get_rel_name(relid))));
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
							 list_make2(psprintf("ALTER TABLE %s RENAME CONSTRAINT %s TO %s",
												 shuttle_local_name(ddl->relid),
												 quote_identifier(statement->subname),
												 quote_identifier(statement->newname)),
										shuttle_tablet_text_name_keys(ddl->relid)));
		return;
	}
	refuse_taken_name(ddl->relid, statement);
	shuttle_ddl_changes_note(ddl->relid);
	statement->relation->inh = true;
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

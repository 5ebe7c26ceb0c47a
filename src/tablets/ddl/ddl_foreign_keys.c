/*-------------------------------------------------------------------------
 * ddl_foreign_keys.c
 *	  Foreign keys of distributed tables, and of others to them.
 *
 * A node looks for the row that a foreign key names among its own rows. So it checks keys
 * that relate rows of one node: tables of one group, distribution column to distribution
 * column. This server checks all others (foreign_key_catalog.c).
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "commands/tablecmds.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/tablet_names.h"
#include "tablets/ddl/ddl.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

static const char *
key_of(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	AttrNumber	number = RelationGetPartitionKey(rel)->partattrs[0];

	table_close(rel, NoLock);
	return get_attname(relid, number, false);
}

bool
shuttle_ddl_constraint_is_here(Oid relid, const char *name)
{
	return OidIsValid(get_relation_constraint_oid(relid, name, true));
}

void
shuttle_ddl_on_nodes(Oid relid, List *texts)
{
	ShuttleNodeStatements *statements;

	/* tables without tablets have none */
	if (texts == NIL)
		return;
	statements = shuttle_node_definitions_create();
	shuttle_node_statements_add_texts(statements, shuttle_table_servers(relid), texts);
	shuttle_node_statements_run(statements);
}

/* Names of the columns that a key refers to; those of the primary key if the
 * statement names none. */
static List *
referred_columns(Oid referred, const Constraint *constraint)
{
	static const char *const query =
		"SELECT a.attname::text FROM pg_constraint AS c, unnest(conkey) WITH ORDINALITY AS k (number, position)"
		" JOIN pg_attribute AS a ON a.attrelid = $1 AND a.attnum = k.number"
		" WHERE c.conrelid = $1 AND c.contype = 'p' ORDER BY k.position";
	List	   *names = NIL;
	ListCell   *cell;

	if (constraint->pk_attrs == NIL)
		return shuttle_local_texts(query, referred);
	foreach(cell, constraint->pk_attrs)
		names = lappend(names, strVal(lfirst(cell)));
	return names;
}

bool
shuttle_ddl_foreign_key_pairs(const char *key, Oid referred, const Constraint *constraint)
{
	const char *other_key = key_of(referred);
	List	   *others = referred_columns(referred, constraint);

	if (list_length(others) != list_length(constraint->fk_attrs))
		return false;
	for (int i = 0; i < list_length(others); i++)
	{
		if (strcmp(strVal(list_nth(constraint->fk_attrs, i)), key) == 0 &&
			strcmp(list_nth(others, i), other_key) == 0)
			return true;
	}
	return false;
}

/* True if rows that the key relates are on one node. */
static bool
relates_keys(Oid relid, Oid referred, const Constraint *constraint)
{
	return shuttle_layout_of(relid)->group == shuttle_layout_of(referred)->group &&
		shuttle_ddl_foreign_key_pairs(key_of(relid), referred, constraint);
}

void
shuttle_ddl_check_trigger(const ShuttleDdl *ddl, const CreateTrigStmt *statement)
{
	static const char *const query =
		"SELECT conname FROM pg_constraint WHERE conrelid = $1 AND contype = 'f' AND"
		" (%s AND confdeltype = 'c' OR %s AND (confdeltype = 'n' OR confupdtype IN ('c', 'n')))";
	bool		deletes = (statement->events & TRIGGER_TYPE_DELETE) != 0;
	bool		updates = (statement->events & TRIGGER_TYPE_UPDATE) != 0;
	ShuttleNode *node;

	if (!statement->row || (!deletes && !updates) || shuttle_table_kind(ddl->relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return;
	node = shuttle_connection_get(linitial_oid(shuttle_table_servers(ddl->relid)), GetUserId());
	if (shuttle_node_rows(node, psprintf(query, deletes ? "true" : "false", updates ? "true" : "false"),
						  1, ddl->relid) != NIL)
		shuttle_ddl_refuse(ddl->relid, "a row trigger beside a foreign key that changes rows",
						   "Storage nodes do what foreign keys say, and fire no triggers: use NO ACTION.");
}

/* The key with what decides which nodes can check it. */
static void
read_key(ShuttleForeignKey *key, const Constraint *constraint)
{
	ListCell   *cell;

	foreach(cell, constraint->fk_attrs)
	{
		if (key->ncolumns < INDEX_MAX_KEYS)
			key->child_columns[key->ncolumns++] = get_attnum(key->child, strVal(lfirst(cell)));
	}
	foreach(cell, constraint->fk_del_set_cols)
	{
		if (key->nset < INDEX_MAX_KEYS)
			key->set_columns[key->nset++] = get_attnum(key->child, strVal(lfirst(cell)));
	}
	key->on_update = constraint->fk_upd_action;
	key->on_delete = constraint->fk_del_action;
}

/* True if nodes check the key. */
static bool
is_for_nodes(Oid relid, Oid referred, const Constraint *constraint)
{
	ShuttleTableKind kind = shuttle_table_kind(referred);
	ShuttleForeignKey key = {.child = relid,.parent = referred};

	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED ||
		(kind != SHUTTLE_TABLE_REFERENCE && (kind != SHUTTLE_TABLE_DISTRIBUTED || !relates_keys(relid, referred, constraint))))
		return false;
	read_key(&key, constraint);
	return shuttle_foreign_key_suits_nodes(&key, get_attnum(relid, key_of(relid)), InvalidAttrNumber,
										   shuttle_global_indexes_exist(relid)) &&
		!shuttle_foreign_key_acts_on(&key, shuttle_foreign_keys_of(relid));
}

static void
check_node_key(Oid relid, Oid referred, const Constraint *constraint)
{
	AclResult	rights = pg_class_aclcheck(referred, GetUserId(), ACL_REFERENCES);

	if (rights != ACLCHECK_OK)
		aclcheck_error(rights, OBJECT_TABLE, get_rel_name(referred));
	if (KEY_IS_OF_18(constraint))
		shuttle_ddl_refuse(relid, "a foreign key with PERIOD or NOT ENFORCED",
						   "Storage nodes check foreign keys as older versions know them: leave the words out.");
}

static void
append_names(StringInfo text, const List *names, bool are_strings)
{
	const char *separator = " (";
	ListCell   *cell;

	if (names == NIL)
		return;
	foreach(cell, names)
	{
		const char *name = are_strings ? lfirst(cell) : strVal(lfirst(cell));

		appendStringInfo(text, "%s%s", separator, quote_identifier(name));
		separator = ", ";
	}
	appendStringInfoChar(text, ')');
}

static void
append_action(StringInfo text, const char *event, char action)
{
	const char *what = "";

	switch (action)
	{
		case FKCONSTR_ACTION_RESTRICT:
			what = "RESTRICT";
			break;
		case FKCONSTR_ACTION_CASCADE:
			what = "CASCADE";
			break;
		case FKCONSTR_ACTION_SETNULL:
			what = "SET NULL";
			break;
		case FKCONSTR_ACTION_SETDEFAULT:
			what = "SET DEFAULT";
			break;
		default:
			return;				/* NO ACTION, or none */
	}
	appendStringInfo(text, " ON %s %s", event, what);
}

static void
refuse_to_partitioned(Oid referred)
{
	shuttle_ddl_refuse(referred, "a foreign key to it", "Partitioned tables that foreign keys refer to cannot be distributed yet.");
}

void
shuttle_ddl_add_foreign_key(Oid relid, const Constraint *constraint)
{
	Oid			referred = RangeVarGetRelid(constraint->pktable, ShareRowExclusiveLock, false);
	bool		is_distributed = shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED;

	if (shuttle_table_kind(referred) == SHUTTLE_TABLE_PARTITIONED)
		refuse_to_partitioned(referred);
	if (is_for_nodes(relid, referred, constraint))
	{
		check_node_key(relid, referred, constraint);
		shuttle_ddl_on_nodes(relid, list_make2(shuttle_ddl_foreign_key_text(relid, constraint),
											   shuttle_tablet_text_name_keys(relid)));
	}
	else if (is_distributed || shuttle_table_kind(referred) == SHUTTLE_TABLE_DISTRIBUTED)
		(void) shuttle_foreign_key_create(relid, referred, constraint, true);
	else
		(void) shuttle_local_run(shuttle_ddl_foreign_key_text(relid, constraint));
}

char *
shuttle_ddl_foreign_key_text(Oid relid, const Constraint *constraint)
{
	Oid			referred = RangeVarGetRelid(constraint->pktable, ShareRowExclusiveLock, false);
	List	   *others = referred_columns(referred, constraint);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "ALTER TABLE %s ADD ", shuttle_local_name(relid));
	if (constraint->conname != NULL)
		appendStringInfo(&text, "CONSTRAINT %s ", quote_identifier(constraint->conname));
	appendStringInfoString(&text, "FOREIGN KEY");
	append_names(&text, constraint->fk_attrs, false);
	appendStringInfo(&text, " REFERENCES %s", shuttle_local_name(referred));
	append_names(&text, others, true);
	if (constraint->fk_matchtype == FKCONSTR_MATCH_FULL)
		appendStringInfoString(&text, " MATCH FULL");
	append_action(&text, "UPDATE", constraint->fk_upd_action);
	append_action(&text, "DELETE", constraint->fk_del_action);
	append_names(&text, constraint->fk_del_set_cols, false);
	if (constraint->deferrable)
		appendStringInfo(&text, " DEFERRABLE%s", constraint->initdeferred ? " INITIALLY DEFERRED" : "");
	if (constraint->skip_validation)
		appendStringInfoString(&text, " NOT VALID");
	return text.data;
}

/* Clauses like DEFERRABLE follow a column's constraint as constraints of their own. */
static bool
take_clause(Constraint *key, const Constraint *clause)
{
	switch (clause->contype)
	{
		case CONSTR_ATTR_DEFERRED:
			key->initdeferred = key->deferrable = true;
			return true;
		case CONSTR_ATTR_DEFERRABLE:
			key->deferrable = true;
			return true;
		case CONSTR_ATTR_NOT_DEFERRABLE:
		case CONSTR_ATTR_IMMEDIATE:
			return true;
		default:
			return shuttle_take_enforced(key, clause);
	}
}

List *
shuttle_ddl_take_column_keys(ColumnDef *column, ShuttleDdlKeyFilter filter, const void *arg)
{
	List	   *keys = NIL;
	Constraint *key = NULL;		/* that clauses can follow */
	ListCell   *cell;

	foreach(cell, column->constraints)
	{
		Constraint *constraint = lfirst_node(Constraint, cell);

		if (key == NULL || !take_clause(key, constraint))
		{
			key = filter(arg, constraint) ? constraint : NULL;
			if (key == NULL)
				continue;
			key->fk_attrs = list_make1(makeString(column->colname));
			keys = lappend(keys, key);
		}
		column->constraints = foreach_delete_current(column->constraints, cell);
	}
	return keys;
}

/* ---- keys of tables on this server */

Oid
shuttle_ddl_referred(const Constraint *constraint)
{
	ShuttleTableKind kind;
	Oid			relid;

	if (constraint->contype != CONSTR_FOREIGN)
		return InvalidOid;
	relid = shuttle_ddl_find(constraint->pktable, &kind);
	if (kind == SHUTTLE_TABLE_PARTITIONED)
		refuse_to_partitioned(relid);
	return kind == SHUTTLE_TABLE_DISTRIBUTED ? relid : InvalidOid;
}

static bool
is_to_distributed(const void *arg, Constraint *constraint)
{
	return OidIsValid(shuttle_ddl_referred(constraint));
}

List *
shuttle_ddl_take_references(AlterTableStmt *statement)
{
	List	   *keys = NIL;
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_AddColumn)
			keys = list_concat(keys, shuttle_ddl_take_column_keys(castNode(ColumnDef, command->def), is_to_distributed, NULL));
		else if (command->subtype == AT_AddConstraint && is_to_distributed(NULL, castNode(Constraint, command->def)))
		{
			keys = lappend(keys, command->def);
			statement->cmds = foreach_delete_current(statement->cmds, cell);
		}
	}
	return keys;
}

/* True if the statement drops a column of the key, or else changes the type of one. */
static bool
has_column_of(const AlterTableStmt *statement, Oid relid, const ShuttleForeignKey *key, bool are_dropped)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		AttrNumber	number;

		if (are_dropped ? command->subtype != AT_DropColumn :
			command->subtype != AT_AlterColumnType && command->subtype != AT_SetExpression)
			continue;
		number = get_attnum(relid, command->name);
		for (int i = 0; i < key->ncolumns; i++)
		{
			if ((key->child == relid && key->child_columns[i] == number) ||
				(key->parent == relid && key->parent_columns[i] == number))
				return true;
		}
	}
	return false;
}

static bool
drops_constraint(const AlterTableStmt *statement, const char *name)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_DropConstraint && strcmp(command->name, name) == 0)
			return true;
	}
	return false;
}

List *
shuttle_ddl_take_changed_keys(Oid relid, const AlterTableStmt *statement)
{
	List	   *taken = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_foreign_keys_of(relid))
	{
		const ShuttleForeignKey *key = shuttle_foreign_key_load(lfirst_oid(cell));

		if (has_column_of(statement, relid, key, false) && !has_column_of(statement, relid, key, true) &&
			!(key->child == relid && drops_constraint(statement, key->name)))
			taken = lappend_oid(taken, key->oid);
	}
	return shuttle_foreign_key_kept_take(taken);
}

bool
shuttle_ddl_restore_keys(Node *statement)
{
	const AlterTableStmt *alter = (const AlterTableStmt *) statement;
	ShuttleTableKind kind;
	Oid			relid;
	ListCell   *cell;

	if (!IsA(statement, AlterTableStmt) || !OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
		return false;
	(void) shuttle_ddl_find(alter->relation, &kind);
	foreach(cell, alter->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype != AT_AddConstraint || castNode(Constraint, command->def)->contype != CONSTR_FOREIGN ||
			(kind != SHUTTLE_TABLE_DISTRIBUTED && !OidIsValid(shuttle_ddl_referred((Constraint *) command->def))))
			return false;
	}
	relid = RangeVarGetRelidExtended(alter->relation, AccessExclusiveLock, 0, RangeVarCallbackOwnsRelation, NULL);
	foreach(cell, alter->cmds)
	{
		const Constraint *constraint = castNode(Constraint, lfirst_node(AlterTableCmd, cell)->def);

		(void) shuttle_foreign_key_create(relid, RangeVarGetRelid(constraint->pktable, ShareRowExclusiveLock, false),
										  constraint, false);
	}
	return true;
}

/*-------------------------------------------------------------------------
 * ddl_foreign_keys.c
 *	  Foreign keys of distributed tables, which exist on nodes only.
 *
 * A node looks for the row that a foreign key names among its own rows, so the
 * key has to relate rows of one node: tables of one group, distribution column
 * to distribution column.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "storage/shuttle_storage.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/ddl/ddl.h"

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
	ShuttleNodeStatements *statements = shuttle_node_definitions_create();
	ListCell   *cell;

	foreach(cell, texts)
		shuttle_node_statements_add_all(statements, shuttle_table_servers(relid), lfirst(cell));
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

static bool
has_name(const List *names, const char *name)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (strcmp(strVal(lfirst(cell)), name) == 0)
			return true;
	}
	return false;
}

/* True if an action of the foreign key sets this column of its table to NULL. */
static bool
sets_null(const Constraint *constraint, const char *column)
{
	if (!has_name(constraint->fk_attrs, column))
		return false;
	return constraint->fk_upd_action == FKCONSTR_ACTION_SETNULL ||
		(constraint->fk_del_action == FKCONSTR_ACTION_SETNULL &&
		 (constraint->fk_del_set_cols == NIL || has_name(constraint->fk_del_set_cols, column)));
}

/* True if a row trigger of the table would have to fire for what the foreign key does. */
static bool
fires_trigger(Oid relid, const Constraint *constraint)
{
	Relation	rel = table_open(relid, AccessShareLock);
	const TriggerDesc *triggers = rel->trigdesc;
	bool		updates = constraint->fk_del_action == FKCONSTR_ACTION_SETNULL ||
		constraint->fk_upd_action == FKCONSTR_ACTION_SETNULL ||
		constraint->fk_upd_action == FKCONSTR_ACTION_CASCADE;
	bool		deletes = constraint->fk_del_action == FKCONSTR_ACTION_CASCADE;
	bool		fires = false;

	/* deferrable keys have internal ones */
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!trigger->tgisinternal && TRIGGER_FOR_ROW(trigger->tgtype))
			fires |= (deletes && TRIGGER_FOR_DELETE(trigger->tgtype)) ||
				(updates && TRIGGER_FOR_UPDATE(trigger->tgtype));
	}
	table_close(rel, NoLock);
	return fires;
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
	node = shuttle_node_get(linitial_oid(shuttle_table_servers(ddl->relid)), GetUserId());
	if (shuttle_node_rows(node, psprintf(query, deletes ? "true" : "false", updates ? "true" : "false"),
						  1, ddl->relid) != NIL)
		shuttle_ddl_refuse(ddl->relid, "a row trigger beside a foreign key that changes rows",
						   "Storage nodes do what foreign keys say, and fire no triggers: use NO ACTION.");
}

static void
check_foreign_key(Oid relid, Oid referred, const Constraint *constraint)
{
	ShuttleTableKind kind = shuttle_table_kind(referred);
	AclResult	rights = pg_class_aclcheck(referred, GetUserId(), ACL_REFERENCES);

	if (rights != ACLCHECK_OK)
		aclcheck_error(rights, OBJECT_TABLE, get_rel_name(referred));
	if (KEY_IS_OF_18(constraint))
		shuttle_ddl_refuse(relid, "a foreign key with PERIOD or NOT ENFORCED",
						   "Storage nodes check foreign keys as older versions know them: leave the words out.");
	if (constraint->fk_del_action == FKCONSTR_ACTION_SETDEFAULT ||
		constraint->fk_upd_action == FKCONSTR_ACTION_SETDEFAULT)
		shuttle_ddl_refuse(relid, "a foreign key with SET DEFAULT",
						   "Storage nodes have no defaults; use SET NULL.");
	if (fires_trigger(relid, constraint))
		shuttle_ddl_refuse(relid, "a foreign key that changes rows beside a row trigger",
						   "Storage nodes do what foreign keys say, and fire no triggers: use NO ACTION.");
	if (sets_null(constraint, key_of(relid)))
		shuttle_ddl_refuse(relid, "a foreign key that sets the distribution column to NULL",
						   "The row would belong to another storage node; use CASCADE or NO ACTION.");
	if (kind == SHUTTLE_TABLE_REFERENCE)
		return;
	if (kind != SHUTTLE_TABLE_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key of distributed table \"%s\" cannot refer to table \"%s\" of this server",
						get_rel_name(relid), get_rel_name(referred)),
				 errhint("Distribute table \"%s\" too, or make it a reference table.",
						 get_rel_name(referred))));
	if (!relates_keys(relid, referred, constraint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FOREIGN_KEY),
				 errmsg("foreign key does not relate column \"%s\" of table \"%s\" to column \"%s\" of table \"%s\" in one group",
						key_of(relid), get_rel_name(relid), key_of(referred), get_rel_name(referred)),
				 errdetail("The row that it names can be on another storage node."),
				 errhint("Add the distribution columns to the key, or make \"%s\" a reference table.",
						 get_rel_name(referred))));
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

char *
shuttle_ddl_foreign_key(Oid relid, const Constraint *constraint)
{
	check_foreign_key(relid, RangeVarGetRelid(constraint->pktable, ShareRowExclusiveLock, false),
					  constraint);
	return shuttle_ddl_foreign_key_text(relid, constraint);
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
			return false;
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

/*-------------------------------------------------------------------------
 * foreign_key_place.c
 *	  Which foreign keys nodes check, and which this server.
 *
 * Nodes check a key at no cost if it relates rows of one node. But they have no defaults,
 * move no rows, fire no triggers, keep no entries of global indexes, and tell nobody what their keys did: a key whose
 * actions would meet one of these, or change rows that another key is checked for here,
 * is checked here, too.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

static bool
deletes(const ShuttleForeignKey *key)
{
	return key->on_delete == FKCONSTR_ACTION_CASCADE;
}

static bool
updates(const ShuttleForeignKey *key)
{
	return key->on_update == FKCONSTR_ACTION_CASCADE || key->on_update == FKCONSTR_ACTION_SETNULL ||
		key->on_delete == FKCONSTR_ACTION_SETNULL;
}

/* True if a row trigger of the child would have to fire for what the key does. */
static bool
fires_trigger(const ShuttleForeignKey *key)
{
	Relation	rel = table_open(key->child, NoLock);
	const TriggerDesc *triggers = rel->trigdesc;
	bool		fires = false;

	/* deferrable keys have internal ones */
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!trigger->tgisinternal && TRIGGER_FOR_ROW(trigger->tgtype))
			fires |= (deletes(key) && TRIGGER_FOR_DELETE(trigger->tgtype)) ||
				(updates(key) && TRIGGER_FOR_UPDATE(trigger->tgtype));
	}
	table_close(rel, NoLock);
	return fires;
}

/* True if an action sets the column to NULL. */
static bool
sets_null(const ShuttleForeignKey *key, AttrNumber column)
{
	bool		is_set = key->nset == 0;

	for (int i = 0; i < key->nset; i++)
		is_set |= key->set_columns[i] == column;
	for (int i = 0; i < key->ncolumns; i++)
	{
		if (key->child_columns[i] == column)
			return key->on_update == FKCONSTR_ACTION_SETNULL ||
				(key->on_delete == FKCONSTR_ACTION_SETNULL && is_set);
	}
	return false;
}

static bool
pairs(const ShuttleForeignKey *key, AttrNumber child_key, AttrNumber parent_key)
{
	for (int i = 0; i < key->ncolumns; i++)
	{
		if (key->child_columns[i] == child_key && key->parent_columns[i] == parent_key)
			return true;
	}
	return false;
}

bool
shuttle_foreign_key_suits_nodes(const ShuttleForeignKey *key, AttrNumber child_key, AttrNumber parent_key, bool has_entries)
{
	return !(has_entries && (deletes(key) || updates(key))) &&
		key->on_delete != FKCONSTR_ACTION_SETDEFAULT && key->on_update != FKCONSTR_ACTION_SETDEFAULT &&
		!fires_trigger(key) && !sets_null(key, child_key) &&
		(parent_key == InvalidAttrNumber || pairs(key, child_key, parent_key));
}

/* True if the other key is checked when rows of the child are changed as this key does. */
static bool
acts_on(const ShuttleForeignKey *key, const ShuttleForeignKey *other)
{
	if (other->oid == key->oid)
		return false;
	return ((deletes(key) || updates(key)) && other->parent == key->child) ||
		(updates(key) && other->child == key->child);
}

bool
shuttle_foreign_key_acts_on(const ShuttleForeignKey *key, const List *others)
{
	const ListCell *cell;

	foreach(cell, others)
	{
		if (acts_on(key, shuttle_foreign_key_load(lfirst_oid(cell))))
			return true;
	}
	return false;
}

/* A key of a node that changes rows of the table. */
static char *
find_node_action(Oid relid, const char *condition)
{
	const char *query = "SELECT conname FROM pg_constraint WHERE conrelid = $1 AND contype = 'f' AND conparentid = 0 AND (%s) ORDER BY 1";
	ShuttleNode *node;
	List	   *rows;

	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return NULL;
	node = shuttle_connection_get(linitial_oid(shuttle_table_servers(relid)), GetUserId());
	rows = shuttle_node_rows(node, psprintf(query, condition), 1, relid);
	return rows == NIL ? NULL : ((char **) linitial(rows))[0];
}

void
shuttle_foreign_key_refuse_node_actions(const ShuttleForeignKey *key)
{
	char	   *name = find_node_action(key->parent, "confdeltype IN ('c', 'n') OR confupdtype IN ('c', 'n')");
	Oid			relid = key->parent;

	if (name == NULL)
	{
		name = find_node_action(key->child, "confdeltype = 'n' OR confupdtype IN ('c', 'n')");
		relid = key->child;
	}
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key \"%s\" is not possible while storage nodes change rows of table \"%s\" by foreign key \"%s\"",
						key->name, get_rel_name(relid), name),
				 errdetail("Nobody would check what they changed."),
				 errhint("Drop foreign key \"%s\", and add it again behind this one.", name)));
}

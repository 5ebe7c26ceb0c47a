/*-------------------------------------------------------------------------
 * foreign_key_kept.c
 *	  Foreign keys that are taken from tables while these change their kind.
 *
 * A key is dropped here and made again when its tables are what they will be: by core if
 * both are ordinary tables then, else by us. Rows were checked before, and nobody can
 * write them meanwhile; they are checked again if their values may have changed.
 *
 * Memory: the current context.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "commands/comment.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

/* A key that was dropped. */
typedef struct KeptKey
{
	Oid			child;
	Oid			parent;
	char	   *text;			/* ALTER TABLE */
	char	   *comment;		/* or NULL */
} KeptKey;

static const char *const key_query =
"SELECT conrelid::text, confrelid::text, format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,"
" pg_get_constraintdef(oid)), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE oid = $1";

List *
shuttle_foreign_key_kept_take(const List *constraints)
{
	List	   *kept = NIL;
	const ListCell *cell;

	foreach(cell, constraints)
	{
		char	  **row = linitial(shuttle_local_rows(key_query, lfirst_oid(cell)));
		KeptKey    *key = palloc_object(KeptKey);

		key->child = atooid(row[0]);
		key->parent = atooid(row[1]);
		key->text = row[2];
		key->comment = row[3];
		LockRelationOid(key->child, AccessExclusiveLock);
		LockRelationOid(key->parent, AccessExclusiveLock);
		shuttle_foreign_key_drop(lfirst_oid(cell));
		kept = lappend(kept, key);
	}
	return kept;
}

static Constraint *
parse(const char *text)
{
	const RawStmt *raw = linitial_node(RawStmt, raw_parser(text, RAW_PARSE_DEFAULT));
	const AlterTableStmt *statement = castNode(AlterTableStmt, raw->stmt);

	return castNode(Constraint, linitial_node(AlterTableCmd, statement->cmds)->def);
}

/* Core would compare rows with the rights of the caller, which functions of owners must not get. */
Oid
shuttle_foreign_key_add_here(Oid child, Oid parent, const char *text, bool check)
{
	const Constraint *constraint = parse(text);
	bool		compares = !constraint->skip_validation && get_rel_relkind(child) == RELKIND_RELATION &&
		get_rel_relkind(parent) == RELKIND_RELATION;
	Oid			made;

	(void) shuttle_local_run(compares ? psprintf("%s\nNOT VALID", text) : text);
	made = get_relation_constraint_oid(child, constraint->conname, false);
	if (compares && check)
		shuttle_foreign_key_validate(made);
	else if (compares)
		shuttle_surgery_set_valid(made);
	return made;
}

static void
give(const KeptKey *key, bool check)
{
	Constraint *constraint = parse(key->text);
	Oid			made;

	if (shuttle_table_kind(key->child) == SHUTTLE_TABLE_DISTRIBUTED ||
		shuttle_table_kind(key->parent) == SHUTTLE_TABLE_DISTRIBUTED)
		made = shuttle_foreign_key_create(key->child, key->parent, constraint, check);
	else
		made = shuttle_foreign_key_add_here(key->child, key->parent, key->text, check);
	if (key->comment != NULL)
		CreateComments(made, ConstraintRelationId, 0, key->comment);
	CommandCounterIncrement();
}

void
shuttle_foreign_key_kept_give(const List *kept, bool check)
{
	const ListCell *cell;

	foreach(cell, kept)
		give(lfirst(cell), check);
}

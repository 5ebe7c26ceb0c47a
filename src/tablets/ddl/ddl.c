/*-------------------------------------------------------------------------
 * ddl.c
 *	  Which statements on distributed tables reach nodes, and how.
 *
 * One table names the statements that need more than core's own work here: what
 * runs them, or why they are refused. A statement that is not in the table runs
 * here as on any table; if it drops a part of a distributed table nodes drop it
 * too. All is in the local transaction.
 *
 * Nodes are not sent the user's text. They are sent what has changed in the
 * catalogs here (ddl_changes.c), with qualified names.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/constraints/constraints.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/distribute/distribute.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/reference/copies.h"
#include "tablets/shuttle_tablets.h"

/* A statement on one relation. */
typedef struct StatementRule
{
	NodeTag		tag;
	const char *name;
	void		(*run) (const ShuttleDdl *ddl);
	const char *instead;		/* hint, if run is NULL */
	bool		for_copies;		/* copies of reference tables follow, too */
	bool		for_all;		/* also for who does not own the table */
} StatementRule;

bool		(*shuttle_ddl_run_partitioned) (const ShuttleDdl *ddl) = NULL;

static void refuse_child(const ShuttleDdl *ddl);
static void run_trigger(const ShuttleDdl *ddl);
static void run_as_it_is(const ShuttleDdl *ddl);

static const StatementRule rules[] =
{
	{
		.tag = T_AlterTableStmt,
		.name = "ALTER TABLE",
		.run = shuttle_ddl_alter_table,
		.for_copies = true,
	},
	{
		.tag = T_RenameStmt,
		.name = "ALTER TABLE ... RENAME",
		.run = shuttle_ddl_rename,
		.for_copies = true,
	},
	{
		.tag = T_AlterObjectSchemaStmt,
		.name = "ALTER TABLE ... SET SCHEMA",
		.run = shuttle_ddl_set_schema,
		.for_copies = true,
	},
	{
		.tag = T_IndexStmt,
		.name = "CREATE INDEX",
		.run = shuttle_ddl_create_index,
		.for_copies = true,
	},
	{
		.tag = T_DropStmt,
		.name = "DROP INDEX CONCURRENTLY",
		.run = shuttle_ddl_drop_index,
	},
	{
		.tag = T_ReindexStmt,
		.name = "REINDEX",
		.run = shuttle_ddl_reindex,
	},
	{
		.tag = T_VacuumStmt,
		.name = "VACUUM",
		.run = shuttle_ddl_vacuum,
	},
	{
		.tag = T_TruncateStmt,
		.name = "TRUNCATE",
		.run = shuttle_ddl_truncate,
		.for_copies = true,
		.for_all = true,
	},
	{
		.tag = T_RepackStmt,
		.name = "REPACK",
		.run = shuttle_ddl_cluster,
	},
	{
		.tag = T_CreateStmt,
		.name = "CREATE TABLE",
		.run = refuse_child,
		.for_copies = true,
	},
	{
		.tag = T_CreateForeignTableStmt,
		.name = "CREATE FOREIGN TABLE",
		.run = refuse_child,
		.for_copies = true,
	},
	{
		.tag = T_RuleStmt,
		.name = "CREATE RULE",
		.instead = "Use a trigger, or a rule on a view.",
	},
	{
		.tag = T_CreateTrigStmt,
		.name = "CREATE TRIGGER",
		.run = run_trigger,
	},
	{
		.tag = T_CommentStmt,
		.name = "COMMENT",
		.run = shuttle_ddl_comment,
	},
	{
		.tag = T_CopyStmt,
		.name = "COPY",
		.run = shuttle_ddl_copy,
		.for_all = true,
	},
};

/* The tables that ALTER TABLE makes parents or partitions of a table. */
static List *
relatives_of(const AlterTableStmt *statement)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_AddInherit)
			names = lappend(names, command->def);
		else if (command->subtype == AT_AttachPartition)
			names = lappend(names, castNode(PartitionCmd, command->def)->name);
	}
	return names;
}

/* The table of a constraint; else NULL. */
static RangeVar *
commented_table(const CommentStmt *statement)
{
	List	   *name;

	if (statement->objtype != OBJECT_TABCONSTRAINT)
		return NULL;
	name = castNode(List, statement->object);
	return makeRangeVarFromNameList(list_copy_head(name, list_length(name) - 1));
}

/* The relations that a statement of the table names. */
static List *
targets_of(Node *statement)
{
	List	   *names = NIL;
	ListCell   *cell;

	switch (nodeTag(statement))
	{
		case T_AlterTableStmt:
			return lcons(castNode(AlterTableStmt, statement)->relation,
						 relatives_of(castNode(AlterTableStmt, statement)));
		case T_CreateStmt:
		case T_CreateForeignTableStmt:
			return ((CreateStmt *) statement)->inhRelations;
		case T_RenameStmt:
			return list_make1(castNode(RenameStmt, statement)->relation);
		case T_AlterObjectSchemaStmt:
			return list_make1(castNode(AlterObjectSchemaStmt, statement)->relation);
		case T_IndexStmt:
			return list_make1(castNode(IndexStmt, statement)->relation);
		case T_DropStmt:
			return castNode(DropStmt, statement)->concurrent ?
				list_make1(makeRangeVarFromNameList(linitial(castNode(DropStmt, statement)->objects))) : NIL;
		case T_ReindexStmt:
			return list_make1(castNode(ReindexStmt, statement)->relation);
		case T_RepackStmt:
			return list_make1(shuttle_repacked_table(statement));
		case T_RuleStmt:
			return list_make1(castNode(RuleStmt, statement)->relation);
		case T_CreateTrigStmt:
			return list_make1(castNode(CreateTrigStmt, statement)->relation);
		case T_CommentStmt:
			return list_make1(commented_table(castNode(CommentStmt, statement)));
		case T_TruncateStmt:
			return castNode(TruncateStmt, statement)->relations;
		case T_CopyStmt:
			return shuttle_ddl_copied(castNode(CopyStmt, statement));
		case T_VacuumStmt:
			foreach(cell, castNode(VacuumStmt, statement)->rels)
				names = lappend(names, lfirst_node(VacuumRelation, cell)->relation);
			return names;
		default:
			return NIL;
	}
}

/* The lock that core takes on the table that the statement names, or we take later; NoLock: what core does to the
 * table itself is right, whatever another session has made of it meanwhile. */
static LOCKMODE
lock_of(Node *statement, const RangeVar *name)
{
	switch (nodeTag(statement))
	{
		case T_AlterTableStmt:
			return AlterTableGetLockLevel(castNode(AlterTableStmt, statement)->cmds);
		case T_IndexStmt:
			return shuttle_ddl_global_makes(castNode(IndexStmt, statement), name) ? AccessExclusiveLock :
				castNode(IndexStmt, statement)->concurrent ? ShareUpdateExclusiveLock : ShareLock;
		case T_CreateTrigStmt:
			return ShareRowExclusiveLock;
		case T_RenameStmt:
		case T_AlterObjectSchemaStmt:
		case T_RuleStmt:
		case T_RepackStmt:
			return AccessExclusiveLock;
		default:
			return NoLock;
	}
}

/* Core calls it before it locks what the name stands for. */
static void
check_owner(const RangeVar *name, Oid relid, Oid oldrelid, void *arg)
{
	if (OidIsValid(relid) && !object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name->relname);
}

/* Locks a table before its kind is read: a session that has the lock may be distributing it,
 * bringing it back, or giving its name to another one. */
static void
lock_table(const RangeVar *name, LOCKMODE mode)
{
	Oid			relid = name == NULL ? InvalidOid : RangeVarGetRelid(name, NoLock, true);
	char		relkind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	if (mode == NoLock ||
		(relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE) ||
		!object_ownercheck(RelationRelationId, relid, GetUserId()))
		return;
	(void) RangeVarGetRelidExtended(name, mode, RVR_MISSING_OK, check_owner, NULL);
}

/* The first distributed or reference table that the statement names. Who does not own it is
 * refused by core, before anything is locked. */
static Oid
find_table(List *names, const StatementRule *rule, Oid *targetid)
{
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, names)
	{
		RangeVar   *name = lfirst(cell);
		ShuttleTableKind kind;
		Oid			relid = shuttle_ddl_find(name, &kind);

		if (!OidIsValid(relid) ||
			(!rule->for_all && !object_ownercheck(RelationRelationId, relid, GetUserId())))
			continue;
		if (kind == SHUTTLE_TABLE_TABLET)
			shuttle_ddl_refuse_tablet(relid);
		if (kind == SHUTTLE_TABLE_REFERENCE && !rule->for_copies)
			continue;
		if (kind != SHUTTLE_TABLE_TABLET && !OidIsValid(found))
		{
			found = relid;
			*targetid = RangeVarGetRelid(name, NoLock, true);
		}
	}
	return found;
}

/* Replaces or alters a function, and sends it to nodes that need it. */
static void
run_function(const ShuttleDdl *ddl, const List *names)
{
	const char *name = strVal(llast(names));
	bool		follows = OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES));
	const char *immutable = follows ? shuttle_ddl_types_immutable(name) : NULL;

	run_as_it_is(ddl);
	if (follows)
	{
		CommandCounterIncrement();
		shuttle_ddl_types_function(name, immutable);
	}
}

static const char *const tablets_of_schema_query =
"SELECT c.oid::text FROM shuttle.tables JOIN pg_inherits ON inhparent = relation JOIN pg_class AS c ON c.oid = inhrelid"
" WHERE c.relnamespace = $1";

/* Takes from tablets what GRANT ON ALL TABLES IN SCHEMA has given. */
static void
revoke_in_schemas(const GrantStmt *statement)
{
	ListCell   *cell;
	ListCell   *tablet;

	CommandCounterIncrement();
	foreach(cell, statement->objects)
	{
		foreach(tablet, shuttle_local_texts(tablets_of_schema_query, get_namespace_oid(strVal(lfirst(cell)), false)))
			shuttle_local_revoke(atooid(lfirst(tablet)));
	}
}

/* Privileges on tablets would lead past those of the table, and past its policies. */
static void
run_grant(const ShuttleDdl *ddl)
{
	const GrantStmt *statement = castNode(GrantStmt, ddl->pstmt->utilityStmt);
	bool		is_of_tables = statement->is_grant && statement->objtype == OBJECT_TABLE &&
		OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES));
	ListCell   *cell;

	foreach(cell, is_of_tables && statement->targtype == ACL_TARGET_OBJECT ? statement->objects : NIL)
	{
		ShuttleTableKind kind;
		Oid			relid = shuttle_ddl_find(lfirst_node(RangeVar, cell), &kind);

		if (kind == SHUTTLE_TABLE_TABLET)
			shuttle_ddl_refuse_tablet(relid);
	}
	run_as_it_is(ddl);
	if (is_of_tables && statement->targtype == ACL_TARGET_ALL_IN_SCHEMA)
		revoke_in_schemas(statement);
}

static void
run_publishing(const ShuttleDdl *ddl)
{
	bool		has_tables = OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES));

	if (has_tables)
		shuttle_publications_refuse(ddl->pstmt->utilityStmt);
	run_as_it_is(ddl);
	if (has_tables)
		shuttle_publications_follow(ddl->pstmt->utilityStmt);
}

static bool
changes_columns(const AlterTableStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		AlterTableType type = lfirst_node(AlterTableCmd, cell)->subtype;

		if (statement->objtype == OBJECT_TABLE && (type == AT_AlterColumnType || type == AT_SetExpression))
			return true;
	}
	return false;
}

/* Foreign keys between a table on this server and distributed ones; false: the statement
 * neither adds any nor changes columns of one. */
static bool
change_references(const ShuttleDdl *ddl)
{
	AlterTableStmt *statement = copyObject(castNode(AlterTableStmt, ddl->pstmt->utilityStmt));
	List	   *keys = OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) ? shuttle_ddl_take_references(statement) : NIL;
	bool		changes = OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) && changes_columns(statement);
	List	   *kept;
	Oid			relid;
	ListCell   *cell;

	if (keys == NIL && !changes)
		return false;
	relid = RangeVarGetRelidExtended(statement->relation, AccessExclusiveLock, statement->missing_ok ? RVR_MISSING_OK : 0,
									 check_owner, NULL);
	if (!OidIsValid(relid))
		return false;
	shuttle_foreign_key_refuse_pending(relid, "ALTER TABLE");
	kept = shuttle_ddl_take_changed_keys(relid, statement);
	if (keys == NIL && kept == NIL)
		return false;
	if (keys == NIL)
		shuttle_ddl_types_run(ddl);
	else if (statement->cmds != NIL)
		shuttle_ddl_run_here(ddl, (Node *) statement);
	CommandCounterIncrement();
	foreach(cell, keys)
		shuttle_ddl_add_foreign_key(relid, lfirst(cell));
	shuttle_foreign_key_kept_give(kept, true);
	return true;
}

/* Statements that name no table; the extension may not be in this database. */
static void
run_on_others(const ShuttleDdl *ddl)
{
	Node	   *statement = ddl->pstmt->utilityStmt;

	if (IsA(statement, AlterTableStmt) && change_references(ddl))
		return;
	switch (nodeTag(statement))
	{
		case T_RenameStmt:
		case T_AlterObjectSchemaStmt:
		case T_AlterTableStmt:
		case T_AlterDomainStmt:
		case T_AlterEnumStmt:
			if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
				shuttle_ddl_types_run(ddl);
			else
				run_as_it_is(ddl);
			break;
		case T_CreateFunctionStmt:
			if (castNode(CreateFunctionStmt, statement)->replace)
				run_function(ddl, castNode(CreateFunctionStmt, statement)->funcname);
			else
				run_as_it_is(ddl);
			break;
		case T_AlterFunctionStmt:
			run_function(ddl, castNode(AlterFunctionStmt, statement)->func->objname);
			break;
		case T_GrantStmt:
			run_grant(ddl);
			break;
		case T_CreatePublicationStmt:
		case T_AlterPublicationStmt:
		case T_CreateSubscriptionStmt:
		case T_AlterSubscriptionStmt:
			run_publishing(ddl);
			break;
		case T_TruncateStmt:
			if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
				shuttle_ddl_truncate(ddl);
			else
				run_as_it_is(ddl);
			break;
		case T_ConstraintsSetStmt:
			if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) && shuttle_layout_nodes() != NIL)
				shuttle_ddl_set_constraints(ddl);
			else
				run_as_it_is(ddl);
			break;
		default:
			run_as_it_is(ddl);
	}
}

/* The trigger that a statement drops or renames, and its table; else NULL. */
static const char *
changed_trigger(Node *statement, RangeVar **table)
{
	if (IsA(statement, DropStmt) && castNode(DropStmt, statement)->removeType == OBJECT_TRIGGER)
	{
		List	   *name = linitial(castNode(DropStmt, statement)->objects);

		*table = makeRangeVarFromNameList(list_copy_head(name, list_length(name) - 1));
		return strVal(llast(name));
	}
	if (IsA(statement, RenameStmt) && castNode(RenameStmt, statement)->renameType == OBJECT_TRIGGER)
	{
		*table = castNode(RenameStmt, statement)->relation;
		return castNode(RenameStmt, statement)->subname;
	}
	return NULL;
}

/* Without its triggers a reference table has other rows than its copies, and a distributed
 * one rows that its checks do not allow. */
static void
keep_our_triggers(Node *statement)
{
	RangeVar   *table;
	const char *name = changed_trigger(statement, &table);
	bool		is_of_copies = name != NULL && shuttle_copy_trigger_has_name(name);
	bool		is_of_index = name != NULL && shuttle_global_trigger_has_name(name);
	ShuttleTableKind kind;
	Oid			relid;

	if (!is_of_copies && !is_of_index && (name == NULL || !shuttle_row_check_trigger_has_name(name)))
		return;
	relid = shuttle_ddl_find(table, &kind);
	if (kind == (is_of_copies ? SHUTTLE_TABLE_REFERENCE : SHUTTLE_TABLE_DISTRIBUTED))
		shuttle_ddl_refuse(relid, psprintf("dropping or renaming trigger \"%s\"", name),
						   is_of_copies ? "shuttle.local_table() drops it with the table's copies." :
						   is_of_index ? "It goes with the unique indexes that lack the distribution column." :
						   "It goes with the check constraints that are computed here.");
}

static void
keep_our_names(const Node *statement)
{
	const RangeVar *table;
	const char *name = shuttle_ddl_global_trigger(statement, &table);
	ShuttleTableKind kind = SHUTTLE_TABLE_OTHER;
	Oid			relid = name != NULL && shuttle_global_trigger_has_name(name) ? shuttle_ddl_find(table, &kind) : InvalidOid;

	if (kind == SHUTTLE_TABLE_DISTRIBUTED)
		shuttle_ddl_refuse(relid, psprintf("a trigger named \"%s\"", name), "Give it another name.");
}

static void
run_statement(ShuttleDdl *ddl)
{
	Node	   *statement = ddl->pstmt->utilityStmt;
	List	   *targets;

	keep_our_triggers(statement);
	keep_our_names(statement);
	for (int i = 0; i < lengthof(rules); i++)
	{
		if (rules[i].tag != nodeTag(statement))
			continue;
		targets = targets_of(statement);
		ddl->name = rules[i].name;
		if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) && targets != NIL)
			lock_table(linitial(targets), lock_of(statement, linitial(targets)));
		ddl->relid = find_table(targets, &rules[i], &ddl->targetid);
		if (!OidIsValid(ddl->relid))
			break;
		if (shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_PARTITIONED && shuttle_ddl_run_partitioned(ddl))
			return;
		if (rules[i].run == NULL)
			shuttle_ddl_refuse(ddl->relid, rules[i].name, rules[i].instead);
		rules[i].run(ddl);
		return;
	}
	run_on_others(ddl);
}

static void
run_as_it_is(const ShuttleDdl *ddl)
{
	ddl->run(ddl->pstmt, ddl->query, ddl->is_read_only, ddl->context, ddl->params, ddl->env,
			 ddl->dest, ddl->completion);
}

/* Children of a reference table would have rows that no node has. */
static void
refuse_child(const ShuttleDdl *ddl)
{
	const CreateStmt *statement = (const CreateStmt *) ddl->pstmt->utilityStmt;

	shuttle_ddl_refuse(ddl->relid, psprintf("%s ... %s", ddl->name,
											statement->partbound == NULL ? "INHERITS" : "PARTITION OF"),
					   "Make a table with LIKE.");
}

/* Core makes a trigger with transition tables, and then each write fails. */
static void
run_trigger(const ShuttleDdl *ddl)
{
	const CreateTrigStmt *statement = castNode(CreateTrigStmt, ddl->pstmt->utilityStmt);

	if (statement->transitionRels != NIL)
		shuttle_ddl_refuse(ddl->relid, "CREATE TRIGGER with transition tables",
						   "Use a row trigger without them.");
	if (statement->isconstraint)
		shuttle_ddl_refuse(ddl->relid, "CREATE CONSTRAINT TRIGGER",
						   "Use CREATE TRIGGER ... AFTER: tablets are foreign tables.");
	shuttle_ddl_check_trigger(ddl, statement);
	/* a dump has ours */
	if (shuttle_row_check_trigger_has_name(statement->trigname) &&
		strcmp(NameListToString(statement->funcname), "shuttle.check_row") != 0)
		shuttle_ddl_refuse(ddl->relid, psprintf("a trigger named \"%s\"", statement->trigname), "Give it another name.");
	run_as_it_is(ddl);
	CommandCounterIncrement();
	shuttle_row_checks_follow(ddl->relid);
}

void
shuttle_ddl_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	ShuttleDdl	ddl = SHUTTLE_DDL_STATEMENT;
	bool		cascade = shuttle_ddl_is_cascade(pstmt->utilityStmt);
	ShuttleDdlChanges changes;

	shuttle_ddl_changes_enter(&changes);
	PG_TRY();					/* the statement's notes outlive it */
	{
		run_statement(&ddl);
		shuttle_ddl_changes_send(cascade);
	}
	PG_FINALLY();
	{
		shuttle_ddl_changes_leave();
	}
	PG_END_TRY();
}

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
#include "utils/partcache.h"

#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/ddl/ddl.h"
#include "tablets/reference/copies.h"

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

static void refuse_repack(const ShuttleDdl *ddl);
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
		.instead = "Make a table in the other schema, distribute it, and copy the rows.",
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
		.run = refuse_repack,
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

Oid
shuttle_ddl_find(const RangeVar *name, ShuttleTableKind *kind)
{
	Oid			relid = name == NULL ? InvalidOid : RangeVarGetRelid(name, NoLock, true);
	char		relkind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
		relid = IndexGetRelation(relid, true);
	*kind = OidIsValid(relid) ? shuttle_table_kind(relid) : SHUTTLE_TABLE_OTHER;
	return *kind == SHUTTLE_TABLE_OTHER ? InvalidOid : relid;
}

void
shuttle_ddl_refuse(Oid relid, const char *what, const char *instead)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not possible on %s table \"%s\"", what,
					shuttle_table_kind(relid) == SHUTTLE_TABLE_REFERENCE ? "reference" : "distributed",
					get_rel_name(relid)),
			 errhint("%s", instead)));
}

char *
shuttle_ddl_key(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	AttrNumber	number = RelationGetPartitionKey(rel)->partattrs[0];

	table_close(rel, NoLock);
	return get_attname(relid, number, false);
}

void
shuttle_ddl_check_unique(Oid relid, const char *what, const List *columns)
{
	char	   *key = shuttle_ddl_key(relid);
	const ListCell *cell;

	foreach(cell, columns)
	{
		Node	   *column = lfirst(cell);
		const char *name = IsA(column, IndexElem) ? ((IndexElem *) column)->name : strVal(column);

		if (name != NULL && strcmp(name, key) == 0)
			return;
	}
	shuttle_ddl_refuse(relid, psprintf("%s without the distribution column \"%s\"", what, key),
					   "Add the column: a storage node checks only its own rows.");
}

void
shuttle_ddl_refuse_tablet(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change tablet \"%s\"", get_rel_name(relid)),
			 errhint("Name the distributed table \"%s\": its tablets follow.",
					 get_rel_name(get_partition_parent(relid, true)))));
}

/* The lock that core takes on the table that the statement names; NoLock: what core does to the
 * table itself is right, whatever another session has made of it meanwhile. */
static LOCKMODE
lock_of(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_AlterTableStmt:
			return AlterTableGetLockLevel(castNode(AlterTableStmt, statement)->cmds);
		case T_IndexStmt:
			return castNode(IndexStmt, statement)->concurrent ? ShareUpdateExclusiveLock : ShareLock;
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

/* Sends a function that core has replaced or altered here to nodes that need it. */
static void
follow_function(List *name)
{
	if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
	{
		CommandCounterIncrement();
		shuttle_ddl_types_function(strVal(llast(name)));
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
		shuttle_ddl_revoke_in_schemas(statement);
}

/* Statements that name no table; the extension may not be in this database. */
static void
run_on_others(const ShuttleDdl *ddl)
{
	Node	   *statement = ddl->pstmt->utilityStmt;

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
			run_as_it_is(ddl);
			if (castNode(CreateFunctionStmt, statement)->replace)
				follow_function(castNode(CreateFunctionStmt, statement)->funcname);
			break;
		case T_AlterFunctionStmt:
			run_as_it_is(ddl);
			follow_function(castNode(AlterFunctionStmt, statement)->func->objname);
			break;
		case T_GrantStmt:
			run_grant(ddl);
			break;
		case T_ConstraintsSetStmt:
			if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) && shuttle_nodes_all() != NIL)
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

/* Without its triggers a reference table has other rows than its copies. */
static void
keep_copy_triggers(Node *statement)
{
	RangeVar   *table;
	const char *name = changed_trigger(statement, &table);
	ShuttleTableKind kind;
	Oid			relid;

	if (name == NULL || !shuttle_copy_trigger_has_name(name))
		return;
	relid = shuttle_ddl_find(table, &kind);
	if (kind == SHUTTLE_TABLE_REFERENCE)
		shuttle_ddl_refuse(relid, psprintf("dropping or renaming trigger \"%s\"", name),
						   "shuttle.local_table() drops it with the table's copies.");
}

static void
run_statement(ShuttleDdl *ddl)
{
	Node	   *statement = ddl->pstmt->utilityStmt;
	List	   *targets;

	keep_copy_triggers(statement);
	for (int i = 0; i < lengthof(rules); i++)
	{
		if (rules[i].tag != nodeTag(statement))
			continue;
		targets = targets_of(statement);
		ddl->name = rules[i].name;
		if (OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) && targets != NIL)
			lock_table(linitial(targets), lock_of(statement));
		ddl->relid = find_table(targets, &rules[i], &ddl->targetid);
		if (!OidIsValid(ddl->relid))
			break;
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

void
shuttle_ddl_run_here(const ShuttleDdl *ddl, Node *statement)
{
	PlannedStmt *pstmt = copyObject(ddl->pstmt);

	pstmt->utilityStmt = statement;
	ddl->run(pstmt, ddl->query, false, ddl->context, ddl->params, ddl->env, ddl->dest,
			 ddl->completion);
}

static void
refuse_repack(const ShuttleDdl *ddl)
{
	shuttle_ddl_refuse(ddl->relid, shuttle_repack_name(ddl->pstmt->utilityStmt),
					   "Name the tablets on their storage nodes with shuttle.run_on_nodes().");
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
	run_as_it_is(ddl);
}

void
shuttle_ddl_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	ShuttleDdl	ddl = {
		.run = run,
		.pstmt = pstmt,
		.query = queryString,
		.is_read_only = readOnlyTree,
		.context = context,
		.params = params,
		.env = queryEnv,
		.dest = dest,
		.completion = qc,
	};
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

/*-------------------------------------------------------------------------
 * ddl_global.c
 *	  Unique indexes and keys without the distribution column.
 *
 * Core makes no such index of a partitioned table. It makes an ordinary one, which then becomes
 * unique, and a constraint's, in the catalogs; entries follow behind the statement
 * (indexes/global_entries.c). A dump makes them again while shuttle.enable_ddl is off.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_partitioned_table.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"
#include "tablets/ddl/ddl.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_tablets.h"

/* Takes no lock: a weak one would be in the way of others that want a strong one next, as the caller may. */
char *
shuttle_ddl_key(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relid));
	AttrNumber	number;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for partition key of %u", relid);
	number = ((Form_pg_partitioned_table) GETSTRUCT(tuple))->partattrs.values[0];
	ReleaseSysCache(tuple);
	return get_attname(relid, number, false);
}

bool
shuttle_ddl_global_is(Oid relid, const List *columns)
{
	char	   *key = shuttle_ddl_key(relid);
	const ListCell *cell;

	foreach(cell, columns)
	{
		Node	   *column = lfirst(cell);
		const char *name = IsA(column, IndexElem) ? ((IndexElem *) column)->name : strVal(column);

		if (name != NULL && strcmp(name, key) == 0)
			return false;
	}
	return true;
}

bool
shuttle_ddl_global_makes(const IndexStmt *statement, const RangeVar *name)
{
	Oid			relid = !statement->unique || statement->concurrent ? InvalidOid : RangeVarGetRelid(name, NoLock, true);

	return OidIsValid(relid) && shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED &&
		shuttle_ddl_global_is(relid, statement->indexParams);
}

const char *
shuttle_ddl_global_trigger(const Node *statement, const RangeVar **table)
{
	const CreateTrigStmt *create = (const CreateTrigStmt *) statement;
	const RenameStmt *rename = (const RenameStmt *) statement;

	if (IsA(statement, CreateTrigStmt) &&
		(create->replace || strcmp(NameListToString(create->funcname), "shuttle.index_row") != 0))
	{
		*table = create->relation;
		return create->trigname;
	}
	if (IsA(statement, RenameStmt) && rename->renameType == OBJECT_TRIGGER)
	{
		*table = rename->relation;
		return rename->newname;
	}
	return NULL;
}

static List *
indexes_of(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	List	   *indexes = RelationGetIndexList(rel);

	table_close(rel, NoLock);
	return indexes;
}

/* Core makes the index; returns InvalidOid if there is one of that name already. */
static Oid
make_index(const ShuttleDdl *ddl, Oid relid, IndexStmt *statement)
{
	List	   *before = indexes_of(relid);
	PlannedStmt *pstmt = copyObject(ddl->pstmt);
	List	   *made;

	statement->unique = statement->primary = statement->isconstraint = false;
	statement->relation->inh = false;
	pstmt->utilityStmt = (Node *) statement;
	ddl->run(pstmt, ddl->query, false, ddl->context, ddl->params, ddl->env, ddl->dest, ddl->completion);
	CommandCounterIncrement();
	made = list_difference_oid(indexes_of(relid), before);
	return made == NIL ? InvalidOid : linitial_oid(made);
}

static void
check_index(Oid relid, Oid indexid)
{
	Relation	rel = table_open(relid, NoLock);
	Relation	index = index_open(indexid, AccessShareLock);

	shuttle_refusal_raise(shuttle_global_index_refuse(index, shuttle_global_index_key(rel)));
	index_close(index, NoLock);
	table_close(rel, NoLock);
}

void
shuttle_ddl_global_index(const ShuttleDdl *ddl, IndexStmt *statement)
{
	Oid			indexid;

	if (statement->concurrent)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("CREATE UNIQUE INDEX CONCURRENTLY without the distribution column \"%s\" is not possible on distributed table \"%s\"",
						shuttle_ddl_key(ddl->relid), get_rel_name(ddl->relid)),
				 errhint("Leave out the word CONCURRENTLY: writers then wait for the index.")));
	if (statement->accessMethod != NULL && strcmp(statement->accessMethod, DEFAULT_INDEX_TYPE) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"%s\" does not support unique indexes", statement->accessMethod)));
	indexid = make_index(ddl, ddl->relid, statement);
	if (!OidIsValid(indexid))
		return;
	shuttle_surgery_make_unique(ddl->relid, indexid, NULL);
	check_index(ddl->relid, indexid);
	if (!shuttle_settings.enable_ddl)
		shuttle_global_entries_find_again(ddl->relid, indexid);
}

/* ---- constraints */

/* The name that core would choose. */
static char *
choose_name(Oid relid, const Constraint *constraint)
{
	Oid			schema = get_rel_namespace(relid);
	StringInfoData names;
	ListCell   *cell;

	if (constraint->contype == CONSTR_PRIMARY)
		return ChooseRelationName(get_rel_name(relid), NULL, "pkey", schema, true);
	initStringInfo(&names);
	foreach(cell, constraint->keys)
		appendStringInfo(&names, "%s%s", names.len == 0 ? "" : "_", strVal(lfirst(cell)));
	return ChooseRelationName(get_rel_name(relid), pnstrdup(names.data, Min(names.len, NAMEDATALEN - 1)), "key", schema, true);
}

static IndexElem *
index_element(const char *name)
{
	IndexElem  *element = makeNode(IndexElem);

	element->name = pstrdup(name);
	element->ordering = SORTBY_DEFAULT;
	element->nulls_ordering = SORTBY_NULLS_DEFAULT;
	return element;
}

static IndexStmt *
index_of(Oid relid, const Constraint *constraint)
{
	IndexStmt  *statement = makeNode(IndexStmt);
	ListCell   *cell;

	statement->idxname = constraint->conname != NULL ? constraint->conname : choose_name(relid, constraint);
	statement->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), -1);
	statement->accessMethod = DEFAULT_INDEX_TYPE;
	statement->options = constraint->options;
	statement->nulls_not_distinct = constraint->nulls_not_distinct;
	statement->tableSpace = constraint->indexspace;
	foreach(cell, constraint->keys)
		statement->indexParams = lappend(statement->indexParams, index_element(strVal(lfirst(cell))));
	foreach(cell, constraint->including)
		statement->indexIncludingParams = lappend(statement->indexIncludingParams, index_element(strVal(lfirst(cell))));
	return statement;
}

static void
refuse_second_key(Oid relid)
{
	static const char *const query = "SELECT conname::text FROM pg_constraint WHERE conrelid = $1 AND contype = 'p'";

	if (shuttle_local_text(query, relid) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("multiple primary keys for table \"%s\" are not allowed", get_rel_name(relid))));
}

void
shuttle_ddl_global_constraint(const ShuttleDdl *ddl, Oid relid, const Constraint *constraint)
{
	Oid			indexid;

	if (constraint->contype == CONSTR_PRIMARY)
		refuse_second_key(relid);
	if (constraint->conname != NULL && OidIsValid(get_relation_constraint_oid(relid, constraint->conname, true)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("constraint \"%s\" for relation \"%s\" already exists", constraint->conname, get_rel_name(relid))));
	indexid = make_index(ddl, relid, index_of(relid, constraint));
	shuttle_surgery_make_unique(relid, indexid, constraint);
	check_index(relid, indexid);
	if (!shuttle_settings.enable_ddl)
		shuttle_global_entries_find_again(relid, indexid);
}

void
shuttle_ddl_global_run_text(const ShuttleDdl *ddl, const char *sql)
{
	Node	   *statement = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT))->stmt;

	if (IsA(statement, IndexStmt))
		shuttle_ddl_global_index(ddl, castNode(IndexStmt, statement));
	else
		shuttle_ddl_global_constraint(ddl, ddl->relid,
									  castNode(Constraint, linitial_node(AlterTableCmd, castNode(AlterTableStmt, statement)->cmds)->def));
}

/* ---- dumps */

/* The key that ALTER TABLE adds, if that is all it does. */
static const Constraint *
added_key(const Node *statement)
{
	const AlterTableStmt *alter = (const AlterTableStmt *) statement;
	const AlterTableCmd *command;

	if (!IsA(statement, AlterTableStmt) || list_length(alter->cmds) != 1)
		return NULL;
	command = linitial_node(AlterTableCmd, alter->cmds);
	if (command->subtype != AT_AddConstraint ||
		(castNode(Constraint, command->def)->contype != CONSTR_PRIMARY &&
		 castNode(Constraint, command->def)->contype != CONSTR_UNIQUE) ||
		castNode(Constraint, command->def)->indexname != NULL)
		return NULL;
	return castNode(Constraint, command->def);
}

/* pg_restore -j makes keys while it still loads the tables of the extension: waits for a row of these, at most a
 * minute. */
static bool
await_row(const char *query, Oid relid)
{
	for (int i = 0; i < 600; i++)
	{
		if (shuttle_local_text(query, relid) != NULL)
			return true;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 100, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* Waits for what says that a table with tablets is distributed. */
static void
await_table(Oid relid)
{
	static const char *const tablets_query =
		"SELECT '' FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid WHERE inhparent = $1 AND relkind = 'f'"
		" AND relnamespace = '" SHUTTLE_TABLETS_SCHEMA "'::regnamespace LIMIT 1";

	if (shuttle_table_kind(relid) == SHUTTLE_TABLE_OTHER && shuttle_local_text(tablets_query, relid) != NULL &&
		await_row("SELECT '' FROM shuttle.tables WHERE relation = $1", relid))
	{
		CacheInvalidateRelcacheByRelid(relid);
		CommandCounterIncrement();
	}
}

static bool
restore(ShuttleDdl *ddl)
{
	Node	   *statement = ddl->pstmt->utilityStmt;
	const Constraint *key = added_key(statement);
	bool		is_index = IsA(statement, IndexStmt) && castNode(IndexStmt, statement)->unique;
	const char *name;

	if (key == NULL && !is_index)
		return false;
	ddl->relid = RangeVarGetRelid(is_index ? castNode(IndexStmt, statement)->relation :
								  castNode(AlterTableStmt, statement)->relation, NoLock, true);
	if (!OidIsValid(ddl->relid) || !object_ownercheck(RelationRelationId, ddl->relid, GetUserId()))
		return false;
	await_table(ddl->relid);
	if (shuttle_table_kind(ddl->relid) != SHUTTLE_TABLE_DISTRIBUTED ||
		!shuttle_ddl_global_is(ddl->relid, is_index ? castNode(IndexStmt, statement)->indexParams : key->keys))
		return false;
	name = is_index ? castNode(IndexStmt, statement)->idxname : key->conname;
	if (name != NULL)
		(void) await_row(psprintf("SELECT '' FROM shuttle.global_indexes WHERE relation = $1 AND name = %s", quote_literal_cstr(name)),
						 ddl->relid);
	LockRelationOid(ddl->relid, AccessExclusiveLock);
	if (is_index)
		shuttle_ddl_global_index(ddl, copyObject(castNode(IndexStmt, statement)));
	else
		shuttle_ddl_global_constraint(ddl, ddl->relid, key);
	return true;
}

void
shuttle_ddl_global_restore(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	ShuttleDdl	ddl = SHUTTLE_DDL_STATEMENT;

	if (creating_extension || !OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)) || !restore(&ddl))
		run(SHUTTLE_UTILITY_ARGUMENTS);
}

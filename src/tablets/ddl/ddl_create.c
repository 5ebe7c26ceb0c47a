/*-------------------------------------------------------------------------
 * ddl_create.c
 *	  Distributes new tables as shuttle.auto_distribute says.
 *
 * The server calls us for each relation that it makes, however the statement does:
 * CREATE TABLE, CREATE TABLE AS, SELECT INTO, EXPLAIN ANALYZE of these, CREATE SCHEMA
 * with tables. When the statement ends, the tables that it made are distributed in the
 * same transaction, as shuttle.distribute_table() would do it.
 *
 * Core refuses foreign keys to distributed tables. They are taken out of CREATE TABLE, and
 * added when the table is what it will be. So are keys among tables of one CREATE SCHEMA,
 * which can become distributed.
 *
 * Memory: the list lives as long as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "commands/extension.h"
#include "foreign/foreign.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/partitions.h"
#include "tablets/common/refusal.h"
#include "tablets/common/tablet_names.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/distribute/distribute.h"
#include "tablets/distribute/partition.h"
#include "tablets/indexes/global.h"
#include "tablets/rights/authors.h"
#include "tablets/rights/reach.h"
#include "tablets/rights/user_code.h"
#include "tablets/shuttle_tablets.h"

/* Foreign keys that were taken out of the statement of one new table. */
typedef struct TakenKeys
{
	const char *table;			/* its name */
	List	   *keys;			/* of Constraint */
} TakenKeys;

/* A statement that makes tables, as keys are taken out. */
typedef struct Taking
{
	const char *schema;			/* of CREATE SCHEMA, or NULL */
	List	   *tables;			/* of TakenKeys, in the order of the statement */
} Taking;

static List *made = NIL;		/* relations that the running statement made */
static MemoryContext statement_cxt = NULL;	/* of that statement */

void
shuttle_ddl_create_note(ObjectAccessType access, Oid classid, Oid objectid, int subid, void *arg)
{
	MemoryContext old_cxt;

	if (access != OAT_POST_CREATE || classid != RelationRelationId || subid != 0 ||
		statement_cxt == NULL || creating_extension || shuttle_local_is_running() ||
		((ObjectAccessPostCreate *) arg)->is_internal)
		return;
	old_cxt = MemoryContextSwitchTo(statement_cxt);
	made = lappend_oid(made, objectid);
	MemoryContextSwitchTo(old_cxt);
}

/* The patterns of the setting. */
static List *
read_patterns(void)
{
	List	   *patterns = NIL;
	char	   *rest = pstrdup(shuttle_settings.auto_distribute);
	char	   *pattern;

	while ((pattern = strsep(&rest, ",")) != NULL)
	{
		size_t		length;

		pattern += strspn(pattern, " \t\n");
		length = strlen(pattern);
		while (length > 0 && strchr(" \t\n", pattern[length - 1]) != NULL)
			length--;
		if (length > 0)
			patterns = lappend(patterns, pnstrdup(pattern, length));
	}
	return patterns;
}

static bool
is_like(const char *name, const char *pattern)
{
	return DatumGetBool(DirectFunctionCall2Coll(textlike, C_COLLATION_OID,
												CStringGetTextDatum(name),
												CStringGetTextDatum(pattern)));
}

/* Names of the columns that a pattern matches, in the order of the table. */
static List *
columns_like(Relation rel, const char *pattern)
{
	List	   *names = NIL;

	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), i);

		if (!attribute->attisdropped && is_like(NameStr(attribute->attname), pattern))
			names = lappend(names, pstrdup(NameStr(attribute->attname)));
	}
	return names;
}

/* Names of the columns of the primary key, in its order. */
static List *
primary_key_columns(Relation rel)
{
	Oid			key = shuttle_primary_key(rel);
	List	   *names = NIL;
	Relation	index;

	if (!OidIsValid(key))
		return NIL;
	index = index_open(key, AccessShareLock);
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		names = lappend(names, get_attname(RelationGetRelid(rel), index->rd_index->indkey.values[i], false));
	index_close(index, NoLock);
	return names;
}

static TakenKeys *
find_taken(const Taking *taking, const char *table)
{
	ListCell   *cell;

	foreach(cell, taking->tables)
	{
		TakenKeys  *taken = lfirst(cell);

		if (strcmp(taken->table, table) == 0)
			return taken;
	}
	return NULL;
}

/* True for a key to an earlier table of this CREATE SCHEMA, whose name is completed:
 * its schema is not in the search path any more when the key is added. */
static bool
refers_to_new_table(const Taking *taking, Constraint *constraint)
{
	RangeVar   *referred = constraint->contype == CONSTR_FOREIGN ? constraint->pktable : NULL;

	if (referred == NULL || taking->schema == NULL ||
		(referred->schemaname != NULL && strcmp(referred->schemaname, taking->schema) != 0) ||
		find_taken(taking, referred->relname) == NULL)
		return false;
	referred->schemaname = pstrdup(taking->schema);
	return true;
}

static bool
is_to_be_taken(const void *taking, Constraint *constraint)
{
	return refers_to_new_table(taking, constraint) || OidIsValid(shuttle_ddl_referred(constraint));
}

/* Takes foreign keys out of a CREATE TABLE. */
static void
take_from_table(Taking *taking, CreateStmt *statement)
{
	TakenKeys  *taken = palloc0_object(TakenKeys);
	ListCell   *cell;

	taken->table = statement->relation->relname;
	foreach(cell, statement->tableElts)
	{
		Node	   *element = lfirst(cell);

		if (IsA(element, ColumnDef))
			taken->keys = list_concat(taken->keys, shuttle_ddl_take_column_keys((ColumnDef *) element,
																				is_to_be_taken, taking));
		else if (IsA(element, Constraint) && is_to_be_taken(taking, (Constraint *) element))
		{
			taken->keys = lappend(taken->keys, element);
			statement->tableElts = foreach_delete_current(statement->tableElts, cell);
		}
	}
	taking->tables = lappend(taking->tables, taken);
}

static void
take_from_schema(Taking *taking, CreateSchemaStmt *statement)
{
	ListCell   *cell;

	taking->schema = statement->schemaname != NULL ? statement->schemaname :
		get_rolespec_name(statement->authrole);
	foreach(cell, statement->schemaElts)
	{
		if (IsA(lfirst(cell), CreateStmt))
			take_from_table(taking, lfirst_node(CreateStmt, cell));
	}
}

/* True if nodes can check all keys of a table that the column spreads. */
static bool
relates_keys(const char *column, const List *keys)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		const Constraint *key = lfirst(cell);
		Oid			referred = shuttle_ddl_referred(key);

		if (!OidIsValid(referred) || !shuttle_ddl_foreign_key_pairs(column, referred, key))
			return false;
	}
	return true;
}

/* First those by which nodes can check all keys. */
static List *
prefer_related(const List *columns, const List *keys)
{
	List	   *related = NIL;
	List	   *others = NIL;
	const ListCell *cell;

	foreach(cell, columns)
	{
		if (relates_keys(lfirst(cell), keys))
			related = lappend(related, lfirst(cell));
		else
			others = lappend(others, lfirst(cell));
	}
	return list_concat(related, others);
}

/* Why no table can be distributed now. */
static ShuttleRefusal *
refuse_all(Oid relid)
{
	ShuttleRefusal *refusal;
	ListCell   *cell;

	if (!XLogIsNeeded())
		return shuttle_refusal(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   "\"wal_level\" is \"minimal\"", NULL,
							   "Set it higher, or use shuttle.distribute_table() when the table's transaction has committed.");
	if (shuttle_layout_nodes() == NIL)
		return shuttle_refusal(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   "there are no storage nodes", NULL,
							   "Add one with shuttle.add_node() or shuttle.use_node().");
	foreach(cell, shuttle_layout_nodes())
	{
		if (!shuttle_node_may_define(lfirst_oid(cell)))
			return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE,
								   psprintf("permission denied for foreign server %s",
											GetForeignServer(lfirst_oid(cell))->servername),
								   NULL,
								   "Tables are made on storage nodes for roles with USAGE on the servers.");
	}
	refusal = shuttle_reach_refuse_tables(list_make1_oid(relid), shuttle_layout_nodes());
	return refusal != NULL ? refusal
		: shuttle_user_code_refuse(shuttle_authors_of_table(relid), shuttle_layout_nodes(), relid);
}

/* A table that nobody has asked to be distributed goes on being published. */
static ShuttleRefusal *
refuse_published(Oid relid)
{
	const char *publications = shuttle_publications_of(relid);

	return publications == NULL ? NULL :
		shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
						psprintf("publication %s has its changes", publications), NULL,
						"shuttle.distribute_table() distributes it; they are not published then.");
}

/* Columns that are in all unique keys first: these cost nothing then. */
static List *
cheapest_first(Relation rel, const List *columns)
{
	List	   *cheap = NIL;
	List	   *others = NIL;
	const ListCell *cell;

	foreach(cell, columns)
	{
		if (shuttle_global_indexes_needed(rel, get_attnum(RelationGetRelid(rel), lfirst(cell))))
			others = lappend(others, lfirst(cell));
		else
			cheap = lappend(cheap, lfirst(cell));
	}
	return list_concat(cheap, others);
}

/* An earlier pattern before a later one; but keys may choose among these. % names no column:
 * it stands for the primary key, and for any column of a table without one. */
static List *
columns_by_patterns(Relation rel, const List *patterns, const List *keys)
{
	List	   *named = NIL;
	List	   *others = NIL;
	const ListCell *cell;

	foreach(cell, patterns)
	{
		List	   *matched = columns_like(rel, lfirst(cell));

		if (strcmp(lfirst(cell), "%") != 0)
			named = list_concat(named, matched);
		else if ((others = primary_key_columns(rel)) == NIL)
			others = prefer_related(cheapest_first(rel, matched), keys);
	}
	return list_concat(prefer_related(cheapest_first(rel, named), keys), others);
}

/* What a partition is follows its parent, and nobody expects temporary and unlogged
 * tables to be on nodes. */
static List *
columns_of(Oid relid, const List *patterns, const List *keys)
{
	List	   *columns = NIL;
	Relation	rel = table_open(relid, NoLock);

	if (rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		!rel->rd_rel->relispartition)
		columns = columns_by_patterns(rel, patterns, keys);
	table_close(rel, NoLock);
	return columns;
}

/* By the first column that is possible; the reason that counts is that of the first one.
 * reason: why the table stays here whatever its columns are; NULL: nothing is known yet. */
static void
distribute(Oid relid, const List *columns, ShuttleRefusal *reason)
{
	ListCell   *cell;

	if (reason == NULL)
		reason = refuse_all(relid);
	foreach(cell, reason == NULL ? columns : NIL)
	{
		ShuttleRefusal *refusal = shuttle_distribute_try(relid, lfirst(cell));

		if (refusal == NULL)
			return;
		if (reason == NULL || refusal->for_all_keys)
			reason = refusal;
		if (refusal->for_all_keys)
			break;
	}
	if (reason != NULL)
		ereport(NOTICE,
				(errmsg("table \"%s\" stays on this server: %s", get_rel_name(relid),
						reason->message),
				 reason->detail == NULL ? 0 : errdetail_internal("%s", reason->detail),
				 reason->hint == NULL ? 0 : errhint("%s", reason->hint)));
}

void
shuttle_ddl_create_partition(Oid relid)
{
	distribute(relid, list_make1(shuttle_partitions_key(shuttle_partitions_parent(relid))), NULL);
}

static const List *
keys_of(const Taking *taking, Oid relid)
{
	const TakenKeys *taken = find_taken(taking, get_rel_name(relid));

	return taken == NULL ? NIL : taken->keys;
}

static void
distribute_made(const Taking *taking)
{
	List	   *patterns = read_patterns();
	ListCell   *cell;

	CommandCounterIncrement();
	foreach(cell, made)
	{
		Oid			relid = lfirst_oid(cell);
		char		relkind = get_rel_relkind(relid);
		Oid			parent = shuttle_partitions_parent(relid);
		const List *columns;
		const List *keys;
		ListCell   *inner;

		if (OidIsValid(parent))
		{
			if (keys_of(taking, relid) != NIL)
				shuttle_ddl_refuse_of_partition(relid, "a foreign key");
			if (shuttle_table_kind(relid) != SHUTTLE_TABLE_OTHER)
				continue;		/* distributed with its parent, which this
								 * CREATE SCHEMA has made */
			shuttle_partition_bounds_changed(parent);
			shuttle_partition_check_default(relid);
			shuttle_ddl_create_partition(relid);
			continue;
		}
		if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
			continue;
		keys = keys_of(taking, relid);
		columns = columns_of(relid, patterns, keys);
		if (columns != NIL)
			distribute(relid, columns, refuse_published(relid));
		foreach(inner, keys)
			shuttle_ddl_add_foreign_key(relid, lfirst(inner));
	}
}

static bool
makes_tables(const Node *statement)
{
	return IsA(statement, CreateStmt) || IsA(statement, CreateForeignTableStmt) || IsA(statement, CreateTableAsStmt) ||
		IsA(statement, CreateSchemaStmt) || IsA(statement, ExplainStmt);
}

/* The partitioned table of ours that a statement makes a partition of; InvalidOid: none. */
static Oid
parent_of_made(const Node *statement)
{
	const CreateStmt *create = (const CreateStmt *) statement;
	ShuttleTableKind kind;
	Oid			parent;

	if ((!IsA(statement, CreateStmt) && !IsA(statement, CreateForeignTableStmt)) || create->partbound == NULL)
		return InvalidOid;
	parent = shuttle_ddl_find(linitial(create->inhRelations), &kind);
	return kind == SHUTTLE_TABLE_PARTITIONED ? parent : InvalidOid;
}

static void
run_and_distribute(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	Taking		taking = {0};
	Oid			parent = parent_of_made(pstmt->utilityStmt);
	int			level = 0;

	if (IsA(pstmt->utilityStmt, CreateStmt) || IsA(pstmt->utilityStmt, CreateSchemaStmt))
	{
		pstmt = copyObject(pstmt);
		readOnlyTree = false;
	}
	if (IsA(pstmt->utilityStmt, CreateStmt))
		take_from_table(&taking, castNode(CreateStmt, pstmt->utilityStmt));
	else if (IsA(pstmt->utilityStmt, CreateSchemaStmt))
		take_from_schema(&taking, castNode(CreateSchemaStmt, pstmt->utilityStmt));
	if (OidIsValid(parent))
		level = shuttle_partition_begin_quiet(parent);
	run(SHUTTLE_UTILITY_ARGUMENTS);
	if (OidIsValid(parent))
		AtEOXact_GUC(true, level);
	distribute_made(&taking);
}

void
shuttle_ddl_create_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	List	   *outer_made = made;
	MemoryContext outer_cxt = statement_cxt;

	if (!makes_tables(pstmt->utilityStmt) ||
		!OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		return;
	}
	made = NIL;
	statement_cxt = CurrentMemoryContext;
	PG_TRY();					/* the list outlives the statement */
	{
		run_and_distribute(run, SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		made = outer_made;
		statement_cxt = outer_cxt;
	}
	PG_END_TRY();
}

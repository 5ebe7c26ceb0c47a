/*-------------------------------------------------------------------------
 * ddl_create.c
 *	  Distributes new tables as shuttle.auto_distribute says.
 *
 * The server calls us for each relation that it makes, however the statement does:
 * CREATE TABLE, CREATE TABLE AS, SELECT INTO, EXPLAIN ANALYZE of these, CREATE SCHEMA
 * with tables. When the statement ends, the tables that it made are distributed in the
 * same transaction, as shuttle.distribute_table() would do it.
 *
 * Core refuses foreign keys to distributed tables, since they exist on nodes only. They
 * are taken out of CREATE TABLE, and nodes add them when the table is distributed. So are
 * keys among tables of one CREATE SCHEMA, which can become distributed.
 *
 * Memory: the list lives as long as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/ddl/ddl.h"
#include "tablets/distribute.h"

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

/* Names of the columns that patterns match: an earlier pattern before a later one,
 * then in the order of the table. */
static List *
columns_like(Relation rel, const List *patterns)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, patterns)
	{
		for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), i);

			if (!attribute->attisdropped &&
				is_like(NameStr(attribute->attname), lfirst(cell)))
				names = lappend(names, pstrdup(NameStr(attribute->attname)));
		}
	}
	return names;
}

/* What a partition is follows its parent, and nobody expects temporary and unlogged
 * tables to be on nodes. */
static List *
columns_of(Oid relid, const List *patterns)
{
	List	   *columns = NIL;
	Relation	rel = table_open(relid, NoLock);

	if (rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		!rel->rd_rel->relispartition)
		columns = columns_like(rel, patterns);
	table_close(rel, NoLock);
	return columns;
}

static Oid
referred_by(const Constraint *constraint)
{
	ShuttleTableKind kind;
	Oid			relid;

	if (constraint->contype != CONSTR_FOREIGN)
		return InvalidOid;
	relid = shuttle_ddl_find(constraint->pktable, &kind);
	return kind == SHUTTLE_TABLE_DISTRIBUTED ? relid : InvalidOid;
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
	return refers_to_new_table(taking, constraint) || OidIsValid(referred_by(constraint));
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

/* A node looks for the rows that keys refer to among its own rows. */
static ShuttleRefusal *
refuse_foreign_keys(const char *column, const List *keys)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		const Constraint *key = lfirst(cell);
		Oid			referred = referred_by(key);

		if (!OidIsValid(referred))
			return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
								   psprintf("a foreign key leads to table \"%s\" of this server",
											key->pktable->relname),
								   NULL,
								   psprintf("Distribute both with shuttle.distribute_tables(), or make \"%s\" a reference table.",
											key->pktable->relname));
		if (!shuttle_ddl_foreign_key_pairs(column, referred, key))
			return shuttle_refusal(ERRCODE_INVALID_FOREIGN_KEY,
								   psprintf("a foreign key does not relate column \"%s\" to the distribution column of table \"%s\"",
											column, get_rel_name(referred)),
								   "The row that it names can be on another storage node.",
								   psprintf("Add the distribution columns to the key, or make \"%s\" a reference table.",
											get_rel_name(referred)));
	}
	return NULL;
}

/* Why no table can be distributed now. */
static ShuttleRefusal *
refuse_all(void)
{
	ListCell   *cell;

	if (!XLogIsNeeded())
		return shuttle_refusal(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   "\"wal_level\" is \"minimal\"", NULL,
							   "Set it higher, or use shuttle.distribute_table() when the table's transaction has committed.");
	if (shuttle_nodes_all() == NIL)
		return shuttle_refusal(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   "there are no storage nodes", NULL,
							   "Add one with shuttle.add_node() or shuttle.use_node().");
	foreach(cell, shuttle_nodes_all())
	{
		if (!shuttle_node_may_define(lfirst_oid(cell)))
			return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE,
								   psprintf("permission denied for foreign server %s",
											GetForeignServer(lfirst_oid(cell))->servername),
								   NULL,
								   "Tables are made on storage nodes for roles with USAGE on the servers.");
	}
	return NULL;
}

/* By the first column that is possible; the reason that counts is that of the first one. */
static void
distribute(Oid relid, const List *columns, const List *keys)
{
	ShuttleRefusal *reason = columns == NIL ? NULL : refuse_all();
	ListCell   *cell;

	foreach(cell, reason == NULL ? columns : NIL)
	{
		ShuttleRefusal *refusal = refuse_foreign_keys(lfirst(cell), keys);

		if (refusal == NULL)
			refusal = shuttle_distribute_try(relid, lfirst(cell));
		if (refusal == NULL)
			return;
		if (reason == NULL)
			reason = refusal;
	}
	if (reason != NULL)
		ereport(NOTICE,
				(errmsg("table \"%s\" stays on this server: %s", get_rel_name(relid),
						reason->message),
				 reason->detail == NULL ? 0 : errdetail_internal("%s", reason->detail),
				 reason->hint == NULL ? 0 : errhint("%s", reason->hint)));
}

/* A key that leads to a table of this server was taken out of CREATE SCHEMA. */
static void
add_foreign_key(Oid relid, const Constraint *key)
{
	Oid			referred = referred_by(key);

	if (!OidIsValid(referred))
		(void) shuttle_local_run(shuttle_ddl_foreign_key_text(relid, key));
	else if (shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED)
		shuttle_ddl_on_nodes(relid, list_make1(shuttle_ddl_foreign_key(relid, key)));
	else
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key of table \"%s\" on this server cannot refer to distributed table \"%s\"",
						get_rel_name(relid), get_rel_name(referred)),
				 errhint("Name a column of the key in \"shuttle.auto_distribute\", or leave the key out.")));
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
		const TakenKeys *taken;
		ListCell   *inner;

		if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
			continue;
		taken = find_taken(taking, get_rel_name(relid));
		distribute(relid, columns_of(relid, patterns), taken == NULL ? NIL : taken->keys);
		foreach(inner, taken == NULL ? NIL : taken->keys)
			add_foreign_key(relid, lfirst(inner));
	}
}

static bool
makes_tables(const Node *statement)
{
	return IsA(statement, CreateStmt) || IsA(statement, CreateTableAsStmt) ||
		IsA(statement, CreateSchemaStmt) || IsA(statement, ExplainStmt);
}

static void
run_and_distribute(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	Taking		taking = {0};

	if (IsA(pstmt->utilityStmt, CreateStmt) || IsA(pstmt->utilityStmt, CreateSchemaStmt))
	{
		pstmt = copyObject(pstmt);
		readOnlyTree = false;
	}
	if (IsA(pstmt->utilityStmt, CreateStmt))
		take_from_table(&taking, castNode(CreateStmt, pstmt->utilityStmt));
	else if (IsA(pstmt->utilityStmt, CreateSchemaStmt))
		take_from_schema(&taking, castNode(CreateSchemaStmt, pstmt->utilityStmt));
	run(SHUTTLE_UTILITY_ARGUMENTS);
	distribute_made(&taking);
}

void
shuttle_ddl_create_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	List	   *outer_made = made;
	MemoryContext outer_cxt = statement_cxt;

	if (!makes_tables(pstmt->utilityStmt) || read_patterns() == NIL ||
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

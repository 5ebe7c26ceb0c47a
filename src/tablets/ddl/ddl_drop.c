/*-------------------------------------------------------------------------
 * ddl_drop.c
 *	  Drops on nodes what a statement has dropped here.
 *
 * The server calls us for each object that it drops, however the statement
 * reached it. Behind the statement nodes drop the tables of that name. A table
 * that has lost a column, constraint or index is noted (ddl_changes.c). A tablet
 * cannot be dropped without its table.
 *
 * Memory: the list lives as long as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/objectaccess.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/partitions.h"
#include "tablets/common/places.h"
#include "tablets/ddl/ddl.h"
#include "tablets/distribute/key_partners.h"
#include "tablets/distribute/partition.h"
#include "tablets/indexes/global.h"
#include "tablets/needs/routines.h"
#include "tablets/shuttle_tablets.h"

/* A table or tablet that the statement has dropped. */
typedef struct DroppedTable
{
	Oid			relid;
	ShuttleTableKind kind;
	Oid			parent;			/* of a tablet */
	List	   *ancestors;		/* of a partition */
	Oid			serverid;		/* of a tablet */
	char	   *short_name;		/* for messages */
	char	   *schema;
	char	   *name;			/* with its schema, quoted */
	List	   *owners;			/* its own, and the schema's */
	bool		is_of_extension;
	List	   *servers;		/* of a table, known after the statement */
} DroppedTable;

static List *dropped = NIL;		/* of DroppedTable */
static List *routines = NIL;	/* names of dropped routines that nodes have */
static MemoryContext statement_cxt = NULL;	/* of the running statement */

static Oid
owner_of_schema(Oid schema)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for schema %u", schema);
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);
	return owner;
}

static void
note_table(Oid relid, ShuttleTableKind kind)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(statement_cxt);
	DroppedTable *table = palloc0_object(DroppedTable);

	table->relid = relid;
	table->kind = kind;
	table->short_name = get_rel_name(relid);
	table->schema = get_namespace_name(get_rel_namespace(relid));
	table->name = shuttle_local_name(relid);
	table->owners = list_make2_oid(shuttle_local_owner(relid), owner_of_schema(get_rel_namespace(relid)));
	table->is_of_extension = OidIsValid(getExtensionOfObject(RelationRelationId, relid));
	if (get_rel_relispartition(relid))
		table->ancestors = get_partition_ancestors(relid);
	if (kind == SHUTTLE_TABLE_TABLET)
	{
		table->parent = get_partition_parent(relid, true);
		table->serverid = GetForeignServerIdByRelId(relid);
	}
	dropped = lappend(dropped, table);
	MemoryContextSwitchTo(old_cxt);
}

static void
note_routine(Oid routine)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(statement_cxt);

	routines = lappend(routines, shuttle_routine_name(routine));
	MemoryContextSwitchTo(old_cxt);
}

static Oid
table_of_constraint(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Oid			relid = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		relid = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;
		ReleaseSysCache(tuple);
	}
	return relid;
}

/* The table of a column, constraint or index that is dropped. */
static Oid
table_of_part(Oid classid, Oid objectid, int subid)
{
	char		kind;

	if (classid == ConstraintRelationId)
		return table_of_constraint(objectid);
	if (classid != RelationRelationId)
		return InvalidOid;
	if (subid != 0)
		return objectid;
	kind = get_rel_relkind(objectid);
	return kind == RELKIND_INDEX || kind == RELKIND_PARTITIONED_INDEX ?
		IndexGetRelation(objectid, true) : InvalidOid;
}

/* With CASCADE core would drop servers and tablets, but leave tables without tablets here,
 * and all rows on nodes. */
static void
refuse_extension(void)
{
	if (shuttle_local_text("SELECT 't' FROM shuttle.tables WHERE $1 IS NOT NULL LIMIT 1", InvalidOid) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop extension \"%s\" while it has distributed or reference tables", "pg_shuttle"),
				 errhint("Drop these tables in a statement of their own, or bring them back with shuttle.local_table(). "
						 "If you want to drop the schema of extension \"%s\", move the extension first by ALTER EXTENSION ... SET SCHEMA.",
						 "postgres_fdw")));
}

/* Core also drops what it makes anew in the same statement. */
void
shuttle_ddl_drop_note(ObjectAccessType access, Oid classid, Oid objectid, int subid, void *arg)
{
	ShuttleTableKind kind;
	Oid			table;

	if (access != OAT_DROP || statement_cxt == NULL || shuttle_local_is_running() ||
		(((ObjectAccessDrop *) arg)->dropflags & PERFORM_DELETION_INTERNAL) != 0)
		return;
	if (shuttle_settings.enable_ddl && classid == RelationRelationId && subid == 0 &&
		objectid == shuttle_extension_table(SHUTTLE_TABLE_TABLES))
		refuse_extension();
	if (classid == ProcedureRelationId && shuttle_routine_key(objectid) >= 0)
		note_routine(objectid);
	if (classid == RelationRelationId && subid == 0 && OidIsValid(shuttle_partitions_parent(objectid)))
		shuttle_partition_bounds_changed(shuttle_partitions_parent(objectid));
	table = table_of_part(classid, objectid, subid);
	if (OidIsValid(table))
	{
		kind = shuttle_table_kind(table);
		if (kind == SHUTTLE_TABLE_DISTRIBUTED || kind == SHUTTLE_TABLE_REFERENCE)
			shuttle_ddl_changes_note(table);
	}
	else if (classid == RelationRelationId)
	{
		kind = shuttle_table_kind(objectid);
		if (kind != SHUTTLE_TABLE_OTHER)
			note_table(objectid, kind);
	}
}

/* A table's tablets are dropped before it, so it has none any more. */
static List *
servers_of(const DroppedTable *table)
{
	List	   *servers = NIL;
	ListCell   *cell;

	foreach(cell, dropped)
	{
		const DroppedTable *tablet = lfirst(cell);

		if (tablet->parent == table->relid)
			servers = list_append_unique_oid(servers, tablet->serverid);
	}
	return servers;
}

static void
refuse_tablet(const DroppedTable *tablet)
{
	const char *parent = get_rel_name(tablet->parent);

	if (parent != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot drop tablet \"%s\" of distributed table \"%s\"",
						tablet->short_name, parent),
				 errhint("Drop the table, or bring it back with shuttle.local_table().")));
}

/* True if the statement's objects, names or lists of them, have that name. */
static bool
names_object(const DropStmt *statement, const char *name)
{
	ListCell   *cell;

	foreach(cell, statement->objects)
	{
		Node	   *object = lfirst(cell);

		if (strcmp(strVal(IsA(object, List) ? llast((List *) object) : object), name) == 0)
			return true;
	}
	return false;
}

/* True if an ordinary table would be dropped as well, but for partitions of others. */
static bool
is_meant_itself(const DroppedTable *table, Node *statement)
{
	ListCell   *cell;

	if (IsA(statement, DropOwnedStmt))
	{
		foreach(cell, castNode(DropOwnedStmt, statement)->roles)
		{
			if (list_member_oid(table->owners, get_rolespec_oid(lfirst(cell), true)))
				return true;
		}
		return false;
	}
	if (!IsA(statement, DropStmt))
		return false;
	switch (castNode(DropStmt, statement)->removeType)
	{
		case OBJECT_TABLE:
			return names_object(castNode(DropStmt, statement), table->short_name);
		case OBJECT_SCHEMA:
			return names_object(castNode(DropStmt, statement), table->schema);
		case OBJECT_EXTENSION:
			return table->is_of_extension;
		default:
			return false;
	}
}

/* Partitions are dropped with their parents. */
static bool
is_meant(const DroppedTable *table, Node *statement)
{
	bool		meant = is_meant_itself(table, statement);
	ListCell   *cell;

	foreach(cell, dropped)
	{
		const DroppedTable *other = lfirst(cell);

		meant |= list_member_oid(table->ancestors, other->relid) && is_meant_itself(other, statement);
	}
	return meant;
}

/* Core drops a column alone, but a partitioned table with a column of its key. */
static void
refuse_cascade(const DroppedTable *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("distributed table \"%s\" would be dropped with what its distribution column needs",
					table->short_name),
			 errhint("Drop the table in a statement of its own, or bring it back with shuttle.local_table().")));
}

/* All nodes of a table have the same foreign keys of it. */
static void
lock_key_partners(void)
{
	List	   *names = NIL;
	List	   *servers = NIL;
	ListCell   *cell;

	foreach(cell, dropped)
	{
		const DroppedTable *table = lfirst(cell);

		if (table->servers == NIL)
			continue;
		names = lappend(names, table->name);
		servers = list_append_unique_oid(servers, linitial_oid(table->servers));
	}
	foreach(cell, servers)
		shuttle_key_partners_lock(names, lfirst_oid(cell), NULL);
}

static void
drop_on_nodes(bool cascade)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *servers = NIL;
	ListCell   *cell;

	lock_key_partners();
	foreach(cell, dropped)
		servers = list_concat_unique_oid(servers, ((DroppedTable *) lfirst(cell))->servers);
	foreach(cell, servers)
	{
		StringInfoData names;
		ListCell   *inner;

		initStringInfo(&names);
		foreach(inner, dropped)
		{
			const DroppedTable *table = lfirst(inner);

			if (list_member_oid(table->servers, lfirst_oid(cell)))
				appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ", table->name);
		}
		shuttle_node_statements_add(statements, lfirst_oid(cell),
									psprintf("DROP TABLE %s%s", names.data,
											 cascade ? " CASCADE" : ""));
	}
	shuttle_node_statements_run(statements);
}

/* Without its entries an index keeps nothing out. */
static void
drop_entries(const DroppedTable *table)
{
	Oid			relid;
	Oid			indexid;

	if (shuttle_settings.enable_ddl && shuttle_global_index_find(table->relid, &relid, &indexid) &&
		SearchSysCacheExists1(RELOID, ObjectIdGetDatum(indexid)))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop table \"%s\" because index \"%s\" requires it", table->short_name, get_rel_name(indexid)),
				 errhint("Drop the index instead.")));
	if (table->kind == SHUTTLE_TABLE_DISTRIBUTED)
		shuttle_global_entries_drop_all(table->relid);
}

static void
finish_drops(Node *statement)
{
	ListCell   *cell;

	foreach(cell, dropped)
	{
		DroppedTable *table = lfirst(cell);

		if (table->kind == SHUTTLE_TABLE_TABLET)
		{
			if (shuttle_settings.enable_ddl)
				refuse_tablet(table);
			continue;
		}
		if (table->kind == SHUTTLE_TABLE_DISTRIBUTED && shuttle_settings.enable_ddl && !is_meant(table, statement))
			refuse_cascade(table);
		table->servers = table->kind == SHUTTLE_TABLE_REFERENCE ? shuttle_layout_nodes() :
			servers_of(table);
		shuttle_layout_forget_table(table->relid);
		shuttle_places_forget(table->relid);
		drop_entries(table);
	}
	if (!shuttle_settings.enable_ddl)
		return;

	/* a routine may depend on a table */
	foreach(cell, routines)
		shuttle_routine_drop(lfirst(cell));
	if (dropped != NIL)
		drop_on_nodes(shuttle_ddl_is_cascade(statement));
}

bool
shuttle_ddl_is_cascade(Node *statement)
{
	ListCell   *cell;

	switch (nodeTag(statement))
	{
		case T_DropStmt:
			return castNode(DropStmt, statement)->behavior == DROP_CASCADE;
		case T_DropOwnedStmt:
			return castNode(DropOwnedStmt, statement)->behavior == DROP_CASCADE;
		case T_AlterTableStmt:
			foreach(cell, castNode(AlterTableStmt, statement)->cmds)
			{
				if (lfirst_node(AlterTableCmd, cell)->behavior == DROP_CASCADE)
					return true;
			}
			return false;
		default:
			return false;
	}
}

void
shuttle_ddl_drop_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	List	   *outer_dropped = dropped;
	List	   *outer_routines = routines;
	MemoryContext outer_cxt = statement_cxt;

	dropped = NIL;
	routines = NIL;
	statement_cxt = CurrentMemoryContext;
	PG_TRY();					/* the list outlives the statement */
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		finish_drops(pstmt->utilityStmt);
	}
	PG_FINALLY();
	{
		dropped = outer_dropped;
		routines = outer_routines;
		statement_cxt = outer_cxt;
	}
	PG_END_TRY();
}

/*-------------------------------------------------------------------------
 * shuttle_compat_catalog.h
 *	  Version differences: catalogs, types, statistics, privileges and
 *	  indexes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_CATALOG_H
#define SHUTTLE_COMPAT_CATALOG_H

#include "access/attmap.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_database.h"
#include "catalog/storage.h"
#include "commands/defrem.h"
#include "commands/vacuum.h"
#include "foreign/fdwapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pgstat.h"
#include "storage/smgr.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#if PG_VERSION_NUM < 160000
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/rangetypes.h"
#endif

/* ---- columns, indexes and databases */

/* Virtual generated columns are new in 18. */
#if PG_VERSION_NUM < 180000
#define ATTRIBUTE_GENERATED_VIRTUAL 'v'
#endif

/* The index of a table's primary key; 18 can ignore deferrable ones. */
static inline Oid
shuttle_primary_key(Relation rel)
{
#if PG_VERSION_NUM >= 180000
	return RelationGetPrimaryKeyIndex(rel, false);
#else
	return RelationGetPrimaryKeyIndex(rel);
#endif
}

/* The root of a btree, share-locked, or InvalidBuffer; 16 added the heap. */
static inline Buffer
shuttle_bt_getroot(Relation index, Relation heap)
{
#if PG_VERSION_NUM >= 160000
	return _bt_getroot(index, heap, BT_READ);
#else
	return _bt_getroot(index, BT_READ);
#endif
}

/* A table without storage has no pages in the visibility map; 18 added frozen
 * ones. */
static inline void
shuttle_class_clear_visible(Form_pg_class form)
{
	form->relallvisible = 0;
#if PG_VERSION_NUM >= 180000
	form->relallfrozen = 0;
#endif
}

/* Storage that was made in this transaction; renamed in 16. */
#if PG_VERSION_NUM < 160000
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define RelationAssumeNewRelfilelocator RelationAssumeNewRelfilenode
#endif

/* Makes a file for a permanent relation, dropped if the transaction fails, and
 * returns its number; renamed in 16. */
static inline Oid
shuttle_new_storage(Oid tablespace)
{
#if PG_VERSION_NUM >= 160000
	RelFileLocator file = {
		.spcOid = OidIsValid(tablespace) ? tablespace : MyDatabaseTableSpace,
		.dbOid = MyDatabaseId,
		.relNumber = GetNewRelFileNumber(tablespace, NULL, RELPERSISTENCE_PERMANENT),
	};
	Oid			number = file.relNumber;
#else
	RelFileNode file = {
		.spcNode = OidIsValid(tablespace) ? tablespace : MyDatabaseTableSpace,
		.dbNode = MyDatabaseId,
		.relNode = GetNewRelFileNode(tablespace, NULL, RELPERSISTENCE_PERMANENT),
	};
	Oid			number = file.relNode;
#endif

	smgrclose(RelationCreateStorage(file, RELPERSISTENCE_PERMANENT, true));
	return number;
}

/* Builds an index that has no rows yet, in this process; 19 added a switch for
 * reports of progress. */
static inline void
shuttle_index_build(Relation rel, Relation index)
{
#if PG_VERSION_NUM >= 190000
	index_build(rel, index, BuildIndexInfo(index), false, false, true);
#else
	index_build(rel, index, BuildIndexInfo(index), false, false);
#endif
}

/* Splits a qualified name; 16 added soft errors. */
static inline List *
shuttle_qualified_names(const char *text)
{
#if PG_VERSION_NUM >= 160000
	return stringToQualifiedNameList(text, NULL);
#else
	return stringToQualifiedNameList(text);
#endif
}

/* Deletes a row in the current command, without waiting; 19 moved flags into
 * one argument. */
static inline TM_Result
shuttle_heap_delete(Relation rel, ItemPointer tid, TM_FailureData *failure)
{
#if PG_VERSION_NUM >= 190000
	return heap_delete(rel, tid, GetCurrentCommandId(true), 0, InvalidSnapshot, false,
					   failure);
#else
	return heap_delete(rel, tid, GetCurrentCommandId(true), InvalidSnapshot, false,
					   failure, false);
#endif
}

/* Begins a sequential scan of a table; 19 added flags. */
static inline TableScanDesc
shuttle_beginscan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

/* 17 gave ALTER COLUMN ... SET EXPRESSION; older servers cannot parse it. */
#if PG_VERSION_NUM < 170000
#define AT_SetExpression AT_DropExpression
#endif

/* The statement and the table of CLUSTER, which is a form of REPACK since 19. */
#if PG_VERSION_NUM < 190000
#define T_RepackStmt T_ClusterStmt
#endif

static inline const char *
shuttle_repack_name(Node *statement)
{
#if PG_VERSION_NUM >= 190000
	if (castNode(RepackStmt, statement)->command == REPACK_COMMAND_REPACK)
		return "REPACK";
#endif
	return "CLUSTER";
}

static inline RangeVar *
shuttle_repacked_table(Node *statement)
{
#if PG_VERSION_NUM >= 190000
	VacuumRelation *target = castNode(RepackStmt, statement)->relation;

	return target == NULL ? NULL : target->relation;
#else
	return castNode(ClusterStmt, statement)->relation;
#endif
}

/* The index that it names; else NULL. */
static inline const char *
shuttle_repacked_index(Node *statement)
{
#if PG_VERSION_NUM >= 190000
	return castNode(RepackStmt, statement)->indexname;
#else
	return castNode(ClusterStmt, statement)->indexname;
#endif
}

/* The locale of a database whose provider is not libc; renamed in 17. */
#if PG_VERSION_NUM < 170000
#define Anum_pg_database_datlocale Anum_pg_database_daticulocale
#endif

/* ---- aggregates */

/* In serialized states of aggregates, 19 has sums of integers as 128 bits; they
 * were numerics. */
#define SHUTTLE_STATES_HAVE_INT128 (PG_VERSION_NUM >= 190000)

/* ---- intervals */

/* 17 has infinite intervals, and other states for sums of them. */
#if PG_VERSION_NUM < 170000
#define F_INTERVAL_AVG_SERIALIZE InvalidOid
#define INTERVAL_NOT_FINITE(interval) false
#define INTERVAL_IS_NOBEGIN(interval) false
#else
#define F_INTERVAL_COMBINE InvalidOid
#endif

/* True if another server reads an interval's binary format as this one does:
 * since 17 some very long intervals are infinite. */
static inline bool
shuttle_agrees_on_intervals(int server_version)
{
	return (server_version >= 170000) == (PG_VERSION_NUM >= 170000);
}

/* ---- statistics */

/* A column's statistics target; -1: default, which 17 stores as NULL. */
static inline int
shuttle_statistics_target(Oid relid, AttrNumber attribute)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attribute));
	int			target = -1;

	if (!HeapTupleIsValid(tuple))
		return target;
#if PG_VERSION_NUM >= 170000
	{
		bool		is_null;
		Datum		value = SysCacheGetAttr(ATTNUM, tuple,
											Anum_pg_attribute_attstattarget,
											&is_null);

		if (!is_null)
			target = DatumGetInt16(value);
	}
#else
	target = ((Form_pg_attribute) GETSTRUCT(tuple))->attstattarget;
#endif
	ReleaseSysCache(tuple);
	return target;
}

/* Whether the user may analyze a table, with a warning if not. */
#if PG_VERSION_NUM < 160000
#define vacuum_is_permitted_for_relation vacuum_is_relation_owner
#endif

/* Analyzes one table in this transaction; 16 added a memory context. */
static inline void
shuttle_analyze_table(Oid relid)
{
	VacuumParams params = {
		.options = VACOPT_ANALYZE,
#if PG_VERSION_NUM >= 190000	/* 19 has one each for VACUUM and ANALYZE */
		.log_vacuum_min_duration = -1,
		.log_analyze_min_duration = -1,
#else
		.log_min_duration = -1,
#endif
	};
	List	   *tables = list_make1(makeVacuumRelation(NULL, relid, NIL));

#if PG_VERSION_NUM >= 160000
	vacuum(tables, &params, NULL, CurrentMemoryContext, false);
#else
	vacuum(tables, &params, NULL, false);
#endif
}

/* Takes out postgres_fdw's own way to copy statistics, new in 19. */
static inline void
shuttle_clear_statistics_import(FdwRoutine *routine)
{
#if PG_VERSION_NUM >= 190000
	routine->ImportForeignStatistics = NULL;
#endif
}

/* Sets the number of rows of a partitioned table, as ANALYZE does; 18 takes the
 * number of frozen pages as well. */
static inline void
shuttle_set_row_count(Relation rel, double nrows)
{
	vac_update_relstats(rel, (BlockNumber) -1, nrows, 0,
#if PG_VERSION_NUM >= 180000
						0,
#endif
						rel->rd_rel->relhasindex, InvalidTransactionId,
						InvalidMultiXactId, NULL, NULL, true);
}

/* The table of an entry of pending statistics; renamed in 16. */
static inline Oid
shuttle_counted_table(const PgStat_TableStatus *status)
{
#if PG_VERSION_NUM >= 160000
	return status->id;
#else
	return status->t_id;
#endif
}

/* ---- privileges */

/* 16 has one function for all kinds of objects; here for servers, tables and
 * functions only. */
#if PG_VERSION_NUM < 160000
static inline bool
object_ownercheck(Oid classid, Oid objectid, Oid roleid)
{
	if (classid == RelationRelationId)
		return pg_class_ownercheck(objectid, roleid);
	if (classid == ProcedureRelationId)
		return pg_proc_ownercheck(objectid, roleid);
	Assert(classid == ForeignServerRelationId);
	return pg_foreign_server_ownercheck(objectid, roleid);
}

/* The same; here for foreign-data wrappers, servers and functions only. */
static inline AclResult
object_aclcheck(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
	if (classid == ForeignServerRelationId)
		return pg_foreign_server_aclcheck(objectid, roleid, mode);
	if (classid == ProcedureRelationId)
		return pg_proc_aclcheck(objectid, roleid, mode);
	Assert(classid == ForeignDataWrapperRelationId);
	return pg_foreign_data_wrapper_aclcheck(objectid, roleid, mode);
}
#endif

/* 17 gave partitions the identity columns of their table. */
#define SHUTTLE_PARTITIONS_HAVE_IDENTITY (PG_VERSION_NUM >= 170000)

/* ---- memberships of roles */

/*
 * The options of GRANT or REVOKE of a role, as the statement has them: " WITH ADMIN OPTION"
 * or "ADMIN OPTION FOR "; 16 added others.
 */
static inline char *
shuttle_role_options(const GrantRoleStmt *statement)
{
#if PG_VERSION_NUM >= 160000
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, statement->opt)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		bool		is_admin = strcmp(option->defname, "admin") == 0;

		if (!statement->is_grant)
			appendStringInfo(&text, "%s OPTION FOR ", option->defname);
		else
			appendStringInfo(&text, "%s %s %s", text.len == 0 ? " WITH" : ",", option->defname,
							 !defGetBoolean(option) ? "FALSE" : is_admin ? "OPTION" : "TRUE");
	}
	return text.data;
#else
	if (!statement->admin_opt)
		return pstrdup("");
	return pstrdup(statement->is_grant ? " WITH ADMIN OPTION" : "ADMIN OPTION FOR ");
#endif
}

/* Clauses of a foreign key that are new in 18. */
#if PG_VERSION_NUM >= 180000
#define KEY_IS_OF_18(constraint) \
	(!(constraint)->is_enforced || (constraint)->fk_with_period || (constraint)->pk_with_period)
#else
#define KEY_IS_OF_18(constraint) false
#endif

/* 18 has an error of its own for RESTRICT. */
#define SHUTTLE_RESTRICT_HAS_ERROR (PG_VERSION_NUM >= 180000)

/* A deferred trigger runs for the role that changed the row; before, for that of the COMMIT. */
#define SHUTTLE_TRIGGERS_KEEP_ROLE (PG_VERSION_NUM >= 180000)

/* A foreign key, for pg_constraint. */
typedef struct ShuttleConstraintRow
{
	const char *name;
	Oid			child;
	Oid			parent;
	Oid			index;			/* the parent's */
	int			ncolumns;
	const int16 *child_columns;
	const int16 *parent_columns;
	const Oid  *parent_child;	/* operators: parent = child */
	const Oid  *parent_parent;
	const Oid  *child_child;
	int			nset;
	const int16 *set_columns;
	char		match;
	char		on_update;
	char		on_delete;
	bool		deferrable;
	bool		deferred;
	bool		is_valid;
} ShuttleConstraintRow;

/* Makes the row and its dependencies; 18 added constraints that are not enforced. */
static inline Oid
shuttle_constraint_make(const ShuttleConstraintRow *row)
{
	return CreateConstraintEntry(row->name, get_rel_namespace(row->child), CONSTRAINT_FOREIGN,
								 row->deferrable, row->deferred,
#if PG_VERSION_NUM >= 180000
								 true,
#endif
								 row->is_valid, InvalidOid, row->child, row->child_columns, row->ncolumns,
								 row->ncolumns, InvalidOid, row->index, row->parent, row->parent_columns,
								 row->parent_child, row->parent_parent, row->child_child, row->ncolumns,
								 row->on_update, row->on_delete, row->set_columns, row->nset, row->match,
								 NULL, NULL, NULL, true, 0, true,
#if PG_VERSION_NUM >= 180000
								 false,
#endif
								 false);
}

/* 16 can give errors of types back to the caller. */
#if PG_VERSION_NUM < 160000
#define range_serialize(range, lower, upper, empty, errors) \
	range_serialize(range, lower, upper, empty)
#endif

/* True for [NOT] ENFORCED behind the key of a column, which is then told so. */
static inline bool
shuttle_take_enforced(Constraint *key, const Constraint *clause)
{
#if PG_VERSION_NUM >= 180000
	if (clause->contype == CONSTR_ATTR_ENFORCED || clause->contype == CONSTR_ATTR_NOT_ENFORCED)
	{
		key->is_enforced = clause->contype == CONSTR_ATTR_ENFORCED;
		return true;
	}
#endif
	return false;
}

/* New in 18: constraints that are not enforced. */
#if PG_VERSION_NUM < 180000
#define SHUTTLE_CHECK_IS_ENFORCED(check) true
#else
#define SHUTTLE_CHECK_IS_ENFORCED(check) ((check)->ccenforced)
#endif

/* True of a column (from 0) that has no NULL; since 18 a constraint may be not valid. */
static inline bool
shuttle_column_is_not_null(TupleDesc desc, int column)
{
#if PG_VERSION_NUM >= 180000
	return TupleDescCompactAttr(desc, column)->attnullability == ATTNULLABLE_VALID;
#else
	return TupleDescAttr(desc, column)->attnotnull;
#endif
}

/* The columns of inside by the numbers of outside; 16 added a switch for missing ones. */
static inline AttrMap *
shuttle_attrmap_by_name(TupleDesc inside, TupleDesc outside)
{
#if PG_VERSION_NUM >= 160000
	return build_attrmap_by_name(inside, outside, false);
#else
	return build_attrmap_by_name(inside, outside);
#endif
}

/* Makes an index of a table, whose owner may have fewer rights than that of its parent; 16
 * and 19 added arguments. */
static inline Oid
shuttle_define_index(Oid relid, IndexStmt *statement)
{
#if PG_VERSION_NUM >= 190000
	return DefineIndex(NULL, relid, statement, InvalidOid, InvalidOid, InvalidOid, -1, false, false, false, false, false).objectId;
#elif PG_VERSION_NUM >= 160000
	return DefineIndex(relid, statement, InvalidOid, InvalidOid, InvalidOid, -1, false, false, false, false, false).objectId;
#else
	return DefineIndex(relid, statement, InvalidOid, InvalidOid, InvalidOid, false, false, false, false, false).objectId;
#endif
}

#endif							/* SHUTTLE_COMPAT_CATALOG_H */

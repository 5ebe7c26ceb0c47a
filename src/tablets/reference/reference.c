/*-------------------------------------------------------------------------
 * reference.c
 *	  shuttle.reference_table(): an ordinary table here, of which each storage
 *	  node has a copy.
 *
 * Copies have the table's columns, primary key, indexes and checks. They have no
 * foreign keys: rows are checked here, and a node would check them again at
 * another time and in another order, and repeat cascades. Foreign keys of
 * distributed tables to a reference table exist on nodes only.
 *
 * A new node and a new reference table wait for each other on the lock of
 * shuttle.tables, so that each sees what the other one made.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/places.h"
#include "tablets/common/progress.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/constraints/constraints.h"
#include "tablets/needs/needs.h"
#include "tablets/reference/copies.h"
#include "tablets/reference/reference.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/reach.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_reference_table);

static const char *const tables_query =
"SELECT relation::oid::text FROM shuttle.tables AS t WHERE kind = 'reference' AND $1 IS NOT NULL ORDER BY t.relation";

/* INSERT ... ON CONFLICT needs an index that is unique at once. */
static const char *const key_query =
"SELECT indexrelid::regclass::text FROM pg_index"
" WHERE indrelid = $1 AND indisprimary AND indimmediate AND indisvalid AND NOT indisexclusion"
" AND NOT EXISTS (SELECT FROM pg_attribute"
" WHERE attrelid = $1 AND attnum = ANY (indkey::int2[]) AND attgenerated <> '')";

static const char *const family_query =
"SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = $1"
" UNION ALL SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1";

static const char *
find_kind_hint(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return "Only ordinary tables can be reference tables.";
	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		return "Temporary and unlogged tables have no copies; use ALTER TABLE ... SET LOGGED first.";
	if (IsSystemRelation(rel) || shuttle_table_is_of_extension(RelationGetRelid(rel)))
		return "System catalogs, and tables of pg_shuttle, have no copies.";
	if (shuttle_local_text(family_query, RelationGetRelid(rel)) != NULL)
		return "Only tables without parents and children can be reference tables.";
	return NULL;
}

ShuttleRefusal *
shuttle_reference_refuse(Relation rel)
{
	ShuttleRefusal *refusal = shuttle_refusal_of_taken(rel);
	const char *hint;

	if (refusal != NULL)
		return refusal;
	if (OidIsValid(shuttle_places_source(RelationGetRelid(rel))))
		return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
							   psprintf("table \"%s\" has a placement rule", RelationGetRelationName(rel)),
							   "All storage nodes have copies of a reference table.",
							   "Take the rule from it first, with shuttle.place() and NULL.");
	hint = find_kind_hint(rel);
	if (hint != NULL)
		return shuttle_refusal(ERRCODE_WRONG_OBJECT_TYPE,
							   psprintf("\"%s\" cannot be a reference table", RelationGetRelationName(rel)),
							   NULL, hint);
	if (shuttle_local_text(key_query, RelationGetRelid(rel)) == NULL)
		return shuttle_refusal(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   psprintf("table \"%s\" has no primary key that is checked at once, of columns that are not generated",
										RelationGetRelationName(rel)),
							   "Rows of copies are found by the primary key.",
							   "Add one with ALTER TABLE ... ADD PRIMARY KEY.");
	refusal = shuttle_session_checks_refuse(rel, NULL);
	if (refusal == NULL)
		refusal = shuttle_session_checks_refuse_generated(rel, NIL);
	return refusal != NULL ? refusal : shuttle_session_checks_refuse_domains(rel, NIL);
}

static void
lock_tables(void)
{
	(void) shuttle_local_run_as_superuser("LOCK TABLE shuttle.tables IN SHARE ROW EXCLUSIVE MODE");
}

uint64
shuttle_reference_make_copies(Relation rel, List *servers)
{
	Oid			relid = RelationGetRelid(rel);
	ShuttleNodeStatements *statements = shuttle_node_definitions_create();
	List	   *texts = list_concat(shuttle_needed_objects_texts(relid, servers),
									shuttle_node_owners_schema_texts(RelationGetNamespace(rel)));
	uint64		nrows;

	shuttle_refusal_raise(shuttle_reach_refuse_tables(list_make1_oid(relid), servers));
	shuttle_progress_start(SHUTTLE_PROGRESS_REFERENCE);
	shuttle_progress_show(relid, SHUTTLE_PROGRESS_TABLES);
	texts = list_concat(texts, shuttle_table_text_parent(relid, NULL));
	texts = list_concat(texts, shuttle_table_text_indexes(relid, NULL));
	shuttle_node_statements_add_texts(statements, servers, texts);
	shuttle_node_statements_run(statements);
	shuttle_progress_show(relid, SHUTTLE_PROGRESS_ROWS);
	nrows = shuttle_copies_put_all(shuttle_copies_open(rel, servers));
	shuttle_node_statements_add_texts(statements, servers, shuttle_table_text_unchecked(relid));

	/* autovacuum never looks at a copy of less than 50 rows */
	if (nrows > 0)
	{
		shuttle_progress_show(relid, SHUTTLE_PROGRESS_ANALYZE);
		shuttle_node_statements_add_all(statements, servers,
										psprintf("ANALYZE %s", shuttle_local_name(relid)));
	}
	shuttle_node_statements_run(statements);
	shuttle_progress_end();
	return nrows;
}

/* shuttle.reference_table(relation) */
Datum
shuttle_reference_table(PG_FUNCTION_ARGS)
{
	Relation	rel;
	List	   *servers;
	uint64		nrows;

	shuttle_table_lock_owned(PG_GETARG_OID(0));
	rel = table_open(PG_GETARG_OID(0), NoLock);
	shuttle_refusal_raise(shuttle_reference_refuse(rel));
	lock_tables();
	servers = shuttle_layout_nodes_needed();
	CheckTableNotInUse(rel, "reference_table()");
	nrows = shuttle_reference_make_copies(rel, servers);
	table_close(rel, NoLock);
	shuttle_layout_note_table(PG_GETARG_OID(0), SHUTTLE_TABLE_REFERENCE, NULL);
	shuttle_copy_triggers_create(PG_GETARG_OID(0));
	shuttle_copy_table_make(PG_GETARG_OID(0), servers);
	if (nrows > 0)
		ereport(NOTICE,
				(errmsg_plural("%llu row of \"%s\" is on each of %d nodes",
							   "%llu rows of \"%s\" are on each of %d nodes", nrows,
							   (unsigned long long) nrows, get_rel_name(PG_GETARG_OID(0)),
							   list_length(servers))));
	PG_RETURN_VOID();
}

void
shuttle_reference_end(Oid relid)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	lock_tables();
	shuttle_copy_triggers_drop(relid);
	shuttle_copy_table_drop(relid);
	shuttle_node_statements_add_all(statements, shuttle_layout_nodes(),
									psprintf("DROP TABLE IF EXISTS %s", shuttle_local_name(relid)));
	shuttle_node_statements_run(statements);
	shuttle_layout_forget_table(relid);
}

/* Locks all reference tables. Writers wait for our commit, and see then which
 * nodes there are. */
static List *
lock_reference_tables(void)
{
	List	   *relids = NIL;
	ListCell   *cell;

	lock_tables();
	foreach(cell, shuttle_local_texts(tables_query, InvalidOid))
	{
		relids = lappend_oid(relids, atooid(lfirst(cell)));
		LockRelationOid(llast_oid(relids), ShareLock);
	}
	return relids;
}

void
shuttle_reference_add_node(Oid serverid)
{
	ListCell   *cell;

	foreach(cell, lock_reference_tables())
	{
		Relation	rel = table_open(lfirst_oid(cell), NoLock);

		(void) shuttle_reference_make_copies(rel, list_make1_oid(serverid));
		table_close(rel, NoLock);
		shuttle_copy_table_make(lfirst_oid(cell), shuttle_layout_nodes());
	}
}

void
shuttle_reference_remove_node(Oid serverid)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *others = list_delete_oid(list_copy(shuttle_layout_nodes()), serverid);
	ListCell   *cell;

	foreach(cell, lock_reference_tables())
	{
		shuttle_copy_table_make(lfirst_oid(cell), others);
		shuttle_node_statements_add(statements, serverid,
									psprintf("DROP TABLE IF EXISTS %s", shuttle_local_name(lfirst_oid(cell))));
	}
	shuttle_node_statements_run(statements);
}

/*-------------------------------------------------------------------------
 * bring_back.c
 *	  shuttle.local_table() and shuttle.local_tables(): distributed tables
 *	  become ordinary ones again, under their OIDs.
 *
 * All in the caller's transaction, under AccessExclusiveLock on the tables:
 *
 * 1. The tables are locked on nodes; a node tells the foreign keys, which exist
 *	  only there.
 * 2. Each table loses its tablets and becomes an ordinary one (surgery.c); the
 *	  tablets are foreign tables, from which the rows are read.
 * 3. Indexes are built, tablets are dropped, here and on nodes.
 * 4. Foreign keys among the tables are made here. One that leads to a table
 *	  which stays distributed is gone, with a warning.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_points.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/partitions.h"
#include "tablets/common/progress.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/constraints/constraints.h"
#include "tablets/distribute/distribute.h"
#include "tablets/distribute/key_partners.h"
#include "tablets/distribute/partition.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/move/move.h"
#include "tablets/needs/needs.h"
#include "tablets/reference/reference.h"
#include "tablets/rights/node_texts.h"
#include "tablets/shuttle_tablets.h"

/* Columns of a node's answer about foreign keys. */
enum
{
	KEY_REFERRING,
	KEY_REFERRED,
	KEY_NAME,
	KEY_DEFINITION,
	KEY_COMMENT,				/* as a literal, NULL if there is none */
	KEY_NCOLUMNS
};

/* A foreign key that exists on nodes; names are qualified and quoted. */
typedef struct NodeForeignKey
{
	char	   *values[KEY_NCOLUMNS];
} NodeForeignKey;

SHUTTLE_SQL_FUNCTION(shuttle_local_table);
SHUTTLE_SQL_FUNCTION(shuttle_local_tables);

static void
take_foreign_key(void *arg, const ShuttleRow *row)
{
	List	  **keys = arg;
	NodeForeignKey *key = palloc0_object(NodeForeignKey);

	for (int i = 0; i < KEY_NCOLUMNS; i++)
		key->values[i] = pstrdup(shuttle_row_text(row, i));
	*keys = lappend(*keys, key);
}

/* The foreign keys from and to the tables, each once. All nodes have the same. */
static List *
foreign_keys_of(const List *names, Oid serverid)
{
	const char *tables = shuttle_key_tables(names);
	List	   *keys = NIL;

	shuttle_query(shuttle_connection_get(serverid, GetUserId()),
				  psprintf("SELECT conrelid::pg_catalog.regclass, confrelid::pg_catalog.regclass,"
						   " pg_catalog.quote_ident(conname), pg_catalog.pg_get_constraintdef(oid),"
						   " pg_catalog.quote_nullable(pg_catalog.obj_description(oid, 'pg_constraint'))"
						   " FROM pg_catalog.pg_constraint WHERE contype = 'f' AND conparentid = 0"
						   " AND (conrelid IN (%s) OR confrelid IN (%s)) ORDER BY conname",
						   tables, tables),
				  SHUTTLE_READS, KEY_NCOLUMNS, take_foreign_key, &keys);
	return keys;
}

/*
 * Waits for transactions that have committed here and are still prepared on a
 * node: their rows are not visible there, and would be dropped unread.
 */
static void
lock_on_nodes(const List *relids, const List *servers)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add_all(statements, servers,
									psprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE",
											 shuttle_local_names(relids)));
	shuttle_node_statements_run(statements);
}

List *
shuttle_bring_back_detach(Oid relid)
{
	Relation	rel = table_open(relid, AccessExclusiveLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	List	   *tablets = NIL;
	ListCell   *cell;

	for (int i = 0; i < partitions->nparts; i++)
		tablets = lappend_oid(tablets, partitions->oids[i]);
	table_close(rel, NoLock);
	foreach(cell, tablets)
		(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s DETACH PARTITION %s",
													   shuttle_local_name(relid),
													   shuttle_local_name(lfirst_oid(cell))));
	return tablets;
}

static char *
read_tablets(const char *columns, const List *tablets)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, tablets)
		appendStringInfo(&text, "%sSELECT %s FROM %s", text.len == 0 ? "" : " UNION ALL ",
						 columns, shuttle_local_name(lfirst_oid(cell)));
	return text.data;
}

/* What old rows need not meet: statements that drop it, and that make it again. */
#define UNCHECKED_QUERY(text) \
"SELECT pg_catalog.format(" text ", conrelid::regclass, conname, pg_catalog.pg_get_constraintdef(c.oid), d.description)" \
" FROM pg_constraint AS c LEFT JOIN pg_description AS d ON d.objoid = c.oid AND d.classoid = c.tableoid" \
" WHERE conrelid = $1 AND contype IN ('c', 'n') AND NOT convalidated ORDER BY conname"

static void
run_texts(const List *texts)
{
	const ListCell *cell;

	foreach(cell, texts)
		(void) shuttle_local_run(lfirst(cell));
}

/* Storage options of a table's tablets; NULL: none. */
static char *
options_of(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			tablet = RelationGetPartitionDesc(rel, true)->oids[0];
	ShuttleNode *node = shuttle_connection_get(GetForeignServerIdByRelId(tablet), GetUserId());
	List	   *rows = shuttle_node_rows_with_nulls(node, SHUTTLE_OPTIONS_QUERY, 1, 0, tablet);

	table_close(rel, NoLock);
	return rows == NIL ? NULL : ((char **) linitial(rows))[0];
}

static void
bring_back(Oid relid)
{
	char	   *options;
	List	   *tablets;
	List	   *unchecked;
	char	   *columns = shuttle_load_columns(relid);
	ListCell   *cell;

	options = options_of(relid);
	shuttle_progress_show(relid, SHUTTLE_PROGRESS_ROWS);	/* counts rows from here */
	tablets = shuttle_bring_back_detach(relid);
	shuttle_surgery_plain(relid);
	if (options != NULL)
		shuttle_node_text_run(psprintf("ALTER TABLE %s SET (%s)", shuttle_local_name(relid), options),
							  "ALTER TABLE t SET (fillfactor = 50)");
	unchecked = shuttle_local_texts(UNCHECKED_QUERY("'ALTER TABLE %1$s ADD CONSTRAINT %2$I %3$s; COMMENT ON CONSTRAINT %2$I ON %1$s IS %4$L'"), relid);
	run_texts(shuttle_local_texts(UNCHECKED_QUERY("'ALTER TABLE %1$s DROP CONSTRAINT %2$I'"), relid));
	shuttle_surgery_hide_indexes(relid);
	(void) shuttle_load_run(relid, psprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE %s",
											shuttle_local_name(relid), columns,
											read_tablets(columns, tablets)));
	SHUTTLE_POINT("rows-copied");
	shuttle_progress_show(relid, SHUTTLE_PROGRESS_KEYS);
	shuttle_surgery_show_indexes(relid);
	shuttle_surgery_build_indexes(relid);
	run_texts(unchecked);
	foreach(cell, tablets)
		(void) shuttle_local_run_as_superuser(psprintf("DROP FOREIGN TABLE %s",
													   shuttle_local_name(lfirst_oid(cell))));
	shuttle_layout_forget_table(relid);
	shuttle_row_checks_follow(relid);
	shuttle_global_entries_follow(relid);
}

/* The tables are read before they are dropped, in the same transaction. */
static void
drop_on_nodes(const List *relids, const List *servers)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add_all(statements, servers,
									psprintf("DROP TABLE %s CASCADE", shuttle_local_names(relids)));
	shuttle_node_statements_run(statements);
}

static Oid
table_of(const char *name)
{
	return RangeVarGetRelid(makeRangeVarFromNameList(shuttle_qualified_names(name)), NoLock, false);
}

/*
 * Foreign keys lead from tables that were distributed to others of these and to reference
 * tables: a node that says something else must not have one made.
 */
static void
check_key(const NodeForeignKey *key, const List *relids, Oid referring, Oid referred)
{
	if (!list_member_oid(relids, referring) ||
		(!list_member_oid(relids, referred) && shuttle_table_kind(referred) != SHUTTLE_TABLE_REFERENCE))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("a storage node has foreign key %s between %s and %s", key->values[KEY_NAME],
						key->values[KEY_REFERRING], key->values[KEY_REFERRED]),
				 errdetail("They were not distributed together.")));
}

static void
make_foreign_keys(const List *keys, const List *relids)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		const NodeForeignKey *key = lfirst(cell);
		Oid			referring = table_of(key->values[KEY_REFERRING]);
		Oid			referred = table_of(key->values[KEY_REFERRED]);

		if (shuttle_table_kind(referring) != SHUTTLE_TABLE_DISTRIBUTED &&
			shuttle_table_kind(referred) != SHUTTLE_TABLE_DISTRIBUTED)
		{
			Oid			made;

			check_key(key, relids, referring, referred);
			made = shuttle_foreign_key_add_here(referring, referred,
												shuttle_node_text_add_key(referring, referred, key->values[KEY_NAME],
																		  key->values[KEY_DEFINITION]), true);
			shuttle_node_text_run(psprintf("COMMENT ON CONSTRAINT %s ON %s IS %s", quote_identifier(get_constraint_name(made)),
										   shuttle_local_name(referring), key->values[KEY_COMMENT]),
								  "COMMENT ON CONSTRAINT k ON t IS NULL");
		}
		else
			ereport(WARNING,
					(errmsg("foreign key %s between %s and %s is dropped", key->values[KEY_NAME],
							key->values[KEY_REFERRING], key->values[KEY_REFERRED]),
					 errdetail("One of the tables stays distributed."),
					 errhint("Bring both back with shuttle.local_tables(), or add it again later: ALTER TABLE %s ADD CONSTRAINT %s %s.",
							 key->values[KEY_REFERRING], key->values[KEY_NAME], key->values[KEY_DEFINITION])));
	}
}

static void
check_table(Oid relid)
{
	Relation	rel;

	shuttle_table_lock_owned(relid);
	rel = table_open(relid, NoLock);
	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED &&
		shuttle_table_kind(relid) != SHUTTLE_TABLE_REFERENCE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not distributed", RelationGetRelationName(rel))));
	table_close(rel, NoLock);
}

/* Nodes have the row type of a table as long as they have the table: the columns of others
 * that are of this type would go with it. */
static void
refuse_used_type(Oid relid, const List *relids)
{
	char	   *row_type = psprintf("SELECT 'pg_type'::regclass::oid, %u::oid", get_rel_type_id(relid));
	ListCell   *cell;

	foreach(cell, shuttle_needed_objects_tables(row_type))
	{
		if (!list_member_oid(relids, lfirst_oid(cell)))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("storage nodes need table \"%s\" for table \"%s\", which uses its row type",
							get_rel_name(relid), get_rel_name(lfirst_oid(cell))),
					 errhint("Bring back \"%s\" first.", get_rel_name(lfirst_oid(cell)))));
	}
}

/* Nodes have the key for two tables of a group, of which one would leave it. change: what
 * would have it leave, of the table. */
static void
refuse_keys_of_group(const List *keys, Oid relid, const char *change)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		const NodeForeignKey *key = lfirst(cell);
		Oid			referring = table_of(key->values[KEY_REFERRING]);
		Oid			other = referring == relid ? table_of(key->values[KEY_REFERRED]) : referring;

		if (other != relid && shuttle_table_kind(other) == SHUTTLE_TABLE_DISTRIBUTED)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot %s table \"%s\" because of foreign key %s", change,
							get_rel_name(relid), key->values[KEY_NAME]),
					 errdetail("It relates the distribution column to that of table \"%s\".", get_rel_name(other)),
					 errhint("Drop the foreign key first. Add it again if it fits when both tables have changed.")));
	}
}

/* change: of the single table, for which its keys to tables of its group must not be lost; NULL:
 * they may. */
static void
bring_distributed_back(const List *relids, const char *change)
{
	List	   *servers = NIL;
	List	   *names = NIL;
	List	   *keys;
	List	   *constraints = NIL;
	List	   *kept;
	ListCell   *cell;

	foreach(cell, relids)
	{
		constraints = list_concat_unique_oid(constraints, shuttle_foreign_keys_of(lfirst_oid(cell)));
		refuse_used_type(lfirst_oid(cell), relids);
		servers = list_concat_unique_oid(servers, shuttle_table_servers(lfirst_oid(cell)));
		names = lappend(names, shuttle_local_name(lfirst_oid(cell)));
	}
	shuttle_key_partners_lock(names, linitial_oid(servers), NULL);
	lock_on_nodes(relids, servers);
	keys = foreign_keys_of(names, linitial_oid(servers));
	if (change != NULL)
		refuse_keys_of_group(keys, linitial_oid(relids), change);
	shuttle_progress_start(SHUTTLE_PROGRESS_LOCAL);
	kept = shuttle_foreign_key_kept_take(constraints);
	foreach(cell, relids)
		bring_back(lfirst_oid(cell));
	SHUTTLE_POINT("kind-changed");
	drop_on_nodes(relids, servers);
	make_foreign_keys(keys, relids);
	shuttle_foreign_key_kept_give(kept, false);
	shuttle_progress_end();
}

/* Tables of a group are on the same nodes, and have foreign keys to no other distributed
 * tables. Returns the tables of other groups. */
static List *
bring_group_back(const List *relids)
{
	int			group = shuttle_layout_group(linitial_oid(relids));
	List	   *members = NIL;
	List	   *others = NIL;
	const ListCell *cell;

	foreach(cell, relids)
	{
		if (shuttle_layout_group(lfirst_oid(cell)) == group)
			members = lappend_oid(members, lfirst_oid(cell));
		else
			others = lappend_oid(others, lfirst_oid(cell));
	}
	bring_distributed_back(members, NULL);
	return others;
}

/* The tables, and for a partitioned one the distributed tables below it. */
static List *
with_partitions(const List *relids, List **partitioned)
{
	List	   *tables = NIL;
	const ListCell *cell;

	foreach(cell, relids)
	{
		Oid			relid = lfirst_oid(cell);
		ListCell   *inner;

		shuttle_partitions_lock_owned(relid);
		if (shuttle_table_kind(relid) != SHUTTLE_TABLE_PARTITIONED)
		{
			tables = list_append_unique_oid(tables, relid);
			continue;
		}
		foreach(inner, shuttle_partitions_all(relid, AccessExclusiveLock))
		{
			Oid			member = lfirst_oid(inner);

			if (shuttle_table_kind(member) == SHUTTLE_TABLE_PARTITIONED)
				*partitioned = list_append_unique_oid(*partitioned, member);
			else if (shuttle_table_kind(member) == SHUTTLE_TABLE_DISTRIBUTED)
				tables = list_append_unique_oid(tables, member);
		}
	}
	return tables;
}

/* Of tables, parents first, whose partitions are not distributed any more. */
static void
end_partitioned(const List *relids)
{
	for (int i = list_length(relids) - 1; i >= 0; i--)
	{
		shuttle_layout_forget_table(list_nth_oid(relids, i));
		shuttle_partition_validate_indexes(list_nth_oid(relids, i));
		CacheInvalidateRelcacheByRelid(list_nth_oid(relids, i));
	}
}

/* Copies of reference tables are dropped after the tables that refer to them. */
static void
bring_all_back(const List *named)
{
	List	   *partitioned = NIL;
	List	   *relids;
	List	   *distributed = NIL;
	List	   *reference = NIL;
	ListCell   *cell;

	shuttle_refusal_raise_if_snapshot_is_old();
	relids = with_partitions(named, &partitioned);
	foreach(cell, relids)
	{
		check_table(lfirst_oid(cell));
		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_REFERENCE)
			reference = lappend_oid(reference, lfirst_oid(cell));
		else
			distributed = lappend_oid(distributed, lfirst_oid(cell));
	}
	while (distributed != NIL)
		distributed = bring_group_back(distributed);
	foreach(cell, reference)
		shuttle_reference_end(lfirst_oid(cell));
	end_partitioned(partitioned);
}

void
shuttle_bring_back_for_change(Oid relid)
{
	shuttle_refusal_raise_if_snapshot_is_old();
	check_table(relid);
	bring_distributed_back(list_make1_oid(relid), "drop or change the type of the distribution column of");
	CommandCounterIncrement();
}

void
shuttle_bring_back_for_attach(Oid relid)
{
	List	   *partitioned = NIL;
	ListCell   *cell;

	shuttle_refusal_raise_if_snapshot_is_old();
	foreach(cell, with_partitions(list_make1_oid(relid), &partitioned))
	{
		check_table(lfirst_oid(cell));
		bring_distributed_back(list_make1_oid(lfirst_oid(cell)), "attach");
	}
	end_partitioned(partitioned);
	CommandCounterIncrement();
}

/* shuttle.local_table(relation) */
Datum
shuttle_local_table(PG_FUNCTION_ARGS)
{
	bring_all_back(list_make1_oid(PG_GETARG_OID(0)));
	PG_RETURN_VOID();
}

/* shuttle.local_tables(relations) */
Datum
shuttle_local_tables(PG_FUNCTION_ARGS)
{
	List	   *relids = NIL;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT,
					  &values, &nulls, &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("tables must not be null")));
		relids = list_append_unique_oid(relids, DatumGetObjectId(values[i]));
	}
	if (relids != NIL)
		bring_all_back(relids);
	PG_RETURN_VOID();
}

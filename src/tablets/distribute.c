/*-------------------------------------------------------------------------
 * distribute.c
 *	  shuttle.distribute_table() and shuttle.distribute_tables().
 *
 * All in the caller's transaction, under AccessExclusiveLock on the tables:
 *
 * 1. Checks; nothing has been changed if one fails.
 * 2. Nodes make the tables and their tablets, without indexes.
 * 3. Rows are copied to the nodes (load.c).
 * 4. Nodes make indexes, keys, and the foreign keys among the tables; these are
 *	  dropped here.
 * 5. The tables become partitioned ones (surgery.c), and take the tablets as
 *	  partitions.
 * 6. Nodes analyze the tables, and the tablets take over their statistics.
 *
 * An error or a cancel at any point rolls everything back, here and on nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_points.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/distribute.h"
#include "tablets/routines.h"
#include "tablets/tablets_internal.h"

/* One of the tables that are distributed together. */
typedef struct DistributedTable
{
	Oid			relid;
	char	   *key;
	AttrNumber	key_number;
	bool		has_rows;
} DistributedTable;

typedef struct Distribution
{
	List	   *tables;			/* of DistributedTable */
	List	   *relids;
	int			ntablets;
	Oid			colocate_with;	/* or InvalidOid */
	List	   *nodes;			/* servers; NIL: all */
	ShuttleLayout *layout;
	List	   *servers;		/* of the layout, each once */
	ShuttleNodeStatements *statements;
} Distribution;

static const char *const own_foreign_keys_query =
"SELECT oid::text FROM pg_constraint WHERE contype = 'f' AND conrelid = $1";

SHUTTLE_SQL_FUNCTION(shuttle_distribute_table);
SHUTTLE_SQL_FUNCTION(shuttle_distribute_tables);

static void
add_table(Distribution *distribution, Oid relid, char *key)
{
	DistributedTable *table = palloc0_object(DistributedTable);

	if (list_member_oid(distribution->relids, relid))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("table \"%s\" is named twice", get_rel_name(relid))));
	table->relid = relid;
	table->key = key;
	distribution->tables = lappend(distribution->tables, table);
	distribution->relids = lappend_oid(distribution->relids, relid);
}

/* Splits table.column or schema.table.column. */
static void
add_key(Distribution *distribution, const char *text)
{
	List	   *names = shuttle_qualified_names(text);
	char	   *key = strVal(llast(names));

	if (list_length(names) < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid key \"%s\"", text),
				 errhint("Write table.column or schema.table.column.")));
	names = list_delete_last(names);
	add_table(distribution,
			  RangeVarGetRelidExtended(makeRangeVarFromNameList(names), AccessExclusiveLock, 0,
									   RangeVarCallbackOwnsRelation, NULL),
			  key);
}

/* Arguments that both functions have, from number first on. */
static void
take_options(Distribution *distribution, FunctionCallInfo fcinfo, int first)
{
	distribution->ntablets = PG_ARGISNULL(first) ? shuttle_settings.tablets : PG_GETARG_INT32(first);
	if (distribution->ntablets < 1 || distribution->ntablets > SHUTTLE_MOST_TABLETS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of tablets must be between 1 and %d", SHUTTLE_MOST_TABLETS)));
	if (!PG_ARGISNULL(first + 1))
		distribution->colocate_with = PG_GETARG_OID(first + 1);
	if (!PG_ARGISNULL(first + 2))
	{
		Datum	   *names;
		bool	   *nulls;
		int			nnames;

		deconstruct_array(PG_GETARG_ARRAYTYPE_P(first + 2), NAMEOID, NAMEDATALEN, false,
						  TYPALIGN_CHAR, &names, &nulls, &nnames);
		if (nnames == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("list of nodes must not be empty"),
					 errhint("Leave it out to use all nodes.")));
		for (int i = 0; i < nnames; i++)
		{
			if (nulls[i])
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("name of a node must not be null")));
			distribution->nodes = lappend_oid(distribution->nodes,
											  shuttle_node_find(NameStr(*DatumGetName(names[i]))));
		}
	}
}

static ShuttleRefusal *
refuse_tables(Distribution *distribution)
{
	ShuttleRefusal *refusal = NULL;
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);
		Relation	rel = table_open(table->relid, NoLock);

		/* nobody else can have put rows into a table of this transaction */
		if (rel->rd_createSubid == InvalidSubTransactionId)
			shuttle_load_check_snapshot();
		refusal = shuttle_refuse_distribution(rel, table->key, distribution->relids);
		table->key_number = get_attnum(table->relid, table->key);
		if (refusal == NULL)
			CheckTableNotInUse(rel, "distribute");
		table_close(rel, NoLock);
		if (refusal != NULL)
			break;
	}
	return refusal;
}

static const DistributedTable *
find_table(const Distribution *distribution, Oid relid)
{
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		const DistributedTable *table = lfirst(cell);

		if (table->relid == relid)
			return table;
	}
	return NULL;
}

/* A node looks for the row that a foreign key names among its own rows. */
static ShuttleRefusal *
refuse_foreign_key(const Distribution *distribution, const DistributedTable *table, Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	const DistributedTable *referred;
	ShuttleRefusal *refusal = NULL;
	AttrNumber	own[INDEX_MAX_KEYS];
	AttrNumber	others[INDEX_MAX_KEYS];
	int			nkeys;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	referred = find_table(distribution, ((Form_pg_constraint) GETSTRUCT(tuple))->confrelid);
	DeconstructFkConstraintRow(tuple, &nkeys, own, others, NULL, NULL, NULL, NULL, NULL);
	for (int i = 0; i < nkeys && referred != NULL; i++)
	{
		if (own[i] == table->key_number && others[i] == referred->key_number)
			referred = NULL;
	}
	if (referred != NULL)
		refusal = shuttle_refusal(ERRCODE_INVALID_FOREIGN_KEY,
								  psprintf("foreign key \"%s\" does not relate column \"%s\" of table \"%s\" to column \"%s\" of table \"%s\"",
										   NameStr(((Form_pg_constraint) GETSTRUCT(tuple))->conname),
										   table->key, get_rel_name(table->relid),
										   referred->key, get_rel_name(referred->relid)),
								  "The row that it names can be on another storage node.",
								  psprintf("Distribute both tables by columns of the key, make \"%s\" a reference table, or drop the key.",
										   get_rel_name(referred->relid)));
	ReleaseSysCache(tuple);
	return refusal;
}

static ShuttleRefusal *
refuse_foreign_keys(const Distribution *distribution)
{
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		const DistributedTable *table = lfirst(cell);
		ListCell   *inner;

		foreach(inner, shuttle_local_texts(own_foreign_keys_query, table->relid))
		{
			ShuttleRefusal *refusal = refuse_foreign_key(distribution, table, atooid(lfirst(inner)));

			if (refusal != NULL)
				return refusal;
		}
	}
	return NULL;
}

static ShuttleRefusal *
refuse(Distribution *distribution)
{
	ShuttleRefusal *refusal = refuse_tables(distribution);

	return refusal != NULL ? refusal : refuse_foreign_keys(distribution);
}

/* All tables are spread as the first one is. */
static void
choose_layout(Distribution *distribution)
{
	ListCell   *cell;
	Oid			type = InvalidOid;
	Oid			collation = InvalidOid;

	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);
		int32		typmod;
		Oid			own_type;
		Oid			own_collation;

		get_atttypetypmodcoll(table->relid, table->key_number, &own_type, &typmod, &own_collation);
		if (foreach_current_index(cell) > 0 && (own_type != type || own_collation != collation))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("keys of tables in one group must have the same type"),
					 errdetail("Column \"%s\" of table \"%s\" has type %s, others have %s.",
							   table->key, get_rel_name(table->relid),
							   format_type_be(own_type), format_type_be(type))));
		type = own_type;
		collation = own_collation;
	}
	if (OidIsValid(distribution->colocate_with))
		distribution->layout = shuttle_layout_colocated(distribution->colocate_with, type, collation);
	else
		distribution->layout = shuttle_layout_find(distribution->nodes, distribution->ntablets,
												   type, collation);
	for (int i = 0; i < distribution->layout->ntablets; i++)
		distribution->servers = list_append_unique_oid(distribution->servers,
													   distribution->layout->tablets[i].serverid);
}

static void
add_texts(Distribution *distribution, List *texts)
{
	ListCell   *cell;

	foreach(cell, texts)
		shuttle_node_statements_add_all(distribution->statements, distribution->servers,
										lfirst(cell));
}

static void
make_on_nodes(Distribution *distribution)
{
	const ShuttleLayout *layout = distribution->layout;
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);

		add_texts(distribution, shuttle_table_text_needed(table->relid));
		add_texts(distribution, shuttle_table_text_parent(table->relid, table->key));
		for (int i = 0; i < layout->ntablets; i++)
			shuttle_node_statements_add(distribution->statements, layout->tablets[i].serverid,
										shuttle_table_text_tablet(table->relid, &layout->tablets[i]));
	}
	shuttle_node_statements_run(distribution->statements);
}

/* Foreign keys come last: they need the keys of the other tables. */
static void
make_keys_on_nodes(Distribution *distribution)
{
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		Oid			relid = ((DistributedTable *) lfirst(cell))->relid;
		char	   *names = shuttle_tablet_text_name_indexes(relid, distribution->layout);

		add_texts(distribution, shuttle_table_text_indexes(relid));
		if (names != NULL)
			add_texts(distribution, list_make1(names));
	}
	foreach(cell, distribution->tables)
		add_texts(distribution, shuttle_table_text_foreign_keys(((DistributedTable *) lfirst(cell))->relid));
	shuttle_node_statements_run(distribution->statements);
}

/* Core allows no foreign key from or to a table with foreign partitions. */
static void
drop_foreign_keys(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(own_foreign_keys_query, relid))
	{
		ObjectAddress address;

		ObjectAddressSet(address, ConstraintRelationId, atooid(lfirst(cell)));
		performDeletion(&address, DROP_RESTRICT, 0);
	}
	CommandCounterIncrement();
}

void
shuttle_tablets_attach(Oid relid, const ShuttleLayout *layout)
{
	shuttle_surgery_hide_indexes(relid);
	for (int i = 0; i < layout->ntablets; i++)
		(void) shuttle_local_run(psprintf("ALTER TABLE %s ATTACH PARTITION %s %s",
										  shuttle_local_name(relid),
										  shuttle_tablet_qualified_name(relid, layout->tablets[i].number),
										  shuttle_tablet_text_bound(&layout->tablets[i])));
	shuttle_surgery_show_indexes(relid);
}

static void
make_partitioned(Distribution *distribution)
{
	ListCell   *cell;

	foreach(cell, distribution->relids)
		drop_foreign_keys(lfirst_oid(cell));
	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);

		shuttle_surgery_partition(table->relid, table->key_number);
		shuttle_tablets_attach(table->relid, distribution->layout);
		shuttle_table_note(table->relid, SHUTTLE_TABLE_DISTRIBUTED, distribution->layout);
		if (distribution->layout->traps)
			shuttle_traps_make(table->relid, distribution->layout, distribution->servers);
	}
}

/* Nodes analyze first, so that their statistics are copied here. */
static void
analyze(Distribution *distribution, Oid relid)
{
	StringInfoData text;

	shuttle_progress_show(relid, SHUTTLE_PROGRESS_ANALYZE);
	shuttle_node_statements_add_all(distribution->statements, distribution->servers,
									psprintf("ANALYZE %s", shuttle_local_name(relid)));
	shuttle_node_statements_run(distribution->statements);

	initStringInfo(&text);
	for (int i = 0; i < distribution->layout->ntablets; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "ANALYZE " : ", ",
						 shuttle_tablet_qualified_name(relid, distribution->layout->tablets[i].number));
	(void) shuttle_local_run(text.data);
}

/* Nothing is to be refused. */
static void
spread(Distribution *distribution)
{
	ListCell   *cell;

	distribution->statements = shuttle_node_definitions_create();
	choose_layout(distribution);
	shuttle_progress_start(SHUTTLE_PROGRESS_DISTRIBUTE);
	shuttle_progress_show(linitial_oid(distribution->relids), SHUTTLE_PROGRESS_TABLES);
	make_on_nodes(distribution);
	SHUTTLE_POINT("tables-on-nodes");
	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);
		uint64		nrows;

		shuttle_progress_show(table->relid, SHUTTLE_PROGRESS_ROWS);
		nrows = shuttle_load_tablets(table->relid, table->key, distribution->layout);
		if (nrows == 0)
			continue;
		table->has_rows = true;
		ereport(NOTICE,
				(errmsg_plural("%llu row of \"%s\" is on %d nodes",
							   "%llu rows of \"%s\" are on %d nodes", nrows,
							   (unsigned long long) nrows, get_rel_name(table->relid),
							   list_length(distribution->servers))));
	}
	SHUTTLE_POINT("rows-copied");
	shuttle_progress_show(llast_oid(distribution->relids), SHUTTLE_PROGRESS_KEYS);
	make_keys_on_nodes(distribution);
	make_partitioned(distribution);
	SHUTTLE_POINT("kind-changed");
	foreach(cell, distribution->tables)
	{
		if (((DistributedTable *) lfirst(cell))->has_rows)
			analyze(distribution, ((DistributedTable *) lfirst(cell))->relid);
	}
	shuttle_progress_end();
}

static void
distribute(Distribution *distribution)
{
	shuttle_refusal_raise(refuse(distribution));
	spread(distribution);
}

ShuttleRefusal *
shuttle_distribute_try(Oid relid, const char *key)
{
	Distribution *distribution = palloc0_object(Distribution);
	ShuttleRefusal *refusal;

	distribution->ntablets = shuttle_settings.tablets;
	add_table(distribution, relid, pstrdup(key));
	refusal = refuse(distribution);
	if (refusal == NULL)
		spread(distribution);
	return refusal;
}

/* shuttle.distribute_table(relation, key, tablets, colocate_with, nodes) */
Datum
shuttle_distribute_table(PG_FUNCTION_ARGS)
{
	Distribution distribution = {0};
	Oid			relid;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("table and key must not be null")));
	relid = PG_GETARG_OID(0);
	shuttle_lock_owned(relid);
	add_table(&distribution, relid, NameStr(*PG_GETARG_NAME(1)));
	take_options(&distribution, fcinfo, 2);
	distribute(&distribution);
	PG_RETURN_VOID();
}

/* shuttle.distribute_tables(keys, tablets, colocate_with, nodes) */
Datum
shuttle_distribute_tables(PG_FUNCTION_ARGS)
{
	Distribution distribution = {0};
	Datum	   *keys;
	bool	   *nulls;
	int			nkeys;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("keys must not be null")));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT,
					  &keys, &nulls, &nkeys);
	for (int i = 0; i < nkeys; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("keys must not be null")));
		add_key(&distribution, TextDatumGetCString(keys[i]));
	}
	take_options(&distribution, fcinfo, 1);
	if (nkeys > 0)
		distribute(&distribution);
	PG_RETURN_VOID();
}

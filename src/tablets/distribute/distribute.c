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
 * Of a partitioned table, all partitions are distributed so, and keep their places.
 *
 * An error or a cancel at any point rolls everything back, here and on nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
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
#include "base/shuttle_subtransaction.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/partitions.h"
#include "tablets/common/places.h"
#include "tablets/common/progress.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/constraints/constraints.h"
#include "tablets/distribute/distribute.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/needs/needs.h"
#include "tablets/needs/routines.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/rights/reach.h"
#include "tablets/shuttle_tablets.h"

/* One of the tables that are distributed together. */
typedef struct DistributedTable
{
	Oid			relid;
	char	   *key;
	AttrNumber	key_number;
	List	   *needed;			/* statements that make what it needs on nodes */
	List	   *tablets;		/* here, OIDs; made for the load */
	bool		has_rows;
	Oid			parent;			/* of a partition; or InvalidOid */
} DistributedTable;

typedef struct Distribution
{
	List	   *tables;			/* of DistributedTable */
	List	   *relids;
	List	   *partitioned;	/* tables whose partitions are among the
								 * tables */
	const char *partitions_key; /* the column that spreads these */
	Oid			siblings_of;	/* partitioned table of ours that gets a
								 * partition; or InvalidOid */
	int			ntablets;
	Oid			colocate_with;	/* or InvalidOid */
	List	   *nodes;			/* servers; NIL: all */
	Oid			placed_as;		/* a table whose placement rules count;
								 * InvalidOid: their own */
	ShuttleLayout *layout;		/* NULL: there are no tables yet */
	List	   *servers;		/* of the layout, each once */
	ShuttleNodeStatements *statements;
	List	   *node_keys;		/* foreign keys, OIDs: those that nodes check */
	List	   *other_keys;		/* and those that this server checks */
} Distribution;

static const char *const foreign_keys_query =
"SELECT oid::text FROM pg_constraint WHERE contype = 'f' AND $1 IN (conrelid, confrelid) AND conparentid = 0 ORDER BY conname, oid";

void		(*shuttle_distribute_done) (Oid relid) = NULL;

SHUTTLE_SQL_FUNCTION(shuttle_distribute_table);
SHUTTLE_SQL_FUNCTION(shuttle_distribute_tables);

static void
refuse_twice(const Distribution *distribution, Oid relid)
{
	if (list_member_oid(distribution->relids, relid) || list_member_oid(distribution->partitioned, relid))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("table \"%s\" is named twice", get_rel_name(relid))));
}

static void
add_single(Distribution *distribution, Oid relid, char *key, Oid parent)
{
	DistributedTable *table = palloc0_object(DistributedTable);

	refuse_twice(distribution, relid);
	table->relid = relid;
	table->key = key;
	table->parent = parent;
	distribution->tables = lappend(distribution->tables, table);
	distribution->relids = lappend_oid(distribution->relids, relid);
}

/* All partitions below a table, and itself. */
static void
add_partitions(Distribution *distribution, Oid relid, char *key)
{
	ListCell   *cell;

	if (distribution->partitioned != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute several partitioned tables at once"),
				 errhint("Distribute \"%s\" in a call of its own, with colocate_with.", get_rel_name(relid))));
	distribution->partitions_key = key;
	foreach(cell, shuttle_partitions_all(relid, AccessExclusiveLock))
	{
		Oid			member = lfirst_oid(cell);

		shuttle_table_lock_owned(member);
		refuse_twice(distribution, member);
		if (get_rel_relkind(member) == RELKIND_PARTITIONED_TABLE && shuttle_table_kind(member) == SHUTTLE_TABLE_OTHER)
			distribution->partitioned = lappend_oid(distribution->partitioned, member);
		else
			add_single(distribution, member, key, get_partition_parent(member, false));
	}
}

/* A partition that has stayed here is spread as the others are. */
static void
join_siblings(Distribution *distribution, Oid relid, const char *key)
{
	Oid			parent = shuttle_partitions_parent(relid);
	const char *parent_key;

	if (!OidIsValid(parent))
		return;
	if (OidIsValid(distribution->siblings_of) && distribution->siblings_of != parent)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute partitions of several tables at once"),
				 errhint("Distribute \"%s\" in a call of its own.", get_rel_name(relid))));
	parent_key = shuttle_partitions_key(parent);
	if (strcmp(key, parent_key) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions of table \"%s\" are distributed by column \"%s\"", get_rel_name(parent), parent_key)));
	distribution->siblings_of = parent;
}

static void
add_table(Distribution *distribution, Oid relid, char *key)
{
	join_siblings(distribution, relid, key);
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE && shuttle_table_kind(relid) == SHUTTLE_TABLE_OTHER)
		add_partitions(distribution, relid, key);
	else
		add_single(distribution, relid, key, distribution->siblings_of);
}

static void
lock_parent_of_owned(const RangeVar *name, Oid relid, Oid previous, void *arg)
{
	RangeVarCallbackOwnsRelation(name, relid, previous, arg);
	if (OidIsValid(relid) && relid != previous)
		shuttle_partitions_lock_owned(relid);
}

/* Splits table.column or schema.table.column. */
static void
add_key(Distribution *distribution, const char *text)
{
	List	   *names = shuttle_qualified_names(text);
	char	   *key = strVal(llast(names));
	Oid			relid;

	if (list_length(names) < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid key \"%s\"", text),
				 errhint("Write table.column or schema.table.column.")));
	names = list_delete_last(names);
	relid = RangeVarGetRelidExtended(makeRangeVarFromNameList(names), AccessExclusiveLock, 0,
									 lock_parent_of_owned, NULL);
	add_table(distribution, relid, key);
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
	{
		distribution->colocate_with = PG_GETARG_OID(first + 1);
		if (shuttle_table_kind(distribution->colocate_with) == SHUTTLE_TABLE_DISTRIBUTED)
			shuttle_layout_check_join(distribution->colocate_with);
	}
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
refuse_partitioned(const Distribution *distribution)
{
	ShuttleRefusal *refusal = NULL;
	ListCell   *cell;

	foreach(cell, distribution->partitioned)
	{
		Oid			relid = lfirst_oid(cell);
		Relation	rel = table_open(relid, NoLock);
		bool		is_part = rel->rd_rel->relispartition;

		if (is_part && !OidIsValid(distribution->siblings_of) && foreach_current_index(cell) == 0)
			refusal = shuttle_refusal(ERRCODE_WRONG_OBJECT_TYPE,
									  psprintf("cannot distribute partition \"%s\" alone", get_rel_name(relid)),
									  NULL, "Distribute the table that it is a partition of.");
		else
			refusal = shuttle_distribute_refuse_partitioned(rel, distribution->partitions_key);
		if (refusal == NULL)
			CheckTableNotInUse(rel, "distribute");
		table_close(rel, NoLock);
		if (refusal != NULL)
			break;
	}
	return refusal;
}

static ShuttleRefusal *
refuse_tables(Distribution *distribution)
{
	ShuttleRefusal *refusal = refuse_partitioned(distribution);
	ListCell   *cell;

	if (refusal == NULL && distribution->tables == NIL && distribution->nodes != NIL)
		refusal = shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
								  "cannot choose nodes for a partitioned table without partitions",
								  NULL, "Make a partition first, or leave the nodes out.");
	foreach(cell, refusal == NULL ? distribution->tables : NIL)
	{
		DistributedTable *table = lfirst(cell);
		Relation	rel = table_open(table->relid, NoLock);

		/* nobody else can have put rows into a table of this transaction */
		if (rel->rd_createSubid == InvalidSubTransactionId)
			shuttle_refusal_raise_if_snapshot_is_old();
		refusal = OidIsValid(table->parent) ? shuttle_distribute_refuse_partition(rel, table->key) :
			shuttle_distribute_refuse(rel, table->key);
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

/* True if rows that the key relates are on one node, which can do all that the key says. */
static bool
is_for_nodes(const Distribution *distribution, const ShuttleForeignKey *key)
{
	const DistributedTable *child = find_table(distribution, key->child);
	const DistributedTable *parent = find_table(distribution, key->parent);
	Relation	rel;
	bool		has_entries;

	if (child == NULL || (parent == NULL && shuttle_table_kind(key->parent) != SHUTTLE_TABLE_REFERENCE))
		return false;
	rel = table_open(key->child, NoLock);
	has_entries = shuttle_global_indexes_needed(rel, child->key_number);
	table_close(rel, NoLock);
	return shuttle_foreign_key_suits_nodes(key, child->key_number, parent == NULL ? InvalidAttrNumber : parent->key_number,
										   has_entries);
}

/* Divides the keys of the tables. A key's actions must not change rows on nodes that
 * another key needs to know of here. */
static void
divide_foreign_keys(Distribution *distribution)
{
	List	   *keys = NIL;
	bool		again = true;
	ListCell   *cell;
	ListCell   *inner;

	foreach(cell, distribution->relids)
	{
		foreach(inner, shuttle_local_texts(foreign_keys_query, lfirst_oid(cell)))
			keys = list_append_unique_oid(keys, atooid(lfirst(inner)));
	}
	while (again)
	{
		again = false;
		foreach(cell, keys)
		{
			ShuttleForeignKey *key = shuttle_foreign_key_load(lfirst_oid(cell));

			if (is_for_nodes(distribution, key) && !shuttle_foreign_key_acts_on(key, distribution->other_keys))
				continue;
			distribution->other_keys = lappend_oid(distribution->other_keys, key->oid);
			keys = foreach_delete_current(keys, cell);
			again = true;
		}
	}
	distribution->node_keys = keys;
}

/* The rules of the tables; those that differ are kept together. */
static ShuttlePlaces *
find_places(const Distribution *distribution)
{
	Oid			first = OidIsValid(distribution->placed_as) ? distribution->placed_as : linitial_oid(distribution->relids);
	ShuttlePlaces *places = shuttle_places_of_table(first);
	ListCell   *cell;

	foreach(cell, OidIsValid(distribution->placed_as) ? NIL : distribution->relids)
	{
		if (strcmp(shuttle_places_of_table(lfirst_oid(cell))->text, places->text) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("tables \"%s\" and \"%s\" have different placement rules", get_rel_name(first), get_rel_name(lfirst_oid(cell))),
					 errhint("Distribute them in calls of their own, or call shuttle.place() behind.")));
	}
	return places;
}

/* A layout for the type of keys that keeps the rules of the tables. */
static void
choose_nodes(Distribution *distribution, Oid type, Oid collation)
{
	ShuttlePlaces *places = find_places(distribution);
	Oid			relid = linitial_oid(distribution->relids);
	ListCell   *cell;

	foreach(cell, distribution->nodes)
		shuttle_places_check(places, relid, lfirst_oid(cell));
	if (OidIsValid(distribution->siblings_of))
		distribution->layout = shuttle_partitions_layout(distribution->siblings_of, places, type, collation);
	else if (OidIsValid(distribution->colocate_with))
		distribution->layout = shuttle_layout_colocated(distribution->colocate_with, type, collation);
	else
		distribution->layout = shuttle_layout_find(distribution->nodes != NIL || places->rules == NIL ? distribution->nodes :
												   shuttle_places_nodes(places),
												   distribution->ntablets, type, collation, places->text);
	for (int i = 0; i < distribution->layout->ntablets; i++)
		shuttle_places_check(places, relid, distribution->layout->tablets[i].serverid);
}

/* All tables are spread as the first one is. */
static void
choose_layout(Distribution *distribution)
{
	ListCell   *cell;
	Oid			type = InvalidOid;
	Oid			collation = InvalidOid;

	if (distribution->tables == NIL)
		return;
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
	choose_nodes(distribution, type, collation);
	for (int i = 0; i < distribution->layout->ntablets; i++)
		distribution->servers = list_append_unique_oid(distribution->servers,
													   distribution->layout->tablets[i].serverid);
}

static void
make_on_nodes(Distribution *distribution)
{
	const ShuttleLayout *layout = distribution->layout;
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);

		shuttle_node_statements_add_texts(distribution->statements, distribution->servers, table->needed);
		shuttle_node_statements_add_texts(distribution->statements, distribution->servers,
										  shuttle_node_owners_schema_texts(get_rel_namespace(table->relid)));
		shuttle_node_statements_add_texts(distribution->statements, distribution->servers, shuttle_table_text_parent(table->relid, table->key));
		for (int i = 0; i < layout->ntablets; i++)
			shuttle_node_statements_add(distribution->statements, layout->tablets[i].serverid,
										shuttle_table_text_tablet(table->relid, &layout->tablets[i],
																  shuttle_tablet_qualified_name(table->relid, layout->tablets[i].number)));
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
		const DistributedTable *table = lfirst(cell);
		Oid			relid = table->relid;
		char	   *names = shuttle_tablet_text_name_indexes(relid, distribution->layout);

		shuttle_node_statements_add_texts(distribution->statements, distribution->servers, shuttle_table_text_indexes(relid, table->key));
		shuttle_node_statements_add_texts(distribution->statements, distribution->servers, shuttle_table_text_unchecked(relid));
		if (names != NULL)
			shuttle_node_statements_add_all(distribution->statements, distribution->servers, names);
	}
	foreach(cell, distribution->node_keys)
		shuttle_node_statements_add_texts(distribution->statements, distribution->servers, shuttle_table_text_foreign_key(lfirst_oid(cell)));
	foreach(cell, distribution->tables)
		shuttle_node_statements_add_all(distribution->statements, distribution->servers,
										shuttle_tablet_text_name_keys(((DistributedTable *) lfirst(cell))->relid));
	shuttle_node_statements_run(distribution->statements);
}

void
shuttle_distribute_attach_tablets(Oid relid, const ShuttleLayout *layout, const List *tablets)
{
	shuttle_surgery_hide_indexes(relid);
	for (int i = 0; i < layout->ntablets; i++)
		shuttle_owner_attach(relid, shuttle_local_name(list_nth_oid(tablets, i)), &layout->tablets[i]);
	shuttle_surgery_show_indexes(relid);
	shuttle_foreign_key_follow(relid);
}

/* Core allows no foreign key from or to a table with foreign partitions. */
static void
make_partitioned(Distribution *distribution)
{
	List	   *kept = shuttle_foreign_key_kept_take(distribution->other_keys);
	ListCell   *cell;

	foreach(cell, distribution->node_keys)
		shuttle_foreign_key_drop(lfirst_oid(cell));
	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);

		shuttle_surgery_partition(table->relid, table->key_number);
		shuttle_distribute_attach_tablets(table->relid, distribution->layout, table->tablets);
		shuttle_layout_note_table(table->relid, SHUTTLE_TABLE_DISTRIBUTED, distribution->layout);
		shuttle_refusal_raise(shuttle_reach_refuse_tables(list_make1_oid(table->relid), distribution->servers));
		if (distribution->layout->traps)
			shuttle_routine_traps_make(table->relid, distribution->layout, distribution->servers);
	}

	/* tables of several schemas may have one name */
	foreach(cell, distribution->relids)
		shuttle_tablet_names_used(lfirst_oid(cell));
	shuttle_foreign_key_kept_give(kept, false);
}

/* Nodes analyze first, so that their statistics are copied here. */
static void
analyze(Distribution *distribution, const DistributedTable *table)
{
	shuttle_progress_show(table->relid, SHUTTLE_PROGRESS_ANALYZE);
	shuttle_node_statements_add_all(distribution->statements, distribution->servers,
									psprintf("ANALYZE %s", shuttle_local_name(table->relid)));
	shuttle_node_statements_run(distribution->statements);
	(void) shuttle_local_run(psprintf("ANALYZE %s", shuttle_local_names(table->tablets)));
}

static void
find_needed(Distribution *distribution)
{
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);

		table->needed = shuttle_needed_objects_texts(table->relid, distribution->servers);
	}
}

/* Later partitions are spread as the first ones are; if there are none, those of the table's group. */
static void
note_partitioned(const Distribution *distribution)
{
	int			group = 0;
	ListCell   *cell;

	if (distribution->layout != NULL)
		group = distribution->layout->group;
	else if (OidIsValid(distribution->colocate_with))
		group = shuttle_layout_group(distribution->colocate_with);
	foreach(cell, distribution->partitioned)
		shuttle_partitions_note(lfirst_oid(cell), distribution->partitions_key, group, distribution->ntablets);
}

static void
tell_of_rows(const Distribution *distribution, Oid relid, uint64 nrows)
{
	if (nrows > 0)
		ereport(NOTICE,
				(errmsg_plural("%llu row of \"%s\" is on %d nodes",
							   "%llu rows of \"%s\" are on %d nodes", nrows,
							   (unsigned long long) nrows, get_rel_name(relid),
							   list_length(distribution->servers))));
}

/* Those of partitions are told of together. */
static void
load_tables(Distribution *distribution)
{
	uint64		nrows_of_partitions = 0;
	ListCell   *cell;

	foreach(cell, distribution->tables)
	{
		DistributedTable *table = lfirst(cell);
		uint64		nrows;

		shuttle_progress_show(table->relid, SHUTTLE_PROGRESS_ROWS);
		nrows = shuttle_load_tablets(table->relid, table->key, distribution->layout, &table->tablets);
		table->has_rows = nrows > 0;
		if (list_member_oid(distribution->partitioned, table->parent))
			nrows_of_partitions += nrows;
		else
			tell_of_rows(distribution, table->relid, nrows);
	}
	if (distribution->partitioned != NIL)
		tell_of_rows(distribution, linitial_oid(distribution->partitioned), nrows_of_partitions);
}

/* Nothing is to be refused, and it is known where rows go and what nodes need. */
static void
spread(Distribution *distribution)
{
	ListCell   *cell;

	if (distribution->tables == NIL)
	{
		note_partitioned(distribution);
		return;
	}
	distribution->statements = shuttle_node_definitions_create();
	divide_foreign_keys(distribution);
	shuttle_progress_start(SHUTTLE_PROGRESS_DISTRIBUTE);
	shuttle_progress_show(linitial_oid(distribution->relids), SHUTTLE_PROGRESS_TABLES);
	make_on_nodes(distribution);
	SHUTTLE_POINT("tables-on-nodes");
	load_tables(distribution);
	SHUTTLE_POINT("rows-copied");
	shuttle_progress_show(llast_oid(distribution->relids), SHUTTLE_PROGRESS_KEYS);
	make_keys_on_nodes(distribution);
	make_partitioned(distribution);
	note_partitioned(distribution);
	SHUTTLE_POINT("kind-changed");
	foreach(cell, distribution->tables)
	{
		const DistributedTable *table = lfirst(cell);

		shuttle_row_checks_follow(table->relid);
		if (!list_member_oid(distribution->partitioned, table->parent))
			shuttle_publications_warn(table->relid);
		if (table->has_rows)
			analyze(distribution, table);
	}
	if (distribution->partitioned != NIL)
		shuttle_publications_warn(linitial_oid(distribution->partitioned));
	shuttle_progress_end();
	foreach(cell, distribution->relids)
		shuttle_distribute_done(lfirst_oid(cell));
}

static void
distribute(Distribution *distribution)
{
	shuttle_refusal_raise(refuse_tables(distribution));
	choose_layout(distribution);
	find_needed(distribution);
	spread(distribution);
}

static void
spread_in_subtransaction(void *distribution)
{
	spread(distribution);
}

/* What a node lacks is a reason to leave the table here. */
static ShuttleRefusal *
try_to_spread(Distribution *distribution)
{
	ErrorData  *error = shuttle_subtransaction_run(spread_in_subtransaction, distribution);
	ShuttleRefusal *refusal;

	if (error == NULL)
		return NULL;
	if (error->sqlerrcode != ERRCODE_UNDEFINED_OBJECT && error->sqlerrcode != ERRCODE_UNDEFINED_FUNCTION &&
		error->sqlerrcode != ERRCODE_DUPLICATE_OBJECT)
		ReThrowError(error);
	refusal = shuttle_refusal(error->sqlerrcode, error->message, error->detail, error->hint);
	refusal->for_all_keys = true;
	return refusal;
}

/* Savepoints on nodes are for tables that need something there. */
ShuttleRefusal *
shuttle_distribute_try(Oid relid, const char *key)
{
	Distribution *distribution = palloc0_object(Distribution);
	ShuttleRefusal *refusal;
	ListCell   *cell;

	distribution->ntablets = shuttle_settings.tablets;
	add_table(distribution, relid, pstrdup(key));
	refusal = refuse_tables(distribution);
	if (refusal != NULL)
		return refusal;
	choose_layout(distribution);
	find_needed(distribution);
	foreach(cell, distribution->tables)
	{
		if (((DistributedTable *) lfirst(cell))->needed != NIL)
			return try_to_spread(distribution);
	}
	spread(distribution);
	return NULL;
}

void
shuttle_distribute_over(Oid relid, const char *key, int ntablets, List *nodes, Oid placed_as)
{
	Distribution distribution = {
		.ntablets = ntablets,
		.nodes = nodes,
		.placed_as = placed_as,
	};

	add_table(&distribution, relid, pstrdup(key));
	distribute(&distribution);
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
	shuttle_partitions_lock_owned(relid);
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

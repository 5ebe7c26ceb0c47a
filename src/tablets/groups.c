/*-------------------------------------------------------------------------
 * groups.c
 *	  Groups of tables whose rows with equal keys are on one node, and the
 *	  nodes that new tables are spread over.
 *
 * A group is the number of its row in shuttle.groups; its layout is that of any
 * of its tables, in core's catalogs. Whoever moves tablets of a group locks its places, so
 * that no table joins it with the old ones.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/move/move.h"
#include "tablets/tablets_internal.h"

static const char *const group_query =
"SELECT group_id::text FROM shuttle.tables WHERE relation = $1 AND kind = 'distributed'";

static const char *const traps_query =
"SELECT 't' FROM shuttle.tables WHERE traps AND group_id = (SELECT group_id FROM shuttle.tables WHERE relation = $1) LIMIT 1";

/* one table of each group, that of the most tables first */
static const char *const members_query =
"SELECT min(relation::oid)::text FROM shuttle.tables"
" WHERE kind = 'distributed' AND $1 IS NOT NULL GROUP BY group_id ORDER BY count(*) DESC, group_id";

static const char *const nodes_query =
"SELECT s.oid::text FROM pg_foreign_server AS s, pg_options_to_table(s.srvoptions) AS o"
" WHERE o.option_name = 'shuttle_holds_tablets' AND o.option_value::bool AND $1 IS NOT NULL"
" ORDER BY s.srvname COLLATE \"C\"";

static List *known_nodes = NIL; /* in CacheMemoryContext */
static bool nodes_known = false;
static bool nodes_changed = false;	/* while they are read */

/* An object of the database that no relation has. */
static LOCKTAG
group_lock(int group)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, shuttle_extension_table(SHUTTLE_TABLE_TABLES), group, 0);
	return tag;
}

void
shuttle_group_lock_places(int group)
{
	LOCKTAG		tag = group_lock(group);

	(void) LockAcquire(&tag, ExclusiveLock, true, false);
	AcceptInvalidationMessages();
}

void
shuttle_group_unlock_places(int group)
{
	LOCKTAG		tag = group_lock(group);

	(void) LockRelease(&tag, ExclusiveLock, true);
}

/* Until the end of the transaction. The caller holds no lock on tables of the group, since
 * a move waits for them. */
static void
join_group(int group)
{
	LOCKTAG		tag = group_lock(group);

	(void) LockAcquire(&tag, ShareLock, false, false);
	AcceptInvalidationMessages();
}

int
shuttle_group_of(Oid relid)
{
	char	   *group = shuttle_local_text(group_query, relid);

	return group == NULL ? 0 : pg_strtoint32(group);
}

/* release: the lock to give back, or NoLock */
static ShuttleLayout *
read_layout(Oid relid, LOCKMODE release)
{
	ShuttleLayout *layout = palloc0_object(ShuttleLayout);
	int			group = shuttle_group_of(relid);
	Relation	rel;
	PartitionDesc partitions;

	if (group == 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not distributed", get_rel_name(relid))));
	layout->group = group;
	layout->traps = shuttle_local_text(traps_query, relid) != NULL;
	rel = table_open(relid, AccessShareLock);
	partitions = RelationGetPartitionDesc(rel, true);
	layout->ntablets = partitions->nparts;
	layout->tablets = palloc_array(ShuttleTablet, partitions->nparts);
	for (int i = 0; i < partitions->nparts; i++)
	{
		layout->tablets[i] = (ShuttleTablet)
		{
			.modulus = DatumGetInt32(partitions->boundinfo->datums[i][0]),
				.number = shuttle_tablet_number(partitions, i),
				.serverid = GetForeignServerIdByRelId(partitions->oids[i]),
		};
	}
	table_close(rel, release);
	return layout;
}

ShuttleLayout *
shuttle_layout_of(Oid relid)
{
	return read_layout(relid, NoLock);
}

ShuttleTablet *
shuttle_layout_tablet(const ShuttleLayout *layout, int number)
{
	for (int i = 0; i < layout->ntablets; i++)
	{
		if (layout->tablets[i].number == number)
			return &layout->tablets[i];
	}
	return NULL;
}

/* True if rows of both tables with equal keys have the same remainder. */
static bool
is_spread_alike(Oid relid, Oid type, Oid collation)
{
	Relation	rel = table_open(relid, AccessShareLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	bool		alike = key->parttypid[0] == type && key->partcollation[0] == collation;

	table_close(rel, AccessShareLock);
	return alike;
}

static void
forget_nodes(Datum arg, int cacheid, uint32 hash)
{
	nodes_known = false;
	nodes_changed = true;
}

static void
read_nodes(void)
{
	MemoryContext old_cxt;
	List	   *texts;
	ListCell   *cell;

	nodes_changed = false;
	texts = shuttle_local_texts(nodes_query, InvalidOid);
	list_free(known_nodes);
	known_nodes = NIL;
	old_cxt = MemoryContextSwitchTo(CacheMemoryContext);
	foreach(cell, texts)
		known_nodes = lappend_oid(known_nodes, atooid(lfirst(cell)));
	MemoryContextSwitchTo(old_cxt);
	nodes_known = !nodes_changed;
}

/* Each statement that changes a reference table asks, so the answer is cached. */
List *
shuttle_nodes_all(void)
{
	static bool is_registered = false;

	if (!is_registered)
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, forget_nodes, (Datum) 0);
	is_registered = true;
	if (!nodes_known)
		read_nodes();
	return list_copy(known_nodes);
}

List *
shuttle_nodes_needed(void)
{
	List	   *nodes = shuttle_nodes_all();

	if (nodes == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there are no storage nodes"),
				 errhint("Add one with shuttle.add_node() or shuttle.use_node().")));
	return nodes;
}

static ShuttleLayout *
new_layout(List *nodes, int ntablets)
{
	ShuttleLayout *layout = palloc0_object(ShuttleLayout);

	layout->ntablets = ntablets;
	layout->tablets = palloc_array(ShuttleTablet, ntablets);
	for (int i = 0; i < ntablets; i++)
		layout->tablets[i] = (ShuttleTablet)
	{
		.modulus = ntablets,
			.number = i,
			.serverid = list_nth_oid(nodes, i % list_length(nodes)),
	};
	return layout;
}

static bool
is_same_layout(const ShuttleLayout *a, const ShuttleLayout *b)
{
	return a->ntablets == b->ntablets &&
		memcmp(a->tablets, b->tablets, a->ntablets * sizeof(ShuttleTablet)) == 0;
}

/* True if both had as many tablets before any was split, on as many nodes. A group whose
 * tablets were moved is like one for all nodes if it uses as many. */
static bool
is_like_layout(const ShuttleLayout *a, const ShuttleLayout *b)
{
	List	   *nodes_a = NIL;
	List	   *nodes_b = NIL;

	if (a->tablets[0].modulus != b->tablets[0].modulus)
		return false;
	for (int i = 0; i < a->ntablets; i++)
		nodes_a = list_append_unique_oid(nodes_a, a->tablets[i].serverid);
	for (int i = 0; i < b->ntablets; i++)
		nodes_b = list_append_unique_oid(nodes_b, b->tablets[i].serverid);
	return list_length(nodes_a) == list_length(nodes_b);
}

/* The layout of a table whose rows are spread by such keys. NULL: they are not; or it is gone, or
 * local, since it was listed. */
static ShuttleLayout *
read_member(Oid relid, Oid type, Oid collation, LOCKMODE release)
{
	Relation	rel = try_table_open(relid, AccessShareLock);
	ShuttleLayout *layout = NULL;

	if (rel == NULL)
		return NULL;
	if (shuttle_group_of(relid) != 0 && is_spread_alike(relid, type, collation))
		layout = read_layout(relid, AccessShareLock);
	table_close(rel, release);
	return layout;
}

/* The layout of a group that fits the wanted one, which we join; NULL if there is none. */
static ShuttleLayout *
find_group(const ShuttleLayout *wanted, Oid type, Oid collation,
		   bool (*fits) (const ShuttleLayout *, const ShuttleLayout *))
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(members_query, InvalidOid))
	{
		Oid			member = atooid(lfirst(cell));
		ShuttleLayout *layout = read_member(member, type, collation, AccessShareLock);

		if (layout == NULL || !fits(layout, wanted))
			continue;

		/* its tablets may have moved before it let us in */
		join_group(layout->group);
		layout = read_member(member, type, collation, NoLock);
		if (layout != NULL && fits(layout, wanted))
			return layout;
	}
	return NULL;
}

ShuttleLayout *
shuttle_layout_find(List *nodes, int ntablets, Oid type, Oid collation)
{
	ShuttleLayout *wanted = new_layout(nodes == NIL ? shuttle_nodes_needed() : nodes, ntablets);
	ShuttleLayout *found = find_group(wanted, type, collation, is_same_layout);

	if (found == NULL && nodes == NIL)
		found = find_group(wanted, type, collation, is_like_layout);
	return found == NULL ? wanted : found;
}

ShuttleLayout *
shuttle_layout_colocated(Oid other, Oid type, Oid collation)
{
	int			group = shuttle_group_of(other);
	ShuttleLayout *layout;

	if (group != 0)
		join_group(group);
	layout = shuttle_layout_of(other);
	if (!is_spread_alike(other, type, collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("key of type %s cannot be colocated with table \"%s\"",
						format_type_be(type), get_rel_name(other)),
				 errdetail("Its key has another type or collation.")));
	return layout;
}

static int
make_group(void)
{
	static const char *const query =
		"SELECT max(id)::text FROM shuttle.groups WHERE $1 IS NOT NULL";

	(void) shuttle_local_run_as_superuser("INSERT INTO shuttle.groups DEFAULT VALUES");
	return pg_strtoint32(shuttle_local_text(query, InvalidOid));
}

void
shuttle_table_note(Oid relid, ShuttleTableKind kind, ShuttleLayout *layout)
{
	bool		distributed = kind == SHUTTLE_TABLE_DISTRIBUTED;

	if (distributed && layout->group == 0)
		layout->group = make_group();
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.tables VALUES (%u, '%s', %s)",
												   relid, distributed ? "distributed" : "reference",
												   distributed ? psprintf("%d", layout->group) : "NULL"));
	CacheInvalidateRelcacheByRelid(relid);
}

void
shuttle_table_forget(Oid relid)
{
	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.tables WHERE relation = %u::regclass",
												   relid));
}

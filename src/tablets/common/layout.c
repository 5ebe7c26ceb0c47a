/*-------------------------------------------------------------------------
 * layout.c
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
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/places.h"
#include "tablets/shuttle_tablets.h"

static const char *const group_query =
"SELECT group_id::text FROM shuttle.tables WHERE relation = $1 AND kind = 'distributed'";

static const char *const traps_query =
"SELECT 't' FROM shuttle.tables WHERE traps AND group_id = (SELECT group_id FROM shuttle.tables WHERE relation = $1) LIMIT 1";

/* one table of each group, that of the most tables first */
static const char *const members_query =
"SELECT min(relation::oid)::text FROM shuttle.tables"
" WHERE kind = 'distributed' AND $1 IS NOT NULL GROUP BY group_id ORDER BY count(*) DESC, group_id";

static const char *const group_members_query =
"SELECT relation::oid::text FROM shuttle.tables WHERE kind = 'distributed' AND group_id = %d AND $1 IS NOT NULL";

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

/* What others have changed before is seen then. */
static void
lock_group(int group, LOCKMODE mode, bool for_session)
{
	LOCKTAG		tag = group_lock(group);

	(void) LockAcquire(&tag, mode, for_session, false);
	AcceptInvalidationMessages();
}

static void
unlock_group(int group, bool for_session)
{
	LOCKTAG		tag = group_lock(group);

	(void) LockRelease(&tag, ExclusiveLock, for_session);
}

void
shuttle_layout_lock_places(int group)
{
	lock_group(group, ExclusiveLock, true);
}

void
shuttle_layout_unlock_places(int group)
{
	unlock_group(group, true);
}

void
shuttle_layout_join(int group)
{
	lock_group(group, ShareLock, false);
}

void
shuttle_layout_claim(int group)
{
	lock_group(group, ExclusiveLock, false);
}

void
shuttle_layout_unclaim(int group)
{
	unlock_group(group, false);
}

int
shuttle_layout_group(Oid relid)
{
	char	   *group = shuttle_local_text(group_query, relid);

	return group == NULL ? 0 : pg_strtoint32(group);
}

/* release: the lock to give back, or NoLock */
static ShuttleLayout *
read_layout(Oid relid, LOCKMODE release)
{
	ShuttleLayout *layout = palloc0_object(ShuttleLayout);
	int			group = shuttle_layout_group(relid);
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
shuttle_layout_nodes(void)
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
shuttle_layout_nodes_needed(void)
{
	List	   *nodes = shuttle_layout_nodes();

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
	if (shuttle_layout_group(relid) != 0 && is_spread_alike(relid, type, collation))
		layout = read_layout(relid, AccessShareLock);
	table_close(rel, release);
	return layout;
}

/* Tables of a group move together, so whoever adds one needs a right on another: that which a
 * foreign key would need. */
static bool
may_be_joined(Oid relid)
{
	return object_ownercheck(RelationRelationId, relid, GetUserId()) ||
		pg_class_aclcheck(relid, GetUserId(), ACL_REFERENCES) == ACLCHECK_OK;
}

static bool
may_join(int group)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf(group_members_query, group), InvalidOid))
	{
		if (may_be_joined(atooid(lfirst(cell))))
			return true;
	}
	return false;
}

void
shuttle_layout_check_join(Oid relid)
{
	if (!may_be_joined(relid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));
}

/* The layout of a group that fits the wanted one, which we join; NULL if there is none. */
static ShuttleLayout *
find_group(const ShuttleLayout *wanted, Oid type, Oid collation, const char *rules,
		   bool (*fits) (const ShuttleLayout *, const ShuttleLayout *))
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(members_query, InvalidOid))
	{
		Oid			member = atooid(lfirst(cell));
		ShuttleLayout *layout = read_member(member, type, collation, AccessShareLock);
		int			group;

		if (layout == NULL || !fits(layout, wanted) ||
			strcmp(shuttle_places_of_group(layout->group)->text, rules) != 0 || !may_join(layout->group))
			continue;

		/* its tablets may have moved before it let us in */
		group = layout->group;
		shuttle_layout_join(group);
		layout = read_member(member, type, collation, NoLock);
		if (layout != NULL && layout->group == group && fits(layout, wanted) &&
			strcmp(shuttle_places_of_group(group)->text, rules) == 0)
			return layout;
	}
	return NULL;
}

ShuttleLayout *
shuttle_layout_find(List *nodes, int ntablets, Oid type, Oid collation, const char *rules)
{
	ShuttleLayout *wanted = new_layout(nodes == NIL ? shuttle_layout_nodes_needed() : nodes, ntablets);
	ShuttleLayout *found = find_group(wanted, type, collation, rules, is_same_layout);

	if (found == NULL && nodes == NIL)
		found = find_group(wanted, type, collation, rules, is_like_layout);
	return found == NULL ? wanted : found;
}

ShuttleLayout *
shuttle_layout_colocated(Oid other, Oid type, Oid collation)
{
	int			group = shuttle_layout_group(other);
	ShuttleLayout *layout;

	/* the table may have left for another group before this one let us in */
	for (int joined = 0; group != joined; group = shuttle_layout_group(other))
	{
		joined = group;
		shuttle_layout_join(group);
	}
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
make_group(int origin)
{
	static const char *const query =
		"SELECT currval('shuttle.groups_id_seq')::text WHERE $1 IS NOT NULL";

	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.groups (origin) VALUES (NULLIF(%d, 0))", origin));
	return pg_strtoint32(shuttle_local_text(query, InvalidOid));
}

void
shuttle_layout_note_table(Oid relid, ShuttleTableKind kind, ShuttleLayout *layout)
{
	bool		distributed = kind == SHUTTLE_TABLE_DISTRIBUTED;
	ListCell   *cell;

	if (distributed && layout->group == 0)
		layout->group = make_group(layout->origin);
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.tables VALUES (%u, '%s', %s)",
												   relid, distributed ? "distributed" : "reference",
												   distributed ? psprintf("%d", layout->group) : "NULL"));
	CacheInvalidateRelcacheByRelid(relid);

	/* they became tablets now, and may have been asked for before */
	foreach(cell, find_inheritance_children(relid, NoLock))
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
}

void
shuttle_layout_forget_table(Oid relid)
{
	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.tables WHERE relation = %u::regclass",
												   relid));
}

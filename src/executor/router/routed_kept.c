/*-------------------------------------------------------------------------
 * routed_kept.c
 *	  What executions of one routed plan have in common, kept between them.
 *
 * A plan that is executed again, that of a prepared statement or of one whose literals differ,
 * would ask the catalogs the same again: how its table is spread, servers and names of
 * tablets, how values are printed and read. From its second execution on this is kept, by the
 * number that the plan got when it was made and that its copies share. A change of any
 * relation, type, function, schema, server or mapping makes all of it too old: that is looked
 * at when a statement starts, which has locked its tables by then.
 *
 * One execution at a time uses it. Another one of the same plan, as by two cursors, does
 * without.
 *
 * Memory: each plan's has a context of its own under CacheMemoryContext. What is too old, or
 * was not used for long, is freed when nobody uses it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "foreign/foreign.h"
#include "lib/ilist.h"
#include "nodes/nodeFuncs.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "executor/facts/parameters.h"
#include "executor/router/routed.h"
#include "executor/router/routed_kept.h"
#include "executor/shuttle_routed_text.h"
#include "storage/shuttle_node_session.h"
#include "tablets/shuttle_tablets.h"

#define MOST_KEPT 64
#define MOST_SEEN 256

struct ShuttleRoutedKept
{
	dlist_node	link;			/* the last used one is the first */
	uint64		plan_number;
	uint64		changes;		/* when it was begun */
	bool		is_used;
	MemoryContext cxt;
	MemoryContextCallback release;
	FmgrInfo	support;		/* hashes the key */
	Oid			collation;
	int			nindexes;
	int		   *indexes;		/* a partition for each remainder */
	ShuttleRoutedPlace *places; /* for each partition; sql is NULL: not known
								 * yet */
	ShuttleParameters *parameters;	/* NULL: there are none */
	ShuttleDecoder *decoder;	/* NULL: no rows come */
};

static dlist_head all_kept = DLIST_STATIC_INIT(all_kept);
static int	nkept = 0;
static uint64 seen[MOST_SEEN];	/* plans that were executed once; the place
								 * follows from the number */
static uint64 changes = 0;

static void
note_relation(Datum arg, Oid relid)
{
	changes++;
}

static void
note_change(Datum arg, int cacheid, uint32 hash)
{
	changes++;
}

static void
watch_changes(void)
{
	static bool watching = false;
	static const int caches[] = {FOREIGNTABLEREL, FOREIGNSERVEROID, USERMAPPINGOID, NAMESPACEOID, TYPEOID, PROCOID};

	if (watching)
		return;
	CacheRegisterRelcacheCallback(note_relation, (Datum) 0);
	for (int i = 0; i < lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], note_change, (Datum) 0);
	watching = true;
}

/* ---- making and freeing */

static void
drop(ShuttleRoutedKept *kept)
{
	dlist_delete(&kept->link);
	nkept--;
	MemoryContextDelete(kept->cxt);
}

static void
release(void *arg)
{
	((ShuttleRoutedKept *) arg)->is_used = false;
}

/* Frees the one that was used least recently, if none too many are in use. */
static void
make_room(void)
{
	dlist_iter	iter;

	if (nkept < MOST_KEPT)
		return;
	dlist_reverse_foreach(iter, &all_kept)
	{
		ShuttleRoutedKept *kept = dlist_container(ShuttleRoutedKept, link, iter.cur);

		if (kept->is_used)
			continue;
		drop(kept);
		return;
	}
}

/* How the table of the first key is spread. */
static void
read_spread(ShuttleRoutedKept *kept, const ShuttleRoutedPlan *plan)
{
	Oid			type = exprType(linitial(plan->keys));
	Relation	rel = table_open(linitial_oid(plan->relids), NoLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	PartitionBoundInfo bounds = parts->boundinfo;
	Oid			function = shuttle_table_hash_function(key, type);

	fmgr_info(OidIsValid(function) ? function : key->partsupfunc[0].fn_oid, &kept->support);
	kept->collation = key->partcollation[0];
	kept->nindexes = bounds->nindexes;
	kept->indexes = palloc_array(int, bounds->nindexes);
	memcpy(kept->indexes, bounds->indexes, sizeof(int) * bounds->nindexes);
	kept->places = palloc0_array(ShuttleRoutedPlace, parts->nparts);
	table_close(rel, NoLock);
}

static ShuttleRoutedKept *
make_kept(const ShuttleRoutedPlan *plan, TupleDesc desc)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle routed plan", ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleRoutedKept *kept = palloc0_object(ShuttleRoutedKept);

	kept->cxt = cxt;
	kept->plan_number = plan->number;
	kept->changes = changes;
	kept->release.func = release;
	kept->release.arg = kept;
	read_spread(kept, plan);
	kept->parameters = shuttle_parameters_describe(plan->values);
	if (desc->natts > 0 || plan->command == CMD_SELECT)
		kept->decoder = shuttle_routed_decoder(CreateTupleDescCopy(desc), cxt);
	MemoryContextSwitchTo(old_cxt);

	make_room();
	MemoryContextSetParent(cxt, CacheMemoryContext);
	dlist_push_head(&all_kept, &kept->link);
	nkept++;
	return kept;
}

/* ---- use */

static ShuttleRoutedKept *
find(uint64 plan_number)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all_kept)
	{
		ShuttleRoutedKept *kept = dlist_container(ShuttleRoutedKept, link, iter.cur);

		if (kept->plan_number == plan_number)
			return kept;
	}
	return NULL;
}

static bool
was_seen(uint64 plan_number)
{
	uint64	   *place = &seen[plan_number % MOST_SEEN];
	bool		was = *place == plan_number;

	*place = plan_number;
	return was;
}

ShuttleRoutedKept *
shuttle_routed_kept_use(const ShuttleRoutedPlan *plan, TupleDesc desc, MemoryContext user)
{
	ShuttleRoutedKept *kept;

	if (plan->tablet_sql == NIL || plan->keys == NIL)
		return NULL;
	watch_changes();
	kept = find(plan->number);
	if (kept != NULL && kept->is_used)
		return NULL;
	if (kept != NULL && kept->changes != changes)
	{
		drop(kept);
		kept = make_kept(plan, desc);
	}
	else if (kept != NULL)
		dlist_move_head(&all_kept, &kept->link);
	else if (was_seen(plan->number))
		kept = make_kept(plan, desc);
	else
		return NULL;
	kept->is_used = true;
	MemoryContextRegisterResetCallback(user, &kept->release);
	return kept;
}

static void
fill_place(ShuttleRoutedKept *kept, ShuttleRoutedPlace *place, const ShuttleRoutedPlan *plan)
{
	int			part = place - kept->places;
	Relation	rel = table_open(linitial_oid(plan->relids), NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);

	place->serverid = GetForeignServerIdByRelId(parts->oids[part]);
	place->tablet = shuttle_tablet_number(parts, part);
	table_close(rel, NoLock);
	place->sql = MemoryContextStrdup(kept->cxt, shuttle_routed_text(plan->tablet_sql, place->tablet));
}

ShuttleRoutedPlace *
shuttle_routed_kept_place(ShuttleRoutedKept *kept, const ShuttleRoutedPlan *plan, Datum value, bool is_null)
{
	uint64		hash = compute_partition_hash_value(1, &kept->support, &kept->collation, &value, &is_null);
	int			part = kept->indexes[hash % kept->nindexes];
	ShuttleRoutedPlace *place;

	if (part < 0)
		elog(ERROR, "table \"%s\" has no partition for a key", get_rel_name(linitial_oid(plan->relids)));
	place = &kept->places[part];
	if (place->sql == NULL)
		fill_place(kept, place, plan);
	return place;
}

ShuttleNode *
shuttle_routed_kept_node(ShuttleRoutedPlace *place, Oid userid)
{
	if (place->node != NULL && place->userid == userid)
		shuttle_connection_use(place->node, userid);
	else
	{
		place->node = shuttle_connection_get(place->serverid, userid);
		place->userid = userid;
	}
	return place->node;
}

ShuttleParameters *
shuttle_routed_kept_parameters(const ShuttleRoutedKept *kept)
{
	return kept->parameters;
}

ShuttleDecoder *
shuttle_routed_kept_decoder(const ShuttleRoutedKept *kept)
{
	return kept->decoder;
}

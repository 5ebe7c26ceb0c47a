/*-------------------------------------------------------------------------
 * keyed_routes.c
 *	  Which partition has the rows that a key finds.
 *
 * The planner has found a value for each column of the partition key, of the
 * column's type and compared by its operator, so core's functions find the
 * partition as for an inserted row. A key with a NULL finds nothing.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/router/routed.h"
#include "executor/write/keyed/keyed_write.h"

/* A partition. */
typedef struct KeyedPart
{
	ShuttleKeyedRoutes *below;	/* its own partitions; or NULL */
	int			table;			/* its index among the changed tables;
								 * negative: none */
} KeyedPart;

struct ShuttleKeyedRoutes
{
	PartitionKey key;
	PartitionBoundInfo bounds;
	int		   *places;			/* index of the value for each key column */
	KeyedPart  *parts;
};

/* Arguments of create_routes() for all levels. */
typedef struct RoutesContext
{
	EState	   *estate;
	List	   *routes;
	int			relation_offset;
	const Oid  *relids;
	int			ntables;
} RoutesContext;

static ShuttleKeyedRoutes *create_routes(const RoutesContext *context, List *route);

static KeyedPart
describe_part(const RoutesContext *context, Oid relid)
{
	KeyedPart	part = {.table = -1};
	ListCell   *cell;

	for (int i = 0; i < context->ntables; i++)
	{
		if (context->relids[i] == relid)
			part.table = i;
	}
	foreach(cell, context->routes)
	{
		Index		rtindex = linitial_int(linitial((List *) lfirst(cell))) + context->relation_offset;

		if (exec_rt_fetch(rtindex, context->estate)->relid == relid)
			part.below = create_routes(context, lfirst(cell));
	}
	return part;
}

/* Partitions attached after planning are not changed. */
static ShuttleKeyedRoutes *
create_routes(const RoutesContext *context, List *route)
{
	Index		rtindex = linitial_int(linitial(route)) + context->relation_offset;
	List	   *places = lsecond(route);
	ShuttleKeyedRoutes *routes = palloc0_object(ShuttleKeyedRoutes);
	Relation	rel = shuttle_changed_relation(context->estate, rtindex);
	PartitionDesc desc;
	ListCell   *cell;

	if (context->estate->es_partition_directory == NULL)
		context->estate->es_partition_directory =
			CreatePartitionDirectory(context->estate->es_query_cxt, false);
	desc = PartitionDirectoryLookup(context->estate->es_partition_directory, rel);
	routes->key = RelationGetPartitionKey(rel);
	routes->bounds = desc->boundinfo;
	routes->places = palloc_array(int, list_length(places));
	foreach(cell, places)
		routes->places[foreach_current_index(cell)] = lfirst_int(cell);
	routes->parts = palloc_array(KeyedPart, Max(desc->nparts, 1));
	for (int i = 0; i < desc->nparts; i++)
		routes->parts[i] = describe_part(context, desc->oids[i]);
	return routes;
}

ShuttleKeyedRoutes *
shuttle_keyed_routes_create(EState *estate, List *routes, int relation_offset,
							const Oid *relids, int ntables)
{
	RoutesContext context = {estate, routes, relation_offset, relids, ntables};

	return routes == NIL ? NULL : create_routes(&context, linitial(routes));
}

int
shuttle_keyed_routes_find(const ShuttleKeyedRoutes *routes,
						  const ShuttleKeyedValue *values)
{
	Datum		key[PARTITION_MAX_KEYS];
	bool		nulls[PARTITION_MAX_KEYS] = {0};

	while (routes != NULL)
	{
		int			part;

		for (int i = 0; i < routes->key->partnatts; i++)
		{
			const ShuttleKeyedValue *value = &values[routes->places[i]];

			if (value->is_null)
				return -1;
			key[i] = value->datum;
		}
		part = shuttle_partition_of(routes->key, routes->bounds, routes->key->partsupfunc,
									key, nulls);
		if (part < 0)
			return -1;
		if (routes->parts[part].below == NULL)
			return routes->parts[part].table;
		routes = routes->parts[part].below;
	}
	return -1;
}

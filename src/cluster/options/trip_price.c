/*-------------------------------------------------------------------------
 * trip_price.c
 *	  What a round trip to a server costs in plans, and why.
 *
 * A server's option decides, else the shortest round trip of the last minutes, else a
 * usual one. EXPLAIN shows the price that this session's planner used last: when it
 * prints, the plan has run, and a round trip may have been measured for the first time.
 *
 * Memory: a fixed number of prices for each session; two servers may share a place.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"

/* Narrow rows that can be fetched in a millisecond. */
#define ROWS_PER_MILLISECOND 1600

/* Assumed until a round trip has been measured: one data centre. */
#define USUAL_ROUND_TRIP_MS 0.5

#define PLACES 64

typedef struct UsedPrice
{
	Oid			serverid;		/* invalid: unused */
	ShuttleTripPrice price;
} UsedPrice;

static UsedPrice used_prices[PLACES];

Cost
shuttle_trip_price_of_millisecond(void)
{
	return (cpu_tuple_cost + SHUTTLE_USUAL_TUPLE_COST) * ROWS_PER_MILLISECOND;
}

ShuttleTripPrice
shuttle_trip_price(Oid serverid)
{
	double		ms = shuttle_round_trip_ms(serverid);
	ShuttleTripPrice price = {.source = SHUTTLE_TRIP_MEASURED,.ms = ms};

	if (ms < 0)
	{
		price.source = SHUTTLE_TRIP_ASSUMED;
		price.ms = USUAL_ROUND_TRIP_MS;
	}
	price.cost = shuttle_option_get_real(serverid, InvalidOid, "shuttle_round_trip_cost", -1);
	if (price.cost >= 0)
		price.source = SHUTTLE_TRIP_BY_OPTION;
	else
		price.cost = price.ms * shuttle_trip_price_of_millisecond();
	return price;
}

ShuttleTripPrice
shuttle_trip_price_use(Oid serverid)
{
	UsedPrice  *used = &used_prices[serverid % PLACES];

	used->serverid = serverid;
	used->price = shuttle_trip_price(serverid);
	return used->price;
}

ShuttleTripPrice
shuttle_trip_price_used(Oid serverid)
{
	const UsedPrice *used = &used_prices[serverid % PLACES];

	return used->serverid == serverid ? used->price : shuttle_trip_price(serverid);
}

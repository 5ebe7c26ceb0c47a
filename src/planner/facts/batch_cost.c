/*-------------------------------------------------------------------------
 * batch_cost.c
 *	  What a batched join costs, in the planner's units.
 *
 * A batched join pays for its keys, its rows and its hops.  The formula is in
 * docs/mechanisms.md, the measurements behind the constants here in
 * docs/measurements.md.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "base/shuttle_compat_paths.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/planning_memo.h"
#include "storage/shuttle_storage.h"

/* Cost of a key, in fetched rows. */
#define ROWS_PER_KEY 7

/*
 * Probability that a node has no index for the key, and so reads the whole
 * table for each request. No statistics tell. A column correlated with the
 * physical order is likely to be the primary key.
 */
#define LACKS_INDEX 0.05

/* postgres_fdw's default fdw_startup_cost. */
#define USUAL_STARTUP_COST 100.0

/* CPU time of a request on both servers, without its keys. */
#define REQUEST_MS 0.05

/* Copying an outer row and looking up its key's rows. */
#define LOOK_AHEAD_ROW_COST (4 * cpu_tuple_cost)

/* Stock postgres_fdw sends DECLARE, FETCH and CLOSE; if the request may fail,
 * also SAVEPOINT and RELEASE. */
#define GUEST_ROUND_TRIPS 3
#define GUEST_ROUND_TRIPS_GUARDED 5

/*
 * Overhead bytes of a row in pages of our scans; must match storage/request/request_pages.c.
 */
#define PAGE_ROW_OVERHEAD_BYTES 100

/* A cost option of postgres_fdw that the server may have. */
static double
postgres_fdw_cost(Oid serverid, const char *name, double otherwise)
{
	const char *text = shuttle_option_get_text(serverid, InvalidOid, name);

	return text == NULL ? otherwise : strtod(text, NULL);
}

static ShuttleServerCost
find_server_cost(Oid serverid)
{
	ShuttleServerCost cost;

	cost.guest = !shuttle_server_is_ours(serverid);
	cost.reach = postgres_fdw_cost(serverid, "fdw_startup_cost", USUAL_STARTUP_COST);
	cost.row = cpu_tuple_cost +
		postgres_fdw_cost(serverid, "fdw_tuple_cost", SHUTTLE_USUAL_TUPLE_COST);
	cost.postgres_fdw_row = cpu_tuple_cost +
		postgres_fdw_cost(serverid, "fdw_tuple_cost", SHUTTLE_POSTGRES_FDW_TUPLE_COST);
	cost.round_trip = shuttle_trip_price_use(serverid).cost;
	cost.request = REQUEST_MS * shuttle_trip_price_of_millisecond();
	cost.batch_size = shuttle_option_get_int(serverid, InvalidOid,
											 "shuttle_batch_size",
											 shuttle_settings.batch_size);
	cost.request_limit = shuttle_option_get_int(serverid, InvalidOid,
												"shuttle_request_limit",
												shuttle_settings.request_limit);
	cost.in_flight = shuttle_option_get_int(serverid, InvalidOid,
											"shuttle_batches_in_flight",
											shuttle_settings.batches_in_flight);
	if (cost.batch_size == 1)
		cost.in_flight = 1;
	return cost;
}

ShuttleServerCost
shuttle_batch_cost_of_server(PlannerInfo *root, Oid serverid)
{
	List	   *key = list_make1_oid(serverid);
	ShuttleServerCost *cost = shuttle_planning_memo_find(root, NULL, key);

	if (cost == NULL)
	{
		cost = MemoryContextAlloc(root->planner_cxt, sizeof(ShuttleServerCost));
		*cost = find_server_cost(serverid);
		shuttle_planning_memo_add(root, NULL, key, cost);
	}
	return *cost;
}

bool
shuttle_batch_cost_prefers_places(Oid serverid, int nparts, double nasked)
{
	ShuttleServerCost server = find_server_cost(serverid);

	return server.round_trip < (nparts - nasked) * (server.request + ROWS_PER_KEY * server.row + random_page_cost);
}

/* Pages that a node reads for a key, by core's formula for repeated index
 * scans: the more keys, the more of their pages are cached. */
static double
pages_of_key(PlannerInfo *root, const RelOptInfo *table, double rows, double nkeys)
{
	return index_pages_fetched(rows * nkeys, Max(table->pages, 1), 0, root) / nkeys;
}

void
shuttle_batch_cost_of_key(PlannerInfo *root, RelOptInfo *inner,
						  const ShuttleServerCost *server, double rows, double nkeys,
						  Cost *startup, Cost *total)
{
	double		read = 1;
	double		pages;

	/*
	 * rows that filters remove are read as well, unless there is one row
	 * anyway
	 */
	if (rows > 1)
		read = rows * Max(inner->tuples, 1) / Max(inner->rows, 1);
	pages = pages_of_key(root, inner, read, Max(nkeys, 1));
	*startup = ROWS_PER_KEY * server->row + pages * random_page_cost;
	*total = *startup + rows * server->row;
}

void
shuttle_batch_cost_of_groups_key(PlannerInfo *root, const Path *path, const List *tables,
								 const ShuttleServerCost *server, double rows, double nkeys,
								 Cost *startup, Cost *total)
{
	ListCell   *lc;

	*startup = ROWS_PER_KEY * server->row;
	foreach(lc, tables)
		* startup += rows * (cpu_tuple_cost + cpu_operator_cost) + random_page_cost *
		pages_of_key(root, lfirst(lc), rows, Max(nkeys, 1));
	*total = *startup + path->rows * server->row;
}

Cost
shuttle_batch_cost_of_doubt(const RelOptInfo *inner, const ShuttleKeyEstimate *estimate)
{
	double		batch_rows = Min(estimate->outer_rows, estimate->server.batch_size);

	if (estimate->by_ordered_column)
		return 0;
	return LACKS_INDEX * (inner->pages * seq_page_cost + inner->tuples * cpu_tuple_cost) /
		batch_rows;
}

/*
 * Batches that send something. Batches whose keys are all cached send nothing:
 * we count as many batches as hold all distinct keys, and one more, since those
 * keys do not all come first.
 */
static double
count_asked_batches(const ShuttleKeyEstimate *estimate, double rows, double batch_rows,
					double nbatches)
{
	if (!estimate->answers_kept)
		return nbatches;
	return Min(nbatches, ceil(rows * estimate->keys_per_row / batch_rows) + 1);
}

/* Batches that can be in flight within work_mem and shuttle.fetch_ahead. */
static double
find_in_flight(const ShuttleKeyEstimate *estimate, const Path *outer, double batch_rows)
{
	double		outer_bytes = outer->pathtarget->width + 2 * SHUTTLE_ROW_OVERHEAD_BYTES;
	double		answer_bytes = estimate->rows_per_row *
		(estimate->inner_width + SHUTTLE_ROW_OVERHEAD_BYTES);
	double		kilobytes = 1024.0 / batch_rows;
	double		by_outer = work_mem * kilobytes / outer_bytes;
	double		by_answers = Max(work_mem, shuttle_settings.fetch_ahead_kb) *
		kilobytes / Max(answer_bytes, 1);

	return Max(1, Min(estimate->server.in_flight, floor(Min(by_outer, by_answers))));
}

/*
 * Over our wrapper, requests are pipelined up to the limit in flight. The first
 * answer costs no more than that of any scan, since all scans start together;
 * unless the outer rows must come from a node first, or the join is itself
 * rescanned for each row of a join above.
 */
static void
cost_engine_batches(const ShuttleKeyEstimate *estimate, const Path *outer,
					double batch_rows, double nbatches, double nasked,
					Cost *startup, Cost *total)
{
	double		waits = ceil(nbatches / find_in_flight(estimate, outer, batch_rows)) - 1;
	bool		first = estimate->outer_waits || PATH_REQ_OUTER(outer) != NULL;

	*startup = estimate->server.request;
	if (first)
		*startup += estimate->server.round_trip;
	*total = *startup + waits * estimate->server.round_trip +
		(nasked * estimate->nscans - 1) * estimate->server.request;
}

/* Over stock postgres_fdw, requests and pages go one after the other. */
static void
cost_guest_batches(const ShuttleKeyEstimate *estimate, double rows, double nasked,
				   Cost *startup, Cost *total)
{
	const ShuttleServerCost *server = &estimate->server;
	double		nkeys = rows * estimate->keys_per_row;
	double		nrequests = estimate->nscans *
		ceil(nkeys / nasked / server->request_limit);
	double		npages = floor(rows * estimate->rows_per_row / nasked /
							   (shuttle_settings.fetch_limit + 1));
	int			trips = estimate->may_fail ? GUEST_ROUND_TRIPS_GUARDED : GUEST_ROUND_TRIPS;
	double		ntrips = nrequests * trips + npages;

	*startup = trips * server->round_trip + server->request;
	*total = Max(*startup, nasked * (ntrips * server->round_trip +
									 nrequests * server->request));
}

/* The costs above assume the default fdw_startup_cost; a larger setting is
 * added once for each scan. */
static Cost
cost_of_reaching(const ShuttleKeyEstimate *estimate)
{
	return estimate->nscans * Max(0, estimate->server.reach - USUAL_STARTUP_COST);
}

void
shuttle_batches_cost(const ShuttleKeyEstimate *estimate, const Path *outer,
					 Cost *startup, Cost *total)
{
	double		rows = Max(outer->rows, 1);
	double		batch_rows = Min(rows, estimate->server.batch_size);
	double		nbatches = ceil(rows / batch_rows);
	double		nasked = count_asked_batches(estimate, rows, batch_rows, nbatches);

	if (estimate->server.guest)
		cost_guest_batches(estimate, rows, nasked, startup, total);
	else
		cost_engine_batches(estimate, outer, batch_rows, nbatches, nasked, startup,
							total);
	*total += rows * LOOK_AHEAD_ROW_COST + cost_of_reaching(estimate);
	*startup += cost_of_reaching(estimate);
}

/*
 * Hops of a large scan over our wrapper. Half of shuttle.fetch_ahead, shared by
 * all partitions, is requested before anybody reads; after that always as much
 * as shuttle.fetch_ahead allows is in flight. What is read in the meantime
 * hides part of each hop.
 */
static Cost
cost_of_windows(const ShuttleServerCost *server, const Path *path, int nsiblings)
{
	double		row_bytes = path->pathtarget->width + PAGE_ROW_OVERHEAD_BYTES;
	double		window_rows = shuttle_settings.fetch_ahead_kb * 1024.0 / row_bytes;
	double		early_rows = window_rows / 2 / nsiblings;

	if (path->rows <= early_rows)
		return 0;
	return Max(0, server->round_trip - early_rows * server->row) +
		floor((path->rows - early_rows) / window_rows) *
		Max(0, server->round_trip - window_rows * server->row);
}

void
shuttle_batch_cost_reprice_scan(const ShuttleServerCost *server, Path *path, double page_rows,
								int nsiblings)
{
	double		npages = floor(path->rows / page_rows) + 1;

	path->total_cost += path->rows * (server->row - server->postgres_fdw_row);
	if (!server->guest)
	{
		path->total_cost += cost_of_windows(server, path, nsiblings);
		return;
	}

	/* DECLARE and the first page; then the other pages and CLOSE */
	path->startup_cost += 2 * server->round_trip;
	path->total_cost += (2 + npages) * server->round_trip;
}

"""The demo on a running cluster: makes the tables, measures the points, checks the claims."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgshuttle import claims, points, results, servers, sweep, tables, trips
from pgshuttle.errors import ToolError
from pgshuttle.points import Case, Contender, Outer, Point, PointResult
from pgshuttle.results import Results
from pgshuttle.state import Cluster
from pgshuttle.sweep import Bench, Effort, OnProgress

HEADLINE = Effort("headline", nruns=3, point_s=1.0, sample_s=1.0, rounds_s=20.0)


@dataclass(frozen=True)
class Listener:
    """Who wants to hear how far the demo is."""

    on_step: Callable[[str], None]
    on_progress: OnProgress
    on_headline: Callable[[Sequence[PointResult]], None]


def read_complaints(cluster: Cluster) -> list[str]:
    found = [cluster.query, *(node.server for node in cluster.nodes)]
    return [line for server in found for line in servers.read_complaints(server)]


def run_headline(bench: Bench, listener: Listener) -> None:
    listener.on_step("the headline")
    headline = points.list_headline_points()
    listener.on_headline(sweep.run_rounds(bench, headline, HEADLINE, listener.on_progress))


def measure_trips(
    bench: Bench, world: trips.World, effort: Effort, listener: Listener
) -> trips.TripsResult:
    listener.on_step("the trips: cities and countries")
    bench.set_rtt(0)
    trips.make_trips_tables(bench.cluster, world)
    return trips.run_trips(bench, world, effort)


def run_demo(cluster: Cluster, effort: Effort, listener: Listener) -> Results:
    """Runs the whole demo on a cluster of at least two storage nodes."""
    if len(cluster.nodes) < 2:
        raise ToolError("the demo needs two storage nodes")
    start_s = time.monotonic()
    world = trips.make_world()
    with sweep.open_bench(cluster) as bench:
        bench.set_rtt(0)
        listener.on_step("filling the tables")
        tables.make_tables(cluster)
        bench.warm(tables.list_warm_up_queries([tables.STOCK_SCHEMA, tables.ENGINE_SCHEMA]))
        run_headline(bench, listener)
        listener.on_step(f"the sweep: {points.BATCH_SIZES} outer rows a batch")
        measured = points.list_join_points() + points.list_case_points()
        point_results = sweep.run_rounds(bench, measured, effort, listener.on_progress)
        point = Point(Case.ONE_ROW, Contender.ENGINE, Outer.NONE, claims.NEAR_RTT_US)
        one_row_round_trips = sweep.count_one_row_round_trips(bench, point)
        trips_result = measure_trips(bench, world, effort, listener)
    return Results(
        **results.describe_run(cluster, start_s),
        effort=effort.name,
        nruns=effort.nruns,
        points=tuple(point_results),
        one_row_round_trips=one_row_round_trips,
        complaints=tuple(read_complaints(cluster)),
        trips=trips_result,
        claims=tuple(claims.check_claims(point_results, one_row_round_trips)),
    )

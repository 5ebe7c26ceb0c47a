"""The demo on a running cluster: makes the tables, measures all parts, checks the claims."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.table import Table

from pgshuttle.base.errors import ToolError
from pgshuttle.bench import results
from pgshuttle.cluster import servers
from pgshuttle.cluster.state import Cluster
from pgshuttle.demo import (
    claims,
    join_points,
    join_rounds,
    join_tables,
    prefetch,
    procedures,
    push_downs,
    real_data,
    spreading,
)
from pgshuttle.demo import report as demo_report
from pgshuttle.demo.claims import Claim
from pgshuttle.demo.join_points import Case, Contender, Outer, Point, PointResult
from pgshuttle.demo.join_rounds import Bench, Effort, OnProgress
from pgshuttle.demo.results import Parts, Results

NNODES = 4  # the last one joins in the last part
# In servers' logs: new orders that TPC-C wants to be rolled back, with what was under way on nodes
# for them; a move that tries again to get its locks, and the rest of the packet in which it tried.
EXPECTED = (
    "no_data_found",
    "canceling statement due to user request",
    "canceling statement due to lock timeout",
    "current transaction is aborted, commands ignored",
)
HEADLINE = Effort("headline", nruns=3, point_s=1.0, rounds_s=15.0)


@dataclass(frozen=True)
class Listener:
    """Who wants to hear how far the demo is, and what it has found."""

    on_step: Callable[[str], None]
    on_progress: OnProgress
    on_table: Callable[[Table], None]


@dataclass(frozen=True)
class Joined:
    """What the first part found out."""

    points: Sequence[PointResult]
    one_row_round_trips: int
    trips: real_data.TripsResult


def read_complaints(cluster: Cluster) -> list[str]:
    """What servers complain of, but for what the demo asks for."""
    asked = [cluster.query, *(node.server for node in cluster.nodes)]
    found = [line for server in asked for line in servers.read_complaints(server)]
    return [line for line in found if not any(f"ERROR:  {text}" in line for text in EXPECTED)]


def run_headline(bench: Bench, listener: Listener) -> list[PointResult]:
    listener.on_step("the headline")
    headline = join_points.list_headline_points()
    found = join_rounds.run_rounds(bench, headline, HEADLINE, listener.on_progress)
    listener.on_table(demo_report.make_headline_table(found))
    return found


def measure_trips(
    bench: Bench, world: real_data.World, effort: Effort, listener: Listener
) -> real_data.TripsResult:
    listener.on_step("the trips: cities and countries")
    bench.set_rtt(0)
    real_data.make_trips_tables(bench.cluster, world)
    return real_data.run_trips(bench, world, effort)


def run_join(
    cluster: Cluster, world: real_data.World, effort: Effort, listener: Listener
) -> Joined:
    """Joins two servers, over all batch sizes, request limits and delays."""
    with join_rounds.open_bench(cluster) as bench:
        bench.set_rtt(0)
        listener.on_step("filling the tables")
        join_tables.make_tables(cluster)
        bench.warm(
            join_tables.list_warm_up_queries([join_tables.STOCK_SCHEMA, join_tables.ENGINE_SCHEMA])
        )
        known = run_headline(bench, listener)
        if effort.thorough:
            known = []
        listener.on_step(f"the sweep: {join_points.BATCH_SIZES} outer rows a batch")
        listed = (
            join_points.list_join_points(thorough=effort.thorough) + join_points.list_case_points()
        )
        left = [point for point in listed if all(one.point != point for one in known)]
        found = known + join_rounds.run_rounds(bench, left, effort, listener.on_progress)
        point = Point(Case.ONE_ROW, Contender.ENGINE, Outer.NONE, claims.NEAR_RTT_US)
        one_row_round_trips = join_rounds.count_one_row_round_trips(bench, point)
        return Joined(found, one_row_round_trips, measure_trips(bench, world, effort, listener))


def run_parts(cluster: Cluster, without_last: Cluster, listener: Listener) -> Parts:
    """Runs what is behind the join, and shows each part as it ends.

    without_last: the cluster without the node that joins in the last part.
    """
    on_step, on_table = listener.on_step, listener.on_table
    pushed = push_downs.run(without_last, on_step)
    on_table(push_downs.make_table(pushed))
    called = procedures.run(without_last, procedures.LOAD, on_step)
    on_table(procedures.make_table(called))
    prefetched = prefetch.run(without_last, prefetch.Sizes(), on_step)
    on_table(prefetch.make_table(prefetched))
    spread = spreading.run(cluster, spreading.Sizes(), on_step)
    on_table(spreading.make_table(spread))
    return Parts(pushed, called, prefetched, spread)


def list_tables(parts: Parts) -> list[Table]:
    return [
        push_downs.make_table(parts.push_downs),
        procedures.make_table(parts.procedures),
        prefetch.make_table(parts.prefetch),
        spreading.make_table(parts.spreading),
    ]


def check_parts(parts: Parts) -> Iterator[Claim]:
    yield from push_downs.check_claims(parts.push_downs)
    yield from procedures.check_claims(parts.procedures)
    yield from prefetch.check_claims(parts.prefetch)
    yield from spreading.check_claims(parts.spreading)


def run_demo(cluster: Cluster, effort: Effort, listener: Listener) -> Results:
    """Runs the whole demo on a cluster of NNODES storage nodes."""
    if len(cluster.nodes) != NNODES:
        raise ToolError(f"the demo needs {NNODES} storage nodes")
    start_s = time.monotonic()
    world = real_data.make_world()
    spreading.leave_last_node(cluster)
    without_last = replace(cluster, nodes=cluster.nodes[:-1])
    joined = run_join(without_last, world, effort, listener)
    parts = run_parts(cluster, without_last, listener)
    of_join = claims.check_claims(joined.points, joined.one_row_round_trips)
    return Results(
        **results.describe_run(cluster, start_s),
        effort=effort.name,
        nruns=effort.nruns,
        points=tuple(joined.points),
        one_row_round_trips=joined.one_row_round_trips,
        complaints=tuple(read_complaints(cluster)),
        trips=joined.trips,
        parts=parts,
        claims=(*of_join, *check_parts(parts)),
    )

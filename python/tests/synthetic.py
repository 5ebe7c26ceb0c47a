"""Made-up results, as a perfect machine would give them."""

from dataclasses import replace
from typing import Any

from pgshuttle.bench import measure
from pgshuttle.bench.results import Machine
from pgshuttle.bench.tpcc.report import CallTrips, WayRun
from pgshuttle.bench.tpcc.tables import Way
from pgshuttle.demo import (
    all_parts,
    claims,
    join_points,
    join_tables,
    prefetch,
    procedures,
    push_downs,
    spreading,
    writers,
)
from pgshuttle.demo.join_points import Case, Contender, Outer, Planner, Point, PointResult
from pgshuttle.demo.prefetch import Prefetch
from pgshuttle.demo.procedures import Procedures
from pgshuttle.demo.push_downs import Case as Asked
from pgshuttle.demo.push_downs import PushDowns
from pgshuttle.demo.real_data import TripsResult, TripsRun
from pgshuttle.demo.results import Parts, Results
from pgshuttle.demo.spreading import Spreading
from pgshuttle.look.plan_facts import PlanFacts

LONGEST_S = 20.0  # points that would take longer are sampled
# what a run tells of itself
RUN: dict[str, Any] = {
    "made_at": "2024-01-01T00:00:00+00:00",
    "elapsed_s": 100.0,
    "machine": Machine("a processor", 2, 8192, "Linux"),
    "server": {"version": "PostgreSQL 18", "configure_options": "--with-everything" * 9},
    "settings": {"jit": "on"},
}


def make_node(kind: str, *below: dict[str, Any], **more: object) -> dict[str, Any]:
    """A node as EXPLAIN tells of it; relation_name stands for "Relation Name"."""
    facts = {name.replace("_", " ").title(): value for name, value in more.items()}
    return {"Node Type": kind, "Plans": list(below), **facts}


def make_facts(join: str) -> PlanFacts:
    return PlanFacts(
        shape=join,
        joins=(join,),
        has_foreign_inner=True,
        batches=2,
        inner_requests=2,
        requests=3,
        planning_ms=0.3,
    )


def find_time_ms(point: Point) -> float:
    """What a point takes: its hops, and something for each request."""
    rtt_ms = point.rtt_us / 1000
    hops = 2 if point.outer is Outer.FOREIGN else 1
    match point.contender:
        case Contender.ENGINE if point.case is Case.ONE_ROW:
            return rtt_ms + 0.3
        case Contender.STOCK_LOOKUPS:
            return 6000 * (rtt_ms + 0.07)
        case Contender.STOCK_BEST if point.case is Case.ONE_ROW:
            return 5 * rtt_ms + 0.7
        case Contender.STOCK_BEST:
            return 50 * rtt_ms + 5
        case Contender.STOCK_HASH | Contender.STOCK_HASH_LARGE_PAGES:
            return 600.0
        case Contender.BY_HAND:
            return hops * rtt_ms + 2
        case Contender.GUEST:
            return 8 * rtt_ms + 5
        case Contender.ENGINE:
            batch_size = point.batch_size or 1024
            if batch_size == 1 and point.case is Case.JOIN:
                return 2000 * (rtt_ms + 0.2)
            return hops * rtt_ms + 4 + 300 / batch_size


def find_requests(point: Point) -> int | None:
    """The read requests of a point's inner side, if it is one of the sweep."""
    if point.batch_size is None or point.request_limit is None:
        return None
    return claims.count_requests(join_tables.NROWS, point.batch_size, point.request_limit)


def make_result(point: Point, factor: float = 1.0) -> PointResult:
    """A result of three runs that differ by one percent."""
    time_ms = factor * find_time_ms(point)
    sampled = join_points.find_sample_rows(point, 1.0, LONGEST_S) is not None
    join = "batched join" if point.contender is Contender.ENGINE else "hash join"
    return PointResult(
        point=point,
        outer_rows=10 if sampled else 2000,
        is_sampled=sampled,
        timing=measure.summarize([0.99 * time_ms, time_ms, 1.01 * time_ms]),
        half_timing=None,
        estimated_ms=time_ms,
        round_trips=2 if point.outer is Outer.FOREIGN else 1,
        facts=replace(make_facts(join), inner_requests=find_requests(point)),
    )


def make_push_downs() -> PushDowns:
    return PushDowns(
        push_downs.RTT_US,
        tuple(
            push_downs.Statement(
                case=str(case),
                read_requests={Asked.JOIN: 2, Asked.ANTI_JOIN: 1}.get(case, 0),
                flush_requests=int(case is not Asked.JOIN),
                is_sorted_here=False,
                ours_ms=4.5,
                stock_ms=3100.0 if case is Asked.UPDATE else 60.0,
                ndifferent=0,
            )
            for case in Asked
        ),
    )


def make_procedures() -> Procedures:
    load = procedures.LOAD
    trips = {Way.OURS: (6, 5), Way.CALLS: (2, 2), Way.STOCK: (17, 151)}
    calls = tuple(
        CallTrips(case, str(way), ntrips, 1.3 * ntrips)
        for way in load.ways
        for case, ntrips in zip(load.cases, trips[way], strict=True)
    )
    clients = WayRun(str(Way.CALLS), 12_000.0, 27_000.0, None, (), 9, {}, (), 0.05)
    return Procedures(load, calls, clients)


def make_prefetch(part_left_cached: float = 0.0) -> Prefetch:
    def take(off_ms: float, part: float, npages: int) -> prefetch.Times:
        return prefetch.Times(off_ms, part * off_ms, npages, same_answer=True)

    is_cold = part_left_cached == 0
    joins = tuple(
        prefetch.Joined(n, take(300.0 * n, 0.3, 4000) if is_cold else None, take(20.0 * n, 1.0, 0))
        for n in range(1, 5)
    )
    return Prefetch(prefetch.Sizes(), part_left_cached, joins)


def make_spreading(lost: int = 0) -> Spreading:
    def stage(name: str, nodes: int, took_s: float | None) -> spreading.Stage:
        tablets = {f"node{n}": 12 // nodes for n in range(1, nodes + 1)} if nodes else {}
        return spreading.Stage(name, tablets, took_s, 20.0)

    stages = (
        stage("local tables", 0, None),
        stage("spread over 3 nodes by one call", 3, 0.6),
        stage("one node added, 3 tablets moved", 4, 3.0),
        stage("local again by one call", 0, 0.5),
    )
    buckets = tuple(
        writers.Bucket(0.1 * n, 60, 300.0 if n in (35, 45, 55) else 6.0) for n in range(80)
    )
    writing = spreading.Writing(buckets, 2.0, 6.0, 3, 4800, 5.0, 300.0, {}, lost, 0, 0)
    return Spreading(spreading.RTT_US, spreading.Sizes(), stages, writing, 0)


def make_parts() -> Parts:
    return Parts(make_push_downs(), make_procedures(), make_prefetch(), make_spreading())


def make_results(factor: float = 1.0) -> Results:
    """Results of a whole demo. factor: how much longer the engine takes than it should."""
    all_points = join_points.list_join_points() + join_points.list_case_points()
    found = [
        make_result(point, factor if point.contender is Contender.ENGINE else 1.0)
        for point in all_points
    ]
    facts = make_facts("batched join")
    run = TripsRun("batched join", measure.summarize([25.0]), 2, 2, 19_000, facts)
    trips = TripsResult(
        rtt_us=10_000,
        ntrips=300,
        ncities=34_000,
        ncountries=252,
        runs=(run,),
        same_rows=True,
        first_rows=(("1", "15", "2003", "Keizer", "United States"),),
    )
    parts = make_parts()
    return Results(
        **RUN | {"server": {"version": "PostgreSQL 18", "extension": "1.0"}},
        effort="quick",
        nruns=3,
        points=tuple(found),
        one_row_round_trips=1,
        complaints=(),
        trips=trips,
        parts=parts,
        claims=(*claims.check_claims(found, 1), *all_parts.check_parts(parts)),
    )


def engine_join(rtt_us: int, batch_size: int = 1024) -> Point:
    return Point(
        Case.JOIN, Contender.ENGINE, Outer.FOREIGN, rtt_us, Planner.FORCED, batch_size, 1024
    )

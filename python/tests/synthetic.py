"""Made-up results, as a perfect machine would give them."""

from dataclasses import replace
from typing import Any

from pgshuttle import claims, measure, points, tables
from pgshuttle.explain import PlanFacts
from pgshuttle.points import Case, Contender, Outer, Planner, Point, PointResult
from pgshuttle.results import Machine, Results
from pgshuttle.trips import TripsResult, TripsRun

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
    return claims.count_requests(tables.NROWS, point.batch_size, point.request_limit)


def make_result(point: Point, factor: float = 1.0) -> PointResult:
    """A result of three runs that differ by one percent."""
    time_ms = factor * find_time_ms(point)
    sampled = points.find_sample_rows(point, 1.0) is not None
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


def make_results(factor: float = 1.0) -> Results:
    """Results of a whole demo. factor: how much longer the engine takes than it should."""
    all_points = points.list_join_points() + points.list_case_points()
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
    return Results(
        **RUN | {"server": {"version": "PostgreSQL 18", "extension": "1.0"}},
        effort="quick",
        nruns=3,
        points=tuple(found),
        one_row_round_trips=1,
        complaints=(),
        trips=trips,
        claims=tuple(claims.check_claims(found, 1)),
    )


def engine_join(rtt_us: int, batch_size: int = 1024) -> Point:
    return Point(
        Case.JOIN, Contender.ENGINE, Outer.FOREIGN, rtt_us, Planner.FORCED, batch_size, 1024
    )

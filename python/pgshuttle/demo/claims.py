"""The project's claims about its speed, checked against what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pgshuttle.demo.join_points import (
    BATCH_SIZES,
    DEFAULT_LIMIT,
    REQUEST_LIMITS,
    RTTS_US,
    Case,
    Contender,
    Outer,
    Planner,
    Point,
    PointResult,
)
from pgshuttle.demo.join_tables import NROWS

DEPENDENT_HOPS = {Outer.FOREIGN: 2, Outer.LOCAL: 1}
CLAIMED_BATCH_SIZES = tuple(size for size in BATCH_SIZES if size >= 128)
OUTERS = (Outer.FOREIGN, Outer.LOCAL)
NEAR_RTT_US = 800
FAR_RTT_US = 90_000

Measured = Mapping[Point, PointResult]


@dataclass(frozen=True)
class Claim:
    """One claim: the measured value must not be over the bound. None: not measured.

    family: claims that differ in detail only, such as the batch size.
    """

    family: str
    detail: str
    unit: str
    measured: float | None
    bound: float | None
    ok: bool | None
    note: str = ""

    @property
    def part(self) -> float | None:
        """The measured value as a part of the bound; None: not measured."""
        if self.measured is None or self.bound is None:
            return None
        if self.bound == 0:
            return float("inf") if self.measured > 0 else 0.0
        return self.measured / self.bound


def find_ms(measured: Measured, point: Point) -> float | None:
    return measured[point].estimated_ms if point in measured else None


def engine_point(outer: Outer, rtt_us: int, planner: Planner, batch_size: int) -> Point:
    """The 2000-row join on our engine with the default request limit."""
    return Point(Case.JOIN, Contender.ENGINE, outer, rtt_us, planner, batch_size, DEFAULT_LIMIT)


def check(
    name: str, unit: str, measured: float | None, bound: float | None, note: str = ""
) -> Claim:
    """Makes a claim of a measured value and its bound. name: family; detail."""
    family, _, detail = name.partition("; ")
    if measured is None or bound is None:
        return Claim(family, detail, unit, measured, bound, None, note)
    bound = round(bound, 4)
    return Claim(family, detail, unit, measured, bound, measured <= bound, note)


def scale(factor: float, value_ms: float | None) -> float | None:
    return None if value_ms is None else factor * value_ms


def name_plan(result: PointResult | None) -> str:
    return ", ".join(result.facts.joins) if result and result.facts else ""


def check_time(name: str, measured: Measured, point: Point, bound: float | None) -> Claim:
    """Makes a claim of the time of a point; its note is how it was joined."""
    return check(name, "ms", find_ms(measured, point), bound, name_plan(measured.get(point)))


def check_hops(measured: Measured) -> Iterator[Claim]:
    """A join costs its dependent hops: 1.15 of them, 1.2 of its time at RTT 0, and 2 ms."""
    rtts_us = [rtt_us for rtt_us in RTTS_US if rtt_us > 0]
    for planner, outer, rtt_us, size in product(Planner, OUTERS, rtts_us, CLAIMED_BATCH_SIZES):
        without_delay_ms = find_ms(measured, engine_point(outer, 0, planner, size))
        bound = None
        if without_delay_ms is not None:
            bound = 1.15 * DEPENDENT_HOPS[outer] * rtt_us / 1000 + 1.2 * without_delay_ms + 2
        where = f"{outer} outer, RTT {rtt_us / 1000:g} ms, planner {planner}; batch {size}"
        point = engine_point(outer, rtt_us, planner, size)
        yield check_time(f"hops, {where}", measured, point, bound)


def check_round_trips(measured: Measured) -> Iterator[Claim]:
    """The proxies count as many round trips as there are dependent hops.

    Where round trips are long, that is: over a fast wire one batch is answered
    before the next is sent.
    """
    for outer, size in product(OUTERS, CLAIMED_BATCH_SIZES):
        result = measured.get(engine_point(outer, FAR_RTT_US, Planner.FORCED, size))
        yield check(
            f"round trips waited for, RTT 90 ms, {outer} outer; batch {size}",
            "round trips",
            result.round_trips if result else None,
            DEPENDENT_HOPS[outer],
        )


def count_requests(outer_rows: int, batch_size: int, request_limit: int) -> int:
    """Says how many requests batches take; the last batch may be smaller."""
    batches = [min(batch_size, outer_rows - row) for row in range(0, outer_rows, batch_size)]
    return sum(-(-size // request_limit) for size in batches)


def check_requests(measured: Measured) -> Iterator[Claim]:
    """Read requests are the batches, each split by the request limit, and no more."""
    for outer, size, limit in product(OUTERS, BATCH_SIZES, REQUEST_LIMITS):
        point = Point(Case.JOIN, Contender.ENGINE, outer, 0, Planner.FORCED, size, limit)
        result = measured.get(point)
        yield check(
            f"read requests = batches x ceil(batch / request limit), {outer} outer; "
            f"batch {size}, limit {limit}",
            "requests",
            result.facts.inner_requests if result and result.facts else None,
            count_requests(NROWS, size, limit),
        )


def check_without_delay(measured: Measured) -> Iterator[Claim]:
    """What the join may cost when the wire costs nothing."""
    for outer in OUTERS:
        time_ms = find_ms(measured, engine_point(outer, 0, Planner.FORCED, 1024))
        by_hand = Point(Case.JOIN, Contender.BY_HAND, outer, 0, request_limit=DEFAULT_LIMIT)
        stock = Point(Case.JOIN, Contender.STOCK_LOOKUPS, outer, 0, Planner.FORCED)
        for name, factor, point in (
            ("1.1 x batch 128", 1.1, engine_point(outer, 0, Planner.FORCED, 128)),
            ("2.5 x by hand", 2.5, by_hand),
            ("1/20 of postgres_fdw's nested loop", 0.05, stock),
        ):
            bound = scale(factor, find_ms(measured, point))
            yield check(f"{name}, RTT 0, batch 1024; {outer} outer", "ms", time_ms, bound)


def check_big(measured: Measured) -> Iterator[Claim]:
    """1000 keys into a table of 1 000 000 rows, against postgres_fdw's best hash join."""
    stock = (Contender.STOCK_HASH, Contender.STOCK_HASH_LARGE_PAGES)
    points = [Point(Case.BIG, who, Outer.LOCAL, 0, Planner.FORCED) for who in stock]
    times_ms = [find_ms(measured, point) for point in points]
    bound = scale(0.05, min((time for time in times_ms if time is not None), default=None))
    for planner in Planner:
        point = Point(Case.BIG, Contender.ENGINE, Outer.LOCAL, 0, planner, 1024, DEFAULT_LIMIT)
        name = f"1/20 of postgres_fdw's hash join, 1000 keys in 1000000 rows; planner {planner}"
        yield check_time(name, measured, point, bound)


def check_guest(measured: Measured) -> Iterator[Claim]:
    """Over servers of stock postgres_fdw the join is at least 50 times as fast as its own."""
    for outer, planner in product(OUTERS, Planner):
        stock = Point(Case.JOIN, Contender.STOCK_LOOKUPS, outer, NEAR_RTT_US, Planner.FORCED)
        ours = Point(Case.JOIN, Contender.GUEST, outer, NEAR_RTT_US, planner, 1024, DEFAULT_LIMIT)
        where = f"RTT 0.8 ms; {outer} outer, planner {planner}"
        name = f"guest, 1/50 of postgres_fdw's nested loop, {where}"
        yield check_time(name, measured, ours, scale(0.02, find_ms(measured, stock)))


def check_one_row(measured: Measured, round_trips: int | None) -> Iterator[Claim]:
    """A read by primary key is one round trip and takes half of postgres_fdw's time."""

    def read(contender: Contender, rtt_us: int) -> float | None:
        return find_ms(measured, Point(Case.ONE_ROW, contender, Outer.NONE, rtt_us))

    half_ms = scale(0.5, read(Contender.STOCK_BEST, NEAR_RTT_US))
    near_ms, far_ms = (read(Contender.ENGINE, rtt_us) for rtt_us in (NEAR_RTT_US, FAR_RTT_US))
    yield check("one row; round trips in the proxy", "round trips", round_trips, 1)
    yield check("one row; 1/2 of postgres_fdw, RTT 0.8 ms", "ms", near_ms, half_ms)
    bound_ms = 1.15 * FAR_RTT_US / 1000
    yield check("one row; 1.15 round trips, RTT 90 ms", "ms", far_ms, bound_ms)


def check_claims(results: Sequence[PointResult], one_row_round_trips: int | None) -> list[Claim]:
    measured = {result.point: result for result in results}
    return [
        *check_hops(measured),
        *check_round_trips(measured),
        *check_requests(measured),
        *check_without_delay(measured),
        *check_big(measured),
        *check_guest(measured),
        *check_one_row(measured, one_row_round_trips),
    ]

"""The project's claims about its speed, checked against what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from pgshuttle.planning import PlanningCost
from pgshuttle.points import (
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
from pgshuttle.tables import NROWS

DEPENDENT_HOPS = {Outer.FOREIGN: 2, Outer.LOCAL: 1}
CLAIMED_BATCH_SIZES = tuple(size for size in BATCH_SIZES if size >= 128)
OUTERS = (Outer.FOREIGN, Outer.LOCAL)
NEAR_RTT_US = 800
FAR_RTT_US = 90_000


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


class Measured:
    """Looks points up in what was measured."""

    def __init__(self, results: Sequence[PointResult]) -> None:
        self._results = {result.point: result for result in results}

    def find(self, point: Point) -> PointResult | None:
        """Returns the result of a point, or None if it wasn't measured."""
        return self._results.get(point)

    def find_ms(self, point: Point) -> float | None:
        """Returns the time of a point, or None if it wasn't measured."""
        result = self.find(point)
        return None if result is None else result.estimated_ms


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
    """Multiplies a value that may be missing."""
    return None if value_ms is None else factor * value_ms


def name_plan(result: PointResult | None) -> str:
    """Says which join a point was executed with."""
    return ", ".join(result.facts.joins) if result and result.facts else ""


def check_hops(measured: Measured) -> list[Claim]:
    """A join costs its dependent hops: 1.15 of them, 1.2 of its time at RTT 0, and 2 ms."""
    claims = []
    for planner in Planner:
        for outer in OUTERS:
            for rtt_us in (rtt_us for rtt_us in RTTS_US if rtt_us > 0):
                for size in CLAIMED_BATCH_SIZES:
                    point = engine_point(outer, rtt_us, planner, size)
                    without_delay_ms = measured.find_ms(engine_point(outer, 0, planner, size))
                    hops_ms = DEPENDENT_HOPS[outer] * rtt_us / 1000
                    bound = None
                    if without_delay_ms is not None:
                        bound = 1.15 * hops_ms + 1.2 * without_delay_ms + 2
                    claims.append(
                        check(
                            f"hops, {outer} outer, RTT {rtt_us / 1000:g} ms, planner {planner}; "
                            f"batch {size}",
                            "ms",
                            measured.find_ms(point),
                            bound,
                            name_plan(measured.find(point)),
                        )
                    )
    return claims


def check_round_trips(measured: Measured) -> list[Claim]:
    """The proxies count as many round trips as there are dependent hops.

    Where round trips are long, that is: over a fast wire one batch is answered
    before the next is sent.
    """
    claims = []
    for outer in OUTERS:
        for size in CLAIMED_BATCH_SIZES:
            result = measured.find(engine_point(outer, FAR_RTT_US, Planner.FORCED, size))
            claims.append(
                check(
                    f"round trips waited for, RTT 90 ms, {outer} outer; batch {size}",
                    "round trips",
                    None if result is None else result.round_trips,
                    DEPENDENT_HOPS[outer],
                )
            )
    return claims


def count_requests(outer_rows: int, batch_size: int, request_limit: int) -> int:
    """Says how many requests batches take; the last batch may be smaller."""
    batches = [min(batch_size, outer_rows - row) for row in range(0, outer_rows, batch_size)]
    return sum(-(-size // request_limit) for size in batches)


def check_requests(measured: Measured) -> list[Claim]:
    """Read requests are the batches, each split by the request limit, and no more."""
    claims = []
    for outer in OUTERS:
        for size in BATCH_SIZES:
            for limit in REQUEST_LIMITS:
                point = Point(Case.JOIN, Contender.ENGINE, outer, 0, Planner.FORCED, size, limit)
                result = measured.find(point)
                requests = result.facts.inner_requests if result and result.facts else None
                claims.append(
                    check(
                        f"read requests = batches x ceil(batch / request limit), {outer} outer; "
                        f"batch {size}, limit {limit}",
                        "requests",
                        requests,
                        count_requests(NROWS, size, limit),
                    )
                )
    return claims


def check_planning(costs: Sequence[PlanningCost]) -> list[Claim]:
    """Queries without foreign tables are planned as before, but for two percent."""
    return [
        check(
            f"instructions added to planning without foreign tables; {cost.name}",
            "%",
            round(100 * cost.increase, 3),
            2.0,
        )
        for cost in costs
    ]


def check_without_delay(measured: Measured) -> list[Claim]:
    """What the join may cost when the wire costs nothing."""
    claims = []
    for outer in OUTERS:
        time_ms = measured.find_ms(engine_point(outer, 0, Planner.FORCED, 1024))
        smaller_ms = measured.find_ms(engine_point(outer, 0, Planner.FORCED, 128))
        by_hand_ms = measured.find_ms(
            Point(Case.JOIN, Contender.BY_HAND, outer, 0, request_limit=DEFAULT_LIMIT)
        )
        stock_ms = measured.find_ms(
            Point(Case.JOIN, Contender.STOCK_LOOKUPS, outer, 0, Planner.FORCED)
        )
        where = f"RTT 0, batch 1024; {outer} outer"
        claims += [
            check(f"1.1 x batch 128, {where}", "ms", time_ms, scale(1.1, smaller_ms)),
            check(f"2.5 x by hand, {where}", "ms", time_ms, scale(2.5, by_hand_ms)),
            check(
                f"1/20 of postgres_fdw's nested loop, {where}", "ms", time_ms, scale(0.05, stock_ms)
            ),
        ]
    return claims


def check_big(measured: Measured) -> list[Claim]:
    """1000 keys into a table of 1 000 000 rows, against postgres_fdw's best hash join."""
    hash_times_ms = [
        time_ms
        for contender in (Contender.STOCK_HASH, Contender.STOCK_HASH_LARGE_PAGES)
        if (time_ms := measured.find_ms(
            Point(Case.BIG, contender, Outer.LOCAL, 0, Planner.FORCED)
        )) is not None
    ]  # fmt: skip
    bound = scale(0.05, min(hash_times_ms, default=None))
    claims = []
    for planner in Planner:
        point = Point(Case.BIG, Contender.ENGINE, Outer.LOCAL, 0, planner, 1024, DEFAULT_LIMIT)
        claims.append(
            check(
                f"1/20 of postgres_fdw's hash join, 1000 keys in 1000000 rows; planner {planner}",
                "ms",
                measured.find_ms(point),
                bound,
                name_plan(measured.find(point)),
            )
        )
    return claims


def check_guest(measured: Measured) -> list[Claim]:
    """Over servers of stock postgres_fdw the join is at least 50 times as fast as its own."""
    claims = []
    for outer in OUTERS:
        stock = Point(Case.JOIN, Contender.STOCK_LOOKUPS, outer, NEAR_RTT_US, Planner.FORCED)
        for planner in Planner:
            point = Point(
                Case.JOIN, Contender.GUEST, outer, NEAR_RTT_US, planner, 1024, DEFAULT_LIMIT
            )
            claims.append(
                check(
                    f"guest, 1/50 of postgres_fdw's nested loop, RTT 0.8 ms; {outer} outer, "
                    f"planner {planner}",
                    "ms",
                    measured.find_ms(point),
                    scale(0.02, measured.find_ms(stock)),
                    name_plan(measured.find(point)),
                )
            )
    return claims


def check_one_row(measured: Measured, round_trips: int | None) -> list[Claim]:
    """A read by primary key is one round trip and takes half of postgres_fdw's time."""

    def read(contender: Contender, rtt_us: int) -> float | None:
        return measured.find_ms(Point(Case.ONE_ROW, contender, Outer.NONE, rtt_us))

    return [
        check("one row; round trips in the proxy", "round trips", round_trips, 1),
        check(
            "one row; 1/2 of postgres_fdw, RTT 0.8 ms",
            "ms",
            read(Contender.ENGINE, NEAR_RTT_US),
            scale(0.5, read(Contender.STOCK_BEST, NEAR_RTT_US)),
        ),
        check(
            "one row; 1.15 round trips, RTT 90 ms",
            "ms",
            read(Contender.ENGINE, FAR_RTT_US),
            1.15 * FAR_RTT_US / 1000,
        ),
    ]


def check_claims(
    results: Sequence[PointResult],
    one_row_round_trips: int | None,
    planning: Sequence[PlanningCost] = (),
) -> list[Claim]:
    """Checks every claim that was measured."""
    measured = Measured(results)
    return [
        *check_hops(measured),
        *check_round_trips(measured),
        *check_requests(measured),
        *check_without_delay(measured),
        *check_big(measured),
        *check_guest(measured),
        *check_one_row(measured, one_row_round_trips),
        *check_planning(planning),
    ]

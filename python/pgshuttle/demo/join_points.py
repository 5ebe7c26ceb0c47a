"""What the bench measures: one point is one query under one set of settings and one delay."""

from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from pgshuttle.bench.measure import Timing
from pgshuttle.demo import join_tables
from pgshuttle.look.plan_facts import PlanFacts

BATCH_SIZES = (1, 10, 100, 128, 500, 1024, 2000)
REQUEST_LIMITS = (100, 1024, 2000)
RTTS_US = (0, 800, 90_000)
DEFAULT_LIMIT = 1024
# what a round trip costs where the wire costs nothing; for that estimate alone
LOCAL_ROUND_TRIP_S = 0.0003
# START or CLOSE, DECLARE and FETCH
STOCK_ROUND_TRIPS_PER_ROW = 3


class Case(StrEnum):
    JOIN = "join"
    BIG = "1000 keys into 1000000 rows"
    ONE_ROW = "one row by primary key"


FULL_ROWS = {
    Case.JOIN: join_tables.NROWS,
    Case.BIG: join_tables.NKEYS_BIG,
    Case.ONE_ROW: 1,
}  # outer ones


class Contender(StrEnum):
    ENGINE = "engine"
    GUEST = "guest"
    STOCK_LOOKUPS = "postgres_fdw nested loop"
    STOCK_BEST = "postgres_fdw best plan"
    STOCK_HASH = "postgres_fdw hash join"
    STOCK_HASH_LARGE_PAGES = "postgres_fdw hash join, fetch_size 10000"
    BY_HAND = "array query by hand"


class Outer(StrEnum):
    """Where the outer side of the join lies."""

    FOREIGN = "foreign"
    LOCAL = "local"
    NONE = "none"


class Planner(StrEnum):
    """Whether the planner's other ways to join were closed to it."""

    DEFAULT = "default"
    FORCED = "forced"


@dataclass(frozen=True)
class Point:
    case: Case
    contender: Contender
    outer: Outer
    rtt_us: int
    planner: Planner = Planner.DEFAULT
    batch_size: int | None = None
    request_limit: int | None = None


@dataclass(frozen=True)
class PointResult:
    """What was measured. Where it was sampled, outer_rows is less than the case has.

    estimated_ms: the median; for a sample, what all outer rows would take,
    from the slope between the sample and its half.
    round_trips: those that were waited for; for a sample, its own.
    """

    point: Point
    outer_rows: int
    is_sampled: bool
    timing: Timing
    half_timing: Timing | None
    estimated_ms: float
    round_trips: float | None
    facts: PlanFacts | None


def find_settings(point: Point) -> dict[str, str]:
    stock = {"shuttle.enable_batched_join": "off"}
    only_nested_loops = {"enable_hashjoin": "off", "enable_mergejoin": "off"}
    match point.contender:
        case Contender.STOCK_LOOKUPS:
            # the local side is not to be looked up instead
            scans = ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan")
            lookups = dict.fromkeys(("enable_material", *scans), "off")
            return stock | only_nested_loops | lookups
        case Contender.STOCK_BEST:
            return stock
        case Contender.STOCK_HASH | Contender.STOCK_HASH_LARGE_PAGES:
            return stock | {"enable_nestloop": "off", "enable_mergejoin": "off"}
        case Contender.BY_HAND:
            return {}
    settings = {}
    if point.batch_size is not None:
        settings["shuttle.batch_size"] = str(point.batch_size)
    if point.request_limit is not None:
        settings["shuttle.request_limit"] = str(point.request_limit)
        if point.request_limit > DEFAULT_LIMIT:
            # else an answer to so many keys would come in pages, each a request
            settings["shuttle.fetch_limit"] = str(point.request_limit)
    if point.planner is Planner.FORCED:
        settings |= only_nested_loops | {"shuttle.debug_force_batched_join": "on"}
    return settings


def find_tables(point: Point) -> tuple[sql.Identifier, sql.Identifier]:
    engine = point.contender is Contender.ENGINE
    schema = join_tables.ENGINE_SCHEMA if engine else join_tables.STOCK_SCHEMA
    if point.case is Case.BIG:
        large_pages = point.contender is Contender.STOCK_HASH_LARGE_PAGES
        big = "big_large_pages" if large_pages else "big"
        return sql.Identifier(join_tables.LOCAL_SCHEMA, "keys"), sql.Identifier(schema, big)
    if point.outer is Outer.LOCAL:
        outer = sql.Identifier(join_tables.LOCAL_SCHEMA, "demo")
    else:
        outer = sql.Identifier(schema, "demo1")
    looks_up = point.contender is Contender.STOCK_LOOKUPS
    return outer, sql.Identifier(schema, "demo2_lookup" if looks_up else "demo2")


def find_sample_rows(point: Point, sample_s: float, longest_s: float) -> int | None:
    """Returns how many outer rows a point is measured with, if not with all.

    sample_s: how long one execution of the sample may take, more or less. longest_s: how long
    one of all rows may.
    """
    round_trips = {
        Contender.STOCK_LOOKUPS: STOCK_ROUND_TRIPS_PER_ROW,
        Contender.ENGINE: 1 if point.batch_size == 1 else 0,
        Contender.GUEST: STOCK_ROUND_TRIPS_PER_ROW if point.batch_size == 1 else 0,
    }.get(point.contender, 0)
    seconds_per_row = round_trips * (point.rtt_us / 1e6 + LOCAL_ROUND_TRIP_S)
    if point.case is not Case.JOIN or seconds_per_row * join_tables.NROWS <= longest_s:
        return None
    return max(4, 2 * int(sample_s / seconds_per_row / 2))


def write_query(point: Point, outer_rows: int) -> sql.Composed:
    """Writes the query for the first so many outer rows, or for all."""
    outer_table, inner_table = find_tables(point)
    if point.case is Case.ONE_ROW:
        return sql.SQL("SELECT x FROM {} WHERE id = 7").format(inner_table)
    columns = "b.id, b.x" if point.case is Case.BIG else "a.id, a.x, b.x"
    join = sql.SQL("SELECT {} FROM {} a JOIN {} b ON b.id = a.id WHERE b.x = 0").format(
        sql.SQL(columns), outer_table, inner_table
    )
    if outer_rows < FULL_ROWS[point.case]:
        join += sql.SQL(" AND a.id <= {}").format(sql.Literal(outer_rows))
    return join


def list_engine_points(rtt_us: int, outer: Outer, *, thorough: bool) -> list[Point]:
    """The sweep, and the planner's own choice for the batch sizes that claims are about."""
    limits = REQUEST_LIMITS if thorough or rtt_us == 0 else (DEFAULT_LIMIT,)
    forced = [
        Point(Case.JOIN, Contender.ENGINE, outer, rtt_us, Planner.FORCED, batch_size, limit)
        for batch_size in BATCH_SIZES
        for limit in limits
    ]
    chosen = [
        Point(
            Case.JOIN, Contender.ENGINE, outer, rtt_us, Planner.DEFAULT, batch_size, DEFAULT_LIMIT
        )
        for batch_size in BATCH_SIZES
        if batch_size >= 128
    ]
    return forced + chosen


def list_join_points(*, thorough: bool = True) -> list[Point]:
    """Lists the points of the join. thorough: with a delay, too, all request limits and guests."""
    found = []
    for rtt_us in RTTS_US:
        for outer in (Outer.FOREIGN, Outer.LOCAL):
            found += list_engine_points(rtt_us, outer, thorough=thorough)
            found += [
                Point(Case.JOIN, Contender.GUEST, outer, rtt_us, planner, 1024, DEFAULT_LIMIT)
                for planner in Planner
                if thorough or planner is Planner.FORCED or rtt_us < RTTS_US[-1]
            ]
            found += [
                Point(Case.JOIN, Contender.STOCK_LOOKUPS, outer, rtt_us, Planner.FORCED),
                Point(Case.JOIN, Contender.STOCK_BEST, outer, rtt_us),
                Point(Case.JOIN, Contender.BY_HAND, outer, rtt_us, request_limit=DEFAULT_LIMIT),
            ]
    return found


def list_headline_points() -> list[Point]:
    """The few points that tell the story; measured first."""
    return [
        point
        for point in list_join_points()
        if point.outer is Outer.FOREIGN
        and point.rtt_us > 0
        and (
            point.contender in (Contender.STOCK_LOOKUPS, Contender.STOCK_BEST)
            or (
                point.contender is Contender.ENGINE
                and point.batch_size == point.request_limit == DEFAULT_LIMIT
            )
        )
    ]


def list_case_points() -> list[Point]:
    """The points beside the join: keys into a big table, and one row."""
    found = [
        Point(Case.BIG, contender, Outer.LOCAL, 0, Planner.FORCED)
        for contender in (Contender.STOCK_HASH, Contender.STOCK_HASH_LARGE_PAGES)
    ]
    found += [
        Point(Case.BIG, Contender.ENGINE, Outer.LOCAL, 0, planner, 1024, DEFAULT_LIMIT)
        for planner in Planner
    ]
    for rtt_us in RTTS_US:
        for contender in (Contender.STOCK_BEST, Contender.ENGINE):
            found.append(Point(Case.ONE_ROW, contender, Outer.NONE, rtt_us))
    return found

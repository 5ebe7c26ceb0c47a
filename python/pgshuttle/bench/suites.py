"""How long all queries of TPC-H or TPC-DS take over three nodes, against local tables."""

import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.pq.abc import PGresult
from rich.table import Table

from pgshuttle.base.errors import ToolError
from pgshuttle.base.printing import format_ms
from pgshuttle.bench import measure, results, suite_tables
from pgshuttle.bench.measure import Session
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.bench.suite_data import TITLES, Queries, Suite
from pgshuttle.bench.suite_tables import Way, schema_of
from pgshuttle.cluster.state import Cluster

NNODES = 3
SCALE = 0.1
RTT_US = 1000
NROUNDS = 3
LIMIT_S = 60
LONG_MS = 5000  # what takes longer is run once
WARM_MS = 1000
SETTINGS = {"jit": "off"}
# the library is loaded: without this it would look ahead over postgres_fdw, too
PLAIN = SETTINGS | {"shuttle.enable_batched_join": "off"}
SETTINGS_OF = {
    Way.OURS: (SETTINGS,),
    Way.HERE: (PLAIN,),
    Way.STOCK: (PLAIN, PLAIN | {"enable_partitionwise_join": "on"}),
}
MOST_MEAN, MOST_ONE, MOST_OF_STOCK = 1.2, 3.0, 1.1


@dataclass(frozen=True)
class Options:
    """What is run. queries: their numbers; none: all. seed: of literals; None: the suite's."""

    suite: Suite
    scale: float = SCALE
    rtt_us: int = RTT_US
    nrounds: int = NROUNDS
    seed: int | None = None
    queries: tuple[int, ...] = ()
    with_stock: bool = True


@dataclass(frozen=True)
class QueryResult:
    """Medians of one query. None: it was stopped; postgres_fdw at twice our time."""

    query: int
    ours_ms: float | None
    here_ms: float | None
    stock_ms: float | None
    requests: int
    nrows: int  # that nodes sent
    nbytes: int

    @property
    def ratio(self) -> float | None:
        """Of ours to local tables; a query that was stopped took LIMIT_S."""
        if self.here_ms is None:
            return None
        return (self.ours_ms or 1000 * LIMIT_S) / self.here_ms


@dataclass(frozen=True, kw_only=True)
class SuiteRun(Run):
    options: Options
    queries: tuple[QueryResult, ...]

    @property
    def mean(self) -> float:
        ratios = [one.ratio for one in self.queries if one.ratio]
        return statistics.geometric_mean(ratios) if ratios else 1.0

    @property
    def is_kept(self) -> bool:
        """Says if ours is fast enough: in the mean, for each query, and against postgres_fdw."""
        return self.mean <= MOST_MEAN and all(
            (one.ratio or 0) <= MOST_ONE
            and (one.stock_ms is None or (one.ours_ms or 0) <= MOST_OF_STOCK * one.stock_ms)
            for one in self.queries
        )


def read_rows(result: PGresult) -> list[tuple[bytes | None, ...]]:
    """Returns all rows in a certain order: ORDER BY leaves open that of equal ones."""
    rows = [
        tuple(result.get_value(row, column) for column in range(result.nfields))
        for row in range(result.ntuples)
    ]
    return sorted(rows, key=lambda row: [(value is None, value or b"") for value in row])


def use(session: Session, suite: Suite, way: Way, number: int = 0) -> None:
    """Has queries find a way's tables."""
    session.apply(SETTINGS_OF[way][number] | {"search_path": schema_of(suite, way)})


def answer(session: Session, suite: Suite, way: Way, text: str) -> list[tuple[bytes | None, ...]]:
    use(session, suite, way)
    result = session.execute(text.encode())
    measure.check_result(result, f"the query over {way}")
    return read_rows(result)


def check_rows(session: Session, options: Options, number: int, text: str) -> None:
    """Makes sure that a query finds the local tables' rows."""
    suite = options.suite
    if answer(session, suite, Way.OURS, text) == answer(session, suite, Way.HERE, text):
        return
    # a LIMIT may cut between equal rows
    whole = re.sub(r"LIMIT\s+\d+\s*$", "", text, flags=re.IGNORECASE)
    if answer(session, suite, Way.OURS, whole) != answer(session, suite, Way.HERE, whole):
        raise ToolError(
            f"{TITLES[suite]} {number}: the nodes' rows are not those of the local tables"
        )


def time_way(
    session: Session, options: Options, way: Way, text: str, limit_ms: float
) -> float | None:
    """Returns the median of the best settings; None if all were stopped."""
    best: float | None = None
    for number in range(len(SETTINGS_OF[way])):
        use(session, options.suite, way, number)
        samples: list[float] = []
        for round_number in range(options.nrounds + 1):
            # the first one is to get warm, and may have to connect
            least_ms = WARM_MS if round_number == 0 else 0
            found = session.time_within(
                sql.SQL(text), max(least_ms, min(limit_ms, best or limit_ms))
            )
            if found is None:
                break
            if round_number > 0 or found.elapsed_ms > LONG_MS:
                samples.append(found.elapsed_ms)
            if found.elapsed_ms > LONG_MS:
                break
        if samples:
            best = min(best or limit_ms, statistics.median(samples))
    return best


def run_query(session: Session, options: Options, number: int, text: str) -> QueryResult:
    """Times a query over local tables, ours and postgres_fdw's, and compares the rows."""
    limit_ms = 1000.0 * LIMIT_S
    here_ms = time_way(session, options, Way.HERE, text, limit_ms)
    ours_ms = time_way(session, options, Way.OURS, text, limit_ms)
    stock_ms = None
    if options.with_stock:
        stock_limit_ms = min(limit_ms, 2 * (ours_ms or limit_ms))
        stock_ms = time_way(session, options, Way.STOCK, text, stock_limit_ms)
    if here_ms is None or ours_ms is None:
        return QueryResult(number, ours_ms, here_ms, stock_ms, 0, 0, 0)
    check_rows(session, options, number, text)
    use(session, options.suite, Way.OURS)
    (top,) = session.explain_with("ANALYZE, DIST, FORMAT JSON", sql.Composed([sql.SQL(text)]))
    return QueryResult(
        query=number,
        ours_ms=round(ours_ms, 3),
        here_ms=round(here_ms, 3),
        stock_ms=None if stock_ms is None else round(stock_ms, 3),
        requests=int(top["Storage Read Requests"]),
        nrows=int(top["Storage Rows Returned"]),
        nbytes=int(top["Storage Bytes Received"]),
    )


def list_queries(queries: Queries, asked: Sequence[int]) -> list[int]:
    unknown = [str(number) for number in asked if number not in queries.texts]
    if unknown:
        raise ToolError(f"there is no query {', '.join(unknown)}")
    return list(asked) or sorted(queries.texts)


def run_suite(cluster: Cluster, options: Options, on_step: OnStep) -> SuiteRun:
    start_s = time.monotonic()
    queries = suite_tables.make_tables(cluster, options.suite, options.scale, on_step)
    found = []
    with measure.open_delayed_session(cluster, options.rtt_us) as session:
        for number in list_queries(queries, options.queries):
            on_step(f"{TITLES[options.suite]} {number}")
            found.append(run_query(session, options, number, queries.write(number, options.seed)))
    return SuiteRun(
        **results.describe_run(cluster, start_s, SETTINGS), options=options, queries=tuple(found)
    )


HEAD = {
    "format": 1,
    "units": {
        "*_ms": f"ms, seen by a client; null: stopped after {LIMIT_S} s, postgres_fdw after twice"
        " our time, or not run",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "requests, nrows, nbytes": "what nodes were asked for, and rows and bytes that they sent",
    },
}


def format_time(time_ms: float | None) -> str:
    return "stopped" if time_ms is None else format_ms(time_ms)


def make_tables(found: SuiteRun) -> list[Table]:
    """A row for each query, the slowest against local tables first."""
    options = found.options
    table = Table("query", "shuttle", "local", "ratio", "postgres_fdw", "requests", "rows", "kB")
    table.title = (
        f"{TITLES[options.suite]} over three nodes, scale {options.scale:g},"
        f" RTT {options.rtt_us / 1000:g} ms, medians of {options.nrounds}"
    )
    table.caption = f"geometric mean of the ratios: {found.mean:.2f}"
    for one in sorted(found.queries, key=lambda one: -(one.ratio or 0)):
        table.add_row(
            str(one.query),
            format_time(one.ours_ms),
            format_time(one.here_ms),
            "" if one.ratio is None else f"{one.ratio:.2f}",
            format_time(one.stock_ms) if options.with_stock else "",
            str(one.requests),
            str(one.nrows),
            f"{one.nbytes / 1000:.0f}",
        )
    return [table]

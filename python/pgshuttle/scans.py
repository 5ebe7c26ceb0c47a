"""How long queries over four nodes take, beside the nodes' own statements run at once by hand."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql
from rich.table import Table

from pgshuttle import catalog, explain, measure, results, scans_tables
from pgshuttle.building import write
from pgshuttle.errors import ToolError
from pgshuttle.measure import Connection, Session, Timing, WayResult
from pgshuttle.printing import format_ms, format_way
from pgshuttle.results import OnStep, Run
from pgshuttle.scans_queries import QUERIES, Query
from pgshuttle.state import Cluster

NNODES = 4
RTTS_US = (0, 800)
NROUNDS = 5
STOCK_LIMIT_S = 20
# ours may take so many times what the nodes' statements take, one round trip, and so long
FACTOR = 1.2
NTRIPS = 1
OWN_MS = 2.0
# of a row of the width that the plan tells, and of what comes with an answer: transaction,
# descriptions of columns, tags, and the row counts that DIST asks for
BYTES_FACTOR = 2
ROW_BYTES = 16
REQUEST_BYTES = 512
# here, and on nodes for whoever asks them: so few processors have all nodes on them
COMMON = {"jit": "off", "max_parallel_workers_per_gather": "0"}


class Way(StrEnum):
    """Where a query is run."""

    OURS = "shuttle"
    HAND = "the nodes' own statements, at once"
    STOCK = "postgres_fdw"
    HERE = "a local table"


@dataclass(frozen=True)
class Answers:
    """What nodes sent for a query of ours."""

    nrows: int
    nbytes: int
    nrequests: int
    row_bytes: float  # by the plan


@dataclass(frozen=True)
class Verdict:
    """What ours took, and may take, at the median, and the rows and bytes that nodes sent."""

    query: str
    rtt_us: int
    ours_ms: float
    hand_ms: float
    limit_ms: float
    nrows: int  # that the nodes sent for ours
    nrows_by_hand: int
    nbytes: int
    limit_bytes: int
    is_kept: bool


@dataclass(frozen=True, kw_only=True)
class Scans(Run):
    """All that one run found out."""

    nrounds: int
    norders: int
    ways: tuple[WayResult, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def is_kept(self) -> bool:
        """Says if all targets are met."""
        return all(verdict.is_kept for verdict in self.verdicts)


class Hand:
    """Connections to all nodes, through their proxies."""

    def __init__(self, connections: list[Connection]) -> None:
        self.connections = connections

    def time(self, query: Query) -> measure.Elapsed:
        """Sends every node its statement, and then waits for all answers."""
        text = write(query.by_hand, scans_tables.NODE_SCHEMA).as_bytes(self.connections[0])
        start_ns = time.perf_counter_ns()
        for connection in self.connections:
            connection.pgconn.send_query(text)
        nrows = 0
        for connection in self.connections:
            while (result := connection.pgconn.get_result()) is not None:
                measure.check_result(result, "the statement of a node")
                nrows += result.ntuples
        return measure.Elapsed((time.perf_counter_ns() - start_ns) / measure.NS_PER_MS, nrows)


class Runner:
    """Queries under one delay, in sessions that stay open."""

    def __init__(self, session: Session, hand: Hand) -> None:
        self.session = session
        self.hand = hand
        session.apply(COMMON)

    def run(self, query: Query, way: Way) -> float:
        """Runs a query once; returns milliseconds."""
        if way is Way.HAND:
            return self.hand.time(query).elapsed_ms
        return self.session.time(write(query.text, scans_tables.schema_of(way.name))).elapsed_ms

    def run_stock(self, query: Query) -> Timing | None:
        """Runs a query over postgres_fdw once; None if that takes too long."""
        text = write(query.text, scans_tables.schema_of(Way.STOCK.name))
        elapsed = self.session.time_within(text, 1000 * STOCK_LIMIT_S)
        return None if elapsed is None else measure.summarize([elapsed.elapsed_ms])

    def check(self, query: Query) -> None:
        """Makes sure that a query finds over the nodes what it finds in the local table."""
        answers = []
        for way in (Way.OURS, Way.HERE):
            text = write(query.text, scans_tables.schema_of(way.name))
            rows = sql.SQL("SELECT q::text FROM ({}) AS q").format(text)
            answers.append(sorted(self.session.connection.execute(rows).fetchall()))
        if answers[0] != answers[1]:
            raise ToolError(f"{query.label}: the nodes' rows are not those of the local table")

    def count_answers(self, query: Query) -> Answers:
        """Counts what nodes send for a query of ours."""
        text = write(query.text, scans_tables.schema_of(Way.OURS.name))
        (top,) = self.session.explain_with("ANALYZE, DIST, FORMAT JSON", text)
        scans = [n for n in explain.walk(top["Plan"]) if n["Node Type"] == "Foreign Scan"]
        widths = [scan["Plan Width"] for scan in scans]
        return Answers(
            nrows=int(top["Storage Rows Returned"]),
            nbytes=int(top["Storage Bytes Received"]),
            nrequests=int(top["Storage Read Requests"]),
            row_bytes=sum(widths) / len(widths) if widths else 0.0,
        )

    def run_query(self, query: Query, rtt_us: int, nrounds: int) -> list[WayResult]:
        """Runs a query by turns, after once for nothing; over postgres_fdw once."""
        turns = (Way.OURS, Way.HAND, Way.HERE)
        samples = measure.take_turns(turns, nrounds, lambda way: self.run(query, way))
        ways = [
            WayResult(query.label, str(way), rtt_us, measure.summarize(found))
            for way, found in samples.items()
        ]
        return [*ways, WayResult(query.label, str(Way.STOCK), rtt_us, self.run_stock(query))]


@contextmanager
def open_runner(cluster: Cluster, rtt_us: int) -> Iterator[Runner]:
    """Opens sessions here and on all nodes, under a delay."""
    with (
        measure.open_delayed_session(cluster, rtt_us) as session,
        measure.open_lines(cluster) as lines,
    ):
        yield Runner(session, Hand(lines))


def set_on_nodes(cluster: Cluster, statement: str) -> None:
    """Executes ALTER DATABASE on all nodes, for each of the common settings, and its value."""
    for node in cluster.nodes:
        with catalog.connect(node.server) as connection:
            for name, value in COMMON.items():
                words = {
                    "database": sql.Identifier(connection.info.dbname),
                    "name": sql.Identifier(name),
                    "value": sql.Literal(value),
                }
                connection.execute(sql.SQL(statement).format(**words))


@contextmanager
def plan_alike(cluster: Cluster) -> Iterator[None]:
    """Has nodes plan for all new sessions as this server does, for as long as it lasts."""
    set_on_nodes(cluster, "ALTER DATABASE {database} SET {name} = {value}")
    try:
        yield
    finally:
        set_on_nodes(cluster, "ALTER DATABASE {database} RESET {name}")


def judge(
    ways: list[WayResult], query: Query, rtt_us: int, answers: Answers, nrows_by_hand: int
) -> Verdict:
    """Compares ours with the nodes' own statements."""
    median_ms = measure.find_medians(ways, query.label, rtt_us)
    limit_ms = FACTOR * median_ms[Way.HAND] + NTRIPS * rtt_us / 1000 + OWN_MS
    limit_bytes = BYTES_FACTOR * nrows_by_hand * (answers.row_bytes + ROW_BYTES)
    limit_bytes += REQUEST_BYTES * answers.nrequests
    return Verdict(
        query=query.label,
        rtt_us=rtt_us,
        ours_ms=median_ms[Way.OURS],
        hand_ms=median_ms[Way.HAND],
        limit_ms=round(limit_ms, 3),
        nrows=answers.nrows,
        nrows_by_hand=nrows_by_hand,
        nbytes=answers.nbytes,
        limit_bytes=round(limit_bytes),
        is_kept=median_ms[Way.OURS] <= limit_ms
        and answers.nrows <= nrows_by_hand
        and answers.nbytes <= limit_bytes,
    )


def measure_all(
    cluster: Cluster, nrounds: int, rtts_us: Sequence[int], on_step: OnStep
) -> tuple[list[WayResult], list[Verdict]]:
    """Runs all queries under each delay."""
    found: list[WayResult] = []
    verdicts: list[Verdict] = []
    for rtt_us in rtts_us:
        with open_runner(cluster, rtt_us) as runner:
            for query in QUERIES:
                on_step(f"{rtt_us / 1000:g} ms: {query.label}")
                runner.check(query)
                answers = runner.count_answers(query)
                nrows_by_hand = runner.hand.time(query).nrows
                found += runner.run_query(query, rtt_us, nrounds)
                verdicts.append(judge(found, query, rtt_us, answers, nrows_by_hand))
    return found, verdicts


def run_scans(
    cluster: Cluster, norders: int, nrounds: int, rtts_us: Sequence[int], on_step: OnStep
) -> Scans:
    """Makes the tables and measures under each delay."""
    start_s = time.monotonic()
    on_step("filling the tables")
    scans_tables.make_tables(cluster, norders)
    with plan_alike(cluster):
        found, verdicts = measure_all(cluster, nrounds, rtts_us, on_step)
    return Scans(
        **results.describe_run(cluster, start_s, COMMON),
        nrounds=nrounds,
        norders=norders,
        ways=tuple(found),
        verdicts=tuple(verdicts),
    )


HEAD = {
    "format": 2,
    "units": {
        "timing": f"ms of a query, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "limit_ms": "milliseconds that ours may take: a factor of the nodes' own statements, "
        "round trips, and some of its own",
        "nrows": "rows that nodes sent for ours",
        "nrows_by_hand": "rows that their own statements return",
        "nbytes": "bytes that nodes sent for ours",
        "limit_bytes": "bytes that they may send: twice the rows by hand, in the width that the "
        "plan tells and 16 bytes, and 512 for a request",
    },
    "allowed": {"factor": FACTOR, "ntrips": NTRIPS, "own_ms": OWN_MS},
}


def make_tables(scans: Scans) -> list[Table]:
    """A row for each query and delay."""
    table = Table(
        "RTT", "query", "by hand", "shuttle", "limit", "rows", "by hand", "bytes", "limit", "kept"
    )
    for way in (Way.STOCK, Way.HERE):
        table.add_column(str(way))
    table.title = f"queries over four nodes, medians of {scans.nrounds} rounds"
    for verdict in scans.verdicts:
        times_ms = measure.find_medians(scans.ways, verdict.query, verdict.rtt_us)
        table.add_row(
            f"{verdict.rtt_us / 1000:g} ms",
            verdict.query,
            format_ms(verdict.hand_ms),
            format_ms(verdict.ours_ms),
            format_ms(verdict.limit_ms),
            str(verdict.nrows),
            str(verdict.nrows_by_hand),
            str(verdict.nbytes),
            str(verdict.limit_bytes),
            "yes" if verdict.is_kept else "no",
            format_way(times_ms, Way.STOCK, STOCK_LIMIT_S),
            format_way(times_ms, Way.HERE, STOCK_LIMIT_S),
        )
    return [table]

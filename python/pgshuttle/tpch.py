"""How long queries of TPC-H take over four nodes: ours, stock postgres_fdw, local tables."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rich.table import Table

from pgshuttle import measure, results, tpch_tables
from pgshuttle.building import write
from pgshuttle.errors import ToolError
from pgshuttle.measure import Session, Timing
from pgshuttle.printing import format_ms
from pgshuttle.results import OnStep, Run
from pgshuttle.state import Cluster
from pgshuttle.tpch_queries import QUERIES

NNODES = 4
RTTS_US = (0, 800)
NROUNDS = 3
STOCK_LIMIT_S = 20
# partitions of orders and lines that lie on one node are joined there, in each way; here and on
# nodes there are parallel workers
SETTINGS = {"jit": "off", "enable_partitionwise_join": "on"}
# the library is loaded: without this it would look ahead over postgres_fdw, too
WITHOUT_US = {"shuttle.enable_batched_join": "off"}


class Way(StrEnum):
    """Where a query is run."""

    OURS = "shuttle"
    STOCK = "postgres_fdw"
    HERE = "local tables"


@dataclass(frozen=True)
class QueryResult:
    """One query under one delay; stock None: it was stopped."""

    query: str
    rtt_us: int
    ours: Timing
    stock: Timing | None
    here: Timing
    nrows: int  # that nodes sent for ours
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class Tpch(Run):
    """All that one run found out."""

    nrounds: int
    norders: int
    queries: tuple[QueryResult, ...]


def settings_of(way: Way) -> Mapping[str, str]:
    """Returns the settings of the session for a way."""
    return SETTINGS | WITHOUT_US if way is Way.STOCK else SETTINGS


def check_rows(session: Session, label: str, text: str) -> None:
    """Makes sure that the query, as it is measured, finds the local tables' rows in their order."""
    session.apply(SETTINGS)
    answers = []
    for way in (Way.OURS, Way.HERE):
        query = write(text, tpch_tables.schema_of(way.name))
        rows = session.connection.execute(query).fetchall()
        answers.append([tuple(map(str, row)) for row in rows])
    if answers[0] != answers[1]:
        raise ToolError(f"{label}: the nodes' rows are not those of the local tables")


def run_way(session: Session, text: str, way: Way) -> float | None:
    """Runs a query once; returns milliseconds, None if it took postgres_fdw too long."""
    session.apply(settings_of(way))
    query = write(text, tpch_tables.schema_of(way.name))
    if way is not Way.STOCK:
        return session.time(query).elapsed_ms
    elapsed = session.time_within(query, 1000 * STOCK_LIMIT_S)
    return None if elapsed is None else elapsed.elapsed_ms


def run_query(session: Session, label: str, rtt_us: int, nrounds: int) -> QueryResult:
    """Compares the rows, and then runs the query by turns, postgres_fdw until it takes too long."""
    text = QUERIES[label]
    check_rows(session, label, text)
    stopped = {way for way in Way if run_way(session, text, way) is None}
    samples: dict[Way, list[float]] = {way: [] for way in Way}
    for _ in range(nrounds):
        for way in Way:
            if way not in stopped and (elapsed_ms := run_way(session, text, way)) is not None:
                samples[way].append(elapsed_ms)
    session.apply(SETTINGS)
    ours = write(text, tpch_tables.schema_of(Way.OURS.name))
    (top,) = session.explain_with("ANALYZE, DIST, FORMAT JSON", ours)
    stock = samples[Way.STOCK]
    return QueryResult(
        query=label,
        rtt_us=rtt_us,
        ours=measure.summarize(samples[Way.OURS]),
        stock=measure.summarize(stock) if stock else None,
        here=measure.summarize(samples[Way.HERE]),
        nrows=int(top["Storage Rows Returned"]),
        nbytes=int(top["Storage Bytes Received"]),
    )


def run_tpch(cluster: Cluster, norders: int, nrounds: int, on_step: OnStep) -> Tpch:
    """Makes the tables and measures under each delay."""
    start_s = time.monotonic()
    on_step("filling the tables")
    tpch_tables.make_tables(cluster, norders)
    found: list[QueryResult] = []
    for rtt_us in RTTS_US:
        with measure.open_delayed_session(cluster, rtt_us) as session:
            for label in QUERIES:
                on_step(f"{rtt_us / 1000:g} ms: {label}")
                found.append(run_query(session, label, rtt_us, nrounds))
    return Tpch(
        **results.describe_run(cluster, start_s, SETTINGS),
        nrounds=nrounds,
        norders=norders,
        queries=tuple(found),
    )


HEAD = {
    "format": 1,
    "units": {
        "ours, stock, here": f"ms, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "nrows, nbytes": "rows and bytes that nodes sent for ours",
    },
}


def make_tables(found: Tpch) -> list[Table]:
    """A row for each query and delay."""
    table = Table("RTT", "query", "shuttle", "postgres_fdw", "ratio", "local", "rows", "kB")
    table.title = f"TPC-H over four nodes, {found.norders} orders, medians of {found.nrounds}"
    table.caption = "rows, kB: what nodes sent for ours"
    for query in found.queries:
        stock = query.stock.median_ms if query.stock else 1000.0 * STOCK_LIMIT_S
        sign = "" if query.stock else "> "
        table.add_row(
            f"{query.rtt_us / 1000:g} ms",
            query.query,
            format_ms(query.ours.median_ms),
            sign + format_ms(stock),
            f"{sign}{stock / query.ours.median_ms:.1f}",
            format_ms(query.here.median_ms),
            str(query.nrows),
            f"{query.nbytes / 1000:.0f}",
        )
    return [table]

"""How fast many rows come here: ours, stock postgres_fdw, and COPY by psql."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql
from rich.table import Table

from pgshuttle.base.printing import format_ms
from pgshuttle.bench import measure, results
from pgshuttle.bench.making_tables import analyze, execute, make_schema, making
from pgshuttle.bench.measure import Session, WayResult
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.cluster import catalog, processes
from pgshuttle.cluster.servers import SUPERUSER
from pgshuttle.cluster.state import Cluster

RTTS_US = (0, 800)
NROUNDS = 7
COPY_TIMEOUT_S = 120
LEAST_GAIN = 2.0  # over postgres_fdw, that the project promises
LARGEST_OF_COPY = 2.0
TABLE = "transfer"
STOCK_FETCH_SIZE = 10_000

# eight columns of as many types, as tables of events have them
FILL = """
CREATE TABLE {s}.transfer AS
SELECT i AS id, i::bigint * 7919 AS account, (i % 500)::smallint AS device,
  i / 7.0::float8 AS reading, (i * 1.25)::numeric(12, 2) AS price, 'name of row ' || i AS name,
  timestamptz '2024-01-01 00:00+00' + i * interval '1 second' AS at, i % 3 = 0 AS is_new
FROM generate_series(1, {nrows}) AS i;
VACUUM (ANALYZE, FREEZE) {s}.transfer"""
# a column that nobody counts would not be fetched at all
READ = """
SELECT count(id), count(account), count(device), count(reading), count(price), count(name),
  count(at), count(is_new)
FROM (SELECT * FROM {} OFFSET 0) AS t"""
COPY = "COPY (SELECT * FROM transfer.transfer) TO STDOUT"


class Way(StrEnum):
    BINARY = "shuttle"
    TEXT = "shuttle, as texts"
    STOCK = f"postgres_fdw, fetch_size {STOCK_FETCH_SIZE}"
    STOCK_DEFAULT = "postgres_fdw"
    COPY = "COPY through psql"


# schema of the foreign table, and settings
READS: Mapping[Way, tuple[str, Mapping[str, str]]] = {
    Way.BINARY: ("transfer_engine", {}),
    Way.TEXT: ("transfer_engine", {"shuttle.enable_binary_transfer": "off"}),
    Way.STOCK: ("transfer_stock", {}),
    Way.STOCK_DEFAULT: ("transfer_stock_default", {}),
}


@dataclass(frozen=True)
class Ratio:
    """What our median is to the others' under one delay."""

    rtt_us: int
    stock_over_ours: float
    ours_over_copy: float


@dataclass(frozen=True, kw_only=True)
class Transfer(Run):
    nrows: int
    nrounds: int
    ways: tuple[WayResult, ...]
    ratios: tuple[Ratio, ...]

    @property
    def is_kept(self) -> bool:
        return all(
            ratio.stock_over_ours >= LEAST_GAIN and ratio.ours_over_copy <= LARGEST_OF_COPY
            for ratio in self.ratios
        )


def fill_tables(cluster: Cluster, nrows: int) -> None:
    """Makes the table on the first storage node, and foreign tables over it."""
    servers = {
        "transfer_engine": catalog.engine_server_name(1),
        "transfer_stock": catalog.stock_server_name(1),
        "transfer_stock_default": catalog.stock_server_name(1),
    }
    with making("the tables of the transfer"):
        with catalog.connect_to_node(cluster.nodes[0]) as connection:
            make_schema(connection, TABLE)
            execute(connection, FILL, TABLE, nrows=nrows)
        with catalog.connect(cluster.query) as connection:
            for schema, server in servers.items():
                make_schema(connection, schema)
                statement = sql.SQL("IMPORT FOREIGN SCHEMA {} FROM SERVER {} INTO {}")
                names = (TABLE, server, schema)
                connection.execute(statement.format(*(sql.Identifier(name) for name in names)))
                analyze(connection, sql.Identifier(schema, TABLE))
            statement = sql.SQL("ALTER FOREIGN TABLE {} OPTIONS (ADD fetch_size {})")
            stock = sql.Identifier("transfer_stock", TABLE)
            connection.execute(statement.format(stock, sql.Literal(str(STOCK_FETCH_SIZE))))


def copy(cluster: Cluster) -> float:
    """Has psql copy the table out, through the same proxy; returns milliseconds."""
    words = [cluster.build.bin_dir / "psql", "-Xq", "-h", "127.0.0.1", "-p"]
    words += [cluster.nodes[0].front.port, "-U", SUPERUSER, "-d", catalog.DATABASE]
    words += ["-o", os.devnull, "-c", COPY]
    return measure.time_ms(lambda: processes.run(words, timeout_s=COPY_TIMEOUT_S))[0]


def run_rounds(
    cluster: Cluster, session: Session, nrounds: int, rtt_us: int, on_step: OnStep
) -> list[WayResult]:
    """Runs all ways in turn, as often as wanted, after each ran once."""

    def run(way: Way) -> float:
        on_step(f"{rtt_us / 1000:g} ms: {way}")
        if way is Way.COPY:
            return copy(cluster)
        schema, settings = READS[way]
        session.apply(settings)
        return session.time(sql.SQL(READ).format(sql.Identifier(schema, TABLE))).elapsed_ms

    samples = measure.take_turns(Way, nrounds, run)
    return [
        WayResult(TABLE, str(way), rtt_us, measure.summarize(found))
        for way, found in samples.items()
    ]


def compare(ways: list[WayResult], rtt_us: int) -> Ratio:
    median_ms = measure.find_medians(ways, TABLE, rtt_us)
    ours_ms = median_ms[Way.BINARY]
    return Ratio(
        rtt_us=rtt_us,
        stock_over_ours=round(median_ms[Way.STOCK] / ours_ms, 3),
        ours_over_copy=round(ours_ms / median_ms[Way.COPY], 3),
    )


def run_transfer(cluster: Cluster, nrows: int, nrounds: int, on_step: OnStep) -> Transfer:
    start_s = time.monotonic()
    on_step("filling the table")
    fill_tables(cluster, nrows)
    found: list[WayResult] = []
    for rtt_us in RTTS_US:
        with measure.open_delayed_session(cluster, rtt_us) as session:
            found += run_rounds(cluster, session, nrounds, rtt_us, on_step)
    return Transfer(
        **results.describe_run(cluster, start_s),
        nrows=nrows,
        nrounds=nrounds,
        ways=tuple(found),
        ratios=tuple(compare(found, rtt_us) for rtt_us in RTTS_US),
    )


HEAD = {
    "format": 2,
    "units": {
        "timing": "ms, seen by a client of the query node; COPY: of psql from start to end",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "stock_over_ours": f"median of {Way.STOCK} / median of {Way.BINARY}",
        "ours_over_copy": f"median of {Way.BINARY} / median of {Way.COPY}",
    },
    "targets": {"stock_over_ours": LEAST_GAIN, "ours_over_copy": LARGEST_OF_COPY},
}


def make_tables(transfer: Transfer) -> list[Table]:
    """A row for each way and delay."""
    table = Table("RTT", "way", "median", "shortest", "longest")
    table.title = f"reading {transfer.nrows} rows of 8 columns, {transfer.nrounds} rounds"
    for found in transfer.ways:
        if (timing := found.timing) is not None:
            times_ms = (timing.median_ms, timing.min_ms, timing.max_ms)
            table.add_row(f"{found.rtt_us / 1000:g} ms", found.way, *map(format_ms, times_ms))
    table.caption = "; ".join(
        f"RTT {ratio.rtt_us / 1000:g} ms: {ratio.stock_over_ours:.2f} times as fast as {Way.STOCK}"
        f" (at least {LEAST_GAIN:g}), {ratio.ours_over_copy:.2f} of the time of {Way.COPY}"
        f" (at most {LARGEST_OF_COPY:g})"
        for ratio in transfer.ratios
    )
    return [table]

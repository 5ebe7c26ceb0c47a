"""How fast many rows come here: ours, stock postgres_fdw, and COPY by psql."""

import os
import resource
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from psycopg import sql
from rich.table import Table

from pgshuttle import catalog, measure, processes, results
from pgshuttle.building import make_schema, making
from pgshuttle.errors import ToolError
from pgshuttle.measure import Session, Timing
from pgshuttle.printing import format_ms
from pgshuttle.results import OnStep, Run
from pgshuttle.servers import SUPERUSER, Server
from pgshuttle.state import Cluster

RTTS_US = (0, 800)
NROUNDS = 7
COPY_TIMEOUT_S = 120
LEAST_GAIN = 2.0  # over postgres_fdw, that the project promises
LARGEST_OF_COPY = 2.0
TABLE = "transfer"
STOCK_FETCH_SIZE = 10_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# eight columns of as many types, as tables of events have them
FILL = """
CREATE TABLE {table} AS
SELECT i AS id, i::bigint * 7919 AS account, (i % 500)::smallint AS device,
  i / 7.0::float8 AS reading, (i * 1.25)::numeric(12, 2) AS price, 'name of row ' || i AS name,
  timestamptz '2024-01-01 00:00+00' + i * interval '1 second' AS at, i % 3 = 0 AS is_new
FROM generate_series(1, {nrows}) AS i"""
# a column that nobody counts would not be fetched at all
READ = """
SELECT count(id), count(account), count(device), count(reading), count(price), count(name),
  count(at), count(is_new)
FROM (SELECT * FROM {} OFFSET 0) AS t"""
COPY = "COPY (SELECT * FROM transfer.transfer) TO STDOUT"


class Way(StrEnum):
    """How the rows are fetched."""

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
class Cost:
    """One transfer. session_cpu_ms: of the session here, or of psql."""

    elapsed_ms: float
    session_cpu_ms: float
    node_cpu_ms: float


@dataclass(frozen=True)
class WayResult:
    """One way under one delay; CPU times are medians."""

    way: str
    rtt_us: int
    timing: Timing
    session_cpu_ms: float
    node_cpu_ms: float


@dataclass(frozen=True)
class Ratio:
    """What our median is to the others' under one delay."""

    rtt_us: int
    stock_over_ours: float
    ours_over_copy: float


@dataclass(frozen=True, kw_only=True)
class Transfer(Run):
    """All that one run found out."""

    nrows: int
    nrounds: int
    ways: tuple[WayResult, ...]
    ratios: tuple[Ratio, ...]

    @property
    def is_kept(self) -> bool:
        """Says if all targets are met."""
        return all(
            ratio.stock_over_ours >= LEAST_GAIN and ratio.ours_over_copy <= LARGEST_OF_COPY
            for ratio in self.ratios
        )


def sum_up(costs: list[Cost], way: Way, rtt_us: int) -> WayResult:
    """Returns the medians of the transfers of a way."""
    return WayResult(
        way=str(way),
        rtt_us=rtt_us,
        timing=measure.summarize([cost.elapsed_ms for cost in costs]),
        session_cpu_ms=statistics.median(cost.session_cpu_ms for cost in costs),
        node_cpu_ms=statistics.median(cost.node_cpu_ms for cost in costs),
    )


def read_cpu_ms(pid: int, first: int) -> float:
    """Returns user and system time of a process; first: place of the former in /proc/PID/stat."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = text.rpartition(")")[2].split()
    return 1000.0 * (int(fields[first]) + int(fields[first + 1])) / TICKS_PER_S


def read_session_cpu_ms(pid: int) -> float:
    """Returns what a process used itself."""
    return read_cpu_ms(pid, 11)


def read_server_cpu_ms(server: Server) -> float:
    """Returns what all processes of a server used, those that have ended included."""
    if server.process is None:
        raise ToolError(f"{server.name} does not run")
    pid = server.process.pid
    children = processes.list_children(pid)
    return read_cpu_ms(pid, 13) + sum(read_session_cpu_ms(child) for child in children)


def read_children_cpu_ms() -> float:
    """Returns what the programs used that this process ran to their end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000.0 * (used.ru_utime + used.ru_stime)


def fill_tables(cluster: Cluster, nrows: int) -> None:
    """Makes the table on the first storage node, and foreign tables over it."""
    servers = {
        "transfer_engine": catalog.engine_server_name(1),
        "transfer_stock": catalog.stock_server_name(1),
        "transfer_stock_default": catalog.stock_server_name(1),
    }
    with making("the tables of the transfer"):
        with catalog.connect(cluster.nodes[0].server) as connection:
            make_schema(connection, TABLE)
            table = sql.Identifier(TABLE, TABLE)
            connection.execute(sql.SQL(FILL).format(table=table, nrows=sql.Literal(nrows)))
            connection.execute(sql.SQL("VACUUM (ANALYZE, FREEZE) {}").format(table))
        with catalog.connect(cluster.query) as connection:
            for schema, server in servers.items():
                make_schema(connection, schema)
                statement = sql.SQL("IMPORT FOREIGN SCHEMA {} FROM SERVER {} INTO {}")
                names = (TABLE, server, schema)
                connection.execute(statement.format(*(sql.Identifier(name) for name in names)))
                connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(schema, TABLE)))
            statement = sql.SQL("ALTER FOREIGN TABLE {} OPTIONS (ADD fetch_size {})")
            stock = sql.Identifier("transfer_stock", TABLE)
            connection.execute(statement.format(stock, sql.Literal(str(STOCK_FETCH_SIZE))))


class Runner:
    """Transfers under one delay, in one session that stays open."""

    def __init__(self, cluster: Cluster, session: Session) -> None:
        self.cluster = cluster
        self.session = session
        self.pid = session.connection.info.backend_pid

    def read(self, way: Way) -> Cost:
        """Reads the foreign table."""
        schema, settings = READS[way]
        self.session.apply(settings)
        node = self.cluster.nodes[0].server
        session_before_ms = read_session_cpu_ms(self.pid)
        node_before_ms = read_server_cpu_ms(node)
        elapsed = self.session.time(sql.SQL(READ).format(sql.Identifier(schema, TABLE)))
        return Cost(
            elapsed.elapsed_ms,
            read_session_cpu_ms(self.pid) - session_before_ms,
            read_server_cpu_ms(node) - node_before_ms,
        )

    def copy(self) -> Cost:
        """Has psql copy the table out, through the same proxy."""
        node = self.cluster.nodes[0]
        words = [self.cluster.build.bin_dir / "psql", "-Xq", "-h", "127.0.0.1", "-p"]
        words += [node.front.port, "-U", SUPERUSER, "-d", catalog.DATABASE]
        words += ["-o", os.devnull, "-c", COPY]
        node_before_ms = read_server_cpu_ms(node.server)
        own_before_ms = read_children_cpu_ms()
        start_ns = time.perf_counter_ns()
        processes.run(words, timeout_s=COPY_TIMEOUT_S)
        elapsed_ms = (time.perf_counter_ns() - start_ns) / measure.NS_PER_MS
        return Cost(
            elapsed_ms,
            read_children_cpu_ms() - own_before_ms,
            read_server_cpu_ms(node.server) - node_before_ms,
        )

    def run_rounds(self, nrounds: int, rtt_us: int, on_step: OnStep) -> list[WayResult]:
        """Runs all ways in turn, as often as wanted, after each ran once."""

        def run(way: Way) -> Cost:
            on_step(f"{rtt_us / 1000:g} ms: {way}")
            return self.copy() if way is Way.COPY else self.read(way)

        samples = measure.take_turns(Way, nrounds, run)
        return [sum_up(costs, way, rtt_us) for way, costs in samples.items()]


@contextmanager
def open_runner(cluster: Cluster, rtt_us: int) -> Iterator[Runner]:
    """Opens a session under a delay."""
    with measure.open_delayed_session(cluster, rtt_us) as session:
        yield Runner(cluster, session)


def compare(ways: list[WayResult], rtt_us: int) -> Ratio:
    """Compares the medians under one delay."""
    median_ms = {found.way: found.timing.median_ms for found in ways if found.rtt_us == rtt_us}
    ours_ms = median_ms[Way.BINARY]
    return Ratio(
        rtt_us=rtt_us,
        stock_over_ours=round(median_ms[Way.STOCK] / ours_ms, 3),
        ours_over_copy=round(ours_ms / median_ms[Way.COPY], 3),
    )


def run_transfer(cluster: Cluster, nrows: int, nrounds: int, on_step: OnStep) -> Transfer:
    """Makes the tables and measures under each delay."""
    start_s = time.monotonic()
    on_step("filling the table")
    fill_tables(cluster, nrows)
    found: list[WayResult] = []
    for rtt_us in RTTS_US:
        with open_runner(cluster, rtt_us) as runner:
            found += runner.run_rounds(nrounds, rtt_us, on_step)
    return Transfer(
        **results.describe_run(cluster, start_s),
        nrows=nrows,
        nrounds=nrounds,
        ways=tuple(found),
        ratios=tuple(compare(found, rtt_us) for rtt_us in RTTS_US),
    )


HEAD = {
    "format": 1,
    "units": {
        "timing": "ms, seen by a client of the query node; COPY: of psql from start to end",
        "session_cpu_ms": "milliseconds of processor time of the session here, or of psql; median",
        "node_cpu_ms": "the same of all processes of the storage node",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "stock_over_ours": f"median of {Way.STOCK} / median of {Way.BINARY}",
        "ours_over_copy": f"median of {Way.BINARY} / median of {Way.COPY}",
    },
    "targets": {"stock_over_ours": LEAST_GAIN, "ours_over_copy": LARGEST_OF_COPY},
}


def make_tables(transfer: Transfer) -> list[Table]:
    """A row for each way and delay."""
    table = Table("RTT", "way", "median", "quartiles", "CPU here", "CPU of the node")
    table.title = f"reading {transfer.nrows} rows of 8 columns, {transfer.nrounds} rounds"
    for found in transfer.ways:
        table.add_row(
            f"{found.rtt_us / 1000:g} ms",
            found.way,
            format_ms(found.timing.median_ms),
            f"{format_ms(found.timing.quartile_1_ms)} - {format_ms(found.timing.quartile_3_ms)}",
            format_ms(found.session_cpu_ms),
            format_ms(found.node_cpu_ms),
        )
    table.caption = "; ".join(
        f"RTT {ratio.rtt_us / 1000:g} ms: {ratio.stock_over_ours:.2f} times as fast as {Way.STOCK}"
        f" (at least {LEAST_GAIN:g}), {ratio.ours_over_copy:.2f} of the time of {Way.COPY}"
        f" (at most {LARGEST_OF_COPY:g})"
        for ratio in transfer.ratios
    )
    return [table]

"""How long statements that write many rows take: ours, stock postgres_fdw, and on one node."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum

import psycopg
from psycopg import sql

from pgshuttle import catalog, measure, results, writes_tables
from pgshuttle.errors import ToolError
from pgshuttle.measure import Session, Timing
from pgshuttle.results import Machine
from pgshuttle.state import Cluster

NNODES = 3
RTTS_US = (0, 800, 90_000)
NROUNDS = 7
NTPCB = 20  # transactions of pgbench in a round: each takes less than a millisecond
NPINGS = 200
NPINGS_FAR = 10
STOCK_LIMIT_S = 20  # a row at a time over 90 ms takes a quarter of an hour
NACCOUNTS_USED = 1000

OnStep = Callable[[str], None]


class Way(StrEnum):
    """Where a statement is run."""

    OURS = "shuttle"
    STOCK = f"postgres_fdw, batch_size {writes_tables.STOCK_BATCH_SIZE}"
    NODE = "on one node"
    LINE = "on one node, over the line"  # transactions of pgbench only


class Case(StrEnum):
    """What is run; TPC-B are the transactions of pgbench."""

    UPDATE = f"UPDATE of {writes_tables.NUPDATED} rows, joined"
    INSERT = f"INSERT ... SELECT of {writes_tables.NWRITTEN} rows"
    COPY = f"COPY of {writes_tables.NWRITTEN} rows"
    DELETE = f"DELETE of {writes_tables.NWRITTEN} rows, joined"
    ONE = "TPC-B, one node"
    TWO = "TPC-B, two nodes"
    FUNCTION = f"{writes_tables.NINSERTS} INSERTs in a function"


# of their own tables; rolled back behind the measurement
STATEMENTS = {
    Case.UPDATE: "UPDATE {s}.item AS i SET n = f.n FROM {s}.few AS f WHERE f.id = i.id",
    Case.INSERT: "INSERT INTO {s}.item SELECT id, n, note FROM {s}.more",
    Case.COPY: "COPY {s}.item FROM STDIN",
    Case.DELETE: "DELETE FROM {s}.item AS i USING {s}.many AS m WHERE m.id = i.id",
}
TPCB = (
    "BEGIN",
    "UPDATE {s}.accounts SET abalance = abalance + 5 WHERE aid = {aid}",
    "SELECT abalance FROM {s}.accounts WHERE aid = {aid}",
    "UPDATE {s}.tellers SET tbalance = tbalance + 5 WHERE tid = {tid}",
    "UPDATE {s}.branches SET bbalance = bbalance + 5 WHERE bid = 1",
    "INSERT INTO {s}.history (tid, bid, aid, delta, mtime) VALUES ({tid}, 1, {aid}, 5, now())",
    "COMMIT",
)
# a statement may take so many times what it takes on one node, and so many round trips
LIMITS: Mapping[Case, tuple[float, int]] = {
    Case.UPDATE: (1.5, 2),
    Case.INSERT: (1.5, 2),
    Case.COPY: (1.5, 2),
    Case.DELETE: (1.5, 2),
    Case.ONE: (1.6, len(TPCB) - 1),
    Case.TWO: (1.6, len(TPCB) - 1 + 2),
    Case.FUNCTION: (1.6, 2),  # for all of them, and the COMMIT
}


@dataclass(frozen=True)
class Line:
    """What empty statements take: those of a round trip, and of asking the query node."""

    rtt_us: int
    trip_ms: float
    here_ms: float


@dataclass(frozen=True)
class WayResult:
    """One case run in one way under one delay; timing None: it was stopped."""

    case: str
    way: str
    rtt_us: int
    timing: Timing | None


@dataclass(frozen=True)
class Verdict:
    """What ours took, and may take, at the median.

    relay_ms: what it would take to hand on the statements as they are, each over the line.
    """

    case: str
    rtt_us: int
    ours_ms: float
    node_ms: float
    limit_ms: float
    relay_ms: float | None
    is_kept: bool


@dataclass(frozen=True)
class Writes:
    """All that one run found out."""

    made_at: str
    nrounds: int
    elapsed_s: float
    machine: Machine
    server: Mapping[str, str]
    settings: Mapping[str, str]
    lines: tuple[Line, ...]
    ways: tuple[WayResult, ...]
    verdicts: tuple[Verdict, ...]


def write(text: str, schema: str, **values: int) -> sql.Composed:
    """Writes a statement about the tables of a schema."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    return sql.SQL(text).format(s=sql.Identifier(schema), **literals)


class Runner:
    """Writes under one delay, in sessions that stay open."""

    def __init__(self, here: Session, node: Session, line: Session) -> None:
        self.sessions = {Way.OURS: here, Way.STOCK: here, Way.NODE: node, Way.LINE: line}
        self.naccounts = 0

    def ping(self, way: Way) -> float:
        """Milliseconds of an empty statement, which is a round trip and nothing else."""
        connection = self.sessions[way].connection.pgconn
        start_ns = time.perf_counter_ns()
        connection.exec_(b"")
        return (time.perf_counter_ns() - start_ns) / measure.NS_PER_MS

    def measure_line(self, rtt_us: int) -> Line:
        """How far the nodes are, beyond what a client waits for who is there."""
        ways = (Way.OURS, Way.NODE, Way.LINE)
        rounds = [[self.ping(way) for way in ways] for _ in range(NPINGS_FAR if rtt_us else NPINGS)]
        here_ms, node_ms, line_ms = (
            statistics.median(times) for times in zip(*rounds, strict=True)
        )
        trip_ms = max(line_ms - node_ms, rtt_us / 1000)
        return Line(rtt_us, round(trip_ms, 4), round(here_ms, 4))

    def copy(self, session: Session, schema: str) -> float:
        """Copies rows that are in memory."""
        statement = write(STATEMENTS[Case.COPY], schema)
        start_ns = time.perf_counter_ns()
        with session.connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(writes_tables.copied_rows())
        return (time.perf_counter_ns() - start_ns) / measure.NS_PER_MS

    def run_statement(self, case: Case, way: Way) -> float:
        """Runs a statement, and undoes it."""
        session = self.sessions[way]
        schema = writes_tables.schema_of(way.name, "item")
        session.connection.execute("BEGIN")
        try:
            if case is Case.COPY:
                return self.copy(session, schema)
            return session.time(write(STATEMENTS[case], schema)).elapsed_ms
        finally:
            session.connection.execute("ROLLBACK")

    def run_tpcb(self, case: Case, way: Way) -> float:
        """Runs one transaction of pgbench."""
        session = self.sessions[way]
        schema = writes_tables.schema_of(way.name, case.name)
        self.naccounts = self.naccounts % NACCOUNTS_USED + 1
        values = {"aid": self.naccounts, "tid": self.naccounts % 10 + 1}
        return sum(session.time(write(line, schema, **values)).elapsed_ms for line in TPCB)

    def run_function(self, way: Way) -> float:
        """Calls the function that inserts row by row; its rows stay."""
        session = self.sessions[way]
        schema = writes_tables.schema_of(way.name, Case.ONE.name)
        return session.time(write("SELECT {s}.note()", schema)).elapsed_ms

    def run(self, case: Case, way: Way) -> float:
        """Runs a case once; returns milliseconds."""
        if case is Case.FUNCTION:
            return self.run_function(way)
        if case in STATEMENTS:
            return self.run_statement(case, way)
        return self.run_tpcb(case, way)

    def run_limited(self, case: Case) -> float | None:
        """Runs a case over postgres_fdw; None if that takes too long."""
        connection = self.sessions[Way.STOCK].connection
        connection.execute(sql.SQL("SET statement_timeout = {}").format(f"{STOCK_LIMIT_S}s"))
        try:
            return self.run(case, Way.STOCK)
        except (psycopg.errors.QueryCanceled, ToolError):
            return None
        finally:
            connection.execute("RESET statement_timeout")

    def run_case(self, case: Case, rtt_us: int, nrounds: int) -> list[WayResult]:
        """Runs a case by turns, after once for nothing; over postgres_fdw once."""
        samples: dict[Way, list[float]] = {Way.OURS: [], Way.NODE: []}
        if case in (Case.ONE, Case.TWO):
            samples[Way.LINE] = []
            nrounds = nrounds * NTPCB if rtt_us == 0 else nrounds
        for number in range(nrounds + 1):
            for way, found in samples.items():
                elapsed_ms = self.run(case, way)
                if number > 0:
                    found.append(elapsed_ms)
        stock_ms = self.run_limited(case)
        found_ways = [
            WayResult(str(case), str(way), rtt_us, measure.summarize(found))
            for way, found in samples.items()
        ]
        timing = None if stock_ms is None else measure.summarize([stock_ms])
        return [*found_ways, WayResult(str(case), str(Way.STOCK), rtt_us, timing)]


@contextmanager
def open_runner(cluster: Cluster, rtt_us: int) -> Iterator[Runner]:
    """Opens sessions: here under a delay, and on the first node without one and with it."""
    with ExitStack() as stack:
        here = stack.enter_context(measure.open_delayed_session(cluster, rtt_us))
        first = cluster.nodes[0]
        if first.proxy is None:
            raise ToolError(f"{first.server.name} has no delay proxy")
        node = Session(catalog.connect(first.server))
        stack.enter_context(node.connection)
        line = Session(measure.connect_through_proxy(first.server, first.proxy.port))
        stack.enter_context(line.connection)
        for session in (node, line):
            session.connection.execute(f"SET statement_timeout = '{measure.STATEMENT_TIMEOUT_S}s'")
        yield Runner(here, node, line)


def judge(ways: list[WayResult], line: Line, case: Case) -> Verdict:
    """Compares ours with what a case takes on one node."""
    median_ms = {
        found.way: found.timing.median_ms
        for found in ways
        if found.case == case and found.rtt_us == line.rtt_us and found.timing is not None
    }
    factor, ntrips = LIMITS[case]
    limit_ms = factor * median_ms[Way.NODE] + ntrips * line.trip_ms
    ours_ms = median_ms[Way.OURS]
    relay_ms = None
    if Way.LINE in median_ms:
        more_trips = ntrips - LIMITS[Case.ONE][1]
        relay_ms = median_ms[Way.LINE] + len(TPCB) * line.here_ms + more_trips * line.trip_ms
    return Verdict(
        case=str(case),
        rtt_us=line.rtt_us,
        ours_ms=ours_ms,
        node_ms=median_ms[Way.NODE],
        limit_ms=round(limit_ms, 3),
        relay_ms=None if relay_ms is None else round(relay_ms, 3),
        is_kept=ours_ms <= limit_ms,
    )


def run_writes(cluster: Cluster, nrounds: int, on_step: OnStep) -> Writes:
    """Makes the tables and measures under each delay."""
    start_s = time.monotonic()
    on_step("filling the tables")
    writes_tables.make_tables(cluster)
    found: list[WayResult] = []
    lines: list[Line] = []
    for rtt_us in RTTS_US:
        with open_runner(cluster, rtt_us) as runner:
            lines.append(runner.measure_line(rtt_us))
            for case in Case:
                on_step(f"{rtt_us / 1000:g} ms: {case}")
                found += runner.run_case(case, rtt_us, nrounds)
    return Writes(
        made_at=results.make_timestamp(),
        nrounds=nrounds,
        elapsed_s=round(time.monotonic() - start_s, 1),
        machine=results.read_machine(),
        server=results.read_server(cluster),
        settings=results.read_settings(cluster),
        lines=tuple(lines),
        ways=tuple(found),
        verdicts=tuple(judge(found, line, case) for line in lines for case in Case),
    )

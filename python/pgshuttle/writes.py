"""How long statements that write many rows take: ours, stock postgres_fdw, and on one node."""

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
STOCK_LIMIT_S = 20  # a row at a time over 90 ms takes a quarter of an hour
NACCOUNTS_USED = 1000

OnStep = Callable[[str], None]


class Way(StrEnum):
    """Where a statement is run."""

    OURS = "shuttle"
    STOCK = f"postgres_fdw, batch_size {writes_tables.STOCK_BATCH_SIZE}"
    NODE = "on one node"


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
class WayResult:
    """One case run in one way under one delay; timing None: it was stopped."""

    case: str
    way: str
    rtt_us: int
    timing: Timing | None


@dataclass(frozen=True)
class Verdict:
    """What ours took, and may take, at the median."""

    case: str
    rtt_us: int
    ours_ms: float
    node_ms: float
    limit_ms: float
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
    ways: tuple[WayResult, ...]
    verdicts: tuple[Verdict, ...]


def write(text: str, schema: str, **values: int) -> sql.Composed:
    """Writes a statement about the tables of a schema."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    return sql.SQL(text).format(s=sql.Identifier(schema), **literals)


class Runner:
    """Writes under one delay, in sessions that stay open."""

    def __init__(self, here: Session, node: Session) -> None:
        self.sessions = {Way.OURS: here, Way.STOCK: here, Way.NODE: node}
        self.naccounts = 0

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
    """Opens sessions: here under a delay, and on the first node without one."""
    with ExitStack() as stack:
        here = stack.enter_context(measure.open_delayed_session(cluster, rtt_us))
        node = Session(catalog.connect(cluster.nodes[0].server))
        stack.enter_context(node.connection)
        yield Runner(here, node)


def judge(ways: list[WayResult], case: Case, rtt_us: int) -> Verdict:
    """Compares ours with what a case takes on one node."""
    median_ms = {
        found.way: found.timing.median_ms
        for found in ways
        if found.case == case and found.rtt_us == rtt_us and found.timing is not None
    }
    factor, ntrips = LIMITS[case]
    limit_ms = factor * median_ms[Way.NODE] + ntrips * rtt_us / 1000
    ours_ms = median_ms[Way.OURS]
    return Verdict(
        case=str(case),
        rtt_us=rtt_us,
        ours_ms=ours_ms,
        node_ms=median_ms[Way.NODE],
        limit_ms=round(limit_ms, 3),
        is_kept=ours_ms <= limit_ms,
    )


def run_writes(cluster: Cluster, nrounds: int, on_step: OnStep) -> Writes:
    """Makes the tables and measures under each delay."""
    start_s = time.monotonic()
    on_step("filling the tables")
    writes_tables.make_tables(cluster)
    found: list[WayResult] = []
    for rtt_us in RTTS_US:
        with open_runner(cluster, rtt_us) as runner:
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
        ways=tuple(found),
        verdicts=tuple(judge(found, case, rtt_us) for rtt_us in RTTS_US for case in Case),
    )

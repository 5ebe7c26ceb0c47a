"""How long statements that write many rows take: ours, stock postgres_fdw, and on one node."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql
from rich.table import Table

from pgshuttle.base.errors import ToolError
from pgshuttle.base.printing import format_ms, format_way
from pgshuttle.bench import measure, results, tpcb, writes_tables
from pgshuttle.bench.making_tables import write
from pgshuttle.bench.measure import Session, WayResult
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.bench.writes_limits import LIMITS, Case, Line, Verdict, Way, judge
from pgshuttle.cluster import catalog
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.cluster.state import Cluster

NNODES = 3
RTTS_US = (0, 800, 90_000)
NROUNDS = 7
TPCB_MS = 400  # transactions of pgbench in a round, by what they take at least
NTPCB = 2  # and no fewer
NPINGS = 200
NPINGS_FAR = 10
STOCK_LIMIT_S = 20  # a row at a time over 90 ms takes a quarter of an hour

Ports = Mapping[Way, int]
Samples = dict[Way, list[float]]

# of their own tables; rolled back behind the measurement
STATEMENTS = {
    Case.UPDATE: "UPDATE {s}.item AS i SET n = f.n FROM {s}.few AS f WHERE f.id = i.id",
    Case.INSERT: "INSERT INTO {s}.item SELECT id, n, note FROM {s}.more",
    Case.COPY: "COPY {s}.item FROM STDIN",
    Case.DELETE: "DELETE FROM {s}.item AS i USING {s}.many AS m WHERE m.id = i.id",
}


@dataclass(frozen=True, kw_only=True)
class Writes(Run):
    nrounds: int
    lines: tuple[Line, ...]
    ways: tuple[WayResult, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def is_kept(self) -> bool:
        return all(verdict.is_kept for verdict in self.verdicts)


class Runner:
    """Writes under one delay, in sessions that stay open."""

    def __init__(
        self,
        here: Session,
        node: Session,
        lines: Sequence[Session],
        ports: Ports,
        build: ServerBuild,
    ) -> None:
        self.sessions = {Way.OURS: here, Way.STOCK: here, Way.NODE: node, Way.LINE: lines[0]}
        self.by_hand = {
            Case.ONE: tpcb.ByHand([line.connection for line in lines[:1]]),
            Case.TWO: tpcb.ByHand([line.connection for line in lines[:2]]),
        }
        self.ports = ports
        self.build = build

    def ping(self, way: Way) -> float:
        """Milliseconds of an empty statement, which is a round trip and nothing else."""
        return measure.time_ms(lambda: self.sessions[way].execute(b""))[0]

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
        statement = write(STATEMENTS[Case.COPY], schema)

        def send() -> None:
            with session.connection.cursor() as cursor, cursor.copy(statement) as copy:
                copy.write(writes_tables.copied_rows())

        return measure.time_ms(send)[0]

    def run_statement(self, case: Case, way: Way) -> float:
        session = self.sessions[way]
        schema = writes_tables.schema_of(way.name, "item")
        session.connection.execute("BEGIN")
        try:
            if case is Case.COPY:
                return self.copy(session, schema)
            return session.time(write(STATEMENTS[case], schema)).elapsed_ms
        finally:
            session.connection.execute("ROLLBACK")

    def run_tpcb(self, case: Case, way: Way, ntransactions: int) -> list[float]:
        """Runs transactions of pgbench; returns milliseconds of each."""
        if way is Way.HAND:
            return self.by_hand[case].run(ntransactions)
        schema = writes_tables.schema_of(way.name, case.name)
        return tpcb.run_pgbench(self.build, self.ports[way], schema, ntransactions)

    def run(self, case: Case, way: Way) -> float:
        """Runs a case once; the rows of the function, which inserts row by row, stay."""
        if case is not Case.FUNCTION:
            return self.run_statement(case, way)
        schema = writes_tables.schema_of(way.name, Case.ONE.name)
        return self.sessions[way].time(write("SELECT {s}.note()", schema)).elapsed_ms

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

    def sample_tpcb(self, case: Case, rtt_us: int, nrounds: int) -> Samples:
        """Runs pgbench by turns."""
        least_ms = 1 + tpcb.NTRIPS * rtt_us / 1000
        samples: Samples = {Way.OURS: [], Way.NODE: [], Way.LINE: [], Way.HAND: []}
        for _ in range(nrounds):
            for way in list(samples):
                count = TPCB_MS if way is Way.NODE else max(NTPCB, round(TPCB_MS / least_ms))
                samples[way] += self.run_tpcb(case, way, count)
        return samples | {Way.STOCK: self.run_tpcb(case, Way.STOCK, NTPCB)}

    def sample(self, case: Case, nrounds: int) -> Samples:
        """Runs a case by turns, after once for nothing; over postgres_fdw once."""
        turns = (Way.OURS, Way.NODE)
        samples = measure.take_turns(turns, nrounds, lambda way: self.run(case, way))
        stock_ms = self.run_limited(case)
        return samples | {Way.STOCK: [] if stock_ms is None else [stock_ms]}

    def run_case(self, case: Case, rtt_us: int, nrounds: int) -> list[WayResult]:
        if case in (Case.ONE, Case.TWO):
            samples = self.sample_tpcb(case, rtt_us, nrounds)
        else:
            samples = self.sample(case, nrounds)
        return [
            WayResult(str(case), str(way), rtt_us, measure.summarize(found) if found else None)
            for way, found in samples.items()
        ]


@contextmanager
def open_runner(cluster: Cluster, rtt_us: int) -> Iterator[Runner]:
    """Opens sessions: here under a delay, on the first node without one, on all with it."""
    with ExitStack() as stack:
        here = stack.enter_context(measure.open_delayed_session(cluster, rtt_us))
        first = cluster.nodes[0]
        node = Session(catalog.connect(first.server))
        stack.enter_context(node.connection)
        lines = [Session(line) for line in stack.enter_context(measure.open_lines(cluster))]
        for session in (node, *lines):
            session.connection.execute(f"SET statement_timeout = '{measure.STATEMENT_TIMEOUT_S}s'")
        ports = {
            Way.OURS: cluster.query.port,
            Way.STOCK: cluster.query.port,
            Way.NODE: first.server.port,
            Way.LINE: first.front.port,
        }
        yield Runner(here, node, lines, ports, cluster.build)


def run_writes(cluster: Cluster, nrounds: int, on_step: OnStep) -> Writes:
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
        **results.describe_run(cluster, start_s),
        nrounds=nrounds,
        lines=tuple(lines),
        ways=tuple(found),
        verdicts=tuple(judge(found, line, case) for line in lines for case in Case),
    )


HEAD = {
    "format": 1,
    "units": {
        "timing": "milliseconds of a statement, or of a transaction of TPC-B, seen by a client; "
        f"null: stopped after {STOCK_LIMIT_S} s",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "trip_ms": "milliseconds of a round trip, as a statement of the transaction, elsewhere an "
        "empty one, takes them more over the delay proxy than without it",
        "here_ms": "milliseconds of an empty statement on the query node",
        "limit_ms": "milliseconds that ours may take: a factor of the same on one node, "
        "without a delay, and round trips",
        "relay_ms": "milliseconds of the same by a client of the nodes themselves, and an empty "
        "statement on the query node for each that it is asked: handed on by hand",
    },
    "limits": {str(case): {"factor": factor, "ntrips": n} for case, (factor, n) in LIMITS.items()},
}


def make_tables(writes: Writes) -> list[Table]:
    """A row for each case and delay."""
    table = Table("RTT", "statement", "on one node", "shuttle", "limit", "kept")
    table.add_column("by hand")
    table.add_column("postgres_fdw")
    table.title = f"writing to storage nodes, medians of {writes.nrounds} rounds"
    for verdict in writes.verdicts:
        times_ms = measure.find_medians(writes.ways, verdict.case, verdict.rtt_us)
        table.add_row(
            f"{verdict.rtt_us / 1000:g} ms",
            verdict.case,
            format_ms(verdict.node_ms),
            format_ms(verdict.ours_ms),
            format_ms(verdict.limit_ms),
            "yes" if verdict.is_kept else "no",
            "" if verdict.relay_ms is None else format_ms(verdict.relay_ms),
            format_way(times_ms, Way.STOCK, STOCK_LIMIT_S),
        )
    return [table]

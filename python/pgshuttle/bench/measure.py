"""Timing queries as a client sees them."""

import contextlib
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import sql
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster, open_proxies
from pgshuttle.look import plan_facts

STATEMENT_TIMEOUT_S = 120
QUERY_CANCELED = b"57014"
LATE_CANCELS = 5  # that are waited out before a statement is taken as failed

Way = TypeVar("Way")
Sample = TypeVar("Sample")


@dataclass(frozen=True)
class Timing:
    samples_ms: tuple[float, ...]
    median_ms: float
    quartile_1_ms: float
    quartile_3_ms: float
    min_ms: float
    max_ms: float


def summarize(samples_ms: Sequence[float]) -> Timing:
    """Summarizes measurements; there must be at least one."""
    if len(samples_ms) > 1:
        quartiles = statistics.quantiles(samples_ms, n=4, method="inclusive")
    else:
        quartiles = [samples_ms[0]] * 3
    return Timing(
        samples_ms=tuple(round(sample, 4) for sample in samples_ms),
        median_ms=round(statistics.median(samples_ms), 4),
        quartile_1_ms=round(quartiles[0], 4),
        quartile_3_ms=round(quartiles[2], 4),
        min_ms=round(min(samples_ms), 4),
        max_ms=round(max(samples_ms), 4),
    )


@dataclass(frozen=True)
class WayResult:
    """One case of a bench, run in one way under one delay; timing None: it was stopped."""

    case: str
    way: str
    rtt_us: int
    timing: Timing | None


def find_medians(found: Sequence[WayResult], case: str, rtt_us: int) -> dict[str, float]:
    """Returns the median of each way to run a case under a delay, but of those stopped."""
    return {
        one.way: one.timing.median_ms
        for one in found
        if (one.case, one.rtt_us) == (case, rtt_us) and one.timing is not None
    }


def time_ms(action: Callable[[], Sample]) -> tuple[float, Sample]:
    """Returns the milliseconds that an action takes, and what it returns."""
    start_ns = time.perf_counter_ns()
    result = action()
    return (time.perf_counter_ns() - start_ns) / 1e6, result


def take_turns(
    ways: Iterable[Way], nrounds: int, run: Callable[[Way], Sample]
) -> dict[Way, list[Sample]]:
    """Runs all ways in turn, so often, after each ran once for nothing."""
    found: dict[Way, list[Sample]] = {way: [] for way in ways}
    for number in range(nrounds + 1):
        for way, samples in found.items():
            sample = run(way)
            if number > 0:
                samples.append(sample)
    return found


def check_result(result: PGresult, what: str) -> None:
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        message = result.error_message.decode(errors="replace").strip()
        raise ToolError(f"{what} failed: {message}")


def read_explained(result: PGresult) -> list[dict[str, Any]]:
    check_result(result, "EXPLAIN")
    lines = [result.get_value(row, 0) or b"" for row in range(result.ntuples)]
    found: list[dict[str, Any]] = json.loads(b"\n".join(lines))
    return found


@dataclass(frozen=True)
class Elapsed:
    """One execution: how long the client waited and how many rows it got."""

    elapsed_ms: float
    nrows: int


class Session:
    """One session of the query node that stays open, so that it is warm.

    Queries go through libpq itself, planned anew each time, and rows are not
    turned into Python's values: that would be most of the time.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._settings: Mapping[str, str] = {}

    def apply(self, settings: Mapping[str, str]) -> None:
        """Makes these settings, and no others, differ from their defaults."""
        if settings == self._settings:
            return
        self.connection.execute("RESET ALL")
        try:
            self.connection.execute(
                "SELECT set_config(s.name, s.value, false)"
                " FROM unnest(%s::text[], %s::text[]) AS s(name, value)",
                [list(settings), list(settings.values())],
            )
        except psycopg.Error as error:
            raise ToolError(f"a setting was refused: {error}".strip()) from None
        self._settings = dict(settings)

    def execute(self, statement: bytes) -> PGresult:
        """Executes a statement, and waits for its answer, which may be an error."""
        return self.connection.pgconn.exec_(statement)

    def time(self, query: sql.Composable) -> Elapsed:
        """Executes a query and fetches all of its rows."""
        text = query.as_bytes(self.connection)
        elapsed_ms, result = time_ms(lambda: self.connection.pgconn.exec_(text))
        check_result(result, "the query")
        return Elapsed(elapsed_ms, result.ntuples)

    def time_within(self, query: sql.Composable, limit_ms: float) -> Elapsed | None:
        """As time(), but stops the query after so long; None if it was stopped."""
        text = query.as_bytes(self.connection)
        self._limit_statements(f"{max(1, round(limit_ms))}ms")
        elapsed_ms, result = time_ms(lambda: self.connection.pgconn.exec_(text))
        self._limit_statements(f"{STATEMENT_TIMEOUT_S}s")
        if result.error_field(DiagnosticField.SQLSTATE) == QUERY_CANCELED:
            return None
        check_result(result, "the query")
        return Elapsed(elapsed_ms, result.ntuples)

    def _limit_statements(self, limit: str) -> None:
        """Sets the limit of the statements to come; a late cancel was not meant for this one."""
        statement = f"SET statement_timeout = '{limit}'".encode()
        for _ in range(LATE_CANCELS):
            result = self.execute(statement)
            if result.error_field(DiagnosticField.SQLSTATE) != QUERY_CANCELED:
                break
        check_result(result, "SET")

    def explain(self, query: sql.Composed, *, analyze: bool) -> plan_facts.PlanFacts:
        """Returns the facts of a query's plan. analyze: executes it, with counters."""
        options = "ANALYZE, DIST, FORMAT JSON" if analyze else "FORMAT JSON"
        return plan_facts.read_plan(self.explain_with(options, query))

    def explain_with(self, options: LiteralString, query: sql.Composed) -> list[dict[str, Any]]:
        """Returns what EXPLAIN with these options, JSON among them, answers."""
        statement = sql.SQL("EXPLAIN ({}) {}").format(sql.SQL(options), query)
        return read_explained(self.execute(statement.as_bytes(self.connection)))


def open_session(cluster: Cluster) -> Session:
    """Opens a session of the query node. Closing its connection is the caller's."""
    timeout = f"-c statement_timeout={STATEMENT_TIMEOUT_S}s"
    return Session(catalog.connect(cluster.query, options=timeout))


@contextmanager
def open_delayed_session(cluster: Cluster, rtt_us: int) -> Iterator[Session]:
    """Opens a session that has never known another delay; the cluster's comes back behind it."""
    with open_proxies(cluster) as line:
        line.set_rtt_us(rtt_us)
        session = open_session(cluster)
        with session.connection:
            catalog.forget_round_trips(session.connection)
            yield session


class ByHand:
    """The same join as someone would write it who has only libpq.

    The outer rows' keys go to the node of the inner side in one packet, as
    arrays of at most request_limit keys.
    """

    LOOK_UP = (
        b"SELECT k.ord, d.id, d.x FROM unnest($1::bigint[]) WITH ORDINALITY AS k(id, ord)"
        b" JOIN demo d ON d.id = k.id WHERE d.x = 0"
    )
    READ_OUTER = b"SELECT id, x FROM demo"

    def __init__(self, outer: Connection, inner: Connection, request_limit: int) -> None:
        self._outer = outer.pgconn
        self._inner = inner.pgconn
        self._request_limit = request_limit

    def look_up(self, keys: Sequence[bytes]) -> int:
        limit = self._request_limit
        arrays = [b"{" + b",".join(keys[i : i + limit]) + b"}" for i in range(0, len(keys), limit)]
        self._inner.enter_pipeline_mode()
        for array in arrays:
            self._inner.send_query_params(self.LOOK_UP, [array])
        self._inner.pipeline_sync()
        nrows = 0
        for _ in arrays:
            while (result := self._inner.get_result()) is not None:
                check_result(result, "the array query")
                nrows += result.ntuples
        self._inner.get_result()  # the answer of the sync
        self._inner.exit_pipeline_mode()
        return nrows

    def time_local(self, keys: Sequence[bytes]) -> Elapsed:
        """The outer side is here: its keys are known."""
        return Elapsed(*time_ms(lambda: self.look_up(keys)))

    def time_foreign(self) -> Elapsed:
        """The outer side is on another node and is read first."""

        def look_up_all() -> int:
            result = self._outer.exec_(self.READ_OUTER)
            check_result(result, "reading the outer side")
            return self.look_up([result.get_value(row, 0) or b"" for row in range(result.ntuples)])

        return Elapsed(*time_ms(look_up_all))


@contextmanager
def open_lines(cluster: Cluster) -> Iterator[list[Connection]]:
    """Opens sessions of all storage nodes, through their proxies."""
    with contextlib.ExitStack() as stack:
        lines = []
        for node in cluster.nodes:
            dsn = catalog.write_dsn(node.server, host="127.0.0.1", port=str(node.front.port))
            line = connections.connect_to(dsn, f"pgshuttle by hand {node.server.name}")
            lines.append(stack.enter_context(line))
        yield lines

"""One run: many cases on one server, counted; failures are made smaller and told."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testrun.cluster import Cluster, temporary_cluster
from testrun.installed import Installed, run_directory
from testrun.outcome import crashes

from randomqueries.cases import make_case
from randomqueries.checking import Case, Verdict, check, explain
from randomqueries.plans import most_batches
from randomqueries.report import failure_lines
from randomqueries.schema import make_schema
from randomqueries.session import Session, SqlError
from randomqueries.shrinking import shrink, smaller_cases
from randomqueries.tables import Table, make_tables
from randomqueries.writes import TABLES as WRITTEN

RESTART_LIMIT_S = 60.0
BATCHED_SHARE = 0.6  # of all queries; see Counts
SEVERAL_SHARE = 0.2
SKIPPED_SHARE = 0.03
FEW = 100  # queries: with less of them shares say nothing
# Servers with assertions look through all memory of a session again and again.
SESSION_QUERIES = 80
SPOILED_TRIES = 4  # a case with random guesses fails now and then

SYSTEM = """
ALTER SYSTEM SET autovacuum = off;
ALTER SYSTEM SET jit = off;
SELECT pg_reload_conf();
"""
START = """
LOAD 'auto_explain';
SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off;
SET auto_explain.log_format = json; SET auto_explain.log_level = notice;
SET auto_explain.log_min_duration = -1;
SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Europe/Vienna'; SET max_parallel_workers_per_gather = 1;
"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for."""

    seed: int
    first: int
    count: int
    most_failures: int
    shrink: bool = True


@dataclass
class Counts:
    """What came out: queries compared, skipped, with a batched join, with several batches."""

    compared: int = 0
    batched: int = 0
    several: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    first_failure: int | None = None
    elapsed_s: float = 0.0

    def add(self, verdict: Verdict) -> None:
        if verdict.skipped is not None:
            self.skipped[verdict.skipped] = self.skipped.get(verdict.skipped, 0) + 1
            return
        self.compared += 1
        batches = most_batches(verdict.found.plans) if verdict.found else 0
        self.batched += batches > 0
        self.several += batches > 1

    @property
    def enough(self) -> bool:
        """Did as many queries run a batched join as the comparison needs to mean something."""
        if self.compared < FEW:
            return True
        return (
            self.batched >= BATCHED_SHARE * self.compared
            and self.several >= SEVERAL_SHARE * self.compared
            and sum(self.skipped.values()) <= SKIPPED_SHARE * self.compared
        )

    def line(self) -> str:
        share = 100 / max(self.compared, 1)
        return (
            f"{self.compared} queries compared, {self.batched * share:.0f} % with a batched join, "
            f"{self.several * share:.0f} % with more than one batch, "
            f"{sum(self.skipped.values())} skipped, {self.failures} failed, {self.elapsed_s:.0f} s"
        )


@dataclass
class Tester:
    """The server of a run, and what is known of it."""

    cluster: Cluster
    wanted: Wanted
    say: Say
    tables: tuple[Table, ...] = ()
    counts: Counts = field(default_factory=Counts)
    crash_lines: int = 0

    def connect(self) -> None:
        env = self.cluster.environment()
        self.session = Session(env["PGHOST"], self.cluster.port, env["PGUSER"], "postgres")
        self.session.connect()

    def prepare(self) -> None:
        self.connect()
        for statement in SYSTEM.strip().splitlines():
            self.session.run(statement)
        self.tables = make_tables(self.wanted.seed)
        make_schema(self.session, self.tables, self.wanted.seed)
        self.session.close()
        self.reconnect()

    def reconnect(self) -> None:
        """Waits for a server that crashed."""
        deadline = time.monotonic() + RESTART_LIMIT_S
        while True:
            with contextlib.suppress(SqlError):
                self.connect()
                self.session.run(START)
                return
            if time.monotonic() > deadline:
                raise SqlError("lost", "the server did not come back")
            time.sleep(0.2)

    def begin_session(self) -> None:
        """A new one; what writes left behind goes."""
        self.session.close()
        self.reconnect()
        tables = ", ".join(f"{schema}.{name}" for name in WRITTEN for schema in ("local", "remote"))
        self.session.run(f"VACUUM {tables}")

    def check(self, case: Case) -> Verdict:
        verdict = check(self.session, case)
        if verdict.is_lost:
            self.session.close()
            self.reconnect()
        return verdict

    def still_fails(self, case: Case) -> bool:
        tries = SPOILED_TRIES if "shuttle.debug_spoil_look_ahead" in case.settings else 1
        return any(self.check(case).problem is not None for _ in range(tries))

    def new_crashes(self) -> list[str]:
        """Lines of the server log that no healthy run has, and that were not told yet."""
        lines = crashes(self.cluster.log, [])
        new, self.crash_lines = lines[self.crash_lines :], len(lines)
        return new

    def tell_failure(self, case: Case, verdict: Verdict) -> None:
        self.counts.failures += 1
        if self.counts.first_failure is None:
            self.counts.first_failure = case.number
        crash = self.new_crashes()
        if self.wanted.shrink:
            case = shrink(case, self.still_fails, smaller_cases)
            again = self.check(case)
            verdict = again if again.problem is not None else verdict
        plans = verdict.found.plans if verdict.found else []
        if not plans and not verdict.is_lost:
            plans = explain(self.session, case)
        for line in failure_lines(self.wanted.seed, case, verdict.problem, plans):
            self.say(line)
        for line in crash:
            self.say(f"  server log: {line}")
        self.new_crashes()

    def run(self) -> Counts:
        started = time.monotonic()
        self.prepare()
        for number in range(self.wanted.first, self.wanted.first + self.wanted.count):
            if number % SESSION_QUERIES == 0:
                self.begin_session()
            case = make_case(self.wanted.seed, number, self.tables)
            verdict = self.check(case)
            self.counts.add(verdict)
            if verdict.problem is not None:
                self.tell_failure(case, verdict)
            if self.counts.failures >= self.wanted.most_failures:
                break
        self.session.close()
        self.counts.elapsed_s = time.monotonic() - started
        return self.counts


@contextlib.contextmanager
def server(installed: Installed) -> Iterator[tuple[Cluster, Path]]:
    """A server for one run, and the directory that holds its files."""
    base = run_directory()
    with temporary_cluster(installed, base) as cluster:
        yield cluster, base

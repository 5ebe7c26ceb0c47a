"""One run: many transactions on one server, counted; failures are made smaller and told."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from randomqueries.session import SqlError
from randomqueries.shrinking import shrink
from randomqueries.tester import RESTART_LIMIT_S, Wanted
from testrun.cluster import Cluster
from testrun.outcome import crashes

from randomwrites.cases import Case, make_case
from randomwrites.comparing import problem_of, skipped_because
from randomwrites.report import failure_lines
from randomwrites.running import Run, Runner
from randomwrites.session import WriteSession
from randomwrites.shrinking import smaller_cases
from randomwrites.world import DATABASES, FAR, PLAIN, make_world

SESSION_CASES = 60
SKIPPED_SHARE = 0.02
FEW = 100  # transactions: with less of them shares say nothing
BROKEN_SHARE = 0.5  # of all that may end in an error
SPOILED_TRIES = 4
OLD_AND_NEW = 180000  # the version from which on RETURNING has both

SYSTEM = """
ALTER SYSTEM SET autovacuum = off;
ALTER SYSTEM SET jit = off;
ALTER SYSTEM SET max_parallel_workers_per_gather = 0;
SELECT pg_reload_conf();
"""

Say = Callable[[str], None]


@dataclass
class Counts:
    """What came out: transactions compared, skipped; statements; those that failed on purpose."""

    compared: int = 0
    statements: int = 0
    errors: int = 0
    aborted: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    first_failure: int | None = None
    elapsed_s: float = 0.0

    def add(self, expected: Run) -> None:
        self.compared += 1
        self.statements += len(expected.sent)
        errors = sum(sent.outcome.error is not None for sent in expected.sent)
        self.errors += errors
        self.aborted += expected.sent[-1].outcome.tag == "ROLLBACK" and errors > 0

    @property
    def enough(self) -> bool:
        """Have as many transactions come to their end as the comparison needs to mean something."""
        if self.compared < FEW:
            return True
        return (
            self.aborted <= BROKEN_SHARE * self.compared
            and sum(self.skipped.values()) <= SKIPPED_SHARE * self.compared
        )

    def line(self) -> str:
        return (
            f"{self.compared} transactions of {self.statements} statements compared, "
            f"{self.errors} errors in them, {sum(self.skipped.values())} skipped, "
            f"{self.failures} failed, {self.elapsed_s:.0f} s"
        )


@dataclass
class Tester:
    """The server of a run."""

    cluster: Cluster
    wanted: Wanted
    say: Say
    counts: Counts = field(default_factory=Counts)
    crash_lines: int = 0

    def session(self, database: str) -> WriteSession:
        env = self.cluster.environment()
        session = WriteSession(env["PGHOST"], self.cluster.port, env["PGUSER"], database)
        session.connect()
        return session

    def prepare(self) -> None:
        first = self.session("postgres")
        for statement in SYSTEM.strip().splitlines():
            first.run(statement)
        for database in DATABASES:
            first.run(f"CREATE DATABASE {database}")
        first.close()
        self.connect()
        make_world(dict(self.runner.sessions), self.wanted.seed)

    def connect(self) -> None:
        """Waits for a server that crashed."""
        deadline = time.monotonic() + RESTART_LIMIT_S
        while True:
            with contextlib.suppress(SqlError):
                self.runner = Runner({name: self.session(name) for name in DATABASES})
                return
            if time.monotonic() > deadline:
                raise SqlError("lost", "the server did not come back")
            time.sleep(0.2)

    def knows_old_and_new(self) -> bool:
        return self.runner.sessions[PLAIN].connection.server_version >= OLD_AND_NEW

    def reconnect(self) -> None:
        for session in self.runner.sessions.values():
            session.close()
        self.connect()

    def check(self, case: Case) -> tuple[str | None, Run, Run]:
        """Both sides of a case, and what differs."""
        expected = self.runner.run(PLAIN, case)
        found = Run(broken=expected.broken) if expected.broken else self.runner.run(FAR, case)
        problem = problem_of(expected, found)
        if found.is_lost or expected.is_lost:
            self.reconnect()
        if case.end != "ROLLBACK" or problem is not None:
            self.runner.reset()
        return problem, expected, found

    def still_fails(self, case: Case) -> bool:
        tries = SPOILED_TRIES if "shuttle.debug_spoil_look_ahead" in case.settings else 1
        for _ in range(tries):
            problem, expected, _ = self.check(case)
            if problem is not None and skipped_because(expected) is None:
                return True
        return False

    def new_crashes(self) -> list[str]:
        """Lines of the server log that no healthy run has, and that were not told yet."""
        lines = crashes(self.cluster.log, [])
        new, self.crash_lines = lines[self.crash_lines :], len(lines)
        return new

    def tell_failure(self, case: Case, problem: str, found: Run) -> None:
        self.counts.failures += 1
        if self.counts.first_failure is None:
            self.counts.first_failure = case.number
        crash = self.new_crashes()
        if self.wanted.shrink:
            case = shrink(case, self.still_fails, smaller_cases)
            again, _, found_again = self.check(case)
            problem, found = (again, found_again) if again is not None else (problem, found)
        for line in failure_lines(self.wanted.seed, case, problem, found):
            self.say(line)
        for line in crash:
            self.say(f"  server log: {line}")
        self.new_crashes()

    def run(self) -> Counts:
        started = time.monotonic()
        self.prepare()
        for number in range(self.wanted.first, self.wanted.first + self.wanted.count):
            if number % SESSION_CASES == 0:
                self.reconnect()
            case = make_case(self.wanted.seed, number, self.knows_old_and_new())
            problem, expected, found = self.check(case)
            skipped = skipped_because(expected)
            if skipped is not None:
                self.counts.skipped[skipped] = self.counts.skipped.get(skipped, 0) + 1
                continue
            self.counts.add(expected)
            if problem is not None:
                self.tell_failure(case, problem, found)
            if self.counts.failures >= self.wanted.most_failures:
                break
        self.counts.elapsed_s = time.monotonic() - started
        return self.counts

"""One run of a tool that tries random cases: counted, and failures made smaller and told."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from lib.randomqueries.session import Session, SqlError
from lib.testrun.cluster import Cluster, temporary_cluster
from lib.testrun.installed import Installed, run_directory
from lib.testrun.outcome import crashes

RESTART_LIMIT_S = 60.0
SHRINK_LIMIT_S = 60.0
FEW = 100  # cases: with less of them shares say nothing
SPOILED_TRIES = 4  # a case with random guesses fails now and then
# Plans of a case are the same each time; sessions that want workers say so.
SERVER_SETTINGS = """
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
"""

FORCED = "shuttle.debug_force_batched_join"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Case(ABC):
    """What is tried. settings: of the side that is compared with local tables."""

    number: int
    settings: dict[str, str]

    @abstractmethod
    def smaller(self) -> Iterator[Self]:
        """Cases with one thing less."""

    def with_batched_joins(self, wanted: str | None) -> Self:
        """The case with batched joins forced or chosen; None: as they were drawn."""
        if wanted is None:
            return self
        settings = {k: v for k, v in self.settings.items() if k != FORCED}
        return replace(self, settings=settings | ({FORCED: "on"} if wanted == "forced" else {}))

    def with_fewer_settings(self) -> Iterator[Self]:
        for name in self.settings:
            yield replace(self, settings={k: v for k, v in self.settings.items() if k != name})


AnswerT = TypeVar("AnswerT")
CaseT = TypeVar("CaseT", bound=Case)
SessionT = TypeVar("SessionT", bound=Session)


@dataclass(frozen=True)
class Verdict(Generic[AnswerT]):
    """Both sides of a case, and what is wrong; skipped: why nothing was compared."""

    problem: str | None
    skipped: str | None
    expected: AnswerT
    found: AnswerT


@dataclass(frozen=True)
class Wanted:
    seed: int
    first: int
    count: int
    most_failures: int
    tablets: bool = False  # distributed tables only
    batched_joins: str | None = None  # forced or chosen in all cases; None: as drawn
    seconds: float | None = None  # no case begins after that time; None: all do

    def options(self) -> str:
        """What makes the same cases again, beside their numbers."""
        joins = f" --batched-joins {self.batched_joins}" if self.batched_joins else ""
        return (" --tablets" if self.tablets else "") + joins


@dataclass
class Counts(ABC, Generic[AnswerT]):
    """What came out of a run."""

    most_skipped: ClassVar[float]  # of those that were compared

    compared: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    elapsed_s: float = 0.0

    def add(self, verdict: Verdict[AnswerT]) -> None:
        if verdict.skipped is not None:
            self.skipped[verdict.skipped] += 1
            return
        self.compared += 1
        self.look_at(verdict)

    @abstractmethod
    def look_at(self, verdict: Verdict[AnswerT]) -> None:
        """Counts more of what was compared."""

    @abstractmethod
    def means_something(self) -> bool:
        """Did enough cases do what the comparison is about."""

    @abstractmethod
    def shares(self) -> str:
        """What was compared, in words."""

    @property
    def enough(self) -> bool:
        if self.compared < FEW:
            return True
        return self.means_something() and self.skipped.total() <= self.most_skipped * self.compared

    def line(self) -> str:
        return (
            f"{self.shares()}, {self.skipped.total()} skipped, "
            f"{self.failures} failed, {self.elapsed_s:.0f} s"
        )


class Tester(ABC, Generic[CaseT, AnswerT]):
    """The server of a run, and what is known of it."""

    tool: ClassVar[str]
    one: ClassVar[str]  # what a case is called
    several: ClassVar[str]
    usual_count: ClassVar[int]
    session_cases: ClassVar[int]  # after so many, sessions are new

    def __init__(self, cluster: Cluster, wanted: Wanted, say: Say) -> None:
        self.cluster = cluster
        self.wanted = wanted
        self.say = say
        self.counts = self.make_counts()
        self.crash_lines = 0

    @abstractmethod
    def make_counts(self) -> Counts[AnswerT]: ...

    @abstractmethod
    def prepare(self) -> None:
        """Makes tables and sessions."""

    @abstractmethod
    def connect(self) -> None:
        """Makes all sessions; fails if the server is not there."""

    @abstractmethod
    def begin_session(self) -> None:
        """Takes new sessions."""

    @abstractmethod
    def make_case(self, number: int) -> CaseT: ...

    @abstractmethod
    def check(self, case: CaseT) -> Verdict[AnswerT]:
        """Runs a case on both sides."""

    @abstractmethod
    def failure_lines(self, case: CaseT, verdict: Verdict[AnswerT]) -> Iterable[str]:
        """All that is needed to see a failure again."""

    def open_session(self, kind: type[SessionT], database: str = "postgres") -> SessionT:
        env = self.cluster.environment()
        session = kind(env["PGHOST"], self.cluster.port, env["PGUSER"], database)
        session.connect()
        return session

    def reconnect(self) -> None:
        """Waits for a server that crashed."""
        deadline = time.monotonic() + RESTART_LIMIT_S
        while True:
            with contextlib.suppress(SqlError):
                self.connect()
                return
            if time.monotonic() > deadline:
                raise SqlError("lost", "the server did not come back")
            time.sleep(0.2)

    def still_fails(self, case: CaseT) -> bool:
        tries = SPOILED_TRIES if "shuttle.debug_spoil_look_ahead" in case.settings else 1
        return any(self.check(case).problem is not None for _ in range(tries))

    def shrink(self, case: CaseT) -> CaseT:
        """The smallest case found that still fails."""
        deadline = time.monotonic() + SHRINK_LIMIT_S
        found = True
        while found:
            found = False
            for less in case.smaller():
                if time.monotonic() > deadline:
                    return case
                if self.still_fails(less):
                    case, found = less, True
                    break
        return case

    def new_crashes(self) -> list[str]:
        """Lines of the server log that no healthy run has, and that were not told yet."""
        lines = crashes(self.cluster.log, [])
        new, self.crash_lines = lines[self.crash_lines :], len(lines)
        return new

    def tell_failure(self, case: CaseT, verdict: Verdict[AnswerT]) -> None:
        self.counts.failures += 1
        crash = self.new_crashes()
        case = self.shrink(case)
        smaller = self.check(case)
        verdict = smaller if smaller.problem is not None else verdict
        again = f"--seed {self.wanted.seed} --first {case.number} --count 1"
        self.say(f"FAILED: {self.one} {case.number} of seed {self.wanted.seed}")
        self.say(f"  again: tools/{self.tool} {again}{self.wanted.options()}")
        self.say(f"  problem: {verdict.problem}")
        for line in self.failure_lines(case, verdict):
            self.say(line)
        for line in crash:
            self.say(f"  server log: {line}")
        self.new_crashes()

    def is_late(self, started: float) -> bool:
        limit = self.wanted.seconds
        return limit is not None and time.monotonic() - started > limit

    def run(self) -> Counts[AnswerT]:
        started = time.monotonic()
        self.prepare()
        for number in range(self.wanted.first, self.wanted.first + self.wanted.count):
            if number % self.session_cases == 0:
                self.begin_session()
            case = self.make_case(number).with_batched_joins(self.wanted.batched_joins)
            verdict = self.check(case)
            self.counts.add(verdict)
            if verdict.problem is not None:
                self.tell_failure(case, verdict)
            if self.counts.failures >= self.wanted.most_failures or self.is_late(started):
                break
        self.counts.elapsed_s = time.monotonic() - started
        return self.counts


AnyTester = Tester[Any, Any]


@contextlib.contextmanager
def server(installed: Installed) -> Iterator[tuple[Cluster, Path]]:
    """A server for one run, and the directory that holds its files."""
    base = run_directory()
    with temporary_cluster(installed, base, SERVER_SETTINGS) as cluster:
        yield cluster, base

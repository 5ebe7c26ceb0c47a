"""Many random transactions on one server."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from randomqueries import runs
from testrun.cluster import Cluster

from randomwrites.cases import Case, make_case
from randomwrites.comparing import problem_of, skipped_because
from randomwrites.report import failure_lines
from randomwrites.running import Run, Runner
from randomwrites.session import WriteSession
from randomwrites.shrinking import smaller_cases
from randomwrites.tables import TABLETS
from randomwrites.world import DATABASES, FAR, PLAIN, make_world

BROKEN_SHARE = 0.5  # of all that may end in an error
OLD_AND_NEW = 180000  # the version from which on RETURNING has both


@dataclass(frozen=True)
class Verdict:
    """Both sides of a case, and what differs."""

    problem: str | None
    skipped: str | None
    expected: Run
    found: Run


@dataclass
class Counts(runs.Counts[Verdict]):
    """Transactions compared; statements; those that failed on purpose."""

    most_skipped = 0.02

    statements: int = 0
    errors: int = 0
    aborted: int = 0

    def look_at(self, verdict: Verdict) -> None:
        sent = verdict.expected.sent
        self.statements += len(sent)
        errors = sum(one.outcome.error is not None for one in sent)
        self.errors += errors
        self.aborted += sent[-1].outcome.tag == "ROLLBACK" and errors > 0

    def means_something(self) -> bool:
        return self.aborted <= BROKEN_SHARE * self.compared

    def shares(self) -> str:
        return (
            f"{self.compared} transactions of {self.statements} statements compared, "
            f"{self.errors} errors in them"
        )


class Tester(runs.Tester[Case, Verdict]):
    """A session on each side and on each node."""

    session_cases = 60
    one = "transaction"
    tool = "random_writes"

    def __init__(self, cluster: Cluster, wanted: runs.Wanted, say: runs.Say) -> None:
        super().__init__(cluster, wanted, say, Counts())

    def prepare(self) -> None:
        first = self.open_session(WriteSession)
        for database in DATABASES:
            first.run(f"CREATE DATABASE {database}")
        first.close()
        self.reconnect()
        make_world(dict(self.runner.sessions), self.wanted.seed)

    def connect(self) -> None:
        self.runner = Runner({name: self.open_session(WriteSession, name) for name in DATABASES})

    def begin_session(self) -> None:
        for session in self.runner.sessions.values():
            session.close()
        self.reconnect()

    def make_case(self, number: int) -> Case:
        version = self.runner.sessions[PLAIN].connection.server_version
        both = version >= OLD_AND_NEW
        return make_case(self.wanted.seed, number, both, self.wanted.tablets)

    def check(self, case: Case) -> Verdict:
        expected = self.runner.run(PLAIN, case)
        far = TABLETS if case.tablets else FAR
        found = Run(broken=expected.broken) if expected.broken else self.runner.run(far, case)
        problem = problem_of(expected, found)
        if found.is_lost or expected.is_lost:
            self.begin_session()
        if case.end != "ROLLBACK" or problem is not None:
            self.runner.reset(case.tablets)
        skipped = skipped_because(expected, case.tablets)
        return Verdict(None if skipped else problem, skipped, expected, found)

    def smaller_cases(self, case: Case) -> Iterator[Case]:
        return smaller_cases(case)

    def failure_lines(self, case: Case, verdict: Verdict) -> Iterable[str]:
        return failure_lines(case, verdict.found)

"""Many random transactions on one server."""

from collections.abc import Iterator
from dataclasses import dataclass

from lib.randomqueries import runs
from lib.randomwrites.cases import Case, make_case
from lib.randomwrites.comparing import is_given_up, problem_of, skipped_because
from lib.randomwrites.running import WRITER, Run, Runner, text_of
from lib.randomwrites.session import WriteSession
from lib.randomwrites.tables import CLERK, TABLETS
from lib.randomwrites.world import DATABASES, FAR, PLAIN, make_world

BROKEN_SHARE = 0.5  # of all that may end in an error
OLD_AND_NEW = 180000  # the version from which on RETURNING has both

Verdict = runs.Verdict[Run]


@dataclass
class Counts(runs.Counts[Run]):
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


class Tester(runs.Tester[Case, Run]):
    """A session on each side and on each node."""

    session_cases = 60
    tool, one, several = "random_writes", "transaction", "transactions"
    usual_count = 1000

    def make_counts(self) -> Counts:
        return Counts()

    def prepare(self) -> None:
        first = self.open_session(WriteSession)
        first.run(f"CREATE ROLE {CLERK}")
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
        if skipped is None and is_given_up(case.settings, found):
            skipped = "a connection was given up, with strict_savepoints off"
        return Verdict(None if skipped else problem, skipped, expected, found)

    def failure_lines(self, case: Case, verdict: Verdict) -> Iterator[str]:
        """A script for both sides."""
        yield "  on both sides:"
        yield "    CREATE SCHEMA c;"
        for sql in case.routines:
            yield f"    {WRITER.write(sql)};"
        isolation = f" ISOLATION LEVEL {case.isolation}" if case.isolation else ""
        if case.end:
            yield f"    BEGIN{isolation};"
        word = "SET LOCAL" if case.end else "SET"
        for name, value in case.settings.items():
            yield f"    {word} {name} = '{value}';  -- far side"
        if case.role:
            yield f"    {word} ROLE {case.role};"
        if not verdict.found.sent:
            for step in case.steps:
                yield f"    {text_of(step)};"
            return
        for sent in verdict.found.sent:
            yield f"    {sent.sql};"
            yield from (f"    {line}" for line in sent.step.rows if sent.sql.startswith("COPY"))
            if sent.outcome.error:
                yield f"      -- {sent.outcome.message}"

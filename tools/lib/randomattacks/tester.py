"""Many random attacks on one server."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lib.randomattacks.session import AttackSession, Outcome
from lib.randomattacks.statements import Step, make_steps
from lib.randomattacks.world import (
    DATABASES,
    FAR,
    MARKER,
    OPEN,
    PART,
    PLAIN,
    READER,
    TABLES,
    make_world,
)
from lib.randomqueries import runs
from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Side, smaller
from lib.randomqueries.session import Row
from lib.randomqueries.settings import random_settings

LIMIT_MS = 20000
NOT_ALLOWED = "42501"
DUPLICATE = "23505"
REFUSED = "0A000"  # what is not done tells nothing
WRONG = ("42", "0A")  # on the plain side: no statement at all
REFUSED_BY_POLICY = "42501"
REFUSED_SHARE = 0.25
DEBUG_SHARE = 0.1
LOUD_SHARE = 0.3  # of the attacks, told the reader of rows that he may see
WRITER = Side(lambda _place: "", lambda argument: argument.values[0])


@dataclass(frozen=True)
class Case(runs.Case):
    steps: Step

    def smaller(self) -> Iterator["Case"]:
        yield from self.with_fewer_settings()
        for i in range(len(self.steps)):
            yield replace(self, steps=self.steps[:i] + self.steps[i + 1 :])
        for i, step in enumerate(self.steps):
            for less in smaller(step):
                yield replace(self, steps=(*self.steps[:i], less, *self.steps[i + 1 :]))


@dataclass
class Run:
    """What a case did on one side; rows: of the tables then, all of them."""

    sent: list[tuple[str, Outcome]] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def is_lost(self) -> bool:
        return any(outcome.is_lost for _, outcome in self.sent)

    @property
    def sqlstate(self) -> str:
        return self.sent[-1][1].sqlstate if self.sent else "00000"


Verdict = runs.Verdict[Run]


@dataclass
class Counts(runs.Counts[Run]):
    most_skipped = 0.1

    refused: int = 0
    loud: int = 0
    errors: int = 0

    def look_at(self, verdict: Verdict) -> None:
        self.refused += verdict.found.sqlstate == REFUSED
        self.errors += verdict.expected.sqlstate != "00000"
        self.loud += any(outcome.told for _, outcome in verdict.found.sent)

    def means_something(self) -> bool:
        loud = self.loud >= LOUD_SHARE * self.compared
        return loud and self.refused <= REFUSED_SHARE * self.compared

    def shares(self) -> str:
        return (
            f"{self.compared} attacks compared, {self.loud} of them told of something,"
            f" {self.errors} failed on both sides, {self.refused} were refused"
        )


def is_exact(sql: str) -> bool:
    """True if no row is taken at random."""
    return not any(word in sql for word in ("LIMIT", "FETCH", "MOVE"))


def shown_marker(expected: Run, run: Run) -> str | None:
    """A hidden value that PostgreSQL itself does not show.

    It evaluates the WHERE of ON CONFLICT DO UPDATE before it checks that the row may be changed,
    until late minor releases.
    """
    theirs = {
        line for _, outcome in expected.sent for told in outcome.told for line in told.splitlines()
    }
    for sql, outcome in run.sent:
        for told in outcome.told:
            # our own constants come back in plans and contexts
            own = [line for line in told.splitlines() if line not in theirs]
            if MARKER.search("\n".join(own)) and "'HIDDEN'" not in sql:
                return f"shows {told[:300]!r}"
    return None


def is_checked_first(run: Run, expected: Outcome, found: Outcome) -> bool:
    """True if we refuse with 42501 what PostgreSQL checks later, or not at all.

    It checks the row that conflicts behind WHERE, until late minor releases, and no privileges of
    a table of which the planner proves that it gives no row. The text may be that of a PREPARE.
    """
    is_other = found.sqlstate == NOT_ALLOWED != expected.sqlstate
    return is_other and any(
        PART in sql or ("DO UPDATE" in sql and "WHERE" in sql) for sql, _ in run.sent
    )


def is_of_another_row(run: Run, expected: Outcome, found: Outcome) -> bool:
    """True if rows of a query, which has no order, fail by a key and by a policy."""
    both = {expected.sqlstate, found.sqlstate} == {NOT_ALLOWED, DUPLICATE}
    return both and any("INSERT" in sql and "SELECT" in sql for sql, _ in run.sent)


def problem_of(expected: Run, found: Run) -> str | None:
    shown = shown_marker(expected, found)
    if shown is not None:
        return shown
    for (sql, one), (_, other) in zip(expected.sent, found.sent, strict=False):
        if other.sqlstate == REFUSED:
            return None
        if is_checked_first(found, one, other) or is_of_another_row(found, one, other):
            return None
        exact = is_exact(sql)
        same = one.summary(exact) == other.summary(exact)
        if any(word in sql for word in ("EXPLAIN", "pg_stats")):  # not the same by nature
            same = one.sqlstate == other.sqlstate
        if not same:
            return (
                f"{other.sqlstate} {other.tag} instead of {one.sqlstate} {one.tag};"
                f" told {other.told[-3:]}; expected {one.told[-3:]}"
            )
    for table, rows in expected.rows.items():
        if rows != found.rows.get(table, rows):
            return f"other rows of {table} afterwards"
    return None


class Tester(runs.Tester[Case, Run]):
    """A session on each side, of a superuser who is the reader while an attack runs."""

    session_cases = 80
    tool, one, several = "random_attacks", "attack", "attacks"
    usual_count = 1000

    def make_counts(self) -> Counts:
        return Counts()

    def prepare(self) -> None:
        first = self.open_session(AttackSession)
        for database in DATABASES:
            first.run(f"CREATE DATABASE {database}")
        first.close()
        self.reconnect()
        make_world(dict(self.sessions), self.wanted.seed)
        self.begin_session()

    def connect(self) -> None:
        self.sessions = {name: self.open_session(AttackSession, name) for name in DATABASES}

    def begin_session(self) -> None:
        for session in self.sessions.values():
            session.close()
        self.reconnect()

    def make_case(self, number: int) -> Case:
        dice = Dice(self.wanted.seed, "attack", number)
        settings = random_settings(dice)
        if dice.chance(DEBUG_SHARE):
            settings["client_min_messages"] = "debug1"
        return Case(number, settings, make_steps(dice))

    def run_side(self, side: str, case: Case) -> Run:
        session = self.sessions[side]
        settings = {"statement_timeout": str(LIMIT_MS)} | (case.settings if side == FAR else {})
        isolation = settings.pop("transaction_isolation", "read committed")
        lines = [f"SET LOCAL {name} = '{value}'" for name, value in settings.items()]
        begin = [f"BEGIN ISOLATION LEVEL {isolation}", *lines, f"SET LOCAL ROLE {READER}"]
        session.run("; ".join(begin))
        found = Run()
        for step in case.steps:
            sql = WRITER.write(step)
            outcome = session.outcome(sql)
            found.sent.append((sql, outcome))
            if outcome.sqlstate != "00000":
                break
        if found.is_lost:
            return found
        if found.sqlstate == "00000":
            session.run("RESET ROLE")
            for table in (*TABLES, OPEN):
                found.rows[table] = session.run(f"SELECT * FROM {table} ORDER BY id")
        session.run("ROLLBACK; DEALLOCATE ALL")
        return found

    def check(self, case: Case) -> Verdict:
        expected = self.run_side(PLAIN, case)
        found = self.run_side(FAR, case)
        if found.is_lost or expected.is_lost:
            self.begin_session()
        skipped = None
        if expected.sqlstate.startswith(WRONG) and expected.sqlstate != REFUSED_BY_POLICY:
            skipped = f"{expected.sqlstate} {expected.sent[-1][1].told[-1:]}"
        problem = shown_marker(expected, found) if skipped else problem_of(expected, found)
        return Verdict(problem, None if problem else skipped, expected, found)

    def failure_lines(self, case: Case, verdict: Verdict) -> Iterator[str]:
        for name, value in case.settings.items():
            yield f"    SET {name} = '{value}';"
        for side, run in (("plain", verdict.expected), ("far", verdict.found)):
            yield f"  {side}:"
            for sql, outcome in run.sent:
                yield f"    {sql};"
                yield f"      -- {outcome.sqlstate} {outcome.tag} {outcome.rows[:6]}"
                yield from (f"      -- {told}" for told in outcome.told[:6])

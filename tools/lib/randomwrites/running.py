"""Runs one transaction on each side."""

import re
from dataclasses import dataclass, field, replace

from lib.randomqueries.fragments import Place, Side
from lib.randomqueries.session import Row, SqlError
from lib.randomwrites.cases import Case
from lib.randomwrites.context import Step
from lib.randomwrites.session import Outcome, WriteSession
from lib.randomwrites.tables import COLUMNS, TABLES, TABLETS, leaves_on
from lib.randomwrites.world import FAR, NODES, PLAIN

LIMIT_MS = 20000
FIRST_NUMBER = 5000  # of the sequence
NO_ROUTINES = "DROP SCHEMA c CASCADE; CREATE SCHEMA c; GRANT ALL ON SCHEMA c TO PUBLIC"
# Keys have the names of tablets, and on the plain side of partitions.
PART_OF_KEY = re.compile(r"(_t\d+|(?<=\b[hr])\d)(?=_pkey)")
PARTS = "row(arr, js, comp, dom)::text"
NUMBERS = 100  # of the sequence for each statement, behind one that failed


def no_table(_place: Place) -> str:
    raise AssertionError("the tables of both sides have the same names")


WRITER = Side(no_table, lambda argument: argument.values[0])


def text_of(step: Step) -> str:
    return WRITER.write(step.sql)


def without_parts(outcome: Outcome) -> Outcome:
    error = outcome.error
    if error is not None:
        error = error[0], PART_OF_KEY.sub("", error[1])
    notices = tuple(PART_OF_KEY.sub("", notice) for notice in outcome.notices)
    return replace(outcome, error=error, notices=notices)


@dataclass(frozen=True)
class Sent:
    """A statement as it was sent, and what came of it."""

    sql: str
    step: Step
    outcome: Outcome


@dataclass
class Run:
    """What a transaction did on one side; rows: all tables' afterwards."""

    sent: list[Sent] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    tablets: bool = False
    broken: str | None = None  # why it could not begin

    @property
    def is_lost(self) -> bool:
        return any(sent.outcome.is_lost for sent in self.sent)


@dataclass
class Runner:
    """The sessions of a run: the plain side, the far side, and its nodes."""

    sessions: dict[str, WriteSession]

    def prepare(self, side: str, case: Case) -> None:
        """Makes the routines of a case on a side."""
        session = self.sessions[side]
        texts = [WRITER.write(sql) for sql in case.routines]
        session.run("; ".join([NO_ROUTINES, *texts]))
        self.number_from(side, FIRST_NUMBER)

    def number_from(self, side: str, number: int) -> None:
        """Sets the sequences that statements of a side take numbers of, here and on nodes."""
        self.sessions[side].outcome(f"SELECT setval('numbers', {number})")
        for table in TABLES:
            if table.numbered:
                place = side if side in (PLAIN, TABLETS) else table.leaves[0].server or side
                sql = f"SELECT setval('{table.name}_id_seq', {number})"
                self.sessions[place].outcome(sql)

    def begin(self, side: str, case: Case) -> None:
        isolation = f" ISOLATION LEVEL {case.isolation}" if case.isolation else ""
        settings = {"statement_timeout": str(LIMIT_MS)}
        if side != PLAIN:
            settings |= case.settings
        word = "SET LOCAL" if case.end else "SET"
        lines = [f"{word} {name} = '{value}'" for name, value in settings.items()]
        lines += [f"{word} ROLE {case.role}"] if case.role else []
        lines = [f"BEGIN{isolation}", *lines] if case.end else lines
        self.sessions[side].run("; ".join(lines))

    def run(self, side: str, case: Case) -> Run:
        """The whole transaction, up to its COMMIT or ROLLBACK."""
        found = Run(tablets=case.tablets)
        try:
            self.prepare(side, case)
            self.begin(side, case)
        except SqlError as error:
            if not error.is_lost:
                self.sessions[side].run("ROLLBACK")
            found.broken = str(error)
            return found
        for i, step in enumerate(case.steps):
            self.run_step(found, side, step if case.end else replace(step, guarded=False), i)
            if found.is_lost:
                return found
        if case.end:
            self.send(found, side, Step(case.end))
        if not found.is_lost:
            self.sessions[side].run("RESET ROLE")
            found.rows = self.rows_of(side, case.tablets)
            self.sessions[side].run(f"DEALLOCATE ALL; RESET ALL; CLOSE ALL; {NO_ROUTINES}")
        return found

    def send(self, found: Run, side: str, step: Step, sql: str | None = None) -> Outcome:
        text = sql or text_of(step)
        outcome = self.sessions[side].outcome(text, step.rows)
        if found.tablets:
            outcome = without_parts(outcome)
        found.sent.append(Sent(text, step, outcome))
        return outcome

    def run_step(self, found: Run, side: str, step: Step, number: int) -> None:
        guarded = step.guarded
        if guarded:
            self.send(found, side, step, "SAVEPOINT guard")
        outcome = self.send(found, side, step)
        if outcome.is_lost:
            return
        if guarded:
            end = "ROLLBACK TO guard" if outcome.error else "RELEASE guard"
            self.send(found, side, step, end)
        if outcome.error or text_of(step).startswith("ROLLBACK TO"):
            # how many numbers a statement took before it failed is open
            again = FIRST_NUMBER + NUMBERS * (number + 1)
            self.number_from(side, again)

    def rows_of(self, side: str, tablets: bool) -> dict[str, list[Row]]:
        """All rows that are there, by table or partition; of the far side the nodes' own."""
        found: dict[str, list[Row]] = {}
        if tablets:
            names = [table.name for table in TABLES]
            for name, row in self.named_rows(side, names):
                found.setdefault(name, []).append(row)
            if side == TABLETS:
                found["shuttle.check()"] = self.sessions[side].run("SELECT * FROM shuttle.check()")
            return found
        places: list[tuple[str, str | None]] = [(node, node) for node in NODES] + [(FAR, None)]
        if side == PLAIN:
            places = [(PLAIN, server) for server in (*NODES, None)]
        for place, server in places:
            for leaf, rows in self.leaf_rows(place, server):
                found.setdefault(leaf, []).append(rows)
        return found

    def leaf_rows(self, place: str, server: str | None) -> list[tuple[str, Row]]:
        return self.named_rows(place, [leaf.name for _, leaf in leaves_on(server)])

    def named_rows(self, place: str, names: list[str]) -> list[tuple[str, Row]]:
        columns = ", ".join(COLUMNS)
        parts = {table.name for table in TABLES if not table.has_parts}
        selects = [
            f"SELECT '{name}', {columns}, {'NULL' if name in parts else PARTS} FROM {name}"
            for name in names
        ]
        rows = self.sessions[place].run(" UNION ALL ".join(selects))
        return [((row[0] or b"").decode(), row[1:]) for row in rows]

    def reset(self, tablets: bool) -> None:
        """Takes all tables back to their first rows."""
        for name in (PLAIN, TABLETS) if tablets else (PLAIN, *NODES, FAR):
            self.sessions[name].run("SELECT base.reset()")

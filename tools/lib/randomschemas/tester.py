"""Many random transactions on random schemas."""

from collections.abc import Iterator
from dataclasses import dataclass

from lib.randomqueries import runs
from lib.randomqueries.schema import make_nodes
from lib.randomschemas.cases import CASES_OF_SCHEMA, Case, make_case
from lib.randomschemas.running import (
    FAR,
    NODES,
    PLAIN,
    Runner,
    drops_in_use,
    is_broken,
    is_open,
    problem_of,
    refusal_of,
)
from lib.randomschemas.schema import COLUMNS, LOCAL, Schema, Table
from lib.randomwrites.running import Run, Sent
from lib.randomwrites.session import WriteSession

MOST_ERRORS = 0.75  # of all statements
MOST_OTHERS = 0.1  # of errors that name a constraint

Verdict = runs.Verdict[Run]


@dataclass
class Counts(runs.Counts[Run]):
    """others: errors that name another constraint, where a statement breaks several."""

    most_skipped = 0.03

    statements: int = 0
    errors: int = 0
    others: int = 0
    refused: int = 0

    def look_at(self, verdict: Verdict) -> None:
        for one, other in zip(verdict.expected.sent, verdict.found.sent, strict=False):
            self.statements += 1
            self.errors += one.outcome.error is not None
            self.others += is_broken(one.outcome) and one.outcome.error != other.outcome.error

    def means_something(self) -> bool:
        few_errors = self.errors <= MOST_ERRORS * self.statements
        return few_errors and self.others <= MOST_OTHERS * self.errors

    def shares(self) -> str:
        return (
            f"{self.compared} transactions of {self.statements} statements compared, "
            f"{self.errors} errors in them, {self.others} of another constraint, "
            f"{self.refused} constraints or tables refused"
        )


class Tester(runs.Tester[Case, Run]):
    """A session on each side; schemas change after some transactions."""

    session_cases = CASES_OF_SCHEMA
    tool, one, several = "random_schemas", "transaction", "transactions"
    usual_count = 1000

    def make_counts(self) -> Counts:
        return Counts()

    def prepare(self) -> None:
        first = self.open_session(WriteSession)
        for database in (PLAIN, FAR):
            first.run(f"CREATE DATABASE {database}")
        first.close()
        self.connect()
        far = self.runner.sessions[FAR]
        far.run("CREATE EXTENSION pg_shuttle CASCADE")
        make_nodes(far, NODES, "")

    def connect(self) -> None:
        sessions = {name: self.open_session(WriteSession, name) for name in (PLAIN, FAR)}
        if not hasattr(self, "runner"):
            self.runner = Runner(sessions)
        self.runner.sessions = sessions

    def begin_session(self) -> None:
        for session in self.runner.sessions.values():
            session.close()
        self.reconnect()

    def make_case(self, number: int) -> Case:
        return make_case(self.wanted.seed, number)

    def check(self, case: Case) -> Verdict:
        self.runner.make_schema(self.wanted.seed, case.schema_number, case.schema)
        expected, found = self.runner.run(PLAIN, case), self.runner.run(FAR, case)
        problem = problem_of(expected, found)
        if expected.is_lost or found.is_lost:
            self.begin_session()
        if case.end == "COMMIT" or problem is not None:
            self.runner.reset(case.alters)
        assert isinstance(self.counts, Counts)
        self.counts.refused = self.runner.refused.total()
        refused = refusal_of(found)
        if problem and not refused and is_open(case, expected, found):
            refused = "a default that is deleted as well"
        if problem and not refused and drops_in_use(expected, found):
            refused = "a foreign key to a table that has pending events"
        return Verdict(None if refused else problem, refused, expected, found)

    def rows_of_base(self, table: Table) -> str:
        columns = ", ".join(f"quote_nullable({column})" for column in COLUMNS)
        rows = self.runner.sessions[PLAIN].run(
            f"SELECT string_agg(format('(%s)', concat_ws(', ', {columns})), ', ')"
            f" FROM base.{table.name}"
        )
        values = rows[0][0]
        return "" if values is None else f"INSERT INTO {table.name} VALUES {values.decode()};"

    def schema_lines(self, schema: Schema) -> Iterator[str]:
        spread = [f"{table.spread()};" for table in schema.tables if table.kind != LOCAL]
        yield from (f"{table.create()};" for table in schema.tables)
        if not schema.filled_first:
            yield from (f"{sql}  -- far side" for sql in spread)
        yield from (f"{sql};" for sql, _ in schema.constraints())
        yield "BEGIN; SET CONSTRAINTS ALL DEFERRED;"
        yield from filter(None, map(self.rows_of_base, schema.tables))
        yield "COMMIT;"
        if schema.filled_first:
            yield from (f"{sql}  -- far side" for sql in spread)

    def failure_lines(self, case: Case, verdict: Verdict) -> Iterator[str]:
        yield "  on both sides:"
        yield from (f"    {line}" for line in self.schema_lines(case.schema))
        yield "    BEGIN;"
        for name, value in case.settings.items():
            yield f"    SET LOCAL {name} = '{value}';  -- far side"
        for one, other in zip(verdict.expected.sent, verdict.found.sent, strict=False):
            yield from (f"    {line}" for line in sent_lines(one, other))


def sent_lines(one: Sent, other: Sent) -> Iterator[str]:
    """A statement, what came of it on the local side, and on the far side if that differs."""
    if one.step.guarded:
        yield "SAVEPOINT guard;"
    yield f"{one.sql};"
    yield from one.step.rows
    yield f"  -- {one.outcome.message or one.outcome.tag}"
    if other.outcome != one.outcome:
        yield f"  -- far side: {other.outcome.message or other.outcome.tag}"
    if one.step.guarded:
        yield "ROLLBACK TO guard;" if one.outcome.error else "RELEASE guard;"

"""Runs one transaction on the local side and on the far side."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lib.randomqueries.checking import multiset_problem
from lib.randomqueries.session import SqlError
from lib.randomschemas.alters import is_alter
from lib.randomschemas.cases import Case
from lib.randomschemas.schema import LOCAL, Schema, Table, first_rows
from lib.randomwrites.context import Step
from lib.randomwrites.running import Run, Sent, text_of
from lib.randomwrites.session import Outcome, WriteSession

PLAIN, FAR = "plain", "far"
NODES = ("one", "two", "three")
NOT_SUPPORTED = "0A000"
IN_USE = "55006"
INTEGRITY, SAME_ROW_TWICE = "23", "21000"
LIMIT_MS = 30000
CHECK = "SELECT * FROM shuttle.check()"
DEFINITIONS = """
WITH t AS (SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
    AND relkind IN ('r', 'p') AND NOT relispartition)
SELECT relname, attname, format_type(atttypid, atttypmod), concat(attnotnull, attgenerated),
    pg_get_expr(adbin, adrelid)
FROM t JOIN pg_attribute ON attrelid = t.oid
LEFT JOIN pg_attrdef ON adrelid = t.oid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped
UNION ALL
SELECT relname, conname, contype::text, convalidated::text, pg_get_constraintdef(c.oid)
FROM t JOIN pg_constraint AS c ON conrelid = t.oid
WHERE contype IN ('p', 'u', 'c')
UNION ALL
SELECT relname, 'index', NULL, NULL, replace(pg_get_indexdef(indexrelid), ' ONLY ', ' ')
FROM t JOIN pg_index ON indrelid = t.oid"""


def names(schema: Schema) -> str:
    return ", ".join(table.name for table in schema.tables)


def fill(schema: Schema) -> Iterator[str]:
    yield "BEGIN; SET CONSTRAINTS ALL DEFERRED"
    for table in schema.tables:
        yield f"INSERT INTO {table.name} SELECT * FROM base.{table.name}"
    yield "COMMIT"


@dataclass
class Runner:
    """refused: what a schema asks for and the far side cannot have, by its message."""

    sessions: dict[str, WriteSession]
    refused: Counter[str] = field(default_factory=Counter)
    schema_number: int | None = None
    made: Schema | None = None

    # the schema

    def drop(self) -> None:
        if self.made is not None:
            for side in (PLAIN, FAR):
                self.sessions[side].run(f"DROP TABLE {names(self.made)} CASCADE")
                self.sessions[side].run("DROP SCHEMA base CASCADE")
        self.made = self.schema_number = None

    def try_far(self, sql: str) -> bool:
        """False if the far side refuses it by design."""
        outcome = self.sessions[FAR].outcome(sql)
        if outcome.error is None:
            return True
        if outcome.error[0] != NOT_SUPPORTED:
            raise SqlError(outcome.error[0], f"{sql}: {outcome.message}")
        self.refused[outcome.message] += 1
        return False

    def make_plain(self, seed: int, number: int, schema: Schema) -> None:
        session = self.sessions[PLAIN]
        session.run("CREATE SCHEMA base")
        for table in schema.tables:
            session.run(table.create())
        for sql, _ in schema.constraints():
            session.run(sql)
        for sql in first_rows(seed, number, schema):
            session.outcome(sql)
        for table in schema.tables:
            session.run(f"CREATE TABLE base.{table.name} AS SELECT * FROM {table.name}")

    def copy_base(self, schema: Schema) -> None:
        self.sessions[FAR].run("CREATE SCHEMA base")
        for table in schema.tables:
            rows = self.sessions[PLAIN].run(f"SELECT * FROM base.{table.name}")
            texts = [[None if value is None else value.decode() for value in row] for row in rows]
            self.sessions[FAR].run(f"CREATE TABLE base.{table.name} (LIKE {table.name})")
            self.sessions[FAR].copy(f"COPY base.{table.name} FROM STDIN", texts)

    def spread(self, table: Table) -> None:
        if table.kind != LOCAL:
            self.try_far(table.spread())

    def constrain(self, schema: Schema) -> None:
        """What the far side refuses goes on both sides."""
        for sql, drop in schema.constraints():
            if not self.try_far(sql):
                self.sessions[PLAIN].run(drop)

    def make_schema(self, seed: int, number: int, schema: Schema) -> None:
        if self.schema_number == number:
            return
        self.drop()
        self.made = schema
        self.make_plain(seed, number, schema)
        for table in schema.tables:
            self.sessions[FAR].run(table.create())
        self.copy_base(schema)
        if not schema.filled_first:
            for table in schema.tables:
                self.spread(table)
        self.constrain(schema)
        for sql in fill(schema):
            self.sessions[FAR].run(sql)
        if schema.filled_first:
            for table in schema.tables:
                self.spread(table)
        self.schema_number = number

    def reset(self, altered: bool) -> None:
        """altered: tables may have changed themselves, and the next transaction makes them anew."""
        assert self.made is not None
        if altered:
            self.schema_number = None
            return
        for side in (PLAIN, FAR):
            self.sessions[side].run(f"TRUNCATE {names(self.made)}")
            for sql in fill(self.made):
                self.sessions[side].run(sql)

    # a transaction

    def run(self, side: str, case: Case) -> Run:
        found = Run()
        session = self.sessions[side]
        settings = {"statement_timeout": str(LIMIT_MS)} | (case.settings if side == FAR else {})
        lines = [f"SET LOCAL {name} = '{value}'" for name, value in settings.items()]
        session.run("; ".join(["BEGIN", *lines]))
        for step in case.steps:
            self.run_step(found, session, step)
            if found.is_lost:
                return found
        end = Step(case.end, guarded=False)
        found.sent.append(Sent(case.end, end, session.outcome(case.end)))
        if not found.is_lost:
            for table in case.schema.tables:
                found.rows[table.name] = session.run(f"SELECT * FROM {table.name}")
            if case.alters:
                found.rows["pg_class"] = session.run(DEFINITIONS)
            if side == FAR:
                found.rows[CHECK] = session.run(CHECK)
        return found

    def run_step(self, found: Run, session: WriteSession, step: Step) -> None:
        text = text_of(step)
        if step.guarded:
            session.outcome("SAVEPOINT guard")
        outcome = session.outcome(text, step.rows)
        found.sent.append(Sent(text, step, replace(outcome, notices=())))
        if step.guarded and not outcome.is_lost:
            session.outcome("ROLLBACK TO guard" if outcome.error else "RELEASE guard")


def is_broken(outcome: Outcome) -> bool:
    """True if rows were refused."""
    return outcome.error is not None and outcome.error[0].startswith((INTEGRITY, SAME_ROW_TWICE))


def refusal_of(run: Run) -> str | None:
    """What the far side refused by design: from there on the sides differ."""
    for one in run.sent:
        if one.outcome.error is not None and one.outcome.error[0] == NOT_SUPPORTED:
            return one.outcome.message
    return None


def is_open(case: Case, expected: Run, found: Run) -> bool:
    """True of an action that sets a default which the statement deletes as well.

    Which of the two comes first says when it fails: at once or at the end.
    """
    pairs = list(zip(expected.sent, found.sent, strict=False))
    for i, (one, other) in enumerate(pairs):
        if one.outcome.error != other.outcome.error:
            later = any(is_broken(sent.outcome) for sent in expected.sent[i + 1 :])
            at_once = one.outcome.error is None and is_broken(other.outcome)
            return case.schema.has_defaults and at_once and later
    return False


def drops_in_use(expected: Run, found: Run) -> bool:
    """True of a foreign key that is dropped while the table it refers to has pending events.

    PostgreSQL alters that table, too, which it refuses.
    """
    return any(
        is_alter(one.sql)
        and one.outcome.error is not None
        and one.outcome.error[0] == IN_USE
        and other.outcome.error is None
        for one, other in zip(expected.sent, found.sent, strict=False)
    )


def may_differ(sql: str, one: Outcome, other: Outcome) -> bool:
    """Of several errors in a statement, the two sides may find another one first."""
    if is_alter(sql):
        return one.error is not None and other.error is not None
    return is_broken(one) and is_broken(other)


def statement_problem(expected: Sent, found: Sent) -> str | None:
    one, other = expected.outcome, found.outcome
    if one.error != other.error and not may_differ(expected.sql, one, other):
        return f"error {other.error} instead of {one.error}: {other.message or one.message}"
    if one.tag != other.tag:
        return f"{other.tag} instead of {one.tag}"
    problem = multiset_problem(one.rows, other.rows)
    if problem is None and expected.step.ordered and one.rows != other.rows:
        return "rows in another order"
    return problem


def problem_of(expected: Run, found: Run) -> str | None:
    for number, (one, other) in enumerate(zip(expected.sent, found.sent, strict=False), 1):
        problem = statement_problem(one, other)
        if problem is not None:
            return f"statement {number}, {one.sql[:80]}: {problem}"
    if len(expected.sent) != len(found.sent):
        return "the transactions have different lengths"
    for name, rows in found.rows.items():
        problem = multiset_problem(expected.rows.get(name, []), rows)
        if problem is not None:
            return f"rows of {name} afterwards: {problem}"
    return None

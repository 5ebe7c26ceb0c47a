"""Runs one case on both sides, and says what is wrong with the answer."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lib.randomqueries import runs
from lib.randomqueries.fragments import smaller
from lib.randomqueries.plans import waits_for_itself
from lib.randomqueries.query import Query
from lib.randomqueries.session import Row, Session, SqlError
from lib.randomqueries.texts import set_sql
from lib.randomqueries.ways import (
    HALF_CURSOR,
    LOCAL_SCHEMA,
    Step,
    Way,
    company_steps,
    fetched,
    literal_side,
    local_texts,
    query_steps,
)
from lib.randomqueries.writes import written

# What is no finding: the query itself is wrong, or takes too long on the local side.
CANCELED = "57014"
SYNTAX_CLASS = "42"
BUSY = "another command is already in progress"
LOCAL_LIMIT_MS = 6000
FOREIGN_LIMIT_MS = 5000  # on a processor of its own, few queries take longer
MOST_TIMES_LONGER = 24  # below the limit of a session, which is a failure
SHOWN_ROWS = 6
SHOWN_CHARS = 200


@dataclass(frozen=True)
class Case(runs.Case):
    """What is run: one query or two, how, over which transport, with which settings."""

    queries: tuple[Query, ...]
    way: Way
    transport: str

    def smaller(self) -> Iterator["Case"]:
        """A part of a query, a setting or a way of running it is left out."""
        way = self.way
        if way.name != "plain" and len(self.queries) == 1:
            yield replace(self, way=replace(way, name="plain"))
        for i in range(len(way.writes)):
            yield replace(self, way=replace(way, writes=way.writes[:i] + way.writes[i + 1 :]))
        for name in ("session", "later"):
            settings = getattr(way, name)
            for i in range(len(settings)):
                less = {name: settings[:i] + settings[i + 1 :]}
                yield replace(self, way=replace(way, **less))
        if way.before:
            yield replace(self, way=replace(way, before=()))
        for i, query in enumerate(self.queries):
            for sql in smaller(query.sql):
                part = replace(query, sql=sql)
                yield replace(self, queries=(*self.queries[:i], part, *self.queries[i + 1 :]))
        yield from self.with_fewer_settings()


@dataclass(frozen=True)
class Answer:
    """The rows of each execution, or the error; plans of the foreign side."""

    rows: list[list[Row]]
    error: SqlError | None = None
    plans: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def is_lost(self) -> bool:
        return self.error is not None and self.error.is_lost


Verdict = runs.Verdict[Answer]


def run_local(session: Session, case: Case) -> Answer:
    rows: list[list[Row]] = []
    failed = None
    try:
        session.run(f"BEGIN; SET LOCAL statement_timeout = {LOCAL_LIMIT_MS}")
        for setting in case.way.session:
            session.run(set_sql(*setting))
        for sql in written(case.way.writes, (LOCAL_SCHEMA,)):
            session.run(sql)
        texts = local_texts(case.queries, case.way)
        for i, text in enumerate(texts):
            for setting in case.way.later if i == len(texts) - 1 else ():
                session.run(set_sql(*setting))
            rows.append(fetched(session.run(text), case.way))
    except SqlError as error:
        failed = error
    if failed is None or not failed.is_lost:
        session.run("ROLLBACK")
    return Answer(rows, failed)


def foreign_limit_ms() -> int:
    """As many times longer as processes wait for each processor."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return round(FOREIGN_LIMIT_MS * min(max(2.0, 2 * waiting), MOST_TIMES_LONGER))


def begin_statements(case: Case) -> str:
    settings = {
        "statement_timeout": str(foreign_limit_ms()),
        "auto_explain.log_min_duration": "0",
        **case.settings,
    }
    return "; ".join(["BEGIN", *(set_sql(*one) for one in (*settings.items(), *case.way.session))])


def run_company(session: Session, step: Step) -> None:
    """A statement may fail on purpose; what is left of it must do no harm."""
    try:
        session.run(step.sql)
    except SqlError as error:
        if error.is_lost or not step.fails:
            raise


def run_foreign(session: Session, case: Case) -> Answer:
    nanswers = case.way.executions if case.way.name == "prepared" else len(case.queries)
    rows: list[list[Row]] = [[] for _ in range(nanswers)]
    session.plans.clear()
    session.warnings.clear()
    failed = None
    try:
        session.run(begin_statements(case))
        for step in company_steps(case.way, case.transport):
            run_company(session, step)
        session.plans.clear()
        for step in query_steps(case.queries, case.way, case.transport):
            found = session.run(step.sql)
            if step.answer is not None:
                rows[step.answer] += found
    except SqlError as error:
        failed = error
    if failed is None or not failed.is_lost:
        try:
            writes = case.way.writes or any(query.writes for query in case.queries)
            end = "ROLLBACK" if failed or writes else "COMMIT"
            session.run(f"{end}; DEALLOCATE ALL")
        except SqlError as error:
            failed = error
    plans = [plan for plan in session.plans if HALF_CURSOR not in plan.get("Query Text", "")]
    return Answer(rows, failed, plans, list(session.warnings))


def explain(session: Session, case: Case) -> list[Any]:
    """The plans of queries that did not run to their end."""
    side = literal_side(case.transport)
    plans: list[Any] = []
    try:
        session.run(begin_statements(case))
        for query in case.queries:
            rows = session.run(f"EXPLAIN (FORMAT JSON) {side.write(query.sql)}")
            plans += json.loads(rows[0][0] or b"[]")
    except SqlError as error:
        if error.is_lost:
            raise
    session.run("ROLLBACK")
    return plans


def shown(item: object) -> str:
    text = str(item)
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."


def multiset_problem(expected: Sequence[object], found: Sequence[object]) -> str | None:
    missing = Counter(expected) - Counter(found)
    too_many = Counter(found) - Counter(expected)
    if not missing and not too_many:
        return None
    lines = [f"{missing.total()} missing, {too_many.total()} too many"]
    lines += [f"  missing {shown(item)}" for item in list(missing.elements())[:SHOWN_ROWS]]
    lines += [f"  too many {shown(item)}" for item in list(too_many.elements())[:SHOWN_ROWS]]
    return "\n    ".join(lines)


def differing(case: Case, expected: list[Row], found: list[Row]) -> str | None:
    query = case.queries[0]
    problem = multiset_problem(expected, found)
    if problem is None and query.ordered and len(case.queries) == 1 and expected != found:
        at = next(i for i, row in enumerate(expected) if found[i] != row)
        return f"another order from row {at + 1} on: {shown(found[at])}, not {shown(expected[at])}"
    return problem


def error_problem(expected: SqlError | None, found: SqlError | None) -> str | None:
    if expected is None:
        return f"only the foreign side failed: {found}" if found else None
    if found is None:
        return f"only the local side failed: {expected}"
    if found.sqlstate != expected.sqlstate:
        return f"failed with {found} instead of {expected}"
    return None


def problem_of(case: Case, expected: Answer, found: Answer) -> str | None:
    """What is wrong with an answer; None: nothing."""
    if found.error is not None or expected.error is not None:
        return error_problem(expected.error, found.error)
    for these, those in zip(expected.rows, found.rows, strict=True):
        problem = differing(case, these, those)
        if problem is not None:
            return problem
    return f"warnings: {found.warnings[:3]}" if found.warnings else None


def check(session: Session, case: Case) -> Verdict:
    expected = run_local(session, case)
    error = expected.error
    if error is not None and (
        error.sqlstate == CANCELED
        or error.sqlstate.startswith(SYNTAX_CLASS)
        or error.is_lost
        or not any(query.may_fail for query in case.queries)
    ):
        return Verdict(None, str(error), expected, Answer([]))
    found = run_foreign(session, case)
    problem = problem_of(case, expected, found)
    skipped = None
    if problem is not None and found.error is not None and found.error.sqlstate == CANCELED:
        problem, skipped = None, "takes too long over foreign tables"
    elif problem is not None and not is_ours(session, case, expected, found):
        problem, skipped = None, f"wrong without us, too (query {case.number})"
    return Verdict(problem, skipped, expected, found)


def is_ours(session: Session, case: Case, expected: Answer, found: Answer) -> bool:
    """False where postgres_fdw is wrong without us, or ships SQL that no node takes."""
    if found.is_lost:
        return True
    if found.error is not None and BUSY in str(found.error):
        return not waits_for_itself(explain(session, case))
    settings = {k: v for k, v in case.settings.items() if not k.startswith("shuttle.")}
    settings["shuttle.enable_batched_join"] = "off"
    others = [replace(case, transport="guest", settings=settings)]
    if found.error is not None and found.error.sqlstate.startswith(SYNTAX_CLASS):
        others.append(replace(case, settings=settings))
    return all(problem_of(other, expected, run_foreign(session, other)) is None for other in others)

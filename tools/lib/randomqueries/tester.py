"""Many random queries on one server."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lib.randomqueries import runs
from lib.randomqueries.cases import make_case
from lib.randomqueries.checking import Answer, Case, Verdict, check, explain
from lib.randomqueries.plans import is_routed, most_batches, outline, reads_copies
from lib.randomqueries.schema import TABLETS, make_schema
from lib.randomqueries.session import Session
from lib.randomqueries.tables import Table, make_tables
from lib.randomqueries.texts import set_sql
from lib.randomqueries.ways import company_steps, local_texts, query_steps
from lib.randomqueries.writes import TABLES as WRITTEN

BATCHED_SHARE = 0.4  # of all queries, among them those that go to nodes as a whole
TABLETS_SHARE = 0.15  # the same where others go to nodes as a whole
SEVERAL_SHARE = 0.2

START = """
LOAD 'auto_explain';
SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off;
SET auto_explain.log_format = json; SET auto_explain.log_level = notice;
SET auto_explain.log_min_duration = -1;
SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Europe/Vienna'; SET max_parallel_workers_per_gather = 1;
"""


@dataclass
class Counts(runs.Counts[Answer]):
    """Queries compared, with a batched join, with several batches."""

    most_skipped = 0.03

    batched_share: float = BATCHED_SHARE
    batched: int = 0
    several: int = 0
    routed: int = 0
    copied: int = 0

    def look_at(self, verdict: Verdict) -> None:
        plans = verdict.found.plans
        batches = most_batches(plans)
        self.batched += batches > 0
        self.several += batches > 1
        self.routed += is_routed(plans)
        self.copied += reads_copies(plans)

    def means_something(self) -> bool:
        return (
            self.batched >= self.batched_share * self.compared
            and self.several >= SEVERAL_SHARE * self.compared
        )

    def shares(self) -> str:
        share = 100 / max(self.compared, 1)
        return (
            f"{self.compared} queries compared, {self.batched * share:.0f} % with a batched join, "
            f"{self.several * share:.0f} % with more than one batch, "
            f"{self.routed * share:.0f} % routed, "
            f"{self.copied * share:.0f} % with copies of reference tables"
        )


class Tester(runs.Tester[Case, Answer]):
    """One session, and the tables that it reads."""

    # Servers with assertions look through all memory of a session again and again.
    session_cases = 80
    tool, one, several = "random_queries", "query", "queries"
    usual_count = 2000

    def make_counts(self) -> Counts:
        return Counts(batched_share=TABLETS_SHARE if self.wanted.tablets else BATCHED_SHARE)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        return make_tables(self.wanted.seed)

    def connect(self) -> None:
        self.session = self.open_session(Session)
        self.session.run(START)

    def prepare(self) -> None:
        first = self.open_session(Session)
        make_schema(first, self.tables, self.wanted.seed)
        first.close()
        self.reconnect()

    def begin_session(self) -> None:
        """A new one; what writes left behind goes."""
        self.session.close()
        self.reconnect()
        tables = ", ".join(f"{schema}.{name}" for name in WRITTEN for schema in ("local", "remote"))
        self.session.run(f"VACUUM {tables}")

    def make_case(self, number: int) -> Case:
        only = TABLETS if self.wanted.tablets else None
        return make_case(self.wanted.seed, number, self.tables, only)

    def check(self, case: Case) -> Verdict:
        verdict = check(self.session, case)
        if verdict.found.is_lost:
            self.session.close()
            self.reconnect()
        return verdict

    def failure_lines(self, case: Case, verdict: Verdict) -> Iterator[str]:
        plans = verdict.found.plans
        if not plans and not verdict.found.is_lost:
            plans = explain(self.session, case)
        yield f"  transport: {case.transport}; way: {case.way.name}"
        yield "  settings:"
        for name, value in case.settings.items():
            yield f"    SET {name} = '{value}';"
        yield from (f"    {set_sql(*one)};  -- on both sides" for one in case.way.session)
        yield "  foreign side:"
        steps = company_steps(case.way, case.transport)
        for step in steps + query_steps(case.queries, case.way, case.transport):
            yield f"    {step.sql};"
        yield "  local side:"
        for text in local_texts(case.queries, case.way)[:2]:
            yield f"    {text};"
        for plan in plans:
            yield "  plan:"
            for line in outline(plan["Plan"]):
                yield f"    {line}"

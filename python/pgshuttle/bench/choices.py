"""How well the planner chooses: its plan is timed against each way to join, forced."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import Any

from psycopg import sql

from pgshuttle.base.errors import ToolError
from pgshuttle.bench import choice_cases, choice_tables, measure, results
from pgshuttle.bench.choice_cases import FORCED, Case, Way
from pgshuttle.bench.measure import Session
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.cluster.state import Cluster
from pgshuttle.look import plan_facts

STOP_FACTOR = 5.0  # a plan that takes so many times as long as the best is stopped
FIRST_LIMIT_MS = 60_000.0  # of the first plan of a query
LEAST_LIMIT_MS = 25.0  # below it, the clock of statement_timeout and noise would decide
NROUNDS = 9
FIRST_ROUNDS = 8  # of a session, the shortest of whose round trips counts
ROUNDS_MS = 900.0  # of one query, after each plan ran once
LEAST_SAMPLES = 2
LARGEST_MEAN = 1.15  # that the project promises
LARGEST_RATIO = 2.0
LONG_MS = 2500.0  # a rival that takes longer runs once
RIVAL_FACTOR = 1.7  # farther from the best, one run is enough
PRICES = ("Startup Cost", "Total Cost", "Plan Rows", "Plan Width", "Disabled", "Disabled Nodes")


@dataclass(frozen=True)
class PlanResult:
    """One plan of a query. Of several samples the shortest counts: the rest is noise.

    stopped_ms: the limit at which it was stopped; then there is no sample.
    """

    ways: tuple[str, ...]
    shape: str
    joins: tuple[str, ...]
    estimated_cost: float
    samples_ms: tuple[float, ...]
    stopped_ms: float | None
    time_ms: float | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_ms", min(self.samples_ms, default=None))


@dataclass(frozen=True)
class CaseResult:
    """One query under one delay. ratio: the time of the plan that was chosen over the best."""

    label: str
    transport: str
    rtt_us: int
    query: str
    plans: tuple[PlanResult, ...]
    ratio: float

    def find(self, way: Way) -> PlanResult | None:
        return next((plan for plan in self.plans if way in plan.ways), None)


@dataclass(frozen=True, kw_only=True)
class Choices(Run):
    scale: float
    geometric_mean: float
    worst: float
    cases: tuple[CaseResult, ...]

    @property
    def is_kept(self) -> bool:
        return self.geometric_mean <= LARGEST_MEAN and self.worst <= LARGEST_RATIO


@dataclass
class Record:
    way: Way
    facts: plan_facts.PlanFacts
    estimated_cost: float
    ways: list[Way]
    samples_ms: list[float] = field(default_factory=list)
    stopped_ms: float | None = None

    @property
    def time_ms(self) -> float:
        """What it takes; what was stopped takes for ever."""
        return min(self.samples_ms, default=math.inf)


def strip_prices(node: Any) -> Any:  # noqa: ANN401  (JSON)
    """Returns a plan without estimates: equal plans run alike."""
    if isinstance(node, dict):
        return {key: strip_prices(value) for key, value in node.items() if key not in PRICES}
    if isinstance(node, list):
        return [strip_prices(value) for value in node]
    return node


def list_plans(session: Session, query: sql.Composed) -> list[Record]:
    """Plans a query in each way; a plan that several ways lead to is there once."""
    found: dict[str, Record] = {}
    for way in (Way.CHOSEN, *FORCED):
        session.apply(choice_cases.find_settings(way))
        answer = session.explain_with("VERBOSE, FORMAT JSON", query)
        facts = plan_facts.read_plan(answer)
        if way is not Way.CHOSEN and way not in facts.joins:
            continue  # the query can't be joined so
        key = json.dumps(strip_prices(answer), sort_keys=True)
        record = found.setdefault(key, Record(way, facts, answer[0]["Plan"]["Total Cost"], []))
        record.ways.append(way)
    order = [*FORCED, Way.CHOSEN]
    return sorted(found.values(), key=lambda record: min(order.index(way) for way in record.ways))


def is_worth_a_run(record: Record, best_ms: float) -> bool:
    """Whether one more run of a plan may change what is found."""
    is_chosen = Way.CHOSEN in record.ways and record.stopped_ms is None
    if is_chosen and len(record.samples_ms) < LEAST_SAMPLES:
        return True  # what is judged must not be a stall of the machine, however long it took
    is_rival = record.time_ms <= RIVAL_FACTOR * best_ms
    is_new = len(record.samples_ms) == 1  # the first run may have warmed caches
    return record.time_ms < LONG_MS and (is_rival or is_new or is_chosen)


class Runner:
    """A session under one delay, which goes on after a plan was stopped."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def warm(self, nrounds: int = 2) -> None:
        """Opens the session's connections, and lets it see how long a round trip takes."""
        self.session.apply({})
        for _ in range(nrounds):
            for schema in (choice_tables.ENGINE, choice_tables.GUEST):
                for number in (1, 2):
                    table = sql.Identifier(schema, f"{choice_tables.name_table(1)}_{number}")
                    self.session.time(sql.SQL("SELECT x FROM {}").format(table))

    def run_plan(self, record: Record, query: sql.Composable, best_ms: float) -> None:
        """Runs a plan once, or stops it when it takes too long."""
        limit_ms = FIRST_LIMIT_MS
        if best_ms < math.inf:
            limit_ms = max(LEAST_LIMIT_MS, STOP_FACTOR * best_ms)
        self.session.apply(choice_cases.find_settings(record.way))
        elapsed = self.session.time_within(query, limit_ms)
        if elapsed is not None:
            record.samples_ms.append(elapsed.elapsed_ms)
        elif not record.samples_ms:
            record.stopped_ms = limit_ms
        if elapsed is None:
            self.warm()

    def run_rounds(self, records: Sequence[Record], query: sql.Composable) -> None:
        """Runs the plans that may matter some more times, in turn."""
        start_s = time.monotonic()
        for round_number in range(1, NROUNDS):
            spent_ms = 1000 * (time.monotonic() - start_s)
            if round_number >= LEAST_SAMPLES and spent_ms > ROUNDS_MS:
                break
            best_ms = min(record.time_ms for record in records)
            for record in records:
                if is_worth_a_run(record, best_ms):
                    self.run_plan(record, query, best_ms)

    def run_case(self, case: Case) -> CaseResult:
        query = case.query
        records = list_plans(self.session, query)
        for record in records:
            best_ms = min(record.time_ms for record in records)
            self.run_plan(record, query, best_ms)
        self.run_rounds(records, query)
        return finish(case, query.as_string(self.session.connection), records)


def finish(case: Case, query: str, records: Sequence[Record]) -> CaseResult:
    best_ms = min(record.time_ms for record in records)
    if best_ms == math.inf:
        raise ToolError(f"no plan of {query} came to an end")
    chosen = next(record for record in records if Way.CHOSEN in record.ways)
    return CaseResult(
        label=case.shape.label,
        transport=case.shape.transport,
        rtt_us=case.rtt_us,
        query=query,
        plans=tuple(
            PlanResult(
                ways=tuple(record.ways),
                shape=record.facts.shape,
                joins=record.facts.joins,
                estimated_cost=record.estimated_cost,
                samples_ms=tuple(round(sample, 4) for sample in record.samples_ms),
                stopped_ms=record.stopped_ms,
            )
            for record in records
        ),
        ratio=round(min(STOP_FACTOR, chosen.time_ms / best_ms), 4),
    )


@contextmanager
def open_runner(cluster: Cluster, rtt_us: int) -> Iterator[Runner]:
    """Opens a session that has never known another delay."""
    with measure.open_delayed_session(cluster, rtt_us) as session:
        runner = Runner(session)
        runner.warm(FIRST_ROUNDS)
        yield runner


def run_cases(cluster: Cluster, cases: Sequence[Case], on_step: OnStep) -> list[CaseResult]:
    """Runs all cases, those of one delay in one session."""
    found: list[CaseResult] = []
    for rtt_us in sorted({case.rtt_us for case in cases}):
        with open_runner(cluster, rtt_us) as runner:
            for case in cases:
                if case.rtt_us == rtt_us:
                    label = f"{rtt_us / 1000:g} ms, {case.shape.label}"
                    on_step(f"{len(found)} of {len(cases)}: {label}")
                    found.append(runner.run_case(case))
    return found


def run_choices(cluster: Cluster, cases: Sequence[Case], scale: float, on_step: OnStep) -> Choices:
    start_s = time.monotonic()
    on_step("filling the tables")
    choice_tables.make_tables(cluster, scale)
    found = run_cases(cluster, cases, on_step)
    ratios = [case.ratio for case in found]
    return Choices(
        **results.describe_run(cluster, start_s),
        scale=scale,
        geometric_mean=round(geometric_mean(ratios), 4),
        worst=max(ratios),
        cases=tuple(found),
    )

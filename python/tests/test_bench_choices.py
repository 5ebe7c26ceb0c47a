"""The planner's choices: which joins, how they are timed, what is shown."""

import math
from statistics import geometric_mean

import pytest
import synthetic
from conftest import small_cluster
from psycopg import sql
from psycopg.pq.abc import PGresult

from pgshuttle.base import connections
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import (
    choice_cases,
    choice_report,
    choice_tables,
    choices,
    making_tables,
    measure,
)
from pgshuttle.bench.choice_cases import (
    FORCED,
    Case,
    Shape,
    Transport,
    Way,
    list_cases,
    write_query,
)
from pgshuttle.bench.choices import CaseResult, Choices, PlanResult, Record, is_worth_a_run
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.look.plan_facts import PlanFacts


def make_plan(*ways: Way, time_ms: float | None = 2.0) -> PlanResult:
    """A plan that took so long, or was stopped."""
    return PlanResult(
        ways=tuple(ways),
        shape="Join(a, b)",
        joins=(str(ways[0]),),
        estimated_cost=100.0,
        samples_ms=() if time_ms is None else (time_ms * 1.1, time_ms),
        stopped_ms=30.0 if time_ms is None else None,
    )


def make_case(case: Case, ratio: float) -> CaseResult:
    """The planner chose a hash join that takes ratio times as long as the batched one."""
    return CaseResult(
        label=case.shape.label,
        transport=case.shape.transport,
        rtt_us=case.rtt_us,
        query=write_query(case.shape).as_string(),
        plans=(
            make_plan(Way.BATCHED),
            make_plan(Way.HASH, Way.CHOSEN, time_ms=2.0 * ratio),
            make_plan(Way.NESTED_LOOP, time_ms=None),
        ),
        ratio=ratio,
    )


def make_choices(worst: float = 1.5) -> Choices:
    """A whole run: the planner is right but for one query."""
    cases = list_cases()
    found = [make_case(case, 1.0) for case in cases[1:]]
    found.insert(0, make_case(cases[0], worst))
    ratios = [case.ratio for case in found]
    return Choices(
        **synthetic.RUN,
        scale=1.0,
        geometric_mean=geometric_mean(ratios),
        worst=worst,
        cases=tuple(found),
    )


def test_the_set_is_large_and_has_everything() -> None:
    cases = choice_cases.list_cases()
    assert len(cases) >= 60
    assert len({(case.shape.label, case.shape.transport, case.rtt_us) for case in cases}) == len(
        cases
    )
    assert {case.rtt_us for case in cases} == {0, 800, 10_000, 90_000}
    assert {case.shape.transport for case in cases} == set(Transport)
    text = " ".join(shape.text for shape in choice_cases.list_shapes())
    for wanted in ("LEFT JOIN", "EXISTS", "NOT EXISTS", "LIMIT", "BETWEEN", "{parts}", "{h1}"):
        assert wanted in text


def test_every_query_names_tables_of_its_servers() -> None:
    for shape in choice_cases.list_shapes():
        query = choice_cases.write_query(shape).as_string()
        assert "{" not in query
        other = choice_tables.GUEST if shape.transport is Transport.ENGINE else choice_tables.ENGINE
        assert other not in query


def test_cases_are_picked_by_label_and_delay() -> None:
    assert choice_cases.pick_cases([], []) == choice_cases.list_cases()
    found = choice_cases.pick_cases(["LIMIT 10:"], [0, 0.8])
    assert {case.rtt_us for case in found} == {0, 800}
    assert all(case.shape.label.startswith("LIMIT 10:") for case in found)
    assert choice_cases.pick_cases([], [0.7]) == []


def test_each_way_leaves_one_join() -> None:
    names = {"enable_hashjoin", "enable_mergejoin", "enable_nestloop"}
    for way in FORCED:
        settings = choice_cases.find_settings(way)
        assert sum(settings[name] == "on" for name in names) == 1
        assert (settings.get("shuttle.enable_batched_join") == "off") is (way is not Way.BATCHED)
    assert not names & set(choice_cases.find_settings(Way.CHOSEN))


def test_tables_keep_their_proportions() -> None:
    assert choice_tables.scale_rows(1_000_000, 0.01) == 10_000
    assert choice_tables.scale_rows(10, 0.01) == 1
    bounds = choice_tables.list_bounds(0.001)
    assert bounds[0] == 1
    assert bounds[-1] == 1001
    assert len(bounds) == choice_tables.NPARTITIONS + 1


def test_plans_are_equal_without_their_prices() -> None:
    def plan(cost: float, join: str) -> object:
        return [{"Plan": {"Node Type": join, "Total Cost": cost, "Plans": [{"Plan Rows": cost}]}}]

    assert choices.strip_prices(plan(1, "Hash Join")) == choices.strip_prices(plan(2, "Hash Join"))
    assert choices.strip_prices(plan(1, "Hash Join")) != choices.strip_prices(plan(1, "Merge Join"))


@pytest.mark.parametrize(
    ("ways", "samples_ms", "expected"),
    [
        ([Way.CHOSEN], [4678.0], True),  # it may have met a stall
        ([Way.CHOSEN], [4678.0, 4701.0], False),
        ([Way.CHOSEN], [900.0, 910.0], True),
        ([Way.HASH], [4678.0], False),
        ([Way.HASH], [900.0], True),
        ([Way.HASH], [900.0, 910.0], False),
        ([Way.HASH], [600.0, 610.0], True),
    ],
)
def test_judged_plan_runs_again(ways: list[Way], samples_ms: list[float], expected: bool) -> None:
    facts = PlanFacts("Join(a, b)", ("hash join",), True, None, None, None, None)
    record = Record(ways[0], facts, 100.0, ways, samples_ms)
    assert is_worth_a_run(record, best_ms=500.0) is expected


def test_tables_show_what_was_missed() -> None:
    found = make_choices(worst=4.0)
    assert not found.is_kept
    assert choice_report.make_misses_table(found.cases).row_count == 1
    assert choice_report.name_choice(found.cases[0]) == "hash join"
    assert choice_report.format_plan(found.cases[0].find(Way.NESTED_LOOP)) == "> 30.00 ms"
    assert choice_report.format_plan(found.cases[0].find(Way.MERGE)) == "-"
    assert make_choices(worst=1.2).is_kept


running = small_cluster(2, lambda made: choice_tables.make_tables(made, 0.0005))


def test_tables_that_are_there_are_not_made_again(running: Cluster) -> None:
    with catalog.connect(running.query) as connection:
        made = choice_tables.describe_tables(0.0005)
        assert making_tables.is_made(connection, choice_tables.GUEST, made)
        assert not making_tables.is_made(connection, choice_tables.GUEST, "other tables")
        query = "SELECT oid FROM pg_class WHERE relname = 'c100_1' ORDER BY oid"
        before = connection.execute(query).fetchall()
        choice_tables.make_tables(running, 0.0005)
        assert connection.execute(query).fetchall() == before


JOIN = "{h100000} o JOIN {b1000000} i ON i.id = o.r1000000"
SHAPE = Shape("small", choice_cases.SUMS + JOIN, Transport.ENGINE, (0,))


def test_every_query_of_the_set_is_answered_in_every_way(running: Cluster) -> None:
    with choices.open_runner(running, 0) as runner:
        for shape in choice_cases.list_shapes():
            answers = []
            query = choice_cases.write_query(shape)
            if "LIMIT" in shape.text:  # which rows these are is open
                continue
            for way in (Way.CHOSEN, *FORCED):
                runner.session.apply(choice_cases.find_settings(way))
                answers.append(runner.session.connection.execute(query).fetchall())
            assert all(answer == answers[0] for answer in answers), shape.label


def test_a_case_is_timed_in_each_way(running: Cluster) -> None:
    with choices.open_runner(running, 1000) as runner:
        found = runner.run_case(Case(SHAPE, 1000))
    for way in (Way.CHOSEN, Way.BATCHED, Way.HASH, Way.MERGE, Way.NESTED_LOOP):
        plan = found.find(way)
        assert plan is not None
        assert (plan.time_ms is None) is (plan.stopped_ms is not None)
        assert plan.time_ms is None or plan.time_ms >= 1.0
    assert 1.0 <= found.ratio <= choices.STOP_FACTOR


def test_a_plan_that_takes_too_long_is_stopped(running: Cluster) -> None:
    with choices.open_runner(running, 0) as runner:
        record = choices.list_plans(runner.session, choice_cases.write_query(SHAPE))[0]
        slow = sql.SQL("SELECT pg_sleep(10)")
        runner.run_plan(record, slow, best_ms=6.0)
        assert record.stopped_ms == 30.0
        assert record.time_ms == math.inf
        fast = sql.SQL("SELECT 1")
        runner.run_plan(record, fast, best_ms=math.inf)
        assert 0 < record.time_ms < choices.FIRST_LIMIT_MS
        assert measure.STATEMENT_TIMEOUT_S == 120


class LateSession(measure.Session):
    """A session where cancels of a statement arrive so many statements too late."""

    def __init__(self, connection: connections.Connection, late: int) -> None:
        super().__init__(connection)
        self.limits: list[bytes] = []
        self._late = late

    def execute(self, statement: bytes) -> PGresult:
        """Executes a SET, or finds that it was cancelled."""
        self.limits.append(statement)
        self._late -= 1
        cancelled = b"DO $$ BEGIN RAISE SQLSTATE '57014'; END $$"
        return super().execute(cancelled if self._late >= 0 else statement)


def test_a_cancel_that_comes_late_is_waited_out(running: Cluster) -> None:
    with choices.open_runner(running, 0) as runner:
        connection = runner.session.connection
        session = LateSession(connection, measure.LATE_CANCELS - 1)
        found = session.time_within(sql.SQL("SELECT 1"), 1000.0)
        assert found is not None
        assert found.nrows == 1
        assert session.limits.count(b"SET statement_timeout = '1000ms'") == measure.LATE_CANCELS
        assert session.limits[-1] == b"SET statement_timeout = '120s'"
        with pytest.raises(ToolError, match="SET failed"):
            LateSession(connection, measure.LATE_CANCELS).time_within(sql.SQL("SELECT 1"), 1000.0)

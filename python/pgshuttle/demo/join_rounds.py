"""Runs points in rounds, so that whatever disturbs the machine disturbs all alike."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure
from pgshuttle.bench.measure import ByHand, Elapsed, Session
from pgshuttle.cluster.state import Cluster, Proxies, open_proxies
from pgshuttle.demo.join_points import (
    DEFAULT_LIMIT,
    FULL_ROWS,
    Contender,
    Outer,
    Point,
    PointResult,
    find_sample_rows,
    find_settings,
    write_query,
)
from pgshuttle.look.plan_facts import PlanFacts

Answer = TypeVar("Answer")
OnProgress = Callable[[int, int], None]  # executions done, executions in all


@dataclass(frozen=True)
class Effort:
    """How much is measured: runs of a point, and how long a point and all may take.

    longest_s: a point that would take longer is measured with fewer outer rows, for about sample_s.
    After rounds_s no new round begins, however few runs the points had. thorough: measures all
    points, those of the headline once more.
    """

    name: str
    nruns: int
    point_s: float | None  # None: all runs however long they take
    sample_s: float = 1.0
    longest_s: float = 3.0
    rounds_s: float | None = None
    thorough: bool = False


# "few runs a point": slow ones are run once
QUICK = Effort("quick", nruns=3, point_s=0.4, rounds_s=45.0)
FULL = Effort("full", nruns=15, point_s=None, sample_s=2.0, longest_s=20.0, thorough=True)


@dataclass
class Record:
    point: Point
    nruns: int
    sample_rows: int | None = None  # that it is measured with, if not with all
    facts: PlanFacts | None = None
    samples_ms: list[float] = field(default_factory=list)
    half_samples_ms: list[float] = field(default_factory=list)
    round_trips: list[int] = field(default_factory=list)
    waited_round_trips: int | None = None  # of our own; where unknown, all are waited for

    @property
    def outer_rows(self) -> int:
        return self.sample_rows or FULL_ROWS[self.point.case]


class Bench:
    """One warm session of the query node, the nodes by hand, and the delay proxies."""

    def __init__(
        self,
        cluster: Cluster,
        session: Session,
        by_hand: Sequence[Connection],
        line: Proxies,
    ) -> None:
        self.cluster = cluster
        self.session = session
        self._by_hand = ByHand(by_hand[0], by_hand[1], DEFAULT_LIMIT)
        self.line = line
        self._rtt_us = -1

    def set_rtt(self, rtt_us: int) -> None:
        if rtt_us != self._rtt_us:
            self.line.set_rtt_us(rtt_us)
            self._rtt_us = rtt_us

    def warm(self, queries: Sequence[sql.Composed]) -> None:
        """Opens the session's connections to the nodes, which is no part of any point."""
        self.set_rtt(0)
        self.session.apply({})
        for query in queries:
            self.session.time(query)

    def count_waited(
        self, query: sql.Composable, action: Callable[[], Answer]
    ) -> tuple[Answer, int]:
        """Counts the round trips of one statement of ours, without its COMMIT.

        That is sent but not waited for, so the statement runs in a transaction
        block here. The COMMIT of the statement before may still be on its way,
        and what is sent before its answer would open no round trip of its own;
        so the query runs once before: its answers come behind that one.

        query: what the action executes.
        """
        with self.session.connection.transaction():
            self.session.time(query)
            before = self.line.count_round_trips()
            answer = action()
            round_trips = self.line.count_round_trips() - before
        if round_trips == 0:
            raise ToolError("the delay proxies saw no round trip of a query of remote tables")
        return answer, round_trips

    def explain_and_count(self, query: sql.Composed) -> tuple[PlanFacts, int]:
        """Executes a query of ours with counters, and counts its round trips."""
        return self.count_waited(query, lambda: self.session.explain(query, analyze=True))

    def execute(self, point: Point, outer_rows: int) -> Elapsed:
        """Executes a point once and checks that it gave as many rows as it must."""
        if point.contender is not Contender.BY_HAND:
            elapsed = self.session.time(write_query(point, outer_rows))
        elif point.outer is Outer.FOREIGN:
            elapsed = self._by_hand.time_foreign()
        else:
            keys = [b"%d" % key for key in range(1, outer_rows + 1)]
            elapsed = self._by_hand.time_local(keys)
        if elapsed.nrows != outer_rows:
            raise ToolError(
                f"{point.contender} returned {elapsed.nrows} rows instead of {outer_rows}"
            )
        return elapsed

    def prepare(self, record: Record) -> None:
        """Warms a point up and looks at its plan; our own is executed with counters.

        Not where there are thousands of round trips: the counters are those of
        the same point without delay.
        """
        point = record.point
        self.set_rtt(point.rtt_us)
        if point.contender is Contender.BY_HAND:
            return
        self.session.apply(find_settings(point))
        query = write_query(point, record.outer_rows)
        is_slow = point.batch_size == 1 and point.rtt_us > 0
        if point.contender is Contender.ENGINE and not is_slow:
            record.facts, record.waited_round_trips = self.explain_and_count(query)
            return
        ours = point.contender is Contender.GUEST
        record.facts = self.session.explain(query, analyze=ours)
        if point.contender is Contender.STOCK_LOOKUPS and not record.facts.has_foreign_inner:
            raise ToolError(f"this is no nested loop over a foreign table: {record.facts.shape}")

    def run_once(self, record: Record) -> None:
        point = record.point
        self.set_rtt(point.rtt_us)
        if point.contender is not Contender.BY_HAND:
            self.session.apply(find_settings(point))
        before = self.line.count_round_trips()
        elapsed = self.execute(point, record.outer_rows)
        record.round_trips.append(self.line.count_round_trips() - before)
        record.samples_ms.append(elapsed.elapsed_ms)
        if record.sample_rows is not None:
            half = self.execute(point, record.sample_rows // 2)
            record.half_samples_ms.append(half.elapsed_ms)


def limit_runs(record: Record, effort: Effort) -> None:
    """Lets a slow point be after one run as many runs as the effort allows."""
    if effort.point_s is not None:
        spent_ms = sum(record.samples_ms) + sum(record.half_samples_ms)
        affordable = int(effort.point_s * 1000 / max(spent_ms, 0.001))
        record.nruns = max(1, min(record.nruns, affordable))


def run_rounds(
    bench: Bench, points: Sequence[Point], effort: Effort, on_progress: OnProgress
) -> list[PointResult]:
    """Measures all points: each round measures each point once."""
    records = [
        Record(point, effort.nruns, find_sample_rows(point, effort.sample_s, effort.longest_s))
        for point in points
    ]
    start_s = time.monotonic()
    ndone = 0
    for round_number in range(effort.nruns):
        spent_s = time.monotonic() - start_s
        if round_number > 0 and effort.rounds_s is not None and spent_s > effort.rounds_s:
            break
        for record in records:
            if round_number >= record.nruns:
                continue
            if round_number == 0:
                bench.prepare(record)
            bench.run_once(record)
            if round_number == 0:
                limit_runs(record, effort)
            ndone += 1
            on_progress(ndone, sum(record.nruns for record in records))
    return [finish(record) for record in records]


def finish(record: Record) -> PointResult:
    timing = measure.summarize(record.samples_ms)
    half = measure.summarize(record.half_samples_ms) if record.half_samples_ms else None
    estimated_ms = timing.median_ms
    if half is not None and record.sample_rows is not None:
        half_rows = record.sample_rows - record.sample_rows // 2
        slope_ms = (timing.median_ms - half.median_ms) / half_rows
        estimated_ms += slope_ms * (FULL_ROWS[record.point.case] - record.sample_rows)
    return PointResult(
        point=record.point,
        outer_rows=record.outer_rows,
        is_sampled=record.sample_rows is not None,
        timing=timing,
        half_timing=half,
        estimated_ms=round(estimated_ms, 4),
        round_trips=(
            statistics.median(record.round_trips)
            if record.waited_round_trips is None
            else record.waited_round_trips
        ),
        facts=record.facts,
    )


def count_one_row_round_trips(bench: Bench, point: Point) -> int:
    """Counts the round trips of the one-row read itself, not of its EXPLAIN."""
    bench.set_rtt(point.rtt_us)
    bench.session.apply(find_settings(point))
    return bench.count_waited(write_query(point, 1), lambda: bench.execute(point, 1))[1]


@contextmanager
def open_bench(cluster: Cluster) -> Iterator[Bench]:
    """Opens all that measuring needs, and closes it."""
    with open_proxies(cluster) as line, measure.open_lines(cluster) as by_hand:
        session = measure.open_session(cluster)
        with session.connection:
            yield Bench(cluster, session, by_hand, line)

"""A star join over local tables: what looking ahead wins where pages have to be read.

Some rows of a fact table are joined with one to four dimensions by nested loops
over the dimensions' keys, with the plan as it is and with a Look Ahead under
each loop. A cold run is the first one after the server was started and the
kernel has forgotten the files.
"""

import itertools
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from pgshuttle import measure, results, star_tables
from pgshuttle.results import OnStep, Run
from pgshuttle.star_joins import (
    COMMON,
    PLANS,
    Plan,
    Sample,
    State,
    check_state,
    prepare,
    run_cached_once,
    run_once,
    write_query,
)
from pgshuttle.star_tables import Stored
from pgshuttle.state import Cluster

NROWS = 2_000_000
NCOLD = 3
NCACHED = 9
COLD_BOUND = 0.35
CACHED_BOUND = 1.05


@dataclass(frozen=True)
class Options:
    """How much is measured."""

    nrows: int
    nsampled: int
    dimensions: tuple[int, ...]
    ncold: int
    ncached: int


@dataclass(frozen=True)
class Measured:
    """One plan in one state. time_ms: of cold runs the median, of cached ones the shortest."""

    state: str
    io_method: str
    ndimensions: int
    concurrency: int
    shape: str
    samples: tuple[Sample, ...]
    time_ms: float


@dataclass(frozen=True, kw_only=True)
class Ratio(results.Ratio):
    """A plan's time with looking ahead as a part of its time without."""

    state: str
    io_method: str
    ndimensions: int
    concurrency: int


@dataclass(frozen=True, kw_only=True)
class Star(Run):
    """All that one run found out."""

    nrows: int
    nsampled: int
    data_mb: float
    joins: tuple[Measured, ...]
    ratios: tuple[Ratio, ...]

    @property
    def is_kept(self) -> bool:
        """Says if all targets are met."""
        return all(ratio.ok for ratio in self.ratios)


class Bench:
    """The query node while it is stopped and started; collects what is measured."""

    def __init__(self, cluster: Cluster, stored: Stored, options: Options, on_step: OnStep) -> None:
        self.cluster = cluster
        self.joins: list[Measured] = []
        self._stored = stored
        self._options = options
        self._on_step = on_step

    def _restart(self, io_method: str, buffers_kb: int, *, cold: bool) -> None:
        settings = {"shared_buffers": f"{buffers_kb}kB"}
        if io_method:
            settings["io_method"] = io_method
        drop = self._stored.files if cold else ()
        self.cluster = star_tables.restart(self.cluster, settings, drop)

    def _keep(
        self,
        where: tuple[State, str, int],
        shapes: Mapping[Plan, str],
        samples: Mapping[Plan, list[Sample]],
    ) -> None:
        for plan in PLANS:
            times_ms = [sample.elapsed_ms for sample in samples[plan]]
            middle = statistics.median if where[0] is State.COLD else min
            measured = (shapes[plan], tuple(samples[plan]), middle(times_ms))
            self.joins.append(Measured(*where, plan.concurrency, *measured))

    def run_cold(self, io_method: str, ndimensions: int) -> None:
        """Measures a join with its first run after each start."""
        samples: dict[Plan, list[Sample]] = {plan: [] for plan in PLANS}
        shapes: dict[Plan, str] = {}
        for number, plan in itertools.product(range(self._options.ncold), PLANS):
            self._on_step(f"{io_method} {State.COLD}, {ndimensions} dimensions, round {number + 1}")
            self._restart(io_method, self._stored.small_buffers_kb, cold=True)
            query = write_query(ndimensions, number)
            session = measure.open_session(self.cluster)
            with session.connection:
                shapes[plan] = prepare(session, plan, query)
                sample = run_once(self.cluster, session, query)
            check_state(State.COLD, sample, ndimensions * self._stored.dimension_bytes)
            samples[plan].append(sample)
        self._keep((State.COLD, io_method, ndimensions), shapes, samples)

    def run_cached(self, state: State, io_method: str) -> None:
        """Measures all joins in one session, by turns."""
        stored = self._stored
        buffers_kb = stored.large_buffers_kb if state is State.BUFFERS else stored.small_buffers_kb
        self._restart(io_method, buffers_kb, cold=False)
        session = measure.open_session(self.cluster)
        with session.connection:
            for ndimensions in self._options.dimensions:
                self._on_step(f"{io_method} {state}, {ndimensions} dimensions")
                query = write_query(ndimensions, 0)
                samples: dict[Plan, list[Sample]] = {plan: [] for plan in PLANS}
                shapes: dict[Plan, str] = {}
                for number, plan in itertools.product(range(self._options.ncached + 1), PLANS):
                    shapes[plan] = prepare(session, plan, query)
                    if number == 0:  # warms up
                        run_once(self.cluster, session, query)
                        continue
                    table_bytes = ndimensions * stored.dimension_bytes
                    samples[plan].append(
                        run_cached_once(self.cluster, session, query, state, table_bytes)
                    )
                self._keep((state, io_method, ndimensions), shapes, samples)


def compare(joins: Sequence[Measured]) -> Iterator[Ratio]:
    """Compares each plan that looks ahead with the one that does not."""
    base_ms = {
        (join.state, join.io_method, join.ndimensions): join.time_ms
        for join in joins
        if join.concurrency == 0
    }
    for join in joins:
        if join.concurrency > 0:
            where = (join.state, join.io_method, join.ndimensions)
            yield Ratio(
                state=join.state,
                io_method=join.io_method,
                ndimensions=join.ndimensions,
                concurrency=join.concurrency,
                ratio=round(join.time_ms / base_ms[where], 4),
                bound=COLD_BOUND if join.state == State.COLD else CACHED_BOUND,
            )


def run_star(cluster: Cluster, options: Options, on_step: OnStep) -> Star:
    """Makes the tables and measures all joins."""
    start_s = time.monotonic()
    on_step("filling the tables")
    star_tables.make_tables(cluster, options.nrows, options.nsampled)
    stored = star_tables.find_stored(cluster)
    buffers = {
        "shared_buffers": f"{stored.small_buffers_kb}kB",
        "shared_buffers, where all is in it": f"{stored.large_buffers_kb}kB",
    }
    described = results.describe_run(cluster, start_s, COMMON | buffers)
    bench = Bench(cluster, stored, options, on_step)
    for io_method in star_tables.list_io_methods(cluster):
        for ndimensions in options.dimensions:
            bench.run_cold(io_method, ndimensions)
        for state in (State.KERNEL, State.BUFFERS):
            bench.run_cached(state, io_method)
    return Star(
        **described | {"elapsed_s": round(time.monotonic() - start_s, 1)},
        nrows=options.nrows,
        nsampled=options.nsampled,
        data_mb=round(stored.all_bytes / 1024**2, 1),
        joins=tuple(bench.joins),
        ratios=tuple(compare(bench.joins)),
    )


HEAD = {
    "format": 1,
    "units": {
        "elapsed_ms": "milliseconds of one execution, seen by its client; planned before",
        "time_ms": "milliseconds: of cold runs the median, of cached ones the shortest",
        "npages": "pages of 8 kB that were read into shared buffers",
        "disk_bytes": "bytes that the disk had to read for the server's processes meanwhile",
        "concurrency": "effective_io_concurrency; 0: without looking ahead",
        "ratio": "time_ms with looking ahead / without",
        "bound": "that ratio is to be at most",
    },
}


def name_method(io_method: str) -> str:
    """Names how a server reads."""
    return io_method or "before 18"


def make_tables(found: Star) -> list[Table]:
    """A row for each plan that looks ahead."""
    joins = {(j.state, j.io_method, j.ndimensions, j.concurrency): j for j in found.joins}
    table = Table("pages", "io_method", "dimensions", "concurrency", "pages read")
    for name in ("plain ms", "ahead ms", "ratio", "at most", "verdict"):
        table.add_column(name, justify="right")
    table.title = f"Star join of {found.nsampled} rows, {found.data_mb:.0f} MB"
    for ratio in found.ratios:
        where = (ratio.state, ratio.io_method, ratio.ndimensions)
        plain, ahead = joins[(*where, 0)], joins[(*where, ratio.concurrency)]
        table.add_row(
            ratio.state,
            name_method(ratio.io_method),
            str(ratio.ndimensions),
            str(ratio.concurrency),
            str(count_pages(plain)),
            f"{plain.time_ms:.1f}",
            f"{ahead.time_ms:.1f}",
            f"{ratio.ratio:.3f}",
            f"{ratio.bound:g}",
            "ok" if ratio.ok else "[red]MISSED[/red]",
        )
    return [table]


def count_pages(join: Measured) -> int:
    """Returns how many pages a run of a join read, at most."""
    return max(sample.npages for sample in join.samples)

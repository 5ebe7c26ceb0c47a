"""Times the joins of hops under each delay, in rounds, so that what disturbs disturbs all alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import sql

from pgshuttle import measure, results, sweep
from pgshuttle.errors import ToolError
from pgshuttle.measure import Elapsed, Timing
from pgshuttle.results import OnStep, Run
from pgshuttle.state import Cluster
from pgshuttle.sweep import Bench

NROUNDS = 7
# after its first run, a cell is run again only as often as fits into this
CELL_MS = 1500.0
# one that takes longer is stopped, and counts as that
LIMIT_MS = 15_000.0


@dataclass(frozen=True)
class Cell:
    """One way to run one query. by_hand: runs it without the query node."""

    who: str
    ntables: int
    nrows: int
    query: sql.Composed | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    by_hand: Callable[[], Elapsed] | None = None
    counts: bool = False  # a plan of ours, whose requests EXPLAIN tells

    @property
    def title(self) -> str:
        """What is shown of it while it runs."""
        return f"{self.who}, tables {self.ntables}"


@dataclass(frozen=True)
class CellResult:
    """What a cell took under one delay. timing: None where it was stopped after stopped_ms."""

    who: str
    ntables: int
    rtt_us: int
    timing: Timing | None
    stopped_ms: float | None
    round_trips: int
    requests: int | None
    shape: str


@dataclass(frozen=True, kw_only=True)
class Hops(Run):
    """All that one run found out."""

    nrounds: int
    cells: tuple[CellResult, ...]


@dataclass
class Record:
    """What is known of a cell so far."""

    cell: Cell
    samples_ms: list[float] = field(default_factory=list)
    stopped_ms: float | None = None
    round_trips: int = 0
    requests: int | None = None
    shape: str = ""

    def wants_more(self) -> bool:
        """Says if another run is worth its time."""
        return self.stopped_ms is None and sum(self.samples_ms) < CELL_MS

    def finish(self, rtt_us: int) -> CellResult:
        """Sums it up."""
        return CellResult(
            who=self.cell.who,
            ntables=self.cell.ntables,
            rtt_us=rtt_us,
            timing=measure.summarize(self.samples_ms) if self.samples_ms else None,
            stopped_ms=self.stopped_ms,
            round_trips=self.round_trips,
            requests=self.requests,
            shape=self.shape,
        )


def execute(bench: Bench, cell: Cell) -> Elapsed | None:
    """Runs a cell once and checks that all rows came; None: it was stopped."""
    if cell.by_hand is not None:
        elapsed: Elapsed | None = cell.by_hand()
    elif cell.query is not None:
        bench.session.apply(cell.settings)
        elapsed = bench.session.time_within(cell.query, LIMIT_MS)
    else:
        raise ToolError(f"{cell.title} has nothing to run")
    if elapsed is not None and elapsed.nrows != cell.nrows:
        raise ToolError(f"{cell.title} gave {elapsed.nrows} rows instead of {cell.nrows}")
    return elapsed


def look_at_plan(bench: Bench, record: Record) -> None:
    """Notes the plan, and what a plan of ours says that it asked."""
    cell = record.cell
    if cell.query is None or record.stopped_ms is not None:
        return
    bench.session.apply(cell.settings)
    facts = bench.session.explain(cell.query, analyze=cell.counts)
    record.shape = facts.shape
    record.requests = facts.requests


def run_first(bench: Bench, record: Record) -> None:
    """Warms a cell up, and notes its plan."""
    if execute(bench, record.cell) is None:
        record.stopped_ms = LIMIT_MS
    look_at_plan(bench, record)


def run_again(bench: Bench, record: Record) -> None:
    """Adds a sample."""
    before = bench.count_round_trips()
    elapsed = execute(bench, record.cell)
    record.round_trips = bench.count_round_trips() - before
    if elapsed is None:
        record.stopped_ms = LIMIT_MS
        record.samples_ms.clear()
    else:
        record.samples_ms.append(elapsed.elapsed_ms)


def run_cells(
    bench: Bench, cells: Sequence[Cell], rtt_us: int, nrounds: int, on_step: OnStep
) -> list[CellResult]:
    """Measures all cells under one delay; each round runs each cell once."""
    records = [Record(cell) for cell in cells]
    bench.set_rtt(rtt_us)
    for record in records:
        on_step(f"{rtt_us / 1000:g} ms, warming up: {record.cell.title}")
        run_first(bench, record)
    for number in range(1, nrounds + 1):
        for record in records:
            if record.wants_more():
                on_step(f"{rtt_us / 1000:g} ms, round {number} of {nrounds}: {record.cell.title}")
                run_again(bench, record)
    return [record.finish(rtt_us) for record in records]


def run_all(
    cluster: Cluster,
    make_cells: Callable[[Bench], Sequence[Cell]],
    rtts_us: Sequence[int],
    nrounds: int,
    on_step: OnStep,
) -> Hops:
    """Measures all cells under each delay, each in a session that knows no other."""
    start_s = time.monotonic()
    found: list[CellResult] = []
    for rtt_us in rtts_us:
        with sweep.open_bench(cluster) as bench:
            bench.set_rtt(rtt_us)
            found += run_cells(bench, make_cells(bench), rtt_us, nrounds, on_step)
            bench.set_rtt(cluster.rtt_us)
    return Hops(**results.describe_run(cluster, start_s), nrounds=nrounds, cells=tuple(found))

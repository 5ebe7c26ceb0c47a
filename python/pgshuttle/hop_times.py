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


@dataclass
class CellResult:
    """What a cell took under one delay. timing: None where it was stopped after stopped_ms."""

    who: str
    ntables: int
    rtt_us: int
    timing: Timing | None = None
    stopped_ms: float | None = None
    round_trips: int = 0
    requests: int | None = None
    shape: str = ""


@dataclass(frozen=True, kw_only=True)
class Hops(Run):
    """All that one run found out."""

    nrounds: int
    cells: tuple[CellResult, ...]


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


def run_first(bench: Bench, cell: Cell, rtt_us: int) -> CellResult:
    """Warms a cell up, and notes its plan, and what a plan of ours says that it asked."""
    found = CellResult(cell.who, cell.ntables, rtt_us)
    if execute(bench, cell) is None:
        found.stopped_ms = LIMIT_MS
    elif cell.query is not None:
        facts = bench.session.explain(cell.query, analyze=cell.counts)
        found.shape, found.requests = facts.shape, facts.requests
    return found


def run_again(bench: Bench, cell: Cell, found: CellResult, samples_ms: list[float]) -> None:
    """Adds a sample, unless the cell was stopped or had its time."""
    if found.stopped_ms is not None or sum(samples_ms) >= CELL_MS:
        return
    before = bench.count_round_trips()
    elapsed = execute(bench, cell)
    found.round_trips = bench.count_round_trips() - before
    if elapsed is None:
        found.stopped_ms, found.timing = LIMIT_MS, None
    else:
        samples_ms.append(elapsed.elapsed_ms)
        found.timing = measure.summarize(samples_ms)


def run_cells(
    bench: Bench, cells: Sequence[Cell], rtt_us: int, nrounds: int, on_step: OnStep
) -> list[CellResult]:
    """Measures all cells under one delay; each round runs each cell once."""
    bench.set_rtt(rtt_us)
    found, samples_ms = [], []
    for cell in cells:
        on_step(f"{rtt_us / 1000:g} ms, warming up: {cell.title}")
        found.append(run_first(bench, cell, rtt_us))
        samples_ms.append(list[float]())
    for number in range(1, nrounds + 1):
        on_step(f"{rtt_us / 1000:g} ms, round {number} of {nrounds}")
        for one in zip(cells, found, samples_ms, strict=True):
            run_again(bench, *one)
    return found


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

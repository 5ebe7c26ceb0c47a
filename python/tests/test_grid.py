"""The sweep and the hops: what is run, what is counted, what is shown and kept."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import synthetic
from conftest import run_small_cluster

from pgshuttle import grid, hops, measure, reference, sweep, tablets
from pgshuttle.grid import CellResult, Grid
from pgshuttle.state import Cluster


def make_grid(bench: str) -> Grid:
    """A made-up run of all cells of the sweep, or of some of the hops."""
    if bench == tablets.NAME:
        known = [(cell.who, dict(cell.labels)) for cell in tablets.list_cells()]
        known.append((tablets.BY_HAND, {}))
    else:
        known = [(who, {"tables": n}) for n in (2, 3) for who in (hops.OURS, hops.BY_HAND)]
    cells = [
        CellResult(who, labels, rtt_us, measure.summarize([2.0, 3.0]), None, 4, 2, 1, "a plan")
        for rtt_us in grid.RTTS_US
        for who, labels in known
    ]
    cells[-1] = replace(cells[-1], timing=None, stopped_ms=15_000.0)
    return Grid(
        bench=bench,
        **synthetic.RUN,
        nrounds=2,
        cells=tuple(cells),
        published=reference.list_published() if bench == tablets.NAME else None,
    )


def test_limits_above_the_batch_are_left_out() -> None:
    limits = (100, 1024, 2000)
    assert tablets.list_limits(limits, 1) == [100]
    assert tablets.list_limits(limits, 100) == [100]
    assert tablets.list_limits(limits, 1024) == [100, 1024]
    assert tablets.list_limits(limits, 1025) == [100, 1024, 2000]
    sizes = {cell.labels.get("batch_size") for cell in tablets.list_cells()}
    assert sizes == {None, *tablets.BATCH_SIZES}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with run_small_cluster(tmp_path_factory, "grid", 2) as made:
        hops.make_tables(made, nrows=20_000)
        tablets.make_tables(made)
        yield made


def test_a_hop_is_a_request(running: Cluster) -> None:
    with sweep.open_bench(running) as bench:
        found = grid.run_cells(bench, list(hops.list_cells(bench)), 0, 1, lambda _step: None)
    ours = {cell.labels["tables"]: cell for cell in found if cell.who == hops.OURS}
    for ntables, cell in ours.items():
        assert cell.requests == ntables, cell
    assert all(cell.timing is not None for cell in found)


def test_sweep_asks_as_often_as_its_settings_say(running: Cluster) -> None:
    sizes = (100, 2000)
    with sweep.open_bench(running) as bench:
        cells = list(tablets.list_cells(sizes))
        found = grid.run_cells(bench, cells, 0, 1, lambda _step: None)
    batches = {cell.labels["batch_size"]: cell.batches for cell in found if cell.labels}
    assert batches[2000] is not None
    assert batches[100] is not None
    assert batches[100] >= tablets.NROWS / 100 > batches[2000]
    assert len(found) == len(cells)


def test_sweep_by_hand_takes_two_round_trips(running: Cluster) -> None:
    rtt_us = 50_000
    with sweep.open_bench(running) as bench:
        join = tablets.join_by_hand(bench)
        assert join().nrows == tablets.NROWS
        bench.set_rtt(rtt_us)
        elapsed_ms = join().elapsed_ms
        bench.set_rtt(0)
    assert 2 * rtt_us / 1000 <= elapsed_ms < 3 * rtt_us / 1000


def test_a_slow_cell_is_stopped(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "LIMIT_MS", 1.0)
    with sweep.open_bench(running) as bench:
        cells = [cell for cell in tablets.list_cells((1,)) if cell.labels]
        (found,) = grid.run_cells(bench, cells, 2000, 2, lambda _step: None)
        bench.set_rtt(0)
    assert found.timing is None
    assert found.stopped_ms == 1.0

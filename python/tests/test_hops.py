"""The hops: what is run, what is counted, what is shown and kept."""

from dataclasses import replace

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle import hop_times, hops, measure, sweep
from pgshuttle.hop_times import CellResult, Hops
from pgshuttle.state import Cluster

NROWS = 20_000


def make_hops() -> Hops:
    """A made-up run of some cells, the last of which was stopped."""
    timing = measure.summarize([2.0, 3.0])
    cells = [
        CellResult(who, ntables, rtt_us, timing, None, 4, 2, "a plan")
        for rtt_us in (0, 90_000)
        for ntables in (2, 3)
        for who in (hops.OURS, hops.BY_HAND)
    ]
    cells[-1] = replace(cells[-1], timing=None, stopped_ms=15_000.0)
    return Hops(**synthetic.RUN, nrounds=2, cells=tuple(cells))


def test_a_row_for_everybody() -> None:
    (table,) = hops.make_tables(make_hops())
    assert table.row_count == 4
    assert list(table.columns[-1].cells)[-1] == "> 15.0 s"


running = small_cluster("hops", 2, lambda made: hops.fill_tables(made, nrows=NROWS))


def test_a_hop_is_a_request(running: Cluster) -> None:
    with sweep.open_bench(running) as bench:
        found = hop_times.run_cells(bench, list(hops.list_cells(bench)), 0, 1, lambda _step: None)
    for cell in found:
        assert cell.timing is not None
        assert cell.who != hops.OURS or cell.requests == cell.ntables, cell


def test_a_slow_cell_is_stopped(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hop_times, "LIMIT_MS", 1.0)
    with sweep.open_bench(running) as bench:
        (cell,) = [
            cell
            for cell in hops.list_cells(bench)
            if cell.ntables == hops.MOST_TABLES and cell.who == "postgres_fdw"
        ]
        (found,) = hop_times.run_cells(bench, [cell], 2000, 2, lambda _step: None)
        bench.set_rtt(0)
    assert found.timing is None
    assert found.stopped_ms == 1.0

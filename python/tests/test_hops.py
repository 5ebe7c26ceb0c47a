"""The hops: what is run, what is counted, what is shown and kept."""

from dataclasses import replace

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle import hops, measure
from pgshuttle.hops import CellResult, Hops, Way
from pgshuttle.state import Cluster

NROWS = 20_000


def make_hops() -> Hops:
    """A made-up run of some cells, the last of which was stopped."""
    timing = measure.summarize([2.0, 3.0])
    cells = [
        CellResult(who, ntables, rtt_us, timing, 2)
        for rtt_us in (0, 90_000)
        for ntables in (2, 3)
        for who in (Way.OURS, Way.BY_HAND)
    ]
    cells[-1] = replace(cells[-1], timing=None)
    return Hops(**synthetic.RUN, nrounds=2, cells=tuple(cells))


def test_a_row_for_everybody() -> None:
    (table,) = hops.make_tables(make_hops())
    assert table.row_count == 4
    assert list(table.columns[-1].cells)[-1] == "> 15.0 s"


running = small_cluster("hops", 2, lambda made: hops.fill_tables(made, nrows=NROWS))


def test_a_hop_is_a_request(running: Cluster) -> None:
    found = hops.run_cells(running, 0, 1, lambda _step: None)
    assert len(found) == len(Way) * (hops.MOST_TABLES - 1)
    for cell in found:
        assert cell.timing is not None
        assert cell.who != Way.OURS or cell.requests == cell.ntables, cell


def test_a_slow_cell_is_stopped(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "LIMIT_MS", 1.0)
    found = hops.run_cells(running, 2000, 2, lambda _step: None)
    (cell,) = [one for one in found if (one.ntables, one.who) == (hops.MOST_TABLES, Way.STOCK)]
    assert cell.timing is None

"""Star joins over local tables: how they are measured and what is shown."""

from typing import Any

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle import cluster as clusters
from pgshuttle import star, star_disk, star_joins, star_tables
from pgshuttle.errors import ToolError
from pgshuttle.star import Measured, Star
from pgshuttle.star_joins import PLANS, Sample, State, check_state
from pgshuttle.state import Cluster

OPTIONS = star.Options(nrows=40_000, nsampled=200, dimensions=(1, 4), ncold=1, ncached=2)


def make_join(state: State, concurrency: int, time_ms: float) -> Measured:
    """A plan that takes so long."""
    sample = Sample(time_ms, 1000, 1000 * star_disk.PAGE_BYTES)
    return Measured(state, "worker", 4, concurrency, "Join(a, b)", (sample,), time_ms)


def make_star(cold_ms: float = 30.0) -> Star:
    """A whole run."""
    joins = tuple(
        make_join(state, concurrency, time_ms)
        for state, times_ms in (
            (State.COLD, (100.0, 34.0, cold_ms)),
            (State.BUFFERS, (100.0, 101.0, 102.0)),
        )
        for concurrency, time_ms in zip((0, 16, 128), times_ms, strict=True)
    )
    return Star(
        **synthetic.RUN,
        nrows=1_000_000,
        nsampled=10_000,
        data_mb=1000.0,
        joins=joins,
        ratios=tuple(star.compare(joins)),
    )


def test_ratios_are_of_one_state() -> None:
    found = make_star()
    assert [ratio.ratio for ratio in found.ratios] == [0.34, 0.3, 1.01, 1.02]
    assert [ratio.bound for ratio in found.ratios] == [0.35, 0.35, 1.05, 1.05]
    assert found.is_kept
    assert not make_star(cold_ms=36.0).is_kept
    assert star.make_tables(found)[0].row_count == len(found.ratios)


def test_where_the_pages_were() -> None:
    page = star_disk.PAGE_BYTES
    check_state(State.COLD, Sample(1.0, 100, 60 * page), 1000 * page)
    with pytest.raises(ToolError, match="not cold: 40%"):
        check_state(State.COLD, Sample(1.0, 100, 40 * page), 1000 * page)
    # read again from the kernel
    check_state(State.COLD, Sample(1.0, 100, 20 * page), 30 * page)
    check_state(State.KERNEL, Sample(1.0, 100, page), 1000 * page)
    with pytest.raises(ToolError, match="not cached"):
        check_state(State.KERNEL, Sample(1.0, 100, 10 * page), 1000 * page)
    check_state(State.BUFFERS, Sample(1.0, 0, page), 1000 * page)
    with pytest.raises(ToolError, match="5 pages were not"):
        check_state(State.BUFFERS, Sample(1.0, 5, 0), 1000 * page)


@pytest.mark.parametrize("ndropped", [0, 2, star_joins.NTRIES])
def test_pages_that_the_kernel_dropped(monkeypatch: pytest.MonkeyPatch, ndropped: int) -> None:
    page = star_disk.PAGE_BYTES
    dropped, cached = Sample(2.0, 100, 100 * page), Sample(1.0, 100, 0)
    samples = iter([dropped] * ndropped + [cached])
    monkeypatch.setattr(star_joins, "run_once", lambda *_: next(samples))
    nobody: Any = None  # who runs it does not look at them

    def run() -> Sample:
        return star_joins.run_cached_once(nobody, nobody, nobody, State.KERNEL, 1000 * page)

    if ndropped < star_joins.NTRIES:
        assert run() == cached
    else:
        with pytest.raises(ToolError, match="not cached"):
            run()


running = small_cluster("star", 1)


def test_all_joins_are_measured(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    # where the files lie in memory nothing comes from a disk
    for module in ("star", "star_joins"):
        monkeypatch.setattr(f"pgshuttle.{module}.check_state", lambda *_: None)
    steps: list[str] = []
    found = star.run_star(running, OPTIONS, steps.append)
    methods = {join.io_method for join in found.joins}
    assert methods <= {"", "worker", "io_uring"}
    assert len(found.joins) == len(methods) * len(State) * len(OPTIONS.dimensions) * len(PLANS)
    assert len(found.ratios) == len(found.joins) * 2 // 3
    for join in found.joins:
        assert join.shape.count("Nested Loop") == join.ndimensions
        assert join.shape.count("Look Ahead") == (join.ndimensions if join.concurrency else 0)
        if join.state == State.COLD:
            assert join.samples[0].npages > 0
        if join.state == State.BUFFERS:
            assert [sample.npages for sample in join.samples] == [0] * OPTIONS.ncached
    assert "filling the tables" in steps

    # the tables of a cluster that was kept are used again
    again = clusters.load(running.directory)
    stored = star_tables.find_stored(again)
    star_tables.make_tables(again, OPTIONS.nrows, OPTIONS.nsampled)
    assert star_tables.find_stored(again) == stored
    assert stored.all_bytes > star_tables.NDIMENSIONS * stored.dimension_bytes

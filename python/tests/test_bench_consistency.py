"""Reads that are consistent over nodes: what is counted, what is promised."""

from dataclasses import replace

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle.bench import consistency, consistency_load
from pgshuttle.bench.consistency import Consistency, Cost
from pgshuttle.bench.consistency_load import Level, Point
from pgshuttle.cluster.state import Cluster


def make_points(atomic_ms: float) -> list[Point]:
    point = Point("node", 0, 0, 100, 0, 4.0, 8.0, 0.0, 0.0, 0)
    times_ms = {Level.NODE: 4.0, Level.ATOMIC: atomic_ms, Level.STRICT: 5.0}
    return [
        replace(
            point,
            level=str(level),
            rtt_us=rtt_us,
            nwriters=nwriters,
            read_ms=time_ms,
            transfers=100.0 * nwriters,
            nwrong=nwriters if level is Level.NODE else 0,
        )
        for rtt_us in consistency_load.RTTS_US
        for nwriters in consistency_load.NWRITERS
        for level, time_ms in times_ms.items()
    ]


def make_consistency(atomic_ms: float = 4.1) -> Consistency:
    points = make_points(atomic_ms)
    costs = [Cost(name, str(level), 80.0) for name in consistency.ONE_NODE for level in Level]
    return Consistency(
        **synthetic.RUN,
        nrounds=1,
        seconds=1.0,
        points=tuple(points),
        costs=tuple(costs),
        claims=tuple(consistency.check_claims(points, costs)),
    )


def test_promises() -> None:
    found = make_consistency()
    assert found.is_kept
    assert len(consistency.make_tables(found)[0].rows) == len(found.points)
    assert [claim.what for claim in make_consistency(4.3).claims if not claim.ok] == [
        "RTT 1 ms, no writers: a sum, of one with node"
    ]


def test_wrong_sums_are_no_promise_kept() -> None:
    points = make_points(4.0)
    points[-2] = replace(points[-2], nwrong=1)
    found = consistency.check_claims(points, make_consistency().costs)
    assert [claim.what for claim in found if not claim.ok] == ["atomic: wrong sums"]


running = small_cluster(consistency.NNODES, lambda _: None)


def test_sums_while_amounts_are_moved(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency_load, "RTTS_US", (1000,))
    monkeypatch.setattr(consistency_load, "NWRITERS", (0, 2))
    monkeypatch.setattr(consistency, "check_claims", lambda _points, _costs: [])
    found = consistency.run_consistency(
        running, lambda _step: None, nrounds=1, seconds=0.5, ncalls=20
    )
    assert [(one.level, one.nwriters) for one in found.points] == [
        (level, nwriters) for nwriters in (0, 2) for level in Level
    ]
    assert all(one.nwrong == 0 for one in found.points if one.level != Level.NODE)
    assert all((one.transfers > 0) is (one.nwriters > 0) for one in found.points)
    assert all(cost.least_us > 0 for cost in found.costs)
    assert consistency.make_tables(found)[1].row_count == 6

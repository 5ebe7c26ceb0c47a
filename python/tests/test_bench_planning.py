"""Planning times: how they are measured and what is shown."""

import synthetic
from conftest import small_cluster

from pgshuttle.bench import planning
from pgshuttle.bench.planning import Planned, PlanTimes, Way
from pgshuttle.cluster.state import Cluster


def make_planning(engine_ms: float = 1.2) -> PlanTimes:
    times_ms = {Way.STOCK: 1.0, Way.GUEST: 1.1, Way.ENGINE: engine_ms}
    planned = tuple(
        Planned("one condition", "SELECT", way, ("batched join",), (time_ms,), time_ms)
        for way, time_ms in times_ms.items()
    )
    return PlanTimes(
        **synthetic.RUN,
        nparts=200,
        nrounds=1,
        planned=planned,
        ratios=tuple(planning.compare(planned)),
    )


def test_ratios_are_to_stock() -> None:
    found = make_planning()
    assert [(ratio.way, ratio.ratio) for ratio in found.ratios] == [
        (Way.GUEST, 1.1),
        (Way.ENGINE, 1.2),
    ]
    assert found.is_kept
    assert not make_planning(1.6).is_kept
    assert planning.make_tables(found)[0].row_count == 2


running = small_cluster(2)


def test_each_session_plans_its_tables(running: Cluster) -> None:
    found = planning.run_planning(running, lambda _: None, npartitions=3, nrounds=2)
    assert len(found.planned) == len(planning.QUERIES) * len(Way)
    assert all(len(one.samples_ms) == 2 for one in found.planned)
    joins = {(one.label, one.way): one.joins for one in found.planned}
    assert "batched join" not in joins["one condition", Way.STOCK]
    assert joins["one condition", Way.ENGINE] == ("batched join",)

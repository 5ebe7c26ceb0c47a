"""Processor time of statements by key: how it is counted and what is shown."""

import synthetic
from conftest import small_cluster

from pgshuttle.base import connections
from pgshuttle.bench import routed
from pgshuttle.bench.routed import Cost, Routed, Way
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster


def make_routed(routed_us: float = 11.0) -> Routed:
    times_us = {Way.ROUTED: routed_us, Way.BY_HAND: 10.0, Way.STOCK: 20.0, Way.LOCAL: 2.0}
    costs = tuple(
        Cost(name, way, (time_us,), time_us)
        for name in routed.STATEMENTS
        for way, time_us in times_us.items()
    )
    return Routed(**synthetic.RUN, ncalls=1, costs=costs, ratios=tuple(routed.compare(costs)))


def test_ratios_are_to_the_foreign_table() -> None:
    found = make_routed()
    assert [ratio.ratio for ratio in found.ratios] == [1.1] * len(routed.STATEMENTS)
    assert found.is_kept
    assert not make_routed(13.0).is_kept
    assert routed.make_tables(found)[0].row_count == len(routed.STATEMENTS) * len(Way)


running = small_cluster(2)


def test_each_way_executes_both_statements(running: Cluster) -> None:
    found = routed.run_routed(running, lambda _: None, nrounds=2, ncalls=20)
    assert len(found.costs) == len(routed.STATEMENTS) * len(Way)
    assert all(len(one.samples_us) == 2 and one.least_us > 0 for one in found.costs)
    with catalog.connect(running.query) as connection:
        sums = {}
        for way in (Way.ROUTED, Way.LOCAL):
            connection.execute(f"SET search_path = {routed.SCHEMAS[way]}")
            sums[way] = connections.read_rows(connection, "SELECT sum(n) FROM item")
            plan = connections.read_rows(connection, "EXPLAIN SELECT n FROM item WHERE id = 7")
            assert ("Routed Statement" in plan[0][0]) == (way is Way.ROUTED)
    assert sums[Way.ROUTED] == sums[Way.LOCAL]

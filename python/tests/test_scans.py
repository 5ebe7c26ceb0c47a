"""Queries over several nodes: what is timed, what is shown, what is kept."""

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle import catalog, measure, scans, scans_tables
from pgshuttle.errors import ToolError
from pgshuttle.measure import WayResult
from pgshuttle.scans import Answers, Scans, Way
from pgshuttle.scans_queries import QUERIES
from pgshuttle.state import Cluster


def make_scans(ours_ms: float = 12.0, nrows: int = 4, nbytes: int = 2000) -> Scans:
    """A made-up run: the nodes' statements take 10 ms, and postgres_fdw was stopped once."""
    ways = []
    for rtt_us in scans.RTTS_US:
        for query in QUERIES:
            times_ms = {Way.OURS: ours_ms + rtt_us / 1000, Way.HAND: 10.0, Way.HERE: 40.0}
            for way, time_ms in times_ms.items():
                timing = measure.summarize([time_ms, time_ms])
                ways.append(WayResult(query.label, str(way), rtt_us, timing))
            stock = None if rtt_us else measure.summarize([500.0])
            ways.append(WayResult(query.label, str(Way.STOCK), rtt_us, stock))
    return Scans(
        **synthetic.RUN,
        nrounds=2,
        norders=100,
        ways=tuple(ways),
        verdicts=tuple(
            scans.judge(ways, query, rtt_us, Answers(nrows, nbytes, 4, 20.0), 4)
            for rtt_us in scans.RTTS_US
            for query in QUERIES
        ),
    )


def test_limits() -> None:
    found = make_scans()
    assert found.is_kept
    assert found.verdicts[0].limit_ms == pytest.approx(1.2 * 10 + 2)
    assert found.verdicts[-1].limit_ms == pytest.approx(1.2 * 10 + 0.8 + 2)
    assert not make_scans(ours_ms=14.5).is_kept
    assert not make_scans(nrows=5).is_kept
    assert found.verdicts[0].limit_bytes == 2 * 4 * (20 + 16) + 4 * 512
    assert not make_scans(nbytes=2337).is_kept
    assert scans.make_tables(found)[0].row_count == 2 * len(QUERIES)


def test_borders() -> None:
    assert scans_tables.find_borders(10, 4) == [1, 3, 6, 8, 11]


running = small_cluster("scans", 2, lambda made: scans_tables.make_tables(made, 3000))


def test_each_query_is_right_and_timed(running: Cluster) -> None:
    assert len({query.label for query in QUERIES}) == 20
    with scans.open_runner(running, 2000) as runner:
        for query in QUERIES:
            runner.check(query)
            assert runner.hand.time(query).elapsed_ms >= 2.0
        ways = runner.run_query(QUERIES[0], 2000, 1)
        assert [way.way for way in ways] == [
            str(way) for way in (Way.OURS, Way.HAND, Way.HERE, Way.STOCK)
        ]
        answers = runner.count_answers(QUERIES[0])
        assert answers.nrows == runner.hand.time(QUERIES[0]).nrows
        assert answers.nrequests == len(runner.hand.connections)
        assert 0 < answers.nbytes <= 2 * answers.nrows * (answers.row_bytes + 16) + 2 * 512


def read_node_settings(cluster: Cluster) -> set[object]:
    """Returns how new sessions of the nodes plan."""
    found: set[object] = set()
    for node in cluster.nodes:
        with catalog.connect(node.server) as connection:
            for name in scans.COMMON:
                shown = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
                found.add((name, shown[0] if shown else None))
    return found


def test_nodes_plan_alike_for_all(running: Cluster) -> None:
    before = read_node_settings(running)
    with scans.plan_alike(running):
        assert read_node_settings(running) == set(scans.COMMON.items())
    assert read_node_settings(running) == before != set(scans.COMMON.items())


def test_other_rows_are_an_error(running: Cluster) -> None:
    with scans.open_runner(running, 0) as runner:
        connection = runner.session.connection
        connection.execute("BEGIN; DELETE FROM scans_here.orders WHERE o_orderkey = 1")
        with pytest.raises(ToolError, match="not those of the local table"):
            runner.check(next(query for query in QUERIES if query.label == "by year"))
        connection.execute("ROLLBACK")

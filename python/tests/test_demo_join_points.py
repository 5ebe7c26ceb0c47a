"""Which points there are, and how they are executed."""

from dataclasses import replace
from unittest.mock import MagicMock

import pytest
import synthetic
from psycopg import sql

from pgshuttle.base.errors import ToolError
from pgshuttle.demo import join_points, join_rounds
from pgshuttle.demo.join_points import Case, Contender, Outer, Planner, Point
from pgshuttle.demo.join_rounds import Effort, Record


def test_the_sweep_is_complete() -> None:
    found = join_points.list_join_points()
    assert len(found) == len(set(found))
    forced = [
        point
        for point in found
        if point.contender is Contender.ENGINE and point.planner is Planner.FORCED
    ]
    assert len(forced) == 7 * 3 * 3 * 2


def test_the_headline_is_part_of_the_sweep() -> None:
    headline = join_points.list_headline_points()
    assert set(headline) <= set(join_points.list_join_points())
    assert {point.contender for point in headline} == {
        Contender.ENGINE,
        Contender.STOCK_LOOKUPS,
        Contender.STOCK_BEST,
    }


@pytest.mark.parametrize(
    ("batch_size", "rtt_us", "is_sampled"),
    [(1, 90_000, True), (1, 800, False), (10, 90_000, False), (1, 0, False)],
)
def test_only_slow_points_are_sampled(batch_size: int, rtt_us: int, is_sampled: bool) -> None:
    point = synthetic.engine_join(rtt_us, batch_size)
    assert (join_points.find_sample_rows(point, 1.0, synthetic.LONGEST_S) is not None) is is_sampled


def test_query_of_a_sample() -> None:
    point = synthetic.engine_join(90_000, 1)
    assert join_points.write_query(point, 2000).as_string() == (
        'SELECT a.id, a.x, b.x FROM "engine"."demo1" a JOIN "engine"."demo2" b'
        " ON b.id = a.id WHERE b.x = 0"
    )
    assert join_points.write_query(point, 12).as_string().endswith(" AND a.id <= 12")


def test_settings() -> None:
    assert join_points.find_settings(synthetic.engine_join(0, 100)) == {
        "shuttle.batch_size": "100",
        "shuttle.request_limit": "1024",
        "shuttle.debug_force_batched_join": "on",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    }
    large = join_points.find_settings(replace(synthetic.engine_join(0), request_limit=2000))
    assert large["shuttle.fetch_limit"] == "2000"
    stock = Point(Case.JOIN, Contender.STOCK_BEST, Outer.LOCAL, 0)
    assert join_points.find_settings(stock) == {"shuttle.enable_batched_join": "off"}


def test_a_sample_is_estimated_by_its_slope() -> None:
    rows = 10
    record = Record(synthetic.engine_join(90_000, 1), nruns=1, sample_rows=rows)
    # 180 ms for what comes before, 90 ms for each row
    record.samples_ms.append(180 + 90 * rows)
    record.half_samples_ms.append(180 + 90 * (rows // 2))
    record.round_trips.append(rows + 2)
    result = join_rounds.finish(record)
    assert result.is_sampled
    assert result.outer_rows == rows
    assert result.estimated_ms == pytest.approx(180 + 90 * 2000)


def test_slow_points_run_less_often() -> None:
    record = Record(synthetic.engine_join(0), nruns=3)
    record.samples_ms.append(600.0)
    join_rounds.limit_runs(record, Effort("test", nruns=3, point_s=1.5, sample_s=1.0))
    assert record.nruns == 2
    record.samples_ms.append(5000.0)
    join_rounds.limit_runs(record, join_rounds.QUICK)
    assert record.nruns == 1
    record.nruns = 15
    join_rounds.limit_runs(record, join_rounds.FULL)
    assert record.nruns == 15


def test_our_commit_is_no_round_trip_that_is_waited_for() -> None:
    record = Record(synthetic.engine_join(800), nruns=1)
    record.samples_ms.append(5.0)
    record.round_trips.append(4)
    record.waited_round_trips = 2
    assert join_rounds.finish(record).round_trips == 2


def make_bench(counts: list[int]) -> join_rounds.Bench:
    """A bench whose proxies see as many round trips as they are told."""
    line = MagicMock()
    line.count_round_trips.side_effect = counts
    return join_rounds.Bench(MagicMock(), MagicMock(), [MagicMock(), MagicMock()], line)


def test_the_query_runs_once_before_it_is_counted() -> None:
    bench = make_bench([7, 9])
    assert bench.count_waited(sql.SQL("SELECT 1"), lambda: "answer") == ("answer", 2)
    assert isinstance(bench.session, MagicMock)
    bench.session.time.assert_called_once()


def test_no_round_trip_at_all_is_a_wrong_count() -> None:
    with pytest.raises(ToolError, match="saw no round trip"):
        make_bench([7, 7]).count_waited(sql.SQL("SELECT 1"), lambda: None)

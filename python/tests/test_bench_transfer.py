"""The transfer of many rows: what is timed, what is shown, what is kept."""

import pytest
import synthetic
from conftest import small_cluster
from psycopg import sql

from pgshuttle.bench import measure, transfer
from pgshuttle.bench.measure import WayResult
from pgshuttle.bench.transfer import Transfer, Way
from pgshuttle.cluster.state import Cluster


def make_transfer(ours_ms: float = 100.0) -> Transfer:
    """A made-up run: stock takes 300 ms, COPY 150."""
    times_ms = {Way.BINARY: ours_ms, Way.TEXT: 110.0, Way.STOCK: 300.0}
    times_ms |= {Way.STOCK_DEFAULT: 900.0, Way.COPY: 150.0}
    ways = [
        WayResult(transfer.TABLE, str(way), rtt_us, measure.summarize([time_ms, time_ms + 2]))
        for rtt_us in transfer.RTTS_US
        for way, time_ms in times_ms.items()
    ]
    return Transfer(
        **synthetic.RUN,
        nrows=1000,
        nrounds=2,
        ways=tuple(ways),
        ratios=tuple(transfer.compare(ways, rtt_us) for rtt_us in transfer.RTTS_US),
    )


def test_ratios_and_targets() -> None:
    found = make_transfer()
    assert found.ratios[0].stock_over_ours == pytest.approx(301 / 101, abs=0.001)
    assert found.ratios[0].ours_over_copy == pytest.approx(101 / 151, abs=0.001)
    assert found.is_kept
    assert not make_transfer(ours_ms=200.0).is_kept
    assert transfer.make_tables(found)[0].row_count == len(found.ways)


running = small_cluster(1, lambda made: transfer.fill_tables(made, 3000))


def test_each_way_fetches_all_rows(running: Cluster) -> None:
    with measure.open_delayed_session(running, 2000) as session:
        for schema, settings in transfer.READS.values():
            session.apply(settings)
            rows = session.connection.execute(
                sql.SQL(transfer.READ).format(sql.Identifier(schema, transfer.TABLE))
            ).fetchall()
            assert rows == [(3000,) * 8]
        found = transfer.run_rounds(running, session, 2, 2000, lambda _step: None)
    assert [way.way for way in found] == [str(way) for way in Way]
    by_way = {way.way: way.timing.samples_ms for way in found if way.timing is not None}
    assert all(len(samples_ms) == 2 for samples_ms in by_way.values())
    assert all(min(samples_ms) >= 2.0 for samples_ms in by_way.values())
    # fetch_size 100: 30 pages, each waited for
    assert min(by_way[Way.STOCK_DEFAULT]) > 60
    assert min(by_way[Way.STOCK_DEFAULT]) > min(by_way[Way.STOCK])

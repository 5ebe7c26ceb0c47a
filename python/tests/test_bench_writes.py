"""Writes of many rows: what is timed, what is shown, what is kept."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import synthetic
from conftest import run_on, small_cluster

from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure, tpcb, writes, writes_tables
from pgshuttle.bench.making_tables import write
from pgshuttle.bench.measure import WayResult
from pgshuttle.bench.writes import Writes
from pgshuttle.bench.writes_limits import Case, Line, Way, judge
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster


def make_writes(ours_ms: float = 14.0) -> Writes:
    """A made-up run: 10 ms on one node, and postgres_fdw stopped over the longest way."""
    ways = []
    for rtt_us in writes.RTTS_US:
        for case in Case:
            times_ms = {Way.OURS: ours_ms + 2 * rtt_us / 1000, Way.NODE: 10.0}
            if case in (Case.ONE, Case.TWO):
                times_ms[Way.LINE] = 10.0 + 7 * rtt_us / 1000
                times_ms[Way.HAND] = 9.0 + 8 * rtt_us / 1000
            for way, time_ms in times_ms.items():
                timing = measure.summarize([time_ms, time_ms])
                ways.append(WayResult(str(case), str(way), rtt_us, timing))
            stock = None if rtt_us == max(writes.RTTS_US) else measure.summarize([500.0])
            ways.append(WayResult(str(case), str(Way.STOCK), rtt_us, stock))
    lines = tuple(Line(rtt_us, rtt_us / 1000, 0.1) for rtt_us in writes.RTTS_US)
    return Writes(
        **synthetic.RUN,
        nrounds=2,
        lines=lines,
        ways=tuple(ways),
        verdicts=tuple(judge(ways, line, case) for line in lines for case in Case),
    )


def test_limits() -> None:
    found = make_writes()
    assert found.is_kept
    assert not make_writes(ours_ms=15.5).is_kept
    by_case = {(verdict.case, verdict.rtt_us): verdict for verdict in found.verdicts}
    assert by_case[Case.UPDATE, 90_000].limit_ms == pytest.approx(15 + 180)
    assert by_case[Case.TWO, 800].limit_ms == pytest.approx(16 + 8 * 0.8)
    assert by_case[Case.FUNCTION, 90_000].limit_ms == pytest.approx(16 + 180)
    assert by_case[Case.COPY, 800].relay_ms is None
    assert by_case[Case.TWO, 800].relay_ms == pytest.approx(9 + 8 * 0.8 + 7 * 0.1)
    assert writes.make_tables(found)[0].row_count == len(found.verdicts)


@pytest.fixture(scope="module", autouse=True)
def few_rows() -> Iterator[None]:
    """Makes all tables a tenth as large."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("nrows", "nupdated", "nwritten", "naccounts"):
            size = writes_tables.SIZES[name] // 10
            patch.setitem(writes_tables.SIZES, name, size)
            patch.setattr(writes_tables, name.upper(), size)
        yield


running = small_cluster(writes.NNODES, writes_tables.make_tables)


def test_all_ways_write_the_same(running: Cluster) -> None:
    with writes.open_runner(running, 0) as runner:
        for case, text in writes.STATEMENTS.items():
            counts = set()
            for way in (Way.OURS, Way.STOCK, Way.NODE):
                schema = writes_tables.schema_of(way.name, "item")
                connection = runner.sessions[way].connection
                connection.execute("BEGIN")
                if case is Case.COPY:
                    runner.copy(runner.sessions[way], schema)
                else:
                    connection.execute(write(text, schema))
                query = "SELECT count(*), sum(id), sum(n) FROM {s}.item"
                counts.update(connection.execute(write(query, schema)).fetchall())
                connection.execute("ROLLBACK")
            assert len(counts) == 1, case


def test_the_line_is_measured(running: Cluster) -> None:
    with writes.open_runner(running, 2000) as runner:
        line = runner.measure_line(2000)
    assert 2.0 <= line.trip_ms < 1000.0
    assert 0.0 < line.here_ms < 1000.0


def test_each_case_is_timed(monkeypatch: pytest.MonkeyPatch, running: Cluster) -> None:
    monkeypatch.setattr(writes, "STOCK_LIMIT_S", 0.2)
    monkeypatch.setattr(writes, "TPCB_MS", 100)
    with writes.open_runner(running, 2000) as runner:
        for case in Case:
            found = runner.run_case(case, 2000, 1)
            line = [Way.LINE, Way.HAND] if case in (Case.ONE, Case.TWO) else []
            assert [way.way for way in found] == [
                str(way) for way in (Way.OURS, Way.NODE, *line, Way.STOCK)
            ]
            timings = [way.timing for way in found]
            assert timings[0] is not None
            assert timings[0].min_ms >= 2.0
    query = "SELECT count(*) > 0 FROM writes.history"
    assert run_on(running.nodes[1].server, query) == [(True,)]


@pytest.mark.parametrize("case", [Case.ONE, Case.TWO])
def test_transactions_by_hand(running: Cluster, case: Case) -> None:
    count = "SELECT count(*) FROM writes.history"
    with ExitStack() as stack:
        nodes = [stack.enter_context(catalog.connect(node.server)) for node in (running.nodes[:2])]
        history = nodes[0] if case is Case.ONE else nodes[1]
        history.execute("TRUNCATE writes.history")
        runner = stack.enter_context(writes.open_runner(running, 20_000))
        times_ms = runner.run_tpcb(case, Way.HAND, 3)
        assert len(times_ms) == 3
        ntrips = tpcb.NTRIPS + (case is Case.TWO)  # which prepares
        assert 20.0 * ntrips <= min(times_ms) < 20.0 * (ntrips + 6)
        assert history.execute(count).fetchall() == [(tpcb.NWARM + 3,)]
        for node in nodes:
            assert node.execute("SELECT FROM pg_prepared_xacts").fetchall() == []


def test_transactions_of_pgbench(running: Cluster) -> None:
    port = running.query.port
    schema = writes_tables.schema_of(Way.OURS.name, Case.TWO.name)
    query = "SELECT count(*) FROM writes.history"
    ((before,),) = run_on(running.nodes[1].server, query)
    times_ms = tpcb.run_pgbench(running.build, port, schema, 5)
    assert run_on(running.nodes[1].server, query) == [(before + 5 + tpcb.NWARM,)]
    assert len(times_ms) == 5
    assert min(times_ms) > 0
    with pytest.raises(ToolError, match=r"(?s)pgbench failed.*accounts"):
        tpcb.run_pgbench(running.build, port, "nowhere", 1)


def test_a_log_that_is_none(work_dir: Path) -> None:
    (work_dir / "log.1").write_text("0 1 many 0 1 1\n", encoding="utf-8")
    with pytest.raises(ToolError):
        tpcb.read_log(work_dir)

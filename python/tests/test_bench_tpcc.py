"""TPC-C: each way runs it, nothing fails, and all stays consistent."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

import synthetic
from conftest import small_cluster

from pgshuttle.bench.results import save_run
from pgshuttle.bench.tpcc import report as tpcc_report
from pgshuttle.bench.tpcc import run as tpcc_run
from pgshuttle.bench.tpcc.clients import PACES, Inputs
from pgshuttle.bench.tpcc.report import CallTrips, Latency, Load, Tpcc, WayRun
from pgshuttle.bench.tpcc.statements import Kind, Style
from pgshuttle.bench.tpcc.tables import Way
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.commands import drawing

SMALL = Load(nwarehouses=2, nclients=2, seconds=1, ramp_s=1, rtt_us=0, scale=0.01)
QUICK = replace(SMALL, nwarm=2, ncounted=2)


def make_tpcc(stock: float = 90.0) -> Tpcc:
    """A made-up run: 1000 new orders a minute of ours."""
    rates = {Way.OURS: 1000.0, Way.CALLS: 3000.0, Way.STOCK: stock, Way.HERE: 9000.0}
    latencies = tuple(Latency(str(kind), 7, 5.0, 4.0, 9.0, 12.0) for kind in Kind)
    return Tpcc(
        **synthetic.RUN,
        load=SMALL,
        sizes=SMALL.sizes,
        ways=tuple(
            WayRun(str(way), rate, 2 * rate, 0.98, latencies, 3, {}, (), 0.1)
            for way, rate in rates.items()
        ),
        trips=tuple(CallTrips(case, str(Way.OURS), 5, 6.0) for case in tpcc_report.CASES),
    )


def test_what_is_to_be_kept(work_dir: Path) -> None:
    found = make_tpcc()
    assert found.is_kept
    assert not make_tpcc(stock=110.0).is_kept
    failing = replace(found.ways[0], failed={"payment 40P01": 1})
    assert not replace(found, ways=(failing,)).is_kept
    assert not replace(found, ways=(replace(failing, failed={}, broken=(3,)),)).is_kept
    assert [table.row_count for table in tpcc_report.make_tables(found)] == [4, 20, 7]
    save_run(found, tpcc_report.HEAD, work_dir / "tpcc.json")
    drawing.draw(work_dir / "tpcc.json", work_dir / "tpcc.png")
    assert (work_dir / "tpcc.png").stat().st_size > 0


def test_what_terminals_enter() -> None:
    inputs = Inputs(replace(SMALL, nwarehouses=3).sizes, seed=1)
    kinds = Counter(inputs.choose_kind() for _ in range(10_000))
    assert all(abs(kinds[kind] - 100 * pace.weight) < 200 for kind, pace in PACES.items())
    waits_s = [inputs.choose_wait_s(Kind.PAYMENT, Kind.NEW_ORDER) for _ in range(5000)]
    assert min(waits_s) >= 18
    assert abs(sum(waits_s) / 5000 - 18 - PACES[Kind.PAYMENT].mean_thinking_s) < 1
    payments = [inputs.enter(Kind.PAYMENT, 4) for _ in range(5000)]
    assert {payment["w"] for payment in payments} == {2}
    assert 600 < sum(payment["c_w"] != 2 for payment in payments) < 900
    assert 2800 < sum(payment["name"] is not None for payment in payments) < 3200
    orders = [inputs.enter(Kind.NEW_ORDER, 4) for _ in range(5000)]
    assert 20 < sum(str(order["items"]).endswith(" 1001]") for order in orders) < 90


running = small_cluster(2)


def check_runs(found: Tpcc, ways: tuple[Way, ...]) -> None:
    """Checks that all ways ran, and nothing is wrong."""
    assert [one.way for one in found.ways] == [str(way) for way in ways]
    for one in found.ways:
        # stock postgres_fdw reads in REPEATABLE READ, whose updates may fail
        assert one.failed == {} or one.way == Way.STOCK
        assert one.broken == ()
        assert {latency.kind for latency in one.latencies} <= set(Kind)


def check_calls_are_shipped(found: Tpcc) -> None:
    """Checks that most calls take one request and COMMIT.

    The proxies count requests of other processes of the query node, too, in a few of the cases.
    """
    of_calls = [one for one in found.trips if one.way == Way.CALLS]
    assert len(of_calls) == len(tpcc_report.CASES)
    assert median(one.round_trips for one in of_calls) <= 2.5, of_calls


def test_functions_of_each_way(running: Cluster) -> None:
    found = tpcc_run.run_tpcc(running, QUICK, lambda _: None)
    check_runs(found, tuple(Way))
    for one in found.ways:
        counts = {latency.kind: latency.count for latency in one.latencies}
        assert one.new_orders_a_minute == 60 * counts.get(Kind.NEW_ORDER, 0)
        assert one.transactions_a_minute == 60 * sum(counts.values())
    trips = {(one.case, one.way): one.round_trips for one in found.trips}
    assert 1 <= trips["stock-level", Way.OURS] <= 6
    assert 3 <= trips["new-order, 10 lines", Way.OURS] <= 15
    assert trips["new-order, 10 lines", Way.STOCK] > 30
    check_calls_are_shipped(found)


def test_clients_without_delay_need_no_proxies(running: Cluster) -> None:
    with catalog.connect(running.query) as connection:
        connection.execute(
            "CREATE FOREIGN TABLE seen (application_name text, state text, client_addr inet)"
            " SERVER node1 OPTIONS (schema_name 'pg_catalog', table_name 'pg_stat_activity')"
        )

        def comes_by_socket() -> object:
            (row,) = connection.execute(
                "SELECT bool_and(client_addr IS NULL) FROM seen"
                " WHERE state = 'active' AND application_name LIKE 'pg_shuttle%'"
            )
            return row[0]

        assert comes_by_socket() is False
        with catalog.without_proxies(running):
            assert comes_by_socket() is True
        assert comes_by_socket() is False
        connection.execute("DROP FOREIGN TABLE seen")


def test_procedures_on_nodes(running: Cluster) -> None:
    load = replace(QUICK, style=Style.PROCEDURES, ways=(Way.CALLS,))
    found = tpcc_run.run_tpcc(running, load, lambda _: None)
    check_runs(found, (Way.CALLS,))
    check_calls_are_shipped(found)


def test_statements_of_terminals_that_wait(running: Cluster) -> None:
    load = replace(QUICK, style=Style.STATEMENTS, with_keying=True, ramp_s=2, seconds=3)
    found = tpcc_run.run_tpcc(running, replace(load, ways=(Way.OURS, Way.CALLS)), lambda _: None)
    check_runs(found, (Way.OURS,))
    assert found.ways[0].efficiency is not None
    # each of the 20 terminals can have ended one
    assert found.ways[0].transactions_a_minute <= 400

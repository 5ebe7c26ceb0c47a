"""Queries of TPC-H over several nodes: their answers, where they are computed, what is shown."""

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle import measure, scans, tpch, tpch_tables
from pgshuttle.errors import ToolError
from pgshuttle.scans_queries import Query
from pgshuttle.state import Cluster
from pgshuttle.tpch import QueryResult, Tpch
from pgshuttle.tpch_queries import QUERIES


def make_tpch() -> Tpch:
    """A made-up run; postgres_fdw was stopped once."""
    timing = measure.summarize([10.0, 12.0])
    return Tpch(
        **synthetic.RUN,
        nrounds=2,
        norders=100,
        queries=tuple(
            QueryResult(query.label, 0, timing, None if number == 0 else timing, timing, 4, 100)
            for number, query in enumerate(QUERIES)
        ),
    )


running = small_cluster("tpch", 2, lambda made: tpch_tables.make_tables(made, 3000))


def test_each_query_is_right_and_sends_few_rows(running: Cluster) -> None:
    assert len({query.label for query in QUERIES}) == 9
    with scans.open_runner(running, 0) as runner:
        for query in QUERIES:
            found = tpch.run_query(runner, query, 0, 1)
            assert found.query == query.label
            assert found.nrows < 500


def test_postgres_fdw_is_timed_without_us(running: Cluster) -> None:
    with scans.open_runner(running, 0) as runner:
        for way, is_ours in ((scans.Way.OURS, True), (scans.Way.STOCK, False)):
            runner.session.apply(tpch.settings_of(way))
            found = runner.session.connection.execute("SHOW shuttle.enable_batched_join").fetchone()
            assert found == ("on" if is_ours else "off",)


def test_rows_that_differ(running: Cluster) -> None:
    with (
        scans.open_runner(running, 0) as runner,
        pytest.raises(ToolError, match="not those of the local"),
    ):
        tpch.check_rows(runner, Query("tables", "SELECT '{s}.orders'::regclass"))

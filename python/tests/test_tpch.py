"""Queries of TPC-H over several nodes: their answers, where they are computed, what is shown."""

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle import measure, tpch, tpch_tables
from pgshuttle.errors import ToolError
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
            QueryResult(label, 0, timing, None if number == 0 else timing, timing, 4, 100)
            for number, label in enumerate(QUERIES)
        ),
    )


running = small_cluster(2, lambda made: tpch_tables.make_tables(made, 3000))


def test_borders() -> None:
    assert tpch_tables.find_borders(10, 4) == [1, 3, 6, 8, 11]


def test_each_query_is_right_and_sends_few_rows(running: Cluster) -> None:
    assert len(QUERIES) == 9
    with measure.open_delayed_session(running, 0) as session:
        for label in QUERIES:
            found = tpch.run_query(session, label, 0, 1)
            assert found.query == label
            assert found.nrows < 500
            assert found.nbytes > 0


def test_postgres_fdw_is_timed_without_us(running: Cluster) -> None:
    with measure.open_delayed_session(running, 0) as session:
        for way, is_ours in ((tpch.Way.OURS, True), (tpch.Way.STOCK, False)):
            session.apply(tpch.settings_of(way))
            found = session.connection.execute("SHOW shuttle.enable_batched_join").fetchone()
            assert found == ("on" if is_ours else "off",)


def test_rows_that_differ(running: Cluster) -> None:
    with (
        measure.open_delayed_session(running, 0) as session,
        pytest.raises(ToolError, match="not those of the local"),
    ):
        tpch.check_rows(session, "tables", "SELECT '{s}.orders'::regclass")

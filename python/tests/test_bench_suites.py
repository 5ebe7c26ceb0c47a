"""TPC-H and TPC-DS over several nodes: rows, times, literals drawn anew, what is shown."""

import importlib.util
import random
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from conftest import small_cluster

from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure, suite_data, suite_tables, suites
from pgshuttle.bench.results import save_run
from pgshuttle.bench.suite_data import Draw, Queries, Suite
from pgshuttle.bench.suites import Options, QueryResult, SuiteRun
from pgshuttle.cluster.state import Cluster
from pgshuttle.commands import drawing

SMALL = Options(Suite.TPCH, scale=0.01, rtt_us=0, nrounds=1, queries=(1, 6))
NSAMPLED = 6


def make_suite(ours_ms: float | None = 11.0, suite: Suite = Suite.TPCH) -> SuiteRun:
    queries = (
        QueryResult(1, ours_ms, 10.0, 12.0, 6, 4, 100),
        QueryResult(2, 10.0, 10.0, None, 6, 4, 100),
    )
    return SuiteRun(**synthetic.RUN, options=replace(SMALL, suite=suite), queries=queries)


running = small_cluster(suites.NNODES)


@pytest.mark.parametrize(
    ("ours_ms", "is_kept"), [(11.0, True), (14.0, False), (31.0, False), (None, False)]
)
def test_what_is_to_be_kept(ours_ms: float | None, is_kept: bool) -> None:  # noqa: FBT001
    assert make_suite(ours_ms).is_kept == is_kept


def test_what_is_shown(work_dir: Path) -> None:
    found = make_suite()
    (table,) = suites.make_tables(found)
    assert table.row_count == 2
    save_run(found, suites.HEAD, work_dir / "tpch.json")
    drawing.draw(work_dir / "tpch.json", work_dir / "tpch.png")
    assert (work_dir / "tpch.png").stat().st_size > 0


def test_literals() -> None:
    values = {"red": ("red", "blue"), "it's": ("it's",)}
    text = """SELECT sum(x) AS "30 days" FROM t WHERE a = 'red' AND d > '2000-01-31' AND y = 1999
    AND m BETWEEN 1200 AND 1200 + 11 AND s = 'it''s' AND l LIKE 'a%' AND z < 0.05 AND q > 100
    ORDER BY 1 LIMIT 100"""
    drawn = {Draw(values, str(seed)).redraw(text) for seed in range(20)}
    assert len(drawn) > 10
    for one in drawn:
        assert '"30 days"' in one
        assert "LIMIT 100" in one
        assert "LIKE 'a%' AND z < 0.05" in one
        assert "s = 'it''s'" in one
        first, then = one.partition("BETWEEN ")[2].partition(" + 11")[0].split(" AND ")
        assert first == then
    assert Queries({1: text}, values).write(1, None) == text
    assert Queries({1: text}, values).write(1, 5) == Draw(values, "5 1").redraw(text)


def test_a_generator_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ToolError, match="generator of TPC-DS is not installed"):
        suite_data.find_extension(Suite.TPCDS)


def test_a_scale_that_the_generator_cannot_do() -> None:
    with (
        pytest.raises(ToolError, match=r"the least scale of TPC-DS is 0\.01"),
        suite_data.generate(Suite.TPCDS, 0.009),
    ):
        pass


def test_rows_are_the_local_ones(running: Cluster) -> None:
    steps: list[str] = []
    queries = suite_tables.make_tables(running, Suite.TPCH, SMALL.scale, steps.append)
    chosen = tuple(random.sample(sorted(queries.texts), NSAMPLED))
    nsteps = len(steps)
    found = suites.run_suite(running, replace(SMALL, queries=chosen, seed=1), steps.append)
    assert len(steps) - nsteps == NSAMPLED  # the tables are there
    assert [one.query for one in found.queries] == list(chosen)
    assert all(one.nbytes > 0 for one in found.queries if one.nrows)


@pytest.mark.parametrize(("suite", "nqueries"), [(Suite.TPCH, 22), (Suite.TPCDS, 99)])
def test_what_is_generated(work_dir: Path, suite: Suite, nqueries: int) -> None:
    with suite_data.generate(suite, 0.01) as source:
        assert sorted(source.queries.texts) == list(range(1, nqueries + 1))
        assert set(suite_tables.SPREAD[suite]) < set(source.columns)
        for table, key in suite_tables.SPREAD[suite].items():
            assert set(key) <= set(source.columns[table])
        source.write_rows("customer", work_dir / "rows.csv")
        assert (work_dir / "rows.csv").read_text().count("\n") >= 1000
        drawn = {number: source.queries.write(number, 1) for number in source.queries.texts}
        same = [number for number, text in drawn.items() if text == source.queries.texts[number]]
        assert len(same) < nqueries / 4


def test_rows_that_differ(running: Cluster) -> None:
    with (
        measure.open_delayed_session(running, 0) as session,
        pytest.raises(ToolError, match="TPC-H 1: the nodes' rows are not those of the local"),
    ):
        suites.check_rows(session, SMALL, 1, "SELECT current_setting('search_path') LIMIT 1")


def test_a_query_that_there_is_not() -> None:
    with pytest.raises(ToolError, match="there is no query 100"):
        suites.list_queries(Queries({1: "SELECT"}, {}), [1, 100])

"""Queries of TPC-H over several nodes: their answers, where they are computed, what is shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_small_cluster
from typer.testing import CliRunner

from pgshuttle import builds, cli, measure, scans, tpch, tpch_report, tpch_tables
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.results import Machine
from pgshuttle.scans_queries import Query
from pgshuttle.state import Cluster
from pgshuttle.tpch import QueryResult, Tpch
from pgshuttle.tpch_queries import QUERIES


def make_tpch() -> Tpch:
    """A made-up run; postgres_fdw was stopped once."""
    timing = measure.summarize([10.0, 12.0])
    return Tpch(
        made_at="2024-01-01T00:00:00+00:00",
        nrounds=2,
        norders=100,
        elapsed_s=1.0,
        machine=Machine("a processor", 2, 1000, "Linux"),
        server={"version": "PostgreSQL 18"},
        settings={},
        queries=tuple(
            QueryResult(query.label, 0, timing, None if number == 0 else timing, timing, 4, 100)
            for number, query in enumerate(QUERIES)
        ),
    )


def test_figure_and_json(work_dir: Path) -> None:
    path = work_dir / "out" / "tpch.json"
    tpch_report.save_tpch(make_tpch(), path)
    assert json.loads(path.read_text())["queries"][0]["stock"] is None
    assert tpch_report.make_tpch_table(make_tpch()).row_count == len(QUERIES)
    result = CliRunner().invoke(cli.app, ["plot", str(path), str(work_dir / "tpch.png")])
    assert result.exit_code == ExitCode.OK, result.output
    assert (work_dir / "tpch.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"queries": []}'])
def test_a_file_without_queries(work_dir: Path, text: str) -> None:
    path = work_dir / "tpch.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError):
        tpch_report.draw_tpch(path, work_dir / "tpch.png")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with few rows."""
    with run_small_cluster(tmp_path_factory, "tpch", 2) as made:
        tpch_tables.make_tables(made, 3000)
        yield made


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


def test_command(
    monkeypatch: pytest.MonkeyPatch, work_dir: Path, build: builds.ServerBuild
) -> None:
    def run(cluster: Cluster, norders: int, nrounds: int, on_step: tpch.OnStep) -> Tpch:
        on_step("filling the tables")
        assert (len(cluster.nodes), norders, nrounds) == (4, 500, 2)
        return make_tpch()

    monkeypatch.setattr(tpch, "run_tpch", run)
    words = ["bench", "tpch", "--rounds", "2", "--orders", "500", "--dir", str(work_dir / "c")]
    words += ["--results", str(work_dir / "out"), "--pg", str(build.pg_config)]
    if not build.has_extension():
        pytest.skip("pg_shuttle is not installed in the server")
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == ExitCode.OK, result.output
    assert (work_dir / "out" / "tpch.png").exists()

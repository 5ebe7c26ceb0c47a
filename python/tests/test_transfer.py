"""The transfer of many rows: what is timed, what is shown, what is kept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_small_cluster
from psycopg import sql
from typer.testing import CliRunner

from pgshuttle import builds, cli, measure, transfer, transfer_report
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.results import Machine
from pgshuttle.state import Cluster
from pgshuttle.transfer import Transfer, Way, WayResult


def make_transfer(ours_ms: float = 100.0) -> Transfer:
    """A made-up run: stock takes 300 ms, COPY 150."""
    times_ms = {Way.BINARY: ours_ms, Way.TEXT: 110.0, Way.STOCK: 300.0}
    times_ms |= {Way.STOCK_DEFAULT: 900.0, Way.COPY: 150.0}
    ways = [
        WayResult(str(way), rtt_us, measure.summarize([time_ms, time_ms + 2]), 50.0, 60.0)
        for rtt_us in transfer.RTTS_US
        for way, time_ms in times_ms.items()
    ]
    return Transfer(
        made_at="2024-01-01T00:00:00+00:00",
        nrows=1000,
        nrounds=2,
        elapsed_s=1.0,
        machine=Machine("a processor", 2, 1000, "Linux"),
        server={"version": "PostgreSQL 18"},
        settings={},
        ways=tuple(ways),
        ratios=tuple(transfer.compare(ways, rtt_us) for rtt_us in transfer.RTTS_US),
    )


def test_ratios_and_targets() -> None:
    found = make_transfer()
    assert found.ratios[0].stock_over_ours == pytest.approx(301 / 101, abs=0.001)
    assert found.ratios[0].ours_over_copy == pytest.approx(101 / 151, abs=0.001)
    assert transfer_report.is_kept(found)
    assert not transfer_report.is_kept(make_transfer(ours_ms=200.0))
    assert transfer_report.make_transfer_table(found).row_count == len(found.ways)


def test_figure_and_json(work_dir: Path) -> None:
    path = work_dir / "out" / "transfer.json"
    transfer_report.save_transfer(make_transfer(), path)
    whole = json.loads(path.read_text())
    assert whole["units"]["rtt_us"].startswith("microseconds")
    assert whole["ways"][0]["timing"]["samples_ms"] == [100.0, 102.0]
    transfer_report.draw_transfer(path, work_dir / "transfer.png")
    assert (work_dir / "transfer.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ways": [], "ratios": [], "nrows": 1}'])
def test_a_file_without_transfers(work_dir: Path, text: str) -> None:
    path = work_dir / "transfer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError):
        transfer_report.draw_transfer(path, work_dir / "transfer.png")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a small table."""
    with run_small_cluster(tmp_path_factory, "transfer", 1) as made:
        transfer.make_tables(made, 3000)
        yield made


def test_each_way_fetches_all_rows(running: Cluster) -> None:
    with transfer.open_runner(running, 2000) as runner:
        for schema, settings in transfer.READS.values():
            runner.session.apply(settings)
            rows = runner.session.connection.execute(
                sql.SQL(transfer.READ).format(sql.Identifier(schema, transfer.TABLE))
            ).fetchall()
            assert rows == [(3000,) * 8]
        found = runner.run_rounds(2, 2000, lambda _step: None)
    assert [way.way for way in found] == [str(way) for way in Way]
    for way in found:
        assert len(way.timing.samples_ms) == 2
        assert way.timing.min_ms >= 2.0
        assert way.session_cpu_ms >= 0
        assert way.node_cpu_ms >= 0
    # fetch_size 100: 30 pages, each waited for
    by_way = {way.way: way.timing.min_ms for way in found}
    assert by_way[Way.STOCK_DEFAULT] > 60
    assert by_way[Way.STOCK_DEFAULT] > by_way[Way.STOCK]


def test_command(
    monkeypatch: pytest.MonkeyPatch, work_dir: Path, build: builds.ServerBuild
) -> None:
    def run(_cluster: object, nrows: int, nrounds: int, on_step: transfer.OnStep) -> Transfer:
        on_step("filling the table")
        assert (nrows, nrounds) == (500, 3)
        return make_transfer(ours_ms=400.0)

    monkeypatch.setattr(transfer, "run_transfer", run)
    words = ["bench", "transfer", "--rows", "500", "--rounds", "3", "--dir", str(work_dir / "c")]
    words += ["--results", str(work_dir / "out"), "--pg", str(build.pg_config)]
    if not build.has_extension():
        pytest.skip("pg_shuttle is not installed in the server")
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == ExitCode.OK, result.output
    assert "as fast as" in " ".join(result.output.split())
    assert (work_dir / "out" / "transfer.png").exists()
    result = CliRunner().invoke(cli.app, [*words, "--check"])
    assert result.exit_code == ExitCode.CLAIM_FAILED

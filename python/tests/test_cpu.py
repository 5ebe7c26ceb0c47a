"""CPU times of the query node: how they are measured and what is shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_small_cluster
from typer.testing import CliRunner

from pgshuttle import builds, cli, cpu, cpu_report
from pgshuttle.cpu import Cpu, Way, WayResult
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.results import Machine
from pgshuttle.state import Cluster

NROWS = 3000


def make_way(way: Way, row_ns: float) -> WayResult:
    """A way that takes so long."""
    return WayResult(way, "SELECT", "Join(a, b)", (row_ns * 1.1, row_ns), row_ns)


def make_cpu(position_ns: float = 300.0) -> Cpu:
    """A whole run."""
    times_ns = {
        Way.OUTER: 50.0,
        Way.HASH: 600.0,
        Way.POSITION: position_ns,
        Way.KEY: 350.0,
        Way.ROUTED: 800.0,
        Way.APPEND: 4000.0,
    }
    ways = tuple(make_way(way, row_ns) for way, row_ns in times_ns.items())
    return Cpu(
        made_at="2024-01-01T00:00:00+00:00",
        nrows=1_000_000,
        npartitions=200,
        elapsed_s=60.0,
        machine=Machine("a processor", 2, 8192, "Linux"),
        server={"version": "PostgreSQL 18"},
        settings=cpu.COMMON,
        ways=ways,
        ratios=tuple(cpu.compare(ways)),
    )


def test_ratios_are_of_one_run() -> None:
    found = make_cpu()
    assert [ratio.ratio for ratio in found.ratios] == [0.5, 0.5833, 0.2]
    assert cpu_report.is_kept(found)
    assert not cpu_report.is_kept(make_cpu(position_ns=361.0))
    assert cpu_report.make_cpu_table(found).row_count == len(Way)


def test_figure_and_json(work_dir: Path) -> None:
    path = work_dir / "out" / "cpu.json"
    cpu_report.save_cpu(make_cpu(), path)
    whole = json.loads(path.read_text())
    assert whole["units"]["row_ns"].startswith("nanoseconds")
    assert whole["ratios"][0]["ok"] is True
    cpu_report.draw_cpu(path, work_dir / "cpu.png")
    picture = (work_dir / "cpu.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ways": [], "ratios": []}'])
def test_a_file_without_times(work_dir: Path, text: str) -> None:
    path = work_dir / "cpu.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError):
        cpu_report.draw_cpu(path, work_dir / "cpu.png")
    with pytest.raises(ToolError, match="does not exist"):
        cpu_report.draw_cpu(work_dir / "none.json", work_dir / "cpu.png")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one query node and its nodes."""
    with run_small_cluster(tmp_path_factory, "cpu", 1) as made:
        yield made


def test_each_way_is_joined_as_it_says(running: Cluster) -> None:
    steps: list[str] = []
    found = cpu.run_cpu(running, steps.append, nrows=NROWS, npartitions=5, nrounds=2)
    assert {result.way for result in found.ways} == set(Way)
    plans = {result.way: result.plan for result in found.ways}
    assert plans[Way.HASH].startswith("Aggregate(Hash Join(")
    assert "Look Ahead" in plans[Way.POSITION]
    assert "Routed Append" in plans[Way.ROUTED]
    assert all(len(result.samples_ms) == 2 for result in found.ways)
    assert all(result.row_ns > 0 for result in found.ways)
    assert len(found.ratios) == len(cpu.TARGETS)
    assert "warming up" in steps


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, work_dir: Path) -> Path:
    """A bench that measures nothing."""

    def run(_cluster: object, on_step: cpu.OnStep, **numbers: int) -> Cpu:
        on_step("measuring")
        assert numbers == {"nrows": 1000, "npartitions": cpu.NPARTITIONS, "nrounds": 3}
        return make_cpu(position_ns=500.0)

    monkeypatch.setattr(cpu, "run_cpu", run)
    return work_dir


def test_command(played: Path, build: builds.ServerBuild) -> None:
    words = ["bench", "cpu", "--rows", "1000", "--rounds", "3", "--dir", str(played / "c")]
    words += ["--results", str(played / "out"), "--pg", str(build.pg_config)]
    if not build.has_extension():
        pytest.skip("pg_shuttle is not installed in the server")
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == ExitCode.OK, result.output
    assert "ns an outer row" in result.output
    assert (played / "out" / "cpu.png").exists()
    assert not (played / "c").exists()
    assert CliRunner().invoke(cli.app, [*words, "--check"]).exit_code == ExitCode.CLAIM_FAILED
    result = CliRunner().invoke(cli.app, [*words, "--json"])
    assert json.loads(result.stdout) == json.loads((played / "out" / "cpu.json").read_text())

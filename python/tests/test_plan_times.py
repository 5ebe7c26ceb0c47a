"""Planning times: how they are measured and what is shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_small_cluster
from typer.testing import CliRunner

from pgshuttle import builds, cli, plan_report, plan_tables, plan_times
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.plan_times import Planned, PlanTimes, Way
from pgshuttle.results import Machine
from pgshuttle.state import Cluster


def make_planning(engine_ms: float = 1.2) -> PlanTimes:
    """A whole run."""
    times_ms = {Way.STOCK: 1.0, Way.GUEST: 1.1, Way.ENGINE: engine_ms}
    planned = tuple(
        Planned("one condition", "SELECT", way, ("batched join",), (time_ms,), time_ms)
        for way, time_ms in times_ms.items()
    )
    return PlanTimes(
        made_at="2024-01-01T00:00:00+00:00",
        nparts=200,
        nrounds=1,
        elapsed_s=60.0,
        machine=Machine("a processor", 2, 8192, "Linux"),
        server={"version": "PostgreSQL 18"},
        settings={},
        planned=planned,
        ratios=tuple(plan_times.compare(planned)),
    )


def test_ratios_are_to_stock() -> None:
    found = make_planning()
    assert [(ratio.way, ratio.ratio) for ratio in found.ratios] == [
        (Way.GUEST, 1.1),
        (Way.ENGINE, 1.2),
    ]
    assert plan_report.is_kept(found)
    assert not plan_report.is_kept(make_planning(1.6))
    assert plan_report.make_planning_table(found).row_count == 2


def test_figure_and_json(work_dir: Path) -> None:
    path = work_dir / "out" / "planning.json"
    plan_report.save_planning(make_planning(), path)
    assert json.loads(path.read_text())["ratios"][0]["ok"] is True
    plan_report.draw_planning(path, work_dir / "planning.png")
    assert (work_dir / "planning.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"planned": [], "ratios": []}'])
def test_a_file_without_times(work_dir: Path, text: str) -> None:
    path = work_dir / "planning.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError):
        plan_report.draw_planning(path, work_dir / "planning.png")
    with pytest.raises(ToolError, match="does not exist"):
        plan_report.draw_planning(work_dir / "none.json", work_dir / "planning.png")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one query node and two nodes."""
    with run_small_cluster(tmp_path_factory, "planning", 2) as made:
        yield made


def test_each_session_plans_its_tables(running: Cluster) -> None:
    found = plan_times.run_planning(running, lambda _: None, npartitions=3, nrounds=2)
    assert len(found.planned) == len(plan_times.QUERIES) * len(Way)
    assert all(len(one.samples_ms) == 2 for one in found.planned)
    joins = {(one.label, one.way): one.joins for one in found.planned}
    assert "batched join" not in joins["one condition", Way.STOCK]
    assert joins["one condition", Way.ENGINE] == ("batched join",)


def test_command(
    work_dir: Path, monkeypatch: pytest.MonkeyPatch, build: builds.ServerBuild
) -> None:
    def run(_cluster: object, _on_step: plan_times.OnStep, **numbers: int) -> PlanTimes:
        assert numbers == {"npartitions": plan_tables.NPARTITIONS, "nrounds": 3}
        return make_planning(1.6)

    if not build.has_extension():
        pytest.skip("pg_shuttle is not installed in the server")
    monkeypatch.setattr(plan_times, "run_planning", run)
    words = ["bench", "planning", "--rounds", "3", "--dir", str(work_dir / "c")]
    words += ["--results", str(work_dir / "out"), "--pg", str(build.pg_config)]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == ExitCode.OK, result.output
    assert (work_dir / "out" / "planning.png").exists()
    assert CliRunner().invoke(cli.app, [*words, "--check"]).exit_code == ExitCode.CLAIM_FAILED

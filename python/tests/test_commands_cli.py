"""Each command, as a user types it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import conftest
import pytest
import synthetic
import typer.main
from typer.testing import CliRunner

from pgshuttle import __version__
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.bench.results import save_run
from pgshuttle.cluster import clusters, state
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.commands import cli, drawing, measuring
from pgshuttle.demo import all_parts
from pgshuttle.demo import report as demo_report
from pgshuttle.demo import results as demo_results
from pgshuttle.demo.all_parts import Listener
from pgshuttle.demo.join_rounds import Effort
from pgshuttle.demo.results import Results


@pytest.fixture
def invoke(work_dir: Path) -> Iterator[conftest.Invoke]:
    """Runs a command on a cluster of this test; checks its exit code."""
    directory = work_dir / "c"

    yield partial(conftest.invoke, directory=directory)
    if state.load_cluster(directory) is not None:
        clusters.down(directory, remove=True)


def test_up_status_rtt_psql_down(
    invoke: conftest.Invoke, build: ServerBuild, work_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    up = ("up", "--stock", "--nodes", "1", "--pg", str(build.pg_config))
    assert "node1" in invoke(*up, "--rtt", "0.8")
    assert "0.8 ms" in invoke("status")
    assert '"node1"' in invoke("status", "--json")
    assert "runs already" in invoke(*up, "--rtt", "2")
    assert "2 ms" in invoke("status")
    assert "1.5 ms" in invoke("rtt", "1.5", "--node", "1")
    invoke("rtt", "1.5", "--node", "2", code=ExitCode.USAGE)
    invoke("psql", "node1", "--", "-Atc", "SELECT 'from ' || current_database()")
    assert "from shuttle" in capfd.readouterr().out
    invoke("psql", "1", "--", "-Atc", "SELECT 1")
    invoke("psql", "--", "-c", "SELECT 1")
    assert "there are query, node1" in invoke("psql", "node7", code=ExitCode.USAGE)
    for words in (up, ("status",), ("rtt", "1.5")):
        found = json.loads(invoke(*words, "--json"))
        assert [server["name"] for server in found["servers"]] == ["query", "node1"]
    assert found["servers"][1]["proxy"]["rtt_us"] == 1500
    assert "is stopped" in invoke("down")
    assert "stopped" in invoke("status", code=ExitCode.NOT_RUNNING)
    found = json.loads(invoke("down", "--json"))
    assert found == {"directory": str(work_dir / "c"), "state": "stopped"}
    assert "is removed" in invoke("down", "--remove")
    assert not (work_dir / "c").exists()


def list_commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def test_every_command_can_print_json() -> None:
    commands = dict(list_commands(typer.main.get_command(cli.app)))
    assert "bench tpch" in commands
    without = [
        name
        for name, command in commands.items()
        if all("--json" not in parameter.opts for parameter in command.params)
    ]
    assert without == ["psql"]


def test_no_arguments() -> None:
    assert "demo" in CliRunner().invoke(cli.app, []).output


@pytest.fixture
def played_demo(work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A demo that measures nothing and has made-up results; returns its words."""
    found = synthetic.make_results(factor=3.0)

    def run(_cluster: None, effort: Effort, listener: Listener) -> Results:
        assert effort.nruns == 15
        listener.on_step("measuring")
        listener.on_progress(1, 2)
        assert found.parts is not None
        for table in (
            demo_report.make_headline_table(found.points),
            *all_parts.list_tables(found.parts),
        ):
            listener.on_table(table)
        return found

    monkeypatch.setattr(measuring, "run_cluster", lambda *_, **__: nullcontext())
    monkeypatch.setattr(all_parts, "run_demo", run)
    return ("demo", "--full", "--results", str(work_dir))


def test_demo_prints_everything(
    invoke: conftest.Invoke, played_demo: tuple[str, ...], work_dir: Path
) -> None:
    output = invoke(*played_demo)
    assert "2000 rows on one server" in output
    for number in range(2, 6):
        assert f"\n{number}. " in output
    assert "MISSED" in output
    for name in ("demo-full.json", "demo-full.png"):
        assert str(work_dir / name) in output
        assert (work_dir / name).exists()


def test_demo_as_json(invoke: conftest.Invoke, played_demo: tuple[str, ...]) -> None:
    found = json.loads(invoke(*played_demo, "--json", "--check", code=ExitCode.CLAIM_FAILED))
    assert len(found["points"]) == len(synthetic.make_results().points)
    assert found["units"]["rtt_us"].startswith("round-trip time")
    assert found["server"]["version"]
    assert len(found["points"][0]["timing"]["samples_ms"]) == 3
    assert {"family", "measured", "bound", "ok"} <= set(found["claims"][0])


def test_demo_says_what_went_wrong(
    invoke: conftest.Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ToolError("no luck [today]", hint="Try again.")

    monkeypatch.setattr(measuring, "run_cluster", fail)
    output = invoke("demo", code=ExitCode.FAILED)
    assert "no luck [today]" in output
    assert "Try again." in output


def test_plot(work_dir: Path) -> None:
    path = work_dir / "demo.json"
    save_run(synthetic.make_results(), demo_results.HEAD, path)
    assert "demo.png" in conftest.invoke("plot", path)
    assert (work_dir / "demo.png").exists()
    conftest.invoke("plot", path, work_dir / "other.svg")
    assert (work_dir / "other.svg").exists()
    found = json.loads(conftest.invoke("plot", path, "--json"))
    assert found == {"results": str(path), "figure": str(work_dir / "demo.png")}


def test_version() -> None:
    assert conftest.invoke("--version") == f"pgshuttle {__version__}\n"


def test_most_commands_do_not_wait_for_what_draws() -> None:
    program = "import sys, pgshuttle.commands.cli; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"False\n"


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_results: Path, _figure: Path) -> None:
        raise ModuleNotFoundError(name="matplotlib")

    monkeypatch.setattr(drawing, "draw", fail)
    output = conftest.invoke("plot", "demo.json", code=ExitCode.NOT_INSTALLED)
    assert "pip install matplotlib" in output

"""The commands pgshuttle bench ...: options, files and exit codes, with made-up runs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from conftest import invoke
from test_bench_choices import make_choices
from test_bench_consistency import make_consistency
from test_bench_planning import make_planning
from test_bench_routed import make_routed
from test_bench_suites import make_suite
from test_bench_tpcc import SMALL, make_tpcc
from test_bench_transfer import make_transfer
from test_bench_writes import make_writes

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.json_files import read_json
from pgshuttle.bench import (
    choice_cases,
    choice_report,
    choices,
    consistency,
    planning,
    planning_tables,
    routed,
    suites,
    transfer,
    writes,
)
from pgshuttle.bench.results import Run
from pgshuttle.bench.suite_data import Suite
from pgshuttle.bench.suites import Options
from pgshuttle.bench.tpcc import report as tpcc_report
from pgshuttle.bench.tpcc import run as tpcc_run
from pgshuttle.cluster import builds, clusters, servers
from pgshuttle.cluster.clusters import ClusterOptions, OnStep, UpResult
from pgshuttle.cluster.state import Cluster, StorageNode
from pgshuttle.commands import bench as bench_commands


@dataclass(frozen=True)
class Made:
    """A run that misses its targets. given: number of nodes and what the words come to."""

    module: ModuleType
    function: str
    words: str
    given: list[object]
    found: Run


MADE = {
    "choices": Made(
        choices,
        "run_choices",
        "--scale 0.5",
        [2, choice_cases.list_cases(), 0.5],
        make_choices(worst=3.0),
    ),
    "consistency": Made(
        consistency,
        "run_consistency",
        "--rounds 3 --seconds 0.5",
        [3, 3, 0.5],
        make_consistency(atomic_ms=4.4),
    ),
    "planning": Made(
        planning,
        "run_planning",
        "--rounds 3",
        [2, planning_tables.NPARTITIONS, 3],
        make_planning(1.6),
    ),
    "routed": Made(routed, "run_routed", "--rounds 3 --calls 7", [2, 3, 7], make_routed(15.0)),
    "tpcc": Made(
        tpcc_run,
        "run_tpcc",
        "--warehouses 2 --clients 2 --seconds 1 --ramp 1 --rtt 0 --scale 0.01",
        [3, SMALL],
        make_tpcc(stock=110.0),
    ),
    "tpcds": Made(
        suites,
        "run_suite",
        "7 --rounds 2 --scale 0.01 --seed 5 --rtt 0 --no-with-stock",
        [3, Options(Suite.TPCDS, 0.01, 0, 2, 5, (7,), with_stock=False)],
        make_suite(14.0, Suite.TPCDS),
    ),
    "tpch": Made(suites, "run_suite", "", [3, Options(Suite.TPCH)], make_suite(14.0)),
    "transfer": Made(
        transfer,
        "run_transfer",
        "--rows 500 --rounds 3",
        [2, 500, 3],
        make_transfer(ours_ms=400.0),
    ),
    "writes": Made(writes, "run_writes", "--rounds 2", [3, 2], make_writes(ours_ms=40.0)),
}


@pytest.fixture
def no_servers(build: builds.ServerBuild, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Clusters without servers; returns what becomes of them."""
    events: list[str] = []
    server = servers.Server("node", Path(), Path(), 1, None)

    def up(asked: ClusterOptions, _on_step: OnStep) -> UpResult:
        events.append(f"up, {asked.nnodes} nodes")
        nodes = (StorageNode(server, None),) * asked.nnodes
        made = Cluster(asked.directory, build, True, asked.rtt_us, server, nodes)
        return UpResult(made, was_running=False)

    monkeypatch.setattr(clusters, "up", up)
    monkeypatch.setattr(clusters, "down", lambda _directory, **_: events.append("down"))
    return events


def play(made: Made, given: list[object]) -> Callable[..., Run]:
    """Measures nothing, and notes what it was given."""

    def run(given_to: Cluster, *values: object, **named: object) -> Run:
        given[:] = [len(given_to.nodes)]
        for value in (*values, *named.values()):
            if callable(value):
                value("measuring")
            else:
                given.append(value)
        return made.found

    return run


@pytest.mark.parametrize("name", MADE)
def test_command(
    monkeypatch: pytest.MonkeyPatch, work_dir: Path, no_servers: list[str], name: str
) -> None:
    made = MADE[name]
    given: list[object] = []
    monkeypatch.setattr(made.module, made.function, play(made, given))
    words = ["bench", name, *made.words.split(), "--results", str(work_dir / "out")]
    output = invoke(*words, "--keep")
    assert given == made.given
    report = {choices: choice_report, tpcc_run: tpcc_report}.get(made.module, made.module)
    table = report.make_tables(made.found)[0]
    assert table.row_count > 0
    assert str(table.columns[0].header) in output
    found = json.loads(invoke(*words, "--json", "--keep"))
    assert found == read_json(work_dir / "out" / f"{name}.json")
    assert no_servers == [f"up, {made.given[0]} nodes"] * 2
    invoke(*words, "--check", code=ExitCode.CLAIM_FAILED)
    assert no_servers[-1] == "down"


def test_a_cluster_that_is_kept(
    monkeypatch: pytest.MonkeyPatch, work_dir: Path, extended_build: builds.ServerBuild
) -> None:
    monkeypatch.setattr(transfer, "run_transfer", play(MADE["transfer"], []))
    place = ["--dir", str(work_dir / "c")]
    place += ["--results", str(work_dir), "--pg", str(extended_build.pg_config)]
    words = ["bench", "transfer", *place]
    for more in (["--keep"], []):  # one that ran before stays
        invoke(*words, *more)
        assert clusters.is_running(clusters.load(work_dir / "c"))
    clusters.down(work_dir / "c", remove=False)
    invoke(*words)
    assert not (work_dir / "c").exists()


@pytest.mark.usefixtures("no_servers")
def test_all_go_on_after_one_that_fails(monkeypatch: pytest.MonkeyPatch, work_dir: Path) -> None:
    def fail(_cluster: object, *_: object) -> Run:
        raise ToolError("no rows")

    monkeypatch.setattr(suites, "run_suite", fail)
    monkeypatch.setattr(transfer, "run_transfer", play(MADE["transfer"], []))
    commands = bench_commands.app.registered_commands
    known = [command for command in commands if command.name in ("tpch", "transfer", "all")]
    monkeypatch.setattr(bench_commands.app, "registered_commands", known)
    words = ["bench", "all", "--results", str(work_dir / "out")]
    invoke(*words, code=ExitCode.FAILED)
    assert (work_dir / "out" / "transfer.json").exists()
    assert not (work_dir / "out" / "tpch.json").exists()
    found = json.loads(invoke(*words, "--json", code=ExitCode.FAILED))
    assert found["errors"] == {"tpch": "no rows"}
    assert list(found["results"]) == ["transfer"]

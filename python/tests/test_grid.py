"""The sweep and the hops: what is run, what is counted, what is shown and kept."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from conftest import run_small_cluster
from rich.console import Console
from typer.testing import CliRunner

from pgshuttle import (
    builds,
    cli,
    figures,
    grid,
    grid_cli,
    grid_report,
    hops,
    measure,
    sweep,
    tablets,
)
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.grid import CellResult, Grid
from pgshuttle.results import Machine
from pgshuttle.screen import Screen
from pgshuttle.state import Cluster


def make_grid(bench: str) -> Grid:
    """A made-up run of all cells of the sweep, or of some of the hops."""
    if bench == tablets.NAME:
        known = [(cell.who, dict(cell.labels)) for cell in tablets.list_cells()]
        known.append((tablets.BY_HAND, {}))
    else:
        known = [(who, {"tables": n}) for n in (2, 3) for who in (hops.OURS, hops.BY_HAND)]
    cells = [
        CellResult(who, labels, rtt_us, measure.summarize([2.0, 3.0]), None, 4, 2, 1, "a plan")
        for rtt_us in grid.RTTS_US
        for who, labels in known
    ]
    cells[-1] = replace(cells[-1], timing=None, stopped_ms=15_000.0)
    return Grid(
        bench=bench,
        made_at="2024-01-01T00:00:00+00:00",
        elapsed_s=1.0,
        nrounds=2,
        machine=Machine("a processor", 2, 1000, "Linux"),
        server={"version": "PostgreSQL 18", "configure_options": "--with-everything" * 9},
        settings={},
        cells=tuple(cells),
    )


def test_limits_above_the_batch_are_left_out() -> None:
    limits = (100, 1024, 2000)
    assert tablets.list_limits(limits, 1) == [100]
    assert tablets.list_limits(limits, 100) == [100]
    assert tablets.list_limits(limits, 1024) == [100, 1024]
    assert tablets.list_limits(limits, 1025) == [100, 1024, 2000]
    sizes = {cell.labels.get("batch_size") for cell in tablets.list_cells()}
    assert sizes == {None, *tablets.BATCH_SIZES}


@pytest.mark.parametrize("bench", [tablets.NAME, hops.NAME])
def test_table_json_and_figure(work_dir: Path, bench: str) -> None:
    found = make_grid(bench)
    table = grid_report.make_table(found)
    assert table.row_count * len(grid.RTTS_US) == len(found.cells)
    path = work_dir / f"{bench}.json"
    grid_report.save_grid(found, path)
    whole = json.loads(path.read_text())
    assert whole["cells"][0]["timing"]["samples_ms"] == [2.0, 3.0]
    assert ("published" in whole) == (bench == tablets.NAME)
    figures.draw(path, work_dir / "figure.png")
    assert (work_dir / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"bench": "sweep", "cells": []}'])
def test_a_file_without_cells(work_dir: Path, text: str) -> None:
    path = work_dir / "sweep.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError):
        grid_report.draw_grid(path, work_dir / "figure.png")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with run_small_cluster(tmp_path_factory, "grid", 2) as made:
        hops.make_tables(made, nrows=20_000)
        tablets.make_tables(made)
        yield made


def test_a_hop_is_a_request(running: Cluster) -> None:
    with sweep.open_bench(running) as bench:
        found = grid.run_cells(bench, list(hops.list_cells(bench)), 0, 1, lambda _step: None)
    ours = {cell.labels["tables"]: cell for cell in found if cell.who == hops.OURS}
    for ntables, cell in ours.items():
        assert cell.requests == ntables, cell
    assert all(cell.timing is not None for cell in found)


def test_sweep_asks_as_often_as_its_settings_say(running: Cluster) -> None:
    sizes = (100, 2000)
    with sweep.open_bench(running) as bench:
        cells = list(tablets.list_cells(sizes))
        found = grid.run_cells(bench, cells, 0, 1, lambda _step: None)
    batches = {cell.labels["batch_size"]: cell.batches for cell in found if cell.labels}
    assert batches[2000] is not None
    assert batches[100] is not None
    assert batches[100] >= tablets.NROWS / 100 > batches[2000]
    assert len(found) == len(cells)


def test_sweep_by_hand_takes_two_round_trips(running: Cluster) -> None:
    rtt_us = 50_000
    with sweep.open_bench(running) as bench:
        join = tablets.join_by_hand(bench)
        assert join().nrows == tablets.NROWS
        bench.set_rtt(rtt_us)
        elapsed_ms = join().elapsed_ms
        bench.set_rtt(0)
    assert 2 * rtt_us / 1000 <= elapsed_ms < 3 * rtt_us / 1000


def test_a_slow_cell_is_stopped(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "LIMIT_MS", 1.0)
    with sweep.open_bench(running) as bench:
        cells = [cell for cell in tablets.list_cells((1,)) if cell.labels]
        (found,) = grid.run_cells(bench, cells, 2000, 2, lambda _step: None)
        bench.set_rtt(0)
    assert found.timing is None
    assert found.stopped_ms == 1.0


@pytest.mark.parametrize("bench", [tablets.NAME, hops.NAME])
def test_command(
    monkeypatch: pytest.MonkeyPatch, work_dir: Path, build: builds.ServerBuild, bench: str
) -> None:
    def run(_cluster: object, nrounds: int, on_step: grid.OnStep) -> Grid:
        on_step("filling the tables")
        assert nrounds == 3
        return make_grid(bench)

    monkeypatch.setattr(tablets, "run_sweep", run)
    monkeypatch.setattr(hops, "run_hops", run)
    if not build.has_extension():
        pytest.skip("pg_shuttle is not installed in the server")
    words = ["bench", bench, "--rounds", "3", "--dir", str(work_dir / "c")]
    words += ["--results", str(work_dir / "out"), "--pg", str(build.pg_config)]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == ExitCode.OK, result.output
    assert (work_dir / "out" / f"{bench}.png").exists()
    result = CliRunner().invoke(cli.app, [*words, "--json"])
    assert json.loads(result.stdout)["bench"] == bench


def test_all_go_on_after_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, work_dir: Path, build: builds.ServerBuild
) -> None:
    def run(_cluster: object, _nrounds: int, _on_step: grid.OnStep) -> Grid:
        return make_grid(hops.NAME)

    def fail(_cluster: object, _nrounds: int, _on_step: grid.OnStep) -> Grid:
        raise ToolError("no rows")

    monkeypatch.setattr(tablets, "run_sweep", fail)
    monkeypatch.setattr(hops, "run_hops", run)
    monkeypatch.setenv("SHUTTLE_CACHE", str(work_dir / "cache"))
    if not build.has_extension():
        pytest.skip("pg_shuttle is not installed in the server")
    app = typer.Typer()
    grid_cli.add_to(app)
    words = ["all", "--results", str(work_dir / "out"), "--pg", str(build.pg_config)]
    monkeypatch.setattr(grid_cli, "app", app)
    result = CliRunner().invoke(app, words, obj=Screen(Console(), Console(stderr=True)))
    assert result.exit_code == ExitCode.FAILED, result.output
    assert (work_dir / "out" / "hops.png").exists()
    assert not (work_dir / "out" / "sweep.png").exists()
    result = CliRunner().invoke(
        app, [*words, "--json"], obj=Screen(Console(), Console(stderr=True))
    )
    assert result.exit_code == ExitCode.FAILED, result.output
    found = json.loads(result.stdout)
    assert found["errors"] == {"sweep": "no rows"}
    assert list(found["results"]) == ["hops"]

"""The commands pgshuttle bench sweep, hops and all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgshuttle import figures, grid, grid_report, hops, tablets
from pgshuttle.bench_cli import app
from pgshuttle.bench_place import (
    DirOption,
    KeepOption,
    PgOption,
    Place,
    Report,
    ResultsOption,
    find_place,
    finish,
    run_cluster,
)
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.look_cli import JsonOption
from pgshuttle.screen import Screen
from pgshuttle.state import Cluster

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="Most runs of a cell.")]
ALL = "all"


def run_grid(
    ctx: typer.Context,
    place: Place,
    nrounds: int,
    run: Callable[[Cluster, int, grid.OnStep], grid.Grid],
    *,
    as_json: bool,
) -> None:
    """Measures a grid, prints its table, and writes its files."""
    with ctx.obj.err.status("starting") as progress, run_cluster(place, progress) as running:
        found = run(running, nrounds, progress.update)
    report = Report(grid_report.save_grid, grid_report.draw_grid, [grid_report.make_table(found)])
    finish(ctx.obj, place, found.bench, found, report, as_json=as_json)


def run_sweep(
    ctx: typer.Context,
    nrounds: RoundsOption = grid.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times a table in ten tablets joined with itself, over batch sizes and limits."""
    place = find_place(directory, pg, results_dir, keep=keep)
    run_grid(ctx, place, nrounds, tablets.run_sweep, as_json=as_json)


def run_hops(
    ctx: typer.Context,
    nrounds: RoundsOption = grid.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times joins of two to five tables over nodes, where each step needs the one before."""
    place = find_place(directory, pg, results_dir, keep=keep)
    run_grid(ctx, place, nrounds, hops.run_hops, as_json=as_json)


def run_all(
    ctx: typer.Context,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    as_json: JsonOption = False,
) -> None:
    """Runs all benches, one after the other; one that fails does not stop the next."""
    screen: Screen = ctx.obj
    if as_json:
        ctx.obj = Screen(Console(quiet=True), screen.err)
    errors: dict[str, str] = {}
    documents: dict[str, object] = {}
    for command in app.registered_commands:
        name = str(command.name)
        if command.callback is None or name == ALL:
            continue
        screen.err.print(f"pgshuttle bench {name}")
        try:
            command.callback(ctx, pg=pg, results_dir=results_dir)
            if as_json:
                documents[name] = figures.read_json(results_dir / f"{name}.json")
        except ToolError as error:
            screen.err.print(f"{name}: {error}", style="red", markup=False)
            errors[name] = str(error)
    if as_json:
        typer.echo(json.dumps({"results": documents, "errors": errors}, indent=1))
    if errors:
        screen.err.print(f"failed: {', '.join(errors)}", markup=False)
        raise typer.Exit(ExitCode.FAILED)


def add_to(benches: typer.Typer) -> None:
    """Adds these commands to the benches."""
    benches.command(tablets.NAME)(run_sweep)
    benches.command(hops.NAME)(run_hops)
    benches.command(ALL)(run_all)

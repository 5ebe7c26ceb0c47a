"""The commands pgshuttle bench sweep, hops and all."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgshuttle import grid, grid_report, hops, tablets
from pgshuttle.bench_cli import (
    DirOption,
    KeepOption,
    PgOption,
    Place,
    ResultsOption,
    app,
    find_place,
    print_where,
    run_cluster,
)
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.state import Cluster

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="Most runs of a cell.")]
ALL = "all"


def run_grid(
    ctx: typer.Context,
    place: Place,
    nrounds: int,
    run: Callable[[Cluster, int, grid.OnStep], grid.Grid],
) -> None:
    """Measures a grid, prints its table, and writes its files."""
    out: Console = ctx.obj.out
    with ctx.obj.err.status("starting") as progress, run_cluster(place, progress) as running:
        found = run(running, nrounds, progress.update)
    json_path = place.results_dir / f"{found.bench}.json"
    grid_report.save_grid(found, json_path)
    grid_report.draw_grid(json_path, json_path.with_suffix(".png"))
    out.print(grid_report.make_table(found))
    print_where(out, found, json_path)


def run_sweep(
    ctx: typer.Context,
    nrounds: RoundsOption = grid.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
) -> None:
    """Times a table in ten tablets joined with itself, over batch sizes and limits."""
    place = find_place(directory, pg, results_dir, keep=keep)
    run_grid(ctx, place, nrounds, tablets.run_sweep)


def run_hops(
    ctx: typer.Context,
    nrounds: RoundsOption = grid.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
) -> None:
    """Times joins of two to five tables over nodes, where each step needs the one before."""
    place = find_place(directory, pg, results_dir, keep=keep)
    run_grid(ctx, place, nrounds, hops.run_hops)


def run_all(
    ctx: typer.Context,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
) -> None:
    """Runs all benches, one after the other; one that fails does not stop the next."""
    failed = []
    for command in app.registered_commands:
        if command.callback is None or command.name == ALL:
            continue
        ctx.obj.err.print(f"pgshuttle bench {command.name}")
        try:
            command.callback(ctx, pg=pg, results_dir=results_dir)
        except ToolError as error:
            ctx.obj.err.print(f"{command.name}: {error}", style="red", markup=False)
            failed.append(str(command.name))
    if failed:
        ctx.obj.err.print(f"failed: {', '.join(failed)}", markup=False)
        raise typer.Exit(ExitCode.FAILED)


def add_to(benches: typer.Typer) -> None:
    """Adds these commands to the benches."""
    benches.command(tablets.NAME)(run_sweep)
    benches.command(hops.NAME)(run_hops)
    benches.command(ALL)(run_all)

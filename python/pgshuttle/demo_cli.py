"""The commands demo and plot: measures, and draws what was measured."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.status import Status

from pgshuttle import bench, demo, figures, places, printing, results, sweep
from pgshuttle.bench_place import KeepOption, PgOption, ResultsOption
from pgshuttle.errors import ExitCode
from pgshuttle.look_cli import DirOption, JsonOption
from pgshuttle.points import Outer, PointResult
from pgshuttle.screen import Screen

MAX_COMPLAINTS = 10  # lines of server logs that are printed


def make_listener(screen: Screen, progress: Status, *, as_json: bool) -> bench.Listener:
    """Prints the headline when it is there, and how far the demo is."""
    step = ""

    def on_step(text: str) -> None:
        nonlocal step
        step = text
        progress.update(text)
        if not screen.err.is_terminal:  # which shows no spinner
            screen.err.print(text, markup=False)

    def on_headline(found: Sequence[PointResult]) -> None:
        if not as_json:
            screen.out.print(printing.make_headline_table(found))

    return bench.Listener(
        on_step=on_step,
        on_progress=lambda ndone, nall: progress.update(f"{step}: {ndone} of {nall}"),
        on_headline=on_headline,
    )


def print_results(screen: Screen, files: demo.DemoFiles) -> None:
    """Prints all tables and where the files are."""
    found = files.results
    for outer in (Outer.FOREIGN, Outer.LOCAL):
        screen.out.print(printing.make_sweep_table(found.points, outer))
    screen.out.print(printing.make_others_table(found.points))
    if found.trips is not None:
        screen.out.print(printing.make_trips_table(found.trips))
    if any(claim.ok is not None for claim in found.claims):
        screen.out.print(printing.make_claims_table(found.claims))
    for line in found.complaints[:MAX_COMPLAINTS]:
        screen.out.print(f"In a server's log: {line}", style="red", markup=False)
    screen.out.print(f"Measured in {found.elapsed_s:g} s on {found.server['version']}.")
    screen.out.print(f"Results: {files.json_path}\nFigure:  {files.figure_path}")


def run_demo(
    ctx: typer.Context,
    full: Annotated[
        bool, typer.Option("--full", help="15 runs a point, 25 to 30 minutes.")
    ] = False,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("demo-results"),
    keep: KeepOption = False,
    check: Annotated[bool, typer.Option("--check", help="Fail if a claim is missed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Shows what batched joins do to a join between two servers, and measures it."""
    screen: Screen = ctx.obj
    options = demo.DemoOptions(
        directory=(directory or places.default_cluster_dir("demo")).absolute(),
        pg=pg,
        effort=sweep.FULL if full else sweep.QUICK,
        results_dir=results_dir.absolute(),
        keep=keep,
    )
    with screen.err.status("starting") as progress:
        files = demo.run(options, make_listener(screen, progress, as_json=as_json))
    if as_json:
        typer.echo(json.dumps(results.to_json(files.results), indent=1))
    else:
        print_results(screen, files)
    if check and any(claim.ok is False for claim in files.results.claims):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


def draw(
    ctx: typer.Context,
    found: Annotated[Path, typer.Argument(metavar="RESULTS", help="A JSON file of the demo.")],
    figure: Annotated[Path | None, typer.Argument(help="The figure; .png, .svg, .pdf.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Draws the figure of earlier results again."""
    screen: Screen = ctx.obj
    path = figure or found.with_suffix(".png")
    figures.draw(found, path)
    if as_json:
        typer.echo(json.dumps({"results": str(found), "figure": str(path)}))
    else:
        screen.out.print(f"Figure: {path}")


def add_to(parent: Any) -> None:  # noqa: ANN401  (typer's class is not generic)
    """Adds these commands to the tool's."""
    parent.command("demo")(run_demo)
    parent.command("plot")(draw)

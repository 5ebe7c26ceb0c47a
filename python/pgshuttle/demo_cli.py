"""The commands demo and plot: measures, and draws what was measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.status import Status
from rich.text import Text

from pgshuttle import bench_place, demo, figures, places, printing, results, sweep
from pgshuttle.bench_place import KeepOption, PgOption, ResultsOption
from pgshuttle.cluster import ClusterOptions
from pgshuttle.json_files import save_run
from pgshuttle.look_cli import DirOption, JsonOption
from pgshuttle.points import Outer, PointResult
from pgshuttle.screen import Screen

MAX_COMPLAINTS = 10  # lines of server logs that are printed


def make_listener(screen: Screen, progress: Status, *, as_json: bool) -> demo.Listener:
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

    return demo.Listener(
        on_step=on_step,
        on_progress=lambda ndone, nall: progress.update(f"{step}: {ndone} of {nall}"),
        on_headline=on_headline,
    )


def list_shown(found: results.Results, figure_path: Path) -> list[RenderableType]:
    shown: list[RenderableType] = [
        printing.make_sweep_table(found.points, outer) for outer in (Outer.FOREIGN, Outer.LOCAL)
    ]
    shown.append(printing.make_others_table(found.points))
    if found.trips is not None:
        shown.append(printing.make_trips_table(found.trips))
    if any(claim.ok is not None for claim in found.claims):
        shown.append(printing.make_claims_table(found.claims))
    for line in found.complaints[:MAX_COMPLAINTS]:
        shown.append(Text(f"In a server's log: {line}", style="red"))
    return [*shown, f"Figure:  {figure_path}"]


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
    path = places.find_cluster_dir(directory, "demo")
    options = ClusterOptions(path, bench_place.NNODES, pg, rtt_us=0, with_extension=True)
    effort = sweep.FULL if full else sweep.QUICK
    json_path = results_dir.absolute() / f"demo-{effort.name}.json"
    figure_path = json_path.with_suffix(".png")
    with screen.err.status("starting") as progress:
        listener = make_listener(screen, progress, as_json=as_json)
        with bench_place.run_cluster(options, listener.on_step, keep=keep) as running:
            found = demo.run_demo(running, effort, listener)
        save_run(found, results.HEAD, json_path)
        listener.on_step("drawing the figure")
        figures.draw(json_path, figure_path)
    shown = list_shown(found, figure_path)
    bench_place.show_run(screen, found, json_path, shown, as_json=as_json, check=check)


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
    described = {"results": str(found), "figure": str(path)}
    screen.tell(described, f"Figure: {path}", as_json=as_json)

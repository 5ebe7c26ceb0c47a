"""The commands demo and plot: measures, and draws what was measured."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from pgshuttle.base.screen import Screen
from pgshuttle.bench.results import save_run
from pgshuttle.cluster import paths
from pgshuttle.cluster.clusters import ClusterOptions
from pgshuttle.commands import drawing, measuring
from pgshuttle.commands.options import DirOption, JsonOption, KeepOption, PgOption, ResultsOption
from pgshuttle.demo import all_parts, join_points, join_rounds
from pgshuttle.demo import page as demo_page
from pgshuttle.demo import report as demo_report
from pgshuttle.demo import results as demo_results
from pgshuttle.demo.join_points import Outer
from pgshuttle.demo.results import Results

MAX_COMPLAINTS = 10  # lines of server logs that are printed


def make_listener(screen: Screen, progress: Status, *, as_json: bool) -> all_parts.Listener:
    """Prints the table of each part when it is there, and how far the demo is."""
    step = ""

    def on_step(text: str) -> None:
        nonlocal step
        step = text
        progress.update(text)
        if not screen.err.is_terminal:  # which shows no spinner
            screen.err.print(text)

    def on_table(table: Table) -> None:
        if not as_json:
            screen.out.print(table)

    return all_parts.Listener(
        on_step=on_step,
        on_progress=lambda ndone, nall: progress.update(f"{step}: {ndone} of {nall}"),
        on_table=on_table,
    )


def list_complaints(found: Results) -> list[RenderableType]:
    lines = found.complaints[:MAX_COMPLAINTS]
    return [Text(f"In a server's log: {line}", style="red") for line in lines]


def list_parts(found: Results) -> list[RenderableType]:
    """The tables of all parts, and below them what is measured of the join beside its headline."""
    headline = [one for one in found.points if one.point in join_points.list_headline_points()]
    shown: list[RenderableType] = [demo_report.make_headline_table(headline)]
    if found.parts is not None:
        shown += all_parts.list_tables(found.parts)
    shown += [
        demo_report.make_sweep_table(found.points, outer) for outer in (Outer.FOREIGN, Outer.LOCAL)
    ]
    shown.append(demo_report.make_others_table(found.points))
    if found.trips is not None:
        shown.append(demo_report.make_trips_table(found.trips))
    return shown


def list_shown(found: Results, figure_path: Path, page_path: Path) -> list[RenderableType]:
    """What is printed when all parts are through: the claims come last."""
    shown = list_complaints(found)
    if any(claim.ok is not None for claim in found.claims):
        shown.append(demo_report.make_claims_table(found.claims))
    return [*shown, f"Figure:  {figure_path}", f"Page:    {page_path}"]


def write_page(found: Results, json_path: Path) -> Path:
    """Draws the figure twice, as a picture and to be enlarged, and writes the page with it."""
    for suffix in (".png", ".svg"):
        drawing.draw(json_path, json_path.with_suffix(suffix))
    claims = demo_report.make_claims_table(found.claims)
    page = json_path.with_suffix(".html")
    shown = [*list_complaints(found), *list_parts(found)]
    text = demo_page.write_page(found, claims, shown, json_path.with_suffix(".svg"))
    page.write_text(text, encoding="utf-8")
    return page


def run_demo(
    ctx: typer.Context,
    full: Annotated[
        bool, typer.Option("--full", help="15 runs a point of the join, half an hour.")
    ] = False,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("demo-results"),
    keep: KeepOption = False,
    check: Annotated[bool, typer.Option("--check", help="Fail if a claim is missed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measures joins, writes, procedures, prefetching and moves beside published figures."""
    screen: Screen = ctx.obj
    path = paths.find_cluster_dir(directory, "demo")
    options = ClusterOptions(path, all_parts.NNODES, pg, rtt_us=0, with_extension=True)
    effort = join_rounds.FULL if full else join_rounds.QUICK
    json_path = results_dir.absolute() / f"demo-{effort.name}.json"
    figure_path = json_path.with_suffix(".png")
    with screen.err.status("starting") as progress:
        listener = make_listener(screen, progress, as_json=as_json)
        with measuring.run_cluster(options, listener.on_step, keep=keep) as running:
            found = all_parts.run_demo(running, effort, listener)
        save_run(found, demo_results.HEAD, json_path)
        listener.on_step("drawing the figure")
        page_path = write_page(found, json_path)
    shown = list_shown(found, figure_path, page_path)
    measuring.show_run(screen, found, json_path, shown, as_json=as_json, check=check)


def draw(
    ctx: typer.Context,
    found: Annotated[Path, typer.Argument(metavar="RESULTS", help="A JSON file of the demo.")],
    figure: Annotated[Path | None, typer.Argument(help="The figure; .png, .svg, .pdf.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Draws the figure of earlier results again."""
    screen: Screen = ctx.obj
    path = figure or found.with_suffix(".png")
    drawing.draw(found, path)
    described = {"results": str(found), "figure": str(path)}
    screen.tell(described, f"Figure: {path}", as_json=as_json)

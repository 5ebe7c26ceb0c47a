"""What the commands pgshuttle bench ... have in common: options, cluster, files, tables."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import typer
from rich.console import RenderableType
from rich.table import Table

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.screen import Screen
from pgshuttle.bench.results import OnStep, Run, save_run
from pgshuttle.cluster import clusters, paths
from pgshuttle.cluster.clusters import ClusterOptions
from pgshuttle.cluster.state import Cluster
from pgshuttle.commands import drawing
from pgshuttle.commands.options import (
    CheckOption,
    ClusterDirOption,
    JsonOption,
    KeepOption,
    PgOption,
    ResultsOption,
)

NNODES = 2
Measure = Callable[[Cluster, OnStep], Run]


class Report(Protocol):
    """The module that shows what a bench found. head: what its file begins with."""

    @property
    def HEAD(self) -> Mapping[str, object]: ...  # noqa: N802  (a constant of the module)
    def make_tables(self, found: Any, /) -> Sequence[Table]: ...  # noqa: ANN401  (its own run)


@dataclass(frozen=True)
class Asked:
    """What all benches take; typer makes options of it."""

    directory: ClusterDirOption = None
    pg: PgOption = None
    results_dir: ResultsOption = Path("bench-results")
    keep: KeepOption = False
    check: CheckOption = False
    as_json: JsonOption = False


def list_parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def make_command(
    app: typer.Typer,
    name: str,
    report: Report,
    *,
    nnodes: int = NNODES,
    has_figure: bool = False,
) -> Callable[[Callable[..., Measure]], Callable[..., Measure]]:
    """Makes a bench of a function that turns options of its own into what measures."""

    def add(prepare: Callable[..., Measure]) -> Callable[..., Measure]:
        own = list_parameters(prepare)
        common = list_parameters(Asked)
        defaults = {parameter.name: parameter.default for parameter in (*own, *common)}

        def command(ctx: typer.Context, **given: Any) -> None:  # noqa: ANN401  (of all types)
            given = defaults | given
            measure = prepare(**{parameter.name: given.pop(parameter.name) for parameter in own})
            asked = Asked(**given)
            found = run_bench(ctx.obj, measure, nnodes, asked)
            show_bench(ctx.obj, name, report, found, asked, has_figure=has_figure)

        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        context = context.replace(annotation=typer.Context)
        signature = inspect.Signature([context, *own, *common])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        command.__doc__ = prepare.__doc__
        app.command(name)(command)
        return prepare

    return add


@contextmanager
def run_cluster(asked: ClusterOptions, on_step: OnStep, *, keep: bool = False) -> Iterator[Cluster]:
    """Has a cluster running; one that did not run before is removed afterwards."""
    started = clusters.up(asked, on_step)
    try:
        yield started.cluster
    finally:
        if not started.was_running and not keep:
            on_step("stopping")
            with suppress(ToolError):
                clusters.down(asked.directory, remove=True)


def show_run(
    screen: Screen,
    found: Run,
    json_path: Path,
    shown: Sequence[RenderableType],
    *,
    as_json: bool,
    check: bool,
) -> None:
    """Prints what was found and where its file is, or the file; fails if it is to be checked."""
    if as_json:
        typer.echo(json_path.read_text(encoding="utf-8"), nl=False)
    else:
        for one in shown:
            screen.out.print(one)
        screen.out.print(f"Measured in {found.elapsed_s:g} s on {found.server['version']}.")
        screen.out.print(f"Results: {json_path}")
    if check and not found.is_kept:
        raise typer.Exit(ExitCode.CLAIM_FAILED)


def run_bench(screen: Screen, measure: Measure, nnodes: int, asked: Asked) -> Run:
    """Measures. Benches with as many nodes share a cluster."""
    of_nodes = "bench" if nnodes == NNODES else f"bench-{nnodes}-nodes"
    path = paths.find_cluster_dir(asked.directory, of_nodes)
    options = ClusterOptions(path, nnodes, asked.pg, rtt_us=0, with_extension=True)
    with (
        screen.err.status("starting") as progress,
        run_cluster(options, progress.update, keep=asked.keep) as running,
    ):
        return measure(running, progress.update)


def show_bench(
    screen: Screen, name: str, report: Report, found: Run, asked: Asked, *, has_figure: bool
) -> None:
    """Writes files of the bench's name, and prints the tables, or the JSON."""
    json_path = asked.results_dir.absolute() / f"{name}.json"
    save_run(found, report.HEAD, json_path)
    shown: list[RenderableType] = list(report.make_tables(found))
    if has_figure:
        figure_path = json_path.with_suffix(".png")
        drawing.draw(json_path, figure_path)
        shown.append(f"Figure:  {figure_path}")
    show_run(screen, found, json_path, shown, as_json=asked.as_json, check=asked.check)

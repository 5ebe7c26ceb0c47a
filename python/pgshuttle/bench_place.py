"""Where a bench runs, what its commands have in common, and how they show what they found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.status import Status
from rich.table import Table

from pgshuttle import demo, places
from pgshuttle.screen import Screen
from pgshuttle.state import Cluster

DirOption = Annotated[Path | None, typer.Option("--dir", help="Directory of the cluster.")]
PgOption = Annotated[
    str | None,
    typer.Option("--pg", help="Server: 15, 18, 18-plain, or the path of a pg_config."),
]
ResultsOption = Annotated[
    Path, typer.Option("--results", help="Directory for the JSON and the figure.")
]
CheckOption = Annotated[bool, typer.Option("--check", help="Fail if a target is missed.")]
RttsOption = Annotated[
    list[float] | None, typer.Option("--rtt", help="Only with such a round trip, in ms.")
]
KeepOption = Annotated[bool, typer.Option("--keep", help="Leave the cluster running.")]


@dataclass(frozen=True)
class Place:
    """Where a bench runs and writes."""

    directory: Path
    pg: str | None
    results_dir: Path
    keep: bool
    nnodes: int = demo.NNODES


def find_place(directory: Path | None, pg: str | None, results_dir: Path, *, keep: bool) -> Place:
    """Says where a bench runs."""
    path = directory or places.default_cluster_dir("bench")
    return Place(path.absolute(), pg, results_dir.absolute(), keep)


@contextmanager
def run_cluster(place: Place, progress: Status) -> Iterator[Cluster]:
    """Has a cluster for a bench."""
    options = demo.ClusterUse(
        place.directory, place.pg, with_extension=True, keep=place.keep, nnodes=place.nnodes
    )
    with demo.run_cluster(options, progress.update) as running:
        yield running


class Measured(Protocol):
    """What all benches know of their run."""

    @property
    def elapsed_s(self) -> float: ...
    @property
    def server(self) -> Mapping[str, str]: ...


def show(
    screen: Screen, found: Measured, json_path: Path, tables: Sequence[Table], *, as_json: bool
) -> None:
    """Prints the tables, on what it was measured, and where the files are; or the JSON file."""
    if as_json:
        typer.echo(json_path.read_text(encoding="utf-8"), nl=False)
        return
    for table in tables:
        screen.out.print(table)
    screen.out.print(f"Measured in {found.elapsed_s:g} s on {found.server['version']}.")
    screen.out.print(f"Results: {json_path}\nFigure:  {json_path.with_suffix('.png')}")

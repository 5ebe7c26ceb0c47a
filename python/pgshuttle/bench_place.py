"""Where a bench runs, what its commands have in common, and how they show what they found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, Protocol, TypeVar

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
    nnodes: int


def find_place(
    directory: Path | None,
    pg: str | None,
    results_dir: Path,
    *,
    keep: bool,
    nnodes: int = demo.NNODES,
) -> Place:
    """Says where a bench runs; those with as many nodes share a cluster."""
    name = "bench" if nnodes == demo.NNODES else f"bench-{nnodes}-nodes"
    path = directory or places.default_cluster_dir(name)
    return Place(path.absolute(), pg, results_dir.absolute(), keep, nnodes)


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


Found = TypeVar("Found", bound=Measured)


@dataclass(frozen=True)
class Report(Generic[Found]):
    """How a bench keeps what it found, draws that file, and what it prints."""

    save: Callable[[Found, Path], None]
    draw: Callable[[Path, Path], None]
    tables: Sequence[Table]


def finish(
    screen: Screen, place: Place, name: str, found: Found, report: Report[Found], *, as_json: bool
) -> None:
    """Writes what a bench found into files of its name, and prints the tables, or the JSON."""
    json_path = place.results_dir / f"{name}.json"
    report.save(found, json_path)
    report.draw(json_path, json_path.with_suffix(".png"))
    if as_json:
        typer.echo(json_path.read_text(encoding="utf-8"), nl=False)
        return
    for table in report.tables:
        screen.out.print(table)
    screen.out.print(f"Measured in {found.elapsed_s:g} s on {found.server['version']}.")
    screen.out.print(f"Results: {json_path}\nFigure:  {json_path.with_suffix('.png')}")

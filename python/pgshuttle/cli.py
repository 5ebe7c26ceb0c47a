"""The command pgshuttle: reads arguments, calls the other modules, prints."""

import json
import signal
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status
from typer.core import TyperGroup

from pgshuttle import __version__, later

later.load_later(*later.DRAWING)

from pgshuttle import (  # noqa: E402
    bench,
    bench_cli,
    catalog,
    cluster,
    demo,
    figures,
    first_steps,
    look_cli,
    places,
    printing,
    report,
    sweep,
    target,
)
from pgshuttle.errors import ExitCode, ToolError  # noqa: E402
from pgshuttle.points import Outer  # noqa: E402
from pgshuttle.servers import SUPERUSER  # noqa: E402
from pgshuttle.state import Cluster  # noqa: E402

US_PER_MS = 1000
MAX_RTT_MS = 60_000
DEFAULT_NAME = "default"
QUERY = "query"
MAX_COMPLAINTS = 10  # lines of server logs that are printed
RESULT_DIRS = (Path("demo-results"), Path("bench-results"))
FILE_WIDTH = 140  # characters of a line where the output is no terminal


@dataclass(frozen=True)
class Screen:
    """Where commands print."""

    out: Console
    err: Console


class ToolGroup(TyperGroup):
    """Turns our errors into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (the base class says so)
        """Runs a command."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            raise self.end(later.explain_missing(error)) from None
        except ToolError as error:
            raise self.end(error) from None

    def end(self, error: ToolError) -> typer.Exit:
        """Prints an error."""
        err = Console(stderr=True, soft_wrap=True, highlight=False)
        err.print(f"pgshuttle: {error.message}", style="red", markup=False)
        if error.hint:
            err.print(error.hint, markup=False)
        return typer.Exit(error.exit_code)


app = typer.Typer(
    cls=ToolGroup,
    help="Checks pg_shuttle, shows what it does, and tries and measures it on small clusters.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

look_cli.add_to(app)
bench_cli.add_to(app)

DirOption = Annotated[Path | None, typer.Option("--dir", help="Directory of the cluster.")]
JsonOption = look_cli.JsonOption
PgOption = Annotated[
    str | None,
    typer.Option("--pg", help="Server: 15, 18, 18-plain, or the path of a pg_config."),
]
RttOption = Annotated[
    float, typer.Option("--rtt", min=0, max=MAX_RTT_MS, help="Round-trip time in ms.")
]


def print_version(asked: bool) -> None:  # noqa: FBT001  (typer calls it so)
    """Prints the version and ends."""
    if asked:
        typer.echo(f"pgshuttle {__version__}")
        raise typer.Exit


@app.callback()
def start(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001  (its callback did all)
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Checks pg_shuttle, shows what it does, and tries and measures it on small clusters."""
    out = Console()
    if not out.is_terminal:
        out = Console(width=FILE_WIDTH)
    ctx.obj = Screen(out, Console(stderr=True))


def find_dir(directory: Path | None) -> Path:
    """Returns the directory of the cluster that a command is about."""
    return (directory or places.default_cluster_dir(DEFAULT_NAME)).absolute()


@app.command()
def up(
    ctx: typer.Context,
    directory: DirOption = None,
    nodes: Annotated[int, typer.Option(min=1, max=32, help="Number of storage nodes.")] = 2,
    pg: PgOption = None,
    rtt: RttOption = 0.0,
    stock: Annotated[
        bool, typer.Option("--stock", help="Only postgres_fdw, without pg_shuttle.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Starts a query node and storage nodes, each behind a delay proxy."""
    screen: Screen = ctx.obj
    options = cluster.ClusterOptions(
        directory=find_dir(directory),
        nnodes=nodes,
        pg=pg,
        rtt_us=round(rtt * US_PER_MS),
        with_extension=not stock,
    )
    with screen.err.status("starting") as status:
        result = cluster.up(options, status.update)
    if result.was_running and not as_json:
        screen.out.print(f"The cluster in {options.directory} runs already.")
    parts = cluster.read_status(result.cluster)
    if as_json:
        typer.echo(json.dumps(describe(result.cluster, parts), indent=2))
        return
    screen.out.print(printing.make_status_table(parts))
    if options.with_extension:
        dsn = target.write_cluster_dsn(result.cluster.directory) or ""
        steps = first_steps.write_steps(dsn, directory)
        screen.out.print(steps, markup=False, highlight=False, soft_wrap=True)


def describe(found: Cluster, parts: list[cluster.PartStatus]) -> dict[str, Any]:
    """A cluster as JSON."""
    return {
        "directory": str(found.directory),
        "version": found.build.version,
        "query_dsn": target.write_cluster_dsn(found.directory),
        "servers": [asdict(part) for part in parts],
    }


@app.command()
def down(
    ctx: typer.Context,
    directory: DirOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove its data, too.")] = False,
) -> None:
    """Stops the cluster; its data stays for the next up."""
    screen: Screen = ctx.obj
    path = find_dir(directory)
    with screen.err.status("stopping"):
        cluster.down(path, remove=remove)
    screen.out.print(f"The cluster in {path} is {'removed' if remove else 'stopped'}.")


@app.command()
def status(ctx: typer.Context, directory: DirOption = None, as_json: JsonOption = False) -> None:
    """Shows the servers of the cluster and what their delay proxies counted."""
    screen: Screen = ctx.obj
    found = cluster.load(find_dir(directory))
    parts = cluster.read_status(found)
    if as_json:
        typer.echo(json.dumps(describe(found, parts), indent=2))
    else:
        screen.out.print(f"{found.build.version} in {found.directory}")
        screen.out.print(printing.make_status_table(parts))
    if not cluster.is_running(found):
        raise typer.Exit(ExitCode.NOT_RUNNING)


@app.command()
def rtt(
    ctx: typer.Context,
    milliseconds: Annotated[float, typer.Argument(min=0, max=MAX_RTT_MS)],
    node: Annotated[int | None, typer.Option(min=1, help="Only this storage node.")] = None,
    directory: DirOption = None,
) -> None:
    """Sets the round-trip time to the storage nodes while they run."""
    screen: Screen = ctx.obj
    found = cluster.load(find_dir(directory))
    if node is not None and node > len(found.nodes):
        raise ToolError(f"there is no storage node {node}", exit_code=ExitCode.USAGE)
    cluster.set_rtt(found, round(milliseconds * US_PER_MS), node)
    screen.out.print(f"Round trips take {milliseconds:g} ms.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(help='"query", or a storage node: 1, node1.')] = QUERY,
    directory: DirOption = None,
) -> None:
    """Opens psql on a server; words behind -- go to psql."""
    found = cluster.load(find_dir(directory))
    words = ctx.args
    if node.startswith("-"):  # no server was named
        node, words = QUERY, [node, *words]
    server = cluster.find_server(found, node)
    command = [
        str(found.build.bin_dir / "psql"),
        *("-h", str(server.socket_dir), "-p", str(server.port)),
        *("-U", SUPERUSER, "-d", catalog.DATABASE, *words),
    ]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def make_listener(screen: Screen, progress: Status) -> bench.Listener:
    """Prints the headline when it is there, and how far the demo is."""
    step = ""

    def on_step(text: str) -> None:
        nonlocal step
        step = text
        progress.update(text)
        if not screen.err.is_terminal:  # which shows no spinner
            screen.err.print(text, markup=False)

    return bench.Listener(
        on_step=on_step,
        on_progress=lambda ndone, nall: progress.update(f"{step}: {ndone} of {nall}"),
        on_headline=lambda found: screen.out.print(printing.make_headline_table(found)),
    )


def print_results(screen: Screen, files: demo.DemoFiles) -> None:
    """Prints all tables and where the files are."""
    results = files.results
    if results.server["extension"] != "none":
        for outer in (Outer.FOREIGN, Outer.LOCAL):
            screen.out.print(printing.make_sweep_table(results.points, outer))
    screen.out.print(printing.make_others_table(results.points))
    if results.trips is not None:
        screen.out.print(printing.make_trips_table(results.trips))
    if any(claim.ok is not None for claim in results.claims):
        screen.out.print(printing.make_claims_table(results.claims))
    for line in results.complaints[:MAX_COMPLAINTS]:
        screen.out.print(f"In a server's log: {line}", style="red", markup=False)
    screen.out.print(f"Measured in {results.elapsed_s:g} s on {results.server['version']}.")
    screen.out.print(f"Results: {files.json_path}\nFigure:  {files.figure_path}")


@app.command("demo")
def run_demo(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="15 runs a point.")] = False,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: Annotated[
        Path, typer.Option("--results", help="Directory for the JSON and the figure.")
    ] = Path("demo-results"),
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster running.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Fail if a claim is missed.")] = False,
    stock: Annotated[
        bool, typer.Option("--stock", help="Measure postgres_fdw alone, without pg_shuttle.")
    ] = False,
) -> None:
    """Shows what batched joins do to a join between two servers, and measures it."""
    screen: Screen = ctx.obj
    options = demo.DemoOptions(
        directory=(directory or places.default_cluster_dir("demo")).absolute(),
        pg=pg,
        with_extension=not stock,
        effort=sweep.FULL if full else sweep.QUICK,
        results_dir=results_dir.absolute(),
        keep=keep,
    )
    with screen.err.status("starting") as progress:
        files = demo.run(options, make_listener(screen, progress))
    print_results(screen, files)
    if check and any(claim.ok is False for claim in files.results.claims):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


@app.command("plot")
def draw(
    ctx: typer.Context,
    results: Annotated[Path, typer.Argument(help="A JSON file of the demo or of a bench.")],
    figure: Annotated[Path | None, typer.Argument(help="The figure; .png, .svg, .pdf.")] = None,
) -> None:
    """Draws the figure of earlier results again."""
    screen: Screen = ctx.obj
    path = figure or results.with_suffix(".png")
    figures.draw(results, path)
    screen.out.print(f"Figure: {path}")


@app.command("report")
def write_report(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="JSON files, or directories of them: of demo, bench, explain --json."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
) -> None:
    """Writes one page of all results: figures, claims and plans; it loads nothing."""
    screen: Screen = ctx.obj
    report.write_report(report.find_results(results or list(RESULT_DIRS)), output)
    screen.out.print(f"Page: {output}", soft_wrap=True, highlight=False)


def end_on_signal(number: int, _frame: object) -> None:
    """Ends the command in order: what it started for itself is stopped."""
    raise SystemExit(128 + number)


def main() -> None:
    """The entry point of the command."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    app()

"""The command pgshuttle: reads arguments, calls the other modules, prints."""

import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console, RenderableType
from typer.core import TyperGroup

from pgshuttle import (
    __version__,
    bench_cli,
    catalog,
    cluster,
    demo_cli,
    distribute_cli,
    first_steps,
    ha_cli,
    ha_cluster,
    ha_state,
    look_cli,
    printing,
    target,
)
from pgshuttle.bench_place import DirOption, PgOption
from pgshuttle.cluster import ClusterOptions, PartStatus
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.ha_making import HaOptions
from pgshuttle.look_cli import JsonOption
from pgshuttle.places import find_cluster_dir
from pgshuttle.screen import Screen, print_in_any_encoding
from pgshuttle.state import Cluster

US_PER_MS = 1000
MAX_RTT_MS = 60_000
QUERY = "query"
LEAST_WIDTH = 80  # characters of a line
FILE_WIDTH = 140  # characters of a line where the output is no terminal


def write_os_error(error: OSError) -> str:
    said = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {said}" if error.filename else said


class ToolGroup(TyperGroup):
    """Turns our errors into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (the base class says so)
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            missing = ToolError(
                f'the Python package "{error.name}" is missing',
                hint=f"Install it: pip install {error.name}, or on Debian "
                f"apt-get install python3-{error.name}.",
                exit_code=ExitCode.NOT_INSTALLED,
            )
            raise self.end(missing) from None
        except ToolError as error:
            raise self.end(error) from None
        except psycopg.Error as error:  # a server that refuses something, or goes away
            more = filter(None, (error.diag.message_detail, error.diag.message_hint))
            said = ToolError(target.first_line(error), hint="\n".join(more))
            raise self.end(said) from None
        except BrokenPipeError:  # who reads our output has seen enough
            raise
        except OSError as error:  # a file or a directory that can't be read, made or written
            raise self.end(ToolError(write_os_error(error))) from None

    def end(self, error: ToolError) -> typer.Exit:
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

COMMANDS: Mapping[str, Callable[..., None]] = {
    "doctor": look_cli.run_doctor,
    "explain": look_cli.run_explain,
    "top": look_cli.run_top,
    "distribute": distribute_cli.run_distribute,
    "tables": distribute_cli.run_tables,
    "demo": demo_cli.run_demo,
    "plot": demo_cli.draw,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(bench_cli.app, name="bench")
app.add_typer(ha_cli.app, name="ha")

RttOption = Annotated[
    float, typer.Option("--rtt", min=0, max=MAX_RTT_MS, help="Round-trip time in ms.")
]


def print_version(asked: bool) -> None:  # noqa: FBT001  (typer calls it so)
    if asked:
        typer.echo(f"pgshuttle {__version__}")
        raise typer.Exit


def make_console() -> Console:
    """Where tables go. A narrow terminal wraps their lines, instead of losing their words."""
    out = Console()
    if not out.is_terminal:
        return Console(width=FILE_WIDTH)
    return Console(width=LEAST_WIDTH) if out.width < LEAST_WIDTH else out


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
    ctx.obj = Screen(make_console(), Console(stderr=True))


def describe(found: Cluster, parts: list[PartStatus]) -> dict[str, Any]:
    return {
        "directory": str(found.directory),
        "version": found.build.version,
        "query_dsn": target.write_cluster_dsn(found.directory),
        "servers": [asdict(part) for part in parts],
    }


def bring_up(
    screen: Screen, options: ClusterOptions, directory: Path | None, *, as_json: bool
) -> None:
    """Starts a cluster, and tells what to try. directory: as the user named it."""
    with screen.err.status("starting") as status:
        result = cluster.up(options, status.update)
    parts = cluster.read_status(result.cluster)
    shown: list[RenderableType] = [printing.make_status_table(parts)]
    if result.was_running:
        shown.insert(0, f"The cluster in {options.directory} runs already.")
    described = describe(result.cluster, parts)
    screen.tell(described, *shown, as_json=as_json)
    if options.with_extension and not as_json:
        first_steps.tell(screen, first_steps.STEPS, described["query_dsn"] or "", directory)


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
    ha: ha_cli.HaOption = False,
    members: ha_cli.MembersOption = None,
    query_pair: ha_cli.PairOption = False,
    as_json: JsonOption = False,
) -> None:
    """Starts a query node and storage nodes, each behind a delay proxy."""
    screen: Screen = ctx.obj
    if ha:
        if rtt or stock:
            raise ToolError("--ha goes without --rtt and --stock", exit_code=ExitCode.USAGE)
        wanted = HaOptions(find_cluster_dir(directory), nodes, pg, members, query_pair)
        ha_cli.bring_up(screen, wanted, directory, as_json=as_json)
        return
    if members is not None or query_pair:
        raise ToolError("--members and --query-pair want --ha", exit_code=ExitCode.USAGE)
    options = ClusterOptions(
        find_cluster_dir(directory), nodes, pg, round(rtt * US_PER_MS), with_extension=not stock
    )
    bring_up(screen, options, directory, as_json=as_json)


@app.command()
def down(
    ctx: typer.Context,
    directory: DirOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove its data, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Stops the cluster; its data stays for the next up."""
    screen: Screen = ctx.obj
    path = find_cluster_dir(directory)
    stop = ha_cluster.down if ha_state.find(path) is not None else cluster.down
    with screen.err.status("stopping"):
        stop(path, remove=remove)
    state = "removed" if remove else "stopped"
    described = {"directory": str(path), "state": state}
    screen.tell(described, f"The cluster in {path} is {state}.", as_json=as_json)


@app.command()
def status(ctx: typer.Context, directory: DirOption = None, as_json: JsonOption = False) -> None:
    """Shows the servers of the cluster and what their delay proxies counted."""
    screen: Screen = ctx.obj
    of_patroni = ha_state.find(find_cluster_dir(directory))
    if of_patroni is not None:
        ha_cli.show(screen, of_patroni, as_json=as_json)
        if not ha_cluster.is_running(of_patroni):
            raise typer.Exit(ExitCode.NOT_RUNNING)
        return
    found = cluster.load(find_cluster_dir(directory))
    parts = cluster.read_status(found)
    title = f"{found.build.version} in {found.directory}"
    table = printing.make_status_table(parts)
    screen.tell(describe(found, parts), title, table, as_json=as_json)
    if not cluster.is_running(found):
        raise typer.Exit(ExitCode.NOT_RUNNING)


@app.command()
def rtt(
    ctx: typer.Context,
    milliseconds: Annotated[
        float, typer.Argument(min=0, max=MAX_RTT_MS, help="0: no delay but the proxy's own.")
    ],
    node: Annotated[int | None, typer.Option(min=1, help="Only this storage node.")] = None,
    directory: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sets the round-trip time to the storage nodes while they run."""
    screen: Screen = ctx.obj
    found = cluster.load(find_cluster_dir(directory))
    if node is not None and node > len(found.nodes):
        raise ToolError(f"there is no storage node {node}", exit_code=ExitCode.USAGE)
    cluster.set_rtt(found, round(milliseconds * US_PER_MS), node)
    described = describe(found, cluster.read_status(found))
    screen.tell(described, f"Round trips take {milliseconds:g} ms.", as_json=as_json)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(help='"query", or a storage node: 1, node1.')] = QUERY,
    directory: DirOption = None,
) -> None:
    """Opens psql on a server; words behind -- go to psql."""
    words = ctx.args
    if node.startswith("-"):  # no server was named
        node, words = QUERY, [node, *words]
    of_patroni = ha_state.find(find_cluster_dir(directory))
    if of_patroni is not None:
        build, dsn = of_patroni.build, ha_state.write_dsn(ha_state.find_node(of_patroni, node))
    else:
        found = cluster.load(find_cluster_dir(directory))
        build, dsn = found.build, catalog.write_dsn(cluster.find_server(found, node))
    command = [str(build.bin_dir / "psql"), "-d", dsn, *words]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def end_on_signal(number: int, _frame: object) -> None:
    """Ends the command in order: what it started for itself is stopped."""
    raise SystemExit(128 + number)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    print_in_any_encoding()
    app()

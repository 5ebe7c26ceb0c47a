"""The commands up, down, status, rtt and psql: a cluster on this machine."""

import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.screen import Screen
from pgshuttle.cluster import catalog, clusters
from pgshuttle.cluster.clusters import ClusterOptions, PartStatus
from pgshuttle.cluster.paths import find_cluster_dir
from pgshuttle.cluster.state import Cluster
from pgshuttle.commands import console as console_command
from pgshuttle.commands import first_steps
from pgshuttle.commands import ha as ha_commands
from pgshuttle.commands.options import ClusterDirOption, JsonOption, PgOption
from pgshuttle.ha import clusters as ha_clusters
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.making import HaOptions
from pgshuttle.look import target

US_PER_MS = 1000
MAX_RTT_MS = 60_000
QUERY = "query"
RttOption = Annotated[
    float, typer.Option("--rtt", min=0, max=MAX_RTT_MS, help="Round-trip time in ms.")
]


def make_status_table(parts: Sequence[PartStatus]) -> Table:
    table = Table("server", "state", "pid", "port", "proxy", "RTT", "connections", "round trips")
    for part in parts:
        proxy = part.proxy
        proxy_state = "-"
        if part.proxy_port is not None:
            proxy_state = str(part.proxy_port) if part.proxy_is_running else "stopped"
        table.add_row(
            part.name,
            "running" if part.is_running else "stopped",
            str(part.pid or "-"),
            str(part.port),
            proxy_state,
            f"{proxy.rtt_us / 1000:g} ms" if proxy else "-",
            str(proxy.connections_open) if proxy else "-",
            str(proxy.total.round_trips) if proxy else "-",
        )
    return table


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
        result = clusters.up(options, status.update)
    parts = clusters.read_status(result.cluster)
    shown: list[RenderableType] = [make_status_table(parts)]
    if result.was_running:
        shown.insert(0, f"The cluster in {options.directory} runs already.")
    described = describe(result.cluster, parts)
    screen.tell(described, *shown, as_json=as_json)
    if options.with_extension and not as_json:
        first_steps.tell(screen, first_steps.STEPS, described["query_dsn"] or "", directory)


def up(
    ctx: typer.Context,
    directory: ClusterDirOption = None,
    nodes: Annotated[int, typer.Option(min=1, max=32, help="Number of storage nodes.")] = 2,
    pg: PgOption = None,
    rtt: RttOption = 0.0,
    stock: Annotated[
        bool, typer.Option("--stock", help="Only postgres_fdw, without pg_shuttle.")
    ] = False,
    ha: ha_commands.HaOption = False,
    members: ha_commands.MembersOption = None,
    query_pair: ha_commands.PairOption = False,
    with_console: Annotated[
        bool, typer.Option("--console", help="Then serve a web page of it, until Ctrl-C.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Starts a query node and storage nodes, each behind a delay proxy."""
    screen: Screen = ctx.obj
    if with_console and (stock or as_json):
        raise ToolError("--console goes without --stock and --json", exit_code=ExitCode.USAGE)
    if ha:
        if rtt or stock:
            raise ToolError("--ha goes without --rtt and --stock", exit_code=ExitCode.USAGE)
        wanted = HaOptions(find_cluster_dir(directory), nodes, pg, members, query_pair)
        ha_commands.bring_up(screen, wanted, directory, as_json=as_json)
        serve_console(screen, directory, wanted=with_console)
        return
    if members is not None or query_pair:
        raise ToolError("--members and --query-pair want --ha", exit_code=ExitCode.USAGE)
    options = ClusterOptions(
        find_cluster_dir(directory), nodes, pg, round(rtt * US_PER_MS), with_extension=not stock
    )
    bring_up(screen, options, directory, as_json=as_json)
    serve_console(screen, directory, wanted=with_console)


def serve_console(screen: Screen, directory: Path | None, *, wanted: bool) -> None:
    dsn = target.write_cluster_dsn(find_cluster_dir(directory))
    if wanted and dsn is not None:
        console_command.serve(screen, dsn)


def down(
    ctx: typer.Context,
    directory: ClusterDirOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove its data, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Stops the cluster; its data stays for the next up."""
    screen: Screen = ctx.obj
    path = find_cluster_dir(directory)
    stop = ha_clusters.down if ha_state.find(path) is not None else clusters.down
    with screen.err.status("stopping"):
        stop(path, remove=remove)
    state = "removed" if remove else "stopped"
    described = {"directory": str(path), "state": state}
    screen.tell(described, f"The cluster in {path} is {state}.", as_json=as_json)


def status(
    ctx: typer.Context, directory: ClusterDirOption = None, as_json: JsonOption = False
) -> None:
    """Shows the servers of the cluster and what their delay proxies counted."""
    screen: Screen = ctx.obj
    of_patroni = ha_state.find(find_cluster_dir(directory))
    if of_patroni is not None:
        ha_commands.show(screen, of_patroni, as_json=as_json)
        if not ha_clusters.is_running(of_patroni):
            raise typer.Exit(ExitCode.NOT_RUNNING)
        return
    found = clusters.load(find_cluster_dir(directory))
    parts = clusters.read_status(found)
    title = f"{found.build.version} in {found.directory}"
    table = make_status_table(parts)
    screen.tell(describe(found, parts), title, table, as_json=as_json)
    if not clusters.is_running(found):
        raise typer.Exit(ExitCode.NOT_RUNNING)


def rtt(
    ctx: typer.Context,
    milliseconds: Annotated[
        float, typer.Argument(min=0, max=MAX_RTT_MS, help="0: no delay but the proxy's own.")
    ],
    node: Annotated[int | None, typer.Option(min=1, help="Only this storage node.")] = None,
    directory: ClusterDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sets the round-trip time to the storage nodes while they run."""
    screen: Screen = ctx.obj
    found = clusters.load(find_cluster_dir(directory))
    if node is not None and node > len(found.nodes):
        raise ToolError(f"there is no storage node {node}", exit_code=ExitCode.USAGE)
    clusters.set_rtt(found, round(milliseconds * US_PER_MS), node)
    described = describe(found, clusters.read_status(found))
    screen.tell(described, f"Round trips take {milliseconds:g} ms.", as_json=as_json)


def psql(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(help='"query", or a storage node: 1, node1.')] = QUERY,
    directory: ClusterDirOption = None,
) -> None:
    """Opens psql on a server; words behind -- go to psql."""
    words = ctx.args
    if node.startswith("-"):  # no server was named
        node, words = QUERY, [node, *words]
    of_patroni = ha_state.find(find_cluster_dir(directory))
    if of_patroni is not None:
        build, dsn = of_patroni.build, ha_state.write_dsn(ha_state.find_node(of_patroni, node))
    else:
        found = clusters.load(find_cluster_dir(directory))
        build, dsn = found.build, catalog.write_dsn(clusters.find_server(found, node))
    command = [str(build.bin_dir / "psql"), "-d", dsn, *words]
    raise typer.Exit(subprocess.run(command, check=False).returncode)

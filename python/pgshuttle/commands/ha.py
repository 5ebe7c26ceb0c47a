"""The commands pgshuttle ha ...: lists a highly available cluster, and pulls its plugs."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pgshuttle.base.screen import Screen
from pgshuttle.cluster import paths
from pgshuttle.commands import first_steps
from pgshuttle.commands.options import ClusterDirOption, JsonOption
from pgshuttle.ha import clusters as ha_clusters
from pgshuttle.ha import faults as ha_faults
from pgshuttle.ha import patroni
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.clusters import MemberStatus
from pgshuttle.ha.making import HaOptions
from pgshuttle.ha.state import HaCluster

app = typer.Typer(
    help="Shows a cluster of pgshuttle up --ha, and pulls its plugs.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

HaOption = Annotated[
    bool, typer.Option("--ha", help="Each node is a Patroni cluster; see pgshuttle ha.")
]
MembersOption = Annotated[
    int | None, typer.Option(min=2, max=5, help="With --ha: servers of a storage node; 3, or 2.")
]
PairOption = Annotated[
    bool, typer.Option("--query-pair", help="With --ha: the query node has a standby, too.")
]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help='A node ("query", "node1": its primary), a member ("node1-2"), "etcd".'
    ),
]
ServerOption = Annotated[
    bool, typer.Option("--server", help="PostgreSQL alone; without it Patroni, too: the host.")
]


def load(directory: Path | None) -> HaCluster:
    return ha_state.load(paths.find_cluster_dir(directory))


def make_table(parts: list[MemberStatus]) -> Table:
    table = Table("node", "member", "port", "PostgreSQL", "role", "state", "timeline", "lag")
    for part in parts:
        table.add_row(
            part.node,
            part.name,
            str(part.port),
            "running" if part.is_running else "stopped",
            part.role,
            part.state,
            str(part.timeline or "-"),
            part.lag,
        )
    return table


def show(screen: Screen, found: HaCluster, *, as_json: bool) -> None:
    parts = ha_clusters.read_status(found)
    described = {
        "directory": str(found.directory),
        "version": found.build.version,
        "query_dsn": ha_state.write_dsn(found.nodes[0]),
        "servers": [asdict(part) for part in parts],
    }
    screen.tell(described, make_table(parts), as_json=as_json)


def bring_up(screen: Screen, options: HaOptions, directory: Path | None, *, as_json: bool) -> None:
    """Starts a cluster, and tells what to try."""
    with screen.err.status("starting") as status:
        found = ha_clusters.up(options, status.update)
    show(screen, found, as_json=as_json)
    if not as_json:
        dsn = ha_state.write_dsn(found.nodes[0])
        first_steps.tell(screen, first_steps.HA_STEPS, dsn, directory)


@app.command("list")
def show_list(
    ctx: typer.Context, directory: ClusterDirOption = None, as_json: JsonOption = False
) -> None:
    """Shows which member is the primary of each node."""
    show(ctx.obj, load(directory), as_json=as_json)


@app.command()
def switchover(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(help='"query", "node1", ...')],
    pause: Annotated[
        bool, typer.Option("--pause", help="Let transactions wait for it (shuttle.pause_node).")
    ] = False,
    directory: ClusterDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Has a standby of the node become its primary, as planned work would."""
    screen: Screen = ctx.obj
    found = load(directory)
    start = time.monotonic()
    with screen.err.status("switching over"):
        said = (
            ha_faults.switch_over_paused(found, node)
            if pause
            else patroni.switch_over(ha_state.find_node(found, node))
        )
    took_s = round(time.monotonic() - start, 1)
    described = {"node": node, "said": said, "elapsed_s": took_s}
    screen.tell(described, Text(f"{said} ({took_s} s)"), as_json=as_json)


@app.command()
def kill(
    ctx: typer.Context,
    name: NameArgument,
    server: ServerOption = False,
    directory: ClusterDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Kills PostgreSQL and Patroni at once, as if the host had lost its power."""
    ha_faults.kill(load(directory), name, server_only=server)
    text = f"{name} is killed. pgshuttle ha start starts what does not run."
    ctx.obj.tell({"name": name, "state": "killed"}, text, as_json=as_json)


@app.command()
def freeze(
    ctx: typer.Context,
    name: NameArgument,
    seconds: Annotated[float, typer.Option(min=0, help="How long; 0: until ha start.")] = 15,
    server: ServerOption = False,
    directory: ClusterDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Has all processes of a host stand still, as one that hangs, and then go on."""
    screen: Screen = ctx.obj
    frozen = ha_faults.freeze(load(directory), name, server_only=server)
    text, state = f"{name} stands still. pgshuttle ha start lets it go on.", "frozen"
    if seconds > 0:
        try:
            with screen.err.status(f"{name} stands still for {seconds:g} s"):
                time.sleep(seconds)
        finally:
            ha_faults.thaw(frozen)
        text, state = f"{name} goes on.", "running"
    screen.tell({"name": name, "state": state}, text, as_json=as_json)


@app.command()
def start(
    ctx: typer.Context, directory: ClusterDirOption = None, as_json: JsonOption = False
) -> None:
    """Starts what was killed, lets go on what stands still, and waits for all standbys."""
    screen: Screen = ctx.obj
    found = ha_faults.start_what_is_gone(load(directory))
    with screen.err.status("waiting for all standbys"):
        ha_faults.wait_until_whole(found)
    show(screen, found, as_json=as_json)

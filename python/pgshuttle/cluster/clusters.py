"""A query node and storage nodes behind delay proxies: up, down, status."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import builds, catalog, paths, processes, proxy, servers, state
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.cluster.state import Cluster, StorageNode

OnStep = Callable[[str], None]
# Its workers' questions to nodes would be counted with those of benchmarks.
OF_QUERY_NODE = {
    "shared_preload_libraries": builds.EXTENSION,
    "shuttle.recovery_interval": "0",
    "shuttle.statistics_interval": "0",
    "enable_partitionwise_join": "on",
}
OF_STORAGE_NODE = {"wal_level": "logical"}  # else its tablets cannot be moved


@dataclass(frozen=True)
class ClusterOptions:
    directory: Path
    nnodes: int
    pg: str | None  # None: the best that is installed
    rtt_us: int
    with_extension: bool


@dataclass(frozen=True)
class PartStatus:
    name: str
    is_running: bool
    pid: int | None
    port: int
    proxy_port: int | None
    proxy_is_running: bool
    proxy: proxy.ProxyStats | None


@dataclass(frozen=True)
class UpResult:
    cluster: Cluster
    was_running: bool


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Keeps two commands from changing the same cluster at once."""
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ToolError(f"another command is changing the cluster in {directory}") from None
        yield


def is_running(cluster: Cluster) -> bool:
    parts = [cluster.query.process]
    for node in cluster.nodes:
        parts += [node.server.process, node.proxy.process if node.proxy else None]
    return all(processes.is_running(part) for part in parts)


def check_extension(build: ServerBuild) -> None:
    """Raises a hint if pg_shuttle is not installed in this server."""
    if build.has_extension():
        return
    raise ToolError(
        f"pg_shuttle is not installed in {build.version}",
        hint=f"Run make install PG_CONFIG={build.pg_config}, "
        "or start a cluster with stock postgres_fdw alone (--stock).",
        exit_code=ExitCode.NOT_INSTALLED,
    )


def create_cluster(options: ClusterOptions, on_step: OnStep) -> Cluster:
    """Makes the data directories. A half-made cluster is removed again."""
    build = builds.find_build(options.pg)
    if options.with_extension:
        check_extension(build)
    directory = options.directory
    socket_dir = paths.make_socket_dir(directory)
    of_query_node = OF_QUERY_NODE if options.with_extension else {}
    names = ["query", *(f"node{number}" for number in range(1, options.nnodes + 1))]
    made: list[servers.Server] = []
    try:
        for name in names:
            on_step(f"making {name} ({build.version})")
            settings = of_query_node if name == "query" else OF_STORAGE_NODE
            made.append(servers.create_server(build, name, directory, socket_dir, settings))
            if name != "query":
                servers.ask_for_password(made[-1], catalog.REMOTE_USER)
    except BaseException:
        for name in names:
            shutil.rmtree(directory / name, ignore_errors=True)
        raise
    nodes = tuple(StorageNode(server, None) for server in made[1:])
    cluster = Cluster(
        directory, build, options.with_extension, options.rtt_us, query=made[0], nodes=nodes
    )
    state.save_cluster(cluster)
    return cluster


def with_node(cluster: Cluster, index: int, node: StorageNode) -> Cluster:
    """Replaces one storage node and writes that down."""
    nodes = list(cluster.nodes)
    nodes[index] = node
    changed = replace(cluster, nodes=tuple(nodes))
    state.save_cluster(changed)
    return changed


def start_node(cluster: Cluster, index: int, program: Path) -> Cluster:
    """Starts a storage node and its proxy, whichever does not run."""
    node = cluster.nodes[index]
    server = node.server
    if not processes.is_running(server.process):
        server = servers.start_server(cluster.build, server)
        cluster = with_node(cluster, index, replace(node, server=server))
    with catalog.connect(server, "postgres") as connection:
        catalog.create_on_node(connection)
    if node.proxy is not None:
        if processes.is_running(node.proxy.process) and server.port == node.server.port:
            return cluster
        proxy.stop_proxy(node.proxy)
    started = proxy.start_proxy(
        program,
        target=f"127.0.0.1:{server.port}",
        control_path=server.socket_dir / f"{server.name}.proxy",
        rtt_us=cluster.rtt_us,
    )
    return with_node(cluster, index, StorageNode(server, started))


def start_cluster(cluster: Cluster, on_step: OnStep) -> Cluster:
    """Starts what does not run. What was started is written down at once."""
    program = proxy.compile_proxy()
    for index, node in enumerate(cluster.nodes):
        on_step(f"starting {node.server.name} and its delay proxy")
        cluster = start_node(cluster, index, program)
    if not processes.is_running(cluster.query.process):
        on_step("starting query")
        cluster = replace(cluster, query=servers.start_server(cluster.build, cluster.query))
        state.save_cluster(cluster)
    on_step("defining the servers on the query node")
    with catalog.connect(cluster.query, "postgres") as connection:
        catalog.create_database(connection)
    catalog.define_servers(cluster)
    return cluster


def check_same(cluster: Cluster, options: ClusterOptions) -> None:
    """Raises an error if the cluster that is there is not the one that is asked for."""
    asked = builds.find_build(options.pg) if options.pg else cluster.build
    differences = []
    if len(cluster.nodes) != options.nnodes:
        differences.append(f"it has {len(cluster.nodes)} storage nodes")
    if asked.bin_dir != cluster.build.bin_dir:
        differences.append(f"it is {cluster.build.version} of {cluster.build.bin_dir}")
    if cluster.with_extension != options.with_extension:
        word = "with" if cluster.with_extension else "without"
        differences.append(f"it was made {word} pg_shuttle")
    refuse(cluster.directory, differences)


def refuse(directory: Path, differences: list[str]) -> None:
    """Raises an error if a cluster that is there is in some way not the one that is asked for."""
    if differences:
        raise ToolError(
            f"there is another cluster in {directory}: " + " and ".join(differences),
            hint="Choose another --dir, or remove this one with pgshuttle down --remove.",
        )


def up(options: ClusterOptions, on_step: OnStep) -> UpResult:
    """Makes and starts a cluster, or starts one that was stopped."""
    paths.make_readable_dir(options.directory)
    with lock_directory(options.directory):
        found = state.load_cluster(options.directory)
        if found is None:
            cluster = create_cluster(options, on_step)
        else:
            check_same(found, options)
            cluster = replace(found, rtt_us=options.rtt_us)
            if is_running(cluster):
                set_rtt(cluster, options.rtt_us)
                return UpResult(cluster, was_running=True)
        try:
            return UpResult(start_cluster(cluster, on_step), was_running=False)
        except BaseException:
            stopped = stop_parts(state.load_cluster(options.directory) or cluster)
            if found is None:
                remove_data(stopped)
            raise


def remove_data(cluster: Cluster) -> None:
    for server in [cluster.query, *(node.server for node in cluster.nodes)]:
        shutil.rmtree(server.directory)
    shutil.rmtree(cluster.query.socket_dir)
    (cluster.directory / state.STATE_FILE).unlink()


def stop_parts(cluster: Cluster) -> Cluster:
    """Stops every part that runs; the query node first, for its connections."""
    servers.stop_server(cluster.query)
    for node in cluster.nodes:
        if node.proxy is not None:
            proxy.stop_proxy(node.proxy)
        servers.stop_server(node.server)
    stopped = replace(
        cluster,
        query=replace(cluster.query, process=None),
        nodes=tuple(StorageNode(replace(n.server, process=None), None) for n in cluster.nodes),
    )
    state.save_cluster(stopped)
    return stopped


def load(directory: Path) -> Cluster:
    """Returns the cluster in a directory, running or not."""
    cluster = state.load_cluster(directory)
    if cluster is None:
        raise ToolError(
            f"there is no cluster in {directory}",
            hint="Make one with pgshuttle up.",
            exit_code=ExitCode.NOT_RUNNING,
        )
    return cluster


def find_server(cluster: Cluster, name: str) -> servers.Server:
    """Finds a server by its name; a storage node by its number, too."""
    found = [cluster.query, *(node.server for node in cluster.nodes)]
    for server in found:
        if name in (server.name, server.name.removeprefix("node")):
            return server
    names = ", ".join(server.name for server in found)
    raise ToolError(f'there is no server "{name}"; there are {names}', exit_code=ExitCode.USAGE)


def down(directory: Path, *, remove: bool) -> None:
    """Stops a cluster; remove: its data goes, too."""
    cluster = load(directory)
    with lock_directory(directory):
        stop_parts(cluster)
        if not remove:
            return
        remove_data(cluster)
    (directory / "lock").unlink()
    if not any(directory.iterdir()):
        directory.rmdir()


def set_rtt(cluster: Cluster, rtt_us: int, node_number: int | None = None) -> None:
    if not is_running(cluster):
        raise ToolError(
            f"the cluster in {cluster.directory} does not run", exit_code=ExitCode.NOT_RUNNING
        )
    for number, node in enumerate(cluster.nodes, start=1):
        if node.proxy is not None and node_number in (None, number):
            with proxy.open_control(node.proxy.control_path) as control:
                control.set_rtt_us(rtt_us)
    if cluster.with_extension:
        with catalog.connect(cluster.query) as connection:
            catalog.forget_round_trips(connection)
    if node_number is None:
        state.save_cluster(replace(cluster, rtt_us=rtt_us))


def read_part(server: servers.Server, front: proxy.Proxy | None) -> PartStatus:
    running = processes.is_running(server.process)
    proxy_running = front is not None and processes.is_running(front.process)
    stats = None
    if front is not None and proxy_running:
        with proxy.open_control(front.control_path) as control:
            stats = control.stats()
    return PartStatus(
        name=server.name,
        is_running=running,
        pid=server.process.pid if server.process and running else None,
        port=server.port,
        proxy_port=front.port if front is not None else None,
        proxy_is_running=proxy_running,
        proxy=stats,
    )


def read_status(cluster: Cluster) -> list[PartStatus]:
    """Looks at every server of a cluster, the query node first."""
    return [read_part(cluster.query, None)] + [
        read_part(node.server, node.proxy) for node in cluster.nodes
    ]

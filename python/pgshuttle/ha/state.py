"""What a highly available cluster is made of: Patroni clusters for all nodes, and one etcd."""

from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from pgshuttle.base import connections
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import catalog, processes, state
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.cluster.servers import SUPERUSER

STATE_FILE = "ha.json"
CONNECT_TIMEOUT_S = 2  # of each member that is asked
QUERY = "query"
HOST = "127.0.0.1"
ETCD = "etcd"


@dataclass(frozen=True)
class Packages:
    """The programs that are needed beside PostgreSQL."""

    etcd: Path
    patroni: Path


@dataclass(frozen=True)
class Etcd:
    """Where Patroni keeps who is the primary."""

    port: int
    peer_port: int
    process: processes.ProcessId | None
    host: str = HOST


@dataclass(frozen=True)
class Member:
    """One PostgreSQL server and the Patroni that starts it; it stands for a host.

    network: a process in its network namespace; None: it has that of this machine.
    """

    name: str
    port: int
    rest_port: int
    patroni: processes.ProcessId | None
    host: str = HOST
    network: int | None = None

    @property
    def rest(self) -> str:
        return f"{self.host}:{self.rest_port}"


@dataclass(frozen=True)
class HaNode:
    """The query node or a storage node: a primary and its standbys."""

    name: str
    members: tuple[Member, ...]

    @property
    def hosts(self) -> str:
        return ",".join(member.host for member in self.members)

    @property
    def ports(self) -> str:
        return ",".join(str(member.port) for member in self.members)


@dataclass(frozen=True)
class HaCluster:
    """All nodes, the query node first."""

    directory: Path
    build: ServerBuild
    packages: Packages
    socket_dir: Path
    etcd: Etcd
    nodes: tuple[HaNode, ...]

    @property
    def members(self) -> list[Member]:
        return [member for node in self.nodes for member in node.members]

    def member_dir(self, member: Member) -> Path:
        return self.directory / member.name

    def data_dir(self, member: Member) -> Path:
        return self.member_dir(member) / "data"


def write_dsn(node: HaNode, **parts: str) -> str:
    """Writes how to reach a node's primary, whichever it is. parts: others of libpq."""
    place = {"host": node.hosts, "port": node.ports, "user": SUPERUSER}
    place |= {"dbname": catalog.DATABASE, "target_session_attrs": "read-write"}
    return make_conninfo("", **place | {"connect_timeout": str(CONNECT_TIMEOUT_S)} | parts)


def connect(node: HaNode, **parts: str) -> connections.Connection:
    """Connects to a node's primary; each statement commits."""
    return connections.connect_to(write_dsn(node, **parts), timeout_s=CONNECT_TIMEOUT_S)


def save(cluster: HaCluster) -> None:
    state.write_state(cluster.directory / STATE_FILE, cluster)


def find(directory: Path) -> HaCluster | None:
    """Returns the cluster in a directory, running or not; None: there is none."""
    found: HaCluster | None = state.read_state(HaCluster, directory / STATE_FILE)
    return found


def load(directory: Path) -> HaCluster:
    found = find(directory)
    if found is None:
        raise ToolError(
            f"there is no highly available cluster in {directory}",
            hint="Make one with pgshuttle up --ha.",
            exit_code=ExitCode.NOT_RUNNING,
        )
    return found


def find_node(cluster: HaCluster, name: str) -> HaNode:
    """Finds a node by its name; a storage node by its number, too."""
    for node in cluster.nodes:
        if name in (node.name, node.name.removeprefix("node")):
            return node
    names = ", ".join(node.name for node in cluster.nodes)
    raise ToolError(f'there is no node "{name}"; there are {names}', exit_code=ExitCode.USAGE)


def find_member(cluster: HaCluster, name: str) -> Member | None:
    return next((member for member in cluster.members if member.name == name), None)

"""Making a highly available cluster: ports, directories and configurations."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgshuttle.cluster import builds, clusters, paths, processes, servers
from pgshuttle.ha import patroni
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.state import HOST, QUERY, Etcd, HaCluster, HaNode, Member

MEMBER_MB = 200  # of memory: Patroni, PostgreSQL and some sessions
SPARE_MB = 1024
MOST_MEMBERS = 3


@dataclass(frozen=True)
class HaOptions:
    """What a cluster is to be like. nmembers: of each storage node; None: by memory.

    etcd_host and make_network: for members with networks of their own; the latter returns the
    address and a process of the network for a member's name.
    """

    directory: Path
    nnodes: int
    pg: str | None
    nmembers: int | None = None
    with_query_pair: bool = False
    etcd_host: str = HOST
    make_network: Callable[[str], tuple[str, int]] | None = None


def read_free_mb() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


def choose_members(options: HaOptions) -> int:
    """Three members of a node, so that a lost one leaves a standby; two if memory is short."""
    if options.nmembers is not None:
        return options.nmembers
    needed = options.nnodes * MOST_MEMBERS * MEMBER_MB + SPARE_MB
    return MOST_MEMBERS if read_free_mb() > needed else 2


def make_member(options: HaOptions, name: str, port: int, rest_port: int) -> Member:
    if options.make_network is None:
        return Member(name, port, rest_port, None)
    return Member(name, port, rest_port, None, *options.make_network(name))


def create(options: HaOptions) -> HaCluster:
    packages = patroni.find_packages()
    build = builds.find_build(options.pg)
    clusters.check_extension(build)
    nmembers = choose_members(options)
    sizes = {QUERY: 2 if options.with_query_pair else 1}
    sizes |= {f"node{number}": nmembers for number in range(1, options.nnodes + 1)}
    ports = iter(servers.find_free_ports(2 + 2 * sum(sizes.values())))
    nodes = tuple(
        HaNode(
            name,
            tuple(
                make_member(options, f"{name}-{number}", next(ports), next(ports))
                for number in range(1, size + 1)
            ),
        )
        for name, size in sizes.items()
    )
    directory = options.directory
    etcd = Etcd(next(ports), next(ports), None, options.etcd_host)
    socket_dir = paths.make_socket_dir(directory)
    made = HaCluster(directory, build, packages, socket_dir, etcd, nodes)
    callback = directory / patroni.CALLBACK
    shutil.copyfile(Path(__file__).parent / patroni.CALLBACK, callback)
    callback.chmod(0o755)
    for path in (directory / "etcd", *(made.member_dir(member) for member in made.members)):
        path.mkdir(mode=0o755)
        processes.give_to_server(path)
    for node in nodes:
        for member in node.members:
            patroni.write_config(made, node, member)
    ha_state.save(made)
    return made

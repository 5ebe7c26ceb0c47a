"""Pulling plugs of a highly available cluster: kill, freeze, start again."""

import signal
import time
from collections.abc import Sequence

from pgshuttle.base.errors import ToolError
from pgshuttle.cluster import processes
from pgshuttle.cluster.processes import ProcessId
from pgshuttle.ha import clusters as ha_clusters
from pgshuttle.ha import patroni
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.state import ETCD, HaCluster, Member

START_LIMIT_S = 90


def find_target(found: HaCluster, name: str) -> Member:
    """The member of that name, or the primary of the node of that name."""
    member = ha_state.find_member(found, name)
    if member is not None:
        return member
    node = ha_state.find_node(found, name)
    leader = patroni.find_leader(node)
    if leader is None:
        raise ToolError(f"{node.name} has no primary now; name one of its members")
    return leader


def list_targets(found: HaCluster, name: str, *, server_only: bool) -> list[ProcessId]:
    """The processes that a fault meets."""
    if name == ETCD:
        return [found.etcd.process] if found.etcd.process else []
    member = find_target(found, name)
    postmaster = ha_clusters.read_postmaster(found, member)
    if not server_only:
        return ha_clusters.list_processes(found, member)
    return [postmaster, *processes.list_children(postmaster)] if postmaster else []


def switch_over_paused(found: HaCluster, name: str) -> str:
    """A planned switchover: new transactions wait at the query node meanwhile."""
    node = ha_state.find_node(found, name)
    with ha_state.connect(found.nodes[0]) as connection:
        connection.execute("SELECT shuttle.pause_node(%s)", [node.name])
        try:
            return patroni.switch_over(node)
        finally:
            connection.execute("SELECT shuttle.resume_node(%s)", [node.name])


def kill(found: HaCluster, name: str, *, server_only: bool) -> None:
    """Ends the processes by SIGKILL, as if the host had lost its power.

    server_only: the postmaster alone, which Patroni then starts again, or has replaced.
    """
    targets = list_targets(found, name, server_only=server_only)
    if not targets:
        raise ToolError(f"{name} does not run")
    ha_clusters.send(targets[:1] if server_only else targets, signal.SIGKILL)


def freeze(found: HaCluster, name: str, *, server_only: bool) -> list[ProcessId]:
    """Stops the processes by SIGSTOP, as a host that hangs. Returns them."""
    if name != ETCD:
        name = find_target(found, name).name
    frozen: list[ProcessId] = []
    for _ in range(3):  # a process that was just being started
        targets = list_targets(found, name, server_only=server_only)
        again = [one for one in targets if one not in frozen]
        ha_clusters.send(again, signal.SIGSTOP)
        frozen += again
        if not again:
            break
    if not frozen:
        raise ToolError(f"{name} does not run")
    return frozen


def thaw(targets: Sequence[ProcessId]) -> None:
    """Lets frozen processes go on."""
    ha_clusters.send(list(targets), signal.SIGCONT)


def start_what_is_gone(found: HaCluster) -> HaCluster:
    """Starts etcd and members that do not run; lets frozen ones go on."""
    for member in found.members:
        thaw(ha_clusters.list_processes(found, member))
    thaw([found.etcd.process] if found.etcd.process else [])
    found = ha_clusters.start_etcd(found)
    for member in found.members:
        found = ha_clusters.start_member(found, member)
    return found


def wait_until_whole(found: HaCluster, limit_s: float = START_LIMIT_S) -> float:
    """Waits until each node has its primary and standbys; returns the seconds it took."""
    start = time.monotonic()
    for node in found.nodes:
        patroni.wait_until_whole(node, max(1.0, limit_s - (time.monotonic() - start)))
    return time.monotonic() - start

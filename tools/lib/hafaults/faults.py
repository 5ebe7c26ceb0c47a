"""The faults: what is done to a cluster, and how it is undone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import sleep

from lib.hafaults import networks
from pgshuttle.base.errors import ToolError
from pgshuttle.ha import clusters as ha_clusters
from pgshuttle.ha import faults as ha_faults
from pgshuttle.ha import patroni
from pgshuttle.ha.state import ETCD, HaCluster, Member, find_node

Act = Callable[[HaCluster], object]


@dataclass(frozen=True)
class Fault:
    """One row. act: returns when the fault is over, or has begun what Patroni has to end."""

    name: str
    act: Act
    is_planned: bool = False  # clients must not get errors
    is_short: bool = True  # for the loop of random faults
    wants_pair: bool = False
    wants_networks: bool = False
    ends_query_node: bool = False


def switch_over(name: str) -> Act:
    return lambda cluster: patroni.switch_over(find_node(cluster, name))


def switch_over_paused(cluster: HaCluster) -> None:
    """As an administrator would: transactions wait."""
    ha_faults.switch_over_paused(cluster, "node1")


def kill(*names: str, server_only: bool) -> Act:
    def act(cluster: HaCluster) -> None:
        for name in names:
            ha_faults.kill(cluster, name, server_only=server_only)

    return act


def freeze(name: str, seconds: float, *, server_only: bool) -> Act:
    def act(cluster: HaCluster) -> None:
        frozen = ha_faults.freeze(cluster, name, server_only=server_only)
        try:
            sleep(seconds)
        finally:
            ha_faults.thaw(frozen)

    return act


def wake_server_first(cluster: HaCluster) -> None:
    """PostgreSQL of the old primary goes on before its Patroni, which would stop it."""
    member = find_primary(cluster)
    frozen = ha_faults.freeze(cluster, member.name, server_only=False)
    try:
        wait_for_another(cluster, member)
        ha_faults.thaw([one for one in frozen if one != member.patroni])
        sleep(6)
    finally:
        ha_faults.thaw(frozen)


def wait_for_another(cluster: HaCluster, old: Member) -> None:
    node = next(one for one in cluster.nodes if old in one.members)

    def has_another() -> bool:
        leader = patroni.find_leader(node)
        return leader is not None and leader.name != old.name

    patroni.wait_until(f"no other primary of {node.name}", has_another, 60)


def find_primary(cluster: HaCluster) -> Member:
    return ha_faults.find_target(cluster, "node1")


def find_query_primary(cluster: HaCluster) -> Member:
    return ha_faults.find_target(cluster, "query")


def find_standby(cluster: HaCluster) -> Member:
    leader = find_primary(cluster)
    return next(one for one in find_node(cluster, "node1").members if one.name != leader.name)


def cut_network(find: Callable[[HaCluster], Member], seconds: float | None) -> Act:
    """Cuts a host off from all others; seconds: None: until another is the primary."""

    def act(cluster: HaCluster) -> None:
        member = find(cluster)
        networks.cut(member)
        try:
            if seconds is None:
                wait_for_another(cluster, member)
            sleep(seconds or 1)
        finally:
            networks.mend(member)

    return act


def stop_etcd(seconds: float) -> Act:
    def act(cluster: HaCluster) -> None:
        ha_faults.kill(cluster, ETCD, server_only=True)
        try:
            sleep(seconds)
        finally:
            ha_clusters.start_etcd(cluster)

    return act


def twice_in_a_row(cluster: HaCluster) -> None:
    """The new primary is killed as soon as it is one; without a standby it is the old one again."""
    node = find_node(cluster, "node1")
    first = find_primary(cluster)
    server = ha_clusters.read_postmaster(cluster, first)
    ha_faults.kill(cluster, first.name, server_only=True)

    def has_another() -> bool:
        leader = patroni.find_leader(node)
        now = leader and ha_clusters.read_postmaster(cluster, leader)
        return now not in (None, server)

    patroni.wait_until("no other primary of node1", has_another, 60)
    ha_faults.kill(cluster, "node1", server_only=True)


def switch_over_without_query_node(cluster: HaCluster) -> None:
    ha_faults.kill(cluster, "query", server_only=True)
    patroni.switch_over(find_node(cluster, "node1"))


def lose_host_and_query_node(cluster: HaCluster) -> None:
    ha_faults.kill(cluster, "node1", server_only=False)
    ha_faults.kill(cluster, "query", server_only=True)


FAULTS = (
    Fault("switchover", switch_over("node1")),
    Fault("switchover, paused", switch_over_paused, is_planned=True),
    Fault("kill -9 postmaster", kill("node1", server_only=True)),
    Fault("kill -9 Patroni and PostgreSQL", kill("node1", server_only=False)),
    Fault(
        "PostgreSQL stands still 15 s",
        freeze("node1", 15, server_only=True),
        is_short=False,
    ),
    Fault("PostgreSQL stands still 4 s", freeze("node2", 4, server_only=True)),
    Fault("host stands still 30 s", freeze("node1", 30, server_only=False), is_short=False),
    Fault("host stands still 60 s", freeze("node1", 60, server_only=False), is_short=False),
    Fault("old primary frozen, wakes up", wake_server_first, is_short=False),
    Fault("network of a primary cut 4 s", cut_network(find_primary, 4), wants_networks=True),
    Fault("network of a standby cut 4 s", cut_network(find_standby, 4), wants_networks=True),
    Fault(
        "network of a primary cut, failover",
        cut_network(find_primary, None),
        wants_networks=True,
    ),
    Fault("etcd gone 15 s", stop_etcd(15), is_short=False),
    Fault("etcd gone 4 s", stop_etcd(4)),
    Fault("both nodes at once", kill("node1", "node2", server_only=True)),
    Fault("two failovers in a row", twice_in_a_row),
    Fault("query node kill -9", kill("query", server_only=True), ends_query_node=True),
    Fault("query node kill -9, switchover", switch_over_without_query_node, ends_query_node=True),
    Fault("query node kill -9, node's host lost", lose_host_and_query_node, ends_query_node=True),
    Fault(
        "query pair: switchover",
        switch_over("query"),
        wants_pair=True,
        ends_query_node=True,
    ),
    Fault(
        "query pair: host lost",
        kill("query", server_only=False),
        wants_pair=True,
        ends_query_node=True,
    ),
    Fault(
        "query pair: network cut 4 s",
        cut_network(find_query_primary, 4),
        wants_pair=True,
        wants_networks=True,
        ends_query_node=True,
    ),
    Fault(
        "query pair: network cut, failover",
        cut_network(find_query_primary, None),
        wants_pair=True,
        wants_networks=True,
        ends_query_node=True,
    ),
    Fault(
        "query pair: host stands still 30 s",
        freeze("query", 30, server_only=False),
        is_short=False,
        wants_pair=True,
        ends_query_node=True,
    ),
)
BY_NAME: Mapping[str, Fault] = {fault.name: fault for fault in FAULTS}
SHORT = ("switchover", "kill -9 postmaster")


def choose(names: list[str], has_pair: bool, has_networks: bool) -> list[Fault]:
    """The faults of these names; of no name: all that the cluster can have."""
    for name in names:
        if name not in BY_NAME:
            raise ToolError(f'there is no fault "{name}"; there are: {", ".join(BY_NAME)}')
    chosen = [BY_NAME[name] for name in names] or list(FAULTS)
    return [
        fault
        for fault in chosen
        if (has_pair or not fault.wants_pair) and (has_networks or not fault.wants_networks)
    ]

"""A Patroni cluster for histories, and faults of it that end in promotions, or may."""

import contextlib
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from lib.hafaults import clusters
from lib.hafaults.faults import choose
from pgshuttle.base.errors import ToolError
from pgshuttle.ha import faults as ha_faults
from pgshuttle.ha import state as ha_state


@dataclass(frozen=True)
class PatroniServers:
    """A query node and its storage nodes, each of which has standbys."""

    conninfo: str
    directory: Path
    has_networks: bool

    def make_faults(self, every_s: float, seed: int) -> "Promotions":
        return Promotions(self, every_s, seed)


@contextlib.contextmanager
def start(pg: str, *, has_networks: bool) -> Iterator[PatroniServers]:
    with clusters.start(clusters.Wanted(pg, has_networks)) as cluster:
        query, *nodes = cluster.nodes
        with ha_state.connect(query) as connection:
            for node in nodes:
                connection.execute("SELECT shuttle.use_node(%s)", [node.name])
        yield PatroniServers(ha_state.write_dsn(query), cluster.directory, has_networks)


class Promotions:
    """Random faults, each when the cluster is whole again and some seconds have passed."""

    def __init__(self, servers: PatroniServers, every_s: float, seed: int) -> None:
        self.directory = servers.directory
        self.every_s = every_s
        self.dice = random.Random(seed)
        self.able = [f for f in choose([], False, servers.has_networks) if f.is_short]
        self.next = time.monotonic() + every_s
        self.count = 0

    def __call__(self) -> None:
        if time.monotonic() < self.next:
            return
        with contextlib.suppress(ToolError, psycopg.Error):  # what it is done to may be gone
            self.dice.choice(self.able).act(ha_state.load(self.directory))
            self.count += 1
        ha_faults.wait_until_whole(ha_faults.start_what_is_gone(ha_state.load(self.directory)))
        self.next = time.monotonic() + self.every_s

"""A query node and three storage nodes, and what is done to them while clients work."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from lib.testrun.cluster import Cluster, temporary_cluster
from lib.testrun.installed import Installed

NNODES = 3
SETTINGS = """
shuttle.debug_prove_texts = off
max_prepared_transactions = 100
restart_after_crash = on
autovacuum = off
"""
QUERY_SETTINGS = "shuttle.recovery_interval = 1s\nshuttle.commit_wait = 2s\n"
PAUSE_S = 0.3
BACKENDS = """SELECT pid FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""


def conninfo(cluster: Cluster) -> str:
    env = cluster.environment()
    return (
        f"host={env['PGHOST']} port={env['PGPORT']} user={env['PGUSER']} dbname=postgres"
        " connect_timeout=5"
    )


@dataclass(frozen=True)
class Servers:
    """A query node with what it needs to distribute tables, and what is done to them."""

    conninfo: str
    clusters: list[Cluster]

    def make_faults(self, every_s: float, seed: int) -> "Faults":
        return Faults(self.clusters, every_s, seed)


@contextlib.contextmanager
def start(installed: Installed, base: Path) -> Iterator[Servers]:
    """All of them, with nothing in them."""
    with contextlib.ExitStack() as stack:
        clusters = []
        for name in ("query", *(f"node{i}" for i in range(1, NNODES + 1))):
            directory = base / name
            directory.mkdir()
            directory.chmod(0o777)
            settings = SETTINGS + (QUERY_SETTINGS if name == "query" else "")
            clusters.append(stack.enter_context(temporary_cluster(installed, directory, settings)))
        query, *nodes = clusters
        add_nodes(query, nodes)
        yield Servers(conninfo(query), clusters)


def add_nodes(query: Cluster, nodes: list[Cluster]) -> None:
    with psycopg.connect(conninfo(query), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_shuttle CASCADE")
        for number, node in enumerate(nodes, 1):
            env = node.environment()
            connection.execute(
                f"CREATE SERVER node{number} FOREIGN DATA WRAPPER shuttle OPTIONS"
                f" (host '127.0.0.1', port '{node.port}', dbname 'postgres');"
                f" CREATE USER MAPPING FOR PUBLIC SERVER node{number}"
                f" OPTIONS (user '{env['PGUSER']}');"
                f" SELECT shuttle.use_node('node{number}')"
            )


class Faults:
    """Kills and stops processes at random, again and again."""

    def __init__(self, servers: list[Cluster], every_s: float, seed: int) -> None:
        self.servers = servers
        self.every_s = every_s
        self.dice = random.Random(seed)
        self.next = time.monotonic() + every_s
        self.count = 0

    def __call__(self) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + self.every_s * self.dice.uniform(0.5, 1.5)
        with contextlib.suppress(psycopg.Error):
            self._act(self.dice.choice(self.servers))

    def _act(self, server: Cluster) -> None:
        with psycopg.connect(conninfo(server), autocommit=True) as connection:
            pids = [pid for (pid,) in connection.execute(BACKENDS)]
            if not pids:
                return
            self.count += 1
            what = self.dice.randrange(3)
            victim = self.dice.choice(pids)
            if what == 0:
                connection.execute("SELECT pg_terminate_backend(%s)", (victim,))
            elif what == 1:
                self._stop(pids)
        if what == 2:  # noqa: PLR2004
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    @staticmethod
    def _stop(pids: list[int]) -> None:
        """All sessions of a server stand still for a while."""
        for number, sleep_s in ((signal.SIGSTOP, PAUSE_S), (signal.SIGCONT, 0.0)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(sleep_s)

"""The servers of a run: a query node with three storage nodes; one of these is the server alone."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lib.testrun.cluster import Cluster, run_as_server_user, temporary_cluster
from lib.testrun.installed import Installed, TestRunError, give_to_server

NNODES = 3
LIMIT_S = 60.0
ROLE = "application"
EXTENSIONS = ("hstore", "citext")  # SQLAlchemy's tests use them
SETTINGS = """
autovacuum = off
max_connections = 60
max_locks_per_transaction = 1000
"""
ALONE = "shared_preload_libraries = ''\n"
DISTRIBUTED = """
shuttle.follow_databases = on
log_statement = ddl
log_min_messages = notice
"""


@dataclass(frozen=True)
class Place:
    """A server to which the tests connect as a role of their own."""

    cluster: Cluster

    def environment(self) -> dict[str, str]:
        return self.cluster.environment() | {"PGUSER": ROLE}

    def execute(self, database: str, *commands: str) -> None:
        """Runs commands as the superuser; each is a transaction of its own."""
        options = [option for command in commands for option in ("-c", command)]
        psql = [self.cluster.installed.program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
        code, output = run_as_server_user(
            [*psql, "-o", "/dev/null", "-d", database, *options],
            self.cluster.environment(),
            self.cluster.socket_dir,
            LIMIT_S,
        )
        if code != 0:
            raise TestRunError(f"a server could not be prepared:\n{output}")


@dataclass(frozen=True)
class Places:
    alone: Place
    distributed: Place
    nodes: tuple[Place, ...]

    def each(self) -> tuple[Place, ...]:
        return (self.distributed, *self.nodes)

    def make_database(self, place: Place, name: str) -> None:
        """With the extensions. Nodes follow the query node, but not what is in its database."""
        place.execute("postgres", f"CREATE DATABASE {name} TEMPLATE template1")
        for one in self.each() if place is self.distributed else [place]:
            one.execute(name, *(f"CREATE EXTENSION {extension}" for extension in EXTENSIONS))


@contextlib.contextmanager
def start(installed: Installed, base: Path, name: str, settings: str) -> Iterator[Place]:
    directory = base / name
    directory.mkdir()
    give_to_server(directory)
    with temporary_cluster(installed, directory, SETTINGS + settings) as cluster:
        place = Place(cluster)
        place.execute("postgres", f"CREATE ROLE {ROLE} SUPERUSER LOGIN")
        yield place


def add_nodes(query: Place, nodes: tuple[Place, ...]) -> None:
    """In databases of which new ones are copies, and where they are made."""
    for database in ("template1", "postgres"):
        query.execute(database, "CREATE EXTENSION pg_shuttle CASCADE")
        for number, node in enumerate(nodes, start=1):
            user = node.cluster.environment()["PGUSER"]
            host = node.cluster.socket_dir
            query.execute(
                database,
                f"SELECT shuttle.add_node('n{number}', '{host}', {node.cluster.port}, '{user}')",
                f"ALTER SERVER n{number} OPTIONS (ADD shuttle_same_database 'true')",
            )
    query.execute(
        "postgres",
        f"ALTER ROLE {ROLE} SET shuttle.auto_distribute = '%'",
        f"ALTER ROLE {ROLE} SET shuttle.tablets = {NNODES}",
    )


@contextlib.contextmanager
def start_places(installed: Installed, base: Path) -> Iterator[Places]:
    with contextlib.ExitStack() as stack:
        nodes = tuple(
            stack.enter_context(start(installed, base, f"n{number}", ALONE))
            for number in range(1, NNODES + 1)
        )
        query = stack.enter_context(start(installed, base, "query", DISTRIBUTED))
        add_nodes(query, nodes)
        yield Places(alone=nodes[0], distributed=query, nodes=nodes)

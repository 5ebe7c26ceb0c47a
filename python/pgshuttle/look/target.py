"""Which server a command looks at: one that is named, or the query node of a cluster."""

import os
from dataclasses import dataclass
from pathlib import Path

import psycopg

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import catalog, paths, processes, state
from pgshuttle.cluster.builds import EXTENSION
from pgshuttle.ha import state as ha_state

LIBPQ_VARIABLES = ("PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE", "PGHOSTADDR")
HINT = (
    "Name it by --dsn 'host=... dbname=... user=...', by PGHOST and the other variables of "
    "libpq, or start a cluster with pgshuttle up."
)


@dataclass(frozen=True)
class Target:
    """Where to connect, and what the user calls it."""

    dsn: str
    name: str


def write_cluster_dsn(directory: Path) -> str | None:
    """Writes how to reach the query node of a cluster; None if it does not run."""
    of_patroni = ha_state.find(directory)
    if of_patroni is not None:
        return ha_state.write_dsn(of_patroni.nodes[0])
    found = state.load_cluster(directory)
    if found is None or not processes.is_running(found.query.process):
        return None
    return catalog.write_dsn(found.query)


def find_target(dsn: str | None, directory: Path | None) -> Target:
    """Takes what is named; else libpq's variables, then the cluster of pgshuttle up."""
    if dsn:
        return Target(dsn, "the server of --dsn")
    if directory is None and any(name in os.environ for name in LIBPQ_VARIABLES):
        return Target("", "the server of libpq's variables")
    place = paths.find_cluster_dir(directory)
    found = write_cluster_dsn(place)
    if found is not None:
        return Target(found, f"the query node in {place}")
    if directory is not None:
        raise ToolError(
            f"no cluster runs in {place}",
            hint="Start one with pgshuttle up.",
            exit_code=ExitCode.NOT_RUNNING,
        )
    return Target("", "the default server of libpq")


def connect(target: Target) -> Connection:
    """Connects, with a search path for what we ask; each statement commits by itself."""
    try:
        connection = connections.connect_to(target.dsn)
    except psycopg.ProgrammingError as error:
        raise ToolError(
            f"--dsn is no connection string: {error}".strip(), exit_code=ExitCode.USAGE
        ) from None
    except psycopg.OperationalError as error:
        raise ToolError(
            f"could not connect to {target.name}: {error}".strip(),
            hint=HINT,
            exit_code=ExitCode.NOT_RUNNING,
        ) from None
    connections.search_safely(connection)
    return connection


def is_loaded(connection: Connection) -> bool:
    query = "SELECT current_setting('shuttle.enable_batched_join', true) IS NOT NULL"
    return connection.execute(query).fetchone() == (True,)


def load_library(connection: Connection) -> str | None:
    """Loads the extension's library into the session; returns why it could not be loaded."""
    try:
        connection.execute(f"LOAD '{EXTENSION}'")
    except psycopg.Error as error:
        return None if is_loaded(connection) else first_line(error)
    return None


def require_extension(connection: Connection) -> None:
    """Ends the command with an error if the database lacks what it looks at."""
    found = connection.execute("SELECT to_regprocedure('shuttle.advise()')").fetchone()
    if found is None or found[0] is None:
        raise ToolError(
            "the extension pg_shuttle is not in this database, or an older one",
            hint="CREATE EXTENSION pg_shuttle CASCADE; or ALTER EXTENSION pg_shuttle UPDATE;",
        )


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

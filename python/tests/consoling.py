"""The tables and sessions that tests of the console have."""

from collections.abc import Callable, Iterator

import pytest
from conftest import run_on

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.console import sessions
from pgshuttle.console.texts import literal

EVIL = "<img src=x onerror=alert(1)>"


def fill(made: Cluster) -> None:
    for name, ntablets in (("item", 4), (EVIL, 2)):
        table = connections.quote(name)
        run_on(
            made.query,
            f"CREATE TABLE {table} (id bigint PRIMARY KEY, note text)",
            f"INSERT INTO {table} SELECT i, 'no ' || i FROM generate_series(1, 1000) i",  # noqa: S608
            f"SELECT shuttle.distribute_table({literal(table)}, 'id', tablets => {ntablets})",
            f"ANALYZE {table}",
        )
    run_on(
        made.query,
        "CREATE TABLE kind (id int PRIMARY KEY)",
        "SELECT shuttle.reference_table('kind')",
    )


def page_session() -> Callable[[Cluster], Iterator[Connection]]:
    """A fixture for the tests of one module: a session of the page for each."""

    @pytest.fixture
    def session(running: Cluster) -> Iterator[Connection]:
        with sessions.open_session(catalog.write_dsn(running.query)) as connection:
            yield connection

    return session


def set_search_path(running: Cluster, schemas: str) -> Connection:
    """Returns a session of the page in a database whose sessions begin with this path."""
    run_on(running.query, f"ALTER DATABASE shuttle SET search_path = {schemas}")
    return sessions.open_session(catalog.write_dsn(running.query))

"""The tables that tests of the console have."""

from conftest import run_on

from pgshuttle.base import connections
from pgshuttle.cluster.state import Cluster
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

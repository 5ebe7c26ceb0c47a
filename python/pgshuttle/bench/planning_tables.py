"""The tables that bench planning plans joins of.

They are seen by a server that does not preload the library, so that one session can
load it and another one is stock. Their rows are on another server, for statistics; no
query of the bench reads any.
"""

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.bench.making_tables import (
    analyze,
    execute,
    make_foreign_table,
    make_schema,
    making,
    part_of,
)
from pgshuttle.cluster import catalog
from pgshuttle.cluster.builds import EXTENSION
from pgshuttle.cluster.state import Cluster

NPARTITIONS = 200
ROWS_A_PARTITION = 50
NWIDE = 50
ROWS_SCHEMA = "plan_rows"
LOCAL_SCHEMA = "plan_here"
STOCK_SCHEMA = "plan_stock"
ENGINE_SCHEMA = "plan_engine"

# h and w by hash, r by range; a partition is named by its table and its number
WIDE = ", ".join(f"column{i} int" for i in range(1, NWIDE))
PARENTS = f"""
CREATE TABLE {{s}}.h (id int, x int, note text) PARTITION BY HASH (id);
CREATE TABLE {{s}}.r (id int, x int, note text) PARTITION BY RANGE (id);
CREATE TABLE {{s}}.w (id int, {WIDE}) PARTITION BY HASH (id)"""
PARTITIONS = {
    "h": "WITH (MODULUS {n}, REMAINDER {i})",
    "r": "FROM ({first}) TO ({end})",
    "w": "WITH (MODULUS {n}, REMAINDER {i})",
}
FILL = """
INSERT INTO {s}.h SELECT i, i % 100, 'note ' || i FROM generate_series(0, {nrows} - 1) AS i;
INSERT INTO {s}.r SELECT i, i % 100, 'note ' || i FROM generate_series(0, {nrows} - 1) AS i;
INSERT INTO {s}.w SELECT i FROM generate_series(0, {nrows} - 1) AS i;
ANALYZE"""
LOCAL = """
CREATE TABLE {s}.o AS SELECT i AS id, i * 7 AS k, i % 100 AS x FROM generate_series(1, 100) AS i;
CREATE TABLE {s}.big AS SELECT i AS id, i AS k FROM generate_series(1, 200000) AS i;
ANALYZE {s}.o, {s}.big"""


def make_partitions(
    connection: Connection, schema: str, npartitions: int, server: str | None = None
) -> None:
    """Makes a schema anew, with its tables. server: of foreign partitions."""
    make_schema(connection, schema)
    execute(connection, PARENTS, schema)
    for name, bounds in PARTITIONS.items():
        for i in range(npartitions):
            table = sql.Identifier(schema, f"{name}{i}")
            first = i * ROWS_A_PARTITION
            numbers = {"n": npartitions, "i": i, "first": first, "end": first + ROWS_A_PARTITION}
            shape = part_of(sql.Identifier(schema, name), bounds, **numbers)
            if server is None:
                connection.execute(sql.SQL("CREATE TABLE {} {}").format(table, shape))
            else:
                make_foreign_table(connection, table, shape, server, {"schema_name": ROWS_SCHEMA})


def make_union(connection: Connection, schema: str, npartitions: int) -> None:
    """Makes a view of all partitions of a table, each by itself."""
    members = sql.SQL(" UNION ALL ").join(
        sql.SQL("SELECT id, x FROM {}").format(sql.Identifier(schema, f"h{i}"))
        for i in range(npartitions)
    )
    connection.execute(sql.SQL("CREATE VIEW {} AS {}").format(sql.Identifier(schema, "u"), members))


def make_tables(cluster: Cluster, npartitions: int) -> None:
    """Makes all tables anew: rows on the second node, and what sees them on the first."""
    port = cluster.nodes[1].front.port
    sees = {
        STOCK_SCHEMA: (catalog.stock_server_name(2), catalog.STOCK_WRAPPER),
        ENGINE_SCHEMA: (catalog.engine_server_name(2), catalog.ENGINE_WRAPPER),
    }
    with making("the tables"):
        with catalog.connect_to_node(cluster.nodes[1]) as connection:
            make_partitions(connection, ROWS_SCHEMA, npartitions)
            execute(connection, FILL, ROWS_SCHEMA, nrows=npartitions * ROWS_A_PARTITION)
        with catalog.connect(cluster.nodes[0].server) as connection:
            catalog.create_extension(connection, EXTENSION)
            for schema, (server, wrapper) in sees.items():
                catalog.define_server(connection, server, wrapper, port)
                make_partitions(connection, schema, npartitions, server)
                make_union(connection, schema, npartitions)
                for table in PARTITIONS:
                    analyze(connection, sql.Identifier(schema, table))
            make_schema(connection, LOCAL_SCHEMA)
            execute(connection, LOCAL, LOCAL_SCHEMA)

"""The made-up tables of the demo: on the storage nodes, and as the query node sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.bench.making_tables import (
    analyze,
    in_parentheses,
    make_foreign_table,
    make_schema,
    making,
)
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

NROWS = 2000
NROWS_BIG = 1_000_000
NKEYS_BIG = 1000
BIG_FETCH_SIZE = 10_000
ENGINE_SCHEMA = "engine"  # servers of our wrapper
STOCK_SCHEMA = "stock"  # the same tables over stock postgres_fdw
LOCAL_SCHEMA = "here"
# stock postgres_fdw looks up each outer row by itself only if that seems cheap to its planner
LOOKUP_SERVER = "fdw_lookup"
LOOKUP_OPTIONS = {"fdw_startup_cost": "0", "fdw_tuple_cost": "0"}

MAKE_TABLES = (
    "DROP TABLE IF EXISTS demo, big",
    "CREATE TABLE demo (id bigint PRIMARY KEY, x int)",
    "CREATE TABLE big (id bigint PRIMARY KEY, x int)",
)
FILL = "INSERT INTO {} SELECT i, 0 FROM generate_series(1, %s) AS i"


@dataclass(frozen=True)
class ForeignTable:
    schema: str
    name: str
    server: str
    remote_name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)


def list_foreign_tables(schema: str) -> list[ForeignTable]:
    engine = schema == ENGINE_SCHEMA
    name_server = catalog.engine_server_name if engine else catalog.stock_server_name
    found = [
        ForeignTable(schema, "demo1", name_server(1), "demo"),
        ForeignTable(schema, "demo2", name_server(2), "demo"),
        ForeignTable(schema, "big", name_server(2), "big"),
    ]
    if not engine:
        large = {"fetch_size": str(BIG_FETCH_SIZE)}
        found += [
            ForeignTable(
                schema, "demo2_lookup", LOOKUP_SERVER, "demo", {"use_remote_estimate": "true"}
            ),
            ForeignTable(schema, "big_large_pages", name_server(2), "big", large),
        ]
    return found


def list_warm_up_queries(schemas: Sequence[str]) -> list[sql.Composed]:
    """Lists queries that read a little from every foreign table."""
    return [
        sql.SQL("SELECT x FROM {} LIMIT 1").format(table.identifier)
        for schema in schemas
        for table in list_foreign_tables(schema)
    ]


def fill_node(connection: Connection, *, with_big: bool) -> None:
    for statement in MAKE_TABLES:
        connection.execute(statement)
    sizes = {"demo": NROWS, "big": NROWS_BIG if with_big else 0}
    for name, nrows in sizes.items():
        connection.execute(sql.SQL(FILL).format(sql.Identifier(name)), [nrows])
        connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(name)))


def fill_query_node(connection: Connection) -> None:
    """Makes the local tables: an outer side of the join, and keys into the big table."""
    make_schema(connection, LOCAL_SCHEMA)
    connection.execute("CREATE TABLE here.demo (id bigint PRIMARY KEY, x int)")
    connection.execute("CREATE TABLE here.keys (id bigint PRIMARY KEY)")
    demo = sql.Identifier(LOCAL_SCHEMA, "demo")
    connection.execute(sql.SQL(FILL).format(demo), [NROWS])
    # spread over the whole big table, in no order; 7919 is prime
    connection.execute(
        "INSERT INTO here.keys"
        " SELECT i::bigint * 7919 * 97 %% %s + 1 FROM generate_series(1, %s) AS i",
        [NROWS_BIG, NKEYS_BIG],
    )
    connection.execute("VACUUM (ANALYZE) here.demo, here.keys")


def define_foreign_tables(connection: Connection, schema: str) -> None:
    make_schema(connection, schema)
    for table in list_foreign_tables(schema):
        options = {"schema_name": "public", "table_name": table.remote_name, **table.options}
        columns = in_parentheses("id bigint, x int")
        make_foreign_table(connection, table.identifier, columns, table.server, options)
    for table in list_foreign_tables(schema):
        analyze(connection, table.identifier)


def make_tables(cluster: Cluster) -> None:
    with making("the demo's tables"):
        for number, node in enumerate(cluster.nodes[:2], start=1):
            with catalog.connect_to_node(node) as connection:
                fill_node(connection, with_big=number == 2)
        with catalog.connect(cluster.query) as connection:
            fill_query_node(connection)
            port = cluster.nodes[1].front.port
            catalog.define_server(
                connection, LOOKUP_SERVER, catalog.STOCK_WRAPPER, port, LOOKUP_OPTIONS
            )
            define_foreign_tables(connection, STOCK_SCHEMA)
            define_foreign_tables(connection, ENGINE_SCHEMA)

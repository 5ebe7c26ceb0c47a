"""The tables that bench scans reads: orders and their lines on four nodes, and whole here.

They look like TPC-H's, but are computed from the row's number, so that each run has the same.
"""

from psycopg import sql

from pgshuttle import catalog
from pgshuttle.building import (
    SERVER_NAMES,
    execute,
    make_foreign_table,
    make_schema,
    making,
    part_of,
)
from pgshuttle.measure import Connection
from pgshuttle.state import Cluster

NORDERS = 150_000  # TPC-H's scale 0.1
LINES_AN_ORDER = 4
NODE_SCHEMA = "scans"
HERE_SCHEMA = "scans_here"

# TPC-H's columns are never NULL
TABLES = {
    "orders": "o_orderkey int NOT NULL, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL,"
    " o_totalprice numeric(15, 2) NOT NULL, o_orderdate date NOT NULL,"
    " o_orderpriority text NOT NULL, o_shippriority int NOT NULL",
    "lineitem": "l_orderkey int NOT NULL, l_partkey int NOT NULL, l_suppkey int NOT NULL,"
    " l_linenumber int NOT NULL, l_quantity numeric(15, 2) NOT NULL,"
    " l_extendedprice numeric(15, 2) NOT NULL, l_discount numeric(15, 2) NOT NULL,"
    " l_tax numeric(15, 2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,"
    " l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,"
    " l_shipmode text NOT NULL, l_shipinstruct text NOT NULL",
}
# orders from {first} to {last}
FILL = """
INSERT INTO {s}.orders
SELECT o, o * 7919 % 15000 + 1, (ARRAY['F', 'O', 'P'])[o * 31 % 3 + 1],
	(o * 104729 % 40000000)::numeric / 100 + 900, date '1992-01-01' + (o * 37 % 2406)::int,
	(ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-LOW', '5-NONE'])[o * 17 % 5 + 1], 0
FROM generate_series({first}::bigint, {last}::bigint) AS o;
INSERT INTO {s}.lineitem
SELECT o, i * 7919 % 20000 + 1, i * 104729 % 1000 + 1, n, i * 31 % 50 + 1,
	(i * 7907 % 9000000)::numeric / 100 + 900, (i * 13 % 11)::numeric / 100,
	(i * 11 % 9)::numeric / 100, (ARRAY['A', 'N', 'R'])[i * 19 % 3 + 1],
	(ARRAY['F', 'O'])[i * 23 % 2 + 1], date '1992-01-01' + (o * 37 % 2406)::int + (i % 121)::int,
	date '1992-01-01' + (o * 37 % 2406)::int + (i * 7 % 91)::int + 30,
	date '1992-01-01' + (o * 37 % 2406)::int + (i % 121)::int + (i * 3 % 30)::int,
	(ARRAY['AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK'])[i * 29 % 7 + 1],
	(ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[i * 37 % 4 + 1]
FROM generate_series({first}::bigint, {last}::bigint) AS o, generate_series(1, {lines}) AS n,
	LATERAL (SELECT o * {lines} + n AS i) AS number;
ALTER TABLE {s}.orders ADD PRIMARY KEY (o_orderkey);
ALTER TABLE {s}.lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber)"""


def schema_of(way: str) -> str:
    """Names the schema of a way's tables on the query node."""
    return f"scans_{way}".lower()


def make_rows(connection: Connection, schema: str, first: int, last: int) -> None:
    """Makes tables with the orders from first to last, and their lines."""
    make_schema(connection, schema)
    for name, columns in TABLES.items():
        execute(connection, f"CREATE TABLE {{s}}.{name} ({columns})", schema)
    execute(connection, FILL, schema, first=first, last=last, lines=LINES_AN_ORDER)
    for name in TABLES:
        execute(connection, f"VACUUM (ANALYZE, FREEZE) {{s}}.{name}", schema)


def find_borders(norders: int, nnodes: int) -> list[int]:
    """Returns the first order of each node, and behind the last."""
    return [1 + norders * number // nnodes for number in range(nnodes + 1)]


def make_partitions(connection: Connection, way: str, borders: list[int]) -> None:
    """Makes the tables over all nodes."""
    schema = schema_of(way)
    make_schema(connection, schema)
    for name, columns in TABLES.items():
        key = f"{name[0]}_orderkey"
        parent = f"CREATE TABLE {{s}}.{name} ({columns}) PARTITION BY RANGE ({key})"
        execute(connection, parent, schema)
        for number in range(1, len(borders)):
            first, end = borders[number - 1 : number + 1]
            make_foreign_table(
                connection,
                sql.Identifier(schema, f"{name}{number}"),
                part_of(
                    sql.Identifier(schema, name), "FROM ({first}) TO ({end})", first=first, end=end
                ),
                SERVER_NAMES[way](number),
                {"schema_name": NODE_SCHEMA, "table_name": name},
            )
        execute(connection, f"ANALYZE {{s}}.{name}", schema)


def make_tables(cluster: Cluster, norders: int) -> None:
    """Makes all tables, and rows in them."""
    borders = find_borders(norders, len(cluster.nodes))
    with making("the tables to scan"):
        for node, first, behind in zip(cluster.nodes, borders, borders[1:], strict=False):
            with catalog.connect(node.server) as connection:
                make_rows(connection, NODE_SCHEMA, first, behind - 1)
        with catalog.connect(cluster.query) as connection:
            make_rows(connection, HERE_SCHEMA, borders[0], borders[-1] - 1)
            for way in SERVER_NAMES:
                make_partitions(connection, way, borders)

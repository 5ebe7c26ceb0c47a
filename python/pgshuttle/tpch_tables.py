"""The tables that bench tpch reads: orders and their lines on four nodes, and whole here.

They look like TPC-H's, but are computed from the row's number, so that each run has the same.
Each node has a copy of the small tables: customers, suppliers, parts and places. For our servers
these are reference tables, one foreign table with the names of all nodes; for stock postgres_fdw
they are on the first node. What queries filter and join by is a hash of the row's number, so that
it goes with no column of the lines.
"""

from psycopg import sql

from pgshuttle import catalog
from pgshuttle.building import (
    SERVER_NAMES,
    analyze,
    execute,
    in_parentheses,
    make_foreign_table,
    make_schema,
    making,
    part_of,
)
from pgshuttle.measure import Connection
from pgshuttle.state import Cluster

NORDERS = 150_000  # TPC-H's scale 0.1
LINES_AN_ORDER = 4
NODE_SCHEMA = "tpch"
HERE_SCHEMA = "tpch_here"

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
# as many as orders and lines refer to
NCUSTOMERS = 15_000
NPARTS = 20_000
NSUPPLIERS = 1000

COPIED = {
    "region": "r_regionkey int NOT NULL, r_name text NOT NULL",
    "nation": "n_nationkey int NOT NULL, n_name text NOT NULL, n_regionkey int NOT NULL",
    "customer": "c_custkey int NOT NULL, c_name text NOT NULL, c_address text NOT NULL,"
    " c_nationkey int NOT NULL, c_phone text NOT NULL, c_acctbal numeric(15, 2) NOT NULL,"
    " c_mktsegment text NOT NULL, c_comment text NOT NULL",
    "supplier": "s_suppkey int NOT NULL, s_name text NOT NULL, s_nationkey int NOT NULL,"
    " s_acctbal numeric(15, 2) NOT NULL",
    "part": "p_partkey int NOT NULL, p_name text NOT NULL, p_brand text NOT NULL,"
    " p_type text NOT NULL, p_size int NOT NULL, p_container text NOT NULL,"
    " p_retailprice numeric(15, 2) NOT NULL",
}
FILL_COPIES = """
INSERT INTO {s}.region
SELECT i - 1, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[i]
FROM generate_series(1, 5) AS i;
INSERT INTO {s}.nation
SELECT i - 1, (ARRAY['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE',
	'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO',
	'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA',
	'UNITED KINGDOM', 'UNITED STATES'])[i],
	(ARRAY[0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1])[i]
FROM generate_series(1, 25) AS i;
INSERT INTO {s}.customer
SELECT i, 'Customer#' || lpad(i::text, 9, '0'), 'street ' || i * 31 % 997, nation,
	10 + nation || '-' || 100 + i * 13 % 900, (i * 7919 % 1100000)::numeric / 100 - 1000,
	(ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])
	[abs(hashint8extended(i, 2) % 5) + 1],
	'comment ' || i * 17 % 4099
FROM generate_series(1, {customers}) AS i,
	LATERAL (SELECT abs(hashint8extended(i, 1) % 25) AS nation) AS place;
INSERT INTO {s}.supplier
SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), abs(hashint8extended(i, 3) % 25),
	(i * 104729 % 1100000)::numeric / 100
FROM generate_series(1, {suppliers}) AS i;
INSERT INTO {s}.part
SELECT i, 'part ' || i, 'Brand#' || brand / 5 + 1 || brand % 5 + 1,
	(ARRAY['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'])[kind / 5 + 1] || ' '
	|| (ARRAY['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'])[kind % 5 + 1],
	size + 1, (ARRAY['SM', 'LG', 'MED', 'JUMBO', 'WRAP'])[box / 8 + 1] || ' '
	|| (ARRAY['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])[box % 8 + 1],
	900 + (i * 7907 % 110000)::numeric / 100
FROM generate_series(1, {parts}) AS i,
	LATERAL (SELECT abs(hashint8extended(i, 4) % 25) AS brand,
		abs(hashint8extended(i, 5) % 30) AS kind, abs(hashint8extended(i, 6) % 50) AS size,
		abs(hashint8extended(i, 7) % 40) AS box) AS hashed;
ALTER TABLE {s}.region ADD PRIMARY KEY (r_regionkey);
ALTER TABLE {s}.nation ADD PRIMARY KEY (n_nationkey);
ALTER TABLE {s}.customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE {s}.supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE {s}.part ADD PRIMARY KEY (p_partkey)"""


def schema_of(way: str) -> str:
    """Names the schema of a way's tables on the query node."""
    return f"tpch_{way}".lower()


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


def make_copy(connection: Connection, schema: str) -> None:
    """Makes the tables with all of their rows."""
    for name, columns in COPIED.items():
        execute(connection, f"CREATE TABLE {{s}}.{name} ({columns})", schema)
    execute(
        connection, FILL_COPIES, schema, customers=NCUSTOMERS, parts=NPARTS, suppliers=NSUPPLIERS
    )
    for name in COPIED:
        execute(connection, f"VACUUM (ANALYZE, FREEZE) {{s}}.{name}", schema)


def make_foreign_tables(connection: Connection, way: str, nnodes: int) -> None:
    """Makes the foreign tables of a way, on the first node."""
    schema = schema_of(way)
    servers = [SERVER_NAMES[way](number) for number in range(1, nnodes + 1)]
    options = {"schema_name": NODE_SCHEMA}
    if way == "OURS":
        options["shuttle_replicated_on"] = ",".join(servers)
    for name, columns in COPIED.items():
        table = sql.Identifier(schema, name)
        make_foreign_table(connection, table, in_parentheses(columns), servers[0], options)
        analyze(connection, table)


def make_tables(cluster: Cluster, norders: int) -> None:
    """Makes all tables, and rows in them."""
    borders = find_borders(norders, len(cluster.nodes))
    with making("the tables of TPC-H"):
        for node, first, behind in zip(cluster.nodes, borders, borders[1:], strict=False):
            with catalog.connect(node.server) as connection:
                make_rows(connection, NODE_SCHEMA, first, behind - 1)
                make_copy(connection, NODE_SCHEMA)
        with catalog.connect(cluster.query) as connection:
            make_rows(connection, HERE_SCHEMA, borders[0], borders[-1] - 1)
            make_copy(connection, HERE_SCHEMA)
            for way in SERVER_NAMES:
                make_partitions(connection, way, borders)
                make_foreign_tables(connection, way, len(cluster.nodes))

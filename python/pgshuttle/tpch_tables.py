"""What bench tpch adds to the tables of bench scans: customers, suppliers, parts and places.

Each node has a copy of them. For our servers they are reference tables, one foreign table with the
names of all nodes; for stock postgres_fdw they are on the first node. What queries filter and join
by is a hash of the row's number, so that it goes with no column of the lines.
"""

from psycopg import sql

from pgshuttle import catalog, scans_tables
from pgshuttle.building import (
    SERVER_NAMES,
    analyze,
    execute,
    in_parentheses,
    make_foreign_table,
    making,
)
from pgshuttle.measure import Connection
from pgshuttle.scans_tables import HERE_SCHEMA, NODE_SCHEMA, schema_of
from pgshuttle.state import Cluster

# as many as the orders and lines of scans_tables refer to
NCUSTOMERS = 15_000
NPARTS = 20_000
NSUPPLIERS = 1000

TABLES = {
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
FILL = """
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


def make_copy(connection: Connection, schema: str) -> None:
    """Makes the tables with all of their rows."""
    for name, columns in TABLES.items():
        execute(connection, f"CREATE TABLE {{s}}.{name} ({columns})", schema)
    execute(connection, FILL, schema, customers=NCUSTOMERS, parts=NPARTS, suppliers=NSUPPLIERS)
    for name in TABLES:
        execute(connection, f"VACUUM (ANALYZE, FREEZE) {{s}}.{name}", schema)


def make_foreign_tables(connection: Connection, way: str, nnodes: int) -> None:
    """Makes the foreign tables of a way, on the first node."""
    schema = schema_of(way)
    servers = [SERVER_NAMES[way](number) for number in range(1, nnodes + 1)]
    options = {"schema_name": NODE_SCHEMA}
    if way == "OURS":
        options["shuttle_replicated_on"] = ",".join(servers)
    for name, columns in TABLES.items():
        table = sql.Identifier(schema, name)
        make_foreign_table(connection, table, in_parentheses(columns), servers[0], options)
        analyze(connection, table)


def make_tables(cluster: Cluster, norders: int) -> None:
    """Makes all tables, and rows in them."""
    scans_tables.make_tables(cluster, norders)
    with making("the tables of TPC-H"):
        for node in cluster.nodes:
            with catalog.connect(node.server) as connection:
                make_copy(connection, NODE_SCHEMA)
        with catalog.connect(cluster.query) as connection:
            make_copy(connection, HERE_SCHEMA)
            for way in SERVER_NAMES:
                make_foreign_tables(connection, way, len(cluster.nodes))

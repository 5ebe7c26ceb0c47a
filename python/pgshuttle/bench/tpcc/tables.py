"""The nine tables of TPC-C, as its specification has them, and the rows that they begin with.

Items, and customers and orders of a district, can be fewer. Texts are cut from one text of random
letters. Each way has its own tables: distributed ones and a reference table, foreign partitions
and a table here, and local tables on the first node.
"""

import random
import string
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.bench.making_tables import execute, make_foreign_table, make_schema, making, part_of
from pgshuttle.bench.results import OnStep
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

NDISTRICTS = 10
NCUSTOMERS = 3000
NITEMS = 100_000
LEAST_CUSTOMERS = 30  # stock-level reads the last 20 orders
SYLLABLES = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]


class Way(StrEnum):
    """Who has the tables, and where routines run."""

    OURS = "shuttle"
    CALLS = "shuttle, shipped calls"
    STOCK = "postgres_fdw"
    HERE = "local"


OF_OURS = (Way.OURS, Way.CALLS)  # have the same tables


@dataclass(frozen=True)
class Sizes:
    """Rows: of all, of a district, of all."""

    nwarehouses: int
    ncustomers: int
    nitems: int

    @property
    def nnames(self) -> int:
        return min(1000, self.ncustomers)


def scale_sizes(nwarehouses: int, scale: float) -> Sizes:
    """Returns the sizes for so many warehouses. scale: 1 for those of the specification."""
    ncustomers = max(LEAST_CUSTOMERS, round(scale * NCUSTOMERS / 10) * 10)
    return Sizes(nwarehouses, ncustomers, max(100, round(scale * NITEMS)))


ADDRESS = (
    "{0}_street_1 varchar(20), {0}_street_2 varchar(20), {0}_city varchar(20), {0}_state char(2),"
    " {0}_zip char(9)"
)
DISTRICT_TEXTS = ", ".join(f"s_dist_{n:02} char(24)" for n in range(1, NDISTRICTS + 1))
# the first column is the one that spreads the table
TABLES = {
    "item": "i_id int, i_im_id int, i_name varchar(24), i_price numeric(5, 2), i_data varchar(50)",
    "warehouse": f"w_id int, w_name varchar(10), {ADDRESS.format('w')}, w_tax numeric(4, 4),"
    " w_ytd numeric(12, 2)",
    "district": f"d_w_id int, d_id int, d_name varchar(10), {ADDRESS.format('d')},"
    " d_tax numeric(4, 4), d_ytd numeric(12, 2), d_next_o_id int",
    "customer": "c_w_id int, c_d_id int, c_id int, c_first varchar(16), c_middle char(2),"
    f" c_last varchar(16), {ADDRESS.format('c')}, c_phone char(16), c_since timestamptz,"
    " c_credit char(2), c_credit_lim numeric(12, 2), c_discount numeric(4, 4),"
    " c_balance numeric(12, 2), c_ytd_payment numeric(12, 2), c_payment_cnt int,"
    " c_delivery_cnt int, c_data varchar(500)",
    "history": "h_w_id int, h_d_id int, h_c_w_id int, h_c_d_id int, h_c_id int,"
    " h_date timestamptz, h_amount numeric(6, 2), h_data varchar(24)",
    "orders": "o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamptz,"
    " o_carrier_id int, o_ol_cnt int, o_all_local int",
    "new_order": "no_w_id int, no_d_id int, no_o_id int",
    "order_line": "ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int,"
    " ol_supply_w_id int, ol_delivery_d timestamptz, ol_quantity int, ol_amount numeric(6, 2),"
    " ol_dist_info char(24)",
    "stock": f"s_w_id int, s_i_id int, s_quantity int, {DISTRICT_TEXTS}, s_ytd int,"
    " s_order_cnt int, s_remote_cnt int, s_data varchar(50)",
}
SPREAD = [name for name in TABLES if name != "item"]
KEYS = """
ALTER TABLE {s}.item ADD PRIMARY KEY (i_id)"""
SPREAD_KEYS = """
ALTER TABLE {s}.warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE {s}.district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE {s}.customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
CREATE INDEX ON {s}.customer (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE {s}.orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
CREATE INDEX ON {s}.orders (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE {s}.new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE {s}.order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE {s}.stock ADD PRIMARY KEY (s_w_id, s_i_id)"""

HELPERS = """
CREATE OR REPLACE FUNCTION pg_temp.number(lowest int, highest int) RETURNS int LANGUAGE sql AS
'SELECT lowest + floor(random() * (highest - lowest + 1))::int';
CREATE OR REPLACE FUNCTION pg_temp.letters(lowest int, highest int) RETURNS text LANGUAGE sql AS
'SELECT substr({letters}, pg_temp.number(1, 500), pg_temp.number(lowest, highest))';
CREATE OR REPLACE FUNCTION pg_temp.data() RETURNS text LANGUAGE sql AS
'SELECT CASE WHEN random() < 0.1 THEN overlay(t PLACING ''ORIGINAL'' FROM 9) ELSE t END
FROM pg_temp.letters(26, 50) AS t'"""
FILL_ITEMS = """
INSERT INTO {s}.item
SELECT i, pg_temp.number(1, 10000), pg_temp.letters(14, 24), pg_temp.number(100, 10000) / 100.0,
	pg_temp.data()
FROM generate_series(1, {nitems}) AS i"""
# the number of an order's lines is computed, so that both tables have the same
FILL = """
INSERT INTO {s}.warehouse
SELECT w, pg_temp.letters(6, 10), {address}, pg_temp.number(0, 2000) / 10000.0,
	10 * {ndistricts} * {ncustomers}
FROM unnest({warehouses}::int[]) AS w;
INSERT INTO {s}.district
SELECT w, d, pg_temp.letters(6, 10), {address}, pg_temp.number(0, 2000) / 10000.0,
	10 * {ncustomers}, {ncustomers} + 1
FROM {districts};
INSERT INTO {s}.customer
SELECT w, d, c, pg_temp.letters(8, 16), 'OE',
	syllables[n / 100 + 1] || syllables[n / 10 % 10 + 1] || syllables[n % 10 + 1], {address},
	lpad(pg_temp.number(0, 999999999)::text, 16, '0'), now(),
	CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END, 50000,
	pg_temp.number(0, 5000) / 10000.0, -10, 10, 1, 0, pg_temp.letters(300, 500)
FROM (
	SELECT w, d, c, CASE WHEN c <= 1000 THEN c - 1
		ELSE ((pg_temp.number(0, 255) | pg_temp.number(0, 999)) + 23) % 1000 END AS n
	FROM {districts},
		generate_series(1, {ncustomers}) AS c
) AS named, (SELECT {syllables}::text[] AS syllables) AS parts;
INSERT INTO {s}.history
SELECT w, d, w, d, c, now(), 10, pg_temp.letters(12, 24)
FROM {districts},
	generate_series(1, {ncustomers}) AS c;
INSERT INTO {s}.orders
SELECT w, d, o, o * 7919 % {ncustomers} + 1, now(),
	CASE WHEN o <= {ndelivered} THEN pg_temp.number(1, 10) END, {nlines}, 1
FROM {districts},
	generate_series(1, {ncustomers}) AS o;
INSERT INTO {s}.new_order
SELECT w, d, o
FROM {districts},
	generate_series({ndelivered} + 1, {ncustomers}) AS o;
INSERT INTO {s}.order_line
SELECT w, d, o, n, pg_temp.number(1, {nitems}), w, CASE WHEN o <= {ndelivered} THEN now() END, 5,
	CASE WHEN o <= {ndelivered} THEN 0 ELSE pg_temp.number(1, 999999) / 100.0 END,
	pg_temp.letters(24, 24)
FROM {districts},
	generate_series(1, {ncustomers}) AS o, generate_series(1, {nlines}) AS n;
INSERT INTO {s}.stock
SELECT w, i, pg_temp.number(10, 100), {texts}, 0, 0, 0, pg_temp.data()
FROM unnest({warehouses}::int[]) AS w, generate_series(1, {nitems}) AS i"""
DISTRICTS = "unnest({}::int[]) AS w, generate_series(1, {}) AS d"
ADDRESS_VALUES = (
    "pg_temp.letters(10, 20), pg_temp.letters(10, 20), pg_temp.letters(10, 20),"
    " pg_temp.letters(2, 2), pg_temp.number(1000, 9999) || '11111'"
)


def schema_of(way: Way) -> str:
    return f"tpcc_{(Way.OURS if way is Way.CALLS else way).name}".lower()


def create_tables(connection: Connection, schema: str, *, with_items: bool = True) -> None:
    make_schema(connection, schema)
    for name in TABLES if with_items else SPREAD:
        execute(connection, f"CREATE TABLE {{s}}.{name} ({TABLES[name]})", schema)
    execute(connection, SPREAD_KEYS, schema)
    if with_items:
        execute(connection, KEYS, schema)


def fill(
    connection: Connection, text: str, schema: str, sizes: Sizes, warehouses: list[int]
) -> None:
    """Makes the first rows of these warehouses, or those of the items."""
    letters = "".join(random.Random(1).choices(string.ascii_letters, k=1000))
    execute(connection, HELPERS, schema, letters=sql.SQL(f"''{letters}''"))
    execute(
        connection,
        text,
        schema,
        warehouses=warehouses,
        districts=sql.SQL(DISTRICTS).format(sql.Literal(warehouses), sql.Literal(NDISTRICTS)),
        ndistricts=NDISTRICTS,
        ncustomers=sizes.ncustomers,
        ndelivered=sizes.ncustomers * 7 // 10,
        nitems=sizes.nitems,
        nlines=sql.SQL("5 + (hashint8(w * 100000000::bigint + d * 10000000 + o) & 1023) % 11"),
        address=sql.SQL(ADDRESS_VALUES),
        texts=sql.SQL(", ".join(["pg_temp.letters(24, 24)"] * NDISTRICTS)),
        syllables=SYLLABLES,
    )


def make_ours(query: Connection, sizes: Sizes) -> None:
    """Makes distributed tables, and items as a reference table."""
    schema = schema_of(Way.OURS)
    create_tables(query, schema)
    keys = [f"{schema}.{name}.{TABLES[name].split()[0]}" for name in SPREAD]
    query.execute("SELECT shuttle.distribute_tables(%s)", [keys])
    query.execute("SELECT shuttle.reference_table(%s::regclass)", [f"{schema}.item"])
    fill(query, FILL_ITEMS, schema, sizes, [])
    fill(query, FILL, schema, sizes, list(range(1, sizes.nwarehouses + 1)))


def make_stock(query: Connection, cluster: Cluster, sizes: Sizes) -> None:
    """Makes tables of nodes, partitioned by hash of the warehouse, and items here."""
    schema = schema_of(Way.STOCK)
    make_schema(query, schema)
    execute(query, f"CREATE TABLE {{s}}.item ({TABLES['item']})", schema)
    execute(query, KEYS, schema)
    fill(query, FILL_ITEMS, schema, sizes, [])
    for name in SPREAD:
        by = TABLES[name].split()[0]
        parent = f"CREATE TABLE {{s}}.{name} ({TABLES[name]}) PARTITION BY HASH ({by})"
        execute(query, parent, schema)
    nnodes = len(cluster.nodes)
    for number, node in enumerate(cluster.nodes):
        rows = query.execute(
            "SELECT w FROM generate_series(1, %s) AS w"
            " WHERE satisfies_hash_partition(%s::regclass, %s, %s, w)",
            [sizes.nwarehouses, f"{schema}.warehouse", nnodes, number],
        ).fetchall()
        with catalog.connect_to_node(node) as connection:
            create_tables(connection, schema, with_items=False)
            fill(connection, FILL, schema, sizes, [int(str(row[0])) for row in rows])
        for name in SPREAD:
            bounds = "WITH (MODULUS {n}, REMAINDER {i})"
            make_foreign_table(
                query,
                sql.Identifier(schema, f"{name}{number + 1}"),
                part_of(sql.Identifier(schema, name), bounds, n=nnodes, i=number),
                catalog.stock_server_name(number + 1),
                # without estimates it never asks by a key of a join, but reads all of stock
                {"schema_name": schema, "table_name": name, "use_remote_estimate": "true"},
            )


def make_tables(cluster: Cluster, sizes: Sizes, ways: tuple[Way, ...], on_step: OnStep) -> None:
    """Makes the tables of these ways, with rows and statistics."""
    with making("the tables of TPC-C"), catalog.connect(cluster.query) as query:
        if Way.OURS in ways or Way.CALLS in ways:
            on_step(f"filling the tables: {Way.OURS}")
            make_ours(query, sizes)
        for way in ways:
            if way in OF_OURS:
                continue
            on_step(f"filling the tables: {way}")
            if way is Way.STOCK:
                make_stock(query, cluster, sizes)
            else:
                with catalog.connect_to_node(cluster.nodes[0]) as connection:
                    schema = schema_of(way)
                    create_tables(connection, schema)
                    fill(connection, FILL_ITEMS, schema, sizes, [])
                    fill(connection, FILL, schema, sizes, list(range(1, sizes.nwarehouses + 1)))
        on_step("analyzing the tables")
        for node in cluster.nodes:
            with catalog.connect(node.server) as connection:
                connection.execute("VACUUM (ANALYZE, FREEZE)")
        for way in ways:
            for name in TABLES if way is not Way.HERE else ():
                execute(query, f"ANALYZE {{s}}.{name}", schema_of(way))

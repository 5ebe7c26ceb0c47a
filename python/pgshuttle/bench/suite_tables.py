"""The tables of TPC-H and TPC-DS over storage nodes: ours, stock postgres_fdw's, local ones.

Facts are distributed, orders by their number and TPC-DS's facts by item; all other tables are
reference tables. Stock postgres_fdw has foreign tables over the same tablets, and over the first
node's copies. All have the primary keys of the specification, and no other index.
"""

import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.bench.making_tables import (
    analyze,
    execute,
    in_parentheses,
    is_made,
    make_foreign_table,
    make_schema,
    making,
    set_made,
)
from pgshuttle.bench.results import OnStep
from pgshuttle.bench.suite_data import TITLES, Queries, Source, Suite, generate
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

NTABLETS = 6


class Way(StrEnum):
    """Whose tables a query is run over."""

    OURS = "shuttle"
    STOCK = "postgres_fdw"
    HERE = "local tables"


SPREAD: Mapping[Suite, Mapping[str, tuple[str, ...]]] = {
    Suite.TPCH: {
        "orders": ("o_orderkey",),
        "lineitem": ("l_orderkey", "l_linenumber"),
    },
    Suite.TPCDS: {
        "store_sales": ("ss_item_sk", "ss_ticket_number"),
        "store_returns": ("sr_item_sk", "sr_ticket_number"),
        "catalog_sales": ("cs_item_sk", "cs_order_number"),
        "catalog_returns": ("cr_item_sk", "cr_order_number"),
        "web_sales": ("ws_item_sk", "ws_order_number"),
        "web_returns": ("wr_item_sk", "wr_order_number"),
        "inventory": ("inv_item_sk", "inv_date_sk", "inv_warehouse_sk"),
    },
}
# of those whose primary key is not their first column
OTHER_KEYS = {"partsupp": ("ps_partkey", "ps_suppkey")}


def schema_of(suite: Suite, way: Way) -> str:
    return f"{suite}_{way.name}".lower()


def write_columns(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {its_type}" for name, its_type in types.items())


def find_key(suite: Suite, table: str, types: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the columns of a table's primary key; the first one of a fact spreads it."""
    first = (next(iter(types)),)
    return SPREAD[suite].get(table) or OTHER_KEYS.get(table) or first


def make_local(connection: Connection, suite: Suite, source: Source) -> None:
    schema = schema_of(suite, Way.HERE)
    make_schema(connection, schema)
    with tempfile.TemporaryDirectory() as directory:
        for table, types in source.columns.items():
            path = Path(directory) / "rows.csv"
            source.write_rows(table, path)
            execute(connection, f"CREATE TABLE {{s}}.{table} ({write_columns(types)})", schema)
            copy = sql.SQL("COPY {} FROM STDIN (FORMAT csv)")
            name = sql.Identifier(schema, table)
            with (
                path.open("rb") as rows,
                connection.cursor() as cursor,
                cursor.copy(copy.format(name)) as target,
            ):
                while block := rows.read(1 << 16):
                    target.write(block)
            key = ", ".join(find_key(suite, table, types))
            execute(connection, f"ALTER TABLE {{s}}.{table} ADD PRIMARY KEY ({key})", schema)
            execute(connection, f"VACUUM (ANALYZE, FREEZE) {{s}}.{table}", schema)


def make_ours(connection: Connection, suite: Suite, tables: list[str]) -> None:
    """Distributes copies of the local tables."""
    schema, here = schema_of(suite, Way.OURS), schema_of(suite, Way.HERE)
    make_schema(connection, schema)
    for table in tables:
        like = f"CREATE TABLE {{s}}.{table} (LIKE {here}.{table} INCLUDING ALL)"
        execute(connection, like, schema)
        execute(connection, f"INSERT INTO {{s}}.{table} TABLE {here}.{table}", schema)
        if table not in SPREAD[suite]:
            connection.execute(
                "SELECT shuttle.reference_table(%s::regclass)", [f"{schema}.{table}"]
            )
    keys = [f"{schema}.{table}.{key[0]}" for table, key in SPREAD[suite].items()]
    connection.execute("SELECT shuttle.distribute_tables(%s, tablets => %s)", [keys, NTABLETS])
    for table in tables:
        analyze(connection, sql.Identifier(schema, table))


def make_stock(connection: Connection, suite: Suite, source: Source) -> None:
    """Makes foreign tables of stock postgres_fdw over what nodes have of ours."""
    schema, ours = schema_of(suite, Way.STOCK), schema_of(suite, Way.OURS)
    make_schema(connection, schema)
    for table, types in source.columns.items():
        name, columns = sql.Identifier(schema, table), write_columns(types)
        if table in SPREAD[suite]:
            by = SPREAD[suite][table][0]
            create = f"CREATE TABLE {{s}}.{table} ({columns}) PARTITION BY HASH ({by})"
            execute(connection, create, schema)
            make_stock_partitions(connection, name, ours)
        else:
            options = {"schema_name": ours, "table_name": table}
            first = catalog.stock_server_name(1)
            make_foreign_table(connection, name, in_parentheses(columns), first, options)
        analyze(connection, name)


def make_stock_partitions(connection: Connection, parent: sql.Identifier, ours: str) -> None:
    """Makes a foreign table over each tablet of a distributed table of the same name."""
    schema, table = parent.as_string(connection).replace('"', "").split(".")
    tablets = connection.execute(
        "SELECT relname, node, bounds FROM shuttle.tablets JOIN pg_class ON oid = tablet"
        " WHERE relation = %s::regclass",
        [f"{ours}.{table}"],
    ).fetchall()
    for tablet, node, bounds in tablets:
        shape = sql.SQL("PARTITION OF {} {}").format(parent, sql.SQL(str(bounds)))
        server = catalog.stock_server_name(int(str(node).removeprefix("node")))
        options = {"schema_name": ours, "table_name": str(tablet)}
        make_foreign_table(connection, sql.Identifier(schema, str(tablet)), shape, server, options)


def make_tables(cluster: Cluster, suite: Suite, scale: float, on_step: OnStep) -> Queries:
    """Makes all tables, unless a cluster that was kept has them; returns what asks them."""
    with generate(suite, scale) as source, catalog.connect(cluster.query) as connection:
        made = f"{TITLES[suite]}, scale {scale:g}, {len(cluster.nodes)} nodes"
        stock = schema_of(suite, Way.STOCK)
        if not is_made(connection, stock, made):
            with making(f"the tables of {TITLES[suite]}"):
                on_step("filling the local tables")
                make_local(connection, suite, source)
                on_step("distributing the tables")
                make_ours(connection, suite, list(source.columns))
                make_stock(connection, suite, source)
                set_made(connection, stock, made)
        return source.queries

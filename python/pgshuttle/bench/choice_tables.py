"""Tables for the planner's choices: of 1 to 1 000 000 rows, here and on two storage nodes.

All are alike, so that any of them can stand on either side of a join. Values
are spread by multiplication, so that they are the same in every run.
"""

import hashlib
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
    part_of,
    set_made,
)
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

HERE = "choices_here"  # on the query node, and on each storage node
ENGINE = "choices_engine"  # the same over servers of our wrapper
GUEST = "choices_guest"  # and over servers of stock postgres_fdw
PARTITIONED = "parts"  # as large as the largest, by ranges of id, by turns on both nodes
NPARTITIONS = 16

# rows of tables at scale 1, and how many rows a reference may point to
SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
TARGETS = (10, 1_000, 10_000, 100_000, 1_000_000)
LARGEST = max(SIZES)
NREPEATED = 100  # different values of the column that repeats itself
# primes: their multiples visit all rows of a table once, in an order of no use
REFERENCE_STEP = 7919 * 97
FILTER_STEP = 5_754_853

COLUMNS = (
    "id bigint{}, r10 bigint, r1000 bigint, r10000 bigint, r100000 bigint, r1000000 bigint,"
    " repeated bigint, in10 bigint, in100 bigint, thousandth int, x int, name text"
)
# in10 and in100: as many rows share a value; name: an id as a text
MAKE = """
CREATE TABLE {table} ({columns});
INSERT INTO {table}
SELECT i, i * {step} % {t10} + 1, i * {step} % {t1000} + 1, i * {step} % {t10000} + 1,
  i * {step} % {t100000} + 1, i * {step} % {t1000000} + 1,
  (i % {repeated}) * {step} % {t1000000} + 1,
  (i + 9) / 10, (i + 99) / 100, i * {other_step} % 1000, i % 100000, 'name ' || i
FROM generate_series({first}::bigint, {last}) AS i;
CREATE INDEX ON {table} (in10);
CREATE INDEX ON {table} (in100);
CREATE INDEX ON {table} (name);
VACUUM (ANALYZE) {table}"""


def scale_rows(nrows: int, scale: float) -> int:
    """Returns how many rows a table has that has nrows at scale 1."""
    return max(1, math.ceil(nrows * scale))


def name_table(nrows: int) -> str:
    return f"c{nrows}"


def make_table(connection: Connection, name: str, first: int, last: int, scale: float) -> None:
    values: dict[str, object] = {f"t{target}": scale_rows(target, scale) for target in TARGETS}
    values |= {"step": REFERENCE_STEP, "other_step": FILTER_STEP, "repeated": NREPEATED}
    values |= {"first": first, "last": last, "columns": sql.SQL(COLUMNS.format(" PRIMARY KEY"))}
    execute(connection, MAKE, HERE, table=sql.Identifier(HERE, name), **values)


def list_bounds(scale: float) -> list[int]:
    """Returns where each partition begins, and where the last one ends."""
    nrows = scale_rows(LARGEST, scale)
    return [1 + nrows * part // NPARTITIONS for part in range(NPARTITIONS + 1)]


def fill_server(connection: Connection, parts: Sequence[int], scale: float) -> None:
    """Makes and fills the tables of one server, and these parts of the partitioned one."""
    make_schema(connection, HERE)
    for nrows in SIZES:
        make_table(connection, name_table(nrows), 1, scale_rows(nrows, scale), scale)
    bounds = list_bounds(scale)
    for part in parts:
        name = f"{PARTITIONED}{part}"
        make_table(connection, name, bounds[part], bounds[part + 1] - 1, scale)


def make_foreign_partitions(
    connection: Connection, schema: str, servers: Sequence[str], scale: float
) -> None:
    """Makes the partitioned table, whose partitions take turns on the servers."""
    parent = sql.Identifier(schema, PARTITIONED)
    columns = sql.SQL(COLUMNS).format(sql.SQL(""))
    create = sql.SQL("CREATE TABLE {} ({}) PARTITION BY RANGE (id)")
    connection.execute(create.format(parent, columns))
    bounds = list_bounds(scale)
    for part in range(NPARTITIONS):
        first, end = bounds[part : part + 2]
        make_foreign_table(
            connection,
            sql.Identifier(schema, f"{PARTITIONED}{part}"),
            part_of(parent, "FROM ({first}) TO ({end})", first=first, end=end),
            servers[part % len(servers)],
            {"schema_name": HERE},
        )
    analyze(connection, parent)


def make_foreign_tables(
    connection: Connection, schema: str, servers: Sequence[str], scale: float
) -> None:
    """Makes the foreign tables over two servers; c10_2 is c10 on the second."""
    make_schema(connection, schema)
    columns = in_parentheses(COLUMNS.format(""))
    for number, server in enumerate(servers, start=1):
        for nrows in SIZES:
            table = sql.Identifier(schema, f"{name_table(nrows)}_{number}")
            options = {"schema_name": HERE, "table_name": name_table(nrows)}
            make_foreign_table(connection, table, columns, server, options)
            analyze(connection, table)
    make_foreign_partitions(connection, schema, servers, scale)


def describe_tables(scale: float) -> str:
    """Returns what tells these tables from those of another scale or another version."""
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return f"scale {scale:g}, made by {source}"


def make_tables(cluster: Cluster, scale: float) -> None:
    """Makes all tables, unless a cluster that was kept has them.

    scale: of their sizes; at 1 the largest has a million rows.
    """
    with catalog.connect(cluster.query) as connection:
        if is_made(connection, GUEST, describe_tables(scale)):
            return
    nodes = cluster.nodes[:2]
    ways = [partial(catalog.connect, cluster.query)]
    ways += [partial(catalog.connect_to_node, node) for node in nodes]

    def fill(number: int) -> None:
        parts = range(number - 1, NPARTITIONS, len(nodes)) if number > 0 else range(0)
        with ways[number]() as connection:
            fill_server(connection, parts, scale)

    with making("the tables of the choices"):
        with ThreadPoolExecutor() as pool:
            list(pool.map(fill, range(len(ways))))
        with catalog.connect(cluster.query) as connection:
            for schema, name_server in (
                (ENGINE, catalog.engine_server_name),
                (GUEST, catalog.stock_server_name),
            ):
                names = [name_server(number) for number in range(1, len(nodes) + 1)]
                make_foreign_tables(connection, schema, names, scale)
            set_made(connection, GUEST, describe_tables(scale))

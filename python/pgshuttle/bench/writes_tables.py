"""The tables that bench writes writes to: on three nodes, and whole on the first."""

from functools import cache

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.bench.making_tables import (
    SERVER_NAMES,
    analyze,
    execute,
    make_foreign_table,
    make_schema,
    making,
    part_of,
    write,
)
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

NROWS = 30_000
NUPDATED = 2678
NWRITTEN = 10_000
NACCOUNTS = 100_000
NTELLERS = 10
NINSERTS = 10
STOCK_BATCH_SIZE = 1000
NEW_IDS = 1_000_000  # above those that are there
FOUND_BY_KEY = ("accounts", "tellers", "branches")  # of TPC-B
ITEM = "id int PRIMARY KEY, n int, note text"

# in schema {s}: rows to update, to insert and to delete by
SOURCES = """
CREATE TABLE {s}.few AS SELECT i * 11 AS id, i AS n FROM generate_series(1, {nupdated}) AS i;
CREATE TABLE {s}.more AS
SELECT {new_ids} + i AS id, i AS n, 'note of row ' || i AS note
FROM generate_series(1, {nwritten}) AS i;
CREATE TABLE {s}.many AS SELECT i * 3 AS id FROM generate_series(1, {nwritten}) AS i;
ANALYZE {s}.few; ANALYZE {s}.more; ANALYZE {s}.many"""
FILL = """
INSERT INTO {s}.item SELECT i, i, 'note of row ' || i FROM generate_series(1, {nrows}) AS i"""
TPCB = """
CREATE TABLE {s}.accounts AS
SELECT i AS aid, 1 AS bid, 0 AS abalance, repeat(' ', 84) AS filler
FROM generate_series(1, {naccounts}) AS i;
CREATE TABLE {s}.tellers AS
SELECT i AS tid, 1 AS bid, 0 AS tbalance FROM generate_series(1, {ntellers}) AS i;
CREATE TABLE {s}.branches AS SELECT 1 AS bid, 0 AS bbalance;
CREATE TABLE {s}.history (tid int, bid int, aid int, delta int, mtime timestamp);
ALTER TABLE {s}.accounts ADD PRIMARY KEY (aid);
ALTER TABLE {s}.tellers ADD PRIMARY KEY (tid);
ALTER TABLE {s}.branches ADD PRIMARY KEY (bid);
ANALYZE {s}.accounts; ANALYZE {s}.tellers; ANALYZE {s}.branches"""

# over the tables of pgbench
FUNCTION = """
CREATE FUNCTION {s}.note() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. {ninserts} LOOP
        INSERT INTO {s}.history (tid, bid, aid, delta) VALUES (i, 1, i, 5);
    END LOOP;
END $$"""

SIZES = {
    "nrows": NROWS,
    "nupdated": NUPDATED,
    "nwritten": NWRITTEN,
    "naccounts": NACCOUNTS,
    "ntellers": NTELLERS,
    "new_ids": NEW_IDS,
}


def schema_of(way: str, case: str) -> str:
    """Names the schema of a way's tables; case: "item", "ONE" or "TWO"."""
    if way in ("NODE", "LINE"):
        return "writes_whole" if case == "item" else "writes"
    return f"writes_{way}_{case}".lower()


@cache
def copied_rows() -> bytes:
    return b"".join(
        b"%d\t%d\tnote of row %d\n" % (NEW_IDS + i, i, i) for i in range(1, NWRITTEN + 1)
    )


def make_function(connection: Connection, schema: str) -> None:
    connection.execute(write(FUNCTION, schema, ninserts=NINSERTS))


def make_node(connection: Connection, *, is_first: bool) -> None:
    make_schema(connection, "writes")
    execute(connection, "CREATE TABLE {s}.item (" + ITEM + ");" + TPCB, "writes", **SIZES)
    if is_first:
        make_function(connection, "writes")
        make_schema(connection, "writes_whole")
        execute(connection, "CREATE TABLE {s}.item (" + ITEM + ");" + FILL, "writes_whole", **SIZES)
        execute(connection, "ANALYZE {s}.item;" + SOURCES, "writes_whole", **SIZES)


def make_partitions(connection: Connection, way: str, nnodes: int) -> None:
    """Makes a table that is spread over all nodes, and the local tables beside it."""
    schema = schema_of(way, "item")
    make_schema(connection, schema)
    columns = ITEM.replace(" PRIMARY KEY", "")
    execute(connection, "CREATE TABLE {s}.item (" + columns + ") PARTITION BY HASH (id)", schema)
    for number in range(1, nnodes + 1):
        bounds = "WITH (MODULUS {n}, REMAINDER {i})"
        make_foreign_table(
            connection,
            sql.Identifier(schema, f"item{number}"),
            part_of(sql.Identifier(schema, "item"), bounds, n=nnodes, i=number - 1),
            SERVER_NAMES[way](number),
            {"schema_name": "writes", "table_name": "item"},
        )
    execute(connection, SOURCES, schema, **SIZES)


def import_tpcb(connection: Connection, way: str, case: str) -> None:
    """Makes the tables of pgbench: accounts of the first node, the others of it or of the next."""
    schema = schema_of(way, case)
    make_schema(connection, schema)
    other = 1 if case == "ONE" else 2
    for number, names in ((1, "accounts"), (other, "tellers, branches, history")):
        statement = sql.SQL("IMPORT FOREIGN SCHEMA writes LIMIT TO ({}) FROM SERVER {} INTO {}")
        server, into = sql.Identifier(SERVER_NAMES[way](number)), sql.Identifier(schema)
        connection.execute(statement.format(sql.SQL(names), server, into))
    if case == "ONE":
        make_function(connection, schema)


def set_batch_size(connection: Connection, nnodes: int) -> None:
    """Has postgres_fdw insert many rows at once."""
    for number in range(1, nnodes + 1):
        name = catalog.stock_server_name(number)
        found = connection.execute(
            "SELECT 1 FROM pg_foreign_server WHERE srvname = %s"
            " AND array_to_string(srvoptions, ',') LIKE '%%batch_size=%%'",
            [name],
        )
        if found.fetchone() is None:
            statement = sql.SQL("ALTER SERVER {} OPTIONS (ADD batch_size {})")
            size = sql.Literal(str(STOCK_BATCH_SIZE))
            connection.execute(statement.format(sql.Identifier(name), size))


def analyze_foreign_tables(connection: Connection, way: str, nnodes: int) -> None:
    """Has foreign tables analyzed, which ANALYZE of a whole database leaves out."""
    tables = [("item", f"item{number}") for number in range(1, nnodes + 1)]
    tables += [(case, name) for case in ("ONE", "TWO") for name in FOUND_BY_KEY]
    for case, name in tables:
        analyze(connection, sql.Identifier(schema_of(way, case), name))


def make_tables(cluster: Cluster) -> None:
    with making("the tables to write to"):
        for node in cluster.nodes:
            with catalog.connect_to_node(node) as connection:
                make_node(connection, is_first=node is cluster.nodes[0])
        with catalog.connect(cluster.query) as connection:
            set_batch_size(connection, len(cluster.nodes))
            for way in SERVER_NAMES:
                make_partitions(connection, way, len(cluster.nodes))
                for case in ("ONE", "TWO"):
                    import_tpcb(connection, way, case)
            execute(connection, FILL, schema_of("OURS", "item"), **SIZES)
        for node in cluster.nodes:
            with catalog.connect(node.server) as connection:
                connection.execute("VACUUM (ANALYZE, FREEZE)")
        with catalog.connect(cluster.query) as connection:
            for way in SERVER_NAMES:
                analyze_foreign_tables(connection, way, len(cluster.nodes))

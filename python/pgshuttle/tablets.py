"""The sweep: a table in ten tablets joined with itself, over batch sizes and limits.

The query is that of published figures, see reference.py: all rows of the table
through a CTE, joined by key with the table, with a filter that all rows pass.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from psycopg import sql
from psycopg.pq.abc import PGconn, PGresult

from pgshuttle import catalog, measure, reference
from pgshuttle.building import analyze, make_foreign_table, make_schema, making
from pgshuttle.errors import ToolError
from pgshuttle.grid import RTTS_US, Cell, Grid, run_grid
from pgshuttle.measure import Connection, Elapsed
from pgshuttle.results import OnStep
from pgshuttle.state import Cluster
from pgshuttle.sweep import Bench

NAME = "sweep"
NROWS = 2000
NTABLETS = 10
BATCH_SIZES = (1, 10, 100, 500, 1023, 1024, 1025, 2000)
REQUEST_LIMITS = (100, 1024, 2000)
FETCH_LIMITS = (100, 1024, 2000)
NODE_SCHEMA = "sweep"
ENGINE, STOCK, TUNED, LOCAL = "sweep_engine", "sweep_stock", "sweep_tuned", "sweep_local"
OURS, BY_HAND = "shuttle", "arrays by hand"
PEERS = {
    "postgres_fdw": STOCK,
    "postgres_fdw, tuned": TUNED,
    "local tables": LOCAL,
}
TUNING = {"fetch_size": "10000", "use_remote_estimate": "true"}
QUERY = """
WITH a AS MATERIALIZED (SELECT * FROM {table})
SELECT a.id, a.x, b.x FROM a JOIN {table} b ON b.id = a.id WHERE b.x = 0"""
TABLET = "SELECT id, x FROM sweep.demo{number}"
LOOK_UP = """
SELECT k.ord, d.id, d.x FROM unnest($1::bigint[]) WITH ORDINALITY AS k(id, ord)
JOIN ({whole}) d ON d.id = k.id WHERE d.x = 0"""
COLUMNS = "id bigint, x int"
FORCED = {
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "shuttle.debug_force_batched_join": "on",
}


def split_ids(number: int) -> sql.Composed:
    """The ids of a tablet: from its first one to the next tablet's."""
    width = NROWS // NTABLETS
    low = sql.Literal(number * width + 1) if number else sql.SQL("MINVALUE")
    high = sql.Literal((number + 1) * width + 1) if number < NTABLETS - 1 else sql.SQL("MAXVALUE")
    return sql.SQL("FOR VALUES FROM ({}) TO ({})").format(low, high)


def fill_node(connection: Connection, node: int, nnodes: int) -> None:
    """Makes the tablets of one storage node, counted from 0."""
    make_schema(connection, NODE_SCHEMA)
    width = NROWS // NTABLETS
    for number in range(node, NTABLETS, nnodes):
        table = sql.Identifier(NODE_SCHEMA, f"demo{number}")
        connection.execute(sql.SQL("CREATE TABLE {} (id bigint PRIMARY KEY, x int)").format(table))
        connection.execute(
            sql.SQL("INSERT INTO {} SELECT i, 0 FROM generate_series({}::bigint, {}) i").format(
                table, sql.Literal(number * width + 1), sql.Literal((number + 1) * width)
            )
        )
        connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(table))


def make_partitioned(connection: Connection, schema: str) -> sql.Identifier:
    """Makes a schema with the table that has partitions and none yet."""
    make_schema(connection, schema)
    table = sql.Identifier(schema, "demo")
    columns = sql.SQL(COLUMNS)
    connection.execute(
        sql.SQL("CREATE TABLE {} ({}) PARTITION BY RANGE (id)").format(table, columns)
    )
    return table


def define_foreign(connection: Connection, schema: str, nnodes: int) -> None:
    """Makes the table with foreign partitions."""
    table = make_partitioned(connection, schema)
    name_server = catalog.engine_server_name if schema == ENGINE else catalog.stock_server_name
    for number in range(NTABLETS):
        options = {"schema_name": NODE_SCHEMA, "table_name": f"demo{number}"}
        options |= TUNING if schema == TUNED else {}
        make_foreign_table(
            connection,
            sql.Identifier(schema, f"demo{number}"),
            sql.SQL("PARTITION OF {} {}").format(table, split_ids(number)),
            name_server(number % nnodes + 1),
            options,
        )
    analyze(connection, table)


def define_local(connection: Connection) -> None:
    """Makes the same table of local partitions."""
    table = make_partitioned(connection, LOCAL)
    for number in range(NTABLETS):
        connection.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} {}").format(
                sql.Identifier(LOCAL, f"demo{number}"), table, split_ids(number)
            )
        )
    connection.execute(
        sql.SQL("INSERT INTO {} SELECT i, 0 FROM generate_series(1, {}) i").format(
            table, sql.Literal(NROWS)
        )
    )
    connection.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(table))
    connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(table))


def make_tables(cluster: Cluster) -> None:
    """Makes the tablets on the nodes, and the tables over them."""
    with making("the tables of the sweep"):
        for number, node in enumerate(cluster.nodes):
            with catalog.connect(node.server) as connection:
                fill_node(connection, number, len(cluster.nodes))
        with catalog.connect(cluster.query) as connection:
            for schema in (ENGINE, STOCK, TUNED):
                define_foreign(connection, schema, len(cluster.nodes))
            define_local(connection)


def write_query(schema: str) -> sql.Composed:
    """The query over the table of a schema."""
    return sql.SQL(QUERY).format(table=sql.Identifier(schema, "demo"))


def list_limits(limits: Sequence[int], batch_size: int) -> list[int]:
    """The limits that differ for a batch: all that are no less than it do the same."""
    return list(limits[: 1 + sum(limit < batch_size for limit in limits)])


def list_cells(batch_sizes: Sequence[int] = BATCH_SIZES) -> Iterator[Cell]:
    """Our cells, and those of the peers, which know no batch size."""
    for who, schema in PEERS.items():
        settings = {"shuttle.enable_batched_join": "off"}
        yield Cell(who, {}, NROWS, write_query(schema), settings)
    yield Cell(f"{OURS}, as planned", {}, NROWS, write_query(ENGINE), counts=True)
    for batch_size in batch_sizes:
        for request_limit in list_limits(REQUEST_LIMITS, batch_size):
            for fetch_limit in list_limits(FETCH_LIMITS, batch_size):
                labels = {
                    "batch_size": batch_size,
                    "request_limit": request_limit,
                    "fetch_limit": fetch_limit,
                }
                settings = {f"shuttle.{name}": str(value) for name, value in labels.items()}
                query = write_query(ENGINE)
                yield Cell(OURS, labels, NROWS, query, FORCED | settings, counts=True)


def write_by_hand(node: int, nnodes: int) -> tuple[bytes, bytes]:
    """What someone would send to a node by libpq alone: all its rows; then keys, in an array."""
    numbers = range(node, NTABLETS, nnodes)
    whole = " UNION ALL ".join(TABLET.format(number=number) for number in numbers)
    return whole.encode(), LOOK_UP.format(whole=whole).encode()


def join_by_hand(bench: Bench) -> Callable[[], Elapsed]:
    """Joins by libpq alone: both nodes at once, two round trips."""
    nodes = [connection.pgconn for connection in bench.node_connections]
    statements = [write_by_hand(node, len(nodes)) for node in range(len(nodes))]

    def fetch(node: PGconn) -> PGresult:
        result = node.get_result()
        if result is None:
            raise ToolError("a node gave no answer to an array by hand")
        measure.check_result(result, "an array by hand")
        while node.get_result() is not None:
            pass
        return result

    def join() -> Elapsed:
        start_ns = time.perf_counter_ns()
        for node, (whole, _) in zip(nodes, statements, strict=True):
            node.send_query_params(whole, [])
        rows = [fetch(node) for node in nodes]
        for node, (_, look_up), found in zip(nodes, statements, rows, strict=True):
            keys = [found.get_value(row, 0) or b"" for row in range(found.ntuples)]
            node.send_query_params(look_up, [b"{" + b",".join(keys) + b"}"])
        nrows = sum(fetch(node).ntuples for node in nodes)
        return Elapsed((time.perf_counter_ns() - start_ns) / measure.NS_PER_MS, nrows)

    return join


def run_sweep(cluster: Cluster, nrounds: int, on_step: OnStep) -> Grid:
    """Makes the tables and measures under each delay."""
    on_step("filling the tablets")
    make_tables(cluster)

    def make_cells(bench: Bench) -> list[Cell]:
        return [*list_cells(), Cell(BY_HAND, {}, NROWS, by_hand=join_by_hand(bench))]

    return run_grid(
        cluster, NAME, make_cells, RTTS_US, nrounds, on_step, reference.list_published()
    )

"""The hops: joins of two to five tables over nodes, where each step needs the one before."""

import time
from collections.abc import Callable, Iterator

from psycopg import sql
from rich.table import Table

from pgshuttle import catalog, measure
from pgshuttle.building import analyze, in_parentheses, make_foreign_table, make_schema, making
from pgshuttle.hop_times import Cell, CellResult, Hops, run_all
from pgshuttle.measure import Connection, Elapsed
from pgshuttle.printing import format_count, format_ms
from pgshuttle.results import OnStep
from pgshuttle.state import Cluster
from pgshuttle.sweep import Bench

RTTS_US = (0, 800, 10_000, 90_000)
MOST_TABLES = 5
NROWS = 100_000  # of each table
NOUTER = 200  # rows of the first table that are asked for
STEP = 7919  # prime: the next table's row is anywhere
NODE_SCHEMA = "hops"
ENGINE, STOCK, TUNED, LOCAL = "hops_engine", "hops_stock", "hops_tuned", "hops_local"
OURS, GUEST, BY_HAND = "shuttle", "postgres_fdw with our library", "arrays by hand"
WITHOUT_US = {"shuttle.enable_batched_join": "off"}
TUNING = {"fetch_size": "10000", "use_remote_estimate": "true"}
FILL = """
CREATE TABLE {table} AS
SELECT i AS id, i::bigint * {step} % {nrows} + 1 AS next, 'row ' || i AS name
FROM generate_series(1, {nrows}) i"""


def name_table(number: int) -> str:
    """Names the table of a step, counted from 1."""
    return f"t{number}"


def fill(connection: Connection, schema: str, number: int, nrows: int) -> None:
    """Makes one table."""
    table = sql.Identifier(schema, name_table(number))
    statement = sql.SQL(FILL).format(
        table=table, step=sql.Literal(STEP + number), nrows=sql.Literal(nrows)
    )
    connection.execute(statement)
    connection.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(table))
    connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(table))


def define_foreign(connection: Connection, schema: str, nnodes: int) -> None:
    """Makes the foreign tables of a schema; one table and the next are on different nodes."""
    make_schema(connection, schema)
    name_server = catalog.engine_server_name if schema == ENGINE else catalog.stock_server_name
    for number in range(1, MOST_TABLES + 1):
        table = sql.Identifier(schema, name_table(number))
        options = {"schema_name": NODE_SCHEMA, "table_name": name_table(number)}
        options |= TUNING if schema == TUNED else {}
        columns = in_parentheses("id int, next bigint, name text")
        make_foreign_table(connection, table, columns, name_server(number % nnodes + 1), options)
        analyze(connection, table)


def fill_tables(cluster: Cluster, nrows: int = NROWS) -> None:
    """Makes all tables on the nodes and on the query node."""
    nnodes = len(cluster.nodes)
    with making("the tables of the hops"):
        for node in range(nnodes):
            with catalog.connect(cluster.nodes[node].server) as connection:
                make_schema(connection, NODE_SCHEMA)
                for number in range(1, MOST_TABLES + 1):
                    if number % nnodes == node:
                        fill(connection, NODE_SCHEMA, number, nrows)
        with catalog.connect(cluster.query) as connection:
            for schema in (ENGINE, STOCK, TUNED):
                define_foreign(connection, schema, nnodes)
            make_schema(connection, LOCAL)
            for number in range(1, MOST_TABLES + 1):
                fill(connection, LOCAL, number, nrows)


def write_query(schema: str, ntables: int) -> sql.Composed:
    """A join of the first tables: each row leads to one of the next table."""
    query = sql.SQL("SELECT t1.id, {}.name FROM {} t1").format(
        sql.Identifier(name_table(ntables)), sql.Identifier(schema, name_table(1))
    )
    for number in range(2, ntables + 1):
        query += sql.SQL(" JOIN {} {} ON {}.id = {}.next").format(
            sql.Identifier(schema, name_table(number)),
            sql.Identifier(name_table(number)),
            sql.Identifier(name_table(number)),
            sql.Identifier(name_table(number - 1)),
        )
    return query + sql.SQL(" WHERE t1.id <= {}").format(sql.Literal(NOUTER))


FIRST_STEP = "SELECT next, id FROM hops.t1 WHERE id <= {nrows}"
NEXT_STEP = """
SELECT t.{column} FROM unnest($1::bigint[]) WITH ORDINALITY AS k(id, ord)
JOIN hops.{table} t ON t.id = k.id ORDER BY k.ord"""


def write_steps(ntables: int) -> list[bytes]:
    """What someone would send who has only libpq: the first rows, then arrays of keys."""
    steps = [FIRST_STEP.format(nrows=NOUTER)]
    for number in range(2, ntables + 1):
        column = "name" if number == ntables else "next"
        steps.append(NEXT_STEP.format(column=column, table=name_table(number)))
    return [step.encode() for step in steps]


def walk_by_hand(bench: Bench, ntables: int) -> Callable[[], Elapsed]:
    """Joins by libpq alone: one round trip a table."""
    nodes = bench.node_connections
    steps = write_steps(ntables)

    def walk() -> Elapsed:
        start_ns = time.perf_counter_ns()
        keys: list[bytes] = []
        for number, step in enumerate(steps, start=1):
            array = [b"{" + b",".join(keys) + b"}"] if number > 1 else []
            result = nodes[number % len(nodes)].pgconn.exec_params(step, array)
            measure.check_result(result, "a step by hand")
            keys = [result.get_value(row, 0) or b"" for row in range(result.ntuples)]
        return Elapsed((time.perf_counter_ns() - start_ns) / measure.NS_PER_MS, len(keys))

    return walk


def list_cells(bench: Bench) -> Iterator[Cell]:
    """Everybody's cells, for each number of tables."""
    for ntables in range(2, MOST_TABLES + 1):
        yield Cell(OURS, ntables, NOUTER, write_query(ENGINE, ntables), counts=True)
        yield Cell(GUEST, ntables, NOUTER, write_query(STOCK, ntables), counts=True)
        yield Cell("postgres_fdw", ntables, NOUTER, write_query(STOCK, ntables), WITHOUT_US)
        yield Cell("postgres_fdw, tuned", ntables, NOUTER, write_query(TUNED, ntables), WITHOUT_US)
        yield Cell("local tables", ntables, NOUTER, write_query(LOCAL, ntables))
        yield Cell(BY_HAND, ntables, NOUTER, by_hand=walk_by_hand(bench, ntables))


def run_hops(cluster: Cluster, nrounds: int, on_step: OnStep) -> Hops:
    """Makes the tables and measures under each delay."""
    on_step("filling the tables")
    fill_tables(cluster)
    return run_all(cluster, lambda bench: list(list_cells(bench)), RTTS_US, nrounds, on_step)


HEAD = {
    "format": 2,
    "units": {
        "timing": "milliseconds, seen by a client of the query node",
        "stopped_ms": "milliseconds after which the statement was stopped",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "round_trips": "changes of direction on the connections to all nodes, in the last run",
        "requests": "statements to storage nodes, and pages of their answers, as EXPLAIN tells",
        "ntables": "tables of the join",
    },
}


def format_cell(cell: CellResult) -> str:
    """Writes a time, or after how long it was stopped."""
    if cell.timing is None:
        return f"> {format_ms(cell.stopped_ms)}"
    return format_ms(cell.timing.median_ms)


def make_tables(found: Hops) -> list[Table]:
    """A row for each number of tables and who joins them, a column for each delay."""
    rtts_us = sorted({cell.rtt_us for cell in found.cells})
    rows: dict[tuple[int, str], list[CellResult]] = {}
    for cell in sorted(found.cells, key=lambda cell: cell.rtt_us):
        rows.setdefault((cell.ntables, cell.who), []).append(cell)
    table = Table("tables", "who", "requests")
    for rtt_us in rtts_us:
        table.add_column(f"RTT {rtt_us / 1000:g} ms", justify="right")
    table.title = f"{NOUTER} rows, each leading through tables of {NROWS} rows"
    for (ntables, who), cells in rows.items():
        times = [format_cell(cell) for cell in cells]
        table.add_row(str(ntables), who, format_count(cells[0].requests), *times)
    table.caption = "Each table needs the row before it: a round trip each is the least."
    return [table]

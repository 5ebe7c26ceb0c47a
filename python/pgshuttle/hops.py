"""The hops: joins of two to five tables over nodes, where each step needs the one before."""

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql
from rich.table import Table

from pgshuttle import catalog, measure, results
from pgshuttle.building import analyze, in_parentheses, make_foreign_table, make_schema, making
from pgshuttle.errors import ToolError
from pgshuttle.measure import Connection, Elapsed, Session, Timing
from pgshuttle.printing import format_count, format_ms
from pgshuttle.results import OnStep, Run
from pgshuttle.state import Cluster

RTTS_US = (0, 800, 10_000, 90_000)
MOST_TABLES = 5
NROUNDS = 7
# after its first run, a join is run again only as often as fits into this
CELL_MS = 1500.0
# one that takes longer is stopped, and counts as that
LIMIT_MS = 15_000.0
NROWS = 100_000  # of each table
NOUTER = 200  # rows of the first table that are asked for
STEP = 7919  # prime: the next table's row is anywhere
NODE_SCHEMA = "hops"
ENGINE, STOCK, TUNED, LOCAL = "hops_engine", "hops_stock", "hops_tuned", "hops_local"
WITHOUT_US = {"shuttle.enable_batched_join": "off"}
TUNING = {"fetch_size": "10000", "use_remote_estimate": "true"}
FILL = """
CREATE TABLE {table} AS
SELECT i AS id, i::bigint * {step} % {nrows} + 1 AS next, 'row ' || i AS name
FROM generate_series(1, {nrows}) i"""


class Way(StrEnum):
    """Who joins."""

    OURS = "shuttle"
    GUEST = "postgres_fdw with our library"
    STOCK = "postgres_fdw"
    TUNED = "postgres_fdw, tuned"
    LOCAL = "local tables"
    BY_HAND = "arrays by hand"


# schema of the tables, and settings
PLACES: Mapping[Way, tuple[str, Mapping[str, str]]] = {
    Way.OURS: (ENGINE, {}),
    Way.GUEST: (STOCK, {}),
    Way.STOCK: (STOCK, WITHOUT_US),
    Way.TUNED: (TUNED, WITHOUT_US),
    Way.LOCAL: (LOCAL, {}),
}


@dataclass(frozen=True)
class CellResult:
    """What a join took under one delay; timing None: it was stopped."""

    who: str
    ntables: int
    rtt_us: int
    timing: Timing | None
    requests: int | None  # of a plan of ours


@dataclass(frozen=True, kw_only=True)
class Hops(Run):
    """All that one run found out."""

    nrounds: int
    cells: tuple[CellResult, ...]


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


class Runner:
    """Joins under one delay, in sessions that stay open."""

    def __init__(self, session: Session, nodes: list[Connection]) -> None:
        self.session = session
        self.nodes = nodes

    def walk_by_hand(self, ntables: int) -> Elapsed:
        """Joins by libpq alone: one round trip a table."""
        start_ns = time.perf_counter_ns()
        keys: list[bytes] = []
        for number, step in enumerate(write_steps(ntables), start=1):
            array = [b"{" + b",".join(keys) + b"}"] if number > 1 else []
            result = self.nodes[number % len(self.nodes)].pgconn.exec_params(step, array)
            measure.check_result(result, "a step by hand")
            keys = [result.get_value(row, 0) or b"" for row in range(result.ntuples)]
        return Elapsed((time.perf_counter_ns() - start_ns) / measure.NS_PER_MS, len(keys))

    def run(self, ntables: int, way: Way) -> float | None:
        """Joins once, and checks that all rows came; returns ms, or None if it was stopped."""
        if way is Way.BY_HAND:
            elapsed: Elapsed | None = self.walk_by_hand(ntables)
        else:
            schema, settings = PLACES[way]
            self.session.apply(settings)
            elapsed = self.session.time_within(write_query(schema, ntables), LIMIT_MS)
        if elapsed is None:
            return None
        if elapsed.nrows != NOUTER:
            raise ToolError(f"{way} gave {elapsed.nrows} rows instead of {NOUTER}")
        return elapsed.elapsed_ms

    def count_requests(self, ntables: int, way: Way) -> int | None:
        """Returns the requests of a plan of ours, as EXPLAIN tells."""
        if way not in (Way.OURS, Way.GUEST):
            return None
        schema, settings = PLACES[way]
        self.session.apply(settings)
        return self.session.explain(write_query(schema, ntables), analyze=True).requests


def run_cells(cluster: Cluster, rtt_us: int, nrounds: int, on_step: OnStep) -> list[CellResult]:
    """Measures all joins under one delay; each round, after one that warms up, runs each once."""
    samples_ms: dict[tuple[int, Way], list[float]] = {
        cell: [] for cell in itertools.product(range(2, MOST_TABLES + 1), Way)
    }
    stopped = set()
    with (
        measure.open_delayed_session(cluster, rtt_us) as session,
        measure.open_lines(cluster) as nodes,
    ):
        runner = Runner(session, nodes)
        for number in range(nrounds + 1):
            on_step(f"{rtt_us / 1000:g} ms, round {number} of {nrounds}")
            for cell, samples in samples_ms.items():
                if cell in stopped or sum(samples) >= CELL_MS:
                    continue
                elapsed_ms = runner.run(*cell)
                if elapsed_ms is None:
                    stopped.add(cell)
                elif number > 0:
                    samples.append(elapsed_ms)
        return [
            CellResult(
                who=str(way),
                ntables=ntables,
                rtt_us=rtt_us,
                timing=None if (ntables, way) in stopped else measure.summarize(samples),
                requests=runner.count_requests(ntables, way),
            )
            for (ntables, way), samples in samples_ms.items()
        ]


def run_hops(cluster: Cluster, nrounds: int, on_step: OnStep) -> Hops:
    """Makes the tables and measures under each delay, in sessions that know no other."""
    start_s = time.monotonic()
    on_step("filling the tables")
    fill_tables(cluster)
    cells = [cell for rtt_us in RTTS_US for cell in run_cells(cluster, rtt_us, nrounds, on_step)]
    return Hops(**results.describe_run(cluster, start_s), nrounds=nrounds, cells=tuple(cells))


HEAD = {
    "format": 3,
    "units": {
        "timing": f"ms, seen by a client of the query node; null: stopped after {LIMIT_MS:g} ms",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "requests": "statements to storage nodes, and pages of their answers, as EXPLAIN tells",
        "ntables": "tables of the join",
    },
}


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
        times = [
            format_ms(cell.timing.median_ms) if cell.timing else f"> {format_ms(LIMIT_MS)}"
            for cell in cells
        ]
        table.add_row(str(ntables), who, format_count(cells[0].requests), *times)
    table.caption = "Each table needs the row before it: a round trip each is the least."
    return [table]

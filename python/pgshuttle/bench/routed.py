"""What a routed statement by key costs the query node, beside foreign tables made by hand.

One session for each way executes the same prepared statements by turns. What counts is the
processor time of its server process: how far the nodes are does not matter.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from psycopg import pq, sql
from rich.table import Table
from rich.text import Text

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure, results
from pgshuttle.bench.making_tables import (
    execute,
    in_parentheses,
    make_foreign_table,
    make_schema,
    making,
)
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

NROUNDS = 9
NCALLS = 1000
NROWS = 20_000
BOUND = 1.25  # of the same statement on a foreign table of ours
COLUMNS = "id int, n int, note text"
FILL = """
CREATE TABLE {s}.item (id int PRIMARY KEY, n int, note text);
INSERT INTO {s}.item SELECT i, i % 97, 'note ' || i FROM generate_series(1, {nrows}) AS i"""


class Way(StrEnum):
    ROUTED = "routed"
    BY_HAND = "foreign table of ours"
    STOCK = "postgres_fdw"
    LOCAL = "local table"


SCHEMAS: Mapping[Way, str] = {
    Way.ROUTED: "routed_spread",
    Way.BY_HAND: "routed_by_hand",
    Way.STOCK: "routed_stock",
    Way.LOCAL: "routed_local",
}
STATEMENTS: Mapping[str, str] = {
    "SELECT": "SELECT n, note FROM item WHERE id = $1",
    "UPDATE": "UPDATE item SET n = n + 1 WHERE id = $1",
}


@dataclass(frozen=True)
class Cost:
    """Processor time of a call on the query node, in microseconds."""

    statement: str
    way: str
    samples_us: tuple[float, ...]
    least_us: float


@dataclass(frozen=True)
class Ratio:
    statement: str
    ratio: float
    bound: float
    ok: bool


@dataclass(frozen=True, kw_only=True)
class Routed(Run):
    ncalls: int
    costs: tuple[Cost, ...]
    ratios: tuple[Ratio, ...]

    @property
    def is_kept(self) -> bool:
        return all(ratio.ok for ratio in self.ratios)


def make_items(cluster: Cluster) -> None:
    """Makes all tables anew: a distributed one, one of the first node seen twice, a local one."""
    with making("the tables"):
        with catalog.connect_to_node(cluster.nodes[0]) as connection:
            make_schema(connection, SCHEMAS[Way.BY_HAND])
            execute(connection, FILL, SCHEMAS[Way.BY_HAND], nrows=NROWS)
            connection.execute("ANALYZE")
        with catalog.connect(cluster.query) as connection:
            for schema in SCHEMAS.values():
                make_schema(connection, schema)
            for way, server in (
                (Way.BY_HAND, catalog.engine_server_name(1)),
                (Way.STOCK, catalog.stock_server_name(1)),
            ):
                table = sql.Identifier(SCHEMAS[way], "item")
                there = {"schema_name": SCHEMAS[Way.BY_HAND]}
                make_foreign_table(connection, table, in_parentheses(COLUMNS), server, there)
            for way in (Way.ROUTED, Way.LOCAL):
                execute(connection, FILL, SCHEMAS[way], nrows=NROWS)
            key = f"{SCHEMAS[Way.ROUTED]}.item.id"
            connection.execute("SELECT shuttle.distribute_tables(%s)", [[key]])
            connection.execute("ANALYZE")


def read_processor_us(pid: int) -> float:
    """Returns the processor time of a process so far."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1000
    except (OSError, ValueError, IndexError):
        raise ToolError("this system does not tell the processor time of a process") from None


@contextmanager
def open_session(cluster: Cluster, way: Way) -> Iterator[Connection]:
    """Opens a session that has its statements prepared."""
    with catalog.connect(cluster.query) as connection:
        path = sql.SQL("SET search_path = {}").format(sql.Identifier(SCHEMAS[way]))
        connection.execute(path)
        for name, text in STATEMENTS.items():
            result = connection.pgconn.prepare(name.encode(), text.encode())
            measure.check_result(result, text)
        yield connection


def call(connection: Connection, name: str, ncalls: int) -> float:
    """Executes a prepared statement for so many keys; returns processor time of a call, in us."""
    pid = connection.info.backend_pid
    start_us = read_processor_us(pid)
    for number in range(ncalls):
        key = b"%d" % (number * 7919 % NROWS + 1)
        result = connection.pgconn.exec_prepared(name.encode(), [key])
        measure.check_result(result, STATEMENTS[name])
        if result.status == pq.ExecStatus.TUPLES_OK and result.ntuples != 1:
            raise ToolError(f"{STATEMENTS[name]}: {result.ntuples} rows instead of 1")
    return (read_processor_us(pid) - start_us) / ncalls


def measure_statement(
    sessions: Mapping[Way, Connection], name: str, nrounds: int, ncalls: int
) -> list[Cost]:
    samples = measure.take_turns(sessions, nrounds, lambda way: call(sessions[way], name, ncalls))
    return [
        Cost(name, way, tuple(round(one, 2) for one in samples[way]), round(min(samples[way]), 2))
        for way in sessions
    ]


def compare(costs: Sequence[Cost]) -> list[Ratio]:
    least_us = {(one.statement, one.way): one.least_us for one in costs}
    ratios = {
        name: round(least_us[name, Way.ROUTED] / least_us[name, Way.BY_HAND], 4)
        for name in STATEMENTS
    }
    return [Ratio(name, ratio, BOUND, ratio <= BOUND) for name, ratio in ratios.items()]


def run_routed(cluster: Cluster, on_step: OnStep, *, nrounds: int, ncalls: int) -> Routed:
    start_s = time.monotonic()
    on_step("making the tables")
    make_items(cluster)
    costs: list[Cost] = []
    with ExitStack() as stack:
        sessions = {way: stack.enter_context(open_session(cluster, way)) for way in Way}
        for name in STATEMENTS:
            on_step(name)
            costs += measure_statement(sessions, name, nrounds, ncalls)
    return Routed(
        **results.describe_run(cluster, start_s),
        ncalls=ncalls,
        costs=tuple(costs),
        ratios=tuple(compare(costs)),
    )


HEAD = {
    "format": 1,
    "units": {
        "*_us": "microseconds of processor time of the query node's session, a call",
        "ncalls": "calls of each sample",
        "ratio": "least of routed / least of the foreign table of ours",
        "bound": "that ratio is to be at most",
    },
}


def make_tables(found: Routed) -> list[Table]:
    """A row for each statement and way."""
    table = Table("statement", "way", "us a call", "times", "verdict")
    table.title = f"processor time of the query node, the least of rounds of {found.ncalls} calls"
    ratios = {ratio.statement: ratio for ratio in found.ratios}
    hand_us = {one.statement: one.least_us for one in found.costs if one.way == Way.BY_HAND}
    for one in found.costs:
        ratio = ratios[one.statement]
        verdict = "ok" if ratio.ok else Text("MISSED", style="red")
        table.add_row(
            one.statement,
            one.way,
            f"{one.least_us:.1f}",
            f"{one.least_us / hand_us[one.statement]:.2f}",
            verdict if one.way == Way.ROUTED else "",
        )
    table.caption = f"times: {Way.BY_HAND}; routed may take {BOUND:g} times as long."
    return [table]

"""What a batched join costs on this side: outer rows, keys and rows, but no node and no wire.

shuttle.debug_fake_answers has the answers made up in the query node. What is
measured stands beside what core does with the same rows in the same run, so
that the machine is in no figure.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import psycopg
from psycopg import sql

from pgshuttle import catalog, measure, results
from pgshuttle.errors import ToolError
from pgshuttle.measure import Connection, Session
from pgshuttle.results import Machine
from pgshuttle.state import Cluster

SCHEMA = "cpu"
NROWS = 1_000_000
NPARTITIONS = 200
NROUNDS = 7
NS_PER_MS = 1e6

OnStep = Callable[[str], None]


class Way(StrEnum):
    """What is measured."""

    OUTER = "reading the outer rows alone"
    HASH = "local hash join"
    POSITION = "batched join, by position"
    KEY = "batched join, by key"
    ROUTED = "batched join, routed append"
    APPEND = "batched join, core's Append"


@dataclass(frozen=True)
class Target:
    """A way that may take at most so much of another's time."""

    way: Way
    base: Way
    bound: float


TARGETS = (
    Target(Way.POSITION, Way.HASH, 0.6),
    Target(Way.KEY, Way.HASH, 0.6),
    Target(Way.ROUTED, Way.APPEND, 0.25),
)

# enough memory that the hash join needs no files
COMMON = {
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "256MB",
    "enable_mergejoin": "off",
}
BATCHED = {
    **COMMON,
    "enable_hashjoin": "off",
    "shuttle.debug_force_batched_join": "on",
    "shuttle.debug_fake_answers": "on",
    "client_min_messages": "error",  # each statement warns of that
}
SETTINGS: Mapping[Way, Mapping[str, str]] = {
    Way.OUTER: COMMON,
    Way.HASH: {**COMMON, "enable_nestloop": "off"},
    Way.POSITION: BATCHED,
    Way.KEY: {**BATCHED, "shuttle.debug_find_by_key": "on"},
    Way.ROUTED: BATCHED,
    Way.APPEND: {**BATCHED, "shuttle.enable_routed_append": "off"},
}
INNER = {Way.HASH: "here", Way.ROUTED: "parts", Way.APPEND: "parts"}
JOINS = {Way.OUTER: (), Way.HASH: ("hash join",)}


@dataclass(frozen=True)
class WayResult:
    """One way. Of several samples the shortest counts: the rest is noise."""

    way: str
    query: str
    plan: str
    samples_ms: tuple[float, ...]
    row_ns: float


@dataclass(frozen=True)
class Ratio:
    """A way's time an outer row as a part of another's."""

    way: str
    base: str
    ratio: float
    bound: float

    @property
    def ok(self) -> bool:
        """Says if the target is met."""
        return self.ratio <= self.bound


@dataclass(frozen=True)
class Cpu:
    """All that one run found out."""

    made_at: str
    nrows: int
    npartitions: int
    elapsed_s: float
    machine: Machine
    server: Mapping[str, str]
    settings: Mapping[str, str]
    ways: tuple[WayResult, ...]
    ratios: tuple[Ratio, ...]


def make_inner(connection: Connection, npartitions: int) -> None:
    """Makes the foreign inner sides; no row of theirs is ever read."""
    node = sql.Identifier(catalog.engine_server_name(1))
    schema = sql.Identifier(SCHEMA)
    table = sql.SQL("CREATE FOREIGN TABLE {}.there (id int, x int) SERVER {}")
    connection.execute(table.format(schema, node))
    parent = sql.SQL("CREATE TABLE {}.parts (id int, x int) PARTITION BY HASH (id)")
    connection.execute(parent.format(schema))
    for part in range(npartitions):
        partition = sql.SQL(
            "CREATE FOREIGN TABLE {}.{} PARTITION OF {}.parts"
            " FOR VALUES WITH (MODULUS {}, REMAINDER {}) SERVER {}"
        )
        name = sql.Identifier(f"part{part}")
        numbers = (sql.Literal(npartitions), sql.Literal(part))
        connection.execute(partition.format(schema, name, schema, *numbers, node))


def make_tables(cluster: Cluster, nrows: int, npartitions: int) -> None:
    """Makes all tables anew."""
    schema = sql.Identifier(SCHEMA)
    fill = sql.SQL(
        "CREATE TABLE {}.{} AS SELECT i::int AS id, (i * 7919 %% 100000)::int AS x"
        " FROM generate_series(1, {}::bigint) AS i"
    )
    try:
        with catalog.connect(cluster.query) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
            for name in ("outer_rows", "here"):
                table = sql.Identifier(name)
                connection.execute(fill.format(schema, table, sql.Literal(nrows)), [])
                connection.execute(sql.SQL("VACUUM (ANALYZE) {}.{}").format(schema, table))
            make_inner(connection, npartitions)
    except psycopg.Error as error:
        raise ToolError(f"could not make the tables: {error}".strip()) from None


def write_query(way: Way) -> sql.Composed:
    """Writes the query of a way; it reads two columns of each side."""
    if way is Way.OUTER:
        query = sql.SQL("SELECT count(o.id), sum(o.x) FROM {}.outer_rows o")
        return query.format(sql.Identifier(SCHEMA))
    query = sql.SQL(
        "SELECT count(i.id), sum(o.x), sum(i.x) FROM {}.outer_rows o JOIN {}.{} i ON i.id = o.id"
    )
    inner = sql.Identifier(INNER.get(way, "there"))
    return query.format(sql.Identifier(SCHEMA), sql.Identifier(SCHEMA), inner)


def name_statement(way: Way) -> sql.Identifier:
    """Names the prepared statement of a way."""
    return sql.Identifier(way.name.lower())


def prepare(session: Session, way: Way) -> str:
    """Plans a way's query once, and makes sure that it is joined so; returns the plan's shape."""
    query = write_query(way)
    session.apply(SETTINGS[way])
    facts = session.explain(query, analyze=False)
    if facts.joins != JOINS.get(way, ("batched join",)):
        raise ToolError(f"{way}: the planner made another plan: {facts.shape}")
    statement = sql.SQL("PREPARE {} AS {}").format(name_statement(way), query)
    try:
        session.connection.execute(statement)
    except psycopg.Error as error:
        raise ToolError(f"{way} could not be planned: {error}".strip()) from None
    return facts.shape


def run_rounds(
    session: Session, ways: Sequence[Way], nrounds: int, on_step: OnStep
) -> dict[Way, list[float]]:
    """Executes the ways in turn, so that a disturbance meets all alike."""
    samples_ms: dict[Way, list[float]] = {way: [] for way in ways}
    for number in range(nrounds + 1):
        on_step(f"round {number} of {nrounds}" if number else "warming up")
        for way in ways:
            session.apply(SETTINGS[way])
            elapsed = session.time(sql.SQL("EXECUTE {}").format(name_statement(way)))
            if number > 0:
                samples_ms[way].append(elapsed.elapsed_ms)
    return samples_ms


def compare(found: Sequence[WayResult]) -> list[Ratio]:
    """Compares the ways that there is a target for."""
    row_ns = {result.way: result.row_ns for result in found}
    return [
        Ratio(
            way=target.way,
            base=target.base,
            ratio=round(row_ns[target.way] / row_ns[target.base], 4),
            bound=target.bound,
        )
        for target in TARGETS
    ]


def run_cpu(
    cluster: Cluster, on_step: OnStep, *, nrows: int, npartitions: int, nrounds: int
) -> Cpu:
    """Makes the tables and measures all ways."""
    start_s = time.monotonic()
    on_step("filling the tables")
    make_tables(cluster, nrows, npartitions)
    session = measure.open_session(cluster)
    with session.connection:
        plans = {way: prepare(session, way) for way in Way}
        samples_ms = run_rounds(session, list(Way), nrounds, on_step)
    found = tuple(
        WayResult(
            way=way,
            query=write_query(way).as_string(),
            plan=plans[way],
            samples_ms=tuple(round(sample, 3) for sample in samples_ms[way]),
            row_ns=round(min(samples_ms[way]) * NS_PER_MS / nrows, 1),
        )
        for way in Way
    )
    return Cpu(
        made_at=results.make_timestamp(),
        nrows=nrows,
        npartitions=npartitions,
        elapsed_s=round(time.monotonic() - start_s, 1),
        machine=results.read_machine(),
        server=results.read_server(cluster),
        settings=results.read_settings(cluster) | dict(COMMON),
        ways=found,
        ratios=tuple(compare(found)),
    )

"""Tables that are spread over nodes, and those that could be."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import groupby

from psycopg.rows import class_row

from pgshuttle.base.connections import Connection, with_short_names

LOOK_S = 0.2

ADVICE = with_short_names("""
SELECT SHORT_NAME(relation) AS table, kind, coalesce(key, '') AS key, because,
    coalesce(relation::text || '.' || quote_ident(key), '') AS qualified_key,
    coalesce(atttypid || ' ' || attcollation, '') AS key_type
FROM shuttle.advise() LEFT JOIN pg_attribute ON attrelid = relation AND attname = key
""")

TABLES = with_short_names("""
SELECT SHORT_NAME(t.relation) AS table, t.kind, coalesce(a.attname, '') AS key,
    count(p.tablet) AS tablets,
    coalesce(array_agg(DISTINCT p.node::text) FILTER (WHERE p.node IS NOT NULL),
             ARRAY(SELECT node::text FROM shuttle.storage_nodes ORDER BY node)) AS nodes,
    coalesce(sum(p.estimated_rows), nullif(c.reltuples, -1))::bigint AS rows,
    CASE t.kind WHEN 'reference' THEN pg_table_size(t.relation)
        ELSE sum(p.estimated_bytes) END::bigint AS bytes
FROM shuttle.tables t
    JOIN pg_class c ON c.oid = t.relation
    LEFT JOIN shuttle.tablets p ON p.relation = t.relation
    LEFT JOIN pg_partitioned_table s ON s.partrelid = t.relation
    LEFT JOIN pg_attribute a ON a.attrelid = t.relation AND a.attnum = s.partattrs[0]
WHERE t.kind <> 'partitioned'
GROUP BY t.relation, t.kind, a.attname, c.reltuples ORDER BY 1
""")

PROGRESS = with_short_names("""
SELECT SHORT_NAME(relation) AS table, phase, rows, percent::float8 AS percent
FROM shuttle.progress WHERE pid = %s
""")


@dataclass(frozen=True)
class Advice:
    """What could become of a table, and why."""

    table: str
    kind: str  # distribute, reference, local
    key: str
    because: str
    qualified_key: str
    key_type: str


@dataclass(frozen=True)
class SpreadTable:
    """A table that nodes have; numbers are the statistics', None: not analyzed."""

    table: str
    kind: str
    key: str
    tablets: int
    nodes: list[str]
    rows: int | None
    bytes: int | None


@dataclass(frozen=True)
class Progress:
    table: str
    phase: str
    rows: int
    percent: float | None


@dataclass(frozen=True)
class Step:
    sql: str
    values: list[object]


def read_advice(connection: Connection) -> list[Advice]:
    with connection.cursor(row_factory=class_row(Advice)) as cursor:
        return cursor.execute(ADVICE).fetchall()


def read_tables(connection: Connection) -> list[SpreadTable]:
    with connection.cursor(row_factory=class_row(SpreadTable)) as cursor:
        return cursor.execute(TABLES).fetchall()


def make_steps(keys: list[str], references: list[str], tablets: int | None) -> list[Step]:
    """Reference tables come first: foreign keys may lead to them."""
    steps = [Step("SELECT shuttle.reference_table(%s)", [table]) for table in references]
    if keys:
        query = "SELECT shuttle.distribute_tables(%s, tablets => %s)"
        steps.append(Step(query, [keys, tablets]))
    return steps


def follow_advice(advice: list[Advice], tablets: int | None) -> list[Step]:
    """Tables whose keys have one type become one group."""
    steps = make_steps([], [one.table for one in advice if one.kind == "reference"], tablets)
    spread = sorted((one for one in advice if one.kind == "distribute"), key=lambda a: a.key_type)
    for _, group in groupby(spread, key=lambda a: a.key_type):
        steps += make_steps([one.qualified_key for one in group], [], tablets)
    return steps


def run_steps(
    connection: Connection, watcher: Connection, steps: list[Step], show: Callable[[Progress], None]
) -> None:
    """Runs the steps in one transaction, and shows how far the server is.

    Users name tables in the steps: the connection searches for them as this role does.
    watcher: another connection. An interrupt cancels all.
    """

    def run() -> None:
        connection.execute("RESET search_path")
        with connection.transaction():
            for step in steps:
                connection.execute(step.sql.encode(), step.values)

    with ThreadPoolExecutor(1) as pool, watcher.cursor(row_factory=class_row(Progress)) as cursor:
        work = pool.submit(run)
        try:
            while not wait([work], LOOK_S).done:
                for progress in cursor.execute(PROGRESS, [connection.info.backend_pid]):
                    show(progress)
        except BaseException:
            connection.cancel()
            raise
        work.result()

"""Part 2 of the demo: what nodes filter, sort and limit, and writes that are sent together.

The employees of a published text, on the second node; departments on the first. Statements run
over our wrapper, over stock postgres_fdw and over local tables, and what they leave is compared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from psycopg import sql
from rich.table import Table

from pgshuttle.base.connections import Connection
from pgshuttle.base.printing import format_count, format_ms, make_part_table
from pgshuttle.bench import measure
from pgshuttle.bench.making_tables import SERVER_NAMES, execute, make_schema, making, write
from pgshuttle.bench.measure import Session
from pgshuttle.bench.results import OnStep
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.demo import published_figures
from pgshuttle.demo.claims import Claim, check
from pgshuttle.look import plan_facts

RTT_US = 1000
NROUNDS = 5
ON_NODES = "push_downs"
HERE = "push_here"
SCHEMAS = {"OURS": "push_ours", "STOCK": "push_stock"}
SORTS = ("Sort", "Incremental Sort")
NUPDATED = 2678

MAKE = """
CREATE TABLE {s}.dept (deptno int PRIMARY KEY, dname text, loc text);
INSERT INTO {s}.dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS'),
    (30, 'SALES', 'CHICAGO'), (40, 'OPERATIONS', 'BOSTON');
CREATE TABLE {s}.emp AS
SELECT i AS empno, 'employee ' || i AS ename, 10 + 10 * (i / 22 % 4) AS deptno,
    CASE WHEN i % 22 = 0 AND i <= 22 * 440 THEN 40 ELSE 12 + i % 22 END::numeric(7, 2) AS sal,
    CASE WHEN i % 22 = 0 THEN 7 + i % 5 WHEN i % 550 = 7 THEN 30 WHEN i % 3 = 0 THEN 1
        END::numeric(7, 2) AS comm
FROM generate_series(1, 10014) AS i;
ALTER TABLE {s}.emp ADD PRIMARY KEY (empno);
CREATE TABLE {s}.person (name text PRIMARY KEY);
INSERT INTO {s}.person SELECT 'name ' || i FROM generate_series(1, 14) AS i;
ANALYZE {s}.dept; ANALYZE {s}.emp; ANALYZE {s}.person"""
MAKE_SOURCES = """
CREATE TABLE {s}.raise AS
SELECT i * 3 AS empno, (i % 7)::numeric(7, 2) AS amount FROM generate_series(1, {nupdated}) AS i;
CREATE TABLE {s}.asked AS SELECT 'name ' || i AS name FROM generate_series(1, 29) AS i;
CREATE FUNCTION {s}.earnings(sal numeric, comm numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
'SELECT CASE WHEN comm IS NULL THEN sal ELSE sal + comm END';
ANALYZE {s}.raise; ANALYZE {s}.asked"""
IMPORT = """
IMPORT FOREIGN SCHEMA {on_nodes} LIMIT TO (dept) FROM SERVER {first} INTO {s};
IMPORT FOREIGN SCHEMA {on_nodes} LIMIT TO (emp, person) FROM SERVER {second} INTO {s};
ANALYZE {s}.dept; ANALYZE {s}.emp; ANALYZE {s}.person"""


class Case(StrEnum):
    """What is asked of 10 014 employees and 4 departments, and of 29 names, 14 of them known."""

    JOIN = "first 5 of a join, by number"
    UPDATE = f"UPDATE of {NUPDATED} rows in a CTE"
    CONFLICT = "29 names, ON CONFLICT DO NOTHING"
    ANTI_JOIN = "29 names, anti join in a CTE"


@dataclass(frozen=True)
class Asked:
    """A statement over tables of {s}, and what it leaves; {h}: what is local for everyone."""

    text: str
    leaves: str | None = None  # the table that it writes


STATEMENTS = {
    Case.JOIN: Asked(
        """
SELECT empno, ename, dname, {h}.earnings(sal, comm)
FROM {s}.dept JOIN {s}.emp ON dept.deptno = emp.deptno
WHERE {h}.earnings(sal, comm) > 42 AND dept.loc <> 'DALLAS'
ORDER BY emp.empno FETCH FIRST 5 ROWS ONLY"""
    ),
    Case.UPDATE: Asked(
        """
WITH raised AS (UPDATE {s}.emp SET sal = sal + amount FROM {h}.raise
    WHERE raise.empno = emp.empno RETURNING emp.empno)
SELECT count(*) FROM {h}.raise""",
        "emp",
    ),
    Case.CONFLICT: Asked(
        "INSERT INTO {s}.person SELECT name FROM {h}.asked ON CONFLICT DO NOTHING", "person"
    ),
    Case.ANTI_JOIN: Asked(
        """
WITH unknown AS (SELECT name FROM {h}.asked
    WHERE NOT EXISTS (SELECT FROM {s}.person WHERE person.name = asked.name))
INSERT INTO {s}.person SELECT name FROM unknown""",
        "person",
    ),
}


@dataclass(frozen=True)
class Statement:
    """What a statement took. read_requests, flush_requests: ours; of writes all rows of a flush.

    ndifferent: rows of its answer, and of the table that it wrote, that are not those over local
    tables, ours and postgres_fdw's.
    """

    case: str
    read_requests: int
    flush_requests: int
    is_sorted_here: bool
    ours_ms: float
    stock_ms: float
    ndifferent: int


@dataclass(frozen=True)
class PushDowns:
    rtt_us: int
    statements: tuple[Statement, ...]


def make_tables(cluster: Cluster) -> None:
    with making("the employees"):
        for node in cluster.nodes[:2]:
            with catalog.connect_to_node(node) as connection:
                make_schema(connection, ON_NODES)
                execute(connection, MAKE, ON_NODES)
        with catalog.connect(cluster.query) as connection:
            make_schema(connection, HERE)
            execute(connection, MAKE + ";" + MAKE_SOURCES, HERE, nupdated=NUPDATED)
            for way, schema in SCHEMAS.items():
                make_schema(connection, schema)
                first, second = (sql.Identifier(SERVER_NAMES[way](number)) for number in (1, 2))
                on_nodes = sql.Identifier(ON_NODES)
                execute(connection, IMPORT, schema, on_nodes=on_nodes, first=first, second=second)


def write_statement(case: Case, schema: str) -> sql.Composed:
    return write(STATEMENTS[case].text, schema, h=sql.Identifier(HERE))


@contextmanager
def taken_back(connection: Connection, case: Case) -> Iterator[None]:
    """Takes back what a statement writes; one that only reads commits by itself."""
    if STATEMENTS[case].leaves is None:
        yield
        return
    with connection.transaction(force_rollback=True):
        yield


def read_rows(connection: Connection, case: Case, schema: str) -> Counter[tuple[Any, ...]]:
    """Executes a statement and takes it back; returns its rows, and those of what it wrote."""
    with taken_back(connection, case):
        cursor = connection.execute(write_statement(case, schema))
        found = Counter(cursor.fetchall() if cursor.description else [])
        if (table := STATEMENTS[case].leaves) is not None:
            query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, table))
            found.update(connection.execute(query).fetchall())
    return found


def count_different(connection: Connection, case: Case) -> int:
    local = read_rows(connection, case, HERE)
    others = [read_rows(connection, case, schema) for schema in SCHEMAS.values()]
    return sum((other - local).total() + (local - other).total() for other in others)


def time_statement(session: Session, case: Case, way: str) -> float:
    query = write_statement(case, SCHEMAS[way])
    with taken_back(session.connection, case):
        return session.time(query).elapsed_ms


def explain_statement(session: Session, case: Case) -> Mapping[str, Any]:
    query = write_statement(case, SCHEMAS["OURS"])
    with taken_back(session.connection, case):
        return session.explain_with("ANALYZE, DIST, FORMAT JSON", query)[0]


def measure_statement(session: Session, case: Case) -> Statement:
    """Counts and times a statement, ours with the library's own settings."""
    session.apply({})
    answer = explain_statement(session, case)
    ours_ms = [time_statement(session, case, "OURS") for _ in range(NROUNDS)]
    session.apply({"shuttle.enable_batched_join": "off"})
    stock_ms = time_statement(session, case, "STOCK")
    return Statement(
        case=str(case),
        read_requests=answer[plan_facts.READ_REQUESTS],
        flush_requests=answer["Storage Flush Requests"],
        is_sorted_here=any(one["Node Type"] in SORTS for one in plan_facts.walk(answer["Plan"])),
        ours_ms=measure.summarize(ours_ms).median_ms,
        stock_ms=round(stock_ms, 4),
        ndifferent=count_different(session.connection, case),
    )


def run(cluster: Cluster, on_step: OnStep) -> PushDowns:
    on_step("push-downs and buffered writes: filling the tables")
    make_tables(cluster)
    found = []
    with measure.open_delayed_session(cluster, RTT_US) as session:
        for case in Case:
            on_step(f"push-downs and buffered writes: {case}")
            found.append(measure_statement(session, case))
    return PushDowns(RTT_US, tuple(found))


def check_claims(found: PushDowns) -> Iterator[Claim]:
    """Two reads for the join and none of all rows, one flush for each write, and equal rows."""
    for one in found.statements:
        name = f"push-downs and buffered writes; {one.case}"
        if one.case == Case.JOIN:
            yield check(f"{name}, read requests", "requests", one.read_requests, 2)
            yield check(f"{name}, sorts here", "sorts", int(one.is_sorted_here), 0)
        else:
            yield check(f"{name}, flush requests", "requests", one.flush_requests, 1)
        yield check(f"{name}, not as over local tables", "rows", one.ndifferent, 0)


def make_table(found: PushDowns) -> Table:
    table = make_part_table(
        "statement", "reads", "published", "flushes", "published ", "time", "postgres_fdw"
    )
    for one in found.statements:
        reads, flushes = published_figures.PUSH_DOWNS[one.case]
        table.add_row(
            one.case,
            format_count(one.read_requests),
            reads,
            format_count(one.flush_requests),
            flushes,
            format_ms(one.ours_ms),
            format_ms(one.stock_ms),
        )
    table.title = (
        "2. Push-downs and buffered writes: 10 014 employees on one server, departments on "
        f"another, {found.rtt_us / 1000:g} ms away"
    )
    ndifferent = sum(one.ndifferent for one in found.statements)
    table.caption = (
        "Rows are those over local tables."
        if ndifferent == 0
        else f"{ndifferent} ROWS ARE NOT THOSE OVER LOCAL TABLES."
    )
    return table

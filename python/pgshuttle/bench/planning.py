"""What planning a query over many partitions takes, beside PostgreSQL without the library.

Three sessions of one server plan the same queries by turns: one that has not loaded the
library, one that has, both over tables of postgres_fdw's, and one over the same tables of
our wrapper's. Each of them does the same work every time, so the shortest time counts: what
others take longer is due to the machine.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum

import psycopg
from psycopg import sql
from psycopg.pq.abc import PGresult
from rich.table import Table
from rich.text import Text

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure, planning_tables, results
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.cluster import catalog
from pgshuttle.cluster.builds import EXTENSION
from pgshuttle.cluster.state import Cluster
from pgshuttle.look import plan_facts

NROUNDS = 25
BOUND = 1.5


class Way(StrEnum):
    STOCK = "stock"
    GUEST = "guest"
    ENGINE = "engine"


@dataclass(frozen=True)
class Query:
    """A query that is planned. parameters: types and a value of each; its plan is generic."""

    label: str
    text: str
    parameters: Mapping[str, str] | None = None


QUERIES = (
    Query("one condition", "SELECT o.id, h.x FROM o JOIN h ON h.id = o.k"),
    Query("two conditions", "SELECT o.id, h.x FROM o JOIN h ON h.id = o.k AND h.x = o.x"),
    Query(
        "three columns, filters",
        "SELECT o.id, h FROM o JOIN h ON h.id = o.k"
        " AND h.x < 50 AND h.note > 'a' AND h.note LIKE '%7%'",
    ),
    Query("left join", "SELECT o.id, h.x FROM o LEFT JOIN h ON h.id = o.k"),
    Query("semi join", "SELECT o.id FROM o WHERE EXISTS (SELECT FROM h WHERE h.id = o.k)"),
    Query("by range", "SELECT o.id, r.x FROM o JOIN r ON r.id = o.k"),
    Query("a range of keys", "SELECT o.id, r.x FROM o JOIN r ON r.id BETWEEN o.k AND o.k + 3"),
    Query("UNION ALL", "SELECT o.id, u.x FROM o JOIN u ON u.id = o.k"),
    Query(
        "two tables and one here",
        "SELECT o.id, h.x, r.x FROM o JOIN h ON h.id = o.k JOIN r ON r.id = h.x",
    ),
    Query(
        "both from one here",
        "SELECT o.id, h.x, r.x FROM o JOIN h ON h.id = o.k JOIN r ON r.id = o.x",
    ),
    Query("prepared", "SELECT o.id, h.x FROM o JOIN h ON h.id = o.k AND h.x > $1", {"int": "7"}),
    Query("50 columns", "SELECT o.id, w.* FROM o JOIN w ON w.id = o.k"),
    Query("50 columns, two of them", "SELECT o.id, w.column7 FROM o JOIN w ON w.id = o.k"),
    Query(
        "LATERAL",
        "SELECT o.id, s.x FROM o CROSS JOIN LATERAL"
        " (SELECT h.x FROM h WHERE h.id = o.k ORDER BY h.x LIMIT 1) AS s",
    ),
    Query("subquery", "SELECT o.id, (SELECT max(h.x) FROM h WHERE h.id = o.k) FROM o"),
    Query("many keys", "SELECT b.id, h.x FROM big AS b JOIN h ON h.id = b.k"),
    Query("groups", "SELECT h.x, count(*) FROM o JOIN h ON h.id = o.k GROUP BY h.x"),
    Query("alone", "SELECT h.id, h.x FROM h WHERE h.x > 7"),
)


@dataclass(frozen=True)
class Planned:
    label: str
    query: str
    way: str
    joins: tuple[str, ...]
    samples_ms: tuple[float, ...]
    shortest_ms: float


@dataclass(frozen=True)
class Ratio:
    """What one of ours takes as a part of what stock takes, and how large it may be."""

    label: str
    way: str
    ratio: float
    bound: float
    ok: bool


@dataclass(frozen=True, kw_only=True)
class PlanTimes(Run):
    nparts: int
    nrounds: int
    planned: tuple[Planned, ...]
    ratios: tuple[Ratio, ...]

    @property
    def is_kept(self) -> bool:
        return all(ratio.ok for ratio in self.ratios)


def open_session(cluster: Cluster, way: Way) -> Connection:
    """Opens a session of the first node. Closing it is the caller's."""
    connection = catalog.connect(cluster.nodes[0].server)
    try:
        if way is not Way.STOCK:
            connection.execute(sql.SQL("LOAD {}").format(sql.Literal(EXTENSION)))
        schema = (
            planning_tables.ENGINE_SCHEMA if way is Way.ENGINE else planning_tables.STOCK_SCHEMA
        )
        path = sql.SQL("SET search_path = {}, {}")
        local = sql.Identifier(planning_tables.LOCAL_SCHEMA)
        connection.execute(path.format(sql.Identifier(schema), local))
        connection.execute("SET plan_cache_mode = force_generic_plan")
    except psycopg.Error as error:
        connection.close()
        raise ToolError(f"could not open a session: {error}".strip()) from None
    return connection


def execute(connection: Connection, text: str) -> PGresult:
    result = connection.pgconn.exec_(text.encode())
    measure.check_result(result, text)
    return result


def plan_once(connection: Connection, query: Query) -> plan_facts.PlanFacts:
    text = query.text
    if query.parameters is not None:
        execute(connection, f"PREPARE q ({', '.join(query.parameters)}) AS {text}")
        text = f"EXECUTE q ({', '.join(query.parameters.values())})"
    result = execute(connection, f"EXPLAIN (SUMMARY, FORMAT JSON) {text}")
    if query.parameters is not None:
        execute(connection, "DEALLOCATE q")
    return plan_facts.read_plan(measure.read_explained(result))


def measure_query(sessions: Mapping[Way, Connection], query: Query, nrounds: int) -> list[Planned]:
    """Plans a query by turns, after once that fills the caches."""
    plans = measure.take_turns(sessions, nrounds, lambda way: plan_once(sessions[way], query))
    samples_ms = {way: [facts.planning_ms or 0.0 for facts in plans[way]] for way in plans}
    return [
        Planned(
            label=query.label,
            query=query.text,
            way=way,
            joins=plans[way][0].joins,
            samples_ms=tuple(samples_ms[way]),
            shortest_ms=round(min(samples_ms[way]), 4),
        )
        for way in sessions
    ]


def compare(planned: Sequence[Planned]) -> list[Ratio]:
    stock_ms = {one.label: one.shortest_ms for one in planned if one.way == Way.STOCK}
    ratios = [
        (one, round(one.shortest_ms / stock_ms[one.label], 4))
        for one in planned
        if one.way != Way.STOCK
    ]
    return [Ratio(one.label, one.way, ratio, BOUND, ratio <= BOUND) for one, ratio in ratios]


def run_planning(cluster: Cluster, on_step: OnStep, *, npartitions: int, nrounds: int) -> PlanTimes:
    start_s = time.monotonic()
    on_step("making the tables")
    planning_tables.make_tables(cluster, npartitions)
    planned: list[Planned] = []
    with ExitStack() as stack:
        sessions = {way: stack.enter_context(open_session(cluster, way)) for way in Way}
        for query in QUERIES:
            on_step(query.label)
            planned += measure_query(sessions, query, nrounds)
    return PlanTimes(
        **results.describe_run(cluster, start_s),
        nparts=npartitions,
        nrounds=nrounds,
        planned=tuple(planned),
        ratios=tuple(compare(planned)),
    )


HEAD = {
    "format": 2,
    "units": {
        "samples_ms": "milliseconds of planning, as EXPLAIN (SUMMARY) tells",
        "nparts": "partitions of each table",
        "ratio": "shortest of the way / shortest of stock",
        "bound": "that ratio is to be at most",
    },
}


def make_tables(found: PlanTimes) -> list[Table]:
    """A row for each query and way of ours."""
    planned = {(one.label, one.way): one for one in found.planned}
    table = Table("query", "over", "joins", "stock", "ours", "times", "verdict")
    table.title = f"planning with {found.nparts} partitions, the shortest of {found.nrounds} rounds"
    for ratio in found.ratios:
        ours = planned[(ratio.label, ratio.way)]
        stock = planned[(ratio.label, Way.STOCK)]
        table.add_row(
            ratio.label,
            ratio.way,
            ", ".join(ours.joins),
            f"{stock.shortest_ms:.2f} ms",
            f"{ours.shortest_ms:.2f} ms",
            f"{ratio.ratio:.2f}",
            "ok" if ratio.ok else Text("MISSED", style="red"),
        )
    table.caption = f"Over postgres_fdw (guest) or our wrapper (engine); at most {BOUND:g} times."
    return [table]

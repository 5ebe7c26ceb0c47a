"""Part 5 of the demo: tables that are spread over nodes by one call, and moved under writers."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from rich.table import Table

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.base.printing import format_ms, make_part_table
from pgshuttle.bench import measure
from pgshuttle.bench.making_tables import execute, make_schema, making, write
from pgshuttle.bench.results import OnStep
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster, open_proxies
from pgshuttle.demo.claims import Claim, check
from pgshuttle.demo.writers import NEW_IDS, NWRITERS, Bucket, Writer, fill_buckets, run_writers

RTT_US = 1000
SCHEMA = "spread"
NROUNDS = 5
BEFORE_S = 2.0  # that writers write before the node is added, and behind the moves
MOST_WAIT_MS = 1000

MAKE = """
CREATE TABLE {s}.customer (id bigint PRIMARY KEY, name text, spent bigint);
CREATE TABLE {s}.orders (id bigint, customer_id bigint REFERENCES {s}.customer, total int,
    PRIMARY KEY (customer_id, id));
INSERT INTO {s}.customer SELECT i, 'customer ' || i, 0 FROM generate_series(1, {ncustomers}) AS i;
INSERT INTO {s}.orders
SELECT i, 1 + i % {ncustomers}, i % 100 FROM generate_series(1, {norders}) AS i;
UPDATE {s}.customer SET spent = (SELECT sum(total) FROM {s}.orders WHERE customer_id = customer.id);
ANALYZE {s}.customer; ANALYZE {s}.orders"""
QUERY = """
SELECT name, sum(total) FROM {s}.customer JOIN {s}.orders ON customer_id = customer.id
GROUP BY name ORDER BY 2 DESC, 1 LIMIT 5"""
READ_NEW = "SELECT id FROM {s}.orders WHERE id > {least}"
# customers whose orders are not what they spent
READ_WRONG = """
SELECT count(*) FROM {s}.customer
LEFT JOIN (SELECT customer_id, sum(total) AS total FROM {s}.orders GROUP BY 1) AS o
    ON customer_id = customer.id
WHERE spent IS DISTINCT FROM total"""
TABLES = f"{{{SCHEMA}.customer, {SCHEMA}.orders}}"
KEYS = f"{{{SCHEMA}.customer.id, {SCHEMA}.orders.customer_id}}"
TABLETS = "SELECT node::text FROM shuttle.tablets WHERE relation = %s::regclass"


@dataclass(frozen=True)
class Sizes:
    ncustomers: int = 1000
    norders: int = 50_000


@dataclass(frozen=True)
class Stage:
    """The tables in one state. took_s: what led to it; None: nothing did."""

    name: str
    tablets: Mapping[str, int]  # of the orders, by their node
    took_s: float | None
    query_ms: float


@dataclass(frozen=True)
class Writing:
    """What writers did meanwhile. begin_s, end_s: when tablets moved, from when they began.

    longest_ms: of all transactions that ended between; usual_ms: the median of those before.
    lost: orders that were acknowledged and are not there. unknown: the other way round. wrong:
    customers who did not spend what they ordered.
    """

    buckets: tuple[Bucket, ...]
    begin_s: float
    end_s: float
    nmoves: int
    ncommitted: int
    usual_ms: float
    longest_ms: float
    failed: Mapping[str, int]  # by SQLSTATE
    lost: int
    unknown: int
    wrong: int


@dataclass(frozen=True)
class Spreading:
    """ndifferent: answers over nodes that are not those of the same rows in local tables."""

    rtt_us: int
    sizes: Sizes
    stages: tuple[Stage, ...]
    writing: Writing
    ndifferent: int


class Runner:
    """A session that looks and moves."""

    def __init__(self, cluster: Cluster, connection: Connection, sizes: Sizes) -> None:
        self.cluster = cluster
        self.connection = connection
        self.sizes = sizes
        self.stages: list[Stage] = []

    def read(self, text: str, **values: object) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(write(text, SCHEMA, **values)).fetchall())

    def find_tablets(self) -> Counter[str]:
        """How many tablets of the orders each node has."""
        found = connections.read_rows(self.connection, TABLETS, f"{SCHEMA}.orders")
        return Counter(str(row[0]) for row in found)

    def add_stage(self, name: str, took_s: float | None) -> list[tuple[Any, ...]]:
        """Times the query, and looks where the tablets are; returns the query's answer."""
        timed = [measure.time_ms(lambda: self.read(QUERY)) for _ in range(NROUNDS)]
        timing = measure.summarize([elapsed_ms for elapsed_ms, _ in timed])
        tablets = dict(sorted(self.find_tablets().items()))
        self.stages.append(Stage(name, tablets, took_s, timing.median_ms))
        return timed[-1][1]

    def call(self, text: str, *values: object) -> float:
        """Executes a call; returns the seconds that it took."""
        elapsed_ms, _ = measure.time_ms(
            lambda: self.connection.execute(text.encode(), values or None)
        )
        return round(elapsed_ms / 1000, 3)

    def add_node(self) -> None:
        node = self.cluster.nodes[-1]
        self.call(
            "SELECT * FROM shuttle.add_node(%s, '127.0.0.1', %s, user_name => %s, password => %s)",
            node.server.name,
            node.front.port,
            catalog.REMOTE_USER,
            catalog.REMOTE_USER,
        )

    def move_under_writers(self) -> Writing:
        with run_writers(self.cluster, SCHEMA, self.sizes.ncustomers) as writers:
            start_s = time.monotonic()
            time.sleep(BEFORE_S)
            begin_s = time.monotonic()
            self.add_node()
            with catalog.may_subscribe(self.cluster):
                self.call(
                    "CALL shuttle.rebalance(by => 'tablets', colocated_with => 'spread.orders')"
                )
            end_s = time.monotonic()
            time.sleep(BEFORE_S)
        return self.look_behind(writers, start_s, begin_s, end_s)

    def look_behind(
        self, writers: Sequence[Writer], start_s: float, begin_s: float, end_s: float
    ) -> Writing:
        """Compares what is there with what was acknowledged."""
        waits = sorted(wait for writer in writers for wait in writer.waits)
        written = {number for writer in writers for number in writer.written}
        there = {int(row[0]) for row in self.read(READ_NEW, least=NEW_IDS)}
        ((wrong,),) = self.read(READ_WRONG)
        return Writing(
            buckets=tuple(fill_buckets(waits, start_s)),
            begin_s=round(begin_s - start_s, 3),
            end_s=round(end_s - start_s, 3),
            nmoves=self.find_tablets()[self.cluster.nodes[-1].server.name],
            ncommitted=len(written),
            usual_ms=measure.summarize([ms for at_s, ms in waits if at_s < begin_s]).median_ms,
            longest_ms=round(max(ms for at_s, ms in waits if at_s >= begin_s), 3),
            failed=dict(sum((writer.failed for writer in writers), Counter())),
            lost=len(written - there),
            unknown=len(there - written),
            wrong=int(wrong),
        )


def leave_last_node(cluster: Cluster) -> None:
    """Has the query node know nothing of the last node, which joins later."""
    with making("room for one more node"), catalog.connect(cluster.query) as connection:
        execute(connection, "DROP SCHEMA IF EXISTS {s} CASCADE", SCHEMA)
        connection.execute(
            "SELECT shuttle.remove_node(node) FROM shuttle.storage_nodes WHERE node = %s",
            [cluster.nodes[-1].server.name],
        )


def run_stages(runner: Runner, on_step: OnStep) -> Spreading:
    on_step("the tables themselves: spreading them")
    before = runner.add_stage("local tables", None)
    took_s = runner.call(f"SELECT shuttle.distribute_tables('{KEYS}')")
    nnodes = len(runner.cluster.nodes) - 1
    spread = runner.add_stage(f"spread over {nnodes} nodes by one call", took_s)
    on_step("the tables themselves: one more node, and moves under four writers")
    writing = runner.move_under_writers()
    moved_s = round(writing.end_s - writing.begin_s, 3)
    moved = runner.add_stage(f"one node added, {writing.nmoves} tablets moved", moved_s)
    took_s = runner.call(f"SELECT shuttle.local_tables('{TABLES}')")
    behind = runner.add_stage("local again by one call", took_s)
    ndifferent = int(spread != before) + int(moved != behind)
    return Spreading(RTT_US, runner.sizes, tuple(runner.stages), writing, ndifferent)


def run(cluster: Cluster, sizes: Sizes, on_step: OnStep) -> Spreading:
    """Uses all nodes; leave_last_node() was called before any table was spread."""
    with open_proxies(cluster) as line, catalog.connect(cluster.query) as connection:
        line.set_rtt_us(RTT_US)
        catalog.forget_round_trips(connection)
        with making("the orders"):
            make_schema(connection, SCHEMA)
            execute(connection, MAKE, SCHEMA, ncustomers=sizes.ncustomers, norders=sizes.norders)
        try:
            return run_stages(Runner(cluster, connection, sizes), on_step)
        except psycopg.Error as error:
            raise ToolError(f"spreading tables failed: {error}".strip()) from None


def check_claims(found: Spreading) -> Iterator[Claim]:
    """No row is lost, nothing fails, nobody waits long, and answers are those of local tables."""
    name, writing = "tables spread and moved", found.writing
    yield check(f"{name}; acknowledged rows lost", "rows", writing.lost, 0)
    yield check(f"{name}; rows that nobody wrote", "rows", writing.unknown, 0)
    yield check(f"{name}; customers with wrong sums", "rows", writing.wrong, 0)
    nfailed = sum(writing.failed.values())
    yield check(f"{name}; transactions that failed", "transactions", nfailed, 0)
    yield check(f"{name}; answers not as over local tables", "answers", found.ndifferent, 0)
    yield check(f"{name}; longest wait of a writer", "ms", writing.longest_ms, MOST_WAIT_MS)


def describe_writing(writing: Writing) -> str:
    failed = ", ".join(f"{count} {what}" for what, count in writing.failed.items()) or "0"
    lost = writing.lost + writing.unknown + writing.wrong
    return (
        f"{NWRITERS} writers meanwhile: {writing.ncommitted} transactions, {failed} failed, "
        f"{lost} rows lost; {format_ms(writing.usual_ms)} each, the longest "
        f"{format_ms(writing.longest_ms)}."
    )


def make_table(found: Spreading) -> Table:
    table = make_part_table("orders and customers are", "in", "tablets", "top 5 customers")
    for stage in found.stages:
        took = "" if stage.took_s is None else format_ms(1000 * stage.took_s)
        tablets = ", ".join(f"{node} {count}" for node, count in stage.tablets.items())
        table.add_row(stage.name, took, tablets or "here", format_ms(stage.query_ms))
    table.title = (
        f"5. The tables themselves: {found.sizes.norders} orders, nodes "
        f"{found.rtt_us / 1000:g} ms away"
    )
    table.caption = describe_writing(found.writing)
    return table

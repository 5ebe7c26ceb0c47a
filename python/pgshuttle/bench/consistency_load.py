"""Readers that sum up rows of three nodes while writers move amounts between nodes."""

import multiprocessing
import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure
from pgshuttle.bench.making_tables import execute, make_schema, making
from pgshuttle.bench.results import OnStep
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster, open_proxies

RTTS_US = (0, 1000, 20_000)
NWRITERS = (0, 1, 4, 8)
NREADERS = 2
CONNECT_S = 0.3  # until clients are connected and warm
NACCOUNTS = 300
BALANCE = 1000
SCHEMA = "consistency"
TABLES = """
CREATE TABLE {s}.account (id int PRIMARY KEY, v bigint);
CREATE TABLE {s}.note (id int PRIMARY KEY, v bigint)"""
READ = b"SELECT sum(v) FROM account"
CHANGE = b"UPDATE account SET v = v + $2::int WHERE id = $1::int"
LIMIT = {"statement_timeout": f"{measure.STATEMENT_TIMEOUT_S}s"}


class Level(StrEnum):
    NODE = "node"
    ATOMIC = "atomic"
    STRICT = "strict"


@dataclass(frozen=True)
class Job:
    """What one client does. nodes: ids of the accounts of each; end_s: by the monotonic clock."""

    dsn: str
    nodes: tuple[tuple[int, ...], ...]
    is_reader: bool
    begin_s: float
    end_s: float
    seed: int


@dataclass(frozen=True)
class Done:
    """What a client did while it counted."""

    elapsed_ms: tuple[float, ...]
    nwrong: int


@dataclass(frozen=True)
class Point:
    """What readers and writers did under one delay. read_ms: of a sum; transfers: a second."""

    level: str
    rtt_us: int
    nwriters: int
    nreads: int
    nwrong: int
    read_ms: float
    read_p95_ms: float
    transfers: float
    retaken: float
    fences: int


def write_dsn(cluster: Cluster, level: Level) -> str:
    given = {"search_path": SCHEMA, "shuttle.read_consistency": str(level), **LIMIT}
    options = " ".join(f"-c {name}={value}" for name, value in given.items())
    return catalog.write_dsn(cluster.query, options=options)


def make_accounts(cluster: Cluster) -> tuple[tuple[int, ...], ...]:
    """Makes the tables anew; returns the ids of the accounts of each node."""
    with making("the accounts"), catalog.connect(cluster.query) as connection:
        make_schema(connection, SCHEMA)
        execute(connection, TABLES, SCHEMA)
        keys = [f"{SCHEMA}.account.id", f"{SCHEMA}.note.id"]
        connection.execute("SELECT shuttle.distribute_tables(%s)", [keys])
        fill = "INSERT INTO {s}.account SELECT i, {balance} FROM generate_series(1, {count}) AS i"
        execute(connection, fill, SCHEMA, balance=BALANCE, count=NACCOUNTS)
        connection.execute("ANALYZE")
        rows = connections.read_rows(
            connection,
            "SELECT array_agg(id ORDER BY id) FROM consistency.account"
            " JOIN pg_foreign_table ON ftrelid = account.tableoid GROUP BY ftserver",
        )
    return tuple(tuple(ids) for (ids,) in rows)


def read_sum(connection: Connection) -> bool:
    """Reads all accounts; tells whether the sum is right."""
    result = connection.pgconn.exec_(READ)
    measure.check_result(result, "a sum")
    return result.get_value(0, 0) == b"%d" % (NACCOUNTS * BALANCE)


def transfer(connection: Connection, nodes: Sequence[Sequence[int]], chance: random.Random) -> None:
    """Moves an amount to an account of another node. The lower id first: no deadlocks."""
    amounts = zip(chance.sample(nodes, 2), (1, -1), strict=True)
    server = connection.pgconn
    measure.check_result(server.exec_(b"BEGIN"), "BEGIN")
    for account, amount in sorted((chance.choice(node), amount) for node, amount in amounts):
        result = server.exec_params(CHANGE, [b"%d" % account, b"%d" % amount])
        measure.check_result(result, "an update")
    measure.check_result(server.exec_(b"COMMIT"), "COMMIT")


def serve(job: Job) -> Done:
    """Reads, or moves amounts, until the time is over."""
    chance = random.Random(job.seed)
    elapsed_ms: list[float] = []
    nwrong = 0
    with connections.connect_to(job.dsn) as connection:
        while (start_s := time.monotonic()) < job.end_s:
            is_right = True
            if job.is_reader:
                is_right = read_sum(connection)
            else:
                transfer(connection, job.nodes, chance)
            now_s = time.monotonic()
            if job.begin_s <= start_s and now_s < job.end_s:
                elapsed_ms.append(1000 * (now_s - start_s))
                nwrong += not is_right
    return Done(tuple(elapsed_ms), nwrong)


def count_retries(connection: Connection) -> tuple[int, int]:
    """Returns how many snapshots were taken again so far, and how many fences were raised."""
    rows = connections.read_rows(
        connection,
        "SELECT sum(snapshots_retaken)::int8, sum(commit_fences)::int8 FROM shuttle.node_stats",
    )
    return rows[0]


@dataclass(frozen=True)
class Load:
    rtt_us: int
    nwriters: int
    seconds: float
    nodes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Slice:
    """One round of a point: of readers, and of writers."""

    reads: tuple[Done, ...]
    writes: tuple[Done, ...]
    nretaken: int
    nfences: int


def run_slice(cluster: Cluster, pool: ProcessPoolExecutor, load: Load, level: Level) -> Slice:
    begin_s = time.monotonic() + CONNECT_S
    jobs = [
        Job(
            dsn=write_dsn(cluster, level if number < NREADERS else Level.NODE),
            nodes=load.nodes,
            is_reader=number < NREADERS,
            begin_s=begin_s,
            end_s=begin_s + load.seconds,
            seed=number,
        )
        for number in range(NREADERS + load.nwriters)
    ]
    with catalog.connect(cluster.query) as connection:
        before = count_retries(connection)
        done = list(pool.map(serve, jobs))
        after = count_retries(connection)
    return Slice(
        tuple(done[:NREADERS]), tuple(done[NREADERS:]), after[0] - before[0], after[1] - before[1]
    )


def summarize(level: Level, load: Load, slices: Sequence[Slice]) -> Point:
    samples_ms = [ms for one in slices for done in one.reads for ms in done.elapsed_ms]
    if len(samples_ms) < 2:
        raise ToolError(f"fewer than two sums were read with {level}")
    writes = [sum(len(done.elapsed_ms) for done in one.writes) for one in slices]
    return Point(
        level=str(level),
        rtt_us=load.rtt_us,
        nwriters=load.nwriters,
        nreads=len(samples_ms),
        nwrong=sum(done.nwrong for one in slices for done in one.reads),
        read_ms=round(statistics.median(samples_ms), 3),
        read_p95_ms=round(statistics.quantiles(samples_ms, n=20, method="inclusive")[18], 3),
        transfers=round(sum(writes) / load.seconds / len(slices), 1),
        retaken=round(sum(one.nretaken for one in slices) / len(samples_ms), 4),
        fences=sum(one.nfences for one in slices),
    )


def run_points(
    cluster: Cluster,
    nodes: tuple[tuple[int, ...], ...],
    nrounds: int,
    seconds: float,
    on_step: OnStep,
) -> list[Point]:
    points: list[Point] = []
    context = multiprocessing.get_context("spawn")
    with (
        open_proxies(cluster) as line,
        ProcessPoolExecutor(NREADERS + max(NWRITERS), mp_context=context) as pool,
    ):
        for rtt_us in RTTS_US:
            line.set_rtt_us(rtt_us)
            for nwriters in NWRITERS:
                on_step(f"{rtt_us / 1000:g} ms, {nwriters} writers")
                load = Load(rtt_us, nwriters, seconds, nodes)
                run = partial(run_slice, cluster, pool, load)
                slices = measure.take_turns(Level, nrounds, run)
                points += [summarize(level, load, slices[level]) for level in Level]
        line.set_rtt_us(0)
    return points

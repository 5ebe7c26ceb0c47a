"""Runs TPC-C's transactions: each alone, to count round trips, then by many clients."""

import itertools
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from psycopg import sql

from pgshuttle.base import connections
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure, results
from pgshuttle.bench.results import OnStep
from pgshuttle.bench.tpcc import clients as tpcc_clients
from pgshuttle.bench.tpcc import routines as tpcc_routines
from pgshuttle.bench.tpcc import tables as tpcc_tables
from pgshuttle.bench.tpcc.clients import NO_DATA_FOUND, Client, Inputs, Job, Served
from pgshuttle.bench.tpcc.conditions import CONDITIONS
from pgshuttle.bench.tpcc.report import CASES, MOST_A_MINUTE, CallTrips, Latency, Load, Tpcc, WayRun
from pgshuttle.bench.tpcc.statements import Kind, Style
from pgshuttle.bench.tpcc.tables import NDISTRICTS, OF_OURS, Way
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster, Proxies, open_proxies

NNODES = 3
SETTINGS = {"jit": "off", "statement_timeout": f"{measure.STATEMENT_TIMEOUT_S}s"}
SETTINGS_OF = {
    Way.OURS: {"shuttle.enable_shipped_calls": "off"},
    Way.CALLS: {},
    # the library is loaded: without this it would look ahead over postgres_fdw, too
    Way.STOCK: {"shuttle.enable_batched_join": "off"},
    Way.HERE: {},
}
RELAXED = {"shuttle.strict_savepoints": "off"}


def write_dsn(cluster: Cluster, way: Way, settings: Mapping[str, str]) -> str:
    """Writes how clients of a way connect: to the query node, or to the first node itself."""
    server = cluster.nodes[0].server if way is Way.HERE else cluster.query
    given = {"search_path": tpcc_tables.schema_of(way), **SETTINGS, **SETTINGS_OF[way], **settings}
    options = " ".join(f"-c {name}={value}" for name, value in given.items())
    return catalog.write_dsn(server, options=options)


def call_alone(
    line: Proxies, load: Load, client: Client, inputs: Inputs, case: str
) -> tuple[float, float]:
    """Calls a transaction often enough; returns round trips and milliseconds of a call.

    Calls are alike; on a busy machine a request that waits for nothing may follow an answer,
    and count as one more. So the round trips are the median.
    """
    kind, by_name = CASES[case]
    ntrips: list[int] = []
    start_s = 0.0
    for number in range(load.nwarm + load.ncounted):
        if number == load.nwarm:
            start_s = time.monotonic()
        ntrips.append(line.count_round_trips())
        values = inputs.enter(kind, number, plain=True, by_name=by_name)
        if sqlstate := client.run(kind, values):
            raise ToolError(f"{case} failed: {sqlstate}")
    elapsed_ms = 1000 * (time.monotonic() - start_s)
    ntrips.append(line.count_round_trips())
    counted = [end - start for start, end in itertools.pairwise(ntrips[load.nwarm :])]
    return statistics.median_low(counted), elapsed_ms / load.ncounted


def count_calls(
    cluster: Cluster, line: Proxies, load: Load, way: Way, relaxed: bool
) -> list[CallTrips]:
    dsn = write_dsn(cluster, way, RELAXED if relaxed else {})
    name = f"{way}, relaxed" if relaxed else str(way)
    inputs = Inputs(load.sizes, seed=1)
    found = []
    with connections.connect_to(dsn) as connection:
        client = Client(connection, load.style)
        for case in load.cases:
            round_trips, mean_ms = call_alone(line, load, client, inputs, case)
            found.append(CallTrips(case, name, round_trips, round(mean_ms, 3)))
    return found


def summarize(kind: Kind, samples_ms: Sequence[float]) -> Latency:
    """Summarizes the transactions of a kind; there must be one."""
    parts = statistics.quantiles([*samples_ms, max(samples_ms)], n=100, method="inclusive")
    return Latency(
        kind=str(kind),
        count=len(samples_ms),
        mean_ms=round(statistics.fmean(samples_ms), 3),
        median_ms=round(parts[49], 3),
        p95_ms=round(parts[94], 3),
        p99_ms=round(parts[98], 3),
    )


def find_broken(cluster: Cluster, way: Way) -> tuple[int, ...]:
    with connections.connect_to(write_dsn(cluster, way, {})) as connection:
        return tuple(
            number
            for number, query in CONDITIONS.items()
            if connection.execute(sql.SQL(query)).fetchone() is not None
        )


def run_clients(dsn: str, load: Load) -> list[Served]:
    nterminals = NDISTRICTS * load.nwarehouses if load.with_keying else load.nclients
    start_s = time.monotonic()
    begin_s = start_s + load.ramp_s
    jobs = [
        Job(
            dsn=dsn,
            style=load.style,
            sizes=load.sizes,
            terminals=tuple(range(number, nterminals, load.nclients)),
            with_keying=load.with_keying,
            start_s=start_s,
            begin_s=begin_s,
            end_s=begin_s + load.seconds,
            seed=number,
        )
        for number in range(min(load.nclients, nterminals))
    ]
    return tpcc_clients.serve_all(jobs)


def run_way(cluster: Cluster, line: Proxies, load: Load, way: Way, ncores: int) -> WayRun:
    """Runs the clients of a way and checks what they left, without delay.

    Proxies without delay would only take processor time, so they are left out.
    """
    settings = RELAXED if load.relaxed and way is Way.OURS else {}
    with nullcontext() if load.rtt_us > 0 else catalog.without_proxies(cluster):
        served = run_clients(write_dsn(cluster, way, settings), load)
    line.set_rtt_us(0)
    broken = find_broken(cluster, way)
    line.set_rtt_us(load.rtt_us)
    failed: Counter[str] = Counter()
    rolled_back = 0
    samples_ms: dict[Kind, list[float]] = {kind: [] for kind in Kind}
    for sample in (sample for one in served for sample in one.samples):
        is_wanted = sample.kind is Kind.NEW_ORDER and sample.sqlstate == NO_DATA_FOUND
        rolled_back += is_wanted
        if sample.sqlstate and not is_wanted:
            failed[f"{sample.kind} {sample.sqlstate}"] += 1
        else:
            samples_ms[sample.kind].append(sample.elapsed_ms)
    a_minute = 60 / load.seconds
    rate = a_minute * len(samples_ms[Kind.NEW_ORDER])
    most = MOST_A_MINUTE * load.nwarehouses
    return WayRun(
        way=str(way),
        new_orders_a_minute=round(rate, 1),
        transactions_a_minute=round(a_minute * sum(map(len, samples_ms.values())), 1),
        efficiency=round(rate / most, 4) if load.with_keying else None,
        latencies=tuple(summarize(kind, found) for kind, found in samples_ms.items() if found),
        rolled_back=rolled_back,
        failed=dict(failed),
        broken=broken,
        client_share=round(sum(one.cpu_s for one in served) / load.seconds / ncores, 3),
    )


def make_all(cluster: Cluster, load: Load, on_step: OnStep) -> None:
    tpcc_tables.make_tables(cluster, load.sizes, load.run_ways, on_step)
    if load.style is Style.STATEMENTS:
        return
    made = set()
    for way in load.run_ways:
        schema = tpcc_tables.schema_of(way)
        if schema in made:
            continue
        made.add(schema)
        server = cluster.nodes[0].server if way is Way.HERE else cluster.query
        with catalog.connect(server) as connection:
            tpcc_routines.make_routines(connection, schema, load.style)
            if way in OF_OURS:
                tpcc_routines.distribute_routines(connection, schema)


def run_tpcc(cluster: Cluster, load: Load, on_step: OnStep) -> Tpcc:
    run_start_s = time.monotonic()
    make_all(cluster, load, on_step)
    trips: list[CallTrips] = []
    found: list[WayRun] = []
    ncores = results.read_machine().ncores
    with open_proxies(cluster) as line:
        line.set_rtt_us(load.rtt_us)
        for way in load.run_ways:
            for relaxed in (False, True) if way is Way.OURS else (False,):
                on_step(f"counting round trips: {way}")
                if way is not Way.HERE:
                    trips += count_calls(cluster, line, load, way, relaxed)
        for way in load.run_ways:
            on_step(f"running clients: {way}")
            found.append(run_way(cluster, line, load, way, ncores))
    return Tpcc(
        **results.describe_run(cluster, run_start_s, SETTINGS),
        load=load,
        sizes=load.sizes,
        ways=tuple(found),
        trips=tuple(trips),
    )

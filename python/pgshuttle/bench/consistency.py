"""What reads that are consistent over nodes cost, beside reads with a state of each node.

How long a sum over three nodes takes, how many are wrong, and how many transfers are committed
meanwhile; and what statements of one node cost the query node, where nothing has to be decided.
"""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from rich.table import Table

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.base.printing import format_ms
from pgshuttle.bench import consistency_load, measure, results
from pgshuttle.bench.consistency_load import LIMIT, Level, Point, write_dsn
from pgshuttle.bench.results import OnStep, Run
from pgshuttle.bench.routed import read_processor_us
from pgshuttle.cluster.state import Cluster

NNODES = 3
NROUNDS = 5
SECONDS = 2.0
NCALLS = 1000
ONE_NODE = {
    "SELECT": "SELECT v FROM account WHERE id = $1 % 300 + 1",
    "INSERT": "INSERT INTO note VALUES ($1, 1)",
}

MOST_OF_READS = 1.05  # three nodes, 1 ms, nobody writes
READ_RTT_US = 1000
MOST_OF_ONE_NODE = 1.02
LEAST_OF_TRANSFERS = 0.95
# at shorter round trips eight writers and the readers share the processors
FAR_US = 20_000
FEW_WRITERS = 4


@dataclass(frozen=True)
class Cost:
    """Processor time of a statement of one node on the query node, in microseconds."""

    statement: str
    level: str
    least_us: float


@dataclass(frozen=True)
class Claim:
    what: str
    measured: float
    bound: float
    ok: bool


@dataclass(frozen=True, kw_only=True)
class Consistency(Run):
    nrounds: int
    seconds: float
    points: tuple[Point, ...]
    costs: tuple[Cost, ...]
    claims: tuple[Claim, ...]

    @property
    def is_kept(self) -> bool:
        return all(claim.ok for claim in self.claims)


def call(
    sessions: Mapping[Level, Connection],
    name: str,
    numbers: Iterator[int],
    ncalls: int,
    level: Level,
) -> float:
    """Executes a prepared statement so often; returns processor time of a call, in us."""
    connection = sessions[level]
    pid = connection.info.backend_pid
    start_us = read_processor_us(pid)
    for number in itertools.islice(numbers, ncalls):
        result = connection.pgconn.exec_prepared(name.encode(), [b"%d" % number])
        measure.check_result(result, ONE_NODE[name])
    return (read_processor_us(pid) - start_us) / ncalls


def run_costs(cluster: Cluster, nrounds: int, ncalls: int, on_step: OnStep) -> list[Cost]:
    """Runs statements of one node in sessions of each level, by turns."""
    costs: list[Cost] = []
    with ExitStack() as stack:
        sessions = {
            level: stack.enter_context(connections.connect_to(write_dsn(cluster, level)))
            for level in Level
        }
        for name, text in ONE_NODE.items():
            on_step(f"{name} of one node")
            for session in sessions.values():
                measure.check_result(session.pgconn.prepare(name.encode(), text.encode()), text)
            run = partial(call, sessions, name, itertools.count(1), ncalls)
            samples_us = measure.take_turns(Level, nrounds, run)
            costs += [Cost(name, str(level), round(min(samples_us[level]), 2)) for level in Level]
    return costs


def at_most(what: str, measured: float, bound: float) -> Claim:
    return Claim(what, round(measured, 4), bound, measured <= bound)


def at_least(what: str, measured: float, bound: float) -> Claim:
    return Claim(what, round(measured, 4), bound, measured >= bound)


def check_claims(points: Sequence[Point], costs: Sequence[Cost]) -> list[Claim]:
    """No sum is wrong but with the level node; and the prices."""
    by_point = {(one.level, one.rtt_us, one.nwriters): one for one in points}
    wrong = {level: sum(one.nwrong for one in points if one.level == level) for level in Level}
    claims = [
        at_least("node: wrong sums", wrong[Level.NODE], 1),
        *(
            at_most(f"{level}: wrong sums", wrong[level], 0)
            for level in (Level.ATOMIC, Level.STRICT)
        ),
    ]
    for (level, rtt_us, nwriters), one in by_point.items():
        if level != Level.ATOMIC:
            continue
        beside = by_point[Level.NODE, rtt_us, nwriters]
        where = f"RTT {rtt_us / 1000:g} ms"
        if rtt_us == READ_RTT_US and nwriters == 0:
            what = f"{where}, no writers: a sum, of one with node"
            claims.append(at_most(what, one.read_ms / beside.read_ms, MOST_OF_READS))
        if nwriters > 0 and (nwriters <= FEW_WRITERS or rtt_us >= FAR_US):
            what = f"{where}, {nwriters} writers: transfers, of those beside node"
            claims.append(at_least(what, one.transfers / beside.transfers, LEAST_OF_TRANSFERS))
    least_us = {(one.statement, one.level): one.least_us for one in costs}
    for name in ONE_NODE:
        ratio = least_us[name, Level.ATOMIC] / least_us[name, Level.NODE]
        claims.append(at_most(f"{name} of one node, of one with node", ratio, MOST_OF_ONE_NODE))
    return claims


def run_consistency(
    cluster: Cluster, on_step: OnStep, *, nrounds: int, seconds: float, ncalls: int = NCALLS
) -> Consistency:
    start_s = time.monotonic()
    on_step("making the accounts")
    nodes = consistency_load.make_accounts(cluster)
    points = consistency_load.run_points(cluster, nodes, nrounds, seconds, on_step)
    costs = run_costs(cluster, max(nrounds, 3), ncalls, on_step)
    return Consistency(
        **results.describe_run(cluster, start_s, LIMIT),
        nrounds=nrounds,
        seconds=seconds,
        points=tuple(points),
        costs=tuple(costs),
        claims=tuple(check_claims(points, costs)),
    )


HEAD: Mapping[str, object] = {
    "format": 1,
    "units": {
        "*_ms": "milliseconds of a sum over three nodes, seen by its client",
        "transfers": "committed by all writers, a second",
        "retaken": "snapshots taken again, a sum",
        "least_us": "microseconds of processor time of the query node, a call, the least of rounds",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
    },
}


def make_tables(found: Consistency) -> list[Table]:
    """A row for each delay, number of writers and level; the costs; what was promised."""
    sums = Table("RTT", "writers", "reads", "median", "p95", "wrong", "again", "fences", "writes/s")
    sums.title = f"{consistency_load.NREADERS} readers that sum up rows of {NNODES} nodes"
    for one in found.points:
        sums.add_row(
            f"{one.rtt_us / 1000:g} ms",
            str(one.nwriters),
            one.level,
            format_ms(one.read_ms),
            format_ms(one.read_p95_ms),
            f"{one.nwrong} of {one.nreads}",
            f"{one.retaken:.2f}",
            str(one.fences),
            f"{one.transfers:.0f}",
        )
    costs = Table("statement of one node", "reads", "us a call")
    costs.title = "processor time of the query node"
    for cost in found.costs:
        costs.add_row(cost.statement, cost.level, f"{cost.least_us:.1f}")
    claims = Table("what was promised", "measured", "bound", "kept")
    for claim in found.claims:
        claims.add_row(
            claim.what, f"{claim.measured:g}", f"{claim.bound:g}", "yes" if claim.ok else "no"
        )
    return [sums, costs, claims]

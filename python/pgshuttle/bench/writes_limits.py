"""How long each kind of write may take, and if it kept to that."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pgshuttle.bench import tpcb, writes_tables
from pgshuttle.bench.measure import WayResult, find_medians


class Way(StrEnum):
    OURS = "shuttle"
    STOCK = f"postgres_fdw, batch_size {writes_tables.STOCK_BATCH_SIZE}"
    NODE = "on one node"
    LINE = "on one node, over the line"  # transactions of pgbench only
    HAND = "by hand, over the line"  # these too: by a client of the nodes that have the tables


class Case(StrEnum):
    """What is run; TPC-B are the transactions of pgbench."""

    UPDATE = f"UPDATE of {writes_tables.NUPDATED} rows, joined"
    INSERT = f"INSERT ... SELECT of {writes_tables.NWRITTEN} rows"
    COPY = f"COPY of {writes_tables.NWRITTEN} rows"
    DELETE = f"DELETE of {writes_tables.NWRITTEN} rows, joined"
    ONE = "TPC-B, one node"
    TWO = "TPC-B, two nodes"
    FUNCTION = f"{writes_tables.NINSERTS} INSERTs in a function"


# a statement may take so many times what it takes on one node, and so many round trips
LIMITS: Mapping[Case, tuple[float, int]] = {
    Case.UPDATE: (1.5, 2),
    Case.INSERT: (1.5, 2),
    Case.COPY: (1.5, 2),
    Case.DELETE: (1.5, 2),
    Case.ONE: (1.6, tpcb.NTRIPS),
    Case.TWO: (1.6, tpcb.NTRIPS + 2),
    Case.FUNCTION: (1.6, 2),  # for all of them, and the COMMIT
}


@dataclass(frozen=True)
class Line:
    """What empty statements take: those of a round trip, and of asking the query node."""

    rtt_us: int
    trip_ms: float
    here_ms: float


@dataclass(frozen=True)
class Verdict:
    """What ours took, and may take, at the median.

    trip_ms: a round trip of it.
    relay_ms: what it would take to hand on to the nodes by hand what a client asks for.
    """

    case: str
    rtt_us: int
    ours_ms: float
    node_ms: float
    trip_ms: float
    limit_ms: float
    relay_ms: float | None
    is_kept: bool


def judge(ways: list[WayResult], line: Line, case: Case) -> Verdict:
    """Compares ours with what a case takes on one node."""
    median_ms = find_medians(ways, case, line.rtt_us)
    factor, ntrips = LIMITS[case]
    trip_ms = line.trip_ms
    relay_ms = None
    if Way.LINE in median_ms:
        more_ms = (median_ms[Way.LINE] - median_ms[Way.NODE]) / tpcb.NSTATEMENTS
        trip_ms = max(more_ms, line.rtt_us / 1000)
        relay_ms = median_ms[Way.HAND] + tpcb.NSTATEMENTS * line.here_ms
    limit_ms = factor * median_ms[Way.NODE] + ntrips * trip_ms
    ours_ms = median_ms[Way.OURS]
    return Verdict(
        case=str(case),
        rtt_us=line.rtt_us,
        ours_ms=ours_ms,
        node_ms=median_ms[Way.NODE],
        trip_ms=round(trip_ms, 4),
        limit_ms=round(limit_ms, 3),
        relay_ms=None if relay_ms is None else round(relay_ms, 3),
        is_kept=ours_ms <= limit_ms,
    )

"""Transactions of TPC-C over several nodes: what is run, what it finds out, and its tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from pgshuttle.base.printing import format_ms
from pgshuttle.bench.results import Run
from pgshuttle.bench.tpcc import tables as tpcc_tables
from pgshuttle.bench.tpcc.statements import Kind, Style
from pgshuttle.bench.tpcc.tables import Sizes, Way

LEAST_RATIO = 10  # of ours to postgres_fdw's new orders a minute, without waits
MOST_A_MINUTE = 12.86  # new orders of a warehouse, with the waits of the specification

# what is called alone, with a label; by a customer's number or last name
CASES: Mapping[str, tuple[Kind, bool | None]] = {
    "new-order, 10 lines": (Kind.NEW_ORDER, None),
    "payment by id": (Kind.PAYMENT, False),
    "payment by name": (Kind.PAYMENT, True),
    "delivery": (Kind.DELIVERY, None),
    "order-status by id": (Kind.ORDER_STATUS, False),
    "order-status by name": (Kind.ORDER_STATUS, True),
    "stock-level": (Kind.STOCK_LEVEL, None),
}


@dataclass(frozen=True)
class Load:
    """What is run. relaxed: ours with shuttle.strict_savepoints off."""

    nwarehouses: int = 3
    nclients: int = 4
    seconds: float = 45
    ramp_s: float = 10
    rtt_us: int = 1000
    with_keying: bool = False
    style: Style = Style.FUNCTIONS
    relaxed: bool = False
    scale: float = 1
    nwarm: int = 6  # calls of each transaction, behind which plans are kept
    ncounted: int = 4  # and those whose round trips are counted
    ways: tuple[Way, ...] = tuple(Way)
    cases: tuple[str, ...] = tuple(CASES)  # that are called alone

    @property
    def run_ways(self) -> tuple[Way, ...]:
        """The ways that there are: statements of a client are no calls."""
        return tuple(
            way for way in self.ways if way is not Way.CALLS or self.style is not Style.STATEMENTS
        )

    @property
    def sizes(self) -> Sizes:
        return tpcc_tables.scale_sizes(self.nwarehouses, self.scale)


@dataclass(frozen=True)
class Latency:
    """How long a kind of transaction took, rolled back ones included, but for failed ones."""

    kind: str
    count: int
    mean_ms: float
    median_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True)
class WayRun:
    """What the clients of one way did.

    rolled_back: new orders of an item that there is not, as the specification wants some.
    failed: how often a kind failed, with its SQLSTATE. broken: conditions that are not true.
    client_share: of the machine's processor time.
    """

    way: str
    new_orders_a_minute: float
    transactions_a_minute: float
    efficiency: float | None
    latencies: tuple[Latency, ...]
    rolled_back: int
    failed: Mapping[str, int]
    broken: tuple[int, ...]
    client_share: float


@dataclass(frozen=True)
class CallTrips:
    """A transaction called alone, again and again, by one client."""

    case: str
    way: str
    round_trips: float
    mean_ms: float


@dataclass(frozen=True, kw_only=True)
class Tpcc(Run):
    load: Load
    sizes: Sizes
    ways: tuple[WayRun, ...]
    trips: tuple[CallTrips, ...]

    @property
    def is_kept(self) -> bool:
        """Says if nothing failed, all is consistent, and ours is fast enough."""
        rates = {one.way: one.new_orders_a_minute for one in self.ways}
        is_right = not any(one.failed or one.broken for one in self.ways)
        if self.load.with_keying or Way.OURS not in rates or Way.STOCK not in rates:
            return is_right
        return is_right and rates[Way.OURS] >= LEAST_RATIO * rates[Way.STOCK]


HEAD = {
    "format": 1,
    "units": {
        "new_orders_a_minute": "those that were rolled back as they should be included",
        "efficiency": f"of {MOST_A_MINUTE} new orders of a warehouse a minute",
        "*_ms": "ms, seen by a client; with keying from when the transaction is due",
        "client_share": "of the processors of the machine, used by clients",
        "round_trips": "of one call, counted by the delay proxies: those that nobody waits for "
        "included",
    },
}


def make_tables(found: Tpcc) -> list[Table]:
    """What was done in a minute, how long each transaction took, and its round trips."""
    load, sizes = found.load, found.sizes
    rates = Table("", "new orders/min", "all/min", "efficiency", "rolled back", "failed")
    rates.add_column("broken conditions")
    rates.add_column("clients' processor time")
    rates.title = (
        f"TPC-C, {sizes.nwarehouses} warehouses, {sizes.ncustomers} customers a district,"
        f" {sizes.nitems} items, {load.nclients} clients, {load.style},"
        f" RTT {load.rtt_us / 1000:g} ms"
    )
    times = Table("", "transaction", "number", "mean", "median", "95 %", "99 %")
    for way in found.ways:
        rates.add_row(
            way.way,
            f"{way.new_orders_a_minute:.0f}",
            f"{way.transactions_a_minute:.0f}",
            "" if way.efficiency is None else f"{100 * way.efficiency:.2f} %",
            str(way.rolled_back),
            ", ".join(f"{count} {what}" for what, count in way.failed.items()) or "0",
            ", ".join(map(str, way.broken)) or "none",
            f"{100 * way.client_share:.0f} %",
        )
        for one in way.latencies:
            values_ms = (one.mean_ms, one.median_ms, one.p95_ms, one.p99_ms)
            times.add_row(way.way, one.kind, str(one.count), *map(format_ms, values_ms))
    ways = list(dict.fromkeys(one.way for one in found.trips))
    trips = Table("called alone", *ways)
    trips.title = "round trips of a call, and how long it takes"
    for case in load.cases if ways else ():
        of_case = [one for one in found.trips if one.case == case]
        trips.add_row(case, *(f"{one.round_trips:g} ({format_ms(one.mean_ms)})" for one in of_case))
    return [rates, times, trips] if ways else [rates, times]

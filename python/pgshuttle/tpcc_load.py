"""What bench tpcc runs, and what it finds out."""

from collections.abc import Mapping
from dataclasses import dataclass

from pgshuttle import tpcc_tables
from pgshuttle.results import Run
from pgshuttle.tpcc_statements import Style
from pgshuttle.tpcc_tables import Sizes, Way

LEAST_RATIO = 10  # of ours to postgres_fdw's new orders a minute, without waits


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

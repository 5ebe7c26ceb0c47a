"""Part 3 of the demo: transactions of TPC-C in procedures, over tables that are on three nodes."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.table import Table

from pgshuttle.base.printing import format_count, format_ms, make_part_table
from pgshuttle.bench import results
from pgshuttle.bench.results import OnStep
from pgshuttle.bench.tpcc import run as tpcc_run
from pgshuttle.bench.tpcc.report import CallTrips, Load, WayRun
from pgshuttle.bench.tpcc.statements import Style
from pgshuttle.bench.tpcc.tables import Way
from pgshuttle.cluster.state import Cluster, open_proxies
from pgshuttle.demo import published_figures
from pgshuttle.demo.claims import Claim, check

PAYMENT = "payment by id"
NEW_ORDER = "new-order, 10 lines"
LOAD = Load(
    nclients=4,
    seconds=20,
    ramp_s=2,
    style=Style.PROCEDURES,
    scale=0.1,
    ways=(Way.OURS, Way.CALLS, Way.STOCK),
    cases=(PAYMENT, NEW_ORDER),
)
WORDS = {
    Way.OURS: "pg_shuttle, procedures as they are",
    Way.CALLS: "pg_shuttle, executed by the warehouse's node",
    Way.STOCK: "stock postgres_fdw",
}
# round trips of a call, its COMMIT included
MOST_TRIPS = {(Way.OURS, PAYMENT): 6, (Way.OURS, NEW_ORDER): 5}
MOST_TRIPS_SHIPPED = 2


@dataclass(frozen=True)
class Procedures:
    """Calls of one client, and what many clients did with calls that nodes execute."""

    load: Load
    calls: tuple[CallTrips, ...]
    clients: WayRun


def run(cluster: Cluster, load: Load, on_step: OnStep) -> Procedures:
    def tell(text: str) -> None:
        on_step(f"TPC-C in procedures: {text}")

    tpcc_run.make_all(cluster, load, tell)
    calls: list[CallTrips] = []
    with open_proxies(cluster) as line:
        line.set_rtt_us(load.rtt_us)
        for way in load.ways:
            tell(f"one client, {way}")
            calls += tpcc_run.count_calls(cluster, line, load, way, relaxed=False)
        tell(f"{load.nclients} clients for {load.seconds:g} s")
        ncores = results.read_machine().ncores
        clients = tpcc_run.run_way(cluster, line, load, Way.CALLS, ncores)
    return Procedures(load, tuple(calls), clients)


def find_call(found: Procedures, way: str, case: str) -> CallTrips:
    return next(one for one in found.calls if (one.way, one.case) == (way, case))


def check_claims(found: Procedures) -> Iterator[Claim]:
    """Round trips of a call, times no longer than published ones, nothing failed or broken."""
    name = "TPC-C in procedures"
    for one in found.calls:
        most = MOST_TRIPS.get((Way(one.way), one.case))
        if one.way == Way.CALLS:
            most = MOST_TRIPS_SHIPPED
            tuned_ms = published_figures.PROCEDURES_MS[one.case].tuned
            detail = f"{name}; {one.case}, executed by its node"
            yield check(f"{detail}, published: {tuned_ms} ms", "ms", one.mean_ms, tuned_ms)
        if most is not None:
            yield check(f"{name}; {one.case}, {one.way}", "round trips", one.round_trips, most)
    nfailed = sum(found.clients.failed.values())
    yield check(f"{name}; calls that failed", "calls", nfailed, 0)
    nbroken = len(found.clients.broken)
    yield check(f"{name}; consistency conditions that do not hold", "conditions", nbroken, 0)


def describe_clients(found: Procedures) -> str:
    clients, load = found.clients, found.load
    failed = ", ".join(f"{count} {what}" for what, count in clients.failed.items()) or "none"
    broken = ", ".join(map(str, clients.broken)) or "none"
    return (
        f"{load.nclients} clients for {load.seconds:g} s, executed by nodes: "
        f"{clients.new_orders_a_minute:.0f} new orders a minute; failed: {failed}; "
        f"broken conditions: {broken}."
    )


def make_table(found: Procedures) -> Table:
    table = make_part_table("who", "payment", "round trips", "new order", "round trips ")
    for way in found.load.ways:
        payment, new_order = (find_call(found, way, case) for case in (PAYMENT, NEW_ORDER))
        table.add_row(
            WORDS[way],
            format_ms(payment.mean_ms),
            format_count(payment.round_trips),
            format_ms(new_order.mean_ms),
            format_count(new_order.round_trips),
        )
    published = [published_figures.PROCEDURES_MS[case] for case in (PAYMENT, NEW_ORDER)]
    tuned = [format_ms(one.tuned) for one in published]
    before = [format_ms(one.before) for one in published]
    table.add_row("published, after tuning", tuned[0], "", tuned[1], "")
    table.add_row("published, before", before[0], "", before[1], "")
    table.title = (
        f"3. TPC-C in procedures: tables on three servers {found.load.rtt_us / 1000:g} ms away, "
        "one call"
    )
    table.caption = describe_clients(found)
    return table

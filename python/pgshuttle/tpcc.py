"""Transactions of TPC-C over several nodes: ours, stock postgres_fdw, one local server."""

from rich.table import Table

from pgshuttle.printing import format_ms
from pgshuttle.tpcc_load import Load, Tpcc
from pgshuttle.tpcc_run import CASES, MOST_A_MINUTE, NNODES, run_tpcc

__all__ = ["CASES", "HEAD", "NNODES", "Load", "make_tables", "run_tpcc"]

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
    for case in CASES if ways else ():
        of_case = [one for one in found.trips if one.case == case]
        trips.add_row(case, *(f"{one.round_trips:g} ({format_ms(one.mean_ms)})" for one in of_case))
    return [rates, times, trips] if ways else [rates, times]

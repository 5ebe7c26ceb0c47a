"""What the writes came to: units and tables."""

from rich.table import Table

from pgshuttle.measure import find_medians
from pgshuttle.printing import format_ms, format_way
from pgshuttle.writes import STOCK_LIMIT_S, Writes
from pgshuttle.writes_limits import LIMITS, Way

HEAD = {
    "format": 1,
    "units": {
        "timing": "milliseconds of a statement, or of a transaction of TPC-B, seen by a client; "
        f"null: stopped after {STOCK_LIMIT_S} s",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "trip_ms": "milliseconds of a round trip, as a statement of the transaction, elsewhere an "
        "empty one, takes them more over the delay proxy than without it",
        "here_ms": "milliseconds of an empty statement on the query node",
        "limit_ms": "milliseconds that ours may take: a factor of the same on one node, "
        "without a delay, and round trips",
        "relay_ms": "milliseconds of the same by a client of the nodes themselves, and an empty "
        "statement on the query node for each that it is asked: handed on by hand",
    },
    "limits": {str(case): {"factor": factor, "ntrips": n} for case, (factor, n) in LIMITS.items()},
}


def make_tables(writes: Writes) -> list[Table]:
    """A row for each case and delay."""
    table = Table("RTT", "statement", "on one node", "shuttle", "limit", "kept")
    table.add_column("by hand")
    table.add_column("postgres_fdw")
    table.title = f"writing to storage nodes, medians of {writes.nrounds} rounds"
    for verdict in writes.verdicts:
        times_ms = find_medians(writes.ways, verdict.case, verdict.rtt_us)
        table.add_row(
            f"{verdict.rtt_us / 1000:g} ms",
            verdict.case,
            format_ms(verdict.node_ms),
            format_ms(verdict.ours_ms),
            format_ms(verdict.limit_ms),
            "yes" if verdict.is_kept else "no",
            "" if verdict.relay_ms is None else format_ms(verdict.relay_ms),
            format_way(times_ms, Way.STOCK, STOCK_LIMIT_S),
        )
    return [table]

"""What the scans came to: units and tables."""

from rich.table import Table

from pgshuttle.measure import find_medians
from pgshuttle.printing import format_ms, format_way
from pgshuttle.scans import FACTOR, NTRIPS, OWN_MS, STOCK_LIMIT_S, Scans, Way

HEAD = {
    "format": 2,
    "units": {
        "timing": f"ms of a query, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "limit_ms": "milliseconds that ours may take: a factor of the nodes' own statements, "
        "round trips, and some of its own",
        "nrows": "rows that nodes sent for ours",
        "nrows_by_hand": "rows that their own statements return",
        "nbytes": "bytes that nodes sent for ours",
        "limit_bytes": "bytes that they may send: twice the rows by hand, in the width that the "
        "plan tells and 16 bytes, and 512 for a request",
    },
    "allowed": {"factor": FACTOR, "ntrips": NTRIPS, "own_ms": OWN_MS},
}


def make_tables(scans: Scans) -> list[Table]:
    """A row for each query and delay."""
    table = Table(
        "RTT", "query", "by hand", "shuttle", "limit", "rows", "by hand", "bytes", "limit", "kept"
    )
    for way in (Way.STOCK, Way.HERE):
        table.add_column(str(way))
    table.title = f"queries over four nodes, medians of {scans.nrounds} rounds"
    for verdict in scans.verdicts:
        times_ms = find_medians(scans.ways, verdict.query, verdict.rtt_us)
        table.add_row(
            f"{verdict.rtt_us / 1000:g} ms",
            verdict.query,
            format_ms(verdict.hand_ms),
            format_ms(verdict.ours_ms),
            format_ms(verdict.limit_ms),
            str(verdict.nrows),
            str(verdict.nrows_by_hand),
            str(verdict.nbytes),
            str(verdict.limit_bytes),
            "yes" if verdict.is_kept else "no",
            format_way(times_ms, Way.STOCK, STOCK_LIMIT_S),
            format_way(times_ms, Way.HERE, STOCK_LIMIT_S),
        )
    return [table]

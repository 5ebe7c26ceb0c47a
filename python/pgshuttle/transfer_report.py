"""What the transfer came to: units and tables."""

from rich.table import Table

from pgshuttle.printing import format_ms
from pgshuttle.transfer import LARGEST_OF_COPY, LEAST_GAIN, Transfer, Way

HEAD = {
    "format": 1,
    "units": {
        "timing": "ms, seen by a client of the query node; COPY: of psql from start to end",
        "session_cpu_ms": "milliseconds of processor time of the session here, or of psql; median",
        "node_cpu_ms": "the same of all processes of the storage node",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "stock_over_ours": f"median of {Way.STOCK} / median of {Way.BINARY}",
        "ours_over_copy": f"median of {Way.BINARY} / median of {Way.COPY}",
    },
    "targets": {"stock_over_ours": LEAST_GAIN, "ours_over_copy": LARGEST_OF_COPY},
}


def make_tables(transfer: Transfer) -> list[Table]:
    """A row for each way and delay."""
    table = Table("RTT", "way", "median", "quartiles", "CPU here", "CPU of the node")
    table.title = f"reading {transfer.nrows} rows of 8 columns, {transfer.nrounds} rounds"
    for found in transfer.ways:
        table.add_row(
            f"{found.rtt_us / 1000:g} ms",
            found.way,
            format_ms(found.timing.median_ms),
            f"{format_ms(found.timing.quartile_1_ms)} - {format_ms(found.timing.quartile_3_ms)}",
            format_ms(found.session_cpu_ms),
            format_ms(found.node_cpu_ms),
        )
    table.caption = "; ".join(
        f"RTT {ratio.rtt_us / 1000:g} ms: {ratio.stock_over_ours:.2f} times as fast as {Way.STOCK}"
        f" (at least {LEAST_GAIN:g}), {ratio.ours_over_copy:.2f} of the time of {Way.COPY}"
        f" (at most {LARGEST_OF_COPY:g})"
        for ratio in transfer.ratios
    )
    return [table]

"""What the queries of TPC-H came to: units and tables."""

from rich.table import Table

from pgshuttle.printing import format_ms
from pgshuttle.scans import STOCK_LIMIT_S
from pgshuttle.tpch import Tpch

HEAD = {
    "format": 1,
    "units": {
        "ours, stock, here": f"ms, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
        "rtt_us": "microseconds of a round trip between the query node and storage nodes",
        "nrows, nbytes": "rows and bytes that nodes sent for ours",
    },
}


def make_tables(found: Tpch) -> list[Table]:
    """A row for each query and delay."""
    table = Table("RTT", "query", "shuttle", "postgres_fdw", "ratio", "local", "rows", "kB")
    table.title = f"TPC-H over four nodes, {found.norders} orders, medians of {found.nrounds}"
    table.caption = "rows, kB: what nodes sent for ours"
    for query in found.queries:
        stock = query.stock.median_ms if query.stock else 1000.0 * STOCK_LIMIT_S
        sign = "" if query.stock else "> "
        table.add_row(
            f"{query.rtt_us / 1000:g} ms",
            query.query,
            format_ms(query.ours.median_ms),
            sign + format_ms(stock),
            f"{sign}{stock / query.ours.median_ms:.1f}",
            format_ms(query.here.median_ms),
            str(query.nrows),
            f"{query.nbytes / 1000:.0f}",
        )
    return [table]

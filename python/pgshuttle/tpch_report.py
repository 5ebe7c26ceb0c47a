"""What the queries of TPC-H came to: the JSON file, a table, and the figure drawn from the file."""

from pathlib import Path

from rich.table import Table

from pgshuttle.figure_files import open_figure
from pgshuttle.json_files import Entry
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
COLORS = {"ours": "#0072B2", "stock": "#E69F00", "here": "0.6"}


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


def draw(found: Entry, figure_path: Path) -> None:
    """Draws the figure: for each query and delay a bar for each way."""
    queries = found["queries"]
    with open_figure(figure_path, 1, (9.0, 9.0)) as (_, [axes]):
        for number, (way, color) in enumerate(COLORS.items()):
            times_ms = [
                1000.0 * STOCK_LIMIT_S if query[way] is None else query[way]["median_ms"]
                for query in queries
            ]
            places = [row + 0.27 * (number - 1) for row in range(len(queries))]
            axes.barh(places, times_ms, 0.25, color=color, label=way)
        labels = [f"{query['query']}, {query['rtt_us'] / 1000:g} ms" for query in queries]
        axes.set_yticks(range(len(queries)), labels)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("ms")
        axes.set_title("TPC-H over four storage nodes")
        axes.legend()

"""What the queries of TPC-H came to: the JSON file, a table, and the figure drawn from the file."""

import dataclasses
from pathlib import Path

from rich.table import Table

from pgshuttle.figure_files import open_figure
from pgshuttle.json_files import Entry, read_results, write_json
from pgshuttle.printing import format_ms
from pgshuttle.scans import STOCK_LIMIT_S
from pgshuttle.tpch import Tpch

TPCH_FORMAT = 1
UNITS = {
    "ours, stock, here": f"milliseconds, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
    "rtt_us": "microseconds of a round trip between the query node and storage nodes",
    "nrows, nbytes": "rows and bytes that nodes sent for ours",
}
COLORS = {"ours": "#0072B2", "stock": "#E69F00", "here": "0.6"}


def save_tpch(found: Tpch, path: Path) -> None:
    """Writes the JSON file."""
    whole = {"format": TPCH_FORMAT, "units": UNITS} | dataclasses.asdict(found)
    write_json(path, whole)


def make_tpch_table(found: Tpch) -> Table:
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
    return table


def read_tpch(path: Path) -> Entry:
    """Reads a file of this kind."""
    return read_results(path, "queries of TPC-H", lambda found: found["queries"])


def draw_tpch(results_path: Path, figure_path: Path) -> None:
    """Draws the figure: for each query and delay a bar for each way."""
    queries = read_tpch(results_path)["queries"]
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

"""What the queries of TPC-H came to: the JSON file, a table, and the figure drawn from the file."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import matplotlib
from rich.table import Table

matplotlib.use("Agg")  # no window

from matplotlib import pyplot  # noqa: E402

from pgshuttle.errors import ToolError  # noqa: E402
from pgshuttle.printing import format_ms  # noqa: E402
from pgshuttle.scans import STOCK_LIMIT_S  # noqa: E402
from pgshuttle.tpch import Tpch  # noqa: E402

TPCH_FORMAT = 1
UNITS = {
    "ours, stock, here": f"milliseconds, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
    "rtt_us": "microseconds of a round trip between the query node and storage nodes",
    "nrows, nbytes": "rows and bytes that nodes sent for ours",
}
COLORS = {"ours": "#0072B2", "stock": "#E69F00", "here": "0.6"}
DPI = 130


def save_tpch(found: Tpch, path: Path) -> None:
    """Writes the JSON file."""
    whole = {"format": TPCH_FORMAT, "units": UNITS} | dataclasses.asdict(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


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


def read_tpch(path: Path) -> dict[str, Any]:
    """Reads a file of this kind."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not found["queries"]:
            raise ToolError(f"{path} has no queries")
    except FileNotFoundError:
        raise ToolError(f"{path} does not exist") from None
    except (ValueError, KeyError, TypeError):
        raise ToolError(f"{path} is not a file of queries of TPC-H") from None
    return found


def draw_tpch(results_path: Path, figure_path: Path) -> None:
    """Draws the figure: for each query and delay a bar for each way."""
    queries = read_tpch(results_path)["queries"]
    figure, axes = pyplot.subplots(figsize=(9.0, 9.0), layout="constrained")
    try:
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
        figure_path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(figure_path, dpi=DPI)
    finally:
        pyplot.close(figure)

"""What the transfer came to: the JSON file, a table, and the figure drawn from the file."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from rich.table import Table

from pgshuttle.figure_files import name_delay, open_figure
from pgshuttle.json_files import Entry
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
COLORS = {"session": "#0072B2", "node": "#E69F00", "time": "0.25"}


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


def draw_panel(axes: Axes, found: Entry, ratio: Entry) -> None:
    """Draws the ways under one delay: a bar of the time, thin ones of processor time."""
    rtt_us = ratio["rtt_us"]
    ways = [way for way in found["ways"] if way["rtt_us"] == rtt_us]
    for row, way in enumerate(ways):
        timing = way["timing"]
        axes.barh(row - 0.2, timing["median_ms"], 0.36, color=COLORS["time"])
        axes.plot([timing["quartile_1_ms"], timing["quartile_3_ms"]], [row - 0.2] * 2, color="red")
        axes.barh(row + 0.1, way["session_cpu_ms"], 0.2, color=COLORS["session"])
        axes.barh(row + 0.3, way["node_cpu_ms"], 0.2, color=COLORS["node"])
        axes.annotate(
            f" {timing['median_ms']:.0f} ms", (timing["median_ms"], row - 0.2), va="center"
        )
    axes.set_yticks(range(len(ways)), [way["way"] for way in ways])
    axes.set_ylim(len(ways) - 0.5, -0.6)
    axes.margins(x=0.18)
    axes.set_xlabel("ms")
    axes.set_title(
        f"{name_delay(rtt_us)}: {ratio['stock_over_ours']:.2f} times as fast as postgres_fdw,\n"
        f"{ratio['ours_over_copy']:.2f} of the time of COPY",
        fontsize=10,
    )


def draw(found: Entry, figure_path: Path) -> None:
    """Draws the figure of a file of transfers."""
    ratios: list[Entry] = found["ratios"]
    with open_figure(figure_path, len(ratios), (12.0, 4.2), sharey=True) as (figure, panels):
        for axes, ratio in zip(panels, ratios, strict=True):
            draw_panel(axes, found, ratio)
        figure.suptitle(f"Reading {found['nrows']} rows of 8 mixed columns from one storage node")
        handles = [Patch(color=color) for color in COLORS.values()]
        labels = ["processor time here", "processor time of the node", "time (red: quartiles)"]
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)

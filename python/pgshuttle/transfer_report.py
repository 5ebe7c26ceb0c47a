"""What the transfer came to: the JSON file, a table, and the figure drawn from the file."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import matplotlib
from rich.table import Table

matplotlib.use("Agg")  # no window

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

from pgshuttle.errors import ToolError  # noqa: E402
from pgshuttle.printing import format_ms  # noqa: E402
from pgshuttle.transfer import Transfer, Way  # noqa: E402

TRANSFER_FORMAT = 1
LEAST_GAIN = 2.0  # over postgres_fdw, that the project promises
LARGEST_OF_COPY = 2.0
UNITS = {
    "timing": "milliseconds, seen by a client of the query node; COPY: of psql from start to end",
    "session_cpu_ms": "milliseconds of processor time of the session here, or of psql; median",
    "node_cpu_ms": "the same of all processes of the storage node",
    "rtt_us": "microseconds of a round trip, added by the delay proxy",
    "stock_over_ours": f"median of {Way.STOCK} / median of {Way.BINARY}",
    "ours_over_copy": f"median of {Way.BINARY} / median of {Way.COPY}",
}
COLORS = {"session": "#0072B2", "node": "#E69F00", "time": "0.25"}
DPI = 130

Entry = dict[str, Any]


def save_transfer(transfer: Transfer, path: Path) -> None:
    """Writes the JSON file."""
    targets = {"stock_over_ours": LEAST_GAIN, "ours_over_copy": LARGEST_OF_COPY}
    whole = {"format": TRANSFER_FORMAT, "units": UNITS, "targets": targets}
    whole |= dataclasses.asdict(transfer)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_kept(transfer: Transfer) -> bool:
    """Says if the targets are met under each delay."""
    return all(
        ratio.stock_over_ours >= LEAST_GAIN and ratio.ours_over_copy <= LARGEST_OF_COPY
        for ratio in transfer.ratios
    )


def make_transfer_table(transfer: Transfer) -> Table:
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
    return table


def read_transfer(path: Path) -> Entry:
    """Reads a file of transfers."""
    try:
        found: Entry = json.loads(path.read_text(encoding="utf-8"))
        if not found["ways"] or not found["ratios"] or found["nrows"] < 1:
            raise ToolError(f"{path} has no transfers")
    except FileNotFoundError:
        raise ToolError(f"{path} does not exist") from None
    except (ValueError, KeyError, TypeError):
        raise ToolError(f"{path} is not a file of transfers") from None
    return found


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
    delay = f"round trip {rtt_us / 1000:g} ms" if rtt_us else "no delay added"
    axes.set_title(
        f"{delay}: {ratio['stock_over_ours']:.2f} times as fast as postgres_fdw,\n"
        f"{ratio['ours_over_copy']:.2f} of the time of COPY",
        fontsize=10,
    )


def draw_transfer(results_path: Path, figure_path: Path) -> None:
    """Draws the figure of a file of transfers."""
    found = read_transfer(results_path)
    ratios: list[Entry] = found["ratios"]
    figure, panels = pyplot.subplots(
        1, len(ratios), sharey=True, squeeze=False, figsize=(12.0, 4.2), layout="constrained"
    )
    try:
        for axes, ratio in zip(panels[0], ratios, strict=True):
            draw_panel(axes, found, ratio)
        figure.suptitle(f"Reading {found['nrows']} rows of 8 mixed columns from one storage node")
        handles = [Patch(color=color) for color in COLORS.values()]
        labels = ["processor time here", "processor time of the node", "time (red: quartiles)"]
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        figure_path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(figure_path, dpi=DPI)
    finally:
        pyplot.close(figure)

"""What the scans came to: the JSON file, a table, and the figure drawn from the file."""

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
from pgshuttle.scans import (  # noqa: E402
    FACTOR,
    NTRIPS,
    OWN_MS,
    STOCK_LIMIT_S,
    Scans,
    Way,
    WayResult,
)

SCANS_FORMAT = 1
UNITS = {
    "timing": f"milliseconds of a query, seen by a client; null: stopped after {STOCK_LIMIT_S} s",
    "rtt_us": "microseconds of a round trip between the query node and storage nodes",
    "limit_ms": "milliseconds that ours may take: a factor of the nodes' own statements, "
    "round trips, and some of its own",
    "nrows": "rows that nodes sent for ours",
    "nrows_by_hand": "rows that their own statements return",
    "nbytes": "bytes that nodes sent for ours",
    "limit_bytes": "bytes that they may send: twice the rows by hand, in the width that the plan "
    "tells and 16 bytes, and 512 for a request",
}
COLORS = {
    str(Way.OURS): "#0072B2",
    str(Way.HAND): "#009E73",
    str(Way.STOCK): "#E69F00",
    str(Way.HERE): "0.6",
}
DPI = 130

Entry = dict[str, Any]


def save_scans(scans: Scans, path: Path) -> None:
    """Writes the JSON file."""
    allowed = {"factor": FACTOR, "ntrips": NTRIPS, "own_ms": OWN_MS}
    whole = {"format": SCANS_FORMAT, "units": UNITS, "allowed": allowed}
    whole |= dataclasses.asdict(scans)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_kept(scans: Scans) -> bool:
    """Says if all limits are kept."""
    return all(verdict.is_kept for verdict in scans.verdicts)


def show_time(ways: tuple[WayResult, ...], query: str, way: Way, rtt_us: int) -> str:
    """The median of one way, or that it was stopped."""
    for found in ways:
        if (found.query, found.way, found.rtt_us) == (query, way, rtt_us):
            return f"> {STOCK_LIMIT_S} s" if not found.timing else format_ms(found.timing.median_ms)
    return ""


def make_scans_table(scans: Scans) -> Table:
    """A row for each query and delay."""
    table = Table(
        "RTT", "query", "by hand", "shuttle", "limit", "rows", "by hand", "bytes", "limit", "kept"
    )
    for way in (Way.STOCK, Way.HERE):
        table.add_column(str(way))
    table.title = f"queries over four nodes, medians of {scans.nrounds} rounds"
    for verdict in scans.verdicts:
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
            show_time(scans.ways, verdict.query, Way.STOCK, verdict.rtt_us),
            show_time(scans.ways, verdict.query, Way.HERE, verdict.rtt_us),
        )
    return table


def read_scans(path: Path) -> Entry:
    """Reads a file of scans."""
    try:
        found: Entry = json.loads(path.read_text(encoding="utf-8"))
        if not found["ways"] or not found["verdicts"]:
            raise ToolError(f"{path} has no scans")
    except FileNotFoundError:
        raise ToolError(f"{path} does not exist") from None
    except (ValueError, KeyError, TypeError):
        raise ToolError(f"{path} is not a file of scans") from None
    return found


def draw_panel(axes: Axes, found: Entry, rtt_us: int) -> None:
    """Draws the queries under one delay: a bar for each way, a line for what ours may take."""
    verdicts = [verdict for verdict in found["verdicts"] if verdict["rtt_us"] == rtt_us]
    rows = {verdict["query"]: row for row, verdict in enumerate(verdicts)}
    for way in found["ways"]:
        if way["rtt_us"] != rtt_us:
            continue
        place = rows[way["query"]] + 0.2 * (list(COLORS).index(way["way"]) - 1.5)
        stopped_ms = 1000.0 * STOCK_LIMIT_S
        time_ms = stopped_ms if way["timing"] is None else way["timing"]["median_ms"]
        axes.barh(place, time_ms, 0.19, color=COLORS[way["way"]])
    for verdict in verdicts:
        row = rows[verdict["query"]]
        axes.plot([verdict["limit_ms"]] * 2, [row - 0.4, row - 0.2], color="red")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("ms")
    axes.set_title(f"round trip {rtt_us / 1000:g} ms" if rtt_us else "no delay added")


def draw_scans(results_path: Path, figure_path: Path) -> None:
    """Draws the figure of a file of scans."""
    found = read_scans(results_path)
    rtts_us = sorted({verdict["rtt_us"] for verdict in found["verdicts"]})
    figure, panels = pyplot.subplots(
        1, len(rtts_us), sharey=True, squeeze=False, figsize=(13.0, 10.0), layout="constrained"
    )
    try:
        for axes, rtt_us in zip(panels[0], rtts_us, strict=True):
            draw_panel(axes, found, rtt_us)
        figure.suptitle("Queries over four storage nodes (red: what ours may take)")
        handles = [Patch(color=color) for color in COLORS.values()]
        figure.legend(handles, list(COLORS), loc="outside lower center", ncols=4, frameon=False)
        figure_path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(figure_path, dpi=DPI)
    finally:
        pyplot.close(figure)

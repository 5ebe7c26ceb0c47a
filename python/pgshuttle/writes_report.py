"""What the writes came to: the JSON file, a table, and the figure drawn from the file."""

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
from pgshuttle.writes import STOCK_LIMIT_S, Writes  # noqa: E402
from pgshuttle.writes_limits import LIMITS, Way, WayResult  # noqa: E402

WRITES_FORMAT = 1
UNITS = {
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
}
COLORS = {
    str(Way.OURS): "#0072B2",
    str(Way.STOCK): "#E69F00",
    str(Way.NODE): "0.6",
    str(Way.LINE): "0.8",
    str(Way.HAND): "#009E73",
}
DPI = 130

Entry = dict[str, Any]


def save_writes(writes: Writes, path: Path) -> None:
    """Writes the JSON file."""
    limits = {str(case): {"factor": factor, "ntrips": n} for case, (factor, n) in LIMITS.items()}
    whole = {"format": WRITES_FORMAT, "units": UNITS, "limits": limits}
    whole |= dataclasses.asdict(writes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_kept(writes: Writes) -> bool:
    """Says if all limits are kept."""
    return all(verdict.is_kept for verdict in writes.verdicts)


def show_time(ways: tuple[WayResult, ...], case: str, way: Way, rtt_us: int) -> str:
    """The median of one way, or that it was stopped."""
    for found in ways:
        if (found.case, found.way, found.rtt_us) == (case, way, rtt_us):
            return f"> {STOCK_LIMIT_S} s" if not found.timing else format_ms(found.timing.median_ms)
    return ""


def make_writes_table(writes: Writes) -> Table:
    """A row for each case and delay."""
    table = Table("RTT", "statement", "on one node", "shuttle", "limit", "kept")
    table.add_column("by hand")
    table.add_column("postgres_fdw")
    table.title = f"writing to storage nodes, medians of {writes.nrounds} rounds"
    for verdict in writes.verdicts:
        table.add_row(
            f"{verdict.rtt_us / 1000:g} ms",
            verdict.case,
            format_ms(verdict.node_ms),
            format_ms(verdict.ours_ms),
            format_ms(verdict.limit_ms),
            "yes" if verdict.is_kept else "no",
            "" if verdict.relay_ms is None else format_ms(verdict.relay_ms),
            show_time(writes.ways, verdict.case, Way.STOCK, verdict.rtt_us),
        )
    return table


def read_writes(path: Path) -> Entry:
    """Reads a file of writes."""
    try:
        found: Entry = json.loads(path.read_text(encoding="utf-8"))
        if not found["ways"] or not found["verdicts"]:
            raise ToolError(f"{path} has no writes")
    except FileNotFoundError:
        raise ToolError(f"{path} does not exist") from None
    except (ValueError, KeyError, TypeError):
        raise ToolError(f"{path} is not a file of writes") from None
    return found


def draw_panel(axes: Axes, found: Entry, rtt_us: int) -> None:
    """Draws the cases under one delay: a bar for each way, a line for what ours may take."""
    verdicts = [verdict for verdict in found["verdicts"] if verdict["rtt_us"] == rtt_us]
    rows = {verdict["case"]: row for row, verdict in enumerate(verdicts)}
    for way in found["ways"]:
        if way["rtt_us"] != rtt_us:
            continue
        place = rows[way["case"]] + 0.16 * (list(COLORS).index(way["way"]) - 2)
        stopped_ms = 1000.0 * STOCK_LIMIT_S
        time_ms = stopped_ms if way["timing"] is None else way["timing"]["median_ms"]
        axes.barh(place, time_ms, 0.15, color=COLORS[way["way"]])
    for verdict in verdicts:
        row = rows[verdict["case"]]
        axes.plot([verdict["limit_ms"]] * 2, [row - 0.4, row - 0.24], color="red")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("ms")
    axes.set_title(f"round trip {rtt_us / 1000:g} ms" if rtt_us else "no delay added")


def draw_writes(results_path: Path, figure_path: Path) -> None:
    """Draws the figure of a file of writes."""
    found = read_writes(results_path)
    rtts_us = sorted({verdict["rtt_us"] for verdict in found["verdicts"]})
    figure, panels = pyplot.subplots(
        1, len(rtts_us), sharey=True, squeeze=False, figsize=(14.0, 4.6), layout="constrained"
    )
    try:
        for axes, rtt_us in zip(panels[0], rtts_us, strict=True):
            draw_panel(axes, found, rtt_us)
        figure.suptitle("Writing rows to three storage nodes (red: what ours may take)")
        handles = [Patch(color=color) for color in COLORS.values()]
        figure.legend(handles, list(COLORS), loc="outside lower center", ncols=3, frameon=False)
        figure_path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(figure_path, dpi=DPI)
    finally:
        pyplot.close(figure)

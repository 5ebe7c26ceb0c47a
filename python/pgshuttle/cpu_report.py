"""What a batched join costs on this side: the JSON file, a table and the figure."""

import dataclasses
from pathlib import Path

from matplotlib.axes import Axes
from rich.table import Table

from pgshuttle.cpu import Cpu, Way
from pgshuttle.figure_files import open_figure
from pgshuttle.json_files import Entry, read_results, write_json

CPU_FORMAT = 1
UNITS = {
    "samples_ms": "milliseconds of one execution of a prepared query, seen by its client",
    "row_ns": "nanoseconds an outer row: the shortest sample / nrows",
    "nrows": "outer rows; as many keys, and as many rows of the inner side",
    "ratio": "row_ns of way / row_ns of base",
    "bound": "that ratio is to be at most",
}
# told apart by everyone (Okabe and Ito)
OURS = "#D55E00"
CORES = "#0072B2"
OUTER = "0.6"
SIZE_IN = (9.0, 4.2)


def save_cpu(found: Cpu, path: Path) -> None:
    """Writes the JSON file."""
    fields = dataclasses.asdict(found)
    for ratio, entry in zip(found.ratios, fields["ratios"], strict=True):
        entry["ok"] = ratio.ok
    whole = {"format": CPU_FORMAT, "units": UNITS, **fields}
    write_json(path, whole)


def is_kept(found: Cpu) -> bool:
    """Says if all targets are met."""
    return all(ratio.ok for ratio in found.ratios)


def make_cpu_table(found: Cpu) -> Table:
    """A row for each way."""
    ratios = {ratio.way: ratio for ratio in found.ratios}
    table = Table("what", "ns an outer row", "compared with", "ratio", "at most", "verdict")
    table.title = f"CPU time of {found.nrows} outer rows, answers made up here"
    for result in found.ways:
        ratio = ratios.get(result.way)
        if ratio is None:
            table.add_row(result.way, f"{result.row_ns:.0f}")
            continue
        verdict = "ok" if ratio.ok else "[red]MISSED[/red]"
        numbers = (f"{ratio.ratio:.3f}", f"{ratio.bound:g}")
        table.add_row(result.way, f"{result.row_ns:.0f}", ratio.base, *numbers, verdict)
    table.caption = (
        f"Whole queries, the outer rows' scan included; {found.npartitions} partitions under "
        "the appends; the shortest of all rounds."
    )
    return table


def read_cpu(path: Path) -> Entry:
    """Reads a file of such results."""
    return read_results(path, "CPU times", lambda found: found["ways"] and found["ratios"])


def draw_bars(axes: Axes, found: Entry) -> None:
    """Draws a bar for each way, with its ratio to what it is compared with."""
    ratios = {ratio["way"]: ratio for ratio in found["ratios"]}
    for row, result in enumerate(found["ways"]):
        ratio = ratios.get(result["way"])
        color = OURS if ratio else OUTER if result["way"] == Way.OUTER else CORES
        axes.barh(row, result["row_ns"], color=color, height=0.65)
        text = f" {result['row_ns']:.0f} ns"
        if ratio:
            text += f" = {ratio['ratio']:.2f} of {ratio['base']} (at most {ratio['bound']:g})"
        axes.text(result["row_ns"], row, text, va="center", fontsize=8)
    axes.set_yticks(range(len(found["ways"])), [result["way"] for result in found["ways"]])
    axes.invert_yaxis()


def draw_cpu(results_path: Path, figure_path: Path) -> None:
    """Draws the figure of a file of CPU times."""
    found = read_cpu(results_path)
    with open_figure(figure_path, 1, SIZE_IN) as (_, [axes]):
        draw_bars(axes, found)
        axes.set_xlim(0, 1.45 * max(result["row_ns"] for result in found["ways"]))
        axes.set_xlabel("nanoseconds an outer row, whole query")
        axes.grid(visible=True, axis="x", alpha=0.25)
        axes.set_title(
            f"CPU time on the query node: {found['nrows']} outer rows, answers made up; "
            f"{found['npartitions']} partitions under the appends",
            fontsize=10,
        )

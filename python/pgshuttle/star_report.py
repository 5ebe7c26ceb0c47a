"""What a star join costs with and without looking ahead: the JSON file, tables and the figure."""

from pathlib import Path

from matplotlib.axes import Axes
from rich.table import Table

from pgshuttle.figure_files import open_figure
from pgshuttle.json_files import Entry
from pgshuttle.star import COLD_BOUND, Measured, Star
from pgshuttle.star_joins import State

HEAD = {
    "format": 1,
    "units": {
        "elapsed_ms": "milliseconds of one execution, seen by its client; planned before",
        "time_ms": "milliseconds: of cold runs the median, of cached ones the shortest",
        "npages": "pages of 8 kB that were read into shared buffers",
        "disk_bytes": "bytes that the disk had to read for the server's processes meanwhile",
        "concurrency": "effective_io_concurrency; 0: without looking ahead",
        "read_us": "microseconds a page of 8 kB, read at random places of the same files, cold",
        "disk_limit": "the shortest read_us / that of one after the other",
        "ratio": "time_ms with looking ahead / without",
        "bound": "that ratio is to be at most",
    },
}
# told apart by everyone (Okabe and Ito)
COLORS = {16: "#E69F00", 128: "#D55E00"}
PANEL_IN = 3.1
HEIGHT_IN = 4.4


def name_method(io_method: str) -> str:
    """Names how a server reads."""
    return io_method or "before 18"


def make_star_table(found: Star) -> Table:
    """A row for each plan that looks ahead."""
    joins = {(j.state, j.io_method, j.ndimensions, j.concurrency): j for j in found.joins}
    table = Table("pages", "io_method", "dimensions", "concurrency", "pages read")
    for name in ("plain ms", "ahead ms", "ratio", "at most", "verdict"):
        table.add_column(name, justify="right")
    table.title = f"Star join of {found.nsampled} rows, {found.data_mb:.0f} MB"
    for ratio in found.ratios:
        where = (ratio.state, ratio.io_method, ratio.ndimensions)
        plain, ahead = joins[(*where, 0)], joins[(*where, ratio.concurrency)]
        table.add_row(
            ratio.state,
            name_method(ratio.io_method),
            str(ratio.ndimensions),
            str(ratio.concurrency),
            str(count_pages(plain)),
            f"{plain.time_ms:.1f}",
            f"{ahead.time_ms:.1f}",
            f"{ratio.ratio:.3f}",
            f"{ratio.bound:g}",
            "ok" if ratio.ok else "[red]MISSED[/red]",
        )
    table.caption = (
        f"The disk alone, with many reads at a time: {found.disk_limit:.3f} of the time of "
        "reads one after the other."
    )
    return table


def count_pages(join: Measured) -> int:
    """Returns how many pages a run of a join read, at most."""
    return max(sample.npages for sample in join.samples)


def make_disk_table(found: Star) -> Table:
    """What the disk can do."""
    table = Table("pages read at random places, cold", "at a time", "us a page", "ratio")
    alone_us = found.disk[0].read_us
    for reads in found.disk:
        numbers = (f"{reads.read_us:.1f}", f"{reads.read_us / alone_us:.3f}")
        table.add_row(reads.how, str(reads.depth), *numbers)
    return table


def make_tables(found: Star) -> list[Table]:
    """What the disk can do, and what the joins took."""
    return [make_disk_table(found), make_star_table(found)]


def draw_panel(axes: Axes, found: Entry, state: str, io_method: str) -> None:
    """Draws the ratios of one state, a group of bars for each number of dimensions."""
    ratios = [
        ratio
        for ratio in found["ratios"]
        if (ratio["state"], ratio["io_method"]) == (state, io_method)
    ]
    dimensions = sorted({ratio["ndimensions"] for ratio in ratios})
    for ratio in ratios:
        side = -0.2 if ratio["concurrency"] == min(COLORS) else 0.2
        place = dimensions.index(ratio["ndimensions"]) + side
        color = COLORS.get(ratio["concurrency"], "0.5")
        axes.bar(place, ratio["ratio"], width=0.38, color=color)
        axes.text(place, ratio["ratio"], f"{ratio['ratio']:.2f}", ha="center", va="bottom", size=7)
    axes.axhline(ratios[0]["bound"], color="black", linewidth=0.9, linestyle=":")
    if state == State.COLD:
        axes.axhline(found["disk_limit"], color="#0072B2", linewidth=0.9)
    axes.set_xticks(range(len(dimensions)), [str(number) for number in dimensions])
    axes.set_ylim(0, max(1.3, 1.1 * max(ratio["ratio"] for ratio in ratios)))
    axes.set_xlabel("dimensions", fontsize=8)
    axes.set_title(f"{state}\n{name_method(io_method)}", fontsize=9)


def draw(found: Entry, figure_path: Path) -> None:
    """Draws the figure of a file of star joins."""
    panels = list(dict.fromkeys((r["state"], r["io_method"]) for r in found["ratios"]))
    size = (max(6.0, PANEL_IN * len(panels)), HEIGHT_IN)
    with open_figure(figure_path, len(panels), size) as (figure, all_axes):
        for axes, (state, io_method) in zip(all_axes, panels, strict=True):
            draw_panel(axes, found, state, io_method)
        all_axes[0].set_ylabel("time with looking ahead / without")
        figure.suptitle(
            f"Star join of {found['nsampled']} rows, {found['data_mb']:.0f} MB: "
            f"effective_io_concurrency 16 and 128; dotted: target ({COLD_BOUND:g} cold); "
            f"blue: the disk alone, {found['disk_limit']:.2f}",
            fontsize=10,
        )

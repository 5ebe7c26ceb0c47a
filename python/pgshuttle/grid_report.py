"""What the sweep and the hops came to: the JSON file, tables, and figures drawn from the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from rich.table import Table

from pgshuttle import hops, reference, tablets
from pgshuttle.figure_files import name_delay, open_figure
from pgshuttle.grid import CellResult, Grid
from pgshuttle.json_files import Entry
from pgshuttle.printing import format_count, format_ms

HEAD = {
    "format": 1,
    "units": {
        "timing": "milliseconds, seen by a client of the query node",
        "stopped_ms": "milliseconds after which the statement was stopped",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "round_trips": "changes of direction on the connections to all nodes, in the last run",
        "requests": "statements to storage nodes, and pages of their answers, as EXPLAIN tells",
        "batch_size": "outer rows",
        "request_limit": "keys",
        "fetch_limit": "rows",
        "tables": "tables of the join",
    },
}
# colours and marks that are told apart without seeing red or green
STYLES = (
    ("#0072B2", "o", "-"),
    ("#E69F00", "s", "-"),
    ("#009E73", "^", "-"),
    ("#CC79A7", "D", "--"),
    ("0.35", "v", "--"),
    ("0.6", "x", ":"),
)
PEER_STYLES = (("#CC79A7", "--"), ("0.35", "--"), ("0.6", ":"), ("black", "-."))
ABOVE = 1.5  # places an arrow over its mark, on a log scale


def list_rtts(grid: Grid) -> list[int]:
    """The delays of a grid, the shortest first."""
    return sorted({cell.rtt_us for cell in grid.cells})


def format_cell(cell: CellResult | None) -> str:
    """Writes a time, or after how long it was stopped."""
    if cell is not None and cell.stopped_ms is not None:
        return f"> {format_ms(cell.stopped_ms)}"
    return format_ms(cell.time_ms if cell else None)


def list_rows(grid: Grid) -> Iterator[list[CellResult]]:
    """The cells that differ in the delay alone, the shortest first."""
    rtts_us = list_rtts(grid)
    for cell in grid.cells:
        if cell.rtt_us == rtts_us[0]:
            found = (grid.find(cell.who, rtt_us, **cell.labels) for rtt_us in rtts_us)
            yield [other for other in found if other is not None]


def name_rtts(grid: Grid) -> list[str]:
    """Heads of columns."""
    return [f"RTT {rtt_us / 1000:g} ms" for rtt_us in list_rtts(grid)]


def make_sweep_table(grid: Grid) -> Table:
    """A row for each combination of settings, and for each peer."""
    table = Table("batch size", "request limit", "fetch limit", "batches", "requests")
    for name in [*name_rtts(grid), "published, one node"]:
        table.add_column(name, justify="right")
    table.title = f"{tablets.NROWS} rows in {tablets.NTABLETS} tablets, joined with themselves"
    for cells in list_rows(grid):
        first = cells[0]
        times = [format_cell(cell) for cell in cells]
        if first.who == tablets.OURS:
            labels = dict(first.labels)
            key = (labels["batch_size"], labels["request_limit"])
            settings = [str(value) for value in labels.values()]
        else:
            key, settings = (0, 0), [first.who, "", ""]
        published = reference.ONE_NODE_MS.get(key)
        counts = [format_count(first.batches), format_count(first.requests)]
        table.add_row(*settings, *counts, *times, format_ms(published) if published else "")
    table.caption = (
        f"Limits above the batch size change nothing and are left out. Published: "
        f"{reference.SOURCE}."
    )
    return table


def make_hops_table(grid: Grid) -> Table:
    """A row for each number of tables and who joins them."""
    table = Table("tables", "who", "requests")
    for name in name_rtts(grid):
        table.add_column(name, justify="right")
    table.title = f"{hops.NOUTER} rows, each leading through tables of {hops.NROWS} rows"
    for cells in list_rows(grid):
        first = cells[0]
        times = [format_cell(cell) for cell in cells]
        ntables = str(first.labels["tables"])
        table.add_row(ntables, first.who, format_count(first.requests), *times)
    table.caption = "Each table needs the row before it: a round trip each is the least."
    return table


def make_tables(grid: Grid) -> list[Table]:
    """The table of a grid."""
    return [make_sweep_table(grid) if grid.bench == tablets.NAME else make_hops_table(grid)]


def time_of(cell: Entry) -> float:
    """The median, or the limit at which it was stopped."""
    return float(cell["timing"]["median_ms"] if cell["timing"] else cell["stopped_ms"])


@dataclass(frozen=True)
class Point:
    """One point of a line. is_stopped: its statement would have taken longer."""

    x: float
    y_ms: float
    is_stopped: bool


def make_point(x: float, cell: Entry) -> Point:
    """Places a cell."""
    return Point(x, time_of(cell), cell["timing"] is None)


def draw_line(axes: Axes, points: Sequence[Point], style: int, label: str) -> None:
    """Draws one line of a panel; where a statement was stopped, it would go on above."""
    color, mark, line = STYLES[style % len(STYLES)]
    xs, ys = [point.x for point in points], [point.y_ms for point in points]
    axes.plot(xs, ys, color=color, marker=mark, linestyle=line, markersize=4, label=label)
    stopped = [point for point in points if point.is_stopped]
    axes.scatter(
        [point.x for point in stopped],
        [point.y_ms * ABOVE for point in stopped],
        marker="$\\uparrow$",
        color=color,
        s=110,
        zorder=3,
    )


def name_stopped(axes: Axes, cells: Sequence[Entry]) -> None:
    """Says in the legend what an arrow is, where there is one."""
    for stopped_ms in {cell["stopped_ms"] for cell in cells if cell["timing"] is None}:
        label = f"stopped after {format_ms(stopped_ms)}"
        axes.scatter([], [], marker="$\\uparrow$", color="black", s=110, label=label)


def draw_published(axes: Axes, found: Entry, rtt_us: int) -> None:
    """Draws the published figures of one delay."""
    if rtt_us == 0:
        entries = found["published"]["one_node_ms"]
    else:
        entries = [e for e in found["published"]["by_rtt_ms"] if e["rtt_us"] == rtt_us]
    if entries:
        xs, ys = [e["batch_size"] for e in entries], [e["elapsed_ms"] for e in entries]
        axes.scatter(xs, ys, marker="+", color="0.4", label="YugabyteDB, published")


def draw_sweep_panel(axes: Axes, found: Entry, cells: Sequence[Entry]) -> None:
    """Times against the batch size, a line for each request limit; peers are level lines."""
    ours = [cell for cell in cells if cell["who"] == tablets.OURS]
    for style, limit in enumerate(tablets.REQUEST_LIMITS):
        best: dict[int, Point] = {}
        for cell in ours:
            labels = cell["labels"]
            # of limits that do the same, only the smallest was measured
            if labels["request_limit"] == max(
                other["labels"]["request_limit"]
                for other in ours
                if other["labels"]["batch_size"] == labels["batch_size"]
                and other["labels"]["request_limit"] <= limit
            ):
                size = labels["batch_size"]
                point = make_point(size, cell)
                best[size] = min(best.get(size, point), point, key=lambda found: found.y_ms)
        points = [point for _, point in sorted(best.items())]
        draw_line(axes, points, style, f"shuttle, request limit {limit}")
    peers = [cell for cell in cells if cell["who"] in (*tablets.PEERS, tablets.BY_HAND)]
    for (color, line), cell in zip(PEER_STYLES, peers, strict=False):
        axes.axhline(time_of(cell), color=color, linestyle=line, label=cell["who"])
    draw_published(axes, found, cells[0]["rtt_us"])
    axes.set_xscale("log")
    axes.set_xlabel("batch size, outer rows (log scale)")


def draw_hops_panel(axes: Axes, cells: Sequence[Entry]) -> None:
    """Times against the number of tables, a line for everybody."""
    names = list(dict.fromkeys(cell["who"] for cell in cells))
    for style, name in enumerate(names):
        points = [make_point(c["labels"]["tables"], c) for c in cells if c["who"] == name]
        draw_line(axes, points, style, name)
    rtt_ms = cells[0]["rtt_us"] / 1000
    counts = sorted({cell["labels"]["tables"] for cell in cells})
    if rtt_ms > 0:
        limit = [count * rtt_ms for count in counts]
        axes.plot(counts, limit, color="black", linewidth=0.8, label="a round trip a table")
    axes.set_xticks(counts)
    axes.set_xlabel("tables of the join")


def draw(found: Entry, figure_path: Path) -> None:
    """Draws the figure of a file: a panel for each delay."""
    rtts_us = sorted({cell["rtt_us"] for cell in found["cells"]})
    size = (4.2 * len(rtts_us), 5.0)
    with open_figure(figure_path, len(rtts_us), size, sharey=True) as (figure, panels):
        for axes, rtt_us in zip(panels, rtts_us, strict=True):
            cells = [cell for cell in found["cells"] if cell["rtt_us"] == rtt_us]
            if found["bench"] == tablets.NAME:
                draw_sweep_panel(axes, found, cells)
            else:
                draw_hops_panel(axes, cells)
            name_stopped(axes, cells)
            axes.set_yscale("log")
            axes.set_title(name_delay(rtt_us))
            axes.grid(visible=True, alpha=0.3)
        panels[0].set_ylabel("time, ms (log scale)")
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)

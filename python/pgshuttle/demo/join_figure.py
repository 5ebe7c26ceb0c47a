"""Time of the join against the batch size, drawn from the JSON file of the demo."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from pgshuttle.base.json_files import Entry
from pgshuttle.base.printing import format_factor
from pgshuttle.bench.figure_style import SIZE_IN, STYLES, format_ms, format_tick

OTHER_COLOR = "0.35"
STOCK_COLUMNS = ("postgres_fdw nested loop", "postgres_fdw best plan")
STOCK_LABELS = ("nested loop:\na request\nfor each row", "its best plan:\nreads both\nwhole tables")
DEPENDENT_HOPS = 2
OUTER = "foreign"
REQUEST_LIMIT = 1024
LIMIT_LABEL_AT = 14  # batch size; there lines are seldom near
VALUE_LABEL_AT = 1024  # the default batch size
FIRST = 0.4  # where the axis of batch sizes begins: with room for labels in front of 1
LAST = 2000.0  # where its data ends
LABEL_ROOM = 11.0  # how much farther than the last batch size the axis goes, for labels
LABEL_DISTANCE = 0.40  # powers of ten between labels, so that they can be read


def name_delay(rtt_us: int) -> str:
    return f"round trip {rtt_us / 1000:g} ms" if rtt_us else "no delay added"


def select(entries: Sequence[Entry], **wanted: object) -> list[Entry]:
    return [
        entry
        for entry in entries
        if all(entry["point"][key] == value for key, value in wanted.items())
    ]


def write(
    axes: Axes, text: str, place: tuple[float, float], color: str, shift: tuple[float, float]
) -> None:
    """Writes beside a place. shift: in points; to the left of it the text ends there."""
    axes.annotate(
        text,
        place,
        textcoords="offset points",
        xytext=shift,
        fontsize=9,
        color=color,
        va="center",
        ha="right" if shift[0] < 0 else "left",
    )


def select_line(entries: Sequence[Entry], rtt_us: int) -> list[Entry]:
    """Returns the points of our batched join at one delay, in order of the batch size."""
    found = select(
        entries,
        contender="engine",
        planner="forced",
        outer=OUTER,
        rtt_us=rtt_us,
        request_limit=REQUEST_LIMIT,
    )
    return sorted(found, key=lambda entry: int(entry["point"]["batch_size"]))


def find_default_ms(entries: Sequence[Entry], rtt_us: int) -> float | None:
    for entry in select_line(entries, rtt_us):
        if entry["point"]["batch_size"] == VALUE_LABEL_AT:
            return float(entry["estimated_ms"])
    return None


def draw_line(axes: Axes, line: Sequence[Entry], color: str, marker: str) -> None:
    """Draws the time against the batch size at one delay; samples are hollow."""
    sizes = [entry["point"]["batch_size"] for entry in line]
    times_ms = [entry["estimated_ms"] for entry in line]
    axes.plot(sizes, times_ms, color=color, linewidth=1.8, marker=marker)
    for size, time_ms, entry in zip(sizes, times_ms, line, strict=True):
        if entry["is_sampled"]:
            axes.plot([size], [time_ms], marker=marker, color=color, markerfacecolor="white")
        if size == 1:
            write(axes, format_ms(time_ms), (size, time_ms), color, (-7, 0))


def spread(places: Sequence[float]) -> list[float]:
    """Moves labels apart that would overlap. places: powers of ten, ascending."""
    moved = list(places)
    for _ in range(100):
        for low in range(len(moved) - 1):
            lacking = LABEL_DISTANCE - (moved[low + 1] - moved[low])
            if lacking > 1e-6:
                moved[low] -= lacking / 2
                moved[low + 1] += lacking / 2
    return moved


# What a label says, where (time and abscissa), and its colour.
Label = tuple[float, float, str, str]


def write_apart(axes: Axes, labels: list[Label]) -> None:
    """Writes labels beside their points, one above the other."""
    labels.sort()
    powers = spread([math.log10(time_ms) for time_ms, *_ in labels])
    for power, (_, place, text, color) in zip(powers, labels, strict=True):
        write(axes, text, (place, 10**power), color, (9, 0))


def label_lines(axes: Axes, entries: Sequence[Entry], colors: dict[int, str]) -> None:
    """Says at the right end of each line what it is and how low it gets."""
    ends: list[Label] = []
    for rtt_us, color in colors.items():
        line = select_line(entries, rtt_us)
        default_ms = find_default_ms(entries, rtt_us)
        if line and default_ms is not None:
            text = f"{name_delay(rtt_us)}:\n{format_ms(default_ms)} at batch {VALUE_LABEL_AT}"
            last = line[-1]
            ends.append((last["estimated_ms"], last["point"]["batch_size"], text, color))
    write_apart(axes, ends)


def draw_limit(axes: Axes, rtt_us: int, color: str) -> None:
    """Draws what the hops alone would take, one after the other."""
    if rtt_us == 0:
        return
    limit_ms = DEPENDENT_HOPS * rtt_us / 1000
    axes.hlines(limit_ms, 1.0, LAST, color=color, linestyle="--", linewidth=1.0)
    text = f"limit: {DEPENDENT_HOPS} round trips = {limit_ms:g} ms"
    write(axes, text, (LIMIT_LABEL_AT, limit_ms), color, (0, -8))


def draw_stock(
    axes: Axes, entries: Sequence[Entry], colors: dict[int, str], markers: dict[int, str]
) -> None:
    """Draws the times of stock postgres_fdw, which has no batch size, with their values."""
    for column, contender in enumerate(STOCK_COLUMNS):
        labels: list[Label] = []
        for entry in select(entries, contender=contender, outer=OUTER):
            rtt_us, time_ms = entry["point"]["rtt_us"], entry["estimated_ms"]
            color = colors[rtt_us]
            face = "white" if entry["is_sampled"] else color
            axes.plot(
                [column], [time_ms], marker=markers[rtt_us], color=color, markerfacecolor=face
            )
            ours_ms = find_default_ms(entries, rtt_us)
            text = format_ms(time_ms)
            if ours_ms is not None:
                text += f"\n{format_factor(time_ms / ours_ms)}"
            labels.append((time_ms, column, text, color))
        write_apart(axes, labels)


def label_axes(left: Axes, right: Axes, sizes: Sequence[int]) -> None:
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xticks(sizes, [str(size) for size in sizes], rotation=45, fontsize=9)
    left.set_xlim(FIRST, LABEL_ROOM * LAST)
    left.minorticks_off()
    left.set_xlabel("batch size: outer rows whose keys are asked for together (log scale)")
    left.set_ylabel("time until the last row has arrived (log scale)")
    left.yaxis.set_major_formatter(FuncFormatter(format_tick))
    left.set_title("pg_shuttle: batched join", fontsize=11)
    left.grid(visible=True, which="major", alpha=0.25)
    right.set_title("stock postgres_fdw", fontsize=11)
    right.set_xticks(range(len(STOCK_LABELS)), STOCK_LABELS, fontsize=9)
    right.set_xlim(-0.4, len(STOCK_LABELS) - 0.25)
    right.grid(visible=True, axis="y", alpha=0.25)


def add_legend(figure: Figure | SubFigure, colors: dict[int, str], markers: dict[int, str]) -> None:
    """Explains lines and markers below the figure, where no data is."""
    handles = [
        Line2D([], [], color=colors[rtt_us], marker=markers[rtt_us], label=name_delay(rtt_us))
        for rtt_us in colors
    ]
    handles += [
        Line2D([], [], color=OTHER_COLOR, linestyle="--", label="limit: dependent round trips"),
        Line2D(
            [],
            [],
            color=OTHER_COLOR,
            linestyle="",
            marker="o",
            markerfacecolor="white",
            label="estimated from fewer rows",
        ),
        Line2D(
            [],
            [],
            linestyle="",
            label=f"n x: as long as pg_shuttle at batch {VALUE_LABEL_AT}, same delay",
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9, frameon=False)


def draw_join(figure: Figure | SubFigure, found: Entry, number: str = "") -> None:
    """Draws the join into a figure, or a part of one. number: stands before the title."""
    entries = [entry for entry in found["points"] if entry["point"]["case"] == "join"]
    rtts_us = sorted({entry["point"]["rtt_us"] for entry in entries})
    sizes = sorted({entry["point"]["batch_size"] or 1 for entry in entries})
    if not rtts_us:
        raise ValueError("no points of the join")
    colors = {rtt_us: style[0] for rtt_us, style in zip(rtts_us, STYLES, strict=False)}
    markers = {rtt_us: style[1] for rtt_us, style in zip(rtts_us, STYLES, strict=False)}
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    label_axes(left, right, sizes)
    for rtt_us, color in colors.items():
        draw_line(left, select_line(entries, rtt_us), color, markers[rtt_us])
        draw_limit(left, rtt_us, color)
    draw_stock(right, entries, colors, markers)
    label_lines(left, entries, colors)
    add_legend(figure, colors, markers)
    figure.suptitle(
        f"{number}2000 rows on one server joined with 2000 rows on another, by the round-trip time"
        " to each"
    )


def draw(found: Entry) -> Figure:
    """Draws the join alone: results of before the other parts, and the figure of README."""
    figure = Figure(SIZE_IN, layout="constrained")
    draw_join(figure, found)
    return figure

"""The figure of the planner's choices, drawn from the JSON file."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pgshuttle.figure_files import open_figure
from pgshuttle.json_files import Entry, read_results

# told apart by everyone (Okabe and Ito), and by their markers
STYLES = {
    "batched join": ("#D55E00", "D"),
    "hash join": ("#0072B2", "s"),
    "merge join": ("#009E73", "^"),
    "nested loop": ("#CC79A7", "v"),
}
CHOSEN = "chosen"
STOPPED = 5.0  # where the axis ends
TARGET = 2.0
TRANSPORTS = {"engine": "", "guest": "stock servers: "}
WIDTH_IN = 14.0
ROW_IN = 0.21
MARGINS_IN = 2.1


def read_choices(path: Path) -> Entry:
    """Reads a file of choices."""
    return read_results(
        path,
        "choices of the planner",
        lambda found: found["cases"] and found["geometric_mean"] >= 1,
    )


def name_row(case: Entry) -> str:
    """Names the join of a case."""
    return TRANSPORTS.get(case["transport"], "") + str(case["label"])


def draw_case(axes: Axes, case: Entry, row: int) -> None:
    """Draws all ways to join of one case, and a ring around the one that was chosen."""
    best_ms = min(plan["time_ms"] for plan in case["plans"] if plan["time_ms"] is not None)
    for plan in case["plans"]:
        ratio = STOPPED if plan["time_ms"] is None else min(STOPPED, plan["time_ms"] / best_ms)
        for way in plan["ways"]:
            if way in STYLES:
                color, marker = STYLES[way]
                face = color if ratio < STOPPED else "white"
                axes.plot([ratio], [row], marker, color=color, markerfacecolor=face, ms=5)
        if CHOSEN in plan["ways"]:
            color = "black" if ratio <= TARGET else "red"
            axes.plot([ratio], [row], "o", color=color, markerfacecolor="none", ms=10, mew=1.3)


def draw_panel(axes: Axes, cases: Sequence[Entry], rows: dict[str, int], rtt_us: int) -> None:
    """Draws the cases of one delay."""
    for case in cases:
        draw_case(axes, case, rows[name_row(case)])
    axes.set_xscale("log")
    ticks = (1, 1.5, 2, 3, STOPPED)
    axes.set_xticks(ticks, [*(f"{tick:g}" for tick in ticks[:-1]), "5+"], fontsize=8)
    axes.minorticks_off()
    axes.set_xlim(0.93, STOPPED * 1.08)
    axes.axvline(1, color="0.6", linewidth=0.8, zorder=0)
    axes.axvline(TARGET, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    axes.grid(visible=True, axis="y", alpha=0.25)
    delay = f"round trip {rtt_us / 1000:g} ms" if rtt_us else "no delay added"
    axes.set_title(delay, fontsize=10)
    axes.set_xlabel("time / time of the fastest (log scale)", fontsize=8)


def add_legend(figure: Figure) -> None:
    """Explains the markers below the figure."""
    handles = [
        Line2D([], [], color=color, marker=marker, linestyle="", label=f"{way}, forced")
        for way, (color, marker) in STYLES.items()
    ]
    for color, text in (
        ("black", "what the planner chose"),
        ("red", "chosen, and over twice the fastest"),
    ):
        ring = Line2D([], [], color=color, marker="o", linestyle="", markersize=10, label=text)
        ring.set_markerfacecolor("none")
        handles.append(ring)
    stopped = Line2D([], [], color="0.4", marker="o", linestyle="", markerfacecolor="white")
    stopped.set_label("hollow: five times the fastest or more, stopped")
    handles.append(stopped)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9, frameon=False)


def draw_choices(results_path: Path, figure_path: Path) -> None:
    """Draws the figure of a file of choices."""
    found = read_choices(results_path)
    cases: list[Entry] = found["cases"]
    rtts_us = sorted({case["rtt_us"] for case in cases})
    rows = {name: row for row, name in enumerate(dict.fromkeys(name_row(case) for case in cases))}
    size = (WIDTH_IN, ROW_IN * len(rows) + MARGINS_IN)
    with open_figure(figure_path, len(rtts_us), size, sharey=True) as (figure, panels):
        for axes, rtt_us in zip(panels, rtts_us, strict=True):
            draw_panel(axes, [case for case in cases if case["rtt_us"] == rtt_us], rows, rtt_us)
        panels[0].set_yticks(list(rows.values()), list(rows), fontsize=8)
        panels[0].set_ylim(len(rows) - 0.4, -0.6)
        figure.suptitle(
            f"Which way to join the planner chose, for {len(cases)} queries: "
            f"on average {found['geometric_mean']:.2f} times the fastest way, "
            f"at worst {found['worst']:.2f} times"
        )
        add_legend(figure)

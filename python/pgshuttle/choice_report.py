"""What the planner's choices came to: tables, and the figure drawn from the file."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.table import Table

from pgshuttle.choice_cases import FORCED, Way
from pgshuttle.choices import (
    LARGEST_MEAN,
    LARGEST_RATIO,
    STOP_FACTOR,
    CaseResult,
    Choices,
    PlanResult,
    find_geometric_mean,
)
from pgshuttle.figure_files import name_delay, open_figure
from pgshuttle.json_files import Entry
from pgshuttle.printing import format_ms

WORTH_A_ROW = 1.3  # ratios from which a case is shown with the times of all ways
HEAD = {
    "format": 1,
    "units": {
        "samples_ms": "milliseconds, seen by a client of the query node, planning included",
        "time_ms": "the shortest sample",
        "stopped_ms": "milliseconds after which a plan was stopped",
        "rtt_us": "microseconds of a round trip, added by the delay proxies",
        "ratio": "time of the chosen plan / time of the fastest; a stopped plan counts as "
        f"{STOP_FACTOR:g}",
        "estimated_cost": "units of the planner",
        "scale": "of the tables' sizes; 1: up to 1 000 000 rows",
    },
    "targets": {"geometric_mean": LARGEST_MEAN, "worst": LARGEST_RATIO},
}
# told apart by everyone (Okabe and Ito), and by their markers
STYLES = {
    "batched join": ("#D55E00", "D"),
    "hash join": ("#0072B2", "s"),
    "merge join": ("#009E73", "^"),
    "nested loop": ("#CC79A7", "v"),
}
CHOSEN = "chosen"
TRANSPORTS = {"engine": "", "guest": "stock servers: "}
WIDTH_IN = 14.0
ROW_IN = 0.21
MARGINS_IN = 2.1


def name_choice(case: CaseResult) -> str:
    """Names the way that the planner chose; one that nothing forces is named by its joins."""
    chosen = case.find(Way.CHOSEN)
    if chosen is None:
        return "-"
    forced = [str(way) for way in FORCED if way in chosen.ways]
    return forced[0] if forced else " + ".join(dict.fromkeys(chosen.joins)) or "no join"


def format_plan(plan: PlanResult | None) -> str:
    """Writes the time of a plan."""
    if plan is None:
        return "-"
    if plan.time_ms is None:
        return f"> {format_ms(plan.stopped_ms)}"
    return format_ms(plan.time_ms)


def format_ratio(case: CaseResult | None) -> str:
    """Writes what was chosen and how it compares."""
    if case is None:
        return ""
    text = f"{name_choice(case)} {case.ratio:.2f}"
    return f"[red]{text}[/red]" if case.ratio > LARGEST_RATIO else text


def make_choices_table(choices: Choices) -> Table:
    """A row for each join, a column for each delay: what was chosen, and its ratio."""
    rtts_us = sorted({case.rtt_us for case in choices.cases})
    rows: dict[tuple[str, str], dict[int, CaseResult]] = {}
    for case in choices.cases:
        rows.setdefault((case.transport, case.label), {})[case.rtt_us] = case
    table = Table("servers", "join", *(f"RTT {rtt_us / 1000:g} ms" for rtt_us in rtts_us))
    table.title = "the planner's choice, and its time as a multiple of the fastest way to join"
    for (transport, label), by_rtt in rows.items():
        table.add_row(transport, label, *(format_ratio(by_rtt.get(rtt)) for rtt in rtts_us))
    means = [
        f"{find_geometric_mean([c.ratio for c in choices.cases if c.rtt_us == rtt]):.3f}"
        for rtt in rtts_us
    ]
    table.add_section()
    table.add_row("", "geometric mean", *means)
    table.caption = (
        f"{len(choices.cases)} queries: geometric mean {choices.geometric_mean:.3f} "
        f"(at most {LARGEST_MEAN:g}), worst {choices.worst:.2f} (at most {LARGEST_RATIO:g}). "
        f"engine: servers of the wrapper shuttle; guest: of stock postgres_fdw."
    )
    return table


def make_misses_table(cases: Sequence[CaseResult]) -> Table:
    """The cases where another way would have been clearly faster, with all their times."""
    table = Table("servers", "join", "RTT", "chosen", *(str(way) for way in FORCED), "ratio")
    table.title = f"chosen / fastest over {WORTH_A_ROW:g}"
    for case in sorted(cases, key=lambda case: -case.ratio):
        if case.ratio > WORTH_A_ROW:
            table.add_row(
                case.transport,
                case.label,
                f"{case.rtt_us / 1000:g} ms",
                f"{name_choice(case)}: {format_plan(case.find(Way.CHOSEN))}",
                *(format_plan(case.find(way)) for way in FORCED),
                f"{case.ratio:.2f}",
            )
    return table


def make_tables(choices: Choices) -> list[Table]:
    """All joins, and those where the choice was not the fastest."""
    return [make_choices_table(choices), make_misses_table(choices.cases)]


def name_row(case: Entry) -> str:
    """Names the join of a case."""
    return TRANSPORTS.get(case["transport"], "") + str(case["label"])


def draw_case(axes: Axes, case: Entry, row: int) -> None:
    """Draws all ways to join of one case, and a ring around the one that was chosen."""
    best_ms = min(plan["time_ms"] for plan in case["plans"] if plan["time_ms"] is not None)
    for plan in case["plans"]:
        ratio = (
            STOP_FACTOR if plan["time_ms"] is None else min(STOP_FACTOR, plan["time_ms"] / best_ms)
        )
        for way in plan["ways"]:
            if way in STYLES:
                color, marker = STYLES[way]
                face = color if ratio < STOP_FACTOR else "white"
                axes.plot([ratio], [row], marker, color=color, markerfacecolor=face, ms=5)
        if CHOSEN in plan["ways"]:
            color = "black" if ratio <= LARGEST_RATIO else "red"
            axes.plot([ratio], [row], "o", color=color, markerfacecolor="none", ms=10, mew=1.3)


def draw_panel(axes: Axes, cases: Sequence[Entry], rows: dict[str, int], rtt_us: int) -> None:
    """Draws the cases of one delay."""
    for case in cases:
        draw_case(axes, case, rows[name_row(case)])
    axes.set_xscale("log")
    ticks = (1, 1.5, 2, 3, STOP_FACTOR)
    axes.set_xticks(ticks, [*(f"{tick:g}" for tick in ticks[:-1]), "5+"], fontsize=8)
    axes.minorticks_off()
    axes.set_xlim(0.93, STOP_FACTOR * 1.08)
    axes.axvline(1, color="0.6", linewidth=0.8, zorder=0)
    axes.axvline(LARGEST_RATIO, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.set_title(name_delay(rtt_us), fontsize=10)
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


def draw(found: Entry, figure_path: Path) -> None:
    """Draws the figure of a file of choices."""
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

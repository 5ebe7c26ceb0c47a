"""What the planner's choices came to: units and tables."""

from collections.abc import Sequence
from statistics import geometric_mean

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pgshuttle.base.printing import format_ms
from pgshuttle.bench.choice_cases import FORCED, Way
from pgshuttle.bench.choices import (
    LARGEST_MEAN,
    LARGEST_RATIO,
    STOP_FACTOR,
    CaseResult,
    Choices,
    PlanResult,
)

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


def name_choice(case: CaseResult) -> str:
    """Names the way that the planner chose; one that nothing forces is named by its joins."""
    chosen = case.find(Way.CHOSEN)
    if chosen is None:
        return "-"
    forced = [str(way) for way in FORCED if way in chosen.ways]
    return forced[0] if forced else " + ".join(dict.fromkeys(chosen.joins)) or "no join"


def format_plan(plan: PlanResult | None) -> str:
    if plan is None:
        return "-"
    if plan.time_ms is None:
        return f"> {format_ms(plan.stopped_ms)}"
    return format_ms(plan.time_ms)


def format_ratio(case: CaseResult | None) -> RenderableType:
    if case is None:
        return ""
    text = f"{name_choice(case)} {case.ratio:.2f}"
    return Text(text, style="red") if case.ratio > LARGEST_RATIO else text


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
        f"{geometric_mean([c.ratio for c in choices.cases if c.rtt_us == rtt]):.3f}"
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
    return [make_choices_table(choices), make_misses_table(choices.cases)]

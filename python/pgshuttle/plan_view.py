"""A plan for reading: a line a node, with bars for time and requests; for terminals and pages."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from pgshuttle.explain import READ_REQUESTS, PlanNode, name_node

BAR_WIDTH = 14  # characters
PAGE_WIDTH = 140  # characters of a line of a page
FULL, PARTS = "█", " ▏▎▍▌▋▊▉"
SENT_REQUESTS = "Storage Flush Requests"
TABLE_LISTS = ("Target Tables", "Written Tables")  # core's, and ours
TOTALS = (
    "Planning Time",
    "Execution Time",
    READ_REQUESTS,
    "Storage Rows Scanned",
    "Storage Rows Returned",
    "Storage Read Time",
    SENT_REQUESTS,
    "Storage Bytes Sent",
    "Storage Bytes Received",
    "Peak Memory Usage",
)
DETAILS = (
    "Join Filter",
    "Hash Cond",
    "Merge Cond",
    "Index Cond",
    "Filter",
    "Storage Filter",
    "Batches",
    "Keys",
    "Distinct Keys",
    "Served",
    "Alone",
    "Storage Rows Scanned",
    "Storage Rows Returned",
    "Storage Write Requests",
    "Remote SQL",
)


@dataclass(frozen=True)
class Line:
    """One plan node. Times are its own, without those below it, over all its loops."""

    depth: int
    name: str
    rows: float | None
    loops: int | None
    own_ms: float | None
    requests: int | None
    details: dict[str, Any]


def time_of(node: PlanNode) -> float | None:
    """Time of a node and all below it, over all loops."""
    if "Actual Total Time" not in node:
        return None
    return float(node["Actual Total Time"]) * int(node.get("Actual Loops", 1))


def time_below(node: PlanNode) -> float:
    """Time of what is below a node.

    An Append below a Routed Append is never executed, but its children are.
    """
    children = node.get("Plans", [])
    return sum(
        time_below(child) if child.get("Actual Loops") == 0 else time_of(child) or 0.0
        for child in children
    )


def make_line(node: PlanNode, depth: int, name: str) -> Line:
    """Reads the numbers of a node, or of a table that it writes, as far as it has them."""
    whole = time_of(node)
    loops = node.get("Actual Loops")
    rows = node.get("Actual Rows")
    requests = [node[key] for key in (READ_REQUESTS, SENT_REQUESTS) if key in node]
    return Line(
        depth=depth,
        name=name,
        rows=None if rows is None or loops is None else float(rows) * int(loops),
        loops=None if loops is None else int(loops),
        own_ms=None if whole is None else max(0.0, whole - time_below(node)),
        requests=sum(requests) if requests else None,
        details={key: node[key] for key in DETAILS if key in node},
    )


def list_lines(node: PlanNode, depth: int = 0) -> Iterator[Line]:
    """Yields a node, the tables that it writes where it lists them, and all below it."""
    yield make_line(node, depth, name_node(node))
    for written in (written for key in TABLE_LISTS for written in node.get(key, [])):
        name = f"{written.get('Operation', 'Write')} on {written.get('Relation Name', '?')}"
        yield make_line(written, depth + 1, name)
    for child in node.get("Plans", []):
        yield from list_lines(child, depth + 1)


def draw_bar(part: float) -> str:
    """Draws a bar for a part of 1."""
    eighths = round(max(0.0, min(1.0, part)) * BAR_WIDTH * 8)
    whole, rest = divmod(eighths, 8)
    return (FULL * whole + (PARTS[rest] if rest else "")).ljust(BAR_WIDTH)


def part_of(value: float | None, largest: float) -> float:
    """A value as a part of the largest one."""
    return 0.0 if value is None or largest <= 0 else value / largest


def largest_of(lines: list[Line]) -> tuple[float, float]:
    """The longest time and the most requests of one node."""
    times = max((line.own_ms or 0.0 for line in lines), default=0.0)
    return times, max((line.requests or 0 for line in lines), default=0)


def write_count(value: float | None) -> str:
    """Writes a count with separators; nothing where it is not known."""
    return "" if value is None else f"{value:,.0f}".replace(",", " ")


def write_ms(value: float | None) -> str:
    """Writes a time."""
    return "" if value is None else f"{value:.3g} ms" if value < 100 else f"{value:.0f} ms"


def make_plan_table(answer: dict[str, Any]) -> Table:
    """The plan for a terminal."""
    lines = list(list_lines(answer["Plan"]))
    longest_ms, most = largest_of(lines)
    table = Table(box=None, pad_edge=False)
    table.add_column("plan", no_wrap=False)
    for name in ("rows", "loops", "own time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("requests", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for line in lines:
        indent = "  " * (line.depth - 1) + "└ " if line.depth else ""
        table.add_row(
            Text(indent + line.name),
            write_count(line.rows),
            write_count(line.loops),
            write_ms(line.own_ms),
            Text(draw_bar(part_of(line.own_ms, longest_ms)), style="cyan"),
            write_count(line.requests),
            Text(draw_bar(part_of(line.requests, most)), style="yellow"),
        )
    return table


def list_totals(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """The totals of a statement, with their units."""
    units = {"Time": " ms", "Sent": " bytes", "Received": " bytes", "Usage": " kB"}
    found = []
    for name in TOTALS:
        if name in answer:
            value = answer[name]
            number = f"{value:g}" if isinstance(value, float) else str(value)
            found.append((name, number + units.get(name.rsplit(" ", 1)[-1], "")))
    return found


def write_page(query: str, answer: dict[str, Any]) -> str:
    """A page of its own, which loads nothing: what a terminal shows, details, EXPLAIN's answer."""
    page = Console(record=True, file=io.StringIO(), width=PAGE_WIDTH)
    page.print(query, markup=False, highlight=False)
    page.print(make_plan_table(answer))
    for name, value in list_totals(answer):
        page.print(f"{name}: {value}", markup=False)
    for line in list_lines(answer["Plan"]):
        if line.details:
            page.print(f"\n{line.name}", markup=False, style="bold")
        for name, value in line.details.items():
            page.print(f"  {name}: {value}", markup=False, highlight=False)
    page.print("\nWhat EXPLAIN said:", json.dumps([answer], indent=2), markup=False)
    return page.export_html(theme=DEFAULT_TERMINAL_THEME)

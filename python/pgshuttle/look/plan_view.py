"""A plan for reading: a line a node, with bars for time and requests; plan_page makes it a page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from rich.table import Table
from rich.text import Text

from pgshuttle.look.plan_facts import READ_REQUESTS, PlanNode, name_node, name_relation

BAR_WIDTH = 14  # characters
FULL, PARTS = "█", " ▏▎▍▌▋▊▉"
SCALE = "Bars: the part of the whole plan's time, and of its requests."
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
    """One plan node. Times are its own, without those below it, over all its loops.

    tree: the branches that lead to it, to be drawn before its name.
    node: the server that it asks; empty if it asks none.
    estimate: the rows that the planner expects, of one loop.
    """

    tree: str
    name: str
    node: str
    rows: float | None
    estimate: float | None
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


@dataclass(frozen=True)
class Shares:
    """What all lines of a plan took together."""

    time_ms: float
    requests: int

    @classmethod
    def of(cls, lines: list[Line]) -> Self:
        return cls(
            sum(line.own_ms or 0.0 for line in lines), sum(line.requests or 0 for line in lines)
        )

    def of_time(self, line: Line) -> float:
        """The part of the time that a line took; 1 is all."""
        return (line.own_ms or 0.0) / self.time_ms if self.time_ms > 0 else 0.0

    def of_requests(self, line: Line) -> float:
        """The part of the requests that a line sent; 1 is all."""
        return (line.requests or 0) / self.requests if self.requests > 0 else 0.0


def find_server(node: PlanNode, servers: Mapping[str, str]) -> str:
    """Names the server that a plan node asks: as EXPLAIN does, else by its foreign table."""
    told = node.get("Storage Node") or node.get("Node")
    return str(told or servers.get(name_relation(node) or "", ""))


def make_line(node: PlanNode, name: str, tree: str, server: str) -> Line:
    """Reads the numbers of a node, or of a table that it writes, as far as it has them."""
    whole = time_of(node)
    loops = node.get("Actual Loops")
    rows = node.get("Actual Rows")
    requests = [node[key] for key in (READ_REQUESTS, SENT_REQUESTS) if key in node]
    return Line(
        tree=tree,
        name=name,
        node=server,
        rows=None if rows is None or loops is None else float(rows) * int(loops),
        estimate=node.get("Plan Rows"),
        loops=None if loops is None else int(loops),
        own_ms=None if whole is None else max(0.0, whole - time_below(node)),
        requests=sum(requests) if requests else None,
        details={key: node[key] for key in DETAILS if key in node},
    )


def list_lines(
    node: PlanNode, servers: Mapping[str, str], tree: str = "", below: str = ""
) -> Iterator[Line]:
    """Yields a node, the tables that it writes where it lists them, and all below it.

    servers: those of foreign tables, for nodes of which EXPLAIN does not name them.
    tree: the branches before its own name. below: those before what is below it.
    """
    yield make_line(node, name_node(node), tree, find_server(node, servers))
    written = [table for key in TABLE_LISTS for table in node.get(key, [])]
    children = node.get("Plans", [])
    last = len(written) + len(children) - 1
    for number, table in enumerate(written):
        name = f"{table.get('Operation', 'Write')} on {table.get('Relation Name', '?')}"
        branch = "└ " if number == last else "├ "
        yield make_line(table, name, below + branch, find_server(table, servers))
    for number, child in enumerate(children, start=len(written)):
        branch, beside = ("└ ", "  ") if number == last else ("├ ", "│ ")
        yield from list_lines(child, servers, below + branch, below + beside)


def draw_bar(part: float) -> str:
    eighths = round(max(0.0, min(1.0, part)) * BAR_WIDTH * 8)
    whole, rest = divmod(eighths, 8)
    return (FULL * whole + (PARTS[rest] if rest else "")).ljust(BAR_WIDTH)


def write_count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}".replace(",", " ")


def write_ms(value: float | None) -> str:
    return "" if value is None else f"{value:.3g} ms" if value < 100 else f"{value:.0f} ms"


def make_plan_table(answer: dict[str, Any], servers: Mapping[str, str]) -> Table:
    lines = list(list_lines(answer["Plan"], servers))
    shares = Shares.of(lines)
    table = Table(box=None, pad_edge=False, caption=SCALE, caption_justify="left")
    table.add_column("plan", no_wrap=False)
    table.add_column("node", no_wrap=True)
    for name in ("rows", "loops", "own time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("requests", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for line in lines:
        table.add_row(
            Text(line.tree + line.name),
            Text(line.node),
            write_count(line.rows),
            write_count(line.loops),
            write_ms(line.own_ms),
            Text(draw_bar(shares.of_time(line)), style="cyan"),
            write_count(line.requests),
            Text(draw_bar(shares.of_requests(line)), style="yellow"),
        )
    return table


def list_totals(answer: dict[str, Any]) -> list[tuple[str, str]]:
    units = {"Time": " ms", "Sent": " bytes", "Received": " bytes", "Usage": " kB"}
    found = []
    for name in TOTALS:
        if name in answer:
            value = answer[name]
            number = f"{value:g}" if isinstance(value, float) else str(value)
            found.append((name, number + units.get(name.rsplit(" ", 1)[-1], "")))
    return found

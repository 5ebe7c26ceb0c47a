"""Reading the JSON of EXPLAIN, with or without the counters of the option DIST."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LOOK_AHEAD = "Look Ahead"
JOINS = ("Nested Loop", "Hash Join", "Merge Join")
READ_REQUESTS = "Storage Read Requests"

PlanNode = dict[str, Any]


@dataclass(frozen=True)
class PlanFacts:
    """What a plan is and, after ANALYZE with DIST, what it did. None: not told."""

    shape: str
    joins: tuple[str, ...]  # the uppermost first
    has_foreign_inner: bool
    batches: int | None
    inner_requests: int | None
    requests: int | None
    planning_ms: float | None


def walk(node: PlanNode) -> Iterator[PlanNode]:
    yield node
    for child in node.get("Plans", []):
        yield from walk(child)


def name_node(node: PlanNode) -> str:
    """Names a plan node: its provider or its type, and what it reads."""
    name = str(node.get("Custom Plan Provider") or node.get("Node Type", "?"))
    relation = node.get("Relation Name") or node.get("Index Name")
    return f"{name} {relation}" if relation else name


def quote_name(name: str) -> str:
    """A name as EXPLAIN prints it, unless it is a key word."""
    return name if re.fullmatch("[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def name_relation(node: PlanNode) -> str | None:
    """Names, with its schema, the table of a node, or the first one of a join on a server."""
    if "Relation Name" in node:
        return ".".join(quote_name(str(node.get(key, ""))) for key in ("Schema", "Relation Name"))
    found = re.search(r"\(([^\s()]+)", str(node.get("Relations", "")))
    return found[1] if found else None


def draw_shape(node: PlanNode) -> str:
    """Writes a plan in one line, such as Nested Loop(Seq Scan a, Foreign Scan b)."""
    children = ", ".join(draw_shape(child) for child in node.get("Plans", []))
    return f"{name_node(node)}({children})" if children else name_node(node)


def is_look_ahead(node: PlanNode) -> bool:
    return node.get("Custom Plan Provider") == LOOK_AHEAD


def name_joins(plan: PlanNode) -> tuple[str, ...]:
    names = []
    for node in walk(plan):
        if node.get("Node Type") in JOINS:
            is_batched = any(is_look_ahead(child) for child in node.get("Plans", []))
            names.append("batched join" if is_batched else str(node["Node Type"]).lower())
    return tuple(names)


def add_up(nodes: list[PlanNode], key: str) -> int | None:
    """Adds a counter over the nodes that have it; None if none has."""
    values = [int(node[key]) for node in nodes if key in node]
    return sum(values) if values else None


def find_inner_scans(node: PlanNode, *, is_inner: bool = False) -> Iterator[PlanNode]:
    """Yields the foreign scans on the inner sides of joins."""
    is_inner = is_inner or node.get("Parent Relationship") == "Inner"
    if is_inner and node.get("Node Type") == "Foreign Scan":
        yield node
    for child in node.get("Plans", []):
        yield from find_inner_scans(child, is_inner=is_inner)


def read_plan(answer: list[dict[str, Any]]) -> PlanFacts:
    top = answer[0]
    plan: PlanNode = top["Plan"]
    looks = [node for node in walk(plan) if is_look_ahead(node)]
    scans = [node for node in walk(plan) if node.get("Node Type") == "Foreign Scan"]
    inner_scans = list(find_inner_scans(plan))
    totals = [top] if READ_REQUESTS in top else scans
    return PlanFacts(
        shape=draw_shape(plan),
        joins=name_joins(plan),
        has_foreign_inner=bool(inner_scans),
        batches=add_up(looks, "Batches"),
        inner_requests=add_up(inner_scans, READ_REQUESTS),
        requests=add_up(totals, READ_REQUESTS),
        planning_ms=top.get("Planning Time"),
    )

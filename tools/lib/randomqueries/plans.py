"""What a plan that was run says about batched joins."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

COPY = re.compile(r"_\d{5,} ")  # the name of a copy ends with the OID of its table


def nodes(plan: object) -> Iterator[dict[str, Any]]:
    """All nodes of a plan that was printed as JSON."""
    if isinstance(plan, dict):
        if "Node Type" in plan:
            yield plan
        for part in plan.values():
            yield from nodes(part)
    elif isinstance(plan, list):
        for part in plan:
            yield from nodes(part)


def most_batches(plans: Iterable[Any]) -> int:
    """Batches of the Look Ahead that had most of them."""
    counts = [
        int(node.get("Batches", 0))
        for plan in plans
        for node in nodes(plan)
        if node.get("Custom Plan Provider") == "Look Ahead"
    ]
    return max(counts, default=0)


def is_routed(plans: Iterable[Any]) -> bool:
    """A node was sent a statement as a whole."""
    return any(
        node.get("Custom Plan Provider") == "Routed Statement"
        for plan in plans
        for node in nodes(plan)
    )


def reads_copies(plans: Iterable[Any]) -> bool:
    """A node joined its copy of a reference table."""
    return any(COPY.search(node.get("Relations", "")) for plan in plans for node in nodes(plan))


def waits_for_itself(plans: Iterable[Any]) -> bool:
    """A scan whose parameter comes from scans that postgres_fdw reads asynchronously.

    postgres_fdw ends what is under way on its connection before it computes parameters,
    and finds that busy when it sends the query (docs/compatibility.md).
    """
    return any(
        node["Node Type"] == "Foreign Scan"
        and any(
            below.get("Async Capable")
            for child in node.get("Plans", [])
            if child.get("Parent Relationship") == "InitPlan"
            for below in nodes(child)
        )
        for plan in plans
        for node in nodes(plan)
    )


def outline(node: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """A plan as one line a node."""
    name = node["Custom Plan Provider"] if "Custom Plan Provider" in node else node["Node Type"]
    words = [name, node.get("Join Type", ""), node.get("Relation Name", "")]
    words += [node.get("Alias", ""), node.get("Subplan Name", "")]
    conditions = [f"{k}: {v}" for k, v in node.items() if k.endswith(("Filter", "Cond"))]
    if "Remote SQL" in node:
        conditions.append(node["Remote SQL"])
    if "Batches" in node and name == "Look Ahead":
        conditions.append(f"{node['Batches']} batches, {node.get('Alone')} alone")
    text = " ".join(word for word in words if word)
    yield "  " * depth + "; ".join([text, *conditions])
    for child in node.get("Plans", []):
        yield from outline(child, depth + 1)

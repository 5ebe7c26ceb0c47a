"""What is told of a failure."""

from collections.abc import Iterator, Sequence
from typing import Any

from randomqueries.checking import Case
from randomqueries.plans import outline
from randomqueries.ways import company_steps, local_texts, query_steps


def failure_lines(case: Case, plans: Sequence[Any]) -> Iterator[str]:
    """All that is needed to see a failure again."""
    yield f"  transport: {case.transport}; way: {case.way.name}"
    yield "  settings:"
    for name, value in case.settings.items():
        yield f"    SET {name} = '{value}';"
    yield "  foreign side:"
    steps = company_steps(case.way, case.transport)
    for step in steps + query_steps(case.queries, case.way, case.transport):
        yield f"    {step.sql};"
    yield "  local side:"
    for text in local_texts(case.queries, case.way)[:2]:
        yield f"    {text};"
    for plan in plans:
        yield "  plan:"
        for line in outline(plan["Plan"]):
            yield f"    {line}"

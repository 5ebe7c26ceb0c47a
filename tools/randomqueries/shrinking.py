"""Makes a failing case smaller, as far as that is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from randomqueries.checking import Case
from randomqueries.fragments import smaller

LIMIT_S = 60.0
AnyCase = TypeVar("AnyCase")


def smaller_cases(case: Case) -> Iterator[Case]:
    """Cases with one thing less: a part of a query, a setting, a way of running it."""
    if case.way.name != "plain" and len(case.queries) == 1:
        yield replace(case, way=replace(case.way, name="plain"))
    for i in range(len(case.way.writes)):
        writes = case.way.writes[:i] + case.way.writes[i + 1 :]
        yield replace(case, way=replace(case.way, writes=writes))
    if case.way.before:
        yield replace(case, way=replace(case.way, before=()))
    for i, query in enumerate(case.queries):
        for sql in smaller(query.sql):
            less = replace(query, sql=sql)
            yield replace(case, queries=(*case.queries[:i], less, *case.queries[i + 1 :]))
    for name in case.settings:
        yield replace(case, settings={k: v for k, v in case.settings.items() if k != name})


def shrink(
    case: AnyCase,
    still_fails: Callable[[AnyCase], bool],
    smaller_ones: Callable[[AnyCase], Iterator[AnyCase]],
) -> AnyCase:
    """The smallest case found that still fails."""
    deadline = time.monotonic() + LIMIT_S
    found = True
    while found:
        found = False
        for less in smaller_ones(case):
            if time.monotonic() > deadline:
                return case
            if still_fails(less):
                case, found = less, True
                break
    return case

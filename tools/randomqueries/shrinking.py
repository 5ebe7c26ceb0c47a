"""Cases with one thing less."""

from collections.abc import Iterator
from dataclasses import replace

from randomqueries.checking import Case
from randomqueries.fragments import smaller


def smaller_cases(case: Case) -> Iterator[Case]:
    """A part of a query, a setting or a way of running it is left out."""
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

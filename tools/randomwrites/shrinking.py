"""Transactions with one thing less."""

from collections.abc import Iterator
from dataclasses import replace

from randomqueries.fragments import smaller

from randomwrites.cases import Case


def smaller_cases(case: Case) -> Iterator[Case]:
    """A statement, a routine, a setting or a part of one of them is left out."""
    for size in (4, 2, 1):
        for i in range(0, len(case.steps), size):
            if size < len(case.steps):
                yield replace(case, steps=case.steps[:i] + case.steps[i + size :])
    for i in range(len(case.routines)):
        yield replace(case, routines=case.routines[:i] + case.routines[i + 1 :])
    if case.isolation:
        yield replace(case, isolation="")
    for name in case.settings:
        yield replace(case, settings={k: v for k, v in case.settings.items() if k != name})
    yield from with_smaller_parts(case)


def with_smaller_parts(case: Case) -> Iterator[Case]:
    for i, step in enumerate(case.steps):
        changed = [replace(step, sql=sql) for sql in smaller(step.sql)]
        changed += [replace(step, guarded=False)] if step.guarded else []
        for less in changed:
            yield replace(case, steps=(*case.steps[:i], less, *case.steps[i + 1 :]))
    for i, routine in enumerate(case.routines):
        for sql in smaller(routine):
            yield replace(case, routines=(*case.routines[:i], sql, *case.routines[i + 1 :]))

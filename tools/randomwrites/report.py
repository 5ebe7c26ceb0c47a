"""What is told of a failure: a script for both sides."""

from collections.abc import Iterator

from randomqueries.fragments import Side

from randomwrites.cases import Case
from randomwrites.running import Run, no_table, text_of


def failure_lines(case: Case, found: Run) -> Iterator[str]:
    yield "  on both sides:"
    writer = Side(no_table, lambda argument: argument.values[0])
    yield "    CREATE SCHEMA c;"
    for sql in case.routines:
        yield f"    {writer.write(sql)};"
    isolation = f" ISOLATION LEVEL {case.isolation}" if case.isolation else ""
    if case.end:
        yield f"    BEGIN{isolation};"
    for name, value in case.settings.items():
        yield f"    SET {'LOCAL ' if case.end else ''}{name} = '{value}';  -- far side"
    if not found.sent:
        for step in case.steps:
            yield f"    {text_of(step)};"
        return
    for sent in found.sent:
        yield f"    {sent.sql};"
        yield from (f"    {line}" for line in sent.step.rows if sent.sql.startswith("COPY"))
        if sent.outcome.error:
            yield f"      -- {sent.outcome.message}"

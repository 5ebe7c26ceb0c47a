"""Rules of docs/conformance.md: the tests that it names, and what they compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sourcecheck.source import Finding

DOCUMENT = Path("docs/conformance.md")
# a line of a table: what it is about, its tests, and perhaps a number
ROW = re.compile(r"^\| (?P<about>.+?) \| (?P<tests>`[^|]+?) \|(?: (?P<number>\d+) \|)?$")
NAME = re.compile(r"`(\w+)`")
FOLDERS = {"sql": ".sql", "specs": ".spec", "t": ".pl"}
# what test.same_rows() and its relatives answer for one query
VERDICT = re.compile(
    r"\b(?:(?:same rows|same order|no rows|same|all values tried), (?:NOT )?batched"
    r"|same: (?:\w{5} |no error))"
)


def comparisons(output: Path) -> int:
    """Queries that a regression test compares with local tables, by its expected output."""
    if not output.exists():
        return 0
    return sum(1 for line in output.read_text().splitlines() if VERDICT.search(line))


def check_conformance(root: Path) -> Iterator[Finding]:
    """Tests of the document exist, and compare no fewer queries than it says."""
    if not (root / DOCUMENT).exists():
        return
    for number, line in enumerate((root / DOCUMENT).read_text().splitlines(), 1):
        row = ROW.match(line)
        if row is None:
            continue
        names = NAME.findall(row["tests"])
        for name in names:
            files = [root / "test" / kind / (name + suffix) for kind, suffix in FOLDERS.items()]
            if not any(file.exists() for file in files):
                yield Finding(DOCUMENT, number, f'there is no test "{name}"')
        found = sum(comparisons(root / "test/expected" / f"{name}.out") for name in names)
        if row["number"] and found < int(row["number"]):
            message = f"{row['about']}: {found} queries are compared, not {row['number']}"
            yield Finding(DOCUMENT, number, message)

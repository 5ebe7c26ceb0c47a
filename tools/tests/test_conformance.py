"""docs/conformance.md names tests that exist, and no more queries than they compare."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# a line of a table: what it is about, its tests, and perhaps a number
ROW = re.compile(r"^\| (.+?) \| (`[^|]+?) \|(?: (\d+) \|)?$", re.MULTILINE)
ROWS = [
    (about, re.findall(r"`(\w+)`", tests), int(number or 0))
    for about, tests, number in ROW.findall((ROOT / "docs/conformance.md").read_text())
]
# what test.same_rows() and its relatives answer for one query
VERDICT = re.compile(
    r"^.*\b(?:(?:same rows|same order|no rows|same|all values tried), (?:NOT )?batched"
    r"|same: (?:\w{5} |no error))",
    re.MULTILINE,
)


def comparisons(name: str) -> int:
    """Queries that a regression test compares with local tables, by its expected output."""
    output = ROOT / f"test/expected/{name}.out"
    return len(VERDICT.findall(output.read_text())) if output.exists() else 0


def test_named_tests_exist() -> None:
    known = {
        path.stem for kind in ("sql", "specs", "t") for path in (ROOT / "test" / kind).glob("*")
    }
    assert {name for _, names, _ in ROWS for name in names} - known == set()


def test_as_many_queries_are_compared() -> None:
    assert sum(number for _, _, number in ROWS) > 0
    compared = {about: sum(map(comparisons, names)) for about, names, _ in ROWS}
    assert {about for about, _, number in ROWS if compared[about] < number} == set()

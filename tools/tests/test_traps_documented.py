"""docs/traps.md has each trap that the tree names by its number, and what it names exists."""

import re
from pathlib import Path

from lib.testrun.wanted import SUFFIXES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/traps.md").read_text()
ENTRY = re.compile(
    r"^### Trap (?P<number>\d+[a-z]?): .+\n\n- \*\*Goes wrong:\*\* (?:.+\n)+?"
    r"- \*\*Rule:\*\* (?:.+\n)+?- \*\*Held by:\*\* (?P<held>`.+`)$",
    re.MULTILINE,
)
# "trap 5", "trap 33, trap 19", "trap 27, 28, 29", "(traps 13, 21)"
NAMED = re.compile(r"\b[Tt]raps? (\d+[a-z]?(?:(?:, | and )\d+[a-z]?)*)\b")


def entries() -> dict[str, list[str]]:
    """The tests and files behind each number."""
    return {
        entry["number"]: re.findall(r"`([^`]+)`", entry["held"]) for entry in ENTRY.finditer(PAGE)
    }


def sources() -> list[Path]:
    """All that may name a trap: sources, and tests without their expected output."""
    return [
        path
        for folder in ("src", "sql", "test", "tools", "python", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".c", ".h", ".sql", ".spec", ".pl", ".pm", ".py", ".md"}
    ]


def numbers_in(text: str) -> set[str]:
    return {number for list_ in NAMED.findall(text) for number in re.findall(r"\d+[a-z]?", list_)}


def exists(name: str) -> bool:
    """Whether a test has that name, or a file of src/ or tools/."""
    tests = (ROOT / "test" / kind / (name + suffix) for kind, suffix in SUFFIXES.items())
    files = (ROOT / "src" / name, ROOT / "tools" / name)
    return any(path.is_file() for path in (*tests, *files))


def test_every_heading_is_a_whole_entry() -> None:
    headings = re.findall(r"^### Trap (\d+[a-z]?)", PAGE, re.MULTILINE)
    assert headings == list(entries())
    assert len(set(headings)) == len(headings)


def test_every_number_has_its_entry() -> None:
    known = entries()
    missing = [
        f"{path.relative_to(ROOT)}: trap {number}"
        for path in sources()
        if path != Path(__file__).resolve()
        for number in numbers_in(path.read_text()) - known.keys()
    ]
    assert missing == []


def test_what_holds_a_trap_exists() -> None:
    missing = [
        f"trap {number}: {name}"
        for number, names in entries().items()
        for name in names
        if not exists(name)
    ]
    assert missing == []


def test_a_test_that_begins_with_a_number_is_named_there() -> None:
    known = entries()
    missing = []
    for kind, suffix in SUFFIXES.items():
        for path in (ROOT / "test" / kind).glob(f"*{suffix}"):
            with path.open() as lines:
                first = next(lines)
            missing += [
                f"{path.name}: trap {number}"
                for number in numbers_in(first)
                if path.stem not in known[number]
            ]
    assert missing == []


def test_numbers_are_found() -> None:
    assert numbers_in("callbacks never raise (traps 19, 33, 34b).") == {"19", "33", "34b"}
    assert numbers_in("-- trap 15, trap 17: what is seen") == {"15", "17"}
    assert numbers_in("families of cases") == set()

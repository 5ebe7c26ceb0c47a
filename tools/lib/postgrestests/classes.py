"""The differences that are meant, and how a difference is told to be one of them.

classes.toml names them, counts.toml says how many statements of each test differ so.
A rule is made as those of postgresfdwtests: it makes the result out of what is expected.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.postgresfdwtests.classes import Rule, make_rule
from lib.postgresfdwtests.outputs import Difference
from lib.postgrestests.comparison import RULE_BELOW_NAMES, differ, is_same, leaves_table_here
from lib.postgrestests.runs import Here, Run, Step, failed

FOLDER = Path(__file__).parent
CLASSES = FOLDER / "classes.toml"
COUNTS = FOLDER / "counts.toml"
OWN_KEYS = {"test", "any", "varies", "result", "widths", "tablets", "succeeds"}
HERE = "tables that stay here"
# Nobody is to see these, whatever the class.
NEVER = re.compile(r"cache lookup failed|unrecognized node type|server closed the connection")
INTERNAL_ERROR = "XX000"
TABLET = re.compile(r"\bshuttle_tablets\.(?=\w)|(?<=\w)_t\d+(_\d+)?\b")

Counts = dict[str, dict[str, int]]  # by test, then by class


@dataclass(frozen=True)
class Entry:
    """A class, and the differences that belong to it."""

    rule: Rule
    test: str  # a pattern of the test's name; empty: any test
    any: bool  # whatever the difference is
    result: str  # a pattern of a line of what came instead; empty: any
    varies: bool  # there may be none: it depends on the order in which rows come
    widths: bool  # columns may have other widths
    tablets: bool  # named where the table is expected
    succeeds: bool  # an error may be missing

    def matches(self, step: Step, difference: Difference) -> bool:
        if not self._is_of(step, difference):
            return False
        if self.varies and not self.any:
            return len(difference.expected) == len(difference.result)
        return self.any or self._makes(difference)

    def _is_of(self, step: Step, difference: Difference) -> bool:
        if self.test and not re.fullmatch(self.test, step.test):
            return False
        if self.result and not any(re.search(self.result, s) for s in difference.result):
            return False
        return re.search(self.rule.statement, difference.statement) is not None

    def _makes(self, difference: Difference) -> bool:
        if failed(difference.expected) and not (failed(difference.result) or self.succeeds):
            return False
        expected, result = (
            [without_widths(line) if self.widths else line for line in lines]
            for lines in (difference.expected, difference.result)
        )
        if self.tablets:
            result = [TABLET.sub("", line) for line in result]
        return is_same(
            difference.statement, self.rule.made_of(expected), self.rule.without_added(result)
        )


@dataclass(frozen=True)
class Classes:
    refusals: tuple[tuple[str, str], ...]  # a pattern of the message, and the class
    added: tuple[tuple[str, str], ...]  # a pattern of a line that may come in addition
    entries: tuple[Entry, ...]
    here: tuple[Here, ...]
    without_tables: frozenset[str]  # tests that use no table that could be distributed


@dataclass(frozen=True)
class Sorted:
    """What a test came to."""

    counts: Counter[str]
    varying: Counter[str]
    wrong: list[str]


def read_classes(path: Path = CLASSES) -> Classes:
    with path.open("rb") as file:
        content = tomllib.load(file)
    return Classes(
        refusals=pairs(content["refusal"], "message"),
        added=pairs(content["added"], "line"),
        entries=tuple(make_entry(entry) for entry in content["difference"]),
        here=tuple(Here(h["test"], h["tables"], h["class"]) for h in content["here"]),
        without_tables=frozenset(content["without_tables"]),
    )


def pairs(entries: Iterable[Mapping[str, str]], key: str) -> tuple[tuple[str, str], ...]:
    return tuple((entry[key], entry["class"]) for entry in entries)


def make_entry(entry: dict[str, Any]) -> Entry:
    rest = {key: value for key, value in entry.items() if key not in OWN_KEYS}
    return Entry(
        rule=make_rule(rest),
        test=entry.get("test", ""),
        any=entry.get("any", False),
        result=entry.get("result", ""),
        varies=entry.get("varies", False),
        widths=entry.get("widths", False),
        tablets=entry.get("tablets", False),
        succeeds=entry.get("succeeds", False),
    )


def without_widths(line: str) -> str:
    if RULE_BELOW_NAMES.fullmatch(line):
        return re.sub("-+", "-", line)
    return " ".join(line.split())


def sort_run(classes: Classes, run: Run) -> Sorted:
    result = Sorted(Counter(), Counter(), [])
    for step in run.steps:
        sort_step(classes, step, result)
    if run.broken:
        result.wrong.append(f"{run.name}: {run.broken}")
    if not (run.ntables or run.nused or run.name in classes.without_tables):
        result.wrong.append(f"{run.name}: it uses no distributed table, so it proves nothing")
    return result


def sort_step(classes: Classes, step: Step, result: Sorted) -> None:
    if step.here:
        result.counts[step.here] += 1
    if leaves_table_here(step.distributed.lines):
        result.counts[HERE] += 1
    if broke(step):
        result.wrong.append(tell(step, "internal error"))
        return
    if step.refused:
        refusal = find_refusal(classes, step.refused.lines)
        if refusal:
            result.counts[refusal] += 1
        else:
            result.wrong.append(tell(step, "refused in no class", step.refused.lines))
    difference = differ(step)
    if difference is None:
        return
    rest = without_added(classes, difference, result)
    if rest is None:
        return
    entry = next((e for e in classes.entries if e.matches(step, rest)), None)
    if entry is not None:
        (result.varying if entry.varies else result.counts)[entry.rule.name] += 1
        return
    refusal = find_refusal(classes, step.distributed.lines) if step.alone.failed else ""
    if refusal:
        result.counts[f"{refusal}, PostgreSQL with another error"] += 1
    else:
        result.wrong.append(f"{step.test}, in no class:\n{rest.text()}")


def broke(step: Step) -> bool:
    answers = [step.distributed] + ([step.refused] if step.refused else [])
    texts = "\n".join(line for answer in answers for line in answer.lines)
    internal = any(answer.state == INTERNAL_ERROR for answer in answers)
    known = step.alone.state == INTERNAL_ERROR
    return (internal and not known) or (
        NEVER.search(texts) is not None and not NEVER.search("\n".join(step.alone.lines))
    )


def tell(step: Step, what: str, lines: tuple[str, ...] = ()) -> str:
    printed = (step.piece.text.strip(), *(lines or step.distributed.lines))
    shown = "\n".join(f"  {line}" for line in printed)
    return f"{step.test}, {what}:\n@@ input line {step.piece.line}\n{shown}"


def find_refusal(classes: Classes, lines: tuple[str, ...]) -> str:
    for pattern, name in classes.refusals:
        if any(re.search(pattern, line) for line in lines):
            return name
    return ""


def without_added(classes: Classes, difference: Difference, result: Sorted) -> Difference | None:
    """Leaves out lines that may come in addition, and counts them by class."""
    kept = []
    found: set[str] = set()
    for line in difference.result:
        name = next((n for pattern, n in classes.added if re.fullmatch(pattern, line)), None)
        if name is None or line in difference.expected:
            kept.append(line)
        else:
            found.add(name)
    result.counts.update(found)
    if is_same(difference.statement, list(difference.expected), kept):
        return None
    return Difference(difference.statement, difference.line, difference.expected, tuple(kept))


def read_counts(major: int, path: Path = COUNTS) -> Counts:
    with path.open("rb") as file:
        content: dict[str, Counts] = tomllib.load(file)
    return content.get(str(major), {})


def wrong_counts(wanted: Mapping[str, int], counts: Counter[str]) -> list[str]:
    """Says where more or fewer statements differ than the file says."""
    return [
        f"{name}: {counts[name]} statements, and not {wanted.get(name, 0)}"
        for name in sorted(wanted.keys() | counts.keys())
        if counts[name] != wanted.get(name, 0)
    ]


def write_counts(major: int, counts: Counts, path: Path = COUNTS) -> None:
    """Takes the counts of some tests as what is expected from now on."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    content.setdefault(str(major), {}).update(counts)
    lines = [
        "# How many statements of PostgreSQL's tests differ over distributed tables, by class.",
        "# Written by tools/postgres_tests --accept; classes.toml explains the classes.",
    ]
    for version in sorted(content):
        for test in sorted(content[version]):
            lines += ["", f"[{version}.{test_key(test)}]"]
            lines += [f'"{name}" = {n}' for name, n in sorted(content[version][test].items()) if n]
    path.write_text("\n".join(lines) + "\n")


def test_key(test: str) -> str:
    return f'"{test}"' if "." in test else test
